//! Why names are found.

/// Scenarios come from the parser, which has looked up every name in the same registries.
pub(super) const CHECKED: &str = "the parser has found this name in the registries";
