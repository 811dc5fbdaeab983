//! Recorders of one flow, its connections and their subflows while it runs.
//!
//! May: read gauges and counters of the two ends of a connection. May not: influence them, or grow with the number of
//! packets.

use trace::{Histogram, TimeAverage, TimeLevels};
use transport::packet::PathId;
use transport::sctp::Delivery;
use transport::seq::StreamOffset;
use transport::tcp::ranges::Range;
use transport::{Connection, Intake};
use units::{Bytes, SimTime};

use crate::flow::writes::Writes;

/// One subflow, in one line of the cache: each ACK looks here.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct SubflowRecorder {
    /// Its sender's congestion window since its handshake was complete.
    pub(crate) cwnd: Option<TimeAverage>,
    last_cwnd: Bytes,
    /// Bytes that its receiver holds above a gap of the subflow; `None` while there were none.
    pub(crate) held: Option<Box<TimeLevels>>,
}

/// One flow, from its start to the end of its interval: all of its connections together.
#[derive(Clone, Debug)]
pub(crate) struct FlowRecorder {
    /// Bytes of the flow's data delivered to the receiving side: in order, or in datagrams.
    pub(crate) delivered: Bytes,
    /// Delay of each byte from write to delivery.
    pub(crate) delay: Histogram,
    /// Delay of each byte from write to its first transmission.
    pub(crate) send_delay: Histogram,
    /// Bytes held because of gaps.
    pub(crate) out_of_order: TimeLevels,
    /// The part of them that waits for other subflows; `None` while there was none.
    pub(crate) waiting_for_others: Option<Box<TimeLevels>>,
    start: SimTime,
    /// When something was delivered last; the start, if nothing was.
    pub(crate) last_delivery: SimTime,
}

impl FlowRecorder {
    /// A flow that starts at `start`.
    pub(crate) fn new(start: SimTime) -> Self {
        Self {
            delivered: Bytes::ZERO,
            delay: Histogram::default(),
            send_delay: Histogram::default(),
            out_of_order: TimeLevels::new(start),
            waiting_for_others: None,
            start,
            last_delivery: start,
        }
    }

    /// `bytes` of a datagram written at `written` have arrived.
    pub(crate) fn datagram(&mut self, now: SimTime, written: SimTime, bytes: Bytes) {
        self.delivered += bytes;
        self.last_delivery = now;
        self.delay.add(now.since(written), bytes.0);
        // Datagrams still arrive after the flow was recorded, which takes the delays away.
        debug_assert!(self.delay.total() <= self.delivered.0, "one delay per byte");
    }
}

/// One connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    writes: Writes,
    last_out_of_order: Bytes,
    last_waiting: Bytes,
    /// Deliveries are reported one by one, since they may overtake each other.
    by_message: bool,
    /// Bytes that subflows hold above gaps of their own, together.
    last_on_subflows: Bytes,
    /// By subflow index.
    pub(crate) subflows: Vec<SubflowRecorder>,
}

impl Recorder {
    /// Nothing has happened; `by_message` if deliveries will be reported one by one.
    pub(crate) fn new(by_message: bool) -> Self {
        Self { by_message, ..Self::default() }
    }

    /// A message has arrived, which may have overtaken others.
    pub(crate) fn arrived(&mut self, now: SimTime, delivery: Delivery, flow: &mut FlowRecorder) {
        debug_assert!(self.by_message && now >= flow.start, "a message before the flow or in a byte stream");
        let Delivery { offset, size, .. } = delivery;
        self.writes.arrived(now, Range::new(offset.0, offset.0 + size.0), &mut flow.delay);
        flow.delivered += size;
        flow.last_delivery = now;
    }

