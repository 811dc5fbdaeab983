//! Conversations about the data sequence space: RFC 8684 sections 3.3.1 to 3.3.6, reinjection, closing.
//! Subflow 0 has a round-trip time of 100 ms, subflow 1 of 40 ms; a full segment carries 1432 bytes.

use testkit::{Duo, Fault, Talk, Wire, setups};
use transport::config::{MptcpConfig, Reassembly, ReinjectOn, Reinjection, TcpConfig};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

fn client_with(tcp: &TcpConfig, mptcp: &MptcpConfig, window: u64) -> Talk {
    let mut talk = setups::mptcp_client(tcp, mptcp, 2);
    talk.play(&format!(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable win {window}
         100  > . ack 1 capable
         100  write s1
         100  > . s0..s1 capable dsn 1
         200  < . ack s1 dack s1
         200  > [1] S 0..1 join"
    ));
    talk
}

/// The second half of the join.
fn joined(window: u64) -> String {
    format!(
        "240  < [1] S. 0..1 ack 1 join win {window}
         240  > [1] . ack 1 join
         280  < [1] . ack 1 dack s1"
    )
}

const WIDE: u64 = 1_000_000;

fn client() -> Talk {
    client_with(&setups::tcp(), &setups::mptcp(), WIDE)
}

fn server() -> Talk {
    server_with(&setups::tcp(), &setups::mptcp())
}

fn server_with(tcp: &TcpConfig, mptcp: &MptcpConfig) -> Talk {
    let mut talk = setups::mptcp_server(tcp, mptcp, 2);
    talk.play(
        "  0  < S 0..1 capable
           0  > S. 0..1 ack 1 capable
         100  < . ack 1 capable
         120  < [1] S 0..1 join
         120  > [1] S. 0..1 ack 1 join
         160  < [1] . ack 1 join
         160  > [1] . ack 1 dack 1",
    );
    talk
}

/// The send buffer is freed by Data ACKs, never by acknowledgements of a subflow.
#[test]
fn data_stays_until_its_data_ack() {
    client().play(&joined(WIDE)).play(
        "300  write s4
         300  > [1] . s0..s4 dsn s1
         340  < [1] . ack s4 dack s1
         340  = space 99994272 acked 1432
         340  = [1] pipe 0
         350  < . ack s1 dack s5
         350  = space 100000000 acked 7160",
    );
}

/// Nagle's algorithm for the stream of the connection: data outstanding on any subflow holds small segments back.
#[test]
fn nagle_holds_small_segments_of_the_stream() {
    let config = setups::tcp().with(|c| c.sending.nagle = true);
    client_with(&config, &setups::mptcp(), WIDE).play(&joined(WIDE)).play(
        "300  write 100
         300  > [1] . 1..101 dsn s1
         310  write 100
         320  write 1300
         # together less than a full segment of 1432 bytes
         330  write 100
         330  > [1] . 101..1533 dsn 1533
         340  < [1] . ack 101 dack 1533",
    );
}

/// After Minshall each subflow has a small segment of its own, whatever else is outstanding; the limit of what waits is the
/// application.
#[test]
fn minshall_holds_small_segments_of_each_subflow() {
    let config = setups::tcp().with(|c| (c.sending.nagle, c.sending.minshall) = (true, true));
    client_with(&config, &setups::mptcp(), WIDE).play(&joined(WIDE)).play(
        "300  write 100
         300  > [1] . 1..101 dsn s1
         # the scheduler chooses the same subflow, which waits
         310  write 100
         340  < [1] . ack 101 dack 1533
         340  > [1] . 101..201 dsn 1533",
    );
}

