//! A study file: what it says, checked.

use std::path::{Path, PathBuf};

use document::diagnostic::{Code, Diagnostics, Report, suggest};
use document::files::Files;
use document::tree::{Origin, Placed, Table, Value};
use document::vocabulary::NoAlgorithms;
use document::{check::Checker, fill, scalar};
use scenario::Registries;

use crate::factors::{Factor, Override, distinct, factors, overrides};
use crate::keys::STUDY;
use crate::like::{self, Text, Whole};
use crate::metric::Metric;
use crate::{plan, reading};

/// A study file without mistakes of its own; its cases are checked by [`StudyFile::cases`].
#[derive(Clone, Debug)]
pub struct StudyFile {
    /// Title.
    pub name: String,
    /// The scenario file.
    pub scenario: PathBuf,
    /// Keys that hold for all cases.
    pub common: Vec<Override>,
    /// The varied factors.
    pub factors: Vec<Factor>,
    /// How many replications a case gets.
    pub stopping: Stopping,
    /// Number of replications of each case that keep their time series.
    pub series: u64,
    /// Baselines over each path alone; `None`: as the scenario says.
    pub compare_paths: Option<ComparePaths>,
    /// Empty: chosen by the flows of the scenario.
    pub metrics: Vec<Metric>,
    /// Levels of the cases that others are compared to, by factor.
    pub baseline: Option<Vec<(String, String)>>,
    /// Options of the statistics.
    pub treatment: Treatment,
    pub(crate) source: Source,
}

/// The text of a study file, and where in it stands what is checked only against the scenario.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub file: String,
    pub text: String,
    /// The files that this one is like, nearest first.
    pub below: Vec<Text>,
    pub scenario: Origin,
    pub vary: Origin,
    pub compare_paths: Origin,
    /// Place of each metric.
    pub metrics: Vec<Origin>,
    /// Place of the metric of the stopping rule.
    pub until: Origin,
}

impl Source {
    /// A report on the file and those that it is like: places are those of the tree.
    pub fn report(&self) -> Report<'_> {
        let mut report = Report::new(&self.file, &self.text, &[]);
        for (file, text) in &self.below {
            report.include(file, text);
        }
        report
    }
}

/// Flows that get baselines over each path alone.
#[derive(Clone, Debug)]
pub enum ComparePaths {
    /// All MPTCP flows, or none.
    All(bool),
    /// Only these flows.
    Flows(Vec<(String, Origin)>),
}

/// How many replications a case gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopping {
    /// Replications before the first look.
    pub minimum: u64,
    /// Most replications.
    pub maximum: u64,
    /// Replications between two looks.
    pub step: u64,
    /// The metric that decides; `None`: `maximum` replications.
    pub metric: Option<Metric>,
    /// Wanted half width of the 95 % interval of the metric, as a part of its mean.
    pub half_width: f64,
}

/// Options of the statistics, as [the page](../../../docs/reference/studies.md) explains them.
#[derive(Clone, Debug, PartialEq)]
pub struct Treatment {
    /// The treatment of outliers.
    pub outliers: String,
    /// Threshold of the z-score.
    pub z: f64,
    /// Paired test.
    pub test: String,
    /// Correction for many comparisons.
    pub correction: String,
    /// Significance level of a difference.
    pub alpha: f64,
    /// Factors over which cases are pooled.
    pub pool: Vec<String>,
}

impl StudyFile {
    /// Reads the `text` of the study file `file`, in one of its readings if it has any; its scenario is looked for beside
    /// it.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the file; then also keys that the scenario does not have.
    pub fn parse(
        text: &str,
        file: &str,
        reading: Option<&str>,
        registries: &Registries,
    ) -> Result<Self, Diagnostics> {
        let mut report = Report::new(file, text, &[]);
        let Some(root) = document::read(text, &mut report) else { return Err(report.finish()) };
        let files = Files::beside(file);
        let Whole { mut root, below } = like::whole(root, file, &mut report);
        Checker { vocabulary: &NoAlgorithms, files: &files, report: &mut report }
            .table(&STUDY, &mut root, "");
        reading::choose(&mut root, reading, &mut report);
        let filled = fill::fill(&STUDY, root, &NoAlgorithms, &files, &mut report);
        let mut study = Reader { root: &filled, report: &mut report }.study(text, file);
        study.source.below = below;
        if let Some(reading) = reading {
            study.name = format!("{}, {reading}", study.name);
        }
        if report.is_empty() {
            return Ok(study);
        }
        if !study.scenario.as_os_str().is_empty() {
            plan::glance(&study, registries, &mut report);
        }
        Err(report.finish())
    }

