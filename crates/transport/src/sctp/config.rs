//! Everything that can be set about an association: plain data.

use units::{Bytes, Nanos, Ratio, SimTime};

use crate::config::{RtoConfig, RtoFloor, RtoRule};
use crate::sctp::chunk::{COMMON_HEADER, DATA_HEADER, Promise};

/// One end of an association.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SctpConfig {
    /// Sizes of packets.
    pub packet: PacketConfig,
    /// Streams and their messages.
    pub streams: StreamConfig,
    /// Retransmissions, and when an end gives up.
    pub recovery: SctpRecoveryConfig,
    /// When and how the receiver acknowledges.
    pub sack: SackConfig,
    /// HEARTBEATs.
    pub heartbeat: HeartbeatConfig,
    /// DATA that arrives before the COOKIE ACK stands for it; otherwise it is discarded (RFC 9260 section 6).
    pub data_is_cookie_ack: bool,
    /// Congestion window of each path.
    pub window: SctpWindowConfig,
    /// Memory at both ends.
    pub buffers: SctpBufferConfig,
    /// Concurrent transfer over all paths; `None`: one path at a time.
    pub cmt: Option<CmtConfig>,
}

/// Sizes of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketConfig {
    /// Largest user data of a packet that carries one DATA chunk.
    pub payload: Bytes,
    /// Bytes of the IP header.
    pub ip_header: Bytes,
    /// Further bytes per packet on the wire (tunnel, link framing).
    pub overhead: Bytes,
}

/// Streams and their messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamConfig {
    /// Streams that this end sends on; messages are in order within each.
    pub count: u16,
    /// User messages of a byte stream are this long.
    pub message: Bytes,
    /// Messages that are written have no order, not even within their stream.
    pub unordered: bool,
}

/// Retransmissions, and when an end gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SctpRecoveryConfig {
    /// Retransmission timer of each path.
    pub rto: RtoConfig,
    /// After how many retransmissions an end gives up.
    pub limits: RetransmissionLimits,
    /// Missing reports that mean a loss.
    pub missing_reports: u32,
    /// Fast retransmissions that leave whatever the window is.
    pub fast_retransmit: FastRetransmit,
    /// Faults of the timer T3-rtx that a real stack has.
    pub timer_defects: TimerDefects,
}

/// Congestion window of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SctpWindowConfig {
    /// At the start.
    pub initial: InitialWindow,
    /// Initial slow-start threshold; `None`: the receive buffer that the peer announces.
    pub initial_ssthresh: Option<Bytes>,
    /// The window decays while a path carries nothing (RFC 9260 section 7.2.1).
    pub idle_decay: bool,
    /// Bursts of new data.
    pub burst: MaxBurst,
}

/// Memory at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SctpBufferConfig {
    /// User data written and not cumulatively acknowledged.
    pub send: Bytes,
    /// User data that has arrived and was not read.
    pub receive: Bytes,
    /// Charged beside user data: by the sender to the window of the peer for each chunk in flight, by the receiver to its own
    /// for each piece that waits for others. Unless it is 0, the header of a chunk is charged as well, as in FreeBSD.
    pub chunk_overhead: Bytes,
}

impl SctpBufferConfig {
    /// Charge of a chunk in flight beside its user data: FreeBSD counts the header of the chunk as well
    /// (`sctp_total_flight_increase`, `sctp_handle_sack`).
    pub fn charge(&self) -> Bytes {
        if self.chunk_overhead == Bytes::ZERO { Bytes::ZERO } else { self.chunk_overhead + DATA_HEADER }
    }

    /// The room in the window of the peer that a chunk with `len` user data needs.
    pub fn needed(&self, len: Bytes) -> Bytes {
        if self.chunk_overhead == Bytes::ZERO { len } else { len + DATA_HEADER }
    }
}

