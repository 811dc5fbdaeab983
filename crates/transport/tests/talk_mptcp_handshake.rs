//! Conversations about MP_CAPABLE, MP_JOIN and ADD_ADDR: RFC 8684 sections 3.1, 3.2, 3.4.1 and 3.7.
//! Keys are those of test vector KEY-1; a full segment carries 1432 bytes beside its DSS.

use testkit::{Talk, setups};
use transport::config::{MptcpConfig, PathManager};

fn mptcp() -> MptcpConfig {
    setups::mptcp()
}

fn manager(path_manager: PathManager) -> MptcpConfig {
    MptcpConfig { path_manager, ..mptcp() }
}

fn client(paths: u8) -> Talk {
    setups::mptcp_client(&setups::tcp(), &mptcp(), paths)
}

fn server(mptcp: &MptcpConfig, paths: u8) -> Talk {
    setups::mptcp_server(&setups::tcp(), mptcp, paths)
}

/// Up to the first Data ACK.
const OPENED: &str = "
      0  open
      0  > S 0..1 capable
    100  < S. 0..1 ack 1 capable
    100  > . ack 1 capable
    100  write s1
    100  > . s0..s1 capable dsn 1
    200  < . ack s1 dack s1";

/// The client's side of a connection on the server.
const ACCEPTED: &str = "
      0  < S 0..1 capable
      0  > S. 0..1 ack 1 capable
    100  < . ack 1 capable";

/// Both keys in the third ACK and in the first data until the server confirms; no join before the first Data ACK;
/// client data on the joined subflow two round trips (of 40 ms) after its SYN.
#[test]
fn the_client_opens_and_joins() {
    client(2).play(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable win 100000
         100  > . ack 1 capable
         100  write s3
         100  > . s0..s1 capable dsn 1
         100  > . s1..s2 dsn s1
         100  > . s2..s3 dsn s2
         199  = subflows 1
         200  < . ack s3 dack s3 win 100000
         200  > [1] S 0..1 join
         200  write s20
         200  > . s3..s13 dsn s3
         240  < [1] S. 0..1 ack 1 join win 100000
         240  > [1] . ack 1 join
         279.9 = [1] srtt 40 state slow-start
         280  < [1] . ack 1 dack s3 win 100000
         280  > [1] . s0..s10 dsn s13
         280  = [1] pipe 14320",
    );
}

/// Server data on a joined subflow: one and a half round trips after the client's SYN, which is when the third ACK
/// arrives.
#[test]
fn the_server_may_send_with_the_third_ack() {
    server(&mptcp(), 2).play(ACCEPTED).play(
        "100  write s12
         100  > . s0..s10 dsn 1
         120  < [1] S 0..1 join
         120  > [1] S. 0..1 ack 1 join
         160  < [1] . ack 1 join
         # the fourth ACK, then data
         160  > [1] . ack 1 dack 1
         160  > [1] . s0..s2 dsn s10",
    );
}

/// Without data the fourth ACK stands alone.
#[test]
fn the_fourth_ack_stands_alone() {
    server(&mptcp(), 2).play(ACCEPTED).play(
        "120  < [1] S 0..1 join
         120  > [1] S. 0..1 ack 1 join
         160  < [1] . ack 1 join
         160  > [1] . ack 1 dack 1
         # it was lost: the third ACK comes again
         240  < [1] . ack 1 join
         240  > [1] . ack 1 dack 1",
    );
}

#[test]
fn a_join_with_a_wrong_token_is_refused() {
    server(&mptcp(), 2).play(ACCEPTED).play(
        " 120  < [1] S 0..1 join forged
          120  > [1] R. 0..0 ack 1 reason 1 size 44
         9000  = subflows 1 failure none",
    );
}

#[test]
fn a_join_to_a_connection_that_fell_back_is_refused() {
    server(&MptcpConfig { peer_capable: false, ..mptcp() }, 2).play(
        "  0  < S 0..1 capable
           0  > S. 0..1 ack 1 plain
         100  < . ack 1
         120  < [1] S 0..1 join
         120  > [1] R. 0..0 ack 1 reason 1
         900  = subflows 1 fallback yes",
    );
}

