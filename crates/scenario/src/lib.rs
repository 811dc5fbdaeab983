//! Scenario files: TOML in, checked structs out.
pub mod model;
