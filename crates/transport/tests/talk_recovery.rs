//! Conversations about loss recovery: RFC 5681, 6582, 3042 (NewReno), 6675 (SACK), 6937 (PRR), 8985 (RACK-TLP).
//! Segments are 1460 bytes, the handshake takes 100 ms unless said otherwise.

use testkit::{Talk, setups};
use transport::config::{FlightAfterTimeout, RecoveryKind, RtoFloor, TcpConfig};
use units::Nanos;

fn newreno() -> TcpConfig {
    setups::tcp().with(|c| {
        c.recovery.kind = RecoveryKind::NewReno;
        c.options.sack = false;
    })
}

fn rack() -> TcpConfig {
    setups::tcp().with(|c| c.recovery.kind = RecoveryKind::Rack)
}

fn established(config: &TcpConfig) -> Talk {
    setups::established(config, "newreno", 100)
}

/// Test vector NR-1, recovery part: 14600 -> 11680 -> 14600 -> 13140 -> 5840.
#[test]
fn nr_1() {
    established(&newreno()).play(
        "100  write s15
         100  > . s0..s10
         # the first segment is lost; Limited Transmit
         200  < . ack 1
         200  > . s10..s11
         201  < . ack 1
         201  > . s11..s12
         202  < . ack 1
         202  > . s0..s1 again
         202  = cwnd 11680 ssthresh 7300 state recovery
         203  < . ack 1
         204  < . ack 1
         204  = cwnd 14600
         # partial ACK of 2920 bytes
         302  < . ack s2
         302  > . s2..s3 again
         302  = cwnd 13140 pipe 16060
         303  < . ack s2
         303  = cwnd 14600
         304  < . ack s2
         304  > . s12..s13
         305  < . ack s2
         305  > . s13..s14
         306  < . ack s2
         306  > . s14..s15
         306  = cwnd 18980
         # full ACK, 4380 bytes remain
         402  < . ack s12
         402  = cwnd 5840 ssthresh 7300 pipe 4380 state slow-start",
    );
}

/// Limited Transmit off: nothing leaves before the third duplicate, and the flight is the same.
#[test]
fn without_limited_transmit_two_duplicates_send_nothing() {
    let config = newreno().with(|c| c.recovery.limited_transmit = false);
    established(&config).play(
        "100  write s12
         100  > . s0..s10
         200  < . ack 1
         201  < . ack 1
         202  < . ack 1
         202  > . s0..s1 again
         202  = cwnd 11680 ssthresh 7300",
    );
}

/// RFC 3042: one new segment per duplicate, whether or not SACK tells the sender that the pipe has drained.
#[test]
fn limited_transmit_sends_one_segment_per_duplicate_with_sack_too() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        let config = setups::tcp().with(|c| c.recovery.kind = recovery);
        established(&config).play(
            "100  write s14
             100  > . s0..s10
             200  < . ack 1 sack s1..s2
             200  > . s10..s11
             201  < . ack 1 sack s1..s3
             201  > . s11..s12
             202  < . ack 1 sack s1..s4
             202  > . s0..s1 again
             202  = ssthresh 7300",
        );
    }
}

#[test]
fn the_receive_window_limits_limited_transmit() {
    setups::talk(&newreno(), "newreno").play(
        "  0  open
           0  > S 0..1
         100  < S. 0..1 ack 1 win 14600
         100  > . ack 1
         100  write s14
         100  > . s0..s10
         200  < . ack 1
         201  < . ack 1
         202  < . ack 1
         202  > . s0..s1 again",
    );
}

/// RFC 6582 "impatient": only the first partial ACK restarts the timer. RTO = 100 + 4 * 50 = 300 ms after the
/// handshake, 287.5 ms after... no sample is taken from retransmissions, so it stays.
#[test]
fn impatient_only_the_first_partial_ack_restarts_the_timer() {
    established(&newreno()).play(
        "100  write s10
         100  > . s0..s10
         200  < . ack 1
         201  < . ack 1
         202  < . ack 1
         202  > . s0..s1 again
         302  < . ack s2
         302  > . s2..s3 again
         402  < . ack s4
         402  > . s4..s5 again
         502  < . ack s6
         502  > . s6..s7 again
         # 300 ms after the first partial ACK, not after the third
         602  > . s6..s7 again
         602  = cwnd 1460 state loss timeouts 1",
    );
}

