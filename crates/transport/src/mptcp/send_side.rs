//! The sending side of the data sequence space: what the application wrote, what was given to subflows, what the
//! peer's connection level has acknowledged, and the connection's send window.

use units::SimTime;

use super::reinject::ReinjectQueue;

/// Where DATA_FIN stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataFin {
    /// The application has not closed.
    Open,
    /// To be sent as soon as everything before it was given to subflows.
    Wanted,
    /// Sent; to be sent again at this time.
    Sent(SimTime),
    /// The peer has it.
    Acknowledged,
}

/// State of the sending side.
#[derive(Clone, Debug)]
pub(super) struct SendSide {
    /// Data sequence number after the last byte written.
    pub written: u64,
    /// Next byte to be given to a subflow.
    pub next: u64,
    /// First byte not acknowledged at connection level.
    pub una: u64,
    /// Right edge of the peer's window; never moves left.
    pub right: u64,
    /// Largest window ever offered.
    pub max_window: u64,
    pub fin: DataFin,
    /// Transmissions of DATA_FIN: each goes out on another subflow.
    pub fin_tries: usize,
    pub reinject: ReinjectQueue,
    /// Next window probe, `NEVER` while the window is open or something is outstanding.
    pub persist_at: SimTime,
    pub persists: u32,
    /// The persist timer has fired: a small segment may go.
    pub override_window: bool,
}

impl SendSide {
    pub(super) fn new() -> Self {
        Self {
            written: 1,
            next: 1,
            una: 1,
            right: 1,
            max_window: 0,
            fin: DataFin::Open,
            fin_tries: 0,
            reinject: ReinjectQueue::default(),
            persist_at: SimTime::NEVER,
            persists: 0,
            override_window: false,
        }
    }

    /// Bytes written and not yet given to a subflow.
    pub(super) fn unassigned(&self) -> u64 {
        self.written - self.next
    }

    /// Free bytes of the send window.
    pub(super) fn window(&self) -> u64 {
        self.right.saturating_sub(self.next)
    }

    /// Takes in a Data ACK with the window that came with it. True if it acknowledged something new.
    pub(super) fn on_data_ack(&mut self, data_ack: u64, window: u64) -> bool {
        let right = data_ack.saturating_add(window);
        if right > self.right {
            self.right = right;
            self.persist_at = SimTime::NEVER;
            self.persists = 0;
        }
        self.max_window = self.max_window.max(window);
        let fin_number = u64::from(matches!(self.fin, DataFin::Sent(_)));
        if data_ack <= self.una || data_ack > self.next + fin_number {
            return false;
        }
        if data_ack == self.written + 1 {
            self.fin = DataFin::Acknowledged;
        }
        self.una = data_ack.min(self.next);
        self.reinject.acknowledge(self.una);
        true
    }

    /// Size of the next new segment, at most `mss`; `None` if there is none or the window forbids it. Like TCP,
    /// the connection sends a fragment only if it is half of the largest window ever offered.
    pub(super) fn next_len(&self, mss: u64) -> Option<u64> {
        let len = self.unassigned().min(mss);
        let window = self.window();
        if len > 0 && len <= window {
            return Some(len);
        }
        let worth_it = 2 * window >= self.max_window || self.override_window;
        (len > 0 && window > 0 && worth_it).then_some(window)
    }

    /// Smallest segment that a window with room for it would let out.
    pub(super) fn quantum(&self, mss: u64) -> u64 {
        if self.override_window { 1 } else { mss.min(self.max_window.div_ceil(2)).max(1) }
    }

    /// Everything written has been acknowledged, DATA_FIN too.
    pub(super) fn finished(&self) -> bool {
        self.fin == DataFin::Acknowledged
    }
}
