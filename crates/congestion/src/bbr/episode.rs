//! The window of BBR in a loss episode, and the one that it gets back.

/// Packet conservation in the first round of a loss episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Conservation {
    /// No episode, or its first round is over.
    #[default]
    Off,
    /// The episode begins with the next ACK.
    Begins,
    /// First round: as much is sent as is delivered.
    On,
}

/// A loss episode, and the window before it or before PROBE_RTT in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Episode {
    conservation: Conservation,
    prior_cwnd: f64,
}

impl Episode {
    /// A loss was detected.
    pub fn begin(&mut self) {
        self.conservation = Conservation::Begins;
    }

    /// The first ACK of the episode is counted.
    pub fn conserve(&mut self) {
        debug_assert_eq!(
            self.conservation,
            Conservation::Begins,
            "an episode conserves from its first ACK on"
        );
        self.conservation = Conservation::On;
    }

    /// A round has ended, so the window may grow again.
    pub fn on_round(&mut self) {
        if self.conservation == Conservation::On {
            self.conservation = Conservation::Off;
        }
    }

    /// The episode is over.
    pub fn end(&mut self) {
        self.conservation = Conservation::Off;
    }

    /// Remembers `cwnd` before a loss episode or PROBE_RTT. One within the other must not forget the larger.
    pub fn save(&mut self, cwnd: f64, in_probe_rtt: bool) {
        let undisturbed = self.conservation == Conservation::Off && !in_probe_rtt;
        self.prior_cwnd = if undisturbed { cwnd } else { self.prior_cwnd.max(cwnd) };
        debug_assert!(self.prior_cwnd >= cwnd, "the window {cwnd} is forgotten: {self:?}");
    }

    /// Its effect at present.
    pub fn conservation(&self) -> Conservation {
        self.conservation
    }

    /// `cwnd`, or the window before if that was larger.
    pub fn restored(&self, cwnd: f64) -> f64 {
        cwnd.max(self.prior_cwnd)
    }
}
