//! Configurations for the unit tests of this crate.

use congestion::Growth;
use units::{Bytes, Nanos};

use crate::config::{
    AckConfig, MptcpConfig, PathManager, RecoveryKind, Reinjection, RtoConfig, RtoFloor, SendBuffer,
    TcpConfig,
};

/// A plain configuration: MSS 1460, SACK, an ACK per segment, unlimited buffers.
pub(crate) fn tcp_config() -> TcpConfig {
    TcpConfig {
        mss: Bytes(1460),
        header: Bytes(40),
        overhead: Bytes(0),
        initial_window: 10,
        initial_ssthresh: Bytes::MAX,
        growth: Growth { slow_start_limit: 1, byte_counting: true },
        rto: RtoConfig {
            initial: Nanos::from_secs(1),
            min: Nanos::from_millis(200),
            max: Nanos::from_secs(60),
            granularity: Nanos::from_millis(1),
            floor: RtoFloor::Total,
        },
        syn_retries: 6,
        retries: 15,
        ack: AckConfig { every: 1, delay: Nanos::from_millis(40), quick: 0 },
        sack: true,
        timestamps: false,
        recovery: RecoveryKind::Sack,
        prr: false,
        dupthresh: 3,
        limited_transmit: true,
        nagle: false,
        idle_restart: true,
        window_scaling: true,
        receive_buffer: Bytes(100_000_000),
        receive_buffer_max: Bytes(100_000_000),
        send_buffer: SendBuffer::Fixed(Bytes(100_000_000)),
    }
}

/// One subflow per path, reinjection at timeouts.
pub(crate) fn mptcp_config() -> MptcpConfig {
    MptcpConfig {
        path_manager: PathManager::PerPath { subflows: 1 },
        reinjection: Reinjection::Timeout,
        checksum: false,
        wide_sequence: true,
        peer_capable: true,
    }
}
