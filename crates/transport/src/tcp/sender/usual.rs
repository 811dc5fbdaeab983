//! The usual way of a sender, on one page: an ACK of new data while nothing is lost, and the next full segment.
//!
//! Most ACKs and segments of a transfer are of this kind. The code here has the effects that the general way has for
//! them (`ack.rs`, `transmit.rs`), without asking what the answer is known to. Whatever is odd takes the general way, which
//! finds out afterwards whether the usual one is open again. The test `tests/usual.rs` runs conversations with losses in
//! both ways and compares the state of both ends after each event.

use congestion::{Ack, Capabilities, Paths};
use units::{Bytes, Nanos, SimTime};

use super::super::sent::Sent;
use super::Sender;
use super::sequence::Fresh;
use super::transmit::Transmission;
use crate::config::{Reliability, TcpConfig};
use crate::limit::Limit;
use crate::seq::{Dsn, Seq};
use crate::tcp::ranges::Range;
use crate::tcp::segment::TcpSegment;

/// Configuration and congestion control have nothing that the usual way leaves out: reports instead of acknowledgements,
/// pacing, samples of the delivery rate, dummies, acknowledgements by round trips, and controllers that own the window or
/// overdraw it.
pub(super) fn permits_usual_way(config: &TcpConfig, capabilities: Capabilities) -> bool {
    let Capabilities { needs, pacing, overdraft, probing, .. } = capabilities;
    let left_out = needs.rate_samples || needs.whole_window || pacing || overdraft || probing;
    let reports = config.recovery.reliability != Reliability::Acknowledged || config.ack.per_round_trip > 0;
    !left_out && !reports && !config.sending.pacing
}

/// The next segment, as far as it is clear at once.
#[derive(Clone, Copy, Debug)]
enum Prospect {
    /// A full segment, which the windows have room for.
    Segment,
    /// None, for this reason.
    Nothing(Limit),
    /// The general way must find out.
    Unknown,
}

impl Sender {
    /// After an event that took the general way: is the usual one open now?
    #[inline]
    pub(super) fn look_for_usual_way(&mut self) {
        self.usual.return_if(self.usual.is_permitted() && self.is_calm());
    }

    /// Nothing is lost, SACKed, retransmitted or probed, and no duplicate ACK has arrived. The last ACK echoed no mark.
    pub(super) fn is_calm(&self) -> bool {
        self.recovery.is_calm()
            && self.board.is_clean()
            && self.detector.is_calm()
            && !self.timer.is_outage()
            && !self.marks.is_marked()
    }

    /// The segment acknowledges new data, or nothing is outstanding; it reports neither holes nor marks.
    #[inline]
    pub(super) fn expects(&self, segment: &TcpSegment) -> bool {
        let (una, nxt) = (self.send.una(), self.send.nxt());
        let news = una < segment.ack && segment.ack <= nxt || una == segment.ack && una == nxt;
        self.usual.is_open() && news && segment.sack.is_empty() && !segment.flags.ece
    }

    /// The segment acknowledges new data, and is one that `expects` is true for if it echoes no mark.
    #[inline]
    pub fn expects_ack(&self, segment: &TcpSegment) -> bool {
        let news = self.send.una() < segment.ack && segment.ack <= self.send.nxt();
        self.usual.is_open() && news && segment.sack.is_empty()
    }

    /// Nothing is outstanding, and the segment acknowledges nothing: the usual state of an end that only receives.
    #[inline]
    pub fn only_listens(&self, segment: &TcpSegment) -> bool {
        let una = self.send.una();
        self.usual.is_open() && una == segment.ack && una == self.send.nxt() && segment.sack.is_empty()
    }

    /// Takes in the window of a segment that `only_listens` is true for.
    #[inline]
    pub fn note_window(&mut self, segment: &TcpSegment) {
        self.window.offer(self.send.una(), segment.ack + segment.window);
        self.check();
    }

    /// Takes in a segment that `expects` is true for. Returns true if it acknowledged new bytes.
    #[inline(always)]
    pub fn on_usual_ack(
        &mut self,
        now: SimTime,
        segment: &TcpSegment,
        window_right: Seq,
        paths: Paths<'_>,
    ) -> bool {
        let una = segment.ack;
        let advanced = una > self.send.una();
        if advanced {
            self.pacer.renew_basis();
            let flight_before = self.board.outstanding_counted();
            let acked = self.board.ack_clean(una);
            self.send.acknowledge(una);
            self.window.offer(una, window_right);
            // RFC 7323: from the echoed timestamp, else from the oldest segment acknowledged.
            let echo = segment.timestamps.map_or(SimTime::NEVER, |t| t.echo);
            let sent_at = if echo.is_never() { acked.oldest_sent_at } else { echo };
            let sample = (!sent_at.is_never()).then(|| now.since(sent_at));
            if let Some(sample) = sample {
                self.rtt.sample_beside(now, sample, self.unacked_range());
            }
            self.detector.on_clean_ack(now, acked, una);
            let ack = self.describe_usual(now, (flight_before, sample), window_right);
            self.congestion.on_ack(&ack, paths);
            self.restart_timers_after_usual_ack(now, sample.is_some());
        } else {
            self.window.offer(una, window_right);
        }
        self.check();
        advanced
    }

