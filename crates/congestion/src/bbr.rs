//! BBR version 1: paces at the estimated rate of the bottleneck with about one bandwidth-delay product in flight; loss
//! is no sign of congestion.
//!
//! Source: Cardwell et al., "BBR: congestion-based congestion control", ACM Queue 14(5), 2016; Linux `tcp_bbr.c`.
//! Units: bytes, seconds, bytes per second. bw is the largest delivery rate of ten rounds, min_rtt the smallest round
//! trip of ten seconds. Segments leave at `0.99 * gain * bw`; the window is `gain * bw * min_rtt` in whole segments and
//! three more, rounded up to an even number, at least four.
//! STARTUP (both gains 2.885) until bw has grown by less than a quarter in three rounds; DRAIN (pacing gain 1 / 2.885)
//! until no more than the product is in flight; PROBE_BW with window gain 2 and the pacing gains 1.25, 0.75, 1, 1, 1,
//! 1, 1, 1 for about min_rtt each; PROBE_RTT with four segments for 200 ms and a round when min_rtt has not been seen
//! for ten seconds. In the first round of a loss episode as much is sent as is delivered; after it the window grows by
//! what is delivered up to its target, at the end it is at least that of before. A timeout leaves one segment.
//! Rates of segments sent while data was short, or in PROBE_RTT, count only if they are larger than bw.
//! Deviation: PROBE_BW begins with a phase drawn from the clock, as controllers have no random numbers; like the random
//! one it is never that of 0.75.
//! With segmentation offload (Linux) there is room for three send quanta, of what leaves in a 1024th of a second and two segments at least, and for
//! the ACKs of several segments at once (`aggregation.rs`), and the rate of a policer is kept to (`policer.rs`).
//! Deviation: segments are paced one by one.

mod aggregation;
mod episode;
mod filter;
mod full_pipe;
mod policer;
mod rounds;
#[cfg(test)]
mod tests;

use registry::Options;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::reno::MAX_WINDOW;
use crate::{
    Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Pacing, Paths, RecoveryHooks, Restart, Setup,
    Window,
};

use aggregation::Aggregation;
use episode::{Conservation, Episode};
use filter::LargestOfRounds;
use full_pipe::FullPipe;
use policer::{Policer, Progress};
use rounds::DeliveryRounds;

pub(crate) const ROW: Algorithm = Algorithm {
    name: "bbr",
    summary: "version 1: paces at the estimated rate of the bottleneck, one bandwidth-delay product in flight",
    source: "Linux tcp_bbr.c; Cardwell et al., ACM Queue 14(5), 2016",
    notes: "paces; not coupled; blind to loss and to marks",
    options: &[],
    check: registry::independent,
    build: |setup: &Setup, _: &Options| Box::new(Bbr::new(setup)),
};

/// 2 / ln 2: the smallest gain that doubles the rate in each round.
const HIGH_GAIN: f64 = 2.885;
/// Window gain of PROBE_BW: room for ACKs that come late.
const WINDOW_GAIN: f64 = 2.0;
/// Pacing gains of PROBE_BW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Paced a little below bw, so that queues do not build up.
const MARGIN: f64 = 0.99;
/// Rounds over which the largest delivery rate counts.
const BW_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(10);
const PROBE_RTT_TIME: Nanos = Nanos::from_millis(200);
/// Window in segments of PROBE_RTT, and the least of all.
const MIN_WINDOW: f64 = 4.0;
/// Send quanta for which the window has room.
const QUANTA: f64 = 3.0;
/// Bytes per second from which on a send quantum has two segments at least.
const PAIRS_FROM: f64 = 1_200_000.0 / 8.0;
/// A send quantum is what leaves in this many seconds.
const QUANTUM_TIME: f64 = 1.0 / 1024.0;
/// Most segments of a send quantum.
const MAX_QUANTUM: f64 = 127.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw {
        /// Place in the cycle of gains.
        phase: usize,
        since: SimTime,
    },
    ProbeRtt {
        /// When it ends at the earliest, one round is waited for too; `None` until at most four segments are in flight.
        until: Option<SimTime>,
        round_done: bool,
    },
}

/// BBR on one path.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    mss: f64,
    cwnd: f64,
    initial_window: f64,
    mode: Mode,
    bw: LargestOfRounds,
    /// Smallest round trip, and when it was seen last.
    min_rtt: Option<(Nanos, SimTime)>,
    rounds: DeliveryRounds,
    pipe: FullPipe,
    pacing_rate: f64,
    episode: Episode,
    /// Bytes deemed lost so far.
    lost: u64,
    /// Rates of segments sent up to here are low because of PROBE_RTT.
    quiet_until: u64,
    /// With segmentation offload: ACKs of several segments are allowed for.
    aggregation: Option<Aggregation>,
    /// The same: the rate of a policer.
    policer: Option<Policer>,
}

