//! The parts of a game against a hostile peer that do not depend on the protocol.

use transport::Connection;
use transport::packet::Packet;
use units::{Nanos, SimTime};

/// Most packets that a connection may send at one instant. A window is at most 1 GiB, and TCP-Peach may owe as many dummies.
const MOST: usize = 1_000_000;

/// Takes everything that the connection sends.
///
/// # Panics
/// If it never stops sending.
pub(super) fn poll(end: &mut Connection, now: SimTime, note: &mut dyn FnMut(&Packet)) {
    for n in 0.. {
        assert!(n < MOST, "it never stops sending");
        let Some(packet) = end.poll_transmit(now) else { return };
        packet.check();
        note(&packet);
    }
}

/// Looks at all that a recorder looks at.
pub(super) fn look(end: &Connection, now: &mut SimTime) {
    let _ = (
        end.delivered(),
        end.acked(),
        end.out_of_order(),
        end.receive_window(),
        end.failure(),
        end.limit(true),
    );
    for subflow in 0..end.subflow_count() {
        let _ =
            (end.gauges(subflow), end.stats(subflow), end.subflow_limit(subflow, false), end.cwnd(subflow));
        end.congestion_gauges(subflow, &mut |name, value| assert!(!value.is_nan(), "{name} is no number"));
    }
    // A moment later: two packets do not arrive at once.
    *now += Nanos(10_000);
}
