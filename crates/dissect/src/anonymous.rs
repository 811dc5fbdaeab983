//! Captures without what says whose they are: addresses, payload, names, keys, absolute times.
//!
//! May: rewrite TCP packets one by one. May not: keep a byte that it does not know.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use transport::mptcp::keys::{Hmac64, Hmac160, Key, Nonce, Token, add_addr_hmac, join_hmac64, join_hmac160};
use units::SimTime;
use wire::codec::dss_checksum;
use wire::frame::{Ends, Frame, TcpFields, TcpFlags, TcpHeader, Transport, write_tcp};
use wire::mptcp::{Mapping, Mptcp, Number};
use wire::options::{OptionBytes, TcpOption};
use wire::payload::Payload;
use wire::pcapng::{Direction, Interface, Writer};

use crate::file::{Input, Unreadable};
use crate::link::{Way, datagram};
use crate::order::InOrder;

/// Most payload of a packet with the largest headers.
const LARGEST: usize = u16::MAX as usize - 120;

/// Packets of the new file, and those left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anonymised {
    /// TCP packets, which are in the new file.
    pub written: u64,
    /// Other packets, which are not.
    pub left_out: u64,
    /// Files whose rest could not be read.
    pub problems: Vec<Unreadable>,
}

/// Writes the TCP packets of captures into one new file. Addresses become 10.0.0.1, 10.0.0.2 and so on, or fd00::1; keys of MPTCP others,
/// with tokens, HMACs and data sequence numbers that follow from them; options of other kinds NOPs; payload is cut off; the first packet comes
/// on 1 January 2020. Ports, sizes, times between packets, sequence numbers and timestamps stay.
///
/// # Errors
/// The new file cannot be written.
pub fn anonymise<W: Write>(files: &[PathBuf], to: W) -> io::Result<(Anonymised, W)> {
    let inputs: Vec<Input> = files.iter().cloned().map(Input::File).collect();
    rewrite(&inputs, to)
}

/// The same of a capture in memory.
///
/// # Errors
/// The new one cannot be written.
pub fn anonymise_bytes<W: Write>(bytes: &[u8], to: W) -> io::Result<(Anonymised, W)> {
    rewrite(&[Input::Bytes(bytes.into())], to)
}

fn rewrite<W: Write>(inputs: &[Input], to: W) -> io::Result<(Anonymised, W)> {
    let mut packets = InOrder::open(inputs);
    let interface = Interface { name: "all".into(), description: String::new() };
    let mut writer = Writer::new(to, "anonymised", &[interface], 0)?;
    let (mut found, mut people) = (Anonymised::default(), Pseudonyms::default());
    let (mut start, mut last) = (None, 0);
    let (mut out, mut failed) = (Vec::new(), Ok(()));
    while packets.next(|packet| {
        let record = packet.record;
        let inside = datagram(record.link, record.bytes).ok().flatten();
        let frame = inside.and_then(|inside| {
            Some((inside, Frame::decode_of(inside.bytes, record.sent(inside.bytes)).ok()?))
        });
        let Some((inside, frame)) = frame else {
            found.left_out += 1;
            return;
        };
        let Transport::Tcp(header) = &frame.transport else {
            found.left_out += 1;
            return;
        };
        last = record.at.max(last);
        let at = SimTime(last - *start.get_or_insert(last));
        let way = record.way.or(inside.way).map(|way| match way {
            Way::In => Direction::Inbound,
            Way::Out => Direction::Outbound,
        });
        out.clear();
        let length = people.packet(&frame, header, &mut out);
        found.written += 1;
        if failed.is_ok() {
            failed = writer.cut_packet(0, at, way, (&out, length));
        }
    }) {}
    failed?;
    let to = writer.finish(SimTime(last - start.unwrap_or(last)))?;
    found.problems = packets.into_problems();
    Ok((found, to))
}

/// New names, by the old ones.
#[derive(Debug, Default)]
struct Pseudonyms {
    four: BTreeMap<Ipv4Addr, u32>,
    six: BTreeMap<Ipv6Addr, u32>,
    keys: BTreeMap<u64, Key>,
    tokens: BTreeMap<u32, Token>,
    connections: Vec<Keys>,
    /// Connections by the token of each end.
    joined: BTreeMap<u32, usize>,
    /// By the ends, seen from the one that opened.
    subflows: BTreeMap<Ends, Subflow>,
}

/// Old keys of a connection, by end.
type Keys = [Option<Key>; 2];

#[derive(Clone, Copy, Debug)]
struct Subflow {
    connection: usize,
    nonces: [Option<Nonce>; 2],
}

