//! Conversations about windows and sizes: RFC 9293 sections 3.7 and 3.8, RFC 1122 section 4.2.3 (Nagle, silly
//! windows, persist), RFC 7323 (scaling, timestamps), RFC 2018 and 2883 (SACK), sizes on the wire.

use testkit::{Duo, Talk, Wire, setups};
use transport::config::{AckConfig, CwndCounts, QuantumRule, RecoveryKind, SendBuffer, TcpConfig};
use units::{Bytes, Nanos, SimTime};

fn tcp() -> TcpConfig {
    setups::tcp()
}

fn buffer(bytes: u64) -> TcpConfig {
    tcp().with(|c| {
        c.buffers.receive_buffer = Bytes(bytes);
        c.buffers.receive_buffer_max = Bytes(bytes);
    })
}

/// A server whose handshake took 100 ms.
fn accepted(config: &TcpConfig) -> Talk {
    let mut talk = Talk::new(setups::tcp_pair(config, "newreno").1, config.segment.mss.0);
    talk.play("0 < S 0..1\n0 > S. 0..1 ack 1\n100 < . ack 1");
    talk
}

/// A client whose peer offers this window; the handshake took 100 ms.
fn offered(config: &TcpConfig, window: u64) -> Talk {
    let mut talk = setups::talk(config, "newreno");
    talk.play(&format!("0 open\n0 > S 0..1\n100 < S. 0..1 ack 1 win {window}\n100 > . ack 1"));
    talk
}

/// Without the option a window has 16 bits; with it the whole buffer is offered.
#[test]
fn window_scaling() {
    let config = buffer(200_000).with(|c| c.options.window_scaling = false);
    accepted(&config).play(
        "200  = rwnd 65535
         200  < . s0..s1
         200  > . ack s1 win 65535
         300  < . s1..s2
         300  > . ack s2 win 65535",
    );
    accepted(&buffer(200_000)).play("200 < . s0..s1\n200 > . ack s1 win 198540");
}

/// A window of three segments holds three short ones where it counts segments, and acknowledging them opens it by three;
/// where it counts bytes it holds more of them, and does not grow because they do not fill it.
#[test]
fn short_segments_take_a_whole_mss_of_a_window_in_segments() {
    let counting = |counts| {
        let config = tcp().with(|c| {
            c.window.initial_window = 3;
            c.window.growth.slow_start_limit = u32::MAX;
            c.window.counts = counts;
        });
        let mut talk = setups::established(&config, "newreno", 100);
        talk.play(
            "100  write 500
             100  > . 1..501
             110  write 500
             110  > . 501..1001
             120  write 500
             120  > . 1001..1501
             130  write 500",
        );
        talk
    };
    counting(CwndCounts::Segments).play(
        "220  < . ack 1501
         220  > . 1501..2001
         220  = cwnd 8760",
    );
    counting(CwndCounts::Bytes).play(
        "130  > . 1501..2001
         220  < . ack 1501
         220  = cwnd 4380",
    );
}

/// A sender with a limit of its own sends no further than this beyond what is acknowledged, however wide the windows
/// are; a limit below a segment lets one out.
#[test]
fn the_flight_limit_binds_below_the_windows() {
    let limited = |bytes| {
        tcp().with(|c| {
            c.window.initial_window = 10;
            c.window.flight_limit = Bytes(bytes);
        })
    };
    offered(&limited(4380), 100_000).play(
        "200 write s10
         200 > . s0..s3
         300 < . ack s1 win 100000
         300 > . s3..s4
         400 < . ack s4 win 100000
         400 > . s4..s7",
    );
    offered(&limited(1), 100_000).play(
        "200 write s3
         200 > . s0..s1
         300 < . ack s1 win 100000
         300 > . s1..s2",
    );
}

/// With a limit on what is unsent the application may write on as segments leave, whatever is outstanding: what leaves
/// makes room, acknowledged data makes none.
#[test]
fn the_unsent_limit_leaves_out_what_is_outstanding() {
    let config = tcp().with(|c| {
        c.window.initial_window = 2;
        c.buffers.unsent_limit = Bytes(2000);
    });
    offered(&config, 100_000).play(
        "150 = space 2000
         200 write s1
         200 > . s0..s1
         200 = space 2000
         210 write s1
         210 > . s1..s2
         210 = space 2000
         220 write s1
         220 = space 540
         300 < . ack s1 win 100000
         300 > . s2..s3
         300 = space 2000",
    );
}

