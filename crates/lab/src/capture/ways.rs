//! Directions of subflows by the addresses of their packets.

use network::HostAddress;
use wire::codec::Way;

/// Neighbouring ports of a host whose directions are found at once.
const PORTS: usize = 16;

/// A direction, with the addresses of its packets.
type Known = Option<([HostAddress; 2], Way)>;

/// The directions that were asked for last, one for each pair of neighbouring ports.
#[derive(Debug)]
pub(super) struct Ways(Box<[Known; PORTS * PORTS]>);

impl Default for Ways {
    fn default() -> Self {
        Self(Box::new([const { None }; PORTS * PORTS]))
    }
}

impl Ways {
    /// The direction of packets between these addresses, if it is known.
    #[inline]
    pub(super) fn get(&self, ends: &[HostAddress; 2]) -> Option<Way> {
        let (known, way) = self.0[place(ends)].as_ref()?;
        // Arrays are compared by a call.
        (known[0] == ends[0] && known[1] == ends[1]).then_some(*way)
    }

    /// Keeps the direction of packets between these addresses.
    pub(super) fn keep(&mut self, ends: [HostAddress; 2], way: Way) {
        self.0[place(&ends)] = Some((ends, way));
    }

    /// A subflow is opened: its addresses may have been those of another one.
    pub(super) fn forget(&mut self, [client, server]: [HostAddress; 2]) {
        for ends in [[client, server], [server, client]] {
            self.0[place(&ends)] = None;
        }
    }
}

#[inline]
fn place([source, destination]: &[HostAddress; 2]) -> usize {
    usize::from(source.port()) % PORTS * PORTS + usize::from(destination.port()) % PORTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_known_until_another_takes_its_place() {
        let mut ways = Ways::default();
        let at = |port| HostAddress::new(1, None, port);
        let (one, other) = ([at(1), at(2)], [at(1 + PORTS as u16), at(2)]);
        let way = Way::default();
        ways.keep(one, way);
        assert_eq!((ways.get(&one), ways.get(&other)), (Some(way), None));
        ways.keep(other, way);
        assert_eq!((ways.get(&one), ways.get(&other)), (None, Some(way)));
        ways.forget([at(2), at(1 + PORTS as u16)]);
        assert_eq!(ways.get(&other), None);
    }
}
