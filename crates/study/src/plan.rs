//! From a study file to cases: one checked scenario for each combination of levels.

use std::collections::BTreeMap;

use document::diagnostic::{Code, Diagnostic, Diagnostics, Report, suggest};
use document::files::content;
use scenario::{Document, Registries};

use crate::factors::{Factor, Level, Override};
use crate::file::{ComparePaths, StudyFile};

/// Between the levels in the name of a case.
const SEPARATOR: &str = " / ";
/// Name of overrides in diagnostics of scenarios.
const OVERRIDE: &str = "--set";
/// Flows of a scenario up to which each has metrics of its own; with more, sum and fairness are the usual ones.
const FEW_FLOWS: usize = 3;
/// Bytes of a scenario file.
const LARGEST: u64 = 1 << 24;
/// Mistakes after which no further case is checked.
const ENOUGH: usize = 500;

/// One combination of levels.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its levels, or the title of the scenario where nothing is varied.
    pub name: String,
    /// Level by factor.
    pub levels: Vec<(String, String)>,
    /// The arguments of `--set` that give the scenario.
    pub overrides: Vec<(String, String)>,
    /// The scenario with every default filled in, and the content of files.
    pub text: String,
    /// Keys of the scenario file that a `kind` of the case leaves out.
    pub left_out: Vec<String>,
}

/// The effect of setting a key for all cases of a study, as after `--set`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It holds for all cases.
    All,
    /// The scenario has no such key.
    Absent,
    /// A factor sets the key in some of its levels.
    Varied,
}

impl Reach {
    /// For the Python side.
    pub fn word(self) -> &'static str {
        match self {
            Reach::All => "all",
            Reach::Absent => "absent",
            Reach::Varied => "varied",
        }
    }
}

impl StudyFile {
    /// Expands and checks all cases; `sets` hold for each of them whatever the file says, as after `--set`.
    ///
    /// # Errors
    /// A case is no scenario, or two are the same; a key of `sets` is varied; or the mistakes of the scenario itself.
    pub fn cases(
        &self,
        sets: &[(String, String)],
        registries: &Registries,
    ) -> Result<Vec<Case>, Diagnostics> {
        let mut report = self.source.report();
        self.none_varied(sets, &mut report);
        if !report.is_empty() {
            return Err(report.finish());
        }
        let Some(text) = self.scenario_text(&mut report) else { return Err(report.finish()) };
        let base = Document::parse(&text, &self.scenario_name(), &[], registries)?;
        let flows = base.flows();
        let mut before = self.common.clone();
        before.extend(self.baselines(&flows, &mut report));
        let mut cases = Vec::new();
        for levels in self.combinations() {
            let middle = levels.iter().flat_map(|level| &level.overrides);
            let overrides: Vec<&Override> = before.iter().chain(middle).collect();
            let pairs = pairs(&overrides, sets);
            match Document::parse(&text, &self.scenario_name(), &pairs, registries) {
                Ok(found) => cases.push(self.case(&levels, pairs, &found)),
                Err(mistakes) => blame(&mistakes, &overrides, &mut report),
            }
            if report.len() > ENOUGH {
                break;
            }
        }
        self.all_different(&cases, &mut report);
        if report.is_empty() { Ok(cases) } else { Err(report.finish()) }
    }

    /// The effect of setting each key of `sets` for all cases; only the first case is looked at.
    ///
    /// # Errors
    /// The scenario cannot be read, or a key does not take its value.
    pub fn reach(
        &self,
        sets: &[(String, String)],
        registries: &Registries,
    ) -> Result<Vec<Reach>, Diagnostics> {
        let mut report = self.source.report();
        let Some(text) = self.scenario_text(&mut report) else { return Err(report.finish()) };
        let firsts = self.factors.iter().filter_map(|factor| factor.levels.first());
        let levels = firsts.flat_map(|level| &level.overrides);
        let before: Vec<&Override> = self.common.iter().chain(levels).collect();
        let name = self.scenario_name();
        Document::parse(&text, &name, &pairs(&before, &[]), registries)?;
        let start = |(key, _): &(String, String)| self.varying(key).map_or(Reach::All, |_| Reach::Varied);
        let mut found: Vec<Reach> = sets.iter().map(start).collect();
        // Keys that go together are set together; what the scenario does not have is left out, and the rest looked at again.
        loop {
            let kept: Vec<usize> = (0..sets.len()).filter(|index| found[*index] == Reach::All).collect();
            let own: Vec<(String, String)> = kept.iter().map(|index| sets[*index].clone()).collect();
            let all = pairs(&before, &own);
            let Err(mistakes) = Document::parse(&text, &name, &all, registries) else { return Ok(found) };
            let absent = |mistake: &Diagnostic| -> Option<usize> {
                let index =
                    (mistake.line - 1).checked_sub(before.len()).filter(|_| mistake.file == OVERRIDE)?;
                let set = *kept.get(index)?;
                (mistake.column <= sets[set].0.len()).then_some(set)
            };
            let gone: Vec<usize> = mistakes.iter().filter_map(absent).collect();
            if gone.is_empty() {
                blame(&mistakes, &before, &mut report);
                return Err(report.finish());
            }
            gone.into_iter().for_each(|index| found[index] = Reach::Absent);
        }
    }