/// A peer that passes the advertised window is served as far as the buffer goes; what it cannot hold is not there and
/// is answered with what is.
#[test]
fn a_receiver_takes_no_more_than_its_buffer_holds() {
    accepted(&buffer(4380)).play(
        "200  < . s0..s3
         200  > . ack s3 win 0
         210  < . s3..s4
         210  > . ack s3 win 0
         220  read 4380
         220  > . ack s3 win 4380
         230  < . s3..s4
         230  > . ack s4 win 2920",
    );
    let config = buffer(200_000).with(|c| c.options.window_scaling = false);
    let mut talk = accepted(&config);
    talk.play(
        "200  < . s0..s60
         200  > . ack s60 win 65535
         210  < . s100..s136
         210  > . ack s60 win 65535 sack s100..s136
         220  < . s136..s137
         220  > . ack s60 win 65535 sack s100..s136+1440",
    );
    let stats = talk.end.stats(0);
    // 60 segments are 87600 bytes; the buffer ends 20 bytes before segment 137.
    assert_eq!(stats.overflow_received, 20);
    assert_eq!(stats.beyond_window_received, (87_600 - 65_535) + (200_000 - 153_135));
}

/// The right edge of the advertised window never moves left and moves in steps worth a segment.
#[test]
fn receiver_side_silly_window_avoidance() {
    accepted(&buffer(4380)).play(
        "200  < . s0..s3
         200  > . ack s3 win 0
         # 1000 bytes are not worth telling
         210  read 1000
         220  read 400
         # 1460 are worth an edge, doubling from nothing wants two segments or half a buffer
         230  read 800
         230  > . ack s3 win 2200
         240  < . s3..s4
         240  > . ack s4 win 740
         # little by little: the update waits until it is worth half a buffer
         250  read 700
         260  < . ack 1
         270  read 800
         280  read 700
         280  > . ack s4 win 2940",
    );
}

/// RFC 9293 section 3.8.6.1: a closed window is probed, ever less often, and the probe gives no new data.
#[test]
fn a_zero_window_is_probed_with_back_off() {
    offered(&tcp(), 1460).play(
        " 100  write s3
          100  > . s0..s1
          200  < . ack s1 win 0
          # RTO after the samples of 100 ms: 100 + 4 * 37.5 = 250
          450  > . s1-1..s1-1
          460  < . ack s1 win 0
          950  > . s1-1..s1-1
          960  < . ack s1 win 0
         1950  > . s1-1..s1-1
         1960  < . ack s1 win 0
         3950  > . s1-1..s1-1
         3960  < . ack s1 win 2920
         3960  > . s1..s3
         # nothing is outstanding any more and nothing waits
         4060  < . ack s3 win 0
         9999  = timeouts 0 acked 4380 failure none",
    );
}

/// A window update may be lost: the probe finds out.
#[test]
fn a_window_update_ends_the_wait_or_the_probe_does() {
    offered(&tcp(), 1460).play(
        "100  write s2
         100  > . s0..s1
         200  < . ack s1 win 0
         300  < . ack s1 win 1460
         300  > . s1..s2
         400  < . ack s2 win 0
         400  write s1
         612.5  > . s2-1..s2-1",
    );
}

/// Sender-side silly window avoidance: less than a segment and less than half of the largest window wait for the
/// persist timer, which lets them go.
#[test]
fn sender_side_silly_window_avoidance() {
    offered(&tcp(), 2920).play(
        "100  write s4
         100  > . s0..s2
         200  < . ack s2 win 1000
         # the persist timer overrides: the fragment and the probe
         450  > . s2..s2+1000
         450  > . s2-1..s2-1
         500  < . ack s2+1000 win 1460
         500  > . s2+1000..s3+1000",
    );
    // Half of the largest window is worth it.
    offered(&tcp(), 2000).play("100 write s4\n100 > . s0..s1\n200 < . ack s1 win 1000\n200 > . s1..s1+1000");
}

/// The window is a promise: what shrinks is ignored.
#[test]
fn a_shrunk_window_is_ignored() {
    offered(&tcp(), 2920).play(
        "100  write s4
         100  > . s0..s2
         150  < . ack 1 win 100
         150  = window 2920
         200  < . ack s1 win 2920
         200  > . s2..s3",
    );
}

