//! The context of an application: its requests are recorded during the call and carried out after it returns.
//!
//! May: open connections and record what is to be sent. May not: transmit packets; the world serves every end in
//! `touched` afterwards.

use apps::{AppContext, ConnectionId, Measurement, Message, Page, Side, Sockets};
use trace::{MessageRecord, PageRecord};
use units::{Bytes, SimTime};

use crate::flow::channel::Channel;
use crate::flow::{Ended, Flow};
use crate::host::endpoint::End;

/// The world as the application of one flow may change it.
#[derive(Debug)]
pub(crate) struct FlowContext<'w> {
    pub(crate) now: SimTime,
    pub(crate) index: usize,
    pub(crate) flow: &'w mut Flow,
    pub(crate) channels: &'w mut Vec<Channel>,
    pub(crate) ends: &'w mut Vec<End>,
    /// Ends that must be served.
    pub(crate) touched: &'w mut Vec<usize>,
    /// Settings of the application that every connection it opens takes over.
    pub(crate) traits: Traits,
}

/// Settings of an application, constant over its life: its read rate, and whether both ends send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    pub(crate) read_rate: Option<units::BitsPerSecond>,
    pub(crate) talks_both_ways: bool,
}

impl FlowContext<'_> {
    fn end(&self, connection: ConnectionId, side: Side) -> usize {
        2 * self.flow.channels[connection as usize] + side.index()
    }

    fn touch(&mut self, end: usize) {
        if !self.touched.contains(&end) {
            self.touched.push(end);
        }
    }

    /// The flow was stopped: nothing more may be sent.
    fn over(&self) -> bool {
        self.flow.ended == Some(Ended::Stopped)
    }
}

impl Sockets for FlowContext<'_> {
    fn open(&mut self) -> ConnectionId {
        let (index, number) = (self.channels.len(), self.flow.channels.len() as ConnectionId);
        let Traits { read_rate, talks_both_ways } = self.traits;
        let mut ends = self.flow.factory.make();
        if talks_both_ways {
            ends.iter_mut().for_each(|end| end.connection.hold_open());
        }
        let datagrams = self.flow.factory.datagrams();
        let mss = self.flow.factory.mss;
        self.channels.push(Channel::new(self.index, number, read_rate, mss, talks_both_ways, datagrams));
        self.flow.channels.push(index);
        let client = usize::from(!ends[0].client);
        ends[client].connection.open();
        self.ends.extend(ends);
        self.touch(2 * index + client);
        self.touch(2 * index + 1 - client);
        number
    }

    fn send(&mut self, connection: ConnectionId, from: Side, message: Message) {
        if self.over() {
            return;
        }
        let row = message.log.map(|what| {
            let (size, start) = (message.size, self.now);
            self.flow.messages.push(MessageRecord { what, size, start, end: None, delay: None });
            (self.flow.messages.len() - 1) as u32
        });
        let end = self.end(connection, from);
        let channel = &mut self.channels[end / 2];
        channel.outgoing[from.index()].ask(self.now, message, row);
        if channel.datagrams {
            // Each message is a datagram, or several, of its own.
            channel.write(self.now, from, &mut self.ends[end].connection);
        }
        self.touch(end);
    }

    fn close(&mut self, connection: ConnectionId, from: Side) {
        let end = self.end(connection, from);
        self.channels[end / 2].outgoing[from.index()].close();
        self.touch(end);
    }

    fn notify(&mut self, connection: ConnectionId, from: Side) {
        let end = self.end(connection, from);
        self.channels[end / 2].outgoing[from.index()].notify();
        self.touch(end);
    }

    fn space(&self, connection: ConnectionId, from: Side) -> Bytes {
        let end = self.end(connection, from);
        let backlog = self.channels[end / 2].outgoing[from.index()].backlog();
        self.ends[end].connection.send_space().saturating_sub(Bytes(backlog))
    }
}

impl AppContext for FlowContext<'_> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn uniform(&mut self) -> f64 {
        self.flow.random.uniform()
    }

    fn delivered(&self) -> Bytes {
        self.flow.recorder.delivered
    }

    fn wake(&mut self, at: SimTime, tag: u64) {
        self.flow.wake_at(at.max(self.now), tag);
    }

    fn finish(&mut self) {
        self.flow.ended.get_or_insert(Ended::Finished);
    }

    fn stop(&mut self) {
        if self.over() {
            return;
        }
        let mut cut = !self.flow.finished();
        for &channel in &self.flow.channels {
            cut |= self.channels[channel].cut();
        }
        if cut {
            self.flow.ended = Some(Ended::Stopped);
        }
        for connection in 0..self.flow.channels.len() as ConnectionId {
            self.touch(self.end(connection, Side::Sender));
            self.touch(self.end(connection, Side::Receiver));
        }
    }

    fn log(&mut self, measurement: Measurement) {
        let Measurement { what, size, start, ended, delay } = measurement;
        let end = ended.then_some(self.now);
        if self.flow.messages.is_empty() {
            // For most flows it remains the only one.
            self.flow.messages.reserve_exact(1);
        }
        self.flow.messages.push(MessageRecord { what, size, start, end, delay });
    }

    fn page(&mut self, page: Page) {
        let Page { name, objects, arrived, size, connections, start, complete } = page;
        let end = complete.then_some(self.now);
        self.flow.pages.push(PageRecord { name, objects, arrived, size, connections, start, end });
    }
}
