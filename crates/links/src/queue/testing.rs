//! A queue in front of a transmitter of constant rate, for tests of disciplines.

use registry::{OptionValue, Options};

use super::*;

/// Packets of this many bytes.
pub(super) const SIZE: u32 = 1000;

pub(super) fn packet(id: u32) -> Packet {
    Packet { id, size: SIZE, flow: 1, ect: false, low_priority: false }
}

/// The defaults of a row, some of them changed.
pub(super) fn options(row: &Algorithm, changes: &[(&str, &str)]) -> Options {
    changes.iter().fold(Options::defaults(row.options), |options, (name, text)| {
        let spec = row.options.iter().find(|spec| spec.name == *name).expect("declared");
        let value: OptionValue = spec.kind.parse(text).expect("allowed");
        options.with(name, value)
    })
}

pub(super) fn build(row: &Algorithm, changes: &[(&str, &str)]) -> Box<dyn QueueDiscipline> {
    (row.build)(&options(row, changes), engine::Stream::named(1, "link", "queue"))
}

/// Events with their times.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) drops: Vec<(SimTime, u32)>,
    pub(super) marks: Vec<(SimTime, u32)>,
    /// Departure, packet and its wait.
    pub(super) sent: Vec<(SimTime, u32, Nanos)>,
}

/// Offers `packets` (instant and packet, in the order of time) to a queue that is served every `service`, until
/// `until`.
pub(super) fn serve(
    queue: &mut dyn QueueDiscipline,
    packets: impl IntoIterator<Item = (SimTime, Packet)>,
    service: Nanos,
    until: SimTime,
) -> Log {
    let mut log = Log::default();
    let mut arrivals = packets.into_iter().peekable();
    let mut free = SimTime::ZERO;
    let mut fates = Vec::new();
    loop {
        let waiting = queue.length().0 > 0;
        let arrival = arrivals.peek().map_or(SimTime::NEVER, |(at, _)| *at);
        let now = if waiting && free <= arrival { free } else { arrival };
        if now > until {
            return log;
        }
        let mut context = Context { now, idle: false, fates: &mut fates };
        if now == arrival && !(waiting && free <= arrival) {
            let (_, packet) = arrivals.next().expect("peeked");
            queue.enqueue(packet, &mut context);
            free = free.max(now);
        } else if let Some(out) = queue.dequeue(&mut context) {
            log.sent.push((now, out.packet.id, now.since(out.since)));
            queue.transmitted(service);
            free = now + service;
        }
        for fate in fates.drain(..) {
            match fate {
                Fate::Refused(id) => log.drops.push((now, id)),
                Fate::Marked(id) => log.marks.push((now, id)),
                other => panic!("not a decision of a queue: {other:?}"),
            }
        }
    }
}

/// One packet every `gap`.
pub(super) fn steady(gap: Nanos, ect: bool) -> impl Iterator<Item = (SimTime, Packet)> {
    (0u32..).map(move |i| (SimTime(gap.0 * u64::from(i)), Packet { ect, ..packet(i) }))
}
