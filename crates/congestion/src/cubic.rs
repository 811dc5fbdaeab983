//! CUBIC: the window is a cubic function of the time since the last loss, hence almost independent of the
//! round-trip time.
//!
//! Source: RFC 9438 section 4 (equations 1 to 4, fast convergence, timeout); RFC 9406 for the optional HyStart++;
//! net/ipv4/tcp_cubic.c of Linux 6.x for HyStart as Linux has it, and for the growth that goes with it: by a twentieth of
//! the window per round trip at least while no loss has said how large it may be (`bictcp_update`), so that a slow start that
//! has ended early is made up for.
//! Units: segments and seconds inside the formulas, as printed; bytes at the surface. All state variables carry the
//! names of RFC 9438 section 4.1.2.
//! The growth per ACK is multiplied by the segments that it acknowledges (D-03), so that delayed ACKs do not halve it;
//! one ACK counts for at most one window.
//! A stage of congestion avoidance starts with the first ACK that finds cwnd >= ssthresh and the window full; that
//! ACK starts the clock of `W_cubic` and the count of `W_est`. It ends with a congestion event or a timeout, and also
//! when the window is cut from outside (idle restart, end of recovery, penalty): the next stage is drawn from there.
//! Application-limited time does not count: `t_epoch` moves on by each interval between ACKs that ends with an ACK
//! that did not find the window full, and by the silence before an idle restart.
//! Deviation: where the sender takes back a reduction that proves spurious, it restores cwnd and ssthresh, but not `W_max` (section
//! 4.9.2).
//! Deviation: there is no separate reduction for ECN; a mark is a congestion event like a loss.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use crate::hystart::HyStart;
use crate::hystart_linux::{LinuxHyStart, Watched};
use crate::reno::{RenoWindow, may_grow};
use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Paths, Restart, Setup, Window};

const FROM_CWND: &str = "cwnd";
const FROM_FLIGHT: &str = "flight";
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

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Start, moved on by application-limited time.
    t_epoch: SimTime,
    /// Until here application-limited time has been taken out.
    last_ack: SimTime,
    /// Seconds until the cubic function is back at W_max.
    k: f64,
    /// Window of a Reno flow with the same average, in segments.
    w_est: f64,
}

/// CUBIC on one path.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    window: RenoWindow,
    config: CubicConfig,
    /// alpha_cubic: Reno growth per round trip that goes with beta.
    alpha: f64,
    /// Segments before the last reduction; 0: the next stage sets it to its first window.
    w_max: f64,
    /// Segments when ssthresh was set; 0 before that.
    cwnd_prior: f64,
    stage: Option<Stage>,
    exit: Exit,
    /// No loss since the start or the last timeout has said how large the window may be.
    unexplored: bool,
}

/// State of what ends slow start before a loss does.
#[derive(Clone, Debug)]
enum Exit {
    AtLoss,
    /// Until the first loss or the end of slow start.
    PlusPlus(HyStart),
    Linux(LinuxHyStart),
}

/// Growth per segment while nothing is known of the path, with HyStart of Linux: 5 % per round trip.
const EXPLORING: f64 = 1.0 / 20.0;

/// Delay samples in the second after the start of a stage are not taken.
const YOUNG_STAGE: Nanos = Nanos::from_secs(1);

