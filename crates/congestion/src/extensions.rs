//! Extensions of a congestion control: traits for the few controllers that need more of their sender than
//! [`CongestionControl`] gives.
//!
//! A controller implements the extension and returns itself from its accessor in [`Extensions`]. The sender asks once which
//! extensions there are ([`Capabilities::of`]) and calls no accessor of the others.

use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::{Ack, CongestionControl};

/// Access to the extensions of a controller. The set of extensions and the needs are constant over its life.
pub trait Extensions {
    /// Requirements on the sender and on the scenario.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Events of loss episodes beyond their beginning.
    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        None
    }

    /// Reaction to spurious timeouts.
    fn spurious_timeouts(&mut self) -> Option<&mut dyn SpuriousTimeouts> {
        None
    }

    /// A pacing rate.
    fn pacing(&self) -> Option<&dyn Pacing> {
        None
    }

    /// Permission to exceed windows and timers that other controllers obey.
    fn overdraft(&self) -> Option<&dyn WindowOverdraft> {
        None
    }

    /// Dummy segments that probe for capacity.
    fn probing(&mut self) -> Option<&mut dyn Probing> {
        None
    }

    /// State that the controllers of sibling paths read.
    fn shared_state(&self) -> Option<&dyn SharedState> {
        None
    }
}

/// Requirements of a controller on its sender and on the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// ACKs carry delivery-rate samples.
    pub rate_samples: bool,
    /// The window is the controller's own in loss episodes, too: the sender uses `cwnd` as it is in every phase, and
    /// calls `on_ack` with each ACK that delivers anything, after loss detection and after `on_loss` or
    /// `on_exit_recovery`; never `on_recovery_ack`.
    pub whole_window: bool,
    /// The sender is one of TCP: the controller needs delivery rates, round trips and acknowledgements of each ACK, within loss
    /// episodes too, pacing, or dummies. A path of an association with SCTP has none of them; a scenario with it is refused.
    pub tcp_sender: bool,
    /// A send buffer that follows the window has room for three of it in place of two (`sndbuf_expand` of Linux).
    pub third_window: bool,
    /// The connection negotiates ECN. A scenario without it is refused.
    pub ecn: bool,
    /// The initial slow-start threshold is finite. A scenario with an unlimited one is refused.
    pub finite_ssthresh: bool,
    /// The paths of an association share the initial window.
    pub initial_share: InitialShare,
}

/// The part of the initial window that a path of an association starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialShare {
    /// All of it.
    #[default]
    Whole,
    /// An n-th with n paths.
    Equal,
    /// All of it on the first path, half of it on the second, a third on the third: by the paths that exist by then.
    Successive,
}

impl InitialShare {
    /// By how much the initial window of the path with this index is divided, of `paths`.
    pub fn divisor(self, index: usize, paths: usize) -> u64 {
        match self {
            Self::Whole => 1,
            Self::Equal => paths.max(1) as u64,
            Self::Successive => index as u64 + 1,
        }
    }
}

/// Events of loss episodes beyond their beginning, see [`CongestionControl::on_loss`].
pub trait RecoveryHooks {
    /// A duplicate ACK arrived, in a loss episode or not.
    fn on_dup_ack(&mut self, _now: SimTime) {}

    /// An ACK of new data inside recovery.
    fn on_recovery_ack(&mut self, _ack: &Ack) {}

    /// The episode is over.
    fn on_exit_recovery(&mut self, _now: SimTime) {}
}

/// Undoes timeouts that timestamps show to have been spurious (Eifel, RFC 3522). The sender puts the data that it took for
/// lost back in flight.
pub trait SpuriousTimeouts {
    /// The first of the timeouts since the last new acknowledgement was spurious, and none of the data was in a loss
    /// episode before.
    fn on_spurious_timeout(&mut self);
}

/// Spaces the segments of the sender.
pub trait Pacing {
    /// Rate at which segments leave, not zero; `None` before a rate is known.
    fn pacing_rate(&self) -> Option<BitsPerSecond>;

    /// Bytes that may leave at once after a pause; less than a packet is one packet.
    fn pacing_burst(&self) -> Bytes {
        Bytes::ZERO
    }

