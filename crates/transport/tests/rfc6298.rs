//! The MUSTs of RFC 6298, "Computing TCP's Retransmission Timer", as conversations. Each test is below the sentence
//! that it keeps; `tools/requirements.py` compares the sentences with the list of requirements. Segments are 1460
//! bytes, bounds and granularity those of the RFC unless a test says otherwise.

use testkit::{Talk, setups};
use transport::config::{RecoveryKind, RtoConfig, RtoFloor, RtoRule, TcpConfig};
use units::Nanos;

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

/// Without the lower bound of one second, which hides the formulas at short round trips.
fn unbounded() -> TcpConfig {
    setups::tcp().with(|c| c.timers.rto = RtoConfig { min: Nanos::ZERO, ..RFC })
}

/// The handshake takes 400 ms.
fn established(config: &TcpConfig) -> Talk {
    setups::established(config, "newreno", 400)
}

/// RFC 6298 section 2: "When the first RTT measurement R is made, the host MUST set SRTT <- R RTTVAR <- R/2 RTO <- SRTT
/// + max (G, K*RTTVAR)"
#[test]
fn the_first_measurement() {
    established(&unbounded()).play("400 = srtt 400 rttvar 200 rto 1200");
}

/// RFC 6298 section 2: "When a subsequent RTT measurement R' is made, a host MUST set RTTVAR <- (1 - beta) * RTTVAR +
/// beta * |SRTT - R'| SRTT <- (1 - alpha) * SRTT + alpha * R'"
///
/// RFC 6298 section 2: "After the computation, a host MUST update RTO <- SRTT + max (G, K*RTTVAR)"
#[test]
fn a_subsequent_measurement() {
    // RTTVAR = 3/4 * 200 + 1/4 * |400 - 240|, SRTT = 7/8 * 400 + 1/8 * 240
    established(&unbounded()).play(
        "400 write s1
         400 > . s0..s1
         640 < . ack s1
         640 = srtt 380 rttvar 190 rto 1140",
    );
}

/// RFC 6298 section 2: "updating RTTVAR and SRTT MUST be computed in the above order."
///
/// With the new SRTT of 450 ms in place of the old one RTTVAR would be 237.5 ms.
#[test]
fn the_deviation_comes_before_the_mean() {
    established(&unbounded()).play(
        " 400 write s1
          400 > . s0..s1
         1200 < . ack s1
         1200 = srtt 450 rttvar 250 rto 1450",
    );
}

/// RFC 6298 section 3: "RTT samples MUST NOT be made using segments that were retransmitted"
#[test]
fn a_retransmission_gives_no_sample() {
    established(&rfc()).play(
        " 400 write s1
          400 > . s0..s1
         1600 > . s0..s1 again
         1700 < . ack s1
         1700 = srtt 400 rttvar 200",
    );
}

/// RFC 6298 section 3: "A TCP implementation MUST take at least one RTT measurement per RTT (unless that is not possible
/// per Karn's algorithm)."
#[test]
fn each_round_trip_gives_a_sample() {
    established(&unbounded()).play(
        " 400 write s4
          400 > . s0..s4
          800 < . ack s4
          800 = srtt 400 rttvar 150
          800 write s1
          800 > . s4..s5
         1200 < . ack s5
         1200 = srtt 400 rttvar 112.5",
    );
}

/// RFC 6298 section 4: "if the K*RTTVAR term in the RTO calculation equals zero, the variance term MUST be rounded to G
/// seconds"
#[test]
fn the_granularity_bounds_the_variance_term() {
    let mut talk = established(&unbounded());
    let mut now = 400;
    // Each constant sample takes a quarter off RTTVAR: after 12 samples 4 * RTTVAR is 25 ms, less than G.
    for n in 0..12 {
        talk.play(&format!("{now} write s1\n{now} > . s{n}..s{}\n{} < . ack s{}", n + 1, now + 400, n + 1));
        now += 400;
    }
    talk.play(&format!("{now} = srtt 400 rto 500"));
}

/// RFC 6298 section 5: "An implementation MUST manage the retransmission timer(s) in such a way that a segment is never
/// retransmitted too early, i.e., less than one RTO after the previous transmission of that segment."
#[test]
fn no_retransmission_within_a_timeout() {
    established(&rfc()).play(
        " 400 write s1
          400 > . s0..s1
          # an ACK of nothing new restarts nothing, data sent later puts nothing off
          500 < . ack 1
         1000 write s1
         1000 > . s1..s2
         1600 > . s0..s1 again
         # RTO is 2.4 s now
         4000 > . s0..s1 again",
    );
}

/// RFC 6298 section 5: "The host MUST set RTO <- RTO * 2"
#[test]
fn each_expiry_doubles_the_timeout() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        established(&rfc().with(|c| c.recovery.kind = recovery)).play(
            "  400 write s1
               400 > . s0..s1
               400 = rto 1200
              1600 > . s0..s1 again
              1600 = rto 2400
              4000 > . s0..s1 again
              4000 = rto 4800
              8800 > . s0..s1 again
              8800 = rto 9600",
        );
    }
}

/// RFC 6298 section 5: "the RTO MUST be re-initialized to 3 seconds when data transmission begins (i.e., after the
/// three-way handshake completes)."
#[test]
fn three_seconds_after_a_lost_syn() {
    setups::talk(&rfc(), "newreno").play(
        "   0 open
            0 > S 0..1
         1000 > S 0..1 again
         1400 < S. 0..1 ack 1
         1400 > . ack 1
         1400 = rto 3000
         1400 write s1
         1400 > . s0..s1
         4400 > . s0..s1 again",
    );
}
