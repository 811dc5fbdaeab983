//! TCP-ADaLR: adaptive delay and loss response. On long paths the window opens faster, the sender passes the advertised
//! window by a little, and recovery deflates less.
//!
//! Source: Omueti and Trajkovic, "TCP with adaptive delay and loss response for heterogeneous networks", WICON 2007.
//! Units: bytes and seconds. From each round-trip sample R, `rho = clamp(60 R / 1 s, 1, 60)`; all of it works only for
//! rho >= 15, that is from 250 ms on. flight is FlightSize after the ACK, rwnd the window that the ACK advertises.
//! Slow start: `sqrt(rho) / 4` segments per ACK while no loss is remembered and cwnd and flight are in one of the four
//! sub-phases; otherwise as Reno. Avoidance: `sqrt(rho) / 2` segments per round trip while flight < rwnd / 2 and at
//! least one SRTT after fast recovery; otherwise as Reno. The sender may fill `rwnd + rtt_dev_gain rho SMSS` while no
//! loss is remembered, `rwnd + SMSS` in fast recovery, otherwise rwnd; the rule does not apply while flight > rwnd. A partial ACK
//! of n bytes deflates the window of NewReno's recovery to `cwnd - n + 2 SMSS`, or to 2 SMSS if n is no less than it.
//! After a timeout the timer runs 0.2 s longer if the receiver delays ACKs. The rest is NewReno, over the recovery
//! that the profile names.
//! Open points of the paper are decided by D-10 to D-19; the decisions are options, D-15 is the receiver's buffer.
//! Deviation: over SACK-based recovery there is no inflated window, and partial ACKs deflate nothing.
//! Deviation: a closed window is respected.
//! Deviation: a timeout is remembered as a loss, as fast recovery is.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use crate::reno::{MAX_WINDOW, RenoWindow, may_grow};
use crate::{
    Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Paths, RecoveryAck, RecoveryHooks, RtoTimer,
    Setup, WindowOverdraft,
};

const PER_RTT: &str = "per_rtt";
const PER_RTT_AS_BASE: &str = "per_rtt_as_base";
const PARTIAL: &str = "partial_ack";
const FULL: &str = "full_ack";
const ALWAYS: &str = "always";
const ADVERTISED: &str = "advertised";
const FLIGHT: &str = "flight";
const LITERAL: &str = "literal";
const AFTER_ACK: &str = "after_ack";
const ROUND_TRIP: &str = "round_trip";
const ONE_ACK: &str = "one_ack";
const DELAYED_ACKS: &str = "delayed_acks";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "ca_mode",
        OptionKind::Choice(&[PER_RTT, PER_RTT_AS_BASE, "per_ack"]),
        PER_RTT,
        "avoidance adds sqrt(rho) / 2 segments in each round trip, or counted as the base protocol counts, \
              which may be by ACKs, or with each ACK",
    ),
    OptionSpec::new(
        "floor_one",
        OptionKind::Flag,
        "false",
        "slow start adds at least a segment per ACK, also for rho = 15",
    ),
    OptionSpec::new(
        "loss_latch",
        OptionKind::Flag,
        "false",
        "a loss is remembered to the end, otherwise until a window without loss follows",
    ),
    OptionSpec::new(
        "rtt_dev_gain",
        OptionKind::Number { min: 0.0, max: 10.0 },
        "0.25",
        "segments per rho that may be sent beyond the advertised window",
    ),
    OptionSpec::new(
        "rtt_granularity",
        OptionKind::Duration,
        "0s",
        "rho is that of the round-trip sample rounded up to a multiple of this; 0s: of the sample as it is",
    ),
    OptionSpec::new(
        "algorithm_3",
        OptionKind::Choice(&[PARTIAL, FULL, "off"]),
        PARTIAL,
        "which ACKs deflate the window in recovery: partial ones, or the one that ends it as printed",
    ),
    OptionSpec::new("rto_margin", OptionKind::Duration, "200ms", "added to the retransmission timer"),
    OptionSpec::new(
        "rwnd_base",
        OptionKind::Choice(&[ADVERTISED, "running"]),
        ADVERTISED,
        "what the window beyond the advertised one is added to: what the ACK advertises, or the sum so far",
    ),
    OptionSpec::new(
        "guard",
        OptionKind::Choice(&[FLIGHT, "off", LITERAL]),
        FLIGHT,
        "when that window is not used: with more in flight than rwnd, never, or as printed also while cwnd = ssthresh",
    ),
    OptionSpec::new(
        "flight",
        OptionKind::Choice(&[AFTER_ACK, "before_ack"]),
        AFTER_ACK,
        "whether FlightSize is taken after or before the ACK is processed",
    ),
    OptionSpec::new(
        "after_recovery",
        OptionKind::Choice(&[ROUND_TRIP, ONE_ACK, "nothing"]),
        ROUND_TRIP,
        "how long avoidance is that of newreno after fast recovery: an SRTT, one ACK, not at all",
    ),
    OptionSpec::new(
        "rto_margin_for",
        OptionKind::Choice(&[DELAYED_ACKS, "any_receiver"]),
        DELAYED_ACKS,
        "whether the margin is only for receivers that delay ACKs",
    ),
    OptionSpec::new(
        "rto_margin_when",
        OptionKind::Choice(&["after_timeout", ALWAYS]),
        "after_timeout",
        "whether the margin is for a timer that is set after a timeout, or for each",
    ),
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "adalr",
    summary: "TCP-ADaLR: on long paths faster growth and a little more than the advertised window",
    source: "Omueti and Trajkovic, WICON 2007",
    notes: "sends beyond the advertised window: the receiver needs a buffer larger than that",
    options: OPTIONS,
    check: registry::independent,
    build: |setup: &Setup, options: &Options| Box::new(Adalr::new(setup, AdalrConfig::from_options(options))),
};

