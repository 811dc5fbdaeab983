//! Reinjection as in Linux since 5.15: a timer of the connection, and subflows that count as stale.
//!
//! Source: Linux `net/mptcp`: `mptcp_retransmit_handler`, `__mptcp_retrans`, `mptcp_subflow_get_retrans`,
//! `mptcp_pm_subflow_chk_stale`, `mptcp_pm_nl_subflow_chk_stale`.
//! The timer runs while anything given to subflows lacks its Data ACK, and starts anew with each Data ACK: for the longest
//! time that is left on the retransmission timers of the subflows that are not silent, 200 ms if none runs. When it ends
//! the fragment at the Data ACK goes to the first subflow that has nothing unacknowledged, to a backup only if all that
//! have were silent twice. A subflow that has, and that has not been heard of since the last time, is silent once more;
//! one that was silent more than four times is stale, if another is better off: others get its data, and it gets none
//! until it is heard of.
//! Deviation: the kernel sends everything again that lacks its Data ACK when a subflow becomes stale; here it is what that
//! subflow has.

use units::{Nanos, SimTime};

use super::connection::{Mode, MptcpConnection};
use super::subflow::Subflow;
use crate::config::Reinjection;

/// The timer without any retransmission timer to go by (TCP_RTO_MIN of Linux).
const DEFAULT_INTERVAL: Nanos = Nanos::from_millis(200);
/// Timers may be due at this very instant.
const LEAST_INTERVAL: Nanos = Nanos::from_millis(1);
/// A subflow that was silent more often is stale (`stale_loss_cnt` of Linux).
const STALE_LOSS_COUNT: u32 = 4;
/// What the kernel sends again in one piece: data is cut where its page fragments end.
const FRAGMENT: u64 = 32_768;

/// The timer of the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetaTimer {
    /// `NEVER` while everything has its Data ACK.
    pub at: SimTime,
    /// The Data ACK when it was set.
    una: u64,
}

impl Default for MetaTimer {
    fn default() -> Self {
        Self { at: SimTime::NEVER, una: 0 }
    }
}

/// How long a subflow with data outstanding has been silent, in ends of the timer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    /// When anything came last.
    heard_at: SimTime,
    /// What that was when the silence began.
    since: SimTime,
    count: u32,
    stale: bool,
}

impl Silence {
    /// It gets no data.
    pub(super) fn is_stale(self) -> bool {
        self.stale
    }

    /// A segment has come.
    pub(super) fn hear(&mut self, now: SimTime) {
        self.heard_at = now;
        if self.stale {
            (self.stale, self.count) = (false, 0);
        }
    }

    /// The timer has ended with data outstanding here. Returns true if it has been silent for too long.
    fn note(&mut self) -> bool {
        if self.count == 0 {
            (self.since, self.count) = (self.heard_at, 1);
            return false;
        }
        if self.since != self.heard_at {
            self.count = 0;
            return false;
        }
        self.count = self.count.saturating_add(1);
        !self.stale && self.count > STALE_LOSS_COUNT
    }
}

/// End of the fragment that holds byte `dsn` of the data sequence space, whose first byte is 1.
fn fragment_end(dsn: u64) -> u64 {
    (dsn - 1) / FRAGMENT * FRAGMENT + FRAGMENT + 1
}

impl MptcpConnection {
    /// Data may have been given to subflows, or acknowledged: sets the timer.
    pub(super) fn watch_progress(&mut self, now: SimTime) {
        if self.config.reinjection != Reinjection::Upstream {
            return;
        }
        // Where every subflow carries everything there is nothing to send elsewhere.
        let runs = self.mode == Mode::Multipath && !self.needs.copies && self.send.una < self.send.next;
        if !runs {
            self.meta.at = SimTime::NEVER;
        } else if self.meta.at.is_never() || self.meta.una != self.send.una {
            self.meta = MetaTimer { at: now + self.meta_interval(now), una: self.send.una };
        }
    }

    fn meta_interval(&self, now: SimTime) -> Nanos {
        let vocal = self.subflows.iter().flatten().filter(|s| s.may_send() && s.silence.count == 0);
        let due = vocal.map(|s| s.endpoint.sender().retransmission_due()).filter(|at| !at.is_never()).max();
        due.map_or(DEFAULT_INTERVAL, |at| at.since(now).max(LEAST_INTERVAL))
    }

    /// The timer has ended.
    pub(super) fn meta_timeout(&mut self, now: SimTime) {
        let (mut idle, mut backup, mut least) = (None, None, u32::MAX);
        for i in 0..self.subflows.len() {
            let Some(subflow) = self.subflow(i).filter(|s| s.may_send()) else { continue };
            if subflow.endpoint.sender().unacked() > 0 {
                if subflow.silence.note() {
                    self.set_aside(i);
                }
                least = least.min(self.subflow(i).map_or(u32::MAX, |s| s.silence.count));
            } else if subflow.is_backup() {
                backup = backup.or(Some(i));
            } else {
                idle = idle.or(Some(i));
            }
        }
        let (una, next) = (self.send.una, self.send.next);
        if let Some(i) = idle.or(backup.filter(|_| least > 1))
            && una < next
        {
            self.carry_again(i, una, fragment_end(una).min(next) - una);
            self.touch(i);
        }
        self.meta = MetaTimer { at: now + self.meta_interval(now), una };
    }

    /// Subflow `i` is stale, if any other is better off: others get what it has.
    fn set_aside(&mut self, i: usize) {
        let better = |s: &Subflow| s.usable() && s.silence.count < STALE_LOSS_COUNT;
        let others = self.subflows.iter().enumerate().filter(|(j, _)| *j != i);
        if !others.filter_map(|(_, s)| s.as_ref()).any(better) {
            return;
        }
        if let Some(subflow) = self.subflow(i) {
            subflow.silence.stale = true;
        }
        self.reinject(i);
        self.touch(i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subflow_is_stale_after_more_than_four_silences_and_well_when_it_is_heard_of() {
        let mut silence = Silence::default();
        silence.hear(SimTime::from_millis(10));
        let noted: Vec<bool> = (0..6).map(|_| silence.note()).collect();
        assert_eq!(noted, [false, false, false, false, true, true]);
        silence.stale = true;
        assert!(!silence.note(), "once is enough");
        silence.hear(SimTime::from_millis(20));
        assert!(!silence.is_stale() && silence.count == 0);
        silence.note();
        silence.hear(SimTime::from_millis(30));
        silence.note();
        assert_eq!(silence.count, 0, "heard of in between");
    }

    #[test]
    fn fragments_end_where_pages_do() {
        assert_eq!([1, 32_768, 32_769].map(fragment_end), [32_769, 32_769, 65_537]);
    }
}
