//! State of one end of a connection over a space link beyond TCP: the agreement on SCPS-TP during the handshake
//! and the answers to the peer's dummies (TCP-Peach).
//!
//! A plain end has none. Any end answers dummies: the first one creates this state.

use std::sync::Arc;

use super::reports::Reports;
use super::segment::SpaceSignal;
use crate::config::{LossMeans, Reliability, TcpConfig};

/// State of one end beyond TCP.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// It shows the capabilities of SCPS-TP on its own SYN.
    offers: bool,
    /// It accepts them on the peer's SYN.
    accepts: bool,
    /// Both ends have shown them.
    agreed: bool,
    /// Dummies of the peer that have not been answered.
    unanswered: u32,
}

/// Result of the handshake for an end that offers SCPS-TP.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Both ends speak it: the receiver reports.
    Reports(Reports),
    /// The peer does not: TCP as RFC 6582 has it, configured like this.
    Plain(Arc<TcpConfig>),
}

impl Extras {
    /// The state of an end before its handshake; `None` if it does not offer SCPS-TP.
    pub fn new(config: &TcpConfig) -> Option<Box<Self>> {
        let offers = matches!(config.recovery.reliability, Reliability::Snack { .. });
        let accepts = config.speaks_scps();
        offers.then(|| Box::new(Self { offers, accepts, ..Self::default() }))
    }

    /// The peer's SYN arrives with `signal`. `passive`: this end has not sent its own yet.
    pub fn on_syn(&mut self, signal: Option<&SpaceSignal>, passive: bool) {
        let able = if passive { self.accepts } else { self.offers };
        self.agreed = able && signal == Some(&SpaceSignal::ScpsCapable);
        self.check();
    }

    /// Options of the SYN of this end beyond TCP.
    pub fn syn_signal(&self, passive: bool) -> Option<SpaceSignal> {
        let shown = if passive { self.agreed } else { self.offers };
        shown.then_some(SpaceSignal::ScpsCapable)
    }

    /// The handshake is complete; `config` is that of an end which offers SCPS-TP.
    pub fn outcome(&self, config: &TcpConfig) -> Outcome {
        debug_assert!(self.offers, "there is nothing to agree on");
        if self.agreed {
            return Outcome::Reports(Reports::snack(config.segment.mss));
        }
        let mut plain = config.clone();
        plain.recovery.reliability = Reliability::Acknowledged;
        plain.recovery.loss_means = LossMeans::Congestion;
        plain.ack.per_round_trip = 0;
        Outcome::Plain(Arc::new(plain))
    }

    /// Takes in a dummy or the answer to one. True if it is an answer, which the sender's congestion control handles.
    pub fn on_probe(&mut self, probe: &SpaceSignal) -> bool {
        debug_assert!(probe.is_low_priority(), "neither a dummy nor an answer: {probe:?}");
        let answer = *probe == SpaceSignal::DummyAnswer;
        self.unanswered += u32::from(!answer);
        answer
    }

    /// True if an answer is to leave.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.unanswered > 0
    }

    /// The answer that leaves now, if one is due.
    pub fn next_signal(&mut self) -> Option<SpaceSignal> {
        self.unanswered = self.unanswered.checked_sub(1)?;
        Some(SpaceSignal::DummyAnswer)
    }

    fn check(&self) {
        debug_assert!(self.offers || !self.accepts, "an end that accepts SCPS-TP offers it");
        debug_assert!(self.offers || !self.agreed, "agreed to SCPS-TP without offering it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(peer_capable: bool) -> Box<Extras> {
        let mut config = TcpConfig::default();
        config.recovery.reliability = Reliability::Snack { peer_capable };
        Extras::new(&config).expect("it offers SCPS-TP")
    }

    #[test]
    fn both_ends_must_show_the_capabilities() {
        assert!(Extras::new(&TcpConfig::default()).is_none(), "a plain end");
        for (peer_capable, agreed) in [(true, true), (false, false)] {
            let (mut active, mut passive) = (end(peer_capable), end(peer_capable));
            passive.on_syn(active.syn_signal(false).as_ref(), true);
            active.on_syn(passive.syn_signal(true).as_ref(), false);
            assert_eq!((active.agreed, passive.agreed), (agreed, agreed));
        }
        let mut plain_peer = end(true);
        plain_peer.on_syn(None, true);
        assert_eq!(plain_peer.syn_signal(true), None, "capabilities that the peer has not shown");
    }

    #[test]
    fn each_dummy_is_answered_once() {
        let mut extras = Extras::default();
        for _ in 0..2 {
            assert!(!extras.on_probe(&SpaceSignal::Dummy { len: 100 }));
        }
        assert!(extras.on_probe(&SpaceSignal::DummyAnswer), "for the sender");
        let answers = std::iter::from_fn(|| extras.next_signal()).count();
        assert_eq!((answers, extras.is_due()), (2, false));
    }
}
