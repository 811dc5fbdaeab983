//! One path of an association: a pair of addresses with window, timers and reachability.
//!
//! Deviation: RFC 9260 has a path for each destination address and leaves the source address to routing; here both belong to
//! it, as with the subflows of MPTCP.

use congestion::PathView;
use schedulers::SubflowView;
use units::{Bytes, Nanos, SimTime};

use crate::address::AddressPair;
use crate::config::RtoConfig;
use crate::sctp::config::ticked;
use crate::sctp::reachability::Reachability;
use crate::sctp::tsn::Tsn;
use crate::sctp::window::PathWindow;
use crate::tcp::rtt::RttEstimator;

/// Round-trip time and retransmission timer (RFC 9260 section 6.3).
#[derive(Clone, Debug)]
pub struct PathTimer {
    rtt: RttEstimator,
    /// Doublings of the RTO since the last sample.
    backoff: u32,
    /// The chunk that gives the next sample: one per round trip.
    timed: Option<(Tsn, SimTime)>,
    /// T3-rtx; `NEVER` while it is not running.
    expires: SimTime,
    whole: WholeRtt,
    /// The timeout is that of FreeBSD, between these bounds; `None`: that of the estimator.
    bounds: Option<(Nanos, Nanos)>,
}

/// Round-trip time and deviation as FreeBSD has them: scaled whole milliseconds (`sctp_calculate_rto`).
#[derive(Clone, Copy, Debug, Default)]
struct WholeRtt {
    /// Eight times the smoothed round-trip time in milliseconds; `None` before the first sample.
    srtt: Option<i64>,
    /// Four times the deviation.
    rttvar: i64,
}

impl WholeRtt {
    /// SCTP_CLOCK_GRANULARITY.
    const LEAST: i64 = 10;

    fn sample(&mut self, sample: Nanos) {
        let sample = (sample.0 / Nanos::from_millis(1).0) as i64;
        match &mut self.srtt {
            None => (self.srtt, self.rttvar) = (Some(sample << 3), (sample / 2) << 2),
            Some(srtt) => {
                let deviation = sample - (*srtt >> 3);
                *srtt += deviation;
                self.rttvar += deviation.abs() - (self.rttvar >> 2);
            }
        }
        if self.rttvar == 0 {
            self.rttvar = Self::LEAST;
        }
    }

    /// A chunk that was sent longer ago than this is old.
    fn age(&self) -> Nanos {
        Nanos::from_millis((self.srtt.unwrap_or(0) >> 3).saturating_add(self.rttvar).max(0) as u64)
    }
}

impl PathTimer {
    /// Not running. `freebsd`: the timeout goes by whole milliseconds (`sctp_calculate_rto`).
    pub fn new(config: RtoConfig, freebsd: bool) -> Self {
        Self {
            bounds: freebsd.then_some((config.min, config.max)),
            rtt: RttEstimator::new(config),
            backoff: 0,
            timed: None,
            expires: SimTime::NEVER,
            whole: WholeRtt::default(),
        }
    }

    /// The retransmission timeout now.
    pub fn rto(&self) -> Nanos {
        self.rto_after(0)
    }

    /// The same after further doublings.
    pub fn rto_after(&self, doublings: u32) -> Nanos {
        let doublings = self.backoff.saturating_add(doublings);
        match self.bounds {
            Some((min, max)) if self.whole.srtt.is_some() => {
                let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
                self.whole.age().max(min).saturating_mul(factor).min(max)
            }
            _ => self.rtt.rto(doublings),
        }
    }

    /// Estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The age from which FreeBSD takes a chunk for lost when T3-rtx expires (`sctp_mark_all_for_resend`).
    pub fn age(&self) -> Nanos {
        self.whole.age()
    }

    /// Smoothed round-trip time of FreeBSD in seconds, in eighths of a millisecond; zero before the first sample.
    pub fn whole_srtt(&self) -> f64 {
        self.whole.srtt.unwrap_or(0).max(0) as f64 / 8e3
    }

    /// When T3-rtx expires.
    pub fn expires(&self) -> SimTime {
        self.expires
    }

    /// A round-trip sample.
    pub fn sample(&mut self, now: SimTime, sample: Nanos) {
        self.rtt.sample(now, sample);
        self.whole.sample(sample);
        self.backoff = 0;
    }

    /// A chunk is sent. It gives a sample if it is new and no other chunk is being timed.
    pub fn on_sent(&mut self, now: SimTime, tsn: Tsn, again: bool) {
        if again {
            // RFC 9260 section 6.3.1: "RTT measurements MUST NOT be made using chunks that were retransmitted"
            self.timed = self.timed.filter(|(timed, _)| *timed != tsn);
        } else if self.timed.is_none() {
            self.timed = Some((tsn, now));
        }
        // RFC 9260 section 6.3.2, rule R1.
        if self.expires.is_never() {
            self.restart(now);
        }
    }

