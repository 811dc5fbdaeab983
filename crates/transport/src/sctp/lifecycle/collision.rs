//! INIT and COOKIE ECHO for an association that exists already: both ends have opened it, or the peer has restarted (RFC 9260 sections
//! 5.2.1, 5.2.2 and 5.2.4).
//!
//! Deviation: tags and tie-tags are not random, but a function of the tags before and of the time.

use units::SimTime;

use super::{COOKIE_LIFE, CookieEffect, Lifecycle, State};
use crate::packet::PathId;
use crate::sctp::chunk::{Control, Cookie, Init};
use crate::sctp::tsn::Tag;

/// A tag that depends on both numbers: neither zero nor the first of them.
fn mixed(tag: Tag, with: u64) -> Tag {
    let number =
        (u64::from(tag.0) ^ with.rotate_left(32)).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    // The high half has the better mixed bits.
    match (number >> 32) as u32 {
        0 => Tag(!tag.0 | 1),
        same if same == tag.0 => Tag(!tag.0 | 1),
        other => Tag(other),
    }
}

impl Lifecycle {
    /// Local and peer's tie-tag of the association that there is; [`Cookie::UNTIED`] without a peer.
    fn ties(&self) -> [Tag; 2] {
        let Some(peer) = self.peer else { return Cookie::UNTIED };
        [mixed(self.own.tag, u64::from(peer.tag.0)), mixed(peer.tag, u64::from(self.own.tag.0))]
    }

    /// An INIT while there is a peer.
    pub(super) fn on_unexpected_init(&mut self, now: SimTime, path: PathId, init: Init) {
        if self.state == State::ShutdownAckSent {
            // RFC 9260 section 9.2: the INIT is discarded. The peer may have missed the SHUTDOWN ACK.
            self.push_to_peer(path, Control::ShutdownAck);
            return;
        }
        // RFC 9260 section 5.2.1: "If the INIT chunk indicates that a new address has been added to the association, then the entire INIT chunk
        // MUST be discarded" Section 5.2.2 says the same of a restart.
        let known = self.peer.map(|peer| peer.addresses).unwrap_or_default();
        if init.addresses.iter().any(|address| !known.contains(address)) {
            self.push(path, init.tag, Control::Abort);
            return;
        }
        // RFC 9260 section 5.2.1: the tag of an INIT that has not been answered for good stays.
        let echoed = self.state == State::CookieEchoed;
        let tag = if echoed { self.own.tag } else { mixed(self.own.tag, u64::from(init.tag.0) ^ now.0) };
        let cookie = Cookie { own: tag, peer: init, made: now, ties: self.ties() };
        self.push(path, init.tag, Control::InitAck(Init { tag, ..self.own }, cookie));
    }

    /// A cookie comes back while the association exists, or forms (RFC 9260 section 5.2.4, table 12).
    pub(super) fn on_unexpected_cookie(
        &mut self,
        now: SimTime,
        path: PathId,
        cookie: Cookie,
    ) -> CookieEffect {
        let local = cookie.own == self.own.tag;
        let peers = self.peer.is_some_and(|peer| peer.tag == cookie.peer.tag);
        if !(local && peers) && now.since(cookie.made) > COOKIE_LIFE {
            self.push(path, cookie.peer.tag, Control::StaleCookie);
            return CookieEffect::None;
        }
        let tied = cookie.ties != Cookie::UNTIED && cookie.ties == self.ties();
        match (local, peers) {
            (false, false) if tied => self.on_restart(now, path, cookie),
            (true, _) => self.on_own_cookie(now, path, cookie),
            // Action C: a cookie of this end that is late. RFC 9260 section 5.2.4 discards all that the table does not have, too.
            _ => CookieEffect::None,
        }
    }

    /// Action A: the peer has restarted.
    fn on_restart(&mut self, now: SimTime, path: PathId, cookie: Cookie) -> CookieEffect {
        if self.state == State::ShutdownAckSent {
            self.push(path, cookie.peer.tag, Control::ShutdownAck);
            self.push(path, cookie.peer.tag, Control::CookieInShutdown);
            return CookieEffect::None;
        }
        self.waiting.clear();
        self.stop_timer();
        (self.own.tag, self.peer, self.opened) = (cookie.own, Some(cookie.peer), None);
        self.restarts += 1;
        self.establish(now);
        self.push_to_peer(path, Control::CookieAck);
        CookieEffect::Restarted
    }

    /// Actions B and D: both ends have opened the association, or the COOKIE ACK was lost. The tag of the peer is that of the cookie.
    fn on_own_cookie(&mut self, now: SimTime, path: PathId, cookie: Cookie) -> CookieEffect {
        self.peer = Some(cookie.peer);
        let forms = matches!(self.state, State::CookieWait | State::CookieEchoed);
        if forms {
            let opens = |control: &Control| matches!(control, Control::Init(_) | Control::CookieEcho(_));
            self.waiting.retain(|waiting| !opens(&waiting.control));
            self.stop_timer();
            self.establish(now);
        }
        self.push_to_peer(path, Control::CookieAck);
        if forms { CookieEffect::Established } else { CookieEffect::None }
    }
}