impl Pseudonyms {
    /// Appends the new packet, without its payload. Returns its length.
    fn packet(&mut self, frame: &Frame<'_>, header: &TcpHeader<'_>, out: &mut Vec<u8>) -> usize {
        let opens = header.flags.has(TcpFlags::SYN) && !header.flags.has(TcpFlags::ACK);
        let reversed = !opens && self.subflows.contains_key(&frame.ends.reversed());
        let (ends, end) = if reversed { (frame.ends.reversed(), 1) } else { (frame.ends, 0) };
        if opens || !self.subflows.contains_key(&ends) {
            self.open(ends, header);
        }
        let mut options = OptionBytes::default();
        for option in header.options {
            // An option that does not fit was damaged, and is left out.
            self.option(&mut options, &option, (ends, end)).unwrap_or_default();
        }
        let rest = header.options_len.saturating_sub(options.as_slice().len());
        options.nops(rest).unwrap_or_default();
        options.align().unwrap_or_default();
        let new =
            Ends { source: self.socket(frame.ends.source), destination: self.socket(frame.ends.destination) };
        let fields =
            TcpFields { seq: header.seq, ack: header.ack, flags: header.flags, window: header.window };
        // An IP packet has no room for more.
        let payload = Payload::zeros(frame.payload_len.min(LARGEST));
        write_tcp(out, (new, frame.ecn), &fields, &options, &payload);
        out.len() + payload.len()
    }

    fn open(&mut self, ends: Ends, header: &TcpHeader<'_>) {
        let mut connection = None;
        for option in header.options {
            if let TcpOption::Mptcp(Mptcp::JoinSyn { token, .. }) = option {
                connection = self.joined.get(&token.0).copied();
            }
        }
        let connection = connection.unwrap_or_else(|| {
            self.connections.push(Keys::default());
            self.connections.len() - 1
        });
        // A SYN that is seen twice changes nothing.
        let known = self.subflows.get(&ends).copied();
        let nonces = known.map_or([None; 2], |known| known.nonces);
        self.subflows.insert(ends, Subflow { connection, nonces });
    }

    fn socket(&mut self, old: SocketAddr) -> SocketAddr {
        SocketAddr::new(self.address(old.ip()), old.port())
    }

    fn address(&mut self, old: IpAddr) -> IpAddr {
        match old {
            IpAddr::V4(old) => {
                let next = self.four.len() as u32 + 1;
                let number = *self.four.entry(old).or_insert(next);
                // 2^24 hosts; further ones begin again.
                Ipv4Addr::from(0x0a00_0000 | number & 0x00ff_ffff).into()
            }
            IpAddr::V6(old) => {
                let next = self.six.len() as u32 + 1;
                let number = *self.six.entry(old).or_insert(next);
                Ipv6Addr::from(0xfd00_u128 << 112 | u128::from(number)).into()
            }
        }
    }

    /// The key in place of this one, which `end` has.
    fn key(&mut self, (ends, end): (Ends, usize), old: Key) -> Key {
        let connection = self.subflows.get(&ends).map_or(0, |subflow| subflow.connection);
        if let Some(keys) = self.connections.get_mut(connection) {
            keys[end] = Some(old);
        }
        self.joined.insert(old.token().0, connection);
        let next = Key(self.keys.len() as u64 + 1);
        let new = *self.keys.entry(old.0).or_insert(next);
        self.tokens.insert(old.token().0, new.token());
        new
    }

    /// Old and new key of an end.
    fn keys(&self, ends: Ends, end: usize) -> Option<[Key; 2]> {
        let old = self.connections.get(self.subflows.get(&ends)?.connection)?[end]?;
        Some([old, *self.keys.get(&old.0)?])
    }

    /// A data sequence number of `end`. Where its key is not known it stays.
    fn number(&self, ends: Ends, end: usize, number: Number) -> Number {
        let Some([old, new]) = self.keys(ends, end) else { return number };
        let shift = new.initial_dsn().wrapping_sub(old.initial_dsn());
        match number {
            Number::Wide(value) => Number::Wide(value.wrapping_add(shift)),
            // The low half of the sum.
            Number::Narrow(value) => Number::Narrow(value.wrapping_add(shift as u32)),
        }
    }

    fn mapping(&self, ends: Ends, end: usize, old: Mapping) -> Mapping {
        let new = Mapping { dsn: self.number(ends, end, old.dsn), ..old };
        let full = match (new.dsn, self.keys(ends, end)) {
            (Number::Wide(value), _) => value,
            (narrow, Some([_, key])) => narrow.near(key.initial_dsn()),
            (narrow, None) => narrow.near(0),
        };
        // The payload is all zeros.
        Mapping { checksum: old.checksum.map(|_| dss_checksum((full, new.ssn, new.len), &[])), ..new }
    }

