//! The sending half of a TCP connection or subflow: what may be sent when, and what ACKs and timers do to it.
//!
//! The sender is composed of parts, each with private state and a file of its own:
//!
//! | Part | State |
//! |---|---|
//! | `sequence.rs` | the stream in sequence numbers: snd_una, snd_nxt, data that waits |
//! | `window.rs` | the peer's receive window, persist timer |
//! | `../scoreboard.rs` | what is outstanding, SACKed, lost, and how a window counts it |
//! | `detector.rs` | how a loss is recognised: duplicate ACKs, SACK, RACK with `probe.rs` |
//! | `recovery.rs` | the loss episode and its window, PRR |
//! | `retransmission.rs` | the retransmission timer |
//! | `controller.rs` | the congestion control and its present answers |
//! | `marks.rs` | the answer to ECN-echo |
//! | `pacer.rs` | when the next segment may leave |
//! | `activity.rs` | counters, use of the window, the present limit |
//!
//! Operations on several of them are here: `ack.rs` (an ACK arrives), `report.rs` (a report of a transport over space
//! links arrives), `episode.rs` (a loss episode begins, goes on, ends), `expiry.rs` (a timer fires), `undo.rs` (an episode proves needless), `transmit.rs` (the
//! next segment), `quantum.rs` (it waits for others), `limit.rs` (why there is none), `rate.rs` (pacing rate), `stream.rs` (data is given and taken back).
//!
//! The usual ACK and the usual segment take a way of their own, `usual.rs`.
//!
//! It knows neither handshakes nor MPTCP. A subflow gives it chunks that carry data sequence numbers.

mod ack;
mod activity;
mod controller;
mod detector;
mod episode;
mod expiry;
mod limit;
mod marks;
mod pacer;
mod probe;
mod quantum;
mod rate;
mod recovery;
mod report;
mod retransmission;
mod sequence;
mod state;
mod stream;
mod transmit;
mod undo;
mod usual;
mod window;

use std::sync::Arc;

use congestion::{CongestionControl, PathView, Paths};
use units::{Bytes, Nanos, SimTime};

use super::counted::Counted;
use super::delivery_rate::DeliveryRate;
use super::ranges::Range;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::send_buffer::BUFFERED_WINDOWS;
use crate::config::{LossMeans, PacingRule, QuantumRule, TcpConfig};
use crate::seq::Seq;
use crate::space::Policy;
use crate::usual::UsualWay;

use activity::Activity;
use controller::Controller;
use detector::LossDetector;
use marks::MarkResponse;
use pacer::Pacer;
use recovery::{Phase, Recovery};
use retransmission::RetransmissionTimer;
use sequence::SendSequence;
use usual::permits_usual_way;
use window::SendWindow;

pub use activity::SenderStats;
pub use expiry::Expired;
pub use state::SenderState;
pub use transmit::Transmission;

/// The sending half.
#[derive(Debug)]
pub struct Sender {
    config: Arc<TcpConfig>,
    congestion: Controller,
    rtt: RttEstimator,
    board: Scoreboard,
    send: SendSequence,
    window: SendWindow,
    detector: LossDetector,
    recovery: Recovery,
    timer: RetransmissionTimer,
    marks: MarkResponse,
    pacer: Pacer,
    activity: Activity,
    usual: UsualWay,
    /// Only for a controller that asks for samples.
    delivery_rate: Option<Box<DeliveryRate>>,
    /// Only where the peer reports what has arrived, instead of acknowledging as TCP does.
    policy: Option<Box<Policy>>,
}

impl Sender {
    /// A sender whose handshake is not complete: nothing can be sent until `on_established`.
    pub fn new(
        config: Arc<TcpConfig>,
        mss: Bytes,
        congestion: Box<dyn CongestionControl>,
        mapped: bool,
    ) -> Self {
        let congestion = Controller::new(congestion, config.recovery.loss_means);
        let policy = Policy::new(&config);
        let linux = config.sending.pacing_rule == PacingRule::Linux;
        let (unit, sees_shortage) = (if linux { mss } else { Bytes::ZERO }, !(linux && mapped));
        let has_timer = policy.as_deref().is_none_or(|policy| policy.has_retransmission_timer());
        Self {
            rtt: RttEstimator::new(config.timers.rto),
            board: Scoreboard::new(Counted::new(config.window.counts, mss)),
            send: SendSequence::new(mss, mapped),
            window: SendWindow::new(config.window.flight_limit, mss),
            detector: LossDetector::new(&config),
            recovery: Recovery::new(),
            timer: RetransmissionTimer::new(has_timer),
            marks: MarkResponse::default(),
            pacer: Pacer::new(),
            activity: Activity::new(),
            usual: UsualWay::new(permits_usual_way(&config, congestion.capabilities())),
            delivery_rate: congestion
                .capabilities()
                .needs
                .rate_samples
                .then(|| Box::new(DeliveryRate::new(unit, sees_shortage))),
            policy,
            congestion,
            config,
        }
    }

