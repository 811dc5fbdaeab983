//! Several rates on one link: at each moment the least of them holds.
//!
//! Each of them bounds what a transmitter can clock: a modem that follows the weather behind a line of fixed
//! speed, a contract on top of a radio channel. A model without a rate at an instant, such as delivery opportunities, is no
//! part of this.

use engine::Stream;
use registry::Options;
use units::{BitsPerSecond, SimTime};

use super::piecewise::{Piecewise, Source};
use super::{Algorithm, RateModel};

/// The least of `parts` at each moment; `None` if one of them has no rate at an instant.
pub fn least(mut parts: Vec<Box<dyn RateModel>>) -> Option<Box<dyn RateModel>> {
    if parts.iter_mut().any(|part| part.piece(SimTime::ZERO).is_none()) {
        return None;
    }
    Some(Box::new(Piecewise::new(Least { parts, next_at: SimTime::ZERO })))
}

/// True if the model, made with checked `options`, can be one of several.
pub fn has_rate_at_instants(row: &Algorithm, options: &Options) -> bool {
    let mut model = (row.build)(options, Stream::named(0, "", ""));
    model.piece(SimTime::ZERO).is_some()
}

/// Pieces that end whenever one of the parts changes.
#[derive(Debug)]
struct Least {
    parts: Vec<Box<dyn RateModel>>,
    next_at: SimTime,
}

impl Source for Least {
    fn next(&mut self) -> Option<(SimTime, BitsPerSecond)> {
        let at = self.next_at;
        if at.is_never() {
            return None;
        }
        let (mut least, mut until) = (BitsPerSecond(u64::MAX), SimTime::NEVER);
        for part in &mut self.parts {
            let (rate, end) = part.piece(at)?;
            (least, until) = (least.min(rate), until.min(end));
        }
        debug_assert!(until > at, "a part has a piece that ends at {until}, not after {at}");
        self.next_at = until;
        Some((at, least))
    }
}

#[cfg(test)]
mod tests {
    use registry::NamedFile;
    use units::{Bytes, Nanos};

    use super::super::opportunities::Opportunities;
    use super::super::steps::Listed;
    use super::*;
    use crate::rate::{ConstantRate, work_of};
    use crate::trace_file::OPPORTUNITIES;

    fn steps(rows: &[(u64, u64)], period: Nanos) -> Box<dyn RateModel> {
        let row = |(ms, rate): &(u64, u64)| (Nanos::from_millis(*ms), BitsPerSecond(*rate));
        Box::new(Piecewise::new(Listed::of(rows.iter().map(row).collect(), period)))
    }

    #[test]
    fn the_least_holds_at_each_moment() {
        let ms = SimTime::from_millis;
        let forever = Nanos(u64::MAX);
        let mut rate = least(vec![
            Box::new(ConstantRate::new(BitsPerSecond(6_000_000))),
            steps(&[(0, 8_000_000), (2, 1_000_000), (4, 9_000_000)], forever),
            steps(&[(0, 7_000_000), (3, 0)], Nanos::from_millis(5)),
        ])
        .unwrap();
        // In Mbit/s from each ms on: 6 6 1 0 0 6 6 6 0 0 6 ...
        let kbits: u64 = [6, 6, 1, 0, 0, 6, 6, 6, 0, 0, 6].iter().sum();
        assert_eq!(rate.capacity(ms(11)), work_of(Bytes(kbits * 125)));
        let mut pieces = least(vec![
            steps(&[(0, 8_000_000), (2, 1_000_000)], forever),
            steps(&[(0, 7_000_000), (3, 500_000)], forever),
        ])
        .unwrap();
        assert_eq!(pieces.piece(ms(0)), Some((BitsPerSecond(7_000_000), ms(2))));
        assert_eq!(pieces.piece(ms(2)), Some((BitsPerSecond(1_000_000), ms(3))));
        assert_eq!(pieces.piece(ms(9)), Some((BitsPerSecond(500_000), SimTime::NEVER)));
        // 504 bits at half a bit per microsecond.
        assert_eq!(pieces.end(ms(9), work_of(Bytes(63))), SimTime(10_008_000));
    }

    #[test]
    fn opportunities_have_no_rate_at_an_instant() {
        let file = NamedFile::read("test", "1\n2\n", OPPORTUNITIES).unwrap();
        let trace = Opportunities::new(file.content());
        assert!(least(vec![Box::new(ConstantRate::new(BitsPerSecond(1))), Box::new(trace)]).is_none());
    }
}
