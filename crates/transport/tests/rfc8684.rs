//! The MUSTs of RFC 8684, "TCP Extensions for Multipath Operation with Multiple Addresses", as conversations. Each test
//! is below the sentence that it keeps; `tools/requirements.py` compares the sentences with the list of requirements.
//! Subflow 0 has a round-trip time of 100 ms, subflow 1 of 40 ms; a full segment carries 1432 bytes.

use testkit::{Talk, setups};
use transport::config::{MptcpConfig, PathManager, RecoveryKind, TcpConfig};
use units::Bytes;

/// A client of two paths.
fn client() -> Talk {
    setups::mptcp_client(&setups::tcp(), &setups::mptcp(), 2)
}

/// A server of two paths.
fn server() -> Talk {
    setups::mptcp_server(&setups::tcp(), &setups::mptcp(), 2)
}

/// The client up to the first Data ACK.
const OPENED: &str = "
      0 open
      0 > S 0..1 capable
    100 < S. 0..1 ack 1 capable
    100 > . ack 1 capable
    100 write s1
    100 > . s0..s1 capable dsn 1
    200 < . ack s1 dack s1";

/// The second subflow of the client.
const JOINED: &str = "
    200 > [1] S 0..1 join
    240 < [1] S. 0..1 ack 1 join
    240 > [1] . ack 1 join
    280 < [1] . ack 1 dack s1";

/// The client's side of a connection on the server.
const ACCEPTED: &str = "
      0 < S 0..1 capable
      0 > S. 0..1 ack 1 capable
    100 < . ack 1 capable";

/// The second subflow of the server.
const LET_IN: &str = "
    120 < [1] S 0..1 join
    120 > [1] S. 0..1 ack 1 join
    160 < [1] . ack 1 join
    160 > [1] . ack 1 dack 1";

/// A client with two subflows.
fn joined() -> Talk {
    let mut talk = client();
    talk.play(OPENED).play(JOINED);
    talk
}

/// RFC 8684 section 3.1: "it MUST include the MP_CAPABLE on the first ACK, but without the additional data parameters."
///
/// RFC 8684 section 3.1: "new subflows MUST NOT be established (using the process documented in Section 3.2) until a DSS
/// option has been successfully received across the path"
#[test]
fn the_second_subflow_waits_for_a_data_ack() {
    client().play(
        "  0 open
           0 > S 0..1 capable
         100 < S. 0..1 ack 1 capable
         # keys alone: 20 bytes of option
         100 > . ack 1 capable size 60
         150 write s1
         150 > . s0..s1 capable dsn 1
         199 = subflows 1
         250 < . ack s1 dack s1
         250 > [1] S 0..1 join",
    );
}

/// RFC 8684 section 3.1: "the token MUST be a truncated (most significant 32 bits) SHA-256 hash [RFC6234] of the key."
///
/// RFC 8684 section 3.1: "Note that the key MUST be hashed in network byte order."
#[test]
fn tokens_are_cut_from_the_hash_of_the_key() {
    // The first eight digits of `printf '\x01\x02\x03\x04\x05\x06\x07\x08' | sha256sum`, and of the other key.
    assert_eq!(setups::CLIENT_KEY.token().0, 0x66840dda);
    assert_eq!(setups::SERVER_KEY.token().0, 0xccad45ac);
}

/// A client whose peer has no Multipath TCP, with a segment on its way.
fn fallen_back() -> Talk {
    let mut talk = client();
    talk.play(
        "  0 open
           0 > S 0..1 capable
         100 < S. 0..1 ack 1
         100 > . ack 1 plain
         100 write s1
         100 > . s0..s1 plain",
    );
    talk
}

/// RFC 8684 section 3.1: "the MPTCP session MUST operate as a regular, single-path TCP session."
#[test]
fn a_peer_without_mptcp_gets_tcp() {
    fallen_back().play(
        "200 < . ack s1
         200 = fallback yes subflows 1 acked 1432",
    );
}

/// RFC 8684 section 3.7: "Once MPTCP falls back to regular TCP, it MUST NOT revert to MPTCP later in the connection."
#[test]
fn there_is_no_way_back_from_tcp() {
    fallen_back().play(
        "         # options that come nevertheless say nothing
         200 < . ack s1 dack s1
         210 < . 1..101 ack s1 dack s1 dsn 1
         210 > . ack 101 plain
         210 write s1
         210 > . s1..s2 plain
         210 = fallback yes subflows 1 delivered 100",
    );
}

