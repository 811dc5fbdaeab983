//! Counters of an association: read from its packets where they leave the sender and where they reach the receiver.
//!
//! May: count chunks and messages. May not: decide anything.

use units::{Bytes, Nanos, SimTime};

use super::packets::Data;

/// One path: the interface that the sender leaves by and the address of the receiver that belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Duplex link of the sender's interface.
    pub duplex_link: usize,
    /// Bytes on the wire that the sender sent, SACKs and heartbeats included.
    pub wire: Bytes,
    /// User data sent, retransmissions included.
    pub sent: Bytes,
    /// DATA chunks sent, retransmissions included.
    pub chunks: u64,
    /// Retransmissions among them.
    pub retransmitted: u64,
    /// Retransmitted chunks whose copy before was sent on another path.
    pub moved: u64,
    /// User data that reached the receiver, first copies.
    pub received: Bytes,
    /// DATA chunks that reached the receiver.
    pub chunks_received: u64,
    /// Received chunks that had arrived before.
    pub repeated: u64,
    /// New chunks that arrived after a later one.
    pub late: u64,
}

/// When a message went through its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTimes {
    /// The application had it ready, or the socket took it where the application always has one.
    pub written: SimTime,
    /// It was delivered to the receiving application; `None`: it was not.
    pub delivered: Option<SimTime>,
}

impl MessageTimes {
    /// From writing to delivery.
    pub fn delay(&self) -> Option<Nanos> {
        self.delivered.map(|delivered| delivered.since(self.written))
    }
}

/// Counters of one association.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    paths: Vec<PathCounts>,
    /// TSN of the first DATA chunk.
    first: Option<u32>,
    /// By TSN, from the first on: the path of the copy that was sent last.
    last_path: Vec<usize>,
    /// By TSN: whether it has arrived.
    arrived: Vec<bool>,
    messages: Vec<MessageTimes>,
    delivered: u64,
}

impl Counts {
    /// Nothing counted; `links` are the duplex links of the paths.
    pub(super) fn new(links: impl IntoIterator<Item = usize>) -> Self {
        let path = |duplex_link| PathCounts { duplex_link, ..PathCounts::default() };
        Self { paths: links.into_iter().map(path).collect(), ..Self::default() }
    }

    /// The sender sends a packet of this many bytes on `path`.
    pub(super) fn on_sent(&mut self, path: usize, size: Bytes, chunks: impl Iterator<Item = Data>) {
        self.paths[path].wire += size;
        for chunk in chunks {
            let index = self.index(chunk.tsn);
            let counts = &mut self.paths[path];
            counts.chunks += 1;
            counts.sent += Bytes(u64::from(chunk.payload));
            match self.last_path.get_mut(index) {
                Some(last) => {
                    counts.retransmitted += 1;
                    counts.moved += u64::from(*last != path);
                    *last = path;
                }
                None => {
                    debug_assert_eq!(index, self.last_path.len(), "new DATA chunks are sent in order");
                    self.last_path.push(path);
                    self.arrived.push(false);
                }
            }
        }
        self.check();
    }

    /// A packet of the sender reaches the receiver over `path`.
    pub(super) fn on_received(&mut self, path: usize, chunks: impl Iterator<Item = Data>) {
        for chunk in chunks {
            let index = self.index(chunk.tsn);
            let later = self.arrived.get(index + 1..).is_some_and(|later| later.contains(&true));
            let counts = &mut self.paths[path];
            counts.chunks_received += 1;
            match self.arrived.get_mut(index) {
                Some(true) => counts.repeated += 1,
                Some(arrived) => {
                    *arrived = true;
                    counts.received += Bytes(u64::from(chunk.payload));
                    counts.late += u64::from(later);
                }
                None => debug_assert!(false, "TSN {} arrives and was not sent", chunk.tsn),
            }
        }
        self.check();
    }

    /// The application has this message ready: the next one.
    pub(super) fn on_written(&mut self, number: u64, now: SimTime) {
        if number == self.messages.len() as u64 {
            self.messages.push(MessageTimes { written: now, delivered: None });
        }
    }

    /// A message is delivered.
    ///
    /// # Errors
    /// It was never written, or was delivered before.
    pub(super) fn on_delivered(&mut self, number: u64, now: SimTime) -> Result<(), String> {
        match self.messages.get_mut(number as usize) {
            Some(times) if times.delivered.is_none() => times.delivered = Some(now),
            Some(_) => return Err(format!("message {number} was delivered twice")),
            None => return Err(format!("message {number} was delivered and never written")),
        }
        self.delivered += 1;
        self.check();
        Ok(())
    }

    /// Messages delivered.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Counters by path, and messages by number.
    pub(super) fn into_parts(self) -> (Vec<PathCounts>, Vec<MessageTimes>) {
        (self.paths, self.messages)
    }

    /// Counters by path.
    pub(super) fn paths(&self) -> &[PathCounts] {
        &self.paths
    }

    fn index(&mut self, tsn: u32) -> usize {
        tsn.wrapping_sub(*self.first.get_or_insert(tsn)) as usize
    }

    fn check(&self) {
        debug_assert_eq!(self.last_path.len(), self.arrived.len(), "what was sent may arrive");
        debug_assert!(self.delivered <= self.messages.len() as u64, "what was written is delivered");
        debug_assert!(
            self.paths
                .iter()
                .all(|path| path.moved <= path.retransmitted && path.retransmitted <= path.chunks),
            "retransmissions are transmissions"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(tsn: u32) -> std::iter::Once<Data> {
        std::iter::once(Data { tsn, payload: 100 })
    }

    /// TSNs wrap; the second is lost and sent again on the other path.
    #[test]
    fn retransmissions_and_late_chunks_are_told_apart() {
        let mut counts = Counts::new([0, 1]);
        for tsn in [u32::MAX, 0, 1] {
            counts.on_sent(0, Bytes(150), data(tsn));
        }
        counts.on_received(0, data(u32::MAX));
        counts.on_received(0, data(1));
        counts.on_sent(1, Bytes(150), data(0));
        counts.on_received(1, data(0));
        counts.on_received(1, data(0));
        let [first, second] = counts.paths() else { panic!("two paths") };
        assert_eq!((first.chunks, first.retransmitted, first.wire), (3, 0, Bytes(450)));
        assert_eq!((first.received, first.late, first.repeated), (Bytes(200), 0, 0));
        assert_eq!((second.chunks, second.retransmitted, second.moved), (1, 1, 1));
        assert_eq!((second.chunks_received, second.late, second.repeated), (2, 1, 1));
    }

    #[test]
    fn a_message_is_delivered_once() {
        let mut counts = Counts::new([0]);
        counts.on_written(0, SimTime(5));
        counts.on_written(0, SimTime(9));
        assert_eq!(counts.on_delivered(0, SimTime(25)), Ok(()));
        assert!(counts.on_delivered(0, SimTime(26)).unwrap_err().contains("twice"));
        assert!(counts.on_delivered(1, SimTime(26)).unwrap_err().contains("never written"));
        let (_, messages) = counts.into_parts();
        assert_eq!(messages[0].delay(), Some(Nanos(20)));
    }
}
