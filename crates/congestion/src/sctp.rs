//! The window of SCTP, for a path of an association.
//!
//! Source: RFC 9260 sections 7.2.1 to 7.2.4. Units: bytes of DATA chunks with their headers; the MSS of `Setup` is PMDCS,
//! the largest such chunk.
//! It differs from `newreno` in two ways: a loss leaves at least four chunks as threshold, and what avoidance has counted (`partial_bytes_acked`) is forgotten when nothing is in flight. Chunks that are
//! acknowledged by gap blocks count in avoidance, but do not open the window in slow start.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, SimTime};

use crate::resource_pooling::{Coupling, Pool};
use crate::{
    Ack, Algorithm, CongestionControl, Extensions, InitialShare, Loss, Needs, Paths, Restart, Setup,
    SharedState, Window,
};

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "rules",
    OptionKind::Choice(&["rfc9260", "freebsd"]),
    "rfc9260",
    "freebsd: whole MTUs, at most two of them per SACK in slow start, and a threshold of at least two after a fast retransmission",
)];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "sctp",
    summary: "the window of SCTP: NewReno that counts bytes, with a threshold of at least four chunks",
    source: "RFC 9260 section 7.2",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |setup, options| Box::new(Sctp::new(setup, Coupling::None, freebsd(options))),
};

fn freebsd(options: &Options) -> bool {
    options.choice("rules") == "freebsd"
}

pub(crate) const RPV1_ROW: Algorithm = Algorithm {
    name: "rpv1",
    summary: "CMT/RPv1: the growth of SCTP, shared among paths by their thresholds; a loss halves the sum",
    source: "Dreibholz et al., AINA 2010",
    notes: "coupled: alone on a connection it is sctp",
    build: |setup, options| Box::new(Sctp::new(setup, Coupling::RpV1, freebsd(options))),
    ..ROW
};

pub(crate) const RPV2_ROW: Algorithm = Algorithm {
    name: "rpv2",
    summary: "CMT/RPv2: the growth of SCTP, shared among paths by their rates; a loss halves the sum",
    source: "Dreibholz et al., ConTEL 2011",
    notes: "coupled: alone on a connection it is sctp",
    build: |setup, options| Box::new(Sctp::new(setup, Coupling::RpV2, freebsd(options))),
    ..ROW
};

pub(crate) const MPTCP_LIKE_ROW: Algorithm = Algorithm {
    name: "mptcp_like",
    summary: "the window of SCTP in FreeBSD, whose growth is multiplied by the factor of LIA in slow start, too",
    source: "FreeBSD, sctp_cc_functions.c, SCTP_CMT_MPTCP",
    notes: "coupled: alone on a connection it is sctp with rules = \"freebsd\"",
    options: &[],
    build: |setup, _| Box::new(Sctp::new(setup, Coupling::MptcpLike, true)),
    ..ROW
};

/// Least threshold after a loss, in largest chunks.
const FLOOR: u64 = 4;
/// IPv4 and the common header, which an MTU has beside the largest chunk.
const HEADERS: Bytes = Bytes(32);

/// The window of SCTP on one path.
#[derive(Clone, Debug)]
pub(crate) struct Sctp {
    cwnd: Bytes,
    ssthresh: Bytes,
    /// PMDCS.
    chunk: Bytes,
    /// `partial_bytes_acked`.
    counted: Bytes,
    coupling: Coupling,
    freebsd: bool,
}

