//! Conversations about time: RFC 6298 (retransmission), RFC 9293 (handshake and close), RFC 5681 sections 4.1 and
//! 4.2 (idle restart, delayed ACKs). Segments are 1460 bytes.

use testkit::{Talk, setups};
use transport::config::{
    AckConfig, FlightAfterTimeout, IdleRestart, RecoveryKind, RtoConfig, RtoFloor, RtoRule, TcpConfig,
};
use units::{Bytes, Nanos};

/// RFC 6298 with its own bounds.
const RFC: RtoConfig = RtoConfig {
    initial: Nanos::from_secs(1),
    min: Nanos::from_secs(1),
    max: Nanos::from_secs(60),
    granularity: Nanos::from_millis(100),
    estimator: RtoRule::Rfc,
    floor: RtoFloor::Total,
};

fn rfc() -> TcpConfig {
    setups::tcp().with(|c| c.timers.rto = RFC)
}

fn server(config: &TcpConfig) -> Talk {
    Talk::new(setups::tcp_pair(config, "newreno").1, config.segment.mss.0)
}

/// A server that has received the handshake by 100 ms; what follows comes from the client.
fn accepted(config: &TcpConfig) -> Talk {
    let mut talk = server(config);
    talk.play("0 < S 0..1\n0 > S. 0..1 ack 1\n100 < . ack 1");
    talk
}

/// Rules 2.1, 5.5: 1 s, doubled; then the attempt is given up.
#[test]
fn a_syn_is_repeated_with_back_off_and_given_up() {
    setups::talk(&rfc().with(|c| c.timers.syn_retries = 3), "newreno").play(
        "    0  open
             0  > S 0..1
          1000  > S 0..1 again
          3000  > S 0..1 again
          7000  > S 0..1 again
         14999  = failure none
         15000  = state closed failure no answer to the SYN
         90000  = failure no answer to the SYN",
    );
}

#[test]
fn a_syn_ack_is_repeated_with_back_off_and_given_up() {
    server(&rfc().with(|c| c.timers.syn_retries = 2)).play(
        "   0  < S 0..1
            0  > S. 0..1 ack 1
         1000  > S. 0..1 ack 1 again
         3000  > S. 0..1 ack 1 again
         7000  = failure no answer to the SYN",
    );
}

#[test]
fn the_initial_timeout_is_configured() {
    let rto = RtoConfig { initial: Nanos::from_secs(3), max: Nanos::from_secs(10), ..RFC };
    setups::talk(&setups::tcp().with(|c| c.timers.rto = rto), "newreno").play(
        "    0  open
             0  > S 0..1
          3000  > S 0..1 again
          9000  > S 0..1 again
         19000  > S 0..1 again",
    );
}

/// Rule 5.7: data starts with 3 s after a lost SYN, and RFC 5681 section 3.1: with one segment.
#[test]
fn after_a_lost_syn_data_starts_with_three_seconds_and_one_segment() {
    setups::talk(&rfc(), "newreno").play(
        "   0  open
            0  > S 0..1
         1000  > S 0..1 again
         1100  < S. 0..1 ack 1
         1100  > . ack 1
         1100  = rto 3000 srtt none cwnd 1460
         1100  write s2
         1100  > . s0..s1
         4100  > . s0..s1 again",
    );
}

/// A duplicate SYN makes the SYN/ACK leave twice: which of them the third ACK answers cannot be told (Karn).
#[test]
fn a_syn_ack_that_left_twice_gives_no_sample() {
    server(&rfc()).play(
        "  0  < S 0..1
           0  > S. 0..1 ack 1
         900  < S 0..1
         900  > S. 0..1 ack 1
         950  < . ack 1
         950  = srtt none",
    );
    let mut talk = server(&rfc());
    talk.play("0 < S 0..1\n0 > S. 0..1 ack 1\n600 < . ack 1\n600 = srtt 600 rto 1800");
}

/// The third ACK was lost: the client answers the repeated SYN/ACK, and data takes its place.
#[test]
fn the_third_ack_is_repeated_or_replaced_by_data() {
    setups::established(&rfc(), "newreno", 100).play("1200 < S. 0..1 ack 1\n1200 > . 1..1 ack 1");
    server(&rfc()).play(
        "  0  < S 0..1
           0  > S. 0..1 ack 1
         100  < . s0..s1 ack 1
         100  > . ack s1
         100  = readable 1460 srtt 100",
    );
}

