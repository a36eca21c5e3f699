//! Deny patterns: what may not be read although it lies beneath the root.

mod judges;
#[cfg(feature = "policy")]
mod patterns;

#[cfg(all(test, feature = "policy"))]
pub(crate) use patterns::MATCHES;
#[cfg(feature = "policy")]
pub use patterns::Policy;

pub(crate) use judges::Judges;

#[cfg(not(feature = "policy"))]
pub(crate) use never::Policy;

/// Whether a path ends where it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// More names follow, so that its last name is a directory, or a link to one.
    OnTheWay,
    /// Nothing follows.
    Last,
}

/// Without the feature there is no policy, and nothing to ask.
#[cfg(not(feature = "policy"))]
mod never {
    use crate::fence::RelPath;

    #[derive(Debug)]
    pub(crate) enum Policy {}

    impl Policy {
        pub(crate) fn denies(&self, _path: &RelPath, _end: super::End) -> bool {
            match *self {}
        }

        pub(crate) fn denies_links(&self, _links: u64) -> bool {
            match *self {}
        }
    }
}
