//! Traffic of an online game, made up after the published statistics of three recorded sessions: a burst with which
//! the world is set up, then a thin flow of small messages (D-75).
//!
//! Gaps are exponential, sizes log-normal and clipped to what one packet holds; both have the means of the recording.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use crate::bounds::message_size;
use crate::phases::{normal, open};
use crate::timed::{Schedule, Timed};
use crate::{Algorithm, AppContext, ConnectionId, Message, Side};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "game",
    summary: "online game: a set-up burst, then small messages; delay of each message",
    source: "Yedugundla et al. 2016 (statistics of three sessions of Age of Conan)",
    notes: "",
    options: &[
        OptionSpec::new(
            "session",
            OptionKind::Choice(&["1", "2", "3"]),
            "1",
            "whose mean gaps and sizes: 181.4 ms and 142.7 B, 74.1 ms and 113 B, 167.7 ms and 101.7 B",
        ),
        OptionSpec::new("burst", OptionKind::Size, "200kB", "size of the burst at the start"),
        OptionSpec::new(
            "sigma",
            OptionKind::Number { min: 0.0, max: 3.0 },
            "1.0",
            "standard deviation of the logarithm of sizes before clipping",
        ),
        OptionSpec::new("duration", OptionKind::Duration, "10min", "length of the session"),
        OptionSpec::new("deadline", OptionKind::Duration, "60ms", "what takes longer is late"),
    ],
    check: |options| message_size("burst", Bytes::ZERO, options),
    build: |options| Box::new(Timed::new(Game::new(options))),
};

/// Mean gap in seconds and mean size in bytes of the three recordings.
const SESSIONS: [(f64, f64); 3] = [(0.1814, 142.7), (0.0741, 113.0), (0.1677, 101.7)];
/// Sizes lie between these.
const LEAST: f64 = 40.0;
const MOST: f64 = 1428.0;

/// The server of the game.
#[derive(Clone, Debug)]
pub(crate) struct Game {
    gap: f64,
    mu: f64,
    sigma: f64,
    burst: Bytes,
    duration: Nanos,
    deadline: Nanos,
    /// The world is set up.
    begun: bool,
}

impl Game {
    /// As the options of its row say.
    pub fn new(options: &Options) -> Self {
        let session: usize = options.choice("session").parse().unwrap_or(1);
        let (gap, size) = SESSIONS[session - 1];
        let sigma = options.number("sigma");
        Self {
            gap,
            mu: location(size, sigma),
            sigma,
            burst: options.size("burst"),
            duration: options.duration("duration"),
            deadline: options.duration("deadline"),
            begun: false,
        }
    }

    fn size(&self, ctx: &mut dyn AppContext) -> Bytes {
        let size = libm::exp(self.mu + self.sigma * normal(ctx));
        Bytes(libm::round(size.clamp(LEAST, MOST)) as u64)
    }
}

/// Mean of a log-normal variable with these parameters that is clipped to `LEAST..=MOST`.
fn clipped_mean(mu: f64, sigma: f64) -> f64 {
    if sigma == 0.0 {
        return libm::exp(mu).clamp(LEAST, MOST);
    }
    let phi = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let (low, high) = ((libm::log(LEAST) - mu) / sigma, (libm::log(MOST) - mu) / sigma);
    let inside = libm::exp(mu + sigma * sigma / 2.0) * (phi(high - sigma) - phi(low - sigma));
    LEAST * phi(low) + MOST * (1.0 - phi(high)) + inside
}

/// The mean of the logarithm with which the clipped mean is `mean`, by bisection.
fn location(mean: f64, sigma: f64) -> f64 {
    let (mut low, mut high) = (0.0, libm::log(MOST));
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if clipped_mean(middle, sigma) < mean { low = middle } else { high = middle }
    }
    debug_assert!(
        (clipped_mean(low, sigma) / mean - 1.0).abs() < 1e-9,
        "sizes have the mean {} and not {mean}",
        clipped_mean(low, sigma)
    );
    low
}

