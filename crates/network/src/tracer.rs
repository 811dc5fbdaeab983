//! The readable trace: one line per packet event and per change of state, in aligned columns of integers.
//!
//! May: format what it is shown. May not: influence it, or keep anything but text.

use std::collections::BTreeMap;

use apps::ConnectionId;
use transport::packet::{Packet, PathId};
use transport::{Connection, SenderState, SubflowGauges, Summary};
use units::SimTime;

use crate::host::socket::SocketId;
use crate::net::address::{PacketAddresses, SocketAddress};
use crate::net::tap::{LinkEvent, PacketEvent};
use crate::net::topology::{LinkId, NodeId};

/// The event of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceEvent {
    /// A packet leaves its host.
    Send,
    /// A packet has reached its host.
    Recv,
    /// Something happens to a packet on a link.
    Packet(PacketEvent),
    /// A retransmission timer fired.
    Timeout,
    /// A sender changed its state.
    State,
    /// A link changes.
    Link(LinkEvent),
}

impl TraceEvent {
    const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Recv => "recv",
            Self::Packet(PacketEvent::DropQueue) => "drop-queue",
            Self::Packet(PacketEvent::DropError) => "drop-error",
            Self::Packet(PacketEvent::DropDown) => "drop-down",
            Self::Packet(PacketEvent::DropCheck) => "drop-check",
            Self::Packet(PacketEvent::Duplicate) => "duplicate",
            Self::Packet(PacketEvent::Mark) => "mark",
            Self::Timeout => "timeout",
            Self::State => "state",
            Self::Link(LinkEvent::Down) => "down",
            Self::Link(LinkEvent::Up) => "up",
            Self::Link(LinkEvent::Change) => "change",
        }
    }
}

/// Names in the lines.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// By node.
    pub(crate) nodes: Vec<String>,
    /// By link direction.
    pub(crate) links: Vec<String>,
    /// By flow.
    pub(crate) flows: Vec<String>,
}

/// Name, width, and whether it is a number (set to the right). The widths of `where` and `subflow` fit the names.
const COLUMNS: [(&str, usize, bool); 14] = [
    ("t_us", 11, true),
    ("event", 10, false),
    ("where", 0, false),
    ("subflow", 0, false),
    ("flags", 5, false),
    ("option", 8, false),
    ("seq:end", 19, true),
    ("ack", 10, true),
    ("dsn", 10, true),
    ("data_ack", 10, true),
    ("size", 5, true),
    ("cwnd", 9, true),
    ("state", 10, false),
    ("sack", 0, false),
];

/// The text so far.
#[derive(Clone, Debug)]
pub(crate) struct Tracer {
    names: Names,
    /// Names of connections in the lines, by the addresses of client and server of each subflow.
    connections: BTreeMap<(SocketAddress, SocketAddress), String>,
    widths: [usize; COLUMNS.len()],
    /// State and number of timeouts when last looked at, by subflow.
    seen: BTreeMap<(SocketId, PathId), (SenderState, u64)>,
    text: String,
}

impl Tracer {
    /// Something happens to a packet on `link`.
    pub(crate) fn packet_event(
        &mut self,
        now: SimTime,
        event: PacketEvent,
        link: LinkId,
        addresses: PacketAddresses,
        packet: &Packet,
    ) {
        let connection = self.connection(addresses);
        let (event, place) = (TraceEvent::Packet(event), &self.names.links[link as usize]);
        let mut cells = self.cells(now, event, place, (connection, packet.path));
        describe(&mut cells, packet);
        self.row(&cells);
    }

    /// A link changes.
    pub(crate) fn link_event(&mut self, now: SimTime, event: LinkEvent, link: LinkId) {
        let mut cells = Cells::default();
        start(&mut cells, now, TraceEvent::Link(event), &self.names.links[link as usize]);
        self.row(&cells);
    }

    /// With the header line.
    pub(crate) fn new(names: Names) -> Self {
        let longest = |names: &[String], least: usize| names.iter().map(String::len).fold(least, usize::max);
        let mut widths = COLUMNS.map(|(_, width, _)| width);
        widths[2] = longest(&names.nodes, 5).max(longest(&names.links, 5));
        // A dot and the number of the subflow follow the name of the flow.
        widths[3] = (longest(&names.flows, 1) + 3).max(7);
        let (connections, seen) = (BTreeMap::new(), BTreeMap::new());
        let mut tracer = Self { names, connections, widths, seen, text: String::new() };
        tracer.row(&COLUMNS.map(|(name, ..)| name.to_owned()));
        tracer
    }

