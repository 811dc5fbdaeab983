//! TCP-Peach: dummy segments of low priority probe for spare capacity; their answers open the window.
//!
//! Source: Akyildiz, Morabito and Palazzo, "TCP-Peach: A New Congestion Control Scheme for Satellite IP Networks",
//! IEEE/ACM Transactions on Networking 9(3), 2001, as secondary sources give it. Units: bytes, windows as reals.
//! Sudden Start, in the place of slow start: one segment, then one dummy less than the advertised window holds, evenly over
//! a round trip; each answer adds a segment, up to that window. Rapid Recovery, in the place of fast recovery: with `cwnd0`
//! segments at the loss the window is halved and `cwnd0` dummies leave, one with each ACK; the first `cwnd0 / 2` answers are
//! ignored, each one after them adds a segment. Timeout: Sudden Start. Avoidance is that of NewReno.
//! Deviation: the answers that count are no more than the segments by which the window was reduced, so that with a
//! window of two or three segments, too, recovery restores it and no more.
//! Deviation: a congestion mark halves and sends no dummies.
//! Deviation: after an idle time the window is capped as RFC 5681 has it.

use registry::Options;
use units::{Bytes, Nanos, SimTime};

use crate::reno::{MAX_WINDOW, RenoWindow, may_grow};
use crate::{
    Ack, Algorithm, CongestionControl, Dummies, DummyAnswer, Extensions, Loss, Needs, Paths, Probing, Setup,
};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "peach",
    summary: "TCP-Peach: dummy segments of low priority find spare capacity, at the start and after losses",
    source: "Akyildiz, Morabito and Palazzo, IEEE/ACM ToN 9(3), 2001 (secondary sources)",
    notes: "fidelity is not claimed; needs queues of the discipline `priority`",
    options: &[],
    check: registry::independent,
    build: |setup: &Setup, _: &Options| Box::new(Peach::new(setup)),
};

/// Where Sudden Start has got to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SuddenStart {
    /// Its segment is out.
    Sent,
    /// Acknowledged up to here: what follows was sent into the window that answers have opened.
    Answered(u64),
    Over,
}

/// TCP-Peach on one path.
#[derive(Clone, Debug)]
pub(crate) struct Peach {
    window: RenoWindow,
    sudden: SuddenStart,
    /// Answers that are still to be ignored; the source calls it wdsn.
    ignored: u64,
    order: Option<Dummies>,
}

impl Peach {
    /// For a path that was just set up.
    pub fn new(setup: &Setup) -> Self {
        Self { window: RenoWindow::new(setup), sudden: SuddenStart::Over, ignored: 0, order: None }
    }

    fn start_suddenly(&mut self) {
        self.window.set(Bytes::ZERO);
        self.sudden = SuddenStart::Sent;
        self.ignored = 0;
        self.order = Some(Dummies::WindowOverRoundTrip);
    }

    /// Sudden Start is over when what its answers let out begins to be acknowledged.
    fn follow_start(&mut self, ack: &Ack) {
        match self.sudden {
            SuddenStart::Sent => self.sudden = SuddenStart::Answered(ack.snd_una),
            SuddenStart::Answered(una) if ack.snd_una > una => {
                self.sudden = SuddenStart::Over;
                self.window.ssthresh = self.window.cwnd;
            }
            _ => {}
        }
    }

    fn check(&self) {
        self.window.check();
        debug_assert!(
            self.sudden == SuddenStart::Over || self.ignored == 0,
            "Sudden Start counts every answer, but {} are to be ignored",
            self.ignored
        );
        debug_assert!(
            !matches!(self.order, Some(Dummies::PerAck(dummies)) if dummies < self.ignored),
            "{:?} answers no more than the {} to be ignored",
            self.order,
            self.ignored
        );
    }

    /// Whole segments in `bytes`.
    fn segments(&self, bytes: f64) -> u64 {
        (bytes / self.window.mss) as u64
    }
}

impl Extensions for Peach {
    fn needs(&self) -> Needs {
        Needs { tcp_sender: true, ..Needs::default() }
    }

    fn probing(&mut self) -> Option<&mut dyn Probing> {
        Some(self)
    }
}

impl CongestionControl for Peach {
    fn on_established(&mut self, _now: SimTime, _srtt: Option<Nanos>) {
        self.start_suddenly();
    }

    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        if ack.acked > Bytes::ZERO {
            self.follow_start(ack);
        }
        if may_grow(ack) {
            self.window.avoid(ack.acked);
        }
        self.check();
    }

    fn on_loss(&mut self, _loss: &Loss, _paths: Paths<'_>) {
        let before = self.window.cwnd;
        self.window.reduce_to(before / 2.0);
        self.sudden = SuddenStart::Over;
        let dummies = self.segments(before);
        self.ignored = dummies.saturating_sub(self.segments((before - self.window.cwnd).max(0.0)));
        self.order = Some(Dummies::PerAck(dummies));
        self.check();
    }

    fn on_ecn(&mut self, _loss: &Loss, _paths: Paths<'_>) {
        self.window.reduce_to(self.window.cwnd / 2.0);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.time_out(loss, self.window.cwnd / 2.0);
        self.start_suddenly();
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        report("ignored_dummies", self.ignored as f64);
    }

    crate::reno::window_methods!();
}

impl Probing for Peach {
    fn take_dummies(&mut self) -> Option<Dummies> {
        self.order.take()
    }

