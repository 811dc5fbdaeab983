//! Independent loss of whole packets with one probability.

use engine::Stream;
use registry::{OptionKind, OptionSpec};
use units::{Bytes, Ratio, SimTime};

use super::{Algorithm, LossModel};

pub(super) const ROW: Algorithm = Algorithm {
    name: "packet",
    summary: "each packet is lost independently with one probability",
    source: "Bernoulli trials",
    notes: "",
    options: &[OptionSpec::compulsory(
        "probability",
        OptionKind::Probability,
        "probability that a packet is lost",
    )],
    check: registry::independent,
    build: |options| Box::new(Bernoulli::new(options.probability("probability"))),
};

/// Loses each packet with the same probability, whatever its size.
#[derive(Clone, Debug)]
pub(crate) struct Bernoulli {
    probability: f64,
}

impl Bernoulli {
    /// With this probability per packet.
    pub fn new(probability: Ratio) -> Self {
        Self { probability: probability.get() }
    }
}

impl LossModel for Bernoulli {
    fn is_lost(&mut self, _at: SimTime, _size: Bytes, stream: &mut Stream) -> bool {
        stream.uniform() < self.probability
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use crate::loss::statistics::{Theory, measure};

    #[test]
    fn losses_are_independent() {
        for (text, p) in [("0.01", 0.01), ("0.3", 0.3)] {
            measure("packet", &[("probability", text)], Nanos::ZERO, &Theory::independent(p));
        }
    }
}
