//! Strict preference: the first path as long as it has room, then the second, and so on. For a metered path that is to
//! carry only what the others cannot.

use schedulers::{Algorithm, ConnectionView, Decision, Eligible, Scheduler};

/// The row of the registry.
pub const ROW: Algorithm = Algorithm {
    name: "in-order",
    summary: "the first path while it has room, then the second, and so on",
    source: "strict preference",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(InOrder),
};

/// Has no state.
#[derive(Clone, Copy, Debug)]
pub struct InOrder;

impl Scheduler for InOrder {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        // Without backups while another path is usable, nor paths that have carried what is sent again.
        let mut room = Eligible::new(connection.subflows).available();
        room.next().map_or(Decision::Wait, |(path, _)| Decision::Send(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedulers::SubflowView;

    #[test]
    fn a_backup_comes_last_wherever_it_stands() {
        let regular = SubflowView { usable: true, available: true, ..SubflowView::default() };
        let backup = SubflowView { backup: true, ..regular };
        let pick = |subflows: &[_]| InOrder.pick(&ConnectionView { subflows, ..ConnectionView::default() });
        assert_eq!(pick(&[backup, regular, regular]), Decision::Send(1));
        assert_eq!(pick(&[backup, SubflowView { available: false, ..regular }]), Decision::Wait);
        assert_eq!(pick(&[backup, SubflowView::default()]), Decision::Send(0));
    }
}
