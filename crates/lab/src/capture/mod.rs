//! Captures of replications: the packets of a run as bytes, in a file of the format pcapng.
//!
//! May: give interfaces addresses, draw the numbers of headers from a stream of their own, write files. May not: change a run,
//! which is the same with and without a capture.

mod addresses;
mod growing;
mod kept;
mod order;
mod partial;
mod ways;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use engine::Stream;
use network::{Crossing, HostAddress, OpenedSubflow, PacketSink};
use scenario::model::Scenario;
use transport::AddressPair;
use units::SimTime;
use wire::codec::{CodecError, Opening, Way};
use wire::pcapng::{Direction, Interface, Room, Writer};
use wire::{Codec, EndSettings, Numbers};

use addresses::Addresses;
use growing::GrowingFile;
use kept::KeptBytes;
pub use order::CaptureOrder;
pub(crate) use partial::Partial;
use ways::Ways;

/// The capture of one replication while it goes on.
#[derive(Debug)]
struct Capture {
    codec: Codec,
    place: Partial,
    writer: Writer<GrowingFile>,
    addresses: Addresses,
    ways: Ways,
    /// By link direction: the interface where it leaves, if it is captured.
    interfaces: Vec<Option<u32>>,
    kept: KeptBytes,
    /// The packet that is written option by option.
    bytes: Vec<u8>,
    /// By flow: settings of client and server, and the source of their numbers.
    flows: Vec<([EndSettings; 2], Stream)>,
    /// The first packet without bytes, and the first error of the file.
    unwritable: Option<(SimTime, CodecError)>,
    error: Option<io::Error>,
}

/// A handle of the capture; the world has the other one.
#[derive(Clone, Debug)]
pub(crate) struct CaptureFile(Rc<RefCell<Capture>>);

/// Why there is no capture.
#[derive(Debug)]
pub(crate) enum CaptureError {
    /// The file cannot be written.
    File(io::Error),
    /// A packet has no bytes: a bug.
    Packet(SimTime, CodecError),
}

impl CaptureFile {
    /// Begins the file of this replication.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn create(order: &CaptureOrder, scenario: &Scenario, seed: u64) -> io::Result<Self> {
        let mut numbered = 0..;
        let interfaces: Vec<_> =
            order.interfaces().iter().map(|captured| captured.then(|| numbered.next()).flatten()).collect();
        let blocks: Vec<_> = (0..interfaces.len())
            .filter(|link| interfaces[*link].is_some())
            .map(|link| interface(scenario, link))
            .collect();
        let comment = format!("{}, seed {seed}", scenario.name);
        let (place, to) = Partial::create(order.file(seed))?;
        let writer = Writer::new(GrowingFile::new(to), &comment, &blocks, order.snap())?;
        let addresses = Addresses::new(scenario);
        let flows = scenario.flows.iter().map(|flow| {
            let settings = addresses.settings(flow);
            (settings, Stream::named(seed, &flow.name, "wire"))
        });
        let flows = flows.collect();
        Ok(Self(Rc::new(RefCell::new(Capture {
            codec: Codec::default(),
            place,
            writer,
            addresses,
            interfaces,
            ways: Ways::default(),
            kept: KeptBytes::default(),
            bytes: Vec::new(),
            flows,
            unwritable: None,
            error: None,
        }))))
    }

    /// Ends the file: the run has ended at `end`.
    ///
    /// # Errors
    /// It was not written, or a packet had no bytes.
    ///
    /// # Panics
    /// If the world still exists.
    pub(crate) fn finish(self, end: SimTime) -> Result<(), CaptureError> {
        let Capture { writer, place, unwritable, error, .. } =
            Rc::try_unwrap(self.0).expect("the world has ended").into_inner();
        if let Some((at, error)) = unwritable {
            return Err(CaptureError::Packet(at, error));
        }
        let written = error.map_or(Ok(()), Err).and_then(|()| writer.finish(end)?.finish());
        written.and_then(|()| place.keep()).map_err(CaptureError::File)
    }
}

/// The interface where a link direction leaves: `terminal on beam1`.
pub(crate) fn interface(scenario: &Scenario, link: usize) -> Interface {
    let duplex = &scenario.duplex_links[link / 2];
    let name = format!("{} on {}", scenario.nodes[duplex.ends[link % 2]].name, duplex.name);
    let description = format!("to {}", scenario.nodes[duplex.ends[1 - link % 2]].name);
    Interface { name, description }
}

