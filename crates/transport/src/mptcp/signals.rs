//! REMOVE_ADDR, MP_PRIO, MP_FASTCLOSE and MP_TCPRST (RFC 8684 sections 3.3.8, 3.4.2, 3.5, 3.6), and what the
//! application or the host asks for of these.

use units::SimTime;

use super::connection::{Mode, MptcpConnection};
use super::keys::Key;
use super::subflow::{ASKED, Subflow, TOLD};
use crate::role::{AbortForm, Role};
use crate::segment::{MptcpOption, Segment};

/// A signal that leaves once and is not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// The address with this ID is gone. It leaves on each subflow, because nobody repeats it: bit i of `told`, it has
    /// left on subflow i.
    Remove { id: u8, told: u64 },
    /// The priority of this subflow has changed.
    Priority(usize),
}

/// The application has aborted the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FastClose {
    /// The subflow that carries MP_FASTCLOSE on an ACK and waits for a RST; `None`: each RST carries it.
    pub on: Option<usize>,
    pub tries: u32,
    /// When the ACK is due (again).
    pub resend_at: SimTime,
}

/// Transmissions of MP_FASTCLOSE on an ACK before the last subflow is reset too (RFC 8684 section 3.5: three repetitions).
const FAST_CLOSE_TRIES: u32 = 4;

const ADDRESS_LEFT: &str = "its address has left";
const PEER_ADDRESS_LEFT: &str = "the peer's address has left";
const ABORTED: &str = "aborted by the application";
const PEER_ABORTED: &str = "aborted by the peer";

impl MptcpConnection {
    /// An address of this end leaves.
    pub fn remove_address(&mut self, now: SimTime, address: u8) {
        if self.failure.is_some() || !self.book.leave(address) {
            return;
        }
        let id = self.book.id_of(address);
        self.announcements.retain(|a| a.echo || a.address != address);
        if self.mode != Mode::Fallback {
            self.signals.push(Signal::Remove { id, told: 0 });
        }
        let hit = |s: &Subflow| s.pair.local == Some(address);
        self.lose_subflows(now, ADDRESS_LEFT, hit);
    }

    /// Subflows disappear without a word: nothing can be sent from, or to, an address that is not there.
    fn lose_subflows(&mut self, now: SimTime, why: &'static str, hit: impl Fn(&Subflow) -> bool) {
        for i in 0..self.subflows.len() {
            let Some(subflow) = self.subflow(i).filter(|s| s.is_alive() && hit(s)) else { continue };
            subflow.endpoint.vanish(why);
            subflow.left = true;
            self.touch(i);
            self.subflow_died(now, i);
        }
        // Those that had died may be opened again when the address returns.
        self.subflows.iter_mut().flatten().filter(|s| hit(s)).for_each(|s| s.left = true);
    }

    /// An address of this end comes, or comes back.
    pub fn add_address(&mut self, address: u8) {
        if !self.book.join(address) || !self.fully_established {
            return;
        }
        let signalled = self.book.to_announce(&self.config.path_manager, self.role, self.first);
        let returns = self.role == Role::Server && self.config.path_manager.announces_return(address);
        if returns || signalled.contains(&address) {
            self.announce(address);
        }
        self.open_missing();
    }

    /// The subflows of an address of this end become backups, or are so no longer.
    pub fn set_backup(&mut self, address: u8, backup: bool) {
        self.book.set_backup(address, backup);
        for i in 0..self.subflows.len() {
            if self.subflow(i).is_some_and(|s| s.pair.local == Some(address) && s.is_alive()) {
                self.tell_priority(i, backup);
            }
        }
    }

    /// Marks subflow `i` and tells the peer.
    pub(super) fn tell_priority(&mut self, i: usize, backup: bool) {
        let Some(subflow) = self.subflow(i).filter(|s| s.backup[TOLD] != backup) else { return };
        subflow.backup[TOLD] = backup;
        self.touch(i);
        if self.fully_established && !self.signals.contains(&Signal::Priority(i)) {
            self.signals.push(Signal::Priority(i));
        }
    }

    /// The peer asks for another priority of subflow `i`.
    pub(super) fn on_priority(&mut self, i: usize, backup: bool) {
        if let Some(subflow) = self.subflow(i) {
            subflow.backup[ASKED] = backup;
            self.touch(i);
        }
    }

    /// The peer's address with this ID is gone.
    pub(super) fn on_removal(&mut self, now: SimTime, id: u8) {
        let uses = |s: &Subflow| match s.remote_id {
            Some(known) => known == id,
            None => s.pair.remote == Some(id),
        };
        let named = self.subflows.iter().flatten().find(|s| uses(s)).and_then(|s| s.pair.remote);
        let address = named.unwrap_or(id);
        let newer = |s: &Subflow| s.is_alive() && s.pair.remote == Some(address) && !uses(s);
        let still_used = self.subflows.iter().flatten().any(newer);
        self.book.peer_withdraws(id, address, still_used);
        self.lose_subflows(now, PEER_ADDRESS_LEFT, uses);
    }

