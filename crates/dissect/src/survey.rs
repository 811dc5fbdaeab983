//! A first look at a file: its interfaces, and how far their times go back.
//!
//! May: say how a file must be read. May not: hold its packets.

use crate::copies::Sightings;
use crate::file::{Input, Packets, Record, Unreadable};

/// Order of times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    newest: u64,
    /// The longest step back from the latest time, in nanoseconds.
    pub(crate) back: u64,
    /// Packets that come behind a later one.
    pub(crate) late: u64,
}

impl Times {
    fn note(&mut self, at: u64) {
        if at >= self.newest {
            self.newest = at;
        } else if at > 0 {
            // A packet without a time is not late.
            self.back = self.back.max(self.newest - at);
            self.late += 1;
        }
    }
}

/// Properties of a file.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Times by interface.
    pub(crate) interfaces: Vec<Times>,
    /// The times of the whole file.
    pub(crate) all: Times,
    /// Packets that are there more than once.
    pub(crate) sightings: Sightings,
    /// When the capture ended, if the file says it.
    pub(crate) ended: Option<u64>,
}

impl Survey {
    fn note(&mut self, record: &Record<'_>) {
        self.all.note(record.at);
        let interface = record.interface as usize;
        if interface >= self.interfaces.len() {
            self.interfaces.resize_with(interface + 1, Times::default);
        }
        self.interfaces[interface].note(record.at);
        self.sightings.note(record);
    }

    /// A sentence on packets that are not in the order of time within an interface.
    pub(crate) fn disorder(&self) -> Option<String> {
        let late: u64 = self.interfaces.iter().map(|times| times.late).sum();
        let back = self.interfaces.iter().map(|times| times.back).max().filter(|back| *back > 0)?;
        let (packets, come) = if late == 1 { ("packet", "comes") } else { ("packets", "come") };
        // Microseconds are the finest that most files have.
        let seconds = back.div_ceil(1_000) as f64 / 1e6;
        Some(format!(
            "{late} {packets} {come} behind later ones in the file, by up to {seconds} s: packets are read in the order of time"
        ))
    }
}

/// Passes over a file.
pub(crate) fn survey(input: &Input) -> Result<Survey, Unreadable> {
    let mut packets = Packets::open(input)?;
    let mut found = Survey::default();
    // A problem is told when the packets are read.
    while let Ok(true) = packets.next(|record| found.note(&record)) {}
    found.ended = packets.ended();
    Ok(found)
}