    /// Rate and burst count packets as they are on the wire, headers included; otherwise payload.
    fn counts_headers(&self) -> bool {
        false
    }
}

/// Exceeds the advertised window, and changes the window of recovery and the retransmission timer.
pub trait WindowOverdraft {
    /// Bytes by which the sender may exceed the right edge of the advertised window.
    fn beyond_window(&self) -> Bytes;

    /// Window of recovery after an ACK of new data in fast recovery, in the place of `window`, the one that the recovery
    /// machine computed; `None` leaves it.
    fn recovery_window(&self, window: Bytes, ack: RecoveryAck) -> Option<Bytes>;

    /// Time added to the retransmission timer.
    fn rto_margin(&self, timer: RtoTimer) -> Nanos;
}

/// Probes for capacity with dummy segments.
pub trait Probing {
    /// Dummies to send from now on; they replace all that were ordered before. Each order is returned once. Asked after
    /// each event.
    fn take_dummies(&mut self) -> Option<Dummies>;

    /// A dummy segment was answered.
    fn on_dummy_answer(&mut self, answer: &DummyAnswer);
}

/// State that the controllers of sibling paths read in [`crate::PathView`].
pub trait SharedState {
    /// Bytes acknowledged between two losses: the larger of the last such interval and the present one (OLIA).
    fn loss_interval(&self) -> f64 {
        0.0
    }

    /// Rate at the last measurement in bytes per second; 0 before the first (wVegas).
    fn measured_rate(&self) -> f64 {
        0.0
    }

    /// Slow-start threshold in bytes (CMT/RPv1).
    fn threshold(&self) -> f64 {
        0.0
    }
}

/// An ACK of new data in fast recovery, as the recovery machine sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryAck {
    /// Bytes newly acknowledged cumulatively.
    pub acked: Bytes,
    /// It ends the episode; otherwise it is a partial ACK.
    pub full: bool,
    /// The window is inflated by duplicate ACKs (RFC 6582); otherwise recovery goes by pipe.
    pub inflated: bool,
}

/// A retransmission timer that is being set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoTimer {
    /// It has run out before and is backed off.
    pub after_timeout: bool,
    /// The receiver does not acknowledge every segment at once.
    pub acks_are_delayed: bool,
}

/// Dummy segments of low priority: as large as a full segment, without data, never sent again. The receiver answers each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dummies {
    /// One less than full segments fit into the advertised window, evenly over a round trip behind the next segment
    /// with data.
    WindowOverRoundTrip,
    /// This number of segments, one with each ACK.
    PerAck(u64),
}

/// A dummy segment was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DummyAnswer {
    /// When the answer arrived.
    pub now: SimTime,
    /// Receive window from `snd_una`, as advertised with the last ACK.
    pub rwnd: Bytes,
}

/// The extensions and needs of a controller, constant over its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Requirements on the sender.
    pub needs: Needs,
    /// It implements [`RecoveryHooks`].
    pub recovery_hooks: bool,
    /// It implements [`SpuriousTimeouts`].
    pub spurious_timeouts: bool,
    /// It implements [`Pacing`].
    pub pacing: bool,
    /// [`Pacing::counts_headers`].
    pub paces_headers: bool,
    /// It implements [`WindowOverdraft`].
    pub overdraft: bool,
    /// It implements [`Probing`].
    pub probing: bool,
    /// It implements [`SharedState`].
    pub shared_state: bool,
}

impl Capabilities {
    /// Asks a controller, once when it is made.
    pub fn of(control: &mut dyn CongestionControl) -> Self {
        Self {
            needs: control.needs(),
            recovery_hooks: control.recovery_hooks().is_some(),
            spurious_timeouts: control.spurious_timeouts().is_some(),
            pacing: control.pacing().is_some(),
            paces_headers: control.pacing().is_some_and(Pacing::counts_headers),
            overdraft: control.overdraft().is_some(),
            probing: control.probing().is_some(),
            shared_state: control.shared_state().is_some(),
        }
    }

    /// The sender caches values of an extension, which every event may change.
    pub fn has_cached_values(self) -> bool {
        self.pacing || self.overdraft || self.probing || self.shared_state
    }
}
