//! Baselines: a flow as plain TCP over one of its paths alone, everything else as it was.

use std::sync::Arc;

use scenario::model::{Flow, Scenario};

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
    Arc::make_mut(&mut alone.flows[flow].transport).mptcp = None;
    alone.flows[flow].via = Some(duplex_link);
    alone
}

/// Duplex links at the sender over which the receiver can be reached, in order of appearance.
fn usable_duplex_links(scenario: &Scenario, flow: &Flow) -> Vec<usize> {
    let at_sender =
        scenario.duplex_links.iter().enumerate().filter(|(_, link)| link.ends.contains(&flow.from));
    at_sender
        .filter(|(_, link)| {
            let neighbour = if link.ends[0] == flow.from { link.ends[1] } else { link.ends[0] };
            reaches(scenario, neighbour, flow)
        })
        .map(|(index, _)| index)
        .collect()
}

/// True if packets get from `start` to the flow's receiver without passing its sender again.
fn reaches(scenario: &Scenario, start: usize, flow: &Flow) -> bool {
    let mut seen = vec![false; scenario.nodes.len()];
    seen[flow.from] = true;
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        if node == flow.to {
            return true;
        }
        if std::mem::replace(&mut seen[node], true) || !scenario.nodes[node].forward {
            continue;
        }
        let links = scenario.duplex_links.iter().filter(|link| link.ends.contains(&node));
        open.extend(links.map(|link| if link.ends[0] == node { link.ends[1] } else { link.ends[0] }));
    }
    false
}
