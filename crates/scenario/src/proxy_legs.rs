//! A proxy on a path: its node and the second leg are made of the two keys that say where it stands.
//!
//! The path is one leg, the proxy gives the other. Both have the name of the proxy: the node, and the path that is added.

use crate::inherit::spread;
use crate::keys::LEG;
use document::check::element_path;
use document::diagnostic::{Code, Report, suggest};
use document::tree::{KeyValue, Origin, Placed, Table, Value};

const LEGS: [&str; 2] = ["client_leg", "server_leg"];
/// The end of the path that moves to the proxy: its key, and its value where the path has none.
const ENDS: [(&str, &str); 2] = [("from", "terminal"), ("to", "server")];

/// Replaces `path` and a leg of each proxy by a node and a path.
pub(crate) fn resolve(root: &mut Table, report: &mut Report<'_>) {
    let Some(Placed { value: Value::List(items), .. }) = root.get_mut("proxy") else { return };
    let mut places = Vec::new();
    for (index, item) in items.iter_mut().enumerate() {
        let path = element_path("", "proxy", index, item);
        let at = item.at;
        let Some(proxy) = item.as_table_mut() else { continue };
        places.extend(place(proxy, (&path, at), report));
    }
    for place in places {
        place.add(root, report);
    }
}

/// Where a proxy stands: on the path of this name, beside this leg, on the side of [`ENDS`].
struct Place {
    name: String,
    path: KeyValue,
    leg: KeyValue,
    side: usize,
    /// Key path of the proxy, for diagnostics.
    of: String,
}

/// Takes the keys that place a proxy on a path. After a mistake the proxy counts as incomplete: no further keys of it are
/// reported as missing.
fn place(proxy: &mut Table, (of, at): (&str, Origin), report: &mut Report<'_>) -> Option<Place> {
    let path = proxy.take("path");
    let mut legs = LEGS.map(|key| proxy.take(key));
    let mut fault = |at, code, key: &str, message: &str, help: &str, proxy: &mut Table| {
        proxy.partial = true;
        report.add(at, code, &format!("{of}.{key}"), message.into(), help.into());
        None
    };
    let Some(path) = path else {
        if let Some(leg) = legs.into_iter().flatten().next() {
            let help = "add `path`, the name of the path that it stands on, or remove the leg";
            return fault(leg.at, Code::MissingKey, &leg.key, "a leg of no path", help, proxy);
        }
        if !proxy.has("node") && !proxy.partial {
            let help =
                "add for example path = \"satellite\" with a `server_leg`, or the `node` where it sits";
            return fault(at, Code::MissingKey, "node", "neither `node` nor `path` is given", help, proxy);
        }
        return None;
    };
    if let Some(node) = proxy.get("node").map(|node| node.at) {
        let help = "remove one of them: a proxy on a path has a node of its own";
        return fault(node, Code::Contradiction, "node", "both `node` and `path` are given", help, proxy);
    }
    let side = match &legs {
        [None, None] => {
            let help = "add server_leg = { both = { rate = \"100Mbit/s\", delay = \"10ms\" } }, the link from it to the server, or a \
                        `client_leg`: the path itself is the other";
            return fault(
                path.at,
                Code::MissingKey,
                "path",
                "the delay and rate of one leg are missing",
                help,
                proxy,
            );
        }
        [Some(_), Some(leg)] => {
            let help = "remove one of them: the path itself is the other";
            return fault(leg.at, Code::Contradiction, "server_leg", "two legs beside the path", help, proxy);
        }
        legs => usize::from(legs[0].is_none()),
    };
    let name = proxy.text("name")?.to_owned();
    proxy.put("node", path.at, Placed::new(Value::Text(name.clone()), path.at));
    Some(Place { name, path, leg: legs[side].take()?, side, of: of.to_owned() })
}

impl Place {
    /// Lets the path end at the proxy, and adds the other leg.
    fn add(self, root: &mut Table, report: &mut Report<'_>) {
        let Self { name, path, leg, side, of } = self;
        let (Some(wanted), Some(keys)) = (path.node.as_text(), leg.node.as_table()) else { return };
        let found = root
            .list("path")
            .iter()
            .position(|item| item.as_table().is_some_and(|table| table.text("name") == Some(wanted)));
        let Some(index) = found else {
            let names = root.tables("path").filter_map(|(_, table)| table.text("name"));
            let help = suggest(wanted, "paths", names);
            report.add(
                path.at,
                Code::UnknownName,
                &format!("{of}.path"),
                format!("there is no path \"{wanted}\""),
                help,
            );
            return;
        };
        let Some(Placed { value: Value::List(paths), .. }) = root.get_mut("path") else { return };
        let (key, usual) = ENDS[side];
        let Some(whole) = paths[index].as_table_mut() else { return };
        let text = |text: &str, at| Placed::new(Value::Text(text.to_owned()), at);
        let end = whole.take(key).map_or_else(|| text(usual, Origin::Default), |end| end.node);
        whole.put(key, path.at, text(&name, path.at));
        let mut other = keys.clone();
        spread(&LEG, &mut other);
        other.put("name", path.at, text(&name, path.at));
        let ends = if side == 0 { [end, text(&name, path.at)] } else { [text(&name, path.at), end] };
        for ((key, _), end) in ENDS.iter().zip(ends) {
            other.put(key, leg.at, end);
        }
        paths.push(Placed::new(Value::Table(other), leg.at));
    }
}
