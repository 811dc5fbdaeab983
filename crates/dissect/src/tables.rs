//! The tables of a reading: those of a run, with the columns that a capture knows.
//!
//! A column of the same name means the same as in a run. A row is a direction of data: a connection in which both ends sent
//! payload has two in `flows`. What the place of the capture cannot know is empty: retransmissions at the receiver, where a
//! repetition may fill a gap; copies at the sender.

use trace::{Column, Data, Table};
use wire::frame::Ends;

use crate::connection::{Mode, Side};
use crate::reading::{ConnectionView, Reading, SubflowView};

/// Columns while rows are added; words are collected as they come.
#[derive(Debug, Default)]
struct Rows {
    columns: Vec<Column>,
    /// Column of the next value.
    next: usize,
}

impl Rows {
    fn put(&mut self, name: &'static str, empty: fn() -> Data, value: impl FnOnce(&mut Data)) {
        if self.columns.len() == self.next {
            self.columns.push(Column { name: name.into(), data: empty() });
        }
        let column = &mut self.columns[self.next];
        debug_assert_eq!(column.name, name, "the columns of each row are in the same order");
        value(&mut column.data);
        self.next += 1;
    }

    fn word(&mut self, name: &'static str, word: &str) {
        self.put(
            name,
            || Data::Word { words: Vec::new(), rows: Vec::new() },
            |data| {
                let Data::Word { words, rows } = data else { return };
                let known = words.iter().position(|known| known == word);
                let index = known.unwrap_or_else(|| {
                    words.push(word.to_owned());
                    words.len() - 1
                });
                rows.push(u32::try_from(index).ok());
            },
        );
    }

    fn count(&mut self, name: &'static str, value: u64) {
        self.put(
            name,
            || Data::Integer(Vec::new()),
            |data| {
                if let Data::Integer(rows) = data {
                    rows.push(value);
                }
            },
        );
    }

    fn known(&mut self, name: &'static str, value: Option<u64>) {
        self.put(
            name,
            || Data::OptionalInteger(Vec::new()),
            |data| {
                if let Data::OptionalInteger(rows) = data {
                    rows.push(value);
                }
            },
        );
    }

    fn real(&mut self, name: &'static str, value: Option<f64>) {
        self.put(
            name,
            || Data::Real(Vec::new()),
            |data| {
                if let Data::Real(rows) = data {
                    rows.push(value);
                }
            },
        );
    }

    fn flag(&mut self, name: &'static str, value: bool) {
        self.put(
            name,
            || Data::Flag(Vec::new()),
            |data| {
                if let Data::Flag(rows) = data {
                    rows.push(value);
                }
            },
        );
    }

    fn end_row(&mut self) {
        debug_assert_eq!(self.next, self.columns.len(), "each row has all columns");
        self.next = 0;
    }
}

/// `flows` and `subflows`.
pub fn tables(reading: &Reading) -> Vec<Table> {
    let (mut flows, mut subflows) = (Rows::default(), Rows::default());
    for (number, connection) in (0..).zip(reading.connections()) {
        for end in 0..2 {
            if connection.bytes(end) > 0 {
                flow(&mut flows, (number, end), &connection);
                for (index, view) in (0..).zip(connection.subflows()) {
                    subflow(&mut subflows, (number, end, index), (&connection, &view));
                }
            }
        }
    }
    let table = |name, rows: Rows| Table { name, columns: rows.columns };
    vec![table("flows", flows), table("subflows", subflows)]
}

/// Client and server by name, in the direction of the data.
fn name(ends: Ends, end: usize) -> String {
    let [from, to] = if end == 0 { [ends.source, ends.destination] } else { [ends.destination, ends.source] };
    format!("{from} to {to}")
}

/// Captured at the end that sends.
fn at_sender(side: Side, end: usize) -> bool {
    side == if end == 0 { Side::Client } else { Side::Server }
}

/// Captured at the end that receives.
fn at_receiver(side: Side, end: usize) -> bool {
    at_sender(side, 1 - end)
}

