//! Records of one run: plain numbers, one struct per row of a table. Every back end fills them in.
//!
//! They are flat, however many fields they have: a field is a column of a table, and is found there by its name.

use std::borrow::Cow;

use crate::{Histogram, Series};
use units::{Bytes, Nanos, SimTime};

/// The failure of a connection whose handshake did not succeed.
pub const NEVER_ESTABLISHED: &str = "the connection was never established";

/// Everything recorded in one replication.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Its seed.
    pub seed: u64,
    /// Events taken out of the queue.
    pub events: u64,
    /// Packets crossing a link, data or ACK, one count per link.
    pub packet_hops: u64,
    /// When the run ended.
    pub end: SimTime,
    /// By flow index of the scenario.
    pub flows: Vec<FlowRecord>,
    /// By duplex link and direction: `2 * duplex_link + direction`.
    pub links: Vec<LinkRecord>,
    /// Time series; empty unless asked for.
    pub series: Series,
    /// Readable event trace; empty unless asked for.
    pub trace: String,
}

/// One flow. It is flat: a result is written once, and each field is a column or a table.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// When it started.
    pub start: SimTime,
    /// When its last byte was delivered, its writing stopped for good, or the run ended.
    pub end: SimTime,
    /// True if the transfer has a size and all of it was delivered.
    pub completed: bool,
    /// Application bytes delivered in order.
    pub delivered: Bytes,
    /// When the last of them so far was; `None` if there are none.
    pub last_delivery: Option<SimTime>,
    /// Delay from application write to in-order delivery to the receiving side, one count per byte.
    pub delay: Histogram,
    /// Mean delay of each byte from application write to its first transmission, in seconds; `None` with datagrams, and
    /// if nothing was sent.
    pub send_delay_mean: Option<f64>,
    /// The delay that 95 % of the bytes do not exceed.
    pub send_delay_p95: Option<Nanos>,
    /// Bytes held at the receiver because of gaps, connection and subflows together.
    pub ofo: Held,
    /// The part of them that is complete on its subflow and waits for other subflows; `None` without MPTCP.
    pub waiting_for_others: Option<Held>,
    /// Why the connection failed, if it did.
    pub failure: Option<Cow<'static, str>>,
    /// True if MPTCP was wanted and the connection fell back to TCP.
    pub fell_back: bool,
    /// Why its data sender sent nothing (more), by connection in the order of opening.
    pub limited: Vec<Limited>,
    /// By connection and subflow index.
    pub subflows: Vec<SubflowRecord>,
    /// By connection, from the data sender on; empty where no proxy has a part in the connection.
    pub legs: Vec<LegRecord>,
    /// Joins that failed, by connection.
    pub failed_joins: Vec<JoinRecord>,
    /// Application messages (for a bulk transfer: the whole transfer, once complete).
    pub messages: Vec<MessageRecord>,
    /// Pages, for applications that have such.
    pub pages: Vec<PageRecord>,
    /// Messages with a longer delay are late.
    pub deadline: Option<Nanos>,
}

/// The limits of a sender, in the order of `Limited`: `transport::Limit` defines them.
pub const LIMITS: [&str; 9] = [
    "application",
    "congestion_window",
    "receive_window",
    "send_buffer",
    "pacing",
    "scheduler",
    "recovery",
    "handshake",
    "path_down",
];

/// How long each limit kept a sender from sending (more), from the start to the end of a flow. Exactly one holds at any
/// instant, so that they sum to the lifetime of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limited(pub [Nanos; LIMITS.len()]);

impl Limited {
    /// All of them together.
    pub fn total(&self) -> Nanos {
        self.0.iter().fold(Nanos::ZERO, |sum, time| sum + *time)
    }
}

/// Bytes held at a receiver, over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// How long there were any: the application waited for the gaps to be filled.
    pub time: Nanos,
    /// Average over time.
    pub mean: f64,
    /// Value that was not exceeded for 95 % of the time, within 1 %.
    pub p95: Bytes,
    /// Maximum.
    pub max: Bytes,
}

/// Figures of the end of a subflow that sends the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sending {
    /// Payload bytes sent, retransmissions included.
    pub bytes: Bytes,
    /// The same on the wire, with all packets of the end.
    pub wire: Bytes,
    /// Segments with payload sent, retransmissions included.
    pub segments: u64,
    /// Retransmissions among them.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Mean of the round-trip samples.
    pub srtt_mean: Option<Nanos>,
    /// Average over time of the congestion window in bytes, from establishment to the end of the flow.
    pub cwnd_mean: f64,
}

