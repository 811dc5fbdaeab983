//! Disciplines with one queue: packets leave in the order of arrival, and a policy drops or marks some of them on
//! arrival (RED, PIE), when they leave (CoDel) or not at all (drop-tail).

use std::fmt;

use units::{Bytes, Nanos, QueueLimit};

use super::{Buffer, Context, QueueDiscipline, Waiting};
use crate::Packet;

/// The decision about a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arriving {
    Taken,
    /// Taken in and marked.
    Marked,
    Dropped,
}

/// The drop policy of a discipline with one queue. It sees the queue and does not keep packets.
pub(super) trait Policy: fmt::Debug + Send {
    /// Decides about a packet that arrives. `fits`: the limit admits it; a packet that does not fit is dropped whatever
    /// the answer.
    fn arrive(&mut self, _packet: Packet, fits: bool, _queue: &Buffer, _context: &Context<'_>) -> Arriving {
        if fits { Arriving::Taken } else { Arriving::Dropped }
    }

    /// The packet that leaves next; may drop or mark packets at the head.
    fn leave(&mut self, queue: &mut Buffer, _context: &mut Context<'_>) -> Option<Waiting> {
        queue.pop()
    }

    /// A packet came from the discipline before this one.
    fn adopted(&mut self) {}

    /// As [`QueueDiscipline::transmitted`].
    fn transmitted(&mut self, _time: Nanos) {}

    /// The discipline drops what does not fit, and nothing else.
    fn is_drop_tail(&self) -> bool {
        false
    }
}

/// A queue with a limit and a drop policy.
#[derive(Clone, Debug)]
pub struct SingleQueue<P> {
    limit: QueueLimit,
    queue: Buffer,
    policy: P,
}

impl<P> SingleQueue<P> {
    /// Empty.
    pub(super) fn with_policy(limit: QueueLimit, policy: P) -> Self {
        Self { limit, queue: Buffer::default(), policy }
    }

    /// The state of the policy.
    #[cfg(test)]
    pub(super) fn policy(&self) -> &P {
        &self.policy
    }
}

impl<P: Policy> QueueDiscipline for SingleQueue<P> {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) {
        let fits = context.fits(self.limit, self.queue.length(), packet);
        let decision = self.policy.arrive(packet, fits, &self.queue, context);
        debug_assert!(fits || decision == Arriving::Dropped, "{packet:?} is {decision:?}, but does not fit");
        match decision {
            Arriving::Dropped => return context.drop(packet),
            Arriving::Marked => context.mark(packet),
            Arriving::Taken => {}
        }
        self.queue.push(Waiting { packet, since: context.now });
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Waiting> {
        let out = self.policy.leave(&mut self.queue, context);
        debug_assert!(out.is_some() || self.queue.is_empty(), "packets wait, and none leaves");
        debug_assert!(out.is_none_or(|out| out.since <= context.now), "{out:?} leaves before it came");
        out
    }

    fn length(&self) -> (u64, Bytes) {
        self.queue.length()
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.policy.adopted();
        self.queue.push(waiting);
    }

    fn release(&mut self) -> Vec<Waiting> {
        self.queue.release()
    }

    fn transmitted(&mut self, time: Nanos) {
        self.policy.transmitted(time);
    }

    fn drop_tail(&self) -> Option<QueueLimit> {
        self.policy.is_drop_tail().then_some(self.limit)
    }
}
