//! minRatio: the default scheduler of the kernel. A burst goes to the subflow whose send buffer will be empty first.
//!
//! Source: Linux 5.17 to 6.x, `mptcp_subflow_get_send` in net/mptcp/protocol.c; `kernel = "5.15"`: Linux 5.15. Units:
//! bytes, bytes per second. wmem is the content of the send buffer of a subflow, data sent and not acknowledged as well
//! as data not yet sent, with the overhead of its socket buffers where that is known. The congestion window plays no
//! part: segments queue on the subflow.
//! ```text
//! linger = wmem / avg_pacing,  the smallest of the usable subflows;  wait if its send buffer is full
//! burst = min(65428, free part of the send window):  the same subflow until it has that many bytes, in whole fragments,
//! or all data that waits; data written later begins a new burst
//! avg_pacing = (avg_pacing wmem + pacing burst) / (burst + wmem),  at first the pacing rate
//! ```
//! The comment in the kernel calls it the ratio of wmem to wspace, and papers repeat it (see `minratio_thesis`).
//! 5.15 divides by the present pacing rate, passes over subflows whose send buffer or window is full, and takes burst =
//! min(65428, send window of the subflow).
//! Deviation: the pacing rate is unlimited before the first round-trip sample (choice D-02). The kernel tunes send
//! buffers by its own rules, here choice D-32 sizes them. A reinjection goes to the smallest linger among the
//! subflows with free window.

use registry::{OptionKind, OptionSpec, Options};
use units::Bytes;

use crate::eligible::{Eligible, Indexed};
use crate::{Algorithm, ConnectionView, Decision, Needs, Question, Queueing, Report, Scheduler, SubflowView};

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "kernel",
    OptionKind::Choice(&["6", "5.15"]),
    "6",
    "which kernel: 6 (since 5.17) averages the pacing rate, 5.15 does not",
)];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "minratio",
    summary: "bursts go where what is held leaves first: the kernel's default",
    source: "Linux 5.15 to 6.x, net/mptcp/protocol.c",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |options: &Options| Box::new(MinRatio::new(options.choice("kernel") == "5.15")),
};

/// 64 KiB less the largest headers.
const BURST: u64 = 65_428;

/// Least linger time.
#[derive(Clone, Debug, Default)]
pub(crate) struct MinRatio {
    /// Linux 5.15.
    instantaneous: bool,
    /// Averaged pacing rates by subflow index, in whole bytes per second; 0: not used yet.
    averages: Vec<u64>,
    /// The subflow of the burst, and the rest of it in bytes.
    last: usize,
    burst: u64,
}

impl MinRatio {
    /// `instantaneous`: with the present pacing rate, as Linux 5.15.
    pub fn new(instantaneous: bool) -> Self {
        Self { instantaneous, ..Self::default() }
    }

    /// Averages of new subflows begin with their pacing rate. One without a round-trip sample is new at its index.
    fn observe(&mut self, subflows: &[SubflowView]) {
        if self.averages.len() < subflows.len() {
            self.averages.resize(subflows.len(), 0);
        }
        for (average, subflow) in self.averages.iter_mut().zip(subflows) {
            if subflow.srtt.is_none() {
                *average = 0;
            } else if *average == 0 {
                *average = pacing(subflow).unwrap_or(0);
            }
        }
    }

    /// Seconds until the send buffer is empty; `None`: its rate is 0.
    fn linger(&self, (index, subflow): Indexed<'_>) -> Option<f64> {
        let Some(now) = pacing(subflow) else { return Some(0.0) };
        let rate = if self.instantaneous { now } else { self.averages[index] };
        (rate > 0).then(|| subflow.held.as_f64() / rate as f64)
    }

    fn least<'a>(&self, candidates: impl Iterator<Item = Indexed<'a>>) -> Option<Indexed<'a>> {
        let moving = candidates.filter_map(|c| Some((self.linger(c)?, c)));
        moving.reduce(|least, next| if next.0 < least.0 { next } else { least }).map(|(_, c)| c)
    }

    /// True if the send buffer has room.
    fn has_memory(&self, subflow: &SubflowView) -> bool {
        if self.instantaneous { subflow.has_queue_room() } else { subflow.has_memory() }
    }

    /// True if the burst goes on on the same subflow.
    fn sticks(&self, eligible: Eligible<'_>) -> bool {
        self.burst > 0 && eligible.usable().any(|(index, s)| index == self.last && self.has_memory(s))
    }

    fn start_burst(&mut self, connection: &ConnectionView<'_>, (index, subflow): Indexed<'_>) {
        self.last = index;
        if self.instantaneous {
            self.burst = BURST.min(subflow.send_window.0);
            return;
        }
        self.burst = BURST.min(connection.window_left.0);
        if let Some(rate) = pacing(subflow).filter(|_| self.burst > 0) {
            self.averages[index] = averaged(self.averages[index], subflow.held.0, rate, self.burst);
        }
    }

    fn new_data(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let eligible = Eligible::new(connection.subflows);
        if !self.sticks(eligible) {
            let open = |s: &SubflowView| s.has_queue_room() && s.send_window > Bytes::ZERO;
            let candidates = eligible.usable().filter(|(_, s)| !self.instantaneous || open(s));
            let Some(chosen) = self.least(candidates).filter(|(_, s)| self.has_memory(s)) else {
                return Decision::Wait;
            };
            self.start_burst(connection, chosen);
        }
        debug_assert!(self.burst <= BURST, "a burst of {} bytes", self.burst);
        self.burst = self.burst.saturating_sub(connection.len.0);
        let all = connection.len >= connection.unassigned.min(connection.window_left);
        if all && !self.instantaneous {
            self.burst = 0;
        }
        Decision::Send(self.last)
    }
}