#[test]
fn nagle_holds_small_segments_while_anything_is_outstanding() {
    let config = tcp().with(|c| c.sending.nagle = true);
    setups::established(&config, "newreno", 100).play(
        "100  write 100
         100  > . 1..101
         110  write 100
         120  write 1300
         # together a full segment: it goes
         130  write 100
         130  > . 101..1561
         200  < . ack 101
         200  < . ack 1561
         200  > . 1561..1601
         210  write 50
         # the end of the stream does not wait
         220  close
         220  > . 1601..1651
         220  > F. 1651..1652",
    );
    setups::established(&tcp(), "newreno", 100).play(
        "100  write 100
         100  > . 1..101
         110  write 100
         110  > . 101..201",
    );
}

/// The send buffer holds what is not acknowledged.
#[test]
fn the_send_buffer_is_bounded() {
    let config = tcp().with(|c| c.buffers.send_buffer = SendBuffer::Fixed(Bytes(10_000)));
    setups::established(&config, "newreno", 100).play(
        "100  = space 10000
         100  write s5
         100  > . s0..s5
         100  = space 2700
         200  < . ack s2
         200  = space 5620",
    );
    // Twice the window, at least 87,040 bytes.
    let config = tcp().with(|c| c.buffers.send_buffer = SendBuffer::Auto { max: Bytes(1_000_000) });
    setups::established(&config, "newreno", 100).play("100 = space 87040");
    let config = config.with(|c| c.window.initial_window = 100);
    setups::established(&config, "newreno", 100).play("100 = space 308384");
}

/// Headers 40, SYN: MSS 4, window scale 4 (with its NOP), SACK permitted 4; timestamps 12 share their NOPs with SACK
/// permitted; a SACK option of n blocks 4 + 8 n; overhead on every packet.
#[test]
fn sizes_on_the_wire() {
    setups::talk(&tcp(), "newreno").play("0 open\n0 > S 0..1 size 52");
    let plain = tcp().with(|c| {
        c.options.sack = false;
        c.options.window_scaling = false;
        c.recovery.kind = RecoveryKind::NewReno;
    });
    setups::talk(&plain, "newreno").play(
        "  0  open
           0  > S 0..1 size 44
         100  < S. 0..1 ack 1
         100  > . ack 1 size 40
         100  write s1
         100  > . s0..s1 size 1500
         110  close
         110  > F. s1..s1+1 size 40",
    );
    let tunnel = plain.with(|c| {
        c.segment.header = Bytes(60);
        c.segment.overhead = Bytes(38);
    });
    setups::talk(&tunnel, "newreno").play("0 open\n0 > S 0..1 size 102");
    let stamped = tcp().with(|c| c.options.timestamps = true);
    setups::talk(&stamped, "newreno").play(
        "  0  open
           0  > S 0..1 size 60
         100  < S. 0..1 ack 1 ts 50/0
         100  > . ack 1 size 52
         100  write s1
         100  > . s0..s1 size 1512
         200  < . s1..s2 ack s1 ts 150/100
         200  > . ack 1 sack s1..s2 size 64
         201  < . s3..s4 ts 151/100
         201  > . ack 1 sack s3..s4 s1..s2 size 72
         202  < . s5..s6 ts 152/100
         202  > . ack 1 sack s5..s6 s3..s4 s1..s2 size 80
         # three blocks fit beside timestamps
         203  < . s7..s8 ts 153/100
         203  > . ack 1 sack s7..s8 s5..s6 s3..s4 size 80",
    );
}

/// Four blocks fit without timestamps; a duplicate report comes first and takes the place of one.
#[test]
fn sack_blocks_and_duplicate_reports() {
    accepted(&tcp()).play(
        "200  < . s1..s2
         200  > . ack 1 sack s1..s2 size 52
         201  < . s3..s4
         201  > . ack 1 sack s3..s4 s1..s2
         202  < . s5..s6
         202  > . ack 1 sack s5..s6 s3..s4 s1..s2
         203  < . s7..s8
         203  > . ack 1 sack s7..s8 s5..s6 s3..s4 s1..s2 size 76
         204  < . s9..s10
         204  > . ack 1 sack s9..s10 s7..s8 s5..s6 s3..s4
         205  < . s3..s4
         205  > . ack 1 sack s3..s4 s9..s10 s7..s8 s5..s6
         206  < . s0..s1
         206  > . ack s2 sack s9..s10 s7..s8 s5..s6 s3..s4
         207  < . s0..s1
         207  > . ack s2 sack s0..s1 s9..s10 s7..s8 s5..s6",
    );
    let without = tcp().with(|c| {
        c.options.sack = false;
        c.recovery.kind = RecoveryKind::NewReno;
    });
    accepted(&without).play("200 < . s1..s2\n200 > . ack 1 sack size 40");
}

