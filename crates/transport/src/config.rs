//! Everything that can be set about a transport: plain data, filled in from a profile and a scenario.

mod defaults;

use congestion::{Growth, SsthreshFrom};
use units::{Bytes, Nanos};

/// One end of a TCP connection, or of each subflow of an MPTCP connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpConfig {
    /// Sizes of segments and packets.
    pub segment: SegmentConfig,
    /// Congestion window and what else bounds the bytes in flight.
    pub window: WindowConfig,
    /// Retransmission timer, and after how many timeouts an end gives up.
    pub timers: TimerConfig,
    /// Acknowledgement policy of the receiver.
    pub ack: AckConfig,
    /// Options that both ends must offer.
    pub options: OptionConfig,
    /// How losses are detected and repaired.
    pub recovery: RecoveryConfig,
    /// When a segment leaves that the windows permit.
    pub sending: SendingConfig,
    /// Send and receive buffers.
    pub buffers: BufferConfig,
}

/// Sizes of segments and packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentConfig {
    /// Payload bytes of a full segment, options not included.
    pub mss: Bytes,
    /// IP and TCP header bytes without options, counted in the packet size.
    pub header: Bytes,
    /// Further bytes per packet on the wire (tunnel, link framing).
    pub overhead: Bytes,
}

/// The congestion window after an idle time of at least one RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// As before it.
    Never,
    /// At most the initial window (RFC 5681 section 4.1).
    Initial,
    /// Halved for each RTO, not below the initial window; ssthresh keeps three quarters of it (RFC 2861, Linux
    /// `tcp_cwnd_restart`).
    Halving,
}

/// Congestion window and what else bounds the bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// Initial window, in MSS.
    pub initial_window: u32,
    /// Initial slow-start threshold; `Bytes::MAX`: unlimited.
    pub initial_ssthresh: Bytes,
    /// How the Reno rules count acknowledgements.
    pub growth: Growth,
    /// The quantity that a reduction takes a part of.
    pub ssthresh_from: SsthreshFrom,
    /// How the congestion window counts segments.
    pub counts: CwndCounts,
    /// The window after an idle time of one RTO.
    pub idle_restart: IdleRestart,
    /// Sequence space that may be outstanding whatever the windows are, on each subflow; `Bytes::MAX`: no limit.
    pub flight_limit: Bytes,
}

/// How the congestion window counts a segment that it holds, and one that is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CwndCounts {
    /// Its bytes.
    #[default]
    Bytes,
    /// A whole MSS, however short it is: Linux counts packets (`tcp_packets_in_flight`, `tcp_newly_delivered`).
    Segments,
}

/// Retransmission timer, and after how many timeouts an end gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerConfig {
    /// Retransmission timer.
    pub rto: RtoConfig,
    /// SYN retransmissions before the connection attempt is given up.
    pub syn_retries: u32,
    /// Consecutive timeouts of one segment before the connection or subflow is given up.
    pub retries: u32,
}

/// Options that both ends must offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionConfig {
    /// Selective acknowledgements.
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168), if the other end agrees.
    pub ecn: bool,
    /// Timestamps option: 12 bytes in every segment, a round-trip sample from every ACK.
    pub timestamps: bool,
    /// Window scale option; without it no more than 65,535 bytes are advertised.
    pub window_scaling: bool,
}

/// How losses are detected and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryConfig {
    /// How the sender learns what has arrived.
    pub reliability: Reliability,
    /// How losses are detected and repaired where the peer acknowledges as TCP does; not used otherwise, but an SCPS-TP
    /// end falls back to it.
    pub kind: RecoveryKind,
    /// Proportional Rate Reduction (RFC 6937) instead of an immediate cut; needs SACK.
    pub prr: bool,
    /// Which window it reduces in proportion to, and what it sends with little in flight.
    pub prr_rule: PrrRule,
    /// Duplicate ACKs that mean a loss.
    pub dupthresh: u32,
    /// Limited Transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Three duplicate ACKs start a fast recovery even if they may belong to an earlier episode, as the go-back-N after a
    /// timeout causes them: no guard of RFC 6582 section 3.2 (`recover`). For recovery by duplicate ACKs.
    pub multiple_fast_retransmits: bool,
    /// FlightSize while what a timeout has given up is sent again.
    pub flight_after_timeout: FlightAfterTimeout,
    /// Whether a reduction that proves needless is taken back.
    pub undo_rule: UndoRule,
    /// How the sender takes a loss.
    pub loss_means: LossMeans,
}

