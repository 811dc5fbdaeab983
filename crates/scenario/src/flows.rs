//! Rules about the application of a flow, and about flows that wait for each other.

use std::collections::BTreeMap;

use apps::Apps;
use registry::Options;
use units::Nanos;

use crate::choices::Choices;
use document::check::element_path;
use document::diagnostic::{Code, Report, suggest};
use document::tree::{Origin, Placed, Table};

/// The end that opens follows from the application; the application and the transport must suit each other.
pub(crate) fn application(flow: &mut Table, path: &str, choices: &Choices<'_>, report: &mut Report<'_>) {
    let Some((choice, at)) =
        flow.get("app").and_then(|node| Some((choices.plain::<Apps>(node.as_table()?)?, node.at)))
    else {
        return;
    };
    if let Some(fault) = choice.fault() {
        let at = flow.table("app").and_then(|table| table.written(fault.option)).unwrap_or(at);
        let key = format!("{path}.app.{}", fault.option);
        return report.add(at, Code::BadValue, &key, fault.message, fault.help);
    }
    let (kind, app) = (choice.name(), (choice.row.build)(&choice.options));
    let opens = match app.opens() {
        apps::Side::Sender => "sender",
        apps::Side::Receiver => "receiver",
    };
    match flow.get("opened_by") {
        None => flow.put("opened_by", Origin::Default, Placed::text(opens)),
        Some(node) if opens == "receiver" && node.as_text() == Some("sender") => {
            let message =
                format!("in {kind} the receiver of the data asks for it, and so opens the connection");
            let help = "remove `opened_by`, or exchange `from` and `to`".into();
            report.add(node.at, Code::Contradiction, &format!("{path}.opened_by"), message, help);
        }
        Some(_) => {}
    }
    let transport = flow.get("transport").and_then(Placed::as_table);
    let kind_of_transport = transport.and_then(|table| table.get("kind"));
    if app.meets_plain_servers() {
        plain_servers(flow, transport, path, report);
    }
    if let Some(node) = kind_of_transport.filter(|node| node.as_text() == Some("udp"))
        && !app.takes_datagrams()
    {
        let message =
            format!("{kind} needs a transport that loses nothing and paces itself; found kind = \"udp\"");
        let usual = |row: &&apps::Algorithm| row.options.iter().all(|option| option.default.is_some());
        let able = |row: &&apps::Algorithm| (row.build)(&Options::defaults(row.options)).takes_datagrams();
        let able: Vec<&str> =
            choices.registries.apps.iter().filter(usual).filter(able).map(|row| row.name).collect();
        let help = format!(
            "set kind = \"tcp\" or \"mptcp\", or choose an application that sends at a rate of its own, such as {}",
            able.join(", ")
        );
        report.add(node.at, Code::Contradiction, &format!("{path}.transport.kind"), message, help);
    }
}

/// Servers that do not speak MPTCP make a difference only to a client that does, beside others that do.
fn plain_servers(flow: &Table, transport: Option<&Table>, path: &str, report: &mut Report<'_>) {
    let at = flow.get("app").and_then(Placed::as_table).and_then(|app| app.get("mptcp_domains"));
    let (Some(at), Some(transport)) = (at.map(|node| node.at), transport) else { return };
    let message = match (transport.text("kind"), transport.flag("peer_capable")) {
        (Some("mptcp"), Some(false)) => "with peer_capable = false no server speaks MPTCP",
        (Some("mptcp") | None, _) => return,
        _ => "without MPTCP all servers are alike",
    };
    let help = "remove it, or set kind = \"mptcp\" and peer_capable = true in the transport".into();
    report.add(at, Code::Contradiction, &format!("{path}.app.mptcp_domains"), message.into(), help);
}

/// Flows of one file, each `count` included; far above what can be simulated in a reasonable time.
const MAX_FLOWS: usize = 100_000;

