//! The view that coupled controllers have of the paths of their connection.

/// State of one path that the controllers of its connection may read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathView {
    /// Window in bytes; the slow-start threshold while the path is in recovery.
    pub cwnd: f64,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub srtt: f64,
    /// Payload bytes of a full segment.
    pub mss: f64,
    /// Takes part in coupling: established, sampled, neither closed nor potentially failed. Then `srtt` is not 0.
    pub coupled: bool,
    /// 1 / `srtt` in 1/s where the path takes part in coupling, else 0: sums over all paths, computed for each ACK, then
    /// need neither divisions nor conditions.
    pub inverse_srtt: f64,
    /// [`crate::SharedState::loss_interval`] of its controller, in bytes; 0 without one.
    pub loss_interval: f64,
    /// [`crate::SharedState::measured_rate`] of its controller, in bytes per second; 0 without one.
    pub measured_rate: f64,
    /// [`crate::SharedState::threshold`] of its controller, in bytes; 0 without one.
    pub threshold: f64,
}

impl PathView {
    /// A path with this window in bytes, round-trip time in seconds and MSS in bytes, whose controller shares no state.
    pub fn new(cwnd: f64, srtt: f64, mss: f64, coupled: bool) -> Self {
        let mut view = Self::default();
        view.update(cwnd, srtt, mss, coupled);
        view
    }

    /// The same in place; what its controller shares stays.
    #[inline]
    pub fn update(&mut self, cwnd: f64, srtt: f64, mss: f64, coupled: bool) {
        (self.cwnd, self.srtt, self.mss) = (cwnd, srtt, mss);
        self.coupled = coupled && srtt > 0.0;
        self.inverse_srtt = if self.coupled { srtt.recip() } else { 0.0 };
    }
}

/// All paths of the connection, as they were before the present event, and the one that the event is on.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    /// By subflow index; empty with plain TCP, which has no siblings.
    pub all: &'a [PathView],
    /// The path of this controller.
    pub me: usize,
}

impl Paths<'_> {
    /// The path of a plain TCP connection.
    pub const ALONE: Self = Paths { all: &[], me: 0 };
}
