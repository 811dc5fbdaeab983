//! Keys that the Linux kernel supports: the texts of refusals, and the table of the reference page.

use crate::backend::Rule;

/// By what has the keys. Links can be anything.
pub(super) const RULES: &[(&str, &[Rule])] =
    &[("scenario", SCENARIO_RULES), ("direction", DIRECTION_RULES), ("flow", FLOW_RULES)];

const fn rule(key: &'static str, allowed: &'static str) -> Rule {
    Rule::new(key, allowed)
}

const SCENARIO_RULES: &[Rule] = &[DURATION, INTERVAL, FLOWS, PROXY, EVENT];
pub(super) const DURATION: Rule =
    rule("duration", "up to \"60min\": a run takes as long as it says").as_in("60min");
pub(super) const INTERVAL: Rule = rule("record.interval", "from \"10ms\" on").as_in("10ms");
pub(super) const FLOWS: Rule = rule("flow", "up to 1000");
pub(super) const PROXY: Rule = rule("proxy", "none, or one with `flows = []`").as_in("[]");
pub(super) const EVENT: Rule = rule(
    "event",
    "changes of links; of addresses that their end has as endpoints, where it has no other MPTCP flow; no aborts",
);

const DIRECTION_RULES: &[Rule] = &[RATE];
pub(super) const RATE: Rule =
    rule("rate", "plain rates that carry up to 50,000 full packets a second in all; models of any rate");

const FLOW_RULES: &[Rule] = &[
    COMPARE,
    ROUTE,
    KIND,
    PROFILE,
    DATAGRAM,
    DATAGRAM_HEADER,
    CONGESTION,
    SAME_CONGESTION,
    SCHEDULER,
    PATH_MANAGER,
    ENDPOINTS,
    SAME_PATH_MANAGER,
    SUBFLOW_UNSENT_LIMIT,
    SAME_SUBFLOW_UNSENT_LIMIT,
    SAME_SETTINGS,
    REINJECTION,
    REINJECT_ON,
    REASSEMBLY,
    WIDE_SEQUENCE,
    SHORT_DATA_ACK,
    PEER,
    MSS,
    HEADER,
    INITIAL_WINDOW,
    INITIAL_SSTHRESH,
    SSTHRESH_FROM,
    SLOW_START,
    BYTE_COUNTING,
    CWND_COUNTS,
    IDLE_RESTART,
    FLIGHT_LIMIT,
    RTO_INITIAL,
    RTO_MIN,
    RTO_MAX,
    RTO_GRANULARITY,
    RTO_FLOOR,
    RTO_ESTIMATOR,
    ACK_EVERY,
    ACK_DELAY,
    QUICK_ACKS,
    ACKS_PER_RTT,
    ACK_PUSHED,
    ECN,
    RECOVERY,
    PRR,
    PRR_RULE,
    UNDO_RULE,
    DUPTHRESH,
    LIMITED_TRANSMIT,
    MULTIPLE_FAST_RETRANSMITS,
    FLIGHT_AFTER_TIMEOUT,
    LOSS_MEANS,
    NAGLE,
    PACING,
    QUANTUM_RULE,
    RECEIVE_COUNTS,
    SEND_BUFFER,
    UNSENT_LIMIT,
];
pub(super) const COMPARE: Rule = rule("compare_paths", "false");
pub(super) const ROUTE: Rule = rule("to", "a node that routing reaches, both among the first 60 nodes");
pub(super) const KIND: Rule =
    rule("transport.kind", "\"tcp\", \"mptcp\", or \"udp\" where no commands run").as_in("mptcp");
pub(super) const PROFILE: Rule =
    rule("transport.profile", "linux, or another one of Linux: the kernel has its own TCP").as_in("linux");
pub(super) const DATAGRAM: Rule = rule("transport.payload", "up to \"1472B\"").as_in("1472B");
pub(super) const DATAGRAM_HEADER: Rule = rule("transport.header", "\"28B\" with UDP").as_in("28B");
pub(super) const CONGESTION: Rule = rule(
    "transport.congestion",
    "newreno (the kernel's reno), cubic with hystart and growth = \"linux\" and its other defaults, bbr; lia, olia, balia, \
     wvegas with their defaults, as BPF programs",
).as_in("cubic");
pub(super) const SAME_CONGESTION: Rule = rule(
    "transport.congestion",
    "that of the other flows of its nodes where one has commands: they set none",
);
pub(super) const SCHEDULER: Rule =
    rule("transport.scheduler", "\"minratio\": the only one that the kernel has, `default`")
        .as_in("minratio");
pub(super) const PATH_MANAGER: Rule = rule(
    "transport.path_manager",
    "in-kernel; per-path with one subflow (the server announces its addresses, so that a join comes one round trip \
     later), ndiffports with up to 9 (further addresses of the server), default",
).as_in("per-path");
pub(super) const ENDPOINTS: Rule =
    rule("transport.endpoints", "addresses of paths between the two nodes, flags other than laminar");
pub(super) const SAME_PATH_MANAGER: Rule =
    rule("transport.path_manager", "that of the other MPTCP flows of its nodes: a kernel has one");