    /// The handshake is complete; `window` is what the peer offers. `rtt` is the handshake's round-trip time
    /// where it is unambiguous, `syn_lost` whether a SYN had to be sent again.
    pub fn on_established(&mut self, now: SimTime, window: Bytes, rtt: Option<Nanos>, syn_lost: bool) {
        if let Some(rtt) = rtt {
            self.rtt.sample_beside(now, rtt, self.unacked_range());
        }
        if syn_lost {
            // RFC 5681 section 3.1: after a lost SYN the initial window is one segment.
            self.rtt.syn_was_lost();
            self.congestion.set_window(Bytes(self.send.mss()), None);
        }
        if let Some(rate) = &mut self.delivery_rate {
            rate.room_may_appear(now);
        }
        self.congestion.on_established(now, rtt);
        let una = self.send.una();
        self.window.offer(una, una + window);
        self.look_for_usual_way();
    }

    /// It may have more to say than data: dummies, or polls of a peer that reports.
    #[inline]
    pub fn has_signals(&self) -> bool {
        self.policy.is_some() || self.congestion.dummies().is_some()
    }

    /// Every segment takes the general way from now on, which changes nothing but the time that it takes: for tests.
    pub fn close_usual_way(&mut self) {
        self.usual = UsualWay::CLOSED;
    }

    /// The peer does not speak what the configuration asks for: goes on as `config` says, which is TCP. Before any
    /// data.
    pub fn fall_back(&mut self, config: Arc<TcpConfig>) {
        debug_assert!(self.board.is_empty(), "data is outstanding");
        self.congestion.losses_mean(config.recovery.loss_means);
        self.detector = LossDetector::new(&config);
        self.policy = Policy::new(&config);
        self.config = config;
    }

    /// Losses are caused by links and not by congestion.
    fn is_corruption(&self) -> bool {
        self.config.recovery.loss_means == LossMeans::Corruption
    }

    /// Usable window: the congestion window, or what recovery makes of it.
    #[inline]
    fn usable_window(&self) -> u64 {
        match self.recovery.phase() {
            Phase::Recovery if !self.congestion.capabilities().needs.whole_window => self.recovery.window(),
            _ => self.congestion.cwnd(),
        }
    }

    /// How far it may send: the peer's window, and what the controller adds to it. The window of an MPTCP subflow
    /// belongs to the connection; what bounds each subflow is the limit of its flight.
    #[inline]
    fn right_edge(&self) -> Seq {
        let beyond = if self.send.is_mapped() { 0 } else { self.congestion.beyond_window() };
        self.window.edge(self.send.una(), beyond)
    }

    /// The flight that counts against the window.
    #[inline]
    fn in_flight(&self) -> u64 {
        self.detector.in_flight(&self.board, self.recovery.phase())
    }

    /// Bytes of the window that a full segment takes.
    #[inline]
    fn full(&self) -> u64 {
        self.board.counted().one(self.send.mss())
    }

    fn is_cwnd_limited(&self) -> bool {
        self.activity.is_cwnd_limited(self.congestion.cwnd(), self.congestion.ssthresh())
    }

    /// The window was reduced, for whatever reason.
    fn note_reduction(&mut self) {
        self.marks.window_reduced(self.send.nxt());
    }

    /// First unacknowledged sequence number.
    #[inline]
    pub fn una(&self) -> Seq {
        self.send.una()
    }

    /// Next sequence number.
    #[inline]
    pub fn nxt(&self) -> Seq {
        self.send.nxt()
    }

    /// Bytes given and not yet acknowledged.
    #[inline]
    pub fn unacked(&self) -> u64 {
        self.send.unacked()
    }

    /// A segment that was not full is outstanding.
    #[inline]
    pub fn has_small_outstanding(&self) -> bool {
        self.send.has_small_outstanding()
    }

