//! The MUSTs of RFC 8985, "The RACK-TLP Loss Detection Algorithm for TCP", as conversations. Each test is below the
//! sentence that it keeps; `tools/requirements.py` compares the sentences with the list of requirements. Segments are
//! 1460 bytes, the round trip takes 100 ms; the retransmission timeout is at least a second, so that it comes last.

use testkit::{Talk, setups};
use transport::config::{RecoveryKind, TcpConfig};
use units::Nanos;

fn rack() -> TcpConfig {
    let mut config = setups::tcp().with(|c| c.recovery.kind = RecoveryKind::Rack);
    config.timers.rto.min = Nanos::from_secs(1);
    config
}

fn established() -> Talk {
    setups::established(&rack(), "newreno", 100)
}

/// RFC 8985 section 3.3.2: "The RACK reordering window MUST be bounded, and this bound SHOULD be SRTT."
///
/// Each round trip with a DSACK adds a quarter of the minimum RTT to the window; it ends at the SRTT.
#[test]
fn the_reordering_window_ends_at_the_round_trip_time() {
    for (rounds, lost_after) in [(0, 125), (1, 150), (2, 175), (3, 200), (9, 200)] {
        let mut talk = established();
        let mut now = 100;
        for n in 0..rounds {
            let end = n + 1;
            talk.play(&format!("{now} write s1\n{now} > . s{n}..s{end}"));
            now += 100;
            talk.play(&format!("{now} < . ack s{end} sack s{n}..s{end}"));
        }
        let (a, b, c) = (rounds, rounds + 1, rounds + 2);
        talk.play(&format!(
            "{now} write s2
             {now} > . s{a}..s{c}
             {} < . ack s{a} sack s{b}..s{c}
             {} > . s{a}..s{b} again",
            now + 100,
            now + lost_after
        ));
    }
}

/// RFC 8985 section 4: "For each data segment sent, the sender MUST store its most recent transmission time with a
/// timestamp whose granularity is finer than 1/4 of the minimum RTT of the connection."
#[test]
fn the_time_of_each_segment_is_stored() {
    // Each is lost a round trip (RACK.rtt, 100 ms) and a window of 25 ms after it was sent.
    established().play(
        "100 write s1
         100 > . s0..s1
         130 write s1
         130 > . s1..s2
         131 write s1
         131 > . s2..s3
         231 < . ack 1 sack s2..s3
         231 > . s0..s1 again
         255 > . s1..s2 again",
    );
}

/// RFC 8985 section 7.3: "MUST skip sending a loss probe and MUST proceed to re-arm the RTO timer"
///
/// RFC 8985 section 7.3: "the sender MUST re-arm the RTO timer, not the PTO timer, if the FlightSize is not zero."
///
/// There is no second probe while one is in flight, which it is until an ACK beyond it or a report of a duplicate.
#[test]
fn one_probe_and_then_the_timeout() {
    established().play(
        " 100 write s2
          100 > . s0..s2
          # PTO is two round trips
          300 > . s1..s2 again
          300 = timeouts 0
         1300 > . s0..s1 again
         1300 = timeouts 1",
    );
    established().play(
        " 100 write s1
          100 > . s0..s1
          # two round trips and 200 ms for a delayed acknowledgement
          500 > . s0..s1 again
          600 < . ack s1
          600 write s1
          600 > . s1..s2
         1600 > . s1..s2 again
         1600 = timeouts 1",
    );
    established().play(
        " 100 write s1
          100 > . s0..s1
          500 > . s0..s1 again
          600 < . ack s1
          600 write s1
          600 > . s1..s2
          700 < . ack s2
          700 write s1
          700 > . s2..s3
         1100 > . s2..s3 again
         1100 = timeouts 0",
    );
}

/// RFC 8985 section 7.3: "The sender MUST follow the RACK transmission procedures in the "Upon Transmitting a Data
/// Segment" section upon sending either a retransmission or a new data loss probe."
///
/// RFC 8985 section 9.3: "A segment marked as lost by RACK-TLP MUST NOT be retransmitted until congestion control deems
/// this appropriate."
#[test]
fn an_acknowledged_probe_tells_of_losses() {
    established().play(
        "100 write s10
         100 > . s0..s10
         200 < . ack s6
         400 > . s9..s10 again
         500 < . ack s6 sack s9..s10
         # three are lost, the window has room for two
         500 > . s6..s8 again
         500 = cwnd 2920 pipe 2920 state recovery
         600 < . ack s7 sack s9..s10
         600 > . s8..s9 again",
    );
}

/// RFC 8985 section 7.4.2: "it MUST assume that the original data segment, the TLP retransmission, or a corresponding ACK
/// was lost for congestion control purposes."
#[test]
fn a_loss_that_a_probe_repairs_costs_a_reduction() {
    let probed = "
         100 write s1
         100 > . s0..s1
         500 > . s0..s1 again
         600 < . ack s1";
    established()
        .play(probed)
        .play("600 write s1\n600 > . s1..s2\n700 < . ack s2\n700 = ssthresh 2920 cwnd 2920");
    // Both copies arrived: nothing was lost.
    established()
        .play(probed)
        .play("610 < . ack s1 sack s0..s1\n620 write s1\n620 > . s1..s2\n720 < . ack s2\n720 = ssthresh inf");
}

/// RFC 8985 section 7.4.2: "it MUST assume that the original data segment, the TLP retransmission, or a corresponding ACK
/// was lost for congestion control purposes."
///
/// The ACK that tells it may acknowledge what Limited Transmit has sent: FlightSize is what is still outstanding.
#[test]
fn the_reduction_after_a_probe_is_by_what_is_outstanding() {
    established().play(
        "100 write s1
         100 > . s0..s1
         500 > . s0..s1 again
         510 write s3
         510 > . s1..s4
         # the probe left before these, but not by the round trip and the reordering window
         610 < . ack 1 sack s2..s3
         611 write s6
         611 > . s4..s10
         620 < . ack s4
         620 = ssthresh 4380 pipe 8760 recoveries 0",
    );
}

/// RFC 8985 section 9.2: "the algorithm [RFC6675] MUST NOT be used with RACK-TLP"
///
/// RFC 6675 would not retransmit a segment twice in a recovery; RACK does when the retransmission is lost.
#[test]
fn a_lost_retransmission_leaves_again() {
    established().play(
        "100 write s12
         100 > . s0..s10
         200 < . ack 1 sack s1..s6
         200 > . s0..s1 again
         210 < . ack 1 sack s1..s10
         210 > . s10..s12
         310 < . ack 1 sack s1..s12
         310 > . s0..s1 again
         310 = timeouts 0 recoveries 1",
    );
}

/// New data puts the probe off to one timeout after the oldest segment left at most, an ACK to one timeout from then on
/// (`tcp_schedule_loss_probe` of Linux).
#[test]
fn a_probe_waits_no_longer_than_the_timeout_of_the_oldest_segment() {
    let config = setups::tcp().with(|c| c.recovery.kind = RecoveryKind::Rack);
    setups::established(&config, "newreno", 400).play(
        " 400 write s1
          400 > . s0..s1
          800 < . ack s1
          800 write s1
          800 > . s1..s2
         1200 < . ack s2
         1200 write s1
         1200 > . s2..s3
         1600 < . ack s3
         1600 = srtt 400 rttvar 84.375
         1600 write s1
         1600 > . s3..s4
         1900 write s1
         1900 > . s4..s5
         2337.5 > . s4..s5 again",
    );
}