/// rho per second of round-trip time, and its bounds.
const RHO_PER_SECOND: f64 = 60.0;
const RHO_BOUNDS: (f64, f64) = (1.0, 60.0);
/// Below it ADaLR is its base protocol.
const BREAKPOINT: f64 = 15.0;

/// When the window is deflated by Algorithm 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deflation {
    /// By partial ACKs (choice D-16).
    PartialAck,
    /// By the ACK that ends recovery, as printed.
    FullAck,
    /// Never.
    Off,
}

/// When the window beyond the advertised one is not used (choice D-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// While more than rwnd is in flight.
    Flight,
    /// Never.
    Off,
    /// While more than rwnd is in flight, and, as printed, while cwnd equals ssthresh.
    Literal,
}

/// How long avoidance is that of the base protocol after fast recovery (choice D-19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// A smoothed round-trip time.
    RoundTrip,
    /// One ACK.
    OneAck,
    /// Not at all.
    Nothing,
}

/// How often avoidance adds its quantum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Avoidance {
    /// Once for each window of acknowledged bytes.
    RoundTrip,
    /// Counted as the base protocol counts: where that is by ACKs, delayed ones make it slower.
    AsBase,
    /// With each ACK.
    EachAck,
}

/// Parameters of TCP-ADaLR: its open points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AdalrConfig {
    /// How often avoidance adds its quantum (choice D-10).
    pub avoidance: Avoidance,
    /// Slow start adds at least one segment (choice D-11).
    pub floor_one: bool,
    /// A loss is never forgotten (choice D-12).
    pub loss_latch: bool,
    /// Gain of the window beyond the advertised one (choice D-13).
    pub rtt_dev_gain: f64,
    /// Clock that the samples behind rho are read from; zero: an exact one.
    pub rtt_granularity: Nanos,
    /// Algorithm 3 (choice D-16).
    pub deflation: Deflation,
    /// Margin of the retransmission timer (choice D-18).
    pub rto_margin: Nanos,
    /// It is for each timer.
    pub rto_margin_always: bool,
    /// It is for receivers that acknowledge each segment, too.
    pub rto_margin_any_receiver: bool,
    /// rwnd is the sum so far and not what the ACK advertises (choice D-14).
    pub running_base: bool,
    /// When the rule of the window does not apply.
    pub guard: Guard,
    /// FlightSize is that before the ACK (choice D-19).
    pub flight_before: bool,
    /// Meaning of "immediately after fast recovery".
    pub after_recovery: Pause,
}

impl AdalrConfig {
    /// From the options of the registry row.
    pub fn from_options(options: &Options) -> Self {
        Self {
            avoidance: match options.choice("ca_mode").as_str() {
                PER_RTT => Avoidance::RoundTrip,
                PER_RTT_AS_BASE => Avoidance::AsBase,
                _ => Avoidance::EachAck,
            },
            floor_one: options.flag("floor_one"),
            loss_latch: options.flag("loss_latch"),
            rtt_dev_gain: options.number("rtt_dev_gain"),
            rtt_granularity: options.duration("rtt_granularity"),
            deflation: match options.choice("algorithm_3").as_str() {
                PARTIAL => Deflation::PartialAck,
                FULL => Deflation::FullAck,
                _ => Deflation::Off,
            },
            rto_margin: options.duration("rto_margin"),
            rto_margin_always: options.choice("rto_margin_when") == ALWAYS,
            rto_margin_any_receiver: options.choice("rto_margin_for") != DELAYED_ACKS,
            running_base: options.choice("rwnd_base") != ADVERTISED,
            guard: match options.choice("guard").as_str() {
                FLIGHT => Guard::Flight,
                LITERAL => Guard::Literal,
                _ => Guard::Off,
            },
            flight_before: options.choice("flight") != AFTER_ACK,
            after_recovery: match options.choice("after_recovery").as_str() {
                ROUND_TRIP => Pause::RoundTrip,
                ONE_ACK => Pause::OneAck,
                _ => Pause::Nothing,
            },
        }
    }
}

