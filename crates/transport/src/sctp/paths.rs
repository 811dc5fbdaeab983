//! The paths of an association: which of them carries data, and what their congestion controls know of each other.
//!
//! May: choose among paths. May not: send, or know messages.

use congestion::{PathView, Paths as SiblingPaths};
use units::{Bytes, SimTime};

use crate::packet::PathId;
use crate::sctp::config::{MaxBurst, RetransmissionPolicy};
use crate::sctp::path::Path;
use crate::sctp::tsn::Tsn;

/// All paths. The first is the primary path.
#[derive(Debug)]
pub struct Paths {
    list: Vec<Path>,
    views: Vec<PathView>,
    /// Transmissions in a row, on any path, that were not answered.
    errors: u32,
    /// PMDCS.
    chunk: Bytes,
    /// Fast recovery of the association lasts until all TSNs before this one are acknowledged; only with
    /// [`SctpConfig::recovers_as_freebsd`](crate::sctp::config::SctpConfig::recovers_as_freebsd).
    pub recovery: Option<Tsn>,
    /// The last SACK had gap blocks.
    pub saw_gaps: bool,
    /// Decides between paths that are equal.
    draws: Draws,
}

/// Random numbers that depend on the verification tag alone: SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Copy, Debug)]
struct Draws(u64);

impl Draws {
    /// A number below `count`, which is small.
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % count.max(1) as u64) as usize
    }
}

impl Paths {
    /// At least one path. `seed` decides between equal ones.
    pub fn new(list: Vec<Path>, chunk: Bytes, seed: u64) -> Self {
        debug_assert!(!list.is_empty(), "an association without paths");
        Self {
            views: vec![PathView::default(); list.len()],
            list,
            errors: 0,
            chunk,
            recovery: None,
            saw_gaps: false,
            draws: Draws(seed),
        }
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.list.iter()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.list.iter_mut()
    }

