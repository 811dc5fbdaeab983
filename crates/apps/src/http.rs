//! Web pages over HTTP/1.1 (RFC 9112) or HTTP/2 (RFC 9113): a main object, then the objects embedded in it.
//!
//! HTTP/1.1: up to `connections` persistent connections for each domain, opened as objects wait; an object goes to the
//! first one that is idle, or with pipelining all requests leave at once, spread over the connections. HTTP/2: one
//! connection for each domain, all requests at once, and the server sends frames of 16 KiB of each object in turn.
//! Over SCTP a connection is an association. If it has several streams, each carries one request and its answer at a time in the place of
//! a connection of its own (HTTP/1.1), or the frames of the objects that share it (HTTP/2).
//! Embedded objects are known when the main object is complete; object number k belongs to domain k modulo the number
//! of domains, unless `main_share` says otherwise. All domains are the same server; with `mptcp_domains = "main"` those of
//! embedded objects answer as plain TCP.
//!
//! TLS and redirects cost round trips where the options ask for them (`tls.rs`, `redirects.rs`).
//!
//! Deviation: no name resolution, no processing time in client or server, no header bytes beside the request.

mod page_load;
mod redirects;
mod tls;

use std::collections::VecDeque;

use registry::{OptionFault, OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos};

use crate::bounds::message_size;
use crate::pages::{self, Description, Protocol};
use crate::{Algorithm, App, AppContext, ConnectionId, Event, Measurement, Message, Side};

use page_load::PageLoad;
use redirects::Redirects;
use tls::Tls;

const SIZES: OptionKind = OptionKind::Choice(&["equal", "log-normal"]);
const FLAG: OptionKind = OptionKind::Flag;

pub(crate) const ROW: Algorithm = Algorithm {
    name: "http",
    summary: "web pages: a main object, then its embedded objects; page load times",
    source: "RFC 9112, RFC 9113",
    notes: "the receiver of the data opens the connections and sends the requests",
    options: &[
        OptionSpec::new("page", OptionKind::Choice(pages::NAMES), "wikipedia", "which page, or `custom`"),
        OptionSpec::new(
            "protocol",
            OptionKind::Choice(&["as-page", "http/1.1", "http/2"]),
            "as-page",
            "how it is fetched: as its description says, or otherwise (a custom page is HTTP/1.1)",
        ),
        OptionSpec::new("main", OptionKind::Size, "10kB", "custom page: size of the main object"),
        OptionSpec::new(
            "objects",
            OptionKind::Integer { min: 0, max: 10_000 },
            "10",
            "custom page: number of embedded objects",
        ),
        OptionSpec::new("object", OptionKind::Size, "10kB", "custom page: size of each embedded object"),
        OptionSpec::new(
            "domains",
            OptionKind::Integer { min: 1, max: 1000 },
            "1",
            "custom page: domains that the embedded objects come from, that of the page included",
        ),
        OptionSpec::new(
            "main_share",
            OptionKind::Number { min: 0.0, max: 1.0 },
            "0.0",
            "part of the embedded objects that are of the domain of the page; 0: as many as of each other domain",
        ),
        OptionSpec::new(
            "mptcp_domains",
            OptionKind::Choice(&["all", "main"]),
            "all",
            "domains whose servers speak MPTCP, if the flow does: all, or that of the page alone; others answer as plain TCP",
        ),
        OptionSpec::new(
            "sizes",
            SIZES,
            "equal",
            "sizes of objects where only their sum is known: an equal split (D-73), or drawn for each page",
        ),
        OptionSpec::new(
            "sigma",
            OptionKind::Number { min: 0.0, max: 5.0 },
            "1.0",
            "standard deviation of the logarithm of log-normal sizes",
        ),
        OptionSpec::new(
            "connections",
            OptionKind::Integer { min: 0, max: 64 },
            "0",
            "HTTP/1.1: connections for each domain, which are associations with SCTP; 0: six, but one over an association with several \
             streams, and one with pipelining for `omueti2007` (D-72)",
        ),
        OptionSpec::new(
            "objects_per_connection",
            OptionKind::Integer { min: 0, max: 10_000 },
            "0",
            "HTTP/1.1: objects after which a connection is closed; 0: no limit, 1: a connection for each object",
        ),
        OptionSpec::new(
            "pipelining",
            FLAG,
            "false",
            "HTTP/1.1: requests do not wait for the answer before (D-72)",
        ),
        OptionSpec::new("request", OptionKind::Size, "350B", "size of each request (D-71)"),
        OptionSpec::new(
            "tls",
            OptionKind::Choice(tls::VERSIONS),
            "none",
            "handshake of each connection before its first request: two round trips, one, or none with early data of a resumed session",
        ),
        OptionSpec::new(
            "certificate",
            OptionKind::Size,
            "3kB",
            "TLS 1.2 and 1.3: certificates that a server sends; chains of web servers have 2 to 5 kB",
        ),
        OptionSpec::new(
            "redirects",
            OptionKind::Integer { min: 0, max: 20 },
            "0",
            "times that the address of the page leads to another, each time at a domain and over a connection of its own",
        ),
        OptionSpec::new(
            "domain_redirects",
            OptionKind::Integer { min: 0, max: 20 },
            "0",
            "times that the first request to each further domain is answered by a redirect, on its connection, before its objects are \
             asked for",
        ),
        OptionSpec::new(
            "pages",
            OptionKind::Integer { min: 1, max: 1_000_000 },
            "1",
            "how often the page is fetched",
        ),
        OptionSpec::new(
            "interval",
            OptionKind::Duration,
            "0s",
            "time from the start of a page to the next, which also waits for its end",
        ),
        OptionSpec::new("keep_alive", FLAG, "false", "connections stay open from page to page"),
    ],
    check,
    build: |options| Box::new(Http::new(options)),
};

