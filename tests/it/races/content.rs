//! Files that change while they are read: whatever comes back, it is whole lines.
//!
//! Line n always says the same, so that a torn one, or one from another place, is none. Files change by whole pages, where the kernel
//! neither zeroes nor overwrites anything that a read may be copying.
