//! STTF: shortest transfer time first. Each segment goes to the queue that delivers it soonest, and what is queued is
//! placed anew when the estimates have changed.
//!
//! Source: Hurtig et al., "Low-Latency Scheduling in MPTCP", IEEE/ACM Transactions on Networking 2019, and the
//! authors' kernel. Units: segments, nanoseconds; rtt is the latest sample. For every usable subflow, its window full or
//! not, the segment is the q-th after what is in flight:
//! ```text
//! q = unsent + 1;  free = max(0, cwnd - inflight)
//! 0 < free and q <= free:  T = rtt/2
//! otherwise:  q -= free;  T = rtt;  w = nxt(cwnd);  while q > w { q -= w;  T += rtt;  w = nxt(w) };  T += rtt/2
//! nxt(w) = 2w if 2w <= ssthresh;  ssthresh if w < ssthresh;  w + 1 otherwise
//! ```
//! At most 64 rounds are counted. After an acknowledgement what is queued and unsent is taken back and placed anew if
//! the best split of it differs by more than one segment on any subflow. While the first round-trip times of all
//! usable subflows lie within 10 % of each other it decides as minRTT. When the window is full the oldest segment is
//! sent again as in `head.rs`, without penalties.
//! Deviation: the send buffer limits the queue (choice D-32); then it waits. A subflow without round-trip sample is
//! used when the segment would have to queue elsewhere.

use units::Nanos;

use crate::eligible::Eligible;
use crate::head::Opportunistic;
use crate::minrtt::MinRtt;
use crate::queueing::{arrival_first, place};
use crate::{Algorithm, ConnectionView, Decision, Needs, Question, Queueing, Scheduler, SubflowView};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "sttf",
    summary: "queue each segment where its transfer is done soonest, and think again at each acknowledgement",
    source: "Hurtig et al., IEEE/ACM Transactions on Networking 2019",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(Sttf::default()),
};

/// Rounds that are looked ahead at most.
const MAX_ROUNDS: u64 = 64;

/// Shortest transfer time first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sttf {
    opportunistic: Opportunistic,
    /// The first round-trip time of each subflow, by index.
    first: Vec<Option<Nanos>>,
}

/// Terms of the estimate, in segments.
#[derive(Clone, Copy, Debug)]
struct Path {
    rtt: Nanos,
    cwnd: u64,
    ssthresh: u64,
    free: u64,
}

impl Path {
    fn new(subflow: &SubflowView) -> Option<Self> {
        let mss = subflow.mss.0.max(1);
        let cwnd = (subflow.cwnd.0 / mss).max(1);
        Some(Self {
            rtt: subflow.latest_rtt?,
            cwnd,
            ssthresh: subflow.ssthresh.0 / mss,
            free: cwnd.saturating_sub(subflow.segments(subflow.inflight)),
        })
    }

    /// Half round trips until the segment behind `unsent` others has arrived.
    fn half_rounds(self, unsent: u64) -> u64 {
        let mut q = unsent + 1;
        if q <= self.free {
            return 1;
        }
        q -= self.free;
        let mut rounds = 1;
        let mut window = self.next(self.cwnd);
        while q > window && rounds < MAX_ROUNDS {
            q -= window;
            rounds += 1;
            window = self.next(window);
        }
        debug_assert!((1..=MAX_ROUNDS).contains(&rounds), "{rounds} rounds");
        2 * rounds + 1
    }

    fn next(self, window: u64) -> u64 {
        if window.saturating_mul(2) <= self.ssthresh {
            window.saturating_mul(2)
        } else if window < self.ssthresh {
            self.ssthresh
        } else {
            window + 1
        }
    }

    /// T.
    fn transfer_time(self, unsent: u64) -> Nanos {
        Nanos(self.rtt.0.saturating_mul(self.half_rounds(unsent)) / 2)
    }
}

fn transfer_time(subflow: &SubflowView) -> Option<Nanos> {
    Some(Path::new(subflow)?.transfer_time(subflow.segments(subflow.unsent)))
}

impl Sttf {
    /// Remembers the first round-trip times; a subflow without one is new at its index.
    fn observe(&mut self, subflows: &[SubflowView]) {
        if self.first.len() < subflows.len() {
            self.first.resize(subflows.len(), None);
        }
        for (first, subflow) in self.first.iter_mut().zip(subflows) {
            *first = subflow.latest_rtt.map(|rtt| first.unwrap_or(rtt));
        }
        debug_assert!(
            self.first.len() >= subflows.len(),
            "a subflow without a place for its round-trip time"
        );
    }

    /// The first round-trip times of all are within 10 % of each other.
    fn alike(&self, eligible: Eligible<'_>) -> bool {
        let firsts = || eligible.usable().filter_map(|(index, _)| self.first[index]);
        let (Some(least), Some(most)) = (firsts().min(), firsts().max()) else { return true };
        10 * u128::from(most.0) < 11 * u128::from(least.0)
    }
}

