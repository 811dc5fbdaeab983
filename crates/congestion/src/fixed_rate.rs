//! Fixed rate: no control at all, an open-loop token bucket. For links whose rate is assigned and not shared.
//!
//! Source: CCSDS 714.0-B-2 section 3.2.6 (SCPS-TP without congestion control). Units: the rate counts whole packets
//! as they are on the wire, so that it can be compared with that of a link; the bucket as well.
//! The window is the largest that TCP allows: only the peer's window bounds what is in flight.

use registry::{OptionKind, OptionSpec, Options, at_least};
use units::{BitsPerSecond, Bytes, SimTime};

use crate::reno::MAX_WINDOW;
use crate::{
    Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Pacing, Paths, Restart, Setup, Window,
};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::compulsory("rate", OptionKind::Rate, "rate on the wire, headers included, at least 1 bit/s"),
    OptionSpec::new(
        "burst",
        OptionKind::Size,
        "0B",
        "what may leave at once after a pause, headers included; below a packet: one packet",
    ),
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "fixed-rate",
    summary: "an open-loop token bucket, whatever the network says",
    source: "CCSDS 714.0-B-2 (SCPS-TP)",
    notes: "fills any queue slower than its rate and takes no notice of losses",
    options: OPTIONS,
    check: |options| at_least("rate", BitsPerSecond(1), Options::rate, options),
    build: |setup: &Setup, options: &Options| {
        let rate = options.rate("rate");
        debug_assert!(rate > BitsPerSecond(0), "a bucket that is never filled stops the sender for good");
        Box::new(FixedRate { rate, burst: options.size("burst"), mss: setup.mss })
    },
};

/// A token bucket in the place of a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedRate {
    rate: BitsPerSecond,
    burst: Bytes,
    mss: Bytes,
}

impl Extensions for FixedRate {
    fn needs(&self) -> Needs {
        Needs { whole_window: true, tcp_sender: true, ..Needs::default() }
    }

    fn pacing(&self) -> Option<&dyn Pacing> {
        Some(self)
    }
}

impl CongestionControl for FixedRate {
    fn on_ack(&mut self, _ack: &Ack, _paths: Paths<'_>) {}

    fn on_loss(&mut self, _loss: &Loss, _paths: Paths<'_>) {}

    fn on_rto(&mut self, _loss: &Loss, _paths: Paths<'_>) {}

    fn on_idle_restart(&mut self, _now: SimTime, _restart: &Restart) {}

    fn set_window(&mut self, _cwnd: Bytes, _ssthresh: Option<Bytes>) {}

    /// It has no threshold: cwnd stands for it, so that it is never in slow start.
    fn window(&self) -> Window {
        let largest = Bytes(MAX_WINDOW as u64).max(self.mss);
        Window::new(largest, largest)
    }
}

impl Pacing for FixedRate {
    fn pacing_rate(&self) -> Option<BitsPerSecond> {
        Some(self.rate)
    }

    fn pacing_burst(&self) -> Bytes {
        self.burst
    }

    fn counts_headers(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;
    use units::Nanos;

    use super::*;
    use crate::testing::{ack, loss, setup};

    #[test]
    fn nothing_moves_it() {
        let options = Options::examples(OPTIONS).with("rate", OptionValue::Rate(BitsPerSecond(2_048_000)));
        let mut cc = (ROW.build)(&setup(), &options);
        let shown = |cc: &dyn CongestionControl| (cc.window(), cc.pacing().and_then(Pacing::pacing_rate));
        let before = shown(&*cc);
        cc.on_loss(&loss(14_600), Paths::ALONE);
        cc.on_rto(&loss(14_600), Paths::ALONE);
        cc.on_ack(&ack(1460), Paths::ALONE);
        cc.set_window(Bytes(1460), None);
        assert_eq!(shown(&*cc), before);
        let window = Window::new(Bytes(1 << 30), Bytes(1 << 30));
        assert_eq!(before, (window, Some(BitsPerSecond(2_048_000))));
        assert!(!cc.window().in_slow_start);
    }

    /// Vector SC-1, fixed rate: frames of 1540 bytes at 2.048 Mbit/s.
    #[test]
    fn sc_1_interval() {
        assert_eq!(BitsPerSecond(2_048_000).time_to_send(Bytes(1540)), Nanos(6_015_625));
    }
}
