//! The applications by name: the one place that a new one is entered.

use units::{Bytes, Family, Nanos, OptionFault, OptionValue, Options};

use crate::{App, bulk, ftp, game, http, iperf, onoff, player, probe, replay, video};

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
    ];

    /// No message is empty, and no clock stands still.
    fn check(name: &str, options: &Options) -> Result<(), OptionFault> {
        if name == http::ROW.name {
            http::check(options)?;
        }
        let (sizes, clock): (&[&'static str], _) = match name {
            "ftp" => (&["size", "request"], None),
            "http" => (&["request"], None),
            "onoff" => (&["packet"], None),
            "video" => (&["message"], None),
            "sockperf" => (&["size"], None),
            "ping" => (&["size"], Some(("interval", Nanos(1_000)))),
            "iperf" => (&[], Some(("interval", Nanos::from_millis(1)))),
            "player" => (&["request"], Some(("segment", Nanos::from_millis(1)))),
            _ => (&[], None),
        };
        let empty = |option: &&&'static str| options.get(option) == Some(&OptionValue::Size(Bytes::ZERO));
        if let Some(option) = sizes.iter().find(empty) {
            let message = "found \"0B\", which is no message".into();
            return Err(OptionFault { option, message, help: "at least \"1B\"".into() });
        }
        if let Some((option, least)) = clock
            && let Some(OptionValue::Duration(found)) = options.get(option)
            && *found < least
        {
            let message = format!("found \"{found}\"");
            return Err(OptionFault { option, message, help: format!("at least \"{least}\"") });
        }
        Ok(())
    }
}

/// A row of the registry; `build` makes the application of one flow.
pub type Algorithm = units::Algorithm<Apps>;

/// All rows by name.
pub type Registry = units::Registry<Apps>;
