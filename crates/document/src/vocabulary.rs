//! Names that key tables refer to: algorithms of registries, values of profiles.

use registry::Entry;

use crate::tree::Placed;

/// A registry that a key chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// Singular name of an entry.
    pub what: &'static str,
    /// The same with its article.
    pub one: &'static str,
    /// The word for no entry at all, which has no options.
    pub none: Option<&'static str>,
}

/// The registries and profiles that the key tables of a kind of file refer to.
pub trait Vocabulary {
    /// All entries of one catalogue, in the order of entry.
    fn all(&self, catalogue: Catalogue) -> Vec<Entry>;

    /// The entry of `name`.
    fn find(&self, catalogue: Catalogue, name: &str) -> Option<Entry>;

    /// The value of `key` in `profile` for a table of this `kind`.
    fn preset(&self, profile: &str, kind: &str, key: &str) -> Option<Placed>;

    /// The value that `profile` gives to an option of the algorithm `name` under the key `key`, where the algorithm itself has
    /// another default.
    fn preset_option(&self, profile: &str, key_and_name: (&str, &str), option: &str) -> Option<Placed>;
}

/// Vocabulary of files that name no algorithms.
#[derive(Clone, Copy, Debug)]
pub struct NoAlgorithms;

impl Vocabulary for NoAlgorithms {
    fn all(&self, _: Catalogue) -> Vec<Entry> {
        Vec::new()
    }

    fn find(&self, _: Catalogue, _: &str) -> Option<Entry> {
        None
    }

    fn preset(&self, _: &str, _: &str, _: &str) -> Option<Placed> {
        None
    }

    fn preset_option(&self, _: &str, _: (&str, &str), _: &str) -> Option<Placed> {
        None
    }
}
