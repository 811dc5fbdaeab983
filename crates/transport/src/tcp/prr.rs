//! Proportional Rate Reduction (RFC 6937): spreads the window reduction over the round-trip of recovery instead
//! of falling silent for half of it. With the slow-start reduction bound.

/// State of one recovery episode, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    recover_flight: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// FlightSize at the entry into recovery.
    pub fn new(flight: u64) -> Self {
        Self { recover_flight: flight.max(1), delivered: 0, out: 0 }
    }

    /// An ACK delivered `newly` bytes. Returns how many bytes may be sent in response to it.
    pub fn on_ack(&mut self, newly: u64, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        self.delivered += newly;
        if pipe > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            return (share.div_ceil(u128::from(self.recover_flight)) as u64).saturating_sub(self.out);
        }
        let limit = self.delivered.saturating_sub(self.out).max(newly) + mss;
        (ssthresh - pipe).min(limit)
    }

    /// `bytes` were sent during recovery, new or again.
    pub fn on_send(&mut self, bytes: u64) {
        self.out += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vector PRR-1: unit is the MSS, pipe stays above ssthresh.
    #[test]
    fn prr_1() {
        let cases: [(u64, [u64; 10]); 2] =
            [(7, [1, 1, 1, 0, 1, 1, 0, 1, 1, 0]), (5, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0])];
        for (ssthresh, expected) in cases {
            let mut prr = Prr::new(10);
            let sent = expected.map(|_| {
                let sent = prr.on_ack(1, 9, ssthresh, 1).min(1);
                prr.on_send(sent);
                sent
            });
            assert_eq!(sent, expected, "ssthresh {ssthresh}");
        }
    }

    #[test]
    fn below_ssthresh_it_slow_starts_back() {
        let mut prr = Prr::new(20_000);
        assert_eq!(prr.on_ack(1000, 2_000, 10_000, 1000), 2000, "delivered plus one MSS");
        prr.on_send(2000);
        assert_eq!(prr.on_ack(1000, 9_500, 10_000, 1000), 500, "never beyond ssthresh");
    }
}