/// Rules 5.4 to 5.6: one segment, doubled up to the maximum, and RFC 5681: ssthresh falls once.
#[test]
fn timeouts_double_up_to_the_maximum() {
    setups::established(&rfc(), "newreno", 100).play(
        "   100  write s10
            100  > . s0..s10
           1100  > . s0..s1 again
           1100  = ssthresh 7300 cwnd 1460 rto 2000
           3100  > . s0..s1 again
           3100  = ssthresh 7300 cwnd 1460 rto 4000
           7100  > . s0..s1 again
          15100  > . s0..s1 again
          31100  > . s0..s1 again
          63100  > . s0..s1 again
          63100  = rto 60000
         123100  > . s0..s1 again
         183100  > . s0..s1 again
         183100  = timeouts 8 ssthresh 7300",
    );
}

/// Data not yet sent again is not in flight: the second timeout finds two segments there, not the nine that the first
/// has given up.
#[test]
fn a_timeout_after_a_timeout_goes_by_what_was_sent_again() {
    setups::established(&rfc(), "newreno", 100).play(
        " 100  write s10
          100  > . s0..s10
         1100  > . s0..s1 again
         1100  = ssthresh 7300 cwnd 1460
         1200  < . ack s1
         1200  > . s1..s3 again
         1200  = ssthresh 7300 cwnd 2920
         3200  > . s1..s2 again
         3200  = ssthresh 2920 cwnd 1460 timeouts 2",
    );
}

/// As in ns-3.19, whose FlightSize reaches up to the highest sequence number ever sent: the second timeout halves the nine
/// segments that the first has given up, although two have been sent again.
#[test]
fn a_timeout_after_a_timeout_halves_all_that_is_outstanding() {
    let config = rfc().with(|c| c.recovery.flight_after_timeout = FlightAfterTimeout::Outstanding);
    setups::established(&config, "newreno", 100).play(
        " 100  write s10
          100  > . s0..s10
         1100  > . s0..s1 again
         1100  = ssthresh 7300 cwnd 1460
         1200  < . ack s1
         1200  > . s1..s3 again
         1200  = ssthresh 7300 cwnd 2920
         3200  > . s1..s2 again
         3200  = ssthresh 6570 cwnd 1460 timeouts 2",
    );
}

/// Karn: an ACK of a retransmission is no sample, and the backed-off timeout stays until there is one.
#[test]
fn the_back_off_stays_until_a_sample() {
    setups::established(&rfc(), "newreno", 100).play(
        " 100  write s1
          100  > . s0..s1
         1100  > . s0..s1 again
         3100  > . s0..s1 again
         3200  < . ack s1
         3200  = srtt 100 rto 4000
         3200  write s1
         3200  > . s1..s2
         7200  > . s1..s2 again
         7300  < . ack s2
         7300  = rto 8000
         7300  write s1
         7300  > . s2..s3
         7400  < . ack s3
         # 100 ms again: 7/8 and 3/4 of what the handshake left
         7400  = srtt 100 rttvar 37.5 rto 1000",
    );
}

/// With timestamps a retransmission gives a sample, of the transmission that is acknowledged.
#[test]
fn timestamps_tell_retransmissions_apart() {
    setups::talk(&rfc().with(|c| c.options.timestamps = true), "newreno").play(
        "   0  open
            0  > S 0..1 ts 0/-
          100  < S. 0..1 ack 1 ts 50/0
          100  > . ack 1 ts 100/50
          100  write s1
          100  > . s0..s1 ts 100/50
         1100  > . s0..s1 again ts 1100/50
         1180  < . ack s1 ts 1140/1100
         1180  = srtt 97.5 rto 1000
         1180  write s1
         1180  > . s1..s2 ts 1180/1140
         2180  > . s1..s2 again ts 2180/1140
         # the ACK of the original
         2200  < . ack s2 ts 2150/1180
         2200  = srtt 212.8125",
    );
}

