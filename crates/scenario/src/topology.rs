//! Nodes and duplex links of a filled scenario: counted nodes and meshes are expanded, names become indices.

use std::collections::BTreeMap;

use crate::graph::{Graph, NodePair, other_end};
use crate::inherit::direction_names;
use crate::keys::ROOT;
use document::diagnostic::{Code, Report, suggest};
use document::keys::Kind;
use document::tree::{Origin, Placed, Table, Value};

/// Bounds on what one file may expand to; far above what can be simulated in a reasonable time.
const MAX_NODES: usize = 10_000;
const MAX_LINKS: usize = 20_000;
const MAX_VALUES: usize = 5_000_000;

/// One node.
#[derive(Debug)]
pub(crate) struct Host {
    pub name: String,
    pub forward: bool,
}

/// One duplex link and where its settings are.
#[derive(Debug)]
pub(crate) struct LinkEntry {
    pub name: String,
    pub ends: [usize; 2],
    /// Names of the directions.
    pub directions: [String; 2],
    /// Array of tables, and the position in it.
    pub source: (&'static str, usize),
    /// Keys of the two directions in its table.
    pub keys: [&'static str; 2],
}

/// The nodes and links that the names in a scenario refer to.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    pub hosts: Vec<Host>,
    pub duplex_links: Vec<LinkEntry>,
    /// By name: index of a node, or the range of a counted one.
    nodes: BTreeMap<String, std::ops::Range<usize>>,
    link_names: BTreeMap<String, usize>,
    /// Values of all links, each link with those of its own.
    values: usize,
    /// Something is broken: a name that is not found may well exist.
    pub nodes_partial: bool,
    pub links_partial: bool,
    graph: Graph,
}

/// Expands all nodes and duplex links. Nodes that only a path names are added to the tree.
pub(crate) fn build(root: &mut Table, report: &mut Report<'_>) -> Topology {
    let mut topology = Topology::default();
    topology.declared_nodes(root, report);
    topology.implied_nodes(root, report);
    for key in ROOT.keys {
        if let Kind::Tables(section) = key.kind
            && section.key("both").is_some()
        {
            topology.links_of(root, section.name, direction_names(section), report);
        }
    }
    topology.graph =
        Graph::new(topology.hosts.len(), topology.duplex_links.iter().map(|duplex_link| duplex_link.ends));
    topology.check();
    if !topology.nodes_partial && !topology.links_partial && !topology.duplex_links.is_empty() {
        topology.isolated(root, report);
    }
    topology
}

/// Elements of an array of tables with their names; true if any has none or is broken.
fn named<'t>(root: &'t Table, list: &str) -> (Vec<(usize, &'t Table, &'t str, Origin)>, bool) {
    let Some(node) = root.get(list) else { return (Vec::new(), false) };
    let items = node.items().iter().enumerate();
    let found: Vec<_> = items
        .filter_map(|(index, item)| {
            let table = item.as_table()?;
            let name = table.get("name")?;
            Some((index, table, name.as_text()?, name.at))
        })
        .collect();
    let partial = node.is_broken() || found.len() < node.items().len();
    (found, partial)
}

/// Reports a name that is taken.
pub(crate) fn duplicate(report: &mut Report<'_>, at: Origin, path: &str, what: &str, name: &str) {
    let message = format!("the name \"{name}\" is taken by another {what}");
    report.add(at, Code::DuplicateName, path, message, "give one of them another name".into());
}

impl Topology {
    fn declared_nodes(&mut self, root: &Table, report: &mut Report<'_>) {
        let (nodes, partial) = named(root, "node");
        self.nodes_partial |= partial;
        for (_, table, name, at) in nodes {
            let path = format!("node.{name}.name");
            let (Some(count), Some(forward)) = (table.integer("count"), table.flag("forward")) else {
                self.nodes_partial = true;
                continue;
            };
            let first = self.hosts.len();
            let names: Vec<String> = match count {
                1 => vec![name.to_owned()],
                n => (1..=n).map(|i| format!("{name}{i}")).collect(),
            };
            if first + names.len() > MAX_NODES {
                let message = format!("more than {MAX_NODES} nodes in all");
                report.add(at, Code::TooMany, &path, message, "make `count` smaller".into());
                self.nodes_partial = true;
                return;
            }
            let group = (names.len() > 1).then(|| (name.to_owned(), first..first + names.len()));
            for name in names {
                let index = self.hosts.len();
                if self.nodes.insert(name.clone(), index..index + 1).is_some() {
                    duplicate(report, at, &path, "node", &name);
                    // It may have been meant to have a name that others refer to.
                    self.nodes_partial = true;
                }
                self.hosts.push(Host { name, forward });
            }
            if let Some((name, range)) = group
                && self.nodes.insert(name.clone(), range).is_some()
            {
                duplicate(report, at, &path, "node", &name);
            }
        }
    }

