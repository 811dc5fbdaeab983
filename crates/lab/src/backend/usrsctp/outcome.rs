//! Records of associations as those of flows.
//!
//! May: add up. May not: leave a figure that the library does not tell at a value that means something.

use std::borrow::Cow;

use trace::{FlowRecord, Held, Histogram, Limited, MessageRecord, Sending, SubflowRecord};
use units::{Bytes, SimTime};

use super::counts::PathCounts;
use super::driver::AssociationRan;
use super::settings::Association;

/// The record of a flow in a run that ended at `end` and would have ended at `last`.
pub(super) fn flow(ran: &AssociationRan, asked: &Association, end: SimTime, last: SimTime) -> FlowRecord {
    let mut delay = Histogram::default();
    let (mut delivered, mut last_delivery) = (Bytes::ZERO, None);
    let mut first_write = None;
    for (number, message) in (0..).zip(&ran.messages) {
        first_write = first_write.or(Some(message.written));
        if let (Some(at), Some(took)) = (message.delivered, message.delay()) {
            let size = asked.traffic.size(number);
            delivered += size;
            delay.add(took, size.0);
            last_delivery = last_delivery.max(Some(at));
        }
    }
    let wanted = asked.traffic.count.map(|frames| frames * asked.traffic.frame.len() as u64);
    let arrived = ran.messages.iter().filter(|message| message.delivered.is_some()).count() as u64;
    let completed = wanted.is_some_and(|wanted| arrived >= wanted);
    let start = asked.start.min(last);
    let flow_end = if completed { last_delivery.unwrap_or(end) } else { last };
    let transfer = completed.then(|| MessageRecord {
        what: "transfer",
        size: delivered,
        start,
        end: Some(flow_end),
        delay: Some(flow_end.since(start)),
    });
    let failure = if ran.lost {
        Some("the association was given up")
    } else {
        ran.established.is_none().then_some(trace::NEVER_ESTABLISHED)
    };
    FlowRecord {
        start,
        end: flow_end,
        completed,
        delivered,
        last_delivery,
        delay,
        send_delay_mean: None,
        send_delay_p95: None,
        ofo: Held::default(),
        waiting_for_others: None,
        failure: failure.map(Cow::Borrowed),
        fell_back: false,
        limited: Vec::new(),
        subflows: (0..)
            .zip(&ran.paths)
            .map(|(number, path)| subflow(number, path, ran.established))
            .collect(),
        legs: Vec::new(),
        failed_joins: Vec::new(),
        messages: transfer.into_iter().collect(),
        pages: Vec::new(),
        deadline: None,
    }
}

fn subflow(number: u32, path: &PathCounts, established: Option<SimTime>) -> SubflowRecord {
    SubflowRecord {
        connection: 0,
        subflow: number,
        duplex_link: Some(path.duplex_link),
        established,
        received: path.received,
        segments_received: path.chunks_received,
        segments_repeated: path.repeated,
        segments_late: path.late,
        limited: Limited::default(),
        ofo: Held::default(),
        sending: Sending {
            bytes: path.sent,
            wire: path.wire,
            segments: path.chunks,
            retransmitted: path.retransmitted,
            ..Sending::default()
        },
        reinjected: Bytes::ZERO,
        beyond_window: Bytes::ZERO,
        overflow: Bytes::ZERO,
    }
}