    /// Checks that the flows and links that metrics name are among those of the runs.
    ///
    /// # Errors
    /// Metrics that name others.
    pub fn check_names(&self, flows: &[String], links: &[String]) -> Result<(), Diagnostics> {
        let mut report = self.source.report();
        let until = self
            .stopping
            .metric
            .iter()
            .map(|metric| ("replications.until".into(), metric, self.source.until));
        let listed = self.metrics.iter().zip(&self.source.metrics).enumerate();
        let listed = listed.map(|(index, (metric, at))| (format!("metrics.{index}"), metric, *at));
        for (key, metric, at) in listed.chain(until) {
            let (kind, known) = if metric.table == "links" { ("link", links) } else { ("flow", flows) };
            if !metric.names(known) {
                let subject = metric.subject();
                let message = format!("the runs have no {kind} \"{subject}\"");
                let help = suggest(subject, "known", known.iter().map(String::as_str));
                report.add(at, Code::UnknownName, &key, message, help);
            }
        }
        if report.is_empty() { Ok(()) } else { Err(report.finish()) }
    }
}

struct Reader<'t, 'r, 'a> {
    root: &'t Table,
    report: &'r mut Report<'a>,
}

impl Reader<'_, '_, '_> {
    fn study(mut self, text: &str, file: &str) -> StudyFile {
        let name = self.compulsory("name");
        let scenario = self.compulsory("scenario");
        let mut common = self.root.table("set").map_or_else(Vec::new, overrides);
        let mut factors = factors(self.root, self.report);
        distinct(&common, &factors, self.report);
        let held = factors.iter().filter(|factor| factor.held).flat_map(|factor| &factor.levels);
        common.extend(held.flat_map(|level| level.overrides.clone()));
        factors.retain(|factor| !factor.held);
        let stopping = self.stopping();
        let (metrics, places) = self.metrics();
        let at = |key| self.root.get(key).map_or(Origin::Default, |node| node.at);
        let until = self.root.table("replications").and_then(|table| table.get("until"));
        let source = Source {
            file: file.into(),
            text: text.into(),
            below: Vec::new(),
            scenario: at("scenario"),
            vary: at("vary"),
            compare_paths: at("compare_paths"),
            metrics: places,
            until: until.map_or(Origin::Default, |node| node.at),
        };
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        StudyFile {
            name,
            scenario: if scenario.is_empty() { PathBuf::new() } else { folder.join(scenario) },
            common,
            baseline: self.baseline(&factors),
            treatment: self.treatment(&factors),
            factors,
            stopping,
            series: whole(self.root, "series", 0),
            compare_paths: self.compare_paths(),
            metrics,
            source,
        }
    }

    fn add(
        &mut self,
        at: Origin,
        code: Code,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report.add(at, code, key, message.into(), help.into());
    }

    fn compulsory(&mut self, key: &str) -> String {
        let Some(node) = self.root.get(key) else { return String::new() };
        if node.as_text() == Some("") {
            let what = STUDY.key(key).map_or("", |key| key.doc);
            self.add(node.at, Code::BadValue, key, "the text is empty", format!("write {what}"));
        }
        node.as_text().unwrap_or_default().into()
    }

    fn metric(&mut self, node: &Placed, key: &str) -> Option<Metric> {
        let parsed = Metric::parse(node.as_text()?);
        parsed.map_err(|error| self.add(node.at, Code::UnknownName, key, error.message, error.help)).ok()
    }

    fn metrics(&mut self) -> (Vec<Metric>, Vec<Origin>) {
        let mut found: Vec<(Metric, Origin)> = Vec::new();
        for (index, node) in self.root.list("metrics").iter().enumerate() {
            let key = format!("metrics.{index}");
            let Some(metric) = self.metric(node, &key) else { continue };
            if found.iter().any(|(other, _)| other.text == metric.text) {
                let message = format!("{} stands there twice", metric.text);
                self.add(node.at, Code::Contradiction, &key, message, "remove one");
            }
            found.push((metric, node.at));
        }
        found.into_iter().unzip()
    }

    fn stopping(&mut self) -> Stopping {
        let fixed =
            |count| Stopping { minimum: count, maximum: count, step: 1, metric: None, half_width: 0.0 };
        let Some(rule) = self.root.table("replications") else {
            return fixed(whole(self.root, "replications", 1));
        };
        let minimum = whole(rule, "min", 2);
        let maximum = whole(rule, "max", minimum);
        if let Some(max) = rule.get("max").filter(|_| maximum < minimum) {
            let message = format!("max is {maximum}, which is less than min, {minimum}");
            self.add(max.at, Code::Contradiction, "replications.max", message, "write a larger max");
        }
        let metric = rule.get("until").and_then(|node| self.metric(node, "replications.until"));
        let half_width = rule.text("half_width").and_then(scalar::part).unwrap_or(0.05);
        Stopping {
            minimum,
            maximum: maximum.max(minimum),
            step: whole(rule, "step", minimum),
            metric,
            half_width,
        }
    }

    fn compare_paths(&self) -> Option<ComparePaths> {
        match &self.root.get("compare_paths")?.value {
            Value::Flag(all) => Some(ComparePaths::All(*all)),
            Value::List(flows) => {
                let flow = |node: &Placed| Some((node.as_text()?.to_owned(), node.at));
                Some(ComparePaths::Flows(flows.iter().filter_map(flow).collect()))
            }
            _ => None,
        }
    }

    fn baseline(&mut self, factors: &[Factor]) -> Option<Vec<(String, String)>> {
        let node = self.root.get("baseline")?;
        let table = node.as_table()?;
        if table.entries.is_empty() {
            let help = "name a level of at least one [[vary]], as in { scheduler = \"minrtt\" }";
            self.add(node.at, Code::BadValue, "baseline", "every case would be its own baseline", help);
        }
        let mut chosen = Vec::new();
        for entry in &table.entries {
            let key = format!("baseline.{}", entry.key);
            let Some(label) = entry.node.as_text() else { continue };
            match factors.iter().find(|factor| factor.name == entry.key) {
                None => self.no_factor(&entry.key, entry.at, &key, factors),
                Some(factor) if factor.levels.iter().all(|level| level.label != label) => {
                    let help =
                        suggest(label, "known", factor.levels.iter().map(|level| level.label.as_str()));
                    let message = format!("\"{label}\" is not a level of \"{}\"", entry.key);
                    self.add(entry.node.at, Code::UnknownName, &key, message, help);
                }
                Some(_) => chosen.push((entry.key.clone(), label.to_owned())),
            }
        }
        Some(chosen)
    }

    fn no_factor(&mut self, name: &str, at: Origin, key: &str, factors: &[Factor]) {
        let help = suggest(name, "known", factors.iter().map(|factor| factor.name.as_str()));
        self.add(at, Code::UnknownName, key, format!("nothing called \"{name}\" is varied"), help);
    }

    fn treatment(&mut self, factors: &[Factor]) -> Treatment {
        let empty = Table::default();
        let given = self.root.table("statistics").unwrap_or(&empty);
        let text = |key| given.text(key).unwrap_or_default().to_owned();
        let number = |key| given.get(key).and_then(|node| node.value.bare()?.parse().ok());
        let (z, alpha): (Option<f64>, Option<f64>) = (number("z"), number("alpha"));
        for (key, fits, range) in [
            ("z", z.is_none_or(|z| z > 0.0), "above 0"),
            ("alpha", alpha.is_none_or(|alpha| alpha > 0.0 && alpha < 1.0), "between 0 and 1"),
        ] {
            if let Some(node) = given.get(key).filter(|_| !fits) {
                let message =
                    format!("found {}, which is not {range}", node.value.bare().unwrap_or_default());
                let key = format!("statistics.{key}");
                self.add(node.at, Code::BadValue, &key, message, format!("write a number {range}"));
            }
        }
        for (index, node) in given.list("pool").iter().enumerate() {
            let Some(name) = node.as_text() else { continue };
            if factors.iter().all(|factor| factor.name != name) {
                self.no_factor(name, node.at, &format!("statistics.pool.{index}"), factors);
            }
        }
        Treatment {
            outliers: text("outliers"),
            z: z.unwrap_or(3.0),
            test: text("test"),
            correction: text("correction"),
            alpha: alpha.unwrap_or(0.05),
            pool: given.list("pool").iter().filter_map(|node| node.as_text().map(str::to_owned)).collect(),
        }
    }
}

/// A checked whole number.
fn whole(table: &Table, key: &str, default: u64) -> u64 {
    table.integer(key).and_then(|number| u64::try_from(number).ok()).unwrap_or(default)
}