    /// Their numbers.
    pub fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.list.len()).map(|index| PathId(index as u8))
    }

    /// One path.
    pub fn get(&self, id: PathId) -> &Path {
        &self.list[id.index()]
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: PathId) -> &mut Path {
        &mut self.list[id.index()]
    }

    /// This path exists.
    pub fn contains(&self, id: PathId) -> bool {
        id.index() < self.list.len()
    }

    /// The primary path, or the first active one while that is not. See
    /// RFC 9260 section 6.4.1. Without any, the primary.
    pub fn in_use(&self) -> PathId {
        self.ids().find(|id| self.get(*id).reach.is_active()).unwrap_or(PathId::FIRST)
    }

    /// Another active path than `id`, the next in the order of the list; `id` itself if there is none.
    pub fn alternate(&self, id: PathId) -> PathId {
        let count = self.len();
        let next = (1..count).map(|step| PathId(((id.index() + step) % count) as u8));
        let mut active = next.filter(|other| self.get(*other).reach.is_active());
        active.next().unwrap_or(id)
    }

    /// New data may leave on this path: it is active, or no path is.
    pub fn is_usable(&self, id: PathId) -> bool {
        self.get(id).reach.is_active() || self.in_use() == id
    }

    /// T3-rtx runs where data is in flight (`sctp_handle_sack`, `sctp_express_handle_sack`).
    pub fn assure_timers(&mut self, now: SimTime) {
        for path in &mut self.list {
            if path.window.flight() > Bytes::ZERO && path.timer.expires().is_never() {
                path.timer.restart(now);
            }
        }
    }

    /// The same where no timer runs: after T3-rtx nothing could leave (`sctp_timeout_handler`).
    pub fn assure_a_timer(&mut self, now: SimTime) {
        if self.list.iter().all(|path| path.timer.expires().is_never()) {
            self.assure_timers(now);
        }
    }

    /// Time has passed: paths whose time of waiting is over may send again.
    pub fn unblock(&mut self, now: SimTime) {
        for path in self.list.iter_mut().filter(|path| path.blocked_until <= now) {
            path.blocked_until = SimTime::ZERO;
        }
    }

    /// The path may send now, as far as its window and the time of waiting say.
    pub fn has_room(&self, id: PathId) -> bool {
        let path = self.get(id);
        path.blocked_until == SimTime::ZERO && path.window.has_room()
    }

    /// The same when `unsent` bytes leave before.
    pub fn has_room_behind(&self, id: PathId, unsent: Bytes) -> bool {
        let path = self.get(id);
        self.has_room(id) && (unsent == Bytes::ZERO || path.window.flight() + unsent < path.window.cwnd())
    }

    /// The path for a retransmission of concurrent transfer; `last` was that of the last transmission.
    pub fn for_retransmission(&self, policy: RetransmissionPolicy, last: PathId) -> PathId {
        if policy == RetransmissionPolicy::SamePath && self.get(last).reach.is_active() {
            return last;
        }
        let active = self.ids().filter(|id| self.get(*id).reach.is_active());
        // Ties go to the first path.
        let best = match policy {
            RetransmissionPolicy::LargestWindow => {
                active.max_by_key(|id| (self.get(*id).window.cwnd(), std::cmp::Reverse(*id)))
            }
            RetransmissionPolicy::LargestThreshold => {
                active.max_by_key(|id| (self.get(*id).window.ssthresh(), std::cmp::Reverse(*id)))
            }
            RetransmissionPolicy::LowestRtt => active.min_by_key(|id| {
                let srtt = self.get(*id).timer.rtt().srtt();
                (srtt.is_none(), srtt, *id)
            }),
            RetransmissionPolicy::LowestLoss => active.min_by(|one, other| {
                let rate = |id: &PathId| self.get(*id).losses.rate();
                rate(one).total_cmp(&rate(other)).then(one.cmp(other))
            }),
            RetransmissionPolicy::AnyWithRoom => {
                active.min_by_key(|id| (!self.get(*id).window.has_room(), *id != last, *id))
            }
            RetransmissionPolicy::SamePath => active.max_by_key(|id| (*id != last, std::cmp::Reverse(*id))),
        };
        best.unwrap_or(last)
    }

    /// The same when the choice is made once, as the chunk is taken for lost: of paths with equal windows, or thresholds, one at random
    /// (`sctp_find_alternate_net`).
    pub fn draw_for_retransmission(&mut self, policy: RetransmissionPolicy, last: PathId) -> PathId {
        let first = self.for_retransmission(policy, last);
        let largest = |id: PathId| match policy {
            RetransmissionPolicy::LargestWindow => Some(self.get(id).window.cwnd()),
            RetransmissionPolicy::LargestThreshold => Some(self.get(id).window.ssthresh()),
            _ => None,
        };
        let Some(most) = largest(first) else { return first };
        let equal = |id: &PathId| self.get(*id).reach.is_active() && largest(*id) == Some(most);
        let equal: Vec<PathId> = self.ids().filter(equal).collect();
        if equal.len() < 2 { first } else { equal[self.draws.below(equal.len())] }
    }

    /// Something was not answered.
    pub fn on_error(&mut self) {
        self.errors = self.errors.saturating_add(1);
    }

    /// The peer lives.
    pub fn on_answer(&mut self) {
        self.errors = 0;
    }

    /// Transmissions in a row that were not answered.
    pub fn errors(&self) -> u32 {
        self.errors
    }

    /// An opportunity to send begins.
    pub fn begin_burst(&mut self, now: SimTime, rule: MaxBurst, idle_decay: bool) {
        for path in &mut self.list {
            let idle = path.last_sent.filter(|_| path.window.flight() == Bytes::ZERO);
            if let Some(last) = idle.filter(|_| idle_decay) {
                // RFC 9260 section 7.2.1: the window is halved once per RTO.
                let rounds = now.since(last).0 / path.timer.rto().0.max(1);
                if rounds > 0 {
                    path.window.decay(rounds);
                    path.last_sent = Some(now);
                }
            }
            path.window.begin_burst(rule);
        }
    }

    /// Brings what the congestion controls know of each other up to date.
    pub fn refresh_views(&mut self) {
        for (view, path) in self.views.iter_mut().zip(&self.list) {
            *view = path.view(self.chunk);
        }
    }

    /// A path, to be changed, and what its congestion control knows of the others; after `refresh_views`.
    pub fn with_siblings(&mut self, id: PathId) -> (&mut Path, SiblingPaths<'_>) {
        let Self { list, views, .. } = self;
        (&mut list[id.index()], SiblingPaths { all: views, me: id.index() })
    }

    /// Views of all paths as they are now.
    pub fn views(&self) -> Vec<PathView> {
        self.list.iter().map(|path| path.view(self.chunk)).collect()
    }
}

