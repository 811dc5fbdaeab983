//! Profiles: complete sets of transport settings under one name. They are data, see `profiles/`.

use std::sync::LazyLock;

use toml::de::DeTable;

use document::tree::{Origin, Placed, Table};

const SOURCES: [(&str, &str); 10] = [
    ("linux", include_str!("../profiles/linux.toml")),
    ("linux-minrtt", include_str!("../profiles/linux-minrtt.toml")),
    ("linux-5.15", include_str!("../profiles/linux-5.15.toml")),
    ("ns3", include_str!("../profiles/ns3.toml")),
    ("opnet2007", include_str!("../profiles/opnet2007.toml")),
    ("rfc", include_str!("../profiles/rfc.toml")),
    ("freebsd", include_str!("../profiles/freebsd.toml")),
    ("inet", include_str!("../profiles/inet.toml")),
    ("scps", include_str!("../profiles/scps.toml")),
    ("stp", include_str!("../profiles/stp.toml")),
];

/// The files as trees. A test checks that each is free of mistakes and complete. A profile with `like` has the values of
/// that one, which stands before it, where it has none of its own.
static TREES: LazyLock<Vec<(&'static str, Table)>> = LazyLock::new(|| {
    let mut trees: Vec<(&'static str, Table)> = Vec::new();
    for (name, text) in SOURCES {
        let mut tree = Table::from_toml(DeTable::parse_recoverable(text).0.get_ref(), &[]);
        let base = tree.text("like").and_then(|like| trees.iter().find(|(name, _)| *name == like));
        for entry in base.map_or(&[][..], |(_, base)| &base.entries) {
            if !tree.has(&entry.key) {
                tree.put(&entry.key, Origin::Default, entry.node.clone());
            }
        }
        trees.push((name, tree));
    }
    trees
});

/// The names of all profiles.
pub(crate) const NAMES: [&str; SOURCES.len()] = {
    let mut names = [""; SOURCES.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = SOURCES[index].0;
        index += 1;
    }
    names
};

/// The value of `key` in `profile` for a transport of this kind. Associations take nothing from the settings of TCP.
pub(crate) fn value(profile: &str, kind: &str, key: &str) -> Option<Placed> {
    let tree = tree(profile)?;
    let part = |name: &str| tree.table(name).and_then(|table| table.get(key));
    let node = match kind {
        "sctp" => part("sctp"),
        "cmt-sctp" => part("cmt-sctp").or_else(|| part("sctp")),
        kind => part(kind).or_else(|| tree.get(key)),
    }?;
    Some(Placed::new(node.value.clone(), Origin::Default))
}

/// The profile has a table of this name.
pub(crate) fn has_part(profile: &str, part: &str) -> bool {
    tree(profile).is_some_and(|tree| tree.table(part).is_some())
}

/// The value that `profile` gives to an option of the algorithm `name` under the key `key`, where the algorithm itself has another
/// default: `[options.KEY.NAME]` in the file.
pub(crate) fn option(profile: &str, (key, name): (&str, &str), option: &str) -> Option<Placed> {
    let node = tree(profile)?.table("options")?.table(key)?.table(name)?.get(option)?;
    Some(Placed::new(node.value.clone(), Origin::Default))
}

fn tree(profile: &str) -> Option<&'static Table> {
    trees().iter().find(|(name, _)| *name == profile).map(|(_, tree)| tree)
}

/// All profiles as trees, in order.
pub(crate) fn trees() -> &'static [(&'static str, Table)] {
    &TREES
}

#[cfg(test)]
mod tests {
    use document::keys::Fallback;

    use super::*;
    use crate::keys::TRANSPORT;

    /// Tables for one kind of transport.
    const PARTS: [&str; 4] = ["mptcp", "sctp", "cmt-sctp", "udp"];
    /// Words about the profile, and options of algorithms, which `option` reads.
    const ABOUT: [&str; 4] = ["summary", "source", "like", "options"];

    /// Names in `table` that no transport takes from a profile.
    fn unread(table: &Table, kind: Option<&str>) -> Vec<String> {
        let read = |name: &str| {
            TRANSPORT.key(name).is_some_and(|key| {
                matches!(key.default, Fallback::Profile) && (kind.is_none() || key.exists_with(kind))
            })
        };
        table.entries.iter().map(|entry| entry.key.clone()).filter(|name| !read(name)).collect()
    }

    #[test]
    fn every_value_of_a_profile_is_read() {
        for (name, tree) in trees() {
            let others: Vec<String> = unread(tree, None)
                .into_iter()
                .filter(|key| !ABOUT.contains(&key.as_str()) && !PARTS.contains(&key.as_str()))
                .collect();
            assert!(others.is_empty(), "{name}: no transport reads {others:?} from its profile");
            for part in PARTS {
                let others = tree.table(part).map_or_else(Vec::new, |table| unread(table, Some(part)));
                assert!(others.is_empty(), "{name}: {part} does not read {others:?} from its profile");
            }
        }
    }

    /// The keys that a profile may leave out have a meaning without it.
    #[test]
    fn a_profile_may_have_any_setting_of_the_timer_and_of_recovery() {
        for name in
            ["rto_estimator", "multiple_fast_retransmits", "flight_after_timeout", "prr_rule", "undo_rule"]
        {
            let key = TRANSPORT.key(name).expect("a key");
            assert!(matches!(key.default, Fallback::Profile), "{name} ignores the profile");
        }
    }
}
