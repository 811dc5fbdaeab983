//! Opportunistic retransmission and penalisation: what to do when the oldest segment holds up the whole connection.
//!
//! Source: Raiciu et al., "How Hard Can It Be?", NSDI 2012, section 4; Linux out-of-tree MPTCP,
//! `mptcp_rcv_buf_optimization`. Units: nanoseconds, segments. The send window is full (or the send buffer is, with
//! nothing in it left to give); sk is the subflow that minRTT would use, o runs over those on which the oldest segment
//! is outstanding:
//! ```text
//! penalise o if  srtt(sk) < srtt(o)  and o is in no loss episode; at most once per srtt(sk), for a full window only
//! resend on sk if sk has not carried it, and  cwnd(o) <= 4  or  4 srtt(sk) < srtt(o)  for every o
//! ```
//! All slower carriers are penalised (choice D-38).

use units::{Nanos, SimTime};

use crate::eligible::{Eligible, fastest};
use crate::{ConnectionView, Decision, Question, SubflowSet, SubflowView};

/// A carrier with this window, in segments, or less may be helped whatever its round-trip time.
const SMALL_WINDOW: u64 = 4;

/// The two mechanisms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opportunistic {
    penalises: bool,
    /// When the subflow last caused a penalty, by its index.
    penalised: Vec<Option<SimTime>>,
}

impl Opportunistic {
    pub fn new(penalises: bool) -> Self {
        Self { penalises, penalised: Vec::new() }
    }

    /// The answer to `WindowFull` and `BufferFull`.
    pub fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let subflows = connection.subflows;
        let Some((index, fast)) = fastest(Eligible::new(subflows).available()) else { return Decision::Wait };
        let Some(srtt) = fast.srtt else { return Decision::Wait };
        if self.penalises && connection.question == Question::WindowFull {
            let slower = |&o: &usize| {
                o != index
                    && subflows.get(o).is_some_and(|o| o.open && o.srtt.is_some_and(|other| srtt < other))
            };
            let slower: SubflowSet = connection.head.iter().filter(slower).collect();
            if !slower.is_empty() && self.may_penalise(index, connection.now, srtt) {
                return Decision::Penalise(slower);
            }
        }
        let carriers = || connection.head.iter().filter_map(|o| subflows.get(o));
        let fresh = !connection.head.is_empty() && !connection.head.contains(index);
        if fresh && carriers().all(|o| worth_it(o, srtt)) {
            debug_assert!(fast.available, "a subflow without room repeats the oldest segment");
            return Decision::ResendHead(index);
        }
        Decision::Wait
    }

    /// Once per round-trip time of the subflow that suffers.
    fn may_penalise(&mut self, index: usize, now: SimTime, srtt: Nanos) -> bool {
        if self.penalised.len() <= index {
            self.penalised.resize(index + 1, None);
        }
        let due = self.penalised[index].is_none_or(|at| now > at && now.since(at) >= srtt);
        debug_assert!(self.penalised[index].is_none_or(|at| at <= now), "a penalty in the future");
        if due {
            self.penalised[index] = Some(now);
        }
        due
    }
}

fn worth_it(carrier: &SubflowView, srtt: Nanos) -> bool {
    carrier.segments(carrier.cwnd) <= SMALL_WINDOW
        || carrier.srtt.is_some_and(|other| srtt.saturating_mul(4) < other)
}
