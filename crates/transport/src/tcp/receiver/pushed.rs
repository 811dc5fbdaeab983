//! ACKs that leave as soon as everything is read: a segment has come that ends what its sender had.
//!
//! Source: Linux, `tcp_measure_rcv_mss` in net/ipv4/tcp_input.c (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`, with
//! full segments since commit 4720852ed9af, Linux 6.7), `tcp_event_data_sent`, `tcp_delack_timer_handler`,
//! `__tcp_cleanup_rbuf`; `mptcp_subflow_could_cleanup` in net/mptcp/protocol.c.

use units::{Nanos, SimTime};

use crate::config::AckPushed;
use crate::tcp::segment::TcpSegment;

/// The size of segments before any has come (`TCP_MSS_DEFAULT`).
const UNKNOWN_SIZE: u32 = 536;

/// Segments that ended what their sender had, as far as they are not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pushed {
    rule: AckPushed,
    /// An ACK may wait for data that answers: plain TCP alone does that.
    waits_for_answers: bool,
    /// Size of a full segment, as far as is known (`rcv_mss`).
    full: u32,
    /// Size of the last segment that was not full (`last_seg_size`).
    last_short: u32,
    /// Such segments since the last acknowledgement, two of them counted at most.
    count: u8,
    /// When data came last.
    data_at: SimTime,
    /// This end answers data with data, and its acknowledgements go with it (`pingpong`).
    answers: bool,
}

impl Pushed {
    /// Nothing received. `None`: nothing is acknowledged like that. `subflow`: of a connection of several.
    pub(super) fn new(rule: AckPushed, subflow: bool) -> Option<Self> {
        let nothing = Self {
            rule,
            waits_for_answers: !subflow,
            full: UNKNOWN_SIZE,
            last_short: 0,
            count: 0,
            data_at: SimTime::NEVER,
            answers: false,
        };
        (rule != AckPushed::Never).then_some(nothing)
    }

    /// A segment with payload has arrived.
    #[inline(always)]
    pub(super) fn on_data(&mut self, now: SimTime, segment: &TcpSegment) {
        let (len, psh) = (segment.len, segment.flags.psh);
        self.data_at = now;
        if len >= self.full {
            self.full = len;
            if psh && self.rule == AckPushed::Any {
                self.count = self.count.max(1);
            }
        } else {
            // Two of the same size in a row: full segments have become smaller.
            let again = len == self.last_short && (len >= UNKNOWN_SIZE || !psh);
            self.last_short = len;
            if again {
                self.full = len;
            } else {
                self.count = (self.count + 1).min(2);
            }
        }
    }

    /// A segment with payload leaves; ACKs are held back for `delay`.
    #[inline]
    pub(super) fn data_leaves(&mut self, now: SimTime, delay: Nanos) {
        // Without any data so far nothing is answered.
        self.answers |= !self.data_at.is_never() && now < self.data_at + delay;
    }

    /// A segment leaves, and acknowledges everything; `late`: because it was held back for as long as may be.
    #[inline]
    pub(super) fn acknowledged(&mut self, late: bool) {
        self.count = 0;
        self.answers &= !late;
    }

    /// An ACK that is held back leaves once everything is read.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.count > 1 || self.count > 0 && !(self.waits_for_answers && self.answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::Flags;

    fn segment(len: u32, psh: bool) -> TcpSegment {
        TcpSegment { flags: Flags { ack: true, psh, ..Flags::default() }, len, ..TcpSegment::default() }
    }

    fn after(rule: AckPushed, segments: &[(u32, bool)]) -> Pushed {
        let mut pushed = Pushed::new(rule, false).unwrap();
        segments.iter().for_each(|&(len, psh)| pushed.on_data(SimTime::from_millis(1), &segment(len, psh)));
        pushed
    }

    #[test]
    fn a_full_segment_counts_with_psh_since_linux_6_7() {
        assert!(!after(AckPushed::Any, &[(1448, false)]).is_due());
        assert!(after(AckPushed::Any, &[(1448, true)]).is_due());
        assert!(!after(AckPushed::Short, &[(1448, true)]).is_due());
        assert!(Pushed::new(AckPushed::Never, false).is_none());
    }

    #[test]
    fn a_short_segment_counts_unless_full_ones_have_become_as_short() {
        assert!(after(AckPushed::Short, &[(1448, false), (500, true)]).is_due());
        let mut thousands = after(AckPushed::Short, &[(1448, false), (1000, true)]);
        thousands.acknowledged(false);
        thousands.on_data(SimTime::from_millis(2), &segment(1000, true));
        assert!(!thousands.is_due(), "segments of 1000 bytes are full ones now");
        let mut small = after(AckPushed::Short, &[(1448, false), (200, true)]);
        small.acknowledged(false);
        small.on_data(SimTime::from_millis(2), &segment(200, true));
        assert!(small.is_due(), "the end of a write is no sign of a smaller MTU");
    }

    #[test]
    fn an_end_that_answers_holds_one_back_for_its_answer() {
        let delay = Nanos::from_millis(40);
        let mut pushed = after(AckPushed::Any, &[(600, false), (300, true)]);
        pushed.data_leaves(SimTime::from_millis(20), delay);
        assert!(!pushed.is_due(), "the answer carries the ACK");
        pushed.on_data(SimTime::from_millis(21), &segment(310, true));
        assert!(pushed.is_due(), "two without an ACK");
        pushed.acknowledged(true);
        pushed.on_data(SimTime::from_millis(90), &segment(300, true));
        assert!(pushed.is_due(), "no answer has come in time");
        let mut subflow = Pushed::new(AckPushed::Any, true).unwrap();
        subflow.on_data(SimTime::from_millis(1), &segment(300, true));
        subflow.data_leaves(SimTime::from_millis(20), delay);
        assert!(subflow.is_due(), "subflows of MPTCP do not wait");
        let mut silent = after(AckPushed::Any, &[(600, false), (300, true)]);
        silent.data_leaves(SimTime::from_millis(50), delay);
        assert!(silent.is_due(), "data that leaves later is no answer");
    }
}
