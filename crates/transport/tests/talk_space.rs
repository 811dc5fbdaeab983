//! Conversations of transports for space links: SCPS-TP (CCSDS 714.0-B) and STP. Segments are 1000 bytes, the
//! handshake takes 600 ms.

use testkit::{Talk, setups};
use transport::config::{LossMeans, Reliability, TcpConfig};
use units::{BitsPerSecond, Bytes};

const MSS: Bytes = Bytes(1000);

fn scps() -> TcpConfig {
    setups::scps().with(|c| {
        c.segment.mss = MSS;
        c.window.initial_window = 20;
    })
}

fn stp() -> TcpConfig {
    setups::stp().with(|c| {
        c.segment.mss = MSS;
        c.window.initial_window = 20;
    })
}

fn client(config: &TcpConfig) -> Talk {
    setups::talk(config, "newreno")
}

fn scps_client(config: &TcpConfig) -> Talk {
    let mut talk = client(config);
    talk.play(
        "0    open
         0    > S 0..1 scps size 52
         600  < S. 0..1 ack 1 scps
         600  > . ack 1 bare",
    );
    talk
}

fn server(config: &TcpConfig) -> Talk {
    Talk::new(setups::tcp_pair(config, "newreno").1, config.segment.mss.0)
}

/// The receiver of a handshake that takes 600 ms.
fn scps_server(config: &TcpConfig) -> Talk {
    let mut talk = server(config);
    talk.play(
        "0    < S 0..1 scps
         0    > S. 0..1 scps
         600  < . 1..1 ack 1",
    );
    talk
}

/// Vector SC-1 as a conversation: four segments are sent again, at once, and the window stays.
#[test]
fn sc_1() {
    scps_client(&scps()).play(
        "600  write s20
         600  > . s0..s20
         1200 < . ack s10 snack 0+2/1001
         1200 > . s10..s12 again
         1200 > . s13..s15 again
         1200 = cwnd 30000 recoveries 0 pipe 8000
         # the same report again: it cannot know of the repair
         1300 < . ack s10 snack 0+2/1001
         # a round trip later it does: one of them is lost again
         1800 < . ack s10 snack 0+1/1111
         1800 > . s10..s11 again
         2400 < . ack s20
         2400 = pipe 0 timeouts 0",
    );
}

/// The receiver's side: a report at once when a gap shows, otherwise two acknowledgements per round trip.
#[test]
fn the_receiver_names_holes_at_once_and_acknowledges_twice_per_round_trip() {
    scps_server(&scps()).play(
        "700  < . s0..s1
         700  > . ack s1 bare
         701  < . s1..s2
         702  < . s2..s3
         # three is lost
         703  < . s4..s5
         703  > . ack s3 snack 0+1/1 size 48
         704  < . s5..s6
         705  < . s7..s8
         705  > . ack s3 snack 3+1/1 size 48
         # nothing new: the rhythm of 300 ms, and no hole is due yet
         1000 < . s8..s9
         1005 > . ack s3 bare
         # the repairs
         1303 < . s3..s4
         1304 < . s6..s7
         1305 > . ack s9 bare",
    );
}

/// A repair that is lost is asked for again after 5/4 of a round trip.
#[test]
fn a_hole_is_named_again_after_a_round_trip_and_a_quarter() {
    scps_server(&scps()).play(
        "700  < . s0..s1
         700  > . ack s1 bare
         701  < . s2..s3
         701  > . ack s1 snack 0+1/1
         1450 < . s3..s4
         1450 > . ack s1 bare
         1451 < . s4..s5
         1451 > . ack s1 snack 0+1/111",
    );
}

/// Losses that mean congestion halve the window once, and what was named still goes out at once.
#[test]
fn a_loss_may_mean_congestion() {
    let config = scps().with(|c| c.recovery.loss_means = LossMeans::Congestion);
    scps_client(&config).play(
        "600  write s20
         600  > . s0..s20
         1200 < . ack s10 snack 0+2/1001
         1200 > . s10..s12 again
         1200 > . s13..s15 again
         1200 = ssthresh 5000 cwnd 5000 recoveries 1 state recovery
         1800 < . ack s20
         1800 = cwnd 5000 state avoidance",
    );
}

/// A peer without the capabilities gets plain TCP: duplicates and a reduction.
#[test]
fn a_peer_without_scps_gets_plain_tcp() {
    let mut talk = client(&scps());
    talk.play(
        "0    open
         0    > S 0..1 scps
         600  < S. 0..1 ack 1
         600  > . ack 1
         600  write s10
         600  > . s0..s10
         1200 < . ack 1
         1201 < . ack 1
         1202 < . ack 1
         1202 > . s0..s1 again
         1202 = ssthresh 5000 cwnd 8000 state recovery
         1800 < . ack s10",
    );
    let incapable = scps().with(|c| c.recovery.reliability = Reliability::Snack { peer_capable: false });
    let mut talk = server(&incapable);
    talk.play(
        "0    < S 0..1 scps
         0    > S. 0..1 bare
         600  < . 1..1 ack 1
         700  < . s0..s1
         700  > . ack s1 bare
         701  < . s1..s2
         701  > . ack s2 bare
         702  < . s3..s4
         702  > . ack s2 bare",
    );
}

