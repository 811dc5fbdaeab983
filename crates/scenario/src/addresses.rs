//! Rules about addresses: endpoints of the in-kernel path manager, and what happens to the connections of flows.

use std::collections::BTreeMap;

use units::Nanos;

use crate::keys::FLOW_ACTIONS;
use crate::path_managers::{self, IN_KERNEL};
use crate::topology::Topology;
use document::diagnostic::{Code, Report, suggest};
use document::tree::{Origin, Placed, Table};

/// Endpoints that one end may have, as in Linux.
const MAX_ENDPOINTS: usize = 8;

/// The node of one end of a flow's connection.
fn end_node(flow: &Table, end: &str, topology: &Topology) -> Option<usize> {
    let opened_by_sender = flow.text("opened_by") != Some("receiver");
    let name = flow.text(if (end == "client") == opened_by_sender { "from" } else { "to" })?;
    topology.hosts.iter().position(|host| host.name == name)
}

/// The duplex link that `key` of `table` names, if `node` has an address on it.
fn duplex_link_of(
    table: &Table,
    key: &str,
    node: usize,
    topology: &Topology,
    path: &str,
    report: &mut Report<'_>,
) -> Option<usize> {
    let value = table.get(key)?;
    let name = value.as_text()?;
    let key = format!("{path}.{key}");
    let Some(duplex_link) = topology.duplex_link(name) else {
        if !topology.links_partial {
            let help =
                suggest(name, "paths and links", topology.duplex_links.iter().map(|w| w.name.as_str()));
            report.add(
                value.at,
                Code::UnknownName,
                &key,
                format!("there is no path or link \"{name}\""),
                help,
            );
        }
        return None;
    };
    if !topology.duplex_links[duplex_link].ends.contains(&node) {
        let host = &topology.hosts[node].name;
        let message = format!("\"{host}\" has no address on \"{name}\"");
        let touching = topology.duplex_links.iter().filter(|w| w.ends.contains(&node));
        let names: Vec<&str> = touching.map(|w| w.name.as_str()).collect();
        let help = format!("links of \"{host}\": {}; or name the other `end`", names.join(", "));
        report.add(value.at, Code::UnknownName, &key, message, help);
        return None;
    }
    Some(duplex_link)
}

/// Endpoints of the in-kernel path manager of one flow.
pub(crate) fn endpoints(flow: &Table, topology: &Topology, path: &str, report: &mut Report<'_>) {
    let Some(transport) = flow.table("transport") else { return };
    let Some(list) = transport.get("endpoints") else { return };
    let manager = transport.table("path_manager").and_then(|t| t.text("kind"));
    if let Some(other) = manager.filter(|kind| *kind != IN_KERNEL) {
        let message = format!("endpoints are for the path manager \"{IN_KERNEL}\"; found \"{other}\"");
        let help = format!("set path_manager = \"{IN_KERNEL}\", or remove `endpoints`");
        report.add(list.at, Code::Contradiction, &format!("{path}.transport.endpoints"), message, help);
        return;
    }
    let mut seen = Vec::new();
    for (index, item) in list.items().iter().enumerate() {
        let path = format!("{path}.transport.endpoints.{index}");
        let Some(table) = item.as_table() else { continue };
        let Some(end) = table.text("end") else { continue };
        flags(table, end, &path, report);
        let Some(node) = end_node(flow, end, topology) else { continue };
        let Some(duplex_link) = duplex_link_of(table, "path", node, topology, &path, report) else {
            continue;
        };
        let at = table.get("path").map_or(item.at, |node| node.at);
        if seen.contains(&(end, duplex_link)) {
            let message = format!(
                "the {end}'s address on \"{}\" is an endpoint twice",
                topology.duplex_links[duplex_link].name
            );
            let help = "give all of its flags at one place".into();
            report.add(at, Code::DuplicateName, &format!("{path}.path"), message, help);
        }
        seen.push((end, duplex_link));
        if seen.iter().filter(|(e, _)| *e == end).count() == MAX_ENDPOINTS + 1 {
            let message = format!("more than {MAX_ENDPOINTS} endpoints at the {end}");
            report.add(at, Code::TooMany, &path, message, format!("at most {MAX_ENDPOINTS} at each end"));
            break;
        }
    }
}