    /// The application has written up to `offset`.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, now: SimTime, offset: u64) {
        self.writes.wrote(now, offset);
    }

    /// A part of the stream leaves the sender, and it is no retransmission on its subflow.
    #[inline(always)]
    pub(crate) fn left(&mut self, now: SimTime, part: Range<StreamOffset>, flow: &mut FlowRecorder) {
        let part = Range::new(part.start.0, part.end.0);
        self.writes.left(now, part, &mut flow.send_delay);
    }

    /// The receiving connection may have changed, by what came over `subflow`.
    #[inline(always)]
    pub(crate) fn received(
        &mut self,
        now: SimTime,
        receiver: &Connection,
        subflow: PathId,
        flow: &mut FlowRecorder,
    ) {
        debug_assert!(now >= flow.start, "recorded before the flow started");
        let Intake { delivered, out_of_order, waiting_for_others } = receiver.intake();
        if !self.by_message {
            let more = self.writes.delivered(now, delivered, &mut flow.delay);
            if more > Bytes::ZERO {
                flow.delivered += more;
                flow.last_delivery = now;
            }
        }
        debug_assert!(self.last_out_of_order <= flow.out_of_order.value(), "a part above the sum");
        if out_of_order == Bytes::ZERO && self.last_out_of_order == Bytes::ZERO {
            return;
        }
        let on_subflows = out_of_order - waiting_for_others.unwrap_or_default();
        // Mostly nothing is missing on any subflow.
        if on_subflows != Bytes::ZERO || self.last_on_subflows != Bytes::ZERO {
            self.held_by(now, receiver, (subflow, on_subflows), flow.start);
        }
        if out_of_order != self.last_out_of_order {
            let held = flow.out_of_order.value() + out_of_order - self.last_out_of_order;
            flow.out_of_order.set(now, held);
            self.last_out_of_order = out_of_order;
        }
        if let Some(waiting) = waiting_for_others
            && waiting != self.last_waiting
        {
            let start = flow.start;
            let levels = flow.waiting_for_others.get_or_insert_with(|| Box::new(TimeLevels::new(start)));
            levels.set(now, levels.value() + waiting - self.last_waiting);
            self.last_waiting = waiting;
        }
        debug_assert!(self.last_waiting <= self.last_out_of_order, "waiting for others is out of order");
    }

    /// Records what subflows hold after a packet over one of them; `on_subflows` is their sum.
    #[cold]
    #[inline(never)]
    fn held_by(
        &mut self,
        now: SimTime,
        receiver: &Connection,
        (subflow, on_subflows): (PathId, Bytes),
        start: SimTime,
    ) {
        self.look_at(now, receiver, subflow.index(), start);
        // A packet may end another subflow than its own, or fill a gap that is counted there.
        if self.last_on_subflows != on_subflows {
            (0..receiver.subflow_count()).for_each(|index| self.look_at(now, receiver, index, start));
        }
        debug_assert_eq!(self.last_on_subflows, on_subflows, "subflows hold their sum");
    }

    /// Records what one subflow holds.
    fn look_at(&mut self, now: SimTime, receiver: &Connection, index: usize, start: SimTime) {
        let held = receiver.held_by_subflow(index);
        let known = self.subflow(index);
        let before = known.held.as_ref().map_or(Bytes::ZERO, |levels| levels.value());
        if held != before {
            known.held.get_or_insert_with(|| Box::new(TimeLevels::new(start))).set(now, held);
            self.last_on_subflows = self.last_on_subflows + held - before;
        }
    }

    #[inline]
    fn subflow(&mut self, index: usize) -> &mut SubflowRecorder {
        if self.subflows.len() <= index {
            self.make_room_for(index);
        }
        &mut self.subflows[index]
    }

    #[cold]
    fn make_room_for(&mut self, index: usize) {
        self.subflows.reserve_exact(index + 1 - self.subflows.len());
        self.subflows.resize_with(index + 1, SubflowRecorder::default);
    }

    /// The sender of one subflow may have changed.
    pub(crate) fn sent(&mut self, now: SimTime, sender: &Connection, subflow: PathId) {
        if let Some(cwnd) = sender.cwnd(subflow.index()) {
            self.window(now, subflow, cwnd);
        }
    }

    /// This is the congestion window of one subflow now.
    #[inline]
    pub(crate) fn window(&mut self, now: SimTime, subflow: PathId, cwnd: Bytes) {
        let index = subflow.index();
        match self.subflows.get_mut(index) {
            Some(SubflowRecorder { cwnd: Some(average), last_cwnd, .. }) => {
                if cwnd != *last_cwnd {
                    *last_cwnd = cwnd;
                    average.set(now, cwnd.as_f64());
                }
            }
            _ => self.established(now, index, cwnd),
        }
    }

    /// The handshake of a subflow is complete, and its sender has this window.
    #[cold]
    #[inline(never)]
    fn established(&mut self, now: SimTime, index: usize, cwnd: Bytes) {
        let known = self.subflow(index);
        (known.cwnd, known.last_cwnd) = (Some(TimeAverage::new(now, cwnd.as_f64())), cwnd);
    }
}