#[test]
fn a_third_ack_with_a_wrong_hmac_is_refused() {
    server(&mptcp(), 2).play(ACCEPTED).play(
        "120  < [1] S 0..1 join
         120  > [1] S. 0..1 ack 1 join
         160  < [1] . ack 1 join forged
         160  > [1] R. reason 1
         160  = [1] state closed failure none
         # it was lost, and the peer goes on
         170  < [1] . s0..s1 ack 1 dack 1 dsn 1
         170  > [1] R. reason 1
         200  < . s0..s1 ack 1 dack 1 dsn 1
         200  > . ack s1 dack s1",
    );
}

#[test]
fn a_syn_ack_with_a_wrong_hmac_is_refused() {
    client(2).play(OPENED).play(
        "200  > [1] S 0..1 join
         240  < [1] S. 0..1 ack 1 join forged
         240  > [1] R. reason 1
         240  = [1] state closed failure none
         240  write s1
         240  > . s1..s2 dsn s1",
    );
}

/// A middlebox took MP_JOIN out of the SYN/ACK, or another host has answered.
#[test]
fn a_syn_ack_without_join_is_refused() {
    client(2).play(OPENED).play(
        "200  > [1] S 0..1 join
         240  < [1] S. 0..1 ack 1
         240  > [1] R. reason 6
         240  = [1] state closed failure none",
    );
}

/// A middlebox took MP_JOIN out of the SYN: the listener takes it for a new connection.
#[test]
fn a_syn_without_join_gets_a_plain_answer() {
    server(&mptcp(), 2).play(ACCEPTED).play(
        " 120  < [1] S 0..1
          120  > [1] S. 0..1 ack 1 plain
          160  < [1] R. 1..1 ack 1
          160  = subflows 1 failure none",
    );
}

#[test]
fn a_lost_join_syn_is_repeated_and_given_up() {
    let tcp = setups::tcp().with(|c| c.timers.syn_retries = 2);
    setups::mptcp_client(&tcp, &mptcp(), 2).play(OPENED).play(
        " 200  > [1] S 0..1 join
         1200  > [1] S 0..1 again join
         3200  > [1] S 0..1 again join
         7200  = [1] state closed failure none",
    );
}

/// The third ACK is repeated until the fourth comes, ever less often, and data waits. RTO 40 + 4 * 20 -> 200 ms.
#[test]
fn a_lost_fourth_ack_repeats_the_third() {
    client(2).play(OPENED).play(
        " 200  > [1] S 0..1 join
          240  < [1] S. 0..1 ack 1 join
          240  > [1] . ack 1 join
          440  > [1] . ack 1 join
          840  > [1] . ack 1 join
          840  write s20
          840  > . s1..s11 dsn s1
          880  < [1] . ack 1 dack s1
          880  > [1] . s0..s10 dsn s11",
    );
}

/// No answer comes to the third ACK: the subflow is given up like a SYN.
#[test]
fn a_third_ack_without_an_answer_is_given_up() {
    let tcp = setups::tcp().with(|c| c.timers.syn_retries = 2);
    setups::mptcp_client(&tcp, &mptcp(), 2).play(OPENED).play(
        " 200  > [1] S 0..1 join
          240  < [1] S. 0..1 ack 1 join
          240  > [1] . ack 1 join
          440  > [1] . ack 1 join
          840  > [1] . ack 1 join
         1640  > [1] R. reason 5
         1640  = [1] state closed failure none",
    );
}

