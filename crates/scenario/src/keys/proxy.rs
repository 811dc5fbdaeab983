//! The table of a proxy.

use super::tables::{LEG, RATE};
use super::transport::TRANSPORT;
use crate::held::Words;
use crate::model::{ProxyHandshake, ProxyKind, ProxyServers};
use document::keys::{Fallback, Kind, Scalar, Section};
use document::shorthand::{NAME, integer, key, reference, words};

pub(crate) static PROXY: Section = Section {
    name: "proxy",
    what: "a proxy",
    doc: "A performance enhancing proxy (RFC 3135) on a node that flows cross: it accepts their connections in the place \
          of the server, opens others to the server, and moves the bytes between them.",
    inline: false,
    inherits: true,
    keys: &[
        key("name", NAME, Fallback::Compulsory, "its name"),
        key(
            "like",
            reference("another proxy"),
            Fallback::Absent,
            "take every key that is not given here from it",
        ),
        key(
            "node",
            reference("a node"),
            Fallback::Derived("with `path` a node of its own, named like the proxy"),
            "where it sits: a node that forwards, on the way of a flow; with `convert` any that both ends reach",
        ),
        key(
            "path",
            reference("a path"),
            Fallback::Absent,
            "in the place of `node`: the path that it stands on, which is its leg to one end; with `client_leg` or `server_leg`",
        ),
        key(
            "client_leg",
            Kind::Table(&LEG),
            Fallback::Absent,
            "the link from the client's end of that path to the proxy, a path with the name of the proxy; the rest of the way is `path`",
        ),
        key(
            "server_leg",
            Kind::Table(&LEG),
            Fallback::Absent,
            "the link from the proxy to the server's end of that path, likewise",
        ),
        key(
            "kind",
            words(ProxyKind::WORDS),
            Fallback::Compulsory,
            "`split`: TCP on both sides; `mptcp`: it ends the whole MPTCP connection of the client; `one-subflow`: it acts as the \
             end of each subflow that crosses its node, and sees no other; `convert`: clients ask it for their servers in the \
             SYN (RFC 8803)",
        ),
        key(
            "handshake",
            words(ProxyHandshake::WORDS),
            Fallback::Absent,
            "it answers the SYN of the client at once, or when the server has answered its own; if absent `early`, and `late` for \
             `one-subflow`, which needs the keys of the server, and `convert`",
        ),
        key(
            "rate",
            RATE,
            Fallback::Absent,
            "most that it passes on in each direction, all of its connections together; if absent what its links carry",
        ),
        key(
            "connections",
            integer(1, 1_000_000),
            Fallback::Absent,
            "most connections at a time; the SYN of another gets no answer, as before a full backlog, or with `convert` an error, until one has ended",
        ),
        key(
            "flows",
            Kind::Scalar(Scalar::Names { of: "flow", least: 0, most: usize::MAX }),
            Fallback::Absent,
            "the flows that it intercepts, none with `[]`; if absent every one over TCP or MPTCP that crosses the node",
        ),
        key(
            "servers",
            words(ProxyServers::WORDS),
            Fallback::Text("all"),
            "of pages with `mptcp_domains = \"main\"`: it intercepts connections to all servers, to `plain` ones without MPTCP, or to \
             those with it (`multipath`); the others pass it",
        ),
        key(
            "client",
            Kind::Table(&TRANSPORT),
            Fallback::Compulsory,
            "its end of the connection with the client, whose peer has the transport of the flow",
        ),
        key(
            "server",
            Kind::Table(&TRANSPORT),
            Fallback::Compulsory,
            "its end of the connection with the server",
        ),
    ],
};