    /// This chunk is given up or sent elsewhere: it gives no sample.
    pub fn forget(&mut self, tsn: Tsn) {
        self.timed = self.timed.filter(|(timed, _)| *timed != tsn);
    }

    /// A chunk is acknowledged. Returns the sample if it is the one that is timed.
    pub fn on_acked(&mut self, now: SimTime, tsn: Tsn) -> Option<Nanos> {
        let (_, sent) = self.timed.filter(|(timed, _)| *timed == tsn)?;
        self.timed = None;
        Some(now.since(sent))
    }

    /// T3-rtx starts anew. With the rules of FreeBSD its time is a whole millisecond.
    pub fn restart(&mut self, now: SimTime) {
        let tick = if self.bounds.is_some() { Nanos::from_millis(1) } else { Nanos(1) };
        self.expires = ticked(now, tick) + self.rto();
    }

    /// T3-rtx stops: nothing is outstanding on the path.
    pub fn stop(&mut self) {
        self.expires = SimTime::NEVER;
    }

    /// Takes all doublings back.
    pub fn restore(&mut self) {
        self.backoff = 0;
    }

    /// Doubles the timeout.
    ///
    /// RFC 9260 section 6.3.3, rule E2.
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }
}

/// The chunk that stands for the cumulative TSN of a path, as FreeBSD keeps it (`find_pseudo_cumack`, `pseudo_cumack`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    tsn: Option<Tsn>,
    /// The chunk is known.
    found: bool,
}

impl Expected {
    /// The next is sought.
    pub fn seek(&mut self) {
        self.found = false;
    }

    /// A chunk in flight is passed.
    pub fn pass(&mut self, tsn: Tsn) {
        if !self.found {
            (self.tsn, self.found) = (Some(tsn), true);
        }
    }

    /// A chunk has arrived: true if it is the expected one.
    pub fn arrives(&mut self, tsn: Tsn) -> bool {
        let expected = self.tsn == Some(tsn);
        if expected {
            self.seek();
        }
        expected
    }
}

/// Counters of one path.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathStats {
    /// Packets with DATA sent, and retransmissions among them.
    pub packets_sent: u64,
    /// Retransmissions among them.
    pub packets_retransmitted: u64,
    /// User data sent, retransmissions included.
    pub bytes_sent: Bytes,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// Loss episodes by missing reports.
    pub fast_recoveries: u64,
    /// User data that came first by this path.
    pub bytes_received: Bytes,
    /// Packets with DATA received.
    pub packets_received: u64,
    /// Received packets without new data.
    pub packets_repeated: u64,
    /// Received packets that a later TSN had overtaken.
    pub packets_late: u64,
    /// User data sent here that was last sent on another path.
    pub moved: Bytes,
}

/// Loss estimate of a path, for the policy RTX-LOSSRATE: mean of retransmitted by sent bytes with the weight 1/8 for each round
/// trip (choice D-50).
#[derive(Clone, Copy, Debug, Default)]
pub struct LossEstimate {
    rate: f64,
    /// Counters at the end of the last round trip, and when that was.
    sent: Bytes,
    lost: Bytes,
    since: SimTime,
}

impl LossEstimate {
    /// Weight of the last round trip.
    const WEIGHT: f64 = 1.0 / 8.0;

    /// Share of the data that is lost.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Counters of the path now. Nothing changes before a round trip has passed and data was sent.
    pub fn update(&mut self, now: SimTime, srtt: Nanos, (sent, lost): (Bytes, Bytes)) {
        if now < self.since + srtt || sent == self.sent {
            return;
        }
        let share = (lost - self.lost).as_f64() / (sent - self.sent).as_f64();
        self.rate += (share.min(1.0) - self.rate) * Self::WEIGHT;
        (self.sent, self.lost, self.since) = (sent, lost, now);
        self.check();
    }

    fn check(&self) {
        debug_assert!((0.0..=1.0).contains(&self.rate), "{} is no share", self.rate);
    }
}

/// One path.
#[derive(Debug)]
pub struct Path {
    /// Addresses.
    pub pair: AddressPair,
    /// Congestion window and flight.
    pub window: PathWindow,
    /// Round-trip time and T3-rtx.
    pub timer: PathTimer,
    /// Reachability and HEARTBEATs.
    pub reach: Reachability,
    /// Counters.
    pub stats: PathStats,
    /// Loss estimate.
    pub losses: LossEstimate,
    /// Chunks that were sent once, and again, which stand for the cumulative TSN; only with
    /// [`SctpConfig::recovers_as_freebsd`](crate::sctp::config::SctpConfig::recovers_as_freebsd).
    pub expected: [Expected; 2],
    /// No data leaves before this time; zero: it may.
    pub blocked_until: SimTime,
    /// When DATA left last; `None` before.
    pub last_sent: Option<SimTime>,
    /// When data could first use it.
    pub usable_since: Option<SimTime>,
}

