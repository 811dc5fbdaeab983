//! The MUSTs of RFC 9293, "Transmission Control Protocol (TCP)", as conversations. Each test quotes the requirement
//! that it checks; `tools/requirements.py` compares the quotations with the list of requirements. Segments are 1460 bytes, the
//! round trip takes 100 ms.

use testkit::{Talk, setups};
use transport::config::{AckConfig, TcpConfig};
use units::{Bytes, Nanos};

fn established(config: &TcpConfig) -> Talk {
    setups::established(config, "newreno", 100)
}

/// A client whose peer offers this window.
fn offered(window: u64) -> Talk {
    let mut talk = setups::talk(&setups::tcp(), "newreno");
    talk.play(&format!("0 open\n0 > S 0..1\n100 < S. 0..1 ack 1 win {window}\n100 > . ack 1"));
    talk
}

/// A server with a receive buffer of three segments.
fn accepted(config: TcpConfig) -> Talk {
    let config = config.with(|c| {
        c.buffers.receive_buffer = Bytes(4380);
        c.buffers.receive_buffer_max = Bytes(4380);
    });
    let mut talk = Talk::new(setups::tcp_pair(&config, "newreno").1, config.segment.mss.0);
    talk.play("0 < S 0..1\n0 > S. 0..1 ack 1\n100 < . ack 1");
    talk
}

/// RFC 9293 section 3.6: "the local application MUST be informed whether it closed normally or was aborted"
#[test]
fn the_application_learns_how_it_ended() {
    accepted(setups::tcp()).play(
        "200 < F. 1..2 ack 1
         200 > F. 1..2 ack 2
         300 < . ack 2
         300 = closed yes failure none",
    );
    accepted(setups::tcp()).play("200 < R. ack 1\n200 = failure reset by the peer");
}

/// In TIME-WAIT a RST tells the application nothing (RFC 9293 section 3.10.7.4): a peer that misses the last ACK gives its FIN up.
#[test]
fn a_reset_after_the_close_is_no_error() {
    established(&setups::tcp()).play(
        "100 close
         100 > F. 1..2 ack 1
         200 < F. 1..2 ack 2
         200 > . ack 2
         300 < F. 1..2 ack 2
         300 > . ack 2
         400 < R. ack 2
         400 = closed yes failure none",
    );
}

/// RFC 9293 section 3.10.7.4: "if the SYN bit is set, irrespective of the sequence number, TCP endpoints MUST send a "challenge ACK" to the
/// remote peer:"
///
/// RFC 9293 section 3.10.7.4: "After sending the acknowledgment, TCP implementations MUST drop the unacceptable segment and stop processing
/// further."
#[test]
fn a_syn_in_a_connection_is_answered_and_dropped() {
    established(&setups::tcp()).play(
        "100 write s1
         100 > . s0..s1
         150 < S. 0..1 ack s1
         150 > . ack 1
         # a SYN of another connection acknowledges nothing
         150 = acked 0 failure none
         160 < S 5000..5001
         160 > . ack 1
         160 = failure none
         200 < . ack s1
         200 = acked 1460",
    );
}

/// RFC 9293 section 3.7.4: "there MUST be a way for an application to disable the Nagle algorithm on an individual
/// connection"
#[test]
fn nagle_can_be_turned_off() {
    let script = "100 write 100\n100 > . 1..101\n110 write 100";
    established(&setups::tcp().with(|c| c.sending.nagle = true))
        .play(script)
        .play("200 < . ack 101\n200 > . 101..201");
    established(&setups::tcp().with(|c| c.sending.nagle = false)).play(script).play("110 > . 101..201");
}

/// RFC 9293 section 3.9.1.2: "MUST set the PSH bit in the last buffered segment (i.e., when there is no more queued data to be sent)"
#[test]
fn the_last_segment_that_waits_has_psh() {
    established(&setups::tcp()).play(
        "100 write s12
         100 > .p s0..s9
         100 > .p s9..s10
         200 < . ack s1
         200 > .p s10..s11
         200 > .P s11..s12
         300 < . ack s12
         300 write s1+10
         300 > .p s12..s13
         300 > .P s13..s13+10",
    );
}

/// RFC 9293 section 3.8.1: "The RTO MUST be computed according to the algorithm in [10], including Karn's algorithm for
/// taking RTT samples."
#[test]
fn the_timeout_follows_rfc_6298() {
    established(&setups::tcp()).play(
        "100 = srtt 100 rttvar 50 rto 300
         100 write s1
         100 > . s0..s1
         400 > . s0..s1 again
         # the ACK may be of either transmission: no sample (Karn)
         500 < . ack s1
         500 = srtt 100 rttvar 50 rto 600",
    );
}

/// RFC 9293 section 3.8.2: "A TCP endpoint MUST implement the basic congestion control algorithms slow start, congestion
/// avoidance, and exponential backoff of RTO to avoid creating congestion collapse conditions."
#[test]
fn the_basic_congestion_control() {
    let config = setups::tcp().with(|c| {
        c.window.initial_window = 4;
        c.window.initial_ssthresh = Bytes(7300);
    });
    established(&config).play(
        "100 write s4
         100 > . s0..s4
         100 = state slow-start
         200 < . ack s1
         200 = cwnd 7300 state avoidance
         201 < . ack s4
         201 = cwnd 7300",
    );
    established(&config).play(
        " 100 write s1
          100 > . s0..s1
          400 > . s0..s1 again
         1000 > . s0..s1 again
         2200 > . s0..s1 again
         2200 = cwnd 1460",
    );
}

