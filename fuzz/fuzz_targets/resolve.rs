//! See [`capread_fuzz::resolve`].
#![no_main]
#![expect(clippy::disallowed_methods, reason = "what the macro expands to can write a file of results")]

use std::sync::LazyLock;

use capread_fuzz::resolve::Disks;
use libfuzzer_sys::fuzz_target;

static DISKS: LazyLock<Disks> = LazyLock::new(Disks::default);

fuzz_target!(|input: &[u8]| DISKS.check(input));
