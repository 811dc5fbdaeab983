//! Two bands with strict priority: ordinary packets go first, packets of low priority are pushed out when the queue is full
//! (I. F. Akyildiz, G. Morabito, S. Palazzo, "TCP-Peach", IEEE/ACM Transactions on Networking 9(3), 2001, needs such
//! routers).
//!
//! A full queue drops the youngest packet of low priority to make room for an ordinary one; only if there is none it
//! drops the ordinary one.

use units::{Bytes, QueueLimit};

use super::{Algorithm, Buffer, Context, QueueDiscipline, Waiting, limit};
use crate::Packet;

pub(super) const ROW: Algorithm = Algorithm {
    name: "priority",
    summary: "ordinary packets first; those of low priority are pushed out when it is full",
    source: "Akyildiz, Morabito, Palazzo 2001",
    notes: "",
    options: &[limit("100p")],
    check: registry::independent,
    build: |options, _| {
        Box::new(Priority {
            limit: options.limit("limit"),
            ordinary: Buffer::default(),
            low: Buffer::default(),
        })
    },
};

#[derive(Clone, Debug)]
struct Priority {
    limit: QueueLimit,
    ordinary: Buffer,
    low: Buffer,
}

impl Priority {
    fn band(&mut self, packet: Packet) -> &mut Buffer {
        if packet.low_priority { &mut self.low } else { &mut self.ordinary }
    }
}

impl QueueDiscipline for Priority {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) {
        // A packet that would not fit even without those of low priority pushes none out.
        let fits_alone = packet.low_priority || context.fits(self.limit, self.ordinary.length(), packet);
        while !context.fits(self.limit, self.length(), packet) {
            let pushed_out = if fits_alone && !packet.low_priority { self.low.pop_back() } else { None };
            let Some(out) = pushed_out else { return context.drop(packet) };
            debug_assert!(out.packet.low_priority, "{out:?} is pushed out by {packet:?}");
            context.drop(out.packet);
        }
        let since = context.now;
        self.band(packet).push(Waiting { packet, since });
    }

    fn dequeue(&mut self, _context: &mut Context<'_>) -> Option<Waiting> {
        let out = self.ordinary.pop().or_else(|| self.low.pop());
        debug_assert!(
            out.is_none_or(|out| !out.packet.low_priority || self.ordinary.is_empty()),
            "{out:?} leaves before {} ordinary packets",
            self.ordinary.packets()
        );
        out
    }

    fn length(&self) -> (u64, Bytes) {
        let (ordinary, low) = (self.ordinary.length(), self.low.length());
        (ordinary.0 + low.0, ordinary.1 + low.1)
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.band(waiting.packet).push(waiting);
    }

    fn release(&mut self) -> Vec<Waiting> {
        let mut all = self.ordinary.release();
        all.extend(self.low.release());
        all
    }
}

#[cfg(test)]
mod tests {
    use units::SimTime;

    use super::super::testing::{build, packet};
    use super::*;
    use crate::Fate;

    #[test]
    fn ordinary_packets_push_out_the_others_and_go_first() {
        let mut queue = build(&ROW, &[("limit", "3p")]);
        let mut fates = Vec::new();
        let mut context = Context { now: SimTime::ZERO, idle: false, fates: &mut fates };
        let low = |id| Packet { low_priority: true, ..packet(id) };
        for packet in [low(1), low(2), packet(3), packet(4), low(5), packet(6), packet(7)] {
            queue.enqueue(packet, &mut context);
        }
        // 4 pushes out 2; 5 finds it full; 6 pushes out 1; 7 finds ordinary packets only.
        let order: Vec<u32> =
            std::iter::from_fn(|| queue.dequeue(&mut context)).map(|w| w.packet.id).collect();
        assert_eq!(order, [3, 4, 6]);
        assert_eq!(fates, [2, 5, 1, 7].map(Fate::Refused));
    }
}
