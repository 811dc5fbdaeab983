//! Limits of a sender, as far as packets at its place tell.
//!
//! A window that the congestion control has used up, pacing and a scheduler look the same from outside: that time is charged to
//! none of them.

/// Silence is longer than this, and than three round trips.
const SILENCE_NANOS: u64 = 1_000_000_000;

/// Why nothing more is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The handshake is not complete.
    #[default]
    Handshake,
    /// All data that was sent is acknowledged: there is none to send.
    Nothing,
    /// The next segment does not fit into the receive window.
    Window,
    /// A loss is being repaired.
    Recovery,
    /// It was reset.
    Reset,
    /// The packets do not tell.
    Unknown,
}

impl Cause {
    /// Its number among the limits of a run (`trace::LIMITS`), if it is one of them.
    pub(crate) fn limit(self) -> Option<u8> {
        match self {
            Self::Nothing => Some(0),
            Self::Window => Some(2),
            Self::Recovery => Some(6),
            Self::Handshake => Some(7),
            Self::Reset => Some(8),
            Self::Unknown => None,
        }
    }
}

/// Silences that are kept with their times.
const KEPT: usize = 64;
/// All causes, in the order of their numbers.
const CAUSES: usize = 6;

/// A sender after a packet: positions in its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Behind the last byte that was sent.
    pub(crate) highest: u64,
    /// Acknowledged up to here.
    pub(crate) acked: u64,
    /// Bytes behind `acked` that the receiver has room for, if the scale of its windows is known.
    pub(crate) window: Option<u64>,
    /// Largest segment so far.
    pub(crate) segment: u64,
    /// Mean round trip so far, in nanoseconds.
    pub(crate) rtt: u64,
}

impl Sent {
    fn outstanding(&self) -> u64 {
        self.highest.saturating_sub(self.acked)
    }

    fn is_window_full(&self) -> bool {
        self.window.is_some_and(|window| self.outstanding().saturating_add(self.segment) > window)
    }
}

/// Time by cause, and silence of the other end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    since: Option<u64>,
    cause: Cause,
    spent: [u64; CAUSES],
    /// Recovery ends when everything up to here is acknowledged.
    recover: Option<u64>,
    /// Last acknowledgement, or the first data after all was acknowledged.
    heard: Option<u64>,
    /// Silence in all, and the first ones from the last answer to the next.
    silent: u64,
    silences: Vec<[u64; 2]>,
    /// Shorter is no silence, while data is outstanding.
    patience: Option<u64>,
}

impl Waiting {
    /// The handshake is complete, or the capture began later.
    pub(crate) fn begin(&mut self, at: u64) {
        if self.cause == Cause::Handshake {
            self.charge(at);
            self.cause = Cause::Nothing;
        }
    }

    /// Data is repeated: it has been lost, or is believed to be.
    pub(crate) fn repeats(&mut self, highest: u64) {
        self.recover.get_or_insert(highest);
    }

    /// Why nothing more is sent now.
    pub(crate) fn cause(&self) -> Cause {
        self.cause
    }

    /// A loss is being repaired.
    pub(crate) fn recovers(&self) -> bool {
        self.recover.is_some()
    }

    /// Reset: nothing more is sent.
    pub(crate) fn reset(&mut self, at: u64) {
        self.charge(at);
        self.cause = Cause::Reset;
    }

    /// A packet crosses the place. `answer`: from the other end.
    pub(crate) fn packet(&mut self, at: u64, sent: &Sent, answer: bool) {
        if self.cause == Cause::Handshake || self.cause == Cause::Reset {
            return;
        }
        self.charge(at);
        if answer {
            let silence = self.silence(at);
            self.silent = self.silent.saturating_add(silence);
            if silence > 0 && self.silences.len() < KEPT {
                self.silences.push([at - silence, at]);
            }
            self.heard = Some(at);
        } else if sent.outstanding() <= sent.segment {
            // The first segment after a pause.
            self.heard = Some(at);
        }
        self.patience = (sent.outstanding() > 0).then_some(SILENCE_NANOS.max(sent.rtt.saturating_mul(3)));
        if self.recover.is_some_and(|until| sent.acked >= until) {
            self.recover = None;
        }
        self.cause = if self.recover.is_some() {
            Cause::Recovery
        } else if sent.outstanding() == 0 {
            Cause::Nothing
        } else if sent.is_window_full() {
            Cause::Window
        } else {
            Cause::Unknown
        };
        self.check();
    }

    /// Nanoseconds of a cause until `end`.
    pub(crate) fn spent(&self, cause: Cause, end: u64) -> u64 {
        let rest = self.since.filter(|_| cause == self.cause).map_or(0, |since| end.saturating_sub(since));
        self.spent[cause as usize] + rest
    }

    /// Time without a packet of the other end while data was outstanding, in nanoseconds.
    pub(crate) fn silent(&self, end: u64) -> u64 {
        self.silent.saturating_add(if self.cause == Cause::Reset { 0 } else { self.silence(end) })
    }

    /// The first silences; that which goes on at `end` is the last.
    pub(crate) fn silences(&self, end: u64) -> Vec<[u64; 2]> {
        let rest = if self.cause == Cause::Reset { 0 } else { self.silence(end) };
        let open = (rest > 0).then(|| [end - rest, end]);
        self.silences.iter().copied().chain(open).collect()
    }

    fn silence(&self, at: u64) -> u64 {
        let quiet = self.heard.map_or(0, |heard| at.saturating_sub(heard));
        if self.patience.is_some_and(|patience| quiet > patience) { quiet } else { 0 }
    }

    fn charge(&mut self, at: u64) {
        let since = self.since.unwrap_or(at);
        self.spent[self.cause as usize] += at.saturating_sub(since);
        self.since = Some(at.max(since));
    }

    fn check(&self) {
        debug_assert!(
            self.recover.is_some() == (self.cause == Cause::Recovery),
            "recovery comes before other causes"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    fn sent(highest: u64, acked: u64, window: u64) -> Sent {
        Sent { highest, acked, window: Some(window), segment: 1_000, rtt: SECOND / 10 }
    }

    #[test]
    fn each_instant_has_one_cause_at_most() {
        let mut waiting = Waiting::default();
        waiting.charge(0);
        waiting.begin(SECOND);
        // A second without data, one with a full window, two in recovery, one of which the packets do not tell the cause.
        waiting.packet(2 * SECOND, &sent(10_000, 0, 10_500), false);
        waiting.repeats(10_000);
        waiting.packet(3 * SECOND, &sent(10_000, 0, 20_000), false);
        waiting.packet(5 * SECOND, &sent(11_000, 10_000, 20_000), true);
        let causes = [Cause::Handshake, Cause::Nothing, Cause::Window, Cause::Recovery, Cause::Unknown];
        assert_eq!(causes.map(|cause| waiting.spent(cause, 6 * SECOND) / SECOND), [1, 1, 1, 2, 1]);
    }

    #[test]
    fn silence_is_no_answer_to_data() {
        let mut waiting = Waiting::default();
        waiting.begin(0);
        waiting.packet(SECOND, &sent(1_000, 0, 10_000), false);
        waiting.packet(4 * SECOND, &sent(1_000, 1_000, 10_000), true);
        // Nothing is outstanding: that is no silence.
        waiting.packet(9 * SECOND, &sent(2_000, 1_000, 10_000), false);
        waiting.packet(9 * SECOND + SECOND / 2, &sent(2_000, 2_000, 10_000), true);
        assert_eq!(waiting.silent(20 * SECOND), 3 * SECOND);
    }
}
