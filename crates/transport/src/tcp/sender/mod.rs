//! The sending half of a TCP connection or subflow: what may be sent when, and what ACKs and timers do to it.
//!
//! - `mod.rs`: the state and the read-only views of it;
//! - `ack.rs`: an ACK arrives; `recovery.rs`: a loss episode begins, goes on, ends;
//! - `controller.rs`: the congestion control at hand;
//! - `dummies.rs`: TCP-Peach probes; `snack.rs`: SCPS-TP, the peer names holes; `stp.rs`: STP, the sender polls;
//! - `queue.rs`: what is given and not sent; `transmit.rs`: the next segment; `pacing.rs`: no sooner than the pacer
//!   allows; `limit.rs`: why nothing leaves; `timers.rs`: RTO, persist, RACK and tail-loss probe.
//!
//! It knows neither handshakes nor MPTCP. A subflow feeds it chunks that carry data sequence numbers.

mod ack;
mod controller;
mod dummies;
mod limit;
mod pacing;
mod queue;
mod recovery;
mod snack;
mod stp;
mod timers;
mod transmit;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use congestion::{CongestionControl, PathView, Paths};
use units::{Bytes, Nanos, SimTime};

use super::delivery_rate::DeliveryRate;
use super::prr::Prr;
use super::rack::Rack;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use crate::config::{LossMeans, RecoveryKind, TcpConfig};
use crate::limit::Limit;

use controller::Controller;
pub use timers::Expired;
pub use transmit::Transmission;

/// What the sender is doing; also what recorders call its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderState {
    /// Before the handshake is complete.
    Handshake,
    /// cwnd below ssthresh.
    SlowStart,
    /// cwnd at or above ssthresh.
    Avoidance,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until everything sent before it is acknowledged.
    Loss,
    /// Gone.
    Closed,
}

impl SenderState {
    /// Its number in time series.
    pub fn code(self) -> u8 {
        match self {
            Self::Handshake => 0,
            Self::SlowStart => 1,
            Self::Avoidance => 2,
            Self::Recovery => 3,
            Self::Loss => 4,
            Self::Closed => 5,
        }
    }
}

impl fmt::Display for SenderState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Handshake => "handshake",
            Self::SlowStart => "slow-start",
            Self::Avoidance => "avoidance",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
            Self::Closed => "closed",
        })
    }
}

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No loss episode.
    Open,
    /// Fast recovery, until `recover` is acknowledged.
    Recovery,
    /// After a timeout, until `recover` is acknowledged.
    Loss,
}

/// Stream bytes given to the sender and not yet sent. `dsn` is where they lie in the connection's stream.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    dsn: u64,
    len: u64,
}

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
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
}

/// The sending half.
#[derive(Debug)]
pub struct Sender {
    config: Arc<TcpConfig>,
    /// Payload of a full segment; below `config.mss` where MPTCP options take their share.
    mss: u64,
    congestion: Controller,
    rtt: RttEstimator,
    board: Scoreboard,
    /// First unacknowledged sequence number.
    una: u64,
    /// Next sequence number to send.
    nxt: u64,
    /// Sequence number after the last byte given by the owner.
    stream_end: u64,
    /// Chunks of a mapped stream; empty for plain TCP, whose stream needs no description.
    unsent: VecDeque<Chunk>,
    mapped: bool,
    /// The owner has no more data: a FIN follows the stream.
    finish: bool,
    fin_sent: bool,
    /// Right edge of the peer's receive window, as a sequence number; never moves left.
    window_right: u64,
    /// Largest window that the peer ever offered (sender-side silly window avoidance).
    max_window: u64,
    phase: Phase,
    /// Highest sequence number sent when the last loss episode began (RFC 6582); `None` before the first.
    recover: Option<u64>,
    /// Window during fast recovery: inflated (NewReno), ssthresh (SACK), pipe + sndcnt (PRR).
    recovery_window: u64,
    prr: Prr,
    rack: Rack,
    dupacks: u32,
    /// Bytes sent by Limited Transmit since the last new ACK.
    limited_sent: u64,
    /// Highest and second highest cumulative ACK (ACK heuristic of RFC 6582 section 4.1).
    previous_ack: u64,
    /// The ACK at hand, or the last one, echoed a mark (RFC 3168).
    marked: bool,
    /// Marks are not heeded before this is acknowledged: the window was reduced when it was next to be sent.
    marks_until: u64,
    /// The peer has not been told yet that the window was reduced.
    window_reduced: bool,
    /// The first partial ACK of this recovery has restarted the timer.
    partial_seen: bool,
    /// RFC 6675: the end of what was retransmitted, and what must be acknowledged before a rescue retransmission.
    high_rxt: u64,
    rescue_rxt: u64,
    /// The oldest segment goes out again whatever the window says.
    force_retransmit: bool,
    timers: timers::Timers,
    /// STP only.
    polling: Option<Box<stp::Polling>>,
    last_sent_at: SimTime,
    /// Nothing may leave before; `NEVER` while nothing is held back.
    held_until: SimTime,
    /// For a pacer that allows bursts.
    bucket_empty_until: SimTime,
    /// Only for a controller that sends dummies.
    dummies: Option<Box<dummies::Queue>>,
    /// Only for a controller that asks for samples.
    delivery_rate: Option<Box<DeliveryRate>>,
    usage: WindowUsage,
    stats: SenderStats,
    /// Why `next` had nothing to send.
    limit: Limit,
}