/// The third ACK of a join is lost: the server repeats its SYN/ACK, the client its proof.
#[test]
fn a_lost_third_ack_of_a_join_is_repeated() {
    client(2).play(OPENED).play(
        " 200  > [1] S 0..1 join
          240  < [1] S. 0..1 ack 1 join
          240  > [1] . ack 1 join
          430  < [1] S. 0..1 ack 1 join
          430  > [1] . ack 1 join",
    );
    server(&mptcp(), 2).play(ACCEPTED).play(
        " 120  < [1] S 0..1 join
          120  > [1] S. 0..1 ack 1 join
         1120  > [1] S. 0..1 ack 1 again join
         1160  < [1] . ack 1 join
         1160  > [1] . ack 1 dack 1",
    );
}

/// The first third ACK is lost: the first data brings the keys and completes the handshake.
#[test]
fn a_lost_third_ack_is_replaced_by_the_first_data() {
    server(&mptcp(), 2).play(
        "  0  < S 0..1 capable
           0  > S. 0..1 ack 1 capable
         101  < . s0..s1 ack 1 capable dsn 1
         101  > . ack s1 dack s1
         101  = delivered 1432 fallback no
         120  < [1] S 0..1 join
         120  > [1] S. 0..1 ack 1 join",
    );
}

/// Third ACK and first data are lost. The server has no key of the client: it must not confirm with a DSS, or the
/// client would never send its key again.
#[test]
fn without_the_clients_key_nothing_is_confirmed() {
    server(&mptcp(), 2).play(
        "  0  < S 0..1 capable
           0  > S. 0..1 ack 1 capable
         102  < . s1..s2 ack 1 dsn s1
         102  > . ack 1 plain sack s1..s2
         300  < . s0..s1 ack 1 capable dsn 1
         300  > . ack s2 dack s2
         300  = delivered 2864
         320  < [1] S 0..1 join
         320  > [1] S. 0..1 ack 1 join",
    );
    client(2).play(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable
         100  > . ack 1 capable
         100  write s2
         100  > . s0..s1 capable dsn 1
         100  > . s1..s2 dsn s1
         200  < . ack 1 sack s1..s2
         # the timeout: the first data again, with the keys
         400  > . s0..s1 again capable dsn 1
         400  = fallback no",
    );
}

/// Two retries with MP_CAPABLE, then plain TCP (a middlebox may drop SYNs with unknown options).
#[test]
fn three_lost_capable_syns_and_then_plain_tcp() {
    client(2).play(
        "    0  open
             0  > S 0..1 capable size 56
          1000  > S 0..1 again capable
          3000  > S 0..1 again capable
          7000  > S 0..1 again plain size 52
          7100  < S. 0..1 ack 1
          7100  > . ack 1 plain
          7100  write s1
          7100  > . s0..s1 plain
          7200  < . ack s1
          7200  = fallback yes subflows 1 acked 1432
          7200  close
          7200  > F. s1..s1+1 plain
          7300  < F. 1..2 ack s1+1
          7300  > . ack 2 plain
          7300  = closed yes",
    );
}

#[test]
fn a_peer_that_is_not_capable_gets_plain_tcp() {
    client(2).play(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1
         100  > . ack 1 plain size 40
         100  write s1
         100  > . s0..s1 plain size 1472
         200  < . ack s1
         200  = fallback yes subflows 1",
    );
}

/// A middlebox strips options after the SYNs: both ends notice and go on as plain TCP.
#[test]
fn options_stripped_after_the_handshake() {
    server(&mptcp(), 2).play(
        "  0  < S 0..1 capable
           0  > S. 0..1 ack 1 capable
         100  < . ack 1
         101  < . s0..s1 ack 1
         101  > . ack s1 plain
         101  = fallback yes delivered 1432
         200  < F. s1..s1+1 ack 1
         200  > . ack s1+1 plain
         200  read s1
         200  > F. 1..2 plain
         300  < . ack 2
         300  = closed yes",
    );
    client(2).play(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable
         100  > . ack 1 capable
         100  write s2
         100  > . s0..s1 capable dsn 1
         100  > . s1..s2 dsn s1
         200  < . ack s1
         200  = fallback yes acked 1432 subflows 1
         201  < . ack s2
         201  write s1
         201  > . s2..s3 plain
         300  < . ack s3
         300  = acked 4296",
    );
}

