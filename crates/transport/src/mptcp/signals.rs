//! Options of the connection that travel in segments of their own: ADD_ADDR, REMOVE_ADDR, MP_PRIO, MP_FASTCLOSE
//! (RFC 8684 sections 3.4.1, 3.4.2, 3.3.8, 3.5), and answers to SYNs of subflows that do not exist.

use schedulers::SubflowSet;
use units::{Nanos, SimTime};

use super::keys::Hmac64;
use super::negotiation::Negotiation;
use super::option::{MptcpOption, ResetReason};
use super::subflow::Subflow;
use super::subflows::Subflows;
use crate::packet::PathId;
use crate::seq::Dsn;

/// ADD_ADDR transmissions before the announcement is given up (RFC 8684 section 3.4.1 leaves it open).
const ANNOUNCEMENT_TRIES: u32 = 4;
/// Shortest time to wait for the echo of ADD_ADDR (choice D-42).
const ECHO_TIMEOUT: Nanos = Nanos::from_secs(1);
/// Transmissions of MP_FASTCLOSE on an ACK before the last subflow is reset too (RFC 8684 section 3.5: three repetitions).
const FAST_CLOSE_TRIES: u32 = 4;

/// An address to be announced, or to be echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Announcement {
    id: u8,
    address: u8,
    echo: bool,
    tries: u32,
    /// When it is due (again); `ZERO`: now, `NEVER`: it waits for its turn.
    resend_at: SimTime,
}

/// When the addresses of an end are announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announcing {
    /// All at once.
    AtOnce,
    /// One after the other: the next one when the last one has been echoed or given up, or a subflow has joined. That of Linux
    /// (`mptcp_pm_create_subflow_or_signal_addr` of 6.18).
    InTurn,
}

/// An option that leaves once and is not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notice {
    /// The address with this ID has left. It leaves on each subflow, because it is not repeated; `told`: the subflows on
    /// which it has left.
    AddressLeft { id: u8, told: SubflowSet },
    /// The priority of this subflow has changed.
    Priority(usize),
}

/// An answer to the SYN of a subflow that does not exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) path: PathId,
    /// A RST for this reason; `None`: a SYN/ACK without options, as from a listener that does not know the connection.
    pub(super) refusal: Option<ResetReason>,
}

/// The application has aborted the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FastClose {
    /// The subflow that carries MP_FASTCLOSE on an ACK and waits for a RST; `None`: each RST carries it.
    on: Option<usize>,
    tries: u32,
    /// When the ACK is due (again).
    resend_at: SimTime,
}

/// The next step of an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FastCloseStep {
    /// MP_FASTCLOSE on an ACK of this subflow.
    Send(usize),
    /// No RST has answered: this subflow is reset too.
    Reset(usize),
}

/// Signals waiting to be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    /// Addresses of this end to be announced, and those of the peer to be echoed.
    announcements: Vec<Announcement>,
    notices: Vec<Notice>,
    replies: Vec<Reply>,
    fast_close: Option<FastClose>,
}

impl Signals {
    /// Nothing waits, beside the abort of the connection.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.announcements.is_empty() && self.notices.is_empty() && self.replies.is_empty()
    }

    /// Plain TCP has no options to signal.
    pub(super) fn fall_back(&mut self) {
        self.notices.clear();
        self.announcements.clear();
    }

    /// A SYN is to be answered.
    pub(super) fn reply(&mut self, reply: Reply) {
        self.replies.push(reply);
    }

    /// The next answer to a SYN.
    #[inline]
    pub(super) fn take_reply(&mut self) -> Option<Reply> {
        self.replies.pop()
    }

    /// The next deadline of an announcement.
    #[inline]
    pub(super) fn next_deadline(&self) -> SimTime {
        self.announcements.iter().map(|a| a.resend_at).min().unwrap_or(SimTime::NEVER)
    }

    fn check(&self) {
        debug_assert!(
            self.announcements.iter().all(|a| a.tries < ANNOUNCEMENT_TRIES),
            "an announcement that was given up: {:?}",
            self.announcements
        );
        debug_assert!(
            !self.announcements.iter().any(|a| a.echo && a.tries > 0),
            "an echo is not repeated: {:?}",
            self.announcements
        );
    }
}

/// ADD_ADDR.
impl Signals {
    /// Announces addresses of this end, given with their IDs.
    pub(super) fn announce(&mut self, addresses: impl IntoIterator<Item = (u8, u8)>, when: Announcing) {
        let resend_at = match when {
            Announcing::AtOnce => SimTime::ZERO,
            Announcing::InTurn => SimTime::NEVER,
        };
        for (id, address) in addresses {
            self.withdraw(address);
            self.announcements.push(Announcement { id, address, echo: false, tries: 0, resend_at });
        }
        self.announce_next();
        self.check();
    }

    /// The next address leaves that waits for its turn, unless one is about to leave.
    pub(super) fn announce_next(&mut self) {
        let is_leaving = |a: &Announcement| !a.echo && a.tries == 0 && a.resend_at != SimTime::NEVER;
        if self.announcements.iter().any(is_leaving) {
            return;
        }
        if let Some(next) = self.announcements.iter_mut().find(|a| a.resend_at == SimTime::NEVER) {
            next.resend_at = SimTime::ZERO;
        }
    }

    /// Does not announce an address of this end any more.
    pub(super) fn withdraw(&mut self, address: u8) {
        self.announcements.retain(|a| a.echo || a.address != address);
    }

