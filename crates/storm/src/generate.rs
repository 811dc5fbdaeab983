//! Whole scenarios from a seed: topology, flows and events by hand, everything else from the [`Grammar`].

use serde_json::{Map, Value, json};

use crate::dice::Dice;
use crate::grammar::Grammar;
use crate::values::{self, Spread};

type Table = Map<String, Value>;

/// Least and most packets of 1500 bytes that the links of a scenario carry, about: small scenarios find what large ones find, and ten times
/// as many of them run in the same time.
const PACKETS: (f64, f64) = (60.0, 1500.0);

/// The scenario of this seed; it may have mistakes.
pub fn scenario(grammar: &Grammar, seed: u64) -> Table {
    let mut dice = Dice::new(seed);
    let paths = dice.log(1.0, 8.99) as usize;
    let rate = dice.log(5e4, 5e7);
    let packets = dice.log(PACKETS.0, PACKETS.1);
    let time = (packets * 12e3 / (rate * paths as f64)).clamp(0.05, 60.0);
    // Some are so short that extremely fast links are no extreme amount of work.
    let time = if dice.chance(0.1) { dice.log(0.002, 0.02) } else { time };
    let extreme = if dice.chance(0.5) { 0.0 } else { 0.15 };
    let spread = Spread { extreme, rate, time };
    Builder { grammar, dice, spread, nodes: Vec::new(), links: Vec::new(), flows: Vec::new(), proxies: 0 }
        .build(paths)
}

struct Builder<'a> {
    grammar: &'a Grammar,
    dice: Dice,
    spread: Spread,
    nodes: Vec<String>,
    /// Links by name with their ends and the names of their directions.
    links: Vec<Link>,
    flows: Vec<String>,
    /// Number of proxies, whose names are x0 and so on.
    proxies: u64,
}

#[derive(Clone)]
struct Link {
    name: String,
    ends: [String; 2],
    directions: [&'static str; 2],
}

impl Builder<'_> {
    fn build(mut self, paths: usize) -> Table {
        let mut root = Table::new();
        root.insert("duration".into(), values::nanos(self.spread.time));
        self.fill(
            "scenario",
            &mut root,
            &["seeds", "node", "path", "link", "mesh", "proxy", "flow", "event"],
            0.1,
        );
        if self.dice.chance(0.3) {
            root.insert(
                "seeds".into(),
                self.dice.one(&[&json!(2), &json!([7, 0, 18446744073709551615u64])]).clone(),
            );
        }
        match self.dice.below(4) {
            0 => self.topology(&mut root),
            _ => self.paths(&mut root, paths),
        }
        if self.dice.chance(0.05) {
            self.topology(&mut root);
        }
        let flows = self.dice.log(1.0, 4.99) as usize;
        let flows: Vec<Value> = (0..flows).map(|_| self.flow().into()).collect();
        root.insert("flow".into(), flows.into());
        if let Some(proxies) = self.proxies() {
            root.insert("proxy".into(), proxies);
        }
        let events = self.dice.below(7).saturating_sub(2);
        let events: Vec<Value> = (0..events).map(|_| self.event().into()).collect();
        root.insert("event".into(), events.into());
        root
    }

    fn fill(&mut self, section: &str, table: &mut Table, not: &[&str], probability: f64) {
        let mut names = self.nodes.clone();
        names.extend(self.links.iter().map(|link| link.name.clone()));
        names.extend(self.flows.iter().cloned());
        self.grammar.fill(&mut self.dice, section, (table, not), probability, (&names, self.spread));
    }

    /// One direction, with everything that a link needs, or with a few keys only.
    fn direction(&mut self, whole: bool) -> Table {
        let mut table = Table::new();
        let rate = |dice: &mut Dice, spread| values::rate(dice, spread);
        if whole && self.dice.chance(0.7) {
            table.insert("rate".into(), rate(&mut self.dice, self.spread));
        }
        if whole && self.dice.chance(0.7) {
            table.insert("delay".into(), values::nanos(self.dice.log(1e-4, 0.4)));
        }
        let often = if self.dice.chance(0.4) { 0.05 } else { 0.3 };
        self.fill("direction", &mut table, &[], often);
        if whole {
            for (key, otherwise) in [("rate", rate(&mut self.dice, self.spread)), ("delay", "20ms".into())] {
                table.entry(key).or_insert(otherwise);
            }
        }
        table
    }

    /// The directions of a link: `both`, each of the two, or a mixture.
    fn directions(&mut self, table: &mut Table, names: [&str; 2]) {
        let both = self.dice.chance(0.6);
        if both {
            table.insert("both".into(), self.direction(true).into());
        }
        for name in names {
            if !both || self.dice.chance(0.3) {
                table.insert(name.into(), self.direction(!both).into());
            }
        }
    }

