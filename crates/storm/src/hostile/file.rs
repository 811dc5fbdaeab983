//! Forms of a capture file, with the mistakes that such files have: both formats, byte orders and units of time, link headers,
//! interfaces and sections.

use crate::dice::Dice;

/// A packet of a file: its time in nanoseconds, and an IP datagram.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
}

/// IP datagrams of a file of the format pcapng, little-endian, of the link type RAW.
pub(super) fn packets(file: &[u8]) -> Vec<Packet> {
    let word = |at: usize| file.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (mut at, mut found) = (0, Vec::new());
    while let (Some(kind), Some(length)) = (word(at), word(at + 4)) {
        if let (6, Some(high), Some(low), Some(kept)) = (kind, word(at + 12), word(at + 16), word(at + 20)) {
            let time = u64::from(high) << 32 | u64::from(low);
            let bytes = file.get(at + 28..at + 28 + kept as usize);
            found.extend(bytes.map(|bytes| Packet { at: time, bytes: bytes.to_vec() }));
        }
        at += length.max(4) as usize;
    }
    found
}

/// The order of bytes, which the head of a file says.
#[derive(Clone, Copy, Debug)]
struct Order {
    big: bool,
}

impl Order {
    fn four(self, out: &mut Vec<u8>, value: u32) {
        out.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn two(self, out: &mut Vec<u8>, value: u16) {
        out.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    /// A block of pcapng: its body is filled up to words.
    fn block(self, out: &mut Vec<u8>, kind: u32, mut body: Vec<u8>) {
        body.resize(body.len().next_multiple_of(4), 0);
        let length = body.len() as u32 + 12;
        self.four(out, kind);
        self.four(out, length);
        out.extend(body);
        self.four(out, length);
    }
}

/// A link type, and a header of it.
fn link(dice: &mut Dice) -> (u32, Vec<u8>) {
    let macs = [0; 12];
    match dice.below(10) {
        0 => (1, [&macs[..], &[8, 0]].concat()),
        1 => (1, [&macs[..], &[0x81, 0, 0, 9, 8, 0]].concat()),
        2 => (1, [&macs[..], &[0x86, 0xdd]].concat()),
        3 => (113, [&[0, dice.below(6) as u8][..], &[0; 12], &[8, 0]].concat()),
        4 => (276, [&[8, 0][..], &[0; 8], &[dice.below(6) as u8, 0], &[0; 8]].concat()),
        5 => (0, vec![2, 0, 0, 0]),
        6 => (dice.below(300) as u32, Vec::new()),
        _ => (101, Vec::new()),
    }
}

/// The file of these packets.
pub(super) fn write(dice: &mut Dice, packets: &[Packet]) -> Vec<u8> {
    let order = Order { big: dice.chance(0.3) };
    let snap = if dice.chance(0.2) { dice.below(120) as usize } else { usize::MAX };
    if dice.chance(0.4) { pcap(dice, order, snap, packets) } else { pcapng(dice, order, snap, packets) }
}

fn pcap(dice: &mut Dice, order: Order, snap: usize, packets: &[Packet]) -> Vec<u8> {
    let (link, header) = link(dice);
    let nanos = dice.chance(0.5);
    let mut out = Vec::new();
    order.four(&mut out, if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
    order.two(&mut out, 2);
    order.two(&mut out, 4);
    for field in [0, 0, 65_535, link] {
        order.four(&mut out, field);
    }
    for Packet { at, bytes } in packets {
        let whole = [&header[..], bytes].concat();
        let kept = whole.len().min(snap);
        let fraction = at % 1_000_000_000 / if nanos { 1 } else { 1_000 };
        for field in [(at / 1_000_000_000) as u32, fraction as u32, kept as u32, whole.len() as u32] {
            order.four(&mut out, field);
        }
        out.extend(&whole[..kept]);
    }
    out
}

fn section(order: Order, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    order.four(&mut body, 0x1a2b_3c4d);
    order.two(&mut body, 1);
    order.two(&mut body, 0);
    body.extend([0xff; 8]);
    order.block(out, 0x0a0d_0d0a, body);
}

/// An interface; its link header.
fn interface(dice: &mut Dice, order: Order, out: &mut Vec<u8>) -> Vec<u8> {
    let (link, header) = link(dice);
    let mut body = Vec::new();
    order.two(&mut body, link as u16);
    order.two(&mut body, 0);
    order.four(&mut body, 0);
    if dice.chance(0.8) {
        // if_tsresol: nanoseconds mostly; powers of two, and ones that no number holds.
        let unit = if dice.chance(0.8) { 9 } else { dice.next() as u8 };
        order.two(&mut body, 9);
        order.two(&mut body, 1);
        body.extend([unit, 0, 0, 0]);
    }
    if dice.chance(0.05) {
        order.two(&mut body, 14);
        order.two(&mut body, 8);
        body.extend(dice.next().to_le_bytes());
    }
    order.block(out, 1, body);
    header
}

fn pcapng(dice: &mut Dice, order: Order, snap: usize, packets: &[Packet]) -> Vec<u8> {
    let mut out = Vec::new();
    section(order, &mut out);
    let many = dice.between(1, 3);
    let mut headers: Vec<_> = (0..many).map(|_| interface(dice, order, &mut out)).collect();
    for Packet { at, bytes } in packets {
        if dice.chance(0.02) {
            section(order, &mut out);
            headers = vec![interface(dice, order, &mut out)];
        }
        let chosen = dice.below(headers.len() as u64) as usize;
        let whole = [&headers[chosen][..], bytes].concat();
        let kept = whole.len().min(snap);
        let mut body = Vec::new();
        if dice.chance(0.03) {
            // A simple packet has no time.
            order.four(&mut body, whole.len() as u32);
            body.extend(&whole[..kept]);
            order.block(&mut out, 3, body);
            continue;
        }
        let number = if dice.chance(0.01) { 7 } else { chosen as u32 };
        for field in [number, (at >> 32) as u32, *at as u32, kept as u32, whole.len() as u32] {
            order.four(&mut body, field);
        }
        body.extend(&whole[..kept]);
        body.resize(body.len().next_multiple_of(4), 0);
        if dice.chance(0.5) {
            // epb_flags: in or out.
            order.two(&mut body, 2);
            order.two(&mut body, 4);
            order.four(&mut body, dice.below(4) as u32);
            order.four(&mut body, 0);
        }
        order.block(&mut out, 6, body);
    }
    out
}
