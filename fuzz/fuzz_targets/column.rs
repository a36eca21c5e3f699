//! See [`capread_fuzz::column`].
#![no_main]
#![expect(clippy::disallowed_methods, reason = "what the macro expands to can write a file of results")]

use capread_fuzz::column::{Case, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: Case| check(&case));