/// While the link is down the oldest segment alone asks for it, at a steady pace; what the link has swallowed
/// follows when it answers. The window is what it was.
#[test]
fn an_outage_is_waited_out_without_back_off() {
    scps_client(&scps()).play(
        "600  write s20
         600  > . s0..s20
         1200 < . ack s2
         1200 = rto 1500 cwnd 22000
         # the timeout and half a round trip, for which the peer may hold back its answer
         3000 > . s2..s3 again
         4800 > . s2..s3 again
         6600 > . s2..s3 again
         6600 = rto 1500 cwnd 22000 timeouts 3
         # the application goes on in vain
         6700 write s1
         7200 < . ack s3
         7200 > . s3..s20 again
         7200 > . s20..s21
         7800 < . ack s21
         7800 = pipe 0 recoveries 0",
    );
}

/// Vector ST-1: a poll every 0.2 s. Of 20 segments 7 and 12 are lost; a STAT that answers a poll sent before their
/// retransmission brings no second copy.
#[test]
fn st_1() {
    let mut talk = client(&stp());
    talk.play(
        "0    open
         0    > S 0..1
         600  < S. 0..1 ack 1
         600  > . ack 1 bare
         600  write s20
         600  > . s0..s20
         800  > . s20..s20 poll 1 size 48
         1000 > . s20..s20 poll 2
         1200 > . s20..s20 poll 3
         1201 < . ack s6 ustat sack s6..s7
         1201 > . s6..s7 again
         1202 < . ack s6 ustat sack s11..s12
         1202 > . s11..s12 again
         1202 = recoveries 1 timeouts 0
         1400 > . s20..s20 poll 4
         1400 < . ack s6 stat 1 sack s6..s20 s6..s7 s11..s12
         1400 = pipe 2000
         1600 > . s20..s20 poll 5
         1600 < . ack s6 stat 2 sack s6..s20 s6..s7 s11..s12
         1800 > . s20..s20 poll 6
         1800 < . ack s6 stat 3 sack s6..s20 s6..s7 s11..s12
         # poll 4 left after the repair: what it finds missing is lost again
         2000 > . s20..s20 poll 7
         2000 < . ack s11 stat 4 sack s11..s20 s11..s12
         2000 > . s11..s12 again
         2200 > . s20..s20 poll 8
         2200 < . ack s11 stat 5 sack s11..s20 s11..s12
         2400 > . s20..s20 poll 9
         2600 > . s20..s20 poll 10
         2600 < . ack s20 stat 7 sack s20..s20
         2600 = pipe 0 state avoidance srtt 600",
    );
}

/// A client that sends frames of 1540 bytes at 2.048 Mbit/s, established at 600 ms.
fn fixed_rate(burst: u64) -> Talk {
    let config = setups::tcp().with(|c| c.segment.mss = Bytes(1500));
    let control = setups::fixed_rate(BitsPerSecond(2_048_000), Bytes(burst));
    let mut talk = Talk::new(setups::tcp_pair_with(&config, &control).0, 1500);
    talk.play(
        "0    open
         0    > S 0..1
         600  < S. 0..1 ack 1
         600  > . ack 1",
    );
    talk
}

/// Vector SC-1, fixed rate: one frame of 1540 bytes every 6.015625 ms, whatever is lost.
#[test]
fn sc_1_fixed_rate() {
    fixed_rate(0).play(
        "700           write s6
         700           > . s0..s1 size 1540
         706.015625    > . s1..s2
         712.03125     > . s2..s3
         718.046875    > . s3..s4
         724.0625      > . s4..s5
         # the loss is repaired in its turn, and the rate stays
         725           < . ack 1 sack s1..s4
         730.078125    > . s0..s1 again
         736.09375     > . s5..s6
         1300          < . ack s6
         # a pause buys nothing
         2000          write s2
         2000          > . s6..s7
         2006.015625   > . s7..s8",
    );
}

/// A bucket of three frames: that many leave at once after a pause, then they leave at the rate.
#[test]
fn a_bucket_lets_out_what_it_holds() {
    fixed_rate(4620).play(
        "700           write s5
         700           > . s0..s3
         706.015625    > . s3..s4
         712.03125     > . s4..s5
         # half a frame later there is room for half a frame
         715.0390625   write s1
         718.046875    > . s5..s6
         2000          write s4
         2000          > . s6..s9
         2006.015625   > . s9..s10",
    );
}
