//! An ACK arrives (RFC 5681, 6298, 6582, 6675, 8985).

use congestion::{Ack, Loss, Paths};
use units::{Bytes, Nanos, SimTime};

use super::super::ranges::Range;
use super::super::sent::Change;
use super::Sender;
use super::detector::{Detection, ProbeAck};
use super::recovery::Phase;
use crate::config::FlightAfterTimeout;
use crate::mptcp::option::MptcpOption;
use crate::seq::Seq;
use crate::space::SpaceSignal;
use crate::tcp::segment::TcpSegment;

/// An ACK, compared with the state before it.
#[derive(Clone, Copy, Debug)]
struct AckKind {
    /// It acknowledges new data.
    advanced: bool,
    /// It is a duplicate ACK (RFC 5681 section 2).
    duplicate: bool,
}

impl Sender {
    /// Processes the acknowledgement fields of `segment` and the signal of a protocol for space links beside it. Returns
    /// true if they acknowledge new bytes.
    #[inline(always)]
    pub fn on_ack(
        &mut self,
        now: SimTime,
        (segment, signal): (&TcpSegment, Option<&SpaceSignal>),
        window_right: Seq,
        paths: Paths<'_>,
    ) -> bool {
        if self.expects(segment) {
            return self.on_usual_ack(now, segment, window_right, paths);
        }
        let advanced = self.on_any_ack(now, (segment, signal), window_right, paths);
        self.look_for_usual_way();
        advanced
    }

    #[inline(never)]
    fn on_any_ack(
        &mut self,
        now: SimTime,
        (segment, signal): (&TcpSegment, Option<&SpaceSignal>),
        window_right: Seq,
        paths: Paths<'_>,
    ) -> bool {
        self.usual.leave();
        let ack = segment.ack;
        if ack > self.send.nxt() {
            return false;
        }
        self.look_for_shortage(now);
        self.marks.on_ack(segment.flags.ece);
        if segment.len == 0 || ack > self.send.una() {
            self.clock_dummies();
        }
        self.timer.end_outage();
        if self.policy.is_some() {
            return self.on_report(now, (segment, signal), window_right, paths);
        }
        let silent = ack == self.send.una() && segment.sack.is_empty();
        if silent && self.board.is_empty() && !self.detector.probe().is_in_flight() {
            // The usual state of an end that only receives.
            self.window.offer(self.send.una(), window_right);
            return false;
        }
        self.on_acknowledgement(now, segment, window_right, paths)
    }

    fn on_acknowledgement(
        &mut self,
        now: SimTime,
        segment: &TcpSegment,
        window_right: Seq,
        paths: Paths<'_>,
    ) -> bool {
        self.pacer.renew_basis();
        let flight_before = self.board.outstanding_counted();
        let calm = self.recovery.is_open() && self.board.sacked().is_empty();
        let mut change = Change::default();
        let duplicate_report = self.take_sack_blocks(segment, &mut change);
        change.echo = segment.timestamps.map(|t| t.echo).filter(|echo| !echo.is_never());
        let advanced = self.advance(segment.ack, &mut change);
        let window_moved = self.window.offer(self.send.una(), window_right);
        let sample = self.measure(now, segment, &change);
        if advanced && self.recovery.phase() == Phase::Loss {
            self.undo_spurious_timeout(segment);
        }
        let resumed = self.take_back_reduction(segment, advanced);
        if self.detector.kind() == Detection::Rack {
            let (una, nxt) = (self.send.una(), self.send.nxt());
            let ack = ProbeAck { ack: segment.ack, una, nxt, duplicate: duplicate_report, advanced };
            self.detect_by_probe(now, &change, &ack, paths);
        }
        let duplicate = !advanced && flight_before > 0 && self.is_duplicate(segment, &change, window_moved);
        if advanced || duplicate || change.sacked > 0 {
            let mut ack = self.describe_fully(now, &change, flight_before, sample, window_right);
            self.heed_mark(&mut ack, paths);
            if duplicate {
                self.congestion.on_dup_ack(now);
            }
            self.respond_to_ack(&ack, AckKind { advanced, duplicate }, paths);
            let doubtful = !calm || !advanced || change.sacked > 0 || duplicate_report.is_some();
            match self.detector.kind() {
                // A recovery that goes on has looked for losses already.
                Detection::Rack if self.recovery.phase() == Phase::Recovery => {}
                Detection::Rack if doubtful && !resumed => self.detect_by_time(now, ack.delivered, paths),
                Detection::Rack => self.detector.forget_reordering(),
                _ => {}
            }
            self.tell_owner_of_window(&ack, paths);
        }
        self.restart_timers_after_ack(now, advanced, sample.is_some());
        self.check();
        advanced
    }

