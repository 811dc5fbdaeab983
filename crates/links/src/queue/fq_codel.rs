//! FQ-CoDel: flows by hash, served in turn by bytes, each with a CoDel of its own; flows that have just become active
//! come first (RFC 8290).
//!
//! Deviation: the RFC gives a limit in packets, here it may also be one in bytes. When it is exceeded packets are
//! dropped from the head of the flow with the most bytes: up to half of its bytes and 64 packets (section 4.1.3).

use std::collections::VecDeque;

use engine::Stream;
use registry::{OptionKind, OptionSpec, Options, at_least};
use units::{Bytes, QueueLimit};

use super::codel::{Control, ControlLaw, INTERVAL, TARGET};
use super::{Algorithm, Buffer, Context, ECN, QueueDiscipline, Waiting, limit};
use crate::Packet;

pub(super) const ROW: Algorithm = Algorithm {
    name: "fq_codel",
    summary: "flows served in turn, each with a CoDel of its own; new flows first",
    source: "RFC 8290",
    notes: "",
    options: &[
        limit("10240p"),
        OptionSpec::new(
            "flows",
            OptionKind::Integer { min: 1, max: 65_536 },
            "1024",
            "queues that connections are hashed to",
        ),
        OptionSpec::new("quantum", OptionKind::Size, "1514B", "bytes that a flow may send in a turn"),
        TARGET,
        INTERVAL,
        ECN,
    ],
    check: |options| at_least("quantum", Bytes(1), Options::size, options),
    build: |options, mut stream| Box::new(FqCoDel::new(options, &mut stream)),
};

/// Most packets dropped at once (section 4.1.3).
const BATCH: usize = 64;

/// Where a flow is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Idle,
    New,
    Old,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    buffer: Buffer,
    control: Control,
    /// Bytes that it may still send in this turn.
    credit: i64,
    list: Turn,
}

#[derive(Clone, Debug)]
struct FqCoDel {
    limit: QueueLimit,
    quantum: i64,
    law: ControlLaw,
    /// Mixed into the hash, so that collisions differ from seed to seed.
    salt: u64,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u64,
    bytes: Bytes,
}

impl FqCoDel {
    fn new(options: &Options, stream: &mut Stream) -> Self {
        Self {
            limit: options.limit("limit"),
            quantum: i64::try_from(options.size("quantum").0).unwrap_or(i64::MAX),
            law: ControlLaw::new(options),
            salt: stream.bits(),
            flows: vec![Flow::default(); options.integer("flows") as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }

    /// The queue of a flow: the finaliser of SplitMix64 over flow and salt.
    fn index(&self, flow: u64) -> usize {
        let mut x = flow ^ self.salt;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        ((u128::from(x) * self.flows.len() as u128) >> 64) as usize
    }

    fn put(&mut self, waiting: Waiting) {
        let index = self.index(waiting.packet.flow);
        self.packets += 1;
        self.bytes += Bytes(waiting.packet.size.into());
        let flow = &mut self.flows[index];
        flow.buffer.push(waiting);
        if flow.list == Turn::Idle {
            flow.list = Turn::New;
            flow.credit = self.quantum;
            self.new.push_back(index as u32);
        }
        self.check();
    }

    fn exceeded(&self) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.packets > limit,
            QueueLimit::Bytes(limit) => self.bytes > limit,
        }
    }

    /// Drops from the head of the flow with the most bytes.
    fn shrink(&mut self, context: &mut Context<'_>) {
        let Some(flow) = self.flows.iter_mut().max_by_key(|flow| flow.buffer.bytes()) else { return };
        let half = Bytes(flow.buffer.bytes().0 / 2);
        let mut dropped = Bytes::ZERO;
        for _ in 0..BATCH {
            let Some(waiting) = flow.buffer.pop() else { break };
            let size = Bytes(waiting.packet.size.into());
            dropped += size;
            self.packets -= 1;
            context.drop(waiting.packet);
            if dropped >= half {
                break;
            }
        }
        self.bytes -= dropped;
        self.check();
    }

