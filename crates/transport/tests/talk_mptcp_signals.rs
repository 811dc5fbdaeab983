//! Conversations about path managers, REMOVE_ADDR, MP_PRIO, MP_FASTCLOSE and MP_TCPRST: RFC 8684 sections 3.3.8 and
//! 3.4 to 3.6. Keys are those of test vector KEY-1; a full segment carries 1432 bytes beside its DSS.

use testkit::{Talk, setups};
use transport::config::{AddressEndpoint, EndpointFlags, InKernel, MptcpConfig, PathManager};

fn manager(path_manager: PathManager) -> MptcpConfig {
    MptcpConfig { path_manager, ..setups::mptcp() }
}

/// An in-kernel manager with the limits `subflows` and `accepted`, and endpoints as `ip mptcp` would have them.
fn kernel(subflows: u32, add_addr_accepted: u32, endpoints: &[(u8, &str)]) -> MptcpConfig {
    let endpoint = |(address, words): &(u8, &str)| {
        let has = |flag: &str| words.split(' ').any(|word| word == flag);
        let flags = EndpointFlags {
            subflow: has("subflow"),
            signal: has("signal"),
            backup: has("backup"),
            fullmesh: has("fullmesh"),
            laminar: has("laminar"),
        };
        AddressEndpoint { address: *address, flags }
    };
    let endpoints = endpoints.iter().map(endpoint).collect();
    manager(PathManager::InKernel(InKernel { subflows, add_addr_accepted, endpoints }))
}

fn client(mptcp: &MptcpConfig, paths: u8) -> Talk {
    let mut talk = setups::mptcp_client(&setups::tcp(), mptcp, paths);
    talk.play(OPENED);
    talk
}