/// Options that the page, or the protocol by which it is fetched, has no use for.
fn check(options: &Options) -> Result<(), OptionFault> {
    message_size("request", Bytes(1), options)?;
    let page = pages::page(options);
    let defaults = Options::defaults(ROW.options);
    let given = |option: &&&'static str| options.get(option) != defaults.get(option);
    let fault = |option, message, help: &str| Err(OptionFault { option, message, help: help.into() });
    if page.domains == 1
        && let Some(option) = ["mptcp_domains", "domain_redirects", "main_share"].iter().find(given)
    {
        let message = "the page has one domain".into();
        return fault(option, message, "remove it, or choose a page with more domains");
    }
    if !tls::WITH_CERTIFICATE.contains(&options.choice("tls").as_str()) && given(&&"certificate") {
        let message = "no certificate is sent".into();
        return fault("certificate", message, "remove it, or set tls = \"1.2\" or \"1.3\"");
    }
    let custom = options.choice("page") == "custom";
    if !custom && let Some(option) = ["main", "objects", "object", "domains"].iter().find(given) {
        let message = format!("the page \"{}\" has sizes and domains of its own", page.name);
        return fault(option, message, "set page = \"custom\"");
    }
    if !page.only_total && given(&&"sizes") {
        let message = "the size of each object of this page is known".into();
        return fault("sizes", message, "remove `sizes`, or choose a page of which only the sum is known");
    }
    if page.protocol == Protocol::Http2
        && let Some(option) = ["connections", "objects_per_connection", "pipelining"].iter().find(given)
    {
        let message = "HTTP/2 has one connection for each domain, and all requests leave at once".into();
        return fault(option, message, "remove it, or set protocol = \"http/1.1\"");
    }
    Ok(())
}

/// Connections of a browser to one domain.
const BROWSER: usize = 6;

/// Payload of an HTTP/2 DATA frame (RFC 9113 section 6.5.2: initial SETTINGS_MAX_FRAME_SIZE).
const FRAME: Bytes = Bytes(16_384);

/// One connection, or one stream of an association, as client and server see it.
#[derive(Clone, Debug)]
struct Link {
    id: ConnectionId,
    stream: u16,
    /// `None`: one of its own, which has redirected the browser.
    domain: Option<usize>,
    /// Requests without a complete answer, and all requests.
    outstanding: u64,
    requests: u64,
    closed: bool,
    /// Server, HTTP/2: objects under way, and what is left of them.
    active: VecDeque<(usize, Bytes)>,
    /// Server, HTTP/2: a frame waits for the send buffer.
    busy: bool,
    /// Objects and redirects to be asked for when the handshake of TLS is complete; `None` when it is.
    held: Option<Vec<u64>>,
}

/// When pages are fetched, and over which connections.
#[derive(Clone, Debug)]
struct Schedule {
    left: u64,
    interval: Nanos,
    keep_alive: bool,
}