/// RFC 6582 section 3.2 step 2: after a timeout, duplicates of old data start no fast retransmit.
#[test]
fn no_fast_retransmit_for_data_before_a_timeout() {
    established(&newreno()).play(
        "100  write s10
         100  > . s0..s10
         400  > . s0..s1 again
         400  = ssthresh 7300 cwnd 1460 state loss
         500  < . ack s1
         500  > . s1..s3 again
         500  = cwnd 2920
         # the retransmissions were in vain: nine duplicates
         510  < . ack s1
         511  < . ack s1
         512  < . ack s1
         513  < . ack s1
         513  = recoveries 0 cwnd 2920 state loss",
    );
}

/// After a timeout the fifth segment is lost again, and those above it, which the receiver has, are sent again needlessly:
/// it answers them by duplicates.
const GO_BACK_N: &str = "100  write s20
     100  > . s0..s10
     400  > . s0..s1 again
     400  = ssthresh 7300 cwnd 1460
     500  < . ack s1
     500  > . s1..s3 again
     600  < . ack s2
     600  > . s3..s5 again
     601  < . ack s3
     601  > . s5..s7 again
     700  < . ack s4
     700  > . s7..s9 again
     700  = cwnd 7300 pipe 7300
     800  < . ack s4
     801  < . ack s4
     802  < . ack s4";

/// RFC 6582 section 4: duplicates that data sent again needlessly causes start no fast retransmit.
#[test]
fn duplicates_after_a_timeout_start_no_recovery() {
    established(&newreno()).play(GO_BACK_N).play("802  = recoveries 0 timeouts 1 ssthresh 7300");
}

/// As in ns-3.19, which goes by the number of duplicates alone: ssthresh is a half of the five segments that were sent again,
/// and the window of the recovery lets out more.
#[test]
fn duplicates_after_a_timeout_may_start_a_recovery() {
    let config = newreno().with(|c| c.recovery.multiple_fast_retransmits = true);
    established(&config).play(GO_BACK_N).play(
        "802  > . s4..s5 again
         802  = recoveries 1 timeouts 1 state recovery ssthresh 3650 cwnd 8030 pipe 7300
         # what the timeout gave up is sent again before new data
         803  < . ack s4
         803  > . s9..s10 again
         803  < . ack s4
         803  > . s10..s11
         # full ACK: above what was outstanding when the recovery began
         902  < . ack s11
         902  > . s11..s13
         902  = cwnd 2920 state slow-start",
    );
}

/// Both as in ns-3.19: the fast retransmit halves all six segments that are outstanding.
#[test]
fn a_recovery_after_a_timeout_by_all_that_is_outstanding() {
    let config = newreno().with(|c| {
        c.recovery.multiple_fast_retransmits = true;
        c.recovery.flight_after_timeout = FlightAfterTimeout::Outstanding;
    });
    established(&config).play(GO_BACK_N).play(
        "802  > . s4..s5 again
         802  > . s9..s10 again
         802  = ssthresh 4380 cwnd 8760 state recovery",
    );
}

#[test]
fn another_duplicate_threshold() {
    let config = newreno().with(|c| c.recovery.dupthresh = 5);
    established(&config).play(
        "100  write s20
         100  > . s0..s10
         200  < . ack 1
         200  > . s10..s11
         201  < . ack 1
         201  > . s11..s12
         202  < . ack 1
         202  > . s12..s13
         203  < . ack 1
         203  > . s13..s14
         203  = recoveries 0
         204  < . ack 1
         204  > . s0..s1 again
         # as many segments have left as there were duplicates
         204  = recoveries 1 ssthresh 7300 cwnd 14600",
    );
    let config = setups::tcp().with(|c| c.recovery.dupthresh = 2);
    established(&config).play(
        "100  write s10
         100  > . s0..s10
         200  < . ack 1 sack s1..s2
         200  = recoveries 0
         201  < . ack 1 sack s1..s3
         201  > . s0..s1 again
         201  = recoveries 1",
    );
}

