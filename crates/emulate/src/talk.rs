//! Record of the application of a flow, from both of its ends.

use trace::{Histogram, MessageRecord, PageRecord};
use units::{Nanos, SimTime};

use crate::datagrams::DatagramCounts;

/// Times, bytes and rows of the tables of one flow, from both of its ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Talk {
    /// When it started; `None`: the flows that it waits for did not end in time.
    pub start: Option<SimTime>,
    /// When its last byte was delivered after its application had finished, or its application was stopped.
    pub end: Option<SimTime>,
    /// Its application has finished, and everything is delivered.
    pub completed: bool,
    /// Nothing remains to be written or delivered.
    pub done: Option<SimTime>,
    /// Commands have run in the place of an application: only sockets tell what they carried.
    pub command: bool,
    /// Ports of the client, by connection in the order of opening.
    pub ports: Vec<u16>,
    /// Data in datagrams, by connection: the kernel counts none.
    pub datagrams: Vec<DatagramCounts>,
    /// All connections were established.
    pub established: bool,
    /// Bytes of its data that the receiving application has read until `end`.
    pub delivered: u64,
    /// When the last of them so far.
    pub last_delivery: Option<SimTime>,
    /// From the write of a byte to its delivery, one count per byte.
    pub delay: Histogram,
    /// Error that ended it.
    pub failure: Option<String>,
    /// Rows of its messages.
    pub messages: Vec<MessageRecord>,
    /// Rows of its pages.
    pub pages: Vec<PageRecord>,
    /// Messages with a longer delay are late.
    pub deadline: Option<Nanos>,
}
