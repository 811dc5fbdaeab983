//! Keys that the program for ns-3 supports: the texts of refusals, and the table of the reference page.

use crate::backend::Rule;

/// By what has the keys.
pub(super) const RULES: &[(&str, &[Rule])] = &[
    ("scenario", SCENARIO_RULES),
    ("link", LINK_RULES),
    ("direction", DIRECTION_RULES),
    ("flow", FLOW_RULES),
];

const fn rule(key: &'static str, allowed: &'static str) -> Rule {
    Rule::new(key, allowed)
}

/// Rules for the whole scenario.
const SCENARIO_RULES: &[Rule] = &[JITTER, ECMP, PROXY, EVENT];
pub(super) const JITTER: Rule = rule("jitter", "\"0s\"");
pub(super) const ECMP: Rule = rule("routing.ecmp", "\"flow\"");
pub(super) const PROXY: Rule = rule("proxy", "none");
pub(super) const EVENT: Rule = rule("event", "none: links and connections do not change");

/// Rules for a path, a link or a mesh.
const LINK_RULES: &[Rule] = &[PARALLEL];
pub(super) const PARALLEL: Rule =
    rule("", "one between two nodes; to join them twice put a node into one of the ways");

/// Rules for each direction of a link.
const DIRECTION_RULES: &[Rule] = &[RATE, DELAY, QUEUE, LOSS, SHAPER, FAULTS, STRIP];
pub(super) const RATE: Rule = rule("rate", "one constant");
pub(super) const DELAY: Rule = rule("delay", "one constant, the same in both directions");
pub(super) const QUEUE: Rule = rule("queue", "a number of packets from 1 on, as \"100p\"");
pub(super) const LOSS: Rule = rule("loss", "\"none\", or one of packet and ber");
pub(super) const SHAPER: Rule = rule("shaper", "none");
pub(super) const FAULTS: Rule = rule("faults", "none");
pub(super) const STRIP: Rule = rule("strip_mptcp", "false");

/// Rules for each flow.
const FLOW_RULES: &[Rule] = &[
    OPENED_BY,
    AFTER,
    STOP,
    VIA,
    COMPARE,
    SAME_APP,
    SAME_TRANSPORT,
    APP,
    KIND,
    CONGESTION,
    GROWTH,
    BYTE_COUNTING,
    HEADER,
    OVERHEAD,
    RTO_INITIAL,
    RTO_MAX,
    RTO_FLOOR,
    RTO_ESTIMATOR,
    SYN_RETRIES,
    QUICK_ACKS,
    ACKS_PER_RTT,
    ECN,
    RECOVERY,
    PRR_RULE,
    PACING,
    QUANTUM_RULE,
    LOSS_MEANS,
    MULTIPLE_FAST_RETRANSMITS,
    FLIGHT_AFTER_TIMEOUT,
    NAGLE,
    IDLE_RESTART,
    FLIGHT_LIMIT,
    SSTHRESH_FROM,
    RECEIVE_BUFFER_MAX,
    RECEIVE_COUNTS,
    SEND_BUFFER,
    UNSENT_LIMIT,
];
pub(super) const OPENED_BY: Rule = rule("opened_by", "\"sender\"");
pub(super) const AFTER: Rule = rule("after", "none");
pub(super) const STOP: Rule = rule("stop", "the end of the run");
pub(super) const VIA: Rule = rule("via", "none, or the only link of the sender");
pub(super) const COMPARE: Rule = rule("compare_paths", "false");
pub(super) const SAME_APP: Rule = rule("app", "that of the first flow");
pub(super) const SAME_TRANSPORT: Rule = rule("transport", "that of the first flow");
pub(super) const APP: Rule = rule("app", "bulk, with a `size` of choice and no other option");
pub(super) const KIND: Rule = rule("transport.kind", "\"tcp\"");
pub(super) const CONGESTION: Rule = rule(
    "transport.congestion",
    "newreno, cubic, vegas, westwood, hybla, with the options that ns-3 has: the defaults, but rtt0 of choice and \
     initial_window = \"setup\" of hybla",
);
pub(super) const GROWTH: Rule = rule(
    "transport.slow_start_limit",
    "1, and \"unlimited\" with cubic and with newreno that counts bytes (`byte_counting`)",
);
pub(super) const BYTE_COUNTING: Rule =
    rule("transport.byte_counting", "false, and true with newreno whose slow start is unlimited");
pub(super) const HEADER: Rule = rule("transport.header", "\"40B\"");
pub(super) const OVERHEAD: Rule = rule("transport.overhead", "\"2B\", as of PPP");
pub(super) const RTO_INITIAL: Rule = rule("transport.rto_initial", "\"3s\"");
pub(super) const RTO_MAX: Rule = rule("transport.rto_max", "\"60s\"");
pub(super) const RTO_FLOOR: Rule = rule("transport.rto_floor", "\"total\"");
pub(super) const RTO_ESTIMATOR: Rule = rule("transport.rto_estimator", "\"rfc\"");
pub(super) const SYN_RETRIES: Rule = rule("transport.syn_retries", "6");
pub(super) const QUICK_ACKS: Rule = rule("transport.quick_acks", "1; any number with ack_every = 1");
pub(super) const ACKS_PER_RTT: Rule = rule("transport.acks_per_rtt", "0");
pub(super) const CWND_COUNTS: Rule = rule("transport.cwnd_counts", "\"bytes\"");
pub(super) const ACK_PUSHED: Rule = rule("transport.ack_pushed", "\"never\"");
pub(super) const ECN: Rule = rule("transport.ecn", "false");
pub(super) const RECOVERY: Rule =
    rule("transport.recovery", "\"sack\" with sack and prr, or \"newreno\" without both");
pub(super) const UNDO_RULE: Rule = rule("transport.undo_rule", "\"never\"");
pub(super) const PRR_RULE: Rule = rule("transport.prr_rule", "\"rfc\"");
pub(super) const PACING: Rule = rule("transport.pacing", "false");
pub(super) const QUANTUM_RULE: Rule = rule("transport.quantum_rule", "\"none\"");
pub(super) const LOSS_MEANS: Rule = rule("transport.loss_means", "\"congestion\"");
pub(super) const MULTIPLE_FAST_RETRANSMITS: Rule = rule("transport.multiple_fast_retransmits", "false");
pub(super) const FLIGHT_AFTER_TIMEOUT: Rule = rule("transport.flight_after_timeout", "\"retransmitted\"");
pub(super) const NAGLE: Rule = rule("transport.nagle", "false");
pub(super) const IDLE_RESTART: Rule = rule("transport.idle_restart", "\"never\"");
pub(super) const FLIGHT_LIMIT: Rule = rule("transport.flight_limit", "\"unlimited\"");
pub(super) const SSTHRESH_FROM: Rule = rule("transport.ssthresh_from", "\"flight\"");
pub(super) const RECEIVE_BUFFER_MAX: Rule = rule("transport.receive_buffer_max", "that of receive_buffer");
pub(super) const RECEIVE_COUNTS: Rule = rule("transport.receive_counts", "\"payload\"");
pub(super) const SEND_BUFFER: Rule = rule("transport.send_buffer", "a size");
pub(super) const UNSENT_LIMIT: Rule = rule("transport.unsent_limit", "\"unlimited\"");
