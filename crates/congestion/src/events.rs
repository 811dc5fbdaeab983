//! Events that a controller handles: acknowledgements and losses on its path.

use units::{Bytes, Nanos, SimTime};

/// An acknowledgement of new data outside recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// When it arrived.
    pub now: SimTime,
    /// Bytes newly acknowledged cumulatively.
    pub acked: Bytes,
    /// Bytes newly delivered, cumulatively or selectively.
    pub delivered: Bytes,
    /// Round-trip sample of this ACK, if it gave one.
    pub rtt: Option<Nanos>,
    /// Smoothed round-trip time after this ACK; zero before the first sample.
    pub srtt: Nanos,
    /// FlightSize before this ACK.
    pub flight_before: Bytes,
    /// FlightSize after this ACK.
    pub flight: Bytes,
    /// Bytes believed to be in the network after this ACK (RFC 6675 pipe).
    pub pipe: Bytes,
    /// Bytes ever deemed lost; a retransmission that was lost counts again.
    pub lost: Bytes,
    /// Receive window from `snd_una`, as advertised.
    pub rwnd: Bytes,
    /// First unacknowledged byte after this ACK, as an offset of the stream.
    pub snd_una: u64,
    /// Next byte to be sent, as an offset of the stream; an ACK beyond an earlier `snd_nxt` ends a round.
    pub snd_nxt: u64,
    /// True when the window, not the application or the receiver, limits the sender: only then may it grow.
    pub cwnd_limited: bool,
    /// It echoes a congestion mark (RFC 3168).
    pub marked: bool,
    /// Delivery rate; only for a controller that [`crate::Needs`] samples, and not with every ACK.
    pub rate: Option<RateSample>,
}

/// How fast data was delivered between the transmission of a segment and its acknowledgement
/// (draft-cheng-iccrg-delivery-rate-estimation-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: Bytes,
    /// Its length: the longer of the times in which they were sent and in which their ACKs came. Not zero.
    pub interval: Nanos,
    /// Bytes that the connection had delivered when the segment was sent.
    pub before: Bytes,
    /// Bytes that it has delivered now.
    pub total: Bytes,
    /// There was not enough data to send: the path could have done more.
    pub app_limited: bool,
}

/// The window after an idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Upper limit of cwnd.
    pub cwnd: Bytes,
    /// Least ssthresh from now on, where the restart keeps the state of growth (RFC 2861). `None`: ssthresh stays, and
    /// growth begins anew (RFC 5681 section 4.1).
    pub ssthresh: Option<Bytes>,
}

/// A congestion event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loss {
    /// When it was detected.
    pub now: SimTime,
    /// FlightSize when it was detected, without Limited Transmit.
    pub flight: Bytes,
    /// True when the window limited the sender (then cwnd and FlightSize mean the same).
    pub cwnd_limited: bool,
    /// Smoothed round-trip time.
    pub srtt: Nanos,
    /// Next byte to be sent, as an offset of the stream.
    pub snd_nxt: u64,
    /// The last ACK echoed a congestion mark (RFC 3168).
    pub marked: bool,
    /// Retransmission timeout only: true for the first timeout of this data, which alone reduces ssthresh.
    pub first_timeout: bool,
}