/// RFC 8684 section 3.1: "If a SYN does not contain an MP_CAPABLE option, the SYN/ACK MUST NOT contain one in response."
#[test]
fn a_plain_syn_gets_a_plain_answer() {
    server().play("0 < S 0..1\n0 > S. 0..1 ack 1 plain\n100 < . ack 1\n100 = fallback yes");
}

/// RFC 8684 section 3.1: "If the third packet (the ACK) does not contain the MP_CAPABLE option, then the session MUST fall
/// back to operating as a regular, single-path TCP session."
#[test]
fn a_plain_third_ack_means_tcp() {
    server().play(
        "  0 < S 0..1 capable
           0 > S. 0..1 ack 1 capable
         100 < . ack 1
         101 < . s0..s1 ack 1
         101 > . ack s1 plain
         101 = fallback yes delivered 1432",
    );
}

/// RFC 8684 section 3.2: "receipt of this packet MUST trigger a regular TCP ACK in response, and the packet MUST be
/// retransmitted if this ACK is not received."
#[test]
fn the_third_ack_of_a_join_is_reliable() {
    server().play(ACCEPTED).play(
        "120 < [1] S 0..1 join
         120 > [1] S. 0..1 ack 1 join
         160 < [1] . ack 1 join
         160 > [1] . ack 1 dack 1
         240 < [1] . ack 1 join
         240 > [1] . ack 1 dack 1",
    );
    client().play(OPENED).play(
        "200 > [1] S 0..1 join
         240 < [1] S. 0..1 ack 1 join
         240 > [1] . ack 1 join
         # no data until the answer
         240 write s1
         240 > . s1..s2 dsn s1
         440 > [1] . ack 1 join
         480 < [1] . ack 1 dack s1",
    );
}

/// RFC 8684 section 3.2: "the recipient MUST respond with a TCP RST for the subflow."
///
/// For an unknown token, and where the policy of the path manager does not accept the subflow.
#[test]
fn a_join_that_is_not_accepted_is_reset() {
    server().play(ACCEPTED).play("120 < [1] S 0..1 join forged\n120 > [1] R. 0..0 ack 1 reason 1");
    let none = MptcpConfig { path_manager: PathManager::InKernel(Default::default()), ..setups::mptcp() };
    setups::mptcp_server(&setups::tcp(), &none, 2)
        .play(ACCEPTED)
        .play("120 < [1] S 0..1 join\n120 > [1] R. 0..0 ack 1 reason 3");
}

/// RFC 8684 section 3.2: "If the token is accepted at Host B but the HMAC returned to Host A does not match the one
/// expected, Host A MUST close the subflow with a TCP RST."
///
/// RFC 8684 section 3.2: "If the SYN/ACK as received at Host A does not have an MP_JOIN option, Host A MUST close the
/// subflow with a TCP RST."
#[test]
fn an_answer_to_a_join_without_proof_is_reset() {
    let asked = "200 > [1] S 0..1 join";
    client().play(OPENED).play(asked).play("240 < [1] S. 0..1 ack 1 join forged\n240 > [1] R. reason 1");
    client().play(OPENED).play(asked).play("240 < [1] S. 0..1 ack 1\n240 > [1] R. reason 6");
}

/// RFC 8684 section 3.2: "If Host B does not receive the expected HMAC or the MP_JOIN option is missing from the ACK, it
/// MUST close the subflow with a TCP RST."
#[test]
fn a_third_ack_without_proof_is_reset() {
    for third in ["join forged", ""] {
        server().play(ACCEPTED).play(&format!(
            "120 < [1] S 0..1 join
             120 > [1] S. 0..1 ack 1 join
             160 < [1] . ack 1 {third}
             160 > [1] R.
             160 = [1] state closed
             160 = failure none"
        ));
    }
}

/// RFC 8684 section 3.2: "A host MUST store the mappings between Address IDs and addresses both for itself and the remote
/// host."
///
/// The second subflow comes from the address with ID 5; the peer withdraws that ID, and the subflow is closed.
#[test]
fn address_ids_are_kept() {
    server().play(ACCEPTED).play(
        "120 < [1] S 0..1 join id 5
         120 > [1] S. 0..1 ack 1 join
         160 < [1] . ack 1 join
         160 > [1] . ack 1 dack 1
         200 < . ack 1 remove 4
         200 = [1] state slow-start
         210 < . ack 1 remove 5
         210 = [1] state closed",
    );
}

