//! A flow: its application, its connections and what is recorded of both.
//!
//! May: keep what the application needs between events. May not: call connections; the context and the channels do.

pub(crate) mod alarms;
pub(crate) mod channel;
pub(crate) mod context;
pub(crate) mod datagrams;
pub(crate) mod events;
pub(crate) mod flows;
pub(crate) mod limits;
pub(crate) mod message;
mod messages;
pub(crate) mod recorder;
pub(crate) mod stream;
pub(crate) mod timing;
mod writes;

use apps::{App, ConnectionId};
use engine::Stream;
use scenario::model::Flow as FlowModel;
use trace::{FlowRecord, MessageRecord, PageRecord};
use units::{Bytes, Nanos, SimTime};

use crate::flow::alarms::Alarms;
use crate::flow::channel::Channel;
use crate::flow::recorder::FlowRecorder;
use crate::flow::timing::Timing;
use crate::host::config::Opener;
use crate::net::address::SocketAddress;
use crate::net::ecmp;

/// How an application has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It has requested everything that it will ever send.
    Finished,
    /// Its time was over.
    Stopped,
}

/// Rows of the tables of a flow, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) messages: Vec<MessageRecord>,
    pub(crate) pages: Vec<PageRecord>,
    /// Set when the flow's interval is over.
    pub(crate) record: Option<Box<FlowRecord>>,
}

/// One flow.
#[derive(Debug)]
pub(crate) struct Flow {
    /// `None` while it handles an event.
    app: Option<Box<dyn App>>,
    opener: Opener,
    timing: Timing,
    alarms: Alarms,
    pub(crate) recorder: FlowRecorder,
    pub(crate) log: Log,
    ended: Option<Ended>,
    /// Random numbers of the application.
    random: Stream,
    /// Its connections, in the order of opening.
    channels: Vec<Channel>,
    /// Connections that no server has accepted, by the address that opened them.
    unaccepted: Vec<(SocketAddress, ConnectionId)>,
    /// Hash of its name.
    label: u64,
    /// The least that a reader with a rate reads at a time.
    mss: Bytes,
    /// Nothing remains to be written or delivered.
    done: bool,
}

impl Flow {
    /// A flow that has not started.
    pub(crate) fn new(
        model: &FlowModel,
        app: Box<dyn App>,
        opener: Opener,
        (seed, duration): (u64, SimTime),
    ) -> Self {
        let timing = Timing::new(model, seed, duration);
        Self {
            app: Some(app),
            opener,
            alarms: Alarms::default(),
            recorder: FlowRecorder::new(timing.earliest()),
            timing,
            log: Log::default(),
            ended: None,
            random: Stream::named(seed, &model.name, "application"),
            channels: Vec::new(),
            unaccepted: Vec::new(),
            label: ecmp::name_hash(&model.name),
            mss: model.transport.tcp.segment.mss,
            done: false,
        }
    }

    /// Messages under way, and rows of its tables.
    pub(crate) fn held(&self) -> usize {
        let rows = self.log.messages.len() + self.log.pages.len();
        rows + self.channels.iter().map(Channel::held).sum::<usize>()
    }

    /// The application, to be told something. `None` while it is.
    pub(crate) fn take_app(&mut self) -> Option<Box<dyn App>> {
        self.app.take()
    }

    /// It has been told.
    pub(crate) fn put_app(&mut self, app: Box<dyn App>) {
        debug_assert!(self.app.is_none(), "a flow has one application");
        self.app = Some(app);
    }

