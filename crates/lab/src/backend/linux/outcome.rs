//! Records of transfers over the kernel as those of flows.
//!
//! May: add up. May not: leave a figure that the kernel does not tell at a value that means something.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use emulate::{
    ConnectionState, ControlName, DatagramCounts, FlowPlan, FlowRan, Plan, Ran, Sample, Samples,
    SubflowState, interface,
};
use network::{Interface, NodeId};
use scenario::model::Scenario;
use trace::{FlowRecord, Held, Limited, Sending, Series, SeriesKey, SubflowRecord};
use units::{Bytes, Nanos, SimTime};

use super::translate::link_of;

/// A TCP socket: local and remote address and port.
type Ends = [(Ipv4Addr, u16); 2];

/// Handshakes are not subflows yet.
const SYN_STATES: [u8; 2] = [2, 3];

/// A socket of a flow, as its data sender sees it.
#[derive(Clone, Copy, Debug)]
struct Place {
    connection: u32,
    subflow: u32,
    ends: Ends,
}

/// One flow with the samples of the hosts at both of its ends.
pub(super) struct Observed<'a> {
    scenario: &'a Scenario,
    all: &'a Plan,
    plan: &'a FlowPlan,
    index: u32,
    ran: &'a FlowRan,
    sender: &'a Samples,
    receiver: &'a Samples,
}

impl<'a> Observed<'a> {
    /// `hosts`: the nodes of the samples of `ran`.
    pub(super) fn new(
        (scenario, ran): (&'a Scenario, &'a Ran),
        hosts: &[NodeId],
        (all, index): (&'a Plan, usize),
    ) -> Option<Self> {
        let plan = &all.flows[index];
        let samples = |node| Some(&ran.hosts[hosts.iter().position(|host| *host == node)?]);
        Some(Self {
            scenario,
            all,
            plan,
            index: index as u32,
            ran: &ran.flows[index],
            sender: samples(plan.from)?,
            receiver: samples(plan.to)?,
        })
    }

    /// The record of the flow in a run that ended at `end`.
    pub(super) fn record(&self, end: SimTime) -> FlowRecord {
        let talk = &self.ran.talk;
        let start = talk.start.unwrap_or(self.plan.start).min(end);
        let end = talk.end.unwrap_or(end).min(end).max(start);
        let mut subflows: Vec<SubflowRecord> = if self.plan.sockets.datagrams.is_some() {
            (0..)
                .zip(&talk.datagrams)
                .map(|(connection, counts)| self.datagrams(connection, *counts))
                .collect()
        } else {
            self.places().into_iter().map(|place| self.subflow(place, end)).collect()
        };
        if let Some(first) = subflows.first_mut() {
            first.reinjected = self.reinjected();
        }
        let carried: Bytes = subflows.iter().map(|subflow| subflow.received).sum();
        FlowRecord {
            start,
            end,
            completed: talk.completed,
            delivered: if talk.command { carried } else { Bytes(talk.delivered) },
            last_delivery: if talk.command && carried > Bytes::ZERO { Some(end) } else { talk.last_delivery },
            delay: talk.delay.clone(),
            send_delay_mean: None,
            send_delay_p95: None,
            ofo: Held::default(),
            waiting_for_others: None,
            failure: self.failure(),
            fell_back: self.fell_back(),
            limited: Vec::new(),
            subflows,
            legs: Vec::new(),
            failed_joins: Vec::new(),
            messages: talk.messages.clone(),
            pages: talk.pages.clone(),
            deadline: talk.deadline,
        }
    }

    /// A congestion control that a subflow had at last and that is not the one of the flow; a command may choose its own.
    pub(super) fn other_control(&self) -> Option<ControlName> {
        let wanted = ControlName::new(self.plan.sockets.congestion.as_bytes());
        let controls = self.places().into_iter().filter_map(|place| {
            self.sender.samples.iter().rev().find_map(|sample| at(sample, place.ends)?.control)
        });
        (!self.ran.talk.command).then_some(controls)?.find(|control| *control != wanted)
    }

    fn failure(&self) -> Option<Cow<'static, str>> {
        let talk = &self.ran.talk;
        if talk.start.is_none() {
            return Some(Cow::Borrowed("the flows that it waits for did not end in time"));
        }
        if talk.command {
            let none = self.places().is_empty().then_some("the commands opened no connection to {port}");
            return talk.failure.clone().map(Cow::Owned).or(none.map(Cow::Borrowed));
        }
        if !talk.established {
            return Some(Cow::Borrowed(trace::NEVER_ESTABLISHED));
        }
        talk.failure.is_some().then_some(Cow::Borrowed("the kernel ended the connection"))
    }

