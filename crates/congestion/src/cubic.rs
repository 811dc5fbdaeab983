//! CUBIC: the window is a cubic function of the time since the last loss, hence almost independent of the
//! round-trip time.
//!
//! Source: RFC 9438 (fast convergence, timeout; growth in avoidance: `cubic/rfc9438.rs`); RFC 9406 for the optional HyStart++;
//! net/ipv4/tcp_cubic.c of Linux 6.x for growth and HyStart as Linux has them (`cubic/linux.rs`, `hystart_linux.rs`).
//! Units: segments and seconds inside the formulas, as printed; bytes at the surface.
//! A stage of congestion avoidance ends with a congestion event or a timeout, and also
//! when the window is cut from outside (idle restart, end of recovery, penalty): the next stage is drawn from there.
//! Deviation: where the sender takes back a reduction that proves spurious, it restores cwnd and ssthresh, but not `W_max` (section
//! 4.9.2).
//! Deviation: there is no separate reduction for ECN; a mark is a congestion event like a loss.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use crate::hystart::HyStart;
use crate::hystart_linux::{INFINITE, LinuxHyStart, Watched};
use crate::reno::{RenoWindow, may_grow};
use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Paths, Restart, Setup, Window};

mod linux;
mod rfc9438;

use linux::Acked;

const FROM_CWND: &str = "cwnd";
const FROM_FLIGHT: &str = "flight";
const RFC9438: &str = "rfc9438";
const LINUX: &str = "linux";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "c",
        OptionKind::Number { min: 0.001, max: 100.0 },
        "0.4",
        "C, steepness of the cubic function in segments/s^3",
    ),
    OptionSpec::new(
        "beta",
        OptionKind::Number { min: 0.1, max: 0.95 },
        "0.7",
        "what a loss leaves of the window",
    ),
    OptionSpec::new(
        "fast_convergence",
        OptionKind::Flag,
        "true",
        "give up bandwidth for newcomers when the window did not get back to its last maximum",
    ),
    OptionSpec::new(
        "hystart",
        OptionKind::FlagOr(&[LINUX]),
        "false",
        "leave slow start before a loss: true: HyStart++, in the first slow start; linux: as Linux does",
    ),
    OptionSpec::new(
        "growth",
        OptionKind::Choice(&[RFC9438, LINUX]),
        RFC9438,
        "congestion avoidance by RFC 9438, or as Linux does",
    ),
    OptionSpec::new(
        "ssthresh_from",
        OptionKind::Choice(&["auto", FROM_CWND, FROM_FLIGHT]),
        "auto",
        "what beta multiplies on loss; auto: cwnd if the transport says so or it was the limit, else the flight",
    ),
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "cubic",
    summary: "cubic growth in time since the last loss, 0.7 of the window on loss",
    source: "RFC 9438, RFC 9406",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |setup: &Setup, options: &Options| Box::new(Cubic::new(setup, CubicConfig::from_options(options))),
};

/// The quantity that beta multiplies at a congestion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReducedFrom {
    /// cwnd when the window was the limit or where that is the rule of the transport, FlightSize otherwise.
    Auto,
    /// cwnd, as Linux does.
    Cwnd,
    /// FlightSize, as RFC 9438 equation 5 has it.
    Flight,
}

/// The rule that ends slow start before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detection {
    /// Nothing.
    None,
    /// HyStart++ (RFC 9406).
    PlusPlus,
    /// HyStart of Linux.
    Linux,
}

/// Origin of the rules of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrowthRule {
    /// RFC 9438 sections 4.2 to 4.5.
    Rfc9438,
    /// `bictcp_update` of Linux.
    Linux,
}

/// Parameters of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CubicConfig {
    /// C, in segments/s^3; above 0.
    pub c: f64,
    /// beta_cubic, between 0 and 1.
    pub beta: f64,
    /// RFC 9438 section 4.7.
    pub fast_convergence: bool,
    /// How slow start ends before a loss.
    pub hystart: Detection,
    /// How the window grows in avoidance.
    pub growth: GrowthRule,
    /// RFC 9438 section 4.6.
    pub ssthresh_from: ReducedFrom,
}

impl CubicConfig {
    /// From the options of the registry row.
    pub fn from_options(options: &Options) -> Self {
        Self {
            c: options.number("c"),
            beta: options.number("beta"),
            fast_convergence: options.flag("fast_convergence"),
            hystart: match options.choice("hystart").as_str() {
                "true" => Detection::PlusPlus,
                LINUX => Detection::Linux,
                _ => Detection::None,
            },
            growth: match options.choice("growth").as_str() {
                LINUX => GrowthRule::Linux,
                _ => GrowthRule::Rfc9438,
            },
            ssthresh_from: match options.choice("ssthresh_from").as_str() {
                FROM_CWND => ReducedFrom::Cwnd,
                FROM_FLIGHT => ReducedFrom::Flight,
                _ => ReducedFrom::Auto,
            },
        }
    }
}

