//! Packets of several interfaces and files in the order of time.
//!
//! Most tools write the packets of each interface in order, but not those of different ones. So each interface is read by itself and
//! the earliest packet is taken: memory does not grow with the length of a file. Where times go back within an interface, as many
//! packets are held as lie within the longest step back.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::PathBuf;

use crate::copies::Copies;
use crate::file::{Input, Packets, Record, Unreadable};
use crate::link::Way;
use crate::survey::{Survey, survey};

/// Readers of one file at once: a file with more interfaces has one for all of them.
const MOST: usize = 64;
/// Bytes of packets that are held at most to put them in order.
const HELD: usize = 1 << 29;

/// The next packet of one interface. They are compared by time, then by their order in the file.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    at: u64,
    number: u64,
    interface: u32,
    link: i32,
    way: Option<Way>,
    len: u32,
    bytes: Vec<u8>,
}

impl Head {
    fn set(&mut self, at: u64, number: u64, record: &Record<'_>) {
        (self.at, self.number) = (at, number);
        (self.interface, self.link) = (record.interface, record.link);
        (self.way, self.len) = (record.way, record.len);
        self.bytes.clear();
        self.bytes.extend_from_slice(record.bytes);
    }

    /// Memory that it takes.
    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity()
    }
}

/// Packets of a source whose times go back.
#[derive(Debug)]
struct Sorter {
    /// The longest step back.
    back: u64,
    /// Packets that came before an earlier one may come.
    held: BinaryHeap<Reverse<Head>>,
    bytes: usize,
    /// The latest time.
    newest: u64,
    ended: bool,
    /// Packets that went on before an earlier one, as too much was held.
    early: bool,
    /// A head that is no longer used, with its memory.
    spare: Head,
    /// Why nothing more is read, until what is held has been taken.
    problem: Option<Unreadable>,
}

/// One interface of one file.
#[derive(Debug)]
struct Source {
    packets: Packets,
    /// `None`: all.
    only: Option<u32>,
    file: u32,
    head: Head,
    /// `None`: its packets are in order.
    sorter: Option<Sorter>,
}

/// A packet with the number of its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ordered<'a> {
    pub(crate) file: u32,
    pub(crate) record: Record<'a>,
}

/// All files at once.
#[derive(Debug, Default)]
pub(crate) struct InOrder {
    /// With a packet each; those at their end are removed.
    sources: Vec<Source>,
    problems: Vec<Unreadable>,
    /// Sentences on files that are read whole.
    notes: Vec<Unreadable>,
    ended: Option<u64>,
    /// By file that has packets twice.
    copies: BTreeMap<u32, (PathBuf, Copies)>,
}

impl Sorter {
    fn new(back: u64) -> Self {
        let (held, spare) = (BinaryHeap::new(), Head::default());
        Self { back, held, bytes: 0, newest: 0, ended: false, early: false, spare, problem: None }
    }

    /// The first packet may still be overtaken by one that was not read.
    fn waits(&self) -> bool {
        let first = self.held.peek().map(|Reverse(first)| first.at);
        !self.ended && self.bytes < HELD && first.is_none_or(|at| self.newest.saturating_sub(at) < self.back)
    }

    fn hold(&mut self, number: u64, record: &Record<'_>) {
        let mut head = std::mem::take(&mut self.spare);
        // A packet without a time came behind the one before.
        let at = if record.at == 0 { self.newest } else { record.at };
        head.set(at, number, record);
        self.newest = self.newest.max(at);
        self.bytes += head.size();
        self.held.push(Reverse(head));
    }

    /// Exchanges the first packet for one that is no longer needed. False if there is none.
    fn take(&mut self, head: &mut Head) -> bool {
        let Some(Reverse(first)) = self.held.pop() else { return false };
        self.bytes -= first.size();
        self.early |= first.at < head.at;
        self.spare = std::mem::replace(head, first);
        true
    }
}

impl Source {
    /// Moves on to the next packet. False at the end.
    fn advance(&mut self) -> Result<bool, Unreadable> {
        let Self { packets, only, head, sorter, .. } = self;
        let Some(sorter) = sorter else {
            return next_of(packets, *only, |number, record| head.set(record.at, number, record));
        };
        while sorter.waits() {
            match next_of(packets, *only, |number, record| sorter.hold(number, record)) {
                Ok(more) => sorter.ended = !more,
                Err(problem) => (sorter.problem, sorter.ended) = (Some(problem), true),
            }
        }
        if sorter.take(head) {
            return Ok(true);
        }
        sorter.problem.take().map_or(Ok(false), Err)
    }
}

