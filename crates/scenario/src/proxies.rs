//! Rules about proxies: where they sit, what they intercept, and the transports of their two sides.

use std::collections::BTreeSet;

use crate::choices::Choices;
use crate::graph::NodePair;
use crate::rules;
use crate::topology::{Topology, duplicate};
use document::diagnostic::{Code, Report, suggest};
use document::tree::{Origin, Placed, Table, Value};

/// All proxies; fills in what follows from other keys of their transports.
pub(crate) fn check(root: &mut Table, topology: &Topology, choices: &Choices<'_>, report: &mut Report<'_>) {
    let flows: Vec<FlowEnds> = root.tables("flow").map(|(_, flow)| FlowEnds::new(flow, topology)).collect();
    let broken = root.list("flow").iter().any(|item| item.as_table().is_none());
    one_kind_for_each_flow(root, report);
    let Some(Placed { value: Value::List(items), .. }) = root.get_mut("proxy") else { return };
    let mut names = BTreeSet::new();
    for (index, item) in items.iter_mut().enumerate() {
        let path = document::check::element_path("", "proxy", index, item);
        let at = item.at;
        let Some(proxy) = item.as_table_mut() else { continue };
        if let Some(node) = proxy.get("name")
            && let Some(name) = node.as_text()
            && !names.insert(name.to_owned())
        {
            duplicate(report, node.at, &format!("{path}.name"), "proxy", name);
        }
        for side in ["client", "server"] {
            rules::transport(proxy, (&path, side), choices, report);
        }
        let mut rules = Rules { report, path: &path, proxy };
        rules.sides();
        rules.handshake();
        rules.reliability(&flows);
        rules.servers(&flows);
        if !broken {
            rules.place(topology, &flows, at);
        }
    }
}

/// A proxy for single subflows shares no flow with one that ends whole connections: the legs of one would be legs of the other. A
/// converter shares none with any: its client has named the way, and a proxy before it would have to hold the question.
fn one_kind_for_each_flow(root: &Table, report: &mut Report<'_>) {
    let apart = |one: &Table, other: &Table| {
        let has = |kind| [one, other].map(|proxy| proxy.text("kind") == Some(kind));
        let [one, other] = has("one-subflow");
        one != other || has("convert") != [false; 2]
    };
    let all: Vec<(&Table, Vec<usize>)> =
        root.tables("proxy").filter_map(|(_, proxy)| Some((proxy, intercepted(root, proxy)?))).collect();
    for (n, (proxy, flows)) in all.iter().enumerate() {
        let other = all[..n]
            .iter()
            .find(|(other, theirs)| apart(other, proxy) && flows.iter().any(|f| theirs.contains(f)));
        let (Some((other, _)), Some(node)) = (other, proxy.get("kind")) else { continue };
        let [name, other] = [proxy, other].map(|proxy| proxy.text("name").unwrap_or_default());
        let convert = node.as_text() == Some("convert")
            || root
                .tables("proxy")
                .any(|(_, p)| p.text("name") == Some(other) && p.text("kind") == Some("convert"));
        let (how, help) = match convert {
            true => {
                ("and one of them is a converter, which stands alone", "give each its own flows with `flows`")
            }
            false => ("one of them by the subflow", "give each its own flows with `flows`, or both one kind"),
        };
        let message = format!("\"{name}\" and \"{other}\" intercept a flow, {how}");
        let help = help.into();
        report.add(node.at, Code::Contradiction, &format!("proxy.{name}.kind"), message, help);
    }
}

/// The flows that a proxy intercepts where they cross its node, by index with every `count` expanded. `None` if the tree
/// has a mistake.
pub(crate) fn intercepted(root: &Table, proxy: &Table) -> Option<Vec<usize>> {
    let named = proxy.get("flows").map(|node| node.items().iter().filter_map(Placed::as_text).collect());
    let named: Option<Vec<&str>> = named;
    let node = proxy.text("node")?;
    let (mut first, mut found) = (0, Vec::new());
    for (_, flow) in root.tables("flow") {
        let count = usize::try_from(flow.integer("count")?).ok()?;
        let ends = [flow.text("from")?, flow.text("to")?];
        let wanted = named.as_ref().is_none_or(|names| flow.text("name").is_some_and(|n| names.contains(&n)));
        if wanted && is_stream(flow) && !ends.contains(&node) {
            found.extend(first..first + count);
        }
        first += count;
    }
    Some(found)
}

fn is_stream(flow: &Table) -> bool {
    flow.table("transport").is_some_and(|keys| matches!(keys.text("kind"), Some("tcp" | "mptcp")))
}

/// A flow as far as a proxy may intercept it.
struct FlowEnds {
    name: String,
    kind: String,
    /// It uses SCPS-TP.
    snack: bool,
    /// Some of its servers speak MPTCP, and some do not.
    mixed: bool,
    /// `None` if an end does not exist.
    pair: Option<NodePair>,
}