    fn on_dummy_answer(&mut self, answer: &DummyAnswer) {
        if self.ignored > 0 {
            self.ignored -= 1;
            return;
        }
        let opened = self.window.cwnd + self.window.mss;
        if opened <= answer.rwnd.as_f64().min(MAX_WINDOW) {
            self.window.cwnd = opened;
        }
        self.check();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Growth;
    use crate::newreno::NewReno;
    use crate::testing::{ack, loss, setup_with};

    const MSS: u64 = 1460;
    const PER_ACK: Growth = Growth { slow_start_limit: 1, byte_counting: false };

    /// In avoidance with a window of `segments`.
    fn peach(segments: u64) -> Peach {
        Peach::new(&setup_with(MSS, segments * MSS, segments * MSS, PER_ACK))
    }

    fn answer(cc: &mut Peach, times: u64, rwnd_segments: u64) {
        let answer = DummyAnswer { now: SimTime::ZERO, rwnd: Bytes(rwnd_segments * MSS) };
        (0..times).for_each(|_| cc.on_dummy_answer(&answer));
    }

    /// Vector TP-1, Rapid Recovery.
    #[test]
    fn tp_1_answers_restore_the_window_after_a_link_loss() {
        for (answers, segments) in [(32, 32), (20, 20), (16, 16), (0, 16)] {
            let mut cc = peach(32);
            cc.on_loss(&loss(32 * MSS), Paths::ALONE);
            assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(16 * MSS), Bytes(16 * MSS)));
            assert_eq!(cc.take_dummies(), Some(Dummies::PerAck(32)));
            assert_eq!(cc.take_dummies(), None, "taken once");
            answer(&mut cc, answers, 1000);
            assert_eq!(cc.window().cwnd, Bytes(segments * MSS), "{answers} answers");
        }
    }

    /// Vector TP-1, Sudden Start with an advertised window of 64 segments (the sender spaces it).
    #[test]
    fn tp_1_sudden_start_opens_to_the_advertised_window() {
        let mut cc = Peach::new(&setup_with(MSS, 10 * MSS, u64::MAX, PER_ACK));
        cc.on_established(SimTime::ZERO, Some(Nanos::from_millis(600)));
        assert_eq!((cc.window().cwnd, cc.window().in_slow_start), (Bytes(MSS), true));
        assert_eq!(cc.take_dummies(), Some(Dummies::WindowOverRoundTrip));
        answer(&mut cc, 63, 64);
        assert_eq!(cc.window().cwnd, Bytes(64 * MSS));
        answer(&mut cc, 1, 64);
        assert_eq!(cc.window().cwnd, Bytes(64 * MSS), "never beyond");
        let at = |una| Ack { snd_una: una, cwnd_limited: false, ..ack(MSS) };
        cc.on_ack(&at(MSS), Paths::ALONE);
        assert!(cc.window().in_slow_start);
        cc.on_ack(&at(2 * MSS), Paths::ALONE);
        assert_eq!((cc.window().in_slow_start, cc.window().ssthresh), (false, Bytes(64 * MSS)));
    }

    #[test]
    fn a_timeout_starts_suddenly() {
        let mut cc = peach(32);
        cc.on_loss(&loss(32 * MSS), Paths::ALONE);
        cc.take_dummies();
        cc.on_rto(&Loss { first_timeout: false, ..loss(32 * MSS) }, Paths::ALONE);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(MSS), Bytes(16 * MSS)));
        assert_eq!(cc.take_dummies(), Some(Dummies::WindowOverRoundTrip));
        answer(&mut cc, 5, 64);
        assert_eq!(cc.window().cwnd, Bytes(6 * MSS), "none is ignored");
    }

    #[test]
    fn a_mark_means_congestion() {
        let mut cc = peach(32);
        cc.on_ecn(&Loss { marked: true, ..loss(32 * MSS) }, Paths::ALONE);
        assert_eq!((cc.window().cwnd, cc.take_dummies()), (Bytes(16 * MSS), None));
    }

    proptest! {
        /// However many of the dummies of an episode are answered, recovery gives back at most what the loss took.
        #[test]
        fn recovery_never_gives_more_than_the_loss_took(segments in 1..200_u64, extra in 0..MSS, share in 0.0..=1.0_f64) {
            let window = segments * MSS + extra;
            let mut cc = Peach::new(&setup_with(MSS, window, window, PER_ACK));
            cc.on_loss(&loss(window), Paths::ALONE);
            let reduced = cc.window().cwnd;
            let Some(Dummies::PerAck(dummies)) = cc.take_dummies() else { panic!("dummies follow a loss") };
            answer(&mut cc, (dummies as f64 * share) as u64, 1000);
            prop_assert!(cc.window().cwnd >= reduced);
            prop_assert!(cc.window().cwnd <= Bytes(window.max(2 * MSS)), "{} of {window}", cc.window().cwnd);
        }

        /// Without an answer it is NewReno in avoidance and at losses.
        #[test]
        fn without_answers_it_is_newreno(losses in proptest::collection::vec(1..120_u32, 0..12)) {
            let setup = setup_with(MSS, 20 * MSS, 20 * MSS, PER_ACK);
            let (mut cc, mut reno) = (Peach::new(&setup), NewReno::new(&setup));
            let both: [&mut dyn CongestionControl; 2] = [&mut cc, &mut reno];
            for one in both {
                for &acks in &losses {
                    (0..acks).for_each(|_| one.on_ack(&ack(MSS), Paths::ALONE));
                    one.on_loss(&loss(one.window().cwnd.0), Paths::ALONE);
                }
            }
            // NewReno halves whole bytes of flight.
            prop_assert!(cc.window().cwnd.0.abs_diff(reno.window().cwnd.0) <= 12, "{} {}", cc.window().cwnd, reno.window().cwnd);
        }
    }
}
