//! Rules between keys and across the file: references of flows and events, times, contradictions.

use std::collections::BTreeSet;

use congestion::Congestion;
use schedulers::Schedulers;
use units::{Bytes, Nanos};

use crate::addresses;
use crate::choices::Choices;
use crate::graph::NodePair;
use crate::keys::SET;
use crate::model::Choice;
use crate::path_managers::{self, Subflows};
use crate::registries::Listed;
use crate::topology::{Topology, duplicate};
use document::diagnostic::{Code, Report, suggest};
use document::tree::{Origin, Placed, Table, Value};

/// Addresses of one host.
const MAX_ADDRESSES: usize = 256;
/// Subflows of one connection.
const MAX_SUBFLOWS: usize = transport::mptcp::MAX_SUBFLOWS;

/// A scenario needs something to run and something to run it over.
pub(crate) fn something_to_run(root: &Table, report: &mut Report<'_>) {
    let missing = |list: &str| root.get(list).is_none_or(|node| !node.is_broken() && node.items().is_empty());
    if missing("flow") {
        let help = "add a [[flow]] with name, from, to and transport".into();
        report.add(Origin::Default, Code::NothingToRun, "flow", "there is no flow".into(), help);
    }
    if ["path", "link", "mesh"].into_iter().all(missing) {
        let help = "add a [[path]] with name, up and down, or [[node]] and [[link]]".into();
        report.add(Origin::Default, Code::NothingToRun, "path", "nothing joins any nodes".into(), help);
    }
}

/// All flows; fills in what follows from other keys.
pub(crate) fn flows(root: &mut Table, topology: &Topology, choices: &Choices<'_>, report: &mut Report<'_>) {
    if crate::flows::are_too_many(root, report) {
        return;
    }
    let end = root.parse::<Nanos>("duration");
    let duration = root.get("duration").map(|node| node.value.clone());
    let Some(Placed { value: Value::List(items), .. }) = root.get_mut("flow") else { return };
    let (mut names, mut stems) = (BTreeSet::new(), BTreeSet::new());
    for (index, item) in items.iter_mut().enumerate() {
        let path = document::check::element_path("", "flow", index, item);
        let Some(flow) = item.as_table_mut() else { continue };
        if let Some(name) = flow.get("name")
            && let Some(text) = name.as_text()
        {
            let count = flow.integer("count").and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
            let own = crate::flows::flow_names(text, count);
            // Other keys refer to the flow by its name in the file, whatever its `count`.
            let referred = (!stems.insert(text.to_owned())).then(|| text.to_owned());
            if let Some(taken) = referred.as_ref().or_else(|| own.iter().find(|text| names.contains(*text))) {
                duplicate(report, name.at, &format!("{path}.name"), "flow", taken);
            }
            names.extend(own);
        }
        if !flow.has("stop")
            && let Some(value) = &duration
        {
            flow.put("stop", Origin::Default, Placed::new(value.clone(), Origin::Default));
        }
        crate::flows::application(flow, &path, choices, report);
        let mut rules = Rules { report, path: &path, transport: TRANSPORT };
        rules.times(flow, end);
        rules.ends(flow, topology);
        rules.transport(flow, choices);
        rules.subflows(flow, topology);
        crate::sctp_rules::flow(flow, &path, report);
        addresses::endpoints(flow, topology, &path, report);
    }
}

