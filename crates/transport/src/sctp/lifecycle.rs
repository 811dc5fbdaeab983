//! The life of an association: handshake with cookie, shutdown and abort (RFC 9260 sections 4, 5 and 9).
//!
//! May: say which control chunks leave and when they are repeated. May not: know data, but whether all of it is acknowledged.
//!
//! Deviations: INIT is repeated on the first path alone. An end that is held open accepts messages after the peer's SHUTDOWN,
//! and acknowledges that when its application has closed: applications may use it as they use half-closed TCP connections.

mod collision;

use std::collections::VecDeque;

use units::{Nanos, SimTime};

use crate::packet::PathId;
use crate::sctp::chunk::{Control, Cookie, Heartbeat, Init};
use crate::sctp::tsn::{Tag, Tsn};

/// The failure of an end that the other one has told of its own.
pub const PEER_ABORTED: &str = "the peer has aborted the association";

/// State of an association (RFC 9260 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// None yet.
    Closed,
    /// INIT was sent.
    CookieWait,
    /// The cookie was returned.
    CookieEchoed,
    /// Data flows.
    Established,
    /// The application has closed, and data is outstanding.
    ShutdownPending,
    /// SHUTDOWN was sent.
    ShutdownSent,
    /// SHUTDOWN has come.
    ShutdownReceived,
    /// It is acknowledged.
    ShutdownAckSent,
    /// Both ends know that it is over.
    Finished,
    /// It was given up, for this reason.
    Failed(&'static str),
}

/// Valid.Cookie.Life (RFC 9260 section 16).
const COOKIE_LIFE: Nanos = Nanos::from_secs(60);

/// A control chunk that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    path: PathId,
    tag: Tag,
    control: Control,
}

/// State, tags and control chunks of one end.
#[derive(Debug)]
pub struct Lifecycle {
    state: State,
    /// Parameters of this end.
    own: Init,
    /// Parameters of the peer.
    peer: Option<Init>,
    cookie: Cookie,
    waiting: VecDeque<Waiting>,
    /// T1-init, T1-cookie or T2-shutdown; `NEVER` while none is running.
    timer: SimTime,
    /// Repetitions of the chunk that it guards.
    repeated: u32,
    /// When INIT left, while it was not repeated; then when COOKIE ECHO first left.
    opened: Option<SimTime>,
    established_at: Option<SimTime>,
    /// The path by which SHUTDOWN came: the answer goes there (RFC 9260 section 6.4).
    answers_on: PathId,
    /// SHUTDOWN of the peer is not acknowledged before the application has closed.
    held_open: bool,
    closed: bool,
    restarts: u32,
}

/// The effect of a COOKIE ECHO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieEffect {
    /// Nothing but, perhaps, an answer.
    None,
    /// The association is established.
    Established,
    /// The peer has restarted: the association begins anew, and is established.
    Restarted,
}

impl Lifecycle {
    /// No association.
    pub fn new(own: Init) -> Self {
        debug_assert_ne!(own.tag, Tag::NONE, "RFC 9260 section 3.3.2: the tag is not zero");
        Self {
            state: State::Closed,
            own,
            peer: None,
            cookie: Cookie::default(),
            waiting: VecDeque::new(),
            timer: SimTime::NEVER,
            repeated: 0,
            opened: None,
            established_at: None,
            answers_on: PathId::FIRST,
            held_open: false,
            closed: false,
            restarts: 0,
        }
    }

    /// State.
    pub fn state(&self) -> State {
        self.state
    }

    /// Parameters of the peer.
    pub fn peer(&self) -> Option<Init> {
        self.peer
    }

    /// When the handshake was complete.
    pub fn established_at(&self) -> Option<SimTime> {
        self.established_at
    }

    /// Data may leave.
    pub fn may_send(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// Data may arrive.
    pub fn may_receive(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownSent)
    }

    /// New messages are accepted.
    pub fn may_write(&self) -> bool {
        !self.closed
            && matches!(self.state, State::Established | State::ShutdownReceived | State::CookieEchoed)
    }

