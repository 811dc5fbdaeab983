//! Strict preference: the first path as long as it has room, then the second, and so on. For a metered path that is to
//! carry only what the others cannot.

use schedulers::{Algorithm, ConnectionView, Decision, Scheduler};

/// The row of the registry.
pub const ROW: Algorithm = Algorithm {
    name: "in-order",
    summary: "the first path while it has room, then the second, and so on",
    source: "strict preference",
    notes: "",
    options: &[],
    check: units::independent,
    build: |_| Box::new(InOrder),
};

/// Has no state.
#[derive(Clone, Copy, Debug)]
pub struct InOrder;

impl Scheduler for InOrder {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        // A reinjection goes to a path that has not carried the data.
        let room = connection.subflows.iter().position(|s| s.available && !s.carried);
        room.map_or(Decision::Wait, Decision::Send)
    }
}
