//! Chunks of a peer that keeps to nothing.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| storm::hostile::chunks(bytes));
