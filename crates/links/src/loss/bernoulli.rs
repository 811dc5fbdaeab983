//! Independent loss of whole packets with one probability.

use engine::Stream;
use units::{Bytes, OptionKind, OptionSpec, Ratio, SimTime};

use super::{Algorithm, LossModel};

pub(super) const ROW: Algorithm = Algorithm {
    name: "packet",
    summary: "each packet is lost independently with one probability",
    source: "Bernoulli trials",
    notes: "",
    options: &[OptionSpec {
        name: "probability",
        kind: OptionKind::Probability,
        default: None,
        doc: "probability that a packet is lost",
    }],
    build: |options| Box::new(Bernoulli::new(options.probability("probability"))),
};

/// Loses each packet with the same probability, whatever its size.
#[derive(Clone, Debug)]
pub struct Bernoulli {
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
    use super::*;

    #[test]
    fn observed_rate_lies_in_its_interval() {
        let (n, p) = (1_000_000u32, 0.01);
        let mut model = Bernoulli::new(Ratio::new(p).unwrap());
        let mut stream = Stream::named(1, "link", "loss");
        let lost = (0..n).filter(|_| model.is_lost(SimTime::ZERO, Bytes(1500), &mut stream)).count();
        let sigma = (f64::from(n) * p * (1.0 - p)).sqrt();
        assert!((lost as f64 - f64::from(n) * p).abs() < 4.0 * sigma, "{lost} of {n}");
    }
}
