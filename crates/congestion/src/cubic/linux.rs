//! Growth in congestion avoidance as Linux has it.
//!
//! Source: `bictcp_update`, `cubictcp_cwnd_event` in net/ipv4/tcp_cubic.c and `tcp_cong_avoid_ai` in net/ipv4/tcp_cong.c of
//! Linux 6.x; names as there where RFC 9438 has none.
//! Units: whole segments and seconds. The window grows by a segment after each `cnt` acknowledged ones. Differences from
//! RFC 9438:
//! - The target is that of one *least* round-trip time ahead, not of a smoothed one: a full queue does not hasten growth.
//! - The estimate of Reno keeps its slope beyond the window before the loss, and the window follows it within a round trip.
//! - Where the cubic function is not above it the window still grows, by one segment per hundred windows acknowledged.
//! - While no loss has said how large the window may be, it grows by a twentieth per round trip at least.
//! - `cnt` is computed anew when the window has changed or 1/32 s has passed.
//! - Only the time from the last segment before a silence with nothing in flight to the first one after it does not count.
//!   When they left is taken from the samples of their ACKs.
//!
//! Deviation: time is not counted in ticks of the kernel.

use units::{Bytes, Nanos, SimTime};

use crate::Ack;
use crate::reno::RenoWindow;

/// Unit of beta, of which Linux has whole ones: 717 for 0.7 (`BICTCP_BETA_SCALE`).
const BETA_SCALE: u64 = 1024;
/// `cnt` where the cubic function is not above the window, in windows.
const STANDING: u64 = 100;
/// `cnt` at most while no loss is known: 5 % per round trip.
const EXPLORING: u64 = 20;
/// `cnt` at least: half a window more per round trip.
const FASTEST: u64 = 2;
/// How long `cnt` is valid while the window stays the same.
const REFRESH: Nanos = Nanos(1_000_000_000 / 32);

/// The part of an ACK that growth in avoidance takes.
pub(super) struct Acked {
    pub now: SimTime,
    /// Acknowledged bytes that slow start has not used.
    pub bytes: Bytes,
    /// Least round-trip time of the path, zero if none is known.
    pub delay_min: Nanos,
}

/// Growth on one path.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    /// C, in segments/s^3.
    c: f64,
    /// Share of the window that a loss leaves, in units of 1 / BETA_SCALE.
    beta: u64,
    /// Acknowledged segments per segment of the Reno estimate, in eighths of the window.
    reno_eighths: u64,
    /// Acknowledged segments for which the window grows by one.
    cnt: u64,
    /// Segments acknowledged towards that (`snd_cwnd_cnt`).
    credit: f64,
    /// Nothing has been in flight since the last ACK, and the last segment left then; `NEVER` while something is.
    silent_since: SimTime,
    pub stage: Option<Stage>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    /// Start, moved on by silence.
    pub epoch_start: SimTime,
    /// Seconds until the cubic function is at its origin.
    pub k: f64,
    /// Plateau of the cubic function.
    origin: u64,
    /// Window of a Reno flow with the same average.
    tcp_cwnd: u64,
    /// Acknowledged towards the next segment of it.
    ack_cnt: f64,
    /// Window and time of the last computation of `cnt`.
    last: (u64, SimTime),
}

