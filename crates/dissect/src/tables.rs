//! The tables of a reading: those of a run, with the columns that a capture knows.
//!
//! A column of the same name means the same as in a run. A row is a direction of data: a connection in which both ends sent
//! payload has two in `flows`. Columns that no place of the capture can know are empty: those of sent packets without the
//! place of the sender, those of arrivals without that of the receiver.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use trace::{Kind, Table, TableSpec, metrics};
use wire::frame::Ends;

use crate::over_time::{RUN, SampleRows, SeriesRows, own};
use crate::reading::Reading;
use crate::rows::{Own, Row, Sheet};
use crate::samples::Sample;
use crate::views::{ConnectionView, Counterparts, FlowView, SubflowView};

const OF_FLOWS: &[Own] = &[
    Own("connection", Kind::Integer),
    Own("side", Kind::Word),
    Own("from_client", Kind::Flag),
    Own("subflows", Kind::Integer),
    Own("bytes", Kind::Integer),
    Own("nothing_to_send_s", Kind::Real),
    Own("window_full_s", Kind::Real),
    Own("recovery_s", Kind::Real),
    Own("reset", Kind::Flag),
];

const OF_SUBFLOWS: &[Own] = &[
    Own("side", Kind::Word),
    Own("handshake_s", Kind::Real),
    Own("srtt_min_s", Kind::Real),
    Own("srtt_max_s", Kind::Real),
    Own("largest_bytes", Kind::Integer),
    Own("pace_bit_s", Kind::Real),
    Own("pace_share", Kind::Real),
    Own("packets", Kind::Integer),
    Own("bytes", Kind::Integer),
    Own("retransmitted_bytes", Kind::Integer),
    Own("lost_segments", Kind::Integer),
    Own("recovery_s", Kind::Real),
    Own("silent_s", Kind::Real),
    Own("unmapped_bytes", Kind::Integer),
    Own("packets_back", Kind::Integer),
    Own("duplicate_acks", Kind::Integer),
    Own("reset", Kind::Flag),
    Own("backup", Kind::Flag),
    Own("closed_s", Kind::Real),
];

/// A direction of data.
struct Conversation<'a> {
    flow: FlowView<'a>,
    /// Client and server in the direction of the data: unlike those of all others.
    name: String,
    number: u64,
    end: usize,
    /// When it ended, in seconds: each of its subflows asks.
    over: OnceCell<f64>,
}

/// Times in which nothing came back though data was outstanding.
const SILENCES: TableSpec = TableSpec {
    name: "silences",
    row: "one row per silence of a subflow",
    columns: &[
        own("flow", Kind::Word),
        own("subflow", Kind::Integer),
        own("start_s", Kind::Real),
        own("end_s", Kind::Real),
    ],
};

/// Segments of which the payload was sent again, by their numbers among all with payload on the subflow.
const LOSSES: TableSpec = TableSpec {
    name: "losses",
    row: "one row per packet of a subflow",
    columns: &[
        own("flow", Kind::Word),
        own("subflow", Kind::Integer),
        own("packet", Kind::Integer),
        own("t_s", Kind::Real),
    ],
};

/// The tables of a run, of which `runs`, `flows`, `subflows` and `series` have rows; `samples`, `silences` and `losses`.
pub fn tables(reading: &Reading) -> Vec<Table> {
    let mut rows = Rows::new(reading.samples());
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    for (number, flow) in (0..).zip(reading.flows()) {
        for end in 0..2 {
            if flow.places().any(|place| place.bytes(end) > 0) {
                let name = unique(name(flow, end), &mut times);
                rows.add(&Conversation { flow, name, number, end, over: OnceCell::new() });
            }
        }
    }
    let mut runs = Sheet::new(&metrics::RUNS, &[]);
    let mut run = runs.row();
    run.put("run", RUN);
    run.put("end_s", reading.duration());
    let Rows { flows, subflows, series, samples, silences, losses } = rows;
    let [runs, flows, subflows] = [runs, flows, subflows].map(Sheet::finish);
    let mut known = [runs, flows, subflows, series.finish()].map(Some);
    let mut of = |spec: &TableSpec| {
        let known =
            known.iter_mut().find(|table| table.as_ref().is_some_and(|table| table.name == spec.name));
        known.and_then(Option::take).unwrap_or_else(|| Sheet::new(spec, &[]).finish())
    };
    let mut all: Vec<Table> = metrics::TABLES.iter().map(|spec| of(spec)).collect();
    all.extend([samples.finish(), silences.finish(), losses.finish()]);
    all
}

