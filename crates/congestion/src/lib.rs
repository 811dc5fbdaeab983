//! Congestion controls: how many bytes may be in flight on one path.
//!
//! - `control.rs`: the trait; `events.rs`, `paths.rs`: its arguments; `extensions.rs`: traits for what few controllers need;
//! - `reno.rs`, `round.rs`, `delay_window.rs`, `abe.rs`, `hystart.rs`, `hystart_linux.rs`: parts that several controllers share; one file per controller;
//! - `cubic/`: congestion avoidance of CUBIC by RFC 9438 and as in Linux.
//!
//! May: read the ACK, the loss and a snapshot of the sibling paths; keep private state. May not: send, read a
//! clock, know segments, links or files, reach into a connection.
//! To add one: `docs/howto/add-a-congestion-control.md`.

mod abe;
mod adalr;
mod balia;
mod bbr;
mod builtin;
mod control;
mod cubic;
mod delay_window;
mod events;
mod extensions;
mod fixed_rate;
mod hybla;
mod hystart;
mod hystart_linux;
mod jersey;
mod lia;
mod newreno;
mod newvegas;
mod olia;
mod paths;
mod peach;
mod reno;
mod resource_pooling;
mod round;
mod sctp;
mod star;
#[cfg(test)]
mod testing;
mod vegas;
mod westwood;
mod wvegas;

pub use builtin::{Algorithm, Congestion, Registry, needs};
pub use control::{CongestionControl, Growth, Setup, SsthreshFrom, Window};
pub use events::{Ack, Loss, RateSample, Restart};
pub use extensions::{
    Capabilities, Dummies, DummyAnswer, Extensions, InitialShare, Needs, Pacing, Probing, RecoveryAck,
    RecoveryHooks, RtoTimer, SharedState, SpuriousTimeouts, WindowOverdraft,
};
pub use paths::{PathView, Paths};