/// RFC 8684 section 3.3.1: "A sender MUST NOT change this mapping after it has been declared"
///
/// RFC 8684 section 3.3.1: "The mapping provided by a Data Sequence Mapping MUST apply to some or all of the subflow
/// sequence space in the TCP segment that carries the option."
#[test]
fn a_retransmission_has_the_mapping_of_the_first() {
    joined().play(
        "300 write s3
         300 > [1] . s0..s3 dsn s1
         # the second data of the connection is the first of this subflow, even when it is sent again
         500 > [1] . s0..s1 again dsn s1
         500 > . s1..s4 dsn s1",
    );
}

/// RFC 8684 section 3.3.2: "If data is received with a 64-bit DSN, it MUST be acknowledged with a 64-bit Data ACK."
///
/// The option with a Data ACK of 64 bits takes 12 bytes, with one of 32 bits 8.
#[test]
fn a_wide_data_ack_answers_wide_sequence_numbers() {
    server().play(ACCEPTED).play("200 < . s0..s1 ack 1 dack 1 dsn 1\n200 > . ack s1 dack s1 size 52");
    let narrow = MptcpConfig { wide_sequence: false, ..setups::mptcp() };
    setups::mptcp_server(&setups::tcp(), &narrow, 1)
        .play(ACCEPTED)
        .play("200 < . s0..s1 ack 1 dack 1 dsn 1\n200 > . ack s1 dack s1 size 48");
}

/// RFC 8684 section 3.3.2: "this behavior MUST be treated as valid."
///
/// The behaviour: a Data ACK is present only in segments in which it advances.
#[test]
fn data_without_a_data_ack_is_taken() {
    server().play(ACCEPTED).play(
        "200 < . s0..s1 ack 1 dsn 1
         200 > . ack s1 dack s1
         210 < . s1..s2 ack 1 dsn s1
         210 > . ack s2 dack s2
         210 = delivered 2864 fallback no",
    );
}

/// RFC 8684 section 3.3.3: "a host MUST NOT close all functioning subflows unless it is safe to do so, i.e., until all
/// outstanding data has been DATA_ACKed or until the segment with the DATA_FIN flag set is the only outstanding segment."
///
/// RFC 8684 section 3.3.3: "Once a DATA_FIN has been acknowledged, all remaining subflows MUST be closed with standard FIN
/// exchanges."
#[test]
fn subflows_close_after_the_data_fin() {
    joined().play(
        "300 write s2
         300 > [1] . s0..s2 dsn s1
         300 close
         300 > . s1..s1 dsn s3 dfin
         340 < [1] . ack s2 dack s3
         # all data has arrived; DATA_FIN is outstanding
         400 < . ack s1 dack s3+1
         400 > F. s1..s1+1
         400 > [1] F. s2..s2+1",
    );
}

/// RFC 8684 section 3.3.4: "a receiver MUST NOT shrink the right edge of the receive window (i.e., DATA_ACK + receive
/// window)."
#[test]
fn the_right_edge_of_the_connection_stays() {
    let tcp = setups::tcp().with(|c| {
        c.buffers.receive_buffer = Bytes(14_320);
        c.buffers.receive_buffer_max = Bytes(14_320);
    });
    setups::mptcp_server(&tcp, &setups::mptcp(), 2).play(ACCEPTED).play(LET_IN).play(
        "200 < . s0..s3 ack 1 dack 1 dsn 1
         200 > . ack s3 dack s3 win 10024
         # out of order: the edge is where it was, s10
         210 < [1] . s0..s2 ack 1 dack 1 dsn s5
         210 > [1] . ack s2 dack s3 win 10024
         220 < . s3..s5 ack 1 dack 1 dsn s3
         220 > . ack s5 dack s7 win 4296",
    );
}

/// RFC 8684 section 3.3.5: "The sender MUST also remember the receive windows advertised by each subflow."
#[test]
fn each_subflow_has_a_window_of_its_own() {
    client().play(OPENED).play(
        "200 > [1] S 0..1 join
         240 < [1] S. 0..1 ack 1 join win 2864
         240 > [1] . ack 1 join
         280 < [1] . ack 1 dack s1
         # the window of the connection is wide, that of this subflow takes two segments
         280 write s20
         280 > [1] . s0..s2 dsn s1
         280 > . s1..s11 dsn s3",
    );
}

