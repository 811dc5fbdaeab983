//! UDP: what the two ends of a conversation have sent to each other.
//!
//! May: count datagrams. May not: look into them, as they may be of any protocol.

use wire::frame::{Ends, Frame};

use crate::connection::{Connection, Mode, Subflow};
use crate::place::{Key, Place};
use crate::reading::Reading;

impl Reading {
    /// A UDP datagram.
    pub(crate) fn datagram(&mut self, at: u64, place: Place, frame: &Frame<'_>) {
        let key = Key::of(place, frame.ends);
        let index = match self.conversations.get(&key) {
            Some(index) => *index,
            None => self.open_conversation(at, key, place, frame.ends),
        };
        let end = usize::from(self.subflows[index].ends != frame.ends);
        self.sample(at, (index, end));
        let subflow = &mut self.subflows[index];
        subflow.last = at;
        let direction = &mut subflow.directions[end];
        direction.counts.packets += 1;
        direction.counts.wire_bytes += frame.len as u64;
        if frame.payload_len > 0 {
            direction.datagram(at, frame.payload_len as u64);
        }
    }

    /// The sender of the first datagram stands for the client.
    fn open_conversation(&mut self, at: u64, key: Key, (file, way): Place, ends: Ends) -> usize {
        let start = *self.opened.entry((file, ends, 0)).or_insert(at);
        let index = self.subflows.len();
        let connection = self.connections.len();
        self.connections.push(Connection { start, subflows: vec![index], ..Connection::default() });
        self.subflows.push(Subflow::open(at, (file, way), ends, connection, Mode::Datagrams));
        self.conversations.insert(key, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use wire::frame::write_udp;
    use wire::pcapng::{Direction, Interface, Writer};

    use super::*;
    use crate::{read_bytes, tables};
    use trace::Data;
    use units::SimTime;

    fn ends() -> Ends {
        Ends { source: ([10, 0, 0, 1], 49_152).into(), destination: ([10, 0, 0, 2], 5_001).into() }
    }

    /// Three datagrams of which the second is lost, and an answer that has no payload; at both ends, or at the receiver.
    fn captured(sender: bool) -> Vec<u8> {
        let interface = |name: &str| Interface { name: name.into(), description: String::new() };
        let mut writer =
            Writer::new(Vec::new(), "", &[interface("a"), interface("b")], 96).expect("memory takes it");
        for (number, lost) in [(0, false), (1, true), (2, false)] {
            let mut packet = Vec::new();
            write_udp(&mut packet, ends(), 0, &[0; 200]);
            let at = SimTime(number * 1_000_000);
            if sender {
                writer.packet(0, at, Direction::Outbound, &packet).expect("memory takes it");
            }
            if !lost {
                writer.packet(1, at, Direction::Inbound, &packet).expect("memory takes it");
            }
        }
        let mut answer = Vec::new();
        write_udp(&mut answer, ends().reversed(), 0, &[]);
        writer.packet(1, SimTime(3_000_000), Direction::Outbound, &answer).expect("memory takes it");
        writer.finish(SimTime(4_000_000)).expect("memory takes it")
    }

    fn column(bytes: &[u8], table: &str, name: &str) -> Data {
        let found = tables(&read_bytes(bytes));
        let table = found.into_iter().find(|one| one.name == table).expect("the table");
        table.column(name).expect("the column").clone()
    }

    #[test]
    fn both_ends_tell_what_was_lost() {
        let bytes = captured(true);
        for (table, name, value) in [
            ("flows", "segments_sent", 3),
            ("flows", "delivered_bytes", 400),
            ("subflows", "segments_received", 2),
            ("subflows", "lost_segments", 1),
        ] {
            assert_eq!(column(&bytes, table, name), Data::OptionalInteger(vec![Some(value)]), "{name}");
        }
        let Data::Real(goodput) = column(&bytes, "flows", "goodput_bit_s") else { panic!("real numbers") };
        assert_eq!(goodput, [Some(400.0 * 8.0 / 0.004)]);
    }

    /// Nothing acknowledges a datagram: its sender does not know whether it arrived.
    #[test]
    fn one_end_knows_its_own() {
        let bytes = captured(false);
        assert_eq!(column(&bytes, "flows", "delivered_bytes"), Data::OptionalInteger(vec![Some(400)]));
        assert_eq!(column(&bytes, "flows", "segments_sent"), Data::OptionalInteger(vec![None]));
        assert_eq!(column(&bytes, "subflows", "lost_segments"), Data::OptionalInteger(vec![None]));
    }
}