/// Test vector SACK-1.
#[test]
fn sack_1() {
    established(&setups::tcp()).play(
        "100  write s10
         100  > . s0..s10
         200  < . ack 1 sack s1..s2
         200  = pipe 13140
         201  < . ack 1 sack s1..s3
         201  = pipe 11680 recoveries 0
         202  < . ack 1 sack s4..s5 s1..s3
         202  > . s0..s1 again
         202  = pipe 10220 ssthresh 7300 cwnd 7300 state recovery
         203  < . ack 1 sack s4..s6 s1..s3
         203  = pipe 8760
         204  < . ack 1 sack s4..s7 s1..s3
         204  > . s3..s4 again
         204  = pipe 7300
         205  < . ack 1 sack s4..s8 s1..s3
         206  < . ack 1 sack s4..s9 s1..s3
         207  < . ack 1 sack s4..s10 s1..s3
         207  = pipe 2920
         302  < . ack s3 sack s4..s10
         304  < . ack s10
         304  = cwnd 7300 ssthresh 7300 state avoidance pipe 0",
    );
}

/// RFC 6675: one SACKed range of more than (DupThresh - 1) * SMSS bytes means a loss, without three duplicates.
#[test]
fn a_large_sack_block_is_enough() {
    established(&setups::tcp()).play(
        "100  write s10
         100  > . s0..s10
         200  < . ack 1 sack s1..s4
         200  > . s0..s1 again
         200  = ssthresh 7300 pipe 10220",
    );
}

/// NextSeg: lost segments, then new data, then holes that are not lost, in this order.
#[test]
fn sack_next_segment_order() {
    established(&setups::tcp()).play(
        "100  write s11
         100  > . s0..s10
         # 0 and 6 are lost; 1 to 5 arrive, then 7
         200  < . ack 1 sack s1..s4
         # Limited Transmit belongs to the time before: lost segment first, no room for more
         200  > . s0..s1 again
         200  = pipe 10220 cwnd 7300
         202  < . ack 1 sack s1..s6
         202  = pipe 7300
         # rule 2: the new segment before the hole at 6, which is not lost by the count
         203  < . ack 1 sack s7..s8 s1..s6
         203  > . s10..s11
         203  = pipe 7300
         # rule 3: nothing new is left, so the hole
         204  < . ack 1 sack s7..s9 s1..s6
         204  > . s6..s7 again",
    );
}

/// RFC 6675 NextSeg rule 4: once per recovery, and not before the first retransmission is acknowledged.
#[test]
fn sack_rescue_retransmission() {
    established(&setups::tcp()).play(
        "100  write s10
         100  > . s0..s10
         # 0, 8 and 9 are lost
         200  < . ack 1 sack s1..s4
         200  > . s0..s1 again
         # room, but HighACK <= RescueRxt
         204  < . ack 1 sack s1..s8
         204  = pipe 4380 cwnd 7300
         300  < . ack s8
         300  > . s9..s10 again
         # once only
         301  < . ack s8
         400  < . ack s8 sack s9..s10
         # rule 3: the hole below the rescued segment
         400  > . s8..s9 again
         500  < . ack s10
         500  = timeouts 0 state avoidance",
    );
}

/// After a timeout the scoreboard stays: SACKed data is not sent again.
#[test]
fn a_timeout_keeps_the_scoreboard() {
    established(&setups::tcp()).play(
        "100  write s10
         100  > . s0..s10
         200  < . ack 1 sack s1..s3
         400  > . s0..s1 again
         400  = cwnd 1460 ssthresh 7300 pipe 1460 state loss
         500  < . ack s3
         500  > . s3..s5 again
         600  < . ack s5
         600  > . s5..s8 again",
    );
}