/// Eifel (RFC 3522) for a controller that asks for it: the ACKs are late, and nothing was lost. The window is what it was,
/// and what was not sent again is not.
#[test]
fn a_needless_timeout_is_undone() {
    let config = rfc().with(|c| {
        c.options.timestamps = true;
        c.options.sack = true;
    });
    let play = |controller, after: &str| {
        let talk = format!(
            "   0  open
                0  > S 0..1 ts 0/-
              100  < S. 0..1 ack 1 ts 50/0
              100  > . ack 1 ts 100/50
              100  write s4
              100  > . s0..s4 ts 100/50
             1100  > . s0..s1 again ts 1100/50
             1100  = cwnd 1460 state loss timeouts 1
             1200  < . ack s2 ts 1150/100
             {after}"
        );
        setups::talk(&config, controller).play(&talk);
    };
    play("star", "1200  = cwnd 14600 pipe 2920 state slow-start\n 1300  < . ack s4 ts 1250/100");
    // One that does not ask sends what is left again.
    play("newreno", "1200  > . s2..s4 again ts 1200/1150\n 1200  = cwnd 2920 state loss");
}

/// A retransmission that was needed: its timestamp is echoed.
#[test]
fn a_timeout_that_was_needed_is_not_undone() {
    setups::talk(
        &rfc().with(|c| {
            c.options.timestamps = true;
            c.options.sack = true;
        }),
        "star",
    )
    .play(
        "   0  open
            0  > S 0..1 ts 0/-
          100  < S. 0..1 ack 1 ts 50/0
          100  > . ack 1 ts 100/50
          100  write s2
          100  > . s0..s2 ts 100/50
         1100  > . s0..s1 again ts 1100/50
         1200  < . ack s1 ts 1150/1100
         1200  > . s1..s2 again ts 1200/1150
         1200  = state loss",
    );
}

/// Rules 5.2 and 5.3: nothing outstanding, no timer; new data acknowledged, the timer starts anew.
#[test]
fn the_timer_restarts_with_progress_and_stops_when_all_is_acknowledged() {
    setups::established(&rfc(), "newreno", 100).play(
        " 100  write s3
          100  > . s0..s3
         1000  < . ack s1
         1000  = srtt 200 rttvar 237.5 rto 1150
         # a duplicate does not restart it
         1500  < . ack s1
         2150  > . s1..s2 again
         2800  < . ack s3
         9000  = timeouts 1",
    );
}

#[test]
fn too_many_timeouts_end_the_connection() {
    setups::established(&rfc().with(|c| c.timers.retries = 2), "newreno", 100).play(
        " 100  write s2
          100  > . s0..s2
         1100  > . s0..s1 again
         3100  > . s0..s1 again
         7100  > R.
         7100  = state closed space 0 failure too many timeouts
         9000  write s1",
    );
}

/// Progress between timeouts: they are not consecutive.
#[test]
fn retries_count_without_progress() {
    setups::established(&rfc().with(|c| c.timers.retries = 2), "newreno", 100).play(
        " 100  write s2
          100  > . s0..s2
         1100  > . s0..s1 again
         3100  > . s0..s1 again
         3200  < . ack s1
         3200  > . s1..s2 again
         7200  > . s1..s2 again
        15200  > . s1..s2 again
        15200  = failure none
        31200  > R.",
    );
}

#[test]
fn a_reset_ends_the_connection() {
    setups::established(&rfc(), "newreno", 100)
        .play("100 write s1\n100 > . s0..s1\n200 < R. ack 1\n200 = failure reset by the peer\n9000 close");
}

/// The FIN occupies a sequence number and is repeated like data; the peer's is answered whenever it comes.
#[test]
fn fins_are_retransmitted_and_answered() {
    setups::established(&rfc(), "newreno", 100).play(
        " 100  write 100
          100  > . 1..101
          100  close
          100  > F. 101..102
          200  < . ack 101
         1200  > F. 101..102 again
         1300  < . ack 102
         1300  = closed no acked 100
         1400  < F. 1..2 ack 102
         1400  > . ack 2
         1400  = closed yes
         # our last ACK was lost
         2400  < F. 1..2 ack 102
         2400  > . ack 2",
    );
}