    fn respond_to_ack(&mut self, ack: &Ack, AckKind { advanced, duplicate }: AckKind, paths: Paths<'_>) {
        match self.recovery.phase() {
            Phase::Open => self.ack_in_open(ack, advanced, duplicate, paths),
            Phase::Recovery => self.ack_in_recovery(ack, advanced, duplicate),
            Phase::Loss if duplicate => self.duplicate_in_loss(ack, paths),
            Phase::Loss => self.ack_in_loss(ack, advanced, paths),
        }
    }

    /// Cumulative acknowledgement. Returns true if it is of new data.
    #[inline]
    pub(super) fn advance(&mut self, ack: Seq, change: &mut Change) -> bool {
        let advanced = ack > self.send.una();
        if advanced {
            self.board.ack(ack, change);
            self.send.acknowledge(ack);
            // The segments of Limited Transmit may be acknowledged: FlightSize no longer leaves them out.
            self.detector.end_limited_transmit();
        }
        advanced
    }

    /// Returns the duplicate reported by DSACK (RFC 2883), if the first block is one.
    fn take_sack_blocks(&mut self, segment: &TcpSegment, change: &mut Change) -> Option<Range<Seq>> {
        let blocks = segment.sack.as_slice();
        let first = *blocks.first()?;
        let inside_second = blocks.get(1).is_some_and(|second| second.covers(first));
        let is_duplicate = first.end <= segment.ack || inside_second;
        let una = segment.ack.max(self.send.una());
        for block in &blocks[usize::from(is_duplicate)..] {
            self.board.sack(Range::new(block.start.max(una), block.end), change);
        }
        if is_duplicate {
            self.note_duplicate(first);
        }
        is_duplicate.then_some(first)
    }

    /// A round-trip sample: from the echoed timestamp of an ACK that advances (RFC 7323), or by Karn's rule.
    /// A SACK of a segment that was sent once is as good, and keeps the timeout accurate while a long recovery does
    /// not advance (as Linux does).
    fn measure(&mut self, now: SimTime, segment: &TcpSegment, change: &Change) -> Option<Nanos> {
        let echoed = segment.timestamps.map(|t| t.echo).filter(|echo| !echo.is_never());
        let sacked = change.latest.filter(|l| !l.retransmitted).map(|l| l.sent_at);
        let sent_at = match (change.acked > 0, echoed) {
            (true, Some(echo)) => Some(echo),
            (true, None) => change.oldest_clean,
            (false, _) => sacked,
        };
        let sample = now.since(sent_at?);
        self.rtt.sample_beside(now, sample, self.unacked_range());
        Some(sample)
    }

    /// Eifel (RFC 3522 section 3.2): the first ACK of new data after a timeout echoes what was sent before it, so that the
    /// original had arrived. The segments that the timeout took for lost are still on their way.
    fn undo_spurious_timeout(&mut self, segment: &TcpSegment) {
        let from = self.timer.take_undo_from();
        let echo = segment.timestamps.map_or(SimTime::NEVER, |t| t.echo);
        if from.is_never() || echo >= from {
            return;
        }
        self.recovery.forget();
        self.board.forget_losses();
        self.congestion.on_spurious_timeout();
    }

    /// RFC 5681 section 2; with SACK an ACK that reports new data above a hole (RFC 6675). An MPTCP option other than DSS
    /// tells why the ACK was sent, which is no loss (RFC 8684 section 3.4.1).
    fn is_duplicate(&self, segment: &TcpSegment, change: &Change, window_moved: bool) -> bool {
        if self.config.options.sack {
            return change.sacked > 0;
        }
        // The window of an MPTCP subflow belongs to the connection and moves with the other subflows' data.
        let window_update = window_moved && !self.send.is_mapped();
        segment.ack == self.send.una()
            && segment.len == 0
            && matches!(segment.mptcp, MptcpOption::None | MptcpOption::Dss(_))
            && !segment.flags.fin
            && !segment.flags.syn
            && !window_update
    }