fn rate(bytes: u64, [start, end]: [f64; 2]) -> Option<f64> {
    (end > start).then(|| bytes as f64 * 8.0 / (end - start))
}

/// From the first packet to the last payload of an end.
fn life(connection: &ConnectionView<'_>, end: usize) -> Option<[f64; 2]> {
    let first = connection.subflows().next()?.lifetime()[0];
    connection.active(end).map(|[_, last]| [first, last])
}

fn flow(rows: &mut Rows, (number, end): (u64, usize), connection: &ConnectionView<'_>) {
    let Some(first) = connection.subflows().next() else { return };
    let (bytes, life) = (connection.bytes(end), life(connection, end));
    let sum =
        |what: &dyn Fn(&SubflowView<'_>) -> u64| connection.subflows().map(|view| what(&view)).sum::<u64>();
    let sender = at_sender(first.side(), end);
    let multipath = first.mode() == Mode::Multipath;
    rows.word("flow", &name(first.ends(), end));
    rows.count("connection", number);
    rows.word("side", first.side().as_str());
    rows.word("transport", if multipath { "mptcp" } else { "tcp" });
    rows.flag("fell_back", first.mode() == Mode::FellBack);
    rows.count("subflows", connection.subflows().count() as u64);
    rows.count("bytes", bytes);
    rows.real("start_s", life.map(|[start, _]| start));
    rows.real("end_s", life.map(|[_, end]| end));
    rows.real("goodput_bit_s", life.and_then(|life| rate(bytes, life)));
    rows.count("segments_sent", sum(&|view| view.counts(end).segments));
    let repeated = sum(&|view| view.counts(end).repeated_segments);
    rows.known("retransmitted_segments", sender.then_some(repeated));
    rows.known("reinjected_bytes", multipath.then(|| sum(&|view| view.counts(end).reinjected_bytes)));
    rows.flag("reset", connection.subflows().any(|view| view.is_reset()));
    rows.end_row();
}

fn subflow(
    rows: &mut Rows,
    (number, end, index): (u64, usize, u64),
    (connection, view): (&ConnectionView<'_>, &SubflowView<'_>),
) {
    let Some(first) = connection.subflows().next() else { return };
    let (counts, back, unique) = (view.counts(end), view.counts(1 - end), view.unique_bytes(end));
    let all: u64 = connection.subflows().map(|other| other.unique_bytes(end)).sum();
    let (sender, receiver) = (at_sender(view.side(), end), at_receiver(view.side(), end));
    let multipath = view.mode() == Mode::Multipath;
    rows.word("flow", &name(first.ends(), end));
    rows.count("connection", number);
    rows.count("subflow", index);
    rows.word("path", &name(view.ends(), end));
    rows.word("side", view.side().as_str());
    rows.real("established_s", view.established());
    rows.real("goodput_bit_s", life(connection, end).and_then(|life| rate(unique, life)));
    rows.real("share", (all > 0).then(|| unique as f64 / all as f64));
    rows.real("srtt_mean_s", view.rtt(end).filter(|_| sender).map(|[mean, _]| mean));
    rows.real("srtt_min_s", view.rtt(end).filter(|_| sender).map(|[_, least]| least));
    rows.count("packets", counts.packets);
    rows.count("segments_sent", counts.segments);
    rows.count("bytes", counts.bytes);
    rows.known("retransmitted_segments", sender.then_some(counts.repeated_segments));
    rows.known("retransmitted_bytes", sender.then_some(counts.repeated_bytes));
    rows.known("copied_segments", receiver.then_some(counts.repeated_segments));
    rows.known("late_segments", receiver.then_some(counts.late_segments));
    rows.known("reinjected_bytes", multipath.then_some(counts.reinjected_bytes));
    rows.known("unmapped_bytes", multipath.then_some(counts.unmapped_bytes));
    rows.count("packets_back", back.packets);
    rows.count("duplicate_acks", back.duplicate_acks);
    rows.flag("reset", view.is_reset());
    rows.end_row();
}
