//! From a filled tree without mistakes to the model. `None` means that a key table and this file disagree.

use congestion::Growth;
use transport::config::{
    AckConfig, MptcpConfig, PathManager, RecoveryKind, Reinjection, RtoConfig, RtoFloor, SendBuffer,
    TcpConfig,
};
use units::{Bytes, OptionValue, Options, SimTime};

use crate::keys::{AUTO, UNLIMITED};
use crate::model::{Cable, Change, Choice, Direction, Ecmp, Flow, Multipath, Node, Scenario, Transport};
use crate::registries::{Catalogue, NO_LOSS, Registries};
use crate::rules::directions;
use crate::topology::{Topology, Wire};
use crate::tree::{Table, Value};

/// The whole scenario.
pub(crate) fn scenario(root: &Table, topology: &Topology, registries: &Registries) -> Option<Scenario> {
    let assembler = Assembler { topology, registries };
    let mut events: Vec<Change> =
        root.tables("event").map(|(_, event)| assembler.change(event)).collect::<Option<_>>()?;
    events.sort_by_key(|event| event.at);
    Some(Scenario {
        name: root.text("name")?.into(),
        description: root.text("description")?.into(),
        duration: root.parse("duration")?,
        seeds: seeds(&root.get("seeds")?.value)?,
        ecmp: match root.table("routing")?.text("ecmp")? {
            "packet" => Ecmp::Packet,
            _ => Ecmp::Flow,
        },
        record_interval: root.table("record")?.parse("interval")?,
        nodes: topology.hosts.iter().map(|h| Node { name: h.name.clone(), forward: h.forward }).collect(),
        cables: topology.wires.iter().map(|wire| assembler.cable(root, wire)).collect::<Option<_>>()?,
        flows: root.tables("flow").map(|(_, flow)| assembler.flow(flow)).collect::<Option<_>>()?,
        events,
    })
}