    /// The peer sends no more.
    pub fn peer_finished(&self) -> bool {
        matches!(self.state, State::ShutdownReceived | State::ShutdownAckSent | State::Finished)
    }

    /// The application has closed this end.
    pub fn is_closing(&self) -> bool {
        self.closed
    }

    /// The association is over, or was given up.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Finished | State::Failed(_))
    }

    /// When the running timer expires.
    pub fn deadline(&self) -> SimTime {
        self.timer
    }

    /// Client: INIT is to be sent.
    pub fn open(&mut self) {
        if self.state == State::Closed {
            self.state = State::CookieWait;
            self.push(PathId::FIRST, Tag::NONE, Control::Init(self.own));
        }
        self.check();
    }

    /// The application sends no more messages.
    pub fn close(&mut self) {
        self.closed = true;
        if self.state == State::Established {
            self.state = State::ShutdownPending;
        }
        self.check();
    }

    /// This end closes only when its application does.
    pub fn hold_open(&mut self) {
        self.held_open = true;
    }

    /// The association is given up; the peer is told.
    pub fn abort(&mut self, reason: &'static str) {
        if self.is_over() {
            return;
        }
        self.waiting.clear();
        if let Some(peer) = self.peer {
            self.push(PathId::FIRST, peer.tag, Control::Abort);
        }
        self.fail(reason);
    }

    /// It is given up in silence.
    fn fail(&mut self, reason: &'static str) {
        self.state = State::Failed(reason);
        self.timer = SimTime::NEVER;
        self.check();
    }

    fn push(&mut self, path: PathId, tag: Tag, control: Control) {
        self.waiting.push_back(Waiting { path, tag, control });
    }

    fn push_to_peer(&mut self, path: PathId, control: Control) {
        if let Some(peer) = self.peer {
            self.push(path, peer.tag, control);
        }
    }

    /// The tag of packets to the peer.
    pub fn peer_tag(&self) -> Tag {
        self.peer.map_or(Tag::NONE, |peer| peer.tag)
    }

    /// Packets with this tag and control chunk are for this association (RFC 9260 section 8.5). A COOKIE ECHO carries the tag of the
    /// INIT ACK that it answers, which section 5.2.4 compares.
    pub fn accepts(&self, tag: Tag, control: &Control) -> bool {
        match control {
            Control::Init(_) => tag == Tag::NONE,
            Control::CookieEcho(cookie) => tag == cookie.own,
            _ => tag == self.own.tag,
        }
    }

    /// How often the peer has restarted: RESTART notifications of the upper layer (RFC 9260 section 11.2).
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// The tag of this end.
    pub fn tag(&self) -> Tag {
        self.own.tag
    }

    /// The next control chunk that leaves: its path, the tag of its packet, the chunk. `rto` is the timeout
    /// after a number of doublings.
    pub fn take(&mut self, now: SimTime, rto: impl Fn(u32) -> Nanos) -> Option<(PathId, Tag, Control)> {
        let Waiting { path, tag, control } = self.waiting.pop_front()?;
        match control {
            Control::Init(_) if self.repeated == 0 => self.opened = Some(now),
            Control::Init(_) => self.opened = None,
            _ => {}
        }
        let guarded = matches!(
            control,
            Control::Init(_) | Control::CookieEcho(_) | Control::Shutdown(_) | Control::ShutdownAck
        );
        if guarded {
            self.timer = now + rto(self.repeated);
        }
        self.check();
        Some((path, tag, control))
    }

    /// T1 or T2 has expired: the chunk that it guards is repeated, or the association is given up after `retries`. True if
    /// the timer has expired.
    pub fn on_timeout(&mut self, now: SimTime, retries: u32, next: Tsn) -> bool {
        if self.timer > now {
            return false;
        }
        self.timer = SimTime::NEVER;
        self.repeated += 1;
        if self.repeated > retries {
            self.fail(match self.state {
                State::CookieWait | State::CookieEchoed => "the handshake was not answered",
                _ => "the shutdown was not answered",
            });
            return true;
        }
        match self.state {
            State::CookieWait => self.push(PathId::FIRST, Tag::NONE, Control::Init(self.own)),
            State::CookieEchoed => self.push_to_peer(PathId::FIRST, Control::CookieEcho(self.cookie)),
            State::ShutdownSent => self.push_to_peer(PathId::FIRST, Control::Shutdown(next)),
            State::ShutdownAckSent => self.push_to_peer(self.answers_on, Control::ShutdownAck),
            _ => {}
        }
        self.check();
        true
    }

    fn stop_timer(&mut self) {
        (self.timer, self.repeated) = (SimTime::NEVER, 0);
    }
}