impl Sctp {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, coupling: Coupling, freebsd: bool) -> Self {
        Self {
            cwnd: setup.initial_window.max(setup.mss),
            ssthresh: setup.initial_ssthresh,
            chunk: setup.mss,
            counted: Bytes::ZERO,
            coupling,
            freebsd,
        }
    }

    /// The unit of growth and of floors: PMDCS, with FreeBSD the MTU.
    fn unit(&self) -> Bytes {
        if self.freebsd { self.chunk + HEADERS } else { self.chunk }
    }

    fn pool(&self, paths: Paths<'_>) -> Option<Pool> {
        self.coupling.pool((self.cwnd.as_f64(), self.ssthresh.as_f64()), self.freebsd, paths)
    }

    /// The part of `growth` that this path gets.
    fn shared(&self, growth: Bytes, paths: Paths<'_>) -> Bytes {
        let Some(pool) = self.pool(paths) else {
            return growth;
        };
        let part = growth.as_f64() * pool.share;
        if self.freebsd { Bytes(part as u64).max(Bytes(1)) } else { Bytes(part.ceil() as u64) }
    }

    /// RFC 9260 section 7.2.3: half of the window, four chunks at least; or what resource pooling says.
    fn reduce(&mut self, timeout: bool, paths: Paths<'_>) {
        let (cwnd, unit) = (self.cwnd.as_f64(), self.unit());
        self.ssthresh = match self.pool(paths) {
            None => {
                let floor = if self.freebsd && !timeout { FLOOR / 2 } else { FLOOR };
                Bytes(self.cwnd.0 / 2).max(unit * floor)
            }
            Some(pool) if self.freebsd => {
                let threshold = self.coupling.threshold_of_freebsd(cwnd, unit.as_f64(), &pool, timeout);
                Bytes(threshold as u64).max(unit)
            }
            Some(pool) => Bytes(self.coupling.threshold(cwnd, &pool) as u64).max(unit),
        };
        self.counted = Bytes::ZERO;
    }

    fn check(&self) {
        debug_assert!(self.cwnd >= self.chunk, "cwnd below one chunk: {self:?}");
    }
}

impl SharedState for Sctp {
    fn threshold(&self) -> f64 {
        self.ssthresh.as_f64()
    }
}

impl Extensions for Sctp {
    fn needs(&self) -> Needs {
        let initial_share = match (self.coupling, self.freebsd) {
            (Coupling::None | Coupling::MptcpLike, _) => InitialShare::Whole,
            (_, false) => InitialShare::Equal,
            (_, true) => InitialShare::Successive,
        };
        Needs { initial_share, ..Needs::default() }
    }

    fn shared_state(&self) -> Option<&dyn SharedState> {
        (self.coupling == Coupling::RpV1).then_some(self)
    }
}

