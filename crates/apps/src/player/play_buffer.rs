//! The buffer of a player: film that has arrived and has not been played, and the waits of the viewer.

use units::{Nanos, SimTime};

/// Film in the buffer, in time.
#[derive(Clone, Debug)]
pub(super) struct PlayBuffer {
    /// Playing begins, and goes on after a stall, when this is buffered.
    start: Nanos,
    /// No segment is asked for while there is more.
    most: Nanos,
    /// Film in the buffer at `since`, and whether it is being played.
    held: Nanos,
    since: SimTime,
    playing: bool,
    /// When the present wait (for the start, or a stall) began.
    waiting_since: SimTime,
    /// Playing has begun once, so that further waits are stalls.
    begun: bool,
}

impl PlayBuffer {
    /// Empty.
    pub fn new(start: Nanos, most: Nanos) -> Self {
        Self {
            start,
            most,
            held: Nanos::ZERO,
            since: SimTime::ZERO,
            playing: false,
            waiting_since: SimTime::ZERO,
            begun: false,
        }
    }

    /// The viewer waits for the start from now on.
    pub fn wait(&mut self, now: SimTime) {
        (self.since, self.waiting_since) = (now, now);
        self.check();
    }

    /// Takes the film out that was played since the last look.
    pub fn play(&mut self, now: SimTime) {
        debug_assert!(now >= self.since, "played at {now}, before {}", self.since);
        if self.playing {
            self.held = self.held.saturating_sub(now.since(self.since));
        }
        self.since = now;
        self.check();
    }

    /// A segment of this length has arrived.
    pub fn add(&mut self, length: Nanos) {
        self.held = self.held + length;
    }

    /// Enough is there to begin or to go on; nothing more is needed when the film is `complete`.
    pub fn is_ready(&self, complete: bool) -> bool {
        !self.playing && (self.held >= self.start || complete)
    }

    /// Begins or goes on to play.
    pub fn start(&mut self) {
        debug_assert!(!self.playing, "plays already");
        self.playing = true;
        self.begun = true;
        self.check();
    }

    /// The buffer has run dry: a stall, or the end of the film.
    pub fn run_dry(&mut self, now: SimTime) {
        self.play(now);
        debug_assert_eq!(self.held, Nanos::ZERO, "a buffer with film in it has not run dry");
        self.playing = false;
        self.waiting_since = now;
        self.check();
    }

    /// Film in the buffer at the last look.
    pub fn held(&self) -> Nanos {
        self.held
    }

    /// The film is being played.
    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// Film above the limit that will be played; `None` if a segment may be asked for now.
    pub fn excess(&self) -> Option<Nanos> {
        (self.playing && self.held > self.most).then(|| self.held.saturating_sub(self.most))
    }

    /// The name of the present wait, and when it began.
    pub fn present_wait(&self) -> (&'static str, SimTime) {
        (if self.begun { "stall" } else { "startup" }, self.waiting_since)
    }

    fn check(&self) {
        debug_assert!(self.begun || !self.playing, "plays without having begun");
        debug_assert!(self.waiting_since <= self.since, "waits from {} on: {self:?}", self.waiting_since);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// All film that arrived has been played or is held, and time passes in playing and in waits.
        #[test]
        fn film_is_played_once(segments in vec((0..10_u64, 1..10_u64), 1..50), start in 1..20_u64) {
            let mut buffer = PlayBuffer::new(Nanos(start), Nanos(30));
            buffer.wait(SimTime::ZERO);
            let (mut now, mut arrived, mut played) = (SimTime::ZERO, 0, 0);
            for (pause, length) in segments {
                let next = now + Nanos(pause);
                if buffer.is_playing() && now + buffer.held() <= next {
                    played += buffer.held().0;
                    buffer.run_dry(now + buffer.held());
                } else if buffer.is_playing() {
                    played += pause;
                }
                now = next;
                buffer.play(now);
                buffer.add(Nanos(length));
                arrived += length;
                if buffer.is_ready(false) {
                    buffer.start();
                }
                prop_assert_eq!(arrived, played + buffer.held().0);
                prop_assert_eq!(buffer.excess().is_some(), buffer.is_playing() && buffer.held() > Nanos(30));
            }
        }
    }
}