/// When a segment leaves that the windows permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendingConfig {
    /// Nagle's algorithm; with MPTCP for the stream of the connection, a subflow sends each mapping at once.
    pub nagle: bool,
    /// It holds a small segment back only while a small one is outstanding (Minshall).
    pub minshall: bool,
    /// Segments are spaced as Linux would space them, if the congestion control has no rate of its own.
    pub pacing: bool,
    /// Which bytes its rates count.
    pub pacing_rule: PacingRule,
    /// Whether segments wait for others of their send quantum.
    pub quantum_rule: QuantumRule,
}

/// When a segment leaves that the windows have room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuantumRule {
    /// At once.
    #[default]
    None,
    /// Linux: with less room than a send quantum it waits for the next ACK, if that is about to come (`tcp_tso_should_defer`).
    Linux,
}

/// Which bytes the rates of a sender count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacingRule {
    /// Payload leaves at the rate, segment by segment.
    #[default]
    Ideal,
    /// Linux: rates are reckoned with the MSS without the options of MPTCP (`mss_cache`), while payload is spaced, so that a subflow paces
    /// faster than its rate by the part of a segment that these options take; and BBR has room for the send quantum of
    /// segmentation offload.
    Linux,
}

/// Send and receive buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferConfig {
    /// Receive buffer at the start.
    pub receive_buffer: Bytes,
    /// Autotuning may grow the receive buffer to this; equal to `receive_buffer`: fixed.
    pub receive_buffer_max: Bytes,
    /// Unit of the sizes of the receive buffer.
    pub receive_counts: ReceiveCounts,
    /// Send buffer.
    pub send_buffer: SendBuffer,
    /// Bytes for headers in the memory of a segment, where the send buffer counts memory (MAX_TCP_HEADER of Linux).
    pub header_room: Bytes,
    /// The application may write only while less than this waits to be sent for the first time; `Bytes::MAX`: no limit.
    pub unsent_limit: Bytes,
}

impl TcpConfig {
    /// The same with some settings changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Shift of the window scale option: the smallest with which its field can say the largest window (RFC 7323); `None` without it.
    pub fn window_scale(&self) -> Option<u8> {
        const LARGEST: u8 = 14;
        let largest = self.buffers.receive_buffer_max.0;
        let fits = |shift: &u8| largest >> shift <= u64::from(u16::MAX);
        self.options.window_scaling.then(|| (0..LARGEST).find(fits).unwrap_or(LARGEST))
    }

    /// An end that is asked for SCPS-TP has it.
    pub(crate) fn speaks_scps(&self) -> bool {
        self.recovery.reliability == Reliability::Snack { peer_capable: true }
    }
}

/// UDP (RFC 768).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpConfig {
    /// Largest payload of one datagram; a larger message takes several.
    pub payload: Bytes,
    /// IP and UDP header bytes.
    pub header: Bytes,
    /// Further bytes per packet on the wire (tunnel, link framing).
    pub overhead: Bytes,
}

/// RFC 6298 timer parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Before the first sample.
    pub initial: Nanos,
    /// Lower bound; what it bounds is said by `floor`.
    pub min: Nanos,
    /// Upper bound, also of the backed-off timer.
    pub max: Nanos,
    /// Clock granularity G.
    pub granularity: Nanos,
    /// Which part `min` bounds.
    pub floor: RtoFloor,
    /// Where the timeout comes from.
    pub estimator: RtoRule,
}

/// Estimator and timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRule {
    /// RFC 6298, and RFC 6582: of the partial ACKs of a recovery only the first restarts the timer.
    Rfc,
    /// ns-3.19: gains of a tenth, the first deviation is the first sample, both terms in whole milliseconds rounded
    /// down, no granularity; every partial ACK restarts the timer.
    Ns3,
    /// Linux: the largest mean deviation of each round trip counts, and fades by a quarter per round trip (`tcp_rtt_estimator`).
    Linux,
}

/// Forms of Proportional Rate Reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrrRule {
    /// RFC 6937 with the slow-start reduction bound.
    #[default]
    Rfc,
    /// Linux: in proportion to the window before, and no faster than data is delivered but with an ACK that advances and shows no
    /// further loss.
    Linux,
}

