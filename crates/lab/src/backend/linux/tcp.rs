//! Settings of TCP for the kernel: those of a namespace, and those of a socket.
//!
//! Each struct of the model is taken apart without `..`: code for a new key compiles only after the key is translated,
//! refused, or ignored because the kernel behaves so anyway.

use std::ops::RangeInclusive;

use congestion::{Congestion, Growth, SsthreshFrom};
use registry::{OptionValue, Options};
use scenario::Part;
use scenario::model::Choice;
use transport::config::{
    AckConfig, AckPushed, BufferConfig, ConnectionBuffer, CwndCounts, FlightAfterTimeout, IdleRestart,
    LossMeans, OptionConfig, PrrRule, QuantumRule, RecoveryConfig, RecoveryKind, Reliability, RtoConfig,
    RtoFloor, RtoRule, SegmentConfig, SendBuffer, SendingConfig, TcpConfig, TimerConfig, UdpConfig, UndoRule,
    WindowConfig,
};
use units::{Bytes, Nanos};

use super::control::CONTROLS;
use super::rules;
use crate::backend::refusals::Refusals;

/// IPv4 and TCP headers without options.
const HEADER: Bytes = Bytes(40);
/// The timestamps option with its padding, which the kernel takes off the MSS.
const TIMESTAMPS: u64 = 12;

/// The least send buffer of a socket (`SOCK_MIN_SNDBUF`).
const LEAST_SEND_BUFFER: Bytes = Bytes(4608);
/// Sizes of a segment that the kernel takes.
const MSS: RangeInclusive<u64> = 536..=8948;

/// Settings that all sockets of a namespace share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shared {
    /// Sysctls.
    pub(super) settings: Vec<(&'static str, String)>,
    /// Largest IP packet.
    pub(super) mtu: u32,
    /// Bytes that links add to each packet.
    pub(super) overhead: Bytes,
}

/// Settings of one socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) receive_buffer: Option<u32>,
    pub(super) send_buffer: Option<u32>,
    pub(super) no_delay: bool,
}

/// Headers of IPv4 and UDP.
pub(super) const UDP_HEADER: Bytes = Bytes(28);
/// The largest IP packet on an interface unless TCP says otherwise.
pub(super) const ORDINARY_MTU: Bytes = Bytes(1500);

/// UDP has no settings.
pub(super) fn of_datagrams(config: UdpConfig) -> Shared {
    Shared { settings: Vec::new(), mtu: ORDINARY_MTU.0 as u32, overhead: config.overhead }
}

/// `commands`: programs of the user have the sockets.
pub(super) fn settings(part: Part, tcp: &TcpConfig, commands: bool, refused: &mut Refusals) -> (Shared, Own) {
    let TcpConfig { segment, window, timers, ack, options, recovery, sending, buffers } = tcp;
    let SegmentConfig { mss, header, overhead } = *segment;
    refused.unless(header == HEADER, part, rules::HEADER);
    if !MSS.contains(&mss.0) {
        refused.add_with(part, rules::MSS, format!("{}B", mss.0.clamp(*MSS.start(), *MSS.end())));
    }
    let OptionConfig { sack, ecn, timestamps, window_scaling } = *options;
    refused.unless(!ecn, part, rules::ECN);
    let flag = |on: bool| u8::from(on).to_string();
    let mut settings = vec![
        ("net/ipv4/tcp_sack", flag(sack)),
        ("net/ipv4/tcp_timestamps", flag(timestamps)),
        ("net/ipv4/tcp_window_scaling", flag(window_scaling)),
        ("net/ipv4/tcp_ecn", flag(ecn)),
    ];
    settings.extend(in_flight(part, *window, refused));
    settings.extend(timer(part, *timers, refused));
    acknowledgements(part, *ack, refused);
    repair(part, *recovery, refused);
    let SendingConfig { nagle, minshall, pacing, pacing_rule: _, quantum_rule } = *sending;
    refused.unless(minshall || !nagle, part, rules::NAGLE);
    refused.unless(!pacing, part, rules::PACING);
    refused.unless(quantum_rule == QuantumRule::Linux, part, rules::QUANTUM_RULE);
    let (receive_buffer, send_buffer) = buffer_sizes((part, commands), *buffers, &mut settings, refused);
    let options = if timestamps { TIMESTAMPS } else { 0 };
    let mtu = u32::try_from(mss.0 + HEADER.0 + options).unwrap_or(u32::MAX);
    (Shared { settings, mtu, overhead }, Own { receive_buffer, send_buffer, no_delay: !nagle })
}