/// Faults of the timer T3-rtx in FreeBSD (libusrsctp 0.9.5), for comparisons with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerDefects {
    /// None.
    Absent,
    /// `sctp_timer_start` leaves a running timer alone, and a SACK without gaps after another such one does not stop it
    /// (`sctp_express_handle_sack`): it expires in a healthy transfer.
    /// Only chunks older than SRTT + 4 RTTVAR, in whole milliseconds, are then taken for lost; the timeout doubles in any case, until
    /// something is acknowledged that was sent once. One path at a time, other SACKs restart it if they advance, whatever is the oldest chunk of the path.
    LateRestart,
    /// Concurrent transfer: the timer starts anew whenever CUC says that the path advances, so that a lost
    /// retransmission waits as long as later data flows (`sctp_handle_sack`).
    Starvation,
    /// Both.
    Both,
}

impl TimerDefects {
    /// [`TimerDefects::LateRestart`].
    pub fn restarts_late(self) -> bool {
        matches!(self, Self::LateRestart | Self::Both)
    }

    /// [`TimerDefects::Starvation`].
    pub fn starves(self) -> bool {
        matches!(self, Self::Starvation | Self::Both)
    }
}

/// Fast retransmissions that leave whatever the window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastRetransmit {
    /// A single packet of a path when it enters fast recovery, and no chunk twice (RFC 9260 section 7.2.4).
    Single,
    /// All that were reported missing, at most four packets at each opportunity, one after a timeout, and then no new data. One path
    /// at a time: a chunk is reported again by data that was sent after its retransmission, and in fast recovery by each SACK that
    /// advances, whatever was sent when. T3-rtx starts anew with each reduction. FreeBSD does so, and one path at a time has all of
    /// [`SctpConfig::recovers_as_freebsd`]
    /// (`sctp_chunk_retransmission`, `sctp_chunk_output`, `sctp_strike_gap_ack_chunks`, `sctp_cwnd_update_after_fr`).
    All,
}

/// How often a path reduces its window in fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reductions {
    /// Once, and it does not grow until that is over (RFC 9260 section 7.2.4).
    Once,
    /// With each SACK that reports chunks missing, and it may grow in between, before it is reduced: with each SACK that advances the
    /// association or the path. Fast recovery is that of the association: it ends when what was sent before the last
    /// reduction is acknowledged, or with a timeout. A SACK that advances in it reports
    /// chunks missing whatever has arrived on their path after them, if anything has. The path of a retransmission is
    /// chosen when the chunk is taken for lost. FreeBSD does so with concurrent transfer ([`SctpConfig::recovers_as_freebsd`])
    /// (`sctp_cwnd_update_after_fr`, `sctp_cwnd_update_after_sack_common`, `sctp_handle_sack`, `sctp_strike_gap_ack_chunks`).
    Each,
}

/// The last multiple of `tick` until `now`.
pub fn ticked(now: SimTime, tick: Nanos) -> SimTime {
    SimTime(now.0 / tick.0 * tick.0)
}

/// Initial congestion window of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// RFC 9260 section 7.2.1: min(4 PMDCS, max(2 PMDCS, 4404 bytes)).
    Rfc9260,
    /// RFC 4960 section 7.2.1: min(4 MTU, max(2 MTU, 4380 bytes)).
    Rfc4960,
    /// This number of bytes.
    Bytes(Bytes),
}

/// Concurrent multipath transfer (Iyengar et al. 2006).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CmtConfig {
    /// Where chunks are sent again.
    pub retransmission: RetransmissionPolicy,
    /// How the paths share the buffers.
    pub split: BufferSplit,
    /// The quantity that counts as use of a buffer.
    pub split_by: Occupancy,
    /// When a path counts its data as cumulatively acknowledged.
    pub window_update: WindowUpdate,
    /// Reductions of a path in fast recovery.
    pub reductions: Reductions,
    /// Chunks that block a buffer are sent again on another path.
    pub rescheduling: Rescheduling,
    /// DAC: the receiver delays SACKs even while chunks are out of order, and tells how many packets each covers.
    pub delayed_ack: bool,
}

/// The path of a retransmission. Of equal paths the first is chosen; with [`Reductions::Each`] one of those with equal windows or thresholds
/// is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionPolicy {
    /// RTX-SAME: that of the last transmission, as long as it is active.
    SamePath,
    /// RTX-CWND: that with the largest congestion window.
    LargestWindow,
    /// RTX-SSTHRESH: that with the largest slow-start threshold.
    LargestThreshold,
    /// RTX-LOSSRATE: that with the smallest loss estimate.
    LowestLoss,
    /// RTX-ASAP: any that has room.
    AnyWithRoom,
    /// That with the smallest round-trip time.
    LowestRtt,
}

