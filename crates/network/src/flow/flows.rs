//! All flows of a world, and which of their sockets are to be served.
//!
//! May: count what remains. May not: serve a socket.

use std::ops::{Index, IndexMut};

use units::SimTime;

use crate::flow::Flow;
use crate::host::socket::AppSocket;

/// Sockets that applications have written to, in this order.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirtyList(Vec<AppSocket>);

impl DirtyList {
    /// Adds a socket at the end, unless it is there.
    pub(crate) fn add(&mut self, socket: AppSocket) {
        if !self.0.contains(&socket) {
            self.0.push(socket);
        }
    }

    /// Takes the first.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<AppSocket> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }
}

/// All flows, by their index in the scenario.
#[derive(Debug)]
pub(crate) struct Flows {
    flows: Vec<Flow>,
    /// Flows that are not done.
    open: usize,
    /// Some flow waits for the end of others.
    waits: bool,
}

impl Flows {
    /// None has started.
    pub(crate) fn new(flows: Vec<Flow>) -> Self {
        Self { open: flows.len(), waits: flows.iter().any(|flow| flow.timing().waits()), flows }
    }

    /// By index.
    pub(crate) fn all(&self) -> &[Flow] {
        &self.flows
    }

    /// The same, to be changed.
    pub(crate) fn all_mut(&mut self) -> &mut [Flow] {
        &mut self.flows
    }

    /// Every flow is done.
    #[inline]
    pub(crate) fn are_done(&self) -> bool {
        self.open == 0
    }

    /// A flow is done.
    pub(crate) fn set_done(&mut self, index: usize) {
        self.flows[index].set_done();
        self.open -= 1;
        self.check();
    }

    /// A flow has ended. Returns which others start because of that, and when.
    pub(crate) fn ended(&mut self, now: SimTime, ended: usize) -> Vec<(usize, SimTime)> {
        if !self.waits {
            return Vec::new();
        }
        let others = self.flows.iter_mut().enumerate();
        others.filter_map(|(index, flow)| Some((index, flow.other_ended(now, ended)?))).collect()
    }

    fn check(&self) {
        let open = || self.flows.iter().filter(|flow| !flow.is_done()).count();
        debug_assert_eq!(self.open, open(), "flows that are not done, counted by hand");
    }
}

impl Index<usize> for Flows {
    type Output = Flow;

    #[inline]
    fn index(&self, index: usize) -> &Flow {
        &self.flows[index]
    }
}

impl IndexMut<usize> for Flows {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Flow {
        &mut self.flows[index]
    }
}
