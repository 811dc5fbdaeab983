//! Records of transfers over the kernel as those of flows.
//!
//! May: add up. May not: leave a figure that the kernel does not tell at a value that means something.

use std::net::Ipv4Addr;

use emulate::{ConnectionState, FlowPlan, Ran, Sample, Samples, SubflowState, interface};
use network::NodeId;
use scenario::model::Scenario;
use trace::{FlowRecord, Held, Limited, MessageRecord, Series, SeriesKey, SubflowRecord};
use units::{Bytes, Nanos, SimTime};

use super::translate::link_of;

/// A TCP socket: local and remote address and port.
type Ends = [(Ipv4Addr, u16); 2];

/// Handshakes are not subflows yet.
const SYN_STATES: [u8; 2] = [2, 3];

/// One flow with the samples of the hosts at both of its ends.
pub(super) struct Observed<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) plan: &'a FlowPlan,
    pub(super) index: u32,
    pub(super) sender: &'a Samples,
    pub(super) receiver: &'a Samples,
}

impl<'a> Observed<'a> {
    /// `hosts`: the nodes of the samples of `ran`.
    pub(super) fn new(
        (scenario, ran): (&'a Scenario, &'a Ran),
        hosts: &[NodeId],
        (index, plan): (usize, &'a FlowPlan),
    ) -> Option<Self> {
        let samples = |node| Some(&ran.hosts[hosts.iter().position(|host| *host == node)?]);
        Some(Self {
            scenario,
            plan,
            index: index as u32,
            sender: samples(plan.from)?,
            receiver: samples(plan.to)?,
        })
    }

    /// The record of the flow in a run that ended at `end`.
    pub(super) fn record(&self, ran: &Ran) -> FlowRecord {
        let flow = &ran.flows[self.index as usize];
        let transfer = &flow.transfer;
        let start = self.plan.start.min(ran.end);
        let end = transfer.completed.unwrap_or(self.plan.stop.min(ran.end)).max(start);
        let subflows: Vec<SubflowRecord> = (0..)
            .zip(self.subflows(flow.port))
            .map(|(number, ends)| self.subflow(number, ends, end))
            .collect();
        let size = Bytes(transfer.delivered);
        let message = transfer.completed.map(|at| MessageRecord {
            what: "transfer",
            size,
            start,
            end: Some(at),
            delay: Some(at.since(start)),
        });
        let mut subflows = subflows;
        if let (Some(first), Some(last)) = (subflows.first_mut(), self.connections(flow.port).last()) {
            first.reinjected = last.reinjected;
        }
        FlowRecord {
            start,
            end,
            completed: transfer.completed.is_some(),
            delivered: size,
            last_delivery: transfer.last_delivery,
            delay: transfer.delay.clone(),
            send_delay_mean: None,
            send_delay_p95: None,
            ofo: Held::default(),
            waiting_for_others: None,
            failure: self.failure(transfer),
            fell_back: self.fell_back(flow.port),
            limited: Vec::new(),
            subflows,
            legs: Vec::new(),
            messages: message.into_iter().collect(),
            pages: Vec::new(),
            deadline: None,
        }
    }

    fn failure(&self, transfer: &emulate::Transfer) -> Option<&'static str> {
        if transfer.established.is_none() {
            return Some(trace::NEVER_ESTABLISHED);
        }
        transfer.failure.is_some().then_some("the kernel ended the connection")
    }

    /// The kernel says so of the connection, or has none where there are sockets.
    fn fell_back(&self, port: u16) -> bool {
        let plain = |sample: &Sample| sample.subflows.iter().any(|s| of(s, port) && s.token.is_none());
        self.plan.mptcp
            && (self.connections(port).any(|connection| connection.fell_back)
                || (self.connections(port).next().is_none() && self.sender.samples.iter().any(plain)))
    }

    fn connections(&self, port: u16) -> impl Iterator<Item = &ConnectionState> {
        let all = self.sender.samples.iter().flat_map(|sample| &sample.connections);
        all.filter(move |connection| connection.local.1 == port || connection.remote.1 == port)
    }

    /// The sockets at the data sender, the first subflow first and the others as they came.
    fn subflows(&self, port: u16) -> Vec<Ends> {
        let mut found: Vec<Ends> = Vec::new();
        for state in self.sender.samples.iter().flat_map(|sample| &sample.subflows) {
            let ends = [state.local, state.remote];
            if of(state, port) && !SYN_STATES.contains(&state.state) && !found.contains(&ends) {
                found.push(ends);
            }
        }
        let initial = |[local, remote]: &Ends| {
            let pair = [local.0, remote.0];
            pair == [self.plan.client, self.plan.server] || pair == [self.plan.server, self.plan.client]
        };
        found.sort_by_key(|ends| !initial(ends));
        found
    }

