//! The pipeline: text, tree, overrides, checks, inheritance, defaults, rules, model.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use crate::choices::Choices;
use crate::draws::{self, Draw, Pick};
use crate::keys::ROOT;
use crate::model::Scenario;
use crate::part::{Parts, Unsupported};
use crate::registries::Registries;
use crate::{
    addresses, assemble, flows, inherit, link_rules, overrides, proxies, proxy_legs, rules, sctp_rules,
    topology, whole,
};
use document::check::Checker;
use document::diagnostic::{Code, Diagnostics, Report};
use document::files::Files;
use document::tree::{Origin, Placed, Table};
use document::{fill, print};

/// First line of an expanded scenario, by which editors find the schema.
const SCHEMA_LINE: &str = "#:schema ./ropewalk.schema.json";

/// A scenario file without mistakes.
#[derive(Clone, Debug)]
pub struct Document {
    /// The scenario that the file describes.
    pub scenario: Scenario,
    source: String,
    file: String,
    sets: Vec<(String, String)>,
    filled: Table,
    parts: Parts,
    /// The same with the content of files; `None` if there are none.
    whole: Option<Table>,
    /// Keys of the file that an override of `kind` leaves out.
    left_out: Option<Diagnostics>,
    /// Values that differ from seed to seed; `scenario` has their lower bounds.
    draws: Vec<Draw>,
    /// To read the file again under a seed; `None` without draws.
    registries: Option<Box<Registries>>,
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
        let mut low = Self::picked(text, file, sets, registries, Pick::From)?;
        if low.draws.is_empty() {
            return Ok(low);
        }
        let high = Self::picked(text, file, sets, registries, Pick::To)?;
        if structure(&low.scenario) != structure(&high.scenario) {
            let mut report = Report::new(file, text, sets);
            let message = "a draw changes the seeds, or which flows and links there are".into();
            let help =
                "draw rates, times, sizes and the like; write names and numbers of things as they are".into();
            report.add(Origin::Default, Code::Contradiction, "", message, help);
            return Err(report.finish());
        }
        let whole = |document: &Self| document.whole.as_ref().unwrap_or(&document.filled).clone();
        if low.whole.is_some() {
            low.whole = Some(draws::restored(&whole(&low), &whole(&high), &low.draws));
        }
        low.filled = draws::restored(&low.filled, &high.filled, &low.draws);
        low.registries = Some(Box::new(registries.clone()));
        let mut seen = BTreeSet::new();
        low.draws.retain(|draw| seen.insert(draw.column()));
        Ok(low)
    }

    /// Keys of the file that have no effect since an override chose another `kind`, with their places.
    pub fn left_out(&self) -> Option<&Diagnostics> {
        self.left_out.as_ref()
    }

    /// The values that are drawn once per replication, each stream once.
    pub fn draws(&self) -> &[Draw] {
        &self.draws
    }

    /// The scenario under a seed: with its draws.
    ///
    /// # Errors
    /// The values that the seed gives do not go together, although the bounds do.
    pub fn under(&self, seed: u64) -> Result<Cow<'_, Scenario>, Diagnostics> {
        let Some(registries) = &self.registries else { return Ok(Cow::Borrowed(&self.scenario)) };
        let drawn = Self::picked(&self.source, &self.file, &self.sets, registries, Pick::Seed(seed))?;
        Ok(Cow::Owned(drawn.scenario))
    }

    fn picked(
        text: &str,
        file: &str,
        sets: &[(String, String)],
        registries: &Registries,
        pick: Pick,
    ) -> Result<Self, Diagnostics> {
        let mut report = Report::new(file, text, sets);
        let Some(mut root) = document::read(text, &mut report) else {
            return Err(report.finish());
        };
        let mut left_out = Report::new(file, text, sets);
        overrides::apply(&mut root, sets, &mut report, &mut left_out);
        if root.entries.is_empty() {
            let help = "write a duration, a [[path]] and a [[flow]]".into();
            report.add(Origin::Default, Code::NothingToRun, "", "the scenario is empty".into(), help);
            return Err(report.finish());
        }
        let draws = draws::lift(&mut root, pick, &mut report);
        let files = Files::beside(file);
        Checker { vocabulary: registries, files: &files, report: &mut report }.table(&ROOT, &mut root, "");
        inherit::resolve(&mut root, &mut report);
        proxy_legs::resolve(&mut root, &mut report);
        sctp_rules::profile(&mut root, &mut report);
        let mut filled = fill::fill(&ROOT, root, registries, &files, &mut report);
        if !filled.has("name") {
            filled.put("name", Origin::Default, Placed::text(&stem(file)));
        }
        rules::something_to_run(&filled, &mut report);
        let topology = topology::build(&mut filled, &mut report);
        let choices = Choices { registries, files: &files };
        rules::flows(&mut filled, &topology, &choices, &mut report);
        proxies::check(&mut filled, &topology, &choices, &mut report);
        flows::waits(&filled, &mut report);
        flows::not_all_left_out(&filled, &mut report);
        rules::events(&filled, &topology, &mut report);
        addresses::events(&filled, &topology, &mut report);
        link_rules::links(&mut filled, &choices, &mut report);
        if !report.is_empty() {
            return Err(report.finish());
        }
        fill::check(&ROOT, &filled);
        match assemble::scenario(&filled, &topology, &choices) {
            Some(scenario) => {
                scenario.check();
                let mut whole = None;
                if !files.is_empty() {
                    let mut tree = filled.clone();
                    whole::inline(&ROOT, &mut tree, &choices);
                    whole = Some(tree);
                }
                let parts = Parts::new(&filled, &topology);
                let (source, file, sets) = (text.into(), file.into(), sets.to_vec());
                let left_out = (!left_out.is_empty()).then(|| left_out.finish());
                let registries = None;
                Ok(Self { scenario, source, file, sets, filled, parts, whole, left_out, draws, registries })
            }
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
        print::document(SCHEMA_LINE, &ROOT, &self.filled)
    }

    /// The same with the content of each file in the place of its path: it parses to the same scenario anywhere, and
    /// two such texts are equal only if their runs are.
    pub fn to_whole_toml(&self) -> String {
        print::document(SCHEMA_LINE, &ROOT, self.whole.as_ref().unwrap_or(&self.filled))
    }

    /// Name and kind of transport of each `[[flow]]`, in the order of the file.
    pub fn flows(&self) -> Vec<(String, String)> {
        let flow = |(_, flow): (&Placed, &Table)| {
            Some((flow.text("name")?.to_owned(), flow.table("transport")?.text("kind")?.to_owned()))
        };
        self.filled.tables("flow").filter_map(flow).collect()
    }

    /// Nothing if `unsupported` is empty.
    ///
    /// # Errors
    /// Keys that `backend` cannot run, with their places, in the order of the file.
    ///
    /// # Panics
    /// If a part has an index that the model does not have.
    pub fn refuse(&self, backend: &str, unsupported: &[Unsupported]) -> Result<(), Diagnostics> {
        let mut report = Report::new(&self.file, &self.source, &self.sets);
        self.parts.refuse(&self.filled, backend, unsupported, &mut report);
        debug_assert_eq!(report.is_empty(), unsupported.is_empty(), "each is reported");
        if report.is_empty() { Ok(()) } else { Err(report.finish()) }
    }

    /// The text that was parsed, without overrides.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Everything that tables of results name: it may not differ from seed to seed.
fn structure(scenario: &Scenario) -> (&[u64], Vec<&str>, Vec<&str>) {
    let flows = scenario.flows.iter().map(|flow| flow.name.as_str());
    let links = scenario.duplex_links.iter().flat_map(|link| &link.directions);
    (&scenario.seeds, flows.collect(), links.map(|direction| direction.name.as_str()).collect())
}

/// The title of a scenario that has none.
fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| "scenario".into())
}
