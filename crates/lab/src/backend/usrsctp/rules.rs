//! Keys that libusrsctp supports: the texts of refusals, and the table of the reference page.

use crate::backend::Rule;

/// By what has the keys. Links can be anything.
pub(super) const RULES: &[(&str, &[Rule])] = &[("scenario", SCENARIO_RULES), ("flow", FLOW_RULES)];

const fn rule(key: &'static str, allowed: &'static str) -> Rule {
    Rule::new(key, allowed)
}

const SCENARIO_RULES: &[Rule] = &[PROXY, EVENT];
pub(super) const PROXY: Rule = rule("proxy", "none");
pub(super) const EVENT: Rule = rule("event", "changes of links");

const FLOW_RULES: &[Rule] = &[
    OPENED_BY,
    AFTER,
    SPREAD,
    STOP,
    VIA,
    COMPARE,
    APP,
    KIND,
    PROFILE,
    SCHEDULER,
    RETRANSMISSION,
    SPLIT_BY,
    WINDOW_UPDATE,
    REDUCTIONS,
    RESCHEDULING,
    FAST_RETRANSMIT,
    COOKIE,
    EAGER,
    TIMER_DEFECTS,
    CONGESTION,
    MSS,
    HEADER,
    MESSAGE,
    STREAMS,
    GRANULARITY,
    INITIAL_CWND,
    SSTHRESH,
    DUPTHRESH,
    IDLE,
    HEARTBEAT,
    CONFIRM,
    BURST,
    MAX_BURST,
    ACK_DELAY,
];
pub(super) const OPENED_BY: Rule = rule("opened_by", "\"sender\"");
pub(super) const AFTER: Rule = rule("after", "none");
pub(super) const SPREAD: Rule = rule("spread", "none: every run starts at the same instant");
pub(super) const STOP: Rule = rule("stop", "the end of the run");
pub(super) const VIA: Rule = rule("via", "none, or the first link of the sender");
pub(super) const COMPARE: Rule = rule("compare_paths", "false");
pub(super) const APP: Rule =
    rule("app", "bulk, without a `size` or with a multiple of `message`, and no other option");
pub(super) const KIND: Rule = rule("transport.kind", "\"sctp\" or \"cmt-sctp\"");
pub(super) const PROFILE: Rule = rule(
    "transport.profile",
    "\"freebsd\" with timer_defects = \"both\", or each key of it as the library has it",
);
pub(super) const SCHEDULER: Rule = rule("transport.scheduler", "\"roundrobin_pass\"");
pub(super) const SPLIT_BY: Rule = rule("transport.buffer_split_by", "\"flight\"");
pub(super) const WINDOW_UPDATE: Rule = rule("transport.window_update", "\"v2\"");
pub(super) const RESCHEDULING: Rule = rule("transport.rescheduling", "\"off\"");
pub(super) const INITIAL_CWND: Rule = rule("transport.initial_cwnd", "\"4464B\", as the library has it");
pub(super) const RETRANSMISSION: Rule = rule("transport.retransmission", "\"largest-window\"");
pub(super) const CONGESTION: Rule = rule(
    "transport.congestion",
    "\"sctp\" with rules = \"freebsd\"; with \"cmt-sctp\" also rpv1 and rpv2 with these rules, and mptcp_like",
);
pub(super) const REDUCTIONS: Rule = rule("transport.reductions", "\"each\"");
pub(super) const FAST_RETRANSMIT: Rule = rule("transport.fast_retransmit", "\"all\"");
pub(super) const COOKIE: Rule = rule("transport.data_is_cookie_ack", "true");
pub(super) const EAGER: Rule = rule("transport.eager_sack", "\"with-departures\"");
pub(super) const TIMER_DEFECTS: Rule = rule("transport.timer_defects", "\"both\": the library has them");
pub(super) const MSS: Rule = rule("transport.mss", "\"1452B\": the library has an MTU of 1500 bytes");
pub(super) const HEADER: Rule = rule("transport.header", "\"32B\"");
pub(super) const MESSAGE: Rule = rule("transport.message", "from 8 bytes to 1 MiB");
pub(super) const STREAMS: Rule = rule("transport.streams", "1");
pub(super) const GRANULARITY: Rule = rule("transport.rto_granularity", "\"1ms\"");
pub(super) const SSTHRESH: Rule = rule("transport.initial_ssthresh", "\"unlimited\"");
pub(super) const DUPTHRESH: Rule = rule("transport.dupthresh", "3");
pub(super) const IDLE: Rule = rule("transport.idle_decay", "false");
pub(super) const HEARTBEAT: Rule = rule("transport.heartbeat_interval", "\"30s\"");
pub(super) const CONFIRM: Rule = rule("transport.confirm_paths", "true");
pub(super) const BURST: Rule = rule("transport.burst", "\"window-limiting\"");
pub(super) const MAX_BURST: Rule = rule("transport.max_burst", "4");
pub(super) const ACK_DELAY: Rule = rule("transport.ack_delay", "whole milliseconds, as times of `rto_*`");