/// All events.
pub(crate) fn events(root: &Table, topology: &Topology, report: &mut Report<'_>) {
    let end = root.parse::<Nanos>("duration");
    for (index, item) in root.list("event").iter().enumerate() {
        let Some(event) = item.as_table() else { continue };
        let path = format!("event.{index}");
        if let (Some(at), Some(end), Some(node)) = (event.parse::<Nanos>("at"), end, event.get("at"))
            && at >= end
        {
            let message = format!("found \"{at}\", but the run ends at \"{end}\"");
            let help = "choose an earlier time, or a longer `duration`".into();
            report.add(node.at, Code::NeverHappens, &format!("{path}.at"), message, help);
        }
        shape(event, item.at, &path, report);
        if let Some(node) = event.get("link")
            && let Some(name) = node.as_text()
            && topology.directions(name).is_none()
            && !topology.links_partial
        {
            let duplex_links = topology.duplex_links.iter();
            let known =
                duplex_links.flat_map(|w| std::iter::once(&w.name).chain(&w.directions)).map(String::as_str);
            let help = suggest(name, "paths and links", known);
            let message = format!("there is no path or link \"{name}\"");
            report.add(node.at, Code::UnknownName, &format!("{path}.link"), message, help);
        }
        if let Some(node) = event.get("proxy")
            && let Some(name) = node.as_text()
            && !root.tables("proxy").any(|(_, proxy)| proxy.text("name") == Some(name))
        {
            let known = root.tables("proxy").filter_map(|(_, proxy)| proxy.text("name"));
            let (help, message) = (suggest(name, "proxies", known), format!("there is no proxy \"{name}\""));
            report.add(node.at, Code::UnknownName, &format!("{path}.proxy"), message, help);
        }
        if let Some(node) = event.get("set")
            && let Some(set) = node.as_table()
            && set.entries.is_empty()
            && !set.partial
        {
            let help = format!("give at least one of {}", SET.names().collect::<Vec<_>>().join(", "));
            report.add(node.at, Code::MissingKey, &format!("{path}.set"), "nothing is changed".into(), help);
        }
    }
}

/// An event is about a link, a flow or a proxy.
fn shape(event: &Table, at: Origin, path: &str, report: &mut Report<'_>) {
    if event.partial {
        return;
    }
    let mut missing = |key: &str, help: &str| {
        let (key, message) = (format!("{path}.{key}"), format!("`{key}` is missing"));
        report.add(at, Code::MissingKey, &key, message, help.into());
    };
    let all = ["link", "set", "flow", "do", "proxy", "crash"];
    let found: Vec<&str> = all.into_iter().filter(|key| event.has(key)).collect();
    match found.as_slice() {
        ["link", "set"] | ["flow", "do"] | ["proxy", "crash"] => {}
        [] => missing("link", "add `link` and `set`, `flow` and `do`, or `proxy` and `crash`"),
        ["set"] => missing("link", "add `link`: the name of what changes"),
        ["link"] => missing("set", "add `set`: what the link becomes"),
        ["do"] => missing("flow", "add `flow`: to whose connection it happens"),
        ["flow"] => missing("do", "add `do`, as in do = { leave = \"beam2\" }"),
        ["crash"] => missing("proxy", "add `proxy`: which of them crashes"),
        ["proxy"] => missing("crash", "add `crash`, as in crash = \"reset\""),
        _ => {
            let (at, key) = blame(event, &["proxy", "crash", "flow", "do"], at);
            let message = "an event is about a link (`link`, `set`), a flow (`flow`, `do`) or a proxy (`proxy`, `crash`)".into();
            let help = "write two events".into();
            report.add(at, Code::Contradiction, &format!("{path}.{key}"), message, help);
        }
    }
}

/// The key of a flow that has its transport.
const TRANSPORT: &str = "transport";

/// The rules of a transport, which `table` has under `key` and whose path is `path`.
pub(crate) fn transport(
    table: &mut Table,
    (path, key): (&str, &str),
    choices: &Choices<'_>,
    report: &mut Report<'_>,
) {
    Rules { report, path, transport: key }.transport(table, choices);
}

pub(crate) struct Rules<'r, 'a, 'p> {
    report: &'r mut Report<'a>,
    path: &'p str,
    /// The key under which the transport stands.
    transport: &'p str,
}

