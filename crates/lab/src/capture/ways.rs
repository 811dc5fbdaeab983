//! Directions of subflows by the addresses of their packets.

use network::HostAddress;
use wire::codec::Way;

/// Places at first, and at most: a power of two.
const PLACES: [usize; 2] = [1 << 8, 1 << 13];

/// A direction, with the addresses of its packets.
type Known = Option<([HostAddress; 2], Way)>;

/// The directions that were asked for last, one for each place. There are more places where two directions want one.
#[derive(Debug)]
pub(super) struct Ways(Vec<Known>);

impl Default for Ways {
    fn default() -> Self {
        Self(vec![None; PLACES[0]])
    }
}

impl Ways {
    /// The direction of packets between these addresses, if it is known.
    #[inline]
    pub(super) fn get(&self, ends: &[HostAddress; 2]) -> Option<Way> {
        let place = self.place(ends);
        self.at(place, ends).or_else(|| self.at_second(place, ends))
    }

    #[inline(always)]
    fn at(&self, place: usize, ends: &[HostAddress; 2]) -> Option<Way> {
        let (known, way) = self.0.get(place)?.as_ref()?;
        // Arrays are compared by a call.
        (known[0] == ends[0] && known[1] == ends[1]).then_some(*way)
    }

    /// A direction whose place another one has may be beside it.
    #[cold]
    #[inline(never)]
    fn at_second(&self, place: usize, ends: &[HostAddress; 2]) -> Option<Way> {
        self.at(place ^ 1, ends)
    }

    /// Keeps the direction of packets between these addresses.
    pub(super) fn keep(&mut self, ends: [HostAddress; 2], way: Way) {
        if !self.put((ends, way)) && self.0.len() < PLACES[1] {
            let twice = vec![None; 2 * self.0.len()];
            let known = std::mem::replace(&mut self.0, twice);
            for known in known.into_iter().flatten().chain([(ends, way)]) {
                self.put(known);
            }
        }
    }

    /// Into one of its two places, or in the place of another: false.
    fn put(&mut self, (ends, way): ([HostAddress; 2], Way)) -> bool {
        let place = self.place(&ends);
        let is_free = |place: &usize| self.0[*place].is_none_or(|(known, _)| known == ends);
        let free = [place, place ^ 1].into_iter().find(is_free);
        self.0[free.unwrap_or(place)] = Some((ends, way));
        free.is_some()
    }

    /// A subflow is opened: its addresses may have been those of another one.
    pub(super) fn forget(&mut self, [client, server]: [HostAddress; 2]) {
        for ends in [[client, server], [server, client]] {
            let place = self.place(&ends);
            for place in [place, place ^ 1] {
                self.0[place] = self.0[place].filter(|(known, _)| *known != ends);
            }
        }
    }

    /// Neighbouring ports have places of their own; so have the legs of a connection through a proxy, with the ports of one another and other nodes.
    #[inline]
    fn place(&self, [source, destination]: &[HostAddress; 2]) -> usize {
        let row = usize::from(source.port()) + 4 * source.node();
        let column = usize::from(destination.port()) + 8 * destination.node();
        (16 * row + column) & (self.0.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_known_until_another_takes_its_place() {
        let mut ways = Ways::default();
        let at = |port: usize| HostAddress::new(1, None, port as u16);
        // All want the same place, whatever their number.
        let ends = [0, 1, 2].map(|n| [at(1 + n * PLACES[1] / 16), at(2)]);
        let known = |ways: &Ways| ends.map(|ends| ways.get(&ends).is_some());
        for ends in &ends[..2] {
            ways.keep(*ends, Way::default());
        }
        assert_eq!((known(&ways), ways.0.len()), ([true, true, false], PLACES[0]), "beside it");
        for _ in 0..8 {
            ways.keep(ends[2], Way::default());
            assert!(known(&ways)[2]);
            ways.keep(ends[0], Way::default());
            assert!(known(&ways)[0]);
        }
        assert_eq!(ways.0.len(), PLACES[1], "no more than that");
        assert_eq!(known(&ways).into_iter().filter(|known| *known).count(), 2);
        ways.forget([at(2), ends[0][0]]);
        assert_eq!((ways.get(&ends[0]), known(&ways)[0]), (None, false));
    }

    #[test]
    fn flows_and_legs_have_places_of_their_own() {
        let mut ways = Ways::default();
        let at = |node, port| HostAddress::new(node, None, port);
        let legs = |flow: u16| [0, 1].map(|node| [at(node, 49_152 + flow), at(node + 1, 5001 + flow)]);
        let all: Vec<_> = (0..1000).flat_map(legs).flat_map(|[a, b]| [[a, b], [b, a]]).collect();
        for ends in all.iter().chain(&all) {
            ways.keep(*ends, Way::default());
        }
        let known = all.iter().filter(|ends| ways.get(ends).is_some()).count();
        // Two thousand subflows are more than most scenarios have at once.
        assert!(100 * known >= 98 * all.len(), "{known} of {}", all.len());
    }
}