/// FlightSize (RFC 5681 equation 4) between a timeout and the ACK of all that was outstanding at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlightAfterTimeout {
    /// The data retransmitted since, and data sent for the first time.
    Retransmitted,
    /// Everything between snd_una and the highest sequence number ever sent, what the timeout has given up included, as in
    /// ns-3.19.
    Outstanding,
}

/// Which part of the timer the minimum RTO bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The whole timer (RFC 6298).
    Total,
    /// The variance term: RTO = SRTT + max(min, 4 RTTVAR) (Linux).
    Variance,
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckConfig {
    /// Acknowledge every n-th full segment at once.
    pub every: u32,
    /// Otherwise after this long.
    pub delay: Nanos,
    /// Acknowledge each of the first n segments at once (Linux quick ACKs).
    pub quick: u32,
    /// Acknowledge data this often per round-trip time instead of by `every` and `delay`; 0: not so.
    pub per_round_trip: u32,
    /// Which segments are acknowledged as soon as everything is read.
    pub pushed: AckPushed,
}

/// Which segments a receiver acknowledges as soon as everything is read, without `AckConfig::every` and `AckConfig::delay`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckPushed {
    /// None.
    #[default]
    Never,
    /// Segments that are not full: Linux before 6.7.
    Short,
    /// Segments that are not full, and full ones with PSH: Linux since 6.7.
    Any,
}

/// How a sender learns what has arrived and what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// TCP: acknowledgements, selective ones too, from which the sender infers losses (`RecoveryKind`).
    Acknowledged,
    /// SCPS-TP (CCSDS 714.0-B): acknowledgements, and the receiver names the holes.
    Snack {
        /// False: the peer answers without the capabilities and the connection falls back to `Acknowledged`.
        peer_capable: bool,
    },
    /// STP: the sender polls, the receiver reports what is missing; no acknowledgements, no retransmission timer.
    Poll,
}

/// How losses are detected and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// RFC 6582: duplicate ACKs and partial ACKs; the only one that works without SACK.
    NewReno,
    /// RFC 6675: SACK scoreboard.
    Sack,
    /// RFC 8985: RACK-TLP, by time.
    Rack,
}

/// Whether a reduction of the window that proves needless is taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndoRule {
    /// No, but for a controller that takes back timeouts itself.
    #[default]
    Never,
    /// As Linux does: by echoed timestamps, and by duplicates that are reported.
    Linux,
}

/// How the sender takes a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossMeans {
    /// The network is congested: the congestion control is told.
    Congestion,
    /// A link has spoilt a packet or is down: it is sent again, the window stays. Only an explicit mark reduces it.
    Corruption,
}

/// Size of the send buffer: written by the application and not yet acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendBuffer {
    /// This much; where data is placed as in Linux 6 (`minratio`), on each subflow as well.
    Fixed(Bytes),
    /// Twice the (sum of the) congestion window(s), at least 87,040 and at most this many bytes.
    Auto {
        /// Upper limit.
        max: Bytes,
    },
    /// As Linux enlarges it: never smaller again, see [`crate::tcp::send_buffer::ExpandedBuffer`].
    Expand {
        /// Upper limit, of each subflow where there are several.
        max: Bytes,
        /// Size for an MPTCP connection.
        connection: ConnectionBuffer,
    },
}

/// Unit of the size of a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveCounts {
    /// Payload: the size is the largest window.
    Payload,
    /// Memory as Linux reckons it, see [`crate::tcp::buffers::ReceiveBuffer`].
    Memory,
    /// The same, of which each subflow of an MPTCP connection has its own, as in Linux 6.18 (`mptcp_space`): the window of the connection
    /// pays for nothing that a subflow holds, follows the least ratio of window to memory of all subflows, and is told again
    /// by a subflow that told a small one itself. Without MPTCP it is `Memory`.
    SubflowMemory,
}

impl ReceiveCounts {
    /// Sizes are memory.
    pub fn is_memory(self) -> bool {
        self != Self::Payload
    }
}

/// How the expanding send buffer of an MPTCP connection follows those of its subflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionBuffer {
    /// The sum over the subflows and 4096 bytes: Linux since 6.7 (`__mptcp_sync_sndbuf` in net/mptcp/protocol.h).
    Sum,
    /// The largest that a subflow has had: Linux 5.12 to 6.6 (`mptcp_propagate_sndbuf`).
    Largest,
}