/// One window for the connection: a slow subflow holds up the fast one at the right edge, which never moves left.
#[test]
fn a_slow_subflow_blocks_at_the_connection_window() {
    // Ten segments of window; the first two data segments are on the slow subflow.
    client_with(&setups::tcp(), &setups::mptcp(), 14_320).play("200 write s2\n200 > . s1..s3 dsn s1").play(
        "240  < [1] S. 0..1 ack 1 join win 14320
         240  > [1] . ack 1 join
         280  < [1] . ack 1 dack s1
         280  write s30
         # right edge s11, although both congestion windows have room
         280  > [1] . s0..s8 dsn s3
         320  < [1] . ack s4 dack s1
         325  < [1] . ack s8 dack s1 win 2864
         325  = [0] pipe 2864
         325  = [1] pipe 0
         # the slow segments arrive: the Data ACK jumps, and with it the edge
         330  < . ack s3 dack s11 win 14320
         # subflow 1 has not heard of it and is bound by what it was told itself
         330  > [1] . s8..s14 dsn s11
         330  > . s3..s7 dsn s17",
    );
}

/// The receiver advertises one window on all subflows: the buffer less the data in order that has not been read.
#[test]
fn the_receiver_advertises_one_window() {
    use units::Bytes;
    let tcp = setups::tcp().with(|c| {
        c.buffers.receive_buffer = Bytes(14_320);
        c.buffers.receive_buffer_max = Bytes(14_320);
    });
    server_with(&tcp, &setups::mptcp()).play(
        "200  < [1] . s0..s2 ack 1 dack 1 dsn s1
         200  > [1] . ack s2 dack 1 win 14320
         200  = unordered 2864 rwnd 14320
         210  < [1] . s3..s4 dsn s4
         210  > [1] . ack s2 dack 1 sack s3..s4 win 14320
         220  < . s0..s1 ack 1 dack 1 dsn 1
         # three in order and unread, one out of order on its subflow: the edge stays
         220  > . ack s1 dack s3 win 10024
         220  = readable 4296
         230  read s3
         240  < . s1..s2 dsn s3
         240  > . ack s2 dack s4 win 11456",
    );
}

/// The same data on two subflows is delivered once and acknowledged on both.
#[test]
fn duplicates_are_dropped_and_acknowledged() {
    server().play(
        "200  < . s0..s1 ack 1 dack 1 dsn 1
         200  > . ack s1 dack s1
         210  < [1] . s0..s2 ack 1 dack 1 dsn 1
         210  > [1] . ack s2 dack s2
         210  = delivered 2864 readable 2864
         220  < . s1..s2 dsn s1
         220  > . ack s2 dack s2
         220  = delivered 2864 unordered 0",
    );
}

/// Bytes that are out of order on their subflow wait there, whatever their place in the stream.
#[test]
fn mappings_wait_for_their_subflow() {
    server().play(
        "200  < [1] . s1..s2 ack 1 dack 1 dsn 1
         200  > [1] . ack 1 dack 1 sack s1..s2
         200  = delivered 0 unordered 1432
         210  < [1] . s0..s1 dsn s1
         210  > [1] . ack s2 dack s2 sack
         210  = delivered 2864 unordered 0",
    );
}

/// With one store for all subflows what fills a gap is acknowledged alone while the connection's data has a gap before it;
/// repeating what is stored behind it changes nothing. When that gap is filled, no ACK is sent before the application reads.
#[test]
fn a_joint_store_holds_back_acknowledgements() {
    let mptcp = MptcpConfig { reassembly: Reassembly::Joint, ..setups::mptcp() };
    server_with(&setups::tcp(), &mptcp).play(
        "200  < [1] . s1..s3 ack 1 dack 1 dsn s2
         200  > [1] . ack 1 dack 1 sack s1..s3
         210  < [1] . s0..s1 dsn s1
         210  > [1] . ack s1 dack 1 sack s1..s3
         210  = delivered 0 unordered 4296
         220  < [1] . s1..s2 dsn s2
         220  > [1] . ack s1 dack 1 sack s1..s2 s1..s3
         230  < . s0..s1 ack 1 dack 1 dsn 1
         230  > . ack s1 dack s4 sack
         230  = delivered 5728 unordered 0
         240  < [1] . s1..s2 dsn s2
         240  > [1] . ack s3 dack s4 sack s1..s2",
    );
}