impl FlowEnds {
    fn new(flow: &Table, topology: &Topology) -> Self {
        let node =
            |key: &str| flow.text(key).and_then(|name| topology.hosts.iter().position(|h| h.name == name));
        let kind = flow.table("transport").and_then(|keys| keys.text("kind")).unwrap_or_default();
        let pair = node("from").zip(node("to")).map(|(from, to)| NodePair { from, to });
        let mixed = flow.table("app").is_some_and(|app| app.text("mptcp_domains") == Some("main"));
        let snack = flow.table("transport").is_some_and(|keys| keys.text("recovery") == Some("snack"));
        Self {
            name: flow.text("name").unwrap_or_default().to_owned(),
            kind: kind.to_owned(),
            snack,
            mixed,
            pair,
        }
    }

    fn is_stream(&self) -> bool {
        matches!(self.kind.as_str(), "tcp" | "mptcp")
    }

    /// Some way joins its ends over `node`; with `explicit` from each of them to `node`.
    fn may_meet(&self, topology: &Topology, node: usize, explicit: bool) -> bool {
        let Some(pair) = self.pair.filter(|pair| pair.from != pair.to) else { return true };
        let NodePair { from, to } = pair;
        if explicit {
            return ![from, to].contains(&node)
                && [from, to].into_iter().all(|end| topology.joined(NodePair { from: end, to: node }));
        }
        topology.between(pair, node)
    }
}

struct Rules<'r, 'a, 'p> {
    report: &'r mut Report<'a>,
    path: &'p str,
    proxy: &'p mut Table,
}