struct Rows {
    flows: Sheet,
    subflows: Sheet,
    series: SeriesRows,
    samples: SampleRows,
    silences: Sheet,
    losses: Sheet,
}

/// Client and server by name, in the direction of the data.
fn name(flow: FlowView<'_>, end: usize) -> String {
    let Some(first) = flow.any().subflows().next() else { return String::new() };
    let Ends { source, destination, .. } = first.ends();
    let [from, to] = if end == 0 { [source, destination] } else { [destination, source] };
    format!("{from} to {to}")
}

/// The name with a number from the second time on: a client may use a port again, and a capture may be given twice. The rows of
/// two connections with one name would be taken for those of one.
fn unique(name: String, times: &mut BTreeMap<String, u64>) -> String {
    let times = times.entry(name.clone()).or_default();
    *times += 1;
    if *times == 1 { name } else { format!("{name} ({times})") }
}

/// The addresses alone.
fn path(ends: Ends, end: usize) -> String {
    let [from, to] = if end == 0 { [ends.source, ends.destination] } else { [ends.destination, ends.source] };
    format!("{} to {}", from.ip(), to.ip())
}

impl<'a> Conversation<'a> {
    fn sender(&self) -> Option<ConnectionView<'a>> {
        self.flow.sender(self.end)
    }

    fn receiver(&self) -> Option<ConnectionView<'a>> {
        self.flow.receiver(self.end)
    }

    /// Bytes of the stream that were sent as far as was seen.
    fn bytes(&self) -> u64 {
        self.flow.places().map(|place| place.bytes(self.end)).max().unwrap_or(0)
    }

    /// Delivered at the receiver, or else acknowledged. `None`: no data of a multipath connection has a mapping that was captured, or
    /// datagrams were not captured at their receiver.
    fn delivered(&self) -> Option<u64> {
        let place = self.receiver().unwrap_or(self.flow.any());
        if place.is_unmapped(self.end) || self.receiver().is_none() && self.is_datagrams() {
            return None;
        }
        Some(match self.receiver() {
            Some(receiver) => receiver.complete_bytes(self.end),
            None => place.acknowledged_bytes(self.end),
        })
    }

    fn is_datagrams(&self) -> bool {
        self.flow.any().is_datagrams()
    }

    fn transport(&self) -> &'static str {
        let any = self.flow.any();
        let is_one = [any.is_multipath(), any.is_association(), any.is_datagrams()];
        let first = is_one.iter().position(|is| *is);
        first.map_or("tcp", |index| ["mptcp", "sctp", "udp"][index])
    }

    fn start(&self) -> f64 {
        self.flow.places().map(|place| place.start()).fold(f64::INFINITY, f64::min)
    }

    /// All that was written is delivered.
    fn is_complete(&self) -> bool {
        let finished = self.flow.places().any(|place| place.is_finished(self.end));
        finished && self.delivered().is_some_and(|delivered| delivered >= self.bytes())
    }

    /// The last delivery, or acknowledgement, of a connection that is finished or aborted; otherwise the end of the capture.
    fn end(&self) -> f64 {
        *self.over.get_or_init(|| self.find_end())
    }

    fn find_end(&self) -> f64 {
        let last = match self.receiver() {
            Some(receiver) => receiver.completed(self.end),
            None => self.flow.any().acknowledged(self.end),
        };
        let aborted = self.flow.places().any(|place| place.is_aborted());
        let over = last.filter(|_| aborted || self.is_complete());
        over.unwrap_or_else(|| self.flow.any().end_of_capture()).max(self.start())
    }

    fn rate(&self, bytes: u64) -> Option<f64> {
        let seconds = self.end() - self.start();
        (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds)
    }

    /// Subflows, each with its views at the sender, at the receiver, and at any place.
    fn subflows(&self) -> Vec<Subflow<'a>> {
        let [senders, receivers] = [self.sender(), self.receiver()]
            .map(|place| place.map_or_else(Counterparts::default, |one| one.counterparts()));
        let mut all: Vec<Subflow<'a>> = Vec::new();
        let mut known = BTreeSet::new();
        for view in self.flow.places().flat_map(|place| place.subflows()) {
            if !known.contains(&view.ends()) {
                let found = Subflow { sender: senders.of(&view), receiver: receivers.of(&view), any: view };
                known.extend(
                    [Some(view), found.sender, found.receiver].into_iter().flatten().map(|one| one.ends()),
                );
                all.push(found);
            }
        }
        all
    }
}