/// Test vector RJ-1: ten segments outstanding, four of them Data-ACKed; the timeout reinjects the six others and
/// repeats the first itself. The congestion state of the other subflow is not touched.
#[test]
fn rj_1() {
    client().play("200 write s10\n200 > . s1..s11 dsn s1").play(&joined(WIDE)).play(
        " 300  < [1] . ack 1 dack s5
          300  = acked 7160
          450  > . s1..s2 again dsn s1
          450  > [1] . s0..s6 dsn s5
          450  = [1] reinjected 8592 cwnd 14320
          450  = state loss cwnd 1432 ssthresh 7160
          # new data goes where it is not stuck
          460  write s1
          460  > [1] . s6..s7 dsn s11
          500  < [1] . ack s7 dack s12
          500  = acked 17184 space 100000000
          # the subflow still owes its own bytes; the second timeout reinjects nothing
          950  > . s1..s2 again dsn s1
          950  = [1] reinjected 8592
         1050  < . ack s11 dack s12
         1050  write s1
         1050  > [1] . s7..s8 dsn s12",
    );
}

/// Three subflows: round-trip times of 100, 40 and 60 ms; ten segments outstanding on subflow 0 and two each on 1 and 2.
fn three(reinjection: Reinjection, reinject_on: ReinjectOn, scheduler: &str) -> Talk {
    let mptcp = MptcpConfig { reinjection, reinject_on, ..setups::mptcp() };
    let mut talk = setups::mptcp_client_with(&setups::tcp(), &mptcp, 3, scheduler);
    talk.play(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable win 1000000
         100  > . ack 1 capable
         100  write s1
         100  > . s0..s1 capable dsn 1
         200  < . ack s1 dack s1
         200  > [1] S 0..1 join
         200  > [2] S 0..1 join
         200  write s10
         200  > . s1..s11 dsn s1
         240  < [1] S. 0..1 ack 1 join win 1000000
         240  > [1] . ack 1 join
         260  < [2] S. 0..1 ack 1 join win 1000000
         260  > [2] . ack 1 join
         280  < [1] . ack 1 dack s1
         320  < [2] . ack 1 dack s1
         330  < [1] . ack 1 dack s5",
    );
    talk
}

/// RJ-1 with three subflows: the six segments left go to the fastest of the others, not to the one whose turn it is.
#[test]
fn rj_1_on_the_lowest_rtt() {
    three(Reinjection::Timeout, ReinjectOn::LowestRtt, "roundrobin").play(
        " 450  > . s1..s2 again dsn s1
          450  > [1] . s0..s6 dsn s5
          450  = [1] reinjected 8592
          450  = [2] reinjected 0
          500  < [1] . ack s6 dack s11
          500  = acked 15752",
    );
}

/// RJ-1 with a copy on each of the others; the Data ACK of one ends it, and nothing is sent a third time.
#[test]
fn rj_1_on_all() {
    three(Reinjection::Timeout, ReinjectOn::All, "minrtt").play(
        " 450  > . s1..s2 again dsn s1
          450  > [1] . s0..s1 dsn s5
          450  > [2] . s0..s1 dsn s5
          450  > [1] . s1..s2 dsn s6
          450  > [2] . s1..s2 dsn s6
          450  > [1] . s2..s3 dsn s7
          450  > [2] . s2..s3 dsn s7
          450  > [1] . s3..s4 dsn s8
          450  > [2] . s3..s4 dsn s8
          450  > [1] . s4..s5 dsn s9
          450  > [2] . s4..s5 dsn s9
          450  > [1] . s5..s6 dsn s10
          450  > [2] . s5..s6 dsn s10
          450  = [1] reinjected 8592
          450  = [2] reinjected 8592
          # subflow 1 times out: every other subflow carries the six already
          500  < [2] . ack s1 dack s6
          650  > [1] . s0..s1 again dsn s5
          690  < [1] . ack s6 dack s11
          690  = [2] reinjected 8592",
    );
}

