//! NewReno: additive increase, multiplicative decrease. The controller that all others are compared with.
//!
//! Source: RFC 5681 (window), RFC 6582 (recovery; its inflation and deflation belong to the recovery machine and
//! not to a controller). Units: bytes. Counting of ACKs and the limit of slow start come from `Setup::growth`.
//! An ACK that crosses ssthresh is a slow-start ACK as a whole, see `reno.rs`.

use registry::Options;
use units::{Bytes, SimTime};

use crate::reno::RenoWindow;
use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Paths, Setup};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "newreno",
    summary: "additive increase by one segment per round trip, half of the flight on loss",
    source: "RFC 5681, RFC 6582",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |setup: &Setup, _: &Options| Box::new(NewReno::new(setup)),
};

/// NewReno on one path.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    pub(crate) window: RenoWindow,
}

impl NewReno {
    /// For a path that was just set up.
    pub fn new(setup: &Setup) -> Self {
        Self { window: RenoWindow::new(setup) }
    }
}

impl Extensions for NewReno {}

impl CongestionControl for NewReno {
    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        self.window.grow(ack);
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        let half = self.window.half(loss);
        self.window.time_out(loss, half);
    }

    crate::reno::window_methods!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, close, loss, setup, setup_with};
    use crate::{Growth, Restart, SsthreshFrom};

    /// `tcp_reno_ssthresh`: half of the window, whatever of it is in use; two segments at least.
    #[test]
    fn half_of_the_window_where_the_transport_says_so() {
        let mut cc = NewReno::new(&Setup { ssthresh_from: SsthreshFrom::Cwnd, ..setup() });
        cc.window.set(Bytes(100 * 1460));
        cc.on_loss(&loss(20 * 1460), Paths::ALONE);
        assert_eq!(cc.window().ssthresh, Bytes(50 * 1460));
        cc.on_rto(&loss(20 * 1460), Paths::ALONE);
        assert_eq!(cc.window().ssthresh, Bytes(25 * 1460));
        cc.on_loss(&loss(1460), Paths::ALONE);
        assert_eq!(cc.window().ssthresh, Bytes(2 * 1460));
    }

    const PER_ACK: Growth = Growth { slow_start_limit: 1, byte_counting: false };
    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };

    #[test]
    fn nr_1_avoidance_adds_a_share_of_a_segment_per_ack() {
        let mut cc = NewReno::new(&setup_with(1460, 14_600, 14_600, PER_ACK));
        for expected in [14_746.0, 14_890.554_455, 15_033.705_606] {
            cc.on_ack(&ack(1460), Paths::ALONE);
            close(cc.window.cwnd, expected, 1e-9);
        }
    }

    #[test]
    fn nr_1_loss_halves_the_flight() {
        let mut cc = NewReno::new(&setup_with(1460, 14_600, 14_600, PER_ACK));
        cc.on_loss(&loss(14_600), Paths::ALONE);
        // The recovery machine adds the three duplicates: 11680.
        assert_eq!((cc.window().ssthresh, cc.window().cwnd), (Bytes(7300), Bytes(7300)));
        // Full ACK with 4380 in flight: min(ssthresh, 4380 + 1460).
        cc.set_window(Bytes(5840), None);
        assert_eq!(cc.window().cwnd, Bytes(5840));
    }

    #[test]
    fn byte_counting_waits_for_a_whole_window() {
        let mut cc = NewReno::new(&setup_with(1000, 4000, 4000, BYTES));
        for _ in 0..3 {
            cc.on_ack(&ack(1000), Paths::ALONE);
            assert_eq!(cc.window().cwnd, Bytes(4000));
        }
        cc.on_ack(&ack(2000), Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(5000));
        // 1000 bytes are left over: four more segments complete the next window of 5000.
        (0..3).for_each(|_| cc.on_ack(&ack(1000), Paths::ALONE));
        assert_eq!(cc.window().cwnd, Bytes(5000));
        cc.on_ack(&ack(1000), Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(6000));
    }

    #[test]
    fn slow_start_is_limited_per_ack_and_may_pass_ssthresh_by_one_ack() {
        for (limit, expected) in [(1, 4000), (2, 5000), (u32::MAX, 8000)] {
            let growth = Growth { slow_start_limit: limit, byte_counting: true };
            let mut cc = NewReno::new(&setup_with(1000, 3000, 3500, growth));
            cc.on_ack(&ack(5000), Paths::ALONE);
            assert_eq!(cc.window().cwnd, Bytes(expected), "L = {limit}");
            cc.on_ack(&ack(1000), Paths::ALONE);
            assert_eq!(cc.window().cwnd, Bytes(expected), "avoidance, L = {limit}");
        }
    }

    #[test]
    fn an_application_limited_ack_and_one_of_nothing_do_not_grow() {
        for ssthresh in [2000, u64::MAX] {
            let mut cc = NewReno::new(&setup_with(1000, 4000, ssthresh, PER_ACK));
            cc.on_ack(&Ack { cwnd_limited: false, ..ack(1000) }, Paths::ALONE);
            cc.on_ack(&ack(0), Paths::ALONE);
            assert_eq!(cc.window().cwnd, Bytes(4000));
        }
    }

    #[test]
    fn floors_are_two_segments_on_loss_and_one_on_timeout() {
        let mut cc = NewReno::new(&setup());
        cc.on_loss(&loss(1460), Paths::ALONE);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(2920), Bytes(2920)));
        cc.on_rto(&loss(29_200), Paths::ALONE);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(1460), Bytes(14_600)));
        cc.on_rto(&Loss { first_timeout: false, ..loss(1460) }, Paths::ALONE);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(1460), Bytes(14_600)), "once per data");
        cc.set_window(Bytes(3), None);
        assert_eq!(cc.window().cwnd, Bytes(1460));
    }

    #[test]
    fn idle_restart_caps_and_never_raises() {
        let mut cc = NewReno::new(&setup());
        cc.on_idle_restart(SimTime::from_secs(9), &Restart { cwnd: Bytes(20_000), ssthresh: None });
        assert_eq!(cc.window().cwnd, Bytes(14_600));
        cc.on_idle_restart(SimTime::from_secs(9), &Restart { cwnd: Bytes(2920), ssthresh: None });
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(2920), Bytes::MAX));
        cc.on_loss(&loss(14_600), Paths::ALONE);
        let kept = Restart { cwnd: Bytes(2920), ssthresh: Some(Bytes(5475)) };
        cc.on_idle_restart(SimTime::from_secs(9), &kept);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(2920), Bytes(7300)), "never lower");
        let kept = Restart { cwnd: Bytes(2920), ssthresh: Some(Bytes(9000)) };
        cc.on_idle_restart(SimTime::from_secs(9), &kept);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(2920), Bytes(9000)));
    }
}