/// The quantity that counts as use of a shared buffer by a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupancy {
    /// User data that is not cumulatively acknowledged.
    Queued,
    /// Bytes in flight, chunk headers included.
    Flight,
}

/// Congestion window update for CMT (CUC): the oldest chunk of a path without acknowledgement is its cumulative TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUpdate {
    /// The oldest of the chunks that were sent once.
    V1,
    /// The oldest of the chunks that were sent once, and the oldest of those that were sent again.
    V2,
}

/// Chunk rescheduling (Dreibholz et al. 2011): while chunks that have arrived out of order fill the share of a path, the
/// oldest chunk in flight, which keeps them in the buffer, is sent on this path as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rescheduling {
    /// The buffers that are watched.
    pub at: BufferSplit,
    /// Share of the buffer above which that happens.
    pub threshold: Ratio,
    /// The former path reduces its window as after a loss.
    pub reduces: bool,
}

impl Rescheduling {
    /// Never.
    pub const OFF: Self = Self { at: BufferSplit::Off, threshold: Ratio::ZERO, reduces: false };

    /// Chunks that have arrived out of order use too much of a share.
    pub fn is_due(&self, blocking: Bytes, share: Bytes) -> bool {
        blocking.as_f64() >= self.threshold.get() * share.as_f64()
    }
}

/// Buffer splitting (Dreibholz, Adhari et al.): no path may fill a buffer that n paths share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferSplit {
    /// Each path takes what it can.
    Off,
    /// A path has at most an n-th of the send buffer.
    Sender,
    /// A path has at most an n-th of the receive window and of what all paths use.
    Receiver,
    /// Both limits hold.
    Both,
}

impl BufferSplit {
    /// The send buffer is split.
    pub fn at_sender(self) -> bool {
        matches!(self, Self::Sender | Self::Both)
    }

    /// The receive window is split.
    pub fn at_receiver(self) -> bool {
        matches!(self, Self::Receiver | Self::Both)
    }

    /// An n-th of a buffer that `paths` share.
    pub fn share(buffer: Bytes, paths: usize) -> Bytes {
        Bytes(buffer.0 / paths.max(1) as u64)
    }
}

/// After how many retransmissions an end gives up (RFC 9260 section 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmissionLimits {
    /// Max.Init.Retransmits.
    pub init: u32,
    /// Path.Max.Retrans.
    pub path: u32,
    /// Association.Max.Retrans.
    pub association: u32,
}

/// When a receiver acknowledges (RFC 9260 section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackConfig {
    /// Every n-th packet at once.
    pub every: u32,
    /// Packets that are acknowledged at once beside these.
    pub eager: EagerSack,
    /// Otherwise after this long.
    pub delay: Nanos,
    /// SACKs are non-renegable: the sender keeps nothing that a gap block has acknowledged.
    pub non_renegable: bool,
}

/// Which packets with DATA are acknowledged at once, though the delay would permit to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EagerSack {
    /// None.
    Never,
    /// The first of the association (RFC 9260 section 5.1).
    First,
    /// The first, and whatever waits when another packet leaves. FreeBSD does so (`sctp_init_asoc`, `sctp_chunk_output`).
    WithDepartures,
}

/// HEARTBEATs (RFC 9260 sections 5.4 and 8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatConfig {
    /// HB.interval: an idle path is asked after this long and an RTO.
    pub interval: Nanos,
    /// Data uses a path only when a HEARTBEAT on it was answered; the first path needs none.
    pub confirm: bool,
}

/// Limit of the bursts of new data (RFC 9260 section 6.1 D). `packets` is Max.Burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxBurst {
    /// None.
    Unlimited,
    /// Most packets per path at each opportunity.
    Packets(u32),
    /// The window is cut to the flight and this number of packets before each opportunity.
    UseItOrLoseIt(u32),
    /// The same, and the slow-start threshold remembers the window.
    WindowLimiting(u32),
}

