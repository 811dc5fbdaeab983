//! Transport protocols as state machines without I/O and without a clock.
pub mod config;
