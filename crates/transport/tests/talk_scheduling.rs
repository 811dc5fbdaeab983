//! Conversations about what schedulers may ask of the connection: queues behind a full window, the oldest segment
//! once more, penalties, copies. Subflow 0 has a round-trip time of 100 ms, subflow 1 of 40 ms unless said otherwise; a
//! full segment carries 1432 bytes.

use testkit::{Talk, setups};
use transport::config::{SendBuffer, TcpConfig};
use units::Bytes;

fn client(scheduler: &str, tcp: &TcpConfig) -> Talk {
    let (client, _) = setups::mptcp_pair(tcp, &setups::mptcp(), "newreno", scheduler, 2);
    Talk::new(client, setups::SUBFLOW_MSS)
}

/// One segment has been sent on subflow 0 at 100 ms; subflow 1 has joined at 280 ms after a round trip of `rtt` ms.
fn joined(talk: &mut Talk, rtt: u64, window: u64) {
    let (half, done) = (200 + rtt, 200 + 2 * rtt);
    talk.play(&format!(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable win {window}
         100  > . ack 1 capable
         100  write s1
         100  > . s0..s1 capable dsn 1
         200  < . ack s1 dack s1
         200  > [1] S 0..1 join
         {half}  < [1] S. 0..1 ack 1 join win {window}
         {half}  > [1] . ack 1 join
         {done}  < [1] . ack 1 dack s1"
    ));
}

const WIDE: u64 = 1_000_000;

/// A subflow that fails gives back what it has not sent: behind what it has sent and in order, and without sending
/// it itself later.
#[test]
fn what_was_queued_on_a_failed_subflow_goes_elsewhere() {
    let mut talk = client("otias", &setups::tcp());
    joined(&mut talk, 40, WIDE);
    talk.play(
        "300  write s30
         # 20 ms each in the free window, then 60 ms against 50 ms on subflow 0, and when that is full ten queue
         300  > [1] . s0..s10 dsn s1
         300  > . s1..s11 dsn s11
         400  < . ack s11 dack s1
         # no ACK for 200 ms: the ten that were sent and the ten that were not
         500  > . s11..s21 dsn s1
         500  > . s21..s22 dsn s21
         500  > [1] . s0..s1 again dsn s1
         600  < . ack s22 dack s22
         600  > . s22..s31 dsn s22
         # it is well again, and sends nothing of what it gave back
         640  < [1] . ack s10 dack s22
         700  < . ack s31 dack s31
         700  = [1] pipe 0
         700  = [0] pipe 0",
    );
}

/// RP-1 on the wire. The window of the connection is ten segments; subflow 1 answers after 20 ms.
#[test]
fn rp_1_the_oldest_segment_is_sent_again_and_its_carrier_slowed_down() {
    let mut talk = client("minrtt_rp", &setups::tcp());
    talk.play(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable win 14320
         100  > . ack 1 capable
         100  write s1
         100  > . s0..s1 capable dsn 1
         200  < . ack s1 dack s1
         200  > [1] S 0..1 join
         200  write s2
         200  > . s1..s3 dsn s1
         220  < [1] S. 0..1 ack 1 join win 14320
         220  > [1] . ack 1 join
         240  < [1] . ack 1 dack s1
         240  = [0] cwnd 14320
         240  write s30
         # the right edge is s11: full, and subflow 0 holds the head
         240  > [1] . s0..s8 dsn s3
         240  > [1] . s8..s9 dsn s1
         240  = [0] cwnd 7160
         # a round trip later the next penalty; what was sent again is not sent a third time
         260  < [1] . ack s8 dack s1
         260  = [0] cwnd 3580
         262  < [1] . ack s9 dack s2
         262  > [1] . s9..s10 dsn s11
         262  > [1] . s10..s11 dsn s2
         262  = [0] cwnd 3580
         # the slow one at last
         300  < . ack s3 dack s11",
    );
    talk.play("300 skip");
    assert_eq!(talk.end.stats(1).reinjected_bytes, 2 * setups::SUBFLOW_MSS);
}

/// Without a full window no subflow is penalised: the same as with minRTT.
#[test]
fn an_open_window_needs_no_remedy() {
    let mut talk = client("minrtt_rp", &setups::tcp());
    joined(&mut talk, 20, WIDE);
    talk.play(
        "240  write s15
         240  > [1] . s0..s10 dsn s1
         240  > . s1..s6 dsn s11
         260  < [1] . ack s10 dack s11
         260  = [0] cwnd 14320",
    );
}

/// RD-1 on the wire: every segment on both, in turn; data with a Data ACK is passed over.
#[test]
fn rd_1_both_carry_everything_and_the_slow_one_jumps() {
    let mut talk = client("redundant", &setups::tcp());
    joined(&mut talk, 40, WIDE);
    talk.play(
        "300  write s4
         300  > [1] . s0..s1 dsn s1
         300  > . s1..s2 dsn s1
         300  > [1] . s1..s2 dsn s2
         300  > . s2..s3 dsn s2
         300  > [1] . s2..s3 dsn s3
         300  > . s3..s4 dsn s3
         300  > [1] . s3..s4 dsn s4
         300  > . s4..s5 dsn s4
         340  < [1] . ack s4 dack s5
         340  write s40
         # windows of ten segments, four of them in flight on subflow 0
         340  skip
         340  = [1] pipe 14320
         340  = [0] pipe 14320
         380  < [1] . ack s14 dack s15
         380  skip
         400  < . ack s5 dack s25
         400  > . s11..s16 dsn s25
         400  = acked 35800",
    );
}

/// Queued data moves when an acknowledgement shows that the path has become slow. Subflow 1 answers after 20 ms at
/// first.
#[test]
fn sttf_places_a_queue_anew() {
    let mut talk = client("sttf", &setups::tcp());
    joined(&mut talk, 20, WIDE);
    talk.play(
        "240  write s35
         # ten in the window, twenty behind it take 30 ms, the rest 50 ms either way
         240  > [1] . s0..s10 dsn s1
         240  > . s1..s6 dsn s31
         # after 60 ms one segment: two have room, five are sooner on subflow 0 in 50 ms, the rest must wait 90 ms
         300  < [1] . ack s1 dack s2
         300  > [1] . s10..s12 dsn s11
         300  > . s6..s11 dsn s13
         300  = [1] pipe 15752
         360  < [1] . ack s12 dack s13
         360  > [1] . s12..s24 dsn s18",
    );
}

/// SO_SNDBUF holds for each subflow as for the connection: the kernel's scheduler gives the only subflow all that was written, and
/// nothing is left for the one that joins.
#[test]
fn a_fixed_send_buffer_queues_on_a_subflow_what_the_connection_holds() {
    let config = setups::tcp().with(|c| c.buffers.send_buffer = SendBuffer::Fixed(Bytes(1_000_000)));
    let mut talk = client("minratio", &config);
    talk.play(&format!(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable win {WIDE}
         100  > . ack 1 capable
         100  write s100
         100  > . s0..s1 capable dsn 1
         100  > . s1..s10 dsn s1
         200  < . ack s10 dack s10
         200  > . s10..s21 dsn s10
         200  > [1] S 0..1 join
         240  < [1] S. 0..1 ack 1 join win {WIDE}
         240  > [1] . ack 1 join
         280  < [1] . ack 1 dack s10
         290  write s1
         290  > [1] . s0..s1 dsn s100"
    ));
}