    fn subflow(&self, number: u32, ends: Ends, end: SimTime) -> SubflowRecord {
        let states: Vec<&SubflowState> = self
            .sender
            .samples
            .iter()
            .filter(|sample| sample.at <= end)
            .filter_map(|s| at(s, ends))
            .collect();
        let last = self.sender.samples.iter().rev().find_map(|sample| at(sample, ends));
        let [local, remote] = ends;
        let arrived = self.receiver.samples.iter().rev().find_map(|sample| at(sample, [remote, local]));
        let rtts: Vec<u64> = states.iter().map(|s| s.srtt.0).filter(|srtt| *srtt > 0).collect();
        let windows = states.iter().map(|s| f64::from(s.cwnd) * s.mss.as_f64()).sum::<f64>();
        let link = interface(local.0).and_then(|at| link_of(self.scenario, at));
        SubflowRecord {
            connection: 0,
            subflow: number,
            duplex_link: link,
            established: None,
            received: arrived.map_or(Bytes::ZERO, |s| s.received),
            segments_received: arrived.map_or(0, |s| u64::from(s.segments_received)),
            segments_repeated: 0,
            segments_late: 0,
            limited: Limited::default(),
            ofo: Held::default(),
            sent: last.map_or(Bytes::ZERO, |s| s.sent),
            wire: Bytes::ZERO,
            segments_sent: last.map_or(0, |s| u64::from(s.segments_sent)),
            segments_retransmitted: last.map_or(0, |s| u64::from(s.segments_retransmitted)),
            timeouts: last.map_or(0, |s| u64::from(s.timeouts)),
            fast_recoveries: 0,
            reinjected: Bytes::ZERO,
            beyond_window: Bytes::ZERO,
            overflow: Bytes::ZERO,
            srtt_mean: (!rtts.is_empty()).then(|| Nanos(rtts.iter().sum::<u64>() / rtts.len() as u64)),
            cwnd_mean: if states.is_empty() { 0.0 } else { windows / states.len() as f64 },
        }
    }

    /// Adds the time series of the flow and its subflows.
    pub(super) fn series(&self, port: u16, series: &mut Series) {
        let subflows = self.subflows(port);
        let every = self.sender.per_interval.max(1);
        let flow = SeriesKey::Flow(self.index);
        for sample in self.sender.samples.iter().skip(every - 1).step_by(every) {
            for (number, ends) in (0..).zip(&subflows) {
                let Some(state) = at(sample, *ends) else { continue };
                let key = SeriesKey::Subflow(self.index, 0, number);
                let mss = state.mss.as_f64();
                let mut push = |metric, value| series.push(sample.at, key, metric, value);
                push("cwnd_bytes", f64::from(state.cwnd) * mss);
                if let Some(ssthresh) = state.ssthresh {
                    push("ssthresh_bytes", f64::from(ssthresh) * mss);
                }
                if state.srtt > Nanos::ZERO {
                    push("srtt_s", state.srtt.as_secs_f64());
                }
                push("inflight_bytes", f64::from(state.unacked) * mss);
            }
            let windows = sample.subflows.iter().filter(|state| of(state, port));
            if let Some(window) = windows.map(|state| state.send_window).max() {
                series.push(sample.at, flow, "rwnd_bytes", window.as_f64());
            }
        }
        self.throughput(&subflows, port, series);
    }

    /// Rates between samples at the receiver.
    fn throughput(&self, subflows: &[Ends], port: u16, series: &mut Series) {
        let every = self.receiver.per_interval.max(1);
        let (mut before, mut delivered) = (vec![Bytes::ZERO; subflows.len()], Bytes::ZERO);
        let mut last = SimTime::ZERO;
        for sample in self.receiver.samples.iter().skip(every - 1).step_by(every) {
            let seconds = sample.at.since(last).as_secs_f64();
            if seconds <= 0.0 {
                continue;
            }
            last = sample.at;
            let rate = |bytes: Bytes| bytes.as_f64() * 8.0 / seconds;
            let mut sum = Bytes::ZERO;
            for (number, (&[local, remote], before)) in subflows.iter().zip(&mut before).enumerate() {
                let Some(state) = at(sample, [remote, local]) else { continue };
                sum += state.received;
                let key = SeriesKey::Subflow(self.index, 0, number as u32);
                series.push(sample.at, key, "throughput_bit_s", rate(state.received.saturating_sub(*before)));
                *before = state.received;
            }
            let connection =
                sample.connections.iter().find(|one| one.local.1 == port || one.remote.1 == port);
            let now = connection.filter(|one| !one.fell_back).map_or(sum, |one| one.received);
            let key = SeriesKey::Flow(self.index);
            series.push(sample.at, key, "goodput_bit_s", rate(now.saturating_sub(delivered)));
            delivered = now;
        }
    }
}

/// It belongs to the flow of this port.
fn of(state: &SubflowState, port: u16) -> bool {
    state.local.1 == port || state.remote.1 == port
}

fn at(sample: &Sample, [local, remote]: Ends) -> Option<&SubflowState> {
    sample.subflows.iter().find(|state| state.local == local && state.remote == remote)
}
