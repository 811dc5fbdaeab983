//! DATA chunks that have a TSN and are not cumulatively acknowledged: the scoreboard of an association.
//!
//! May: say what is planned, in flight, missing or has arrived. May not: decide what that means for a path, or send.

use std::collections::VecDeque;

use units::{Bytes, SimTime};

use crate::packet::PathId;
use crate::sctp::chunk::{DataChunk, MAX_ADDRESSES};
use crate::sctp::plan::Plan;
use crate::sctp::tsn::Tsn;
use crate::seq::StreamOffset;
use crate::tcp::ranges::Range;

/// State of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has a TSN and a path, and was not sent yet.
    Planned,
    /// In the network, as far as the sender knows.
    InFlight,
    /// Taken for lost; it waits to be sent again.
    Missing,
    /// A gap block has acknowledged it.
    Arrived,
}

/// Unusual events in the life of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// None.
    Nothing,
    /// It was sent on another path before it was taken for lost, and will not be again.
    Moved,
    /// A gap block has acknowledged it, and a SACK that came later did not; it is in flight.
    Revoked,
}

/// A chunk that was sent, or is planned.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The chunk.
    pub chunk: DataChunk,
    /// Where it begins in the concatenation of all messages.
    pub offset: StreamOffset,
    /// The path of its last transmission, or that for which it is planned.
    pub path: PathId,
    /// When that was.
    pub at: SimTime,
    /// Its state.
    pub fate: Fate,
    /// How often it was sent.
    pub transmissions: u16,
    /// Missing reports.
    pub missing: u8,
    /// It was reported missing.
    pub fast: bool,
    /// No report of it counts any more: only its timer sends it again.
    pub barred: bool,
    /// It waits because it was reported missing, and not because a timer has expired.
    pub reported: bool,
    /// The first TSN that was not sent when it was reported missing.
    pub fast_until: Tsn,
    /// The path for its retransmission, if that was chosen when it was taken for lost.
    pub again_on: Option<PathId>,
    /// An unusual event of its life.
    pub special: Special,
    /// Its last transmission counts as lost: it may arrive and be revoked after that.
    pub counted: bool,
    /// Paths that have carried it, a bit for each.
    pub carriers: u8,
}

impl Sent {
    /// Only one path has carried it.
    pub fn has_one_carrier(&self) -> bool {
        self.carriers.is_power_of_two()
    }

    /// It was acknowledged and no longer is.
    pub fn is_revoked(&self) -> bool {
        self.special == Special::Revoked
    }

    /// It is acknowledged again, or taken for lost.
    pub fn restore(&mut self) {
        if self.is_revoked() {
            self.special = Special::Nothing;
        }
    }

    /// The path that it belongs to: that of its next transmission if that is chosen already.
    pub fn path_now(&self) -> PathId {
        self.again_on.unwrap_or(self.path)
    }
}

/// The bit of a path in `Sent::carriers`.
fn bit(path: PathId) -> u8 {
    const { assert!(MAX_ADDRESSES <= 8) };
    1 << path.index()
}

/// Chunks in the order of their TSNs.
#[derive(Clone, Debug, Default)]
pub struct Outqueue {
    /// TSN of the first chunk.
    first: Tsn,
    chunks: VecDeque<Sent>,
    /// User data of the chunks, and the part of it in flight.
    bytes: Bytes,
    in_flight: Bytes,
    /// Chunks in flight.
    flying: u64,
    /// Chunks that wait to be sent again.
    missing: usize,
    /// No chunk before this one is missing.
    search: Tsn,
    /// User data of the chunks by path, and the part of it that gap blocks have acknowledged.
    queued: [Bytes; MAX_ADDRESSES],
    arrived: [Bytes; MAX_ADDRESSES],
    /// Chunks that were not sent yet.
    plan: Plan,
}

impl Outqueue {
    /// TSN of the first chunk that is not cumulatively acknowledged.
    pub fn first(&self) -> Tsn {
        self.first
    }