/// RFC 8684 section 3.3.6: "a host MUST still retransmit the original data on the original subflow, in order to preserve the
/// subflow's integrity"
#[test]
fn reinjected_data_is_repeated_on_its_own_subflow_too() {
    joined().play(
        " 300 write s2
          300 > [1] . s0..s2 dsn s1
          # the timeout of subflow 1: data goes to subflow 0 and again where it was
          500 > [1] . s0..s1 again dsn s1
          500 > . s1..s3 dsn s1
          600 < . ack s3 dack s3
          600 = acked 4296
          # acknowledged at the connection, and still owed to the subflow
          900 > [1] . s0..s1 again dsn s1
          940 < [1] . ack s2 dack s3",
    );
}

fn without_sack() -> TcpConfig {
    setups::tcp().with(|c| {
        c.options.sack = false;
        c.recovery.kind = RecoveryKind::NewReno;
        c.recovery.prr = false;
    })
}

/// RFC 8684 section 3: "an MPTCP implementation receiving a duplicate ACK that contains an MPTCP option MUST NOT treat it as a signal of
/// congestion."
///
/// RFC 8684 section 3.4.1: "an MPTCP implementation MUST NOT treat duplicate ACKs with any MPTCP option, with the exception
/// of the DSS option, as indications of congestion [RFC5681]"
///
/// With SACK they are no duplicates in any case, as they report nothing.
#[test]
fn signals_are_no_duplicates() {
    let passive = MptcpConfig { path_manager: PathManager::Passive, ..setups::mptcp() };
    for tcp in [setups::tcp(), without_sack()] {
        let mut talk = setups::mptcp_client(&tcp, &passive, 1);
        talk.play(OPENED).play("200 write s5\n200 > . s1..s6 dsn s1");
        for at in 300..304 {
            talk.play(&format!(
                "{at} < . ack s1 prio dack s1\n{at} = recoveries 0 cwnd 14320 state slow-start"
            ));
        }
    }
}

/// The third plain duplicate begins a recovery: the signals above do not.
#[test]
fn plain_duplicates_without_sack_count() {
    let mut talk = setups::mptcp_client(&without_sack(), &setups::mptcp(), 1);
    talk.play(OPENED).play("200 write s5\n200 > . s1..s6 dsn s1");
    talk.play("300 < . ack s1 dack s1\n301 < . ack s1 dack s1\n301 = recoveries 0");
    talk.play("302 < . ack s1 dack s1\n302 > . s1..s2 again dsn s1\n302 = recoveries 1");
}

/// RFC 8684 section 3.4.2: "A subflow that is still functioning MUST be closed with a FIN exchange as in regular TCP, rather
/// than using this option."
///
/// At the end of a connection no address is withdrawn.
#[test]
fn the_end_withdraws_no_address() {
    joined().play(
        "300 close
         300 > . s1..s1 dsn s1 dfin
         400 < . ack s1 dack s1+1
         400 > F. s1..s1+1
         400 > [1] F. 1..2
         440 < [1] F. 1..2 ack 2 dack s1+1
         440 > [1] . ack 2
         500 < F. 1..2 ack s1+1 dack s1+1
         500 > . ack 2",
    );
}

/// RFC 8684 section 3.7: "A sender MUST include a DSS option with Data Sequence Mapping in every segment until one of the
/// sent segments has been acknowledged with a DSS option containing a Data ACK."
#[test]
fn each_segment_carries_its_mapping() {
    client().play(
        "  0 open
           0 > S 0..1 capable
         100 < S. 0..1 ack 1 capable
         100 > . ack 1 capable
         100 write s4
         # both keys and the mapping in the first, the mapping in the others
         100 > . s0..s1 capable dsn 1
         100 > . s1..s4 dsn s1",
    );
}

/// RFC 8684 section 3.7: "the host MUST close the subflow with a RST, which SHOULD contain an MP_TCPRST option (Section 3.6)
/// with a "Middlebox interference" reason code."
#[test]
fn an_ack_without_a_data_ack_ends_an_additional_subflow() {
    joined().play(
        "280 write s1
         280 > [1] . s0..s1 dsn s1
         320 < [1] . ack s1
         320 > [1] R. reason 6
         320 > . s1..s2 dsn s1",
    );
}

/// RFC 8684 section 3.7: "the implementation MUST drop out of MPTCP mode and fall back to regular TCP."
#[test]
fn an_ack_without_a_data_ack_ends_mptcp_on_the_first_subflow() {
    client().play(
        "  0 open
           0 > S 0..1 capable
         100 < S. 0..1 ack 1 capable
         100 > . ack 1 capable
         100 write s1
         100 > . s0..s1 capable dsn 1
         200 < . ack s1
         200 = fallback yes subflows 1
         200 write s1
         200 > . s1..s2 plain",
    );
}