/// Reports that there are too many flows, before any of them is made.
pub(crate) fn are_too_many(root: &Table, report: &mut Report<'_>) -> bool {
    let mut total = 0;
    for (index, (item, flow)) in root.tables("flow").enumerate() {
        total += flow.integer("count").and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
        if total > MAX_FLOWS {
            let at = flow.written("count").or_else(|| flow.written("name")).unwrap_or(Origin::Default);
            let message = format!("more than {MAX_FLOWS} flows in all");
            let path = element_path("", "flow", index, item);
            report.add(at, Code::TooMany, &path, message, "make `count` smaller".into());
            return true;
        }
    }
    false
}

/// The names of `count` flows with this name in the file.
pub(crate) fn flow_names(name: &str, count: usize) -> Vec<String> {
    if count == 1 {
        return vec![name.to_owned()];
    }
    (1..=count).map(|n| format!("{name}{n}")).collect()
}

/// When the last flow of a `count` may start.
pub(crate) fn last_start(flow: &Table, start: Nanos) -> Nanos {
    let time = |key: &str| flow.parse::<Nanos>(key).unwrap_or(Nanos::ZERO);
    let others = flow.integer("count").and_then(|n| u64::try_from(n).ok()).unwrap_or(1).saturating_sub(1);
    start + time("spacing").saturating_mul(others) + time("spread")
}

/// With `count = 0` there is no such flow.
fn is_left_out(flow: &Table) -> bool {
    flow.integer("count") == Some(0)
}

/// At least one flow must send something.
pub(crate) fn not_all_left_out(root: &Table, report: &mut Report<'_>) {
    let items = root.list("flow");
    if let Some(node) = items.first().filter(|_| items.iter().filter_map(Placed::as_table).all(is_left_out)) {
        let help = "give one of them another `count`".into();
        report.add(node.at, Code::Contradiction, "flow", "all flows have `count = 0`".into(), help);
    }
}

/// `after` names a flow, and no flow waits for itself.
pub(crate) fn waits(root: &Table, report: &mut Report<'_>) {
    let flows: Vec<&Table> = root.list("flow").iter().filter_map(Placed::as_table).collect();
    let mut by_name = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        flow.text("name").map(|name| by_name.entry(name).or_insert(index));
    }
    let named = |name: &str| by_name.get(name).copied();
    let circles = circles(&flows.iter().map(|flow| flow.text("after").and_then(named)).collect::<Vec<_>>());
    let broken = root.list("flow").iter().any(|item| item.as_table().is_none());
    for (index, flow) in flows.iter().enumerate() {
        let (Some(node), Some(name)) = (flow.get("after"), flow.text("after")) else { continue };
        let path = format!("flow.{}.after", flow.text("name").unwrap_or_default());
        let Some(next) = named(name) else {
            if !broken {
                let others = flows.iter().enumerate().filter(|(i, _)| *i != index);
                let help = suggest(name, "other flows", others.filter_map(|(_, other)| other.text("name")));
                report.add(node.at, Code::UnknownName, &path, format!("there is no flow \"{name}\""), help);
            }
            continue;
        };
        if is_left_out(flows[next]) && !is_left_out(flow) {
            let message = format!("\"{name}\" has `count = 0` and never ends");
            let help = "wait for another flow, or for none".into();
            report.add(node.at, Code::UnknownName, &path, message, help);
            continue;
        }
        if circles[index] {
            let message = match name == flow.text("name").unwrap_or_default() {
                true => "the flow waits for itself".to_owned(),
                false => format!("\"{name}\" waits for this flow in turn"),
            };
            let help = "let one of them start at a time: remove its `after`".into();
            report.add(node.at, Code::WaitCircle, &path, message, help);
        }
    }
}

/// For each element whether the way from it, along `next`, leads back to it. Each element is visited twice at most.
fn circles(next: &[Option<usize>]) -> Vec<bool> {
    let mut found = vec![false; next.len()];
    // The start of the walk that was first there.
    let mut seen: Vec<Option<usize>> = vec![None; next.len()];
    for start in 0..next.len() {
        let mut here = Some(start);
        while let Some(at) = here.filter(|at| seen[*at].is_none()) {
            seen[at] = Some(start);
            here = next[at];
        }
        while let Some(at) = here.filter(|at| seen[*at] == Some(start) && !found[*at]) {
            found[at] = true;
            here = next[at];
        }
    }
    found
}