    /// Messages with a longer delay are late.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        self.app.as_ref().and_then(|app| app.deadline())
    }

    /// The side that opens its connections.
    #[inline]
    pub(crate) fn opener(&self) -> &Opener {
        &self.opener
    }

    /// The same, to open one.
    pub(crate) fn opener_mut(&mut self) -> &mut Opener {
        &mut self.opener
    }

    /// When it starts and stops.
    pub(crate) fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Its application runs from now on.
    pub(crate) fn set_started(&mut self) {
        self.timing.set_started();
    }

    /// Wake-ups of its application.
    pub(crate) fn alarms_mut(&mut self) -> &mut Alarms {
        &mut self.alarms
    }

    /// How its application has ended, if it has.
    #[inline]
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Its application has requested everything that it will ever send.
    pub(crate) fn finish(&mut self) {
        self.ended.get_or_insert(Ended::Finished);
    }

    /// Its time is over, or its application stops before everything is sent.
    pub(crate) fn stop(&mut self) {
        self.ended = Some(Ended::Stopped);
    }

    /// Random numbers of the application.
    pub(crate) fn random(&mut self) -> &mut Stream {
        &mut self.random
    }

    /// The least that a reader with a rate reads at a time.
    pub(crate) fn mss(&self) -> Bytes {
        self.mss
    }

    /// Its connections, in the order of opening.
    #[inline]
    pub(crate) fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// A connection.
    #[inline]
    pub(crate) fn channel(&self, number: ConnectionId) -> &Channel {
        &self.channels[number as usize]
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn channel_mut(&mut self, number: ConnectionId) -> &mut Channel {
        &mut self.channels[number as usize]
    }

    /// A connection, and the recorder of the flow.
    #[inline]
    pub(crate) fn channel_and_recorder(&mut self, number: ConnectionId) -> (&mut Channel, &mut FlowRecorder) {
        (&mut self.channels[number as usize], &mut self.recorder)
    }

    /// Adds a connection that has been opened from this address and is to be accepted.
    pub(crate) fn opened(&mut self, channel: Channel, from: SocketAddress) {
        self.unaccepted.push((from, self.channels.len() as ConnectionId));
        self.connected(channel);
    }

    /// A proxy has opened its connection with the server from this address, in the place of the client.
    pub(crate) fn opened_again(&mut self, number: ConnectionId, from: SocketAddress) {
        self.unaccepted.push((from, number));
        self.check();
    }

    /// Adds a connection both of whose ends exist.
    pub(crate) fn connected(&mut self, channel: Channel) {
        if self.channels.is_empty() {
            // For most flows it remains the only one.
            self.channels.reserve_exact(1);
        }
        self.channels.push(channel);
        self.check();
    }

    /// Discards what no send buffer has accepted. False if there was nothing.
    pub(crate) fn cut(&mut self) -> bool {
        let mut cut = false;
        for channel in &mut self.channels {
            cut |= channel.cut();
        }
        cut
    }

    /// The server of the flow accepts what this address has opened. The same application runs at both ends, so that it
    /// knows the connection by this address. `None` if nothing has been opened from there.
    pub(crate) fn accepted(&mut self, from: SocketAddress) -> Option<ConnectionId> {
        let index = self.unaccepted.iter().position(|(address, _)| *address == from)?;
        let (_, number) = self.unaccepted.remove(index);
        if self.unaccepted.is_empty() {
            self.unaccepted = Vec::new();
        }
        self.check();
        Some(number)
    }

    /// Identifies a connection of the flow in the hashes of routers.
    pub(crate) fn label(&self, number: ConnectionId) -> u64 {
        match number {
            0 => self.label,
            // Further connections have ports of their own.
            number => ecmp::flow_hash([self.label, u64::from(number)]),
        }
    }

    /// Another flow has ended. Returns when this one starts, if it waited for nothing else.
    pub(crate) fn other_ended(&mut self, now: SimTime, other: usize) -> Option<SimTime> {
        let start = self.timing.other_ended(now, other)?;
        self.recorder = FlowRecorder::new(start);
        Some(start)
    }

    /// True if the application has requested all that it wanted to send, and was not cut short.
    pub(crate) fn finished(&self) -> bool {
        self.ended == Some(Ended::Finished)
    }

    /// Nothing remains to be written or delivered.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Nothing remains.
    pub(crate) fn set_done(&mut self) {
        debug_assert!(self.ended.is_some() && self.log.record.is_some(), "a flow is done after its interval");
        self.done = true;
    }

    /// The end of the interval of a flow that is still going on when the run ends after `duration`: data that was
    /// requested may be delivered until then (datagrams do not take that long), but nothing is written after its stop.
    pub(crate) fn last_end(&self, duration: SimTime) -> SimTime {
        match self.ended {
            // Datagrams that have not arrived by now are lost.
            Some(Ended::Finished) if self.opener.protocol().is_datagrams() => self.recorder.last_delivery,
            Some(Ended::Finished) => duration,
            Some(Ended::Stopped) | None => self.timing.stop(),
        }
    }

    /// The instant to push into the queue for the next wake-up or the end of the flow's time, if one is needed.
    pub(crate) fn arm(&mut self, now: SimTime) -> Option<SimTime> {
        self.alarms.arm(now, self.timing.stop())
    }

    fn check(&self) {
        debug_assert!(self.unaccepted.len() <= self.channels.len(), "more connections to accept than opened");
        debug_assert!(
            self.unaccepted.iter().all(|(_, number)| (*number as usize) < self.channels.len()),
            "only connections of the flow are to be accepted"
        );
    }
}
