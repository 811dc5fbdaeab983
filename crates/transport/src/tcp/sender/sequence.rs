//! The outgoing stream in sequence numbers: acknowledged, sent and waiting data.

use std::collections::VecDeque;

use units::Bytes;

use crate::mptcp::option::{Mapped, Margin};
use crate::seq::{Dsn, Seq};
use crate::tcp::ranges::Range;

/// snd_una, snd_nxt and the data behind them.
///
/// Order: `previous_una <= una <= nxt`, and `nxt <= end` before the FIN, `end + 1` after it.
#[derive(Debug)]
pub(super) struct SendSequence {
    /// First unacknowledged sequence number.
    una: Seq,
    /// `una` before it last advanced (ACK heuristic of RFC 6582 section 4.1).
    previous_una: Seq,
    /// Next sequence number to send.
    nxt: Seq,
    /// Sequence number after the last byte given by the owner.
    end: Seq,
    /// Chunks of a mapped stream, in sending order; empty for plain TCP, whose stream needs no description.
    unsent: VecDeque<Range<Dsn>>,
    /// The stream is made of chunks of another one (MPTCP).
    mapped: bool,
    /// The owner has no more data: a FIN follows the stream.
    closing: bool,
    fin_sent: bool,
    /// Payload of a full segment; below the configured MSS where MPTCP options take their share.
    mss: u64,
    /// After the last segment that was not full.
    small_end: Seq,
    /// Chunks are buffers of the kernel, made of fragments.
    fragments: bool,
    /// Segments name the mapping of their whole chunk.
    whole: bool,
    /// Bytes of the first chunk that have left.
    begun: u64,
}

/// `MPTCP_MAX_GSO_SIZE`: 64 KiB without headers.
const LARGEST_BUFFER: u64 = 65_535 - 320;

/// Payload that leaves for the first time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    pub seq: Seq,
    pub mapped: Mapped,
}

impl SendSequence {
    /// Nothing given; the SYN is number 0.
    pub(super) fn new(mss: Bytes, mapped: bool) -> Self {
        Self {
            una: Seq::FIRST_DATA,
            previous_una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA,
            end: Seq::FIRST_DATA,
            unsent: VecDeque::new(),
            mapped,
            closing: false,
            fin_sent: false,
            mss: mss.0,
            small_end: Seq::FIRST_DATA,
            fragments: false,
            whole: false,
            begun: 0,
        }
    }

    /// Segments carry less from now on.
    pub(super) fn shorten_segments(&mut self, mss: Bytes) {
        debug_assert!(mss.0 <= self.mss, "segments grow from {} to {mss}", self.mss);
        self.mss = mss.0;
    }

    /// A segment that was not full is outstanding.
    #[inline]
    pub(super) fn has_small_outstanding(&self) -> bool {
        self.small_end > self.una
    }

    #[inline]
    pub(super) fn una(&self) -> Seq {
        self.una
    }

    #[inline]
    pub(super) fn nxt(&self) -> Seq {
        self.nxt
    }

    #[inline]
    pub(super) fn mss(&self) -> u64 {
        self.mss
    }

