//! Conversations about the dummy segments of TCP-Peach.

use testkit::{Duo, Talk, Wire, setups};
use units::{Bytes, Nanos, SimTime};

/// A client whose peer offers `window` segments, after a handshake of 600 ms.
fn client(window: u64) -> Talk {
    let mut talk = setups::talk(&setups::tcp(), "peach");
    let window = window * setups::tcp().segment.mss.0;
    talk.play(&format!("0 open\n0 > S 0..1\n600 < S. 0..1 ack 1 win {window}\n600 > . ack 1 bare"));
    talk
}

fn server() -> Talk {
    Talk::new(setups::tcp_pair(&setups::tcp(), "peach").1, setups::tcp().segment.mss.0)
}

/// Vector TP-1, Sudden Start: 63 dummies 9.375 ms apart behind the first segment, then each answer adds a segment.
#[test]
fn tp_1_sudden_start() {
    let mut talk = client(64);
    talk.play("600 write s100\n600 > . s0..s1 bare size 1500");
    for n in 1..64 {
        talk.play(&format!("{} > . ack 1 dummy size 1500", 600.0 + 9.375 * f64::from(n)));
    }
    talk.play(
        "1200     < . ack s1
         1200     > . s1..s3 bare
         1209.375 < . answer
         1209.375 > . s3..s4 bare
         1218.75  < . answer
         1218.75  > . s4..s5 bare
         1218.75  = cwnd 5840 state slow-start
         1800     < . ack s2
         1800     > . s5..s6 bare
         1800     = state avoidance",
    );
}

/// An answer acknowledges nothing, and does not count as a duplicate.
#[test]
fn answers_are_no_acknowledgements() {
    client(4).play(
        "600  write s100
         600  > . s0..s1
         750  > . dummy
         900  > . dummy
         1050 > . dummy
         1200 < . ack s1
         1200 > . s1..s3
         1200 < . answer
         1200 > . s3..s4
         1201 < . answer ack s2
         1201 > . s4..s5
         1202 < . answer
         1203 < . answer
         1203 = recoveries 0 pipe 5840 cwnd 5840",
    );
}

/// Rapid Recovery: as many dummies as the window had segments, one with each ACK.
#[test]
fn tp_1_rapid_recovery_is_clocked_by_acks() {
    let mut talk = client(8);
    talk.play("600 write s100\n600 > . s0..s1\n1199 skip\n1200 < . ack s1\n1200 > . s1..s3");
    for n in 3..9 {
        talk.play(&format!("1200 < . answer\n1200 > . s{n}..s{}", n + 1));
    }
    talk.play(
        "1800 = cwnd 11680
         1800 < . ack s1 sack s2..s3
         1800 < . ack s1 sack s2..s4
         1800 < . ack s1 sack s2..s5
         1800 > . s1..s2 again bare
         1801 < . ack s1 sack s2..s6
         1801 > . dummy
         1802 < . ack s1 sack s2..s7
         1802 > . dummy
         1803 < . ack s1 sack s2..s8
         1803 > . dummy
         1804 < . ack s1 sack s2..s9
         1804 > . dummy
         2400 < . ack s9
         2400 > . s9..s13 bare
         2400 > . dummy
         2400 = cwnd 5840 ssthresh 5840 state avoidance
         2401 < . answer
         2402 < . answer
         2403 < . answer
         2404 < . answer
         2404 = cwnd 5840
         2405 < . answer
         2405 > . s13..s14 bare
         2405 = cwnd 7300",
    );
}

/// With nothing to send there is nothing to probe for.
#[test]
fn an_idle_sender_sends_no_dummies() {
    client(8).play("600 write s1\n600 > . s0..s1\n1200 < . ack s1\n3000 = cwnd 2920");
}

/// Each dummy is answered, and nothing else comes of it: a delayed ACK stays due.
#[test]
fn a_receiver_answers_each_dummy() {
    server().play(
        "0   < S 0..1
         0   > S. 0..1
         100 < . ack 1
         100 < . s0..s1
         100 > . ack s1 bare
         100 < . s2..s3
         100 > . ack s1 sack s2..s3 bare
         110 < . dummy
         110 > . ack s1 answer size 40
         111 < . dummy
         111 > . ack s1 answer
         120 < . s1..s2
         120 > . ack s3 bare",
    );
}

/// Dummies of a peer are no duplicate ACKs for what this end sends.
#[test]
fn dummies_are_no_duplicates() {
    let config = setups::tcp().with(|c| c.options.sack = false);
    setups::established(&config, "newreno", 100).play(
        "100 write s3
         100 > . s0..s3
         200 < . dummy
         200 > . answer
         200 < . dummy
         200 > . answer
         200 < . dummy
         200 > . answer
         200 < . answer
         200 = recoveries 0 pipe 4380",
    );
}

/// On subflows of MPTCP, too: after two round trips and a half the window of each is wide open.
#[test]
fn subflows_start_suddenly() {
    let buffer = Bytes(200_000);
    let config = setups::tcp().with(|c| {
        c.buffers.receive_buffer = buffer;
        c.buffers.receive_buffer_max = buffer;
    });
    let (client, server) = setups::mptcp_pair(&config, &setups::mptcp(), "peach", "roundrobin", 2);
    let wire = Wire { delay: Nanos::from_millis(100), rate: None };
    let mut duo = Duo::new(client, server, vec![wire, wire], Bytes(10_000_000));
    duo.run(SimTime::from_millis(1200));
    for subflow in 0..2 {
        let gauges = duo.client.gauges(subflow).expect("it exists");
        assert!(gauges.cwnd > Bytes(50 * 1432), "{subflow}: {gauges:?}");
    }
}