    /// The kernel says so of the connection, or has none where there are sockets.
    fn fell_back(&self) -> bool {
        let [port, _] = self.ran.ports;
        let of_mptcp = |state: &&SubflowState| [state.local.1, state.remote.1].contains(&port);
        let plain =
            |sample: &Sample| sample.subflows.iter().filter(of_mptcp).any(|state| state.token.is_none());
        self.plan.sockets.mptcp
            && (self.connections().any(|connection| connection.fell_back)
                || (self.connections().next().is_none() && self.sender.samples.iter().any(plain)))
    }

    /// The port belongs to a server of the flow.
    fn is_of(&self, ends: &Ends) -> bool {
        ends.iter().any(|(_, port)| self.ran.ports.contains(port))
    }

    fn connections(&self) -> impl Iterator<Item = &ConnectionState> {
        let all = self.sender.samples.iter().flat_map(|sample| &sample.connections);
        all.filter(|connection| self.is_of(&[connection.local, connection.remote]))
    }

    /// Payload that the connections have sent again on another subflow.
    fn reinjected(&self) -> Bytes {
        let mut last: Vec<(u32, Bytes)> = Vec::new();
        for state in self.connections() {
            match last.iter_mut().find(|(token, _)| *token == state.token) {
                Some((_, bytes)) => *bytes = state.reinjected,
                None => last.push((state.token, state.reinjected)),
            }
        }
        last.into_iter().map(|(_, bytes)| bytes).sum()
    }

    /// The sockets at the data sender, by connection in the order of opening: the first subflow first and the others as they came,
    /// those of one sample by address.
    fn places(&self) -> Vec<Place> {
        let mut found: Vec<(Ends, Option<u32>)> = Vec::new();
        for sample in &self.sender.samples {
            let known = found.len();
            for state in sample.subflows.iter().chain(&sample.gone) {
                let ends = [state.local, state.remote];
                if self.is_of(&ends) && !SYN_STATES.contains(&state.state) {
                    match found.iter_mut().find(|(known, _)| *known == ends) {
                        Some((_, token)) => *token = token.or(state.token),
                        None => found.push((ends, state.token)),
                    }
                }
            }
            // The kernel lists sockets in the order of a hash; several may have come since the last sample.
            found[known..].sort_unstable_by_key(|(ends, _)| *ends);
        }
        let mut places = Vec::with_capacity(found.len());
        let of_commands = self.ran.talk.command.then(|| first_ports(&found, self.ran.ports));
        for (connection, port) in (0..).zip(of_commands.as_ref().unwrap_or(&self.ran.talk.ports)) {
            let is_first = |ends: &Ends| ends.iter().any(|(_, other)| other == port);
            let Some(&(first, token)) = found.iter().find(|(ends, _)| is_first(ends)) else { continue };
            places.push(Place { connection, subflow: 0, ends: first });
            let joined =
                found.iter().filter(|(ends, other)| token.is_some() && *other == token && *ends != first);
            places.extend((1..).zip(joined).map(|(subflow, (ends, _))| Place {
                connection,
                subflow,
                ends: *ends,
            }));
        }
        places
    }

    /// The interface of the sender that a subflow uses.
    fn interface(&self, [local, remote]: Ends) -> Option<Interface> {
        let [own, other] = [interface(local.0)?, interface(remote.0)?];
        Some(self.all.arrival(other, own))
    }

    fn subflow(&self, Place { connection, subflow, ends }: Place, end: SimTime) -> SubflowRecord {
        let states = states_until(self.sender, ends, end);
        let last = final_state(self.sender, ends);
        let [local, remote] = ends;
        let arrived = final_state(self.receiver, [remote, local]);
        let windows = states.iter().map(|s| f64::from(s.cwnd) * s.mss.as_f64()).sum::<f64>();
        // Not later than that: samples are 100 ms apart.
        let established = self.sender.samples.iter().find(|sample| at(sample, ends).is_some());
        let link = self.interface(ends).and_then(|at| link_of(self.scenario, at));
        SubflowRecord {
            connection,
            subflow,
            duplex_link: link,
            established: established.map(|sample| sample.at),
            received: arrived.map_or(Bytes::ZERO, |s| s.payload.received),
            segments_received: arrived.map_or(0, |s| u64::from(s.segments.received)),
            segments_repeated: 0,
            segments_late: 0,
            limited: Limited::default(),
            ofo: Held::default(),
            sending: Sending {
                bytes: last.map_or(Bytes::ZERO, |s| s.payload.sent),
                segments: last.map_or(0, |s| u64::from(s.segments.sent)),
                retransmitted: last.map_or(0, |s| u64::from(s.segments.retransmitted)),
                timeouts: last.map_or(0, |s| u64::from(s.timeouts)),
                srtt_mean: mean_srtt(&states),
                cwnd_mean: if states.is_empty() { 0.0 } else { windows / states.len() as f64 },
                ..Sending::default()
            },
            reinjected: Bytes::ZERO,
            beyond_window: Bytes::ZERO,
            overflow: Bytes::ZERO,
        }
    }

