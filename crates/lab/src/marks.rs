//! Changes of links as words, for the margins of plots.

use scenario::model::{Change, Scenario};
use units::SimTime;

/// Something that happens to links at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: SimTime,
    /// Names, separated by commas; the name of the duplex link where both of its directions change.
    pub links: String,
    /// The change, as in `down` or `rate 2Mbit/s, delay 30ms`.
    pub what: String,
}

/// The changes of `scenario`, in the order of time.
pub fn marks(scenario: &Scenario) -> Vec<Mark> {
    let mark = |change: &Change| Mark { at: change.at, links: links(scenario, change), what: what(change) };
    scenario.events.iter().map(mark).collect()
}

fn links(scenario: &Scenario, change: &Change) -> String {
    let mut names: Vec<&str> = Vec::new();
    for &(duplex_link, direction) in &change.links {
        let duplex_link_at = &scenario.duplex_links[duplex_link];
        if !change.links.contains(&(duplex_link, 1 - direction)) {
            names.push(&duplex_link_at.directions[direction].name);
        } else if direction == 0 {
            names.push(&duplex_link_at.name);
        }
    }
    names.join(", ")
}

fn what(change: &Change) -> String {
    let loss = change.loss.as_ref().map(|models| match models.as_slice() {
        [] => "no loss".to_owned(),
        models => format!("loss {}", words(models)),
    });
    let shapers = change.shapers.as_ref().map(|shapers| match shapers.as_slice() {
        [] => "no shaper".to_owned(),
        shapers => format!("shaper {}", words(shapers.iter().map(|shaper| shaper.rate))),
    });
    let parts = [
        change.up.map(|up| if up { "up" } else { "down" }.to_owned()),
        change.rate.as_ref().map(|rate| format!("rate {}", words(rate))),
        change.delay.as_ref().map(|delay| format!("delay {}", words(delay))),
        change.queue.as_ref().map(|queue| format!("queue {queue}")),
        loss,
        shapers,
        change.faults.map(|faults| if faults.none() { "no faults" } else { "faults" }.to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Models that apply at the same time, joined.
fn words<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" and ")
}
