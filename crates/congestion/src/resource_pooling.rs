//! Resource pooling for CMT-SCTP: the paths of an association take together about as much as one flow on a shared bottleneck.
//!
//! Source: Dreibholz et al., "On the Fairness of Transport Protocols in a Multi-Path Environment", 2012, and the papers on CMT/RPv1
//! (AINA 2010) and CMT/RPv2 (ConTEL 2011). Units: bytes of DATA chunks with their headers, seconds. P is the largest chunk,
//! s the sum of the thresholds of all paths, W that of their windows, x_i = cwnd_i / srtt_i and X their sum:
//! ```text
//!             share of path i    ssthresh after a loss
//! RPv1        ssthresh_i / s     max(cwnd_i - W/2, P)
//! RPv2        x_i / X            max(ceil(cwnd_i - max(1/2, (X/2) / x_i) cwnd_i), P)
//! ```
//! The growth of the window of SCTP, in slow start and in avoidance, is multiplied by the share and rounded up. With
//! `rules = "freebsd"` it is rounded down (1 byte at least), and the thresholds are
//! ```text
//!             fast retransmission                    timeout
//! RPv1        max(4 MTU share, cwnd_i - W/2, MTU)    the same
//! RPv2        max(4 MTU share, cwnd_i - W/2, MTU)    max(W - X srtt_i / 2, cwnd_i - W/2, MTU)
//! ```
//! where X is a sum of rates that are rounded down to bytes per eighth of a millisecond, and x_i in a share is not. A path without a round-trip sample, or which is not
//! usable, takes no part; with `rules = "freebsd"` its window and threshold count, so that the first of two paths grows only by its share before the second is confirmed. Alone a path has the rules of `sctp`.
//!
//! MPTCP-like (FreeBSD, `sctp_cwnd_update_after_sack_common`, SCTP_CMT_MPTCP): the factor of LIA, with w_i the window in MTU,
//! ```text
//! alpha = max(w_i / srtt_i^2) / (sum of w_i / srtt_i)^2, rounded down to 1 / 256
//! ```
//! multiplies what was acknowledged in slow start, too, and the window in avoidance; both grow by at most one MTU. Losses halve.

use crate::{PathView, Paths};

/// How the windows of an association are coupled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coupling {
    /// Not coupled.
    None,
    /// By thresholds.
    RpV1,
    /// By rates.
    RpV2,
    /// By the factor of LIA, as FreeBSD computes it.
    MptcpLike,
}

/// Fraction bits of the factor of MPTCP-like growth.
const ALPHA_BITS: u32 = 8;

/// The factor of MPTCP-like growth, 1 / 256 per MTU: it is rounded down to multiples of that, so that large windows do not grow at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alpha(u64);

impl Alpha {
    /// Growth in slow start: `acked` bytes were acknowledged; at most two MTU times the factor, or one MTU.
    pub fn slow_start(self, acked: u64, mtu: u64) -> u64 {
        let limit = (mtu * self.0 * 2) >> ALPHA_BITS;
        ((acked * self.0) >> ALPHA_BITS).min(limit).min(acked).min(mtu)
    }

    /// Growth in avoidance when a window was acknowledged.
    pub fn avoidance(self, cwnd: u64, mtu: u64) -> u64 {
        ((cwnd * self.0) >> ALPHA_BITS).min(mtu)
    }
}

/// A path among those that are coupled, and sums over all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    /// Part of the growth that this path gets, 0 to 1; with FreeBSD's arithmetic it may be more.
    pub share: f64,
    /// Sum of the windows, bytes.
    pub window: f64,
    /// Rate of the path, byte/s, or bytes per 8 ms as FreeBSD counts.
    pub rate: f64,
    /// Sum of the rates.
    pub rates: f64,
    /// Round-trip time in the unit of the rates.
    pub srtt: f64,
}

/// Round-trip time of a path in s; in whole eighths of a millisecond, as FreeBSD has it.
fn srtt(path: &PathView, freebsd: bool) -> f64 {
    if freebsd { (path.srtt * 8e3 + 1e-6).floor().max(1.0) } else { path.srtt }
}

