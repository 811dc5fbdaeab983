//! Rules that options of several applications have in common, for messages.

use units::{Bytes, Nanos, OptionFault, Options};

/// No message is empty.
pub(crate) fn message(option: &'static str, options: &Options) -> Result<(), OptionFault> {
    if options.size(option) > Bytes::ZERO {
        return Ok(());
    }
    let message = "found \"0B\", which is no message".into();
    Err(OptionFault { option, message, help: "at least \"1B\"".into() })
}

/// No clock stands still, or nearly so.
pub(crate) fn clock(option: &'static str, least: Nanos, options: &Options) -> Result<(), OptionFault> {
    let found = options.duration(option);
    if found >= least {
        return Ok(());
    }
    Err(OptionFault { option, message: format!("found \"{found}\""), help: format!("at least \"{least}\"") })
}
