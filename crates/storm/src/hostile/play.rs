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

/// Waits for the next timer, two minutes at most, and lets it expire.
pub(super) fn expire(end: &mut Connection, now: &mut SimTime) {
    *now = (*now).max(end.next_deadline().min(*now + Nanos::from_secs(120)));
    end.on_timeout(*now);
}

/// Ends a turn: lets timers expire that are due, takes what is sent, and looks at the connection.
pub(super) fn end_turn(end: &mut Connection, now: &mut SimTime, note: &mut dyn FnMut(&Packet)) {
    if end.next_deadline() <= *now {
        end.on_timeout(*now);
    }
    poll(end, *now, note);
    look(end, now);
}

/// Looks at all that a recorder looks at.
fn look(end: &Connection, now: &mut SimTime) {
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