    /// Echoes an announcement of the peer.
    pub(super) fn echo(&mut self, id: u8, address: u8) {
        let resend_at = SimTime::ZERO;
        self.announcements.push(Announcement { id, address, echo: true, tries: 0, resend_at });
        self.check();
    }

    /// The peer has echoed an announcement.
    pub(super) fn on_echo(&mut self, id: u8) {
        self.announcements.retain(|a| a.echo || a.id != id);
        self.announce_next();
    }

    /// An announcement or an echo is due at `now`.
    pub(super) fn is_announcement_due(&self, now: SimTime) -> bool {
        self.announcements.iter().any(|a| a.resend_at <= now)
    }

    /// No subflow can carry an announcement: a deadline in the past would stop the clock.
    pub(super) fn defer_announcements(&mut self, until: SimTime) {
        self.announcements.iter_mut().for_each(|a| a.resend_at = a.resend_at.max(until));
    }

    /// The next ADD_ADDR or echo that is due at `now`, to be put into a pure ACK.
    pub(super) fn next_announcement(
        &mut self,
        now: SimTime,
        rto: Nanos,
        data_ack: Dsn,
        negotiation: &Negotiation,
    ) -> Option<MptcpOption> {
        let i = self.announcements.iter().position(|a| a.resend_at <= now)?;
        let announcement = &mut self.announcements[i];
        let Announcement { id, address, echo, .. } = *announcement;
        if echo {
            self.announcements.remove(i);
            return Some(MptcpOption::AddAddr { id, address, echo, hmac: Hmac64::default(), data_ack });
        }
        announcement.tries += 1;
        announcement.resend_at = now + rto.max(ECHO_TIMEOUT);
        if announcement.tries >= ANNOUNCEMENT_TRIES {
            self.announcements.remove(i);
            self.announce_next();
        }
        self.check();
        let hmac = negotiation.announcement_hmac(id, address);
        Some(MptcpOption::AddAddr { id, address, echo, hmac, data_ack })
    }
}

/// REMOVE_ADDR and MP_PRIO.
impl Signals {
    /// The address with this ID has left.
    pub(super) fn tell_removal(&mut self, id: u8) {
        self.notices.push(Notice::AddressLeft { id, told: SubflowSet::default() });
    }

    /// The priority of subflow `i` has changed.
    pub(super) fn tell_priority(&mut self, i: usize) {
        if !self.notices.contains(&Notice::Priority(i)) {
            self.notices.push(Notice::Priority(i));
        }
    }

    /// The next option that a subflow can carry, with that subflow, to be put into a pure ACK.
    pub(super) fn next_notice(&mut self, data_ack: Dsn, subflows: &Subflows) -> Option<(usize, MptcpOption)> {
        if self.notices.is_empty() {
            return None;
        }
        let able = subflows.which(Subflow::may_send);
        let alive = subflows.which(Subflow::is_alive);
        // A priority of a dead subflow has no meaning.
        self.notices.retain(|notice| !matches!(notice, Notice::Priority(i) if !alive.contains(*i)));
        let at = self.notices.iter().position(|notice| match *notice {
            Notice::AddressLeft { told, .. } => !able.minus(told).is_empty(),
            Notice::Priority(i) => able.contains(i),
        })?;
        match &mut self.notices[at] {
            Notice::AddressLeft { id, told } => {
                let (i, id) = (able.minus(*told).first()?, *id);
                told.insert(i);
                if able.minus(*told).is_empty() {
                    self.notices.remove(at);
                }
                Some((i, MptcpOption::RemoveAddr { id, data_ack }))
            }
            Notice::Priority(i) => {
                let i = *i;
                self.notices.remove(at);
                let backup = subflows.get(i).is_some_and(Subflow::backup_told);
                Some((i, MptcpOption::Prio { backup, data_ack }))
            }
        }
    }
}

/// MP_FASTCLOSE.
impl Signals {
    /// The application aborts the connection: MP_FASTCLOSE on an ACK of this subflow, or on each RST.
    pub(super) fn abort(&mut self, now: SimTime, on: Option<usize>) {
        let resend_at = if on.is_some() { now } else { SimTime::NEVER };
        self.fast_close = Some(FastClose { on, tries: 0, resend_at });
    }

    /// The subflow that carries MP_FASTCLOSE on an ACK and waits for a RST.
    pub(super) fn fast_close_on(&self) -> Option<usize> {
        self.fast_close?.on
    }

    /// Each RST carries MP_FASTCLOSE.
    pub(super) fn resets_carry_fast_close(&self) -> bool {
        self.fast_close.is_some_and(|close| close.on.is_none())
    }

    /// When MP_FASTCLOSE on an ACK is due.
    pub(super) fn fast_close_deadline(&self) -> SimTime {
        self.fast_close.map_or(SimTime::NEVER, |close| close.resend_at)
    }

    /// MP_FASTCLOSE has been answered.
    pub(super) fn end_fast_close(&mut self) {
        self.fast_close = None;
    }

    /// The next step of the abort, if it is due.
    pub(super) fn next_fast_close(&mut self, now: SimTime, subflows: &Subflows) -> Option<FastCloseStep> {
        let close = self.fast_close.filter(|close| close.resend_at <= now)?;
        let i = close.on?;
        if close.tries >= FAST_CLOSE_TRIES {
            self.fast_close = Some(FastClose { on: None, resend_at: SimTime::NEVER, ..close });
            return Some(FastCloseStep::Reset(i));
        }
        let resend_at = now + subflows.get(i)?.sender().rtt().rto(close.tries);
        self.fast_close = Some(FastClose { tries: close.tries + 1, resend_at, ..close });
        Some(FastCloseStep::Send(i))
    }
}
