//! See [`capread_fuzz::decode`].
#![no_main]
#![expect(clippy::disallowed_methods, reason = "what the macro expands to can write a file of results")]

use capread_fuzz::decode::{Case, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: Case| check(&case));