/// Browser and server.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    page: Description,
    /// Only the main domain speaks MPTCP.
    main_only: bool,
    sigma: Option<f64>,
    /// Most connections for each domain; 0: as many as browsers have.
    connections: usize,
    /// Requests of a connection.
    most_requests: u64,
    /// HTTP/1.1: streams of each connection, which is known when the first is opened.
    streams: usize,
    pipelining: bool,
    request: Bytes,
    tls: Tls,
    redirects: Redirects,
    schedule: Schedule,
    links: Vec<Link>,
    /// By domain: objects that no connection has taken.
    waiting: Vec<VecDeque<usize>>,
    load: PageLoad,
}

impl Http {
    /// As the options of its row say.
    pub fn new(options: &Options) -> Self {
        let page = pages::page(options);
        let one_each = page.protocol == Protocol::Http2;
        // Choice D-72: the published figures of this page fit one connection with pipelining.
        let (connections, pipelining) = match (options.integer("connections"), page.name) {
            (0, "omueti2007") => (1, true),
            (given, _) => (given as usize, false),
        };
        let drawn = page.only_total && options.choice("sizes") == "log-normal";
        Self {
            main_only: options.choice("mptcp_domains") == "main",
            sigma: drawn.then(|| options.number("sigma")),
            connections: if one_each { 1 } else { connections },
            most_requests: match options.integer("objects_per_connection") {
                0 => u64::MAX,
                most => most,
            },
            streams: 1,
            pipelining: one_each || pipelining || options.flag("pipelining"),
            request: options.size("request"),
            tls: Tls::new(options),
            redirects: Redirects::new(options),
            schedule: Schedule {
                left: options.integer("pages"),
                interval: options.duration("interval"),
                keep_alive: options.flag("keep_alive"),
            },
            links: Vec::new(),
            waiting: vec![VecDeque::new(); page.domains as usize],
            load: PageLoad::new(page.objects.len()),
            page,
        }
    }

    fn begin(&mut self, ctx: &mut dyn AppContext) {
        if let Some(sigma) = self.sigma {
            self.page.redraw(sigma, ctx);
        }
        if self.page.protocol == Protocol::Http1 {
            self.streams = usize::from(ctx.streams());
        }
        if self.connections == 0 {
            self.connections = if self.streams > 1 { 1 } else { BROWSER };
        }
        self.schedule.left -= 1;
        self.load.begin(ctx.now());
        self.redirects.begin(self.waiting.len());
        self.waiting[0].push_back(0);
        self.enter(0, ctx);
        self.check();
    }

    /// Objects of a domain wait: asks for them, behind its redirects.
    fn enter(&mut self, domain: usize, ctx: &mut dyn AppContext) {
        if self.waiting[domain].is_empty() || self.redirects.are_under_way(domain) {
            return;
        }
        if !self.redirects.take(domain) {
            return self.assign(domain, ctx);
        }
        // One before the page is at a domain of its own; one of a further domain where its objects are.
        let idle = |link: &Link| domain > 0 && link.domain == Some(domain) && !link.closed;
        let link = self.links.iter().position(idle);
        let link = link.unwrap_or_else(|| self.open((domain > 0).then_some(domain), ctx));
        self.ask(link, redirects::tag(domain), ctx);
    }

    /// A redirect has reached the browser.
    fn redirected(&mut self, id: ConnectionId, domain: usize, ctx: &mut dyn AppContext) {
        self.redirects.arrived(domain);
        match self.links.iter().position(|link| link.id == id && link.domain == Some(domain)) {
            Some(link) if self.redirects.take(domain) => self.ask(link, redirects::tag(domain), ctx),
            _ => self.enter(domain, ctx),
        }
        self.check();
    }

    /// Asks for an object or a redirect, as soon as TLS allows.
    fn ask(&mut self, link: usize, tag: u64, ctx: &mut dyn AppContext) {
        if let Some(held) = &mut self.links[link].held {
            return held.push(tag);
        }
        let stream = self.stream(link, tag as usize, ctx);
        let message = Message { size: self.request, tag, log: None };
        ctx.send_on(self.links[link].id, Side::Receiver, stream, message);
    }

    /// A flight of the handshake has reached one side of a connection.
    fn greeted(&mut self, id: ConnectionId, at: Side, flight: usize, ctx: &mut dyn AppContext) {
        let open = self.links.iter().any(|link| link.id == id && !link.closed);
        if let Some(size) = self.tls.flight(flight + 1, at).filter(|_| open) {
            let message = Message { size, tag: redirects::GREETINGS + flight as u64 + 1, log: None };
            ctx.send_on(id, at, 0, message);
        }
        if !self.tls.is_ready_after(flight) {
            return;
        }
        for link in 0..self.links.len() {
            let held = if self.links[link].id == id { self.links[link].held.take() } else { None };
            held.unwrap_or_default().into_iter().for_each(|tag| self.ask(link, tag, ctx));
        }
    }

