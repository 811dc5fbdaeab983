//! Conversations about congestion marks: RFC 3168 section 6.1.

use testkit::{Talk, setups};
use transport::config::TcpConfig;

fn ecn(wanted: bool) -> TcpConfig {
    setups::tcp().with(|c| c.options.ecn = wanted)
}

fn client(config: &TcpConfig) -> Talk {
    setups::talk(config, "newreno")
}

fn server(config: &TcpConfig) -> Talk {
    Talk::new(setups::tcp_pair(config, "newreno").1, config.segment.mss.0)
}

/// Section 6.1.1: a SYN with ECE and CWR asks, a SYN/ACK with ECE agrees; without both nothing may be marked.
#[test]
fn both_ends_must_agree() {
    client(&ecn(true)).play(
        "0    open
         0    > SEW 0..1 not-ect
         100  < SE. 0..1 ack 1
         100  > . ack 1 not-ect
         100  write s1
         100  > . s0..s1 ect",
    );
    client(&ecn(true)).play(
        "0 open\n0 > SEW 0..1\n100 < S. 0..1 ack 1\n100 > . ack 1\n100 write s1\n100 > . s0..s1 not-ect",
    );
    client(&ecn(false)).play(
        "0 open\n0 > S 0..1\n100 < SE. 0..1 ack 1\n100 > . ack 1\n100 write s1\n100 > . s0..s1 not-ect",
    );
    server(&ecn(true)).play("0 < SEW 0..1\n0 > SE. 0..1 ack 1 not-ect");
    server(&ecn(true)).play("0 < S 0..1\n0 > S. 0..1 ack 1");
    server(&ecn(false)).play("0 < SEW 0..1\n0 > S. 0..1 ack 1");
}

/// Section 6.1.3: every ACK echoes until the sender says that it has reduced its window.
#[test]
fn a_receiver_echoes_a_mark_until_it_is_answered() {
    server(&ecn(true)).play(
        "0    < SEW 0..1
         0    > SE. 0..1 ack 1
         100  < . ack 1
         200  < . s0..s1 ect
         200  > . ack s1
         210  < . s1..s2 ce
         210  > E. ack s2
         220  < . s2..s3 ect
         220  > E. ack s3
         300  < W. s3..s4 ect
         300  > . ack s4
         # marked itself, the answer begins the next echo
         310  < W. s4..s5 ce
         310  > E. ack s5",
    );
    server(&ecn(false))
        .play("0 < S 0..1\n0 > S. 0..1 ack 1\n100 < . ack 1\n200 < . s0..s1 ce\n200 > . ack s1");
}

/// Section 6.1.2: once per window, as after a loss, but nothing is sent again; the next new segment tells.
#[test]
fn a_sender_reduces_once_per_window_and_says_so() {
    client(&ecn(true)).play(
        "0    open
         0    > SEW 0..1
         100  < SE. 0..1 ack 1
         100  > . ack 1
         100  write s100
         100  > . s0..s1 ect
         100  > . s1..s2
         100  > . s2..s3
         100  > . s3..s4
         100  > . s4..s5
         100  > . s5..s6
         100  > . s6..s7
         100  > . s7..s8
         100  > . s8..s9
         100  > . s9..s10
         200  < E. ack s1
         # half of the nine segments that are out after this ACK
         200  = cwnd 6570 ssthresh 6570 state avoidance
         210  < E. ack s2
         210  = cwnd 6570
         220  < E. ack s7
         220  > W. s10..s11 ect
         # what was out at the reduction is acknowledged: the next mark counts
         300  < . ack s10
         300  > . s11..s12
         300  > . s12..s13
         300  > . s13..s14
         400  < E. ack s12
         400  = state avoidance ssthresh 2920
         500  < . ack s14
         500  > W. s14..s15
         500  > . s15..s16
         # a full window was acknowledged without a mark
         500  > . s16..s17",
    );
}