pub(super) const SAME_SETTINGS: Rule = rule(
    "transport",
    "what the other flows of its nodes have for `mss`, `overhead`, `checksum`, `sack`, `timestamps`, `window_scaling`, \
     `idle_restart`, `syn_retries`, `retries` and the buffers: a kernel has one setting for all",
);
pub(super) const REINJECTION: Rule = rule("transport.reinjection", "\"upstream\"");
pub(super) const REINJECT_ON: Rule = rule("transport.reinject_on", "\"scheduler\"");
pub(super) const REASSEMBLY: Rule = rule("transport.reassembly", "\"separate\"");
pub(super) const SUBFLOW_UNSENT_LIMIT: Rule = rule(
    "transport.subflow_unsent_limit",
    "\"unlimited\"; up to \"2147483647B\" with lia, olia, balia and wvegas, whose programs set it",
)
.as_in("unlimited");
pub(super) const SAME_SUBFLOW_UNSENT_LIMIT: Rule = rule(
    "transport.subflow_unsent_limit",
    "that of the other MPTCP flows with its congestion control, which is one program",
);
pub(super) const WIDE_SEQUENCE: Rule = rule("transport.wide_sequence", "true");
pub(super) const SHORT_DATA_ACK: Rule = rule("transport.short_data_ack", "true");
pub(super) const PEER: Rule = rule("transport.peer_capable", "true");
pub(super) const MSS: Rule = rule("transport.mss", "from \"536B\" to \"8948B\"");
pub(super) const HEADER: Rule = rule("transport.header", "\"40B\"");
pub(super) const INITIAL_WINDOW: Rule = rule("transport.initial_window", "10");
pub(super) const INITIAL_SSTHRESH: Rule = rule("transport.initial_ssthresh", "\"unlimited\"");
pub(super) const SSTHRESH_FROM: Rule = rule("transport.ssthresh_from", "\"cwnd\"");
pub(super) const SLOW_START: Rule = rule("transport.slow_start_limit", "\"unlimited\"");
pub(super) const BYTE_COUNTING: Rule = rule("transport.byte_counting", "true");
pub(super) const IDLE_RESTART: Rule =
    rule("transport.idle_restart", "\"halving\", or \"never\"").as_in("halving");
pub(super) const FLIGHT_LIMIT: Rule = rule("transport.flight_limit", "\"unlimited\"");
pub(super) const RTO_INITIAL: Rule = rule("transport.rto_initial", "\"1s\"");
pub(super) const RTO_MIN: Rule = rule("transport.rto_min", "\"200ms\"");
pub(super) const RTO_MAX: Rule = rule("transport.rto_max", "\"120s\"");
pub(super) const RTO_GRANULARITY: Rule = rule("transport.rto_granularity", "\"1ms\"");
pub(super) const RTO_FLOOR: Rule = rule("transport.rto_floor", "\"variance\"");
pub(super) const RTO_ESTIMATOR: Rule = rule("transport.rto_estimator", "\"linux\"");
pub(super) const ACK_EVERY: Rule = rule("transport.ack_every", "2");
pub(super) const ACK_DELAY: Rule = rule("transport.ack_delay", "\"40ms\"");
pub(super) const QUICK_ACKS: Rule = rule("transport.quick_acks", "16");
pub(super) const ACKS_PER_RTT: Rule = rule("transport.acks_per_rtt", "0");
pub(super) const CWND_COUNTS: Rule = rule("transport.cwnd_counts", "\"segments\"");
pub(super) const ACK_PUSHED: Rule = rule("transport.ack_pushed", "\"any\"");
pub(super) const ECN: Rule = rule("transport.ecn", "false");
pub(super) const RECOVERY: Rule = rule("transport.recovery", "\"rack\"");
pub(super) const PRR: Rule = rule("transport.prr", "true");
pub(super) const UNDO_RULE: Rule = rule("transport.undo_rule", "\"linux\"");
pub(super) const PRR_RULE: Rule = rule("transport.prr_rule", "\"linux\"");
pub(super) const DUPTHRESH: Rule = rule("transport.dupthresh", "3");
pub(super) const LIMITED_TRANSMIT: Rule = rule("transport.limited_transmit", "true");
pub(super) const MULTIPLE_FAST_RETRANSMITS: Rule = rule("transport.multiple_fast_retransmits", "false");
pub(super) const FLIGHT_AFTER_TIMEOUT: Rule = rule("transport.flight_after_timeout", "\"retransmitted\"");
pub(super) const LOSS_MEANS: Rule = rule("transport.loss_means", "\"congestion\"");
pub(super) const NAGLE: Rule = rule("transport.nagle", "true with `minshall`, or false").as_in("false");
pub(super) const PACING: Rule = rule("transport.pacing", "false; bbr paces itself").as_in("false");
pub(super) const QUANTUM_RULE: Rule = rule("transport.quantum_rule", "\"linux\"");
pub(super) const RECEIVE_COUNTS: Rule =
    rule("transport.receive_counts", "\"memory\" or \"subflow-memory\"").as_in("subflow-memory");
pub(super) const SEND_BUFFER: Rule =
    rule("transport.send_buffer", "\"expand\", or where no commands run a size from \"4608B\" on")
        .as_in("expand");
pub(super) const UNSENT_LIMIT: Rule = rule("transport.unsent_limit", "\"unlimited\"");