    /// A flow opens a subflow of its connection `number` between these addresses.
    pub(crate) fn know(&mut self, addresses: PacketAddresses, flow: usize, number: ConnectionId) {
        let name = self.name(flow, number);
        self.connections.insert((addresses.source, addresses.destination), name);
    }

    fn name(&self, flow: usize, number: ConnectionId) -> String {
        let flow = &self.names.flows[flow];
        if number == 0 { flow.clone() } else { format!("{flow}#{number}") }
    }

    /// The connection that a packet belongs to, which goes one way or the other.
    fn connection(&self, PacketAddresses { source, destination }: PacketAddresses) -> &str {
        let there = || self.connections.get(&(source, destination));
        let back = || self.connections.get(&(destination, source));
        there().or_else(back).map_or("", String::as_str)
    }

    /// Bytes of the text so far.
    pub(crate) fn length(&self) -> usize {
        self.text.len()
    }

    /// The text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// A segment leaves or reaches a host.
    pub(crate) fn packet(
        &mut self,
        now: SimTime,
        (event, at): (TraceEvent, NodeId),
        addresses: PacketAddresses,
        packet: &Packet,
        gauges: Option<SubflowGauges>,
    ) {
        let connection = self.connection(addresses);
        let mut cells = self.cells(now, event, &self.names.nodes[at], (connection, packet.path));
        describe(&mut cells, packet);
        gauge(&mut cells, gauges);
        self.row(&cells);
    }

    /// Writes a line for each sender of a connection that has timed out or changed its state since the last look.
    pub(crate) fn watch(
        &mut self,
        now: SimTime,
        at: NodeId,
        (socket, flow, number): (SocketId, usize, ConnectionId),
        connection: &Connection,
    ) {
        for subflow in 0..connection.subflow_count() {
            let Some(gauges) = connection.gauges(subflow) else { continue };
            let stats = connection.stats(subflow);
            let subflow = PathId(subflow as u8);
            let seen = self.seen.insert((socket, subflow), (gauges.state, stats.timeouts));
            let (state, timeouts) = seen.unwrap_or((SenderState::Handshake, 0));
            for (event, changed) in [
                (TraceEvent::Timeout, stats.timeouts != timeouts),
                (TraceEvent::State, gauges.state != state),
            ] {
                if changed {
                    let name = self.name(flow, number);
                    let mut cells = self.cells(now, event, &self.names.nodes[at], (&name, subflow));
                    gauge(&mut cells, Some(gauges));
                    self.row(&cells);
                }
            }
        }
    }

    fn cells(
        &self,
        now: SimTime,
        event: TraceEvent,
        place: &str,
        (connection, subflow): (&str, PathId),
    ) -> Cells {
        let mut cells = Cells::default();
        start(&mut cells, now, event, place);
        cells[3] = format!("{connection}.{subflow}");
        cells
    }

    fn row(&mut self, cells: &Cells) {
        for ((cell, &width), (_, _, number)) in cells.iter().zip(&self.widths).zip(COLUMNS) {
            let cell = if cell.is_empty() { "-" } else { cell };
            let padded = if number { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
            self.text.push_str(&padded);
        }
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
    }
}

type Cells = [String; COLUMNS.len()];

fn start(cells: &mut Cells, now: SimTime, event: TraceEvent, place: &str) {
    cells[0] = (now.0 / 1_000).to_string();
    event.name().clone_into(&mut cells[1]);
    place.clone_into(&mut cells[2]);
}

fn describe(cells: &mut Cells, packet: &Packet) {
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let Summary { flags, option, sequence, ack, dsn, data_ack, sack } = packet.summary();
    cells[4] = flags;
    option.clone_into(&mut cells[5]);
    cells[6] = format!("{}:{}", sequence.start, sequence.end);
    cells[7] = number(ack);
    cells[8] = number(dsn);
    cells[9] = number(data_ack);
    cells[10] = packet.size.0.to_string();
    let blocks = sack.iter().map(|block| format!("{}:{}", block.start, block.end));
    cells[13] = blocks.collect::<Vec<_>>().join(",");
}

fn gauge(cells: &mut Cells, gauges: Option<SubflowGauges>) {
    if let Some(gauges) = gauges {
        cells[11] = gauges.cwnd.0.to_string();
        cells[12] = gauges.state.to_string();
    }
}
