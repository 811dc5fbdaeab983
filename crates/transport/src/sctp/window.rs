//! The congestion window of one path (RFC 9260 section 7.2) and the bytes in flight there.
//!
//! May: tell the congestion control what happened, and say whether there is room. May not: know TSNs beyond the end of a
//! loss episode, or send.

use congestion::{Ack, CongestionControl, Loss, PathView, Paths, Window};
use units::{Bytes, Nanos, SimTime};

use crate::sctp::config::{MaxBurst, Reductions};
use crate::sctp::tsn::Tsn;

/// Least slow-start threshold, and least window that an idle time leaves, in largest chunks.
const FLOOR: u64 = 4;

/// News of a SACK about one path.
#[derive(Clone, Copy, Debug, Default)]
pub struct News {
    /// Bytes of chunks (headers included) that were in flight on the path and have arrived.
    pub acked: Bytes,
    /// The cumulative TSN has advanced.
    pub advanced: bool,
    /// It ends fast recovery of the association, and opens the window already.
    pub recovers: bool,
    /// Fast recovery of another path keeps the window as it is, unless the SACK ends it.
    pub frozen: bool,
    /// Chunks have arrived that were sent once.
    pub once: bool,
    /// A round-trip sample.
    pub rtt: Option<Nanos>,
}

/// Congestion window, flight and loss episode of one path.
///
/// RFC 9260 section 7.2: "an SCTP sender MUST keep a set of the control variables cwnd, ssthresh, and partial_bytes_acked for EACH
/// destination address of its peer (when its peer is multi-homed)."
/// Sizes are those of DATA chunks with their headers.
#[derive(Debug)]
pub struct PathWindow {
    control: Box<dyn CongestionControl>,
    shown: Window,
    /// PMDCS.
    chunk: Bytes,
    /// Unit of the limit of bursts.
    burst_unit: Bytes,
    flight: Bytes,
    /// Arrived since what the path acknowledges in order last advanced.
    arrived: Bytes,
    /// Fast recovery lasts until all TSNs before this one are acknowledged.
    recovery: Option<Tsn>,
    /// Reductions in fast recovery.
    reductions: Reductions,
    /// A SACK counts for itself alone, and only if it advances: [`SctpConfig::recovers_as_freebsd`].
    forgets: bool,
    /// The timer has expired, and nothing was acknowledged since.
    timed_out: bool,
    /// Sent on the path so far, and taken for lost.
    sent: Bytes,
    lost: Bytes,
    /// Bytes that left since the last opportunity, and how many may.
    burst: Bytes,
    burst_limit: Bytes,
}

impl PathWindow {
    /// Nothing in flight. `chunk` is PMDCS, `burst_unit` what a packet counts where bursts are limited; `forgets`: a SACK counts for
    /// itself alone, and only if it advances (`sctp_cwnd_update_after_sack_common`).
    pub fn new(
        control: Box<dyn CongestionControl>,
        (chunk, burst_unit): (Bytes, Bytes),
        (reductions, forgets): (Reductions, bool),
    ) -> Self {
        Self {
            shown: control.window(),
            control,
            chunk,
            burst_unit,
            flight: Bytes::ZERO,
            arrived: Bytes::ZERO,
            recovery: None,
            reductions,
            forgets,
            timed_out: false,
            sent: Bytes::ZERO,
            lost: Bytes::ZERO,
            burst: Bytes::ZERO,
            burst_limit: Bytes::MAX,
        }
    }

    /// The rules of FreeBSD hold.
    pub fn forgets(&self) -> bool {
        self.forgets
    }

    /// Congestion window.
    pub fn cwnd(&self) -> Bytes {
        self.shown.cwnd
    }

    /// Slow-start threshold.
    pub fn ssthresh(&self) -> Bytes {
        self.shown.ssthresh
    }

    /// Slow start, for recorders.
    pub fn in_slow_start(&self) -> bool {
        self.shown.in_slow_start
    }

    /// Bytes in flight.
    pub fn flight(&self) -> Bytes {
        self.flight
    }

    /// In fast recovery.
    pub fn in_recovery(&self) -> bool {
        self.recovery.is_some()
    }

    /// A reduction was the last until fast recovery ends.
    pub fn has_reduced(&self) -> bool {
        self.recovery.is_some() && self.reductions == Reductions::Once
    }

    /// The timer has expired, and nothing was acknowledged since.
    pub fn has_timed_out(&self) -> bool {
        self.timed_out
    }

    /// `view` with the state that the controllers of sibling paths read of this one.
    pub fn share(&self, view: PathView) -> PathView {
        let Some(shared) = self.control.shared_state() else { return view };
        let (loss_interval, measured_rate) = (shared.loss_interval(), shared.measured_rate());
        PathView { loss_interval, measured_rate, threshold: shared.threshold(), ..view }
    }

    /// Estimates of the congestion control.
    pub fn gauges(&self, paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        self.control.gauges(paths, report);
    }

