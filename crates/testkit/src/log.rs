//! The readable trace of a [`crate::Duo`], with which golden files are compared.
//!
//! May: format packets and gauges of the client. May not: change them.

use std::fmt::Write as _;

use transport::mptcp::option::MptcpOption;
use transport::packet::{Body, Packet};
use transport::{Connection, SubflowGauges};
use units::{Bytes, SimTime};

/// Segments of the client as they left, as they arrived, and ACKs, if asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Option<String>);

impl Log {
    /// Begins with the header line.
    pub(crate) fn start(&mut self) {
        let head = "#   t_ms  sub event    seq..end       ack     cwnd ssthresh    pipe state      notes\n";
        self.0 = Some(head.to_owned());
    }

    /// The text so far.
    pub(crate) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Adds a line for a packet of `client`.
    pub(crate) fn note(&mut self, now: SimTime, event: &str, packet: &Packet, client: &Connection) {
        let Some(log) = self.0.as_mut() else { return };
        let Some(gauges) = client.gauges(packet.path.index()) else { return };
        let Some(segment) = packet.segment() else {
            return if matches!(packet.body, Body::Sctp(_)) {
                note_chunks(log, now, event, packet, gauges)
            };
        };
        let SubflowGauges { cwnd, ssthresh, inflight, state, .. } = gauges;
        let mut notes = String::new();
        for block in segment.sack.as_slice() {
            let _ = write!(notes, " sack {}..{}", block.start, block.end);
        }
        if let MptcpOption::Dss(dss) = segment.mptcp {
            if let Some(dsn) = dss.dsn {
                let _ = write!(notes, " {} {dsn}", if dss.data_fin { "data_fin" } else { "dsn" });
            }
            if let Some(data_ack) = dss.data_ack {
                let _ = write!(notes, " data_ack {data_ack}");
            }
        }
        let ssthresh = if ssthresh == Bytes::MAX { "inf".into() } else { ssthresh.0.to_string() };
        let _ = writeln!(
            log,
            "{:>8}  {:>3} {:<8} {:>6}..{:<6} {:>6} {:>8} {:>8} {:>7} {}{}",
            now.0 / 1_000_000,
            packet.path.0,
            event,
            segment.seq,
            segment.end(),
            segment.ack,
            cwnd.0,
            ssthresh,
            inflight.0,
            state,
            notes,
        );
    }
}

/// A line for a packet of SCTP: TSNs for sequence numbers, the first missing TSN for the acknowledgement, and the control chunk.
fn note_chunks(log: &mut String, now: SimTime, event: &str, packet: &Packet, gauges: SubflowGauges) {
    let summary = packet.summary();
    let SubflowGauges { cwnd, ssthresh, inflight, state, .. } = gauges;
    let mut notes = summary.option.to_owned();
    for block in &summary.sack {
        let _ = write!(notes, " {}..{}", block.start, block.end);
    }
    let ssthresh = if ssthresh == Bytes::MAX { "inf".into() } else { ssthresh.0.to_string() };
    let tsns = if summary.sequence.is_empty() {
        "-".to_owned()
    } else {
        format!("{}..{}", summary.sequence.start, summary.sequence.end)
    };
    let ack = summary.ack.map_or_else(|| "-".to_owned(), |next| next.to_string());
    let line = format!(
        "{:>8}  {:>3} {event:<8} {tsns:>14} {ack:>6} {:>8} {ssthresh:>8} {:>7} {state:<9} {notes}",
        now.0 / 1_000_000,
        packet.path.0,
        cwnd.0,
        inflight.0,
    );
    let _ = writeln!(log, "{}", line.trim_end());
}
