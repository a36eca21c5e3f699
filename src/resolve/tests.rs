//! The walk and the kernel's way on a file system in memory: on trees at rest against a model of the specification, and while
//! others change the tree between any two steps.

mod agreement;
mod faults;
mod known;
mod limits;
mod schedules;
mod worlds;