/// Settings of MPTCP.
#[derive(Clone, Debug, PartialEq)]
pub struct MptcpConfig {
    /// Which subflows are opened.
    pub path_manager: PathManager,
    /// When data is sent again on another subflow.
    pub reinjection: Reinjection,
    /// Where it goes then.
    pub reinject_on: ReinjectOn,
    /// When a subflow acknowledges what it holds behind a gap.
    pub reassembly: Reassembly,
    /// A subflow is given no more while this much waits on it to be sent for the first time (`TCP_NOTSENT_LOWAT` of the
    /// subflow); for schedulers that queue as much as a send buffer takes.
    pub subflow_unsent_limit: Bytes,
    /// DSS checksum: 2 more bytes per mapping, which the padding of the option absorbs.
    pub checksum: bool,
    /// 64-bit data sequence numbers and Data ACKs on the wire (otherwise 32-bit): bytes of option space, and so
    /// how many SACK blocks fit.
    pub wide_sequence: bool,
    /// Data ACKs have 32 bits until the peer has sent data with 64-bit numbers, as in Linux; needs `wide_sequence`.
    pub short_data_ack: bool,
    /// False: the peer answers without MP_CAPABLE and the connection falls back to TCP.
    pub peer_capable: bool,
}

/// Which subflows the client opens after the first one, and which addresses either end announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathManager {
    /// Opens nothing and announces nothing; joins of the peer are accepted.
    Passive,
    /// Each local address to one remote address that it can reach, known beforehand.
    PerPath {
        /// Subflows on each path.
        subflows: u32,
    },
    /// Every local address to every remote address that it can reach and that the peer has announced by ADD_ADDR.
    FullMesh {
        /// Subflows on each pair.
        subflows: u32,
    },
    /// Several subflows with different ports on the first address pair; routing may spread them.
    NdiffPorts {
        /// Subflows in all.
        subflows: u32,
    },
    /// The i-th local address to the remote ones from the i-th on, without both addresses of the first subflow.
    Triangle {
        /// Subflows in all, at most.
        subflows: u32,
    },
    /// Endpoints with flags and limits, as in Linux since 5.7.
    InKernel(InKernel),
}

/// The path manager of the Linux kernel at one end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InKernel {
    /// Further subflows beside the first one, at most.
    pub subflows: u32,
    /// Announced addresses of the peer that are used, at most.
    pub add_addr_accepted: u32,
    /// This end's addresses that have a part to play.
    pub endpoints: Vec<AddressEndpoint>,
}

/// One address of the in-kernel path manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressEndpoint {
    /// Interface of this end.
    pub address: u8,
    /// Its uses.
    pub flags: EndpointFlags,
}

/// Uses of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointFlags {
    /// Client: a subflow from it to the peer's initial address.
    pub subflow: bool,
    /// It is announced to the peer.
    pub signal: bool,
    /// Its subflows are backups.
    pub backup: bool,
    /// With `subflow`: to every address of the peer that is known.
    pub fullmesh: bool,
    /// Subflows to announced addresses start here.
    pub laminar: bool,
}

/// When data outstanding on one subflow is sent again on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reinjection {
    /// At the first timeout of a subflow, and when it dies.
    Timeout,
    /// Only when it dies.
    Death,
    /// When it dies, and, as in Linux since 5.15, by a timer of the connection and from subflows that are stale.
    Upstream,
}

impl MptcpConfig {
    /// Data that is sent again is placed as new data is, behind what subflows have, and a living subflow keeps what it was given.
    pub fn reinjects_as_new(&self) -> bool {
        self.reinjection == Reinjection::Upstream
            && matches!(self.reinject_on, ReinjectOn::Scheduler | ReinjectOn::SamePath)
    }
}

/// Which subflows carry data that is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReinjectOn {
    /// The scheduler chooses, among those that have not carried it.
    Scheduler,
    /// None but its own, as long as that lives.
    SamePath,
    /// The one with the smallest round-trip time that has room and has not carried it.
    LowestRtt,
    /// Each that has not carried it.
    All,
}

/// When a receiver acknowledges, on a subflow, what that holds behind a gap that has been filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reassembly {
    /// At once, as a TCP does.
    Separate,
    /// Not before the connection's data has come further: subflows share one store, which is looked through only then.
    /// So does the MPTCP model of Kheirkhah for ns-3.
    Joint,
}