impl Bbr {
    /// For a path that was just set up.
    pub fn new(setup: &Setup) -> Self {
        let mss = setup.mss.as_f64();
        let initial_window = setup.initial_window.as_f64().max(mss);
        let mut bbr = Self {
            mss,
            cwnd: initial_window,
            initial_window,
            mode: Mode::Startup,
            bw: LargestOfRounds::new(BW_ROUNDS),
            min_rtt: None,
            rounds: DeliveryRounds::default(),
            pipe: FullPipe::default(),
            pacing_rate: 0.0,
            episode: Episode::default(),
            lost: 0,
            quiet_until: 0,
            aggregation: setup.offload.then(|| Aggregation::new(mss)),
            policer: setup.offload.then(Policer::default),
        };
        bbr.start_pacing(Nanos::from_millis(1));
        bbr
    }

    /// Before a rate is known: the initial window per round trip.
    fn start_pacing(&mut self, rtt: Nanos) {
        self.pacing_rate = HIGH_GAIN * self.initial_window / rtt.max(Nanos(1)).as_secs_f64();
    }

    fn policed_rate(&self) -> Option<f64> {
        self.policer.as_ref().and_then(Policer::rate)
    }

    /// The estimated rate of the bottleneck, 0 if it is unknown.
    fn rate(&self) -> f64 {
        self.policed_rate().unwrap_or_else(|| self.bw.get())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw { .. } if self.policed_rate().is_some() => 1.0,
            Mode::ProbeBw { phase, .. } => CYCLE[phase],
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw { .. } => WINDOW_GAIN,
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    /// `gain` bandwidth-delay products in whole segments, rounded up; the initial window while nothing is known.
    fn product(&self, gain: f64) -> f64 {
        match self.min_rtt {
            Some((rtt, _)) if self.rate() > 0.0 => {
                (gain * self.rate() * rtt.as_secs_f64() / self.mss).ceil() * self.mss
            }
            _ => self.initial_window,
        }
    }

    /// The same with room for segments that wait to be paced and for delayed ACKs.
    fn target(&self, gain: f64) -> f64 {
        self.quantized(self.product(gain))
    }

    /// Segments that leave at once.
    ///
    /// Source: `bbr_tso_segs_goal`, `bbr_min_tso_segs`. The kernel counts with the MSS of plain TCP.
    fn send_quantum(&self) -> f64 {
        if self.aggregation.is_none() {
            return 1.0;
        }
        let least = if self.pacing_rate < PAIRS_FROM { 1.0 } else { 2.0 };
        (self.pacing_rate * QUANTUM_TIME / self.mss).floor().clamp(least, MAX_QUANTUM)
    }

    /// `bytes` with room for segments that wait to be paced and for delayed ACKs (`bbr_quantization_budget`).
    fn quantized(&self, bytes: f64) -> f64 {
        let segments = bytes / self.mss + QUANTA * self.send_quantum();
        let even = (segments / 2.0).ceil() * 2.0;
        // So that the pacing gain of 1.25 takes effect on short paths, too.
        let probing = if matches!(self.mode, Mode::ProbeBw { phase: 0, .. }) { 2.0 } else { 0.0 };
        ((even + probing) * self.mss).min(MAX_WINDOW)
    }

    /// For aggregated ACKs, once the pipe is full.
    fn allowance(&self) -> f64 {
        let aggregation = self.aggregation.as_ref().filter(|_| self.pipe.is_full());
        aggregation.map_or(0.0, |aggregation| aggregation.allowance(self.rate()))
    }

    fn look_for_policer(&mut self, now: SimTime, lossy: bool, app_limited: bool, round_start: bool) {
        let probing = matches!(self.mode, Mode::ProbeBw { .. });
        let (delivered, lost) = (self.rounds.delivered(), self.lost);
        let progress = Progress { now, delivered, lost, lossy, app_limited, round_start, probing };
        if self.policer.as_mut().is_some_and(|policer| policer.on_sample(&progress)) {
            self.probe_bandwidth(now);
        }
    }

    /// Takes in the delivery rate. True at the start of a round.
    fn measure_rate(&mut self, ack: &Ack, lossy: bool) -> bool {
        self.rounds.deliver(ack.delivered);
        let Some(sample) = ack.rate else { return false };
        let round_start = self.rounds.on_sample(&sample);
        if round_start {
            self.episode.on_round();
        }
        self.look_for_policer(ack.now, lossy, sample.app_limited, round_start);
        debug_assert!(sample.interval > Nanos::ZERO, "a rate over no time");
        let rate = sample.delivered.as_f64() / sample.interval.as_secs_f64();
        let low = sample.app_limited || sample.before.0 < self.quiet_until;
        if !low || rate >= self.bw.get() {
            self.bw.update(self.rounds.count(), rate);
        }
        let estimated = (self.rate(), self.cwnd);
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.on_sample(ack.now, sample.total, estimated, round_start);
        }
        if round_start && !low {
            self.pipe.judge(self.bw.get());
        }
        round_start
    }