/// ADD_ADDR is repeated three times without an echo, not sooner than after a second, and then given up.
#[test]
fn an_announcement_is_repeated_and_given_up() {
    server(&manager(PathManager::FullMesh { subflows: 1 }), 2).play(ACCEPTED).play(
        " 100  > . ack 1 add 1 size 68
         1100  > . ack 1 add 1
         2100  > . ack 1 add 1
         3100  > . ack 1 add 1
         9999  = failure none",
    );
}

#[test]
fn an_echo_ends_the_announcement() {
    server(&manager(PathManager::FullMesh { subflows: 1 }), 2)
        .play(ACCEPTED)
        .play("100 > . ack 1 add 1\n200 < . ack 1 echo 1\n9999 = failure none");
}

/// The announced address is joined and the announcement echoed, again if it comes again; a forged one is ignored.
#[test]
fn an_announced_address_is_echoed_and_joined() {
    let mut config = manager(PathManager::FullMesh { subflows: 1 });
    setups::mptcp_client(&setups::tcp(), &config, 2).play(OPENED).play(
        " 210  < . ack s1 add 1 forged
          220  < . ack s1 add 1
          220  > [1] S 0..1 join
          220  > . 1433..1433 echo 1 size 60
         1100  < . ack s1 add 1
         1100  > . 1433..1433 echo 1
         1100  = subflows 2",
    );
    config = manager(PathManager::FullMesh { subflows: 3 });
    setups::mptcp_client(&setups::tcp(), &config, 2).play(OPENED).play(
        " 200  > [1] S 0..1 join
          200  > [2] S 0..1 join
          220  < . ack s1 add 1
          220  > [3] S 0..1 join
          220  > [4] S 0..1 join
          220  > [5] S 0..1 join
          220  > . 1433..1433 echo 1
          230  < . ack s1 add 1
          230  > . 1433..1433 echo 1
          230  = subflows 6",
    );
}

/// ADD_ADDR carries the Data ACK of its segment: it confirms the handshake and acknowledges data.
#[test]
fn an_announcement_acknowledges_data() {
    client(2).play(
        "  0  open
           0  > S 0..1 capable
         100  < S. 0..1 ack 1 capable
         100  > . ack 1 capable
         100  write s1
         100  > . s0..s1 capable dsn 1
         200  < . ack s1 add 1 dack s1
         200  > [1] S 0..1 join
         200  > . 1433..1433 echo 1
         200  = acked 1432",
    );
}

/// An announcement waits, without stopping the clock, when no subflow is left to carry it.
#[test]
fn an_announcement_without_a_subflow_waits() {
    server(&manager(PathManager::FullMesh { subflows: 1 }), 2).play(ACCEPTED).play(
        "  100  > . ack 1 add 1
          200  < R. ack 1
        60199  = failure none
        60200  = failure no subflow left for too long",
    );
}

#[test]
fn several_subflows_per_path_and_pair() {
    let counts = [
        (PathManager::PerPath { subflows: 1 }, 3),
        (PathManager::PerPath { subflows: 2 }, 6),
        (PathManager::NdiffPorts { subflows: 1 }, 1),
        (PathManager::NdiffPorts { subflows: 4 }, 4),
        (PathManager::FullMesh { subflows: 2 }, 2),
    ];
    for (path_manager, subflows) in counts {
        let mut talk = setups::mptcp_client(&setups::tcp(), &manager(path_manager), 3);
        talk.play(OPENED).play(&format!("200 skip\n200 = subflows {subflows}"));
    }
}