impl PacketSink for CaptureFile {
    fn opened(&mut self, subflow: &OpenedSubflow) {
        let capture = &mut *self.0.borrow_mut();
        let (settings, stream) = &mut capture.flows[subflow.flow];
        let settings = capture.addresses.at_proxies(subflow, settings.clone());
        let ends = capture.addresses.ends(subflow.ends, capture.addresses.is_ipv6(subflow.flow));
        let [local, remote] = subflow.ends.map(HostAddress::interface);
        let connection = capture.addresses.connection(subflow);
        let interfaces = AddressPair { local, remote };
        let opening = Opening { connection, path: subflow.path, interfaces };
        capture.codec.open(ends, opening, settings, Numbers::draw(|| stream.bits()));
        capture.addresses.remember(subflow);
        capture.ways.forget(subflow.ends);
    }

    fn asks(&mut self, ends: [HostAddress; 2], server: HostAddress) {
        let capture = &mut *self.0.borrow_mut();
        let ends = capture.addresses.known_ends(ends);
        let server = capture.addresses.ends([server, server], ends.source.is_ipv6()).source;
        capture.codec.ask_for(ends, server);
    }

    fn packet(&mut self, crossing: &Crossing<'_>) {
        self.0.borrow_mut().packet(crossing);
    }
}

impl Capture {
    fn packet(&mut self, crossing: &Crossing<'_>) {
        let Some(interface) = self.interfaces[crossing.interface as usize] else {
            return self.elsewhere(crossing);
        };
        let most = self.writer.snap() as usize;
        // Writing such a packet a second time costs less than the memory of its bytes.
        let written = self.ways.get(&crossing.ends).and_then(|way| {
            let write = |room: &mut Room| {
                let length = self.codec.encode_again(way, crossing.packet, most, room)?;
                Some((length, length))
            };
            self.writer.written_packet(interface, crossing.at, Some(direction(crossing.leaves)), write)
        });
        match written {
            Some(Ok(())) => {}
            Some(Err(error)) => self.fail(error),
            None => self.unusual(crossing, Some(interface)),
        }
    }

    /// A packet that is not captured. The codec sees each one where it is sent: it learns from it.
    #[inline(never)]
    fn elsewhere(&mut self, crossing: &Crossing<'_>) {
        if !self.is_sent(crossing) {
            return;
        }
        let way = self.ways.get(&crossing.ends);
        if !way.is_some_and(|way| self.codec.is_usual(way, crossing.packet)) {
            self.unusual(crossing, None);
        }
    }

    /// The first error is told in the end; until then nothing is captured.
    #[cold]
    fn fail(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
        self.interfaces.fill(None);
    }

    /// The packet leaves its sender.
    fn is_sent(&self, crossing: &Crossing<'_>) -> bool {
        crossing.leaves && self.addresses.node_of(crossing.interface) == crossing.ends[0].node()
    }

    /// A packet that is unlike those before it.
    #[inline(never)]
    fn unusual(&mut self, crossing: &Crossing<'_>, captured: Option<u32>) {
        let Crossing { at, leaves, packet, .. } = *crossing;
        let sent = self.is_sent(crossing);
        let most = self.writer.snap() as usize;
        let known = if sent { None } else { self.kept.of(crossing) };
        let (bytes, length) = match known {
            Some(known) => known,
            None => {
                self.bytes.clear();
                let way = self.way(crossing);
                let encoded = way.and_then(|way| self.codec.encode_head(way, packet, most, &mut self.bytes));
                match encoded {
                    Ok(length) if sent => self.kept.keep(crossing, &self.bytes, length),
                    Ok(length) => (&self.bytes[..], length),
                    Err(error) => {
                        self.unwritable.get_or_insert((at, error));
                        return;
                    }
                }
            }
        };
        if let Some(interface) = captured
            && let Err(error) =
                self.writer.cut_packet(interface, at, Some(direction(leaves)), (bytes, length))
        {
            self.fail(error);
        }
    }

    /// The direction of a packet in the codec.
    fn way(&mut self, crossing: &Crossing<'_>) -> Result<Way, CodecError> {
        if let Some(way) = self.ways.get(&crossing.ends) {
            return Ok(way);
        }
        let way = self.codec.way(self.addresses.known_ends(crossing.ends))?;
        self.ways.keep(crossing.ends, way);
        Ok(way)
    }
}

/// Which way a packet crosses an interface.
#[inline]
fn direction(leaves: bool) -> Direction {
    if leaves { Direction::Outbound } else { Direction::Inbound }
}

#[cfg(test)]
mod tests;