    /// The ends of a path exist without being declared.
    fn implied_nodes(&mut self, root: &mut Table, report: &mut Report<'_>) {
        let mut added = Vec::new();
        let (paths, partial) = named(root, "path");
        self.nodes_partial |= partial;
        for (_, path, name, _) in paths {
            for end in ["from", "to"] {
                let Some(node) = path.get(end) else { continue };
                let Some(text) = node.as_text() else {
                    self.nodes_partial = true;
                    continue;
                };
                match self.nodes.get(text) {
                    Some(range) if range.len() > 1 => {
                        self.group_where_one(report, node.at, &format!("path.{name}.{end}"), text);
                    }
                    Some(_) => {}
                    None => {
                        let index = self.hosts.len();
                        self.nodes.insert(text.to_owned(), index..index + 1);
                        self.hosts.push(Host { name: text.to_owned(), forward: true });
                        added.push(text.to_owned());
                    }
                }
            }
        }
        if added.is_empty() {
            return;
        }
        if !root.has("node") {
            root.put("node", Origin::Default, Placed::new(Value::List(Vec::new()), Origin::Default));
        }
        if let Some(Placed { value: Value::List(items), .. }) = root.get_mut("node") {
            for name in added {
                let mut table = Table::default();
                table.put("name", Origin::Default, Placed::text(&name));
                table.put("count", Origin::Default, Placed::new(Value::Integer(1), Origin::Default));
                table.put("forward", Origin::Default, Placed::new(Value::Flag(true), Origin::Default));
                items.push(Placed::new(Value::Table(table), Origin::Default));
            }
        }
    }

    fn group_where_one(&self, report: &mut Report<'_>, at: Origin, path: &str, name: &str) {
        let range = self.nodes.get(name).cloned().unwrap_or_default();
        let names = self.hosts.get(range.clone()).unwrap_or_default().iter().map(|h| h.name.as_str());
        let message = format!("\"{name}\" is a group of {} nodes; one node is needed", range.len());
        report.add(at, Code::UnknownName, path, message, suggest(name, "its nodes", names));
    }

    /// The one node that `node` names, or a report.
    pub fn host(&self, node: &Placed, path: &str, report: &mut Report<'_>) -> Option<usize> {
        let name = node.as_text()?;
        match self.nodes.get(name) {
            Some(range) if range.len() == 1 => return Some(range.start),
            Some(_) => self.group_where_one(report, node.at, path, name),
            None if self.nodes_partial => {}
            None => {
                let help = suggest(name, "nodes", self.hosts.iter().map(|h| h.name.as_str()));
                report.add(node.at, Code::UnknownName, path, format!("there is no node \"{name}\""), help);
            }
        }
        None
    }

