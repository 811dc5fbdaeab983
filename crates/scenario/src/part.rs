//! From a part of the model back to the key that it was made of: for mistakes that show only when a scenario is to run.

use crate::topology::Topology;
use document::diagnostic::{Code, Report};
use document::print::{inline, quote};
use document::tree::{Origin, Placed, Table, Value};

/// A part of the model that has keys of its own. Indices are those of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The top level.
    Scenario,
    /// A duplex link.
    DuplexLink(usize),
    /// A direction of a duplex link: 0 from the first end to the second, 1 back.
    Direction(usize, usize),
    /// A proxy.
    Proxy(usize),
    /// A flow.
    Flow(usize),
}

/// A value of a scenario that a back end cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The part of the scenario that has the key.
    pub part: Part,
    /// The key below the part, with dots, as in `transport.rto_max`; empty: the part itself.
    pub key: &'static str,
    /// Values that the back end supports: one as in a scenario, or a sentence about several.
    pub allowed: String,
    /// One of them as after `--set`, where `allowed` is a sentence.
    pub value: Option<String>,
    /// The cure.
    pub help: String,
}

/// Keys of the parts of a model.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    duplex_links: Vec<LinkKeys>,
    /// Names of the proxies.
    proxies: Vec<String>,
    /// By flow, its name in the file: those of one `count` share it.
    flows: Vec<String>,
}

/// Where the keys of a duplex link are.
#[derive(Clone, Debug)]
struct LinkKeys {
    /// Array of tables.
    list: &'static str,
    /// Name in the file.
    name: String,
    directions: [&'static str; 2],
}

impl Parts {
    pub fn new(root: &Table, topology: &Topology) -> Self {
        let name_of = |list: &str, index: usize| {
            let table = root.list(list).get(index).and_then(Placed::as_table);
            table.and_then(|table| table.text("name")).unwrap_or_default().to_owned()
        };
        let duplex_links = topology.duplex_links.iter().map(|link| {
            let (list, index) = link.source;
            LinkKeys { list, name: name_of(list, index), directions: link.keys }
        });
        let flows = root.tables("flow").flat_map(|(_, flow)| {
            let count = flow.integer("count").and_then(|count| usize::try_from(count).ok());
            std::iter::repeat_n(flow.text("name").unwrap_or_default().to_owned(), count.unwrap_or_default())
        });
        let proxies =
            root.tables("proxy").map(|(_, proxy)| proxy.text("name").unwrap_or_default().to_owned());
        Self { duplex_links: duplex_links.collect(), proxies: proxies.collect(), flows: flows.collect() }
    }

    /// The key as diagnostics and overrides call it: segments that dots join.
    fn path(&self, part: Part, key: &'static str) -> Vec<&str> {
        let mut path: Vec<&str> = match part {
            Part::Scenario => vec![],
            Part::DuplexLink(link) => self.link(link).to_vec(),
            Part::Direction(link, direction) => {
                let [list, name] = self.link(link);
                vec![list, name, self.duplex_links[link].directions[direction]]
            }
            Part::Proxy(proxy) => vec!["proxy", &self.proxies[proxy]],
            Part::Flow(flow) => vec!["flow", &self.flows[flow]],
        };
        path.extend(key.split('.').filter(|segment| !segment.is_empty()));
        path
    }

    fn link(&self, link: usize) -> [&str; 2] {
        let keys = &self.duplex_links[link];
        [keys.list, &keys.name]
    }

    /// Reports what a back end cannot run, each key once: where it was written, or where that stands which it is a
    /// default of.
    pub fn refuse(&self, root: &Table, backend: &str, unsupported: &[Unsupported], report: &mut Report<'_>) {
        for Unsupported { part, key, allowed, value: typed, help } in unsupported {
            let path = self.path(*part, key);
            let (at, value) = find(root, &path);
            let found = value.map_or_else(|| "nothing".into(), shown);
            let message = format!("found {found}, which {backend} cannot run; allowed: {allowed}");
            let key = path.join(".");
            let help = match typed.clone().or_else(|| bare(allowed)) {
                Some(value) => format!("--set {key}={value}, or {help}"),
                None => help.clone(),
            };
            report.add(at, Code::Unsupported, &key, message, help);
        }
    }
}

/// The allowed value as after `--set` on a command line, if it is a plain one and not a sentence about several.
fn bare(allowed: &str) -> Option<String> {
    match format!("value = {allowed}").parse::<toml::Table>().ok()?.remove("value")? {
        toml::Value::String(text) if !text.contains(char::is_whitespace) => Some(text),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        toml::Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The value at `path`, and the place of it or of the nearest table around it that the user wrote.
fn find<'t>(root: &'t Table, path: &[&str]) -> (Origin, Option<&'t Value>) {
    let (mut at, mut table, mut value) = (Origin::Default, root, None);
    let mut segments = path.iter();
    while let Some(segment) = segments.next() {
        let Some(entry) = table.entries.iter().find(|entry| entry.key == *segment) else { return (at, None) };
        let mut node = &entry.node;
        if let Value::List(items) = &node.value
            && let Some(name) = segments.as_slice().first()
            && let Some(named) = items.iter().find(|item| is_named(item, name))
        {
            node = named;
            segments.next();
        }
        if node.at != Origin::Default {
            at = node.at;
        }
        value = Some(&node.value);
        match &node.value {
            Value::Table(inner) => table = inner,
            _ => return (at, value.filter(|_| segments.as_slice().is_empty())),
        }
    }
    (at, value)
}

fn is_named(node: &Placed, name: &str) -> bool {
    node.as_table().is_some_and(|table| table.text("name") == Some(name))
}

/// The value as a scenario has it; of a longer one what it is.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 80;
    let text = inline(value);
    if text.chars().count() <= LONGEST {
        return text;
    }
    match value {
        Value::Table(table) if table.text("kind").is_some() => {
            format!("{} with options", quote(table.text("kind").unwrap_or_default()))
        }
        other => other.found(),
    }
}
