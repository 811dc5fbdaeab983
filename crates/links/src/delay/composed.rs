//! Several delays on one link: they add up.
//!
//! Each is asked about each packet at the instant when it leaves the transmitter and draws from a stream of its own: adding
//! a part does not change what the others say. A packet begins where all carry it, and is lost if any of them loses it.
//! Packets may overtake each other if any part lets them.

use units::{Nanos, SimTime};

use super::DelayModel;

/// Delay models in a row.
#[derive(Debug)]
pub struct SummedDelays(Vec<Box<dyn DelayModel>>);

impl SummedDelays {
    /// The sum of `parts`.
    pub fn new(parts: Vec<Box<dyn DelayModel>>) -> Self {
        Self(parts)
    }
}

impl DelayModel for SummedDelays {
    fn delay(&mut self, depart: SimTime) -> Nanos {
        self.0.iter_mut().fold(Nanos::ZERO, |sum, part| sum + part.delay(depart))
    }

    fn ready(&mut self, start: SimTime, end: SimTime) -> SimTime {
        self.0.iter_mut().fold(start, |latest, part| {
            let ready = part.ready(start, end);
            debug_assert!(ready >= start, "a part carries from {ready} on, before {start}");
            latest.max(ready)
        })
    }

    fn loses(&mut self, depart: SimTime) -> bool {
        self.0.iter_mut().any(|part| part.loses(depart))
    }

    fn reorders(&self) -> bool {
        self.0.iter().any(|part| part.reorders())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::ConstantDelay;

    /// Carries packets in the first half of each second only; what leaves in the second is lost.
    #[derive(Debug)]
    struct HalfSeconds {
        shifted: u64,
    }

    impl HalfSeconds {
        fn open(&self, at: SimTime) -> bool {
            (at.0 + self.shifted) % 1_000_000_000 < 500_000_000
        }
    }

    impl DelayModel for HalfSeconds {
        fn delay(&mut self, _depart: SimTime) -> Nanos {
            Nanos::from_millis(5)
        }

        fn ready(&mut self, start: SimTime, _end: SimTime) -> SimTime {
            let mut at = start;
            while !self.open(at) {
                at += Nanos::from_millis(1);
            }
            at
        }

        fn loses(&mut self, depart: SimTime) -> bool {
            !self.open(depart)
        }

        fn reorders(&self) -> bool {
            self.shifted > 0
        }
    }

    #[test]
    fn delays_add_and_gaps_unite() {
        let ms = SimTime::from_millis;
        let open_together = |shifted| HalfSeconds { shifted };
        let mut sum = SummedDelays::new(vec![
            Box::new(ConstantDelay(Nanos::from_millis(100))),
            Box::new(open_together(0)),
            Box::new(open_together(750_000_000)),
        ]);
        assert_eq!(sum.delay(ms(10)), Nanos::from_millis(110));
        // One is open from 0 to 500 ms, the other from 250 to 750 ms.
        assert_eq!([0, 300, 600].map(|at| sum.ready(ms(at), ms(at + 1))), [ms(250), ms(300), ms(1000)]);
        assert_eq!([100, 300, 600, 900].map(|at| sum.loses(ms(at))), [true, false, true, true]);
        assert!(sum.reorders());
        assert!(!SummedDelays::new(vec![Box::new(open_together(0))]).reorders());
    }
}
