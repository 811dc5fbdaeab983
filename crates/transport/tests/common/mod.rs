//! Associations with any settings, for random faults.

use proptest::prelude::*;
use testkit::setups::scheduler;
use transport::sctp::SctpConfig;
use transport::sctp::config::{
    BufferSplit, CmtConfig, EagerSack, FastRetransmit, MaxBurst, Occupancy, Reductions, Rescheduling,
    RetransmissionPolicy, TimerDefects, WindowUpdate,
};
use transport::sctp::schedules;
use units::{Bytes, Nanos, Ratio};

/// Neither end gives up: the faults end, so must the transfer.
pub fn patient() -> SctpConfig {
    let mut config = SctpConfig::default();
    config.recovery.limits.init = 60;
    config.recovery.limits.association = 200;
    config.recovery.rto.max = Nanos::from_secs(8);
    config
}

/// Any buffer splitting.
pub fn any_split() -> impl Strategy<Value = BufferSplit> {
    proptest::sample::select(vec![
        BufferSplit::Off,
        BufferSplit::Sender,
        BufferSplit::Receiver,
        BufferSplit::Both,
    ])
}

prop_compose! {
    /// Concurrent transfer with any policies.
    pub fn any_cmt()(
        policy in 0..6usize, (split, at) in (any_split(), any_split()), per_mille in 0u32..1000,
        [delayed_ack, flight, first, reduces, each] in any::<[bool; 5]>(),
    ) -> CmtConfig {
        let retransmission = [
            RetransmissionPolicy::SamePath, RetransmissionPolicy::LargestWindow,
            RetransmissionPolicy::LargestThreshold, RetransmissionPolicy::LowestLoss,
            RetransmissionPolicy::AnyWithRoom, RetransmissionPolicy::LowestRtt,
        ][policy];
        let split_by = if flight { Occupancy::Flight } else { Occupancy::Queued };
        let window_update = if first { WindowUpdate::V1 } else { WindowUpdate::V2 };
        let threshold = Ratio::new(f64::from(per_mille) / 1000.0).expect("a ratio");
        let rescheduling = Rescheduling { at, threshold, reduces };
        let reductions = if each { Reductions::Each } else { Reductions::Once };
        CmtConfig { retransmission, split, split_by, window_update, reductions, rescheduling, delayed_ack }
    }
}

prop_compose! {
    /// An association with any settings.
    pub fn any_config()(
        every in 1u32..4,
        buffer in prop_oneof![3000u64..8000, 20_000u64..200_000],
        message in prop_oneof![1u64..300, Just(1452), 1453u64..9000],
        burst in prop_oneof![
            Just(MaxBurst::Unlimited), Just(MaxBurst::Packets(4)), Just(MaxBurst::UseItOrLoseIt(4)),
            Just(MaxBurst::WindowLimiting(4)),
        ],
        (confirm, idle_decay, data_is_cookie_ack) in any::<(bool, bool, bool)>(),
        cmt in proptest::option::of(any_cmt()),
        path_limit in 0u32..6,
        (nr_sack, overhead, defects, all) in (any::<bool>(), 0u64..300, 0usize..4, any::<bool>()),
        eager in prop_oneof![Just(EagerSack::Never), Just(EagerSack::First), Just(EagerSack::WithDepartures)],
    ) -> SctpConfig {
        let mut config = patient();
        config.sack.every = every;
        config.sack.eager = eager;
        config.streams.message = Bytes(message);
        config.buffers.receive = Bytes(buffer.max(2 * message));
        config.window.burst = burst;
        config.heartbeat.confirm = confirm;
        config.window.idle_decay = idle_decay;
        config.data_is_cookie_ack = data_is_cookie_ack;
        config.recovery.limits.path = path_limit;
        config.cmt = cmt;
        config.sack.non_renegable = nr_sack;
        config.recovery.fast_retransmit = if all { FastRetransmit::All } else { FastRetransmit::Single };
        config.buffers.chunk_overhead = Bytes(overhead);
        config.recovery.timer_defects = [
            TimerDefects::Absent, TimerDefects::LateRestart, TimerDefects::Starvation, TimerDefects::Both,
        ][defects];
        config
    }
}

/// Every registered congestion control, by name.
pub fn any_control() -> impl Strategy<Value = &'static str> {
    let names: Vec<_> = congestion::Registry::builtin().iter().map(|row| row.name).collect();
    proptest::sample::select(names)
}

/// Every registered scheduler that concurrent transfer can follow, by name.
pub fn any_scheduler() -> impl Strategy<Value = &'static str> {
    let names = schedulers::Registry::builtin();
    let names: Vec<_> =
        names.iter().map(|row| row.name).filter(|name| schedules(scheduler(name).needs())).collect();
    proptest::sample::select(names)
}
