//! Profiles: complete sets of transport settings under one name. They are data, see `profiles/`.

use std::sync::LazyLock;

use toml::de::DeTable;

use crate::keys::TRANSPORT;
use crate::tree::{Node, Table};

const SOURCES: [(&str, &str); 6] = [
    ("linux", include_str!("../profiles/linux.toml")),
    ("ns3", include_str!("../profiles/ns3.toml")),
    ("opnet2007", include_str!("../profiles/opnet2007.toml")),
    ("rfc", include_str!("../profiles/rfc.toml")),
    ("scps", include_str!("../profiles/scps.toml")),
    ("stp", include_str!("../profiles/stp.toml")),
];

/// One profile, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line.
    pub summary: String,
    /// Where its values come from.
    pub source: String,
    /// Keys of a transport with their values as in a file; `mptcp.` and `udp.` stand before what holds for these only.
    pub values: Vec<(String, String)>,
}

/// The files as trees. A test checks that each is free of mistakes and complete.
static TREES: LazyLock<Vec<(&'static str, Table)>> = LazyLock::new(|| {
    SOURCES
        .iter()
        .map(|(name, text)| (*name, Table::from_toml(DeTable::parse_recoverable(text).0.get_ref(), &[])))
        .collect()
});

/// The names of all profiles.
pub(crate) fn names() -> Vec<&'static str> {
    SOURCES.iter().map(|(name, _)| *name).collect()
}

/// The value of `key` in `profile` for a transport of this kind.
pub(crate) fn value(profile: &str, kind: &str, key: &str) -> Option<Node> {
    let (_, tree) = TREES.iter().find(|(name, _)| *name == profile)?;
    let special = tree.table(kind).and_then(|table| table.get(key));
    let node = special.or_else(|| tree.get(key))?;
    Some(Node::new(node.value.clone(), crate::tree::Origin::Default))
}

/// All profiles with their values, in the order of the keys of a transport.
pub fn profiles() -> Vec<Profile> {
    let print = |table: &Table, prefix: &str| -> Vec<(String, String)> {
        let known = TRANSPORT.names().filter_map(|key| {
            let node = table.get(key)?;
            Some((format!("{prefix}{key}"), crate::print::inline(&node.value)))
        });
        known.collect()
    };
    TREES
        .iter()
        .map(|(name, tree)| {
            let mut values = print(tree, "");
            values.extend(tree.table("mptcp").into_iter().flat_map(|table| print(table, "mptcp.")));
            values.extend(tree.table("udp").into_iter().flat_map(|table| print(table, "udp.")));
            let text = |key| tree.text(key).unwrap_or_default().into();
            Profile { name, summary: text("summary"), source: text("source"), values }
        })
        .collect()
}