    fn turn_cycle(&mut self, ack: &Ack, lossy: bool) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let min_rtt = self.min_rtt.map_or(Nanos::ZERO, |(rtt, _)| rtt);
        let long = ack.now.since(since) > min_rtt;
        let before = (ack.pipe + ack.delivered).as_f64();
        let over = match self.pacing_gain() {
            // Until the flight is that much above the estimated pipe, or packets are lost.
            gain if gain > 1.0 => long && (lossy || before >= self.target(gain)),
            // Until the queue is gone.
            gain if gain < 1.0 => long || before <= self.target(1.0),
            _ => long,
        };
        if over {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: ack.now };
        }
    }

    fn probe_bandwidth(&mut self, now: SimTime) {
        // SplitMix64's finaliser, as flows that start together must not probe together.
        let mut x = now.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let drawn = (x >> 32) as usize % (CYCLE.len() - 1);
        // 2 to 8: never the phase of 0.75.
        self.mode = Mode::ProbeBw { phase: (drawn + 2) % CYCLE.len(), since: now };
    }

    fn leave_startup(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.pipe.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && ack.pipe.as_f64() <= self.target(1.0) {
            self.probe_bandwidth(ack.now);
        }
    }

    fn measure_rtt(&mut self, ack: &Ack, round_start: bool) {
        let expired = self.min_rtt.is_some_and(|(_, seen)| ack.now.since(seen) > MIN_RTT_WINDOW);
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.max(Nanos(1));
            if self.min_rtt.is_none() {
                self.start_pacing(rtt);
            }
            if expired || self.min_rtt.is_none_or(|(min, _)| rtt <= min) {
                self.min_rtt = Some((rtt, ack.now));
            }
        }
        if expired && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.episode.save(self.cwnd, false);
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
        }
        if let Mode::ProbeRtt { until, round_done } = self.mode {
            self.quiet_until = self.rounds.delivered() + ack.pipe.0;
            self.probe_rtt(ack, until, round_done || (until.is_some() && round_start));
        }
    }

    fn probe_rtt(&mut self, ack: &Ack, until: Option<SimTime>, round_done: bool) {
        match until {
            None if ack.pipe.as_f64() <= MIN_WINDOW * self.mss => {
                self.rounds.restart();
                self.mode = Mode::ProbeRtt { until: Some(ack.now + PROBE_RTT_TIME), round_done: false };
            }
            Some(until) if round_done && ack.now > until => {
                if let Some((_, seen)) = &mut self.min_rtt {
                    *seen = ack.now;
                }
                self.cwnd = self.episode.restored(self.cwnd);
                if self.pipe.is_full() {
                    self.probe_bandwidth(ack.now);
                } else {
                    self.mode = Mode::Startup;
                }
            }
            _ => self.mode = Mode::ProbeRtt { until, round_done },
        }
    }

    fn is_probing_rtt(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain() * self.rate() * MARGIN;
        if self.pipe.is_full() || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn update_window(&mut self, ack: &Ack, lost: u64) {
        let delivered = ack.delivered.as_f64();
        if delivered > 0.0 {
            self.cwnd = (self.cwnd - lost as f64).max(self.mss);
            let conserved = ack.pipe.as_f64() + delivered;
            match self.episode.conservation() {
                Conservation::Begins => {
                    self.episode.conserve();
                    self.rounds.restart();
                    self.cwnd = conserved.max(self.mss);
                }
                Conservation::On => self.cwnd = self.cwnd.max(conserved),
                Conservation::Off => self.grow(delivered),
            }
        }
        if self.is_probing_rtt() {
            self.cwnd = self.cwnd.min(MIN_WINDOW * self.mss);
        }
        self.cwnd = self.cwnd.min(MAX_WINDOW.max(self.mss));
    }

    fn grow(&mut self, delivered: f64) {
        let target = self.quantized(self.product(self.window_gain()) + self.allowance());
        if self.pipe.is_full() {
            self.cwnd = (self.cwnd + delivered).min(target);
        } else if self.cwnd < target || (self.rounds.delivered() as f64) < self.initial_window {
            self.cwnd += delivered;
        }
        self.cwnd = self.cwnd.max(MIN_WINDOW * self.mss);
    }

    fn check(&self) {
        debug_assert!(
            self.cwnd >= self.mss && self.cwnd <= MAX_WINDOW.max(self.mss),
            "a window of {} with segments of {}",
            self.cwnd,
            self.mss
        );
        debug_assert!(
            self.pacing_rate >= 0.0 && self.pacing_rate.is_finite(),
            "paces at {}",
            self.pacing_rate
        );
        debug_assert!(self.min_rtt.is_none_or(|(rtt, _)| rtt > Nanos::ZERO), "no path has no round trip");
        let full = self.pipe.is_full();
        match self.mode {
            Mode::Startup => debug_assert!(!full, "STARTUP with a full pipe"),
            Mode::Drain => debug_assert!(full, "drains a pipe that was never full"),
            Mode::ProbeBw { phase, .. } => {
                debug_assert!(full && phase < CYCLE.len(), "phase {phase} of the cycle, full: {full}");
            }
            Mode::ProbeRtt { until, round_done } => {
                debug_assert!(
                    until.is_some() || !round_done,
                    "a round of PROBE_RTT before the pipe was empty"
                );
            }
        }
    }
}