/// Control chunks of the peer.
impl Lifecycle {
    /// An INIT is answered without keeping state: the cookie has it all.
    pub fn on_init(&mut self, now: SimTime, path: PathId, init: Init) {
        if init.tag == Tag::NONE {
            return;
        }
        if init.streams == 0 {
            self.push(path, init.tag, Control::Abort);
            return;
        }
        match self.state {
            // RFC 9260 section 5.2.1: "Upon receipt of an INIT chunk in the COOKIE-WAIT state, an endpoint MUST respond with an INIT ACK chunk
            // using the same parameters it sent in its original INIT chunk (including its Initiate Tag, unchanged)."
            State::Closed | State::CookieWait | State::Finished | State::Failed(_) => {
                let cookie = Cookie { own: self.own.tag, peer: init, made: now, ties: Cookie::UNTIED };
                self.push(path, init.tag, Control::InitAck(self.own, cookie));
            }
            _ => self.on_unexpected_init(now, path, init),
        }
    }

    /// INIT is answered. True if the cookie is to be returned; `.1`: the round-trip time.
    pub fn on_init_ack(&mut self, now: SimTime, init: Init, cookie: Cookie) -> (bool, Option<Nanos>) {
        if self.state != State::CookieWait {
            return (false, None);
        }
        if init.tag == Tag::NONE || init.streams == 0 {
            // An ABORT without the tag of the peer would not be for its association.
            self.peer = (init.tag != Tag::NONE).then_some(init);
            self.abort("the peer's INIT ACK has no tag or no streams");
            return (false, None);
        }
        let sample = self.opened.replace(now).map(|sent| now.since(sent));
        self.stop_timer();
        self.state = State::CookieEchoed;
        (self.peer, self.cookie) = (Some(init), cookie);
        self.push_to_peer(PathId::FIRST, Control::CookieEcho(cookie));
        self.check();
        (true, sample)
    }

    /// The cookie comes back.
    pub fn on_cookie_echo(&mut self, now: SimTime, path: PathId, cookie: Cookie) -> CookieEffect {
        match self.state {
            State::Finished | State::Failed(_) => CookieEffect::None,
            State::Closed if cookie.own != self.own.tag => CookieEffect::None,
            State::Closed if now.since(cookie.made) > COOKIE_LIFE => {
                self.push(path, cookie.peer.tag, Control::StaleCookie);
                CookieEffect::None
            }
            State::Closed => {
                self.peer = Some(cookie.peer);
                self.establish(now);
                self.push_to_peer(path, Control::CookieAck);
                CookieEffect::Established
            }
            _ => self.on_unexpected_cookie(now, path, cookie),
        }
    }

    /// The cookie was too old: the handshake begins anew (RFC 9260 section 5.2.6).
    pub fn on_stale_cookie(&mut self) {
        if self.state == State::CookieEchoed {
            self.stop_timer();
            (self.state, self.peer) = (State::CookieWait, None);
            self.push(PathId::FIRST, Tag::NONE, Control::Init(self.own));
        }
        self.check();
    }

    /// The handshake is complete at the client. True if that is news; `.1`: the time since COOKIE ECHO first left.
    pub fn on_cookie_ack(&mut self, now: SimTime) -> (bool, Option<Nanos>) {
        if self.state != State::CookieEchoed {
            return (false, None);
        }
        self.stop_timer();
        self.establish(now);
        (true, self.opened.take().map(|sent| now.since(sent)))
    }