    fn paths(&mut self, root: &mut Table, many: usize) {
        let mut paths: Vec<Value> = Vec::new();
        let directions = ["up", "down"];
        for index in 0..many {
            let mut table = Table::new();
            let name = format!("p{index}");
            table.insert("name".into(), name.as_str().into());
            let like = index > 0 && self.dice.chance(0.3);
            if like {
                table.insert("like".into(), format!("p{}", self.dice.below(index as u64)).into());
            }
            let mut ends = ["terminal".to_owned(), "server".to_owned()];
            if self.dice.chance(0.1) {
                ends[0] = self.dice.one(&["relay", "terminal2"]).into();
                table.insert("from".into(), ends[0].as_str().into());
            } else if self.dice.chance(0.1) {
                ends[1] = "relay".into();
                table.insert("to".into(), "relay".into());
            }
            if !like || self.dice.chance(0.3) {
                self.directions(&mut table, directions);
            }
            self.add(name, ends, directions);
            self.fill("path", &mut table, &["like", "from", "to", "both", "up", "down"], 0.2);
            paths.push(table.into());
        }
        root.insert("path".into(), paths.into());
    }

    fn add(&mut self, name: String, ends: [String; 2], directions: [&'static str; 2]) {
        for end in &ends {
            if !self.nodes.contains(end) {
                self.nodes.push(end.clone());
            }
        }
        self.links.push(Link { name, ends, directions });
    }

    /// Hosts and routers in between, joined by links and a mesh.
    fn topology(&mut self, root: &mut Table) {
        let routers = self.dice.between(1, 3);
        let mut nodes: Vec<Value> = Vec::new();
        for (name, count) in [("a", 1), ("b", 1), ("r", routers)] {
            let mut node = Table::new();
            node.insert("name".into(), name.into());
            if count > 1 {
                node.insert("count".into(), count.into());
            }
            self.fill("node", &mut node, &["count"], 0.2);
            nodes.push(node.into());
        }
        root.insert("node".into(), nodes.into());
        let directions = ["forward", "reverse"];
        let router = |n: u64| if routers == 1 { "r".to_owned() } else { format!("r{}", n + 1) };
        let mut links: Vec<Value> = Vec::new();
        let many = self.dice.between(1, 5);
        for index in 0..many {
            let name = format!("l{index}");
            let through = router(self.dice.below(routers));
            let ends = match index % 2 {
                0 => ["a".to_owned(), through],
                _ => [through, "b".to_owned()],
            };
            let mut table = Table::new();
            table.insert("name".into(), name.as_str().into());
            table.insert("ends".into(), json!(ends));
            if index > 0 && self.dice.chance(0.3) {
                table.insert("like".into(), "l0".into());
            } else {
                self.directions(&mut table, directions);
            }
            self.add(name, ends, directions);
            self.fill("link", &mut table, &["like", "both", "forward", "reverse"], 0.2);
            links.push(table.into());
        }
        root.insert("link".into(), links.into());
        let mut mesh = Table::new();
        mesh.insert("name".into(), "m".into());
        mesh.insert("left".into(), json!(["r"]));
        mesh.insert("right".into(), json!(self.dice.one(&[&["b"].as_slice(), &["a", "b"].as_slice()])));
        self.directions(&mut mesh, directions);
        self.fill("mesh", &mut mesh, &["both", "forward", "reverse"], 0.2);
        for n in 0..routers {
            let ends = [router(n), "b".to_owned()];
            self.add(format!("m.{}-b", ends[0]), ends, directions);
        }
        root.insert("mesh".into(), json!([mesh]));
    }

    /// The name of a link at this node, or of any.
    fn link_at(&mut self, node: &str) -> String {
        let touching: Vec<&Link> =
            self.links.iter().filter(|link| link.ends.iter().any(|end| end == node)).collect();
        let from: Vec<&Link> = if touching.is_empty() { self.links.iter().collect() } else { touching };
        let links: Vec<&str> = from.iter().map(|link| link.name.as_str()).collect();
        self.dice.one(&links).to_owned()
    }

    fn instant(&mut self) -> Value {
        values::nanos(self.spread.time * 0.99 * self.dice.share())
    }

    fn flow(&mut self) -> Table {
        let mut table = Table::new();
        let name = format!("f{}", self.flows.len());
        table.insert("name".into(), name.as_str().into());
        if !self.flows.is_empty() && self.dice.chance(0.15) {
            let flows: Vec<&str> = self.flows.iter().map(String::as_str).collect();
            table.insert("like".into(), self.dice.one(&flows).into());
        }
        let hosts: Vec<&str> =
            self.nodes.iter().map(String::as_str).filter(|name| !name.starts_with('r')).collect();
        let all: Vec<&str> = self.nodes.iter().map(String::as_str).collect();
        let mut ends = match (hosts.contains(&"terminal"), hosts.contains(&"a")) {
            (true, true) if self.dice.chance(0.5) => ["a", "b"],
            (true, _) => ["terminal", "server"],
            _ => ["a", "b"],
        };
        if self.dice.chance(0.1) {
            ends[0] = self.dice.one(&all);
        }
        if self.dice.chance(0.3) {
            ends.swap(0, 1);
        }
        let ends = ends.map(str::to_owned);
        table.insert("from".into(), ends[0].as_str().into());
        table.insert("to".into(), ends[1].as_str().into());
        if self.dice.chance(0.15) {
            table.insert("count".into(), self.dice.below(4).into());
        }
        for (key, probability) in [("start", 0.3), ("spread", 0.1), ("spacing", 0.1), ("stop", 0.15)] {
            if self.dice.chance(probability) {
                table.insert(key.into(), self.instant());
            }
        }
        if !self.flows.is_empty() && self.dice.chance(0.15) {
            let flows: Vec<&str> = self.flows.iter().map(String::as_str).collect();
            table.insert("after".into(), self.dice.one(&flows).into());
        }
        if self.dice.chance(0.2) {
            table.insert("via".into(), self.link_at(&ends[0]).into());
        }
        if self.dice.chance(0.85) {
            table.insert("app".into(), self.app());
        }
        if !table.contains_key("like") || self.dice.chance(0.7) {
            table.insert("transport".into(), self.transport(&ends).into());
        }
        let done: Vec<&str> =
            vec!["like", "start", "spread", "spacing", "stop", "after", "via", "app", "count", "transport"];
        self.fill("flow", &mut table, &done, 0.12);
        self.flows.push(name);
        table
    }

    /// A proxy or two, on nodes that may be on the way of a flow; most scenarios have none.
    fn proxies(&mut self) -> Option<Value> {
        let mut between: Vec<String> = self.nodes.iter().filter(|n| n.starts_with('r')).cloned().collect();
        if between.is_empty() && self.dice.chance(0.02) {
            between.clone_from(&self.nodes);
        }
        if between.is_empty() || !self.dice.chance(0.3) {
            return None;
        }
        let many = self.dice.between(1, 2);
        self.proxies = many;
        // A proxy for single subflows shares no flow with one for whole connections.
        let one_subflow = self.dice.chance(0.25);
        let proxy = |number| Value::from(self.proxy((number, one_subflow), &between));
        let proxies: Vec<Value> = (0..many).map(proxy).collect();
        Some(proxies.into())
    }

    fn proxy(&mut self, (number, one_subflow): (u64, bool), between: &[String]) -> Table {
        let mut table = Table::new();
        table.insert("name".into(), format!("x{number}").into());
        if number > 0 && self.dice.chance(0.3) {
            table.insert("like".into(), "x0".into());
        }
        let names: Vec<&str> = between.iter().map(String::as_str).collect();
        table.insert("node".into(), self.dice.one(&names).into());
        let whole = *self.dice.one(&[&"split", &"mptcp"]);
        // A converter shares no flow with any other.
        let alone = self.proxies == 1 && self.dice.chance(0.3);
        let kind = if one_subflow { "one-subflow" } else { [whole, "convert"][usize::from(alone)] };
        table.insert("kind".into(), kind.into());
        let ends = [names[0].to_owned(), names[0].to_owned()];
        for side in ["client", "server"] {
            let mut keys = self.transport(&ends);
            let multipath = match kind {
                "mptcp" => side == "client" || self.dice.chance(0.5),
                "convert" => self.dice.chance(0.5),
                _ => false,
            };
            if keys["kind"] != if multipath { "mptcp" } else { "tcp" } {
                // Keys of another kind would be mistakes.
                keys = Table::new();
                keys.insert("kind".into(), if multipath { "mptcp" } else { "tcp" }.into());
                self.fill("transport", &mut keys, &["endpoints", "congestion", "scheduler"], 0.05);
            }
            keys.remove("endpoints");
            table.insert(side.into(), keys.into());
        }
        if self.dice.chance(0.2) {
            let flows: Vec<&str> = self.flows.iter().map(String::as_str).collect();
            table.insert("flows".into(), json!([self.dice.one(&flows)]));
        }
        let mut done = vec!["like", "flows", "client", "server", "path", "client_leg", "server_leg"];
        if one_subflow || kind == "convert" {
            // It answers when the server has.
            done.push("handshake");
        }
        self.fill("proxy", &mut table, &done, 0.5);
        let paths = self.links.iter().filter(|link| link.directions[0] == "up").map(|link| link.name.clone());
        let paths: Vec<String> = paths.collect();
        if !paths.is_empty() && self.dice.chance(0.3) {
            table.remove("node");
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            table.insert("path".into(), self.dice.one(&paths).into());
            let leg = *self.dice.one(&[&"client_leg", &"server_leg"]);
            let mut keys = Table::new();
            self.directions(&mut keys, ["up", "down"]);
            table.insert(leg.into(), keys.into());
        }
        table
    }

    /// An application; half of all transfers have a size, so that they can end.
    fn app(&mut self) -> Value {
        if self.dice.chance(0.35) {
            let size = values::size(&mut self.dice, Spread { extreme: 0.05, ..self.spread });
            return json!({ "kind": "bulk", "size": size });
        }
        let drawn = self.grammar.algorithm(&mut self.dice, "application", self.spread);
        drawn.unwrap_or_else(|| "bulk".into())
    }

    fn transport(&mut self, ends: &[String; 2]) -> Table {
        let mut table = Table::new();
        let kind =
            *self.dice.one(&[&"tcp", &"tcp", &"mptcp", &"mptcp", &"mptcp", &"udp", &"sctp", &"cmt-sctp"]);
        table.insert("kind".into(), kind.into());
        let mut draw = |key: &str, catalogue: &str, probability: f64, builder: &mut Self| {
            if builder.dice.chance(probability)
                && let Some(value) = builder.grammar.algorithm(&mut builder.dice, catalogue, builder.spread)
            {
                table.insert(key.into(), value);
            }
        };
        if kind != "udp" {
            draw("congestion", "congestion-control", 0.8, self);
        }
        if matches!(kind, "mptcp" | "cmt-sctp") {
            draw("scheduler", "scheduler", 0.8, self);
        }
        if kind == "mptcp" {
            draw("path_manager", "path-manager", 0.5, self);
        }
        let manager = table.get("path_manager").map(|value| value.get("kind").unwrap_or(value).clone());
        if manager.is_some_and(|kind| kind == "in-kernel") {
            let many = self.dice.between(1, 4);
            let endpoints: Vec<Value> = (0..many).map(|_| self.endpoint(ends).into()).collect();
            table.insert("endpoints".into(), endpoints.into());
        }
        let often = if self.dice.chance(0.3) { 0.0 } else { 0.12 };
        self.fill("transport", &mut table, &["endpoints"], often);
        table
    }

    fn endpoint(&mut self, ends: &[String; 2]) -> Table {
        let mut table = Table::new();
        table.insert("path".into(), self.link_at(&ends[0]).into());
        self.fill("endpoint", &mut table, &[], 0.5);
        if !table.contains_key("flags") {
            table.insert("flags".into(), json!([self.dice.one(&["subflow", "signal", "fullmesh"])]));
        }
        table
    }

    fn event(&mut self) -> Table {
        let mut table = Table::new();
        table.insert("at".into(), self.instant());
        if self.dice.chance(0.3) {
            let flows: Vec<&str> = self.flows.iter().map(String::as_str).collect();
            table.insert("flow".into(), self.dice.one(&flows).into());
            let action =
                *self.dice.one(&[&"leave", &"leave", &"join", &"join", &"backup", &"regular", &"abort"]);
            let mut what = Table::new();
            if action == "abort" {
                what.insert("abort".into(), self.dice.one(&["ack", "reset"]).into());
            } else {
                let node = self.dice.one(&["terminal", "server", "a"]).to_owned();
                what.insert(action.into(), self.link_at(&node).into());
            }
            self.fill("do", &mut what, &["leave", "join", "backup", "regular", "abort"], 0.3);
            table.insert("do".into(), what.into());
            return table;
        }
        if self.proxies > 0 && self.dice.chance(0.25) {
            table.insert("proxy".into(), format!("x{}", self.dice.below(self.proxies)).into());
            table.insert("crash".into(), self.dice.one(&["reset", "silent"]).into());
            return table;
        }
        let link = self.links[self.dice.below(self.links.len() as u64) as usize].clone();
        let name = match self.dice.below(4) {
            0 => format!("{}.{}", link.name, link.directions[0]),
            1 => format!("{}.{}", link.name, link.directions[1]),
            _ => link.name,
        };
        table.insert("link".into(), name.into());
        let mut set = Table::new();
        self.fill("set", &mut set, &[], 0.25);
        if set.is_empty() {
            set.insert("up".into(), self.dice.chance(0.6).into());
        }
        table.insert("set".into(), set.into());
        table
    }
}