    /// [`Self::describe`], with the advertised window and, where the congestion control needs it, the delivery rate.
    pub(super) fn describe_fully(
        &mut self,
        now: SimTime,
        change: &Change,
        flight_before: u64,
        sample: Option<Nanos>,
        window_right: Seq,
    ) -> Ack {
        let mut ack = self.describe(now, change, flight_before, sample);
        ack.rwnd = window_right.saturating_since(self.send.una());
        if let Some(rate) = &mut self.delivery_rate {
            ack.rate = rate.on_ack(now, change, self.send.una(), self.rtt.min());
        }
        ack
    }

    /// Passes each ACK to a congestion control that sets the whole window, after all other reactions to it.
    #[inline]
    pub(super) fn tell_owner_of_window(&mut self, ack: &Ack, paths: Paths<'_>) {
        if self.congestion.capabilities().needs.whole_window {
            let (pipe, lost) = (Bytes(self.board.pipe_counted()), Bytes(self.board.ever_lost()));
            self.congestion.on_any_ack(&Ack { pipe, lost, ..*ack }, paths);
        }
    }

    fn describe(&self, now: SimTime, change: &Change, flight_before: u64, sample: Option<Nanos>) -> Ack {
        let flight = self.board.outstanding_counted();
        debug_assert!(flight <= flight_before, "an ACK adds to what is outstanding");
        Ack {
            now,
            acked: Bytes(flight_before - flight),
            delivered: Bytes(self.board.counted().of(change.delivered)),
            rtt: sample,
            srtt: self.rtt.srtt().unwrap_or(Nanos::ZERO),
            flight_before: Bytes(flight_before),
            flight: Bytes(flight),
            pipe: Bytes(self.board.pipe_counted()),
            lost: Bytes(self.board.ever_lost()),
            rwnd: Bytes::ZERO,
            snd_una: self.send.una().0,
            snd_nxt: self.send.nxt().0,
            cwnd_limited: self.is_cwnd_limited(),
            marked: self.marks.is_marked(),
            rate: None,
        }
    }

    /// RFC 3168 section 6.1.2: the window is reduced once per window of data, as after a loss, but nothing is sent again;
    /// an ACK that echoes a mark does not open the window.
    #[inline]
    pub(super) fn heed_mark(&mut self, ack: &mut Ack, paths: Paths<'_>) {
        if !self.marks.is_marked() {
            return;
        }
        if self.recovery.is_open() && self.marks.is_news(self.send.una()) {
            self.congestion.on_ecn(&self.loss_event(ack.now, true), paths);
            self.note_reduction();
        }
        ack.cwnd_limited = false;
    }

    /// Notes that the window had room and the application no data before this ACK: samples of the delivery rate need it.
    #[inline]
    fn look_for_shortage(&mut self, now: SimTime) {
        if self.delivery_rate.is_none() {
            return;
        }
        let pipe = self.board.pipe();
        let room = self.in_flight() + self.full() <= self.usable_window() && !self.pacer.is_held(now);
        let short = room && self.send.unsent() == 0;
        if let Some(rate) = &mut self.delivery_rate {
            if short {
                rate.note_shortage(Bytes(pipe));
            }
            rate.room_may_appear(now);
        }
    }

    /// An ACK may release a dummy segment that the congestion control has queued.
    #[inline]
    fn clock_dummies(&mut self) {
        if let Some(queue) = self.congestion.dummies_mut() {
            queue.on_ack();
        }
    }

    /// Signal of a loss, a mark or a timeout to the congestion control.
    pub(super) fn loss_event(&self, now: SimTime, first_timeout: bool) -> Loss {
        Loss {
            now,
            flight: Bytes(self.flight_size()),
            cwnd_limited: self.is_cwnd_limited(),
            srtt: self.rtt.srtt().unwrap_or(Nanos::ZERO),
            snd_nxt: self.send.nxt().0,
            marked: self.marks.is_marked(),
            first_timeout,
        }
    }

    /// RFC 5681's FlightSize, without Limited Transmit (RFC 3042). Segments that a timeout has given up are in flight again once
    /// they are sent again: otherwise the next timeout would set ssthresh by the window before the first.
    fn flight_size(&self) -> u64 {
        match (self.recovery.phase(), self.config.recovery.flight_after_timeout) {
            (Phase::Loss, FlightAfterTimeout::Retransmitted) => {
                self.board.pipe_counted() + self.board.sacked_counted()
            }
            _ => self.detector.flight_size(&self.board),
        }
    }
}
