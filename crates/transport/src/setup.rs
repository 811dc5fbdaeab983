//! The parts that a connection is made from.

use std::fmt;
use std::sync::Arc;

use congestion::CongestionControl;
use schedulers::Scheduler;
use units::Bytes;

use crate::address::AddressPair;
use crate::config::{MptcpConfig, PacingRule, TcpConfig};
use crate::mptcp::keys::Key;
use crate::role::Role;

/// Makes the congestion control of one path.
pub type NewCongestion = Arc<dyn Fn(&congestion::Setup) -> Box<dyn CongestionControl> + Send + Sync>;

/// The parts that a connection is made from.
pub struct Setup {
    /// TCP parameters, of each subflow too.
    pub tcp: Arc<TcpConfig>,
    /// Called once per subflow.
    pub congestion: NewCongestion,
    /// MPTCP parameters and the scheduler; `None`: plain TCP.
    pub mptcp: Option<(Arc<MptcpConfig>, Box<dyn Scheduler>)>,
    /// Which end this is.
    pub role: Role,
    /// Addresses of the first subflow, seen from this end.
    pub first: AddressPair,
    /// Client: the pairs of an own address and an address of the server that its configuration lists. Empty at a
    /// server, which learns the client's addresses from SYNs and ADD_ADDR.
    pub pairs: Vec<AddressPair>,
    /// Server: its own addresses that it may announce. Empty at a client.
    pub own: Vec<u8>,
    /// Addresses of this end, and those configured of the peer, that do not exist at the start.
    pub absent: [Vec<u8>; 2],
    /// Random key of this end (MPTCP).
    pub key: Key,
    /// Seed of the random numbers in MP_JOIN.
    pub nonce_seed: u64,
}

impl Setup {
    /// The congestion control of a path with this MSS.
    pub(crate) fn new_congestion(&self, mss: Bytes) -> Box<dyn CongestionControl> {
        new_congestion(&self.tcp, &self.congestion, mss)
    }
}

/// The congestion control of a path with this MSS.
pub(crate) fn new_congestion(
    tcp: &TcpConfig,
    make: &NewCongestion,
    mss: Bytes,
) -> Box<dyn CongestionControl> {
    make(&congestion::Setup {
        mss,
        initial_window: mss * u64::from(tcp.window.initial_window),
        initial_ssthresh: tcp.window.initial_ssthresh,
        growth: tcp.window.growth,
        ssthresh_from: tcp.window.ssthresh_from,
        paced: tcp.sending.pacing,
        offload: tcp.sending.pacing_rule == PacingRule::Linux,
    })
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("role", &self.role).field("first", &self.first).finish_non_exhaustive()
    }
}
