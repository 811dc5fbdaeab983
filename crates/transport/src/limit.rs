//! The limit that keeps a sender from transmitting at an instant, as an answer beside "there is no segment now".
//!
//! Exactly one limit holds at any instant, so the times spent in each of them sum to the lifetime of a flow. The
//! definitions are those of `tcp_info` in Linux (`tcp_chrono_start` in net/ipv4/tcp_output.c) where it has them:
//!
//! | Limit | Linux |
//! |---|---|
//! | `ReceiveWindow` | `tcpi_rwnd_limited`: the congestion window has room, and the next segment does not fit into the offered window |
//! | `SendBuffer` | `tcpi_sndbuf_limited`: everything is sent, the congestion window has room, and the application waits for space |
//! | all but `Application`, `Handshake` and `PathDown` | within `tcpi_busy_time`: there is data that is not acknowledged |
//!
//! Deviation: `tcpi_busy_time` also covers the time in which all data is sent and waits for its acknowledgement. That
//! is `Application` here: more data could leave, but there is none.

use std::fmt;

/// The reason why nothing (more) is transmitted now. A segment that could have left for one reason is held by the
/// first limit that it meets, in the order in which Linux asks: path, handshake, pacing, recovery, data, congestion
/// window, receive window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// There is no data to send: the application has written nothing more, or has closed. Also a small segment that
    /// Nagle's algorithm holds back (RFC 9293 section 3.7.4): the next write would release it.
    #[default]
    Application,
    /// cwnd is used up by bytes in flight (RFC 5681), outside loss recovery. Also while a segment waits for a send quantum because
    /// cwnd has less room than the window that the peer offers.
    CongestionWindow,
    /// The next segment does not fit into the window that the peer offers, including a fragment that sender-side silly
    /// window avoidance holds back (RFC 9293 section 3.8.6.2.1), and including `flight_limit` of the configuration. Also while a segment
    /// waits for a send quantum because this window has no more room than cwnd.
    ReceiveWindow,
    /// All data is sent, the windows have room, and the application has more to write than the send buffer accepts.
    SendBuffer,
    /// Data and window permit a segment, but its transmission time has not come.
    Pacing,
    /// MPTCP: the subflow has room and the connection has data, and the scheduler gives it none.
    Scheduler,
    /// A loss episode is being repaired (fast recovery, or after a timeout), and its window is used up. It is usually
    /// smaller than cwnd.
    Recovery,
    /// The connection or subflow is not established yet.
    Handshake,
    /// The subflow or connection was given up or reset, its address is gone, or the sender has concluded from a
    /// timeout that the link is down and waits for any sign of life.
    PathDown,
}

impl Limit {
    /// Number of limits; `code` is below it.
    pub const COUNT: usize = Self::ALL.len();

    /// Every limit, in the order of `code`.
    pub const ALL: [Self; 9] = [
        Self::Application,
        Self::CongestionWindow,
        Self::ReceiveWindow,
        Self::SendBuffer,
        Self::Pacing,
        Self::Scheduler,
        Self::Recovery,
        Self::Handshake,
        Self::PathDown,
    ];

    /// Its number in time series, and its index where time is summed by limit.
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Its name, as records list it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::CongestionWindow => "congestion_window",
            Self::ReceiveWindow => "receive_window",
            Self::SendBuffer => "send_buffer",
            Self::Pacing => "pacing",
            Self::Scheduler => "scheduler",
            Self::Recovery => "recovery",
            Self::Handshake => "handshake",
            Self::PathDown => "path_down",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_index_the_list() {
        for (i, limit) in Limit::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(limit.code()), i, "{limit}");
        }
        assert_eq!(Limit::COUNT, 9);
    }
}
