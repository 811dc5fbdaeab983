//! TCP-ADaLR: adaptive delay and loss response. On long paths the window opens faster, the sender passes the advertised
//! window by a little, and recovery deflates less.
//!
//! Source: Omueti and Trajkovic, "TCP with adaptive delay and loss response for heterogeneous networks", WICON 2007.
//! Units: bytes and seconds. From each round-trip sample R, `rho = clamp(60 R / 1 s, 1, 60)`; all of it works only for
//! rho >= 15, that is from 250 ms on. flight is FlightSize after the ACK, rwnd the window that the ACK advertises.
//! Slow start: `sqrt(rho) / 4` segments per ACK while no loss is remembered and cwnd and flight are in one of the four
//! sub-phases; otherwise as Reno. Avoidance: `sqrt(rho) / 2` segments per round trip while flight < rwnd / 2 and at
//! least one SRTT after fast recovery; otherwise as Reno. The sender may fill `rwnd + rtt_dev_gain rho SMSS` while no
//! loss is remembered, `rwnd + SMSS` in fast recovery, otherwise rwnd; the rule rests while flight > rwnd. A partial ACK
//! of n bytes deflates the window of NewReno's recovery to `cwnd - n + 2 SMSS`, or to 2 SMSS if n is no less than it.
//! After a timeout the timer runs 0.2 s longer if the receiver delays ACKs. The rest is NewReno, over the recovery
//! that the profile names.
//! What the paper leaves open is decided by D-10 to D-19; the decisions are options.
//! Deviation: over SACK-based recovery there is no inflated window, and partial ACKs deflate nothing.
//! Deviation: a closed window is respected.
//! Deviation: a timeout is remembered as a loss, as fast recovery is.

use units::{Bytes, Nanos, OptionKind, OptionSpec, Options, SimTime};

use crate::reno::{MAX_WINDOW, Window, may_grow};
use crate::{Ack, Algorithm, CongestionControl, Loss, Paths, RecoveryAck, Setup, Wants};

const PER_RTT: &str = "per_rtt";
const PARTIAL: &str = "partial_ack";
const FULL: &str = "full_ack";
const ALWAYS: &str = "always";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "ca_mode",
        kind: OptionKind::Choice(&[PER_RTT, "per_ack"]),
        default: Some(PER_RTT),
        doc: "whether avoidance adds sqrt(rho) / 2 segments in each round trip or with each ACK",
    },
    OptionSpec {
        name: "floor_one",
        kind: OptionKind::Flag,
        default: Some("false"),
        doc: "slow start adds at least a segment per ACK, also for rho = 15",
    },
    OptionSpec {
        name: "loss_latch",
        kind: OptionKind::Flag,
        default: Some("false"),
        doc: "a loss is remembered for good, otherwise until a window without loss follows",
    },
    OptionSpec {
        name: "rtt_dev_gain",
        kind: OptionKind::Number { min: 0.0, max: 10.0 },
        default: Some("0.25"),
        doc: "rho times so many segments may be sent beyond the advertised window",
    },
    OptionSpec {
        name: "algorithm_3",
        kind: OptionKind::Choice(&[PARTIAL, FULL, "off"]),
        default: Some(PARTIAL),
        doc: "which ACKs deflate the window in recovery: partial ones, or the one that ends it as printed",
    },
    OptionSpec {
        name: "rto_margin",
        kind: OptionKind::Duration,
        default: Some("200ms"),
        doc: "added to the retransmission timer if the receiver delays ACKs",
    },
    OptionSpec {
        name: "rto_margin_when",
        kind: OptionKind::Choice(&["after_timeout", ALWAYS]),
        default: Some("after_timeout"),
        doc: "whether the margin is for a timer that is set after a timeout, or for each",
    },
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "adalr",
    summary: "TCP-ADaLR: on long paths faster growth and a little more than the advertised window",
    source: "Omueti and Trajkovic, WICON 2007",
    notes: "sends beyond the advertised window: the receiver needs a buffer larger than that",
    options: OPTIONS,
    build: |setup: &Setup, options: &Options| Box::new(Adalr::new(setup, AdalrConfig::from_options(options))),
};

/// rho per second of round-trip time, and its bounds.
const RHO_PER_SECOND: f64 = 60.0;
const RHO_BOUNDS: (f64, f64) = (1.0, 60.0);
/// Below it ADaLR is its base protocol.
const BREAKPOINT: f64 = 15.0;

/// When the window is deflated by Algorithm 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deflation {
    /// By partial ACKs (decision D-16).
    PartialAck,
    /// By the ACK that ends recovery, as printed.
    FullAck,
    /// Never.
    Off,
}