/// Was the congestion window the limit? (RFC 7661 section 4.1, as Linux judges it)
#[derive(Clone, Copy, Debug, Default)]
struct WindowUsage {
    limited: bool,
    max_flight: u64,
    /// snd_nxt when the judgement was made: it holds until that is acknowledged.
    until: u64,
}

impl Sender {
    /// A sender whose handshake is not complete: nothing can be sent until `on_established`.
    pub fn new(
        config: Arc<TcpConfig>,
        mss: Bytes,
        congestion: Box<dyn CongestionControl>,
        mapped: bool,
    ) -> Self {
        let congestion = Controller::new(congestion, config.loss_means);
        let delivery_rate = congestion.capabilities().needs.rate_samples.then(Box::default);
        let dummies = congestion.capabilities().probing.then(Box::default);
        Self {
            rtt: RttEstimator::new(config.rto),
            mss: mss.0,
            polling: (config.recovery == RecoveryKind::Stp).then(Box::default),
            config,
            congestion,
            board: Scoreboard::default(),
            una: 1,
            nxt: 1,
            stream_end: 1,
            unsent: VecDeque::new(),
            mapped,
            finish: false,
            fin_sent: false,
            window_right: 1,
            max_window: 0,
            phase: Phase::Open,
            recover: None,
            recovery_window: 0,
            prr: Prr::default(),
            rack: Rack::default(),
            dupacks: 0,
            limited_sent: 0,
            previous_ack: 1,
            marked: false,
            marks_until: 0,
            window_reduced: false,
            partial_seen: false,
            high_rxt: 0,
            rescue_rxt: 0,
            force_retransmit: false,
            timers: timers::Timers::default(),
            last_sent_at: SimTime::NEVER,
            held_until: SimTime::NEVER,
            bucket_empty_until: SimTime::ZERO,
            dummies,
            delivery_rate,
            usage: WindowUsage::default(),
            limit: Limit::Application,
            stats: SenderStats::default(),
        }
    }

    /// The handshake is complete; `window` is what the peer offers. `rtt` is the handshake's round-trip time
    /// where it is unambiguous, `syn_lost` whether a SYN had to be sent again.
    pub fn on_established(&mut self, now: SimTime, window: Bytes, rtt: Option<Nanos>, syn_lost: bool) {
        if let Some(rtt) = rtt {
            self.rtt.sample(now, rtt);
        }
        if syn_lost {
            // RFC 5681 section 3.1: after a lost SYN the initial window is one segment.
            self.rtt.syn_was_lost();
            self.congestion.set_window(Bytes(self.mss), None);
        }
        if let Some(rate) = &mut self.delivery_rate {
            rate.room_may_appear(now);
        }
        self.congestion.on_established(now, rtt);
        self.offer_window(self.una + window.0);
    }

    /// The peer is a plain one: goes on as `config` says. Before any data.
    pub fn fall_back(&mut self, config: Arc<TcpConfig>) {
        self.congestion.losses_mean(config.loss_means);
        self.config = config;
    }

    /// Losses are the links' and not the network's.
    fn is_corruption(&self) -> bool {
        self.config.loss_means == LossMeans::Corruption
    }

    /// The stream grows by `len` bytes that lie at `dsn` in the connection's stream.
    pub fn give(&mut self, dsn: u64, len: u64) {
        self.stream_end += len;
        if !self.mapped {
            return;
        }
        match self.unsent.back_mut() {
            // Adjacent chunks that would not fill a segment together may merge; others keep segment boundaries.
            Some(last) if last.dsn + last.len == dsn && last.len + len <= self.mss => last.len += len,
            _ => self.unsent.push_back(Chunk { dsn, len }),
        }
    }

    /// No more data after what was given.
    pub fn finish(&mut self) {
        self.finish = true;
    }

    /// True once the FIN has been acknowledged.
    pub fn finished(&self) -> bool {
        self.fin_sent && self.board.is_empty()
    }

    fn offer_window(&mut self, right: u64) -> bool {
        let moved = right > self.window_right;
        if moved {
            self.window_right = right;
            self.timers.window_opened();
        }
        self.max_window = self.max_window.max(right.saturating_sub(self.una));
        moved
    }

    /// How far it may send: the peer's window, and what the controller dares to add to it. The window of an MPTCP
    /// subflow belongs to the connection; what bounds each subflow is the limit of its flight.
    fn right_edge(&self) -> u64 {
        let offered =
            if self.mapped { self.window_right } else { self.window_right + self.congestion.beyond_window() };
        offered.min(self.una.saturating_add(self.config.flight_limit.0.max(self.mss)))
    }