/// Flags that go together, and those that an end can have.
fn flags(endpoint: &Table, end: &str, path: &str, report: &mut Report<'_>) {
    let Some(node) = endpoint.get("flags").filter(|node| !node.is_broken()) else { return };
    let has = |flag: &str| node.items().iter().any(|item| item.as_text() == Some(flag));
    let opens = ["subflow", "fullmesh", "laminar"].into_iter().find(|flag| has(flag));
    let (message, help) = if let (Some(flag), "server") = (opens, end) {
        (format!("\"{flag}\" opens subflows, and the server opens none"), "use \"signal\" at the server")
    } else if has("fullmesh") && has("signal") {
        ("\"fullmesh\" and \"signal\" exclude each other".into(), "leave out one of them")
    } else if has("fullmesh") && !has("subflow") {
        ("\"fullmesh\" needs \"subflow\"".into(), "write [\"subflow\", \"fullmesh\"]")
    } else {
        return;
    };
    report.add(node.at, Code::Contradiction, &format!("{path}.flags"), message, help.into());
}

/// An address comes or goes.
struct Step<'t> {
    at: Nanos,
    origin: Origin,
    path: String,
    /// Flow, end, duplex link.
    whose: (&'t str, &'t str, usize),
    joins: bool,
}

/// Events of flows.
pub(crate) fn events(root: &Table, topology: &Topology, report: &mut Report<'_>) {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let (flows, leaves) = (flows_by_name(root), first_leaves(root));
    // A flow whose name cannot be read may be the one that is meant.
    let partial = root.list("flow").iter().any(|item| !item.as_table().is_some_and(|t| t.has("name")));
    for (index, item) in root.list("event").iter().enumerate() {
        let Some(event) = item.as_table() else { continue };
        let path = format!("event.{index}");
        let flow =
            event.get("flow").and_then(|node| named_flow(root, (&flows, partial), node, &path, report));
        let Some(action) = event.get("do") else { continue };
        let Some((key, table)) = one_action(action, &path, report) else { continue };
        let (Some(flow), Some(end)) = (flow, table.text("end")) else { continue };
        let path = format!("{path}.do");
        if !applies(flow, table, key, &path, report) || key == "abort" {
            continue;
        }
        let Some(node) = end_node(flow, end, topology) else { continue };
        let Some(duplex_link) = duplex_link_of(table, key, node, topology, &path, report) else { continue };
        let (Some(at), Some(name)) = (event.parse::<Nanos>("at"), flow.text("name")) else { continue };
        let origin = table.get(key).map_or(item.at, |node| node.at);
        let opens_over = flow.text("via") == Some(&topology.duplex_links[duplex_link].name);
        if key == "join"
            && opens_over
            && leaves.get(&(name, end, table.text(key))).is_none_or(|first| *first >= at)
        {
            let message = "the connection is opened over it, so it is there from the start".into();
            let help = "let it leave first, or give the flow another `via`".into();
            report.add(origin, Code::Contradiction, &format!("{path}.join"), message, help);
            continue;
        }
        if matches!(key, "leave" | "join") {
            let path = format!("{path}.{key}");
            steps.push(Step { at, origin, path, whose: (name, end, duplex_link), joins: key == "join" });
        }
    }
    in_turn(steps, topology, report);
}

/// The first flow of each name: an event need not look through all flows.
fn flows_by_name(root: &Table) -> BTreeMap<&str, &Table> {
    let mut found = BTreeMap::new();
    for (_, flow) in root.tables("flow") {
        flow.text("name").map(|name| found.entry(name).or_insert(flow));
    }
    found
}

