//! Applications: what users do with a connection.
//!
//! May: ask for bytes to be written, read what arrives, look at the time it is given. May not: know transports,
//! links or packets.
//! To add one: a new file here, a row in `registry.rs`.

mod bulk;
mod registry;

use std::fmt;

use units::{BitsPerSecond, Bytes, SimTime};

pub use bulk::Bulk;
pub use registry::{Algorithm, Registry};

/// What the sending side may see when it is asked what to write.
#[derive(Clone, Copy, Debug)]
pub struct SenderView {
    /// When it is asked.
    pub now: SimTime,
    /// When the flow was started.
    pub started: SimTime,
    /// When the flow is to stop writing; the end of the run at the latest.
    pub stop: SimTime,
    /// Bytes written so far.
    pub written: Bytes,
    /// Free bytes in the send buffer.
    pub space: Bytes,
}

/// What the sending side wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Bytes to write now, at most the free space.
    pub write: Bytes,
    /// True when nothing will be written after this: the connection may be closed.
    pub close: bool,
    /// Ask again no later than this (`NEVER`: when space appears).
    pub wake: SimTime,
}

/// One application of one flow: a sender at one end and a reader at the other.
pub trait App: fmt::Debug + Send {
    /// Asked at the start, when send buffer space appears, and at the wished time.
    fn poll_write(&mut self, view: &SenderView) -> Wish;

    /// Rate at which the receiving application reads; `None`: it reads at once.
    fn read_rate(&self) -> Option<BitsPerSecond> {
        None
    }

    /// Bytes after which the transfer is complete; `None`: it has no natural end.
    fn total(&self) -> Option<Bytes>;
}
