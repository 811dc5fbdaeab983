//! Time series: gauges and rates, sampled at the end of each interval.
//!
//! May: look at everything. May not: change anything, draw random numbers or be an event; a run is the same
//! with and without it.

use apps::{ConnectionId, Side};
use trace::{Series, SeriesKey};
use transport::{Connection, SenderState};
use units::{Bytes, Nanos, SimTime};

use crate::body::WorldNetwork;
use crate::flow::Flow;
use crate::flow::flows::Flows;
use crate::flow::limits::Limits;
use crate::host::Hosts;
use crate::host::config::Listener;
use crate::legs::{self, LegEnds};
use crate::relay::Relays;

/// Counters at the last sample.
#[derive(Clone, Debug, Default)]
struct Before {
    delivered: Bytes,
    /// By connection and subflow.
    received: Vec<Vec<Bytes>>,
    /// Bytes that reached the end of a leg, by its number.
    legs: Vec<Bytes>,
}

/// Gauges of one leg of all connections of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct LegGauges {
    exists: bool,
    cwnd: Bytes,
    srtt: Option<Nanos>,
    received: Bytes,
    retransmitted: u64,
    held: Bytes,
}

impl LegGauges {
    fn add(&mut self, ends: LegEnds<'_>) {
        self.held += held_before(ends);
        let (sender, receiver) = (legs::machine(ends.sender), legs::machine(ends.receiver));
        for subflow in ends.subflows() {
            self.received += Bytes(receiver.map_or(0, |end| end.stats(subflow).bytes_received));
            self.retransmitted += sender.map_or(0, |end| end.stats(subflow).segments_retransmitted);
            let Some(gauges) = sender.and_then(|end| end.gauges(subflow)) else { continue };
            if !matches!(gauges.state, SenderState::Closed | SenderState::Handshake) {
                self.exists = true;
                self.cwnd += gauges.cwnd;
                self.srtt = self.srtt.into_iter().chain(gauges.srtt).min();
            }
        }
    }
}

/// Takes samples at multiples of an interval and at the end.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    interval: Nanos,
    last: SimTime,
    flows: Vec<Before>,
    links: Vec<Bytes>,
    series: Series,
}

impl Sampler {
    /// Nothing sampled yet.
    pub(crate) fn new(interval: Nanos, flows: usize, links: usize) -> Self {
        Self {
            interval,
            last: SimTime::ZERO,
            flows: vec![Before::default(); flows],
            links: vec![Bytes::ZERO; links],
            series: Series::default(),
        }
    }

    /// When the next sample is due.
    pub(crate) fn next(&self) -> SimTime {
        self.last + self.interval
    }

    /// The samples.
    pub(crate) fn into_series(self) -> Series {
        self.series
    }

    /// Samples all flows and links at `now`; rates are those since the last sample.
    pub(crate) fn sample(
        &mut self,
        now: SimTime,
        flows: &Flows,
        (hosts, relays): (&Hosts, &Relays),
        network: &mut WorldNetwork,
    ) {
        let elapsed = now.since(self.last);
        if elapsed == Nanos::ZERO {
            return;
        }
        debug_assert!(elapsed <= self.interval, "a sample was missed before {now}");
        debug_assert_eq!(self.flows.len(), flows.all().len(), "each flow has its counters of before");
        self.last = now;
        let rate = |bytes: Bytes| bytes.as_f64() * 8.0 / elapsed.as_secs_f64();
        let started = flows.all().iter().enumerate().filter(|(_, flow)| flow.timing().has_started());
        for (index, flow) in started {
            let (mut window, mut out_of_order) = (Bytes::ZERO, Bytes::ZERO);
            let (mut buffered, mut space) = (Bytes::ZERO, Bytes::ZERO);
            for (channel, number) in flow.channels().iter().zip(0..) {
                let [sender, receiver] = [Side::Sender, Side::Receiver]
                    .map(|side| channel.socket(side).and_then(|socket| hosts.get(socket).connection()));
                // A server that has not accepted yet offers its first window; datagrams have none.
                match receiver {
                    None if channel.streams().is_none() => continue,
                    Some(receiver) if receiver.is_closed() => {}
                    Some(receiver) => window += receiver.receive_window(),
                    None => window += first_window(flow, hosts),
                }
                out_of_order += receiver.map_or(Bytes::ZERO, Connection::out_of_order);
                if let Some(sender) = sender.filter(|sender| !sender.is_closed()) {
                    buffered += sender.send_buffered();
                    space += sender.send_space();
                }
                let legs = legs::legs(flow, (channel, number), (hosts, relays));
                let reached = |subflow| end_of_first(&legs, subflow, receiver);
                self.subflows(now, (index, number), (sender, reached), &channel.limits, rate);
            }
            if !relays.is_empty() {
                self.legs(now, (index, flow), (hosts, relays), rate);
            }
            let before = &mut self.flows[index];
            let delivered = flow.recorder.delivered;
            let goodput = rate(delivered - before.delivered);
            before.delivered = delivered;
            let key = SeriesKey::Flow(index as u32);
            if !flow.opener().protocol().is_datagrams() {
                self.series.push(now, key, "rwnd_bytes", window.as_f64());
                self.series.push(now, key, "ofo_bytes", out_of_order.as_f64());
                self.series.push(now, key, "send_buffer_bytes", buffered.as_f64());
                self.series.push(now, key, "send_buffer_size_bytes", (buffered + space).as_f64());
            }
            self.series.push(now, key, "goodput_bit_s", goodput);
        }
        for link in 0..network.links() {
            let (packets, bytes) = network.queue_length(now, link);
            let carried = network.counters(now, link).bytes;
            let throughput = rate(carried - self.links[link]);
            self.links[link] = carried;
            let key = SeriesKey::Link(link as u32);
            self.series.push(now, key, "queue_packets", packets as f64);
            self.series.push(now, key, "queue_bytes", bytes.as_f64());
            self.series.push(now, key, "throughput_bit_s", throughput);
        }
    }