    /// The next TSN to be given to a chunk.
    pub fn next(&self) -> Tsn {
        Tsn(self.first.0 + self.chunks.len() as u64)
    }

    /// The first TSN that was not sent: the peer cannot acknowledge it.
    pub fn unsent(&self) -> Tsn {
        self.plan.first().unwrap_or(self.next())
    }

    /// The first TSN that was not sent and may come on this path.
    pub fn unsent_on(&self, path: PathId) -> Tsn {
        self.plan.first_on(path).unwrap_or(self.next())
    }

    /// Chunks that are planned for paths.
    pub fn planned(&self) -> &Plan {
        &self.plan
    }

    /// All chunks are cumulatively acknowledged.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// User data of the chunks.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// The part of it in flight.
    pub fn in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// Chunks in flight.
    pub fn chunks_in_flight(&self) -> u64 {
        self.flying
    }

    /// User data that has arrived out of order.
    pub fn arrived(&self) -> Bytes {
        self.arrived.iter().copied().sum()
    }

    /// User data of the chunks that were last sent on this path, or are planned for it.
    pub fn queued_on(&self, path: PathId) -> Bytes {
        self.queued[path.index()]
    }

    /// The part of it that has arrived out of order.
    pub fn arrived_on(&self, path: PathId) -> Bytes {
        self.arrived[path.index()]
    }

    /// Chunks that wait to be sent again.
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// A chunk; `None` if it is acknowledged or has no TSN.
    pub fn get(&self, tsn: Tsn) -> Option<&Sent> {
        self.chunks.get(self.index(tsn)?)
    }

    fn index(&self, tsn: Tsn) -> Option<usize> {
        usize::try_from(tsn.0.checked_sub(self.first.0)?).ok()
    }

    /// A chunk is sent for the first time. Returns its TSN.
    pub fn push(&mut self, now: SimTime, path: PathId, chunk: DataChunk, offset: StreamOffset) -> Tsn {
        let tsn = self.append(path, chunk, offset);
        self.launch(now, tsn);
        tsn
    }

    /// A chunk gets a TSN, and waits for its turn on a path.
    pub fn plan(&mut self, path: PathId, chunk: DataChunk, offset: StreamOffset) {
        let tsn = self.append(path, chunk, offset);
        self.plan.push(path, tsn, chunk.user_data());
        self.check();
    }

    /// The next chunk that is planned for a path is sent.
    ///
    /// # Panics
    /// In debug builds, if none is.
    pub fn send_planned(&mut self, now: SimTime, path: PathId) -> Option<(Tsn, Sent)> {
        let tsn = self.plan.first_on(path)?;
        self.launch(now, tsn);
        let sent = *self.get(tsn)?;
        debug_assert_eq!(sent.path, path, "{tsn} is planned for another path");
        self.plan.pop(path, sent.chunk.user_data());
        self.check();
        Some((tsn, sent))
    }

    /// Takes all chunks that are planned off their paths; `plan_on` gives each of these TSNs another, or the same.
    pub fn take_plan(&mut self) -> Vec<Tsn> {
        let planned = self.plan.take();
        for tsn in &planned {
            if let Some(sent) = self.get(*tsn).copied() {
                self.queued[sent.path.index()] -= sent.chunk.user_data();
            }
        }
        planned
    }

    /// A chunk that was taken off its path gets this one.
    pub fn plan_on(&mut self, tsn: Tsn, path: PathId) {
        let Some(index) = self.index(tsn) else { return };
        let len = self.chunks[index].chunk.user_data();
        self.chunks[index].path = path;
        self.queued[path.index()] += len;
        self.plan.push(path, tsn, len);
    }

