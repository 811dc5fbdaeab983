//! Bits in few bytes: binary arithmetic coding with a model that both ends learn from the bits themselves.
//!
//! Source: Rissanen and Langdon, "Arithmetic coding", IBM J. Res. Dev. 23(2), 1979; the estimate of a probability from counts is that
//! of Krichevsky and Trofimov, 1981. The context of a bit is the eight bits before it.

/// Bytes that one bit adds at most.
const MOST: usize = 4;
/// Bits of a probability.
const PRECISION: u32 = 16;

/// How often each bit has followed each context.
struct Model {
    counts: [[u8; 2]; 256],
    context: u8,
}

impl Model {
    const NEW: Self = Self { counts: [[0; 2]; 256], context: 0 };

    /// The probability that the next bit is set.
    fn probability(&self) -> u64 {
        let [clear, set] = self.counts[usize::from(self.context)].map(u64::from);
        ((2 * set + 1) << PRECISION) / (2 * (clear + set) + 2)
    }

    fn learn(&mut self, bit: bool) {
        let counts = &mut self.counts[usize::from(self.context)];
        counts[usize::from(bit)] += 1;
        if counts[usize::from(bit)] == u8::MAX {
            *counts = counts.map(|count| count / 2);
        }
        self.context = self.context << 1 | u8::from(bit);
    }
}

/// The numbers that begin with what was coded so far.
#[derive(Clone, Copy)]
struct Interval {
    low: u32,
    high: u32,
}

impl Interval {
    const WHOLE: Self = Self { low: 0, high: u32::MAX };

    /// The last number that stands for a set bit.
    fn split(self, probability: u64) -> u32 {
        self.low + ((u64::from(self.high - self.low) * probability) >> PRECISION) as u32
    }

    fn narrow(&mut self, split: u32, bit: bool) {
        if bit {
            self.high = split;
        } else {
            self.low = split + 1;
        }
    }

    /// The first byte, if all numbers have the same.
    fn shift(&mut self) -> Option<u8> {
        let known = (self.low ^ self.high) >> 24 == 0;
        let byte = (self.high >> 24) as u8;
        if known {
            (self.low, self.high) = (self.low << 8, self.high << 8 | 0xff);
        }
        known.then_some(byte)
    }
}

/// Codes as many of the bits as fit into `room`. Returns how many.
pub(super) fn encode(bits: impl Iterator<Item = bool>, room: &mut [u8]) -> usize {
    let (mut model, mut interval) = (Model::NEW, Interval::WHOLE);
    let (mut used, mut coded) = (0, 0);
    for bit in bits {
        if used + 2 * MOST > room.len() {
            break;
        }
        interval.narrow(interval.split(model.probability()), bit);
        while let Some(byte) = interval.shift() {
            room[used] = byte;
            used += 1;
        }
        model.learn(bit);
        coded += 1;
    }
    room[used..used + MOST].copy_from_slice(&interval.low.to_be_bytes());
    coded
}

/// Reads the blocks of set bits again.
pub(super) struct Decoder<I> {
    rest: I,
    model: Model,
    interval: Interval,
    number: u32,
    /// The offset of the next bit, and that after the last.
    at: u64,
    end: u64,
}

impl<'a, I: Iterator<Item = &'a u8>> Decoder<I> {
    /// The bits of the offsets from 1 to before `end`.
    pub(super) fn new(code: I, end: u64) -> Self {
        let (model, interval) = (Model::NEW, Interval::WHOLE);
        let mut decoder = Self { rest: code, model, interval, number: 0, at: 1, end };
        (0..MOST).for_each(|_| decoder.read());
        decoder
    }

    fn read(&mut self) {
        self.number = self.number << 8 | u32::from(self.rest.next().copied().unwrap_or(0));
    }

    fn bit(&mut self) -> bool {
        let split = self.interval.split(self.model.probability());
        let bit = self.number <= split;
        self.interval.narrow(split, bit);
        while self.interval.shift().is_some() {
            self.read();
        }
        self.model.learn(bit);
        bit
    }

    /// The offset of the next bit with this value, or the end.
    fn find(&mut self, wanted: bool) -> u64 {
        while self.at < self.end {
            self.at += 1;
            if self.bit() == wanted {
                return self.at - 1;
            }
        }
        self.end
    }

    /// The offsets of the next block: its first, and that after its last.
    pub(super) fn block(&mut self) -> Option<(u64, u64)> {
        if self.at >= self.end {
            return None;
        }
        let start = self.find(true);
        (start < self.end).then(|| (start, self.find(false)))
    }
}
