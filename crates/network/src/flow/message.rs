//! A message that an application has sent and that has not arrived.
//!
//! May: say what the application is told when it has. May not: know how it travels.

use apps::Message;
use units::{Bytes, SimTime};

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Its size.
    pub(crate) size: Bytes,
    /// The application's name for it.
    pub(crate) tag: u64,
    /// When it was sent.
    pub(crate) sent: SimTime,
    /// Its row in the table of messages.
    pub(crate) row: Option<u32>,
}

impl Mark {
    /// A message that is sent now, whose row in the table of messages is known.
    pub(crate) fn new(now: SimTime, message: Message, row: Option<u32>) -> Self {
        Self { size: message.size, tag: message.tag, sent: now, row }
    }
}
