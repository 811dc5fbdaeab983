//! Which path carries the next new chunk of concurrent transfer: the scheduler is asked.
//!
//! May: keep what the scheduler sees. May not: send, or decide by itself where there is a choice.

use std::fmt;

use schedulers::{ConnectionView, Decision, Needs, Occasion, Queueing, Report, Scheduler, SubflowView};
use units::Bytes;

/// The scheduler of an association and its views.
pub struct Placement {
    scheduler: Box<dyn Scheduler>,
    needs: Needs,
    views: Vec<SubflowView>,
    /// A SACK has come since this was asked.
    acked_since: bool,
    /// Free window of the peer and bytes in flight when the pass began, for a scheduler of passes.
    pass_room: Bytes,
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Placement").field("scheduler", &self.scheduler).finish_non_exhaustive()
    }
}

/// Concurrent transfer can do what a scheduler with these needs asks for: all but sending each chunk on all paths.
pub fn schedules(needs: Needs) -> bool {
    !needs.copies
}

impl Placement {
    /// A scheduler that was never asked.
    pub fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            needs: scheduler.needs(),
            scheduler,
            views: Vec::new(),
            acked_since: false,
            pass_room: Bytes::ZERO,
        }
    }

    /// Its requirements.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// It queues chunks on paths.
    pub fn queues(&self) -> bool {
        self.needs.queueing != Queueing::Never
    }

    /// A SACK has come.
    pub fn note_ack(&mut self) {
        self.acked_since = true;
    }

    /// An occasion to send, for a scheduler that is to know of them.
    pub fn occasion(&mut self, occasion: Occasion, room: Bytes) {
        if self.needs.single_writes {
            self.scheduler.occasion(occasion);
            self.pass_room = room;
        }
    }

    /// After `Wait`: another pass begins, with this room.
    pub fn goes_on(&mut self, room: Bytes) -> bool {
        self.pass_room = room;
        self.scheduler.goes_on()
    }

    /// The room when the pass began; `None` if the scheduler knows no passes.
    pub fn pass_room(&self) -> Option<Bytes> {
        self.needs.single_writes.then_some(self.pass_room)
    }

    /// The scheduler is to be asked whether what is queued goes elsewhere: once after each SACK, if it wants that.
    pub fn may_redistribute(&mut self) -> bool {
        std::mem::take(&mut self.acked_since) && self.needs.redistribution
    }

    /// True if queued chunks are to be placed anew. `connection` has all but the paths, which are as `look` has seen
    /// them.
    pub fn redistributes(&mut self, connection: ConnectionView<'_>) -> bool {
        let view = ConnectionView { subflows: &self.views, ..connection };
        view.check();
        self.scheduler.redistributes(&view)
    }

    /// State of the scheduler.
    pub fn gauges(&self, report: Report<'_>) {
        self.scheduler.gauges(report);
    }

    /// The paths as they are now.
    pub fn look(&mut self, views: impl Iterator<Item = SubflowView>) {
        self.views.clear();
        self.views.extend(views);
    }

    /// A path has room.
    pub fn has_room(&self) -> bool {
        self.views.iter().any(|view| view.available)
    }

    /// Asks the scheduler about the paths as `look` has seen them, if there is a choice. `connection` has all but these.
    pub fn pick(&mut self, connection: ConnectionView<'_>) -> Decision {
        let view = ConnectionView { subflows: &self.views, ..connection };
        view.check();
        if self.needs.single_writes {
            return self.scheduler.pick(&view);
        }
        let mut usable = self.views.iter().enumerate().filter(|(_, view)| view.usable);
        if let (Some((index, only)), None) = (usable.next(), usable.next())
            && !self.needs.alone
        {
            let places = only.available && view.head.is_empty();
            return if places { Decision::Send(index) } else { Decision::Wait };
        }
        if !self.has_room() && !self.needs.watching && !self.queues() {
            return Decision::Wait;
        }
        let decision = self.scheduler.pick(&view);
        view.check_answer(decision);
        debug_assert!(
            self.queues() || !matches!(decision, Decision::Send(index) if !self.views[index].available),
            "the scheduler chose a path without room"
        );
        decision
    }
}