/// RJ-1 on the same path: nothing goes elsewhere but new data, until the subflow dies.
#[test]
fn rj_1_on_the_same_path() {
    three(Reinjection::Timeout, ReinjectOn::SamePath, "minrtt").play(
        " 450  > . s1..s2 again dsn s1
          450  = [1] reinjected 0
          460  write s1
          460  > [1] . s0..s1 dsn s11
          500  < [1] . ack s1 dack s5
          600  < R. ack s1
          600  > [1] . s1..s7 dsn s5
          600  = [1] reinjected 8592",
    );
}

/// Data that was reinjected and then arrives on its own subflow is not sent again.
#[test]
fn a_data_ack_empties_the_reinjection_queue() {
    let tcp = setups::tcp().with(|c| c.window.initial_window = 2);
    client_with(&tcp, &setups::mptcp(), WIDE)
        .play("200 write s2\n200 > . s1..s3 dsn s1")
        .play(&joined(WIDE))
        .play(
            "290  write s2
         290  > [1] . s0..s2 dsn s3
         # the window of subflow 1 is full when subflow 0 times out
         450  > . s1..s2 again dsn s1
         450  = [1] reinjected 0
         455  < . ack s3 dack s3
         460  < [1] . ack s2 dack s5
         460  = acked 7160
         460  = [1] reinjected 0",
        );
}

#[test]
fn reinjection_only_at_death() {
    let mptcp = MptcpConfig { reinjection: Reinjection::Death, ..setups::mptcp() };
    client_with(&setups::tcp(), &mptcp, WIDE)
        .play("200 write s3\n200 > . s1..s4 dsn s1")
        .play(&joined(WIDE))
        .play(
            " 450  > . s1..s2 again dsn s1
              950  > . s1..s2 again dsn s1
              950  = [1] reinjected 0
             1000  < R. ack s1
             1000  > [1] . s0..s3 dsn s1
             1000  = [1] reinjected 4296
             1000  = state closed failure none",
        );
}

/// Too many timeouts are a death as well, and the peer gets a RST.
#[test]
fn a_subflow_gives_up_and_the_connection_goes_on() {
    let tcp = setups::tcp().with(|c| c.timers.retries = 1);
    let mptcp = MptcpConfig { reinjection: Reinjection::Death, ..setups::mptcp() };
    client_with(&tcp, &mptcp, WIDE).play("200 write s2\n200 > . s1..s3 dsn s1").play(&joined(WIDE)).play(
        "450  > . s1..s2 again dsn s1
         950  > R. reason 5
         950  > [1] . s0..s2 dsn s1
         990  < [1] . ack s2 dack s3
         990  = acked 4296 failure none",
    );
}

/// Fast retransmission stays on its subflow.
#[test]
fn fast_retransmission_reinjects_nothing() {
    client().play("200 write s10\n200 > . s1..s11 dsn s1").play(&joined(WIDE)).play(
        "300  < . ack s1 dack s1 sack s2..s5
         300  > . s1..s2 again dsn s1
         300  = [1] reinjected 0
         300  = recoveries 1",
    );
}

/// D-43: sixty seconds without a subflow.
#[test]
fn a_connection_without_subflows_waits_a_minute() {
    client().play(&joined(WIDE)).play(
        "  300  < R. ack s1
           400  < [1] R. ack 1
         60399  = failure none
         60400  = failure no subflow left for too long",
    );
}

/// DATA_FIN is lost, goes out on the other subflow, and both subflows close.
#[test]
fn a_lost_data_fin_takes_the_other_subflow() {
    client().play(&joined(WIDE)).play(
        "300  close
         300  > . s1..s1 dack 1 dsn s1 dfin
         # the longest RTO is that of subflow 0: 100 + 4 * 37.5 ms
         550  > [1] . 1..1 dack 1 dsn s1 dfin
         590  < [1] . ack 1 dack s1+1
         590  > F. s1..s1+1
         590  > [1] F. 1..2
         590  = closed no acked 1432
         # the server's side
         600  < [1] . ack 2 dack s1+1 dsn 1 dfin
         600  > [1] . 2..2 ack 1 dack 2
         600  = closed yes",
    );
}

