//! Captures made from those of a corpus: a few of its packets, changed where a reader looks, in a file of any form.

use super::file::{self, Packet};
use super::mutate::change;
use crate::dice::Dice;

/// Most packets of a file.
const MOST: u64 = 12;

/// Packets of a corpus, by file.
#[derive(Clone, Debug)]
pub struct Corpus(Vec<Vec<Packet>>);

impl Corpus {
    /// The packets of these files.
    pub fn of(files: &[Vec<u8>]) -> Self {
        let with = files.iter().map(|bytes| file::packets(bytes)).filter(|packets| !packets.is_empty());
        Self(with.collect())
    }

    /// The capture of this seed.
    ///
    /// # Panics
    /// If the corpus has no packet.
    pub fn capture(&self, seed: u64) -> Vec<u8> {
        let mut dice = Dice::new(seed);
        let mut packets = self.run(&mut dice);
        if dice.chance(0.2) {
            let other = self.run(&mut dice);
            let place = dice.below(packets.len() as u64 + 1) as usize;
            packets.splice(place..place, other);
        }
        for _ in 0..dice.below(4) {
            order(&mut dice, &mut packets);
        }
        for _ in 0..dice.below(6) {
            let place = dice.below(packets.len() as u64) as usize;
            field(&mut dice, &mut packets[place].bytes);
        }
        let mut file = file::write(&mut dice, &packets);
        if dice.chance(0.3) {
            let other = file.clone();
            for _ in 0..dice.between(1, 4) {
                change(&mut dice, &mut file, &other);
            }
        }
        if dice.chance(0.05) {
            file.truncate(dice.below(file.len() as u64 + 1) as usize);
        }
        file
    }

    /// Some packets one after the other: of the handshake, or from anywhere.
    fn run(&self, dice: &mut Dice) -> Vec<Packet> {
        let all = &self.0[dice.below(self.0.len() as u64) as usize];
        let many = dice.between(1, MOST) as usize;
        let start = if dice.chance(0.5) { 0 } else { dice.below(all.len() as u64) as usize };
        all[start..all.len().min(start + many)].to_vec()
    }
}

/// Changes which packets there are, and when.
fn order(dice: &mut Dice, packets: &mut Vec<Packet>) {
    let one = dice.below(packets.len() as u64) as usize;
    let other = dice.below(packets.len() as u64) as usize;
    match dice.below(6) {
        0 => packets.swap(one, other),
        1 if packets.len() > 1 => drop(packets.remove(one)),
        2 => packets.insert(other, packets[one].clone()),
        3 => packets[one].at = packets[one].at.wrapping_sub(dice.log(1.0, 1e12) as u64),
        4 => packets[one].at = packets[one].at.wrapping_add(dice.log(1.0, 1e19) as u64),
        _ => reverse(&mut packets[one].bytes),
    }
}

/// As if the other end had sent it.
fn reverse(bytes: &mut [u8]) {
    let (start, width) = if bytes.first().is_some_and(|first| first >> 4 == 6) { (8, 16) } else { (12, 4) };
    let ports = behind_ip(bytes);
    for (at, width) in [(start, width), (ports, 2)] {
        if bytes.len() >= at + 2 * width {
            let (one, other) = bytes[at..at + 2 * width].split_at_mut(width);
            one.swap_with_slice(other);
        }
    }
}

/// Where the header of the transport begins.
fn behind_ip(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(first) if first >> 4 == 6 => 40,
        Some(first) => usize::from(first & 15) * 4,
        None => 0,
    }
}

/// Changes a field of a packet.
fn field(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let transport = behind_ip(bytes);
    let options = transport + 20;
    let within = dice.below(40) as usize;
    match dice.below(13) {
        // Sequence number, acknowledgement, or any word of the header and of its options.
        0 => word(dice, bytes, transport + 4),
        1 => word(dice, bytes, transport + 8),
        2 => word(dice, bytes, options + within),
        // Flags, length of the header, window, ports, protocol, length of the datagram, kind and length of an option.
        3 => byte(dice, bytes, transport + 13),
        4 => byte(dice, bytes, transport + 12),
        5 => byte(dice, bytes, transport + 14),
        6 => byte(dice, bytes, transport + 1),
        7 => byte(dice, bytes, 9),
        8 => byte(dice, bytes, 2 + dice.clone().below(2) as usize),
        9 => byte(dice, bytes, options + within),
        10 => option(dice, bytes, options),
        11 => bytes.truncate(dice.below(bytes.len() as u64 + 1) as usize),
        _ => byte(dice, bytes, dice.clone().below(60) as usize),
    }
}

fn byte(dice: &mut Dice, bytes: &mut [u8], at: usize) {
    let value = [0, 1, 0xff, 6, 17, 132, dice.next() as u8][dice.below(7) as usize];
    if let Some(byte) = bytes.get_mut(at) {
        *byte = if dice.chance(0.5) { *byte ^ 1 << dice.below(8) } else { value };
    }
}

/// A number that is far away, or close by.
fn word(dice: &mut Dice, bytes: &mut [u8], at: usize) {
    let Some(field) = bytes.get_mut(at..at + 4) else { return };
    let old = u32::from_be_bytes([field[0], field[1], field[2], field[3]]);
    let far = [0, u32::MAX, 1 << 31, dice.next() as u32][dice.below(4) as usize];
    let new =
        if dice.chance(0.5) { far } else { old.wrapping_add((dice.below(6000) as u32).wrapping_sub(3000)) };
    field.copy_from_slice(&new.to_be_bytes());
}

/// Writes the head of an option of MPTCP: any subtype, any length.
fn option(dice: &mut Dice, bytes: &mut [u8], at: usize) {
    let at = at + 4 * dice.below(5) as usize;
    let length = if dice.chance(0.7) { dice.between(2, 30) as u8 } else { dice.next() as u8 };
    let head = [30, length, dice.next() as u8, dice.next() as u8];
    if let Some(field) = bytes.get_mut(at..at + 4) {
        field.copy_from_slice(&head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> Corpus {
        Corpus::of(&[include_bytes!("../../corpus/captures/fallback.pcapng").to_vec()])
    }

    /// Most files are read to their end, and have a connection.
    #[test]
    fn captures_are_readable_mostly() {
        let corpus = corpus();
        let readings: Vec<_> = (0..200).map(|seed| dissect::read_bytes(&corpus.capture(seed))).collect();
        // A file that is out of order is read whole, with a word.
        let whole = readings.iter().filter(|reading| {
            reading.problems().iter().all(|problem| problem.reason.contains("in the order of time"))
        });
        let whole = whole.count();
        let with = readings.iter().filter(|reading| reading.connections().count() > 0).count();
        assert!(whole > 80 && with > 120, "{whole} {with}");
        assert_eq!(corpus.capture(7), corpus.capture(7));
    }
}