impl Growth {
    pub fn new(c: f64, beta: f64) -> Self {
        let beta = libm::round(beta * BETA_SCALE as f64) as u64;
        let reno_eighths = 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta);
        Self { c, beta, reno_eighths, cnt: 0, credit: 0.0, silent_since: SimTime::NEVER, stage: None }
    }

    /// An ACK in avoidance that found the window full. `w_max`: segments before the last loss, 0 if none is known.
    pub fn on_ack(&mut self, window: &mut RenoWindow, w_max: f64, ack: &Acked) {
        let acked = window.acked_in_avoidance(ack.bytes) / window.mss;
        let cwnd = ((window.cwnd / window.mss) as u64).max(1);
        let stage = self.stage.get_or_insert_with(|| Stage::new(ack.now, cwnd, w_max as u64, self.c));
        stage.ack_cnt += acked;
        if stage.is_stale(ack.now, cwnd) {
            stage.last = (cwnd, ack.now);
            self.cnt = stage.count(stage.target(ack.now + ack.delay_min, self.c), cwnd, w_max <= 0.0);
            let per_segment = cwnd * self.reno_eighths / 8;
            self.cnt = self.cnt.min(stage.count_of_reno(cwnd, per_segment)).max(FASTEST);
        }
        window.cwnd += self.advance(acked) as f64 * window.mss;
    }

    /// Segments by which the window grows (`tcp_cong_avoid_ai`).
    fn advance(&mut self, acked: f64) -> u64 {
        let cnt = self.cnt as f64;
        let mut grown = 0;
        // Credit from a time of a larger `cnt` yields one segment only.
        if self.credit >= cnt {
            self.credit = 0.0;
            grown = 1;
        }
        self.credit += acked;
        let more = (self.credit / cnt) as u64;
        self.credit -= more as f64 * cnt;
        grown + more
    }

    /// Each ACK, before the window grows by it.
    pub fn exclude_silence(&mut self, ack: &Ack) {
        let sent = SimTime(ack.now.0.saturating_sub(ack.rtt.unwrap_or(ack.srtt).0));
        if let Some(stage) = self.stage.as_mut().filter(|_| !self.silent_since.is_never()) {
            stage.epoch_start = (stage.epoch_start + sent.since(self.silent_since.min(sent))).min(ack.now);
        }
        self.silent_since = if ack.flight == Bytes::ZERO { sent } else { SimTime::NEVER };
    }

    /// The window after a loss with `segments`.
    pub fn reduced(&self, segments: f64) -> f64 {
        (segments as u64 * self.beta / BETA_SCALE) as f64
    }

    /// Half of the way down to that (fast convergence).
    pub fn half_way(&self, segments: f64) -> f64 {
        (segments as u64 * (BETA_SCALE + self.beta) / (2 * BETA_SCALE)) as f64
    }

    pub fn end_stage(&mut self) {
        self.stage = None;
        self.credit = 0.0;
    }

    #[cfg(test)]
    pub fn cnt(&self) -> u64 {
        self.cnt
    }

    pub fn check(&self) {
        debug_assert!(self.credit >= 0.0, "more growth than was acknowledged: {self:?}");
        let Some(stage) = &self.stage else { return };
        debug_assert!(stage.k >= 0.0, "K {}: a stage starts at or below its origin", stage.k);
        debug_assert!(stage.ack_cnt >= 0.0 && self.cnt >= FASTEST, "{self:?}");
    }
}

impl Stage {
    fn new(now: SimTime, cwnd: u64, w_max: u64, c: f64) -> Self {
        let k = libm::cbrt(w_max.saturating_sub(cwnd) as f64 / c);
        Self { epoch_start: now, k, origin: w_max.max(cwnd), tcp_cwnd: cwnd, ack_cnt: 0.0, last: (0, now) }
    }

    fn is_stale(&self, now: SimTime, cwnd: u64) -> bool {
        self.last.0 != cwnd || now.since(self.last.1) > REFRESH
    }

    /// The cubic function at `at`; its distance from the origin is rounded down.
    fn target(&self, at: SimTime, c: f64) -> u64 {
        let d = at.since(self.epoch_start).as_secs_f64() - self.k;
        let distance = (c * d * d * d).abs() as u64;
        if d < 0.0 { self.origin.saturating_sub(distance) } else { self.origin.saturating_add(distance) }
    }

    /// Acknowledged segments for one of growth that reach `target` in a round trip.
    fn count(&self, target: u64, cwnd: u64, exploring: bool) -> u64 {
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { STANDING * cwnd };
        if exploring { cnt.min(EXPLORING) } else { cnt }
    }

    /// The same for the estimate of Reno, which grows by one for each `per_segment` acknowledged.
    fn count_of_reno(&mut self, cwnd: u64, per_segment: u64) -> u64 {
        let per_segment = per_segment.max(1) as f64;
        // The kernel subtracts while `ack_cnt` is greater, not equal, so that a remainder above zero stays.
        let grown = (libm::ceil(self.ack_cnt / per_segment) - 1.0).max(0.0);
        self.ack_cnt -= grown * per_segment;
        self.tcp_cwnd += grown as u64;
        if self.tcp_cwnd > cwnd { cwnd / (self.tcp_cwnd - cwnd) } else { u64::MAX }
    }
}