fn in_flight(part: Part, window: WindowConfig, refused: &mut Refusals) -> [(&'static str, String); 1] {
    let WindowConfig {
        initial_window,
        initial_ssthresh,
        growth,
        ssthresh_from,
        counts,
        idle_restart,
        flight_limit,
    } = window;
    refused.unless(initial_window == 10, part, rules::INITIAL_WINDOW);
    refused.unless(initial_ssthresh == Bytes::MAX, part, rules::INITIAL_SSTHRESH);
    let Growth { slow_start_limit, byte_counting } = growth;
    refused.unless(slow_start_limit == u32::MAX, part, rules::SLOW_START);
    refused.unless(byte_counting, part, rules::BYTE_COUNTING);
    refused.unless(ssthresh_from == SsthreshFrom::Cwnd, part, rules::SSTHRESH_FROM);
    refused.unless(counts == CwndCounts::Segments, part, rules::CWND_COUNTS);
    refused.unless(idle_restart != IdleRestart::Initial, part, rules::IDLE_RESTART);
    refused.unless(flight_limit == Bytes::MAX, part, rules::FLIGHT_LIMIT);
    let halves = u8::from(idle_restart == IdleRestart::Halving);
    [("net/ipv4/tcp_slow_start_after_idle", halves.to_string())]
}

fn timer(part: Part, timers: TimerConfig, refused: &mut Refusals) -> [(&'static str, String); 2] {
    let TimerConfig { rto, syn_retries, retries } = timers;
    let RtoConfig { initial, min, max, granularity, floor, estimator } = rto;
    refused.unless(initial == Nanos::from_secs(1), part, rules::RTO_INITIAL);
    refused.unless(min == Nanos::from_millis(200), part, rules::RTO_MIN);
    refused.unless(max == Nanos::from_secs(120), part, rules::RTO_MAX);
    refused.unless(granularity == Nanos::from_millis(1), part, rules::RTO_GRANULARITY);
    refused.unless(floor == RtoFloor::Variance, part, rules::RTO_FLOOR);
    refused.unless(estimator == RtoRule::Linux, part, rules::RTO_ESTIMATOR);
    [("net/ipv4/tcp_syn_retries", syn_retries.to_string()), ("net/ipv4/tcp_retries2", retries.to_string())]
}

fn acknowledgements(part: Part, ack: AckConfig, refused: &mut Refusals) {
    let AckConfig { every, delay, quick, per_round_trip, pushed } = ack;
    refused.unless(every == 2, part, rules::ACK_EVERY);
    refused.unless(delay == Nanos::from_millis(40), part, rules::ACK_DELAY);
    refused.unless(quick == 16, part, rules::QUICK_ACKS);
    refused.unless(per_round_trip == 0, part, rules::ACKS_PER_RTT);
    refused.unless(pushed == AckPushed::Any, part, rules::ACK_PUSHED);
}

fn repair(part: Part, recovery: RecoveryConfig, refused: &mut Refusals) {
    let RecoveryConfig {
        reliability,
        kind,
        prr,
        prr_rule,
        dupthresh,
        limited_transmit,
        multiple_fast_retransmits,
        flight_after_timeout,
        undo_rule,
        loss_means,
    } = recovery;
    let rack = reliability == Reliability::Acknowledged && kind == RecoveryKind::Rack;
    refused.unless(rack, part, rules::RECOVERY);
    refused.unless(prr, part, rules::PRR);
    refused.unless(prr_rule == PrrRule::Linux, part, rules::PRR_RULE);
    refused.unless(undo_rule == UndoRule::Linux, part, rules::UNDO_RULE);
    refused.unless(dupthresh == 3, part, rules::DUPTHRESH);
    refused.unless(limited_transmit, part, rules::LIMITED_TRANSMIT);
    refused.unless(!multiple_fast_retransmits, part, rules::MULTIPLE_FAST_RETRANSMITS);
    let after_timeout = flight_after_timeout == FlightAfterTimeout::Retransmitted;
    refused.unless(after_timeout, part, rules::FLIGHT_AFTER_TIMEOUT);
    refused.unless(loss_means == LossMeans::Congestion, part, rules::LOSS_MEANS);
}

/// `SO_RCVBUF` and `SO_SNDBUF` of buffers that are fixed, and the sizes between which the kernel chooses otherwise.
fn buffer_sizes(
    (part, commands): (Part, bool),
    buffers: BufferConfig,
    settings: &mut Vec<(&'static str, String)>,
    refused: &mut Refusals,
) -> (Option<u32>, Option<u32>) {
    // The running kernel decides how much memory a segment takes; the value of the scenario is for the simulator.
    let BufferConfig {
        receive_buffer,
        receive_buffer_max,
        receive_counts,
        send_buffer,
        header_room: _,
        unsent_limit,
    } = buffers;
    refused.unless(receive_counts.is_memory(), part, rules::RECEIVE_COUNTS);
    refused.unless(unsent_limit == Bytes::MAX, part, rules::UNSENT_LIMIT);
    let of_socket = |size: u64| u32::try_from(size).unwrap_or(i32::MAX as u32);
    settings.push(("net/ipv4/tcp_rmem", format!("4096 {} {}", receive_buffer.0, receive_buffer_max.0)));
    let send = match send_buffer {
        SendBuffer::Fixed(_) if commands => {
            refused.add(part, rules::SEND_BUFFER);
            None
        }
        // The kernel doubles the value, so that the buffer has the size of the scenario.
        SendBuffer::Fixed(size) if size >= LEAST_SEND_BUFFER => Some(of_socket(size.0 / 2)),
        SendBuffer::Fixed(_) => {
            refused.add_with(part, rules::SEND_BUFFER, LEAST_SEND_BUFFER.to_string());
            None
        }
        SendBuffer::Expand { max, connection: ConnectionBuffer::Sum } => {
            settings.push(("net/ipv4/tcp_wmem", format!("4096 16384 {}", max.0.max(16384))));
            None
        }
        SendBuffer::Auto { .. } | SendBuffer::Expand { .. } => {
            refused.add(part, rules::SEND_BUFFER);
            None
        }
    };
    let receive = (receive_buffer == receive_buffer_max).then(|| of_socket(receive_buffer.0));
    (receive, send)
}

/// The keys behind a setting of which a namespace has the value `known` and a flow wants another, each with the known value.
pub(super) fn keys(setting: &str, known: &str, wanted: &str) -> Vec<(&'static str, String)> {
    let flag = |key| vec![(key, (known == "1").to_string())];
    let sizes = |keys: &[(&'static str, usize)]| {
        let [known, wanted]: [Vec<&str>; 2] = [known, wanted].map(|text| text.split_whitespace().collect());
        let other = |&&(_, place): &&(&'static str, usize)| known.get(place) != wanted.get(place);
        let value = |place| known.get(place).map_or_else(String::new, |size| format!("{size}B"));
        keys.iter().filter(other).map(|&(key, place)| (key, value(place))).collect()
    };
    match setting {
        "net/ipv4/tcp_sack" => flag("transport.sack"),
        "net/ipv4/tcp_timestamps" => flag("transport.timestamps"),
        "net/ipv4/tcp_window_scaling" => flag("transport.window_scaling"),
        "net/mptcp/checksum_enabled" => flag("transport.checksum"),
        "net/ipv4/tcp_slow_start_after_idle" => {
            vec![("transport.idle_restart", if known == "1" { "halving" } else { "never" }.into())]
        }
        "net/ipv4/tcp_syn_retries" => vec![("transport.syn_retries", known.into())],
        "net/ipv4/tcp_retries2" => vec![("transport.retries", known.into())],
        "net/ipv4/tcp_rmem" => sizes(&[("transport.receive_buffer", 1), ("transport.receive_buffer_max", 2)]),
        "net/ipv4/tcp_wmem" => sizes(&[("transport.send_buffer_max", 2)]),
        // A setting that no key stands behind, or one that is refused by itself.
        _ => vec![("transport", String::new())],
    }
}

/// The segment size that gives packets of this size in a namespace with these settings.
pub(super) fn mss(mtu: u32, settings: &[(&'static str, String)]) -> String {
    let timestamps = settings.iter().any(|(name, value)| *name == "net/ipv4/tcp_timestamps" && value == "1");
    let options = if timestamps { TIMESTAMPS } else { 0 };
    format!("{}B", u64::from(mtu).saturating_sub(HEADER.0 + options))
}

/// The name of a congestion control of the kernel in scenarios.
pub(super) fn named(kernel: &str) -> &str {
    if kernel == "reno" { "newreno" } else { kernel }
}

/// Name of a congestion control in the kernel; `None` if the kernel does not have it with these options.
pub(super) fn congestion(choice: &Choice<Congestion>) -> Option<&'static str> {
    if CONTROLS.contains(&choice.name()) {
        // The programs of deploy/bpf have the defaults.
        return (choice.options == Options::defaults(choice.row.options)).then_some(choice.name());
    }
    let kernels = choice.options.iter().all(|(name, value)| match (choice.name(), name, value) {
        ("cubic", "c", OptionValue::Number(c)) => c.to_bits() == 0.4_f64.to_bits(),
        ("cubic", "beta", OptionValue::Number(beta)) => beta.to_bits() == 0.7_f64.to_bits(),
        ("cubic", "fast_convergence", OptionValue::Flag(fast)) => *fast,
        ("cubic", "hystart" | "growth", OptionValue::Choice(word)) => word == "linux",
        ("cubic", "ssthresh_from", OptionValue::Choice(word)) => word == "auto",
        _ => false,
    });
    let name = match choice.name() {
        "newreno" => "reno",
        "cubic" => "cubic",
        "bbr" => "bbr",
        _ => return None,
    };
    kernels.then_some(name)
}
