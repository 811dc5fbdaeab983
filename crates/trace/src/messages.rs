//! Figures of a row of messages: delays, jitter, how many were late or lost.

use units::Nanos;

/// Messages of one kind in the order of sending; `None` is a message that never arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageStats {
    sent: u64,
    late: u64,
    sorted: Vec<u64>,
    /// Sum over pairs of consecutive messages that arrived, and their number.
    differences: (f64, u64),
    smoothed: f64,
}

impl MessageStats {
    /// From delays in the order of sending; what takes longer than `deadline` is late, and so is what never arrives.
    pub fn of(delays: impl IntoIterator<Item = Option<Nanos>>, deadline: Option<Nanos>) -> Self {
        let mut stats = Self::default();
        let mut last: Option<u64> = None;
        for delay in delays {
            stats.sent += 1;
            let Some(Nanos(delay)) = delay else {
                stats.late += 1;
                continue;
            };
            stats.late += u64::from(deadline.is_some_and(|deadline| delay > deadline.0));
            stats.sorted.push(delay);
            if let Some(last) = last.replace(delay) {
                let difference = delay.abs_diff(last) as f64 / 1e9;
                stats.differences.0 += difference;
                stats.differences.1 += 1;
                // RFC 3550 section 6.4.1.
                stats.smoothed += (difference - stats.smoothed) / 16.0;
            }
        }
        stats.sorted.sort_unstable();
        stats
    }

    /// How many were sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// How many arrived.
    pub fn delivered(&self) -> u64 {
        self.sorted.len() as u64
    }

    /// Mean delay in seconds; `None` if nothing arrived.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.sorted.iter().map(|delay| *delay as f64).sum();
        (!self.sorted.is_empty()).then(|| sum / 1e9 / self.sorted.len() as f64)
    }

    /// The smallest delay that a share `q` of the messages does not exceed.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let rank = (q * self.sorted.len() as f64).ceil().max(1.0) as usize;
        self.sorted.get(rank - 1).copied().map(Nanos)
    }

    /// Mean absolute difference of consecutive delays in seconds; `None` with fewer than two.
    pub fn jitter(&self) -> Option<f64> {
        let (sum, pairs) = self.differences;
        (pairs > 0).then(|| sum / pairs as f64)
    }

    /// Smoothed jitter of RFC 3550 section 6.4.1 after the last message, in seconds.
    pub fn smoothed_jitter(&self) -> Option<f64> {
        (self.differences.1 > 0).then_some(self.smoothed)
    }

    /// Share of the messages sent that were late or lost; `None` if none was sent.
    pub fn late(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.late as f64 / self.sent as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let delays = [100, 120, 110, 200].map(|ms| Some(Nanos::from_millis(ms)));
        let [a, b, c, d] = delays;
        let stats = MessageStats::of([a, b, None, c, d], Some(Nanos::from_millis(150)));
        assert_eq!((stats.sent(), stats.delivered(), stats.late()), (5, 4, Some(0.4)));
        assert!((stats.mean().unwrap() - 0.1325).abs() < 1e-12);
        assert_eq!(stats.quantile(0.5), Some(Nanos::from_millis(110)));
        assert_eq!(stats.quantile(0.95), Some(Nanos::from_millis(200)));
        // Differences 20, 10, 90 ms.
        assert!((stats.jitter().unwrap() - 0.04).abs() < 1e-12);
        let smoothed = [0.020, 0.010, 0.090].iter().fold(0.0, |j, d| j + (d - j) / 16.0);
        assert!((stats.smoothed_jitter().unwrap() - smoothed).abs() < 1e-15);
    }

    #[test]
    fn nothing_has_no_figures() {
        let stats = MessageStats::of([], None);
        assert_eq!(
            (stats.mean(), stats.quantile(0.5), stats.jitter(), stats.late()),
            (None, None, None, None)
        );
    }
}
