//! From a filled tree without mistakes to the model. `None` means that a key table and this file disagree.

use std::str::FromStr;
use std::sync::Arc;

use congestion::Growth;
use links::loss::Losses;
use links::{Faults, Shaper};
use transport::config::{
    AckConfig, BufferConfig, ConnectionBuffer, EndpointFlags, FlightAfterTimeout, MptcpConfig, OptionConfig,
    RecoveryConfig, RecoveryKind, Reliability, RtoConfig, RtoFloor, RtoRule, SegmentConfig, SendBuffer,
    SendingConfig, TcpConfig, TimerConfig, UdpConfig, WindowConfig,
};
use transport::sctp::SctpConfig;
use transport::sctp::chunk::COMMON_HEADER;
use transport::sctp::config::{
    CmtConfig, HeartbeatConfig, MaxBurst, Occupancy, PacketConfig, Rescheduling, RetransmissionLimits,
    SackConfig, SctpBufferConfig, SctpRecoveryConfig, SctpWindowConfig, StreamConfig,
};
use units::{BitsPerSecond, Bytes, Nanos, Ratio};

use crate::choices::Choices;
use crate::flows::flow_names;
use crate::held::{Read as _, fields};
use crate::keys::{AUTO, EXPAND, EXPAND_LARGEST};
use crate::model::{
    Associations, Change, Choice, Direction, DuplexLink, Endpoint, Flow, FlowAction, FlowEvent, Multipath,
    Node, Proxy, ProxyCrash, Queue, Scenario, Setting, Strip, Transport,
};
use crate::path_managers::PathManagers;
use crate::proxies;
use crate::registries::{Listed, NO_LOSS};
use crate::sctp_rules::is_sctp;
use crate::topology::{LinkEntry, Topology};
use document::queue_size::QueueSize;
use document::tree::{Placed, Table, Value};