    fn links_of(
        &mut self,
        root: &Table,
        list: &'static str,
        keys: [&'static str; 2],
        report: &mut Report<'_>,
    ) {
        let (elements, partial) = named(root, list);
        self.links_partial |= partial;
        for (index, table, name, at) in elements {
            let path = format!("{list}.{name}");
            let taken = self.link_names.contains_key(name) || self.has_mesh(name);
            if taken {
                duplicate(report, at, &format!("{path}.name"), "path, link or mesh", name);
                self.links_partial = true;
                continue;
            }
            let pairs = match list {
                "path" => self.pair(["from", "to"].map(|key| (table.get(key), key)), &path, report),
                "link" => {
                    let ends = table.list("ends");
                    self.pair([(ends.first(), "ends"), (ends.get(1), "ends")], &path, report)
                }
                _ => self.all_pairs(table, &path, report),
            };
            let Some(pairs) = pairs else {
                self.links_partial = true;
                // Its ends may have been meant to be other nodes.
                self.nodes_partial |= list == "path";
                continue;
            };
            let each: usize = keys.iter().filter_map(|key| table.get(key)).map(Placed::count).sum();
            self.values = self.values.saturating_add(pairs.len().saturating_mul(each));
            let (too_many, help) = if self.duplex_links.len() + pairs.len() > MAX_LINKS {
                (format!("{MAX_LINKS} links"), "use fewer nodes in meshes")
            } else {
                (format!("{MAX_VALUES} values of links"), "use shorter lists, or files in their place")
            };
            if self.duplex_links.len() + pairs.len() > MAX_LINKS || self.values > MAX_VALUES {
                report.add(at, Code::TooMany, &path, format!("more than {too_many} in all"), help.into());
                self.links_partial = true;
                return;
            }
            for ends in pairs {
                let [left, right] = ends.map(|end| self.hosts[end].name.as_str());
                let name = if list == "mesh" { format!("{name}.{left}-{right}") } else { name.to_owned() };
                if self.link_names.insert(name.clone(), self.duplex_links.len()).is_some() {
                    duplicate(report, at, &format!("{path}.name"), "link of this mesh", &name);
                }
                let directions = keys.map(|key| format!("{name}.{key}"));
                self.duplex_links.push(LinkEntry { name, ends, directions, source: (list, index), keys });
            }
        }
    }

    /// Links of a mesh with this name exist.
    fn has_mesh(&self, name: &str) -> bool {
        let first = format!("{name}.");
        self.link_names.range(first.clone()..).next().is_some_and(|(name, _)| name.starts_with(&first))
    }

    /// Two nodes that must differ.
    fn pair(
        &self,
        ends: [(Option<&Placed>, &str); 2],
        path: &str,
        report: &mut Report<'_>,
    ) -> Option<Vec<[usize; 2]>> {
        let [(a, a_key), (b, b_key)] = ends;
        let first = self.host(a?, &format!("{path}.{a_key}"), report);
        let second = self.host(b?, &format!("{path}.{b_key}"), report);
        let (first, second) = (first?, second?);
        if first == second {
            let message = format!("both ends are \"{}\"", self.hosts[first].name);
            let help = "a link joins two different nodes".into();
            let at = if b?.at == Origin::Default { a?.at } else { b?.at };
            report.add(at, Code::SameNode, &format!("{path}.{b_key}"), message, help);
            return None;
        }
        Some(vec![[first, second]])
    }

    fn all_pairs(&self, table: &Table, path: &str, report: &mut Report<'_>) -> Option<Vec<[usize; 2]>> {
        let left = self.side(table, "left", path, report);
        let right = self.side(table, "right", path, report);
        let (left, right) = (left?, right?);
        if let Some(node) = left.iter().find(|node| right.contains(node)) {
            let message = format!("\"{}\" is on both sides", self.hosts[*node].name);
            let at = table.get("right").map_or(Origin::Default, |n| n.at);
            let help = "leave it out on one side".into();
            report.add(at, Code::SameNode, &format!("{path}.right"), message, help);
            return None;
        }
        if left.len().saturating_mul(right.len()) > MAX_LINKS {
            let at = table.get("right").map_or(Origin::Default, |n| n.at);
            let message = format!("{} times {} nodes are too many links", left.len(), right.len());
            let help = format!("at most {MAX_LINKS} links in all");
            report.add(at, Code::TooMany, &format!("{path}.right"), message, help);
            return None;
        }
        Some(left.iter().flat_map(|a| right.iter().map(|b| [*a, *b])).collect())
    }

    /// Placed names and names of counted nodes.
    fn side(&self, table: &Table, key: &str, path: &str, report: &mut Report<'_>) -> Option<Vec<usize>> {
        let node = table.get(key).filter(|node| !node.is_broken())?;
        let path = format!("{path}.{key}");
        let mut all = Vec::new();
        let mut complete = true;
        for item in node.items() {
            let range = match item.as_text().and_then(|name| self.nodes.get(name)) {
                Some(range) => range.clone(),
                None => {
                    self.host(item, &path, report);
                    complete = false;
                    continue;
                }
            };
            for index in range {
                if all.contains(&index) {
                    let message = format!("\"{}\" is named twice", self.hosts[index].name);
                    report.add(item.at, Code::DuplicateName, &path, message, "name each node once".into());
                    complete = false;
                    break;
                }
                all.push(index);
            }
        }
        complete.then_some(all)
    }

    /// Names lead to what bears them. With mistakes in the file some name may be missing or taken twice.
    fn check(&self) {
        let inside =
            |range: &std::ops::Range<usize>| range.start < range.end && range.end <= self.hosts.len();
        debug_assert!(self.nodes.values().all(inside), "a name of no node");
        let named = |(name, duplex_link): (&String, &usize)| self.duplex_links[*duplex_link].name == *name;
        debug_assert!(self.link_names.iter().all(named), "a name of another link");
        debug_assert!(self.link_names.len() <= self.duplex_links.len(), "more names than links");
        debug_assert!(self.hosts.len() <= MAX_NODES, "{} nodes", self.hosts.len());
        debug_assert!(self.duplex_links.len() <= MAX_LINKS, "{} links", self.duplex_links.len());
        debug_assert!(
            self.duplex_links.iter().all(|duplex_link| duplex_link.ends[0] != duplex_link.ends[1]),
            "a link from a node to itself"
        );
    }

    /// The duplex link of a name.
    pub fn duplex_link(&self, name: &str) -> Option<usize> {
        self.link_names.get(name).copied()
    }

    /// `(duplex link, direction)` of the name of a duplex link or of a direction.
    pub fn directions(&self, name: &str) -> Option<Vec<(usize, usize)>> {
        if let Some(duplex_link) = self.duplex_link(name) {
            return Some(vec![(duplex_link, 0), (duplex_link, 1)]);
        }
        let (duplex_link, _) = name.rsplit_once('.')?;
        let duplex_link = self.duplex_link(duplex_link)?;
        let direction = self.duplex_links[duplex_link].directions.iter().position(|d| d == name)?;
        Some(vec![(duplex_link, direction)])
    }

    fn forwards(&self, node: usize) -> bool {
        self.hosts[node].forward
    }

    /// True if packets get from one node to the other; links are duplex, so the way back is the same.
    pub fn joined(&self, pair: NodePair) -> bool {
        self.graph.joins(pair, |node| self.forwards(node))
    }

    /// True if a way between the two passes `node`, which is neither of them.
    pub fn between(&self, pair: NodePair, node: usize) -> bool {
        let NodePair { from, to } = pair;
        let reached = |end, other| self.graph.reached(end, Some(other), |node| self.forwards(node))[node];
        node != from && node != to && reached(from, to) && reached(to, from)
    }

    /// Nodes that would let packets through if they forwarded.
    pub fn blockers(&self, pair: NodePair) -> Vec<&str> {
        if !self.graph.joins(pair, |_| true) {
            return Vec::new();
        }
        let near = self.graph.reached(pair.from, None, |node| self.forwards(node));
        let blocking =
            |(i, host): &(usize, &Host)| near[*i] && !host.forward && *i != pair.from && *i != pair.to;
        self.hosts.iter().enumerate().filter(blocking).map(|(_, host)| host.name.as_str()).collect()
    }

    /// True if a packet that leaves its sender over `duplex_link` can arrive at its receiver.
    pub fn leads(&self, duplex_link: usize, pair: NodePair) -> bool {
        self.graph.leads(self.duplex_links[duplex_link].ends, pair, |node| self.forwards(node))
    }

    /// How many pairs of an interface of the sender and an interface of the receiver are joined, and how many
    /// interfaces of the sender have a part in them.
    pub fn pairs(&self, pair: NodePair) -> (usize, usize) {
        let NodePair { from, to } = pair;
        let touches = |node: usize| move |duplex_link: &&LinkEntry| duplex_link.ends.contains(&node);
        let partners = |duplex_link: &LinkEntry| {
            let next = other_end(duplex_link.ends, from);
            if next == to {
                return 1;
            }
            if !self.forwards(next) {
                return 0;
            }
            let seen = self.graph.reached(next, Some(from), |node| node != to && self.forwards(node));
            let arrives = |last: &&LinkEntry| {
                let node = other_end(last.ends, to);
                node != from && seen[node] && self.forwards(node)
            };
            self.duplex_links.iter().filter(touches(to)).filter(arrives).count()
        };
        let partners: Vec<usize> = self.duplex_links.iter().filter(touches(from)).map(partners).collect();
        (partners.iter().sum(), partners.iter().filter(|n| **n > 0).count())
    }

    /// How many duplex links end at `node`.
    pub fn degree(&self, node: usize) -> usize {
        self.graph.degree(node)
    }

    pub fn is_isolated(&self, node: usize) -> bool {
        self.degree(node) == 0
    }

    fn isolated(&self, root: &Table, report: &mut Report<'_>) {
        for (_, _, name, at) in named(root, "node").0 {
            let range = self.nodes.get(name).cloned().unwrap_or_default();
            let alone: Vec<&str> =
                range.filter(|i| self.is_isolated(*i)).map(|i| self.hosts[i].name.as_str()).collect();
            if !alone.is_empty() {
                let message = format!("no link touches {}", alone.join(", "));
                let help = "join it with a [[link]] or [[mesh]], or remove it".into();
                report.add(at, Code::NoRoute, &format!("node.{name}"), message, help);
            }
        }
    }
}