    #[inline]
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped
    }

    /// The owner has no more data.
    #[inline]
    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// The FIN has been sent.
    #[inline]
    pub(super) fn fin_sent(&self) -> bool {
        self.fin_sent
    }

    /// The stream ends with what was given, and its FIN has not been sent.
    #[inline]
    pub(super) fn owes_fin(&self) -> bool {
        self.closing && !self.fin_sent
    }

    /// Bytes given and not acknowledged.
    #[inline]
    pub(super) fn unacked(&self) -> u64 {
        self.end.0.saturating_sub(self.una.0)
    }

    /// Bytes given and not sent.
    #[inline]
    pub(super) fn unsent(&self) -> u64 {
        self.end.0.saturating_sub(self.nxt.0)
    }

    /// Bytes by which the last cumulative ACK advanced.
    pub(super) fn last_advance(&self) -> u64 {
        self.una.0 - self.previous_una.0
    }

    /// Payload that one segment could carry next: a full segment, or less if a mapping or the data ends.
    #[inline]
    pub(super) fn next_len(&self) -> u64 {
        let available = match self.unsent.front() {
            Some(chunk) => chunk.len(),
            None => self.unsent(),
        };
        available.min(self.mss)
    }

    /// The stream of plain TCP grows by `len` bytes.
    pub(super) fn extend(&mut self, len: Bytes) {
        debug_assert!(!self.mapped, "a mapped stream grows by chunks");
        self.end += len;
        self.check();
    }

    /// The stream grows by `data` of the connection's stream.
    pub(super) fn give(&mut self, data: Range<Dsn>) {
        debug_assert!(self.mapped && !data.is_empty(), "{data:?} for {self:?}");
        let len = data.len();
        self.end = Seq(self.end.0 + len);
        let untouched = !self.whole || self.unsent.len() > 1 || self.begun == 0;
        match self.unsent.back_mut() {
            // Adjacent chunks that would not fill a segment together may merge; others keep segment boundaries.
            Some(last) if untouched && last.end == data.start && last.len() + len <= self.mss => {
                last.end = data.end;
            }
            _ => self.unsent.push_back(data),
        }
        self.check();
    }

    /// As `give`, into the last chunk as far as that has room and nothing of it has left (`mptcp_skb_can_collapse_to`). `whole`: segments
    /// name the mapping of their whole chunk; then no chunk is taken back or parted once some of it has left.
    pub(super) fn give_fragment(&mut self, data: Range<Dsn>, whole: bool) {
        debug_assert!(self.mapped && !data.is_empty(), "{data:?} for {self:?}");
        self.fragments = true;
        // Segments of data that is sent again may have left before, each with its own mapping.
        self.whole = whole && (self.whole || self.begun == 0);
        self.end = Seq(self.end.0 + data.len());
        // A segment at least, though it may be larger than a buffer.
        let most = (LARGEST_BUFFER / self.mss).max(1) * self.mss;
        let untouched = self.unsent.len() > 1 || self.begun == 0;
        let mut rest = data;
        if let Some(last) = self.unsent.back_mut().filter(|last| untouched && last.end == data.start) {
            let fits = Bytes(most.saturating_sub(last.len()).min(data.len()));
            last.end += fits;
            rest.start += fits;
        }
        while !rest.is_empty() {
            let end = rest.end.min(rest.start + Bytes(most));
            self.unsent.push_back(Range::new(rest.start, end));
            rest.start = end;
        }
        self.check();
    }

    /// A small segment that ends the last buffer, which may be filled up, waits while another is outstanding (`tcp_minshall_check`,
    /// `tcp_mss_split_point`).
    #[inline]
    pub(super) fn holds_tail(&self, len: u64) -> bool {
        self.fragments
            && len < self.mss
            && self.unsent.len() == 1
            && !self.closing
            && self.has_small_outstanding()
    }

    /// As `give`, but ahead of queued data with higher data sequence numbers.
    pub(super) fn give_ahead(&mut self, data: Range<Dsn>) {
        let Some(i) = self.unsent.iter().position(|chunk| chunk.start > data.start) else {
            self.give(data);
            return;
        };
        self.end = Seq(self.end.0 + data.len());
        debug_assert!(!self.whole || i > 0 || self.begun == 0, "{data:?} parts a mapping: {self:?}");
        if i == 0 {
            self.begun = 0;
        }
        self.unsent.insert(i, data);
        self.check();
    }

    /// Takes back what was given and not sent: it has no sequence numbers yet.
    pub(super) fn take_unsent(&mut self) -> impl Iterator<Item = Range<Dsn>> {
        self.end = self.end.min(self.nxt);
        self.begun = 0;
        self.unsent.drain(..)
    }

    /// The stream ends with what was given.
    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Everything below `ack` has arrived.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: Seq) {
        debug_assert!(self.una < ack && ack <= self.nxt, "{ack} outside {}..={}", self.una, self.nxt);
        self.previous_una = self.una;
        self.una = ack;
        self.check();
    }

    /// The next `len` bytes of the stream leave.
    #[inline]
    pub(super) fn advance(&mut self, len: u64) -> Fresh {
        debug_assert!(0 < len && len <= self.next_len(), "a segment of {len} bytes from {}", self.next_len());
        let mapped = if self.mapped { self.advance_chunk(len) } else { Mapped::default() };
        let seq = self.nxt;
        self.nxt = Seq(seq.0 + len);
        if len < self.mss {
            self.small_end = self.nxt;
        }
        self.check();
        Fresh { seq, mapped }
    }

    /// The next `len` bytes of the first chunk leave.
    #[inline]
    fn advance_chunk(&mut self, len: u64) -> Mapped {
        let Some(chunk) = self.unsent.front_mut() else { return Mapped::default() };
        let dsn = chunk.start;
        let margin = if self.whole { margin(self.begun, chunk.len(), len) } else { Margin::default() };
        chunk.start += Bytes(len);
        self.begun += len;
        if chunk.is_empty() {
            self.unsent.pop_front();
            self.begun = 0;
        }
        Mapped { dsn, margin }
    }

    /// The stream grows by `data` of the connection's stream, a full segment that leaves at once. Nothing waits before it.
    #[inline]
    pub(super) fn pass(&mut self, data: Range<Dsn>) -> Fresh {
        debug_assert!(
            self.mapped && self.unsent() == 0 && data.len() == self.mss,
            "{data:?} through {self:?}"
        );
        let seq = self.nxt;
        self.nxt = Seq(seq.0 + data.len());
        self.end = self.nxt;
        self.check();
        Fresh { seq, mapped: Mapped::alone(data.start) }
    }

    /// The FIN leaves; it occupies one sequence number.
    pub(super) fn advance_fin(&mut self) -> Fresh {
        debug_assert!(self.owes_fin() && self.unsent() == 0, "a FIN ends the stream, once");
        let seq = self.nxt;
        self.fin_sent = true;
        self.nxt = Seq(seq.0 + 1);
        self.check();
        Fresh { seq, mapped: Mapped::default() }
    }

    #[inline]
    fn check(&self) {
        debug_assert!(self.previous_una <= self.una && self.una <= self.nxt, "{self:?}");
        debug_assert!(
            self.nxt.0 <= self.end.0 + u64::from(self.fin_sent),
            "sent what was not given: {self:?}"
        );
        debug_assert!(!self.fin_sent || self.closing, "a FIN before the end of the stream");
        debug_assert!(self.mapped || self.unsent.is_empty(), "chunks without a mapping");
        debug_assert!(
            !self.mapped || self.unsent.iter().map(|chunk| chunk.len()).sum::<u64>() == self.unsent(),
            "chunks do not sum to what is unsent: {self:?}"
        );
    }
}

