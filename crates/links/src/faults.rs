//! Faults of a link: packets that are held back, copied or damaged, each with its own probability.
//!
//! Drawn when the last bit of a packet leaves the transmitter, for packets that the loss models let through:
//! corruption, duplication, reordering, in this order and always all three.

use engine::Stream;
use units::{Nanos, Ratio};

/// Probabilities per packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Arrives with bit errors: its checksum at the far end of the link finds them, and it is dropped there.
    pub corrupt: Ratio,
    /// Arrives twice, both copies at once.
    pub duplicate: Ratio,
    /// Is held back for `reorder_delay`, while others may overtake it.
    pub reorder: Ratio,
    /// How long it is held back.
    pub reorder_delay: Nanos,
}

/// Faults of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) corrupt: bool,
    pub(crate) duplicate: bool,
    /// Time for which the packet is held back.
    pub(crate) held: Option<Nanos>,
}

impl Faults {
    /// Nothing can go wrong: no random number is needed.
    pub fn none(self) -> bool {
        [self.corrupt, self.duplicate, self.reorder].iter().all(|ratio| ratio.get() == 0.0)
    }

    pub(crate) fn draw(self, stream: &mut Stream) -> Drawn {
        if self.none() {
            return Drawn { corrupt: false, duplicate: false, held: None };
        }
        let mut happens = |ratio: Ratio| stream.uniform() < ratio.get();
        let (corrupt, duplicate, held) =
            (happens(self.corrupt), happens(self.duplicate), happens(self.reorder));
        Drawn { corrupt, duplicate, held: held.then_some(self.reorder_delay) }
    }
}
