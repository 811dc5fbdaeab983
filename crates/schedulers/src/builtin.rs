//! The schedulers by name: the one place that a new one is entered.

use registry::{Family, Options};

use crate::{
    Scheduler, blest, bufferbloat, daps, ecf, espc, kimura, minratio, minratio_thesis, minrtt, minrtt_rp,
    minrtt_thesis, otias, primary_first, redundant, round_robin, round_robin_pass, round_robin_window, sttf,
    weighted_round_robin,
};

/// The schedulers.
#[derive(Clone, Copy, Debug)]
pub enum Schedulers {}

impl Family for Schedulers {
    type Build = fn(&Options) -> Box<dyn Scheduler>;
    const BUILTIN: &'static [Algorithm] = &[
        minrtt::ROW,
        minrtt_rp::ROW,
        minrtt_thesis::ROW,
        round_robin::ROW,
        weighted_round_robin::ROW,
        round_robin_window::ROW,
        round_robin_pass::ROW,
        primary_first::ROW,
        ecf::ROW,
        blest::ROW,
        kimura::LWS_ROW,
        kimura::LTS_ROW,
        kimura::HSR_ROW,
        bufferbloat::ROW,
        espc::ROW,
        minratio::ROW,
        minratio_thesis::ROW,
        otias::ROW,
        daps::ROW,
        sttf::ROW,
        redundant::ROW,
    ];
}

/// A row of the registry; `build` makes the scheduler of one connection.
pub type Algorithm = registry::Algorithm<Schedulers>;

/// All rows by name.
pub type Registry = registry::Registry<Schedulers>;
