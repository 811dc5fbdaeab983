//! Reactions to deadlines.

use congestion::Loss;
use units::{Bytes, Nanos, SimTime};

use super::Association;
use crate::packet::PathId;
use crate::sctp::outqueue::{Fate, Sent};
use crate::sctp::path::Expected;

impl Association {
    /// Acts on all deadlines that are due.
    pub fn on_timeout(&mut self, now: SimTime) {
        self.opportunity = true;
        self.fast.on_opportunity();
        self.paths.unblock(now);
        self.sack.on_timeout(now);
        let retries = match self.life.established_at() {
            None => self.config.recovery.limits.init,
            Some(_) => self.config.recovery.limits.association,
        };
        self.life.on_timeout(now, retries, self.received.next());
        for id in self.paths.ids() {
            let path = self.paths.get_mut(id);
            let rto = path.timer.rto();
            if self.life.may_send() && path.reach.gives_up(now, rto) {
                path.timer.back_off();
                self.paths.on_error();
            }
            if self.paths.get(id).timer.expires() <= now {
                self.on_retransmission_timeout(now, id);
            }
        }
        // RFC 9260 section 8.1: more errors in a row than Association.Max.Retrans mean that the peer is unreachable.
        if self.paths.errors() > self.config.recovery.limits.association {
            self.life.abort("the peer cannot be reached");
        }
        if self.life.is_over() {
            self.stop();
        }
        self.check();
    }

    /// T3-rtx of a path has expired (RFC 9260 section 6.3.3).
    fn on_retransmission_timeout(&mut self, now: SimTime, id: PathId) {
        let latest = self.latest_loss(now, id);
        if self.config.recovers_as_freebsd() {
            self.ask_again(now, id);
        }
        if self.config.recovery.timer_defects.restarts_late()
            && self
                .outqueue
                .find(self.outqueue.first(), |sent| {
                    sent.fate == Fate::InFlight && sent.path == id && sent.at <= latest
                })
                .is_none()
        {
            self.expire_in_vain(now, id);
            return;
        }
        // A peer without window answers probes, or is busy: no error of the path.
        let probe = self.peer_window < self.config.packet.payload
            && self.outqueue.in_flight() == self.outqueue.bytes();
        let freebsd = self.config.recovers_as_freebsd();
        let policy = self.config.cmt.map(|cmt| cmt.retransmission);
        let other = policy.filter(|_| freebsd).map(|policy| self.paths.draw_for_retransmission(policy, id));
        let other = other.unwrap_or(self.paths.alternate(id));
        if freebsd {
            self.end_recovery();
        }
        self.paths.refresh_views();
        let (path, siblings) = self.paths.with_siblings(id);
        let loss: Loss = path.window.loss(now, path.window.flight(), path.srtt());
        path.stats.timeouts += 1;
        path.window.on_timeout(loss, siblings);
        path.timer.back_off();
        path.timer.stop();
        path.expected.iter_mut().for_each(Expected::seek);
        if !probe {
            path.reach.on_error();
            self.paths.on_error();
        }
        let Self { outqueue, paths, .. } = self;
        let path = paths.get_mut(id);
        // `sctp_mark_all_for_resend`: only another timeout sends it a third time, unless it stays on its path.
        let barred = self.config.cmt.is_some() || other != id;
        let move_over = |sent: &mut Sent| {
            if freebsd {
                (sent.fast, sent.barred, sent.again_on) = (false, barred, Some(other));
            }
        };
        if freebsd {
            outqueue.give_up_missing(id, latest, move_over);
        }
        outqueue.give_up_path(id, latest, |tsn, sent| {
            move_over(sent);
            path.window.left(sent.chunk.length(), !std::mem::replace(&mut sent.counted, true));
            if sent.is_revoked() {
                path.window.restored(sent.chunk.length());
                sent.restore();
            }
            path.timer.forget(tsn);
        });
        // `sctp_t3rxt_timer` starts no timer: the next packet on the path or the next SACK does.
        if path.window.flight() > Bytes::ZERO && !freebsd {
            path.timer.restart(now);
        }
        // Chunks that have timed out are no fast retransmissions.
        self.fast.on_timeout(id);
    }

    /// T3-rtx of a path has expired, and nothing is old enough to be lost: the timeout doubles. With the rules of FreeBSD fast recovery is over
    /// nevertheless (`sctp_t3rxt_timer`), and the timer waits for the next packet or SACK, unless none is running (`sctp_timeout_handler`).
    fn expire_in_vain(&mut self, now: SimTime, id: PathId) {
        let freebsd = self.config.recovers_as_freebsd();
        if freebsd {
            self.end_recovery();
        }
        let path = self.paths.get_mut(id);
        path.stats.timeouts += 1;
        path.timer.back_off();
        if freebsd {
            path.timer.stop();
            path.expected.iter_mut().for_each(Expected::seek);
        } else {
            path.timer.restart(now);
        }
    }

    /// `sctp_t3rxt_timer`: another path than the primary that has carried no new data for a timeout gets a HEARTBEAT, unless the peer
    /// has no window. Only whole seconds count.
    fn ask_again(&mut self, now: SimTime, id: PathId) {
        let second = Nanos::from_secs(1).0;
        let probes =
            self.peer_free() == Bytes::ZERO && self.outqueue.in_flight() < self.config.packet.payload;
        let path = self.paths.get_mut(id);
        let waited = path.last_sent.map_or(0, |last| now.0 / second - last.0 / second);
        if id != PathId::FIRST && !probes && Nanos::from_secs(waited) > path.timer.rto() {
            path.reach.ask(now);
        }
    }

    /// Chunks that were sent later are not lost when the timer expires: all are, but for a defect.
    fn latest_loss(&self, now: SimTime, id: PathId) -> SimTime {
        if !self.config.recovery.timer_defects.restarts_late() {
            return now;
        }
        // `sctp_mark_all_for_resend`: chunks that are exactly as old are spared.
        SimTime(now.0.saturating_sub(self.paths.get(id).timer.age().0 + 1))
    }
}
