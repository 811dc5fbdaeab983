//! The congestion controls by name: the one place that a new one is entered.

use registry::{Family, Options};
use units::Bytes;

use crate::{
    CongestionControl, Growth, Needs, Setup, SsthreshFrom, adalr, balia, bbr, cubic, fixed_rate, hybla,
    jersey, lia, newreno, newvegas, olia, peach, sctp, star, vegas, westwood, wvegas,
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
        sctp::ROW,
        sctp::RPV1_ROW,
        sctp::RPV2_ROW,
        sctp::MPTCP_LIKE_ROW,
    ];
}

/// A row of the registry; `build` makes the congestion control of one path.
pub type Algorithm = registry::Algorithm<Congestion>;

/// Needs of a controller of this row with checked `options`; they do not depend on the path.
pub fn needs(row: &Algorithm, options: &Options) -> Needs {
    let mss = Bytes(1460);
    let setup = Setup {
        mss,
        initial_window: mss * 10,
        initial_ssthresh: mss * 100,
        growth: Growth { slow_start_limit: 1, byte_counting: true },
        ssthresh_from: SsthreshFrom::Flight,
        paced: false,
        offload: false,
    };
    (row.build)(&setup, options).needs()
}

/// All rows by name.
pub type Registry = registry::Registry<Congestion>;