/// Applications are one-way: the receiver finishes when the peer has and everything is read.
#[test]
fn the_receiver_closes_after_the_last_byte_is_read() {
    accepted(&rfc()).play(
        "200  < . 1..101 ack 1
         200  > . ack 101
         210  < F. 101..102 ack 1
         210  > . ack 102
         300  read 100
         300  > F. 1..2 ack 102
         400  < . ack 2
         400  = closed yes",
    );
}

fn acks(every: u32, delay_ms: u64, quick: u32) -> TcpConfig {
    rfc().with(|c| {
        c.ack = AckConfig { every, delay: Nanos::from_millis(delay_ms), quick, ..AckConfig::default() }
    })
}

/// RFC 5681 section 4.2: every second segment, or after the delay.
#[test]
fn delayed_acks_by_count_and_by_time() {
    accepted(&acks(2, 200, 0)).play(
        "200  < . s0..s1
         210  < . s1..s2
         210  > . ack s2
         220  < . s2..s3
         420  > . ack s3
         # the delay counts from the first segment that waits
         500  < . s3..s4
         550  < . s4..s5
         550  > . ack s5
         600  < . s5..s6
         800  > . ack s6",
    );
    accepted(&acks(4, 200, 0)).play(
        "200  < . s0..s1
         210  < . s1..s2
         220  < . s2..s3
         230  < . s3..s4
         230  > . ack s4
         240  < . s4..s5
         300  < . s5..s6
         440  > . ack s6",
    );
}

#[test]
fn the_first_segments_are_acknowledged_quickly() {
    accepted(&acks(2, 40, 3)).play(
        "200  < . s0..s1
         200  > . ack s1
         201  < . s1..s2
         201  > . ack s2
         202  < . s2..s3
         202  > . ack s3
         203  < . s3..s4
         243  > . ack s4",
    );
}

/// Out-of-order, gap-filling and duplicate segments are acknowledged at once; so is a FIN.
#[test]
fn nothing_is_delayed_around_a_gap() {
    accepted(&acks(2, 200, 0)).play(
        "200  < . s1..s2
         200  > . ack 1 sack s1..s2
         201  < . s3..s4
         201  > . ack 1 sack s3..s4 s1..s2
         202  < . s0..s1
         202  > . ack s2 sack s3..s4
         203  < . s2..s3
         203  > . ack s4 sack
         204  < . s2..s3
         204  > . ack s4 sack s2..s3
         205  < . s4..s5
         206  < F. s5..s5+1
         206  > . ack s5+1",
    );
}

/// A delayed acknowledgement rides on data that leaves before it is due.
#[test]
fn data_carries_the_acknowledgement() {
    accepted(&acks(2, 200, 0)).play(
        "200  < . s0..s1
         250  write 100
         250  > . 1..101 ack s1
         900  = delivered 1460",
    );
}

/// RFC 5681 section 4.1: after an RTO without sending, no more than the initial window.
#[test]
fn an_idle_connection_restarts_from_the_restart_window() {
    let config = rfc().with(|c| c.window.initial_window = 2);
    let script = "
         100  write s2
         100  > . s0..s2
         200  < . ack s1
         200  < . ack s2
         200  = cwnd 5840
         200  write s4
         200  > . s2..s6
         300  < . ack s4
         300  < . ack s6
         300  = cwnd 8760";
    setups::established(&config, "newreno", 100).play(script).play(
        "1100  write s1
         # 0.9 s after the last transmission: not yet idle for an RTO
         1100  > . s6..s7
         1200  < . ack s7
         2100  write s20
         2100  > . s7..s9
         2100  = cwnd 2920 ssthresh inf",
    );
    let config = config.with(|c| c.window.idle_restart = IdleRestart::Never);
    setups::established(&config, "newreno", 100).play(script).play("2100 write s20\n2100 > . s6..s12");
}