/// DATA_FIN and its answer are repeated ever less often while no answer comes.
#[test]
fn an_unanswered_data_fin_backs_off() {
    client().play(&joined(WIDE)).play(
        " 300  close
          300  > . s1..s1 dack 1 dsn s1 dfin
          550  > [1] . 1..1 dack 1 dsn s1 dfin
         1050  > . s1..s1 dack 1 dsn s1 dfin
         2050  > [1] . 1..1 dack 1 dsn s1 dfin",
    );
}

/// The server: DATA_FIN counts when everything before it has arrived; then its own follows.
#[test]
fn the_server_finishes_after_the_last_byte() {
    server().play(
        "200  < . s0..s0 ack 1 dack 1 dsn s1 dfin
         200  > . ack 1 dack 1
         210  < [1] . s0..s1 ack 1 dack 1 dsn 1
         210  > [1] . ack s1 dack s1+1
         210  = delivered 1432 readable 1432
         220  read s1
         220  > . dack s1+1 dsn 1 dfin
         300  < . ack 1 dack 2
         300  > F. 1..2
         300  > [1] F. 1..2
         300  = closed yes",
    );
}

/// D-40: one SACK block beside timestamps and a 64-bit Data ACK, two beside a 32-bit one, none on data.
#[test]
fn sack_blocks_compete_for_option_space() {
    let tcp = setups::tcp().with(|c| c.options.timestamps = true);
    for (wide_sequence, blocks, size) in [(true, "s4..s5", 76), (false, "s4..s5 s2..s3", 80)] {
        let mptcp = MptcpConfig { wide_sequence, ..setups::mptcp() };
        setups::mptcp_server(&tcp, &mptcp, 1).play(&format!(
            "  0  < S 0..1 capable ts 0/-
               0  > S. 0..1 ack 1 capable
             100  < . ack 1 capable ts 100/0
             200  < . s2..s3 ack 1 dack 1 dsn s2 ts 200/0
             200  > . ack 1 sack s2..s3
             210  < . s4..s5 ack 1 dack 1 dsn s4 ts 210/0
             210  > . ack 1 sack {blocks} size {size}
             220  < . s6..s7 ack 1 dack 1 dsn s6 ts 220/0
             220  > . ack 1 sack s6..s7 {}
             220  write 100
             220  > . 1..101 ack 1 sack",
            if wide_sequence { "" } else { "s4..s5" }
        ));
    }
}

/// A closed connection window is probed on the fastest subflow.
#[test]
fn a_closed_connection_window_is_probed() {
    client().play(&joined(WIDE)).play(
        " 300  < [1] . ack 1 dack s1 win 0
          300  = acked 1432",
    );
    client_with(&setups::tcp(), &setups::mptcp(), 2864).play(&joined(2864)).play(
        " 300  write s4
          300  > [1] . s0..s2 dsn s1
          340  < [1] . ack s2 dack s3 win 0
          # the longest RTO
          590  > [1] . s2-1..s2-1 dack 1
          600  < [1] . ack s2 dack s3 win 0
         1090  > [1] . s2-1..s2-1 dack 1
         1100  < [1] . ack s2 dack s3 win 2864
         1100  > [1] . s2..s4 dsn s3",
    );
}

/// Limited Transmit reaches the data that waits at the connection: one segment for each of two duplicates.
#[test]
fn limited_transmit_on_a_subflow() {
    use transport::config::RecoveryKind;
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        let sack = recovery != RecoveryKind::NewReno;
        let tcp = setups::tcp().with(|c| {
            c.recovery.kind = recovery;
            c.options.sack = sack;
        });
        let blocks = |n| if sack { format!("sack s2..s{n}") } else { String::new() };
        let script = format!(
            "200  write s14
             200  > . s1..s11 dsn s1
             300  < . ack s1 dack s1 {}
             300  > . s11..s12 dsn s11
             301  < . ack s1 dack s1 {}
             301  > . s12..s13 dsn s12
             302  < . ack s1 dack s1 {}
             302  > . s1..s2 again dsn s1
             302  = ssthresh 7160",
            blocks(3),
            blocks(4),
            blocks(5)
        );
        let mut talk = setups::mptcp_client(&tcp, &setups::mptcp(), 1);
        talk.play(
            "  0  open
               0  > S 0..1 capable
             100  < S. 0..1 ack 1 capable
             100  > . ack 1 capable
             100  write s1
             100  > . s0..s1 capable dsn 1
             200  < . ack s1 dack s1",
        )
        .play(&script);
    }
}

