//! The applications at both ends of a [`crate::Duo`]: one writes, the other reads.
//!
//! May: write to, read from and close connections. May not: send packets.

use transport::Connection;
use units::{Bytes, Nanos, SimTime};

use crate::faults::Way;

/// How the receiving application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// At once.
    AtOnce,
    /// This many bytes per interval.
    Slowly(Bytes, Nanos),
}

/// A transfer of a number of bytes in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) reading: Reading,
    /// Which way the data goes.
    pub(crate) way: Way,
    total: Bytes,
    /// Written first; the rest once this is acknowledged.
    page: Bytes,
    written: Bytes,
}

impl Transfer {
    /// From the client to the server, which reads at once.
    pub(crate) fn new(total: Bytes) -> Self {
        Self { reading: Reading::AtOnce, way: Way::Up, total, page: total, written: Bytes::ZERO }
    }

    /// The rest is written only when the first `page` bytes are acknowledged.
    pub(crate) fn set_page(&mut self, page: Bytes) {
        debug_assert!(page <= self.total, "a page larger than the transfer");
        self.page = page;
    }

    /// Bytes to transfer.
    pub(crate) fn total(&self) -> Bytes {
        self.total
    }

    /// The sending application writes what it may, and closes when it has written everything. True if it wrote.
    pub(crate) fn write(&mut self, writer: &mut Connection) -> bool {
        let wanted = if writer.acked() >= self.page { self.total } else { self.page };
        let write = writer.send_space().min(wanted - self.written);
        if write > Bytes::ZERO {
            writer.write(write);
        }
        self.written += write;
        if self.written == self.total {
            writer.close();
        }
        debug_assert!(self.written <= self.total, "{} bytes written of {}", self.written, self.total);
        debug_assert!(writer.acked() <= self.written, "more acknowledged than written");
        write > Bytes::ZERO
    }

    /// The receiving application reads what has arrived, if it reads at once. True if it did.
    pub(crate) fn read_at_once(&self, now: SimTime, reader: &mut Connection) -> bool {
        let readable = reader.readable();
        if self.reading != Reading::AtOnce || readable == Bytes::ZERO {
            return false;
        }
        reader.read(now, readable);
        debug_assert_eq!(reader.readable(), Bytes::ZERO, "bytes left after reading all");
        true
    }
}