impl Default for CubicConfig {
    fn default() -> Self {
        Self::from_options(&Options::defaults(OPTIONS))
    }
}

/// CUBIC on one path.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    window: RenoWindow,
    config: CubicConfig,
    /// Segments before the last reduction; 0: there was none since the start or the last timeout. RFC 9438 lets a stage that begins
    /// above it raise it.
    w_max: f64,
    avoidance: Avoidance,
    exit: Exit,
    /// Smallest sample since the start or the last timeout, as Linux takes it; `INFINITE` before.
    delay_min: Nanos,
}

/// State of growth in congestion avoidance.
#[derive(Clone, Debug)]
enum Avoidance {
    Rfc9438(rfc9438::Growth),
    Linux(linux::Growth),
}

/// State of what ends slow start before a loss does.
#[derive(Clone, Debug)]
enum Exit {
    AtLoss,
    /// Until the first loss or the end of slow start.
    PlusPlus(HyStart),
    Linux(LinuxHyStart),
}

/// Delay samples in the second after the start of a stage are not taken.
const YOUNG_STAGE: Nanos = Nanos::from_secs(1);

impl Cubic {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, config: CubicConfig) -> Self {
        Self {
            window: RenoWindow::new(setup),
            w_max: 0.0,
            avoidance: match config.growth {
                GrowthRule::Rfc9438 => Avoidance::Rfc9438(rfc9438::Growth::new(config.c, config.beta)),
                GrowthRule::Linux => Avoidance::Linux(linux::Growth::new(config.c, config.beta)),
            },
            exit: match config.hystart {
                Detection::None => Exit::AtLoss,
                Detection::PlusPlus => Exit::PlusPlus(HyStart::new()),
                Detection::Linux => Exit::Linux(LinuxHyStart::new(setup.paced)),
            },
            delay_min: INFINITE,
            config,
        }
    }

    fn segments(&self) -> f64 {
        self.window.cwnd / self.window.mss
    }

    fn check(&self) {
        self.window.check();
        debug_assert!(self.w_max >= 0.0 && self.w_max.is_finite(), "W_max {}", self.w_max);
        match &self.avoidance {
            Avoidance::Rfc9438(growth) => growth.check(),
            Avoidance::Linux(growth) => growth.check(),
        }
    }

    /// Takes the ACK into the least round-trip time and shows it to HyStart of Linux, before the window grows by it.
    fn watch(&mut self, ack: &Ack) {
        let begun = self.avoidance.begun();
        let Some(rtt) = ack.rtt.filter(|_| begun.is_none_or(|begun| ack.now.since(begun) >= YOUNG_STAGE))
        else {
            return;
        };
        self.delay_min = self.delay_min.min(rtt.max(Nanos(1)));
        let watched = Watched {
            segments: self.segments(),
            bytes: self.window.cwnd,
            in_slow_start: self.window.in_slow_start(),
            delay_min: self.delay_min,
        };
        if let Exit::Linux(hystart) = &mut self.exit
            && hystart.on_sample(ack, rtt, &watched)
        {
            self.window.ssthresh = self.window.cwnd;
        }
    }

    fn slow_start(&mut self, ack: &Ack) {
        if let Exit::PlusPlus(hystart) = &mut self.exit {
            if may_grow(ack) {
                self.window.cwnd += hystart.increment(ack.acked, self.window.mss);
            }
            if hystart.on_ack(ack) {
                self.window.ssthresh = self.window.cwnd;
                self.exit = Exit::AtLoss;
            }
            return;
        }
        self.window.grow(ack);
        // An ACK that passes ssthresh belongs to slow start as a whole; in Linux the rest of it to avoidance.
        let surplus = self.window.cwnd - self.window.ssthresh;
        if surplus > 0.0 && matches!(self.avoidance, Avoidance::Linux(_)) {
            self.window.cwnd = self.window.ssthresh;
            self.avoid(ack, Bytes(surplus as u64));
        }
    }

    /// Grows by `acked` bytes of an ACK that found the window full.
    fn avoid(&mut self, ack: &Ack, acked: Bytes) {
        match &mut self.avoidance {
            Avoidance::Rfc9438(growth) => growth.on_ack(&mut self.window, &mut self.w_max, ack),
            Avoidance::Linux(growth) => {
                let delay_min = if self.delay_min == INFINITE { Nanos::ZERO } else { self.delay_min };
                growth.on_ack(&mut self.window, self.w_max, &Acked { now: ack.now, bytes: acked, delay_min });
            }
        }
    }

    /// Remembers the window before a reduction and returns the new ssthresh in bytes.
    fn note_reduction(&mut self, loss: &Loss) -> f64 {
        let reduced = match self.config.ssthresh_from {
            ReducedFrom::Auto if loss.cwnd_limited => self.window.cwnd,
            ReducedFrom::Auto => self.window.at_loss(loss),
            ReducedFrom::Cwnd => self.window.cwnd,
            ReducedFrom::Flight => loss.flight.as_f64(),
        };
        let (cwnd, mss, beta) = (self.segments(), self.window.mss, self.config.beta);
        let converges = self.config.fast_convergence;
        let ssthresh = match &mut self.avoidance {
            Avoidance::Rfc9438(growth) => {
                growth.cwnd_prior = cwnd;
                self.w_max = if converges && cwnd < self.w_max { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
                beta * reduced
            }
            Avoidance::Linux(growth) => {
                let cwnd = libm::floor(cwnd);
                self.w_max = if converges && cwnd < self.w_max { growth.half_way(cwnd) } else { cwnd };
                growth.reduced(reduced / mss) * mss
            }
        };
        debug_assert!(self.w_max <= cwnd, "W_max {} above the window {cwnd} at the loss", self.w_max);
        ssthresh
    }

    /// The present stage and the first slow start are over.
    fn end_stage(&mut self) {
        self.avoidance.end_stage();
        if let Exit::PlusPlus(_) = self.exit {
            self.exit = Exit::AtLoss;
        }
    }
}