#[cfg(test)]
mod tests {
    use congestion::{Growth, Registry, Setup, SsthreshFrom};
    use registry::Options;
    use units::Nanos;

    use super::*;
    use crate::address::AddressPair;
    use crate::sctp::config::{Reductions, SctpConfig};
    use crate::sctp::path::{LossEstimate, PathStats, PathTimer};
    use crate::sctp::reachability::Reachability;
    use crate::sctp::window::PathWindow;

    /// A path with this window, threshold and round-trip time in milliseconds.
    fn path(cwnd: u64, ssthresh: u64, srtt: u64) -> Path {
        let config = SctpConfig::default();
        let setup = Setup {
            mss: config.largest_chunk(),
            initial_window: Bytes(cwnd),
            initial_ssthresh: Bytes(ssthresh),
            growth: Growth { slow_start_limit: 1, byte_counting: true },
            ssthresh_from: SsthreshFrom::Cwnd,
            paced: false,
            offload: false,
        };
        let row = *Registry::builtin().get("sctp").expect("a registered congestion control");
        let mut timer = PathTimer::new(config.recovery.rto, false);
        timer.sample(SimTime::ZERO, Nanos::from_millis(srtt));
        Path {
            pair: AddressPair { local: None, remote: None },
            window: PathWindow::new(
                (row.build)(&setup, &Options::defaults(row.options)),
                (setup.mss, setup.mss),
                (Reductions::Once, false),
            ),
            timer,
            reach: Reachability::new(config.heartbeat, config.recovery.limits.path, true, 0),
            stats: PathStats::default(),
            losses: LossEstimate::default(),
            expected: Default::default(),
            blocked_until: SimTime::ZERO,
            last_sent: None,
            usable_since: None,
        }
    }

    #[test]
    fn equal_windows_share_retransmissions_at_random() {
        let list = vec![path(30_000, 24_000, 50), path(20_000, 24_000, 600), path(30_000, 9000, 50)];
        let mut paths = Paths::new(list, Bytes(1468), 7);
        let mut counts = |policy| {
            let mut counts = [0; 3];
            (0..3000).for_each(|_| counts[paths.draw_for_retransmission(policy, PathId(1)).index()] += 1);
            counts
        };
        let [first, second, third] = counts(RetransmissionPolicy::LargestWindow);
        assert!(second == 0 && (1400..1600).contains(&first) && first + third == 3000, "{first} {third}");
        let [first, second, third] = counts(RetransmissionPolicy::LargestThreshold);
        assert!(third == 0 && (1400..1600).contains(&first) && first + second == 3000, "{first} {second}");
        assert_eq!(counts(RetransmissionPolicy::SamePath), [0, 3000, 0]);
    }

    /// Test vector RX-1: a chunk is lost on the second path.
    #[test]
    fn rx_1_the_path_of_a_retransmission() {
        let list = vec![path(30_000, 24_000, 50), path(60_000, 36_000, 600)];
        let mut paths = Paths::new(list, Bytes(1468), 1);
        let [a, b] = [PathId(0), PathId(1)];
        for (policy, expected) in [
            (RetransmissionPolicy::SamePath, b),
            (RetransmissionPolicy::LargestWindow, b),
            (RetransmissionPolicy::LargestThreshold, b),
            (RetransmissionPolicy::LowestRtt, a),
        ] {
            assert_eq!(paths.for_retransmission(policy, b), expected, "{policy:?}");
        }
        let later = SimTime::from_secs(1);
        paths.get_mut(a).losses.update(later, Nanos::ZERO, (Bytes(100), Bytes(1)));
        assert_eq!(paths.for_retransmission(RetransmissionPolicy::LowestLoss, a), b);
        assert_eq!(paths.for_retransmission(RetransmissionPolicy::AnyWithRoom, b), b, "both have room");
        paths.get_mut(b).window.sent(Bytes(60_000));
        assert_eq!(paths.for_retransmission(RetransmissionPolicy::AnyWithRoom, b), a);
        (0..6).for_each(|_| paths.get_mut(b).reach.on_error());
        assert_eq!(paths.for_retransmission(RetransmissionPolicy::SamePath, b), a, "it is inactive");
        assert_eq!((paths.in_use(), paths.alternate(a)), (a, a));
    }
}