impl Schedule for Game {
    fn send(
        &mut self,
        began: SimTime,
        connection: ConnectionId,
        ctx: &mut dyn AppContext,
    ) -> Option<SimTime> {
        if !self.begun {
            self.begun = true;
            if self.burst > Bytes::ZERO {
                ctx.send(connection, Side::Sender, Message { size: self.burst, tag: 0, log: Some("set-up") });
            }
        } else if ctx.now() >= began + self.duration {
            return None;
        } else {
            let size = self.size(ctx);
            ctx.send(connection, Side::Sender, Message { size, tag: 0, log: Some("message") });
        }
        let gap = Nanos::from_secs_f64(-self.gap * libm::log(open(ctx)));
        Some(ctx.now() + gap)
    }

    fn deadline(&self) -> Nanos {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;
    use crate::testing::{Asked, Script};

    /// Gaps and sizes over 20 000 s are those of the recordings, each for itself: means 181.4, 74.1, 167.7 ms and
    /// 142.7, 113, 101.7 B, which make 6293, 12200, 4852 bit/s; gaps exponential, sizes log-normal where they are not
    /// clipped.
    #[test]
    fn statistics_are_those_of_the_sessions() {
        let sessions =
            [("1", 0.1814, 142.7, 6293.0), ("2", 0.0741, 113.0, 12_200.0), ("3", 0.1677, 101.7, 4852.0)];
        for (session, gap, size, rate) in sessions {
            let duration = OptionValue::Duration(Nanos::from_secs(20_000));
            let options = Options::defaults(ROW.options)
                .with("session", OptionValue::Choice(session.into()))
                .with("duration", duration);
            let mut script = Script::new(Timed::new(Game::new(&options)));
            script.start();
            assert!(
                matches!(script.take()[1], Asked::Send(0, Side::Sender, burst) if burst.size == Bytes(200_000))
            );
            let (mut sizes, mut gaps, mut last) = (Vec::new(), Vec::new(), 0.0);
            while let Some(at) = script.next_wake() {
                script.wake();
                for asked in script.take() {
                    if let Asked::Send(_, _, message) = asked {
                        sizes.push(message.size.0 as f64);
                        gaps.push(at.as_secs_f64() - last);
                        last = at.as_secs_f64();
                    }
                }
            }
            let n = gaps.len() as f64;
            let moments = |values: &[f64]| {
                let mean = values.iter().sum::<f64>() / n;
                (mean, values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n)
            };
            let (mean, variance) = moments(&gaps);
            assert!((mean - gap).abs() < 4.5 * gap / n.sqrt(), "session {session}: gap {mean}");
            // The square of an exponential variable spreads: variance of the variance 8 gap^4 / n.
            assert!(
                (variance / (gap * gap) - 1.0).abs() < 4.5 * (8.0 / n).sqrt(),
                "session {session}: {variance}"
            );
            assert!(sizes.iter().all(|size| (40.0..=1428.0).contains(size)));
            let (mean, variance) = moments(&sizes);
            assert!((mean - size).abs() < 4.5 * (variance / n).sqrt(), "session {session}: size {mean}");
            assert!((size * 8.0 / gap / rate - 1.0).abs() < 1e-4);
            // The median of a log-normal variable is exp(mu), which clipping does not move.
            let median = libm::exp(script.app.schedule().mu);
            let below = sizes.iter().filter(|size| **size < median).count() as f64 / n;
            // Sizes are whole bytes: some 0.5 % of them share the byte of the median.
            assert!((below - 0.5).abs() < 4.5 * 0.5 / n.sqrt() + 0.005, "session {session}: {below}");
        }
    }

    #[test]
    fn clipping_is_reckoned_with() {
        for sigma in [0.0, 0.5, 1.0, 2.0] {
            let mu = location(142.7, sigma);
            assert!((clipped_mean(mu, sigma) - 142.7).abs() < 1e-6, "{sigma}");
            // The integral over the standard normal density.
            let step = 1e-3;
            let point = |i: i32| {
                let z = f64::from(i) * step;
                libm::exp(-z * z / 2.0) * libm::exp(mu + sigma * z).clamp(LEAST, MOST)
            };
            let mean = step * (-9000..=9000).map(point).sum::<f64>() / std::f64::consts::TAU.sqrt();
            assert!((mean - 142.7).abs() < 1e-3, "{sigma}: {mean}");
        }
    }
}