/// When an address first leaves: by flow, end and duplex link, wherever that is written.
fn first_leaves(root: &Table) -> BTreeMap<(&str, &str, Option<&str>), Nanos> {
    let mut found = BTreeMap::new();
    for (_, event) in root.tables("event") {
        let Some(action) = event.table("do").filter(|action| action.has("leave")) else { continue };
        let (Some(flow), Some(end)) = (event.text("flow"), action.text("end")) else { continue };
        let Some(at) = event.parse::<Nanos>("at") else { continue };
        let first = found.entry((flow, end, action.text("leave"))).or_insert(at);
        *first = at.min(*first);
    }
    found
}

/// An address that has left must come back before it can leave again.
fn in_turn(mut steps: Vec<Step<'_>>, topology: &Topology, report: &mut Report<'_>) {
    steps.sort_by_key(|step| step.at);
    let mut joined_last = BTreeMap::new();
    for step in &steps {
        if joined_last.insert(step.whose, step.joins) == Some(step.joins) {
            let (_, end, duplex_link) = step.whose;
            let name = &topology.duplex_links[duplex_link].name;
            let what = if step.joins { "is there already" } else { "has left already" };
            let message = format!("the {end}'s address on \"{name}\" {what}");
            let help = "`leave` and `join` take turns".into();
            report.add(step.origin, Code::Contradiction, &step.path, message, help);
        }
    }
}

fn named_flow<'t>(
    root: &Table,
    (flows, partial): (&BTreeMap<&'t str, &'t Table>, bool),
    node: &Placed,
    path: &str,
    report: &mut Report<'_>,
) -> Option<&'t Table> {
    let name = node.as_text()?;
    let found = flows.get(name).copied();
    if found.is_none() && !partial {
        let names = root.tables("flow").filter_map(|(_, flow)| flow.text("name"));
        let help = suggest(name, "flows", names);
        let message = format!("there is no flow \"{name}\"");
        report.add(node.at, Code::UnknownName, &format!("{path}.flow"), message, help);
    }
    found
}

/// The one thing that `do` asks for.
fn one_action<'t>(
    node: &'t Placed,
    path: &str,
    report: &mut Report<'_>,
) -> Option<(&'static str, &'t Table)> {
    let table = node.as_table()?;
    let found: Vec<&'static str> = FLOW_ACTIONS.iter().copied().filter(|key| table.has(key)).collect();
    match found.as_slice() {
        [only] => return Some((*only, table)),
        [] if table.partial => {}
        [] => {
            let help = format!("give one of {}", FLOW_ACTIONS.join(", "));
            report.add(node.at, Code::MissingKey, &format!("{path}.do"), "nothing is done".into(), help);
        }
        [first, second, ..] => {
            let at = table.get(second).map_or(node.at, |n| n.at);
            let message = format!("`{first}` and `{second}` are two events");
            let help = "write an event for each".into();
            report.add(at, Code::Contradiction, &format!("{path}.do.{second}"), message, help);
        }
    }
    None
}

/// Only MPTCP, with subflows that have addresses, handles addresses that come and go; datagrams have no
/// connection.
fn applies(flow: &Table, action: &Table, key: &'static str, path: &str, report: &mut Report<'_>) -> bool {
    let at = action.get(key).map_or(Origin::Default, |node| node.at);
    let Some(transport) = flow.table("transport") else { return false };
    let Some(kind) = transport.text("kind") else { return false };
    let name = flow.text("name").unwrap_or_default();
    if key == "abort" && kind != "udp" {
        return true;
    }
    if kind != "mptcp" {
        let needed = if key == "abort" { "a connection" } else { "kind = \"mptcp\"" };
        let message = format!("`{key}` is for flows with {needed}; \"{name}\" has kind = \"{kind}\"");
        let help = "change the link instead (`link` and `set`), or the transport of the flow".into();
        report.add(at, Code::NotApplicable, &format!("{path}.{key}"), message, help);
        return false;
    }
    let manager = transport.table("path_manager").and_then(|table| table.text("kind"));
    if manager.and_then(path_managers::find).is_some_and(|row| !row.bound) && !flow.has("via") {
        let message = format!("routing decides how \"{name}\" goes: its subflows are bound to no address");
        let help = "give the flow a `via`, or another path manager".into();
        report.add(at, Code::Contradiction, &format!("{path}.{key}"), message, help);
        return false;
    }
    true
}