/// One subflow, as its data sender saw it unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowRecord {
    /// Connection of the flow, in the order of opening.
    pub connection: u32,
    /// Subflow of the connection.
    pub subflow: u32,
    /// Duplex link over which it leaves the data sender; `None` if routing decides packet by packet.
    pub duplex_link: Option<usize>,
    /// When its handshake was complete at the data sender.
    pub established: Option<SimTime>,
    /// Payload bytes that reached the receiver, first copies at subflow level.
    pub received: Bytes,
    /// Segments with payload that reached the receiver.
    pub segments_received: u64,
    /// Received segments all of whose payload had arrived before.
    pub segments_repeated: u64,
    /// Received segments with new payload that arrived after later payload.
    pub segments_late: u64,
    /// Why nothing (more) was sent on it; a handshake before it exists.
    pub limited: Limited,
    /// Bytes held at the receiver because of gaps on this subflow.
    pub ofo: Held,
    /// Figures of the data sender.
    pub sending: Sending,
    /// Payload bytes given to this subflow by reinjection.
    pub reinjected: Bytes,
    /// Payload bytes that the receiver took though they lay beyond the window it had advertised.
    pub beyond_window: Bytes,
    /// Payload bytes that the receiver threw away because its buffer had no room for them.
    pub overflow: Bytes,
}

/// One subflow of one of the connections that proxies make of one, as the end saw it that sends the data.
#[derive(Clone, Debug, PartialEq)]
pub struct LegRecord {
    /// Connection of the flow, in the order of opening.
    pub connection: u32,
    /// Number of the leg, from 0 at the data sender.
    pub leg: u32,
    /// Subflow of the connection on this leg.
    pub subflow: u32,
    /// Its packets carry MPTCP options.
    pub multipath: bool,
    /// Node where it begins, in the direction of the data.
    pub from: usize,
    /// Node where it ends.
    pub to: usize,
    /// Duplex link over which it leaves; `None` if routing decides packet by packet.
    pub duplex_link: Option<usize>,
    /// When its handshake was complete.
    pub established: Option<SimTime>,
    /// Payload bytes that reached its end, first copies at subflow level.
    pub received: Bytes,
    /// Figures of the end that sends the data.
    pub sending: Sending,
    /// Bytes that the proxy at its beginning had acknowledged and nothing behind it had, and those of them that were
    /// lost since a connection failed; `None` at the data sender.
    pub held: Option<(Held, Bytes)>,
    /// Most bytes that the proxy at its beginning had acknowledged without having them, and most by which its window had passed
    /// that of the receiver; `None` where it carries whole connections.
    pub overreach: Option<[Bytes; 2]>,
}

/// A subflow of MPTCP whose join failed, as the end saw it that opened it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRecord {
    /// Connection of the flow, in the order of opening.
    pub connection: u32,
    /// Its number among those that this end has opened.
    pub subflow: u32,
    /// Node that opened it.
    pub from: usize,
    /// Node that its packets go to: a proxy that intercepts them, or the far end.
    pub to: usize,
    /// Duplex link over which they leave; `None` if routing decides packet by packet.
    pub duplex_link: Option<usize>,
    /// Why it failed.
    pub failure: &'static str,
}

/// One link direction.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRecord {
    /// Packets that left the transmitter, lost in transit included.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Bits carried over bits that the rate allowed during the run.
    pub utilisation: f64,
    /// Packets refused by the full queue.
    pub drops_queue: u64,
    /// Packets lost by the loss model.
    pub drops_error: u64,
    /// Packets cut off when the link went down.
    pub drops_down: u64,
    /// Packets with bit errors that a checksum at the far end found.
    pub drops_corrupt: u64,
    /// Copies that the link made.
    pub duplicated: u64,
    /// Packets marked by the queue discipline.
    pub marked: u64,
    /// Mean waiting time in the queue of the packets transmitted.
    pub queue_delay_mean: Nanos,
    /// And its maximum.
    pub queue_delay_max: Nanos,
    /// Largest number of packets waiting.
    pub queue_max: u64,
}

/// One application message.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRecord {
    /// Kind of message.
    pub what: &'static str,
    /// Its bytes.
    pub size: Bytes,
    /// When it was asked for.
    pub start: SimTime,
    /// When its last byte was delivered; `None`: it never was.
    pub end: Option<SimTime>,
    /// The figure of interest: from start to end, or what the application says.
    pub delay: Option<Nanos>,
}

/// One page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRecord {
    /// Which.
    pub name: &'static str,
    /// Its objects, the main one included.
    pub objects: u64,
    /// Objects that arrived.
    pub arrived: u64,
    /// Their bytes.
    pub size: Bytes,
    /// Connections opened for it.
    pub connections: u64,
    /// When it was asked for.
    pub start: SimTime,
    /// When the last object had arrived; `None`: not all of them did.
    pub end: Option<SimTime>,
}