/// Section 6.1: MP_CAPABLE 4, 12, 20, 22 (padded 24); MP_JOIN 12, 16, 24; DSS with 64 bits 12 and 28, with 32 bits 8
/// and 20; ADD_ADDR 16 beside its Data ACK.
#[test]
fn option_sizes() {
    let mut narrow = mptcp();
    narrow.wide_sequence = false;
    narrow.checksum = true;
    for (config, data, ack) in [(mptcp(), 28, 12), (narrow, 20, 8)] {
        let mut talk = Talk::new(setups::mptcp_pair(&setups::tcp(), &config, "newreno", "minrtt", 2).0, 1000);
        let keys = 24 + 40;
        talk.play(&format!(
            "  0  open
               0  > S 0..1 capable size {}
             100  < S. 0..1 ack 1 capable
             100  > . ack 1 capable size 60
             100  write s1
             100  > . s0..s1 capable dsn 1 size {}
             200  < . ack s1 dack s1
             200  > [1] S 0..1 join size {}
             200  write s1
             200  > . s1..s2 dsn s1 size {}
             240  < [1] S. 0..1 ack 1 join
             240  > [1] . ack 1 join size 64
             280  < [1] . ack 1 dack s1
             300  < . s0..s1 ack s2 dack s2 dsn 1
             300  > . ack s1 dack s1 size {}
             310  close
             310  > . dack s1 dsn s2 dfin size {}",
            52 + 4,
            1000 + keys,
            52 + 12,
            1040 + data,
            40 + ack,
            40 + data,
        ));
    }
    let mut talk = server(&mptcp(), 2);
    talk.play(
        "  0  < S 0..1 capable
           0  > S. 0..1 ack 1 capable size 64
         100  < . ack 1 capable
         120  < [1] S 0..1 join
         120  > [1] S. 0..1 ack 1 join size 68",
    );
}

/// Options are stripped in mid-transfer on the only subflow there ever was: both ends go on as plain TCP.
#[test]
fn options_stripped_in_mid_transfer() {
    server(&mptcp(), 2).play(ACCEPTED).play(
        "110  < . s0..s1 ack 1 dack 1 dsn 1
         110  > . ack s1 dack s1
         120  < . s1..s2 ack 1
         120  > . ack s2 plain
         120  = delivered 2864 fallback yes
         # no join any more
         130  < [1] S 0..1 join
         130  > [1] R. 0..0 ack 1 reason 1",
    );
    client(1).play(OPENED).play(
        "200  write s2
         200  > . s1..s3 dsn s1
         300  < . ack s2
         300  = fallback yes acked 2864
         300  write s1
         300  > . s3..s4 plain
         400  < . ack s4
         400  = acked 5728",
    );
}

/// With a second subflow the mapping is not known without options: the subflow is reset and the other one goes on.
#[test]
fn options_stripped_on_one_of_two_subflows() {
    server(&mptcp(), 2).play(ACCEPTED).play(
        "120  < [1] S 0..1 join
         120  > [1] S. 0..1 ack 1 join
         160  < [1] . ack 1 join
         160  > [1] . ack 1 dack 1
         170  < [1] . s0..s1 ack 1
         170  > [1] R. reason 6
         170  = delivered 0 fallback no failure none
         180  < [1] . s0..s1 ack 1
         180  > [1] R. reason 6
         200  < . s0..s1 ack 1 dack 1 dsn 1
         200  > . ack s1 dack s1",
    );
    client(2).play(OPENED).play(
        "200  > [1] S 0..1 join
         240  < [1] S. 0..1 ack 1 join
         240  > [1] . ack 1 join
         280  < [1] . ack 1 dack s1
         280  write s1
         280  > [1] . s0..s1 dsn s1
         # acknowledged without a Data ACK: nobody knows what has arrived
         320  < [1] . ack s1
         320  > [1] R. reason 6
         320  > . s1..s2 dsn s1
         320  = reinjected 1432",
    );
}

/// DATA_FIN is taken away and nothing else shows it: after three of them the FIN must do.
#[test]
fn a_data_fin_that_is_taken_away() {
    client(1).play(OPENED).play(
        " 200  close
          200  > . dack 1 dsn s1 dfin
          450  > . dack 1 dsn s1 dfin
          950  > . dack 1 dsn s1 dfin
         1950  > F. s1..s1+1 plain
         2050  < F. 1..2 ack s1+1
         2050  > . ack 2 plain
         2050  = closed yes fallback yes",
    );
}