/// Parameters of TCP-ADaLR: its open points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdalrConfig {
    /// Avoidance adds its quantum with each ACK (decision D-10).
    pub avoidance_per_ack: bool,
    /// Slow start adds at least one segment (decision D-11).
    pub floor_one: bool,
    /// A loss is never forgotten (decision D-12).
    pub loss_latch: bool,
    /// Gain of the window beyond the advertised one (decision D-13).
    pub rtt_dev_gain: f64,
    /// Algorithm 3 (decision D-16).
    pub deflation: Deflation,
    /// Margin of the retransmission timer (decision D-18).
    pub rto_margin: Nanos,
    /// It is for each timer.
    pub rto_margin_always: bool,
}

impl AdalrConfig {
    /// From the options of the registry row.
    pub fn from_options(options: &Options) -> Self {
        Self {
            avoidance_per_ack: options.choice("ca_mode") != PER_RTT,
            floor_one: options.flag("floor_one"),
            loss_latch: options.flag("loss_latch"),
            rtt_dev_gain: options.number("rtt_dev_gain"),
            deflation: match options.choice("algorithm_3").as_str() {
                PARTIAL => Deflation::PartialAck,
                FULL => Deflation::FullAck,
                _ => Deflation::Off,
            },
            rto_margin: options.duration("rto_margin"),
            rto_margin_always: options.choice("rto_margin_when") == ALWAYS,
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
pub struct Adalr {
    window: Window,
    config: AdalrConfig,
    rho: f64,
    memory: Memory,
    /// End of the last fast recovery.
    recovered_at: Option<SimTime>,
    /// What the sender may fill, and what was advertised with the last ACK; bytes.
    effective: f64,
    advertised: f64,
}

impl Adalr {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, config: AdalrConfig) -> Self {
        Self {
            window: Window::new(setup),
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
            self.rho = (RHO_PER_SECOND * rtt.as_secs_f64()).clamp(RHO_BOUNDS.0, RHO_BOUNDS.1);
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
        let (flight, rwnd) = (ack.flight.as_f64(), ack.rwnd.as_f64());
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
        } else if self.is_long() && flight < rwnd / 2.0 && !self.just_recovered(ack) {
            let share = if self.config.avoidance_per_ack {
                1.0
            } else {
                window.acked_in_avoidance(ack.acked) / window.cwnd
            };
            self.window.cwnd += self.avoidance_quantum() * self.window.mss * share;
        } else {
            self.window.avoid(ack.acked);
        }
        self.window.cwnd = self.window.cwnd.min(MAX_WINDOW.max(self.window.mss));
    }

    /// Fast recovery ended less than a round trip ago (decision D-19).
    fn just_recovered(&self, ack: &Ack) -> bool {
        self.recovered_at.is_some_and(|at| ack.now.since(at) < ack.srtt)
    }

    /// Algorithm 2. The base is what this ACK advertises (decision D-14); with more in flight than that nothing changes
    /// (decision D-17).
    fn extend_window(&mut self, ack: &Ack) {
        let rwnd = ack.rwnd.as_f64();
        self.advertised = rwnd;
        if !self.is_long() {
            self.effective = rwnd;
        } else if ack.flight <= ack.rwnd {
            self.effective = rwnd
                + match self.memory {
                    Memory::NoLoss => self.config.rtt_dev_gain * self.rho * self.window.mss,
                    Memory::Recover(recover) if ack.snd_una <= recover => self.window.mss,
                    _ => 0.0,
                };
        }
    }

    /// Algorithm 3: a window of recovery after an ACK of so many bytes.
    fn deflated(&self, window: f64, acked: f64) -> f64 {
        let two = 2.0 * self.window.mss;
        if window <= acked { two } else { window - acked + two }
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

impl CongestionControl for Adalr {
    fn wants(&self) -> Wants {
        Wants { beyond_window: true, rto_margin: true, ..Wants::default() }
    }

    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        self.measure(ack);
        if may_grow(ack) {
            self.grow(ack);
        }
        self.extend_window(ack);
    }

    fn on_enter_recovery(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.memory = Memory::Recover(loss.snd_nxt);
        self.window.halve(loss);
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        self.extend_window(ack);
    }

    fn on_exit_recovery(&mut self, now: SimTime) {
        self.recovered_at = Some(now);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.memory = Memory::Recover(loss.snd_nxt);
        self.window.time_out(loss, loss.flight.as_f64() / 2.0);
    }

    fn recovery_window(&self, window: Bytes, ack: RecoveryAck) -> Option<Bytes> {
        let applies = match self.config.deflation {
            Deflation::PartialAck => ack.inflated && !ack.full,
            Deflation::FullAck => ack.full,
            Deflation::Off => false,
        };
        applies.then(|| Bytes(self.deflated(window.as_f64(), ack.acked.as_f64()) as u64))
    }

    /// Nothing into a closed window: what is thrown away there would look like a dead path.
    fn beyond_window(&self) -> Bytes {
        if self.advertised <= 0.0 {
            return Bytes::ZERO;
        }
        Bytes((self.effective - self.advertised).max(0.0) as u64)
    }

    fn rto_margin(&self, after_timeout: bool) -> Nanos {
        if after_timeout || self.config.rto_margin_always { self.config.rto_margin } else { Nanos::ZERO }
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        report("rho", self.rho);
        report("beyond_window_bytes", self.beyond_window().as_f64());
    }

    crate::reno::window_methods!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ALONE, ack, close, loss, setup_with};
    use crate::{Growth, NewReno};

    const MSS: f64 = 1460.0;
    const PER_ACK: Growth = Growth { slow_start_limit: 1, byte_counting: false };

    fn config() -> AdalrConfig {
        AdalrConfig::from_options(&Options::defaults(OPTIONS))
    }

    fn adalr(window: u64, config: AdalrConfig) -> Adalr {
        Adalr::new(&setup_with(1460, window, 65_535, PER_ACK), config)
    }

    /// An ACK of a segment with this sample and flight, and 65535 bytes advertised.
    fn at(rtt_ms: u64, flight: u64) -> Ack {
        let rtt = Nanos::from_millis(rtt_ms);
        let (flight, rwnd) = (Bytes(flight), Bytes(65_535));
        Ack { rtt: Some(rtt), srtt: rtt, flight, rwnd, snd_una: 1460, snd_nxt: 1460 + flight.0, ..ack(1460) }
    }

    #[test]
    fn ad_1_rho_quanta_and_window() {
        for (ms, rho) in [(10, 1.0), (250, 15.0), (500, 30.0), (600, 36.0), (1200, 60.0)] {
            let mut cc = adalr(2920, config());
            cc.on_ack(&at(ms, 2920), ALONE);
            close(cc.rho, rho, 1e-12);
        }
        for (rho, slow_start, avoidance, gain) in [
            (15.0, 1_413.638_921, 2_827.277_843, 5475.0),
            (30.0, 1_999.187_335, 3_998.374_670, 10_950.0),
            (36.0, 2190.0, 4380.0, 13_140.0),
            (60.0, 2_827.277_843, 5_654.555_685, 21_900.0),
        ] {
            let mut cc = adalr(2920, config());
            cc.on_ack(&at((rho / 0.06_f64).round() as u64, 2920), ALONE);
            close(cc.window.cwnd, 2920.0 + slow_start, 1e-9);
            close(cc.avoidance_quantum() * MSS, avoidance, 1e-9);
            close(cc.effective, 65_535.0 + gain, 1e-9);
            assert_eq!(cc.beyond_window(), Bytes(gain as u64));
        }
    }

    #[test]
    fn ad_2_sub_phases() {
        for (cwnd, flight, expected) in [
            (8000.0, 8000.0, Some(1)),
            (20_000.0, 10_000.0, Some(2)),
            (20_000.0, 20_000.0, Some(3)),
            (40_000.0, 20_000.0, Some(4)),
            (40_000.0, 10_000.0, None),
            (10_000.0, 17_000.0, None),
            (50_000.0, 50_000.0, None),
        ] {
            assert_eq!(sub_phase(cwnd, flight, 65_536.0, 65_535.0), expected, "{cwnd} {flight}");
        }
    }

    #[test]
    fn ad_3_deflation() {
        let cc = adalr(8760, config());
        close(cc.deflated(8760.0, 2920.0), 8760.0, 0.0);
        close(cc.deflated(8760.0, 10_220.0), 2920.0, 0.0);
        let partial = |acked| RecoveryAck { acked: Bytes(acked), full: false, inflated: true };
        assert_eq!(cc.recovery_window(Bytes(8760), partial(2920)), Some(Bytes(8760)));
        let over_sack = RecoveryAck { inflated: false, ..partial(2920) };
        assert_eq!(cc.recovery_window(Bytes(8760), over_sack), None);
        let full = RecoveryAck { full: true, ..partial(10_220) };
        assert_eq!(cc.recovery_window(Bytes(8760), full), None);
        let literal = adalr(8760, AdalrConfig { deflation: Deflation::FullAck, ..config() });
        assert_eq!(literal.recovery_window(Bytes(8760), full), Some(Bytes(2920)));
        assert_eq!(literal.recovery_window(Bytes(8760), partial(2920)), None);
        let off = adalr(8760, AdalrConfig { deflation: Deflation::Off, ..config() });
        assert_eq!(off.recovery_window(Bytes(8760), full), None);
    }

    #[test]
    fn avoidance_adds_its_quantum_per_round_trip_or_per_ack_while_the_flight_is_small() {
        let growth = |config, flight| {
            let mut cc = adalr(73_000, config);
            cc.on_ack(&at(600, flight), ALONE);
            cc.window.cwnd - 73_000.0
        };
        close(growth(config(), 30_000), 4380.0 * 1460.0 / 73_000.0, 1e-9);
        close(growth(AdalrConfig { avoidance_per_ack: true, ..config() }, 30_000), 4380.0, 1e-9);
        close(growth(config(), 40_000), 1460.0 * 1460.0 / 73_000.0, 1e-9);
        let mut cc = adalr(73_000, config());
        cc.on_exit_recovery(SimTime::ZERO);
        cc.on_ack(&Ack { now: SimTime::from_millis(599), ..at(600, 30_000) }, ALONE);
        close(cc.window.cwnd - 73_000.0, 29.2, 1e-9);
        cc.on_ack(&Ack { now: SimTime::from_millis(600), ..at(600, 30_000) }, ALONE);
        assert!(cc.window.cwnd > 73_100.0, "a round trip has passed");
    }

    #[test]
    fn the_floor_of_slow_start_is_an_option() {
        let growth = |config| {
            let mut cc = adalr(2920, config);
            cc.on_ack(&at(250, 2920), ALONE);
            cc.window.cwnd - 2920.0
        };
        close(growth(config()), 1_413.638_921, 1e-9);
        close(growth(AdalrConfig { floor_one: true, ..config() }), 1460.0, 0.0);
    }

    #[test]
    fn a_loss_is_forgotten_after_a_window_without_one_unless_it_is_latched() {
        for latch in [false, true] {
            let mut cc = adalr(14_600, AdalrConfig { loss_latch: latch, ..config() });
            let ack = |una, nxt| Ack { snd_una: una, snd_nxt: nxt, ..at(600, nxt - una) };
            cc.on_ack(&ack(1, 14_601), ALONE);
            assert_eq!(cc.beyond_window(), Bytes(13_140));
            cc.on_enter_recovery(&Loss { snd_nxt: 20_000, ..loss(14_600) }, ALONE);
            cc.on_recovery_ack(&ack(10_000, 20_000));
            assert_eq!(cc.beyond_window(), Bytes(1460), "one segment in fast recovery");
            cc.on_exit_recovery(SimTime::ZERO);
            cc.on_ack(&ack(20_001, 27_000), ALONE);
            assert_eq!(cc.beyond_window(), Bytes(0));
            cc.on_ack(&ack(26_999, 34_000), ALONE);
            assert_eq!(cc.beyond_window(), Bytes(0));
            cc.on_ack(&ack(27_000, 34_000), ALONE);
            assert_eq!(cc.beyond_window(), Bytes(if latch { 0 } else { 13_140 }));
        }
    }

    #[test]
    fn with_more_in_flight_than_advertised_the_window_stays() {
        let mut cc = adalr(100_000, config());
        cc.on_ack(&at(600, 65_535), ALONE);
        assert_eq!(cc.beyond_window(), Bytes(13_140));
        cc.on_ack(&at(500, 70_000), ALONE);
        assert_eq!(cc.beyond_window(), Bytes(13_140));
        cc.on_ack(&at(100, 70_000), ALONE);
        assert_eq!(cc.beyond_window(), Bytes(0), "a short path is left alone");
    }

    #[test]
    fn the_margin_of_the_timer_is_for_timeouts_or_for_all() {
        let cc = adalr(2920, config());
        assert_eq!((cc.rto_margin(true), cc.rto_margin(false)), (Nanos::from_millis(200), Nanos::ZERO));
        let always = adalr(2920, AdalrConfig { rto_margin_always: true, ..config() });
        assert_eq!(always.rto_margin(false), Nanos::from_millis(200));
    }

    #[test]
    fn on_a_short_path_it_is_newreno() {
        let mut cc = adalr(2920, config());
        let mut reno = NewReno::new(&setup_with(1460, 2920, 65_535, PER_ACK));
        let both: [&mut dyn CongestionControl; 2] = [&mut cc, &mut reno];
        for one in both {
            (0..100).for_each(|_| one.on_ack(&at(249, 2920), ALONE));
            one.on_enter_recovery(&loss(40_000), ALONE);
            one.on_exit_recovery(SimTime::ZERO);
            (0..100).for_each(|_| one.on_ack(&at(100, 2920), ALONE));
            one.on_rto(&loss(30_000), ALONE);
        }
        assert_eq!(format!("{:?}", cc.window), format!("{:?}", reno.window));
    }
}
