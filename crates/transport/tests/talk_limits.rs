//! Conversations about what keeps a sender from sending (more), one for each limit. `limit-of-more`: the application has
//! more to write than the send buffer accepts.

use testkit::{Talk, setups};
use transport::config::{LossMeans, QuantumRule, RecoveryKind, TcpConfig};
use units::Bytes;

/// MSS 1460, a window of ten segments, round-trip time 100 ms.
fn client(config: &TcpConfig) -> Talk {
    setups::established(config, "newreno", 100)
}

/// MPTCP with subflow 0 (100 ms) and, from 240 ms on, subflow 1 (20 ms); windows of ten segments of 1432 bytes.
fn two_subflows(scheduler: &str, window: u64) -> Talk {
    let mut talk = setups::mptcp_client_with(&setups::tcp(), &setups::mptcp(), 2, scheduler);
    talk.play(&format!(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable win {window}
         100  > . ack 1 capable
         100  write s1
         100  > . s0..s1 capable dsn 1
         200  < . ack s1 dack s1
         200  > [1] S 0..1 join
         220  < [1] S. 0..1 ack 1 join win {window}
         220  > [1] . ack 1 join
         240  < [1] . ack 1 dack s1"
    ));
    talk
}

/// Everything written is sent; whether it is acknowledged does not matter. A small segment that Nagle's algorithm holds
/// back would leave with the next write.
#[test]
fn application() {
    client(&setups::tcp().with(|c| c.sending.nagle = true)).play(
        "100  = limit application
         100  write s1
         100  > . s0..s1
         100  = limit application
         100  write 10
         100  = limit application
         200  < . ack s1
         200  > . s1..s1+10
         300  < . ack s1+10
         300  = limit application",
    );
}

/// Ten segments fill the window, the rest waits.
#[test]
fn congestion_window() {
    client(&setups::tcp()).play(
        "100  write s12
         100  > . s0..s10
         100  = limit congestion_window
         200  < . ack s1
         200  > . s10..s12
         200  = limit application",
    );
}

/// Two segments fill the window that the peer offers; the rest of it is a fragment.
#[test]
fn receive_window() {
    setups::talk(&setups::tcp(), "newreno").play(
        "  0  open
           0  > S 0..1
         100  < S. 0..1 ack 1 win 3000
         100  > . ack 1
         100  write s5
         100  > . s0..s2
         100  = limit receive_window
         200  < . ack s2 win 10000
         200  > . s2..s5
         200  = limit application",
    );
}

/// Both windows are full at the same byte: Linux asks the congestion window first.
#[test]
fn congestion_window_before_receive_window() {
    setups::talk(&setups::tcp(), "newreno").play(
        "  0  open
           0  > S 0..1
         100  < S. 0..1 ack 1 win 14600
         100  > . ack 1
         100  write s12
         100  > . s0..s10
         100  = limit congestion_window
         200  < . ack s10 win 1460
         200  > . s10..s11
         200  = limit receive_window",
    );
}

/// Room for one segment waits for a send quantum of two, and the window that has less room is the limit (`is_cwnd_limited` and
/// `is_rwnd_limited` of `tcp_tso_should_defer`).
#[test]
fn the_smaller_window_while_a_send_quantum_waits() {
    for (segments, window, limit) in [(12, 60_000, "congestion_window"), (20, 17_520, "receive_window")] {
        let config = setups::tcp().with(|c| {
            c.sending.quantum_rule = QuantumRule::Linux;
            c.window.initial_window = segments;
            c.window.initial_ssthresh = Bytes(u64::from(segments) * 1460);
        });
        setups::talk(&config, "newreno").play(&format!(
            "  0    open
               0    > S 0..1
             100    < S. 0..1 ack 1 win {window}
             100    > . ack 1
             100    write s20
             100    > . s0..s12
             100    = limit {limit}
             200    < . ack s1 win {window}
             200    > . s12..s13
             200.5  < . ack s2 win {window}
             200.5  = limit {limit}
             200.6  < . ack s3 win {window}
             200.6  > . s13..s15"
        ));
    }
}

