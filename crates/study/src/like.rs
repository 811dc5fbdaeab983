//! Overlays: a study file that is another one with a few keys changed. `like` names the other, `without` what of it does
//! not hold.

use std::path::{Path, PathBuf};

use document::check::Checker;
use document::diagnostic::{Code, Report, suggest};
use document::files::{Files, content};
use document::tree::{Origin, Placed, Table, Value};
use document::vocabulary::NoAlgorithms;

use crate::keys::STUDY;
use crate::reading::{self, lay_over, name_of};

const LIKE: &str = "like";
const WITHOUT: &str = "without";
const READING: &str = "reading";
const SCENARIO: &str = "scenario";
const VARY: &str = "vary";
/// Bytes of a study file.
const LARGEST: u64 = 1 << 24;

/// A file that the whole was made of, and its text.
pub(crate) type Text = (String, String);

/// The tree of a whole file, in which overlays are laid over what they are like.
pub(crate) struct Whole {
    pub root: Table,
    /// The files below the overlay, nearest first: those that the report includes, in that order.
    pub below: Vec<Text>,
}

/// The whole of the file whose tree is `root`.
pub(crate) fn whole(root: Table, file: &str, report: &mut Report<'_>) -> Whole {
    let mut resolver = Resolver { report, chain: vec![known_as(Path::new(file))], below: Vec::new() };
    let root = resolver.resolve(root, Path::new(file));
    Whole { root, below: resolver.below }
}

/// A file under one name, whatever way leads to it.
fn known_as(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

struct Resolver<'r, 'a> {
    report: &'r mut Report<'a>,
    /// Files on the way down to this one.
    chain: Vec<PathBuf>,
    below: Vec<Text>,
}

/// The study below an overlay, and which of its readings.
struct Order {
    /// The place of the name.
    at: Origin,
    path: PathBuf,
    /// The one reading that the overlay is about.
    reading: Option<(String, Origin)>,
}

impl Resolver<'_, '_> {
    fn add(&mut self, at: Origin, code: Code, key: &str, message: String, help: impl Into<String>) {
        self.report.add(at, code, key, message, help.into());
    }

    /// Lays the tree of `file` over that of the study that it is like.
    fn resolve(&mut self, mut own: Table, file: &Path) -> Table {
        let like = self.taken(&mut own, LIKE);
        let without = self.taken(&mut own, WITHOUT);
        let Some(like) = like else {
            if let Some(node) = without {
                let message = "there is nothing that could be left out".into();
                self.add(node.at, Code::Contradiction, WITHOUT, message, "remove it, or add `like`");
            }
            return own;
        };
        let base = order(&like).and_then(|order| self.base(&order, file));
        let Some(mut base) = base else {
            // Its mistake is reported.
            own.partial = true;
            return own;
        };
        for node in without.iter().flat_map(Placed::items) {
            self.leave_out(&mut base, node);
        }
        over(&mut base, own);
        base
    }

    /// A checked key, which is no longer in the tree.
    fn taken(&mut self, own: &mut Table, name: &str) -> Option<Placed> {
        let mut entry = own.take(name)?;
        let key = STUDY.key(name)?;
        let files = Files::beside("");
        Checker { vocabulary: &NoAlgorithms, files: &files, report: &mut *self.report }.value(
            key.kind,
            &mut entry.node,
            name,
        );
        Some(entry.node)
    }

    /// The whole of the study below, its scenario as seen from `file`.
    fn base(&mut self, order: &Order, file: &Path) -> Option<Table> {
        let folder = file.parent().unwrap_or(Path::new(""));
        let path = folder.join(&order.path);
        let known = known_as(&path);
        if self.chain.contains(&known) {
            let message = format!("{} is already below this file", path.display());
            let help = "write the keys out in one of them and remove its `like`";
            self.add(order.at, Code::LikeCircle, LIKE, message, help);
            return None;
        }
        let name = path.display().to_string();
        let text = self.text(&path, order.at)?;
        let mut inner = Report::new(&name, &text, &[]);
        let read = document::read(&text, &mut inner);
        if !inner.is_empty() {
            inner.finish().iter().for_each(|mistake| self.report.add_foreign(mistake.clone()));
        }
        let mut root = read?;
        root.shift(self.report.include(&name, &text));
        self.below.push((name, text));
        self.chain.push(known);
        let mut root = self.resolve(root, &path);
        self.chain.pop();
        seen_from_above(&mut root, order.path.parent().unwrap_or(Path::new("")));
        self.chosen(&mut root, order);
        Some(root)
    }

    fn text(&mut self, path: &Path, at: Origin) -> Option<String> {
        let reason = match content(path, LARGEST) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return Some(text),
                Err(error) => format!("not UTF-8 text (byte {})", error.utf8_error().valid_up_to()),
            },
            Err(error) => error.to_string(),
        };
        let message = format!("{}: {reason}", path.display());
        self.add(at, Code::BadFile, LIKE, message, "name a study file, seen from this file");
        None
    }

    /// Only the reading that the overlay is about.
    fn chosen(&mut self, root: &mut Table, order: &Order) {
        let Some((wanted, at)) = &order.reading else { return };
        let names: Vec<String> = reading::names(root);
        if names.contains(wanted) {
            reading::choose(root, Some(wanted), self.report);
            return;
        }
        root.partial = true;
        root.take(READING);
        let message = format!("there is no reading \"{wanted}\"");
        let help = suggest(wanted, "known", names.iter().map(String::as_str));
        self.add(*at, Code::UnknownName, "like.reading", message, help);
    }

    /// Removes what a dotted key names, from the readings as well.
    fn leave_out(&mut self, base: &mut Table, node: &Placed) {
        let Some(text) = node.as_text() else { return };
        let Some(way) = steps(text) else {
            let message = format!("found \"{text}\", which is no dotted key");
            let help = "write a key of the study, as in \"baseline\" or \"vary.'test case'.cases.'M.Loss'\"";
            return self.add(node.at, Code::BadValue, WITHOUT, message, help);
        };
        let gone = remove(base, &way);
        if way[0] == VARY
            && let Some(readings) = base.get_mut(READING).and_then(Placed::as_table_mut)
        {
            for one in readings.entries.iter_mut().filter_map(|entry| entry.node.as_table_mut()) {
                // A reading need not change it.
                let _ = remove(one, &way);
            }
        }
        if let Err(Missing { step, known }) = gone {
            let message = format!("the study below has no \"{text}\": there is no \"{}\"", way[step]);
            let help = suggest(&way[step], "known", known.iter().map(String::as_str));
            self.add(node.at, Code::UnknownName, WITHOUT, message, help);
        }
    }
}

