//! The text of a scenario file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| storm::hostile::scenario(bytes));
