//! TCP of a scenario as attributes of ns-3.

use congestion::{Congestion, Growth, SsthreshFrom};
use registry::OptionValue;
use scenario::Part;
use scenario::model::{Choice, Transport};
use transport::config::{
    AckConfig, AckPushed, BufferConfig, CwndCounts, FlightAfterTimeout, IdleRestart, LossMeans, OptionConfig,
    PrrRule, QuantumRule, ReceiveCounts, RecoveryConfig, RecoveryKind, Reliability, RtoConfig, RtoFloor,
    RtoRule, SegmentConfig, SendBuffer, SendingConfig, TcpConfig, TimerConfig, UndoRule, WindowConfig,
};
use units::{Bytes, Nanos};

use super::rules;
use crate::backend::refusals::Refusals;

/// IPv4 and TCP with all options: what a device must let pass beside the MSS.
const HEADERS: u64 = 100;
/// The value that means no limit to ns-3.
const UNLIMITED: u64 = u32::MAX as u64;

/// An attribute of ns-3 and its value.
type Pair = (&'static str, String);

/// Attributes of ns-3, and what else depends on TCP.
pub(super) struct Tcp {
    pub(super) attributes: Vec<Pair>,
    pub(super) mss: Bytes,
    pub(super) send_buffer: Bytes,
}

/// `None` where it is another transport, which is refused as a whole.
pub(super) fn attributes(part: Part, transport: &Transport, refused: &mut Refusals) -> Option<Tcp> {
    let Transport { profile: _, tcp, congestion, mptcp, sctp, udp } = transport;
    let (Some(congestion), None, None, None) = (congestion, mptcp, sctp, udp) else {
        refused.add(part, rules::KIND);
        return None;
    };
    let TcpConfig { segment, window, timers, ack, options, recovery, sending, buffers } = &**tcp;
    let SegmentConfig { mss, header, overhead } = *segment;
    refused.unless(header == Bytes(40), part, rules::HEADER);
    refused.unless(overhead == Bytes(2), part, rules::OVERHEAD);
    // Without Nagle's algorithm Minshall's variant has no effect.
    let SendingConfig { nagle, minshall: _, pacing, pacing_rule: _, quantum_rule } = *sending;
    refused.unless(!nagle, part, rules::NAGLE);
    refused.unless(!pacing, part, rules::PACING);
    refused.unless(quantum_rule == QuantumRule::None, part, rules::QUANTUM_RULE);
    let mut attributes = vec![
        ("PointToPointNetDevice::Mtu", (mss.0 + HEADERS).to_string()),
        ("TcpSocket::SegmentSize", mss.0.to_string()),
        ("TcpWestwood::ProtocolType", "WestwoodPlus".into()),
        ("TcpCubic::HyStart", "false".into()),
    ];
    attributes.extend(in_flight(part, *window, refused));
    attributes.extend(timer(part, *timers, refused));
    attributes.extend(acknowledgements(part, *ack, refused));
    attributes.extend(negotiated(part, *options, refused));
    attributes.extend(repair(part, *recovery, options.sack, refused));
    let (send_buffer, sizes) = buffer_sizes(part, *buffers, refused);
    attributes.extend(sizes);
    attributes.extend(controller(part, congestion, window.growth, refused));
    Some(Tcp { attributes, mss, send_buffer })
}

/// All but the growth, which belongs to the congestion control.
fn in_flight(part: Part, window: WindowConfig, refused: &mut Refusals) -> [Pair; 2] {
    let WindowConfig {
        initial_window,
        initial_ssthresh,
        growth: _,
        ssthresh_from,
        counts,
        idle_restart,
        flight_limit,
    } = window;
    refused.unless(ssthresh_from == SsthreshFrom::Flight, part, rules::SSTHRESH_FROM);
    refused.unless(counts == CwndCounts::Bytes, part, rules::CWND_COUNTS);
    refused.unless(idle_restart == IdleRestart::Never, part, rules::IDLE_RESTART);
    refused.unless(flight_limit == Bytes::MAX, part, rules::FLIGHT_LIMIT);
    [
        ("TcpSocket::InitialCwnd", initial_window.to_string()),
        ("TcpSocket::InitialSlowStartThreshold", bytes(initial_ssthresh)),
    ]
}

fn negotiated(part: Part, options: OptionConfig, refused: &mut Refusals) -> [Pair; 3] {
    let OptionConfig { sack, ecn, timestamps, window_scaling } = options;
    refused.unless(!ecn, part, rules::ECN);
    [
        ("TcpSocketBase::Sack", sack.to_string()),
        ("TcpSocketBase::Timestamp", timestamps.to_string()),
        ("TcpSocketBase::WindowScaling", window_scaling.to_string()),
    ]
}

fn repair(part: Part, recovery: RecoveryConfig, sack: bool, refused: &mut Refusals) -> [Pair; 3] {
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
    refused.unless(loss_means == LossMeans::Congestion, part, rules::LOSS_MEANS);
    refused.unless(!prr || prr_rule == PrrRule::Rfc, part, rules::PRR_RULE);
    refused.unless(undo_rule == UndoRule::Never, part, rules::UNDO_RULE);
    refused.unless(!multiple_fast_retransmits, part, rules::MULTIPLE_FAST_RETRANSMITS);
    let retransmitted = flight_after_timeout == FlightAfterTimeout::Retransmitted;
    refused.unless(retransmitted, part, rules::FLIGHT_AFTER_TIMEOUT);
    let class = match (reliability, kind, sack, prr) {
        // Proportional rate reduction is for SACK.
        (Reliability::Acknowledged, RecoveryKind::Sack, true, true) => Some("ns3::TcpPrrRecovery"),
        (Reliability::Acknowledged, RecoveryKind::NewReno, false, false) => Some("ns3::TcpClassicRecovery"),
        _ => None,
    };
    refused.unless(class.is_some(), part, rules::RECOVERY);
    [
        ("TcpL4Protocol::RecoveryType", class.unwrap_or_default().into()),
        ("TcpSocketBase::ReTxThreshold", dupthresh.to_string()),
        ("TcpSocketBase::LimitedTransmit", limited_transmit.to_string()),
    ]
}

/// The send buffer, and both as attributes.
fn buffer_sizes(part: Part, buffers: BufferConfig, refused: &mut Refusals) -> (Bytes, [Pair; 2]) {
    // Without `expand`, which is refused, no memory is counted.
    let BufferConfig {
        receive_buffer,
        receive_buffer_max,
        receive_counts,
        send_buffer,
        header_room: _,
        unsent_limit,
    } = buffers;
    refused.unless(receive_counts == ReceiveCounts::Payload, part, rules::RECEIVE_COUNTS);
    refused.unless(receive_buffer_max == receive_buffer, part, rules::RECEIVE_BUFFER_MAX);
    refused.unless(unsent_limit == Bytes::MAX, part, rules::UNSENT_LIMIT);
    let send_buffer = match send_buffer {
        // A sender of ns-3 that fills the window to the last byte and then loses a segment ends the process.
        SendBuffer::Fixed(size) => size.min(receive_buffer),
        SendBuffer::Auto { .. } | SendBuffer::Expand { .. } => {
            refused.add(part, rules::SEND_BUFFER);
            Bytes::ZERO
        }
    };
    let sizes = [
        ("TcpSocket::SndBufSize", send_buffer.0.to_string()),
        ("TcpSocket::RcvBufSize", receive_buffer.0.to_string()),
    ];
    (send_buffer, sizes)
}

fn bytes(size: Bytes) -> String {
    if size == Bytes::MAX { UNLIMITED } else { size.0 }.to_string()
}

fn timer(part: Part, timers: TimerConfig, refused: &mut Refusals) -> [Pair; 3] {
    let TimerConfig { rto, syn_retries, retries } = timers;
    refused.unless(syn_retries == 6, part, rules::SYN_RETRIES);
    let RtoConfig { initial, min, max, granularity, floor, estimator } = rto;
    refused.unless(initial == Nanos::from_secs(3), part, rules::RTO_INITIAL);
    refused.unless(max == Nanos::from_secs(60), part, rules::RTO_MAX);
    refused.unless(floor == RtoFloor::Total, part, rules::RTO_FLOOR);
    refused.unless(estimator == RtoRule::Rfc, part, rules::RTO_ESTIMATOR);
    [
        ("TcpSocketBase::MinRto", min.to_string()),
        ("TcpSocketBase::ClockGranularity", granularity.to_string()),
        ("TcpSocket::DataRetries", retries.to_string()),
    ]
}

fn acknowledgements(part: Part, ack: AckConfig, refused: &mut Refusals) -> [Pair; 2] {
    let AckConfig { every, delay, quick, per_round_trip, pushed } = ack;
    refused.unless(per_round_trip == 0, part, rules::ACKS_PER_RTT);
    refused.unless(pushed == AckPushed::Never, part, rules::ACK_PUSHED);
    // tcp-socket-base.cc:2406 has the first segment acknowledged at once; with ack_every = 1 all are.
    refused.unless(quick == 1 || every <= 1, part, rules::QUICK_ACKS);
    [("TcpSocket::DelAckCount", every.to_string()), ("TcpSocket::DelAckTimeout", delay.to_string())]
}

/// The congestion control with its options, which ns-3 must have as they are.
fn controller(
    part: Part,
    congestion: &Choice<Congestion>,
    growth: Growth,
    refused: &mut Refusals,
) -> Vec<Pair> {
    let Growth { slow_start_limit, byte_counting } = growth;
    let unlimited = slow_start_limit == u32::MAX;
    let (class, limit_fits, counting_fits) = match (congestion.name(), byte_counting) {
        ("newreno", true) => ("ns3::TcpLinuxReno", unlimited, true),
        ("newreno", false) => ("ns3::TcpNewReno", slow_start_limit == 1, true),
        ("cubic", counting) => ("ns3::TcpCubic", unlimited, !counting),
        ("vegas", counting) => ("ns3::TcpVegas", slow_start_limit == 1, !counting),
        ("westwood", counting) => ("ns3::TcpWestwood", slow_start_limit == 1, !counting),
        ("hybla", counting) => ("ns3::TcpHybla", slow_start_limit == 1, !counting),
        _ => {
            refused.add(part, rules::CONGESTION);
            return Vec::new();
        }
    };
    refused.unless(limit_fits, part, rules::GROWTH);
    refused.unless(counting_fits, part, rules::BYTE_COUNTING);
    let mut attributes = vec![("TcpL4Protocol::SocketType", class.into())];
    let known = congestion.options.iter().all(|(name, value)| match (congestion.name(), name, value) {
        ("hybla", "rtt0", OptionValue::Duration(rtt)) => {
            attributes.push(("TcpHybla::RRTT", rtt.to_string()));
            true
        }
        ("hybla", "initial_window", OptionValue::Choice(word)) => word == "setup",
        ("hybla", "scale_ssthresh", OptionValue::Flag(scaled)) => !scaled,
        ("cubic", "c", OptionValue::Number(c)) => c.to_bits() == 0.4_f64.to_bits(),
        ("cubic", "beta", OptionValue::Number(beta)) => beta.to_bits() == 0.7_f64.to_bits(),
        ("cubic", "fast_convergence", OptionValue::Flag(fast)) => *fast,
        ("cubic", "hystart", OptionValue::Choice(word)) => word == "false",
        ("cubic", "growth", OptionValue::Choice(word)) => word == "rfc9438",
        ("cubic", "ssthresh_from", OptionValue::Choice(word)) => word == "auto",
        ("vegas", "alpha", OptionValue::Number(alpha)) => alpha.to_bits() == 2.0_f64.to_bits(),
        ("vegas", "beta", OptionValue::Number(beta)) => beta.to_bits() == 4.0_f64.to_bits(),
        ("vegas", "gamma", OptionValue::Number(gamma)) => gamma.to_bits() == 1.0_f64.to_bits(),
        ("vegas", "min_samples", OptionValue::Integer(samples)) => *samples == 3,
        ("westwood", "reset_rtt_min", OptionValue::Flag(reset)) => *reset,
        _ => false,
    });
    refused.unless(known, part, rules::CONGESTION);
    attributes
}
