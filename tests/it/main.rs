//! The library from the outside: trees on disk, requests to them, and what must come back.

#![allow(clippy::disallowed_methods, reason = "the trees that the tests read are built, and looked at, by their names")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod calls;
#[cfg(feature = "encodings")]
mod columns;
#[cfg(feature = "encodings")]
mod encodings;
mod entries;
mod fence;
mod index;
mod modes;
mod mounts;
mod names;
#[cfg(feature = "policy")]
mod policy;
mod races;
mod roots;
mod scan;
mod schedules;
mod special_files;
mod suggest;
mod support;
#[cfg(feature = "json")]
mod tool;
#[cfg(feature = "tracing")]
mod trace;
mod walk;
mod window;
mod window_properties;
mod world;