    /// Bytes given and not yet sent.
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.send.unsent()
    }

    /// Bytes in the network.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.board.pipe()
    }

    /// Bytes between snd_una and snd_nxt.
    pub fn outstanding(&self) -> u64 {
        self.board.outstanding()
    }

    /// Payload bytes of a full segment.
    #[inline]
    pub fn mss(&self) -> u64 {
        self.send.mss()
    }

    /// Options take more room from now on: segments carry less. The congestion control keeps the size that it was made for.
    pub(crate) fn shorten_segments(&mut self, mss: Bytes) {
        self.send.shorten_segments(mss);
    }

    /// Round-trip time estimation.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Congestion window; during fast recovery the window that recovery works with.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.usable_window())
    }

    /// Slow-start threshold.
    pub fn ssthresh(&self) -> Bytes {
        Bytes(self.congestion.ssthresh())
    }

    /// The controller's window, whatever recovery makes of it.
    pub fn controlled_cwnd(&self) -> u64 {
        self.congestion.cwnd()
    }

    /// The same in segments.
    pub fn window_segments(&self) -> u64 {
        self.congestion.cwnd() / self.full().max(1)
    }

    /// Windows for which a send buffer that expands has room.
    pub fn buffered_windows(&self) -> u64 {
        BUFFERED_WINDOWS + u64::from(self.congestion.capabilities().needs.third_window)
    }

    /// The congestion window is full when this ACK has let data go (`tcp_should_expand_sndbuf`), unless a segment waits until a quantum is
    /// full. Where there are no quanta of Linux only slow start fills it.
    pub fn fills_window(&self, now: SimTime) -> bool {
        let (flight, window) = (self.board.pipe_counted(), self.congestion.cwnd());
        let always = self.config.sending.quantum_rule == QuantumRule::Linux;
        (always || self.state() == SenderState::SlowStart)
            && self.unsent() > 0
            && flight + self.unsent() >= window
            && !self.will_wait_for_quantum(now, flight, window)
    }

    /// Sequence numbers that have left and are not acknowledged.
    #[inline(always)]
    pub(super) fn unacked_range(&self) -> Range<Seq> {
        Range::new(self.send.una(), self.send.nxt())
    }

    /// State, as recorders name it.
    pub fn state(&self) -> SenderState {
        match self.recovery.phase() {
            Phase::Recovery => SenderState::Recovery,
            Phase::Loss => SenderState::Loss,
            Phase::Open if self.congestion.in_slow_start() => SenderState::SlowStart,
            Phase::Open => SenderState::Avoidance,
        }
    }

    /// No loss episode is being repaired.
    pub fn is_open(&self) -> bool {
        self.recovery.is_open()
    }

    /// Something has left that is not acknowledged.
    #[inline]
    pub fn awaits_ack(&self) -> bool {
        self.send.una() < self.send.nxt()
    }

    /// True once the FIN has been acknowledged.
    pub fn finished(&self) -> bool {
        self.send.fin_sent() && self.board.is_empty()
    }

    /// Doublings of the retransmission timeout.
    pub fn backoff(&self) -> u32 {
        self.timer.backoff()
    }

    /// Counters.
    pub fn stats(&self) -> SenderStats {
        self.activity.stats()
    }

    /// Peer's window as seen from snd_una.
    pub fn send_window(&self) -> Bytes {
        self.window.size(self.send.una())
    }

    /// The window was reduced since this was asked last; the next new segment says so (RFC 3168 section 6.1.2).
    pub fn take_window_reduced(&mut self) -> bool {
        self.marks.take_cwr()
    }

    /// Brings the view of this path for the controllers of siblings up to date.
    #[inline]
    pub fn show_path(&self, view: &mut PathView, coupled: bool) {
        // In recovery the inflated window would mislead the others.
        let recovers = self.recovery.phase() == Phase::Recovery;
        let cwnd = if recovers { self.congestion.ssthresh() } else { self.congestion.cwnd() };
        let srtt = self.rtt.srtt().map_or(0.0, Nanos::as_secs_f64);
        view.update(Bytes(cwnd).as_f64(), srtt, Bytes(self.send.mss()).as_f64(), coupled);
        self.congestion.show_shared(view);
    }

    /// Path state of the controller, see [`CongestionControl::gauges`].
    pub fn congestion_gauges(&self, paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        if let Some(queue) = self.congestion.dummies() {
            report("dummies_sent", queue.sent() as f64);
        }
        if self.congestion.capabilities().overdraft {
            // The limit of the flight may lie before the window.
            let beyond = self.right_edge().saturating_since(self.window.right());
            report("beyond_window_bytes", beyond.as_f64());
        }
        self.congestion.gauges(paths, report);
    }

    /// The parts agree with each other; each checks itself.
    #[inline]
    fn check(&self) {
        debug_assert_eq!(Bytes(self.board.outstanding()), self.send.nxt() - self.send.una());
        debug_assert_eq!(self.board.front().map_or(self.send.nxt(), |s| s.seq), self.send.una());
        debug_assert!(self.congestion.cwnd() >= self.send.mss(), "cwnd below one MSS");
        debug_assert!(
            self.board.is_empty() || self.timer.is_running() || self.policy.is_some(),
            "data is outstanding and no timer runs"
        );
        debug_assert!(!self.usual.is_open() || self.is_calm(), "the usual way is open during a repair");
    }
}