/// Linux since 5.15: a timeout of a subflow repeats there only. The timer of the connection starts with the Data ACK, for as long as
/// the timer of the subflow had when data was last given out, and gives the fragment at the Data ACK to a subflow without anything
/// unacknowledged.
#[test]
fn reinjection_by_the_timer_of_the_connection() {
    let mptcp = MptcpConfig { reinjection: Reinjection::Upstream, ..setups::mptcp() };
    client_with(&setups::tcp(), &mptcp, WIDE)
        .play("200 write s10\n200 > . s1..s11 dsn s1")
        .play(&joined(WIDE))
        .play(
            " 300  < [1] . ack 1 dack s5
              450  > . s1..s2 again dsn s1
              550  > [1] . s0..s6 dsn s5
              550  = [1] reinjected 8592
              600  < [1] . ack s6 dack s11
              600  = acked 15752",
        );
}

/// A subflow that stays silent for more than four ends of the timer is stale: everything without Data ACK is placed anew, and nothing new
/// is sent on it until an ACK of it arrives. The scheduler would use both in turn.
#[test]
fn a_stale_subflow_gets_nothing_until_an_ack_of_it_arrives() {
    let wire = |ms| Wire { delay: Nanos::from_millis(ms), rate: Some(BitsPerSecond(2_000_000)) };
    let (cut, back) = (SimTime::from_secs(2), SimTime::from_secs(30));
    let run_on = |reinjection, reinject_on, until| {
        let mptcp = MptcpConfig { reinjection, reinject_on, ..setups::mptcp() };
        let buffer = Bytes(200_000);
        let config = setups::tcp().with(|c| {
            c.buffers.receive_buffer = buffer;
            c.buffers.receive_buffer_max = buffer;
        });
        let (client, server) = setups::mptcp_pair(&config, &mptcp, "newreno", "roundrobin", 2);
        let faults = vec![Fault::Cut { wire: 1, from: cut, until: back }];
        let mut duo =
            Duo::new(client, server, vec![wire(20), wire(25)], Bytes(100_000_000)).with_faults(faults, 1);
        duo.run(until);
        (duo.server.delivered().0, duo.client.stats(1), duo.client.stats(0).reinjected_bytes)
    };
    let run = |reinjection, until| {
        let (delivered, stats, _) = run_on(reinjection, ReinjectOn::Scheduler, until);
        (delivered, stats)
    };
    let at = SimTime::from_secs;
    // Without reinjection what was on the path holds the others up as soon as the window is full.
    let (stuck, _) = run(Reinjection::Death, at(28));
    let (late, stale) = run(Reinjection::Upstream, at(28));
    let (earlier, before) = run(Reinjection::Upstream, at(20));
    assert!(late > 2 * stuck && late - earlier > 1_500_000, "{stuck} {earlier} {late}");
    assert_eq!(
        stale.bytes_sent - before.bytes_sent,
        1432 * (stale.timeouts - before.timeouts),
        "its own repeats alone"
    );
    let [everything, its_own] = [ReinjectOn::Scheduler, ReinjectOn::LowestRtt]
        .map(|reinject_on| run_on(Reinjection::Upstream, reinject_on, at(28)).2);
    assert!(
        everything > its_own && its_own > 0,
        "data of the other is sent again too: {everything} {its_own}"
    );
    let (_, well) = run(Reinjection::Upstream, at(80));
    assert!(well.bytes_sent > stale.bytes_sent + 4_000_000, "{stale:?} {well:?}");
}