/// RFC 9293 section 3.8.3: "The following procedure MUST be used to handle excessive retransmissions of data segments:"
///
/// RFC 9293 section 3.8.3: "An application MUST be able to set the value for R2 for a particular connection."
///
/// R2 is `retries`, a count of retransmissions.
#[test]
fn a_connection_ends_after_r2_retransmissions() {
    established(&setups::tcp().with(|c| c.timers.retries = 1)).play(
        "100 write s1
         100 > . s0..s1
         400 > . s0..s1 again
         1000 > R.
         1000 = failure too many timeouts",
    );
    established(&setups::tcp().with(|c| c.timers.retries = 3)).play(
        "100 write s1
         100 > . s0..s1
         400 > . s0..s1 again
         1000 > . s0..s1 again
         2200 > . s0..s1 again
         4600 > R.
         4600 = failure too many timeouts",
    );
}

/// RFC 9293 section 3.8.3: "SYN retransmissions MUST be handled in the general way just described for data
/// retransmissions, including notification of the application layer."
#[test]
fn an_attempt_ends_after_the_retransmissions_of_the_syn() {
    setups::talk(&setups::tcp().with(|c| c.timers.syn_retries = 2), "newreno").play(
        "   0 open
            0 > S 0..1
         1000 > S 0..1 again
         3000 > S 0..1 again
         6999 = failure none
         7000 = failure no answer to the SYN",
    );
}

/// RFC 9293 section 3.8.6: "a sending TCP peer MUST be robust against window shrinking, which may cause the "usable
/// window" (see Section 3.8.6.2.1) to become negative."
#[test]
fn a_window_that_shrinks_does_no_harm() {
    offered(4380).play(
        "100 write s3
         100 > . s0..s3
         # the right edge moves left by two segments
         150 < . ack s1 win 0
         # outstanding segments are retransmitted as usual
         443.75 > . s1..s2 again
         500 < . ack s3 win 4380
         500 write s1
         500 > . s3..s4
         500 = failure none",
    );
}

/// RFC 9293 section 3.8.6.1: "Probing of zero (offered) windows MUST be supported."
#[test]
fn a_closed_window_is_probed() {
    offered(1460).play(
        "100 write s2
         100 > . s0..s1
         200 < . ack s1 win 0
         450 > . s1-1..s1-1
         460 < . ack s1 win 1460
         460 > . s1..s2",
    );
}

/// RFC 9293 section 3.8.6.1: "As long as the receiving TCP peer continues to send acknowledgments in response to the probe
/// segments, the sending TCP peer MUST allow the connection to stay open."
#[test]
fn a_closed_window_that_answers_keeps_the_connection_open() {
    let mut config = setups::tcp();
    config.timers.retries = 2;
    config.timers.rto.max = Nanos::from_secs(60);
    let mut talk = setups::talk(&config, "newreno");
    talk.play(
        "0 open\n0 > S 0..1\n100 < S. 0..1 ack 1 win 1460\n100 > . ack 1
         100 write s2\n100 > . s0..s1\n200 < . ack s1 win 0",
    );
    let (mut now, mut wait) = (200, 250);
    for _ in 0..20 {
        now += wait;
        talk.play(&format!("{now} > . s1-1..s1-1\n{now} < . ack s1 win 0\n{now} = failure none"));
        wait = (2 * wait).min(60_000);
    }
    talk.play(&format!("{now} < . ack s1 win 1460\n{now} > . s1..s2"));
    assert!(now > 600_000, "more than ten minutes");
}

/// RFC 9293 section 3.8.6.2.1: "A TCP implementation MUST include a SWS avoidance algorithm in the sender."
#[test]
fn a_sender_waits_for_a_worthwhile_window() {
    offered(4380).play(
        "100 write s9
         100 > . s0..s3
         200 < . ack s3 win 400
         # less than a segment and than half of the largest window
         210 < . ack s3 win 1000
         220 < . ack s3 win 1460
         220 > . s3..s4",
    );
}

/// RFC 9293 section 3.8.6.2.2: "A TCP implementation MUST include a SWS avoidance algorithm in the receiver."
#[test]
fn a_receiver_opens_its_window_in_worthwhile_steps() {
    accepted(setups::tcp()).play(
        "200 < . s0..s3
         200 > . ack s3 win 0
         # the right edge stays until it can move by a segment
         210 read 1000
         220 < . s3-1..s3
         220 > . ack s3 win 0
         230 read 460
         240 < . s3-1..s3
         240 > . ack s3 win 1460",
    );
}

/// RFC 9293 section 3.8.6.3: "an ACK should not be excessively delayed; in particular, the delay MUST be less than 0.5
/// seconds."
#[test]
fn a_delayed_acknowledgement_leaves_in_time() {
    let ack = AckConfig { every: 2, delay: Nanos::from_millis(200), ..AckConfig::default() };
    accepted(setups::tcp().with(|c| c.ack = ack)).play("200 < . s0..s1\n400 > . ack s1");
}

/// RFC 9293 section 3.4: "A TCP receiver MUST process the RST and URG fields of all incoming segments, even when the
/// receive window is zero."
///
/// RFC 9293 section 3.10.7.4: "If the RST bit is set and the sequence number exactly matches the next expected sequence number (RCV.NXT),
/// then TCP endpoints MUST reset the connection"
#[test]
fn a_reset_counts_while_the_window_is_zero() {
    accepted(setups::tcp()).play(
        "200 < . s0..s3
         200 > . ack s3 win 0
         210 < R. s3..s3 ack 1
         210 = state closed failure reset by the peer",
    );
}
