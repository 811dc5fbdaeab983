//! The window of SCTP, for a path of an association.
//!
//! Source: RFC 9260 sections 7.2.1 to 7.2.4. Units: bytes of DATA chunks with their headers; the MSS of `Setup` is PMDCS,
//! the largest such chunk.
//! It differs from `newreno` in two ways: a loss leaves at least four chunks as threshold, and what avoidance has counted (`partial_bytes_acked`) is forgotten when nothing is in flight. Chunks that are
//! acknowledged by gap blocks count in avoidance, but do not open the window in slow start.

use registry::Options;
use units::{Bytes, SimTime};

use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Paths, Restart, Setup, Window};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "sctp",
    summary: "the window of SCTP: NewReno that counts bytes, with a threshold of at least four chunks",
    source: "RFC 9260 section 7.2",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |setup: &Setup, _: &Options| Box::new(Sctp::new(setup)),
};

/// Least threshold after a loss, in largest chunks.
const FLOOR: u64 = 4;

/// The window of SCTP on one path.
#[derive(Clone, Debug)]
pub(crate) struct Sctp {
    cwnd: Bytes,
    ssthresh: Bytes,
    /// PMDCS.
    chunk: Bytes,
    /// `partial_bytes_acked`.
    counted: Bytes,
}

impl Sctp {
    /// For a path that was just set up.
    pub fn new(setup: &Setup) -> Self {
        let cwnd = setup.initial_window.max(setup.mss);
        Self { cwnd, ssthresh: setup.initial_ssthresh, chunk: setup.mss, counted: Bytes::ZERO }
    }

    /// RFC 9260 section 7.2.3: half of the window, four chunks at least.
    fn reduce(&mut self) {
        self.ssthresh = Bytes(self.cwnd.0 / 2).max(self.chunk * FLOOR);
        self.counted = Bytes::ZERO;
    }

    fn check(&self) {
        debug_assert!(self.cwnd >= self.chunk, "cwnd below one chunk: {self:?}");
    }
}

impl Extensions for Sctp {}

impl CongestionControl for Sctp {
    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        if self.cwnd <= self.ssthresh {
            if ack.cwnd_limited && ack.acked > Bytes::ZERO {
                self.cwnd += ack.acked.min(self.chunk);
            }
            self.counted = Bytes::ZERO;
        } else {
            self.counted += ack.delivered;
            if self.counted >= self.cwnd && ack.cwnd_limited {
                self.counted -= self.cwnd;
                self.cwnd += self.chunk;
            }
        }
        // RFC 9260 section 7.2.2: counting begins anew when all data is acknowledged.
        if ack.flight == Bytes::ZERO {
            self.counted = Bytes::ZERO;
        }
        self.check();
    }

    fn on_loss(&mut self, _loss: &Loss, _paths: Paths<'_>) {
        self.reduce();
        self.cwnd = self.ssthresh;
        self.check();
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        if loss.first_timeout {
            self.reduce();
        }
        self.cwnd = self.chunk;
        self.check();
    }

    fn on_idle_restart(&mut self, _now: SimTime, restart: &Restart) {
        self.cwnd = self.cwnd.min(restart.cwnd).max(self.chunk);
        self.check();
    }

    fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.cwnd = cwnd.max(self.chunk);
        if let Some(ssthresh) = ssthresh {
            self.ssthresh = ssthresh.max(self.chunk * 2);
        }
        self.check();
    }

    fn window(&self) -> Window {
        Window { in_slow_start: self.cwnd <= self.ssthresh, ..Window::new(self.cwnd, self.ssthresh) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Growth;
    use crate::testing::{ack, loss, setup_with};

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };

    fn path(cwnd: u64, ssthresh: u64) -> Sctp {
        Sctp::new(&setup_with(1500, cwnd, ssthresh, BYTES))
    }

    /// Test vector SP-1, the reductions.
    #[test]
    fn sp_1_a_loss_leaves_half_and_at_least_four_chunks() {
        for (cwnd, expected) in [(60_000, 30_000), (10_000, 6000)] {
            let mut window = path(cwnd, 100_000);
            window.on_loss(&loss(cwnd), Paths::ALONE);
            assert_eq!((window.cwnd, window.ssthresh), (Bytes(expected), Bytes(expected)));
            let mut window = path(cwnd, 100_000);
            window.on_rto(&loss(cwnd), Paths::ALONE);
            assert_eq!((window.cwnd, window.ssthresh), (Bytes(1500), Bytes(expected)));
        }
    }

    #[test]
    fn slow_start_needs_an_advance_of_the_cumulative_tsn() {
        let mut window = path(6000, 6000);
        window.on_ack(&Ack { acked: Bytes::ZERO, delivered: Bytes(3000), ..ack(3000) }, Paths::ALONE);
        assert_eq!(window.cwnd, Bytes(6000));
        window.on_ack(&Ack { delivered: Bytes(3000), ..ack(3000) }, Paths::ALONE);
        assert_eq!(window.cwnd, Bytes(7500), "at most one chunk, and at the threshold it is slow start");
    }

    #[test]
    fn avoidance_counts_gap_blocks_and_forgets_when_all_is_acknowledged() {
        let mut window = path(7500, 6000);
        let gap = Ack { acked: Bytes::ZERO, delivered: Bytes(3000), flight: Bytes(4500), ..ack(0) };
        for expected in [7500, 7500, 9000] {
            window.on_ack(&gap, Paths::ALONE);
            assert_eq!(window.cwnd, Bytes(expected));
        }
        assert_eq!(window.counted, Bytes(1500));
        window.on_ack(&Ack { flight: Bytes::ZERO, ..gap }, Paths::ALONE);
        assert_eq!(window.counted, Bytes::ZERO);
    }
}