/// RFC 7323 section 4.3: the timestamp echoed is that of the segment that advanced the window last, so a delayed ACK
/// echoes the first of its segments, and one behind a gap the last in order.
#[test]
fn which_timestamp_is_echoed() {
    let ack = AckConfig { every: 2, delay: Nanos::from_millis(200), ..AckConfig::default() };
    let config = tcp().with(|c| {
        c.options.timestamps = true;
        c.ack = ack;
    });
    let mut talk = Talk::new(setups::tcp_pair(&config, "newreno").1, 1460);
    talk.play(
        "  0  < S 0..1 ts 10/-
           0  > S. 0..1 ack 1 ts 0/10
         100  < . ack 1 ts 110/0
         200  < . s0..s1 ts 150/0
         210  < . s1..s2 ts 160/0
         210  > . ack s2 ts 210/150
         220  < . s3..s4 ts 180/0
         220  > . ack s2 sack s3..s4 ts 220/150
         400  < . s2..s3 ts 350/0
         400  > . ack s4 ts 400/350",
    );
}

/// Reading slowly opens the window in worthwhile steps, and the update is sent unasked.
#[test]
fn reading_sends_window_updates() {
    accepted(&buffer(14_600)).play(
        "200  < . s0..s5
         200  > . ack s5 win 7300
         201  < . s5..s10
         201  > . ack s10 win 0
         300  read s1
         310  read s1
         310  > . ack s10 win 2920
         320  read s1
         330  read s1
         330  > . ack s10 win 5840
         340  read s6
         340  > . ack s10 win 14600",
    );
}

/// The window of an MPTCP subflow belongs to the connection: TCP-ADaLR passes that of a plain connection only, if nothing else
/// limits its flight, and the gauge says so.
#[test]
fn beyond_the_window_there_is_nothing_on_a_subflow_or_behind_a_limit() {
    let wire = || Wire { delay: Nanos::from_millis(300), rate: None };
    let config = setups::tcp().with(|c| {
        c.buffers.receive_buffer = Bytes(65_535);
        c.buffers.receive_buffer_max = Bytes(65_535);
    });
    let plain = setups::tcp_pair(&config, "adalr");
    let limited = config.clone().with(|c| c.window.flight_limit = Bytes(10_000));
    let limited = setups::tcp_pair(&limited, "adalr");
    let multipath = setups::mptcp_pair(&config, &setups::mptcp(), "adalr", "minrtt", 1);
    for ((client, server), passes) in [(plain, true), (limited, false), (multipath, false)] {
        let mut duo = Duo::new(client, server, vec![wire()], Bytes(10_000_000));
        duo.run(SimTime::from_secs(3));
        let mut beyond = Vec::new();
        duo.client.congestion_gauges(0, &mut |name, value| {
            if name == "beyond_window_bytes" {
                beyond.push(value);
            }
        });
        assert_eq!(beyond.len(), 1);
        assert_eq!(beyond[0] > 0.0, passes, "{beyond:?}");
    }
}

/// Room for less than a quantum, two segments at this rate, waits for the next ACK while that is near: 1 ms from the last transmission on
/// one segment leaves. `tcp_tso_should_defer` of Linux.
#[test]
fn room_for_less_than_a_send_quantum_waits_for_the_next_ack() {
    let gathering = |rule| {
        let config = tcp().with(|c| {
            c.sending.quantum_rule = rule;
            c.window.initial_window = 12;
            c.window.initial_ssthresh = Bytes(12 * 1460);
        });
        let mut talk = setups::established(&config, "newreno", 100);
        talk.play("100 write s20\n100 > . s0..s12\n200 < . ack s1\n200 > . s12..s13");
        talk
    };
    gathering(QuantumRule::Linux).play("200.5 < . ack s2\n200.6 < . ack s3\n200.6 > . s13..s15");
    gathering(QuantumRule::Linux).play("201.5 < . ack s2\n201.5 > . s13..s14");
    gathering(QuantumRule::None).play("200.5 < . ack s2\n200.5 > . s13..s14");
}