    #[inline(always)]
    fn describe_usual(
        &self,
        now: SimTime,
        (flight_before, sample): (u64, Option<Nanos>),
        window_right: Seq,
    ) -> Ack {
        let flight = Bytes(self.board.outstanding_counted());
        let acked = Bytes(flight_before) - flight;
        Ack {
            now,
            acked,
            delivered: acked,
            rtt: sample,
            srtt: self.rtt.srtt().unwrap_or(Nanos::ZERO),
            flight_before: Bytes(flight_before),
            flight,
            pipe: flight,
            lost: Bytes(self.board.ever_lost()),
            rwnd: window_right.saturating_since(self.send.una()),
            snd_una: self.send.una().0,
            snd_nxt: self.send.nxt().0,
            cwnd_limited: self.is_cwnd_limited(),
            marked: false,
            rate: None,
        }
    }

    /// RFC 6298 rules 5.2 and 5.3, RFC 8985 section 7.2.
    #[inline(always)]
    fn restart_timers_after_usual_ack(&mut self, now: SimTime, sampled: bool) {
        if self.usual.is_open() && sampled {
            self.timer.sampled();
            self.timer.progressed();
            if self.board.is_empty() {
                self.board.give_room_back();
                self.timer.stop();
                self.detector.all_acknowledged();
            } else {
                self.recovery.note_partial(false);
                self.timer.restart(now, self.rtt.rto(0));
                self.plan_calm_probe(now);
            }
        } else {
            self.board.give_room_back();
            self.restart_timers_after_ack(now, true, sampled);
        }
    }

    /// The next segment while the usual way is open: a full one if the windows have room, none if nothing waits, the
    /// congestion window is used up, or the segment waits for a send quantum. `None`: the general way must find out;
    /// then nothing has changed.
    #[inline(always)]
    pub fn next_usual(&mut self, now: SimTime) -> Option<Option<Transmission>> {
        if !self.usual.is_open() {
            return None;
        }
        Some(match self.prospect(now) {
            Prospect::Segment => {
                self.activity.take_granted(now);
                self.restart_after_idle(now);
                let fresh = self.send.advance(self.send.mss());
                Some(self.send_usual(now, fresh, self.send.mss()).0)
            }
            Prospect::Nothing(limit) => self.wait(limit),
            Prospect::Unknown => return None,
        })
    }

    /// The result of `next` while the usual way is open. Asked again at the same instant it is the same.
    #[inline(always)]
    fn prospect(&mut self, now: SimTime) -> Prospect {
        let (len, full) = (self.send.next_len(), self.send.mss());
        if len == 0 && !self.send.owes_fin() {
            return Prospect::Nothing(Limit::Application);
        }
        if len != full || self.send.nxt() + Bytes(full) > self.right_edge() {
            return Prospect::Unknown;
        }
        let (flight, cwnd) = (self.board.outstanding_counted(), self.congestion.cwnd());
        if flight + self.full() > cwnd {
            return Prospect::Nothing(Limit::CongestionWindow);
        }
        self.waits_for_quantum(now, flight, cwnd).map_or(Prospect::Segment, Prospect::Nothing)
    }

    /// The congestion window has no room for a full segment, and nothing odd is going on.
    #[inline]
    pub fn is_filled(&self) -> bool {
        self.usual.is_open() && self.board.outstanding_counted() + self.full() > self.congestion.cwnd()
    }

    /// True if `next` would find nothing now; then the limit is noted as by `next`.
    #[inline]
    pub fn rests(&mut self, now: SimTime) -> bool {
        let prospect = if self.usual.is_open() { self.prospect(now) } else { Prospect::Unknown };
        if let Prospect::Nothing(limit) = prospect {
            self.activity.wait(limit);
        }
        matches!(prospect, Prospect::Nothing(_))
    }

    /// Data of `len` bytes may be given to it with `pass`, if its windows have room.
    #[inline]
    pub fn may_pass(&self, len: u64) -> bool {
        self.usual.is_open() && len == self.send.mss()
    }

    /// The mapped stream grows by `data`, a full segment that leaves at once: as `give` and `next`, where `may_pass` is true
    /// and there is room. True if the congestion window has none for another.
    #[inline(always)]
    pub fn pass(&mut self, now: SimTime, data: Range<Dsn>) -> (Transmission, bool) {
        debug_assert!(self.may_pass(data.len()) && self.has_room_for(data.len()), "no room for {data:?}");
        self.restart_after_idle(now);
        let fresh = self.send.pass(data);
        self.send_usual(now, fresh, data.len())
    }

    /// It owes nothing but acknowledgements, as `rests` finds out without asking for the windows.
    #[inline]
    pub fn rests_without_data(&mut self) -> bool {
        let rests = self.usual.is_open() && self.send.unsent() == 0 && !self.send.owes_fin();
        if rests {
            self.activity.wait(Limit::Application);
        }
        rests
    }

    /// A segment of new data leaves. True if the congestion window has no room for another.
    #[inline(always)]
    fn send_usual(&mut self, now: SimTime, fresh: Fresh, len: u64) -> (Transmission, bool) {
        let (len, Fresh { seq, mapped }) = (len as u32, fresh);
        self.board.push(Sent::new(seq, (len, false), mapped, now));
        self.activity.sent(now, len, false);
        self.note_payload(len);
        let flight = self.board.outstanding_counted();
        let limited = flight + self.full() > self.congestion.cwnd();
        self.activity.judge((self.send.una(), self.send.nxt()), flight, limited);
        self.window.pause_persist();
        if !self.timer.is_running() {
            self.restart_retransmission_timer(now);
        }
        self.plan_calm_probe_after_send(now);
        self.check();
        (Transmission { seq, len, mapped, fin: false, retransmission: false }, limited)
    }
}