/// A subflow with its places.
struct Subflow<'a> {
    sender: Option<SubflowView<'a>>,
    receiver: Option<SubflowView<'a>>,
    any: SubflowView<'a>,
}

impl Subflow<'_> {
    /// Payload that reached the receiver, each byte once on this subflow: seen there, or else acknowledged.
    fn arrived(&self, end: usize) -> u64 {
        match self.receiver {
            Some(receiver) => receiver.unique_bytes(end),
            None => self.any.acknowledged_bytes(end),
        }
    }
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

impl Rows {
    fn new(samples: usize) -> Self {
        Self {
            flows: Sheet::new(&metrics::FLOWS, OF_FLOWS),
            subflows: Sheet::new(&metrics::SUBFLOWS, OF_SUBFLOWS),
            // A sample of a sender has three values at most.
            series: SeriesRows::with_capacity(3 * samples),
            samples: SampleRows::default(),
            silences: Sheet::new(&SILENCES, &[]),
            losses: Sheet::new(&LOSSES, &[]),
        }
    }

    fn add(&mut self, one: &Conversation<'_>) {
        let subflows = one.subflows();
        flow(self.flows.row(), one, &subflows);
        let all: u64 = subflows.iter().map(|subflow| subflow.arrived(one.end)).sum();
        for (index, of) in (0..).zip(&subflows) {
            subflow(self.subflows.row(), one, (index, of), all);
            if !one.is_datagrams() {
                self.series_of_subflow(one, index, of);
                self.samples(one, index, of);
            }
        }
        self.series_of_flow(one);
    }

    fn series_of_subflow(&mut self, one: &Conversation<'_>, index: u64, of: &Subflow<'_>) {
        let rate = "throughput_bit_s";
        match of.receiver {
            Some(receiver) => {
                self.series.rates(rate, receiver.samples(one.end).map(|sample| (sample.at, sample.fresh)))
            }
            None => self.series.rates(rate, of.any.samples(one.end).map(|sample| (sample.at, sample.acked))),
        }
        let samples = of.sender.into_iter().flat_map(|sender| sender.samples(one.end));
        for Sample { at, waiting, other, cause, .. } in samples.copied() {
            self.series.push(at, "limit", cause.limit().map(f64::from));
            if other > 0 {
                self.series.push(at, "srtt_s", other as f64 / 1e9);
            }
            self.series.push(at, "inflight_bytes", waiting as f64);
        }
        self.series.belong_to(&one.name, Some(index));
    }

    fn samples(&mut self, one: &Conversation<'_>, index: u64, of: &Subflow<'_>) {
        let Some(sender) = of.sender else { return };
        self.samples.add(&one.name, index, sender.samples(one.end));
        for (packet, at) in sender.lost(one.end) {
            let mut row = named(&mut self.losses, one, index);
            row.put("packet", packet);
            row.put("t_s", at);
        }
        for [start, end] in sender.silences(one.end) {
            let mut row = named(&mut self.silences, one, index);
            row.put("start_s", start);
            row.put("end_s", end);
        }
    }