    /// The counts are those of the flows, and a flow that holds packets is in the list that it names.
    fn check(&self) {
        debug_assert!(self.new.iter().all(|i| self.flows[*i as usize].list == Turn::New), "{:?}", self.new);
        debug_assert!(self.old.iter().all(|i| self.flows[*i as usize].list == Turn::Old), "{:?}", self.old);
        let held = || {
            let listed = self.new.iter().chain(&self.old).map(|i| self.flows[*i as usize].buffer.length());
            listed.fold((0, Bytes::ZERO), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1))
        };
        debug_assert_eq!(held(), (self.packets, self.bytes), "the flows in the lists hold all packets");
    }
}

impl QueueDiscipline for FqCoDel {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) {
        self.put(Waiting { packet, since: context.now });
        while !context.idle && self.exceeded() {
            self.shrink(context);
        }
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Waiting> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = &mut self.flows[index as usize];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                flow.list = Turn::Old;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = flow.buffer.length();
            let out = flow.control.dequeue(&mut flow.buffer, self.law, context);
            let after = flow.buffer.length();
            self.packets -= before.0 - after.0;
            self.bytes -= before.1 - after.1;
            if let Some(waiting) = out {
                flow.credit -= i64::from(waiting.packet.size);
                self.check();
                return Some(waiting);
            }
            list.pop_front();
            // A new flow that has run empty passes the old ones once, or it could starve them by coming back.
            if from_new && !self.old.is_empty() {
                flow.list = Turn::Old;
                self.old.push_back(index);
            } else {
                flow.list = Turn::Idle;
            }
        }
    }

    fn length(&self) -> (u64, Bytes) {
        (self.packets, self.bytes)
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.put(waiting);
    }

    fn release(&mut self) -> Vec<Waiting> {
        let mut all: Vec<Waiting> = self.flows.iter_mut().flat_map(|flow| flow.buffer.release()).collect();
        all.sort_by_key(|waiting| waiting.since);
        (self.packets, self.bytes) = (0, Bytes::ZERO);
        all
    }
}

#[cfg(test)]
mod tests {
    use units::{Nanos, SimTime};

    use super::super::testing::{SIZE, build, packet, serve};
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    fn of(flow: u64, id: u32, size: u32) -> Packet {
        Packet { flow, size, ..packet(id) }
    }

    /// A flow at four times the rate and one at a quarter of it: the small one gets all it asks for, without a wait to
    /// speak of.
    #[test]
    fn a_sparse_flow_does_not_wait_behind_a_greedy_one() {
        let mut queue = build(&ROW, &[]);
        let packets = (0u32..40_000).map(|i| {
            let at = SimTime(u64::from(i) * MS.0 / 4);
            (at, if i % 16 == 0 { of(7, i, SIZE) } else { of(1, i, SIZE) })
        });
        let log = serve(&mut *queue, packets, MS, SimTime::from_secs(10));
        let sparse: Vec<&(SimTime, u32, Nanos)> = log.sent.iter().filter(|(_, id, _)| id % 16 == 0).collect();
        assert!(sparse.len() >= 2499, "{}", sparse.len());
        assert!(sparse.iter().all(|(_, _, wait)| *wait <= Nanos(2 * MS.0)));
        assert!(log.drops.iter().all(|(_, id)| id % 16 != 0));
    }

