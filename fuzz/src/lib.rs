//! The oracles of the fuzz targets: what capread must do, written once more from its specification, slowly and simply.
//!
//! Nothing here may use the crate's own code to find out what is right. A check that fails panics.
#![forbid(unsafe_code)]

pub mod column;
pub mod decode;
pub mod disk;
pub mod fence;
pub mod frames;
pub mod index;
pub mod json;
pub mod request;
pub mod resolve;
pub mod scene;
pub mod schedule;
pub mod whole;
pub mod window;