    fn append(&mut self, path: PathId, chunk: DataChunk, offset: StreamOffset) -> Tsn {
        let tsn = self.next();
        self.bytes += chunk.user_data();
        self.queued[path.index()] += chunk.user_data();
        self.chunks.push_back(Sent {
            chunk,
            offset,
            path,
            at: SimTime::ZERO,
            fate: Fate::Planned,
            transmissions: 0,
            missing: 0,
            fast: false,
            barred: false,
            reported: false,
            fast_until: Tsn::default(),
            again_on: None,
            special: Special::Nothing,
            counted: false,
            carriers: 0,
        });
        tsn
    }

    fn launch(&mut self, now: SimTime, tsn: Tsn) {
        let index = self.index(tsn).expect("a chunk that is not acknowledged");
        let sent = &mut self.chunks[index];
        (sent.at, sent.fate, sent.transmissions) = (now, Fate::InFlight, 1);
        sent.carriers = bit(sent.path);
        self.in_flight += sent.chunk.user_data();
        self.flying += 1;
        self.check();
    }

    /// The first chunk at or after `from` that waits to be sent again.
    pub fn first_missing(&mut self, from: Tsn) -> Option<Tsn> {
        if self.missing == 0 {
            return None;
        }
        let start = self.index(from.max(self.search)).unwrap_or(0);
        let found =
            self.chunks.range(start.min(self.chunks.len())..).position(|sent| sent.fate == Fate::Missing)?;
        let tsn = Tsn(self.first.0 + (start + found) as u64);
        if from <= self.search {
            self.search = tsn;
        }
        Some(tsn)
    }

    /// A missing chunk is sent again.
    ///
    /// # Panics
    /// In debug builds, if it is not missing.
    pub fn resend(&mut self, now: SimTime, tsn: Tsn, path: PathId) -> Sent {
        let index = self.index(tsn).expect("a chunk that is not acknowledged");
        let sent = &mut self.chunks[index];
        debug_assert_eq!(sent.fate, Fate::Missing, "{tsn} does not wait");
        sent.fate = Fate::InFlight;
        self.queued[sent.path.index()] -= sent.chunk.user_data();
        self.queued[path.index()] += sent.chunk.user_data();
        (sent.path, sent.at, sent.missing, sent.again_on) = (path, now, 0, None);
        sent.counted = false;
        sent.restore();
        sent.carriers |= bit(path);
        sent.transmissions = sent.transmissions.saturating_add(1);
        let sent = *sent;
        self.missing -= 1;
        self.in_flight += sent.chunk.user_data();
        self.flying += 1;
        self.check();
        sent
    }

    /// All chunks before `next` have arrived. `f` is told of each that was not known to have.
    pub fn acknowledge(&mut self, next: Tsn, mut f: impl FnMut(Tsn, &Sent)) {
        while self.first < next
            && let Some(sent) = self.chunks.pop_front()
        {
            self.bytes -= sent.chunk.user_data();
            self.queued[sent.path.index()] -= sent.chunk.user_data();
            self.note_arrival(&sent);
            if sent.fate != Fate::Arrived {
                f(self.first, &sent);
            }
            self.first = self.first.next();
        }
        self.search = self.search.max(self.first);
        self.check();
    }

    fn note_arrival(&mut self, sent: &Sent) {
        match sent.fate {
            Fate::InFlight => {
                self.in_flight -= sent.chunk.user_data();
                self.flying -= 1;
            }
            Fate::Missing => self.missing -= 1,
            Fate::Planned => debug_assert!(false, "a chunk was acknowledged and never sent"),
            Fate::Arrived => self.arrived[sent.path.index()] -= sent.chunk.user_data(),
        }
    }

    /// The chunks of a gap block have arrived. `f` is told of each that was not known to have.
    pub fn gap_acknowledge(&mut self, block: Range<Tsn>, mut f: impl FnMut(Tsn, &Sent)) {
        let (start, end) = (block.start.max(self.first), block.end.min(self.next()));
        for tsn in (start.0..end.0).map(Tsn) {
            let index = self.index(tsn).expect("not before the first");
            let sent = self.chunks[index];
            // A peer that acknowledges what was not sent is not believed.
            if !matches!(sent.fate, Fate::Arrived | Fate::Planned) {
                self.note_arrival(&sent);
                self.chunks[index].fate = Fate::Arrived;
                self.chunks[index].restore();
                self.arrived[sent.path.index()] += sent.chunk.user_data();
                f(tsn, &sent);
            }
        }
        self.check();
    }

