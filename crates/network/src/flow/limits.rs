//! How long each limit kept the data sender of a connection, and of its subflows, from sending.
//!
//! May: ask a connection for its limit. May not: decide that.

use trace::{Limited, StateTimes};
use transport::{Connection, Limit};
use units::SimTime;

/// Time by limit.
type Times = StateTimes<{ Limit::COUNT }>;

/// Limits of one connection from the start of its flow.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    start: SimTime,
    connection: Times,
    /// MPTCP: by index. A subflow that does not exist is waiting for its handshake.
    subflows: Option<Vec<Times>>,
}

impl Limits {
    /// A connection that is opened at `now`, of a flow that has started at `start`.
    pub(crate) fn new(start: SimTime, now: SimTime, multipath: bool) -> Self {
        debug_assert!(start <= now, "opened before its flow started");
        let mut connection = Times::new(start, Limit::Application.code());
        connection.set(now, Limit::Handshake.code());
        Self { start, connection, subflows: multipath.then(Vec::new) }
    }

    /// A conversation in datagrams of a flow that has started at `start`: they leave when the application sends them.
    pub(crate) fn of_datagrams(start: SimTime) -> Self {
        let connection = Times::new(start, Limit::Application.code());
        Self { start, connection, subflows: None }
    }

    /// This limit holds the connection, and the only subflow in `changed` as well, since they were last asked.
    #[inline]
    pub(crate) fn hold(&self, limit: Limit, changed: u64) -> bool {
        let holds = |times: &Times| times.state() == limit.code();
        let of_subflow = |subflows: &Vec<Times>| {
            changed.is_power_of_two() && subflows.get(changed.trailing_zeros() as usize).is_some_and(holds)
        };
        holds(&self.connection) && self.subflows.as_ref().is_none_or(of_subflow)
    }

    /// The sender has sent all that it may. `more`: the application has more to write than the send buffer accepts.
    /// `changed` has a bit for each subflow to which something has happened. The others have another limit than before
    /// only if data begins or ceases to wait for their windows.
    pub(crate) fn after(&mut self, now: SimTime, sender: &Connection, more: bool, changed: u64) {
        let limit = sender.limit(more);
        let Some(subflows) = &mut self.subflows else {
            return self.connection.set(now, limit.unwrap_or_default().code());
        };
        let before = self.connection.state();
        let same = limit.map_or(is_of_paths(before), |limit| limit.code() == before);
        let mut left = if same { changed } else { u64::MAX };
        if left.leading_zeros() < u64::BITS - subflows.len() as u32 {
            let start = self.start;
            let new = || Times::new(start, Limit::Handshake.code());
            subflows.resize_with(subflows.len().max(sender.subflow_count()), new);
        }
        let mut least = Limit::PathDown;
        while left != 0 {
            let subflow = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(times) = subflows.get_mut(subflow) else { break };
            let limit = sender.subflow_limit(subflow, more);
            times.set(now, limit.code());
            least = least.min(limit);
        }
        match limit {
            Some(limit) => self.connection.set(now, limit.code()),
            // No subflow has room: the connection has the limit of the one that changed last.
            None if !same || is_of_paths(least.code()) || least == Limit::ReceiveWindow => {
                self.connection.set(now, least.code())
            }
            None => {}
        }
    }

    /// The code of the limit of a subflow now.
    pub(crate) fn code(&self, subflow: usize) -> u8 {
        let of_subflow = |subflows: &Vec<Times>| subflows.get(subflow).map(Times::state);
        match &self.subflows {
            None => self.connection.state(),
            Some(subflows) => of_subflow(subflows).unwrap_or(Limit::Handshake.code()),
        }
    }

    /// Time under each limit of the connection until `end`.
    pub(crate) fn of_connection(&self, end: SimTime) -> Limited {
        Limited(self.connection.times(end))
    }

    /// Time under each limit of a subflow until `end`.
    pub(crate) fn of_subflow(&self, subflow: usize, end: SimTime) -> Limited {
        let Some(subflows) = &self.subflows else { return self.of_connection(end) };
        let unopened = || Times::new(self.start, Limit::Handshake.code()).times(end);
        Limited(subflows.get(subflow).map_or_else(unopened, |times| times.times(end)))
    }
}

/// Data waits until a path can carry it.
#[inline]
fn is_of_paths(code: u8) -> bool {
    const OF_PATHS: u16 = 1 << Limit::CongestionWindow.code()
        | 1 << Limit::Pacing.code()
        | 1 << Limit::Scheduler.code()
        | 1 << Limit::Recovery.code();
    OF_PATHS >> code & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_name_the_limits_of_the_transport() {
        assert_eq!(trace::LIMITS, Limit::ALL.map(Limit::name));
    }
}