    fn option(
        &mut self,
        options: &mut OptionBytes,
        option: &TcpOption<'_>,
        place: (Ends, usize),
    ) -> Result<(), wire::options::OptionSpaceFull> {
        match option {
            TcpOption::Mptcp(option) => self.mptcp(option, place).map_or(Ok(()), |new| new.write(options)),
            TcpOption::Unknown { .. } | TcpOption::Broken(_) => Ok(()),
            known => options.push(known),
        }
    }

    /// The option in place of this one; `None` for one of an unknown form.
    fn mptcp<'a>(&mut self, option: &Mptcp<'a>, (ends, end): (Ends, usize)) -> Option<Mptcp<'a>> {
        let [own, peer] = [end, 1 - end];
        Some(match *option {
            Mptcp::Capable { version, flags, sender, receiver, data_len, checksum } => {
                let sender = sender.map(|key| self.key((ends, own), key));
                let receiver = receiver.map(|key| self.key((ends, peer), key));
                let first = sender.map_or(0, |key| key.initial_dsn().wrapping_add(1));
                let checksum = checksum.map(|_| dss_checksum((first, 1, data_len.unwrap_or(0)), &[]));
                Mptcp::Capable { version, flags, sender, receiver, data_len, checksum }
            }
            Mptcp::JoinSyn { backup, id, token, nonce } => {
                self.note(ends, own, nonce);
                let next = Token(self.tokens.len() as u32);
                let token = *self.tokens.entry(token.0).or_insert(next);
                Mptcp::JoinSyn { backup, id, token, nonce }
            }
            Mptcp::JoinSynAck { backup, id, nonce, .. } => {
                self.note(ends, own, nonce);
                let hmac = self
                    .joining(ends, own)
                    .map(|(keys, nonces)| join_hmac64(keys[0], keys[1], nonces[0], nonces[1]));
                Mptcp::JoinSynAck { backup, id, nonce, hmac: hmac.unwrap_or(Hmac64([0; 8])) }
            }
            Mptcp::JoinAck { .. } => {
                let hmac = self
                    .joining(ends, own)
                    .map(|(keys, nonces)| join_hmac160(keys[0], keys[1], nonces[0], nonces[1]));
                Mptcp::JoinAck { hmac: hmac.unwrap_or(Hmac160([0; 20])) }
            }
            Mptcp::Dss { data_ack, mapping, data_fin } => Mptcp::Dss {
                data_ack: data_ack.map(|number| self.number(ends, peer, number)),
                mapping: mapping.map(|mapping| self.mapping(ends, own, mapping)),
                data_fin,
            },
            Mptcp::AddAddr { echo, id, address, port, hmac } => {
                let address = self.address(address);
                let keys = self.keys(ends, own).zip(self.keys(ends, peer));
                let new = keys
                    .map(|([_, own], [_, peer])| add_addr_hmac(own, peer, id, address, port.unwrap_or(0)));
                Mptcp::AddAddr { echo, id, address, port, hmac: hmac.map(|_| new.unwrap_or(Hmac64([0; 8]))) }
            }
            Mptcp::Fail { dsn } => match self.number(ends, peer, Number::Wide(dsn)) {
                Number::Wide(dsn) => Mptcp::Fail { dsn },
                Number::Narrow(_) => return None,
            },
            Mptcp::FastClose { key } => Mptcp::FastClose { key: self.key((ends, peer), key) },
            Mptcp::RemoveAddr(ids) => Mptcp::RemoveAddr(ids),
            Mptcp::Prio { backup } => Mptcp::Prio { backup },
            Mptcp::Reset { flags, reason } => Mptcp::Reset { flags, reason },
            Mptcp::Unknown(_) => return None,
        })
    }

    /// New keys and the nonces of a join: of `end`, and of the other end.
    fn joining(&self, ends: Ends, end: usize) -> Option<([Key; 2], [Nonce; 2])> {
        let subflow = self.subflows.get(&ends)?;
        let [_, own] = self.keys(ends, end)?;
        let [_, peer] = self.keys(ends, 1 - end)?;
        Some(([own, peer], [subflow.nonces[end]?, subflow.nonces[1 - end]?]))
    }

    fn note(&mut self, ends: Ends, end: usize, nonce: Nonce) {
        if let Some(subflow) = self.subflows.get_mut(&ends) {
            subflow.nonces[end] = Some(nonce);
        }
    }
}
