//! Several loss models on one link, all at work at once: a packet is lost if any of them loses it.
//!
//! ```text
//! P(lost) = 1 - (1 - P1)(1 - P2)...
//! ```
//!
//! Each is asked about each packet, whatever the others say, and draws from streams of its own: adding a model
//! does not change what the others lose.

use engine::Stream;
use units::{Bytes, SimTime};

use super::LossModel;

/// Loss models in a row.
#[derive(Debug)]
pub struct CombinedLosses {
    first: Box<dyn LossModel>,
    further: Vec<(Box<dyn LossModel>, Stream)>,
}

impl CombinedLosses {
    /// `first` draws from the stream of the link, the others from theirs.
    pub fn new(first: Box<dyn LossModel>, further: Vec<(Box<dyn LossModel>, Stream)>) -> Self {
        Self { first, further }
    }
}

impl LossModel for CombinedLosses {
    fn is_lost(&mut self, at: SimTime, size: Bytes, stream: &mut Stream) -> bool {
        let mut lost = self.first.is_lost(at, size, stream);
        for (model, stream) in &mut self.further {
            lost |= model.is_lost(at, size, stream);
        }
        lost
    }

    fn share(&mut self, mut shared: Stream) {
        self.first.share(shared.split());
        for (model, _) in &mut self.further {
            model.share(shared.split());
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Ratio;

    use super::*;
    use crate::loss::bernoulli::Bernoulli;
    use crate::loss::statistics::{Theory, check};

    fn bernoulli(p: f64) -> Box<dyn LossModel> {
        Box::new(Bernoulli::new(Ratio::new(p).unwrap()))
    }

    fn fates(model: &mut dyn LossModel, n: u32) -> Vec<bool> {
        let mut stream = Stream::named(1, "link", "loss");
        (0..n).map(|_| model.is_lost(SimTime::ZERO, Bytes(1500), &mut stream)).collect()
    }

    #[test]
    fn losses_add_up_and_the_first_model_is_not_disturbed() {
        let n = 1_000_000;
        let further = vec![
            (bernoulli(0.1), Stream::named(1, "link", "loss.2")),
            (bernoulli(0.05), Stream::named(1, "link", "loss.3")),
        ];
        let mut composed = CombinedLosses::new(bernoulli(0.02), further);
        let all = fates(&mut composed, n);
        let theory = Theory::independent(1.0 - 0.98 * 0.9 * 0.95);
        check("composed", &all, &theory);
        let alone = fates(&mut *bernoulli(0.02), n);
        assert!(alone.iter().zip(&all).all(|(alone, all)| !alone || *all));
    }

    /// Loses every second packet, by the sky alone.
    #[derive(Debug, Default)]
    struct Clouds(Option<Stream>);

    impl LossModel for Clouds {
        fn is_lost(&mut self, _: SimTime, _: Bytes, _: &mut Stream) -> bool {
            self.0.as_mut().is_some_and(|sky| sky.uniform() < 0.5)
        }

        fn share(&mut self, sky: Stream) {
            self.0 = Some(sky);
        }
    }

    #[test]
    fn all_have_something_in_common_with_the_other_direction_and_nothing_with_each_other() {
        let sky = || Stream::named(1, "link", "sky");
        let direction = |name| {
            let further: Vec<(Box<dyn LossModel>, _)> =
                vec![(Box::new(Clouds::default()), Stream::named(1, name, "loss.2"))];
            let mut composed = CombinedLosses::new(Box::new(Clouds::default()), further);
            composed.share(sky());
            fates(&mut composed, 100_000)
        };
        let up = direction("link.up");
        assert_eq!(up, direction("link.down"));
        check("clouds", &up, &Theory::independent(0.75));
        let mut alone = Clouds::default();
        alone.share(sky());
        assert!(fates(&mut alone, 100_000).iter().zip(&up).all(|(alone, all)| !alone || *all));
    }
}