    /// Chunks of the range that gap blocks have acknowledged are in flight again. `f` is told of each.
    pub fn revoke(&mut self, range: Range<Tsn>, mut f: impl FnMut(&Sent)) {
        let index = |tsn: Tsn| self.index(tsn).unwrap_or(0).min(self.chunks.len());
        let (start, end) = (index(range.start), index(range.end));
        for sent in self.chunks.range_mut(start..end).filter(|sent| sent.fate == Fate::Arrived) {
            (sent.fate, sent.missing, sent.special) = (Fate::InFlight, 0, Special::Revoked);
            self.arrived[sent.path.index()] -= sent.chunk.user_data();
            self.in_flight += sent.chunk.user_data();
            self.flying += 1;
            // One that waited to be sent again when it arrived is in flight where it was. Deviation: the library counts it on the path
            // that was chosen for it, which has not carried it.
            sent.again_on = None;
            f(sent);
        }
        self.check();
    }

    /// Adds missing reports to chunks in flight before `end`: `reports` says how many for each. Those that reach
    /// `threshold` wait to be sent again, and `lost` is told of them.
    pub fn strike(
        &mut self,
        end: Tsn,
        threshold: u32,
        mut reports: impl FnMut(Tsn, &Sent) -> u8,
        mut lost: impl FnMut(Tsn, &mut Sent),
    ) {
        let unsent = self.unsent();
        let count = self.index(end).unwrap_or(0).min(self.chunks.len());
        for (index, sent) in self.chunks.range_mut(..count).enumerate() {
            if sent.fate != Fate::InFlight {
                continue;
            }
            let tsn = Tsn(self.first.0 + index as u64);
            sent.missing = sent.missing.saturating_add(reports(tsn, sent));
            if u32::from(sent.missing) < threshold {
                continue;
            }
            (sent.fate, sent.fast, sent.reported) = (Fate::Missing, true, true);
            sent.fast_until = unsent;
            self.in_flight -= sent.chunk.user_data();
            self.flying -= 1;
            self.missing += 1;
            self.search = self.search.min(tsn);
            lost(tsn, sent);
        }
        self.check();
    }

    /// Chunks that wait to be sent again on `path`, and were sent at `latest` or before, have timed out as well: `late` is told of
    /// them.
    pub fn give_up_missing(&mut self, path: PathId, latest: SimTime, mut late: impl FnMut(&mut Sent)) {
        let waits =
            |sent: &&mut Sent| sent.fate == Fate::Missing && sent.path_now() == path && sent.at <= latest;
        for sent in self.chunks.iter_mut().filter(waits) {
            sent.reported = false;
            late(sent);
        }
    }

    /// All chunks in flight on `path` that were sent at `latest` or before wait to be sent again. `lost` is told of them.
    pub fn give_up_path(&mut self, path: PathId, latest: SimTime, mut lost: impl FnMut(Tsn, &mut Sent)) {
        for (index, sent) in self.chunks.iter_mut().enumerate() {
            if sent.fate == Fate::InFlight && sent.path == path && sent.at <= latest {
                let tsn = Tsn(self.first.0 + index as u64);
                (sent.fate, sent.missing, sent.reported) = (Fate::Missing, 0, false);
                self.in_flight -= sent.chunk.user_data();
                self.flying -= 1;
                self.missing += 1;
                self.search = self.search.min(tsn);
                lost(tsn, sent);
            }
        }
        self.check();
    }

