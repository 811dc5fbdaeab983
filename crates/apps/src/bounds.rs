//! Bounds of the sizes of messages.

use registry::{OptionFault, Options, at_least, at_most};
use units::Bytes;

/// The largest message that ends. `bulk` and `iperf` have endless ones, which the table of messages does not list.
pub(crate) const LARGEST: Bytes = Bytes(1_000_000_000);

/// Checks that the option of this name, the size of a message that is to arrive as a whole, is finite and not below `least`.
///
/// # Errors
/// It is not.
pub(crate) fn message_size(option: &'static str, least: Bytes, options: &Options) -> Result<(), OptionFault> {
    at_least(option, least, Options::size, options)?;
    at_most(option, LARGEST, Options::size, options)
}

/// Parts of one frame or message at most. All of them are made at the same instant, between two looks at the memory of
/// the run.
const MOST_PARTS: u64 = 100_000;

/// Checks that a `what` of `size` is cut into a bounded number of parts by the option `message`.
///
/// # Errors
/// It is not.
pub(crate) fn parts(what: &str, size: Bytes, options: &Options) -> Result<(), OptionFault> {
    at_least("message", Bytes(1), Options::size, options)?;
    let part = options.size("message");
    let count = size.0.div_ceil(part.0);
    if count <= MOST_PARTS {
        return Ok(());
    }
    let message = format!("found \"{part}\", by which a {what} of {size} is cut into {count} messages");
    let help = format!("at least \"{}\"", Bytes(size.0.div_ceil(MOST_PARTS)));
    Err(OptionFault { option: "message", message, help })
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;

    /// Over UDP an endless message would be an endless number of datagrams at one instant.
    #[test]
    fn messages_that_must_arrive_are_finite() {
        let apps = crate::Registry::builtin();
        for (app, option) in [
            ("sockperf", "size"),
            ("ping", "size"),
            ("onoff", "packet"),
            ("game", "burst"),
            ("ftp", "request"),
            ("http", "request"),
            ("player", "request"),
        ] {
            let row = apps.get(app).expect("a row");
            let with =
                |size| (row.check)(&Options::defaults(row.options).with(option, OptionValue::Size(size)));
            assert_eq!(with(LARGEST), Ok(()), "{app}");
            let fault = with(Bytes::MAX).expect_err("endless");
            assert_eq!((fault.option, fault.help.as_str()), (option, "at most \"1GB\""), "{app}");
        }
    }
}