impl Avoidance {
    fn end_stage(&mut self) {
        match self {
            Self::Rfc9438(growth) => growth.stage = None,
            Self::Linux(growth) => growth.end_stage(),
        }
    }

    /// Start of the present stage.
    fn begun(&self) -> Option<SimTime> {
        match self {
            Self::Rfc9438(growth) => growth.stage.map(|stage| stage.t_epoch),
            Self::Linux(growth) => growth.stage.map(|stage| stage.epoch_start),
        }
    }

    /// Seconds from the start of the present stage to its plateau.
    fn k(&self) -> Option<f64> {
        match self {
            Self::Rfc9438(growth) => growth.stage.map(|stage| stage.k),
            Self::Linux(growth) => growth.stage.map(|stage| stage.k),
        }
    }
}

impl Extensions for Cubic {}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        self.watch(ack);
        if let Avoidance::Linux(growth) = &mut self.avoidance {
            growth.exclude_silence(ack);
        }
        if self.window.in_slow_start() {
            self.slow_start(ack);
        } else if may_grow(ack) {
            self.avoid(ack, ack.acked);
        } else if let Avoidance::Rfc9438(growth) = &mut self.avoidance {
            growth.exclude_until(ack.now);
        }
        self.check();
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        let ssthresh = self.note_reduction(loss);
        self.window.reduce_to(ssthresh);
        self.end_stage();
        self.check();
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        let ssthresh = if loss.first_timeout { self.note_reduction(loss) } else { 0.0 };
        self.window.time_out(loss, ssthresh);
        // Section 4.8: the next stage starts with K = 0 and W_max = cwnd.
        self.w_max = 0.0;
        self.end_stage();
        self.delay_min = INFINITE;
        if let Exit::Linux(hystart) = &mut self.exit {
            hystart.restart();
        }
    }

    fn on_idle_restart(&mut self, now: SimTime, restart: &Restart) {
        if restart.cwnd < self.window.cwnd_bytes() && restart.ssthresh.is_none() {
            self.avoidance.end_stage();
        } else if let Avoidance::Rfc9438(growth) = &mut self.avoidance {
            // The curve goes on where it was.
            growth.exclude_until(now);
        }
        self.window.restart(restart);
    }

    fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
        // The same window does not end the stage of growth.
        if cwnd != self.window.cwnd_bytes() {
            self.avoidance.end_stage();
            self.window.set(cwnd);
        }
        if let Some(ssthresh) = ssthresh {
            self.window.set_ssthresh(ssthresh);
        }
    }

    fn window(&self) -> Window {
        self.window.shown()
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        if self.w_max > 0.0 {
            report("w_max_bytes", self.w_max * self.window.mss);
        }
        if let Some(k) = self.avoidance.k() {
            report("k_s", k);
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_linux;
