//! Defaults that suit tests: SACK-based recovery, an ACK per segment, buffers that do not bind. Scenarios fill every field
//! from a profile.

use congestion::{Growth, SsthreshFrom};
use units::{Bytes, Nanos};

use super::*;

impl Default for SegmentConfig {
    /// Ethernet over IPv4, without options.
    fn default() -> Self {
        Self { mss: Bytes(1460), header: Bytes(40), overhead: Bytes(0) }
    }
}

impl Default for WindowConfig {
    /// Ten segments, and no limits.
    fn default() -> Self {
        Self {
            initial_window: 10,
            initial_ssthresh: Bytes::MAX,
            growth: Growth { slow_start_limit: 1, byte_counting: true },
            ssthresh_from: SsthreshFrom::Flight,
            counts: CwndCounts::Bytes,
            idle_restart: IdleRestart::Initial,
            flight_limit: Bytes::MAX,
        }
    }
}

impl Default for TimerConfig {
    /// RFC 6298, but at least 200 ms and at most a minute.
    fn default() -> Self {
        Self {
            rto: RtoConfig {
                initial: Nanos::from_secs(1),
                min: Nanos::from_millis(200),
                max: Nanos::from_secs(60),
                granularity: Nanos::from_millis(1),
                floor: RtoFloor::Total,
                estimator: RtoRule::Rfc,
            },
            syn_retries: 6,
            retries: 15,
        }
    }
}

impl Default for AckConfig {
    /// An ACK per segment.
    fn default() -> Self {
        Self {
            every: 1,
            delay: Nanos::from_millis(40),
            quick: 0,
            per_round_trip: 0,
            pushed: AckPushed::Never,
        }
    }
}

impl Default for OptionConfig {
    /// SACK and window scaling.
    fn default() -> Self {
        Self { sack: true, ecn: false, timestamps: false, window_scaling: true }
    }
}

impl Default for RecoveryConfig {
    /// SACK-based, with Limited Transmit.
    fn default() -> Self {
        Self {
            reliability: Reliability::Acknowledged,
            kind: RecoveryKind::Sack,
            prr: false,
            prr_rule: PrrRule::Rfc,
            dupthresh: 3,
            limited_transmit: true,
            multiple_fast_retransmits: false,
            flight_after_timeout: FlightAfterTimeout::Retransmitted,
            undo_rule: UndoRule::Never,
            loss_means: LossMeans::Congestion,
        }
    }
}

impl Default for SendingConfig {
    /// Every segment leaves as soon as it may.
    fn default() -> Self {
        Self {
            nagle: false,
            minshall: false,
            pacing: false,
            pacing_rule: PacingRule::Ideal,
            quantum_rule: QuantumRule::None,
        }
    }
}

impl Default for BufferConfig {
    /// Buffers that limit no connection.
    fn default() -> Self {
        Self {
            receive_buffer: Bytes(100_000_000),
            receive_buffer_max: Bytes(100_000_000),
            receive_counts: ReceiveCounts::Payload,
            send_buffer: SendBuffer::Fixed(Bytes(100_000_000)),
            header_room: Bytes(320),
            unsent_limit: Bytes::MAX,
        }
    }
}

impl Default for UdpConfig {
    /// Packets of up to 1,500 bytes over IPv4.
    fn default() -> Self {
        Self { payload: Bytes(1472), header: Bytes(28), overhead: Bytes(0) }
    }
}

impl Default for MptcpConfig {
    /// One subflow per path, reinjection at timeouts, 64-bit sequence numbers.
    fn default() -> Self {
        Self {
            path_manager: PathManager::PerPath { subflows: 1 },
            reinjection: Reinjection::Timeout,
            reinject_on: ReinjectOn::Scheduler,
            reassembly: Reassembly::Separate,
            subflow_unsent_limit: Bytes::MAX,
            checksum: false,
            wide_sequence: true,
            short_data_ack: false,
            peer_capable: true,
        }
    }
}