    /// A chunk in flight waits to be sent on another path as well. Returns it as it was.
    ///
    /// # Panics
    /// In debug builds, if it is not in flight.
    pub fn recall(&mut self, tsn: Tsn) -> Sent {
        let index = self.index(tsn).expect("a chunk that is not acknowledged");
        let sent = &mut self.chunks[index];
        debug_assert_eq!(sent.fate, Fate::InFlight, "{tsn} is not in flight");
        let before = *sent;
        (sent.fate, sent.special) = (Fate::Missing, Special::Moved);
        self.in_flight -= before.chunk.user_data();
        self.flying -= 1;
        self.missing += 1;
        self.search = self.search.min(tsn);
        self.check();
        before
    }

    /// The first chunk in flight.
    pub fn oldest(&self) -> Option<Tsn> {
        self.find(self.first, |sent| sent.fate == Fate::InFlight)
    }

    /// The first chunk at or after `from` for which `wanted` holds.
    pub fn find(&self, from: Tsn, wanted: impl Fn(&Sent) -> bool) -> Option<Tsn> {
        let start = self.index(from).unwrap_or(0).min(self.chunks.len());
        let found = self.chunks.range(start..).position(wanted)?;
        Some(Tsn(self.first.0 + (start + found) as u64))
    }

    /// The first chunk in flight on `path`.
    pub fn oldest_on(&self, path: PathId) -> Option<Tsn> {
        self.find(self.first, |sent| sent.fate == Fate::InFlight && sent.path == path)
    }

