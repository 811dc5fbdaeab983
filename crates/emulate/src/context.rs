//! The context of an application over the sockets of the kernel.
//!
//! May: open connections, and note what is to be written. May not: write, read or wait; the conversation does.

use apps::{AppContext, ConnectionId, Measurement, Message, Page, Side, Sockets};
use trace::{MessageRecord, PageRecord};
use units::{Bytes, SimTime};

use crate::conversation::{Ended, State};
use crate::outgoing::Outgoing;

/// The conversation as its application may change it.
pub(crate) struct Context<'c, 'p> {
    pub(crate) now: SimTime,
    pub(crate) state: &'c mut State<'p>,
}

impl Sockets for Context<'_, '_> {
    fn open(&mut self) -> ConnectionId {
        self.state.open(false)
    }

    fn open_plain(&mut self) -> ConnectionId {
        self.state.open(true)
    }

    fn send(&mut self, connection: ConnectionId, from: Side, message: Message) {
        if self.state.ended == Some(Ended::Stopped) {
            return;
        }
        let messages = &mut self.state.talk.messages;
        let row = message.log.map(|what| {
            let (size, start) = (message.size, self.now);
            messages.push(MessageRecord { what, size, start, end: None, delay: None });
            messages.len() - 1
        });
        let mark = Outgoing::mark(self.now, message, row);
        let end = self.state.end_mut(connection, from);
        match &mut end.datagrams {
            Some(datagrams) => datagrams.ask(mark),
            None => end.out.ask(mark),
        }
    }

    fn send_on(&mut self, connection: ConnectionId, from: Side, _stream: u16, message: Message) {
        // TCP and MPTCP have one.
        self.send(connection, from, message);
    }

    fn streams(&self) -> u16 {
        1
    }

    /// Connections are closed when the run is over: after a close the kernel would not tell what they did.
    fn close(&mut self, _connection: ConnectionId, _from: Side) {}

    fn notify(&mut self, connection: ConnectionId, from: Side) {
        self.state.end_mut(connection, from).out.notify = true;
    }

    /// All that there may ever be while the socket is writable: the kernel does not say how much that is.
    fn space(&self, connection: ConnectionId, from: Side) -> Bytes {
        let end = self.state.end(connection, from);
        if end.datagrams.is_some() {
            return Bytes::MAX;
        }
        if end.out.backlog() == 0 && end.is_writable() { Bytes::MAX } else { Bytes::ZERO }
    }
}

impl AppContext for Context<'_, '_> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn uniform(&mut self) -> f64 {
        self.state.random.uniform()
    }

    fn delivered(&self) -> Bytes {
        Bytes(self.state.talk.delivered)
    }

    fn wake(&mut self, at: SimTime, tag: u64) {
        self.state.wake(at.max(self.now), tag);
    }

    fn finish(&mut self) {
        self.state.ended.get_or_insert(Ended::Finished);
    }

    fn stop(&mut self) {
        self.state.stop();
    }

    fn log(&mut self, measurement: Measurement) {
        let Measurement { what, size, start, ended, delay } = measurement;
        let end = ended.then_some(self.now);
        self.state.talk.messages.push(MessageRecord { what, size, start, end, delay });
    }

    fn page(&mut self, page: Page) {
        let Page { name, objects, arrived, size, connections, start, complete } = page;
        let end = complete.then_some(self.now);
        self.state.talk.pages.push(PageRecord { name, objects, arrived, size, connections, start, end });
    }
}
