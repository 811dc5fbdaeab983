//! Proportional Rate Reduction (RFC 6937): spreads the window reduction over the round trip of recovery instead of
//! sending nothing for half of it. With the slow-start reduction bound, or as Linux has it.
//!
//! Source of the latter: Linux 6.x, `tcp_cwnd_reduction` in net/ipv4/tcp_input.c. It reduces in proportion to the window
//! before, where RFC 6937 has the flight, and with less in flight than ssthresh sends what is delivered; a segment more only with an
//! ACK that advances and shows no further loss (SafeACK of RFC 9937).

use units::Bytes;

use crate::config::PrrRule;

/// State of one recovery episode, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    rule: PrrRule,
    /// The bytes that ssthresh is a part of.
    whole: u64,
    delivered: u64,
    out: u64,
}

/// Flight and window at the entry into recovery.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// FlightSize.
    pub flight: Bytes,
    /// The congestion window.
    pub cwnd: Bytes,
}

/// News of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct News {
    /// Bytes that it delivered.
    pub delivered: Bytes,
    /// It advances, and shows no further loss.
    pub safe: bool,
}

impl Prr {
    /// At the entry into recovery.
    pub fn new(rule: PrrRule, before: Before) -> Self {
        let whole = match rule {
            PrrRule::Rfc => before.flight,
            PrrRule::Linux => before.cwnd,
        };
        Self { rule, whole: whole.0.max(1), delivered: 0, out: 0 }
    }

    /// An ACK brings `news`. Returns how many bytes may be sent in response to it.
    pub fn on_ack(&mut self, news: News, pipe: Bytes, ssthresh: Bytes, mss: Bytes) -> Bytes {
        debug_assert!(self.whole > 0, "a reduction of nothing");
        self.delivered += news.delivered.0;
        // Linux counts in segments, so that what is short of one leaves as a whole one.
        let unit = if self.rule == PrrRule::Linux { mss.0.max(1) } else { 1 };
        let ssthresh = ssthresh.0 / unit * unit;
        let allowed = if pipe.0 > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh / unit);
            let allowed = share.div_ceil(u128::from((self.whole / unit * unit).max(1))) as u64 * unit;
            allowed.saturating_sub(self.out)
        } else {
            let faster = self.rule == PrrRule::Rfc || news.safe;
            let limit = self.delivered.saturating_sub(self.out).max(news.delivered.0);
            (ssthresh - pipe.0).min(limit + if faster { mss.0 } else { 0 })
        };
        // The first retransmission leaves whatever is in flight.
        let least = if self.rule == PrrRule::Linux && self.out == 0 { mss.0 } else { 0 };
        Bytes(allowed.max(least))
    }

    /// A loss was found without an ACK: true if the window follows what is still in flight.
    pub fn follows_pipe(&self) -> bool {
        self.rule == PrrRule::Rfc
    }

    /// `bytes` were sent during recovery, new or again.
    #[inline]
    pub fn on_send(&mut self, bytes: Bytes) {
        self.out += bytes.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flight: u64, cwnd: u64) -> Before {
        Before { flight: Bytes(flight), cwnd: Bytes(cwnd) }
    }

    /// A duplicate ACK that delivers `bytes`.
    fn acked(bytes: u64) -> News {
        News { delivered: Bytes(bytes), safe: false }
    }

    /// Test vector PRR-1: unit is the MSS, pipe stays above ssthresh.
    #[test]
    fn prr_1() {
        let cases: [(u64, [u64; 10]); 2] =
            [(7, [1, 1, 1, 0, 1, 1, 0, 1, 1, 0]), (5, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0])];
        for (ssthresh, expected) in cases {
            let mut prr = Prr::new(PrrRule::Rfc, of(10, 10));
            let sent = expected.map(|_| {
                let sent = prr.on_ack(acked(1), Bytes(9), Bytes(ssthresh), Bytes(1)).min(Bytes(1));
                prr.on_send(sent);
                sent.0
            });
            assert_eq!(sent, expected, "ssthresh {ssthresh}");
        }
    }

    #[test]
    fn below_ssthresh_it_slow_starts_back() {
        let mut prr = Prr::new(PrrRule::Rfc, of(20_000, 20_000));
        assert_eq!(
            prr.on_ack(acked(1000), Bytes(2_000), Bytes(10_000), Bytes(1000)),
            Bytes(2000),
            "delivered plus one MSS"
        );
        prr.on_send(Bytes(2000));
        assert_eq!(
            prr.on_ack(acked(1000), Bytes(9_500), Bytes(10_000), Bytes(1000)),
            Bytes(500),
            "never beyond ssthresh"
        );
    }

    /// In segments. A sender with a window of 313 that the receive window held at 186 had ssthresh 219 after a loss, in a capture of Linux
    /// 6.18: while duplicate ACKs came its flight stayed, each of them let one segment out.
    #[test]
    fn linux_conserves_packets_until_an_ack_is_safe() {
        let (mut rfc, mut linux) =
            (Prr::new(PrrRule::Rfc, of(186, 313)), Prr::new(PrrRule::Linux, of(186, 313)));
        let mut answer = |news: News| {
            let sent = [&mut rfc, &mut linux].map(|prr| {
                let sent = prr.on_ack(news, Bytes(165), Bytes(219), Bytes(1));
                prr.on_send(sent);
                sent.0
            });
            (sent[0], sent[1])
        };
        assert_eq!([acked(1), acked(2), acked(1)].map(&mut answer), [(2, 1), (3, 2), (2, 1)]);
        assert_eq!(answer(News { delivered: Bytes(1), safe: true }), (2, 2));
    }

    /// ssthresh is 0.7 of the window, not of the flight.
    #[test]
    fn linux_reduces_in_proportion_to_the_window() {
        let sent = |rule| {
            let mut prr = Prr::new(rule, of(250, 300));
            prr.on_send(Bytes(1));
            (0..100)
                .map(|_| {
                    let sent = prr.on_ack(acked(1), Bytes(240), Bytes(210), Bytes(1));
                    prr.on_send(sent);
                    sent.0
                })
                .sum::<u64>()
        };
        assert_eq!((sent(PrrRule::Rfc), sent(PrrRule::Linux)), (83, 69));
    }

    /// In the capture `reinjection` of Linux 6.18 these ACKs, each of one segment, let segments out: a window of 17 is reduced to 11.9, and the
    /// kernel knows 11.
    #[test]
    fn linux_counts_in_segments() {
        let sent = |rule| {
            let mut prr = Prr::new(rule, of(17_000, 17_000));
            [(); 7].map(|()| {
                let allowed = prr.on_ack(acked(1000), Bytes(15_000), Bytes(11_900), Bytes(1000));
                let whole = allowed.0 / 1000;
                prr.on_send(Bytes(whole * 1000));
                whole
            })
        };
        assert_eq!(sent(PrrRule::Linux), [1, 1, 0, 1, 1, 0, 1]);
        assert_eq!(sent(PrrRule::Rfc), [0, 1, 1, 0, 1, 1, 0], "what is short of a segment waits");
        let mut prr = Prr::new(PrrRule::Linux, of(17_000, 17_000));
        assert_eq!(prr.on_ack(acked(9000), Bytes(10_000), Bytes(11_900), Bytes(1000)), Bytes(1000));
    }

    #[test]
    fn the_first_retransmission_of_linux_leaves_at_once() {
        let first = |rule| Prr::new(rule, of(300, 300)).on_ack(acked(0), Bytes(299), Bytes(210), Bytes(1));
        assert_eq!((first(PrrRule::Rfc), first(PrrRule::Linux)), (Bytes(0), Bytes(1)));
    }
}