/// Everything that the send buffer accepted is sent, the window has room, and the application waits for space.
#[test]
fn send_buffer() {
    client(&setups::tcp()).play(
        "100  write s4
         100  > . s0..s4
         100  = limit-of-more send_buffer limit application
         100  write s8
         100  > . s4..s10
         # now it is the congestion window, whatever the buffer accepts
         100  = limit-of-more congestion_window limit congestion_window
         200  < . ack s10
         200  > . s10..s12
         300  < . ack s12",
    );
}

/// Twice the window per round trip in slow start: a segment every 5 ms.
#[test]
fn pacing() {
    client(&setups::tcp().with(|c| c.sending.pacing = true)).play(
        "100  write s3
         100  > . s0..s1
         100  = limit pacing
         105  > . s1..s2
         105  = limit pacing
         110  > . s2..s3
         111  = limit application",
    );
}

/// ECF waits for the fast subflow, whose window is full, while the slow one has room.
#[test]
fn scheduler() {
    two_subflows("ecf", 1_000_000).play(
        "240  write s14
         240  > [1] . s0..s10 dsn s1
         240  = limit scheduler
         240  = [0] subflow-limit scheduler
         240  = [1] subflow-limit congestion_window
         260  < [1] . ack s10 dack s11
         260  > [1] . s10..s14 dsn s11
         260  = limit application",
    );
}

/// With minRTT both windows fill: each subflow has its own limit. The window of the connection limits all of them.
#[test]
fn paths() {
    two_subflows("minrtt", 1_000_000).play(
        "240  write s30
         240  > [1] . s0..s10 dsn s1
         240  > . s1..s11 dsn s11
         240  = limit paths
         240  = [0] subflow-limit congestion_window
         240  = [1] subflow-limit congestion_window",
    );
    two_subflows("minrtt", 7160).play(
        "240  write s30
         240  > [1] . s0..s5 dsn s1
         240  = limit receive_window
         240  = [0] subflow-limit receive_window",
    );
}

/// A segment is lost: until the episode ends, its window limits.
#[test]
fn recovery() {
    client(&setups::tcp().with(|c| c.recovery.kind = RecoveryKind::Sack)).play(
        "100  write s12
         100  > . s0..s10
         200  < . ack 1 sack s1..s4
         200  > . s0..s1 again
         200  = state recovery limit recovery
         300  skip
         300  < . ack s10
         300  skip
         300  = state avoidance limit application",
    );
}

/// Nothing leaves before the SYN is answered; a subflow has a handshake of its own.
#[test]
fn handshake() {
    let mut talk = setups::talk(&setups::tcp(), "newreno");
    talk.play(
        "  0  open
           0  > S 0..1
          10  write s1
          10  = limit handshake
         100  < S. 0..1 ack 1
         100  > . s0..s1 ack 1
         100  = limit application",
    );
    let mut talk = setups::mptcp_client(&setups::tcp(), &setups::mptcp(), 2);
    talk.play(
        "  0  open
           0  > S 0..1 capable
           0  = limit handshake
         100  < S. 0..1 ack 1 capable
         100  > . ack 1 capable
         100  write s1
         100  > . s0..s1 capable dsn 1
         200  < . ack s1 dack s1
         200  > [1] S 0..1 join
         200  = [0] subflow-limit application
         200  = [1] subflow-limit handshake",
    );
}

/// After a reset; and where losses mean corruption, after a timeout until the peer sends.
#[test]
fn path_down() {
    client(&setups::tcp()).play(
        "100  write s1
         100  > . s0..s1
         200  < R. ack s1
         200  = limit path_down",
    );
    let outage = setups::tcp().with(|c| {
        c.recovery.loss_means = LossMeans::Corruption;
        c.recovery.kind = RecoveryKind::NewReno;
        c.options.sack = false;
    });
    client(&outage).play(
        "100  write s2
         100  > . s0..s2
         400  > . s0..s1 again
         400  = limit path_down
         500  < . ack s1
         500  > . s1..s2 again
         500  = limit application",
    );
}
