use units::Bytes;

use super::*;
use crate::config::CwndCounts;
use crate::mptcp::option::Mapped;

const MSS: u64 = 1460;

fn ten_segments() -> Scoreboard {
    let mut board = Scoreboard::default();
    for n in 0..10 {
        board.push(Sent::new(Seq(1 + n * MSS), (MSS as u32, false), Mapped::default(), SimTime(n)));
    }
    board
}

fn segment(n: u64) -> Range<Seq> {
    Range::new(Seq(1 + n * MSS), Seq(1 + (n + 1) * MSS))
}

fn lost(board: &Scoreboard) -> Vec<u64> {
    board.iter().filter(|s| s.lost).map(|s| (s.seq.0 - 1) / MSS).collect()
}

/// The scoreboard part of test vector SACK-1: pipe and IsLost while SACKs arrive.
#[test]
fn sack_1_pipe() {
    let mut board = ten_segments();
    let mut change = Change::default();
    for n in [1, 2, 4] {
        board.sack(segment(n), &mut change);
    }
    board.mark_lost_below(board.lost_threshold(3, MSS));
    assert_eq!(lost(&board), [0]);
    assert_eq!(board.pipe(), 8760);
    board.retransmit(Seq(1), SimTime(20));
    assert_eq!(board.pipe(), 10220);
    board.sack(segment(5), &mut change);
    board.mark_lost_below(board.lost_threshold(3, MSS));
    assert_eq!((lost(&board), board.pipe()), (vec![0], 8760));
    board.sack(segment(6), &mut change);
    board.mark_lost_below(board.lost_threshold(3, MSS));
    assert_eq!((lost(&board), board.pipe()), (vec![0, 3], 5840));
    assert_eq!(board.next_lost().map(|s| s.seq), Some(segment(3).start));
    board.check();
}

#[test]
fn an_ack_takes_marks_along_and_samples_follow_karn() {
    let mut board = ten_segments();
    board.mark_lost_on_timeout(|_| true);
    board.retransmit(Seq(1), SimTime(50));
    let mut change = Change::default();
    board.ack(segment(1).end, &mut change);
    assert_eq!((change.acked, change.delivered.bytes, change.oldest_clean), (2 * MSS, 2 * MSS, None));
    assert_eq!(change.latest.map(|l| l.sent_at), Some(SimTime(50)));
    assert_eq!(board.pipe(), 0);
    board.check();
}

/// Ten segments of 100 bytes in windows of segments: those SACKed, lost and sent again count a whole MSS each, and a
/// segment that is acknowledged in part still counts.
#[test]
fn short_segments_count_whole_ones() {
    let mut board = Scoreboard::new(Counted::new(CwndCounts::Segments, Bytes(MSS)));
    for n in 0..10 {
        board.push(Sent::new(Seq(1 + n * 100), (100, false), Mapped::default(), SimTime(n)));
    }
    let mut change = Change::default();
    board.sack(Range::new(Seq(201), Seq(501)), &mut change);
    assert_eq!((board.sacked_counted(), board.pipe_counted()), (3 * MSS, 7 * MSS));
    board.mark_lost_below(Seq(201));
    assert_eq!((board.pipe_counted(), board.not_given_up_counted()), (5 * MSS, 8 * MSS));
    board.retransmit(Seq(1), SimTime(20));
    assert_eq!(board.pipe_counted(), 6 * MSS);
    board.ack(Seq(51), &mut change);
    assert_eq!((board.outstanding(), board.outstanding_counted()), (950, 10 * MSS));
    board.check();
    board.ack(Seq(301), &mut change);
    assert_eq!((board.outstanding_counted(), board.pipe_counted()), (7 * MSS, 5 * MSS));
    assert_eq!(change.delivered, Tally { bytes: 500, segments: 5 });
    board.check();
}

#[test]
fn repeated_and_partial_blocks_count_once() {
    let mut board = ten_segments();
    let mut change = Change::default();
    board.sack(Range::new(segment(2).start, segment(3).end), &mut change);
    board.sack(Range::new(segment(2).start, segment(4).end + Bytes(10)), &mut change);
    board.sack(Range::new(segment(9).end, segment(9).end + Bytes(999)), &mut change);
    assert_eq!(change.sacked, 3 * MSS);
    board.check();
}