impl Scheduler for Sttf {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        self.observe(connection.subflows);
        match connection.question {
            Question::WindowFull | Question::BufferFull => self.opportunistic.pick(connection),
            Question::New if !self.alike(Eligible::new(connection.subflows)) => {
                place(connection, |eligible| arrival_first(eligible, transfer_time))
            }
            Question::New | Question::Again | Question::NothingNew => MinRtt.pick(connection),
        }
    }

    fn needs(&self) -> Needs {
        Needs { queueing: Queueing::SendBuffer, head: true, redistribution: true, ..Needs::default() }
    }

    fn redistributes(&mut self, connection: &ConnectionView<'_>) -> bool {
        self.observe(connection.subflows);
        let eligible = Eligible::new(connection.subflows);
        let idle = eligible.usable().all(|(_, s)| s.unsent.0 == 0);
        if idle || self.alike(eligible) {
            return false;
        }
        let estimated = eligible.usable().filter_map(|(_, s)| Some((Path::new(s)?, s.segments(s.unsent))));
        let paths: Vec<(Path, u64)> = estimated.collect();
        let mut split = vec![0_u64; paths.len()];
        for _ in 0..paths.iter().map(|(_, unsent)| unsent).sum() {
            let by_time = |&i: &usize| paths[i].0.transfer_time(split[i]);
            if let Some(best) = (0..paths.len()).min_by_key(by_time) {
                split[best] += 1;
            }
        }
        debug_assert!(
            paths.is_empty()
                || split.iter().sum::<u64>() == paths.iter().map(|(_, unsent)| unsent).sum::<u64>(),
            "{split:?} is not all that is queued"
        );
        paths.iter().zip(&split).any(|(&(_, actual), &ideal)| actual.abs_diff(ideal) > 1)
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::testing::{MSS, fill, full, pick, pick_blocked, plenty, queued, scene_s1, scene_s2, subflow};

    fn ms(subflow: &SubflowView) -> u64 {
        transfer_time(subflow).expect("sampled").0 / 1_000_000
    }

    #[test]
    fn tt_1_scene() {
        let [fast, slow] = scene_s1();
        let fast = queued(fast, 12);
        assert_eq!((ms(&fast), ms(&slow)), (125, 300));
        assert_eq!(pick(&mut Sttf::default(), &[fast, slow]), Decision::Send(0));
    }

    #[test]
    fn tt_1_rounds() {
        let path = |ssthresh| Path { rtt: Nanos::from_secs(1), cwnd: 10, ssthresh, free: 10 };
        for (ssthresh, halves) in [(u64::MAX, 7), (30, 9), (8, 15)] {
            assert_eq!(path(ssthresh).half_rounds(99), halves);
        }
        assert_eq!(path(8).half_rounds(9), 1, "in the free window");
        assert_eq!(path(8).half_rounds(10), 3);
        assert_eq!(path(8).half_rounds(u64::from(u32::MAX)), 129, "64 rounds at most");
    }

    #[test]
    fn scene_s1_queues_on_the_full_path_and_s2_takes_the_fastest() {
        assert_eq!(pick(&mut Sttf::default(), &scene_s1()), Decision::Send(0));
        assert_eq!(pick(&mut Sttf::default(), &scene_s2()), Decision::Send(0));
    }

    #[test]
    fn paths_that_are_alike_are_left_to_minrtt() {
        let alike = [full(subflow(50, 10, 10)), subflow(54, 20, 5)];
        assert_eq!(pick(&mut Sttf::default(), &alike), Decision::Send(1));
        let mut sttf = Sttf::default();
        assert_eq!(
            pick(&mut sttf, &[full(subflow(50, 10, 10)), subflow(55, 20, 5)]),
            Decision::Send(1),
            "55 + 27 > 27"
        );
        let later = [full(subflow(50, 10, 10)), subflow(900, 20, 5)];
        assert_eq!(pick(&mut sttf, &later), Decision::Send(0), "the first ones count: 10 % apart");
        let mut sttf = Sttf::default();
        pick(&mut sttf, &alike);
        assert_eq!(pick(&mut sttf, &later), Decision::Send(1), "they were alike at first");
    }

    #[test]
    fn a_queue_is_split_anew_when_it_is_off_by_more_than_one() {
        let [fast, slow] = scene_s1();
        let asks = |fast: u64, slow_queue: u64| {
            let views = [queued(self::scene_s1()[0], fast), queued(slow, slow_queue)];
            Sttf::default().redistributes(&plenty(&views))
        };
        // 60 segments: F is as late as S once it holds about 50.
        let mut views = [fast, slow];
        let chosen = fill(&mut Sttf::default(), &mut views, 60);
        let on_fast = chosen.iter().filter(|&&i| i == 0).count() as u64;
        assert!((45..60).contains(&on_fast), "{on_fast}");
        assert!(!asks(on_fast, 0), "nothing is queued on S, what is there was sent");
        assert!(asks(0, 40), "F is much better");
        assert!(!asks(12, 1) && asks(12, 2), "one segment is not worth it");
    }

    #[test]
    fn the_head_is_resent_without_penalty() {
        let views = [subflow(50, 10, 0), full(subflow(600, 20, 20))];
        assert_eq!(pick_blocked(&mut Sttf::default(), &views, &[1]), Decision::ResendHead(0));
    }

    #[test]
    fn a_full_send_buffer_waits_and_the_unsampled_helps_out() {
        let [fast, slow] = scene_s1();
        let fast = SubflowView { latest_rtt: Some(Nanos::from_millis(1)), ..fast };
        let deep = queued(fast, 87_040 / MSS);
        assert!(deep.held > deep.send_buffer);
        assert_eq!(pick(&mut Sttf::default(), &[deep, slow]), Decision::Wait);
        let unsampled = SubflowView { srtt: None, latest_rtt: None, ..subflow(0, 10, 0) };
        assert_eq!(pick(&mut Sttf::default(), &[fast, slow, unsampled]), Decision::Send(2));
        assert_eq!(pick(&mut Sttf::default(), &[]), Decision::Wait);
        assert!(!Sttf::default().redistributes(&plenty(&[])));
        assert_eq!(Bytes(0), SubflowView::default().unsent);
    }
}