impl Extensions for Bbr {
    fn needs(&self) -> Needs {
        Needs {
            rate_samples: true,
            whole_window: true,
            tcp_sender: true,
            third_window: true,
            ..Needs::default()
        }
    }

    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }

    fn pacing(&self) -> Option<&dyn Pacing> {
        Some(self)
    }
}

impl CongestionControl for Bbr {
    fn on_established(&mut self, now: SimTime, srtt: Option<Nanos>) {
        if let Some(srtt) = srtt {
            self.min_rtt = Some((srtt.max(Nanos(1)), now));
            self.start_pacing(srtt);
        }
    }

    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        let lost = ack.lost.0.saturating_sub(self.lost);
        self.lost = self.lost.max(ack.lost.0);
        let round_start = self.measure_rate(ack, lost > 0);
        self.turn_cycle(ack, lost > 0);
        self.leave_startup(ack);
        self.measure_rtt(ack, round_start);
        self.set_pacing_rate();
        self.update_window(ack, lost);
        self.check();
    }

    fn on_loss(&mut self, _loss: &Loss, _paths: Paths<'_>) {
        self.episode.save(self.cwnd, self.is_probing_rtt());
        self.episode.begin();
    }

    /// Version 1 does not respond to marks either.
    fn on_ecn(&mut self, _loss: &Loss, _paths: Paths<'_>) {}

    /// It is like the end of a round.
    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.episode.save(self.cwnd, self.is_probing_rtt());
        self.episode.end();
        self.pipe.forget_rate();
        self.look_for_policer(loss.now, true, false, true);
        self.cwnd = self.mss;
        self.check();
    }

    /// The pacer starts slowly by itself.
    fn on_idle_restart(&mut self, _now: SimTime, _restart: &Restart) {}

    /// It has no threshold.
    fn set_window(&mut self, cwnd: Bytes, _ssthresh: Option<Bytes>) {
        self.cwnd = cwnd.as_f64().clamp(self.mss, MAX_WINDOW.max(self.mss));
    }

    fn window(&self) -> Window {
        Window {
            cwnd: Bytes(self.cwnd as u64),
            ssthresh: Bytes::MAX,
            in_slow_start: self.mode == Mode::Startup,
        }
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        if self.rate() > 0.0 {
            report("bandwidth_bit_s", 8.0 * self.rate());
        }
        if let Some((rtt, _)) = self.min_rtt {
            report("base_rtt_s", rtt.as_secs_f64());
        }
        report("pacing_gain", self.pacing_gain());
        report("window_gain", self.window_gain());
    }
}

impl RecoveryHooks for Bbr {
    fn on_exit_recovery(&mut self, _now: SimTime) {
        self.cwnd = self.episode.restored(self.cwnd);
        self.episode.end();
        self.check();
    }
}

impl Pacing for Bbr {
    fn pacing_rate(&self) -> Option<BitsPerSecond> {
        Some(BitsPerSecond(((8.0 * self.pacing_rate) as u64).max(1)))
    }
}
