//! The applications by name: the one place that a new one is entered.

use registry::{Family, Options};

use crate::{App, bulk, command, ftp, game, http, iperf, onoff, player, probe, replay, video};

/// The applications.
#[derive(Clone, Copy, Debug)]
pub enum Apps {}

impl Family for Apps {
    type Build = fn(&Options) -> Box<dyn App>;
    const BUILTIN: &'static [Algorithm] = &[
        bulk::ROW,
        iperf::ROW,
        ftp::ROW,
        http::ROW,
        onoff::ROW,
        video::ROW,
        player::ROW,
        game::ROW,
        replay::ROW,
        probe::SOCKPERF,
        probe::PING,
        command::ROW,
    ];
}

/// A row of the registry; `build` makes the application of one flow.
pub type Algorithm = registry::Algorithm<Apps>;

/// All rows by name.
pub type Registry = registry::Registry<Apps>;