/// In whole bytes per second; `None`: unlimited.
fn pacing(subflow: &SubflowView) -> Option<u64> {
    subflow.pacing_rate.map(|rate| rate.0 / 8)
}

/// Mean of two rates, weighted by bytes, in integers as in the kernel.
fn averaged(average: u64, wmem: u64, rate: u64, burst: u64) -> u64 {
    let [average, wmem, rate, burst] = [average, wmem, rate, burst].map(u128::from);
    let mean = (average * wmem + rate * burst) / (burst + wmem);
    debug_assert!(
        (average.min(rate)..=average.max(rate)).contains(&mean),
        "the average {mean} is not between {average} and {rate}"
    );
    u64::try_from(mean).unwrap_or(u64::MAX)
}

impl Scheduler for MinRatio {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        self.observe(connection.subflows);
        if connection.question == Question::New {
            return self.new_data(connection);
        }
        let available = Eligible::new(connection.subflows).available();
        let score = |candidate: Indexed<'_>| self.linger(candidate).unwrap_or(f64::INFINITY);
        available
            .map(|candidate| (score(candidate), candidate.0))
            .reduce(|least, next| if next.0 < least.0 { next } else { least })
            .map_or(Decision::Wait, |(_, index)| Decision::Send(index))
    }

    fn needs(&self) -> Needs {
        let fragments = !self.instantaneous;
        Needs { queueing: Queueing::SendBuffer, pacing: true, alone: true, fragments, ..Needs::default() }
    }

    fn gauges(&self, report: Report<'_>) {
        if self.instantaneous {
            return;
        }
        for (index, &average) in self.averages.iter().enumerate().filter(|(_, average)| **average > 0) {
            report(Some(index), "avg_pacing_rate_bit_s", 8.0 * average as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, fill, full, paced, pick, plenty, queued, scene_s1, scene_s2, subflow};

    /// Scene S1 with pacing rates as Linux has them: 1.2 cwnd/srtt in congestion avoidance.
    fn paced_s1() -> [SubflowView; 2] {
        let [fast, slow] = scene_s1();
        [paced(fast, 336_000), paced(SubflowView { inflight: slow.inflight, ..slow }, 56_000)]
    }

    fn lingers(views: &[SubflowView]) -> Vec<f64> {
        let mut scheduler = MinRatio::default();
        scheduler.observe(views);
        views.iter().enumerate().map(|c| scheduler.linger(c).expect("it moves")).collect()
    }

    #[test]
    fn mr_1_linger_times() {
        let lingers = lingers(&paced_s1());
        assert!(
            (lingers[0] - 0.041_666_667).abs() < 1e-6 * 0.042 && (lingers[1] - 0.125).abs() < 1e-6 * 0.125
        );
        assert_eq!(pick(&mut MinRatio::default(), &paced_s1()), Decision::Send(0));
    }

    #[test]
    fn mr_1_f_is_best_until_it_holds_42000_bytes() {
        let [fast, slow] = paced_s1();
        for (unsent, chosen) in [(0, 0), (19, 0), (20, 0), (21, 1)] {
            let views = [queued(fast, unsent), slow];
            assert_eq!(pick(&mut MinRatio::default(), &views), Decision::Send(chosen), "{unsent}");
        }
        assert_eq!(queued(fast, 20).held, Bytes(42_000));
    }

    #[test]
    fn mr_1_averaging() {
        assert_eq!(averaged(336_000, 14_000, 300_000, 65_428), 306_345);
        let [fast, slow] = paced_s1();
        let mut scheduler = MinRatio::default();
        scheduler.observe(&[fast, slow]);
        pick(&mut scheduler, &[paced(fast, 300_000), slow]);
        assert_eq!(scheduler.averages, [306_345, 56_000]);
        assert_eq!(scheduler.burst, BURST - MSS);
    }

    #[test]
    fn scene_s2_picks_a() {
        let rate = |s: SubflowView| s.cwnd.0 * 1000 / (s.srtt.unwrap_or_default().0 / 1_000_000);
        // In avoidance the pacer works at 1.2 windows per round trip.
        let views = scene_s2().map(|s| paced(s, 12 * rate(s) / 10));
        let found: Vec<_> = lingers(&views).iter().map(|l| l * 1e3).collect();
        for (linger, expected) in found.iter().zip([2.5, 58.333, 4.861]) {
            assert!((linger - expected).abs() < 1e-3 * expected, "{found:?}");
        }
        assert_eq!(pick(&mut MinRatio::default(), &views), Decision::Send(0));
    }

    #[test]
    fn a_burst_stays_together() {
        let [fast, slow] = paced_s1();
        let mut views = [fast, slow];
        let chosen = fill(&mut MinRatio::default(), &mut views, 60);
        let first = chosen.iter().position(|&i| i == 1).expect("F is not best for ever");
        assert_eq!(first as u64, 65_428_u64.div_ceil(MSS), "{chosen:?}");
    }

    #[test]
    fn a_full_send_buffer_waits_and_the_second_best_is_not_tried() {
        let [fast, slow] = paced_s1();
        let deep = queued(paced(fast, 100_000_000), 60);
        assert_eq!(pick(&mut MinRatio::default(), &[deep, slow]), Decision::Wait);
        assert_eq!(pick(&mut MinRatio::new(true), &[deep, slow]), Decision::Send(1), "5.15 passes over it");
    }

    #[test]
    fn a_subflow_on_which_enough_waits_takes_no_more() {
        let [fast, slow] = paced_s1();
        let deep = queued(paced(fast, 100_000_000), 20);
        for (limit, expected) in [
            (deep.unsent, Decision::Wait),
            (deep.unsent + Bytes(1), Decision::Send(0)),
            (Bytes::MAX, Decision::Send(0)),
        ] {
            let limited = SubflowView { unsent_limit: limit, ..deep };
            assert_eq!(pick(&mut MinRatio::default(), &[limited, slow]), expected, "{limit}");
        }
        let full = SubflowView { unsent_limit: deep.unsent, ..deep };
        assert_eq!(pick(&mut MinRatio::new(true), &[full, slow]), Decision::Send(1), "5.15 passes over it");
    }

    #[test]
    fn an_expanded_send_buffer_takes_more() {
        let [fast, slow] = paced_s1();
        let deep = queued(paced(fast, 100_000_000), 60);
        let expanded = SubflowView { send_buffer: Bytes(deep.held.0 + MSS), ..deep };
        assert_eq!(pick(&mut MinRatio::default(), &[expanded, slow]), Decision::Send(0));
        // The kernel looks for any free memory, a segment or not.
        let full = SubflowView { send_buffer: deep.held, ..deep };
        assert_eq!(pick(&mut MinRatio::default(), &[full, slow]), Decision::Wait);
    }

    #[test]
    fn the_older_kernel_takes_the_present_rate_and_passes_over_closed_windows() {
        let [fast, slow] = paced_s1();
        let mut old = MinRatio::new(true);
        assert_eq!(pick(&mut old, &[fast, slow]), Decision::Send(0));
        assert_eq!(old.burst, BURST - MSS);
        old.burst = 0;
        assert_eq!(pick(&mut old, &[paced(fast, 100_000), slow]), Decision::Send(1), "140 ms > 125 ms");
        let mut new = MinRatio::default();
        new.observe(&[fast, slow]);
        assert_eq!(
            pick(&mut new, &[paced(fast, 100_000), slow]),
            Decision::Send(0),
            "the averaged rate has not fallen as far"
        );
        let closed = SubflowView { send_window: Bytes::ZERO, ..fast };
        assert_eq!(pick(&mut MinRatio::new(true), &[closed, slow]), Decision::Send(1));
    }

    #[test]
    fn rates_of_zero_and_unlimited_ones() {
        let [fast, slow] = paced_s1();
        assert_eq!(pick(&mut MinRatio::default(), &[paced(fast, 0), slow]), Decision::Send(1));
        let unlimited = SubflowView { pacing_rate: None, srtt: None, ..slow };
        assert_eq!(pick(&mut MinRatio::default(), &[fast, unlimited]), Decision::Send(1));
        assert_eq!(pick(&mut MinRatio::default(), &[paced(fast, 0)]), Decision::Wait);
        assert_eq!(pick(&mut MinRatio::default(), &[]), Decision::Wait);
    }

    #[test]
    fn what_is_sent_again_needs_free_window() {
        let [fast, slow] = paced_s1();
        let again = |views: &[SubflowView]| {
            MinRatio::default().pick(&ConnectionView { question: Question::Again, ..plenty(views) })
        };
        assert_eq!(again(&[fast, slow]), Decision::Send(1));
        assert_eq!(again(&[fast, full(slow)]), Decision::Wait);
    }

    #[test]
    fn the_average_is_forgotten_with_the_subflow() {
        let [fast, slow] = paced_s1();
        let mut scheduler = MinRatio::default();
        pick(&mut scheduler, &[fast, slow]);
        pick(&mut scheduler, &[SubflowView { srtt: None, ..full(fast) }, slow]);
        assert_eq!(scheduler.averages[0], 0);
        let mut seen = Vec::new();
        scheduler.gauges(&mut |subflow, name, value| seen.push((subflow, name, value)));
        assert_eq!(seen, [(Some(1), "avg_pacing_rate_bit_s", 448_000.0)]);
        assert_eq!(subflow(1, 1, 0).pacing_rate, None);
    }
}