    /// The slow-start threshold is at most this: the receive buffer of the peer.
    pub fn limit_slow_start(&mut self, ssthresh: Bytes) {
        let cwnd = self.shown.cwnd;
        self.tell(|control| control.set_window(cwnd, Some(ssthresh)));
    }

    /// The path can be used.
    pub fn on_established(&mut self, now: SimTime, srtt: Option<Nanos>) {
        self.tell(|control| control.on_established(now, srtt));
    }

    fn tell(&mut self, event: impl FnOnce(&mut dyn CongestionControl)) {
        event(&mut *self.control);
        self.shown = self.control.window();
        self.check();
    }

    /// There is room for a chunk.
    ///
    /// RFC 9260 section 6.1: "the sender MUST NOT transmit new data to a given transport address if it has cwnd"
    pub fn has_room(&self) -> bool {
        self.flight < self.shown.cwnd && self.burst < self.burst_limit
    }

    /// A chunk leaves.
    pub fn sent(&mut self, bytes: Bytes) {
        self.flight += bytes;
        self.sent += bytes;
        self.burst += bytes;
        self.check();
    }

    /// A chunk of the path is no longer in flight: it has arrived, or was taken for lost.
    pub fn left(&mut self, bytes: Bytes, lost: bool) {
        self.flight -= bytes;
        if lost {
            self.lost += bytes;
        }
        self.check();
    }

    /// A chunk that had arrived is in flight again, and does not fill the window by that.
    pub fn revoked(&mut self, bytes: Bytes) {
        self.flight += bytes;
        let cwnd = self.shown.cwnd + bytes;
        self.tell(|control| control.set_window(cwnd, None));
    }

    /// It has arrived again, or was taken for lost.
    pub fn restored(&mut self, bytes: Bytes) {
        let cwnd = self.shown.cwnd.saturating_sub(bytes);
        self.tell(|control| control.set_window(cwnd, None));
    }

    /// An opportunity to send (RFC 9260 section 6.1 D): limits the burst.
    pub fn begin_burst(&mut self, rule: MaxBurst) {
        self.burst = Bytes::ZERO;
        let limit = |packets: u32| self.burst_unit * u64::from(packets);
        self.burst_limit = match rule {
            MaxBurst::Packets(packets) => limit(packets),
            MaxBurst::Unlimited | MaxBurst::UseItOrLoseIt(_) | MaxBurst::WindowLimiting(_) => Bytes::MAX,
        };
        let (MaxBurst::UseItOrLoseIt(packets) | MaxBurst::WindowLimiting(packets)) = rule else { return };
        let window = self.flight + limit(packets);
        if window < self.shown.cwnd {
            let remembered = self.shown.ssthresh.max(self.shown.cwnd);
            let ssthresh = matches!(rule, MaxBurst::WindowLimiting(_)).then_some(remembered);
            self.tell(|control| control.set_window(window, ssthresh));
        }
    }

    /// The path has carried nothing for `rounds` RTOs (RFC 9260 section 7.2.1).
    pub fn decay(&mut self, rounds: u64) {
        let floor = self.chunk * FLOOR;
        let before = self.shown.cwnd;
        let halved = (0..rounds.min(64)).fold(before, |cwnd, _| Bytes(cwnd.0 / 2).max(floor));
        if halved < before {
            self.tell(|control| control.set_window(halved, Some(before)));
        }
    }

    /// A scheduler takes the path for too slow: half of the window, and of the threshold if the window has reached that.
    pub fn penalise(&mut self) {
        let half = |bytes: Bytes| Bytes(bytes.0 / 2).max(self.chunk);
        let ssthresh = (self.shown.cwnd >= self.shown.ssthresh).then(|| half(self.shown.ssthresh));
        let cwnd = half(self.shown.cwnd);
        self.tell(|control| control.set_window(cwnd, ssthresh));
    }

    /// Bytes sent so far, and taken for lost.
    pub fn counters(&self) -> (Bytes, Bytes) {
        (self.sent, self.lost)
    }

    /// Fast recovery is over, whatever is acknowledged.
    pub fn end_recovery(&mut self) {
        self.recovery = None;
    }

    /// Everything before `next` is acknowledged: ends fast recovery.
    pub fn acknowledged(&mut self, next: Tsn) {
        if self.recovery.is_some_and(|end| next >= end) {
            self.recovery = None;
        }
    }

