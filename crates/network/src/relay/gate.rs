//! The limits of a proxy: how much it passes on, how many connections it has, and whether it is there at all. Relays that wait for
//! the rate pass in turn.
//!
//! May: say when the next bytes may pass. May not: move them.

use std::collections::VecDeque;

use scenario::model::Proxy;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::relay::leg::{LegEnd, RelayId};

/// Bytes that pass at a time: a full segment or a millisecond.
const SEGMENT: Bytes = Bytes(1500);
const STEP: Nanos = Nanos::from_millis(1);

/// The limits of one proxy, which all of its relays share.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    rate: Option<BitsPerSecond>,
    connections: Option<u32>,
    /// By direction: when everything that has passed would have left at the rate.
    free_at: [SimTime; 2],
    /// By direction: relays with data that waits for the rate.
    waiting: [VecDeque<RelayId>; 2],
    silent: bool,
}

impl Gate {
    /// Nothing has passed.
    pub(crate) fn new(proxy: &Proxy) -> Self {
        let (rate, connections) = (proxy.rate, proxy.connections);
        let waiting = [VecDeque::new(), VecDeque::new()];
        Self { rate, connections, free_at: [SimTime::ZERO; 2], waiting, silent: false }
    }

    /// Most connections at a time.
    pub(crate) fn connections(&self) -> Option<u32> {
        self.connections
    }

    /// It answers nothing any more.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent
    }

    /// It crashes: nothing waits; `silent`: its power has failed.
    pub(crate) fn crash(&mut self, silent: bool) {
        self.silent |= silent;
        self.waiting.iter_mut().for_each(VecDeque::clear);
    }

    /// Bytes of a relay that may pass now in the direction that begins at `from`.
    pub(crate) fn allows(&self, now: SimTime, from: LegEnd, relay: RelayId) -> Bytes {
        let turn = self.waiting[from.index()].front().is_none_or(|first| *first == relay);
        match self.rate {
            None => Bytes::MAX,
            Some(_) if self.free_at[from.index()] > now || !turn => Bytes::ZERO,
            Some(rate) => {
                SEGMENT.max(Bytes((u128::from(rate.0) * u128::from(STEP.0) / 8_000_000_000) as u64))
            }
        }
    }

    /// The relay has passed on `bytes`; `None`: it was not allowed to, and keeps its place. `more`: it has data that waits
    /// for the rate alone.
    pub(crate) fn passed(
        &mut self,
        now: SimTime,
        from: LegEnd,
        relay: RelayId,
        (bytes, more): (Option<Bytes>, bool),
    ) {
        let Some(rate) = self.rate else { return };
        let waiting = &mut self.waiting[from.index()];
        if let Some(bytes) = bytes {
            let free_at = &mut self.free_at[from.index()];
            *free_at = (*free_at).max(now) + rate.time_to_send(bytes);
        }
        if bytes.is_some() || !more {
            waiting.retain(|other| *other != relay);
        }
        if more && !waiting.contains(&relay) {
            waiting.push_back(relay);
        }
    }

    /// A relay has ended.
    pub(crate) fn forget(&mut self, relay: RelayId) {
        self.waiting.iter_mut().for_each(|waiting| waiting.retain(|other| *other != relay));
    }

    /// The relay whose turn it is in this direction, and when.
    pub(crate) fn next(&self, from: LegEnd) -> Option<(RelayId, SimTime)> {
        Some((*self.waiting[from.index()].front()?, self.free_at[from.index()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two relays with endless data.
    #[test]
    fn bytes_pass_at_the_rate_and_in_turn() {
        let mut gate = Gate {
            rate: Some(BitsPerSecond(12_000_000)),
            connections: None,
            free_at: [SimTime::ZERO; 2],
            waiting: [VecDeque::new(), VecDeque::new()],
            silent: false,
        };
        let (mut now, mut passed) = (SimTime::from_millis(5), [0, 0]);
        for relay in [RelayId(0), RelayId(1)] {
            gate.passed(now, LegEnd::Client, relay, (None, true));
        }
        while now < SimTime::from_millis(1005) {
            for relay in [RelayId(0), RelayId(1)] {
                let bytes = gate.allows(now, LegEnd::Client, relay);
                passed[relay.0 as usize] += bytes.0;
                let done = (bytes > Bytes::ZERO).then_some(bytes);
                gate.passed(now, LegEnd::Client, relay, (done, true));
            }
            now = gate.next(LegEnd::Client).expect("both wait").1;
        }
        assert_eq!(passed, [750_000, 750_000], "12 Mbit/s for a second");
        let early = SimTime::from_millis(5);
        assert_eq!(gate.allows(early, LegEnd::Server, RelayId(0)), SEGMENT, "each direction by itself");
        assert_eq!(gate.allows(early, LegEnd::Client, RelayId(0)), Bytes::ZERO);
        gate.crash(false);
        assert!(gate.next(LegEnd::Client).is_none() && !gate.is_silent());
    }
}
