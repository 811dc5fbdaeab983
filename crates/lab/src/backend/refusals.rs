//! Refusals of a back end, each of a key with what it can run instead.
//!
//! May: collect them. May not: know a back end.

use scenario::{Part, Unsupported};

use super::Rule;

/// Refusals so far.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<Unsupported>);

impl Refusals {
    /// Refuses the key of `rule` at `part` unless `able`.
    pub(super) fn unless(&mut self, able: bool, part: Part, rule: Rule) {
        if !able {
            self.add(part, rule);
        }
    }

    /// Refuses the key of `rule` at `part`.
    pub(super) fn add(&mut self, part: Part, rule: Rule) {
        self.add_with(part, rule, rule.value.to_owned());
    }

    /// The same with a value to type that the scenario decides; empty: there is none.
    pub(super) fn add_with(&mut self, part: Part, rule: Rule, value: String) {
        self.0.push(Unsupported {
            part,
            key: rule.key,
            allowed: rule.allowed.into(),
            value: (!value.is_empty()).then_some(value),
            help: "use the back end simulator, which runs everything".into(),
        });
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// In the place of the refusals after the first `kept`, that of one key which decides all of theirs.
    pub(super) fn replace_from(&mut self, kept: usize, part: Part, rule: Rule) {
        self.0.truncate(kept);
        self.add(part, rule);
    }

    pub(super) fn into_list(self) -> Vec<Unsupported> {
        self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
