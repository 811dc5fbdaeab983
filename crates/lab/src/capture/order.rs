//! Which packets of a run are captured, and where the files go.

use std::path::{Path, PathBuf};

use scenario::model::{Flow, Proxy, Scenario, Transport};
use transport::config::Reliability;
use transport::sctp::chunk::COMMON_HEADER;
use units::Bytes;

/// IPv4 and IPv6 headers with a TCP header; the same with a UDP header.
const TCP_HEADERS: [Bytes; 2] = [Bytes(40), Bytes(60)];
const UDP_HEADERS: [Bytes; 2] = [Bytes(28), Bytes(48)];
/// The same with the common header of SCTP.
const SCTP_HEADERS: [Bytes; 2] = [Bytes(32), Bytes(52)];
/// Bytes that hold all headers and options, of either version of IP; the first is the default.
const HEADS: [u32; 2] = [96, 100];
/// Duplex links that have an IPv4 network each: 10.0.0.0/24 to 10.255.255.0/24.
const MAX_LINKS: usize = 1 << 16;

/// A capture of each replication, as a file in one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureOrder {
    folder: PathBuf,
    /// By link direction: packets are captured at the interface where it leaves.
    interfaces: Vec<bool>,
    snap: u32,
}

impl CaptureOrder {
    /// A capture of `scenario` at one node, at both ends of one link, or with `both` at both ends of all flows. `snap`: bytes
    /// that are kept of a packet; 0: all. The options of IPv6 packets are kept where those of IPv4 are.
    ///
    /// # Errors
    /// There is no such node or link, or a flow has no bytes; the message names the cure.
    pub fn new(scenario: &Scenario, folder: &Path, at: &str, snap: u32) -> Result<Self, String> {
        for flow in &scenario.flows {
            writable(flow)?;
        }
        for proxy in &scenario.proxies {
            proxy.flows.iter().try_for_each(|flow| writable_at(proxy, &scenario.flows[*flow]))?;
        }
        if scenario.duplex_links.len() > MAX_LINKS {
            return Err(format!(
                "{} links have no addresses of their own, {MAX_LINKS} would\n  fix: capture a smaller network",
                scenario.duplex_links.len()
            ));
        }
        let node = |index: usize| &scenario.nodes[index].name;
        let ends = |index: usize| scenario.flows.iter().any(|flow| flow.from == index || flow.to == index);
        let interfaces: Vec<bool> = scenario
            .duplex_links
            .iter()
            .flat_map(|link| {
                link.ends.map(|end| at == "both" && ends(end) || at == node(end) || at == link.name)
            })
            .collect();
        if !interfaces.contains(&true) {
            let nodes: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
            let links: Vec<&str> = scenario.duplex_links.iter().map(|link| link.name.as_str()).collect();
            return Err(format!(
                "there is no node or link {at}\n  fix: both, or one of the nodes {} or links {}",
                nodes.join(", "),
                links.join(", ")
            ));
        }
        let [four, six] = HEADS;
        let whole = (four..six).contains(&snap) && scenario.flows.iter().any(is_ipv6);
        Ok(Self { folder: folder.to_owned(), interfaces, snap: if whole { six } else { snap } })
    }

    /// The file of a replication.
    pub fn file(&self, seed: u64) -> PathBuf {
        self.folder.join(format!("seed-{seed}.pcapng"))
    }

    /// By link direction: packets are captured at the interface where it leaves.
    pub(crate) fn interfaces(&self) -> &[bool] {
        &self.interfaces
    }

    /// Bytes that are kept of a packet; 0: all.
    pub(crate) fn snap(&self) -> u32 {
        self.snap
    }
}

/// The packets of a flow have bytes.
fn writable(flow: &Flow) -> Result<(), String> {
    let Flow { name, transport, .. } = flow;
    if transport.is_stream() && transport.tcp.recovery.reliability == Reliability::Poll {
        return Err(format!(
            "flow {name}: STP has no published format of its packets, so that no program could read them\n  \
             fix: capture a scenario without it"
        ));
    }
    let (header, known) = headers(flow);
    if !known.contains(&header) {
        return Err(format!(
            "flow {name}: a header of {header} is none of IPv4 ({}) or IPv6 ({})\n  \
             fix: set one of both, and the rest as overhead",
            known[0], known[1]
        ));
    }
    Ok(())
}

/// So have those of the ends of a proxy, in the version of IP that the flow has.
fn writable_at(proxy: &Proxy, flow: &Flow) -> Result<(), String> {
    let Proxy { name, client, server, .. } = proxy;
    let polls = |side: &Transport| side.tcp.recovery.reliability == Reliability::Poll;
    if polls(client) || polls(server) {
        return Err(format!(
            "proxy {name}: STP has no published format of its packets, so that no program could read them\n  \
             fix: capture a scenario without it"
        ));
    }
    let mut headers = [client, server].map(|side| side.tcp.segment.header).into_iter();
    match headers.find(|header| *header != flow.transport.tcp.segment.header) {
        None => Ok(()),
        Some(header) => Err(format!(
            "proxy {name}: a header of {header} beside {} of flow {}: two versions of IP\n  \
             fix: give all legs of a flow one `header`",
            flow.transport.tcp.segment.header, flow.name
        )),
    }
}

/// The header of IP and transport, and those that it can be with IPv4 and IPv6.
fn headers(Flow { transport, .. }: &Flow) -> (Bytes, [Bytes; 2]) {
    match (&transport.udp, &transport.sctp) {
        (Some(udp), _) => (udp.header, UDP_HEADERS),
        (None, Some(sctp)) => (sctp.config.packet.ip_header + COMMON_HEADER, SCTP_HEADERS),
        (None, None) => (transport.tcp.segment.header, TCP_HEADERS),
    }
}

/// The flow uses IPv6.
pub(super) fn is_ipv6(flow: &Flow) -> bool {
    let (header, [_, six]) = headers(flow);
    header == six
}
