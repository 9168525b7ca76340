#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weald_fuzz::sparse(bytes));
