//! The MUSTs of RFC 6675, "A Conservative Loss Recovery Algorithm Based on Selective Acknowledgment (SACK) for TCP", as
//! conversations. Each test is below the sentence that it keeps; `tools/requirements.py` compares the sentences with the
//! list of requirements. Segments are 1460 bytes, the round trip takes 100 ms, ten segments are outstanding.

use testkit::{Talk, setups};
use transport::config::SendBuffer;
use units::Bytes;

fn established() -> Talk {
    setups::established(&setups::tcp(), "newreno", 100)
}

/// RFC 6675 section 4: "SACKed data MUST NOT be removed from the TCP's retransmission buffer until the data is
/// cumulatively acknowledged [RFC2018]."
#[test]
fn reported_data_stays_in_the_buffer() {
    let config = setups::tcp().with(|c| c.buffers.send_buffer = SendBuffer::Fixed(Bytes(14_600)));
    setups::established(&config, "newreno", 100).play(
        "100 write s10
         100 > . s0..s10
         200 < . ack 1 sack s1..s3
         200 = space 0 acked 0
         300 < . ack s3
         300 = space 4380 acked 4380",
    );
}

/// RFC 6675 section 4: "MUST set the "pipe" variable to an estimate of the number of octets that are currently in transit
/// between the TCP sender and the TCP receiver."
///
/// RFC 6675 section 5: "Upon the receipt of any ACK containing SACK information, the scoreboard MUST be updated via the
/// Update () routine."
#[test]
fn the_pipe_leaves_out_what_arrived_and_what_is_lost() {
    established().play(
        "100 write s10
         100 > . s0..s10
         100 = pipe 14600
         # of a cumulative acknowledgement too
         200 < . ack s1 sack s2..s4
         200 = pipe 10220
         # s1 is lost and sent again: out of the pipe and in once more
         201 < . ack s1 sack s2..s5
         201 > . s1..s2 again
         201 = pipe 8760
         202 < . ack s1 sack s2..s6
         202 = pipe 7300",
    );
}

/// RFC 6675 section 4: "the sequence range of one segment of up to SMSS octets starting with S2 MUST be returned."
///
/// RFC 6675 section 4: "the sequence range of one segment of up to SMSS octets of previously unsent data starting with
/// sequence number HighData+1 MUST be returned."
///
/// RFC 6675 section 5: "The scoreboard MUST be queried via NextSeg () for the sequence number range of the next segment to
/// transmit (if any), and the given segment sent."
#[test]
fn lost_segments_come_before_new_ones() {
    established().play(
        "100 write s12
         100 > . s0..s10
         # 0 and 4 are lost
         200 < . ack 1 sack s1..s4
         200 > . s0..s1 again
         201 < . ack 1 sack s1..s4 s5..s8
         201 > . s4..s5 again
         201 > . s10..s11
         201 = pipe 7300 cwnd 7300",
    );
}

/// RFC 6675 section 4: "one segment of up to SMSS octets that MUST include the highest outstanding unSACKed sequence
/// number SHOULD be returned"
///
/// RFC 6675 section 4: "HighRxt MUST NOT be updated."
///
/// RFC 6675 section 4: "then NextSeg () MUST indicate failure, and no segment is returned."
#[test]
fn one_rescue_retransmission() {
    established().play(
        "100 write s10
         100 > . s0..s10
         # 0, 8 and 9 are lost
         200 < . ack 1 sack s1..s4
         200 > . s0..s1 again
         # there is room and nothing to send
         204 < . ack 1 sack s1..s8
         204 = pipe 4380 cwnd 7300
         300 < . ack s8
         300 > . s9..s10 again
         301 < . ack s8
         # s8 is below the rescued segment and is still due
         400 < . ack s8 sack s9..s10
         400 > . s8..s9 again",
    );
}

/// Segments of 100 bytes: the reported bytes say nothing of a loss, only the count of duplicates does.
fn small() -> Talk {
    let mut talk = established();
    for n in 0..9 {
        talk.play(&format!("100 write 100\n100 > . {}..{}", 1 + 100 * n, 101 + 100 * n));
    }
    talk
}

/// RFC 6675 section 5: "the TCP MUST increase DupAcks by one and take the following steps:"
#[test]
fn three_duplicates_are_enough() {
    small().play(
        "200 < . ack 1 sack 101..201
         201 < . ack 1 sack 101..301
         201 = recoveries 0
         202 < . ack 1 sack 101..401
         202 > . 1..101 again
         202 = recoveries 1",
    );
}

/// RFC 6675 section 5: "If the incoming ACK is a cumulative acknowledgment, the TCP MUST reset DupAcks to zero."
#[test]
fn a_cumulative_acknowledgement_resets_the_count() {
    small().play(
        "200 < . ack 1 sack 101..201
         201 < . ack 1 sack 101..301
         202 < . ack 301
         203 < . ack 301 sack 401..501
         204 < . ack 301 sack 401..601
         204 = recoveries 0
         205 < . ack 301 sack 401..701
         205 > . 301..401 again
         205 = recoveries 1",
    );
}

/// RFC 6675 section 5: "An incoming cumulative ACK for a sequence number greater than RecoveryPoint signals the end of
/// loss recovery, and the loss recovery phase MUST be terminated."
///
/// RFC 6675 section 5: "HighRxt MUST be set to the highest sequence number of the retransmitted segment unless NextSeg ()
/// rule (4) was invoked for this retransmission."
#[test]
fn recovery_ends_at_its_point() {
    established().play(
        "100 write s10
         100 > . s0..s10
         # 0 and 5 are lost
         200 < . ack 1 sack s1..s5
         200 > . s0..s1 again
         # 0 is not sent a third time
         201 < . ack 1 sack s1..s5 s6..s8
         201 > . s5..s6 again
         202 < . ack 1 sack s1..s5 s6..s9
         203 < . ack 1 sack s1..s5 s6..s10
         300 < . ack s5 sack s6..s10
         300 = state recovery
         302 < . ack s10
         302 = state avoidance recoveries 1",
    );
}

/// RFC 6675 section 5.1: "If an RTO occurs during loss recovery as specified in this document, RecoveryPoint MUST be set
/// to HighData."
///
/// RFC 6675 section 5.1: "the new value of RecoveryPoint MUST be preserved and the loss recovery algorithm outlined in
/// this document MUST be terminated."
///
/// RFC 6675 section 5.1: "a new recovery phase (as described in Section 5) MUST NOT be initiated until HighACK is greater
/// than or equal to the new value of RecoveryPoint."
#[test]
fn no_recovery_for_data_before_a_timeout() {
    established().play(
        "100 write s30
         100 > . s0..s10
         200 < . ack 1 sack s1..s4
         200 > . s0..s1 again
         200 = state recovery
         450 > . s0..s1 again
         450 = state loss recoveries 1
         550 < . ack s4
         550 > . s4..s6 again
         # three segments above a hole
         650 < . ack s4 sack s5..s8
         650 > . s8..s9 again
         650 = state loss recoveries 1 ssthresh 7300",
    );
}
