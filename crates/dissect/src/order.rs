//! Packets of several interfaces and files in the order of time.
//!
//! Tools write the packets of each interface in order, but not those of different ones. So each interface is read by itself and
//! the earliest packet is taken: memory does not grow with the length of a file.

use crate::file::{Input, Packets, Record, Unreadable};
use crate::link::Way;

/// Readers of one file at once: those of interfaces beyond it are read in the order of the file.
const MOST: u32 = 64;

/// The next packet of one interface.
#[derive(Debug, Default)]
struct Head {
    at: u64,
    interface: u32,
    link: i32,
    way: Option<Way>,
    len: u32,
    bytes: Vec<u8>,
}

/// One interface of one file.
#[derive(Debug)]
struct Source {
    packets: Packets,
    /// `None`: all.
    only: Option<u32>,
    file: u32,
    head: Head,
}

/// A packet with the number of its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ordered<'a> {
    pub(crate) file: u32,
    pub(crate) record: Record<'a>,
}

/// All files at once.
#[derive(Debug)]
pub(crate) struct InOrder {
    /// With a packet each; those at their end are removed.
    sources: Vec<Source>,
    problems: Vec<Unreadable>,
    ended: Option<u64>,
}

impl Source {
    /// Moves on to the next packet. False at the end.
    fn advance(&mut self) -> Result<bool, Unreadable> {
        loop {
            let (only, head, mut wanted) = (self.only, &mut self.head, false);
            let more = self.packets.next(|record| {
                wanted = only.is_none_or(|only| only == record.interface);
                if wanted {
                    (head.at, head.interface, head.link) = (record.at, record.interface, record.link);
                    (head.way, head.len) = (record.way, record.len);
                    head.bytes.clear();
                    head.bytes.extend_from_slice(record.bytes);
                }
            })?;
            if !more || wanted {
                return Ok(more);
            }
        }
    }
}

/// How many interfaces a file has, whether its packets are in order, and when the capture ended.
fn survey(input: &Input) -> Result<(u32, bool, Option<u64>), Unreadable> {
    let mut packets = Packets::open(input)?;
    let (mut last, mut ordered) = (0, true);
    // A problem is told when the packets are read.
    while let Ok(true) = packets.next(|record| {
        ordered &= record.at >= last;
        last = record.at;
    }) {}
    Ok((packets.interfaces(), ordered, packets.ended()))
}

impl InOrder {
    /// The packets of these files; what cannot be read is a problem and does not stop the others.
    pub(crate) fn open(inputs: &[Input]) -> Self {
        let mut all = Self { sources: Vec::new(), problems: Vec::new(), ended: None };
        for (number, input) in (0..).zip(inputs) {
            if let Err(problem) = all.add(number, input) {
                all.problems.push(problem);
            }
        }
        all
    }

    fn add(&mut self, file: u32, input: &Input) -> Result<(), Unreadable> {
        let (interfaces, ordered, ended) = survey(input)?;
        self.ended = self.ended.max(ended);
        let each: Vec<Option<u32>> =
            if ordered || interfaces > MOST { vec![None] } else { (0..interfaces).map(Some).collect() };
        for only in each {
            let packets = Packets::open(input)?;
            self.start(Source { packets, only, file, head: Head::default() });
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

    /// Shows the earliest packet to `take`. False when there is none.
    pub(crate) fn next(&mut self, take: impl FnOnce(Ordered<'_>)) -> bool {
        let Some(first) = (0..self.sources.len()).min_by_key(|index| self.sources[*index].head.at) else {
            return false;
        };
        let source = &mut self.sources[first];
        let Head { at, interface, link, way, len, bytes } = &source.head;
        let record = Record { at: *at, interface: *interface, link: *link, way: *way, len: *len, bytes };
        take(Ordered { file: source.file, record });
        match source.advance() {
            Ok(true) => {}
            Ok(false) => drop(self.sources.swap_remove(first)),
            Err(problem) => {
                self.sources.swap_remove(first);
                self.note(problem);
            }
        }
        true
    }

    /// When the last capture ended, if a file has said so.
    pub(crate) fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// Files whose rest could not be read.
    pub(crate) fn into_problems(self) -> Vec<Unreadable> {
        self.problems
    }
}
