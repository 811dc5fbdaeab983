//! Fast retransmissions that leave whatever the congestion window is (RFC 9260 section 7.2.4).
//!
//! May: count. May not: know chunks or windows.

use crate::packet::PathId;
use crate::sctp::config::FastRetransmit;

/// `sctp_fr_max_burst_default` of FreeBSD.
const BURST: u32 = 4;

/// Which fast retransmissions may leave now without room in the window.
#[derive(Clone, Copy, Debug)]
pub struct FastLane {
    rule: FastRetransmit,
    /// Paths on which a loss episode has begun and no packet has left for it; a bit for each.
    paths: u64,
    /// Packets that have left at this opportunity, and how many may.
    packets: u32,
    most: u32,
    /// A timer has expired since the last opportunity.
    expired: bool,
    /// Opportunities since the last one was taken, and those that were taken with it: each message that is written is one.
    pending: u32,
    taken: u32,
    /// Nothing but retransmissions has been tried at this opportunity.
    begins: bool,
    /// New data may leave at it.
    open: bool,
    /// No control packet has left at it.
    silent: bool,
}

impl FastLane {
    /// No loss so far.
    pub fn new(rule: FastRetransmit) -> Self {
        Self {
            rule,
            paths: 0,
            packets: 0,
            most: BURST,
            expired: false,
            pending: 0,
            taken: 0,
            begins: false,
            open: true,
            silent: true,
        }
    }

    /// An opportunity to send begins.
    pub fn begin(&mut self) {
        (self.packets, self.begins, self.silent) = (0, true, true);
        self.taken = std::mem::take(&mut self.pending).saturating_sub(1);
        // `sctp_chunk_output`: "Only one transmission allowed out of a timeout"
        self.most = if std::mem::take(&mut self.expired) { 1 } else { BURST };
    }

    /// A packet has come, a timer has expired, or a message is written.
    pub fn on_opportunity(&mut self) {
        self.pending = self.pending.saturating_add(1);
    }

    /// Nothing more leaves at this opportunity: goes on with the next that was taken, if there is one.
    pub fn go_on(&mut self) -> bool {
        let goes_on = self.taken > 0;
        if goes_on {
            (self.packets, self.most, self.begins, self.silent) = (0, BURST, true, true);
            self.taken -= 1;
        }
        goes_on
    }

    /// No control packet has left at this opportunity.
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// A control packet leaves: true for the first at an opportunity.
    pub fn begins_control(&mut self) -> bool {
        std::mem::take(&mut self.silent)
    }

    /// New data is tried: true for the first time at an opportunity.
    pub fn begins_new_data(&mut self) -> bool {
        std::mem::take(&mut self.begins)
    }

    /// A timer has made this opportunity, so that no new data leaves.
    pub fn is_of_timer(&self) -> bool {
        self.most < BURST
    }

    /// Whether new data may leave at this opportunity.
    pub fn set_open(&mut self, open: bool) {
        self.open = open;
    }

    /// The same, as it was when the opportunity began.
    pub fn opens(&self) -> bool {
        self.open
    }

    /// Chunks of a path were reported missing.
    pub fn on_missing(&mut self, path: PathId) {
        self.paths |= 1 << path.index();
    }

    /// The timer of a path has expired: what it takes for lost needs room.
    pub fn on_timeout(&mut self, path: PathId) {
        self.paths &= !(1 << path.index());
        self.expired = true;
    }

    /// A chunk may leave on this path; `reported`: it was reported missing.
    pub fn is_open(&self, path: PathId, reported: bool) -> bool {
        match self.rule {
            FastRetransmit::Single => self.paths >> path.index() & 1 != 0,
            FastRetransmit::All => reported && !self.is_exhausted(),
        }
    }

    /// A packet of retransmissions leaves.
    pub fn on_sent(&mut self, path: PathId, reported: bool) {
        self.paths &= !(1 << path.index());
        self.packets += u32::from(reported || self.most < BURST);
    }

    /// Nothing more leaves at this opportunity.
    pub fn is_exhausted(&self) -> bool {
        self.rule == FastRetransmit::All && self.packets >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_packet_of_each_path_or_four_of_all() {
        let [a, b] = [PathId(0), PathId(1)];
        let mut single = FastLane::new(FastRetransmit::Single);
        assert!(!single.is_open(a, true));
        single.on_missing(a);
        assert!(single.is_open(a, false) && !single.is_open(b, true));
        single.on_sent(a, true);
        assert!(!single.is_open(a, true) && !single.is_exhausted());
        let mut all = FastLane::new(FastRetransmit::All);
        (0..4).for_each(|_| {
            assert!(all.is_open(a, true) && !all.is_open(a, false));
            all.on_sent(a, true);
        });
        assert!(all.is_exhausted() && !all.is_open(b, true));
        all.begin();
        assert!(all.is_open(b, true));
    }

    #[test]
    fn a_timeout_lets_one_packet_go_and_each_message_four_more() {
        let a = PathId(0);
        let mut lane = FastLane::new(FastRetransmit::All);
        let burst = |lane: &mut FastLane| {
            let mut sent = 0;
            while !lane.is_exhausted() || lane.go_on() {
                lane.on_sent(a, true);
                sent += 1;
            }
            sent
        };
        for (events, timeout, packets) in
            [(1, false, 4), (3, false, 12), (0, false, 4), (1, true, 1), (1, false, 4)]
        {
            (0..events).for_each(|_| lane.on_opportunity());
            if timeout {
                lane.on_timeout(a);
            }
            lane.begin();
            assert_eq!(burst(&mut lane), packets, "{events} {timeout}");
        }
    }
}