impl SctpConfig {
    /// Loss recovery has all the rules of FreeBSD: [`Reductions::Each`] with concurrent transfer, [`FastRetransmit::All`] without it.
    ///
    /// * Fast recovery is that of the association. A SACK changes the windows by what it acknowledges alone, if it advances, and opens
    ///   them before it reduces them (`sctp_handle_sack`, `sctp_cwnd_update_after_sack_common`).
    /// * Gap blocks do not count for chunks that wait to be sent again; what acknowledges such a chunk counts for the path on which it
    ///   would leave (`sctp_process_segment_range`).
    /// * Only later chunks of the same path report a chunk missing; in fast recovery each SACK that advances does, too
    ///   (`sctp_strike_gap_ack_chunks`).
    /// * The path of a retransmission is chosen when the chunk is taken for lost. T3-rtx chooses anew for chunks that wait for its path
    ///   (`sctp_mark_all_for_resend`).
    /// * When T3-rtx has expired it does not run until a packet leaves on its path or a SACK arrives, so that chunks that move to another
    ///   path leave it without its doubled timeout (`sctp_t3rxt_timer`, `sctp_handle_sack`).
    /// * A SACK has as many gap blocks as a packet has room for (`sctp_send_sack`). One that was overtaken revokes what a later one has
    ///   acknowledged by gap blocks (`sctp_check_for_revoked`).
    /// * With `data_is_cookie_ack` a SACK or a HEARTBEAT completes the handshake as well (`sctp_process_control`).
    pub fn recovers_as_freebsd(&self) -> bool {
        match self.cmt {
            Some(cmt) => cmt.reductions == Reductions::Each,
            None => self.recovery.fast_retransmit == FastRetransmit::All,
        }
    }

    /// Timers start with a multiple of it: those of FreeBSD with the millisecond, so that they expire up to one too early.
    pub fn tick(&self) -> Nanos {
        if self.recovers_as_freebsd() { Nanos::from_millis(1) } else { Nanos(1) }
    }

    /// The promise about gap blocks. FreeBSD may discard ordered messages behind a gap (`sctp_do_drain`), so that its NR-SACKs promise only
    /// messages that wait for no other (`sctp_process_a_data_chunk`).
    pub fn promise(&self) -> Promise {
        match self.sack.non_renegable {
            false => Promise::None,
            true if self.recovers_as_freebsd() && !self.streams.unordered => Promise::Renegable,
            true => Promise::Kept,
        }
    }

    /// PMDCS: the largest DATA chunk, header included, that fits into a packet.
    pub fn largest_chunk(&self) -> Bytes {
        self.packet.payload + DATA_HEADER
    }

    /// Initial congestion window, as for IPv4 addresses.
    pub fn initial_window(&self) -> Bytes {
        let between = |unit: Bytes, least: u64| (unit * 4).min((unit * 2).max(Bytes(least)));
        match self.window.initial {
            InitialWindow::Rfc9260 => between(self.largest_chunk(), 4404),
            InitialWindow::Rfc4960 => {
                between(self.packet.ip_header + COMMON_HEADER + self.largest_chunk(), 4380)
            }
            InitialWindow::Bytes(bytes) => bytes,
        }
    }

    /// Bytes that a packet counts where bursts are limited: PMDCS, with window limiting the MTU (`sctp_chunk_output`), which lets five
    /// packets leave where four are the limit.
    pub fn burst_unit(&self) -> Bytes {
        match self.window.burst {
            MaxBurst::WindowLimiting(_) => self.packet.ip_header + COMMON_HEADER + self.largest_chunk(),
            _ => self.largest_chunk(),
        }
    }

    /// Bytes of a packet for chunks, after the common header.
    pub(super) fn room(&self) -> Bytes {
        Bytes(self.largest_chunk().0.next_multiple_of(4))
    }
}

