//! A file that a scenario names: rates, delays, losses, recordings, element sets.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| storm::hostile::data(bytes));
