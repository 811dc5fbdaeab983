//! State of a subflow at an instant, and its counters.

use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::tcp::endpoint::Endpoint;
use crate::tcp::sender::SenderState;

/// Bytes that have arrived at one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intake {
    /// In-order bytes delivered so far.
    pub delivered: Bytes,
    /// Bytes that have arrived and cannot be delivered because of a gap; with MPTCP the queues of the connection and of its
    /// subflows together, so that the figure compares with that of TCP.
    pub out_of_order: Bytes,
    /// The part of `out_of_order` that is complete on its subflow and waits for other subflows; `None` without MPTCP.
    pub waiting_for_others: Option<Bytes>,
}

/// State of a subflow, which can be read at any time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowGauges {
    /// Congestion window, during fast recovery the window that recovery works with.
    pub cwnd: Bytes,
    /// Slow-start threshold; `Bytes::MAX` while it is unlimited.
    pub ssthresh: Bytes,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Nanos>,
    /// Mean deviation of the round-trip time.
    pub rttvar: Nanos,
    /// Retransmission timeout, backed off.
    pub rto: Nanos,
    /// Bytes in the network (pipe).
    pub inflight: Bytes,
    /// State.
    pub state: SenderState,
    /// The peer's receive window.
    pub send_window: Bytes,
    /// The rate of its pacer; `None` without one.
    pub pacing_rate: Option<BitsPerSecond>,
    /// Bytes held above a gap at this end.
    pub out_of_order: Bytes,
}

/// Counters of a subflow at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubflowStats {
    /// Segments with payload, retransmissions included.
    pub segments_sent: u64,
    /// Retransmissions among them.
    pub segments_retransmitted: u64,
    /// Payload bytes, retransmissions included.
    pub bytes_sent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Payload bytes received for the first time on this subflow.
    pub bytes_received: u64,
    /// Segments with payload received; with datagrams all of them.
    pub segments_received: u64,
    /// Received segments without new payload.
    pub duplicates_received: u64,
    /// Received segments that a later one had overtaken; none with datagrams, which have no order.
    pub late_received: u64,
    /// Payload bytes given to this subflow that another was given before: reinjections and redundant copies.
    pub reinjected_bytes: u64,
    /// Mean of the round-trip samples.
    pub rtt_mean: Option<Nanos>,
    /// When the handshake was complete.
    pub established_at: Option<SimTime>,
    /// Payload bytes accepted though the peer sent them beyond the advertised window; plain TCP only.
    pub beyond_window_received: u64,
    /// Payload bytes discarded because the receive buffer had no room for them; plain TCP only.
    pub overflow_received: u64,
}

impl SubflowStats {
    pub(crate) fn of(endpoint: &Endpoint, reinjected_bytes: u64) -> Self {
        let sent = endpoint.sender().stats();
        let receiver = endpoint.receiver();
        Self {
            segments_sent: sent.segments_sent,
            segments_retransmitted: sent.segments_retransmitted,
            bytes_sent: sent.bytes_sent,
            timeouts: sent.timeouts,
            fast_recoveries: sent.fast_recoveries,
            bytes_received: receiver.delivered().0 + receiver.out_of_order(),
            segments_received: receiver.seen().segments,
            duplicates_received: receiver.seen().repeated,
            late_received: receiver.seen().late,
            reinjected_bytes,
            rtt_mean: endpoint.sender().rtt().mean(),
            established_at: endpoint.established_at(),
            beyond_window_received: 0,
            overflow_received: 0,
        }
    }
}

impl SubflowGauges {
    pub(crate) fn of(endpoint: &Endpoint) -> Self {
        let sender = endpoint.sender();
        Self {
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh(),
            srtt: sender.rtt().srtt(),
            rttvar: sender.rtt().rttvar(),
            rto: sender.rtt().rto(sender.backoff()),
            inflight: Bytes(sender.pipe()),
            state: endpoint.state(),
            send_window: sender.send_window(),
            pacing_rate: sender.pacing_rate(),
            out_of_order: Bytes(endpoint.receiver().out_of_order()),
        }
    }
}