    /// Gives the waiting objects of a domain to connections.
    fn assign(&mut self, domain: usize, ctx: &mut dyn AppContext) {
        while let Some(&object) = self.waiting[domain].front() {
            let mine =
                || self.links.iter().enumerate().filter(|(_, l)| l.domain == Some(domain) && !l.closed);
            let least = mine()
                .filter(|(_, link)| link.requests < self.most_requests)
                .min_by_key(|(_, link)| link.outstanding)
                .map(|(i, link)| (i, link.outstanding));
            let link = match least {
                Some((i, 0)) => i,
                _ if mine().count() < self.connections * self.streams => self.open(Some(domain), ctx),
                Some((i, _)) if self.pipelining => i,
                _ => return,
            };
            self.waiting[domain].pop_front();
            self.load.ask(object, (ctx.now(), link), self.page.objects[object]);
            self.links[link].outstanding += 1;
            self.links[link].requests += 1;
            self.ask(link, object as u64, ctx);
        }
    }

    /// The stream of a request and its answer: that of its link, or of the object with frames.
    fn stream(&self, link: usize, object: usize, ctx: &dyn AppContext) -> u16 {
        match self.page.protocol {
            Protocol::Http1 => self.links[link].stream,
            Protocol::Http2 => (object % usize::from(ctx.streams())) as u16,
        }
    }

    /// One more connection, or the next stream of the latest one to this domain; `None`: a domain of its own.
    fn open(&mut self, domain: Option<usize>, ctx: &mut dyn AppContext) -> usize {
        let same = |link: &&Link| domain.is_some() && link.domain == domain && !link.closed;
        let latest = self.links.iter().rfind(same);
        let next = latest.map(|link| (link.id, link.stream + 1, link.held.is_some()));
        let next = next.filter(|(_, stream, _)| usize::from(*stream) < self.streams);
        let (id, stream, holds) = next.unwrap_or_else(|| {
            self.load.open();
            let plain = self.main_only && domain != Some(0);
            let id = if plain { ctx.open_plain() } else { ctx.open() };
            if let Some(size) = self.tls.flight(0, Side::Receiver) {
                let message = Message { size, tag: redirects::GREETINGS, log: None };
                ctx.send_on(id, Side::Receiver, 0, message);
            }
            (id, 0, self.tls.holds_requests())
        });
        let (active, none) = (VecDeque::new(), 0);
        self.links.push(Link {
            id,
            stream,
            domain,
            outstanding: none,
            requests: none,
            closed: false,
            active,
            busy: false,
            held: holds.then(Vec::new),
        });
        self.links.len() - 1
    }

    /// The link on which an object was asked for, if it is on this connection.
    fn link(&self, id: ConnectionId, object: usize) -> Option<usize> {
        let link = self.load.link(object);
        self.links.get(link).filter(|found| found.id == id).map(|_| link)
    }

    /// A request has reached the server.
    fn serve(&mut self, link: usize, object: usize, ctx: &mut dyn AppContext) {
        let size = self.page.objects[object];
        match self.page.protocol {
            Protocol::Http1 => {
                let message = Message { size, tag: object as u64, log: None };
                let stream = self.stream(link, object, ctx);
                ctx.send_on(self.links[link].id, Side::Sender, stream, message);
            }
            Protocol::Http2 => {
                self.links[link].active.push_back((object, size));
                self.next_frame(link, ctx);
            }
        }
    }

    /// The next frame of the object whose turn it is, unless one still waits.
    fn next_frame(&mut self, link: usize, ctx: &mut dyn AppContext) {
        if self.links[link].busy {
            return;
        }
        let Some((object, left)) = self.links[link].active.pop_front() else { return };
        debug_assert!(left <= self.page.objects[object], "{left} of object {object} are left");
        let stream = self.stream(link, object, ctx);
        let link = &mut self.links[link];
        let size = left.min(FRAME);
        let rest = left - size;
        if rest > Bytes::ZERO {
            link.active.push_back((object, rest));
        }
        link.busy = true;
        ctx.send_on(link.id, Side::Sender, stream, Message { size, tag: object as u64, log: None });
        ctx.notify(link.id, Side::Sender);
    }