impl CongestionControl for Sctp {
    fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        let unit = self.unit();
        if self.cwnd <= self.ssthresh {
            // RFC 9260 section 7.2.1: "Only when these two conditions are met can the cwnd be increased; otherwise, the cwnd
            // MUST NOT be increased."
            if ack.cwnd_limited && ack.acked > Bytes::ZERO {
                let limit = if self.freebsd { unit * 2 } else { unit };
                self.cwnd += match self.coupling.alpha(self.cwnd.0, unit.0, paths) {
                    Some(alpha) => Bytes(alpha.slow_start(ack.acked.0, unit.0)),
                    None => self.shared(ack.acked.min(limit), paths),
                };
            }
            // `sctp_cwnd_update_after_sack_common` keeps the count, of which limited windows have need: they start slowly again.
            if !self.freebsd {
                self.counted = Bytes::ZERO;
            }
        } else {
            self.counted += ack.delivered;
            if self.counted >= self.cwnd && ack.cwnd_limited {
                self.counted -= self.cwnd;
                self.cwnd += match self.coupling.alpha(self.cwnd.0, unit.0, paths) {
                    Some(alpha) => Bytes(alpha.avoidance(self.cwnd.0, unit.0)),
                    None => self.shared(unit, paths),
                };
            }
        }
        // RFC 9260 section 7.2.2: counting begins anew when all data is acknowledged, that of all paths with FreeBSD.
        let all = if self.freebsd { ack.snd_una == ack.snd_nxt } else { ack.flight == Bytes::ZERO };
        if all {
            self.counted = Bytes::ZERO;
        }
        self.check();
    }

    fn on_loss(&mut self, _loss: &Loss, paths: Paths<'_>) {
        self.reduce(false, paths);
        self.cwnd = self.ssthresh;
        self.check();
    }

    fn on_rto(&mut self, loss: &Loss, paths: Paths<'_>) {
        if loss.first_timeout {
            self.reduce(true, paths);
        }
        // RFC 9260 section 7.2.3: one chunk. FreeBSD: one MTU, which leaves room for a second packet.
        self.cwnd = self.unit();
        self.check();
    }

    fn on_idle_restart(&mut self, _now: SimTime, restart: &Restart) {
        self.cwnd = self.cwnd.min(restart.cwnd).max(self.chunk);
        self.check();
    }

    fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.cwnd = cwnd.max(self.chunk);
        if let Some(ssthresh) = ssthresh {
            self.ssthresh = ssthresh.max(self.chunk * 2);
        }
        self.check();
    }

    fn window(&self) -> Window {
        Window { in_slow_start: self.cwnd <= self.ssthresh, ..Window::new(self.cwnd, self.ssthresh) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss, setup_with};
    use crate::{Growth, PathView};

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };

    fn path(cwnd: u64, ssthresh: u64) -> Sctp {
        Sctp::new(&setup_with(1500, cwnd, ssthresh, BYTES), Coupling::None, false)
    }

    /// The two paths of vector RP2-1 as their controllers see them. PMDCS is 1500 bytes, with the rules of FreeBSD the MTU.
    fn pair(coupling: Coupling, freebsd: bool) -> ([Sctp; 2], [PathView; 2]) {
        let mss = if freebsd { 1468 } else { 1500 };
        let path = |cwnd, ssthresh| Sctp::new(&setup_with(mss, cwnd, ssthresh, BYTES), coupling, freebsd);
        let view =
            |cwnd: f64, srtt, threshold| PathView { threshold, ..PathView::new(cwnd, srtt, 1500.0, true) };
        let views = [view(30_000.0, 0.05, 24_000.0), view(60_000.0, 0.6, 36_000.0)];
        ([path(30_000, 24_000), path(60_000, 36_000)], views)
    }

    /// Growth in avoidance, threshold after a loss and after a timeout, of both paths.
    fn figures(coupling: Coupling, freebsd: bool) -> [[u64; 3]; 2] {
        let (paths, all) = pair(coupling, freebsd);
        [0, 1].map(|me| {
            let siblings = Paths { all: &all, me };
            let [mut grown, mut lost, mut late] = [0; 3].map(|_| paths[me].clone());
            let cwnd = grown.cwnd.0;
            grown.on_ack(&Ack { flight: Bytes(1), ..ack(cwnd) }, siblings);
            lost.on_loss(&loss(cwnd), siblings);
            late.on_rto(&loss(cwnd), siblings);
            assert_eq!(lost.cwnd, lost.ssthresh);
            [grown.cwnd.0 - cwnd, lost.ssthresh.0, late.ssthresh.0]
        })
    }

    /// Test vector RP2-1, and the same with the arithmetic of FreeBSD.
    #[test]
    fn rp2_1_growth_and_reductions_are_shared() {
        assert_eq!(figures(Coupling::RpV1, false), [[600, 1500, 1500], [900, 15_000, 15_000]]);
        assert_eq!(figures(Coupling::RpV2, false), [[1286, 12_500, 12_500], [215, 1500, 1500]]);
        assert_eq!(figures(Coupling::RpV1, true), [[600, 2400, 2400], [900, 15_000, 15_000]]);
        // Rates of 75 and 12.5 bytes per eighth of a millisecond, whose sum is 87.
        assert_eq!(figures(Coupling::RpV2, true), [[1293, 5172, 72_600], [215, 15_000, 15_000]]);
    }

    /// MPTCP-like: 20 and 40 MTU at 50 and 600 ms. The best path has 20 / 400^2 in eighths of a millisecond, the sum is
    /// 20 / 400 + 40 / 4800: alpha = 0.036731, 9 / 256. Two equal paths of 32 MTU have floor(64 / 32) = 2 / 256 each, those of 65
    /// MTU none: such windows stay.
    #[test]
    fn mptcp_like_growth_is_that_of_lia_in_whole_steps() {
        let (paths, all) = pair(Coupling::MptcpLike, true);
        for (me, avoidance) in [(0, 30_000 * 9 / 256), (1, 1500)] {
            let siblings = Paths { all: &all, me };
            let [mut slow, mut grown, mut lost] = [0; 3].map(|_| paths[me].clone());
            let cwnd = grown.cwnd.0;
            slow.ssthresh = Bytes(100_000);
            slow.on_ack(&ack(3000), siblings);
            assert_eq!(slow.cwnd.0 - cwnd, 3000 * 9 / 256);
            grown.on_ack(&Ack { flight: Bytes(1), ..ack(cwnd) }, siblings);
            assert_eq!(grown.cwnd.0 - cwnd, avoidance);
            lost.on_loss(&loss(cwnd), siblings);
            assert_eq!(lost.cwnd.0, cwnd / 2);
        }
        for (mtus, growth) in [(32, 1500 * 32 * 2 / 256), (65, 0)] {
            let cwnd = 1500 * mtus;
            let view = PathView::new(cwnd as f64, 0.02, 1500.0, true);
            let mut path = Sctp::new(&setup_with(1468, cwnd, 1500, BYTES), Coupling::MptcpLike, true);
            path.on_ack(&Ack { flight: Bytes(1), ..ack(cwnd) }, Paths { all: &[view, view], me: 0 });
            assert_eq!(path.cwnd.0 - cwnd, growth);
        }
    }

    #[test]
    fn slow_start_is_shared_and_one_path_is_alone() {
        let (mut paths, all) = pair(Coupling::RpV1, false);
        paths[0].ssthresh = Bytes(36_000);
        paths[0].on_ack(&ack(3000), Paths { all: &all, me: 0 });
        assert_eq!(paths[0].cwnd, Bytes(30_750), "half of one chunk");
        let mut alone = paths[0].clone();
        alone.on_loss(&loss(30_750), Paths { all: &all[..1], me: 0 });
        assert_eq!(alone.cwnd, Bytes(15_375));
    }

    #[test]
    fn freebsd_counts_in_mtus_and_halves_to_two_of_them() {
        let mut window = Sctp::new(&setup_with(1468, 4464, 100_000, BYTES), Coupling::None, true);
        window.on_ack(&ack(4404), Paths::ALONE);
        assert_eq!(window.cwnd, Bytes(4464 + 3000));
        window.cwnd = Bytes(5000);
        window.on_loss(&loss(5000), Paths::ALONE);
        assert_eq!(window.cwnd, Bytes(3000));
        window.on_rto(&loss(3000), Paths::ALONE);
        assert_eq!((window.cwnd, window.ssthresh), (Bytes(1500), Bytes(6000)));
    }

    /// Test vector SP-1, the reductions.
    #[test]
    fn sp_1_a_loss_leaves_half_and_at_least_four_chunks() {
        for (cwnd, expected) in [(60_000, 30_000), (10_000, 6000)] {
            let mut window = path(cwnd, 100_000);
            window.on_loss(&loss(cwnd), Paths::ALONE);
            assert_eq!((window.cwnd, window.ssthresh), (Bytes(expected), Bytes(expected)));
            let mut window = path(cwnd, 100_000);
            window.on_rto(&loss(cwnd), Paths::ALONE);
            assert_eq!((window.cwnd, window.ssthresh), (Bytes(1500), Bytes(expected)));
        }
    }

    /// RFC 9260 section 7.2.1: "When cwnd is less than or equal to ssthresh, an SCTP endpoint MUST use the slow-start algorithm to increase
    /// cwnd only if the current congestion window is being fully utilized"
    ///
    /// RFC 9260 section 7.2.1: "If these conditions are met, then cwnd MUST be increased by, at most, the lesser of"
    #[test]
    fn slow_start_needs_an_advance_of_the_cumulative_tsn() {
        let mut window = path(6000, 6000);
        window.on_ack(&Ack { cwnd_limited: false, ..ack(3000) }, Paths::ALONE);
        assert_eq!(window.cwnd, Bytes(6000), "the window was not used");
        window.on_ack(&Ack { acked: Bytes::ZERO, delivered: Bytes(3000), ..ack(3000) }, Paths::ALONE);
        assert_eq!(window.cwnd, Bytes(6000));
        window.on_ack(&Ack { delivered: Bytes(3000), ..ack(3000) }, Paths::ALONE);
        assert_eq!(window.cwnd, Bytes(7500), "at most one chunk, and at the threshold it is slow start");
    }

    /// RFC 9260 section 7.2.2: "SCTP MUST NOT increment cwnd by more than PMDCS per RTT."
    #[test]
    fn avoidance_counts_gap_blocks_and_forgets_when_all_is_acknowledged() {
        let mut window = path(7500, 6000);
        let gap = Ack { acked: Bytes::ZERO, delivered: Bytes(3000), flight: Bytes(4500), ..ack(0) };
        for expected in [7500, 7500, 9000] {
            window.on_ack(&gap, Paths::ALONE);
            assert_eq!(window.cwnd, Bytes(expected));
        }
        assert_eq!(window.counted, Bytes(1500));
        window.on_ack(&Ack { flight: Bytes::ZERO, ..gap }, Paths::ALONE);
        assert_eq!(window.counted, Bytes::ZERO);
    }
}
