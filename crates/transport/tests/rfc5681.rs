//! The MUSTs of RFC 5681, "TCP Congestion Control", as conversations. Each test is below the sentence that it keeps;
//! `tools/requirements.py` compares the sentences with the list of requirements. Segments are 1460 bytes, the round
//! trip takes 100 ms, the congestion control is NewReno.

use testkit::{Talk, setups};
use transport::config::{AckConfig, RecoveryKind, TcpConfig};
use units::{Bytes, Nanos};

fn newreno() -> TcpConfig {
    setups::tcp().with(|c| {
        c.recovery.kind = RecoveryKind::NewReno;
        c.options.sack = false;
    })
}

/// Without SACK and with it: the same rules of RFC 5681 hold.
fn both() -> [TcpConfig; 2] {
    [newreno(), setups::tcp()]
}

fn established(config: &TcpConfig) -> Talk {
    setups::established(config, "newreno", 100)
}

/// A receiver that acknowledges every second segment at once, otherwise after 200 ms.
fn delaying() -> Talk {
    let ack = AckConfig { every: 2, delay: Nanos::from_millis(200), ..AckConfig::default() };
    let config = setups::tcp().with(|c| c.ack = ack);
    let mut talk = Talk::new(setups::tcp_pair(&config, "newreno").1, config.segment.mss.0);
    talk.play("0 < S 0..1\n0 > S. 0..1 ack 1\n100 < . ack 1");
    talk
}

/// RFC 5681 section 2: "a TCP MUST NOT send data with a sequence number higher than the sum of the highest acknowledged
/// sequence number and the minimum of cwnd and rwnd."
///
/// RFC 5681 section 3: "MUST NOT send data when the value of cwnd computed by the following algorithms would not allow the data to be
/// sent"
#[test]
fn the_smaller_window_limits() {
    let offer = |window: u64| {
        let mut talk = setups::talk(&newreno().with(|c| c.window.initial_window = 4), "newreno");
        talk.play(&format!("0 open\n0 > S 0..1\n100 < S. 0..1 ack 1 win {window}\n100 > . ack 1"));
        talk
    };
    // 4 segments of cwnd, 2 of rwnd, and the other way round.
    offer(2920).play("100 write s9\n100 > . s0..s2\n200 < . ack s2 win 1460\n200 > . s2..s3");
    offer(14_600).play("100 write s9\n100 > . s0..s4");
}

/// RFC 5681 section 3.1: "The slow start and congestion avoidance algorithms MUST be used by a TCP sender to control the
/// amount of outstanding data being injected into the network."
#[test]
fn slow_start_and_then_congestion_avoidance() {
    for config in both() {
        let config = config.with(|c| {
            c.window.initial_window = 2;
            c.window.initial_ssthresh = Bytes(5840);
        });
        established(&config).play(
            "100 write s30
             100 > . s0..s2
             100 = state slow-start
             200 < . ack s1
             200 > . s2..s4
             200 < . ack s2
             200 > . s4..s6
             200 = cwnd 5840 state avoidance
             300 < . ack s3
             300 > . s6..s7
             300 < . ack s4
             300 > . s7..s8
             300 < . ack s5
             300 > . s8..s9
             300 = cwnd 5840
             300 < . ack s6
             300 > . s9..s11
             300 = cwnd 7300",
        );
    }
}

/// RFC 5681 section 3.1: "the SYN/ACK and the acknowledgment of the SYN/ACK MUST NOT increase the size of the congestion
/// window."
#[test]
fn the_handshake_opens_no_window() {
    let config = setups::tcp().with(|c| c.window.initial_window = 3);
    established(&config).play("100 = cwnd 4380");
    Talk::new(setups::tcp_pair(&config, "newreno").1, 1460)
        .play("0 < S 0..1\n0 > S. 0..1 ack 1\n100 < . ack 1\n100 = cwnd 4380");
}

/// RFC 5681 section 3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly
/// transmitted SYN MUST be one segment consisting of at most SMSS bytes."
#[test]
fn one_segment_after_a_lost_syn() {
    setups::talk(&setups::tcp(), "newreno").play(
        "   0 open
            0 > S 0..1
         1000 > S 0..1 again
         1100 < S. 0..1 ack 1
         1100 > . ack 1
         1100 = cwnd 1460
         1100 write s9
         1100 > . s0..s1",
    );
    Talk::new(setups::tcp_pair(&setups::tcp(), "newreno").1, 1460).play(
        "   0 < S 0..1
            0 > S. 0..1 ack 1
         1000 > S. 0..1 ack 1 again
         1100 < . ack 1
         1100 = cwnd 1460",
    );
}