fn server(mptcp: &MptcpConfig, paths: u8) -> Talk {
    let mut talk = setups::mptcp_server(&setups::tcp(), mptcp, paths);
    talk.play(ACCEPTED);
    talk
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

/// The second subflow of a client joins within 80 ms.
const JOINED: &str = "
    200  > [1] S 0..1 join
    240  < [1] S. 0..1 ack 1 join
    240  > [1] . ack 1 join
    280  < [1] . ack 1 dack s1";

/// The same at the server.
const LET_IN: &str = "
    120  < [1] S 0..1 join
    120  > [1] S. 0..1 ack 1 join
    160  < [1] . ack 1 join
    160  > [1] . ack 1 dack 1";

#[test]
fn the_passive_manager_opens_nothing_and_accepts() {
    let passive = manager(PathManager::Passive);
    client(&passive, 3).play(
        " 210  < . ack s1 add 1
          210  > . 1433..1433 echo 1
         9000  = subflows 1",
    );
    server(&passive, 2).play(LET_IN).play("900 = subflows 2");
}

/// Two `subflow` endpoints, limits 2 and 2: one join, since the other endpoint has the initial address; then a join to
/// an announced address that routing can reach.
#[test]
fn in_kernel_endpoints_and_limits() {
    let config = kernel(2, 2, &[(0, "subflow"), (1, "subflow")]);
    client(&config, 4).play(
        "  200  > [1] S 0..1 join
           210  < . ack s1 add 2
           210  > [2] S 0..1 join
           210  > . 1433..1433 echo 2
           # the limit of subflows is reached
           220  < . ack s1 add 3
           220  > . 1433..1433 echo 3
           # one is refused: the third address takes its place
           230  < [1] R. 0..0 ack 1 reason 2
           230  > [3] S 0..1 join
           230  = subflows 4",
    );
    client(&kernel(8, 0, &[(1, "subflow")]), 3).play(
        "  200  > [1] S 0..1 join
           210  < . ack s1 add 2
           210  > . 1433..1433 echo 2
           210  = subflows 2",
    );
}

#[test]
fn an_in_kernel_server_keeps_to_its_limit() {
    server(&kernel(1, 0, &[]), 3).play(LET_IN).play(
        " 170  < [2] S 0..1 join
          170  > [2] R. 0..0 ack 1 reason 3
          170  = subflows 2",
    );
}

/// A `signal` endpoint is announced, a `backup` endpoint says so in the SYN/ACK.
#[test]
fn an_in_kernel_server_announces() {
    server(&kernel(2, 0, &[(0, "signal"), (1, "signal backup")]), 2).play(
        " 100  > . ack 1 add 1
          120  < . ack 1 echo 1
          120  < [1] S 0..1 join
          120  > [1] S. 0..1 ack 1 join backup
          160  < [1] . ack 1 join
          160  > [1] . ack 1 dack 1",
    );
}

/// One address after the other, as captures of Linux 6.18 have it: the next one when the last one is echoed, when a subflow
/// has joined, or with the last repetition of an announcement that is not echoed.
#[test]
fn an_in_kernel_server_announces_one_address_at_a_time() {
    let config = kernel(4, 0, &[(0, "signal"), (3, "signal"), (1, "signal"), (2, "signal")]);
    server(&config, 4).play(
        "  100  > . ack 1 add 3
           150  < [3] S 0..1 join
           150  > [3] S. 0..1 ack 1 join
           # the echo is lost
           250  < [3] . ack 1 join
           250  > [3] . ack 1 dack 1
           250  > . ack 1 add 1
           350  < . ack 1 echo 1
           350  > . ack 1 add 2
          1100  > . ack 1 add 3
          1150  < . ack 1 echo 3
          1350  > . ack 1 add 2
          1400  < . ack 1 echo 2
          9000  = failure none",
    );
    let first: String = (0..4).map(|n| format!("{} > . ack 1 add 1\n", 100 + 1000 * n)).collect();
    server(&kernel(4, 0, &[(1, "signal"), (2, "signal")]), 3).play(&first).play(
        " 3100  > . ack 1 add 2
          3200  < . ack 1 echo 2
          9000  = failure none",
    );
}

/// B in the SYN: the server keeps off the subflow while another is usable, and uses it when there is no other.
#[test]
fn a_backup_carries_data_only_when_no_other_can() {
    server(&setups::mptcp(), 2).play(
        " 120  < [1] S 0..1 join backup
          120  > [1] S. 0..1 ack 1 join
          160  < [1] . ack 1 join
          160  > [1] . ack 1 dack 1
          160  write s11
          160  > . s0..s10 dsn 1
          # full, and yet the backup stays free
          200  < . ack s1 dack s1
          200  > . s10..s11 dsn s10
          210  < R. 1..1 ack s1
          210  > [1] . s0..s10 dsn s1
          210  = [1] reinjected 14320",
    );
}

/// The client of a backup says B in its SYN and does not use it itself while the other is usable.
#[test]
fn a_backup_endpoint_of_the_client() {
    client(&kernel(2, 0, &[(1, "subflow backup")]), 2).play(
        " 200  > [1] S 0..1 join backup
          240  < [1] S. 0..1 ack 1 join
          240  > [1] . ack 1 join
          280  < [1] . ack 1 dack s1
          280  write s20
          280  > . s1..s11 dsn s1
          300  < R. 1..1 ack s1
          300  > [1] . s0..s10 dsn s1",
    );
}

/// MP_CAPABLE has no B: an initial subflow that is a backup is declared by MP_PRIO.
#[test]
fn an_initial_backup_is_declared_at_once() {
    client(&kernel(2, 0, &[(0, "subflow backup")]), 1).play("200 > . ack 1 prio backup dack 1 size 56");
}

/// MP_PRIO in mid-transfer, from the peer and from this end, both ways.
#[test]
fn a_priority_changes() {
    let mut talk = client(&setups::mptcp(), 2);
    talk.play(JOINED).play(
        " 300  < . ack s1 prio backup dack s1
          300  write s3
          300  > [1] . s0..s3 dsn s1
          340  < [1] . ack s3 dack s4
          350  < . ack s1 prio dack s4
          350  backup 1
          350  > [1] . s3..s3 prio backup size 56
          350  write s2
          350  > . s1..s3 dsn s4
          360  backup 1
          370  regular 1
          370  > [1] . s3..s3 prio
          370  = subflows 2",
    );
}

/// An address leaves: the peer learns it on what is left, data on its way is sent again there.
#[test]
fn an_address_leaves() {
    let mut talk = client(&setups::mptcp(), 2);
    talk.play(JOINED).play(
        " 280  write s13
          280  > [1] . s0..s10 dsn s1
          280  > . s1..s4 dsn s11
          300  leave 0
          300  > [1] . s10..s10 remove 0 dack 1 size 56
          300  = [0] state closed
          400  < [1] . ack s10 dack s11
          400  > [1] . s10..s13 dsn s11
          400  = [1] reinjected 4296
          500  < [1] . ack s13 dack s14
          500  = acked 20048 failure none",
    );
}

/// It comes back, under another ID, and is joined anew.
#[test]
fn an_address_comes_back() {
    let mut talk = client(&setups::mptcp(), 2);
    talk.play(JOINED).play(
        " 300  leave 1
          300  > . 1433..1433 remove 1
          400  join 1
          400  > [2] S 0..1 join id 65
          400  join 1
          440  < [2] S. 0..1 ack 1 join
          440  > [2] . ack 1 join
          480  < [2] . ack 1 dack s1
          # a second time: the withdrawal names the new ID
          500  leave 1
          500  > . 1433..1433 remove 65
          500  = [2] state closed subflows 3",
    );
}

/// Without any subflow REMOVE_ADDR waits for the next one.
#[test]
fn break_before_make() {
    let mut talk = client(&setups::mptcp(), 1);
    talk.play(
        "   300  write s2
            300  > . s1..s3 dsn s1
            350  leave 0
          60349  = failure none
          60349  join 0
          60349  > [1] S 0..1 join id 64
          60389  < [1] S. 0..1 ack 1 join
          60389  > [1] . ack 1 join
          60429  < [1] . ack 1 dack s1
          60429  > [1] . ack 1 remove 0
          60429  > [1] . s0..s2 dsn s1
          60429  = failure none",
    );
    client(&setups::mptcp(), 1).play(
        "   350  leave 0
          60349  = failure none
          60350  = failure no subflow left for too long",
    );
}

/// The peer withdraws an address: its subflows are gone, their data goes elsewhere.
#[test]
fn the_peer_withdraws_an_address() {
    server(&setups::mptcp(), 2).play(LET_IN).play(
        " 160  write s12
          160  > [1] . s0..s10 dsn 1
          160  > . s0..s2 dsn s10
          200  < [1] . ack s10 remove 0 dack s10
          200  > [1] . s10..s12 dsn s10
          200  = [0] state closed
          # the client returns with a new address ID before a repeated withdrawal of the old one arrives
          210  < [2] S 0..1 join id 64
          210  > [2] S. 0..1 ack 1 join
          220  < [1] . ack s10 remove 0 dack s10
          250  < [2] . ack 1 join
          250  > [2] . ack 1 dack 1
          250  = [2] state slow-start",
    );
}

/// An address of the server that returns is announced, and joined by a client that knew it.
#[test]
fn a_returning_address_of_the_server_is_announced() {
    server(&setups::mptcp(), 2).play(LET_IN).play(
        " 200  leave 1
          200  > . ack 1 remove 1
          # nobody is there
          210  < [2] S 0..1 join over 1
          300  join 1
          300  > . ack 1 add 65
          340  < . ack 1 echo 65
          340  = failure none",
    );
    client(&setups::mptcp(), 2).play(JOINED).play(
        " 300  < . ack s1 remove 1 dack s1
          300  = [1] state closed
          400  < . ack s1 add 65 dack s1
          400  > [2] S 0..1 join
          400  > . 1433..1433 echo 65",
    );
}

/// MP_FASTCLOSE on an ACK: the other subflows are reset, the last one waits for a RST.
#[test]
fn the_application_aborts() {
    client(&setups::mptcp(), 2).play(JOINED).play(
        " 300  write s2
          300  > [1] . s0..s2 dsn s1
          310  abort
          310  > [1] R.
          310  > . 1433..1433 fastclose size 52
          310  = failure aborted by the application
          # the RTO of 250 ms passes; then the answer comes
          560  > . 1433..1433 fastclose
          700  < . ack s1 dack s1
          710  < R. 1..1 ack s1
         9000  = failure aborted by the application",
    );
}

/// No answer comes: three repetitions, then a RST that says the same.
#[test]
fn an_abort_without_an_answer() {
    client(&setups::mptcp(), 1).play(
        "  310  abort
           310  > . 1433..1433 fastclose
           560  > . 1433..1433 fastclose
          1060  > . 1433..1433 fastclose
          2060  > . 1433..1433 fastclose
          4060  > R. fastclose size 52
         99999  = failure aborted by the application",
    );
}

#[test]
fn an_abort_by_reset() {
    client(&setups::mptcp(), 2).play(JOINED).play(
        " 310  abort-reset
          310  > R. fastclose
          310  > [1] R. fastclose
          310  = failure aborted by the application",
    );
}

#[test]
fn the_peer_aborts() {
    server(&setups::mptcp(), 2).play(LET_IN).play(
        " 200  < . ack 1 fastclose forged
          200  = failure none
          210  < . ack 1 fastclose
          210  > R.
          210  > [1] R.
          210  = failure aborted by the peer
          # the RST was lost
          400  < . ack 1 fastclose
          400  > R.",
    );
    server(&setups::mptcp(), 2).play(LET_IN).play(
        " 210  < [1] R. 1..1 ack 1 fastclose
          900  = failure aborted by the peer",
    );
}

/// Both ends abort at once: each answers the other's MP_FASTCLOSE with a RST.
#[test]
fn both_ends_abort() {
    client(&setups::mptcp(), 1).play(
        " 310  abort
          310  > . 1433..1433 fastclose
          330  < . ack s1 fastclose
          330  > R.
         9000  = failure aborted by the application",
    );
}

/// Plain TCP knows only the RST.
#[test]
fn plain_tcp_aborts_with_a_reset() {
    let mut talk = setups::established(&setups::tcp(), "newreno", 100);
    talk.play("200 abort\n200 > R. 1..1 ack 1 size 40\n200 = failure aborted by the application");
}
