//! Packets that are in a file more than once, without their direction: files of both ends that were merged, and mirror ports.
//!
//! May: tell copies by their headers, and the ends at which they were captured by their times. May not: count packets.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use wire::frame::{Ends, Frame};

use crate::file::Record;
use crate::fingerprint::Fingerprint;
use crate::link::{Way, datagram};

/// Packets that are remembered while a file is surveyed: a sample of them, if it has more.
const SAMPLE: usize = 1 << 14;
/// Conversations that are told apart while a file is surveyed.
const CONVERSATIONS: usize = 1 << 14;
/// Fewer copies may be chance.
const LEAST: u64 = 3;
/// Copies that are further apart in both directions together, in nanoseconds, are from two ends. Bridges, mirror ports and routers take less.
const APART: i64 = 200_000;
/// Copies are not looked for further back.
const LONGEST: u64 = 10_000_000_000;
/// Packets that are remembered while a file is read.
const RECENT: usize = 1 << 21;

/// The same two ends for packets of both, and whether the second one sends.
fn conversation(ends: Ends) -> (Ends, usize) {
    if ends.destination < ends.source { (ends.reversed(), 1) } else { (ends, 0) }
}

/// The datagram of a packet whose direction is not known, with its ends.
fn undirected<'a>(record: &Record<'a>) -> Option<(Ends, &'a [u8])> {
    let found = datagram(record.link, record.bytes).ok()??;
    if record.way.or(found.way).is_some() {
        return None;
    }
    let frame = Frame::decode_of(found.bytes, record.sent(found.bytes)).ok()?;
    Some((frame.ends, found.bytes))
}

/// A packet that was seen once or more.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The number by which it is in the sample.
    quick: u64,
    interface: u32,
    at: u64,
    copied: bool,
}

/// Copies on two interfaces.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    copies: u64,
    /// By sender: least and greatest time from the lower interface to the higher one.
    ahead: [Option<[i64; 2]>; 2],
}

/// Copies of a conversation.
#[derive(Clone, Debug, Default)]
struct Found {
    packets: u64,
    copies: u64,
    /// Third copies and further ones on one interface: the packets only look the same.
    more: u64,
    /// By sender: the least time between two copies on one interface.
    least: [Option<u64>; 2],
    across: BTreeMap<[u32; 2], Pair>,
}

impl Found {
    fn is_doubled(&self) -> bool {
        self.copies >= LEAST && self.copies * 4 >= self.packets && self.more * 4 <= self.copies
    }

    /// Copies on one interface are from two ends, and few packets have none.
    fn is_from_two_ends(&self) -> bool {
        let single = self.packets.saturating_sub(2 * self.copies);
        let apart = self.least[0].zip(self.least[1]).map(|(one, other)| one.saturating_add(other));
        apart.is_some_and(|apart| apart >= APART as u64) && single * 3 <= self.packets
    }
}

impl Pair {
    fn note(&mut self, sender: usize, ahead: i64) {
        self.copies += 1;
        let [least, most] = self.ahead[sender].unwrap_or([ahead; 2]);
        self.ahead[sender] = Some([least.min(ahead), most.max(ahead)]);
    }

    /// The sender whose packets the lower interface has first, though the clocks of both differ. `None`: they may be at one place.
    fn first(&self) -> Option<usize> {
        let [Some(one), Some(other)] = self.ahead else { return None };
        if self.copies < LEAST {
            return None;
        }
        // The difference of the clocks is in both, with either sign.
        if one[0].saturating_sub(other[1]) >= APART {
            return Some(0);
        }
        (other[0].saturating_sub(one[1]) >= APART).then_some(1)
    }
}

/// Packets that were seen while a file was surveyed.
#[derive(Debug, Default)]
pub(crate) struct Sightings {
    seen: BTreeMap<u64, Seen>,
    /// Packets whose number has one of these bits are left out.
    mask: u64,
    conversations: BTreeMap<Ends, Found>,
    /// The greatest time between two copies.
    longest: u64,
}

impl Sightings {
    pub(crate) fn note(&mut self, record: &Record<'_>) {
        if record.way.is_some() {
            return;
        }
        let Ok(Some(found)) = datagram(record.link, record.bytes) else { return };
        let quick = Fingerprint::quick(found.bytes);
        if quick.is_some_and(|quick| quick & self.mask != 0) {
            return;
        }
        let Some(print) = Fingerprint::of(found.bytes) else { return };
        let quick = quick.unwrap_or(print.hash);
        if quick & self.mask != 0 {
            return;
        }
        let Some((ends, _)) = undirected(record) else { return };
        let (ends, sender) = conversation(ends);
        if self.conversations.len() >= CONVERSATIONS && !self.conversations.contains_key(&ends) {
            return;
        }
        let conversation = self.conversations.entry(ends).or_default();
        conversation.packets += u64::from(print.tells);
        let Some(first) = self.seen.get_mut(&print.hash) else {
            let Record { interface, at, .. } = *record;
            self.seen.insert(print.hash, Seen { quick, interface, at, copied: false });
            self.thin();
            return;
        };
        let apart = record.at.abs_diff(first.at);
        if first.interface != record.interface {
            let pair = [first.interface.min(record.interface), first.interface.max(record.interface)];
            let apart = i64::try_from(apart).unwrap_or(i64::MAX);
            let is_ahead = (record.at >= first.at) == (first.interface < record.interface);
            let ahead = if is_ahead { apart } else { -apart };
            conversation.across.entry(pair).or_default().note(sender, ahead);
        } else if !print.tells || apart > LONGEST {
            return;
        } else if first.copied {
            conversation.more += 1;
            return;
        } else {
            conversation.copies += 1;
            first.copied = true;
            let least = &mut conversation.least[sender];
            *least = Some(least.unwrap_or(apart).min(apart));
        }
        self.longest = self.longest.max(apart.min(LONGEST));
    }

