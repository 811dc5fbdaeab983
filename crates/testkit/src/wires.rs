//! Wires between two connections: delay, rate, faults, and the packets in flight.
//!
//! May: delay, lose, copy and strip packets. May not: know connections.

use engine::Stream;
use transport::packet::Packet;
use units::{BitsPerSecond, Nanos, SimTime};

use crate::faults::{Fault, Way, fate, strips};

/// One wire, the same both ways; its queue is endless.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// One-way delay.
    pub delay: Nanos,
    /// Rate; `None`: infinite.
    pub rate: Option<BitsPerSecond>,
}

/// One direction of a wire.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// The transmitter is free again.
    free_at: SimTime,
    /// Packets put on it.
    packets: u64,
}

/// When copies of one packet arrive, and in which slots of [`Wires`] they wait.
pub(crate) type Arrivals = Vec<(SimTime, usize)>;

/// All wires.
#[derive(Debug)]
pub(crate) struct Wires {
    wires: Vec<(Wire, [Direction; 2])>,
    faults: Vec<Fault>,
    noise: Stream,
    /// Packets in flight; free slots are `None` and listed in `free`.
    flying: Vec<Option<Packet>>,
    free: Vec<usize>,
}

impl Wires {
    /// Without faults.
    pub(crate) fn new(wires: Vec<Wire>) -> Self {
        Self {
            wires: wires.into_iter().map(|wire| (wire, [Direction::default(); 2])).collect(),
            faults: Vec::new(),
            noise: Stream::named(1, "duo", "noise"),
            flying: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Replaces the faults, and the seed of the random ones among them.
    pub(crate) fn set_faults(&mut self, faults: Vec<Fault>, seed: u64) {
        self.faults = faults;
        self.noise = Stream::named(seed, "duo", "noise");
    }

    /// How many wires there are.
    pub(crate) fn len(&self) -> usize {
        self.wires.len()
    }

    /// Puts a packet on a wire. Returns when which copies arrive: none if it is lost.
    pub(crate) fn send(&mut self, now: SimTime, wire: usize, way: Way, mut packet: Packet) -> Arrivals {
        let (model, directions) = &mut self.wires[wire];
        let direction = &mut directions[way.index()];
        let n = direction.packets;
        direction.packets += 1;
        let start = now.max(direction.free_at);
        let departure = start + model.rate.map_or(Nanos::ZERO, |rate| rate.time_to_send(packet.size));
        debug_assert!(departure >= direction.free_at, "packets leave in the order of sending");
        direction.free_at = departure;
        let arrival = departure + model.delay;
        if strips(&self.faults, wire, way, n, packet.is_syn()) {
            packet.body.strip_multipath();
        }
        let draw = self.noise.below(1_000_000) as u32;
        let fate = fate(&self.faults, wire, way, n, now, draw);
        let copies = (0..fate.copies).map(|copy| {
            let extra = fate.late + Nanos::from_millis(u64::from(copy));
            (arrival + extra, store(&mut self.flying, &mut self.free, packet))
        });
        let arrivals = copies.collect();
        self.check();
        arrivals
    }

    /// The packet in a slot arrives.
    ///
    /// # Panics
    /// If the slot is empty.
    pub(crate) fn take(&mut self, slot: usize) -> Packet {
        let packet = self.flying[slot].take().expect("a packet arrives once");
        self.free.push(slot);
        self.check();
        packet
    }

    fn check(&self) {
        let held = self.flying.iter().filter(|packet| packet.is_some()).count();
        debug_assert_eq!(held + self.free.len(), self.flying.len(), "each slot holds a packet or is free");
    }
}

/// Puts a packet into a free slot.
fn store(flying: &mut Vec<Option<Packet>>, free: &mut Vec<usize>, packet: Packet) -> usize {
    let slot = free.pop().unwrap_or_else(|| {
        flying.push(None);
        flying.len() - 1
    });
    debug_assert!(flying[slot].is_none(), "slot {slot} holds a packet");
    flying[slot] = Some(packet);
    slot
}
