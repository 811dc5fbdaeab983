//! Whether a path can be used: confirmation, error counter and HEARTBEATs (RFC 9260 sections 5.4, 8.2 and 8.3).
//!
//! May: say when a HEARTBEAT is due. May not: send it, or choose among paths.

use units::{Nanos, SimTime};

use crate::sctp::chunk::Heartbeat;
use crate::sctp::config::HeartbeatConfig;

/// State of one path.
#[derive(Clone, Copy, Debug)]
pub struct Reachability {
    config: HeartbeatConfig,
    /// Path.Max.Retrans.
    limit: u32,
    confirmed: bool,
    errors: u32,
    /// When the next HEARTBEAT is due; `NEVER` before the association is established.
    due: SimTime,
    /// A HEARTBEAT that was not answered, and when it is given up.
    pending: Option<(Heartbeat, SimTime)>,
    /// The HEARTBEAT that is due or pending is an additional one: it is given up when the next would have been due.
    extra: Option<SimTime>,
    nonce: u64,
}

impl Reachability {
    /// A path that was not tried. `confirmed`: its addresses need no HEARTBEAT.
    pub fn new(config: HeartbeatConfig, limit: u32, confirmed: bool, nonce: u64) -> Self {
        let confirmed = confirmed || !config.confirm;
        Self { config, limit, confirmed, errors: 0, due: SimTime::NEVER, pending: None, extra: None, nonce }
    }

    /// Data may use it.
    ///
    /// A path with more errors in a row than Path.Max.Retrans is inactive (RFC 9260 section 8.2).
    pub fn is_active(&self) -> bool {
        self.confirmed && self.errors <= self.limit
    }

    /// An answer has confirmed its addresses.
    pub fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// Transmissions in a row that were not answered.
    #[cfg(test)]
    pub fn errors(&self) -> u32 {
        self.errors
    }

    /// The association is established: a path that is not confirmed is asked at once, others when they are idle.
    pub fn start(&mut self, now: SimTime, rto: Nanos) {
        self.due = if self.confirmed { now + self.config.interval + rto } else { now };
        self.check();
    }

    /// The association is closing: no more HEARTBEATs.
    pub fn stop(&mut self) {
        (self.due, self.pending, self.extra) = (SimTime::NEVER, None, None);
    }

    /// Data that gives a round-trip sample has left: the path is not idle.
    pub fn on_data(&mut self, now: SimTime, rto: Nanos) {
        if self.pending.is_none() && !self.due.is_never() {
            self.due = now + self.config.interval + rto;
        }
    }

    /// An additional HEARTBEAT is due now.
    pub fn ask(&mut self, now: SimTime) {
        if !self.due.is_never() {
            self.extra = Some(self.due.max(now));
            (self.due, self.pending) = (now, None);
        }
        self.check();
    }

    /// Data was acknowledged that was last sent on this path.
    pub fn on_answer(&mut self) {
        // RFC 9260 section 8.2: any answer clears the counter.
        self.errors = 0;
        self.check();
    }

    /// Something was not answered in time.
    pub fn on_error(&mut self) {
        self.errors = self.errors.saturating_add(1);
        self.check();
    }

    /// When something is due here.
    pub fn deadline(&self) -> SimTime {
        self.pending.map_or(self.due, |(_, until)| until)
    }

    /// The HEARTBEAT to be sent now, if one is due. It is given up after `rto`.
    pub fn take_heartbeat(&mut self, now: SimTime, rto: Nanos) -> Option<Heartbeat> {
        if self.pending.is_some() || self.due > now {
            return None;
        }
        self.nonce = self.nonce.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let heartbeat = Heartbeat { sent: now, nonce: self.nonce };
        self.pending = Some((heartbeat, self.extra.map_or(now + rto, |until| until.max(now + rto))));
        self.check();
        Some(heartbeat)
    }

    /// True if a HEARTBEAT was not answered in time. The next is due at once while the path is not confirmed, otherwise after
    /// the interval.
    pub fn gives_up(&mut self, now: SimTime, rto: Nanos) -> bool {
        let Some((_, until)) = self.pending.filter(|(_, until)| *until <= now) else { return false };
        self.pending = None;
        let waits = self.confirmed && self.extra.take().is_none();
        self.due = if waits { until + self.config.interval + rto } else { until };
        self.on_error();
        true
    }

    /// A HEARTBEAT is answered. Returns the round-trip time if it is the one that was sent.
    pub fn on_heartbeat_ack(&mut self, now: SimTime, heartbeat: Heartbeat, rto: Nanos) -> Option<Nanos> {
        let (sent, _) = self.pending.filter(|(sent, _)| *sent == heartbeat)?;
        (self.pending, self.extra) = (None, None);
        self.due = now + self.config.interval + rto;
        self.confirmed = true;
        self.on_answer();
        Some(now.since(sent.sent))
    }

    fn check(&self) {
        debug_assert!(
            self.pending.is_none_or(|(heartbeat, until)| heartbeat.sent <= until),
            "a HEARTBEAT that is given up before it is sent"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Nanos = Nanos::from_secs(1);

    /// An additional HEARTBEAT leaves at once, and counts as unanswered no earlier than the next would have been due.
    #[test]
    fn an_additional_heartbeat_leaves_at_once() {
        let config = HeartbeatConfig { interval: Nanos::from_secs(30), confirm: true };
        let mut path = Reachability::new(config, 1, true, 7);
        path.start(SimTime::ZERO, RTO);
        path.ask(SimTime::from_secs(5));
        assert!(path.take_heartbeat(SimTime::from_secs(5), RTO).is_some());
        assert!(!path.gives_up(SimTime::from_secs(30), RTO));
        assert!(path.gives_up(SimTime::from_secs(31), RTO));
        assert_eq!((path.errors(), path.deadline()), (1, SimTime::from_secs(31)), "the regular one is due");
        let regular = path.take_heartbeat(SimTime::from_secs(31), RTO).expect("due");
        assert!(path.gives_up(SimTime::from_secs(32), RTO), "it waits for the timeout");
        assert_eq!(path.on_heartbeat_ack(SimTime::from_secs(33), regular, RTO), None);
    }

    #[test]
    fn an_answer_confirms_and_silence_counts() {
        let config = HeartbeatConfig { interval: Nanos::from_secs(30), confirm: true };
        let mut path = Reachability::new(config, 1, false, 7);
        assert!(path.deadline().is_never() && !path.is_active());
        path.start(SimTime::from_secs(1), RTO);
        let first = path.take_heartbeat(SimTime::from_secs(1), RTO).expect("due at once");
        assert_eq!(path.take_heartbeat(SimTime::from_secs(1), RTO), None);
        assert!(path.gives_up(SimTime::from_secs(2), RTO));
        let second = path.take_heartbeat(SimTime::from_secs(2), RTO).expect("not confirmed: at once");
        assert_eq!(path.on_heartbeat_ack(SimTime::from_millis(2100), first, RTO), None, "too late");
        let rtt = path.on_heartbeat_ack(SimTime::from_millis(2200), second, RTO);
        assert_eq!((rtt, path.is_active(), path.errors()), (Some(Nanos::from_millis(200)), true, 0));
        assert_eq!(path.deadline(), SimTime::from_millis(33_200));
        (0..2).for_each(|_| path.on_error());
        assert!(!path.is_active(), "more errors than Path.Max.Retrans");
        path.on_answer();
        assert!(path.is_active());
    }
}