impl Cubic {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, config: CubicConfig) -> Self {
        Self {
            window: RenoWindow::new(setup),
            alpha: 3.0 * (1.0 - config.beta) / (1.0 + config.beta),
            w_max: 0.0,
            cwnd_prior: 0.0,
            stage: None,
            exit: match config.hystart {
                Detection::None => Exit::AtLoss,
                Detection::PlusPlus => Exit::PlusPlus(HyStart::new()),
                Detection::Linux => Exit::Linux(LinuxHyStart::new(setup.paced)),
            },
            unexplored: true,
            config,
        }
    }

    fn segments(&self) -> f64 {
        self.window.cwnd / self.window.mss
    }

    fn check(&self) {
        self.window.check();
        debug_assert!(self.w_max >= 0.0 && self.w_max.is_finite(), "W_max {}", self.w_max);
        if let Some(stage) = &self.stage {
            debug_assert!(stage.k >= 0.0, "K {}: a stage starts at or below W_max", stage.k);
            debug_assert!(stage.t_epoch <= stage.last_ack, "a stage begins before its last ACK: {stage:?}");
            debug_assert!(stage.w_est > 0.0, "the estimate of Reno is empty: {stage:?}");
        }
    }

    fn slow_start(&mut self, ack: &Ack) {
        let Exit::PlusPlus(hystart) = &mut self.exit else {
            return self.window.grow(ack);
        };
        if may_grow(ack) {
            self.window.cwnd += hystart.increment(ack.acked, self.window.mss);
        }
        if hystart.on_ack(ack) {
            self.window.ssthresh = self.window.cwnd;
            self.exit = Exit::AtLoss;
        }
    }

    /// HyStart of Linux looks at every ACK before the window grows by it.
    fn watch_slow_start(&mut self, ack: &Ack) {
        let young_stage = self.stage.is_some_and(|stage| ack.now.since(stage.t_epoch) < YOUNG_STAGE);
        let watched = Watched {
            segments: self.segments(),
            bytes: self.window.cwnd,
            in_slow_start: self.window.in_slow_start(),
            young_stage,
        };
        if let Exit::Linux(hystart) = &mut self.exit
            && hystart.on_ack(ack, &watched)
        {
            self.window.ssthresh = self.window.cwnd;
        }
    }

    fn avoid(&mut self, ack: &Ack) {
        let acked = self.window.acked_in_avoidance(ack.acked) / self.window.mss;
        let cwnd = self.segments();
        let Some(mut stage) = self.stage else {
            let stage = self.start_stage(ack.now, cwnd);
            self.stage = Some(stage);
            self.window.cwnd += self.cubic_increment(stage.k, 0.0, ack, cwnd) * acked * self.window.mss;
            return self.explore(cwnd, acked);
        };
        // Once W_est is back at the window before the loss, Reno grows by a whole segment (section 4.3).
        let alpha = if stage.w_est >= self.cwnd_prior { 1.0 } else { self.alpha };
        stage.w_est += alpha * acked / cwnd;
        stage.last_ack = ack.now;
        self.stage = Some(stage);
        let t = ack.now.since(stage.t_epoch).as_secs_f64();
        if self.w_cubic(stage.k, t) < stage.w_est {
            self.window.cwnd = self.window.cwnd.max(stage.w_est * self.window.mss);
        } else {
            self.window.cwnd += self.cubic_increment(stage.k, t, ack, cwnd) * acked * self.window.mss;
        }
        self.explore(cwnd, acked);
    }

    /// Linux lets the window grow by a twentieth per round trip at least until a loss has shown its limit.
    fn explore(&mut self, cwnd: f64, acked: f64) {
        if self.unexplored && matches!(self.exit, Exit::Linux(_)) {
            self.window.cwnd = self.window.cwnd.max((cwnd + EXPLORING * acked) * self.window.mss);
        }
    }

    fn start_stage(&mut self, now: SimTime, cwnd_epoch: f64) -> Stage {
        // No maximum to return to (slow start without loss, timeout), or already beyond it: convex from here.
        self.w_max = self.w_max.max(cwnd_epoch);
        if self.cwnd_prior <= 0.0 {
            self.cwnd_prior = cwnd_epoch;
        }
        let k = libm::cbrt((self.w_max - cwnd_epoch) / self.config.c);
        Stage { t_epoch: now, last_ack: now, k, w_est: cwnd_epoch }
    }

    /// Equation 1, in segments.
    fn w_cubic(&self, k: f64, t: f64) -> f64 {
        let d = t - k;
        self.config.c * d * d * d + self.w_max
    }

    /// Where the window should be one round trip later, in segments.
    fn target(&self, k: f64, t: f64, srtt: f64, cwnd: f64) -> f64 {
        debug_assert!(t >= 0.0, "{t} s into the stage");
        self.w_cubic(k, t + srtt).clamp(cwnd, 1.5 * cwnd)
    }

    /// Growth per acknowledged segment, in segments (sections 4.4 and 4.5).
    fn cubic_increment(&self, k: f64, t: f64, ack: &Ack, cwnd: f64) -> f64 {
        (self.target(k, t, ack.srtt.as_secs_f64(), cwnd) - cwnd) / cwnd
    }

    /// Remembers the window before a reduction and returns the new ssthresh in bytes.
    fn note_reduction(&mut self, loss: &Loss) -> f64 {
        let cwnd = self.segments();
        self.cwnd_prior = cwnd;
        self.w_max = if self.config.fast_convergence && cwnd < self.w_max {
            cwnd * (1.0 + self.config.beta) / 2.0
        } else {
            cwnd
        };
        debug_assert!(
            self.w_max <= self.cwnd_prior,
            "W_max {} above the window {cwnd} at the loss",
            self.w_max
        );
        let from_cwnd = match self.config.ssthresh_from {
            ReducedFrom::Auto => loss.cwnd_limited,
            ReducedFrom::Cwnd => true,
            ReducedFrom::Flight => return self.config.beta * loss.flight.as_f64(),
        };
        self.config.beta * if from_cwnd { self.window.cwnd } else { self.window.at_loss(loss) }
    }

    /// The present stage and the first slow start are over.
    fn end_stage(&mut self) {
        self.stage = None;
        if let Exit::PlusPlus(_) = self.exit {
            self.exit = Exit::AtLoss;
        }
    }
}

impl Extensions for Cubic {}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        if let Exit::Linux(_) = self.exit {
            self.watch_slow_start(ack);
        }
        if self.window.in_slow_start() {
            self.slow_start(ack);
        } else if may_grow(ack) {
            self.avoid(ack);
        } else if let Some(stage) = &mut self.stage {
            stage.exclude_until(ack.now);
        }
        self.check();
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        let ssthresh = self.note_reduction(loss);
        self.window.reduce_to(ssthresh);
        self.end_stage();
        self.unexplored = false;
        self.check();
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        let ssthresh = if loss.first_timeout { self.note_reduction(loss) } else { 0.0 };
        self.window.time_out(loss, ssthresh);
        // Section 4.8: the next stage starts with K = 0 and W_max = cwnd.
        self.w_max = 0.0;
        self.end_stage();
        self.unexplored = true;
        if let Exit::Linux(hystart) = &mut self.exit {
            hystart.restart();
        }
    }

    fn on_idle_restart(&mut self, now: SimTime, restart: &Restart) {
        if restart.cwnd < self.window.cwnd_bytes() && restart.ssthresh.is_none() {
            self.stage = None;
        } else if let Some(stage) = &mut self.stage {
            // The curve goes on where it was, as in Linux after a validated window.
            stage.exclude_until(now);
        }
        self.window.restart(restart);
    }

    fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
        // The same window does not end the stage of growth.
        if cwnd != self.window.cwnd_bytes() {
            self.stage = None;
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
        if let Some(stage) = &self.stage {
            report("k_s", stage.k);
        }
    }
}

impl Stage {
    /// The time since the last ACK was limited by the application.
    fn exclude_until(&mut self, now: SimTime) {
        self.t_epoch += now.since(self.last_ack);
        self.last_ack = now;
    }
}

#[cfg(test)]
mod tests;