    /// A conversation in datagrams, which leave over the first path.
    fn datagrams(&self, connection: u32, counts: DatagramCounts) -> SubflowRecord {
        let sender = if self.plan.opened_by_receiver { self.plan.server } else { self.plan.client };
        SubflowRecord {
            connection,
            subflow: 0,
            duplex_link: interface(sender).and_then(|at| link_of(self.scenario, at)),
            established: None,
            received: Bytes(counts.received_bytes),
            segments_received: counts.received,
            segments_repeated: 0,
            segments_late: 0,
            limited: Limited::default(),
            ofo: Held::default(),
            sending: Sending { bytes: Bytes(counts.sent_bytes), segments: counts.sent, ..Sending::default() },
            reinjected: Bytes::ZERO,
            beyond_window: Bytes::ZERO,
            overflow: Bytes::ZERO,
        }
    }

    /// Adds the time series of the flow and its subflows.
    pub(super) fn series(&self, series: &mut Series) {
        let places = self.places();
        let every = self.sender.per_interval.max(1);
        let flow = SeriesKey::Flow(self.index);
        for sample in self.sender.samples.iter().skip(every - 1).step_by(every) {
            for place in &places {
                let Some(state) = at(sample, place.ends) else { continue };
                let key = SeriesKey::Subflow(self.index, place.connection, place.subflow);
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
            let windows = sample.subflows.iter().filter(|state| self.is_of(&[state.local, state.remote]));
            if let Some(window) = windows.map(|state| state.send_window).max() {
                series.push(sample.at, flow, "rwnd_bytes", window.as_f64());
            }
        }
        self.throughput(&places, series);
    }

    /// Rates between samples at the receiver.
    fn throughput(&self, places: &[Place], series: &mut Series) {
        let every = self.receiver.per_interval.max(1);
        let (mut before, mut delivered) = (vec![Bytes::ZERO; places.len()], Bytes::ZERO);
        let mut last = SimTime::ZERO;
        for sample in self.receiver.samples.iter().skip(every - 1).step_by(every) {
            let seconds = sample.at.since(last).as_secs_f64();
            if seconds <= 0.0 {
                continue;
            }
            last = sample.at;
            let rate = |bytes: Bytes| bytes.as_f64() * 8.0 / seconds;
            for (place, before) in places.iter().zip(&mut before) {
                let [local, remote] = place.ends;
                let Some(state) = at(sample, [remote, local]) else { continue };
                let key = SeriesKey::Subflow(self.index, place.connection, place.subflow);
                series.push(
                    sample.at,
                    key,
                    "throughput_bit_s",
                    rate(state.payload.received.saturating_sub(*before)),
                );
                *before = state.payload.received;
            }
            let now = self.received(sample);
            let key = SeriesKey::Flow(self.index);
            series.push(sample.at, key, "goodput_bit_s", rate(now.saturating_sub(delivered)));
            delivered = now;
        }
    }

    /// Data that all connections had delivered to the receiver, those of MPTCP by their own count.
    fn received(&self, sample: &Sample) -> Bytes {
        let whole: Vec<&ConnectionState> = sample
            .connections
            .iter()
            .filter(|one| !one.fell_back && self.is_of(&[one.local, one.remote]))
            .collect();
        let plain = sample.subflows.iter().filter(|state| {
            let counted = whole.iter().any(|one| Some(one.token) == state.token);
            !counted && self.is_of(&[state.local, state.remote])
        });
        whole.iter().map(|one| one.received).chain(plain.map(|state| state.payload.received)).sum()
    }
}

/// Ports of the clients of commands, by connection in the order in which they were seen: the sockets of one connection share a token.
fn first_ports(found: &[(Ends, Option<u32>)], servers: [u16; 2]) -> Vec<u16> {
    let mut tokens = Vec::new();
    let mut ports = Vec::new();
    for (ends, token) in found {
        if token.is_some() && tokens.contains(token) {
            continue;
        }
        tokens.push(*token);
        ports.extend(ends.iter().map(|(_, port)| *port).find(|port| !servers.contains(port)));
    }
    ports
}

/// Mean of the round-trip samples, of which the kernel tells the smoothed value at each poll: each counts by the segments that
/// arrived since the one before, for an ACK is a sample, and all alike where none did. `None` without a sample.
fn mean_srtt(states: &[&SubflowState]) -> Option<Nanos> {
    let measured: Vec<&SubflowState> =
        states.iter().filter(|state| state.srtt > Nanos::ZERO).copied().collect();
    let nothing = measured.iter().all(|state| state.segments.acks == 0);
    let (mut sum, mut weights, mut before) = (0_u128, 0_u128, 0);
    for state in measured {
        let weight = if nothing { 1 } else { u128::from(state.segments.acks.saturating_sub(before)) };
        before = state.segments.acks;
        sum += u128::from(state.srtt.0) * weight;
        weights += weight;
    }
    (weights > 0).then(|| Nanos((sum / weights) as u64))
}

/// A socket at the sender in each poll until `end`; as it was at last if it came and went between two.
fn states_until(samples: &Samples, ends: Ends, end: SimTime) -> Vec<&SubflowState> {
    let until = samples.samples.iter().filter(|sample| sample.at <= end);
    let mut states: Vec<_> = until.filter_map(|sample| at(sample, ends)).collect();
    if states.is_empty() {
        states.extend(final_state(samples, ends));
    }
    states
}

/// A socket at the sender as it was at last.
fn final_state(samples: &Samples, ends: Ends) -> Option<&SubflowState> {
    samples.samples.iter().rev().find_map(|sample| {
        let gone = sample.gone.iter().find(|state| [state.local, state.remote] == ends);
        gone.or_else(|| at(sample, ends))
    })
}

fn at(sample: &Sample, [local, remote]: Ends) -> Option<&SubflowState> {
    sample.subflows.iter().find(|state| state.local == local && state.remote == remote)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use emulate::{PayloadCounts, SegmentCounts};

    use super::*;

    fn state(srtt_ms: u64, acks: u32) -> SubflowState {
        SubflowState {
            local: (Ipv4Addr::LOCALHOST, 1),
            remote: (Ipv4Addr::LOCALHOST, 2),
            state: 1,
            token: None,
            control: None,
            cwnd: 10,
            ssthresh: None,
            mss: Bytes(1448),
            srtt: Nanos::from_millis(srtt_ms),
            unacked: 0,
            send_window: Bytes::ZERO,
            payload: PayloadCounts::default(),
            segments: SegmentCounts { acks, ..SegmentCounts::default() },
            timeouts: 0,
        }
    }

    /// A transfer of 50 ms has no poll; its window was 0 for that.
    #[test]
    fn a_socket_between_two_polls_is_as_it_went() {
        let ends = [(Ipv4Addr::LOCALHOST, 1), (Ipv4Addr::LOCALHOST, 2)];
        let poll = |ms, open: Option<SubflowState>, gone: Option<SubflowState>| Sample {
            at: SimTime::from_millis(ms),
            subflows: open.into_iter().collect(),
            gone: gone.into_iter().collect(),
            ..Sample::default()
        };
        let rates = |polls: Vec<Sample>| -> Vec<Nanos> {
            let samples = Samples { samples: polls, ..Samples::default() };
            states_until(&samples, ends, SimTime::from_millis(250)).iter().map(|state| state.srtt).collect()
        };
        let ms = |ms: &[u64]| ms.iter().map(|&ms| Nanos::from_millis(ms)).collect::<Vec<_>>();
        let between = vec![poll(100, None, None), poll(200, None, Some(state(40, 3)))];
        assert_eq!(rates(between), ms(&[40]));
        let long = vec![
            poll(100, Some(state(40, 3)), None),
            poll(200, Some(state(50, 9)), None),
            poll(300, None, Some(state(90, 12))),
        ];
        assert_eq!(rates(long), ms(&[40, 50]));
        assert_eq!(rates(vec![poll(100, None, None)]), ms(&[]));
    }

    #[test]
    fn round_trip_times_count_by_acks() {
        let mean = |states: &[SubflowState]| mean_srtt(&states.iter().collect::<Vec<_>>());
        // A second of full rate at 100 ms, then three polls with a tenth of that at 800 ms.
        let slow = [(100, 900), (800, 940), (800, 970), (800, 1000)].map(|(r, a)| state(r, a));
        assert_eq!(mean(&slow), Some(Nanos::from_millis(170)));
        assert_eq!(mean(&[state(40, 0), state(60, 0)]), Some(Nanos::from_millis(50)));
        assert_eq!(mean(&[state(0, 0), state(60, 10)]), Some(Nanos::from_millis(60)));
        assert_eq!(mean(&[state(0, 0)]), None);
    }
}