/// RFC 5681 section 3.1: a timeout during fast recovery does not reduce ssthresh a second time.
#[test]
fn a_timeout_in_recovery_reduces_once() {
    established(&setups::tcp()).play(
        "100  write s10
         100  > . s0..s10
         200  < . ack 1 sack s1..s4
         200  > . s0..s1 again
         200  = ssthresh 7300
         # 250 ms after the retransmission (RFC 6675 section 6)
         450  > . s0..s1 again
         450  = ssthresh 7300 cwnd 1460 timeouts 1",
    );
}

/// Test vector PRR-1 with ssthresh 5: after the retransmission every second ACK sends, and so down to ssthresh.
#[test]
fn prr_1_through_a_connection() {
    let config = setups::tcp().with(|c| {
        c.recovery.prr = true;
        c.recovery.limited_transmit = false;
        c.window.initial_window = 20;
    });
    established(&config).play(
        "100  write s40
         100  > . s0..s20
         200  < . ack 1 sack s1..s2
         201  < . ack 1 sack s1..s3
         # RecoverFS 20, ssthresh 10: half a segment per ACK, rounded up
         202  < . ack 1 sack s1..s4
         202  > . s0..s1 again
         202  = ssthresh 14600
         203  < . ack 1 sack s1..s5
         204  < . ack 1 sack s1..s6
         # half a segment is left over until now
         205  < . ack 1 sack s1..s7
         205  > . s20..s21
         206  < . ack 1 sack s1..s8
         207  < . ack 1 sack s1..s9
         207  > . s21..s22
         208  < . ack 1 sack s1..s10
         209  < . ack 1 sack s1..s11
         209  > . s22..s23
         209  = pipe 18980
         302  < . ack s23
         302  > . s23..s33
         302  = cwnd 14600 ssthresh 14600 state avoidance",
    );
}

/// RFC 6937: RecoverFS counts everything outstanding, Limited Transmit included; ssthresh does not.
#[test]
fn prr_counts_limited_transmit_in_recover_fs() {
    let config = setups::tcp().with(|c| c.recovery.prr = true);
    established(&config).play(
        "100  write s40
         100  > . s0..s10
         200  < . ack 1 sack s1..s2
         200  > . s10..s11
         201  < . ack 1 sack s1..s3
         201  > . s11..s12
         202  < . ack 1 sack s1..s4
         202  > . s0..s1 again
         202  = ssthresh 7300 pipe 13140
         # delivered * 5/12 stays below two segments until pipe is at ssthresh (with RecoverFS 10 it would not)
         203  < . ack 1 sack s1..s5
         204  < . ack 1 sack s1..s6
         205  < . ack 1 sack s1..s7
         206  < . ack 1 sack s1..s8
         206  = pipe 7300
         # slow start reduction bound: what left the network is replaced
         207  < . ack 1 sack s1..s9
         207  > . s12..s13",
    );
}

/// Test vector RACK-1: min_RTT 560 ms, RACK.rtt 600 ms; a segment sent at 1000 ms is lost at 1740 ms.
#[test]
fn rack_1_late_by_a_quarter_of_the_minimum() {
    setups::established(&rack(), "newreno", 560).play(
        "1000  write s2
         1000  > . s0..s2
         1600  < . ack 1 sack s1..s2
         1740  > . s0..s1 again
         1740  = state recovery recoveries 1",
    );
}

/// As many SACKed segments as the duplicate threshold: no patience while no reordering has been seen.
#[test]
fn rack_three_sacked_segments_need_no_patience() {
    established(&rack()).play(
        "100  write s10
         100  > . s0..s10
         200  < . ack 1 sack s1..s3
         200  = recoveries 0
         201  < . ack 1 sack s1..s4
         201  > . s0..s1 again
         201  = recoveries 1 ssthresh 7300",
    );
}