/// RFC 2861 as in Linux: halved for each RTO of idleness that is over, and not below the initial window.
#[test]
fn an_idle_window_is_halved_for_each_timeout() {
    let config = rfc().with(|c| {
        c.window.initial_window = 2;
        c.window.idle_restart = IdleRestart::Halving;
    });
    let script = "
         100  write s2
         100  > . s0..s2
         200  < . ack s1
         200  < . ack s2
         200  write s4
         200  > . s2..s6
         300  < . ack s4
         300  < . ack s6
         300  write s6
         300  > . s6..s12
         400  < . ack s8
         400  < . ack s10
         400  < . ack s12
         400  = cwnd 13140 ssthresh inf";
    // The RTO is 1 s, and the last segment left at 300 ms.
    for (at, cwnd) in [(1299, 13_140), (1300, 13_140), (1301, 6570), (2300, 6570), (2301, 3285), (3301, 2920)]
    {
        let more = format!("{at} write s1\n{at} > . s12..s13\n{at} = cwnd {cwnd} ssthresh inf");
        setups::established(&config, "newreno", 100).play(script).play(&more);
    }
}

#[test]
fn an_idle_window_leaves_three_quarters_as_threshold() {
    let config = rfc().with(|c| {
        c.window.initial_window = 2;
        c.window.initial_ssthresh = Bytes(2920);
        c.window.idle_restart = IdleRestart::Halving;
    });
    setups::established(&config, "newreno", 100).play(
        "100  write s2
         100  > . s0..s2
         200  < . ack s2
         200  = cwnd 4380 ssthresh 2920
         2100 write s1
         2100 > . s2..s3
         2100 = cwnd 2920 ssthresh 3285",
    );
}

/// ssthresh is remembered over an idle period, and the window grows back in slow start.
#[test]
fn the_initial_threshold_is_configured() {
    let config = rfc().with(|c| {
        c.window.initial_window = 2;
        c.window.initial_ssthresh = Bytes(5840);
    });
    setups::established(&config, "newreno", 100).play(
        "100  = ssthresh 5840 state slow-start
         100  write s20
         100  > . s0..s2
         200  < . ack s1
         200  > . s2..s4
         201  < . ack s2
         201  > . s4..s6
         201  = cwnd 5840 state avoidance
         # byte counting: one segment per window
         300  < . ack s4
         300  > . s6..s8
         300  = cwnd 5840
         301  < . ack s6
         301  > . s8..s11
         301  = cwnd 7300",
    );
}

/// Per-ACK counting adds MSS * MSS / cwnd whatever the ACK covers.
#[test]
fn avoidance_per_ack() {
    let mut config = rfc().with(|c| {
        c.window.initial_window = 4;
        c.window.initial_ssthresh = Bytes(5840);
    });
    config.window.growth.byte_counting = false;
    config.recovery.kind = RecoveryKind::NewReno;
    setups::established(&config, "newreno", 100).play(
        "100  write s20
         100  > . s0..s4
         200  < . ack s2
         200  > . s4..s6
         200  = cwnd 6205
         201  < . ack s4
         201  > . s6..s8
         201  = cwnd 6548",
    );
}

/// RFC 3465: an ACK of several segments counts for L of them in slow start.
#[test]
fn slow_start_counts_at_most_l_segments_per_ack() {
    for (limit, cwnd) in [(1, 7300), (2, 8760), (u32::MAX, 11_680)] {
        let mut config = rfc().with(|c| c.window.initial_window = 4);
        config.window.growth.slow_start_limit = limit;
        setups::established(&config, "newreno", 100).play(&format!(
            "100  write s4
             100  > . s0..s4
             200  < . ack s4
             200  = cwnd {cwnd}"
        ));
    }
}

/// RFC 7323 section 4.3: what answers a repeated SYN or SYN/ACK echoes that one; otherwise the round trip would be
/// as long as the handshake took.
#[test]
fn the_answer_to_a_repeated_handshake_echoes_the_last_one() {
    let config = rfc().with(|c| c.options.timestamps = true);
    setups::talk(&config, "newreno").play(
        "0    open
         0    > S 0..1 ts 0/-
         100  < S. 0..1 ack 1 ts 50/0
         100  > . ack 1 ts 100/50
         1100 < S. 0..1 ack 1 ts 1050/0
         1100 > . ack 1 ts 1100/1050",
    );
    server(&config).play(
        "0    < S 0..1 ts 0/-
         0    > S. 0..1 ack 1 ts 0/0
         500  < S 0..1 ts 450/-
         500  > S. 0..1 ack 1 ts 500/450
         700  < . ack 1 ts 650/500
         700  = srtt 200",
    );
}