impl Default for CmtConfig {
    /// Windows by CUC version 2, delayed SACKs, split buffers; chunks are sent again where the threshold is largest.
    fn default() -> Self {
        Self {
            retransmission: RetransmissionPolicy::LargestThreshold,
            split: BufferSplit::Both,
            split_by: Occupancy::Queued,
            window_update: WindowUpdate::V2,
            reductions: Reductions::Once,
            rescheduling: Rescheduling::OFF,
            delayed_ack: true,
        }
    }
}

impl Default for SctpConfig {
    /// The values of RFC 9260 section 16 over IPv4 and Ethernet; buffers that do not bind.
    fn default() -> Self {
        Self {
            packet: PacketConfig { payload: Bytes(1452), ip_header: Bytes(20), overhead: Bytes(0) },
            streams: StreamConfig { count: 1, message: Bytes(1452), unordered: false },
            recovery: SctpRecoveryConfig {
                rto: RtoConfig {
                    initial: Nanos::from_secs(1),
                    min: Nanos::from_secs(1),
                    max: Nanos::from_secs(60),
                    granularity: Nanos::from_millis(1),
                    floor: RtoFloor::Total,
                    estimator: RtoRule::Rfc,
                },
                limits: RetransmissionLimits { init: 8, path: 5, association: 10 },
                missing_reports: 3,
                fast_retransmit: FastRetransmit::Single,
                timer_defects: TimerDefects::Absent,
            },
            sack: SackConfig {
                every: 2,
                eager: EagerSack::First,
                delay: Nanos::from_millis(200),
                non_renegable: false,
            },
            heartbeat: HeartbeatConfig { interval: Nanos::from_secs(30), confirm: true },
            data_is_cookie_ack: false,
            window: SctpWindowConfig {
                initial: InitialWindow::Rfc9260,
                initial_ssthresh: None,
                idle_decay: true,
                burst: MaxBurst::Packets(4),
            },
            buffers: SctpBufferConfig {
                send: Bytes(100_000_000),
                receive: Bytes(100_000_000),
                chunk_overhead: Bytes::ZERO,
            },
            cmt: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vector BS-1: limits of two paths.
    #[test]
    fn bs_1_buffers_are_split() {
        assert_eq!(BufferSplit::share(Bytes(1_048_576), 2), Bytes(524_288));
        // 100,000 bytes of the window are free, 60,000 and 40,000 are in flight: both may send.
        assert_eq!(BufferSplit::share(Bytes(100_000 + 60_000 + 40_000), 2), Bytes(100_000));
        assert!(BufferSplit::Both.at_sender() && BufferSplit::Both.at_receiver());
        assert!(!BufferSplit::Receiver.at_sender() && !BufferSplit::Off.at_receiver());
    }

    /// Test vector SP-1, the initial window.
    ///
    /// RFC 9260 section 7.2.1: "The initial cwnd before data transmission MUST be set to min(4 * PMDCS, max(2 * PMDCS, 4404)) bytes
    /// if the peer address is an IPv4 address"
    #[test]
    fn sp_1_initial_window() {
        let window = |chunk: u64| {
            let mut config = SctpConfig::default();
            config.packet.payload = Bytes(chunk - 16);
            config.initial_window()
        };
        assert_eq!([window(1452), window(1500)], [Bytes(4404), Bytes(4404)]);
        assert_eq!([window(1000), window(9000)], [Bytes(4000), Bytes(18_000)]);
        let of = |initial| {
            let window = SctpWindowConfig { initial, ..SctpConfig::default().window };
            SctpConfig { window, ..SctpConfig::default() }.initial_window()
        };
        assert_eq!(of(InitialWindow::Rfc4960), Bytes(4380));
        assert_eq!(of(InitialWindow::Bytes(Bytes(4464))), Bytes(4464));
    }

    /// Test vector CR-1.
    #[test]
    fn cr_1_chunks_that_block_more_than_half_of_a_share_are_moved() {
        let half = Rescheduling { threshold: Ratio::new(0.5).expect("a ratio"), ..Rescheduling::OFF };
        let (limit, queued, outstanding) = (Bytes(500_000), Bytes(320_000), Bytes(60_000));
        assert!(half.is_due(queued - outstanding, limit), "0.52");
        assert!(!half.is_due(queued - Bytes(80_000), limit), "0.48");
    }
}
