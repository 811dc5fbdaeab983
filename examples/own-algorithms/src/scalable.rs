//! Scalable TCP: the window grows by a hundredth of what is acknowledged and gives up an eighth on loss, so that the
//! time between two losses does not depend on the rate.
//!
//! Source: Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2), 2003.
//! Units: bytes. Below 16 segments it grows and shrinks as NewReno does, as the paper's legacy window has it.

use congestion::{Ack, Algorithm, CongestionControl, Extensions, Loss, Paths, Restart, Setup, Window};
use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, SimTime};

/// The row of the registry.
pub const ROW: Algorithm = Algorithm {
    name: "scalable",
    summary: "a hundredth of what is acknowledged is added, an eighth of the window is lost",
    source: "Kelly, ACM CCR 33(2), 2003",
    notes: "",
    options: &[
        OptionSpec::new(
            "a",
            OptionKind::Number { min: 0.0001, max: 1.0 },
            "0.01",
            "growth per acknowledged byte",
        ),
        OptionSpec::new(
            "b",
            OptionKind::Number { min: 0.01, max: 0.9 },
            "0.125",
            "share of the window that a loss costs",
        ),
    ],
    check: registry::independent,
    build: |setup, options| Box::new(Scalable::new(setup, options)),
};

/// The window of one path.
#[derive(Clone, Debug)]
pub struct Scalable {
    a: f64,
    b: f64,
    mss: f64,
    cwnd: f64,
    ssthresh: f64,
}

/// Segments below which it is NewReno.
const LEGACY_WINDOW: f64 = 16.0;

impl Scalable {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, options: &Options) -> Self {
        Self {
            a: options.number("a"),
            b: options.number("b"),
            mss: setup.mss.as_f64(),
            cwnd: setup.initial_window.as_f64(),
            ssthresh: if setup.initial_ssthresh == Bytes::MAX {
                f64::INFINITY
            } else {
                setup.initial_ssthresh.as_f64()
            },
        }
    }

    fn reduce(&mut self, loss: &Loss) {
        let window = if loss.cwnd_limited { self.cwnd } else { loss.flight.as_f64() };
        let keep = if window < LEGACY_WINDOW * self.mss { 0.5 } else { 1.0 - self.b };
        self.ssthresh = (window * keep).max(2.0 * self.mss);
    }
}

impl Extensions for Scalable {}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        if !ack.cwnd_limited {
            return;
        }
        let acked = ack.acked.as_f64();
        self.cwnd += if self.cwnd < self.ssthresh {
            acked.min(self.mss)
        } else if self.cwnd < LEGACY_WINDOW * self.mss {
            acked * self.mss / self.cwnd
        } else {
            self.a * acked
        };
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.reduce(loss);
        self.cwnd = self.ssthresh;
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        if loss.first_timeout {
            self.reduce(loss);
        }
        self.cwnd = self.mss;
    }

    fn on_idle_restart(&mut self, _now: SimTime, restart: &Restart) {
        let kept = restart.ssthresh.map(|kept| kept.max(self.window().ssthresh));
        self.set_window(restart.cwnd.min(self.window().cwnd), kept);
    }

    fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.cwnd = cwnd.as_f64().max(self.mss);
        if let Some(ssthresh) = ssthresh {
            self.ssthresh = ssthresh.as_f64().max(2.0 * self.mss);
        }
    }

    fn window(&self) -> Window {
        // An infinite threshold saturates to `Bytes::MAX`.
        Window::new(Bytes(self.cwnd as u64), Bytes(self.ssthresh as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use congestion::{Growth, PathView, SsthreshFrom};
    use units::Nanos;

    fn window_of(segments: u64) -> Scalable {
        let setup = Setup {
            mss: Bytes(1000),
            initial_window: Bytes(1000 * segments),
            initial_ssthresh: Bytes(2000),
            growth: Growth { slow_start_limit: 1, byte_counting: true },
            ssthresh_from: SsthreshFrom::Flight,
            paced: false,
            offload: false,
        };
        Scalable::new(&setup, &Options::defaults(ROW.options))
    }

    #[test]
    fn a_window_of_100_grows_by_one_and_falls_by_an_eighth() {
        let mut cc = window_of(100);
        let view = PathView::default();
        let paths = Paths { all: std::slice::from_ref(&view), me: 0 };
        let ack = Ack { acked: Bytes(1000), cwnd_limited: true, ..Ack::default() };
        (0..100).for_each(|_| cc.on_ack(&ack, paths));
        assert_eq!(cc.window().cwnd, Bytes(101_000));
        let loss = Loss {
            now: SimTime::ZERO,
            flight: Bytes(80_000),
            cwnd_limited: true,
            srtt: Nanos::from_millis(100),
            snd_nxt: 0,
            marked: false,
            first_timeout: true,
        };
        cc.on_loss(&loss, paths);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(88_375), Bytes(88_375)));
        cc.set_window(Bytes(88_375), Some(Bytes(500)));
        assert_eq!(cc.window().ssthresh, Bytes(2000), "no less than two segments");
    }
}
