//! Every packet of a [`crate::Duo`] as bytes: they are as long as the packet, and mean it.
//!
//! May: compare. May not: change a packet.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use transport::AddressPair;
use transport::config::{MptcpConfig, TcpConfig};
use transport::mptcp::option::MptcpOption;
use transport::packet::{Body, Packet, PathId};
use transport::sctp::SctpConfig;
use transport::sctp::chunk::{Control, DataChunks, Promise};
use transport::sctp::gaps::{GapBlocks, MORE};
use transport::seq::{Seq, StreamOffset};
use transport::space::SpaceSignal;
use transport::tcp::ranges::RangeSet;
use transport::tcp::segment::TcpSegment;
use units::{Bytes, SimTime};
use wire::codec::{CodecError, ConnectionNumber, Opening};
use wire::{Codec, EndSettings, Ends, Numbers};

use crate::faults::Way;
use crate::mappings::Mappings;

/// Both ends have the same settings.
#[derive(Debug)]
pub(crate) struct ByteCheck {
    codec: Codec,
    settings: [EndSettings; 2],
    /// Ends by subflow, the client first; a server that answers for a connection it does not know has no addresses for it.
    opened: BTreeMap<PathId, Ends>,
    bytes: Vec<u8>,
    mappings: Mappings,
}

/// Address of an interface; the last byte tells the hosts apart.
fn address(host: u8, interface: u8) -> std::net::IpAddr {
    [10, 0, interface, host].into()
}

impl ByteCheck {
    /// Associations with these settings.
    pub(crate) fn associations(config: &SctpConfig) -> Self {
        let mut check = Self::new(&TcpConfig::default(), None);
        for settings in &mut check.settings {
            *settings = EndSettings::of_association(config.packet.overhead, Arc::clone(&settings.addresses));
        }
        check
    }

    pub(crate) fn new(tcp: &TcpConfig, mptcp: Option<&MptcpConfig>) -> Self {
        let settings = [1, 2].map(|host| {
            let addresses = (0..=u8::MAX).map(|interface| address(host, interface)).collect();
            EndSettings::new(tcp, mptcp, addresses)
        });
        Self {
            codec: Codec::default(),
            settings,
            opened: BTreeMap::new(),
            bytes: Vec::new(),
            mappings: Mappings::default(),
        }
    }

    /// A packet leaves the end that sends this way; `pair` as the client sees it.
    ///
    /// # Panics
    /// If its bytes have another length, or another meaning, or a byte of a subflow has two mappings.
    pub(crate) fn packet(&mut self, way: Way, pair: AddressPair, packet: &Packet) {
        let known = self.opened.get(&packet.path).copied();
        let mut ends = known.unwrap_or_else(|| self.open(pair, packet.path));
        if way == Way::Down {
            ends = ends.reversed();
        }
        if let Some(segment) = packet.segment() {
            self.mappings.segment(way, packet.path, segment);
        }
        self.bytes.clear();
        match self.codec.encode(ends, packet, &mut self.bytes) {
            Ok(()) => {}
            Err(CodecError::NoForm) => return,
            Err(error) => panic!("{error}: {packet:?}"),
        }
        let decoded = self.codec.decode(&self.bytes).unwrap_or_else(|error| panic!("{error}: {packet:?}"));
        let settings = &self.settings[way.index()];
        assert_eq!(decoded, (ends, on_wire(packet, settings)), "the bytes of {packet:?}");
        assert_eq!(self.codec.padded(), 0, "padding in {packet:?}");
    }

    fn open(&mut self, pair: AddressPair, path: PathId) -> Ends {
        let interface = |interface: Option<u8>| interface.unwrap_or(0);
        let client = SocketAddr::new(address(1, interface(pair.local)), 49_152 + u16::from(path.0));
        let server = SocketAddr::new(address(2, interface(pair.remote)), 5001);
        let ends = Ends { source: client, destination: server };
        let opening = Opening { connection: ConnectionNumber(0), path, interfaces: pair };
        // Numbers that wrap within the first segments.
        let mut low = u64::from(path.0);
        let numbers = Numbers::draw(|| {
            low += 1;
            u64::MAX - 700 * low
        });
        self.codec.open(ends, opening, self.settings.clone(), numbers);
        self.opened.insert(path, ends);
        ends
    }
}

/// The packet without what no header carries.
fn on_wire(packet: &Packet, settings: &EndSettings) -> Packet {
    let mut packet = Packet { retransmission: false, ..*packet };
    let round = |time: SimTime| if time.is_never() { time } else { SimTime(time.0 / 1_000_000 * 1_000_000) };
    let cut = |segment: &mut TcpSegment| {
        let shift = if segment.flags.syn { 0 } else { settings.window_scale.unwrap_or(0) };
        segment.window = Bytes((segment.window.0 >> shift).min(u64::from(u16::MAX)) << shift);
        if let Some(timestamps) = &mut segment.timestamps {
            (timestamps.value, timestamps.echo) = (round(timestamps.value), round(timestamps.echo));
        }
        if let MptcpOption::CapableAck { after: Some(_), .. } = segment.mptcp {
            assert_eq!(segment.seq, Seq::FIRST_DATA, "MP_CAPABLE maps the first bytes");
        }
    };
    match &mut packet.body {
        Body::Tcp(segment) => cut(segment),
        Body::Space(space) => {
            cut(&mut space.segment);
            if let SpaceSignal::Snack(snack) = &mut space.signal {
                snack.bits = (u64::BITS - snack.vector.leading_zeros()) as u8;
            }
        }
        Body::Sctp(body) => {
            packet.offset = StreamOffset::START;
            if let Control::Sack(sack) = &mut body.control {
                sack.packets = sack.packets.min(3);
                if sack.gaps.is_empty() && sack.promise == Promise::Renegable {
                    sack.promise = Promise::Kept;
                }
                // The same blocks have several forms in the machine.
                let mut arrived = RangeSet::default();
                for block in sack.gaps.blocks(sack.next, body.data.more()) {
                    arrived.insert(block);
                }
                let (mut more, room) = ([0; MORE], if body.data.is_empty() { MORE } else { 0 });
                sack.gaps = GapBlocks::many(sack.next, &arrived, &mut more[..room]);
                if body.data.is_empty() {
                    body.data = DataChunks::default();
                }
                if more != [0; MORE] {
                    body.data = DataChunks::with_more(more);
                }
            }
        }
        Body::Udp(_) => {}
    }
    packet
}