/// Shows the next packet of an interface, and its number in the file. False at the end.
fn next_of(
    packets: &mut Packets,
    only: Option<u32>,
    mut take: impl FnMut(u64, &Record<'_>),
) -> Result<bool, Unreadable> {
    loop {
        let (number, mut wanted) = (packets.number(), false);
        let more = packets.next(|record| {
            wanted = only.is_none_or(|only| only == record.interface);
            if wanted {
                take(number, &record);
            }
        })?;
        if !more || wanted {
            return Ok(more);
        }
    }
}

impl InOrder {
    /// The packets of these files; what cannot be read is a problem and does not stop the others.
    pub(crate) fn open(inputs: &[Input]) -> Self {
        let mut all = Self::default();
        for (number, input) in (0..).zip(inputs) {
            if let Err(problem) = all.add(number, input) {
                all.problems.push(problem);
            }
        }
        all
    }

    fn add(&mut self, file: u32, input: &Input) -> Result<(), Unreadable> {
        let found = survey(input)?;
        self.ended = self.ended.max(found.ended);
        if let Some(reason) = found.disorder() {
            self.notes.push(Unreadable { file: input.name(), reason });
        }
        let Survey { all, interfaces, sightings, .. } = found;
        if let Some(copies) = sightings.copies() {
            self.copies.insert(file, (input.name(), copies));
        }
        let each: Vec<(Option<u32>, u64)> = if all.back == 0 || interfaces.len() > MOST {
            vec![(None, all.back)]
        } else {
            (0..).zip(interfaces).map(|(interface, times)| (Some(interface), times.back)).collect()
        };
        for (only, back) in each {
            let packets = Packets::open(input)?;
            let sorter = (back > 0).then(|| Sorter::new(back));
            self.start(Source { packets, only, file, head: Head::default(), sorter });
        }
        Ok(())
    }

    fn start(&mut self, mut source: Source) {
        match source.advance() {
            Ok(true) => self.sources.push(source),
            Ok(false) => {}
            Err(problem) => self.note(problem),
        }
    }

    /// Each problem once: a file has several readers.
    fn note(&mut self, problem: Unreadable) {
        if !self.problems.iter().any(|known| known.file == problem.file) {
            self.problems.push(problem);
        }
    }

    /// Shows the earliest packet to `take`, if it is no copy. False when there is none.
    pub(crate) fn next(&mut self, take: impl FnOnce(Ordered<'_>)) -> bool {
        // Packets of one instant are taken in the order of files, and of each file.
        let key = |source: &Source| (source.head.at, source.file, source.head.number);
        let Some(first) = (0..self.sources.len()).min_by_key(|index| key(&self.sources[*index])) else {
            return false;
        };
        let source = &mut self.sources[first];
        let Head { at, interface, link, way, len, bytes, .. } = &source.head;
        let mut record = Record { at: *at, interface: *interface, link: *link, way: *way, len: *len, bytes };
        let copies = if self.copies.is_empty() { None } else { self.copies.get_mut(&source.file) };
        let way = copies.map_or(Some(record.way), |(_, copies)| copies.way(&record));
        if let Some(way) = way {
            record.way = way;
            take(Ordered { file: source.file, record });
        }
        match source.advance() {
            Ok(true) => {}
            Ok(false) => self.end(first),
            Err(problem) => {
                self.end(first);
                self.note(problem);
            }
        }
        true
    }

    /// A source has no more packets.
    fn end(&mut self, index: usize) {
        let source = self.sources.swap_remove(index);
        if let Some(true) = source.sorter.map(|sorter| sorter.early) {
            let reason = "packets are so far from the order of time that some are read behind later ones";
            let note = Unreadable { file: source.packets.file().into(), reason: reason.into() };
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// When the last capture ended, if a file has said so.
    pub(crate) fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// Files whose rest could not be read, and those that are out of order.
    pub(crate) fn into_problems(self) -> Vec<Unreadable> {
        let copies = self.copies.into_values().flat_map(|(file, copies)| {
            copies.notes().into_iter().map(move |reason| Unreadable { file: file.clone(), reason })
        });
        self.problems.into_iter().chain(self.notes).chain(copies).collect()
    }
}