    /// Leaves out half of the packets if there are too many.
    fn thin(&mut self) {
        while self.seen.len() > SAMPLE {
            if self.mask == u64::MAX {
                // All have the same number, which real packets do not: they are forgotten.
                self.seen.clear();
                return;
            }
            self.mask = self.mask << 1 | 1;
            self.seen.retain(|_, seen| seen.quick & self.mask == 0);
        }
    }

    /// How copies are to be read, if there are any.
    pub(crate) fn copies(self) -> Option<Copies> {
        let mut votes: BTreeMap<(u32, IpAddr), [u64; 2]> = BTreeMap::new();
        let (mut found, mut doubled, mut all) = (Copies::default(), 0, 0);
        for (ends, conversation) in &self.conversations {
            all += conversation.packets;
            let mut apart = false;
            for ([low, high], pair) in &conversation.across {
                let Some(first) = pair.first() else { continue };
                apart = true;
                let ends = if first == 0 { *ends } else { ends.reversed() };
                let [near, far] = [ends.source.ip(), ends.destination.ip()];
                for (interface, address, way) in
                    [(low, near, 0), (low, far, 1), (high, near, 1), (high, far, 0)]
                {
                    votes.entry((*interface, address)).or_default()[way] += pair.copies;
                }
            }
            let across: u64 = conversation.across.values().map(|pair| pair.copies).sum();
            let several = conversation.across.len() > 1;
            let mode = match conversation.is_doubled() {
                true if conversation.is_from_two_ends() && across == 0 => Some(Mode::Split),
                true => Some(Mode::Once),
                false => (across >= LEAST && (!apart || several)).then_some(Mode::Once),
            };
            if let Some(mode) = mode {
                doubled += conversation.packets;
                found.doubled.insert(*ends, mode);
            }
        }
        // Most of what there is says how to take what was too short to be judged.
        if doubled * 2 > all {
            let split = found.doubled.values().all(|mode| *mode == Mode::Split);
            found.otherwise = Some(if split { Mode::Split } else { Mode::Once });
        }
        let ways = votes.into_iter().filter_map(|(place, [out, into])| {
            // An interface between the ends has votes for both.
            (out > 8 * into).then_some((place, Way::Out)).or((into > 8 * out).then_some((place, Way::In)))
        });
        found.ways = ways.collect();
        found.window = self.longest.saturating_add(self.longest / 4);
        (!found.ways.is_empty() || !found.doubled.is_empty()).then_some(found)
    }
}

/// How to take two copies on one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// As one packet.
    Once,
    /// The first as that of the sender, the second as that of the receiver.
    Split,
}

/// Tells copies of a file while it is read, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Direction of packets by interface and the address that sends.
    ways: BTreeMap<(u32, IpAddr), Way>,
    doubled: BTreeMap<Ends, Mode>,
    /// For conversations that are not among these.
    otherwise: Option<Mode>,
    /// A copy comes within this time.
    window: u64,
    recent: BTreeMap<u64, u64>,
    queue: VecDeque<(u64, u64)>,
    /// Packets that were copies of others.
    left_out: u64,
    /// Packets that had a copy of their receiver.
    split: u64,
}

impl Copies {
    /// The direction of a packet, as far as it is known. `None`: it is a copy, and left out.
    pub(crate) fn way(&mut self, record: &Record<'_>) -> Option<Option<Way>> {
        let Some((ends, bytes)) = undirected(record) else { return Some(record.way) };
        let way = self.ways.get(&(record.interface, ends.source.ip())).copied();
        let mode = self.doubled.get(&conversation(ends).0).copied().or(self.otherwise);
        let Some(mode) = mode else { return Some(way) };
        let Some(print) = Fingerprint::of(bytes) else {
            return Some(way.or((mode == Mode::Split).then_some(Way::Out)));
        };
        self.forget(record.at);
        let seen = self.recent.contains_key(&print.hash);
        if !seen {
            self.recent.insert(print.hash, record.at);
            self.queue.push_back((record.at, print.hash));
        }
        match mode {
            _ if way.is_some() => Some(way),
            Mode::Once if seen => {
                self.left_out += 1;
                None
            }
            Mode::Once => Some(None),
            Mode::Split if seen => {
                // A third one that looks the same has been sent again.
                self.recent.remove(&print.hash);
                self.split += 1;
                Some(Some(Way::In))
            }
            Mode::Split => Some(Some(Way::Out)),
        }
    }

    fn forget(&mut self, now: u64) {
        while let Some((at, hash)) = self.queue.front().copied()
            && (at.saturating_add(self.window) < now || self.queue.len() > RECENT)
        {
            self.queue.pop_front();
            if self.recent.get(&hash) == Some(&at) {
                self.recent.remove(&hash);
            }
        }
    }

    /// Sentences on what was assumed.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut said = Vec::new();
        if !self.ways.is_empty() {
            said.push("it has packets of both ends without their direction, which is taken from the interface that has each packet first".into());
        }
        if self.split > 0 {
            said.push(format!(
                "{} packets are there twice on one interface, as if captures of both ends were merged: the first of two is taken for that of the sender, the second for that of the receiver (a file or an interface for each end is safer)",
                self.split
            ));
        }
        if self.left_out > 0 {
            said.push(format!(
                "{} packets are copies of others (from a mirror port, or from captures that were merged): each is counted once, at its first time",
                self.left_out
            ));
        }
        said
    }
}