    fn establish(&mut self, now: SimTime) {
        self.state = if self.closed { State::ShutdownPending } else { State::Established };
        self.established_at = Some(now);
        self.check();
    }

    /// A HEARTBEAT is returned on its path.
    pub fn on_heartbeat(&mut self, path: PathId, heartbeat: Heartbeat) {
        if !self.is_over() {
            self.push_to_peer(path, Control::HeartbeatAck(heartbeat));
        }
    }

    /// The peer has no more data, as it says on this path.
    pub fn on_shutdown(&mut self, path: PathId) {
        self.answers_on = path;
        match self.state {
            State::Established | State::ShutdownPending => self.state = State::ShutdownReceived,
            // RFC 9260 section 9.2: both ends have closed at the same time.
            State::ShutdownSent => self.acknowledge_shutdown(),
            // The acknowledgement was lost.
            State::ShutdownAckSent => self.push_to_peer(path, Control::ShutdownAck),
            _ => {}
        }
        self.check();
    }

    fn acknowledge_shutdown(&mut self) {
        self.stop_timer();
        self.state = State::ShutdownAckSent;
        self.push_to_peer(self.answers_on, Control::ShutdownAck);
    }

    /// Data has arrived after SHUTDOWN was sent: that is repeated.
    pub fn on_data(&mut self, next: Tsn) {
        if self.state == State::ShutdownSent {
            self.push_to_peer(PathId::FIRST, Control::Shutdown(next));
        }
    }

