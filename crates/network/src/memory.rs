//! The memory of a world and its bound: a queue without an end grows beyond any machine.

use units::SimTime;

/// Bytes that one replication may need.
pub const MAX_MEMORY: u64 = 4 << 30;
/// A packet that waits or is under way, with its place in a queue.
pub const PACKET: u64 = 256;
/// A message under way, or its row in a table, with the room that a growing list keeps free.
const MESSAGE: u64 = 256;

/// The parts of its memory that grow with the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Simulated time.
    pub at: SimTime,
    /// Packets in queues and on links.
    pub packets: u64,
    /// Messages under way, and rows of messages and pages.
    pub messages: u64,
    /// Bytes of the trace.
    pub trace: u64,
}

impl Footprint {
    /// About how many bytes that takes.
    pub fn bytes(&self) -> u64 {
        self.packets * PACKET + self.messages * MESSAGE + self.trace
    }
}