/// A step that leads nowhere, and those that would lead on.
struct Missing {
    step: usize,
    known: Vec<String>,
}

/// The keys of a dotted key.
fn steps(text: &str) -> Option<Vec<String>> {
    let line = format!("{text} = 0");
    let mut report = Report::new("", &line, &[]);
    let root = document::read(&line, &mut report).filter(|_| report.is_empty() && !text.contains('\n'))?;
    let (mut table, mut way) = (&root, Vec::new());
    loop {
        let [entry] = table.entries.as_slice() else { return None };
        way.push(entry.key.clone());
        match &entry.node.value {
            Value::Table(inner) => table = inner,
            Value::Integer(0) => return Some(way),
            _ => return None,
        }
    }
}

/// Removes the value at the end of the way; factors go by their names.
fn remove(root: &mut Table, way: &[String]) -> Result<(), Missing> {
    let mut table = root;
    for (step, key) in way.iter().enumerate() {
        let last = step + 1 == way.len();
        let known = || table.entries.iter().map(|entry| entry.key.clone()).collect();
        if !table.has(key) {
            return Err(Missing { step, known: known() });
        }
        if last {
            table.take(key);
            return Ok(());
        }
        if key == VARY {
            return remove_factor(table, way, step + 1);
        }
        let none = Missing { step: step + 1, known: Vec::new() };
        table = table.get_mut(key).and_then(Placed::as_table_mut).ok_or(none)?;
    }
    Ok(())
}

fn remove_factor(table: &mut Table, way: &[String], step: usize) -> Result<(), Missing> {
    let Some(Placed { value: Value::List(factors), .. }) = table.get_mut(VARY) else {
        return Err(Missing { step, known: Vec::new() });
    };
    let named = |node: &Placed| node.as_table().and_then(name_of);
    let Some(index) = factors.iter().position(|node| named(node).as_ref() == Some(&way[step])) else {
        return Err(Missing { step, known: factors.iter().filter_map(named).collect() });
    };
    if step + 1 == way.len() {
        factors.remove(index);
        return Ok(());
    }
    let Some(factor) = factors[index].as_table_mut() else { return Ok(()) };
    remove(factor, &way[step + 1..]).map_err(|missing| Missing { step: missing.step + step + 1, ..missing })
}

/// Value of `like`: a file, or a file and a reading.
fn order(like: &Placed) -> Option<Order> {
    let of = |node: &Placed| Some((PathBuf::from(node.as_text()?), node.at));
    let (path, at, reading) = match like.as_table() {
        None => of(like).map(|(path, at)| (path, at, None))?,
        Some(table) => {
            let (path, at) = table.get("study").and_then(of)?;
            let reading = table.get(READING).and_then(|node| Some((node.as_text()?.to_owned(), node.at)));
            (path, at, reading)
        }
    };
    Some(Order { at, path, reading })
}

/// Names the scenarios of a file in `folder` as seen from where that folder is.
fn seen_from_above(root: &mut Table, folder: &Path) {
    if folder.as_os_str().is_empty() {
        return;
    }
    if let Some(Placed { value: Value::Text(scenario), .. }) = root.get_mut(SCENARIO)
        && !scenario.is_empty()
    {
        *scenario = folder.join(&*scenario).display().to_string();
    }
    if let Some(readings) = root.get_mut(READING).and_then(Placed::as_table_mut) {
        let tables = readings.entries.iter_mut().filter_map(|entry| entry.node.as_table_mut());
        tables.for_each(|table| seen_from_above(table, folder));
    }
}

/// Lays an overlay over the study below it; a reading that both have is laid over that one.
fn over(base: &mut Table, mut own: Table) {
    base.partial |= own.partial;
    let readings = own.take(READING);
    lay_over(base, own);
    let Some(readings) = readings else { return };
    match (base.get_mut(READING).and_then(Placed::as_table_mut), readings.node.value) {
        (Some(below), Value::Table(above)) => {
            for entry in above.entries {
                match (below.get_mut(&entry.key).and_then(Placed::as_table_mut), entry.node.value) {
                    (Some(table), Value::Table(changes)) => lay_over(table, changes),
                    (_, value) => below.put(&entry.key, entry.at, Placed::new(value, entry.node.at)),
                }
            }
        }
        (_, value) => base.put(READING, readings.at, Placed::new(value, readings.node.at)),
    }
}
