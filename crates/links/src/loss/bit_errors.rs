//! Independent bit errors: a packet is lost if any of its bits is wrong, so large packets suffer more.

use engine::Stream;
use registry::{OptionKind, OptionSpec};
use units::{Bytes, Ratio, SimTime};

use super::{Algorithm, LossModel};

pub(super) const ROW: Algorithm = Algorithm {
    name: "ber",
    summary: "bits are wrong independently; a packet with a wrong bit is lost",
    source: "PER = 1 - (1 - BER)^n with the packet's own size",
    notes: "",
    options: &[OptionSpec::compulsory("ratio", OptionKind::Probability, "bit error ratio")],
    check: registry::independent,
    build: |options| Box::new(BitErrors::new(options.probability("ratio"))),
};

/// Bit errors with a constant ratio.
#[derive(Clone, Debug)]
pub(super) struct BitErrors {
    ratio: f64,
    /// Most packets have one of few sizes: the last two and their error ratios.
    cache: [(Bytes, f64); 2],
}

/// Probability that a packet of `size` has at least one wrong bit.
fn packet_error_ratio(bit_error_ratio: f64, size: Bytes) -> f64 {
    if bit_error_ratio >= 1.0 {
        return if size == Bytes::ZERO { 0.0 } else { 1.0 };
    }
    let bits = size.as_f64() * 8.0;
    -libm::expm1(bits * libm::log1p(-bit_error_ratio))
}

impl BitErrors {
    /// With this bit error ratio.
    pub fn new(ratio: Ratio) -> Self {
        Self { ratio: ratio.get(), cache: [(Bytes::ZERO, 0.0); 2] }
    }

    /// Probability that a packet of `size` is lost.
    pub(super) fn probability(&mut self, size: Bytes) -> f64 {
        if let Some((_, known)) = self.cache.iter().find(|(s, _)| *s == size) {
            return *known;
        }
        let ratio = packet_error_ratio(self.ratio, size);
        debug_assert!((0.0..=1.0).contains(&ratio), "packets of {size} are lost with probability {ratio}");
        debug_assert!(
            self.cache.iter().all(|(other, known)| if *other < size {
                *known <= ratio
            } else {
                *known >= ratio
            }),
            "larger packets suffer more: {size} {ratio} {:?}",
            self.cache
        );
        self.cache = [(size, ratio), self.cache[0]];
        ratio
    }
}

impl LossModel for BitErrors {
    fn is_lost(&mut self, _at: SimTime, size: Bytes, stream: &mut Stream) -> bool {
        stream.uniform() < self.probability(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::statistics::{Theory, measure};

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-5 * b, "{a} is not {b}");
    }

    /// Test vector PER-1: n is in bits.
    #[test]
    fn per_1() {
        let cases = [
            (8000, 1e-3, 0.999666),
            (8000, 1e-4, 0.550689),
            (8000, 1e-5, 0.0768840),
            (8000, 1e-6, 0.00796809),
            (8000, 1e-8, 7.99968e-5),
            (12000, 1e-5, 0.113080),
            (12000, 1e-6, 0.0119283),
            (12000, 1e-7, 0.00119928),
        ];
        for (bits, ber, per) in cases {
            close(packet_error_ratio(ber, Bytes(bits / 8)), per);
        }
        let one_hop = packet_error_ratio(1e-6, Bytes(1000));
        close(1.0 - (1.0 - one_hop) * (1.0 - one_hop), 0.0158727);
    }

    /// PER-1 observed: 10^6 packets of 8000 bits.
    #[test]
    fn packets_are_lost_independently_at_their_ratio() {
        for (ber, per) in [("1e-6", 0.00796809), ("1e-5", 0.0768840), ("1e-4", 0.550689)] {
            measure("ber", &[("ratio", ber)], units::Nanos::ZERO, &Theory::independent(per));
        }
    }

    #[test]
    fn sizes_alternate_without_confusion() {
        let mut model = BitErrors::new(Ratio::new(1e-5).unwrap());
        for size in [1500, 40, 1500, 52, 40, 1500] {
            close(model.probability(Bytes(size)), packet_error_ratio(1e-5, Bytes(size)));
        }
    }
}