    /// Two greedy flows, one with twice the packets of the other: each meets the control law of its own queue, the
    /// first drop an interval after its own wait has passed the target. A flow within its part loses nothing.
    #[test]
    fn each_flow_has_a_codel_of_its_own() {
        let mut queue = build(&ROW, &[("limit", "100000p"), ("quantum", "1000B")]);
        // A third each: a packet every 3 ms is what a flow may send.
        let modest = (0u32..).map(|i| (SimTime(u64::from(i) * 4 * MS.0), of(3, 3 * i, SIZE)));
        let double = (0u32..).map(|i| (SimTime(u64::from(i) * 3 * MS.0 / 2), of(1, 3 * i + 1, SIZE)));
        let fourfold = (0u32..).map(|i| (SimTime(u64::from(i) * 3 * MS.0 / 4), of(2, 3 * i + 2, SIZE)));
        let mut packets: Vec<(SimTime, Packet)> =
            modest.take(500).chain(double.take(1334)).chain(fourfold.take(2667)).collect();
        packets.sort_by_key(|(at, packet)| (*at, packet.id));
        let log = serve(&mut *queue, packets, MS, SimTime::from_secs(2));
        let drops = |flow: u32| -> Vec<SimTime> {
            log.drops.iter().filter(|(_, id)| id % 3 == flow).map(|(at, _)| *at).collect()
        };
        assert!(drops(0).is_empty());
        for flow in [1, 2] {
            // When the flow's own packets first waited for the target.
            let above =
                log.sent.iter().find(|(_, id, wait)| id % 3 == flow && *wait >= Nanos(5 * MS.0)).unwrap().0;
            let found = drops(flow);
            let first = found[0];
            assert!(first.since(above) >= Nanos(100 * MS.0) && first.since(above) <= Nanos(104 * MS.0));
            let mut expected = first;
            for (n, at) in found.iter().enumerate().skip(1) {
                expected += Nanos((1e8 / (n as f64).sqrt()) as u64);
                // It is served every 3 to 4 ms.
                let late = at.since(expected);
                assert!(*at >= expected && late <= Nanos(4 * MS.0), "flow {flow}, drop {n}: {late:?}");
            }
            // sum of 1/sqrt(i) for i below n is 2 sqrt(n) - 1.46: 1.88 s make n = 103.
            assert!((95..=106).contains(&found.len()), "{}", found.len());
        }
        // Neither the drops nor their instants are those of one common queue.
        assert_ne!(drops(1), drops(2));
    }

    /// Two greedy flows with packets of different size share the bytes alike.
    #[test]
    fn greedy_flows_share_bytes() {
        let mut queue = build(&ROW, &[("quantum", "1500B"), ("target", "10s")]);
        let packets = (0u32..40_000).map(|i| {
            let at = SimTime(u64::from(i) * MS.0 / 8);
            (at, if i % 2 == 0 { of(7, i, 1500) } else { of(1, i, 300) })
        });
        let log = serve(&mut *queue, packets, MS, SimTime::from_secs(5));
        let late = log.sent.iter().filter(|(at, ..)| *at > SimTime::from_secs(1));
        let (mut large, mut small) = (0u64, 0u64);
        for (_, id, _) in late {
            if id % 2 == 0 { large += 1500 } else { small += 300 }
        }
        assert!((large as f64 / small as f64 - 1.0).abs() < 0.02, "{large} {small}");
    }

    #[test]
    fn the_fattest_flow_pays_for_the_limit() {
        pays("100p");
        pays("100000B");
    }

    /// `limit` is that of 100 packets of 1000 bytes.
    fn pays(limit: &str) {
        let mut queue = build(&ROW, &[("limit", limit)]);
        let mut fates = Vec::new();
        let mut context = Context { now: SimTime::ZERO, idle: false, fates: &mut fates };
        for id in 0..100 {
            queue.enqueue(of(u64::from(id % 10 == 0), id, SIZE), &mut context);
        }
        assert!(context.fates.is_empty());
        queue.enqueue(of(1, 100, SIZE), &mut context);
        // 90 packets of the fat flow: half of its bytes are 45 packets, from its head.
        let dropped: Vec<u32> = fates
            .iter()
            .map(|fate| match fate {
                crate::Fate::Refused(id) => *id,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((dropped.len(), queue.length()), (45, (56, Bytes(56_000))));
        assert!(dropped.iter().all(|id| id % 10 != 0) && dropped[0] == 1);
    }
}