/// Where to point: the first of these keys that the user wrote, else the table.
pub(crate) fn blame(table: &Table, keys: &[&'static str], at: Origin) -> (Origin, &'static str) {
    let written = |key: &&'static str| {
        let at = table.get(key)?.at;
        (at != Origin::Default).then_some((at, *key))
    };
    keys.iter().find_map(written).unwrap_or((at, keys.first().copied().unwrap_or_default()))
}

impl Rules<'_, '_, '_> {
    /// Rules about a transport name its keys `transport.KEY`, whatever the key of the transport is.
    pub(crate) fn add(&mut self, at: Origin, code: Code, key: &str, message: String, help: String) {
        let key =
            key.strip_prefix(TRANSPORT).map_or(key.to_owned(), |rest| format!("{}{rest}", self.transport));
        self.report.add(at, code, &format!("{}.{key}", self.path), message, help);
    }

    fn transport(&mut self, table: &mut Table, choices: &Choices<'_>) {
        let Some(transport) = table.get_mut(self.transport) else { return };
        let at = transport.at;
        let Some(transport) = transport.as_table_mut() else { return };
        self.recovery(transport, at);
        crate::buffer_rules::sizes(self, transport, at);
        self.variants(transport);
        self.timers(transport, at);
        self.scheduler(transport, choices);
        self.congestion(transport, at, choices);
    }

    fn times(&mut self, flow: &Table, end: Option<Nanos>) {
        let (Some(start), Some(stop)) = (flow.parse::<Nanos>("start"), flow.parse::<Nanos>("stop")) else {
            return;
        };
        let waits = flow.has("after");
        let last = crate::flows::last_start(flow, start);
        if let Some(end) = end.filter(|end| last >= *end) {
            let (at, key) = blame(flow, &["start", "spacing", "spread"], Origin::Default);
            let found = if last == start {
                format!("found \"{start}\"")
            } else {
                format!("the last of them may start at \"{last}\"")
            };
            let message = format!("{found}, but the run ends at \"{end}\"");
            let help = "choose an earlier time, or a longer `duration`".into();
            self.add(at, Code::NeverHappens, key, message, help);
        } else if !waits && stop <= last {
            let (at, key) = blame(flow, &["stop", "start"], Origin::Default);
            let message = format!("the flow stops at \"{stop}\" and starts at \"{last}\"");
            self.add(at, Code::StopBeforeStart, key, message, "let it stop later than it starts".into());
        }
    }

    /// Nodes, routes, and the first duplex link.
    fn ends(&mut self, flow: &mut Table, topology: &Topology) {
        let mut host = |key: &str| {
            let path = format!("{}.{key}", self.path);
            flow.get(key).and_then(|node| topology.host(node, &path, self.report))
        };
        let (from, to) = (host("from"), host("to"));
        let via = self.via(flow, topology, from);
        let (Some(from), Some(to)) = (from, to) else { return };
        let at = flow.get("to").map_or(Origin::Default, |node| node.at);
        if from == to {
            let message = format!("the flow goes from \"{0}\" to \"{0}\"", topology.hosts[to].name);
            return self.add(at, Code::SameNode, "to", message, "choose another node".into());
        }
        if topology.links_partial || topology.nodes_partial || topology.duplex_links.is_empty() {
            return;
        }
        let direct = |duplex_link: &crate::topology::LinkEntry| {
            duplex_link.ends == [from, to] || duplex_link.ends == [to, from]
        };
        if !topology.joined(NodePair { from, to }) {
            // A node without any link is reported as such.
            if !topology.is_isolated(from) && !topology.is_isolated(to) {
                self.no_route(at, topology, from, to);
            }
            return;
        }
        if let Some((duplex_link, via_at)) = via
            && !topology.leads(duplex_link, NodePair { from, to })
        {
            let (name, to) = (&topology.duplex_links[duplex_link].name, &topology.hosts[to].name);
            let message = format!("\"{name}\" does not lead to \"{to}\"");
            self.add(via_at, Code::BadVia, "via", message, leaving(topology, from));
        }
        for (key, node) in [("from", from), ("to", to)] {
            if topology.degree(node) > MAX_ADDRESSES {
                let at = flow.get(key).map_or(Origin::Default, |node| node.at);
                let message =
                    format!("{} links end at \"{}\"", topology.degree(node), topology.hosts[node].name);
                let help = format!("an end of a flow has an address on each, at most {MAX_ADDRESSES}");
                self.add(at, Code::TooMany, key, message, help);
            }
        }
        let first = topology
            .duplex_links
            .iter()
            .find(|duplex_link| duplex_link.source.0 == "path" && direct(duplex_link));
        if let (Some(duplex_link), false) = (first, flow.has("via")) {
            flow.put("via", Origin::Default, Placed::text(&duplex_link.name));
        }
    }

    /// The path manager opens no more subflows than a connection can have.
    fn subflows(&mut self, flow: &Table, topology: &Topology) {
        let node =
            |key: &str| flow.text(key).and_then(|name| topology.hosts.iter().position(|h| h.name == name));
        let transport = flow.get("transport").and_then(Placed::as_table);
        let Some(manager) = transport.and_then(|t| t.get("path_manager")) else { return };
        let Some(table) = manager.as_table() else { return };
        let each = table.integer("subflows").and_then(|n| usize::try_from(n).ok());
        let (Some(from), Some(to), Some(each)) = (node("from"), node("to"), each) else { return };
        let (pairs, interfaces) = topology.pairs(NodePair { from, to });
        let Some(row) = table.text("kind").and_then(path_managers::find) else { return };
        let wanted = match row.subflows {
            Subflows::OnPath => interfaces.max(topology.pairs(NodePair { from: to, to: from }).1) * each,
            Subflows::OnPair => pairs * each,
            Subflows::InAll | Subflows::AtMost => each,
        };
        if wanted > MAX_SUBFLOWS {
            let message = format!("the path manager would open {wanted} subflows");
            let help =
                format!("a connection has at most {MAX_SUBFLOWS}: fewer subflows on each, or fewer links");
            self.add(manager.at, Code::TooMany, "transport.path_manager", message, help);
        }
        let known = (row.subflows != Subflows::AtMost).then_some(wanted);
        if let Some(node) = transport.and_then(|t| t.table("scheduler")).and_then(|s| s.get("weights")) {
            self.weights(node, known);
        }
    }

    /// Weights of subflows: one for each; or a single zero, which asks for none.
    fn weights(&mut self, node: &Placed, subflows: Option<usize>) {
        let number = |item: &Placed| item.value.bare().and_then(|text| text.parse::<f64>().ok());
        let weights: Vec<f64> = node.items().iter().filter_map(number).collect();
        let path = "transport.scheduler.weights";
        // A value that is no list of positive numbers, or contains a zero, has been reported already.
        if weights.len() != node.items().len() || weights.is_empty() || weights.contains(&0.0) {
            return;
        }
        if let Some(subflows) = subflows.filter(|&n| n != weights.len()) {
            let message = format!("found {} weights; there will be {subflows} subflows", weights.len());
            let equal = vec!["1"; subflows.min(8)].join(", ");
            let help = format!("give one weight per subflow, in the order of the paths: [{equal}]");
            self.add(node.at, Code::BadValue, path, message, help);
        }
    }

    fn no_route(&mut self, at: Origin, topology: &Topology, from: usize, to: usize) {
        let blockers = topology.blockers(NodePair { from, to });
        let [from, to] = [from, to].map(|node| &topology.hosts[node].name);
        let help = match blockers.as_slice() {
            [] => format!("join \"{from}\" and \"{to}\" by a [[path]] or by links"),
            names => format!("let {} pass packets on: forward = true", names.join(", ")),
        };
        self.add(at, Code::NoRoute, "to", format!("no route joins \"{from}\" and \"{to}\""), help);
    }

    /// The duplex link that the flow names, if it touches the sender.
    fn via(&mut self, flow: &Table, topology: &Topology, from: Option<usize>) -> Option<(usize, Origin)> {
        let node = flow.get("via")?;
        let name = node.as_text()?;
        let Some(duplex_link) = topology.duplex_link(name) else {
            if !topology.links_partial {
                let help =
                    suggest(name, "paths and links", topology.duplex_links.iter().map(|w| w.name.as_str()));
                let message = format!("there is no path or link \"{name}\"");
                self.add(node.at, Code::UnknownName, "via", message, help);
            }
            return None;
        };
        let from = from?;
        if !topology.duplex_links[duplex_link].ends.contains(&from) {
            let message = format!("\"{name}\" does not touch \"{}\"", topology.hosts[from].name);
            self.add(node.at, Code::BadVia, "via", message, leaving(topology, from));
            return None;
        }
        Some((duplex_link, node.at))
    }

    /// Recovery by SACK needs SACK, and some kinds of recovery make no use of other settings.
    fn recovery(&mut self, transport: &mut Table, at: Origin) {
        let kind = transport.text("recovery").map(str::to_owned).unwrap_or_default();
        if !self.unused_by_recovery(transport, &kind) || !self.space_links(transport, &kind, at) {
            return;
        }
        self.after_timeout(transport, &kind);
        if transport.flag("sack") != Some(false) {
            return;
        }
        let mut found = Vec::new();
        let mut cure = Vec::new();
        if let Some(kind @ ("sack" | "rack")) = transport.text("recovery") {
            found.push(format!("recovery = \"{kind}\"{}", whose(transport, "recovery")));
            cure.push("recovery = \"newreno\"");
        }
        if transport.flag("prr") == Some(true) {
            found.push(format!("prr = true{}", whose(transport, "prr")));
            cure.push("prr = false");
        }
        if !found.is_empty() {
            let (at, key) = blame(transport, &["sack", "recovery", "prr"], at);
            let verb = if found.len() == 1 { "needs" } else { "need" };
            let message =
                format!("sack = false{}, but {} {verb} it", whose(transport, "sack"), found.join(" and "));
            let help = format!("set sack = true, or {}", cure.join(" and "));
            self.add(at, Code::Contradiction, &format!("transport.{key}"), message, help);
        }
    }

    /// A profile's preference gives way to a recovery that makes no use of it; what the file says is a mistake.
    /// False if there is one.
    fn unused_by_recovery(&mut self, transport: &mut Table, kind: &str) -> bool {
        let unused: &[&'static str] = match kind {
            "newreno" => &["prr"],
            "snack" => &["prr", "sack"],
            "stp" => &["prr", "sack", "timestamps", "acks_per_rtt"],
            _ => &[],
        };
        for key in unused {
            let (off, found) = match transport.get(key).map(|node| &node.value) {
                Some(Value::Flag(true)) => (Value::Flag(false), "true".to_owned()),
                Some(Value::Integer(n @ 1..)) => (Value::Integer(0), n.to_string()),
                _ => continue,
            };
            let at = transport.get(key).map_or(Origin::Default, |node| node.at);
            if at != Origin::Default {
                let message = format!(
                    "{key} = {found}, but recovery = \"{kind}\"{} makes no use of it",
                    whose(transport, "recovery")
                );
                let off = if matches!(off, Value::Flag(_)) { "false" } else { "0" };
                let help = format!("set {key} = {off}, or recovery = \"sack\" or \"rack\"");
                self.add(at, Code::Contradiction, &format!("transport.{key}"), message, help);
                return false;
            }
            transport.put(key, Origin::Default, Placed::new(off, Origin::Default));
        }
        true
    }

    /// Keys for the time after a timeout matter only to the recovery and the congestion control that read them.
    fn after_timeout(&mut self, transport: &Table, kind: &str) {
        let mut refuse = |key: &str, found: &str, other: &str, help: &str| {
            let Some(node) = transport.get(key) else { return };
            let message = format!("{key} = {found}, but {other} makes no use of it");
            self.add(node.at, Code::Contradiction, &format!("transport.{key}"), message, help.to_owned());
        };
        if transport.flag("multiple_fast_retransmits") == Some(true) && kind != "newreno" {
            let recovery = format!("recovery = \"{kind}\"{}", whose(transport, "recovery"));
            let help = "set multiple_fast_retransmits = false, or recovery = \"newreno\"";
            refuse("multiple_fast_retransmits", "true", &recovery, help);
        }
        let control = transport.table("congestion");
        let by_control = control.and_then(|keys| keys.text("ssthresh_from")) == Some("flight");
        let by_cwnd = transport.text("ssthresh_from") == Some("cwnd") && !by_control;
        if transport.text("flight_after_timeout") == Some("outstanding") && by_cwnd {
            let from = format!("ssthresh_from = \"cwnd\"{}", whose(transport, "ssthresh_from"));
            let help = "remove `flight_after_timeout`, or set ssthresh_from = \"flight\"";
            refuse("flight_after_timeout", "\"outstanding\"", &from, help);
        }
    }

    /// SCPS-TP and STP are transports of their own, of one path. False if there is a mistake.
    fn space_links(&mut self, transport: &Table, kind: &str, at: Origin) -> bool {
        if transport.text("kind") == Some("mptcp") && matches!(kind, "snack" | "stp") {
            let (at, key) = blame(transport, &["recovery", "profile", "kind"], at);
            let message = format!(
                "kind = \"mptcp\", but recovery = \"{kind}\"{} is for TCP only",
                whose(transport, "recovery")
            );
            let help = "set kind = \"tcp\", or recovery = \"newreno\", \"sack\" or \"rack\"".to_owned();
            self.add(at, Code::Contradiction, &format!("transport.{key}"), message, help);
            return false;
        }
        if transport.flag("scps_peer") == Some(false) && kind != "snack" {
            let (at, key) = blame(transport, &["scps_peer"], at);
            let message = format!(
                "`scps_peer` has no meaning with recovery = \"{kind}\"{}",
                whose(transport, "recovery")
            );
            let help = "set recovery = \"snack\", or remove `scps_peer`".to_owned();
            self.add(at, Code::Contradiction, &format!("transport.{key}"), message, help);
            return false;
        }
        true
    }

    /// Variants of what is switched off: that of a profile is off too, one of the file is a mistake.
    fn variants(&mut self, transport: &mut Table) {
        for (variant, needs) in [("minshall", "nagle"), ("short_data_ack", "wide_sequence")] {
            let unused = transport.flag(variant) == Some(true) && transport.flag(needs) == Some(false);
            let Some(at) = transport.get(variant).map(|node| node.at).filter(|_| unused) else { continue };
            if at == Origin::Default {
                transport.put(variant, Origin::Default, Placed::new(Value::Flag(false), Origin::Default));
                continue;
            }
            let message =
                format!("`{variant}` has no meaning with {needs} = false{}", whose(transport, needs));
            let help = format!("set {needs} = true, or remove `{variant}`");
            self.add(at, Code::Contradiction, &format!("transport.{variant}"), message, help);
        }
    }

    fn timers(&mut self, transport: &Table, at: Origin) {
        let fine = self.ordered::<Nanos>(transport, at, "rto_min", "rto_max");
        if fine {
            self.ordered::<Nanos>(transport, at, "rto_initial", "rto_max");
        }
    }

    /// The algorithm of the transport under `key`, if its options fit each other.
    fn options<F: Listed>(
        &mut self,
        transport: &Table,
        key: &str,
        choices: &Choices<'_>,
    ) -> Option<Choice<F>> {
        let node = transport.get(key)?;
        let table = node.as_table()?;
        let choice = choices.plain(table)?;
        let Some(fault) = Choice::fault(&choice) else { return Some(choice) };
        let at = table.written(fault.option).unwrap_or(node.at);
        self.add(at, Code::BadValue, &format!("transport.{key}.{}", fault.option), fault.message, fault.help);
        None
    }

    /// A scheduler and its options.
    fn scheduler(&mut self, transport: &Table, choices: &Choices<'_>) {
        let Some(choice) = self.options::<Schedulers>(transport, "scheduler", choices) else { return };
        self.refuse(transport, "scheduler", crate::sctp_rules::scheduler(transport, &choice));
        crate::buffer_rules::subflow_queue(self, transport, &choice);
    }

    /// Some controllers make no sense without a threshold for slow start (choice D-04), or without marks.
    fn congestion(&mut self, transport: &Table, at: Origin, choices: &Choices<'_>) {
        let Some(choice) = self.options::<Congestion>(transport, "congestion", choices) else {
            return;
        };
        let (kind, needs) = (choice.name(), congestion::needs(&choice.row, &choice.options));
        if self.refuse(transport, "congestion", crate::sctp_rules::congestion(transport, kind, needs)) {
            return;
        }
        if needs.ecn && transport.flag("ecn") == Some(false) {
            let (at, key) = blame(transport, &["ecn", "congestion"], at);
            let message = format!(
                "ecn = false{}, but congestion = \"{kind}\" needs marks: without one it takes a loss for corruption",
                whose(transport, "ecn")
            );
            let help =
                "set ecn = true, and queues that mark, such as queue = { kind = \"red\", ecn = true }".into();
            self.add(at, Code::Contradiction, &format!("transport.{key}"), message, help);
        }
        let unlimited = transport.parse::<Bytes>("initial_ssthresh") == Some(Bytes::MAX);
        if unlimited && needs.finite_ssthresh {
            let (at, key) = blame(transport, &["initial_ssthresh", "congestion"], at);
            let message = format!(
                "initial_ssthresh = \"unlimited\"{}, but congestion = \"{kind}\" needs a finite one",
                whose(transport, "initial_ssthresh")
            );
            let help =
                "set initial_ssthresh to the bandwidth-delay product of a path, or less: \"64KiB\"".into();
            self.add(at, Code::Contradiction, &format!("transport.{key}"), message, help);
        }
    }

    /// `low <= high`; true if it holds or cannot be told.
    pub(crate) fn ordered<T>(
        &mut self,
        table: &Table,
        at: Origin,
        low: &'static str,
        high: &'static str,
    ) -> bool
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let (Some(a), Some(b)) = (table.parse::<T>(low), table.parse::<T>(high)) else { return true };
        if a <= b {
            return true;
        }
        let (at, key) = blame(table, &[low, high], at);
        let message =
            format!("{low} = \"{a}\"{} is above {high} = \"{b}\"{}", whose(table, low), whose(table, high));
        let help = if key == low {
            format!("set {high} = \"{a}\" or more, too")
        } else {
            format!("set {low} = \"{b}\" or less, too")
        };
        self.add(at, Code::Contradiction, &format!("transport.{key}"), message, help);
        false
    }
}

/// " (from profile linux)" where the key has its default.
pub(crate) fn whose(transport: &Table, key: &str) -> String {
    match transport.get(key) {
        Some(node) if node.at == Origin::Default => {
            format!(" (from profile {})", transport.text("profile").unwrap_or_default())
        }
        _ => String::new(),
    }
}

/// The duplex links that leave a node.
fn leaving(topology: &Topology, node: usize) -> String {
    let touching = topology.duplex_links.iter().filter(|duplex_link| duplex_link.ends.contains(&node));
    let names: Vec<&str> = touching.map(|duplex_link| duplex_link.name.as_str()).collect();
    format!("links of \"{}\": {}", topology.hosts[node].name, names.join(", "))
}