/// RACK sees that a retransmission is lost too; RFC 6675 would wait for the timer.
#[test]
fn rack_repairs_a_lost_retransmission() {
    established(&rack()).play(
        "100  write s12
         100  > . s0..s10
         200  < . ack 1 sack s1..s6
         200  > . s0..s1 again
         200  = pipe 7300
         210  < . ack 1 sack s1..s10
         210  > . s10..s12
         # the new segments were sent after the retransmission and arrive: it is lost
         310  < . ack 1 sack s1..s12
         310  > . s0..s1 again
         310  = timeouts 0",
    );
}

/// Data first sent during a recovery and lost does not put off the timeout of a lost retransmission.
#[test]
fn losses_during_a_recovery_do_not_put_off_its_timeout() {
    established(&rack()).play(
        "100  write s13
         100  > . s0..s10
         200  < . ack 1 sack s1..s6
         200  > . s0..s1 again
         210  < . ack 1 sack s1..s10
         210  > . s10..s13
         # the retransmission is lost and leaves a second time
         310  < . ack 1 sack s1..s11
         310  > . s0..s1 again
         # so does a segment of the recovery
         370  < . ack 1 sack s12..s13 s1..s11
         370  > . s11..s12 again
         # a timeout after the oldest segment left
         510  > . s0..s1 again
         510  = timeouts 1",
    );
}

/// Test vector RACK-1, probe: one segment out, SRTT 600 ms -> PTO 1.4 s.
#[test]
fn tail_loss_probe_of_one_segment() {
    setups::established(&rack(), "newreno", 600).play(
        " 600  write s1
          600  > . s0..s1
         2000  > . s0..s1 again
         2000  = timeouts 0 cwnd 14600
         # repaired: the next ACK above the probe tells, and costs one reduction
         2600  < . ack s1
         2600  write s1
         2600  > . s1..s2
         3200  < . ack s2
         3200  = ssthresh 2920 cwnd 2920 recoveries 0",
    );
}

/// The original arrived and the probe was for nothing: DSACK tells, and nothing is reduced.
#[test]
fn a_needless_probe_costs_nothing() {
    setups::established(&rack(), "newreno", 600).play(
        " 600  write s1
          600  > . s0..s1
         2000  > . s0..s1 again
         2100  < . ack s1
         2600  < . ack s1 sack s0..s1
         2600  write s1
         2600  > . s1..s2
         3200  < . ack s2
         3200  = ssthresh inf",
    );
}

/// A probe makes a tail loss visible: it is repaired by fast recovery, not by a timeout.
#[test]
fn a_probe_turns_a_tail_loss_into_fast_recovery() {
    established(&rack()).play(
        "100  write s10
         100  > . s0..s10
         # 6 to 9 are lost; the ACK restarts the timer, PTO = 2 * 100 ms, RTO = 100 + 4 * 37.5 = 250 ms
         200  < . ack s6
         400  > . s9..s10 again
         500  < . ack s6 sack s9..s10
         # 6, 7 and 8 were sent long before what has arrived
         500  > . s6..s8 again
         500  = recoveries 1 timeouts 0 ssthresh 2920
         600  < . ack s8 sack s9..s10
         600  > . s8..s9 again
         700  < . ack s10",
    );
}

/// RFC 8985 section 7.2: the probe is never later than the timeout would be, and goes in its place.
#[test]
fn a_probe_is_not_later_than_the_timeout() {
    let mut config = setups::tcp().with(|c| c.recovery.kind = RecoveryKind::Rack);
    config.timers.rto.floor = RtoFloor::Variance;
    config.timers.rto.min = Nanos::from_millis(200);
    let mut talk = setups::established(&config, "newreno", 500);
    let mut now = 500;
    for n in 0..20 {
        talk.play(&format!("{now} write s1\n{now} > . s{n}..s{}\n{} < . ack s{}", n + 1, now + 500, n + 1));
        now += 500;
    }
    // SRTT 500 ms, RTO 700 ms, PTO 1000 ms.
    assert_eq!(now, 10_500);
    talk.play(
        "10500  write s4
         10500  > . s20..s24
         10500  = srtt 500 rto 700
         11200  > . s23..s24 again
         11200  = timeouts 0
         # the timer runs anew behind the probe
         11900  > . s20..s21 again
         11900  = timeouts 1",
    );
}