    /// All of an object has reached the browser.
    fn complete(&mut self, link: usize, object: usize, ctx: &mut dyn AppContext) {
        let size = self.page.objects[object];
        let domain = self.links[link].domain;
        let done = &mut self.links[link];
        done.outstanding -= 1;
        if done.requests == self.most_requests && done.outstanding == 0 {
            done.closed = true;
            ctx.close(done.id, Side::Receiver);
        }
        let start = self.load.arrive(object, size);
        let delay = Some(ctx.now().since(start));
        ctx.log(Measurement { what: "object", size, start, ended: true, delay });
        if object == 0 {
            for embedded in 1..self.page.objects.len() {
                self.waiting[self.page.domain(embedded)].push_back(embedded);
            }
            for domain in 0..self.waiting.len() {
                self.enter(domain, ctx);
            }
        } else if let Some(domain) = domain {
            self.assign(domain, ctx);
        }
        self.check();
        if self.load.is_complete() {
            self.end(ctx);
        }
    }

    /// Every object of the page waits, is requested or has arrived.
    fn check(&self) {
        let waiting: usize = self.waiting.iter().map(VecDeque::len).sum();
        let requested: u64 = self.links.iter().map(|link| link.outstanding).sum();
        let known = if self.load.arrived() == 0 { 1 } else { self.page.objects.len() as u64 };
        debug_assert_eq!(
            waiting as u64 + requested + self.load.arrived(),
            known,
            "{waiting} objects wait, {requested} are requested, {} have arrived",
            self.load.arrived()
        );
        debug_assert!(
            (0..self.waiting.len()).all(|domain| {
                let links = self.links.iter().filter(|l| l.domain == Some(domain) && !l.closed).count();
                links <= self.connections * self.streams
            }),
            "more than {} connections with {} streams to a domain",
            self.connections,
            self.streams
        );
        debug_assert!(
            self.pipelining || self.links.iter().all(|link| link.outstanding <= 1),
            "a request does not wait for the answer before"
        );
        debug_assert!(
            self.page.protocol == Protocol::Http2 || self.links.iter().all(|link| link.active.is_empty()),
            "frames over HTTP/1.1"
        );
    }

    fn end(&mut self, ctx: &mut dyn AppContext) {
        ctx.page(self.load.row(&self.page));
        self.load.end();
        let Schedule { left, interval, keep_alive } = self.schedule;
        if !keep_alive || left == 0 {
            // Each connection once: its first stream stands for it.
            for link in self.links.drain(..).filter(|link| link.stream == 0 && !link.closed) {
                ctx.close(link.id, Side::Receiver);
            }
        }
        if left == 0 {
            ctx.finish();
        } else {
            ctx.wake(self.load.began() + interval, 0);
        }
    }
}

impl App for Http {
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext) {
        match event {
            Event::Start | Event::Wake(_) => self.begin(ctx),
            Event::Arrived { connection, at, tag, .. } if tag >= redirects::GREETINGS => {
                self.greeted(connection, at, (tag - redirects::GREETINGS) as usize, ctx);
            }
            Event::Arrived { connection, at, tag, .. } if tag >= redirects::REDIRECTS => match at {
                Side::Sender => {
                    let message = Message { size: redirects::ANSWER, tag, log: None };
                    ctx.send_on(connection, Side::Sender, 0, message);
                }
                Side::Receiver => self.redirected(connection, redirects::domain(tag), ctx),
            },
            Event::Arrived { connection, at, tag, size, .. } => {
                let object = tag as usize;
                let Some(link) = self.link(connection, object) else { return };
                match at {
                    Side::Sender => self.serve(link, object, ctx),
                    // Frames of an object may overtake each other where messages have no order.
                    Side::Receiver if self.load.is_whole(object, size) => self.complete(link, object, ctx),
                    Side::Receiver => {}
                }
            }
            Event::Accepted { connection, .. } => {
                if let Some(link) = self.links.iter().position(|link| link.id == connection) {
                    self.links[link].busy = false;
                    self.next_frame(link, ctx);
                }
            }
        }
    }

    fn on_end(&mut self, ctx: &mut dyn AppContext) {
        if self.load.is_loading() {
            ctx.page(self.load.row(&self.page));
        }
    }

    fn opens(&self) -> Side {
        Side::Receiver
    }

    fn meets_plain_servers(&self) -> bool {
        self.main_only
    }
}

#[cfg(test)]
mod tests;