/// RFC 5681 section 3.1: "during congestion avoidance, cwnd MUST NOT be increased by more than SMSS bytes per RTT."
#[test]
fn one_segment_per_round_trip() {
    // Equation 3 adds a little less than a segment per round trip, counting bytes adds one exactly.
    for (byte_counting, after) in [(true, "7300"), (false, "7184")] {
        let mut config = newreno().with(|c| {
            c.window.initial_window = 4;
            c.window.initial_ssthresh = Bytes(5840);
        });
        config.window.growth.byte_counting = byte_counting;
        established(&config).play(&format!(
            "100 write s4
             100 > . s0..s4
             200 < . ack s1
             200 < . ack s2
             200 < . ack s3
             200 < . ack s4
             200 = cwnd {after}"
        ));
    }
}

/// RFC 5681 section 3.1: "the value of ssthresh MUST be set to no more than the value given in equation (4)"
///
/// RFC 5681 section 3.1: "ssthresh MUST be reduced in response to congestion."
///
/// Equation 4 is max(FlightSize / 2, 2 * SMSS).
#[test]
fn a_timeout_halves_the_flight() {
    for config in both() {
        established(&config).play(
            "100 write s8
             100 > . s0..s8
             100 = ssthresh inf
             400 > . s0..s1 again
             400 = ssthresh 5840",
        );
        established(&config).play("100 write s3\n100 > . s0..s3\n400 > . s0..s1 again\n400 = ssthresh 2920");
    }
}

/// RFC 5681 section 3.1: "upon a timeout (as specified in [RFC2988]) cwnd MUST be set to no more than the loss window,
/// LW, which equals 1 full-sized segment (regardless of the value of IW)."
#[test]
fn a_timeout_leaves_one_segment() {
    for config in both() {
        established(&config).play(
            "100 write s12
             100 > . s0..s10
             400 > . s0..s1 again
             400 = cwnd 1460
             500 < . ack s1
             500 > . s1..s3 again
             500 = cwnd 2920",
        );
    }
}

/// RFC 5681 section 3.2: "the TCP sender MUST NOT change cwnd to reflect these two segments [RFC3042]."
///
/// RFC 5681 section 3.2: "When the third duplicate ACK is received, a TCP MUST set ssthresh to no more than the value
/// given in equation (4)."
///
/// RFC 5681 section 3.2: "additional data sent in limited transmit MUST NOT be included in this calculation."
#[test]
fn limited_transmit_counts_for_nothing() {
    established(&newreno()).play(
        "100 write s15
         100 > . s0..s10
         200 < . ack 1
         200 > . s10..s11
         201 < . ack 1
         201 > . s11..s12
         201 = cwnd 14600 pipe 17520
         202 < . ack 1
         202 > . s0..s1 again
         # half of ten segments, not of twelve
         202 = ssthresh 7300",
    );
}

/// RFC 5681 section 3.2: "a sender using SACK [RFC2018] MUST NOT send new data unless the incoming duplicate
/// acknowledgment contains new SACK information."
#[test]
fn a_duplicate_without_news_sends_nothing() {
    established(&setups::tcp()).play(
        "100 write s15
         100 > . s0..s10
         200 < . ack 1 sack s1..s2
         200 > . s10..s11
         # the same report again, and none at all
         201 < . ack 1 sack s1..s2
         202 < . ack 1
         203 < . ack 1 sack s1..s2",
    );
}

/// RFC 5681 section 3.2: "The lost segment starting at SND.UNA MUST be retransmitted and cwnd set to ssthresh plus
/// 3*SMSS."
///
/// RFC 5681 section 3.2: "For each additional duplicate ACK received (after the third), cwnd MUST be incremented by
/// SMSS."
///
/// RFC 5681 section 3.2: "When the next ACK arrives that acknowledges previously unacknowledged data, a TCP MUST set cwnd
/// to ssthresh (the value set in step 2)."
#[test]
fn fast_retransmit_and_fast_recovery() {
    let config = newreno().with(|c| c.recovery.limited_transmit = false);
    established(&config).play(
        "100 write s30
         100 > . s0..s10
         200 < . ack 1
         201 < . ack 1
         202 < . ack 1
         202 > . s0..s1 again
         202 = ssthresh 7300 cwnd 11680 state recovery
         203 < . ack 1
         203 = cwnd 13140
         204 < . ack 1
         204 = cwnd 14600
         205 < . ack 1
         205 > . s10..s11
         205 = cwnd 16060
         206 < . ack 1
         206 > . s11..s12
         207 < . ack 1
         207 > . s12..s13
         208 < . ack 1
         208 > . s13..s14
         302 < . ack s10
         302 > . s14..s15
         302 = ssthresh 7300 cwnd 7300 state avoidance",
    );
}