/// The whole scenario.
pub(crate) fn scenario(root: &Table, topology: &Topology, choices: &Choices<'_>) -> Option<Scenario> {
    let assembler = Assembler { topology, choices };
    let of_links = root.tables("event").filter(|(_, event)| event.has("link"));
    let mut events: Vec<Change> =
        of_links.map(|(_, event)| assembler.change(event)).collect::<Option<_>>()?;
    events.sort_by_key(|event| event.at);
    let of_flows = root.tables("event").filter(|(_, event)| event.has("flow"));
    let mut flow_events: Vec<FlowEvent> =
        of_flows.map(|(_, event)| assembler.flow_events(root, event)).collect::<Option<Vec<_>>>()?.concat();
    flow_events.sort_by_key(|event| event.at);
    Some(Scenario {
        name: root.read("name")?,
        description: root.read("description")?,
        duration: root.read("duration")?,
        seeds: seeds(&root.get("seeds")?.value)?,
        jitter: root.read("jitter").unwrap_or_default(),
        ecmp: root.table("routing")?.read("ecmp")?,
        record_interval: root.table("record")?.read("interval")?,
        nodes: topology.hosts.iter().map(|h| Node { name: h.name.clone(), forward: h.forward }).collect(),
        duplex_links: topology
            .duplex_links
            .iter()
            .map(|duplex_link| assembler.duplex_link(root, duplex_link))
            .collect::<Option<_>>()?,
        proxies: assembler.proxies(root)?,
        flows: assembler.flows(root)?,
        events,
        flow_events,
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
    choices: &'a Choices<'a>,
}

impl Assembler<'_> {
    fn duplex_link(&self, root: &Table, duplex_link: &LinkEntry) -> Option<DuplexLink> {
        let (list, index) = duplex_link.source;
        let table = root.list(list).get(index)?.as_table()?;
        let direction = |i: usize| {
            let keys = table.table(duplex_link.keys[i])?;
            Some(Direction {
                name: duplex_link.directions[i].clone(),
                rate: self.settings(keys, "rate")?,
                delay: self.settings(keys, "delay")?,
                queue: self.queue(keys)?,
                loss: self.loss(keys)?,
                shapers: shapers(keys)?,
                faults: match keys.table("faults") {
                    Some(keys) => faults(keys)?,
                    None => Faults::default(),
                },
                strip: strip(keys)?,
            })
        };
        Some(DuplexLink {
            name: duplex_link.name.clone(),
            ends: duplex_link.ends,
            directions: [direction(0)?, direction(1)?],
        })
    }

    /// All loss models that do something.
    fn loss(&self, keys: &Table) -> Option<Vec<Choice<Losses>>> {
        let tables = keys.get("loss")?.one_or_more().iter().map(Placed::as_table);
        let lossy = tables.filter(|table| table.is_none_or(|table| table.text("kind") != Some(NO_LOSS)));
        lossy.map(|table| self.choices.plain(table?)).collect()
    }

    fn settings<T: FromStr, F: Listed>(&self, keys: &Table, key: &str) -> Option<Vec<Setting<T, Choice<F>>>> {
        let setting = |node: &Placed| match node.as_table() {
            Some(table) => self.choices.plain(table).map(Setting::Model),
            None => node.as_text()?.parse().ok().map(Setting::Value),
        };
        keys.get(key)?.one_or_more().iter().map(setting).collect()
    }

    /// A queue; its size may depend on rate and delay.
    fn queue(&self, keys: &Table) -> Option<Queue> {
        let resolve = |size: QueueSize| match size {
            QueueSize::Limit(limit) => Some(limit),
            QueueSize::Bdp(_) => Some(size.limit(keys.parse("rate")?, keys.parse("queue_rtt")?)),
        };
        match keys.table("queue") {
            Some(table) => self.choices.choice(table, &resolve).map(Setting::Model),
            None => resolve(keys.parse("queue")?).map(Setting::Value),
        }
    }

    fn node(&self, name: &str) -> Option<usize> {
        self.topology.hosts.iter().position(|host| host.name == name)
    }

    /// Each flow of each `count`.
    fn flows(&self, root: &Table) -> Option<Vec<Flow>> {
        let tables: Vec<&Table> = root.tables("flow").map(|(_, flow)| flow).collect();
        let counts = tables.iter().map(|flow| usize::try_from(flow.integer("count")?).ok());
        let counts: Vec<usize> = counts.collect::<Option<_>>()?;
        let first = |index: usize| counts[..index].iter().sum::<usize>();
        let mut flows = Vec::new();
        for (flow, &count) in tables.iter().zip(&counts) {
            let after = match flow.text("after") {
                Some(name) => {
                    let index = tables.iter().position(|other| other.text("name") == Some(name))?;
                    (first(index)..first(index + 1)).collect()
                }
                None => Vec::new(),
            };
            let described = Flow { after, ..self.flow(flow)? };
            let spacing = flow.read::<Nanos>("spacing")?;
            for (name, n) in flow_names(&described.name, count).into_iter().zip(0..) {
                let start = described.start + spacing.saturating_mul(n);
                flows.push(Flow { name, start, ..described.clone() });
            }
        }
        Some(flows)
    }

    fn flow(&self, flow: &Table) -> Option<Flow> {
        Some(Flow {
            name: flow.read("name")?,
            after: Vec::new(),
            spread: flow.read("spread")?,
            from: self.node(flow.text("from")?)?,
            to: self.node(flow.text("to")?)?,
            opened_by_receiver: flow.text("opened_by")? == "receiver",
            start: flow.read("start")?,
            stop: flow.read("stop")?,
            app: Arc::new(self.choices.plain(flow.table("app")?)?),
            transport: Arc::new(self.transport(flow.table("transport")?)?),
            via: flow.text("via").and_then(|name| self.topology.duplex_link(name)),
            compare_paths: flow.read("compare_paths")?,
        })
    }

    fn proxies(&self, root: &Table) -> Option<Vec<Proxy>> {
        let proxy = |(_, keys): (&Placed, &Table)| {
            Some(Proxy {
                name: keys.read("name")?,
                node: self.node(keys.text("node")?)?,
                kind: keys.read("kind")?,
                handshake: keys.read("handshake")?,
                rate: keys.read("rate"),
                connections: keys.read("connections"),
                servers: keys.read("servers")?,
                crashes: crashes(root, keys.text("name")?)?,
                flows: proxies::intercepted(root, keys)?,
                client: Arc::new(self.transport(keys.table("client")?)?),
                server: Arc::new(self.transport(keys.table("server")?)?),
            })
        };
        root.tables("proxy").map(proxy).collect()
    }

    fn transport(&self, keys: &Table) -> Option<Transport> {
        match keys.text("kind")? {
            "udp" => return udp(keys),
            kind if is_sctp(kind) => return self.association(keys),
            _ => {}
        }
        let mptcp = match keys.text("kind")? {
            "mptcp" => Some(Multipath {
                config: self.multipath(keys)?,
                scheduler: self.choices.plain(keys.table("scheduler")?)?,
                endpoints: keys
                    .tables("endpoints")
                    .map(|(_, endpoint)| self.endpoint(endpoint))
                    .collect::<Option<_>>()?,
            }),
            "tcp" => None,
            _ => return None,
        };
        Some(Transport {
            profile: keys.read("profile")?,
            tcp: Arc::new(tcp(keys)?),
            congestion: Some(self.choices.plain(keys.table("congestion")?)?),
            mptcp,
            sctp: None,
            udp: None,
        })
    }

    fn association(&self, keys: &Table) -> Option<Transport> {
        let config = sctp(keys)?;
        let tcp = TcpConfig::default().with(|tcp| {
            tcp.segment.mss = config.packet.payload;
            tcp.buffers.receive_buffer = config.buffers.receive;
            tcp.buffers.receive_buffer_max = config.buffers.receive;
            tcp.buffers.send_buffer = SendBuffer::Fixed(config.buffers.send);
        });
        Some(Transport {
            profile: keys.read("profile")?,
            tcp: Arc::new(tcp),
            congestion: Some(self.choices.plain(keys.table("congestion")?)?),
            mptcp: None,
            sctp: Some(Associations {
                scheduler: given(keys, "scheduler", || self.choices.plain(keys.table("scheduler")?))?,
                config: Arc::new(config),
                single_homed: false,
            }),
            udp: None,
        })
    }

    fn multipath(&self, keys: &Table) -> Option<MptcpConfig> {
        let manager: Choice<PathManagers> = self.choices.plain(keys.table("path_manager")?)?;
        Some(fields!(keys => MptcpConfig {
            path_manager: (manager.row.build.make)(&manager.options),
            reinjection, reinject_on, reassembly, subflow_unsent_limit, checksum, wide_sequence, short_data_ack, peer_capable,
        }))
    }

    fn endpoint(&self, keys: &Table) -> Option<Endpoint> {
        let flags = keys.list("flags");
        let has = |flag: &str| flags.iter().any(|word| word.as_text() == Some(flag));
        Some(Endpoint {
            duplex_link: self.topology.duplex_link(keys.text("path")?)?,
            client: keys.text("end")? == "client",
            flags: EndpointFlags {
                subflow: has("subflow"),
                signal: has("signal"),
                backup: has("backup"),
                fullmesh: has("fullmesh"),
                laminar: has("laminar"),
            },
        })
    }

    /// One for each flow that the name stands for.
    fn flow_events(&self, root: &Table, event: &Table) -> Option<Vec<FlowEvent>> {
        let name = event.text("flow")?;
        let keys = event.table("do")?;
        let duplex_link = |key: &str| keys.text(key).and_then(|name| self.topology.duplex_link(name));
        let what = if let Some(duplex_link) = duplex_link("leave") {
            FlowAction::Leave(duplex_link)
        } else if let Some(duplex_link) = duplex_link("join") {
            FlowAction::Join(duplex_link)
        } else if let Some(duplex_link) = duplex_link("backup") {
            FlowAction::Backup(duplex_link, true)
        } else if let Some(duplex_link) = duplex_link("regular") {
            FlowAction::Backup(duplex_link, false)
        } else {
            FlowAction::Abort(keys.read("abort")?)
        };
        let mut first = 0;
        for (_, flow) in root.tables("flow") {
            let count = usize::try_from(flow.integer("count")?).ok()?;
            if flow.text("name") == Some(name) {
                let (at, client) = (event.read("at")?, keys.text("end")? == "client");
                return Some(
                    (first..first + count).map(|flow| FlowEvent { at, flow, client, what }).collect(),
                );
            }
            first += count;
        }
        None
    }

    fn change(&self, event: &Table) -> Option<Change> {
        let set = event.table("set")?;
        Some(Change {
            at: event.read("at")?,
            links: self.topology.directions(event.text("link")?)?,
            rate: given(set, "rate", || self.settings(set, "rate"))?,
            delay: given(set, "delay", || self.settings(set, "delay"))?,
            queue: given(set, "queue", || self.queue(set))?,
            loss: given(set, "loss", || self.loss(set))?,
            shapers: given(set, "shaper", || shapers(set))?,
            faults: given(set, "faults", || faults(set.table("faults")?))?,
            strip: given(set, "strip_mptcp", || strip(set))?,
            up: set.read("up"),
        })
    }
}

/// The crashes of a proxy, by time.
fn crashes(root: &Table, proxy: &str) -> Option<Vec<ProxyCrash>> {
    let mine = root.tables("event").filter(|(_, event)| event.text("proxy") == Some(proxy));
    let crash = |event: &Table| Some(ProxyCrash { at: event.read("at")?, form: event.read("crash")? });
    let mut crashes: Vec<ProxyCrash> = mine.map(|(_, event)| crash(event)).collect::<Option<_>>()?;
    crashes.sort_by_key(|crash| crash.at);
    Some(crashes)
}

fn udp(keys: &Table) -> Option<Transport> {
    Some(Transport {
        profile: keys.read("profile")?,
        tcp: Arc::default(),
        congestion: None,
        mptcp: None,
        sctp: None,
        udp: Some(fields!(keys => UdpConfig { payload, header, overhead })),
    })
}

fn sctp(keys: &Table) -> Option<SctpConfig> {
    Some(SctpConfig {
        packet: PacketConfig {
            payload: keys.read("mss")?,
            ip_header: keys.read::<Bytes>("header")?.saturating_sub(COMMON_HEADER),
            overhead: keys.read("overhead")?,
        },
        streams: StreamConfig {
            count: u16::try_from(keys.read::<u32>("streams")?).ok()?,
            message: keys.read("message")?,
            unordered: keys.flag("unordered")?,
        },
        recovery: SctpRecoveryConfig {
            rto: RtoConfig {
                initial: keys.read("rto_initial")?,
                min: keys.read("rto_min")?,
                max: keys.read("rto_max")?,
                granularity: keys.read("rto_granularity")?,
                floor: RtoFloor::Total,
                estimator: RtoRule::Rfc,
            },
            limits: RetransmissionLimits {
                init: keys.read("init_retries")?,
                path: keys.read("path_retries")?,
                association: keys.read("association_retries")?,
            },
            missing_reports: keys.read("dupthresh")?,
            fast_retransmit: keys.read("fast_retransmit")?,
            timer_defects: keys.read("timer_defects")?,
        },
        sack: SackConfig {
            every: keys.read("ack_every")?,
            eager: keys.read("eager_sack")?,
            delay: keys.read("ack_delay")?,
            non_renegable: keys.read("nr_sack")?,
        },
        heartbeat: HeartbeatConfig {
            interval: keys.read("heartbeat_interval")?,
            confirm: keys.read("confirm_paths")?,
        },
        data_is_cookie_ack: keys.flag("data_is_cookie_ack")?,
        window: window(keys)?,
        buffers: SctpBufferConfig {
            send: keys.read("send_buffer")?,
            receive: keys.read("receive_buffer")?,
            chunk_overhead: keys.read("chunk_overhead")?,
        },
        cmt: match keys.text("kind")? {
            "cmt-sctp" => Some(concurrent(keys)?),
            _ => None,
        },
    })
}

fn window(keys: &Table) -> Option<SctpWindowConfig> {
    // Absent where bursts have no limit.
    let burst = keys.read::<u32>("max_burst").unwrap_or(u32::MAX);
    Some(SctpWindowConfig {
        initial: keys.read("initial_cwnd")?,
        initial_ssthresh: Some(keys.read::<Bytes>("initial_ssthresh")?).filter(|bytes| *bytes != Bytes::MAX),
        idle_decay: keys.read("idle_decay")?,
        burst: match keys.text("burst")? {
            "packets" => MaxBurst::Packets(burst),
            "use-it-or-lose-it" => MaxBurst::UseItOrLoseIt(burst),
            "window-limiting" => MaxBurst::WindowLimiting(burst),
            _ => MaxBurst::Unlimited,
        },
    })
}

fn concurrent(keys: &Table) -> Option<CmtConfig> {
    Some(CmtConfig {
        retransmission: keys.read("retransmission")?,
        split: keys.read("buffer_split")?,
        // Absent where buffers are not split, and where chunks are not rescheduled.
        split_by: keys.read("buffer_split_by").unwrap_or(Occupancy::Queued),
        window_update: keys.read("window_update")?,
        reductions: keys.read("reductions")?,
        rescheduling: Rescheduling {
            at: keys.read("rescheduling")?,
            threshold: keys.read("rescheduling_threshold").unwrap_or(Ratio::ZERO),
            reduces: keys.flag("rescheduling_reduces").unwrap_or(false),
        },
        delayed_ack: keys.read("delayed_ack")?,
    })
}

/// `Some(None)` where the key is not given; otherwise what `read` makes of it.
fn given<T>(table: &Table, key: &str, read: impl FnOnce() -> Option<T>) -> Option<Option<T>> {
    if table.has(key) { read().map(Some) } else { Some(None) }
}

/// All token buckets with a limit.
fn shapers(keys: &Table) -> Option<Vec<Shaper>> {
    let Some(node) = keys.get("shaper") else { return Some(Vec::new()) };
    let shaper = |node: &Placed| {
        let keys = node.as_table()?;
        Some(fields!(keys => Shaper { rate, burst }))
    };
    let mut all: Vec<Shaper> = node.one_or_more().iter().map(shaper).collect::<Option<_>>()?;
    all.retain(|shaper| shaper.rate != BitsPerSecond(u64::MAX));
    Some(all)
}

fn faults(keys: &Table) -> Option<Faults> {
    Some(fields!(keys => Faults { corrupt, duplicate, reorder, reorder_delay }))
}

fn strip(keys: &Table) -> Option<Strip> {
    Some(match &keys.get("strip_mptcp")?.value {
        Value::Flag(false) => Strip::Never,
        Value::Flag(true) => Strip::Always,
        Value::Text(_) => Strip::Syn,
        Value::Integer(n) => Strip::After(u64::try_from(*n).ok()?),
        _ => return None,
    })
}

fn tcp(keys: &Table) -> Option<TcpConfig> {
    Some(TcpConfig {
        segment: fields!(keys => SegmentConfig { mss, header, overhead }),
        window: fields!(keys => WindowConfig {
            growth: fields!(keys => Growth { slow_start_limit, byte_counting }),
            counts: keys.read("cwnd_counts").unwrap_or_default(),
            initial_window, initial_ssthresh, ssthresh_from, idle_restart, flight_limit,
        }),
        timers: fields!(keys => TimerConfig { rto: rto(keys)?, syn_retries, retries }),
        ack: AckConfig {
            every: keys.read("ack_every")?,
            delay: keys.read("ack_delay")?,
            quick: keys.read("quick_acks")?,
            per_round_trip: keys.read("acks_per_rtt")?,
            pushed: keys.read("ack_pushed").unwrap_or_default(),
        },
        options: fields!(keys => OptionConfig { sack, ecn, timestamps, window_scaling }),
        recovery: recovery(keys)?,
        sending: fields!(keys => SendingConfig {
            nagle, minshall, pacing,
            pacing_rule: keys.read("pacing_rule").unwrap_or_default(),
            quantum_rule: keys.read("quantum_rule").unwrap_or_default(),
        }),
        buffers: fields!(keys => BufferConfig {
            send_buffer: send_buffer(keys)?,
            receive_buffer, receive_buffer_max, receive_counts, header_room, unsent_limit,
        }),
    })
}

fn rto(keys: &Table) -> Option<RtoConfig> {
    Some(RtoConfig {
        initial: keys.read("rto_initial")?,
        min: keys.read("rto_min")?,
        max: keys.read("rto_max")?,
        granularity: keys.read("rto_granularity")?,
        floor: keys.read("rto_floor")?,
        estimator: keys.read("rto_estimator").unwrap_or(RtoRule::Rfc),
    })
}

fn recovery(keys: &Table) -> Option<RecoveryConfig> {
    let (reliability, kind) = match keys.text("recovery")? {
        // An SCPS-TP end falls back to NewReno.
        "snack" => (Reliability::Snack { peer_capable: keys.read("scps_peer")? }, RecoveryKind::NewReno),
        "stp" => (Reliability::Poll, RecoveryKind::NewReno),
        "newreno" => (Reliability::Acknowledged, RecoveryKind::NewReno),
        "sack" => (Reliability::Acknowledged, RecoveryKind::Sack),
        "rack" => (Reliability::Acknowledged, RecoveryKind::Rack),
        _ => return None,
    };
    let flight = keys.read("flight_after_timeout").unwrap_or(FlightAfterTimeout::Retransmitted);
    let rule = keys.read("prr_rule").unwrap_or_default();
    Some(fields!(keys => RecoveryConfig {
        reliability: reliability,
        kind: kind,
        multiple_fast_retransmits: keys.flag("multiple_fast_retransmits").unwrap_or(false),
        flight_after_timeout: flight,
        prr_rule: rule,
        undo_rule: keys.read("undo_rule").unwrap_or_default(),
        prr, dupthresh, limited_transmit, loss_means,
    }))
}

fn send_buffer(keys: &Table) -> Option<SendBuffer> {
    let expanding =
        |connection| keys.read("send_buffer_max").map(|max| SendBuffer::Expand { max, connection });
    match keys.text("send_buffer")? {
        AUTO => keys.read("send_buffer_max").map(|max| SendBuffer::Auto { max }),
        EXPAND => expanding(ConnectionBuffer::Sum),
        EXPAND_LARGEST => expanding(ConnectionBuffer::Largest),
        _ => keys.read("send_buffer").map(SendBuffer::Fixed),
    }
}
