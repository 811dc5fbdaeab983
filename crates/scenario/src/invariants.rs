//! Invariants of every scenario that the parser accepts; debug builds check them.

use std::collections::BTreeSet;

use units::{Nanos, Ratio, SimTime};

use crate::model::{
    Change, Direction, DuplexLink, Flow, FlowAction, FlowEvent, Proxy, ProxyKind, Scenario, Transport,
};

impl Scenario {
    /// Checks that indices exist, names are unique and times lie in order.
    ///
    /// # Panics
    /// In debug builds if one of them does not hold: the parser or whatever has changed the scenario since is wrong.
    pub fn check(&self) {
        debug_assert!(self.duration > Nanos::ZERO, "a run takes time");
        debug_assert!(!self.seeds.is_empty(), "no replication");
        debug_assert!(self.record_interval > Nanos::ZERO, "samples at one instant");
        debug_assert!(unique(self.nodes.iter().map(|node| &node.name)), "two nodes of one name");
        debug_assert!(unique(self.duplex_links.iter().map(|link| &link.name)), "two links of one name");
        debug_assert!(unique(self.flows.iter().map(|flow| &flow.name)), "two flows of one name");
        debug_assert!(self.events.is_sorted_by_key(|event| event.at), "events out of order");
        debug_assert!(self.flow_events.is_sorted_by_key(|event| event.at), "flow events out of order");
        self.duplex_links.iter().for_each(|link| self.check_link(link));
        self.flows.iter().enumerate().for_each(|(index, flow)| self.check_flow(index, flow));
        debug_assert!(unique(self.proxies.iter().map(|proxy| &proxy.name)), "two proxies of one name");
        self.proxies.iter().for_each(|proxy| self.check_proxy(proxy));
        self.events.iter().for_each(|change| self.check_change(change));
        self.flow_events.iter().for_each(|event| self.check_flow_event(event));
    }

    fn check_link(&self, link: &DuplexLink) {
        let [a, b] = link.ends;
        debug_assert!(a < self.nodes.len() && b < self.nodes.len(), "{}: an end is no node", link.name);
        debug_assert!(a != b, "{}: both ends are the same node", link.name);
        let [there, back] = &link.directions;
        debug_assert!(there.name != back.name, "{}: two directions of one name", link.name);
        link.directions.iter().for_each(check_direction);
    }

    fn check_flow(&self, index: usize, flow: &Flow) {
        let name = &flow.name;
        debug_assert!(flow.from < self.nodes.len() && flow.to < self.nodes.len(), "{name}: no node");
        debug_assert!(flow.from != flow.to, "{name}: sender and receiver are the same node");
        debug_assert!(!flow.after.contains(&index), "{name} waits for itself");
        debug_assert!(flow.after.iter().all(|after| *after < self.flows.len()), "{name} waits for no flow");
        let ends = flow.via.map(|via| self.duplex_links[via].ends);
        let touches = ends.is_none_or(|ends| ends.contains(&flow.from) || ends.contains(&flow.to));
        debug_assert!(touches, "{name}: `via` is not at one of its hosts");
        check_transport(name, &flow.transport);
        let endpoints = flow.transport.mptcp.iter().flat_map(|mptcp| &mptcp.endpoints);
        for endpoint in endpoints {
            debug_assert!(endpoint.duplex_link < self.duplex_links.len(), "{name}: an endpoint on no link");
        }
    }

    fn check_proxy(&self, proxy: &Proxy) {
        let name = &proxy.name;
        let crossed = self.nodes[proxy.node].forward || proxy.kind == ProxyKind::Convert;
        debug_assert!(crossed, "{name}: no packet crosses its node");
        for flow in proxy.flows.iter().map(|flow| &self.flows[*flow]) {
            debug_assert!(
                proxy.node != flow.from && proxy.node != flow.to,
                "{name} is an end of {}",
                flow.name
            );
            debug_assert!(flow.transport.is_stream(), "{name} intercepts {}, which is not TCP", flow.name);
        }
        for side in [&proxy.client, &proxy.server] {
            check_transport(name, side);
            debug_assert!(side.is_stream(), "{name} speaks TCP or MPTCP");
        }
        debug_assert!(proxy.crashes.is_sorted_by_key(|crash| crash.at), "{name}: crashes out of order");
        debug_assert!(proxy.connections != Some(0), "{name} accepts no connection");
        let multipath = proxy.client.mptcp.is_some();
        let fits = proxy.kind == ProxyKind::Convert || multipath == (proxy.kind == ProxyKind::Mptcp);
        debug_assert!(fits, "{name}: kind and transport differ");
    }

    fn check_change(&self, change: &Change) {
        debug_assert!(!change.links.is_empty(), "an event about no link");
        let exists = |&(link, direction): &(usize, usize)| link < self.duplex_links.len() && direction < 2;
        debug_assert!(change.links.iter().all(exists), "an event about a link that does not exist");
        debug_assert!(change.rate.as_ref().is_none_or(|rate| !rate.is_empty()), "a change to no rate");
        debug_assert!(change.delay.as_ref().is_none_or(|delay| !delay.is_empty()), "a change to no delay");
    }

    fn check_flow_event(&self, event: &FlowEvent) {
        debug_assert!(event.flow < self.flows.len(), "an event about no flow");
        debug_assert!(event.at < SimTime::NEVER, "an event that never comes");
        if let FlowAction::Leave(link) | FlowAction::Join(link) | FlowAction::Backup(link, _) = event.what {
            let flow = &self.flows[event.flow];
            let ends = self.duplex_links[link].ends;
            debug_assert!(
                ends.contains(&flow.from) || ends.contains(&flow.to),
                "no address of {}",
                flow.name
            );
        }
    }
}

fn check_direction(direction: &Direction) {
    let name = &direction.name;
    debug_assert!(!direction.rate.is_empty(), "{name} has no rate");
    debug_assert!(!direction.delay.is_empty(), "{name} has no delay");
    let faults = direction.faults;
    let shares = [faults.corrupt, faults.duplicate, faults.reorder].map(Ratio::get);
    debug_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{name}: no probability");
    let limited = |shaper: &links::Shaper| shaper.rate.0 > 0 && shaper.rate.0 < u64::MAX;
    debug_assert!(direction.shapers.iter().all(limited), "{name}: a shaper without a rate");
}

fn check_transport(name: &str, transport: &Transport) {
    let tcp = &transport.tcp;
    debug_assert_eq!(transport.udp.is_none(), transport.congestion.is_some(), "{name}: TCP has a controller");
    debug_assert!(transport.udp.is_none() || transport.mptcp.is_none(), "{name}: multipath datagrams");
    debug_assert!(tcp.segment.mss.0 > 0, "{name}: segments without payload");
    debug_assert!(tcp.timers.rto.min <= tcp.timers.rto.max, "{name}: bounds of the timeout are exchanged");
    debug_assert!(
        tcp.timers.rto.initial <= tcp.timers.rto.max,
        "{name}: the first timeout is above the bound"
    );
    debug_assert!(
        tcp.buffers.receive_buffer <= tcp.buffers.receive_buffer_max,
        "{name}: the receive buffer shrinks"
    );
    debug_assert!(tcp.ack.every > 0, "{name}: an acknowledgement for no segment");
    debug_assert!(tcp.recovery.dupthresh > 0, "{name}: a loss without a duplicate acknowledgement");
}

fn unique<'n>(names: impl Iterator<Item = &'n String>) -> bool {
    let mut seen = BTreeSet::new();
    names.into_iter().all(|name| seen.insert(name))
}