    /// The peer acknowledges SHUTDOWN.
    pub fn on_shutdown_ack(&mut self, path: PathId) {
        if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent | State::Finished) {
            self.stop_timer();
            self.state = State::Finished;
            self.push_to_peer(path, Control::ShutdownComplete);
        }
        self.check();
    }

    /// The peer knows that the association is over.
    pub fn on_shutdown_complete(&mut self) {
        if self.state == State::ShutdownAckSent {
            self.stop_timer();
            self.state = State::Finished;
        }
        self.check();
    }

    /// The peer has given up.
    pub fn on_abort(&mut self) {
        if !self.is_over() {
            self.waiting.clear();
            self.fail(PEER_ABORTED);
        }
    }

    /// Goes on with the shutdown if nothing is outstanding. `next` is the first TSN of the peer that has not arrived.
    pub fn progress(&mut self, nothing_outstanding: bool, next: Tsn) {
        if !nothing_outstanding {
            return;
        }
        match self.state {
            State::ShutdownPending => {
                self.state = State::ShutdownSent;
                self.push_to_peer(PathId::FIRST, Control::Shutdown(next));
            }
            State::ShutdownReceived if self.closed || !self.held_open => self.acknowledge_shutdown(),
            _ => {}
        }
        self.check();
    }

    fn check(&self) {
        debug_assert!(
            self.peer.is_some() || matches!(self.state, State::Closed | State::CookieWait | State::Failed(_)),
            "{:?} without a peer",
            self.state
        );
        debug_assert!(self.timer.is_never() || !self.is_over(), "a timer of an association that is over");
        debug_assert!(
            !self.closed || !matches!(self.state, State::Established),
            "closed by the application, and no shutdown"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sctp::chunk::AddressList;

    fn end(tag: u32) -> Lifecycle {
        Lifecycle::new(Init { tag: Tag(tag), window: 1000, streams: 1, addresses: AddressList::default() })
    }

    const RTO: Nanos = Nanos::from_secs(1);

    fn next(end: &mut Lifecycle, now: SimTime) -> (Tag, Control) {
        let (_, tag, control) = end.take(now, |_| RTO).expect("a control chunk");
        (tag, control)
    }

    /// Client and server with the handshake done.
    fn established() -> (Lifecycle, Lifecycle) {
        let (mut client, mut server) = (end(1), end(2));
        let at = SimTime::from_millis;
        client.open();
        let (tag, Control::Init(init)) = next(&mut client, at(0)) else { panic!("no INIT") };
        assert_eq!(tag, Tag::NONE);
        server.on_init(at(10), PathId::FIRST, init);
        assert_eq!(server.state(), State::Closed, "no state before the cookie has come back");
        let (tag, Control::InitAck(init, cookie)) = next(&mut server, at(10)) else { panic!("no INIT ACK") };
        assert_eq!(tag, Tag(1));
        assert_eq!(client.on_init_ack(at(20), init, cookie), (true, Some(Nanos::from_millis(20))));
        let (_, Control::CookieEcho(cookie)) = next(&mut client, at(20)) else { panic!("no cookie") };
        let effect = server.on_cookie_echo(at(30), PathId::FIRST, cookie);
        assert_eq!(effect, CookieEffect::Established);
        let effect = server.on_cookie_echo(at(31), PathId::FIRST, cookie);
        assert_eq!(effect, CookieEffect::None, "a second copy is acknowledged only");
        assert_eq!(next(&mut server, at(30)).1, Control::CookieAck);
        assert_eq!(next(&mut server, at(31)).1, Control::CookieAck);
        assert_eq!(client.on_cookie_ack(at(40)), (true, Some(Nanos::from_millis(20))));
        assert_eq!(client.on_cookie_ack(at(41)), (false, None));
        (client, server)
    }

    #[test]
    fn four_way_handshake_and_shutdown() {
        let (mut client, mut server) = established();
        client.close();
        client.progress(false, Tsn(0));
        assert_eq!(client.state(), State::ShutdownPending);
        client.progress(true, Tsn(0));
        let at = SimTime::from_secs(1);
        assert_eq!(next(&mut client, at).1, Control::Shutdown(Tsn(0)));
        server.on_shutdown(PathId::FIRST);
        server.progress(true, Tsn(5));
        assert_eq!(next(&mut server, at).1, Control::ShutdownAck);
        client.on_shutdown_ack(PathId::FIRST);
        assert_eq!(next(&mut client, at).1, Control::ShutdownComplete);
        server.on_shutdown_complete();
        assert_eq!((client.state(), server.state()), (State::Finished, State::Finished));
    }

    #[test]
    fn a_stale_or_foreign_cookie_establishes_nothing() {
        let mut server = end(2);
        let peer = Init { tag: Tag(1), ..Init::default() };
        let cookie = Cookie { own: Tag(2), peer, made: SimTime::ZERO, ..Cookie::default() };
        let effect = server.on_cookie_echo(SimTime::from_secs(61), PathId::FIRST, cookie);
        assert_eq!(next(&mut server, SimTime::ZERO), (Tag(1), Control::StaleCookie));
        let foreign = server.on_cookie_echo(SimTime::ZERO, PathId::FIRST, Cookie { own: Tag(3), ..cookie });
        assert_eq!(
            (effect, foreign, server.state()),
            (CookieEffect::None, CookieEffect::None, State::Closed)
        );
    }

    #[test]
    fn init_is_repeated_with_doubled_timeouts_and_given_up() {
        let mut client = end(1);
        client.open();
        let mut now = SimTime::ZERO;
        let mut waits = Vec::new();
        while client.take(now, |doublings| RTO * (1 << doublings)).is_some() {
            waits.push(client.deadline().since(now).0 / Nanos::from_secs(1).0);
            now = client.deadline();
            assert!(client.on_timeout(now, 3, Tsn(0)));
        }
        assert_eq!(waits, [1, 2, 4, 8]);
        assert_eq!(client.state(), State::Failed("the handshake was not answered"));
    }

    #[test]
    fn a_held_end_acknowledges_the_shutdown_when_its_application_has_closed() {
        let (_, mut server) = established();
        server.hold_open();
        server.on_shutdown(PathId::FIRST);
        server.progress(true, Tsn(5));
        assert!(server.may_write() && server.may_send());
        server.close();
        server.progress(true, Tsn(5));
        assert_eq!(server.state(), State::ShutdownAckSent);
    }
}
