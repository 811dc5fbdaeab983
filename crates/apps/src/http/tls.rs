//! TLS as far as it takes time: what each side sends before the first request of a connection.
//!
//! Deviation: sizes are typical and not those of a site, but for the certificates; records add nothing to requests and answers.

use registry::Options;
use units::Bytes;

use crate::Side;

/// Messages of one side, for which the other waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flight {
    from: Side,
    size: Bytes,
    /// The certificates of the server come on top.
    certificate: bool,
}

const fn client(size: u64) -> Flight {
    Flight { from: Side::Receiver, size: Bytes(size), certificate: false }
}

const fn server(size: u64, certificate: bool) -> Flight {
    Flight { from: Side::Sender, size: Bytes(size), certificate }
}

/// RFC 5246 section 7.3: ClientHello; ServerHello to ServerHelloDone; ClientKeyExchange, Finished; Finished.
const TLS_1_2: &[Flight] = &[client(250), server(350, true), client(130), server(60, false)];
/// RFC 8446 section 2: ClientHello; ServerHello to Finished; Finished, with which requests leave.
const TLS_1_3: &[Flight] = &[client(320), server(250, true), client(80)];
/// RFC 8446 section 2.3: a resumed session, whose first requests leave with the ClientHello.
const EARLY: &[Flight] = &[client(600), server(250, false), client(80)];

/// The handshake of each connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tls {
    flights: &'static [Flight],
    /// The flight with whose arrival the client may ask; `None`: at once.
    ready_after: Option<usize>,
    certificate: Bytes,
}

/// Words of the option, and those whose servers show a certificate.
pub(super) const VERSIONS: &[&str] = &["none", "1.2", "1.3", "0-rtt"];
pub(super) const WITH_CERTIFICATE: [&str; 2] = ["1.2", "1.3"];

impl Tls {
    /// As the options say.
    pub(super) fn new(options: &Options) -> Self {
        let (flights, ready_after) = match options.choice("tls").as_str() {
            "1.2" => (TLS_1_2, Some(3)),
            "1.3" => (TLS_1_3, Some(1)),
            "0-rtt" => (EARLY, None),
            _ => (&[][..], None),
        };
        Self { flights, ready_after, certificate: options.size("certificate") }
    }

    /// Requests wait for the answer of the server.
    pub(super) fn holds_requests(&self) -> bool {
        self.ready_after.is_some()
    }

    /// Requests may leave now that a flight has arrived.
    pub(super) fn is_ready_after(&self, flight: usize) -> bool {
        self.ready_after == Some(flight)
    }

    /// The size of a flight, if `from` is the side that sends it.
    pub(super) fn flight(&self, number: usize, from: Side) -> Option<Bytes> {
        let flight = self.flights.get(number).filter(|flight| flight.from == from)?;
        Some(flight.size + if flight.certificate { self.certificate } else { Bytes::ZERO })
    }
}