impl Rules<'_, '_, '_> {
    fn add(&mut self, at: Origin, code: Code, key: &str, message: String, help: &str) {
        self.report.add(at, code, &format!("{}.{key}", self.path), message, help.into());
    }

    /// The transports of both sides suit the kind.
    fn sides(&mut self) {
        let Some(kind) = self.proxy.text("kind").map(str::to_owned) else { return };
        let allowed: [&[&str]; 2] = match kind.as_str() {
            "mptcp" => [&["mptcp"], &["tcp", "mptcp"]],
            "convert" => [&["tcp", "mptcp"], &["tcp", "mptcp"]],
            _ => [&["tcp"], &["tcp"]],
        };
        for (side, allowed) in ["client", "server"].into_iter().zip(allowed) {
            let Some(keys) = self.proxy.table(side) else { continue };
            if let Some(node) = keys.get("kind")
                && let Some(found) = node.as_text()
                && !allowed.contains(&found)
            {
                let words: Vec<String> = allowed.iter().map(|word| format!("\"{word}\"")).collect();
                let message = format!(
                    "found kind = \"{found}\"; a proxy of kind \"{kind}\" speaks {} here",
                    allowed.join(" or ").to_uppercase()
                );
                let help = format!("set kind = {}, or another `kind` of the proxy", words.join(" or "));
                let at = node.at;
                self.add(at, Code::Contradiction, &format!("{side}.kind"), message, &help);
                continue;
            }
            if let Some(node) = keys.get("endpoints") {
                let (at, key) = (node.at, format!("{side}.endpoints"));
                let message = "a proxy announces no addresses and joins those of its own links".into();
                self.add(at, Code::NotApplicable, &key, message, "remove `endpoints`");
            }
        }
    }

    /// When it answers follows from its kind, unless the user says so.
    fn handshake(&mut self) {
        let why_late = match self.proxy.text("kind") {
            Some("one-subflow") => {
                Some("the HMAC in the SYN/ACK is that of the server, which has not answered")
            }
            Some("convert") => Some("a converter answers when the server has (RFC 8803 section 3.2)"),
            _ => None,
        };
        match (self.proxy.get("handshake"), why_late) {
            (None, _) => {
                let word = if why_late.is_some() { "late" } else { "early" };
                self.proxy.put("handshake", Origin::Default, Placed::text(word));
            }
            (Some(node), Some(why)) if node.as_text() == Some("early") => {
                self.add(node.at, Code::Contradiction, "handshake", why.into(), "leave it out");
            }
            (Some(_), _) => {}
        }
    }

    /// Servers of two kinds are told apart where there are some.
    fn servers(&mut self, flows: &[FlowEnds]) {
        let Some(node) = self.proxy.get("servers").filter(|node| node.as_text() != Some("all")) else {
            return;
        };
        let at = node.at;
        if self.proxy.text("kind") == Some("convert") {
            let message = "clients ask a converter for all servers of a flow".into();
            return self.add(at, Code::NotApplicable, "servers", message, "remove it");
        }
        let named = self.proxy.get("flows").cloned();
        let meant = |flow: &&FlowEnds| {
            named.as_ref().is_none_or(|n| n.items().iter().any(|item| item.as_text() == Some(&flow.name)))
        };
        if !flows.iter().filter(meant).any(|flow| flow.mixed) {
            let message = "all servers of its flows are alike".into();
            let help = "remove it, or intercept pages with mptcp_domains = \"main\"";
            self.add(at, Code::Contradiction, "servers", message, help);
        }
    }

    /// The SYN of a converted connection has one payload, and SCPS-TP has its own.
    fn reliability(&mut self, root_of_flows: &[FlowEnds]) {
        match self.proxy.text("kind") {
            Some("one-subflow") => return self.subflow_recovery(),
            Some("convert") => {}
            _ => return,
        }
        let snack = |keys: &Table| keys.text("recovery") == Some("snack");
        let message = "a SYN says one thing beyond TCP: SCPS-TP or RFC 8803";
        if let Some(keys) = self.proxy.table("client").filter(|keys| snack(keys)) {
            let at = keys.get("recovery").map_or(Origin::Default, |node| node.at);
            self.add(at, Code::Contradiction, "client.recovery", message.into(), "choose another `recovery`");
        }
        let named = self.proxy.get("flows").cloned();
        for flow in root_of_flows.iter().filter(|flow| flow.snack) {
            let node =
                named.as_ref().and_then(|n| n.items().iter().find(|i| i.as_text() == Some(&flow.name)));
            if let Some(at) = node.map(|node| node.at).or(named.is_none().then_some(Origin::Default)) {
                let message = format!("{message}; \"{}\" uses SCPS-TP", flow.name);
                self.add(
                    at,
                    Code::Contradiction,
                    "flows",
                    message,
                    "leave it out, or choose another `recovery` for it",
                );
            }
        }
    }

    /// The segments of a subflow carry options of MPTCP, which SCPS-TP and STP have no place for.
    fn subflow_recovery(&mut self) {
        for side in ["client", "server"] {
            let Some(keys) = self.proxy.table(side) else { continue };
            let Some(found) = keys.text("recovery").filter(|kind| ["snack", "stp"].contains(kind)) else {
                continue;
            };
            let message =
                format!("recovery = \"{found}\" is for TCP only, and both sides carry a subflow of MPTCP");
            let at = keys.get("recovery").map_or(Origin::Default, |node| node.at);
            let help = "set recovery = \"newreno\", \"sack\" or \"rack\"";
            self.add(at, Code::Contradiction, &format!("{side}.recovery"), message, help);
        }
    }

    /// It sits on the way of what it intercepts.
    fn place(&mut self, topology: &Topology, flows: &[FlowEnds], at: Origin) {
        let Some(node) = self.proxy.get("node").cloned() else { return };
        let Some(index) = topology.host(&node, &format!("{}.node", self.path), self.report) else { return };
        let name = topology.hosts[index].name.clone();
        let explicit = self.proxy.text("kind") == Some("convert");
        if !topology.hosts[index].forward && !explicit {
            let message = format!("no packet crosses \"{name}\": forward = false");
            let help = format!("set forward = true for \"{name}\", or choose another node");
            return self.add(node.at, Code::Contradiction, "node", message, &help);
        }
        if topology.links_partial || topology.nodes_partial {
            return;
        }
        let Some(named) = self.proxy.get("flows").cloned() else {
            let any = flows.iter().any(|flow| flow.is_stream() && flow.may_meet(topology, index, explicit));
            if !any && !flows.is_empty() {
                let at = if node.at == Origin::Default { at } else { node.at };
                let (what, help) = match explicit {
                    true => ("reaches", "choose a node that both ends of a flow reach"),
                    false => ("crosses", "choose a node between the ends of a flow"),
                };
                let message = format!("no flow over TCP or MPTCP {what} \"{name}\"");
                self.add(at, Code::Contradiction, "node", message, help);
            }
            return;
        };
        for item in named.items() {
            let Some(text) = item.as_text() else { continue };
            let Some(flow) = flows.iter().find(|flow| flow.name == text) else {
                let help = suggest(text, "flows", flows.iter().map(|flow| flow.name.as_str()));
                let message = format!("there is no flow \"{text}\"");
                self.add(item.at, Code::UnknownName, "flows", message, &help);
                continue;
            };
            if !flow.is_stream() {
                let message =
                    format!("\"{text}\" has kind = \"{}\"; a proxy intercepts TCP and MPTCP", flow.kind);
                self.add(item.at, Code::Contradiction, "flows", message, "leave it out");
            } else if !flow.may_meet(topology, index, explicit) {
                let what = if explicit { "reach" } else { "cross" };
                let message = format!("\"{text}\" does not {what} \"{name}\"");
                self.add(
                    item.at,
                    Code::Contradiction,
                    "flows",
                    message,
                    "leave it out, or choose another node",
                );
            }
        }
    }
}
