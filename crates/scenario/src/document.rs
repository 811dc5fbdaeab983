//! The pipeline: text, tree, overrides, checks, inheritance, defaults, rules, model.

use std::path::Path;

use toml::de::DeTable;

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostics, Report};
use crate::keys::ROOT;
use crate::model::Scenario;
use crate::registries::Registries;
use crate::tree::{Node, Origin, Table};
use crate::{assemble, fill, inherit, overrides, print, rules, syntax, topology};

/// A scenario file without mistakes.
#[derive(Clone, Debug)]
pub struct Document {
    /// What the file means.
    pub scenario: Scenario,
    source: String,
    filled: Table,
}

impl Document {
    /// Parses `text` after the overrides `sets`, pairs such as `("path.beam1.up.rate", "10Mbit/s")`. `file` is the
    /// name that diagnostics show; without a `name` its stem becomes the title.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the file.
    pub fn parse(
        text: &str,
        file: &str,
        sets: &[(String, String)],
        registries: &Registries,
    ) -> Result<Self, Diagnostics> {
        let mut report = Report::new(file, text, sets);
        let (tree, errors) = DeTable::parse_recoverable(text);
        let Some(bad) = syntax::check(text, &errors, &mut report) else {
            return Err(report.finish());
        };
        let mut root = Table::from_toml(tree.get_ref(), &bad);
        overrides::apply(&mut root, sets, &mut report);
        if root.entries.is_empty() {
            let help = "write a duration, a [[path]] and a [[flow]]".into();
            report.add(Origin::Default, Code::NothingToRun, "", "the scenario is empty".into(), help);
            return Err(report.finish());
        }
        Checker { registries, report: &mut report }.table(&ROOT, &mut root, "");
        inherit::resolve(&mut root, &mut report);
        let mut filled = fill::fill(root, registries, &mut report);
        if !filled.has("name") {
            filled.put("name", Origin::Default, Node::text(&stem(file)));
        }
        rules::something_to_run(&filled, &mut report);
        let topology = topology::build(&mut filled, &mut report);
        rules::flows(&mut filled, &topology, &mut report);
        rules::events(&filled, &topology, &mut report);
        if !report.is_empty() {
            return Err(report.finish());
        }
        match assemble::scenario(&filled, &topology, registries) {
            Some(scenario) => Ok(Self { scenario, source: text.into(), filled }),
            None => {
                let message = "the scenario was accepted and cannot be built".into();
                report.add(Origin::Default, Code::Internal, "", message, "please report this file".into());
                Err(report.finish())
            }
        }
    }

    /// The expanded scenario: every default and profile value written out, nothing inherited. It parses to the same
    /// scenario.
    pub fn to_toml(&self) -> String {
        print::document(&self.filled)
    }

    /// The text that was parsed, without overrides.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// The title of a scenario that has none.
fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| "scenario".into())
}