/// RFC 5681 section 4.2: "When using delayed ACKs, a TCP receiver MUST NOT excessively delay acknowledgments."
///
/// RFC 5681 section 4.2: "MUST be generated within 500 ms of the arrival of the first unacknowledged packet."
///
/// RFC 5681 section 4.2: "an ACK MUST NOT be delayed for more than 500 ms waiting on a second full-sized segment to
/// arrive."
#[test]
fn no_acknowledgement_waits_for_half_a_second() {
    delaying().play(
        "200 < . s0..s1
         400 > . ack s1
         # the second segment does not wait, however small it is
         500 < . s1..s1+10
         650 < . s1+10..s1+20
         650 > . ack s1+20",
    );
}

/// RFC 5681 section 4.2: "A TCP receiver MUST NOT generate more than one ACK for every incoming segment, other than to
/// update the offered window as the receiving application consumes new data"
#[test]
fn one_acknowledgement_per_segment() {
    delaying().play(
        "200 < . s1..s2
         200 > . ack 1 sack s1..s2
         201 < . s3..s4
         201 > . ack 1 sack s3..s4 s1..s2
         202 < . s0..s1
         202 > . ack s2 sack s3..s4
         203 < . s0..s1
         203 > . ack s2 sack s0..s1 s3..s4
         204 < F. s2..s3+1
         204 > . ack s4",
    );
}

/// RFC 5681 section 4.3: "when the first loss in a window of data is detected, ssthresh MUST be set to no more than the
/// value given by equation (4)."
///
/// RFC 5681 section 4.3: "until all lost segments in the window of data in question are repaired, the number of segments
/// transmitted in each RTT MUST be no more than half the number of outstanding segments when the loss was detected."
///
/// RFC 5681 section 4.3: "after all loss in the given window of segments has been successfully retransmitted, cwnd MUST
/// be set to no more than ssthresh and congestion avoidance MUST be used to further increase cwnd."
#[test]
fn advanced_recovery_sends_half_as_much() {
    let config = setups::tcp().with(|c| c.recovery.limited_transmit = false);
    established(&config).play(
        "100 write s40
         100 > . s0..s10
         200 < . ack 1 sack s1..s2
         201 < . ack 1 sack s1..s3
         202 < . ack 1 sack s1..s4
         # five segments in this round trip, for ten outstanding
         202 > . s0..s1 again
         202 = ssthresh 7300
         203 < . ack 1 sack s1..s5
         204 < . ack 1 sack s1..s6
         205 < . ack 1 sack s1..s7
         205 > . s10..s11
         206 < . ack 1 sack s1..s8
         206 > . s11..s12
         207 < . ack 1 sack s1..s9
         207 > . s12..s13
         208 < . ack 1 sack s1..s10
         208 > . s13..s14
         302 < . ack s10
         302 > . s14..s15
         302 = cwnd 7300 ssthresh 7300 state avoidance
         305 < . ack s11
         305 > . s15..s16
         305 = cwnd 7300",
    );
}

/// RFC 5681 section 4.3: "cwnd (and ssthresh) MUST be lowered twice in this case."
///
/// The case is loss in two successive windows of data.
#[test]
fn losses_in_two_windows_count_twice() {
    let config = setups::tcp().with(|c| {
        c.recovery.limited_transmit = false;
        c.window.initial_window = 16;
    });
    established(&config).play(
        "100 write s40
         100 > . s0..s16
         200 < . ack 1 sack s1..s4
         200 > . s0..s1 again
         200 = ssthresh 11680
         201 < . ack 1 sack s1..s16
         201 > . s16..s23
         301 < . ack s16
         301 > . s23..s24
         301 = cwnd 11680 state avoidance
         # 16 is lost, one of those sent in the recovery
         302 < . ack s16 sack s17..s20
         302 > . s16..s17 again
         302 = ssthresh 5840 cwnd 5840 recoveries 2",
    );
}
