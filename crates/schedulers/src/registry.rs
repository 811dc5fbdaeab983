//! The schedulers by name: the one place that a new one is entered.

use units::{Family, Options};

use crate::{
    Scheduler, blest, bufferbloat, ecf, espc, kimura, minratio_thesis, minrtt, round_robin,
    weighted_round_robin,
};

/// The schedulers.
#[derive(Clone, Copy, Debug)]
pub enum Schedulers {}

impl Family for Schedulers {
    type Build = fn(&Options) -> Box<dyn Scheduler>;
    const BUILTIN: &'static [Algorithm] = &[
        minrtt::ROW,
        round_robin::ROW,
        weighted_round_robin::ROW,
        ecf::ROW,
        blest::ROW,
        kimura::LWS_ROW,
        kimura::LTS_ROW,
        kimura::HSR_ROW,
        bufferbloat::ROW,
        espc::ROW,
        minratio_thesis::ROW,
    ];
}

/// A row of the registry; `build` makes the scheduler of one connection.
pub type Algorithm = units::Algorithm<Schedulers>;

/// All rows by name.
pub type Registry = units::Registry<Schedulers>;