    /// Gauges of the legs, and what proxies hold. The first leg has the series of its subflows, but for retransmissions.
    fn legs(
        &mut self,
        now: SimTime,
        (index, flow): (usize, &Flow),
        places: (&Hosts, &Relays),
        rate: impl Fn(Bytes) -> f64,
    ) {
        let mut sums: Vec<LegGauges> = Vec::new();
        for (channel, number) in flow.channels().iter().zip(0..) {
            for ends in legs::legs(flow, (channel, number), places) {
                sums.resize(sums.len().max(ends.number + 1), LegGauges::default());
                sums[ends.number].add(ends);
            }
        }
        if sums.is_empty() {
            return;
        }
        let held = sums.iter().fold(Bytes::ZERO, |held, leg| held + leg.held);
        let flow = index as u32;
        self.series.push(now, SeriesKey::Flow(flow), "proxy_held_bytes", held.as_f64());
        let before = &mut self.flows[index].legs;
        before.resize(before.len().max(sums.len()), Bytes::ZERO);
        for ((sum, before), number) in sums.iter().zip(before).zip(0..) {
            let received = std::mem::replace(before, sum.received);
            if !sum.exists {
                continue;
            }
            let key = SeriesKey::Leg(flow, number);
            self.series.push(now, key, "retransmitted_segments", sum.retransmitted as f64);
            if number == 0 {
                continue;
            }
            let throughput = rate(sum.received.saturating_sub(received));
            self.series.push(now, key, "cwnd_bytes", sum.cwnd.as_f64());
            if let Some(srtt) = sum.srtt {
                self.series.push(now, key, "srtt_s", srtt.as_secs_f64());
            }
            self.series.push(now, key, "throughput_bit_s", throughput);
            self.series.push(now, key, "held_bytes", sum.held.as_f64());
        }
    }

    fn subflows<'w>(
        &mut self,
        now: SimTime,
        (flow, number): (usize, ConnectionId),
        (sender, receiver): (Option<&'w Connection>, impl Fn(usize) -> Option<&'w Connection>),
        limits: &Limits,
        rate: impl Fn(Bytes) -> f64,
    ) {
        let received = &mut self.flows[flow].received;
        received.resize(received.len().max(number as usize + 1), Vec::new());
        let before = &mut received[number as usize];
        let Some(sender) = sender else { return };
        before.resize(sender.subflow_count().max(before.len()), Bytes::ZERO);
        for (subflow, before) in before.iter_mut().enumerate() {
            let received = receiver(subflow).map_or(0, |receiver| receiver.stats(subflow).bytes_received);
            let received = Bytes(received);
            let throughput = rate(received.saturating_sub(*before));
            *before = received;
            let Some(gauges) = sender.gauges(subflow) else { continue };
            if matches!(gauges.state, SenderState::Closed | SenderState::Handshake) {
                continue;
            }
            let key = SeriesKey::Subflow(flow as u32, number, subflow as u32);
            self.series.push(now, key, "cwnd_bytes", gauges.cwnd.as_f64());
            if gauges.ssthresh != Bytes::MAX {
                self.series.push(now, key, "ssthresh_bytes", gauges.ssthresh.as_f64());
            }
            if let Some(srtt) = gauges.srtt {
                self.series.push(now, key, "srtt_s", srtt.as_secs_f64());
            }
            self.series.push(now, key, "inflight_bytes", gauges.inflight.as_f64());
            self.series.push(now, key, "throughput_bit_s", throughput);
            self.series.push(now, key, "sender_state", f64::from(gauges.state.code()));
            self.series.push(now, key, "limit", f64::from(limits.code(subflow)));
            if let Some(rate) = gauges.pacing_rate {
                self.series.push(now, key, "pacing_rate_bit_s", rate.0 as f64);
            }
            let series = &mut self.series;
            sender.congestion_gauges(subflow, &mut |metric, value| series.push(now, key, metric, value));
        }
        if sender.is_established() && !sender.is_closed() {
            // Gauges of a whole connection have the key of its first subflow: a flow may have several connections.
            let key = |subflow: Option<usize>| {
                SeriesKey::Subflow(flow as u32, number, subflow.unwrap_or_default() as u32)
            };
            let series = &mut self.series;
            sender.scheduler_gauges(&mut |subflow, metric, value| {
                series.push(now, key(subflow), metric, value)
            });
        }
    }
}

/// Bytes that the proxy at the beginning of a leg has acknowledged, and nothing behind it.
fn held_before(ends: LegEnds<'_>) -> Bytes {
    ends.relay.map_or(Bytes::ZERO, |(relay, from)| relay.held(from).value())
}

/// Where the data of a subflow of the data sender arrives: at a proxy that has a part in it, or at the receiver.
fn end_of_first<'w>(
    legs: &[LegEnds<'w>],
    subflow: usize,
    receiver: Option<&'w Connection>,
) -> Option<&'w Connection> {
    let mut first = legs.iter().filter(|ends| ends.number == 0);
    let found = first.find(|ends| ends.subflow.is_none_or(|one| one == subflow));
    found.map_or(receiver, |ends| legs::machine(ends.receiver))
}

/// The window of a connection that its server has not accepted yet.
fn first_window(flow: &Flow, hosts: &Hosts) -> Bytes {
    let (node, port) = flow.opener().server(false);
    hosts.listener(node, port).map_or(Bytes::ZERO, Listener::first_window)
}