impl Path {
    /// As the congestion controls of the other paths see it.
    pub fn view(&self, chunk: Bytes) -> PathView {
        let exact = || self.timer.rtt().srtt().map_or(0.0, Nanos::as_secs_f64);
        let srtt = if self.window.forgets() { self.timer.whole_srtt() } else { exact() };
        let recovering = self.window.has_reduced() && self.window.ssthresh() != Bytes::MAX;
        let cwnd = if recovering { self.window.ssthresh() } else { self.window.cwnd() };
        self.window.share(PathView::new(cwnd.as_f64(), srtt, chunk.as_f64(), self.reach.is_active()))
    }

    /// As schedulers see it. `usable`: it may carry new data; `available`: now; `queued`: user data that is not cumulatively
    /// acknowledged.
    pub fn show(&self, chunk: Bytes, usable: bool, available: bool, queued: Bytes) -> SubflowView {
        let rtt = self.timer.rtt();
        let window = &self.window;
        SubflowView {
            srtt: rtt.srtt(),
            min_rtt: rtt.min(),
            latest_rtt: rtt.srtt().map(|_| rtt.latest()),
            rttvar: rtt.rttvar(),
            cwnd: window.cwnd(),
            ssthresh: window.ssthresh(),
            inflight: window.flight(),
            unsent: Bytes::ZERO,
            held: queued,
            unsent_limit: Bytes::MAX,
            mss: chunk,
            usable,
            available,
            open: !window.in_recovery() && !window.has_timed_out(),
            ..SubflowView::default()
        }
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Nanos {
        self.timer.rtt().srtt().unwrap_or(Nanos::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sctp::config::SctpConfig;

    #[test]
    fn the_loss_estimate_has_a_weight_of_an_eighth_per_round_trip() {
        let mut losses = LossEstimate::default();
        let srtt = Nanos::from_millis(100);
        losses.update(SimTime::from_millis(100), srtt, (Bytes(1000), Bytes(400)));
        let rate = |losses: &LossEstimate| (losses.rate() * 1e6).round() as u64;
        assert_eq!(rate(&losses), 50_000);
        losses.update(SimTime::from_millis(150), srtt, (Bytes(2000), Bytes(1400)));
        losses.update(SimTime::from_millis(200), srtt, (Bytes(1000), Bytes(400)));
        assert_eq!(rate(&losses), 50_000, "too early; nothing was sent");
        losses.update(SimTime::from_millis(200), srtt, (Bytes(2000), Bytes(400)));
        assert_eq!(rate(&losses), 43_750);
    }

    /// `sctp_calculate_rto` with samples of 100.9, 108 and 92 ms, and then with a constant one, whose deviation never reaches 0.
    #[test]
    fn the_age_of_freebsd_is_in_whole_milliseconds() {
        let mut rtt = WholeRtt::default();
        for (sample, age) in [(100_900, 300), (108_000, 259), (92_000, 227)] {
            rtt.sample(Nanos(sample * 1000));
            assert_eq!(rtt.age(), Nanos::from_millis(age), "{sample}");
        }
        (0..100).for_each(|_| rtt.sample(Nanos::from_millis(100)));
        assert_eq!(rtt.age(), Nanos::from_millis(103));
    }

    /// `sctp_process_segment_range`: an expected chunk stays so until it arrives, and the next is the first that is passed then.
    #[test]
    fn the_expected_chunk_stays_until_it_arrives() {
        let mut expected = Expected::default();
        expected.pass(Tsn(3));
        expected.pass(Tsn(4));
        assert!(!expected.arrives(Tsn(4)) && expected.arrives(Tsn(3)));
        assert!(expected.arrives(Tsn(3)), "none was passed since");
        expected.pass(Tsn(9));
        assert!(!expected.arrives(Tsn(3)) && expected.arrives(Tsn(9)));
    }

    /// RFC 9260 section 6.3.1: "When data is in flight and when allowed by rule C5 below, a new RTT measurement MUST be made each round
    /// trip."
    #[test]
    fn one_chunk_is_timed_at_a_time_and_none_that_was_sent_twice() {
        let mut timer = PathTimer::new(SctpConfig::default().recovery.rto, false);
        let at = SimTime::from_millis;
        timer.on_sent(at(0), Tsn(0), false);
        timer.on_sent(at(1), Tsn(1), false);
        assert_eq!(timer.on_acked(at(50), Tsn(1)), None);
        assert_eq!(timer.on_acked(at(50), Tsn(0)), Some(Nanos::from_millis(50)));
        timer.on_sent(at(60), Tsn(2), false);
        timer.on_sent(at(61), Tsn(2), true);
        assert_eq!(timer.on_acked(at(90), Tsn(2)), None);
        assert_eq!(timer.expires(), at(1000), "it runs since the first chunk");
        timer.back_off();
        timer.restart(at(1000));
        assert_eq!(timer.expires(), at(3000));
    }
}