    fn check(&self) {
        debug_assert_eq!(self.queued.iter().copied().sum::<Bytes>(), self.bytes, "each chunk has a path");
        debug_assert!(self.in_flight <= self.bytes, "more in flight than was sent");
        debug_assert!(
            self.arrived.iter().zip(&self.queued).all(|(arrived, queued)| arrived <= queued),
            "more has arrived than was sent"
        );
        debug_assert!(self.missing <= self.chunks.len(), "more chunks missing than there are");
        // All are looked at whenever their number is a power of two.
        if cfg!(debug_assertions) && self.chunks.len().is_power_of_two() {
            let user_data = |fate: Option<Fate>| -> Bytes {
                let of = self.chunks.iter().filter(|sent| fate.is_none_or(|fate| sent.fate == fate));
                of.map(|sent| sent.chunk.user_data()).sum()
            };
            debug_assert_eq!(self.bytes, user_data(None), "bytes counted by hand");
            debug_assert_eq!(self.in_flight, user_data(Some(Fate::InFlight)), "flight counted by hand");
            let flying = self.chunks.iter().filter(|sent| sent.fate == Fate::InFlight).count() as u64;
            debug_assert_eq!(self.flying, flying, "chunks in flight counted by hand");
            debug_assert_eq!(self.arrived(), user_data(Some(Fate::Arrived)), "arrivals counted by hand");
            let missing = self.chunks.iter().filter(|sent| sent.fate == Fate::Missing).count();
            debug_assert_eq!(self.missing, missing, "missing chunks counted by hand");
            debug_assert!(
                self.chunks
                    .iter()
                    .zip(self.chunks.iter().skip(1))
                    .all(|(one, next)| { one.offset + one.chunk.user_data() == next.offset }),
                "TSNs follow the order of writing"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(count: u64) -> Outqueue {
        let mut queue = Outqueue::default();
        for i in 0..count {
            let chunk = DataChunk { len: 100, ..DataChunk::default() };
            queue.push(SimTime::ZERO, PathId((i % 2) as u8), chunk, StreamOffset(100 * i));
        }
        queue
    }

    #[test]
    fn what_arrives_leaves_the_flight_once() {
        let mut queue = queue(6);
        let mut news = Vec::new();
        queue.gap_acknowledge(Range::new(Tsn(2), Tsn(4)), |tsn, _| news.push(tsn.0));
        queue.gap_acknowledge(Range::new(Tsn(1), Tsn(4)), |tsn, _| news.push(tsn.0));
        queue.acknowledge(Tsn(3), |tsn, _| news.push(tsn.0));
        assert_eq!(news, [2, 3, 1, 0]);
        assert_eq!((queue.first(), queue.bytes(), queue.in_flight()), (Tsn(3), Bytes(300), Bytes(200)));
    }

    #[test]
    fn missing_chunks_are_sent_again_in_order() {
        let mut queue = queue(6);
        let mut lost = Vec::new();
        queue.strike(Tsn(3), 1, |tsn, _| u8::from(tsn != Tsn(0)), |tsn, _| lost.push(tsn.0));
        queue.give_up_path(PathId(0), SimTime::ZERO, |tsn, _| lost.push(tsn.0));
        assert_eq!((lost, queue.missing(), queue.in_flight()), (vec![1, 2, 0, 4], 4, Bytes(200)));
        assert_eq!(queue.first_missing(Tsn(2)), Some(Tsn(2)));
        assert_eq!(queue.first_missing(Tsn(0)), Some(Tsn(0)));
        let again = queue.resend(SimTime(5), Tsn(0), PathId(1));
        assert_eq!((again.transmissions, again.path, again.at), (2, PathId(1), SimTime(5)));
        assert_eq!(queue.first_missing(Tsn(0)), Some(Tsn(1)));
        assert_eq!(queue.oldest_on(PathId(1)), Some(Tsn(0)));
        queue.gap_acknowledge(Range::new(Tsn(3), Tsn(6)), |_, _| ());
        assert_eq!([0, 1].map(|path| queue.arrived_on(PathId(path))), [Bytes(100), Bytes(200)]);
        queue.resend(SimTime(6), Tsn(1), PathId(1));
        queue.strike(Tsn(6), 1, |_, sent| u8::from(!sent.fast), |tsn, _| assert_ne!(tsn, Tsn(1)));
        queue.acknowledge(Tsn(6), |_, _| ());
        assert_eq!([0, 1].map(|path| queue.arrived_on(PathId(path))), [Bytes::ZERO; 2]);
    }

    #[test]
    fn chunks_that_wait_for_their_path_time_out_with_it() {
        let mut queue = queue(4);
        let [a, b] = [PathId(0), PathId(1)];
        queue.strike(Tsn(2), 1, |_, _| 1, |_, sent| sent.again_on = Some(b));
        let mut late = 0;
        queue.give_up_missing(a, SimTime::ZERO, |_| late += 1);
        assert_eq!(
            (late, queue.get(Tsn(0)).map(|sent| sent.reported)),
            (0, Some(true)),
            "it waits for the other"
        );
        queue.give_up_missing(b, SimTime::ZERO, |sent| {
            late += 1;
            sent.again_on = Some(a);
        });
        assert_eq!((late, queue.get(Tsn(0)).map(|sent| sent.reported)), (2, Some(false)));
    }

    /// A chunk that waits for another path arrives by the first one, and is revoked: it is in flight on the first.
    #[test]
    fn a_revoked_chunk_does_not_wait_for_another_path() {
        let mut queue = queue(4);
        queue.strike(Tsn(2), 1, |_, _| 1, |_, sent| sent.again_on = Some(PathId(1)));
        let block = Range::new(Tsn(0), Tsn(1));
        queue.gap_acknowledge(block, |_, _| ());
        queue.revoke(block, |sent| assert_eq!(sent.path_now(), PathId(0)));
        assert_eq!(queue.get(Tsn(0)).map(Sent::path_now), Some(PathId(0)));
    }

    #[test]
    fn a_chunk_that_is_recalled_is_sent_by_two_paths() {
        let mut queue = queue(4);
        assert_eq!(queue.oldest(), Some(Tsn(0)));
        assert!(queue.recall(Tsn(0)).has_one_carrier());
        assert_eq!((queue.oldest(), queue.first_missing(Tsn(0))), (Some(Tsn(1)), Some(Tsn(0))));
        let again = queue.resend(SimTime(5), Tsn(0), PathId(1));
        assert!(again.special == Special::Moved && !again.has_one_carrier());
        assert_eq!([0, 1].map(|path| queue.queued_on(PathId(path))), [Bytes(100), Bytes(300)]);
    }
}