/// The last loss that is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// snd_recover = 0.
    NoLoss,
    /// snd_recover: what had been sent.
    Recover(u64),
    /// Acknowledged beyond snd_recover; forgotten when this is acknowledged, too.
    Until(u64),
}

/// TCP-ADaLR on one path.
#[derive(Clone, Debug)]
pub(crate) struct Adalr {
    window: RenoWindow,
    config: AdalrConfig,
    rho: f64,
    memory: Memory,
    /// End of the last fast recovery.
    recovered_at: Option<SimTime>,
    /// Window that the sender may fill, and the one that the last ACK advertised; bytes.
    effective: f64,
    advertised: f64,
}

impl Adalr {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, config: AdalrConfig) -> Self {
        Self {
            window: RenoWindow::new(setup),
            config,
            rho: RHO_BOUNDS.0,
            memory: Memory::NoLoss,
            recovered_at: None,
            effective: 0.0,
            advertised: 0.0,
        }
    }

    fn is_long(&self) -> bool {
        self.rho >= BREAKPOINT
    }

    fn measure(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let read = Nanos(rtt.0.next_multiple_of(self.config.rtt_granularity.0.max(1)));
            self.rho = (RHO_PER_SECOND * read.as_secs_f64()).clamp(RHO_BOUNDS.0, RHO_BOUNDS.1);
        }
        match self.memory {
            Memory::Recover(recover) if ack.snd_una > recover && !self.config.loss_latch => {
                self.memory = Memory::Until(ack.snd_nxt);
            }
            Memory::Until(end) if ack.snd_una >= end => self.memory = Memory::NoLoss,
            _ => {}
        }
    }

    /// Segments that an ACK adds in slow start.
    fn slow_start_quantum(&self) -> f64 {
        let quantum = self.rho.sqrt() / 4.0;
        if self.config.floor_one { quantum.max(1.0) } else { quantum }
    }

    /// Segments that a round trip, or an ACK, adds in avoidance.
    fn avoidance_quantum(&self) -> f64 {
        self.rho.sqrt() / 2.0
    }

    fn grow(&mut self, ack: &Ack) {
        let (flight, rwnd) = (self.flight(ack), self.rwnd(ack));
        let paused = self.just_recovered(ack);
        let window = &self.window;
        if window.in_slow_start() {
            let eased = self.is_long()
                && self.memory == Memory::NoLoss
                && sub_phase(window.cwnd, flight, window.ssthresh, rwnd).is_some();
            if eased {
                self.window.cwnd += self.slow_start_quantum() * self.window.mss;
            } else {
                self.window.slow_start(ack.acked);
            }
        } else if self.is_long() && flight < rwnd / 2.0 && !paused {
            let share = match self.config.avoidance {
                Avoidance::RoundTrip => window.acked_in_avoidance(ack.acked) / window.cwnd,
                Avoidance::AsBase => window.counted(ack.acked) / window.cwnd,
                Avoidance::EachAck => 1.0,
            };
            self.window.cwnd += self.avoidance_quantum() * self.window.mss * share;
        } else {
            self.window.avoid(ack.acked);
        }
        self.window.cwnd = self.window.cwnd.min(MAX_WINDOW.max(self.window.mss));
    }

    /// FlightSize as the rules see it (choice D-19).
    fn flight(&self, ack: &Ack) -> f64 {
        if self.config.flight_before { ack.flight_before.as_f64() } else { ack.flight.as_f64() }
    }

    /// rwnd as the rules see it (choice D-14). The sum so far ends at the largest window of TCP.
    fn rwnd(&self, ack: &Ack) -> f64 {
        let advertised = ack.rwnd.as_f64();
        if self.config.running_base { self.effective.min(MAX_WINDOW).max(advertised) } else { advertised }
    }

    /// Fast recovery has only just ended (choice D-19).
    fn just_recovered(&mut self, ack: &Ack) -> bool {
        match self.config.after_recovery {
            Pause::RoundTrip => self.recovered_at.is_some_and(|at| ack.now.since(at) < ack.srtt),
            Pause::OneAck => self.recovered_at.take().is_some(),
            Pause::Nothing => false,
        }
    }

    /// Algorithm 2 (decisions D-14 and D-17).
    fn extend_window(&mut self, ack: &Ack) {
        let rwnd = self.rwnd(ack);
        let suspended = match self.config.guard {
            Guard::Flight => self.flight(ack) > rwnd,
            Guard::Off => false,
            Guard::Literal => self.flight(ack) > rwnd || self.is_at_threshold(),
        };
        self.advertised = ack.rwnd.as_f64();
        if !self.is_long() {
            self.effective = self.advertised;
        } else if !suspended {
            self.effective = rwnd
                + match self.memory {
                    Memory::NoLoss => self.config.rtt_dev_gain * self.rho * self.window.mss,
                    Memory::Recover(recover) if ack.snd_una <= recover => self.window.mss,
                    _ => 0.0,
                };
        }
    }

    fn check(&self) {
        self.window.check();
        debug_assert!(
            (RHO_BOUNDS.0..=RHO_BOUNDS.1).contains(&self.rho),
            "rho {} outside {RHO_BOUNDS:?}",
            self.rho
        );
        debug_assert!(
            self.is_long() || self.effective <= self.advertised,
            "below the breakpoint the advertised window {} binds, not {}",
            self.advertised,
            self.effective
        );
        debug_assert!(
            !self.config.loss_latch || !matches!(self.memory, Memory::Until(_)),
            "a loss that is never forgotten: {:?}",
            self.memory
        );
    }

    fn is_at_threshold(&self) -> bool {
        let shown = self.window.shown();
        shown.cwnd == shown.ssthresh
    }

    /// Algorithm 3: `window` during recovery after an ACK of `acked` bytes.
    fn deflated(&self, window: f64, acked: f64) -> f64 {
        let two = 2.0 * self.window.mss;
        let deflated = if window <= acked { two } else { window - acked + two };
        debug_assert!(deflated >= two && deflated <= window + two, "{window} deflated to {deflated}");
        deflated
    }
}

