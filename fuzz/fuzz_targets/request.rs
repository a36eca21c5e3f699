//! See [`capread_fuzz::request`].
#![no_main]
#![expect(clippy::disallowed_methods, reason = "what the macro expands to can write a file of results")]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| capread_fuzz::request::check(input));