fn seeds(value: &Value) -> Option<Vec<u64>> {
    match value {
        Value::Integer(n) => Some((1..=u64::try_from(*n).ok()?).collect()),
        Value::List(items) => items
            .iter()
            .map(|item| match item.value {
                Value::Integer(seed) => u64::try_from(seed).ok(),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

struct Assembler<'a> {
    topology: &'a Topology,
    registries: &'a Registries,
}

impl Assembler<'_> {
    fn cable(&self, root: &Table, wire: &Wire) -> Option<Cable> {
        let (list, index) = wire.source;
        let table = root.list(list).get(index)?.as_table()?;
        let direction = |i: usize| {
            let keys = table.table(wire.keys[i])?;
            Some(Direction {
                name: wire.directions[i].clone(),
                rate: keys.parse("rate")?,
                delay: keys.parse("delay")?,
                queue: keys.parse("queue")?,
                loss: self.loss(keys)?,
            })
        };
        Some(Cable { name: wire.name.clone(), ends: wire.ends, directions: [direction(0)?, direction(1)?] })
    }

    /// `Some(None)`: nothing is lost.
    fn loss(&self, keys: &Table) -> Option<Option<Choice>> {
        let choice = self.choice(Catalogue::Loss, keys.table("loss")?)?;
        Some((choice.kind != NO_LOSS).then_some(choice))
    }

    fn choice(&self, catalogue: Catalogue, table: &Table) -> Option<Choice> {
        let algorithm = self.registries.find(catalogue, table.text("kind")?)?;
        let option = |spec: &units::OptionSpec| {
            let text = table.get(spec.name)?.value.bare()?;
            Some((spec.name, spec.kind.parse(&text).ok()?))
        };
        let options = algorithm.options.iter().map(option).collect::<Option<Vec<_>>>()?;
        Some(Choice { kind: algorithm.name.into(), options: Options::new(options) })
    }

    fn node(&self, name: &str) -> Option<usize> {
        self.topology.hosts.iter().position(|host| host.name == name)
    }

    fn flow(&self, flow: &Table) -> Option<Flow> {
        Some(Flow {
            name: flow.text("name")?.into(),
            from: self.node(flow.text("from")?)?,
            to: self.node(flow.text("to")?)?,
            opened_by_receiver: flow.text("opened_by")? == "receiver",
            start: flow.parse("start")?,
            stop: flow.parse("stop")?,
            app: self.choice(Catalogue::App, flow.table("app")?)?,
            transport: self.transport(flow.table("transport")?)?,
            via: flow.text("via").and_then(|name| self.topology.wire(name)),
            compare_paths: flow.flag("compare_paths")?,
        })
    }

    fn transport(&self, keys: &Table) -> Option<Transport> {
        let mptcp = match keys.text("kind")? {
            "mptcp" => Some(Multipath {
                config: self.multipath(keys)?,
                scheduler: self.choice(Catalogue::Scheduler, keys.table("scheduler")?)?,
            }),
            _ => None,
        };
        Some(Transport {
            profile: keys.text("profile")?.into(),
            tcp: tcp(keys)?,
            congestion: self.choice(Catalogue::Congestion, keys.table("congestion")?)?,
            mptcp,
        })
    }

    fn multipath(&self, keys: &Table) -> Option<MptcpConfig> {
        let manager = self.choice(Catalogue::PathManager, keys.table("path_manager")?)?;
        let subflows = match manager.options.get("subflows")? {
            OptionValue::Integer(n) => u32::try_from(*n).ok()?,
            _ => return None,
        };
        Some(MptcpConfig {
            path_manager: match manager.kind.as_str() {
                "per-path" => PathManager::PerPath { subflows },
                "fullmesh" => PathManager::FullMesh { subflows },
                _ => PathManager::NdiffPorts { subflows },
            },
            reinjection: match keys.text("reinjection")? {
                "death" => Reinjection::Death,
                _ => Reinjection::Timeout,
            },
            checksum: keys.flag("checksum")?,
            wide_sequence: keys.flag("wide_sequence")?,
            peer_capable: keys.flag("peer_capable")?,
        })
    }

    fn change(&self, event: &Table) -> Option<Change> {
        let set = event.table("set")?;
        Some(Change {
            at: event.parse::<SimTime>("at")?,
            links: directions(self.topology, event.text("link")?)?,
            rate: set.parse("rate"),
            delay: set.parse("delay"),
            queue: set.parse("queue"),
            loss: if set.has("loss") { Some(self.loss(set)?) } else { None },
            up: set.flag("up"),
        })
    }
}

/// A whole number that fits.
fn count(keys: &Table, key: &str) -> Option<u32> {
    if keys.text(key) == Some(UNLIMITED) {
        return Some(u32::MAX);
    }
    u32::try_from(keys.integer(key)?).ok()
}

fn tcp(keys: &Table) -> Option<TcpConfig> {
    Some(TcpConfig {
        mss: keys.parse("mss")?,
        header: keys.parse("header")?,
        overhead: keys.parse("overhead")?,
        initial_window: count(keys, "initial_window")?,
        initial_ssthresh: keys.parse("initial_ssthresh")?,
        growth: Growth {
            slow_start_limit: count(keys, "slow_start_limit")?,
            byte_counting: keys.flag("byte_counting")?,
        },
        rto: RtoConfig {
            initial: keys.parse("rto_initial")?,
            min: keys.parse("rto_min")?,
            max: keys.parse("rto_max")?,
            granularity: keys.parse("rto_granularity")?,
            floor: match keys.text("rto_floor")? {
                "variance" => RtoFloor::Variance,
                _ => RtoFloor::Total,
            },
        },
        syn_retries: count(keys, "syn_retries")?,
        retries: count(keys, "retries")?,
        ack: AckConfig {
            every: count(keys, "ack_every")?,
            delay: keys.parse("ack_delay")?,
            quick: count(keys, "quick_acks")?,
        },
        sack: keys.flag("sack")?,
        timestamps: keys.flag("timestamps")?,
        recovery: match keys.text("recovery")? {
            "newreno" => RecoveryKind::NewReno,
            "sack" => RecoveryKind::Sack,
            _ => RecoveryKind::Rack,
        },
        prr: keys.flag("prr")?,
        dupthresh: count(keys, "dupthresh")?,
        limited_transmit: keys.flag("limited_transmit")?,
        nagle: keys.flag("nagle")?,
        idle_restart: keys.flag("idle_restart")?,
        window_scaling: keys.flag("window_scaling")?,
        receive_buffer: keys.parse("receive_buffer")?,
        receive_buffer_max: keys.parse("receive_buffer_max")?,
        send_buffer: match keys.text("send_buffer")? {
            AUTO => SendBuffer::Auto { max: keys.parse::<Bytes>("send_buffer_max")? },
            _ => SendBuffer::Fixed(keys.parse("send_buffer")?),
        },
    })
}