    fn series_of_flow(&mut self, one: &Conversation<'_>) {
        let place = one.receiver().unwrap_or(one.flow.any());
        let received = one.receiver().is_some();
        if !received && one.is_datagrams() {
            return;
        }
        let samples = || place.samples(one.end);
        let bytes = |sample: &Sample| if received { sample.fresh } else { sample.acked };
        self.series.rates("goodput_bit_s", samples().map(|sample| (sample.at, bytes(sample))));
        for sample in samples() {
            if received && !one.is_datagrams() {
                self.series.push(sample.at, "ofo_bytes", sample.waiting as f64);
            }
            if sample.other > 0 {
                self.series.push(sample.at, "rwnd_bytes", sample.other as f64);
            }
        }
        self.series.belong_to(&one.name, None);
    }
}

/// The next row of a subflow.
fn named<'s>(sheet: &'s mut Sheet, one: &Conversation<'_>, index: u64) -> Row<'s> {
    let mut row = sheet.row();
    row.put("flow", one.name.as_str());
    row.put("subflow", index);
    row
}

fn flow(mut row: Row<'_>, one: &Conversation<'_>, subflows: &[Subflow<'_>]) {
    let (end, any) = (one.end, one.flow.any());
    let multipath = any.is_multipath();
    let sum = |what: &dyn Fn(&SubflowView<'_>) -> u64| {
        one.sender().map(|sender| sender.subflows().map(|view| what(&view)).sum::<u64>())
    };
    row.put("run", RUN);
    row.put("flow", one.name.as_str());
    row.put("connection", one.number);
    row.put("side", one.flow.side());
    row.put("from_client", end == 0);
    row.put("transport", one.transport());
    row.put("start_s", one.start());
    row.put("end_s", one.end());
    row.put("completed", one.is_complete());
    let aborted = one.flow.places().any(|place| place.is_aborted());
    row.maybe("failure", aborted.then_some("the connection was aborted"));
    let alone = subflows.len() == 1;
    row.put("fell_back", any.subflows().next().is_some_and(|first| first.fell_back(alone)));
    row.maybe("delivered_bytes", one.delivered());
    row.maybe("last_delivery_s", one.receiver().and_then(|receiver| receiver.completed(end)));
    row.maybe("goodput_bit_s", one.delivered().and_then(|bytes| one.rate(bytes)));
    row.maybe("completion_s", one.is_complete().then(|| one.end() - one.start()));
    row.maybe("segments_sent", sum(&|view| view.counts(end).segments));
    row.maybe("retransmitted_segments", sum(&|view| view.counts(end).repeated_segments));
    row.maybe("reinjected_bytes", sum(&|view| view.counts(end).reinjected_bytes));
    row.maybe("wire_bit_s", sum(&|view| view.counts(end).wire_bytes).and_then(|bytes| one.rate(bytes)));
    if let Some(receiver) = one.receiver().filter(|_| !one.is_datagrams()) {
        let [all, of_connection] = receiver.held(end, one.end());
        held(&mut row, ["ofo_mean_bytes", "ofo_p95_bytes", "ofo_max_bytes"], &all);
        if multipath {
            held(
                &mut row,
                ["meta_ofo_mean_bytes", "meta_ofo_p95_bytes", "meta_ofo_max_bytes"],
                &of_connection,
            );
        }
        row.put("out_of_order_s", all.time.as_secs_f64());
        let sum =
            |what: &dyn Fn(&SubflowView<'_>) -> u64| receiver.subflows().map(|view| what(&view)).sum::<u64>();
        let arrived = sum(&|view| view.counts(end).segments);
        row.maybe("seen_retransmitted_share", share(sum(&|view| view.counts(end).copied_segments), arrived));
        row.maybe("seen_late_share", share(sum(&|view| view.counts(end).late_segments), arrived));
    }
    if let Some(sender) = one.sender().filter(|_| !one.is_datagrams()) {
        let [nothing, window, recovery] = sender.waited(end, one.end());
        row.maybe("nothing_to_send_s", nothing);
        row.maybe("window_full_s", window);
        row.maybe("recovery_s", recovery);
    }
    row.put("subflows", subflows.len() as u64);
    row.put("bytes", one.bytes());
    row.put("reset", one.flow.places().any(|place| place.subflows().any(|view| view.is_reset())));
}

fn held(row: &mut Row<'_>, [mean, p95, max]: [&'static str; 3], held: &trace::Held) {
    row.put(mean, held.mean);
    row.put(p95, held.p95.0);
    row.put(max, held.max.0);
}

fn subflow(mut row: Row<'_>, one: &Conversation<'_>, (index, of): (u64, &Subflow<'_>), all: u64) {
    let (end, any) = (one.end, of.any);
    let back = any.counts(1 - end);
    let arrived = of.arrived(end);
    row.put("run", RUN);
    row.put("flow", one.name.as_str());
    row.put("connection", 0);
    row.put("subflow", index);
    row.put("path", path(any.ends(), end).as_str());
    row.put("side", one.flow.side());
    row.maybe("established_s", of.sender.unwrap_or(any).established(end));
    row.maybe("goodput_bit_s", one.rate(arrived));
    row.maybe("share", share(arrived, all));
    row.put("packets", any.counts(end).packets);
    row.put("bytes", any.counts(end).bytes);
    row.put("packets_back", back.packets);
    row.put("duplicate_acks", back.duplicate_acks);
    row.put("reset", any.is_reset());
    row.put("backup", any.is_backup());
    row.maybe("closed_s", of.sender.unwrap_or(any).closed());
    if one.flow.any().is_multipath() {
        row.put("unmapped_bytes", any.counts(end).unmapped_bytes);
    }
    if let Some(sender) = of.sender {
        let counts = sender.counts(end);
        let [_, least, most] = sender.rtt(end).map_or([None; 3], |times| times.map(Some));
        row.maybe("srtt_mean_s", sender.mean_rtt(end));
        row.maybe("srtt_min_s", least);
        row.maybe("srtt_max_s", most);
        row.maybe("handshake_s", sender.handshake());
        row.put("largest_bytes", sender.largest(end));
        row.maybe("pace_bit_s", sender.pace(end).map(|(rate, _)| rate));
        row.maybe("pace_share", sender.pace(end).map(|(_, share)| share));
        row.put("bytes_sent", counts.bytes);
        row.put("wire_bytes", counts.wire_bytes);
        row.put("segments_sent", counts.segments);
        row.put("retransmitted_segments", counts.repeated_segments);
        row.put("retransmitted_bytes", counts.repeated_bytes);
        row.put("reinjected_bytes", counts.reinjected_bytes);
        row.put("silent_s", sender.silent(end, one.end()));
        row.put("recovery_s", sender.recovery(end, one.end()));
    }
    if let Some(receiver) = of.receiver {
        let counts = receiver.counts(end);
        // TSNs are those of an association: its paths have no gaps of their own.
        if !one.flow.any().is_association() {
            let gaps = receiver.held(end, one.end());
            held(&mut row, ["ofo_mean_bytes", "ofo_p95_bytes", "ofo_max_bytes"], &gaps);
            row.put("out_of_order_s", gaps.time.as_secs_f64());
        }
        row.put("segments_received", counts.segments);
        row.maybe("seen_retransmitted_share", share(counts.copied_segments, counts.segments));
        row.maybe("seen_late_share", share(counts.late_segments, counts.segments));
    }
    if let (Some(sender), Some(receiver)) = (of.sender, of.receiver) {
        let sent = sender.counts(end).segments;
        row.put("lost_segments", sent.saturating_sub(receiver.counts(end).segments));
    }
}
