//! A capture file of a connection.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| storm::hostile::captures(bytes));
