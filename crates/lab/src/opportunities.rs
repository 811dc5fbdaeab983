//! The capacity of a link: as a text of delivery opportunities that the tools of mahimahi and the rate model
//! `opportunities` read, and as mean rates.

use std::fmt;

use scenario::model::Scenario;
use units::{Nanos, SimTime};

/// Lines of such a text: a fast link over a long run would have more than any memory holds.
pub const MAX_OPPORTUNITIES: usize = 20_000_000;

/// Why there is no such text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoOpportunities {
    /// No link direction has this name.
    UnknownLink {
        /// The name that was given.
        name: String,
        /// The link directions of the scenario.
        links: Vec<String>,
    },
    /// The link carries nothing during the whole run.
    Never {
        /// Its name.
        name: String,
    },
    /// It would have more than [`MAX_OPPORTUNITIES`] lines.
    TooMany {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for NoOpportunities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownLink { name, links } => {
                write!(f, "no link direction is called \"{name}\"; there are {}", links.join(", "))
            }
            Self::Never { name } => {
                write!(
                    f,
                    "{name} cannot carry a single packet of 1500 bytes during the run: lengthen `duration`"
                )
            }
            Self::TooMany { name } => {
                write!(
                    f,
                    "{name} can carry more than {MAX_OPPORTUNITIES} packets of 1500 bytes during the run, and a trace has \
                     at most as many lines: shorten `duration`"
                )
            }
        }
    }
}

impl std::error::Error for NoOpportunities {}

/// One line in whole milliseconds for each 1500 bytes that the link direction `name`, such as `beam1.down`, could carry
/// from the start of the run to its end under this seed.
///
/// # Errors
/// There is no such link, or it never carries anything, or too much.
pub fn opportunities(scenario: &Scenario, seed: u64, name: &str) -> Result<String, NoOpportunities> {
    let place = find(scenario, name)?;
    let times = network::opportunities(scenario, seed, place, MAX_OPPORTUNITIES + 1);
    if times.len() > MAX_OPPORTUNITIES {
        return Err(NoOpportunities::TooMany { name: name.into() });
    }
    if times.is_empty() {
        return Err(NoOpportunities::Never { name: name.into() });
    }
    Ok(links::rate::write_opportunities(&times))
}

/// Mean rate in bit/s of the link direction `name` between each two of `edges_s` under this seed, outages included. Edges
/// are in seconds and rise; those beyond the end of the run count as the end.
///
/// # Errors
/// There is no such link.
pub fn capacity(
    scenario: &Scenario,
    seed: u64,
    name: &str,
    edges_s: &[f64],
) -> Result<Vec<f64>, NoOpportunities> {
    let place = find(scenario, name)?;
    let end_s = scenario.duration.as_secs_f64();
    let within: Vec<SimTime> = edges_s
        .iter()
        .map(|&edge_s| {
            SimTime::ZERO + Nanos::from_secs_f64(edge_s.max(0.0).min(end_s)).min(scenario.duration)
        })
        .collect();
    Ok(network::capacity(scenario, seed, place, &within))
}

/// Duplex link and direction of a link direction.
fn find(scenario: &Scenario, name: &str) -> Result<(usize, usize), NoOpportunities> {
    let directions = || {
        let of = |(duplex_link, c): (usize, &'_ scenario::model::DuplexLink)| {
            let names = c.directions.iter().map(|direction| direction.name.clone()).enumerate();
            names.map(|(i, name)| ((duplex_link, i), name)).collect::<Vec<_>>()
        };
        scenario.duplex_links.iter().enumerate().flat_map(of)
    };
    let found = directions().find(|(_, link)| link == name).map(|(place, _)| place);
    found.ok_or_else(|| NoOpportunities::UnknownLink {
        name: name.into(),
        links: directions().map(|(_, link)| link).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(extra: &str) -> Scenario {
        let text = format!(
            "name = \"one\"\nduration = \"100ms\"\n[[path]]\nname = \"a\"\n\
             both = {{ rate = \"1.2Mbit/s\", delay = \"1ms\" }}\n\
             [[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\ntransport = {{ kind = \"tcp\" }}\n{extra}"
        );
        let registries = scenario::Registries::builtin();
        let document = scenario::Document::parse(&text, "test.toml", &[], &registries);
        document.unwrap_or_else(|mistakes| panic!("{mistakes}")).scenario
    }

    fn lines(extra: &str, link: &str) -> Result<Vec<u64>, NoOpportunities> {
        let text = opportunities(&document(extra), 1, link)?;
        Ok(text.lines().map(|line| line.parse().unwrap()).collect())
    }

    fn event(at: u64, set: &str) -> String {
        format!("[[event]]\nat = \"{at}ms\"\nlink = \"a\"\nset = {{ {set} }}\n")
    }

    #[test]
    fn a_constant_rate_has_one_every_ten_milliseconds() {
        assert_eq!(lines("", "a.up"), Ok((1..=10).map(|n| 10 * n).collect()));
    }

    /// The change of an event counts from then on, and an opportunity that an outage cuts is gone.
    #[test]
    fn changes_and_outages_count() {
        let events = event(25, "up = false") + &event(50, "up = true") + &event(70, "rate = \"2.4Mbit/s\"");
        assert_eq!(lines(&events, "a.down"), Ok(vec![10, 20, 60, 70, 75, 80, 85, 90, 95, 100]));
        assert_eq!(
            lines(&event(5, "up = false"), "a.up"),
            Err(NoOpportunities::Never { name: "a.up".into() })
        );
    }

    #[test]
    fn a_trace_that_no_memory_holds_is_refused() {
        let text = "rate = \"10000Gbit/s\"";
        let found = lines(&event(1, text), "a.up").unwrap_err();
        assert_eq!(found, NoOpportunities::TooMany { name: "a.up".into() });
        assert!(found.to_string().contains("20000000 packets"), "{found}");
    }

    #[test]
    fn capacity_is_the_mean_rate_between_edges() {
        let events = event(25, "up = false") + &event(50, "up = true") + &event(70, "rate = \"2.4Mbit/s\"");
        let edges = [0.0, 0.02, 0.03, 0.04, 0.06, 0.1, 0.2];
        let rates = capacity(&document(&events), 1, "a.down", &edges);
        assert_eq!(rates, Ok(vec![1.2e6, 0.6e6, 0.0, 0.6e6, 2.1e6, 0.0]));
        assert!(capacity(&document(""), 1, "b.up", &edges).is_err());
        assert_eq!(capacity(&document(""), 1, "a.up", &[]), Ok(vec![]));
    }

    #[test]
    fn an_unknown_link_is_named_with_those_that_are_known() {
        let text = lines("", "b.up").unwrap_err().to_string();
        assert!(text.contains("\"b.up\"") && text.contains("a.up, a.down"), "{text}");
    }
}
