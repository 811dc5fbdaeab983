//! Proportional Rate Reduction (RFC 6937): spreads the window reduction over the round trip of recovery instead of
//! sending nothing for half of it. With the slow-start reduction bound.

use units::Bytes;

/// State of one recovery episode, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    recover_flight: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// FlightSize at the entry into recovery.
    pub fn new(flight: Bytes) -> Self {
        Self { recover_flight: flight.0.max(1), delivered: 0, out: 0 }
    }

    /// An ACK delivered `newly` bytes. Returns how many bytes may be sent in response to it.
    pub fn on_ack(&mut self, newly: Bytes, pipe: Bytes, ssthresh: Bytes, mss: Bytes) -> Bytes {
        debug_assert!(self.recover_flight > 0, "a reduction without a flight");
        self.delivered += newly.0;
        if pipe > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh.0);
            let allowed = share.div_ceil(u128::from(self.recover_flight)) as u64;
            return Bytes(allowed.saturating_sub(self.out));
        }
        let limit = self.delivered.saturating_sub(self.out).max(newly.0) + mss.0;
        Bytes((ssthresh.0 - pipe.0).min(limit))
    }

    /// `bytes` were sent during recovery, new or again.
    #[inline]
    pub fn on_send(&mut self, bytes: Bytes) {
        self.out += bytes.0;
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
            let mut prr = Prr::new(Bytes(10));
            let sent = expected.map(|_| {
                let sent = prr.on_ack(Bytes(1), Bytes(9), Bytes(ssthresh), Bytes(1)).min(Bytes(1));
                prr.on_send(sent);
                sent.0
            });
            assert_eq!(sent, expected, "ssthresh {ssthresh}");
        }
    }

    #[test]
    fn below_ssthresh_it_slow_starts_back() {
        let mut prr = Prr::new(Bytes(20_000));
        assert_eq!(
            prr.on_ack(Bytes(1000), Bytes(2_000), Bytes(10_000), Bytes(1000)),
            Bytes(2000),
            "delivered plus one MSS"
        );
        prr.on_send(Bytes(2000));
        assert_eq!(
            prr.on_ack(Bytes(1000), Bytes(9_500), Bytes(10_000), Bytes(1000)),
            Bytes(500),
            "never beyond ssthresh"
        );
    }
}