    /// The next signal that a subflow can carry, in an ACK of its own.
    pub(super) fn next_signal(&mut self, now: SimTime, segment: &mut Segment) -> Option<()> {
        let able: u64 = self
            .subflows
            .iter()
            .enumerate()
            .fold(0, |bits, (i, s)| bits | (u64::from(s.as_ref().is_some_and(Subflow::may_send)) << i));
        let data_ack = self.receive.next;
        let Self { signals, subflows, .. } = self;
        // A priority that nobody can be told any more.
        let alive = |i: usize| subflows[i].as_ref().is_some_and(Subflow::is_alive);
        signals.retain(|s| !matches!(s, Signal::Priority(i) if !alive(*i)));
        let ready = |s: &Signal| match *s {
            Signal::Remove { told, .. } => able & !told != 0,
            Signal::Priority(i) => able & (1 << i) != 0,
        };
        let at = signals.iter().position(ready)?;
        let (i, option) = match &mut signals[at] {
            Signal::Remove { id, told } => {
                let (i, id) = ((able & !*told).trailing_zeros() as usize, *id);
                *told |= 1 << i;
                if able & !*told == 0 {
                    signals.remove(at);
                }
                (i, MptcpOption::RemoveAddr { id, data_ack })
            }
            Signal::Priority(i) => {
                let i = *i;
                signals.remove(at);
                let backup = subflows[i].as_ref().is_some_and(|s| s.backup[TOLD]);
                (i, MptcpOption::Prio { backup, data_ack })
            }
        };
        self.bare_ack(now, i, option, segment)
    }

    /// The application aborts the connection.
    pub fn abort(&mut self, now: SimTime, form: AbortForm) {
        if self.failure.is_some() {
            return;
        }
        self.failure = Some(ABORTED);
        if self.mode == Mode::Multipath {
            let on = if form == AbortForm::Ack { self.best_for_signals(0) } else { None };
            let resend_at = if on.is_some() { now } else { SimTime::NEVER };
            self.fast_close = Some(FastClose { on, tries: 0, resend_at });
        }
        self.reset_all(ABORTED);
    }

    /// Resets every subflow but the one that carries MP_FASTCLOSE on an ACK.
    fn reset_all(&mut self, why: &'static str) {
        let spared = self.fast_close.and_then(|close| close.on);
        for i in 0..self.subflows.len() {
            self.busy &= !(1 << i);
            let Some(subflow) = self.subflow(i).filter(|s| s.is_alive()) else { continue };
            if spared != Some(i) {
                subflow.endpoint.abort(why);
                self.busy |= 1 << i;
            }
        }
    }

    /// MP_FASTCLOSE arrived: with an ACK it is answered by resets, with a RST there is nobody left to answer.
    pub(super) fn on_fast_close(&mut self, key: Key, with_reset: bool) {
        if key != self.own_key || self.mode != Mode::Multipath {
            return;
        }
        self.failure = Some(PEER_ABORTED);
        if with_reset {
            self.subflows.iter_mut().flatten().for_each(|s| s.endpoint.vanish(PEER_ABORTED));
        } else {
            self.reset_all(PEER_ABORTED);
        }
    }

    /// A segment for a connection that has ended.
    pub(super) fn after_the_end(&mut self, segment: &Segment) {
        let i = usize::from(segment.subflow);
        let key = self.own_key;
        let awaited = self.fast_close.is_some_and(|close| close.on == Some(i));
        let asked = matches!(segment.mptcp, MptcpOption::FastClose { key: k } if k == key);
        let Some(subflow) = self.subflow(i) else { return };
        if segment.flags.rst {
            subflow.endpoint.vanish(ABORTED);
        } else if asked {
            // Both ends abort at the same time, or the RST was lost.
            subflow.endpoint.abort(ABORTED);
            subflow.endpoint.reset_again();
            self.busy |= 1 << i;
        } else {
            return;
        }
        if awaited {
            self.fast_close = None;
        }
    }

    /// MP_FASTCLOSE on an ACK, as long as no RST has answered it.
    pub(super) fn fast_close_segment(&mut self, now: SimTime, segment: &mut Segment) -> Option<()> {
        let close = self.fast_close.filter(|close| close.resend_at <= now)?;
        let i = close.on?;
        if close.tries >= FAST_CLOSE_TRIES {
            self.fast_close = Some(FastClose { on: None, resend_at: SimTime::NEVER, ..close });
            self.subflow(i)?.endpoint.abort(ABORTED);
            return self.poll_subflow(now, i, segment);
        }
        let resend_at = now + self.subflow(i)?.endpoint.sender().rtt().rto(close.tries);
        self.fast_close = Some(FastClose { tries: close.tries + 1, resend_at, ..close });
        let option = MptcpOption::FastClose { key: self.peer_key };
        self.bare_ack(now, i, option, segment)?;
        self.busy &= !(1 << i);
        Some(())
    }

    /// The option of a RST of subflow `i`.
    pub(super) fn reset_option(&self, i: usize) -> MptcpOption {
        if self.mode != Mode::Multipath {
            return MptcpOption::None;
        }
        if self.fast_close.is_some_and(|close| close.on.is_none()) {
            return MptcpOption::FastClose { key: self.peer_key };
        }
        let reason = self.subflows[i].as_ref().and_then(|s| s.reset);
        reason.map_or(MptcpOption::None, MptcpOption::Reset)
    }

    /// The RST was lost.
    pub(super) fn refuse_again(&mut self, i: usize, segment: &Segment) {
        if let Some(subflow) = self.subflow(i).filter(|_| !segment.flags.rst) {
            subflow.endpoint.reset_again();
            self.busy |= 1 << i;
        }
    }

    /// Subflow `i` has been reset because of what came in.
    pub(super) fn is_refused(&self, i: usize) -> bool {
        self.subflows[i].as_ref().is_some_and(|s| s.refused)
    }
}
