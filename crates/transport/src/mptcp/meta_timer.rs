//! Reinjection as in Linux since 5.15: a timer of the connection, and subflows that count as stale.
//!
//! Source: Linux `net/mptcp`: `mptcp_retransmit_handler`, `__mptcp_retrans`, `mptcp_subflow_get_retrans`,
//! `mptcp_pm_subflow_chk_stale`, `mptcp_pm_nl_subflow_chk_stale`.
//! The timer runs while anything given to subflows, or waiting in fragments, lacks its Data ACK, and starts anew with each Data ACK: for the longest
//! time that was left on the timers of the subflows that are not silent, 200 ms if none ran, when data was last to be given to
//! a subflow. When it ends the fragment at the Data ACK goes to the first subflow that has nothing unacknowledged, to a backup
//! only if all that have were silent twice. A subflow that has, and from which no segment has arrived since the last time, is
//! silent once more; one that was silent more than four times is stale, if another is better off: it gets no data until a
//! segment arrives, keeps what it has, and everything without Data ACK, on any subflow, is placed anew like new data.
//!
//! Not as in Linux: while no other subflow has joined, nothing is repeated. The only subflow may become plain TCP, whose stream is that of the data
//! (Linux repeats, and forbids that from then on at the sender alone: `allow_infinite_fallback`).

use units::{Bytes, Nanos, SimTime};

use super::health::STALE_LOSS_COUNT;
use super::placement::{Placement, may_repeat};
use super::send_side::SendSide;
use super::subflow::Subflow;
use super::subflows::Subflows;
use crate::seq::Dsn;
use crate::tcp::ranges::Range;

/// The timer without any retransmission timer to go by (TCP_RTO_MIN of Linux).
const DEFAULT_INTERVAL: Nanos = Nanos::from_millis(200);
/// Unit of retransmission of the kernel: data is cut where its page fragments end.
const FRAGMENT: u64 = 32_768;

/// The timer of the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetaTimer {
    /// False: reinjection knows no such timer.
    enabled: bool,
    /// `NEVER` while everything has its Data ACK.
    at: SimTime,
    /// The Data ACK when it was set.
    una: Dsn,
    /// How long it runs.
    interval: Nanos,
}

/// End of the fragment that holds byte `dsn` of the data sequence space, where the fragments are not known.
fn fragment_end(dsn: Dsn) -> Dsn {
    let offset = (dsn - Dsn::FIRST_DATA).0;
    Dsn::FIRST_DATA + Bytes(offset / FRAGMENT * FRAGMENT + FRAGMENT)
}

impl MetaTimer {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, at: SimTime::NEVER, una: Dsn::default(), interval: DEFAULT_INTERVAL }
    }

    /// Reinjection knows such a timer.
    #[inline]
    pub(super) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// When it ends; `NEVER` while everything has its Data ACK.
    #[inline]
    pub(super) fn at(&self) -> SimTime {
        self.at
    }

    /// Data may have been given to subflows, or acknowledged: sets the timer. `multipath`: not plain TCP.
    #[inline(always)]
    pub(super) fn watch(&mut self, now: SimTime, multipath: bool, send: &SendSide, subflows: &Subflows) {
        if self.enabled {
            self.watch_data(now, multipath, send, subflows);
        }
    }

    #[inline(never)]
    fn watch_data(&mut self, now: SimTime, multipath: bool, send: &SendSide, subflows: &Subflows) {
        if !send.has_fragments() && send.has_data() {
            self.note_placing(now, subflows);
        }
        let waits = !send.outstanding().is_empty() || send.has_fragments() && send.has_data();
        if !multipath || !waits {
            self.at = SimTime::NEVER;
        } else if self.at.is_never() || self.una != send.una() {
            if self.at.is_never() && send.has_written_again() {
                // The second write finds what the first one has sent on its way.
                self.note_placing(now, subflows);
            }
            (self.at, self.una) = (now + self.interval, send.una());
        }
        self.check(send);
    }

    /// Data is to be given to a subflow.
    pub(super) fn note_placing(&mut self, now: SimTime, subflows: &Subflows) {
        if self.enabled {
            self.interval = interval(now, subflows);
        }
    }

    /// The timer has ended.
    pub(super) fn on_timeout(
        &mut self,
        now: SimTime,
        send: &mut SendSide,
        subflows: &mut Subflows,
        placement: &mut Placement,
    ) {
        let (mut idle, mut backup, mut least) = (None, None, u32::MAX);
        for i in 0..subflows.count() {
            let Some(subflow) = subflows.get_mut(i).filter(|s| s.may_send()) else { continue };
            if subflow.sender().unacked() > 0 {
                if subflow.health_mut().note_silence() {
                    set_aside(now, i, send, subflows, placement);
                }
                least = least.min(subflows.get(i).map_or(u32::MAX, |s| s.health().silences()));
            } else if subflow.is_backup() {
                backup = backup.or(Some(i));
            } else {
                idle = idle.or(Some(i));
            }
        }
        if let Some(i) = idle.or(backup.filter(|_| least > 1)).filter(|_| may_repeat(subflows)) {
            let Range { start: una, end: placed } = send.placed();
            let end = send.fragment_end(una).unwrap_or_else(|| fragment_end(una)).min(placed);
            if una < end {
                placement.append_again(i, Range::new(una, end), subflows);
            }
        }
        send.push();
        (self.at, self.una) = (now + self.interval, send.una());
        self.check(send);
    }

    fn check(&self, send: &SendSide) {
        debug_assert!(self.enabled || self.at.is_never(), "a timer that does not exist runs");
        debug_assert!(self.una <= send.una(), "the Data ACK moves ahead only");
    }
}

fn interval(now: SimTime, subflows: &Subflows) -> Nanos {
    let vocal = subflows.iter().filter(|s| s.may_send() && s.health().silences() == 0);
    let due = vocal.map(|s| s.sender().timer_due()).filter(|at| !at.is_never()).max();
    due.filter(|at| *at > now).map_or(DEFAULT_INTERVAL, |at| at.since(now))
}

/// Subflow `i` is stale, if any other is better off. Data that is placed anew goes to the others at once.
fn set_aside(
    now: SimTime,
    i: usize,
    send: &mut SendSide,
    subflows: &mut Subflows,
    placement: &mut Placement,
) {
    let better = |s: &Subflow| s.is_usable() && s.health().silences() < STALE_LOSS_COUNT - 1;
    if !subflows.enumerate().any(|(j, s)| j != i && better(s)) {
        return;
    }
    subflows.get_mut(i).into_iter().for_each(|subflow| subflow.health_mut().set_stale());
    placement.reinject(i, send, subflows);
    while send.has_fragments() && placement.schedule(now, send, subflows).is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_end_where_pages_do() {
        assert_eq!([1, 32_768, 32_769].map(|dsn| fragment_end(Dsn(dsn)).0), [32_769, 32_769, 65_537]);
    }
}
