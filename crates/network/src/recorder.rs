//! What is recorded of one flow while it runs.
//!
//! May: look at the gauges and counters of the flow's two connections. May not: influence them, or grow with
//! the number of packets.

use std::collections::VecDeque;

use trace::{Histogram, TimeAverage};
use transport::Connection;
use transport::segment::SubflowId;
use units::{Bytes, SimTime};

/// One subflow, as its data sender sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubflowRecorder {
    /// Its congestion window since its handshake was complete.
    pub(crate) cwnd: Option<TimeAverage>,
    last_cwnd: Bytes,
}

/// One flow, from its start to the end of its interval: all of its connections together.
#[derive(Clone, Debug)]
pub(crate) struct FlowRecorder {
    /// Bytes of the flow's data delivered to the receiving side: in order, or in datagrams.
    pub(crate) delivered: Bytes,
    /// Delay of each byte from write to delivery.
    pub(crate) delay: Histogram,
    /// Bytes held because of gaps.
    pub(crate) out_of_order: TimeAverage,
    held: Bytes,
    /// Datagrams: when the last one arrived.
    pub(crate) last_datagram: SimTime,
    pub(crate) out_of_order_max: Bytes,
}

impl FlowRecorder {
    /// A flow that starts at `start`.
    pub(crate) fn new(start: SimTime) -> Self {
        Self {
            delivered: Bytes::ZERO,
            delay: Histogram::default(),
            out_of_order: TimeAverage::new(start, 0.0),
            held: Bytes::ZERO,
            last_datagram: start,
            out_of_order_max: Bytes::ZERO,
        }
    }

    /// `bytes` of a datagram written at `written` have arrived.
    pub(crate) fn datagram(&mut self, now: SimTime, written: SimTime, bytes: u64) {
        self.delivered += Bytes(bytes);
        self.last_datagram = now;
        self.delay.add(now.since(written), bytes);
    }
}

/// One connection: what is needed to tell how its flow does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    /// Writes that are not yet delivered: offset after the last byte, and when it was written.
    writes: VecDeque<(u64, SimTime)>,
    /// In-order bytes delivered to the receiving side.
    pub(crate) delivered: Bytes,
    last_out_of_order: Bytes,
    /// By subflow index.
    pub(crate) subflows: Vec<SubflowRecorder>,
}

impl Recorder {
    /// The application has written up to `offset`.
    pub(crate) fn wrote(&mut self, now: SimTime, offset: u64) {
        match self.writes.back_mut() {
            Some((end, at)) if *at == now => *end = offset,
            _ => self.writes.push_back((offset, now)),
        }
    }

    /// The receiving connection may have changed.
    pub(crate) fn received(&mut self, now: SimTime, receiver: &Connection, flow: &mut FlowRecorder) {
        let delivered = receiver.delivered();
        if delivered > self.delivered {
            self.deliver(now, delivered, flow);
        }
        let out_of_order = receiver.out_of_order();
        if out_of_order != self.last_out_of_order {
            flow.held = flow.held + out_of_order - self.last_out_of_order;
            self.last_out_of_order = out_of_order;
            flow.out_of_order_max = flow.out_of_order_max.max(flow.held);
            flow.out_of_order.set(now, flow.held.as_f64());
        }
    }

    fn deliver(&mut self, now: SimTime, delivered: Bytes, flow: &mut FlowRecorder) {
        let mut from = self.delivered.0;
        flow.delivered += delivered - self.delivered;
        self.delivered = delivered;
        while let Some(&(end, written)) = self.writes.front() {
            let to = end.min(delivered.0);
            if to > from {
                flow.delay.add(now.since(written), to - from);
                from = to;
            }
            if end > delivered.0 {
                break;
            }
            self.writes.pop_front();
        }
        debug_assert_eq!(from, delivered.0, "delivered what was never written");
    }

    /// The sender of one subflow may have changed.
    pub(crate) fn sent(&mut self, now: SimTime, sender: &Connection, subflow: SubflowId) {
        let index = usize::from(subflow);
        let Some(cwnd) = sender.cwnd(index) else { return };
        if self.subflows.len() <= index {
            self.subflows.resize_with(index + 1, SubflowRecorder::default);
        }
        let known = &mut self.subflows[index];
        match &mut known.cwnd {
            None => known.cwnd = Some(TimeAverage::new(now, cwnd.as_f64())),
            Some(average) if cwnd != known.last_cwnd => average.set(now, cwnd.as_f64()),
            Some(_) => {}
        }
        known.last_cwnd = cwnd;
    }
}
