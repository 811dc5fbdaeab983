//! The data that one end of a connection wants to send: what its socket has taken, and the messages in it.
//!
//! May: count bytes. May not: know sockets.

use std::collections::VecDeque;

use apps::Message;
use units::{Bytes, SimTime};

/// A message that has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) size: Bytes,
    pub(crate) tag: u64,
    pub(crate) sent: SimTime,
    /// Its row in the table of messages.
    pub(crate) row: Option<usize>,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    asked: u64,
    written: u64,
    read: u64,
    pub(crate) notify: bool,
    /// Offset after the last byte of each message.
    marks: VecDeque<(u64, Mark)>,
    /// Offset after each write that has not been read whole, and when that was.
    writes: VecDeque<(u64, SimTime)>,
}

impl Outgoing {
    pub(crate) fn ask(&mut self, mark: Mark) {
        self.asked = self.asked.saturating_add(mark.size.0);
        if mark.size != Bytes::MAX {
            self.marks.push_back((self.asked, mark));
        }
    }

    /// A message that an application sends now.
    pub(crate) fn mark(now: SimTime, message: Message, row: Option<usize>) -> Mark {
        Mark { size: message.size, tag: message.tag, sent: now, row }
    }

    /// Bytes that wait for the socket.
    pub(crate) fn backlog(&self) -> u64 {
        self.asked - self.written
    }

    /// The socket has taken `bytes`.
    pub(crate) fn wrote(&mut self, bytes: u64, now: SimTime) {
        self.written += bytes;
        debug_assert!(self.written <= self.asked, "more was written than asked for");
        self.writes.push_back((self.written, now));
    }

    /// The other end has read `bytes`: tells for each write how many of them it had, and when it was.
    pub(crate) fn read(&mut self, bytes: u64, mut each: impl FnMut(SimTime, u64)) {
        let mut from = self.read;
        self.read += bytes;
        debug_assert!(self.read <= self.written, "more was read than written");
        while from < self.read
            && let Some(&(end, written)) = self.writes.front()
        {
            let to = end.min(self.read);
            each(written, to - from);
            from = to;
            if to == end {
                self.writes.pop_front();
            }
        }
    }

    /// The first message that has been read whole.
    pub(crate) fn take_arrived(&mut self) -> Option<Mark> {
        let &(end, mark) = self.marks.front()?;
        if end > self.read {
            return None;
        }
        self.marks.pop_front();
        Some(mark)
    }

    /// Discards what the socket has not taken. False if there was nothing.
    pub(crate) fn cut(&mut self) -> bool {
        let cut = self.backlog() > 0;
        self.asked = self.written;
        self.marks.retain(|(end, _)| *end <= self.written);
        cut
    }

    /// Everything has been read.
    pub(crate) fn is_idle(&self) -> bool {
        self.asked == self.read
    }

    /// Everything that was asked for is written, which the application wanted to know.
    pub(crate) fn take_notify(&mut self) -> bool {
        self.backlog() == 0 && std::mem::take(&mut self.notify)
    }

    /// Nothing was ever to be sent.
    pub(crate) fn is_silent(&self) -> bool {
        self.asked == 0 && self.marks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(size: u64, tag: u64) -> Mark {
        let message = Message { size: Bytes(size), tag, log: None };
        Outgoing::mark(SimTime::from_millis(1), message, None)
    }

    /// 100 bytes written at 1 ms and 50 at 2 ms; 120 are read, then the rest.
    #[test]
    fn bytes_are_told_by_the_write_that_they_came_with_and_messages_once_they_are_whole() {
        let mut out = Outgoing::default();
        out.ask(message(120, 1));
        out.ask(message(30, 2));
        out.wrote(100, SimTime::from_millis(1));
        assert_eq!((out.backlog(), out.is_idle()), (50, false));
        out.wrote(50, SimTime::from_millis(2));
        let mut told = Vec::new();
        out.read(119, |at, bytes| told.push((at, bytes)));
        assert_eq!(told, [(SimTime::from_millis(1), 100), (SimTime::from_millis(2), 19)]);
        assert_eq!(out.take_arrived(), None);
        out.read(31, |_, bytes| assert_eq!(bytes, 31));
        assert_eq!([(); 3].map(|()| out.take_arrived().map(|mark| mark.tag)), [Some(1), Some(2), None]);
        assert!(out.is_idle() && !out.is_silent());
    }

    #[test]
    fn a_cut_leaves_what_the_socket_has_taken() {
        let mut out = Outgoing { notify: true, ..Outgoing::default() };
        out.ask(message(10, 1));
        out.ask(message(10, 2));
        out.ask(message(u64::MAX, 3));
        out.wrote(15, SimTime::ZERO);
        assert!(!out.take_notify() && out.cut() && out.take_notify() && !out.take_notify());
        out.read(15, |_, _| ());
        assert_eq!(out.take_arrived().map(|mark| mark.tag), Some(1));
        assert!(out.take_arrived().is_none() && out.is_idle(), "the second was cut");
    }
}
