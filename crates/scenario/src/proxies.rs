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
        if !broken {
            rules.place(topology, &flows, at);
        }
    }
}

/// A proxy for single subflows shares no flow with one that ends whole connections: the legs of one would be legs of the other.
fn one_kind_for_each_flow(root: &Table, report: &mut Report<'_>) {
    let whole = |proxy: &Table| proxy.text("kind") != Some("one-subflow");
    let all: Vec<(&Table, Vec<usize>)> =
        root.tables("proxy").filter_map(|(_, proxy)| Some((proxy, intercepted(root, proxy)?))).collect();
    for (n, (proxy, flows)) in all.iter().enumerate() {
        let other = all[..n]
            .iter()
            .find(|(other, theirs)| whole(other) != whole(proxy) && flows.iter().any(|f| theirs.contains(f)));
        let (Some((other, _)), Some(node)) = (other, proxy.get("kind")) else { continue };
        let [name, other] = [proxy, other].map(|proxy| proxy.text("name").unwrap_or_default());
        let message = format!("\"{name}\" and \"{other}\" intercept a flow, one of them by the subflow");
        let help = "give each its own flows with `flows`, or both one kind".into();
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
    /// `None` if an end does not exist.
    pair: Option<NodePair>,
}

impl FlowEnds {
    fn new(flow: &Table, topology: &Topology) -> Self {
        let node =
            |key: &str| flow.text(key).and_then(|name| topology.hosts.iter().position(|h| h.name == name));
        let kind = flow.table("transport").and_then(|keys| keys.text("kind")).unwrap_or_default();
        let pair = node("from").zip(node("to")).map(|(from, to)| NodePair { from, to });
        Self { name: flow.text("name").unwrap_or_default().to_owned(), kind: kind.to_owned(), pair }
    }

    fn is_stream(&self) -> bool {
        matches!(self.kind.as_str(), "tcp" | "mptcp")
    }

    /// Some way joins its ends over `node`.
    fn may_cross(&self, topology: &Topology, node: usize) -> bool {
        self.pair.is_none_or(|pair| pair.from == pair.to || topology.between(pair, node))
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
        let one = self.proxy.text("kind") == Some("one-subflow");
        match self.proxy.get("handshake") {
            None => {
                let word = if one { "late" } else { "early" };
                self.proxy.put("handshake", Origin::Default, Placed::text(word));
            }
            Some(node) if one && node.as_text() == Some("early") => {
                let message = "the HMAC in the SYN/ACK is that of the server, which has not answered".into();
                self.add(node.at, Code::Contradiction, "handshake", message, "leave it out");
            }
            Some(_) => {}
        }
    }

    /// It sits on the way of what it intercepts.
    fn place(&mut self, topology: &Topology, flows: &[FlowEnds], at: Origin) {
        let Some(node) = self.proxy.get("node").cloned() else { return };
        let Some(index) = topology.host(&node, &format!("{}.node", self.path), self.report) else { return };
        let name = topology.hosts[index].name.clone();
        if !topology.hosts[index].forward {
            let message = format!("no packet crosses \"{name}\": forward = false");
            let help = format!("set forward = true for \"{name}\", or choose another node");
            return self.add(node.at, Code::Contradiction, "node", message, &help);
        }
        if topology.links_partial || topology.nodes_partial {
            return;
        }
        let Some(named) = self.proxy.get("flows").cloned() else {
            let any = flows.iter().any(|flow| flow.is_stream() && flow.may_cross(topology, index));
            if !any && !flows.is_empty() {
                let at = if node.at == Origin::Default { at } else { node.at };
                let message = format!("no flow over TCP or MPTCP crosses \"{name}\"");
                self.add(
                    at,
                    Code::Contradiction,
                    "node",
                    message,
                    "choose a node between the ends of a flow",
                );
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
            } else if !flow.may_cross(topology, index) {
                let message = format!("\"{text}\" does not cross \"{name}\"");
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
