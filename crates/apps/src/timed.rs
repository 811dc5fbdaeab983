//! Messages that leave at given times over one connection, even if earlier ones have not arrived: the part that the
//! video, the game and the recording share.

use std::fmt;

use units::{Nanos, SimTime};

use crate::{App, AppContext, ConnectionId, Event, Side};

/// The messages of such an application.
pub(crate) trait Schedule: fmt::Debug + Send {
    /// Sends the messages that are due. Returns when to be called again; `None`: the last one has been sent. `began` is
    /// the time of the first call.
    fn send(&mut self, began: SimTime, connection: ConnectionId, ctx: &mut dyn AppContext)
    -> Option<SimTime>;

    /// Messages with a longer delay are late.
    fn deadline(&self) -> Nanos;

    /// Both ends send.
    fn goes_both_ways(&self) -> bool {
        false
    }
}

/// An application that sends the messages of a schedule.
#[derive(Clone, Debug)]
pub(crate) struct Timed<S> {
    schedule: S,
    /// Start of the flow and its connection; `None` before the start.
    started: Option<(SimTime, ConnectionId)>,
}

impl<S: Schedule> Timed<S> {
    /// The application of a schedule.
    pub fn new(schedule: S) -> Self {
        Self { schedule, started: None }
    }

    /// Its schedule.
    #[cfg(test)]
    pub fn schedule(&self) -> &S {
        &self.schedule
    }

    fn proceed(&mut self, ctx: &mut dyn AppContext) {
        let (began, connection) = *self.started.get_or_insert_with(|| (ctx.now(), ctx.open()));
        let Some(next) = self.schedule.send(began, connection, ctx) else {
            ctx.close(connection, Side::Sender);
            if self.schedule.goes_both_ways() {
                ctx.close(connection, Side::Receiver);
            }
            return ctx.finish();
        };
        debug_assert!(next >= ctx.now(), "the next message is due at {next}");
        ctx.wake(next, 0);
    }
}

impl<S: Schedule> App for Timed<S> {
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext) {
        match event {
            Event::Start | Event::Wake(_) => {
                debug_assert_eq!(
                    event == Event::Start,
                    self.started.is_none(),
                    "a flow starts once: {event:?}"
                );
                self.proceed(ctx);
            }
            Event::Arrived { .. } | Event::Accepted { .. } => {}
        }
    }

    fn takes_datagrams(&self) -> bool {
        true
    }

    fn talks_both_ways(&self) -> bool {
        self.schedule.goes_both_ways()
    }

    fn deadline(&self) -> Option<Nanos> {
        Some(self.schedule.deadline())
    }
}
