//! State that is allocated when it first changes: a scan opens many connections, and most of them never get an answer.

use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use crate::connection::Stream;
use crate::direction::Direction;

/// A type whose value before any packet is the same for all.
pub(crate) trait Blank: Default + 'static {
    /// That value.
    fn blank() -> &'static Self;
}

impl Blank for Direction {
    fn blank() -> &'static Self {
        static BLANK: LazyLock<Direction> = LazyLock::new(Direction::default);
        &BLANK
    }
}

impl Blank for Stream {
    fn blank() -> &'static Self {
        static BLANK: LazyLock<Stream> = LazyLock::new(Stream::default);
        &BLANK
    }
}

/// A value in a place of its own, once it has been changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Later<T>(Option<Box<T>>);

impl<T> Later<T> {
    /// It has never been changed.
    pub(crate) fn is_blank(&self) -> bool {
        self.0.is_none()
    }
}

impl<T: Blank> Deref for Later<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => T::blank(),
        }
    }
}

impl<T: Blank> DerefMut for Later<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(Box::default)
    }
}

#[cfg(test)]
mod tests {
    use transport::seq::Seq32;
    use units::SimTime;
    use wire::frame::{Ends, TcpFields, TcpFlags, write_tcp};
    use wire::options::OptionBytes;
    use wire::payload::Payload;
    use wire::pcapng::{Interface, Writer};

    use super::*;
    use crate::read_bytes;

    #[test]
    fn a_value_has_a_place_once_it_changes() {
        let mut direction = Later::<Direction>::default();
        assert_eq!((direction.counts.packets, direction.is_blank()), (0, true));
        direction.counts.packets += 1;
        assert_eq!((direction.counts.packets, direction.is_blank()), (1, false));
        assert_eq!(Later::<Direction>::default().counts.packets, 0, "others are as before");
    }

    /// Neither the first SYN nor those after it take room for the other end and for streams, and an answer does.
    #[test]
    fn a_connection_without_an_answer_is_small() {
        let ends = Ends { source: ([10, 0, 0, 1], 49_152).into(), destination: ([10, 0, 0, 2], 443).into() };
        let segment = |ends, flags, ack| {
            let fields = TcpFields { seq: Seq32(7), ack: Seq32(ack), flags, window: 1000 };
            let mut packet = Vec::new();
            write_tcp(&mut packet, (ends, 0), &fields, &OptionBytes::default(), &Payload::zeros(0));
            packet
        };
        let interface = Interface { name: "a".into(), description: String::new() };
        let mut writer = Writer::new(Vec::new(), "", &[interface], 96).expect("memory takes it");
        let answered = Ends { source: ([10, 0, 0, 3], 49_152).into(), ..ends };
        for second in 0..3 {
            for ends in [ends, answered] {
                let syn = segment(ends, TcpFlags::SYN, 0);
                let at = SimTime(second * 1_000_000_000);
                writer.cut_packet(0, at, None, (&syn, syn.len())).expect("memory takes it");
            }
        }
        let answer = segment(answered.reversed(), TcpFlags::SYN.with(TcpFlags::ACK, true), 8);
        writer.cut_packet(0, SimTime(2_100_000_000), None, (&answer, answer.len())).expect("memory takes it");
        let reading = read_bytes(&writer.finish(SimTime(3_000_000_000)).expect("memory takes it"));
        let blank = |index: usize| {
            let subflow = reading.subflow(index);
            let streams = &reading.connections[subflow.connection].streams;
            (subflow.directions.each_ref().map(Later::is_blank), streams.each_ref().map(Later::is_blank))
        };
        assert_eq!(reading.subflow(0).directions[0].counts.packets, 3);
        assert_eq!(blank(0), ([false, true], [true, true]));
        assert_eq!(blank(1), ([false, false], [false, false]));
    }
}