/// The path has a round-trip time.
fn is_sampled(path: &PathView) -> bool {
    path.srtt > 0.0 && path.srtt.is_finite()
}

/// Rate of a path with this window; FreeBSD rounds down, and takes that of a path without a round-trip sample for 0.
fn rate(cwnd: f64, path: &PathView, freebsd: bool) -> f64 {
    let rate = cwnd / srtt(path, freebsd);
    match freebsd {
        true if is_sampled(path) => rate.floor(),
        true => 0.0,
        false => rate,
    }
}

/// The window and the threshold of the path count. FreeBSD takes all paths, confirmed or not, reachable or not.
fn takes_part(path: &PathView, freebsd: bool) -> bool {
    freebsd || path.coupled
}

impl Coupling {
    /// The pool of a path with this window and threshold; `None` while no other path takes part.
    pub fn pool(self, (cwnd, ssthresh): (f64, f64), freebsd: bool, paths: Paths<'_>) -> Option<Pool> {
        let me = paths.all.get(paths.me).filter(|me| takes_part(me, freebsd))?;
        if matches!(self, Self::None | Self::MptcpLike) {
            return None;
        }
        let own = rate(cwnd, me, freebsd);
        let (mut window, mut rates, mut thresholds, mut alone) = (cwnd, own, ssthresh, true);
        let others = paths.all.iter().enumerate().filter(|(i, _)| *i != paths.me);
        for (_, path) in others.filter(|(_, path)| takes_part(path, freebsd)) {
            window += path.cwnd;
            rates += rate(path.cwnd, path, freebsd);
            thresholds += path.threshold;
            alone = false;
        }
        // FreeBSD may have rounded all rates to 0.
        let rates = if freebsd { rates.max(1.0) } else { rates };
        let srtt = srtt(me, freebsd);
        // FreeBSD does not round the rate of the path itself for its share, which may then be above 1.
        let part = if freebsd { cwnd / srtt } else { own };
        let share = if self == Self::RpV1 { ssthresh / thresholds } else { part / rates };
        debug_assert!(share >= 0.0 && (freebsd || share <= 1.0), "a share of {share}");
        (!alone).then_some(Pool { share, window, rate: own, rates, srtt })
    }

    /// The factor of MPTCP-like growth for a path with this window; `None` with other coupling, and if there is no other
    /// path.
    pub fn alpha(self, cwnd: u64, mtu: u64, paths: Paths<'_>) -> Option<Alpha> {
        if self != Self::MptcpLike || paths.all.len() < 2 {
            return None;
        }
        let (mut best, mut sum) = (0, 0);
        for (index, path) in paths.all.iter().enumerate().filter(|(_, path)| is_sampled(path)) {
            let cwnd = u128::from(if index == paths.me { cwnd } else { path.cwnd as u64 });
            let (mtu, srtt) = (u128::from(mtu), srtt(path, true) as u128);
            sum += (cwnd << 16) / (mtu * srtt);
            best = best.max((cwnd << 40) / (mtu * srtt).saturating_mul(srtt));
        }
        let alpha = if sum > 0 { best / sum.saturating_mul(sum) } else { 1 };
        Some(Alpha(u64::try_from(alpha).unwrap_or(u64::MAX)))
    }

    /// Threshold after a loss, before its lower bound of one chunk.
    pub fn threshold(self, cwnd: f64, pool: &Pool) -> f64 {
        match self {
            Self::RpV2 => {
                let factor = (pool.rates / 2.0 / pool.rate).max(0.5);
                (cwnd - factor * cwnd).ceil()
            }
            Self::RpV1 | Self::None | Self::MptcpLike => cwnd - pool.window / 2.0,
        }
    }

    /// The same as FreeBSD computes it; `unit` is the MTU.
    pub fn threshold_of_freebsd(self, cwnd: f64, unit: f64, pool: &Pool, timeout: bool) -> f64 {
        // Half of the sum is rounded down.
        let least = cwnd - (pool.window / 2.0).floor();
        if timeout && self == Self::RpV2 {
            return (pool.window - pool.rates * pool.srtt / 2.0).max(least);
        }
        (4.0 * unit * pool.share).max(least)
    }
}
