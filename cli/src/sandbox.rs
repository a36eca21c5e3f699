//! What the process takes from itself before it reads: Landlock, where the kernel has it.
//!
//! This is a second lock. What confines a read is the library, with it or without: Landlock does not hold for looking at things
//! (stat(2), `O_PATH`), and not for threads that already run.

use std::fmt;

use capread::Root;
use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, PathBeneath, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// All that this one knows is asked for, and what the kernel does not know is left out.
const NEWEST: ABI = ABI::V10;

/// What came of it. `Display` is a line for standard error.
#[derive(Debug)]
pub(crate) enum Sandbox {
    /// What this version of Landlock can keep a process from.
    Enforced(ABI),
    /// The kernel has no Landlock, or something in front of it hides that.
    Missing,
    Failed(RulesetError),
}

/// From here on this thread, and those that it starts, open files only to read, and only beneath the roots, whatever becomes of
/// their names. Nothing else can be opened: not `/proc` either, through which a handle is opened again by the rule of what it is of.
pub(crate) fn enter(roots: &[Root]) -> Sandbox {
    match restrict(roots) {
        Err(error) => Sandbox::Failed(error),
        Ok(RestrictionStatus { ruleset: RulesetStatus::NotEnforced, .. }) => Sandbox::Missing,
        Ok(RestrictionStatus { landlock: LandlockStatus::Available { effective_abi, .. }, .. }) => {
            Sandbox::Enforced(effective_abi)
        }
        Ok(_) => Sandbox::Missing,
    }
}

fn restrict(roots: &[Root]) -> Result<RestrictionStatus, RulesetError> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    // By its handle: no name is looked up again.
    let may_read = |root| Ok::<_, RulesetError>(PathBeneath::new(root, AccessFs::ReadFile | AccessFs::ReadDir));
    ruleset.add_rules(roots.iter().map(may_read))?.restrict_self()
}

impl Sandbox {
    /// Whether it was expected to be there.
    pub(crate) fn is_trouble(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enforced(abi) => {
                f.write_str("sandbox: opens files only to read beneath its roots")?;
                f.write_str(match abi {
                    abi if *abi >= ABI::V10 => ", no TCP or UDP",
                    abi if *abi >= ABI::V4 => ", no TCP",
                    _ => "",
                })?;
                if *abi >= ABI::V6 {
                    f.write_str(", no signals or abstract sockets to other processes")?;
                }
                write!(f, " (Landlock ABI {abi})")
            }
            Self::Missing => f.write_str("sandbox: none, there is no Landlock here; reads are confined all the same"),
            Self::Failed(error) => {
                write!(f, "sandbox: none, Landlock failed ({error}); reads are confined all the same")
            }
        }
    }
}