    /// Usable window: the congestion window, or what recovery makes of it.
    fn window(&self) -> u64 {
        match self.phase {
            Phase::Recovery if !self.congestion.capabilities().needs.whole_window => self.recovery_window,
            _ => self.congestion.cwnd(),
        }
    }

    /// Bytes that count against the window.
    fn in_flight(&self) -> u64 {
        let by_flight_size = match self.config.recovery {
            // The inflated window of RFC 6582 is measured against FlightSize, and so is Limited Transmit: what SACK
            // says besides must not count twice.
            RecoveryKind::NewReno => self.phase != Phase::Loss,
            // Without Limited Transmit a SACK frees no room before the loss is recognised.
            RecoveryKind::Sack | RecoveryKind::Rack => {
                !self.config.limited_transmit && self.phase == Phase::Open
            }
            RecoveryKind::Snack { .. } | RecoveryKind::Stp => false,
        };
        if by_flight_size { self.board.outstanding() } else { self.board.pipe() }
    }

    fn is_cwnd_limited(&self) -> bool {
        let cwnd = self.congestion.cwnd();
        let in_slow_start = cwnd < self.congestion.ssthresh();
        self.usage.limited || (in_slow_start && cwnd < 2 * self.usage.max_flight)
    }

    fn loss_kind(&self) -> RecoveryKind {
        self.config.recovery
    }

    /// First unacknowledged sequence number.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Next sequence number.
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Bytes given and not yet acknowledged.
    pub fn unacked(&self) -> u64 {
        self.stream_end.saturating_sub(self.una)
    }

    /// Bytes given and not yet sent.
    pub fn unsent(&self) -> u64 {
        self.stream_end.saturating_sub(self.nxt)
    }

    /// Bytes in the network.
    pub fn pipe(&self) -> u64 {
        self.board.pipe()
    }

    /// Bytes between snd_una and snd_nxt.
    pub fn outstanding(&self) -> u64 {
        self.board.outstanding()
    }

    /// True if a new segment of `len` bytes could leave now: congestion and receive window have room, nothing
    /// waits before it, no timeout is being repaired.
    pub fn has_room_for(&self, len: u64) -> bool {
        self.unsent() == 0 && self.held_until.is_never() && self.windows_have_room_for(len)
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u64 {
        self.mss
    }

    /// Round-trip time estimation.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Congestion window; during fast recovery the window that recovery works with.
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.window())
    }

    /// Slow-start threshold.
    pub fn ssthresh(&self) -> Bytes {
        Bytes(self.congestion.ssthresh())
    }

    /// The controller's window, whatever recovery makes of it.
    pub fn controlled_cwnd(&self) -> u64 {
        self.congestion.cwnd()
    }

    /// State, as recorders name it.
    pub fn state(&self) -> SenderState {
        match self.phase {
            Phase::Recovery => SenderState::Recovery,
            Phase::Loss => SenderState::Loss,
            Phase::Open if self.congestion.in_slow_start() => SenderState::SlowStart,
            Phase::Open => SenderState::Avoidance,
        }
    }

    /// Consecutive timeouts without progress.
    pub fn backoff(&self) -> u32 {
        self.timers.backoff()
    }

    /// Counters.
    pub fn stats(&self) -> SenderStats {
        self.stats
    }

    /// Peer's window as seen from snd_una.
    pub fn send_window(&self) -> Bytes {
        Bytes(self.window_right.saturating_sub(self.una))
    }

    /// The window was reduced since this was asked last; the next new segment says so (RFC 3168 section 6.1.2).
    pub fn take_window_reduced(&mut self) -> bool {
        std::mem::take(&mut self.window_reduced)
    }

    /// The window was reduced, for whatever reason: marks of what has been sent are answered with that.
    fn note_reduction(&mut self) {
        self.marks_until = self.nxt;
        self.window_reduced = true;
    }

    /// What the siblings' controllers see of this path.
    pub fn path_view(&self, coupled: bool) -> PathView {
        // In recovery the inflated window would mislead the others.
        let cwnd =
            if self.phase == Phase::Recovery { self.congestion.ssthresh() } else { self.congestion.cwnd() };
        let srtt = self.rtt.srtt().map_or(0.0, Nanos::as_secs_f64);
        PathView {
            loss_interval: self.congestion.loss_interval(),
            measured_rate: self.congestion.measured_rate(),
            ..PathView::new(cwnd as f64, srtt, self.mss as f64, coupled)
        }
    }

    /// What the controller knows of the path, see [`CongestionControl::gauges`].
    pub fn congestion_gauges(&self, paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        if let Some(queue) = &self.dummies {
            report("dummies_sent", queue.sent() as f64);
        }
        if self.congestion.capabilities().overdraft {
            // The limit of the flight may lie before the window.
            report("beyond_window_bytes", self.right_edge().saturating_sub(self.window_right) as f64);
        }
        self.congestion.gauges(paths, report);
    }

    #[cfg(any(test, debug_assertions))]
    fn check(&self) {
        debug_assert_eq!(self.board.outstanding(), self.nxt - self.una);
        debug_assert!(self.congestion.cwnd() >= self.mss, "cwnd below one MSS");
    }
}
