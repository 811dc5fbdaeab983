//! A host: a network namespace with its devices, addresses, routes and settings.

use network::Interface;

use crate::address::{address, further_address};
use crate::device::{self, Device};
use crate::fault::Fault;
use crate::namespace::{Namespace, ip, set, tc};
use crate::plan::{ChangeOfEndpoint, Endpoint, EndpointChange, HostPlan, Limits, Uplink};

/// Settings of every namespace. Nothing but the flows speaks, and no run knows the one before.
const SETTINGS: &[(&str, &str)] = &[
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
    // Packets may arrive where none would leave.
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    // An address belongs to its device.
    ("net/ipv4/tcp_no_metrics_save", "1"),
    // A SYN that is lost does not turn MPTCP off.
    ("net/mptcp/blackhole_timeout", "0"),
];
/// Packets that wait in a device for the links to read them: more than a link would take.
const DEVICE_QUEUE: u32 = 10_000;
/// Routing table of the first interface, for packets that have an address of it.
const FIRST_TABLE: u32 = 100;

/// A host that is set up.
pub(crate) struct Host {
    pub(crate) namespace: Namespace,
    pub(crate) devices: Vec<Device>,
}

impl Host {
    /// Makes the namespace and everything in it.
    pub(crate) fn new(plan: &HostPlan) -> Result<Self, Fault> {
        let namespace = Namespace::new()?;
        let devices = namespace.inside(|| {
            for (name, value) in SETTINGS {
                // A kernel without IPv6 has nothing to turn off, an older one no memory of black holes.
                let optional = name.contains("ipv6") || name.contains("blackhole");
                set(name, value).or_else(|fault| if optional { Ok(()) } else { Err(fault) })?;
            }
            for (name, value) in &plan.settings {
                set(name, value)?;
            }
            ip("link set lo up")?;
            let devices = plan.uplinks.iter().map(attach).collect::<Result<Vec<_>, _>>()?;
            path_manager(plan.limits, &plan.endpoints)?;
            Ok(devices)
        })?;
        Ok(Self { namespace, devices })
    }
}

/// A device with its addresses and routes.
fn attach(uplink: &Uplink) -> Result<Device, Fault> {
    let Uplink { interface, further, mtu, routes, congestion } = uplink;
    let device = Device::new(*interface)?;
    let name = device::name(*interface);
    for number in 0..=*further {
        ip(&format!("address add {}/32 dev {name}", further_address(*interface, number)))?;
    }
    ip(&format!("link set {name} up mtu {mtu} txqueuelen {DEVICE_QUEUE}"))?;
    // The default of the machine may pace (`fq`) or drop (`fq_codel`), and links do that.
    tc(&format!("qdisc replace dev {name} root pfifo limit {DEVICE_QUEUE}"))?;
    for route in routes {
        let mut to = format!("{}/32 dev {name} src {}", route.to, address(route.source));
        if let Some(congestion) = congestion {
            to += &format!(" congctl {congestion}");
        }
        if route.preferred {
            ip(&format!("route add {to}"))?;
        }
        ip(&format!("route add {to} table {}", table(route.source)))?;
    }
    // The main table would send the rest over the device of another address, and the path manager would wait for an answer.
    ip(&format!("route add unreachable default table {}", table(*interface)))?;
    for number in 0..=*further {
        let from = further_address(*interface, number);
        ip(&format!("rule add from {from} lookup {}", table(*interface)))?;
    }
    Ok(device)
}

/// The routing table of packets that have an address of this interface.
fn table(source: Interface) -> u32 {
    FIRST_TABLE + u32::from(source.number)
}

fn path_manager(limits: Limits, endpoints: &[Endpoint]) -> Result<(), Fault> {
    if limits == Limits::default() && endpoints.is_empty() {
        return Ok(());
    }
    let Limits { subflows, add_addr_accepted } = limits;
    ip(&format!("mptcp limits set subflows {subflows} add_addr_accepted {add_addr_accepted}"))?;
    for (place, endpoint) in endpoints.iter().enumerate().filter(|(_, endpoint)| !endpoint.absent) {
        add(place, endpoint)?;
    }
    Ok(())
}

/// Without its device: a subflow that is bound to one leaves over it even where there is no route.
fn add(place: usize, Endpoint { address, interface: _, flags, absent: _ }: &Endpoint) -> Result<(), Fault> {
    ip(&format!("mptcp endpoint add {address} id {} {}", id(place), flags.join(" ")))
}

/// The address ID of an endpoint. That of the first subflow's address is 0 on the wire, whatever is given here.
fn id(place: usize) -> usize {
    place + 1
}

/// Changes an endpoint of this host, in whose namespace the calling thread is.
pub(crate) fn change(plan: &HostPlan, change: EndpointChange) -> Result<(), Fault> {
    let EndpointChange { at: _, endpoint, what } = change;
    match what {
        ChangeOfEndpoint::Add => add(endpoint, &plan.endpoints[endpoint]),
        ChangeOfEndpoint::Delete => ip(&format!("mptcp endpoint delete id {}", id(endpoint))),
        ChangeOfEndpoint::Backup(backup) => {
            let word = if backup { "backup" } else { "nobackup" };
            ip(&format!("mptcp endpoint change id {} {word}", id(endpoint)))
        }
    }
}