    /// The factor that sets `key`, a part of it, or the whole of which it is a part.
    fn varying(&self, key: &str) -> Option<&Factor> {
        let sets_it = |one: &Override| part_of(&one.key, key) || part_of(key, &one.key);
        self.factors
            .iter()
            .find(|factor| factor.levels.iter().any(|level| level.overrides.iter().any(sets_it)))
    }

    /// A key that holds for all cases would make levels of a factor the same, or their names wrong.
    fn none_varied(&self, sets: &[(String, String)], report: &mut Report<'_>) {
        for (key, value) in sets {
            let Some(factor) = self.varying(key) else { continue };
            let message = format!(
                "the study varies this key (\"{}\"), so that --set cannot hold for all cases",
                factor.name
            );
            let help = format!(
                "edit the levels here, in a copy of the file; for one run: ropewalk run {} --set {key}={value}",
                self.scenario_name(),
            );
            report.add(factor.at, Code::Contradiction, key, message, help);
        }
    }

    fn scenario_name(&self) -> String {
        self.scenario.display().to_string()
    }

    /// The text of the scenario file; one that cannot be read is a mistake of the study.
    fn scenario_text(&self, report: &mut Report<'_>) -> Option<String> {
        let reason = match content(&self.scenario, LARGEST) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return Some(text),
                Err(error) => format!("not UTF-8 text (byte {})", error.utf8_error().valid_up_to()),
            },
            Err(error) => error.to_string(),
        };
        let message = format!("{}: {reason}", self.scenario_name());
        let help = "name a scenario file, seen from the study file".into();
        report.add(self.source.scenario, Code::BadFile, "scenario", message, help);
        None
    }

    /// All combinations of levels, the last factor changing fastest.
    fn combinations<'s>(&'s self) -> Vec<Vec<&'s Level>> {
        let mut all: Vec<Vec<&'s Level>> = vec![Vec::new()];
        for factor in &self.factors {
            let longer = |one: &Vec<&'s Level>| -> Vec<Vec<&'s Level>> {
                factor.levels.iter().map(|level| one.iter().copied().chain([level]).collect()).collect()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    /// `compare_paths` of the study as that of flows.
    fn baselines(&self, flows: &[(String, String)], report: &mut Report<'_>) -> Vec<Override> {
        let Some(wish) = &self.compare_paths else { return Vec::new() };
        let at = self.source.compare_paths;
        let compare = |flow: &str, wanted: bool| Override {
            key: format!("flow.{flow}.compare_paths"),
            value: wanted.to_string(),
            key_at: at,
            at,
        };
        let multipath = flows.iter().filter(|(_, kind)| kind == "mptcp").map(|(name, _)| name.as_str());
        let named = match wish {
            ComparePaths::All(wanted) => return multipath.map(|name| compare(name, *wanted)).collect(),
            ComparePaths::Flows(named) => named,
        };
        let known = |name: &str| flows.iter().any(|(flow, _)| flow == name);
        for (index, (name, at)) in named.iter().enumerate().filter(|(_, (name, _))| !known(name)) {
            let help = suggest(name, "known", flows.iter().map(|(flow, _)| flow.as_str()));
            let key = format!("compare_paths.{index}");
            report.add(*at, Code::UnknownName, &key, format!("there is no flow \"{name}\""), help);
        }
        let mut all: Vec<&str> = multipath.collect();
        for (name, _) in named {
            if known(name) && !all.contains(&name.as_str()) {
                all.push(name);
            }
        }
        all.into_iter().map(|name| compare(name, named.iter().any(|(one, _)| one == name))).collect()
    }

    fn case(&self, levels: &[&Level], overrides: Vec<(String, String)>, scenario: &Document) -> Case {
        let labels: Vec<&str> = levels.iter().map(|level| level.label.as_str()).collect();
        let name = if labels.is_empty() { scenario.scenario.name.clone() } else { labels.join(SEPARATOR) };
        let names = self.factors.iter().map(|factor| factor.name.clone());
        Case {
            name,
            levels: names.zip(labels.into_iter().map(str::to_owned)).collect(),
            overrides,
            text: scenario.to_whole_toml(),
            left_out: scenario
                .left_out()
                .into_iter()
                .flat_map(Diagnostics::iter)
                .map(|d| d.key.clone())
                .collect(),
        }
    }

    /// Two cases that are one scenario would be the same runs under two names.
    fn all_different(&self, cases: &[Case], report: &mut Report<'_>) {
        let mut first: BTreeMap<String, &Case> = BTreeMap::new();
        for case in cases {
            if let Some(other) = first.insert(without_titles(&case.text), case) {
                let message =
                    format!("the cases \"{}\" and \"{}\" are the same scenario", other.name, case.name);
                report.add(
                    self.source.vary,
                    Code::Contradiction,
                    "vary",
                    message,
                    "remove one of the levels".into(),
                );
            }
        }
    }
}

/// Metrics for studies that name none, by the expanded scenario of a case: the usual ones.
pub fn usual_metrics(text: &str, registries: &Registries) -> Vec<String> {
    let flows =
        Document::parse(text, "case", &[], registries).map_or_else(|_| Vec::new(), |case| case.flows());
    if flows.len() > FEW_FLOWS {
        return vec!["sum(flow.*.goodput_bit_s)".into(), "jain(flow.*.goodput_bit_s)".into()];
    }
    let both = |(flow, _): &(String, String)| {
        ["goodput_bit_s", "delay_p95_s"].map(|column| format!("flow.{flow}.{column}"))
    };
    flows.iter().flat_map(both).collect()
}

/// Notes a scenario that cannot be read, and keys that it does not have, beside other mistakes.
pub(crate) fn glance(study: &StudyFile, registries: &Registries, report: &mut Report<'_>) {
    let Some(text) = study.scenario_text(report) else { return };
    let name = study.scenario_name();
    if Document::parse(&text, &name, &[], registries).is_err() {
        // Its mistakes come when the study file has none.
        return;
    }
    let firsts = study.factors.iter().filter_map(|factor| factor.levels.first());
    for one in study.common.iter().chain(firsts.flat_map(|level| &level.overrides)) {
        let set = [(one.key.clone(), one.value.clone())];
        let Err(mistakes) = Document::parse(&text, &name, &set, registries) else { continue };
        if mistakes.iter().all(|mistake| mistake.file == OVERRIDE && mistake.column <= one.key.len()) {
            blame(&mistakes, &[one], report);
        }
    }
}

/// Whether the dotted key `part` is `whole` or stands below it.
fn part_of(part: &str, whole: &str) -> bool {
    part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn pairs(overrides: &[&Override], sets: &[(String, String)]) -> Vec<(String, String)> {
    let own = overrides.iter().map(|one| (one.key.clone(), one.value.clone()));
    own.chain(sets.iter().cloned()).collect()
}

/// Mistakes in overrides stand in the study file, or in those of the command line; others are those of the scenario file.
fn blame(mistakes: &Diagnostics, overrides: &[&Override], report: &mut Report<'_>) {
    for mistake in mistakes.iter() {
        let place = if mistake.file == OVERRIDE { mistake.line.checked_sub(1) } else { None };
        let Some(one) = place.and_then(|index| overrides.get(index)) else {
            let line = place.map_or(mistake.line, |index| index + 1 - overrides.len());
            report.add_foreign(Diagnostic { line, ..mistake.clone() });
            continue;
        };
        let key = if mistake.key.is_empty() { &one.key } else { &mistake.key };
        let at = if mistake.column <= one.key.len() { one.key_at } else { one.at };
        report.add(at, mistake.code, key, mistake.message.clone(), mistake.help.clone());
    }
}

/// An expanded scenario without what changes no result.
fn without_titles(text: &str) -> String {
    let (head, rest) = text.split_once("\n[").unwrap_or((text, ""));
    let titles = ["name = ", "description = ", "seeds = "];
    let kept = head.lines().filter(|line| !titles.iter().any(|title| line.starts_with(title)));
    kept.chain([rest]).collect::<Vec<_>>().join("\n")
}
