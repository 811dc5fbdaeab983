//! Baselines: a flow as plain TCP over one of its paths alone, or an association that has only this path, everything else as
//! it was.

use std::sync::Arc;

use scenario::model::{Flow, Scenario};
use scenario::{Graph, NodePair};

/// Which flow of the scenario runs alone, and what its rows are called: `FLOW@PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Baseline {
    pub(crate) flow: usize,
    pub(crate) name: String,
}

/// All baselines that the scenario asks for, by flow and then by duplex link, each with its scenario.
pub(crate) fn all(scenario: &Scenario) -> Vec<(Baseline, Scenario)> {
    let compared = scenario.flows.iter().enumerate().filter(|(_, flow)| flow.compare_paths);
    compared
        .flat_map(|(index, flow)| {
            usable_duplex_links(scenario, flow).into_iter().map(move |duplex_link| {
                let name = format!("{}@{}", flow.name, scenario.duplex_links[duplex_link].name);
                (Baseline { flow: index, name }, alone_over(scenario, index, duplex_link))
            })
        })
        .collect()
}

fn alone_over(scenario: &Scenario, flow: usize, duplex_link: usize) -> Scenario {
    let mut alone = scenario.clone();
    let transport = Arc::make_mut(&mut alone.flows[flow].transport);
    transport.mptcp = None;
    if let Some(associations) = &mut transport.sctp {
        associations.scheduler = None;
        associations.single_homed = true;
        Arc::make_mut(&mut associations.config).cmt = None;
    }
    alone.flows[flow].via = Some(duplex_link);
    alone
}

/// Duplex links at the sender over which the receiver can be reached, in order of appearance.
fn usable_duplex_links(scenario: &Scenario, flow: &Flow) -> Vec<usize> {
    let graph = Graph::new(scenario.nodes.len(), scenario.duplex_links.iter().map(|link| link.ends));
    let pair = NodePair { from: flow.from, to: flow.to };
    let leads = |ends| graph.leads(ends, pair, |node| scenario.nodes[node].forward);
    let links = scenario.duplex_links.iter().map(|link| link.ends).enumerate();
    links.filter(|(_, ends)| ends.contains(&flow.from) && leads(*ends)).map(|(index, _)| index).collect()
}
