//! The congestion controls by name: the one place that a new one is entered.

use units::{Family, Options};

use crate::{
    CongestionControl, Setup, adalr, balia, bbr, cubic, fixed_rate, hybla, jersey, lia, newreno, newvegas,
    olia, peach, star, vegas, westwood, wvegas,
};

/// The congestion controls.
#[derive(Clone, Copy, Debug)]
pub enum Congestion {}

impl Family for Congestion {
    type Build = fn(&Setup, &Options) -> Box<dyn CongestionControl>;
    const BUILTIN: &'static [Algorithm] = &[
        newreno::ROW,
        cubic::ROW,
        lia::ROW,
        olia::ROW,
        balia::ROW,
        wvegas::ROW,
        westwood::ROW,
        hybla::ROW,
        vegas::ROW,
        vegas::LINUX_ROW,
        star::ROW,
        bbr::ROW,
        adalr::ROW,
        fixed_rate::ROW,
        jersey::ROW,
        newvegas::ROW,
        peach::ROW,
    ];
}

/// A row of the registry; `build` makes the congestion control of one path.
pub type Algorithm = units::Algorithm<Congestion>;

/// Slow start of this one is without sense where the threshold is unlimited.
pub fn needs_threshold(name: &str) -> bool {
    name == hybla::ROW.name
}

/// This one takes a loss without a mark for corruption, so it needs marks.
pub fn needs_ecn(name: &str) -> bool {
    name == jersey::ROW.name
}

/// All rows by name.
pub type Registry = units::Registry<Congestion>;