/// The mapping of a chunk around the next `len` bytes of it, of which `begun` bytes have left and `left` have not.
#[inline]
fn margin(begun: u64, left: u64, len: u64) -> Margin {
    // A chunk that no option could name is one of segments larger than that.
    if begun + left > u64::from(u16::MAX) {
        return Margin::default();
    }
    Margin { before: begun as u16, after: (left - len) as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn data(start: u64, end: u64) -> Range<Dsn> {
        Range::new(Dsn(start), Dsn(end))
    }

    /// First sequence number, data sequence number and margin of the segment of `len` bytes that leaves.
    fn leaves(send: &mut SendSequence, len: u64) -> (u64, u64, [u16; 2]) {
        let Fresh { seq, mapped: Mapped { dsn, margin: Margin { before, after } } } = send.advance(len);
        (seq.0, dsn.0, [before, after])
    }

    #[test]
    fn segments_name_the_mapping_of_their_chunk() {
        let mut send = SendSequence::new(Bytes(MSS), true);
        send.give_fragment(data(501, 1501), true);
        send.give_fragment(data(1501, 3001), true);
        assert_eq!(leaves(&mut send, MSS), (1, 501, [0, 1500]));
        // A chunk that has left in part grows no more, by fragments or by data that is sent again.
        send.give_fragment(data(3001, 3401), true);
        assert_eq!(leaves(&mut send, 700), (1001, 1501, [1000, 800]));
        assert_eq!(leaves(&mut send, 800), (1701, 2201, [1700, 0]));
        assert_eq!(leaves(&mut send, 300), (2501, 3001, [0, 100]));
        send.give(data(3401, 3601));
        assert_eq!(leaves(&mut send, 100), (2801, 3301, [300, 0]));
        assert_eq!(leaves(&mut send, 200), (2901, 3401, [0, 0]));
    }

    #[test]
    fn a_chunk_that_has_begun_keeps_its_form() {
        let mut send = SendSequence::new(Bytes(MSS), true);
        send.give(data(1, 2501));
        assert_eq!(leaves(&mut send, MSS), (1, 1, [0, 0]));
        send.give_fragment(data(5001, 6001), true);
        assert_eq!(leaves(&mut send, MSS), (1001, 1001, [0, 0]));
        assert_eq!(leaves(&mut send, 500), (2001, 2001, [0, 0]));
        send.give_fragment(data(6001, 7001), true);
        assert_eq!(leaves(&mut send, MSS), (2501, 5001, [0, 1000]));
    }

    #[test]
    fn segments_whose_chunk_may_be_parted_name_their_own() {
        let mut send = SendSequence::new(Bytes(MSS), true);
        send.give_fragment(data(501, 3001), false);
        assert_eq!(leaves(&mut send, MSS), (1, 501, [0, 0]));
        send.give_ahead(data(1, 501));
        assert_eq!(leaves(&mut send, 500), (1001, 1, [0, 0]));
        assert_eq!(leaves(&mut send, MSS), (1501, 1501, [0, 0]));
    }

    /// Chunks end before the length field of a mapping does, unless segments are larger than that.
    #[test]
    fn a_mapping_fits_into_its_field() {
        let mut send = SendSequence::new(Bytes(MSS), true);
        send.give_fragment(data(1, 200_001), true);
        let mut ends = Vec::new();
        while send.unsent() > 0 {
            let len = send.next_len();
            let (seq, _, [_, after]) = leaves(&mut send, len);
            ends.extend((after == 0).then_some(seq));
        }
        assert_eq!(ends, [64_001, 129_001, 194_001, 199_001]);
        let mut send = SendSequence::new(Bytes(70_000), true);
        send.give_fragment(data(1, 70_001), true);
        assert_eq!(leaves(&mut send, 3000), (1, 1, [0, 0]));
    }
}
