//! The profiles with their values, for lists and docs.

use crate::keys::TRANSPORT;
use crate::profiles::trees;
use document::print::inline;
use document::tree::{KeyValue, Table};

/// One profile, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line.
    pub summary: String,
    /// Where its values come from.
    pub source: String,
    /// Keys of a transport with their values as in a file. Keys of one kind of transport begin with `mptcp.`, `sctp.`,
    /// `cmt-sctp.` or `udp.`; an option of an algorithm with another default in this profile begins with `congestion.` and the
    /// name of the algorithm.
    pub values: Vec<(String, String)>,
}

/// All profiles with their values, in the order of the keys of a transport.
pub fn profiles() -> Vec<Profile> {
    let print = |table: &Table, prefix: &str| -> Vec<(String, String)> {
        let known = TRANSPORT.names().filter_map(|key| {
            let node = table.get(key)?;
            Some((format!("{prefix}{key}"), inline(&node.value)))
        });
        known.collect()
    };
    trees()
        .iter()
        .map(|(name, tree)| {
            let mut values = print(tree, "");
            values.extend(tree.table("mptcp").into_iter().flat_map(|table| print(table, "mptcp.")));
            values.extend(tree.table("sctp").into_iter().flat_map(|table| print(table, "sctp.")));
            values.extend(tree.table("cmt-sctp").into_iter().flat_map(|table| print(table, "cmt-sctp.")));
            values.extend(tree.table("udp").into_iter().flat_map(|table| print(table, "udp.")));
            values.extend(options(tree));
            let text = |key| tree.text(key).unwrap_or_default().into();
            Profile { name, summary: text("summary"), source: text("source"), values }
        })
        .collect()
}

/// Options of algorithms for which the profile has another default: `KEY.NAME.OPTION`.
fn options(tree: &Table) -> Vec<(String, String)> {
    let tables = |table: &Table, prefix: &str| -> Vec<(String, Table)> {
        let inner =
            |entry: &KeyValue| Some((format!("{prefix}{}.", entry.key), entry.node.as_table()?.clone()));
        table.entries.iter().filter_map(inner).collect()
    };
    let keys = tree.table("options").map_or_else(Vec::new, |options| tables(options, ""));
    let algorithms = keys.iter().flat_map(|(prefix, names)| tables(names, prefix));
    let values = |(prefix, options): (String, Table)| -> Vec<(String, String)> {
        options.entries.iter().map(|e| (format!("{prefix}{}", e.key), inline(&e.node.value))).collect()
    };
    algorithms.flat_map(values).collect()
}
