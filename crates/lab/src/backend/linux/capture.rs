//! Captures of runs on the kernel: its own packets, in the same files as those of the simulator.
//!
//! May: write what crosses the interfaces of hosts. May not: keep the links waiting; a thread of its own writes.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use emulate::Tap;
use network::Interface;
use scenario::model::Scenario;
use units::SimTime;
use wire::pcapng::{Direction, Writer};

use super::translate::link_of;
use crate::capture::{CaptureOrder, Partial, interface};

/// A packet on its way to the file: the beginning of its bytes, and their number.
struct Captured {
    at: SimTime,
    interface: u32,
    way: Direction,
    bytes: Vec<u8>,
    length: usize,
}

/// The file of a run while it goes on.
pub(super) struct CaptureFile {
    written: JoinHandle<io::Result<Writer<BufWriter<File>>>>,
    place: Partial,
}

/// Sends packets to the thread that writes.
struct FileTap {
    to: mpsc::Sender<Captured>,
    /// Number in the file by interface, if it is captured.
    interfaces: Vec<(Interface, u32)>,
    /// Bytes that are kept of a packet.
    snap: usize,
}

impl CaptureFile {
    /// Begins the file of this run.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn create(
        order: &CaptureOrder,
        scenario: &Scenario,
        seed: u64,
        hosts: &[Interface],
    ) -> io::Result<(Self, Box<dyn Tap>)> {
        let mut blocks = Vec::new();
        let mut interfaces = Vec::new();
        for at in hosts {
            let Some(duplex) = link_of(scenario, *at) else { continue };
            let leaves = usize::from(scenario.duplex_links[duplex].ends[0] != at.node);
            let link = 2 * duplex + leaves;
            if order.interfaces()[link] {
                interfaces.push((*at, blocks.len() as u32));
                blocks.push(interface(scenario, link));
            }
        }
        let comment = format!("{}, seed {seed}, on the Linux kernel", scenario.name);
        let (place, file) = Partial::create(order.file(seed))?;
        let mut writer = Writer::new(BufWriter::new(file), &comment, &blocks, order.snap())?;
        let (to, packets) = mpsc::channel::<Captured>();
        let written = thread::spawn(move || {
            for Captured { at, interface, way, bytes, length } in packets {
                writer.cut_packet(interface, at, Some(way), (&bytes, length))?;
            }
            Ok(writer)
        });
        let snap = if order.snap() == 0 { usize::MAX } else { order.snap() as usize };
        Ok((Self { written, place }, Box::new(FileTap { to, interfaces, snap })))
    }

    /// Ends the file: the run, whose tap is gone, has ended at `end`.
    ///
    /// # Errors
    /// It was not written.
    pub(super) fn finish(self, end: SimTime) -> io::Result<()> {
        let joined = self.written.join().map_err(|_| io::Error::other("the thread that writes panicked"))?;
        joined.and_then(|writer| writer.finish(end)).map(drop)?;
        self.place.keep()
    }
}

impl Tap for FileTap {
    fn packet(&mut self, at: SimTime, interface: Interface, leaves: bool, packet: &[u8]) {
        let Some(&(_, number)) = self.interfaces.iter().find(|(known, _)| *known == interface) else {
            return;
        };
        let way = if leaves { Direction::Outbound } else { Direction::Inbound };
        let bytes = packet[..packet.len().min(self.snap)].to_vec();
        // A file that cannot be written has ended its thread, which is told at the end of the run.
        let _ = self.to.send(Captured { at, interface: number, way, bytes, length: packet.len() });
    }
}