    /// A SACK has brought news of the path, after the flight was corrected. `flight_before` and `cwnd_limited` describe the
    /// path before the SACK; `idle`: all data of the association is acknowledged.
    pub fn on_sack(
        &mut self,
        now: SimTime,
        news: News,
        (flight_before, srtt, window): (Bytes, Nanos, Bytes),
        idle: bool,
        paths: Paths<'_>,
    ) {
        self.arrived += news.acked;
        if news.acked > Bytes::ZERO {
            self.timed_out = false;
        }
        if (self.has_reduced() || news.frozen) && !news.recovers || self.forgets && !news.advanced {
            self.arrived = Bytes::ZERO;
            return;
        }
        if self.forgets {
            self.arrived = news.acked;
        }
        let acked = if news.advanced { std::mem::take(&mut self.arrived) } else { Bytes::ZERO };
        // With these rules a path has sent all when the association has.
        let missing = if self.forgets && !idle { self.flight.max(Bytes(1)) } else { self.flight };
        let ack = Ack {
            now,
            acked,
            delivered: news.acked,
            rtt: news.rtt,
            srtt,
            flight_before,
            flight: self.flight,
            pipe: self.flight,
            lost: self.lost,
            rwnd: window,
            snd_una: self.sent.saturating_sub(missing).0,
            snd_nxt: self.sent.0,
            cwnd_limited: flight_before >= self.shown.cwnd,
            marked: false,
            rate: None,
        };
        self.tell(|control| control.on_ack(&ack, paths));
    }

    /// Chunks of the path are to be fast retransmitted; `end` is the TSN after the highest that was sent. True if that
    /// begins a loss episode.
    pub fn on_missing(&mut self, loss: &Loss, end: Tsn, paths: Paths<'_>) -> bool {
        if self.has_reduced() {
            return false;
        }
        self.recovery = Some(end);
        self.arrived = Bytes::ZERO;
        self.tell(|control| control.on_loss(loss, paths));
        true
    }

    /// The retransmission timer of the path has expired.
    pub fn on_timeout(&mut self, loss: Loss, paths: Paths<'_>) {
        // RFC 9260 section 7.2.3: each expiry reduces the threshold, also for data that has timed out before.
        let first_timeout = true;
        self.timed_out = true;
        self.recovery = None;
        self.arrived = Bytes::ZERO;
        self.tell(|control| control.on_rto(&Loss { first_timeout, ..loss }, paths));
    }

    /// A loss as the congestion control is told of it.
    pub fn loss(&self, now: SimTime, flight: Bytes, srtt: Nanos) -> Loss {
        let cwnd_limited = flight >= self.shown.cwnd;
        Loss { now, flight, cwnd_limited, srtt, snd_nxt: self.sent.0, marked: false, first_timeout: false }
    }

    fn check(&self) {
        debug_assert!(self.shown.cwnd >= self.chunk, "cwnd below one chunk: {:?}", self.shown);
        debug_assert!(self.flight <= self.sent, "more in flight than was sent");
        debug_assert!(self.lost <= self.sent, "more lost than was sent");
    }
}

#[cfg(test)]
mod tests {
    use congestion::{Growth, Registry, Setup, SsthreshFrom};
    use registry::Options;

    use super::*;

    fn window(cwnd: u64, ssthresh: u64, reductions: Reductions) -> PathWindow {
        let row = *Registry::builtin().get("sctp").expect("a registered congestion control");
        let setup = Setup {
            mss: Bytes(1500),
            initial_window: Bytes(cwnd),
            initial_ssthresh: Bytes(ssthresh),
            growth: Growth { slow_start_limit: 1, byte_counting: true },
            ssthresh_from: SsthreshFrom::Cwnd,
            paced: false,
            offload: false,
        };
        PathWindow::new(
            (row.build)(&setup, &Options::defaults(row.options)),
            (setup.mss, setup.mss),
            (reductions, reductions == Reductions::Each),
        )
    }

    /// Test vector MB-1: 6000 bytes in flight, four packets of 1500 bytes.
    #[test]
    fn mb_1_a_window_that_is_not_used_is_cut() {
        for (rule, cwnd, ssthresh) in [
            (MaxBurst::UseItOrLoseIt(4), 12_000, 36_000),
            (MaxBurst::WindowLimiting(4), 12_000, 60_000),
            (MaxBurst::Packets(4), 60_000, 36_000),
        ] {
            let mut window = window(60_000, 36_000, Reductions::Once);
            window.sent(Bytes(6000));
            window.begin_burst(rule);
            assert_eq!((window.cwnd(), window.ssthresh()), (Bytes(cwnd), Bytes(ssthresh)), "{rule:?}");
        }
    }

    /// RFC 9260 section 7.2.4 reduces once per fast recovery; FreeBSD with concurrent transfer at each SACK.
    #[test]
    fn reductions_in_fast_recovery() {
        for (reductions, expected) in [(Reductions::Once, 32_000), (Reductions::Each, 8000)] {
            let mut window = window(64_000, 36_000, reductions);
            window.sent(Bytes(64_000));
            for _ in 0..3 {
                let loss = window.loss(SimTime::ZERO, Bytes(64_000), Nanos::ZERO);
                window.on_missing(&loss, Tsn(50), Paths::ALONE);
            }
            assert_eq!(window.cwnd(), Bytes(expected), "{reductions:?}");
        }
    }
}
