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
use crate::net::topology::{LinkId, NodeId};

/// The event of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A segment leaves its host.
    Send,
    /// A segment has reached its host.
    Recv,
    /// Refused by a full queue.
    DropQueue,
    /// Lost by the loss model; written when the packet is offered to the link.
    DropError,
    /// Cut off when the link went down.
    DropDown,
    /// Damaged: dropped by a checksum at the far end.
    DropCheck,
    /// A copy that a link made reaches its far end.
    Duplicate,
    /// Marked by a queue: congestion experienced.
    Mark,
    /// A retransmission timer fired.
    Timeout,
    /// A sender changed its state.
    State,
    /// A link goes down.
    Down,
    /// A link comes up again.
    Up,
    /// Another parameter of a link changes.
    Change,
}

impl What {
    const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Recv => "recv",
            Self::DropQueue => "drop-queue",
            Self::DropError => "drop-error",
            Self::DropDown => "drop-down",
            Self::DropCheck => "drop-check",
            Self::Duplicate => "duplicate",
            Self::Mark => "mark",
            Self::Timeout => "timeout",
            Self::State => "state",
            Self::Down => "down",
            Self::Up => "up",
            Self::Change => "change",
        }
    }
}

/// Names of what the lines speak of.
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

    /// The text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// A segment leaves or reaches a host.
    pub(crate) fn packet(
        &mut self,
        now: SimTime,
        (what, at): (What, NodeId),
        addresses: PacketAddresses,
        packet: &Packet,
        gauges: Option<SubflowGauges>,
    ) {
        let connection = self.connection(addresses);
        let mut cells = self.cells(now, what, &self.names.nodes[at], (connection, packet.path));
        describe(&mut cells, packet);
        gauge(&mut cells, gauges);
        self.row(&cells);
    }

    /// A link drops, copies or marks a segment.
    pub(crate) fn on_link(
        &mut self,
        now: SimTime,
        what: What,
        link: LinkId,
        addresses: PacketAddresses,
        packet: &Packet,
    ) {
        let connection = self.connection(addresses);
        let mut cells = self.cells(now, what, &self.names.links[link as usize], (connection, packet.path));
        describe(&mut cells, packet);
        self.row(&cells);
    }

    /// A parameter of a link changes.
    pub(crate) fn link(&mut self, now: SimTime, what: What, link: LinkId) {
        let mut cells = Cells::default();
        start(&mut cells, now, what, &self.names.links[link as usize]);
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
            for (what, changed) in
                [(What::Timeout, stats.timeouts != timeouts), (What::State, gauges.state != state)]
            {
                if changed {
                    let name = self.name(flow, number);
                    let mut cells = self.cells(now, what, &self.names.nodes[at], (&name, subflow));
                    gauge(&mut cells, Some(gauges));
                    self.row(&cells);
                }
            }
        }
    }

    fn cells(&self, now: SimTime, what: What, place: &str, (connection, subflow): (&str, PathId)) -> Cells {
        let mut cells = Cells::default();
        start(&mut cells, now, what, place);
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

fn start(cells: &mut Cells, now: SimTime, what: What, place: &str) {
    cells[0] = (now.0 / 1_000).to_string();
    what.name().clone_into(&mut cells[1]);
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