/// Algorithm 1: the sub-phase of slow start, by cwnd and flight; later rules go before earlier ones.
fn sub_phase(cwnd: f64, flight: f64, ssthresh: f64, rwnd: f64) -> Option<u8> {
    let (small, medium) = (flight < rwnd / 4.0, flight >= rwnd / 4.0 && flight < rwnd / 2.0);
    let mut phase = None;
    if cwnd <= ssthresh / 4.0 && small {
        phase = Some(1);
    }
    if cwnd > ssthresh / 4.0 && cwnd <= ssthresh / 2.0 && small {
        phase = Some(2);
    }
    if cwnd > ssthresh / 4.0 && medium {
        phase = Some(3);
    }
    if cwnd > ssthresh / 2.0 && medium {
        phase = Some(4);
    }
    phase
}

impl Extensions for Adalr {
    fn needs(&self) -> Needs {
        Needs { tcp_sender: true, ..Needs::default() }
    }

    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }

    fn overdraft(&self) -> Option<&dyn WindowOverdraft> {
        Some(self)
    }
}

impl CongestionControl for Adalr {
    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        self.measure(ack);
        if may_grow(ack) {
            self.grow(ack);
        }
        self.extend_window(ack);
        self.check();
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.memory = Memory::Recover(loss.snd_nxt);
        self.window.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.memory = Memory::Recover(loss.snd_nxt);
        let half = self.window.half(loss);
        self.window.time_out(loss, half);
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        report("rho", self.rho);
    }

    crate::reno::window_methods!();
}

impl WindowOverdraft for Adalr {
    /// Nothing into a closed window: the receiver would discard it, and the losses would look like a dead path.
    fn beyond_window(&self) -> Bytes {
        if self.advertised <= 0.0 {
            return Bytes::ZERO;
        }
        Bytes((self.effective - self.advertised).max(0.0) as u64)
    }

    fn recovery_window(&self, window: Bytes, ack: RecoveryAck) -> Option<Bytes> {
        let applies = match self.config.deflation {
            Deflation::PartialAck => ack.inflated && !ack.full,
            Deflation::FullAck => ack.full,
            Deflation::Off => false,
        };
        applies.then(|| Bytes(self.deflated(window.as_f64(), ack.acked.as_f64()) as u64))
    }

    fn rto_margin(&self, timer: RtoTimer) -> Nanos {
        let config = &self.config;
        let applies = (timer.after_timeout || config.rto_margin_always)
            && (timer.acks_are_delayed || config.rto_margin_any_receiver);
        if applies { config.rto_margin } else { Nanos::ZERO }
    }
}

impl RecoveryHooks for Adalr {
    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        self.extend_window(ack);
    }

    fn on_exit_recovery(&mut self, now: SimTime) {
        self.recovered_at = Some(now);
    }
}

#[cfg(test)]
mod tests;
