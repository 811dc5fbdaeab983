//! Random durations of phases and gaps.

use registry::{OptionKind, OptionSpec, Options};
use units::Nanos;

use crate::AppContext;

/// How a duration with a given mean is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Always the mean.
    Constant,
    /// Exponential.
    Exponential,
    /// Normal with this standard deviation in seconds, drawn again until positive (choice D-61).
    Normal(f64),
    /// Normal with this standard deviation in seconds; the sign is dropped.
    FoldedNormal(f64),
    /// Pareto with this shape parameter; its scale follows from the mean.
    Pareto(f64),
}

/// Words of the option that chooses among them.
pub(crate) const SHAPES: OptionKind =
    OptionKind::Choice(&["constant", "exponential", "normal", "folded-normal", "pareto"]);

/// The shape parameter, for the options of an application with such phases.
pub(crate) const PARETO_SHAPE: OptionSpec = OptionSpec::new(
    "shape",
    OptionKind::Number { min: 1.01, max: 100.0 },
    "1.5",
    "shape parameter of the Pareto distribution; the mean is finite above 1, the variance above 2",
);

impl Shape {
    /// The shape that the option `phases` names; `sd` is the option that holds its standard deviation.
    pub(crate) fn of(options: &Options, sd: &str) -> Self {
        let sd = options.duration(sd).as_secs_f64();
        match options.choice("phases").as_str() {
            "exponential" => Self::Exponential,
            "normal" => Self::Normal(sd),
            "folded-normal" => Self::FoldedNormal(sd),
            "pareto" => Self::Pareto(options.number("shape")),
            _ => Self::Constant,
        }
    }

    /// A duration with this mean (of `FoldedNormal` and `Normal` the mean before folding and drawing again).
    pub(crate) fn draw(self, mean: Nanos, ctx: &mut dyn AppContext) -> Nanos {
        let seconds = mean.as_secs_f64();
        match self {
            Self::Constant => mean,
            Self::Exponential => Nanos::from_secs_f64(-seconds * libm::log(open(ctx))),
            // It would be drawn again for ever.
            Self::Normal(sd) if sd <= 0.0 => mean,
            Self::Normal(sd) => loop {
                let value = seconds + sd * normal(ctx);
                if value > 0.0 {
                    return Nanos::from_secs_f64(value);
                }
            },
            Self::FoldedNormal(sd) => Nanos::from_secs_f64((seconds + sd * normal(ctx)).abs()),
            Self::Pareto(shape) => {
                let scale = seconds * (shape - 1.0) / shape;
                Nanos::from_secs_f64(pareto(scale, shape, open(ctx)))
            }
        }
    }
}

/// Inverse of the Pareto distribution function: `u` in (0, 1], `scale` the smallest value.
pub(crate) fn pareto(scale: f64, shape: f64, u: f64) -> f64 {
    debug_assert!(u > 0.0 && u <= 1.0 && shape > 0.0, "u {u}, shape {shape}");
    let value = scale * libm::pow(u, -1.0 / shape);
    debug_assert!(value >= scale, "{value} is below the smallest value {scale}");
    value
}

/// Uniform in (0, 1].
pub(crate) fn open(ctx: &mut dyn AppContext) -> f64 {
    1.0 - ctx.uniform()
}

/// Standard normal (Box and Muller).
pub(crate) fn normal(ctx: &mut dyn AppContext) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(open(ctx)));
    radius * libm::cos(2.0 * std::f64::consts::PI * ctx.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Notes;

    /// The sampling rule of the NetPerfMeter flows: scale 0.166667 s, shape 1.5.
    #[test]
    fn pareto_samples() {
        assert!((pareto(0.166_667, 1.5, 0.5) - 0.264_567).abs() < 1e-6);
        assert!((pareto(0.166_667, 1.5, 0.1) - 0.773_600).abs() < 1e-6);
    }

    #[test]
    fn means_are_those_asked_for() {
        let mut ctx = Notes::default();
        let mean = Nanos::from_millis(500);
        for (shape, expected) in [
            (Shape::Constant, 0.5),
            (Shape::Exponential, 0.5),
            (Shape::Normal(0.1), 0.5),
            (Shape::FoldedNormal(0.1), 0.5),
            // A finite variance, so that the mean of a sample means something.
            (Shape::Pareto(3.0), 0.5),
        ] {
            let n = 20_000;
            let sum: f64 = (0..n).map(|_| shape.draw(mean, &mut ctx).as_secs_f64()).sum();
            let found = sum / f64::from(n);
            assert!((found - expected).abs() < 0.01, "{shape:?}: {found}");
        }
    }

    #[test]
    fn what_is_normal_is_positive_unless_it_cannot_vary() {
        let mut ctx = Notes::default();
        assert_eq!(Shape::Normal(0.0).draw(Nanos::ZERO, &mut ctx), Nanos::ZERO);
        for shape in [Shape::Normal(1.0), Shape::FoldedNormal(1.0)] {
            assert!((0..1000).all(|_| shape.draw(Nanos::from_millis(1), &mut ctx) > Nanos::ZERO));
        }
    }
}
