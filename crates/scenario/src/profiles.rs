//! Profiles: complete sets of transport settings under one name. They are data, see `profiles/`.

use std::sync::LazyLock;

use toml::de::DeTable;

use crate::tree::{Placed, Table};

const SOURCES: [(&str, &str); 6] = [
    ("linux", include_str!("../profiles/linux.toml")),
    ("ns3", include_str!("../profiles/ns3.toml")),
    ("opnet2007", include_str!("../profiles/opnet2007.toml")),
    ("rfc", include_str!("../profiles/rfc.toml")),
    ("scps", include_str!("../profiles/scps.toml")),
    ("stp", include_str!("../profiles/stp.toml")),
];

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
pub(crate) fn value(profile: &str, kind: &str, key: &str) -> Option<Placed> {
    let (_, tree) = TREES.iter().find(|(name, _)| *name == profile)?;
    let special = tree.table(kind).and_then(|table| table.get(key));
    let node = special.or_else(|| tree.get(key))?;
    Some(Placed::new(node.value.clone(), crate::tree::Origin::Default))
}

/// All profiles as trees, in order.
pub(crate) fn trees() -> &'static [(&'static str, Table)] {
    &TREES
}
