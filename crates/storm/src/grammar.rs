//! Allowed content of a scenario, from the key tables and the registries: a key or an algorithm that is added
//! there is drawn from then on.

use std::collections::BTreeSet;

use registry::{Entry, Family, Registry};
use scenario::Registries;
use serde_json::{Map, Value, json};

use crate::dice::Dice;
use crate::values::{self, Spread};

/// The schema of scenario files and the algorithms that they choose from.
#[derive(Debug)]
pub struct Grammar {
    schema: Value,
    catalogues: Vec<(&'static str, Vec<Entry>)>,
}

const SECTION: &str = "#/$defs/";
/// A value drawn once per replication, in the place of a quantity.
const DRAW: &str = "#/$defs/draw";

fn entries<F: Family>(registry: &Registry<F>) -> Vec<Entry> {
    registry.iter().map(registry::Algorithm::entry).collect()
}

impl Grammar {
    /// Grammar of scenarios with the algorithms that come with Ropewalk.
    pub fn builtin() -> Self {
        let all = Registries::builtin();
        let catalogues = vec![
            ("congestion-control", entries(&all.congestion)),
            ("scheduler", entries(&all.schedulers)),
            ("loss-model", entries(&all.loss)),
            ("rate-model", entries(&all.rates)),
            ("delay-model", entries(&all.delays)),
            ("queue-discipline", entries(&all.queues)),
            // No simulator runs commands.
            (
                "application",
                entries(&all.apps).into_iter().filter(|entry| entry.name != apps::COMMAND).collect(),
            ),
            ("path-manager", all.path_managers()),
        ];
        Self { schema: scenario::schema(&all), catalogues }
    }

    /// The keys of a table: name and schema. The top level is called `scenario`.
    fn properties(&self, section: &str) -> impl Iterator<Item = (&str, &Value)> {
        let object = if section == "scenario" { &self.schema } else { &self.schema["$defs"][section] };
        object["properties"].as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
    }

    /// The algorithms of a catalogue.
    pub(crate) fn catalogue(&self, name: &str) -> Option<&[Entry]> {
        self.catalogues.iter().find(|(known, _)| *known == name).map(|(_, entries)| entries.as_slice())
    }

    /// Draws keys of a table, each with `probability`, but for those that it has and those that the caller sees to.
    pub fn fill(
        &self,
        dice: &mut Dice,
        section: &str,
        (table, not): (&mut Map<String, Value>, &[&str]),
        probability: f64,
        (names, spread): (&[String], Spread),
    ) {
        for (name, schema) in self.properties(section) {
            if table.contains_key(name) || not.contains(&name) || !dice.chance(probability) {
                continue;
            }
            if let Some(value) = self.value(dice, schema, (names, spread)) {
                table.insert(name.into(), value);
            }
        }
    }

    /// A value of a schema: a plain one, an algorithm, or a table with some of its keys.
    fn value(&self, dice: &mut Dice, schema: &Value, context: (&[String], Spread)) -> Option<Value> {
        let (names, spread) = context;
        if let Some(target) = schema["$ref"].as_str().and_then(|target| target.strip_prefix(SECTION)) {
            if self.catalogue(target).is_some() {
                return self.algorithm(dice, target, spread);
            }
            let mut table = Map::new();
            self.fill(dice, target, (&mut table, &[]), 0.7, context);
            return Some(table.into());
        }
        if let Some(any) = schema["anyOf"].as_array() {
            let plain: Vec<&Value> = any.iter().filter(|one| one["$ref"] != DRAW).collect();
            let schema = plain[dice.below(plain.len() as u64) as usize];
            if plain.len() < any.len() && dice.chance(0.03) {
                return self.draw(dice, schema, context);
            }
            return self.value(dice, schema, context);
        }
        if schema["type"] == "array" && !schema["items"]["$ref"].is_null()
            || !schema["items"]["anyOf"].is_null()
        {
            let many = dice.between(1, 3);
            return (0..many).map(|_| self.value(dice, &schema["items"], context)).collect();
        }
        values::key(dice, schema, names, spread)
    }

    /// A value to be drawn once per replication, between two values of the schema; the parser refuses bounds in the
    /// wrong order.
    fn draw(&self, dice: &mut Dice, schema: &Value, context: (&[String], Spread)) -> Option<Value> {
        let from = self.value(dice, schema, context)?;
        let to = if dice.chance(0.2) { from.clone() } else { self.value(dice, schema, context)? };
        let mut table = json!({ "draw": "uniform", "from": from, "to": to });
        if dice.chance(0.3) {
            table["stream"] = format!("stream-{}", dice.below(1000)).into();
        }
        Some(table)
    }

    /// An algorithm with some of its options: a bare name where it needs none.
    pub fn algorithm(&self, dice: &mut Dice, catalogue: &str, spread: Spread) -> Option<Value> {
        let entries = self.catalogue(catalogue)?;
        let entry = &entries[dice.below(entries.len() as u64) as usize];
        let mut table = Map::new();
        table.insert("kind".into(), entry.name.into());
        let plenty = if dice.chance(0.5) { 0.0 } else { 0.5 };
        for spec in entry.options {
            if (spec.default.is_none() || dice.chance(plenty))
                && let Some(value) = values::option(dice, spec, spread)
            {
                table.insert(spec.name.into(), value);
            }
        }
        if dice.chance(0.8) {
            values::fitting(dice, entry.name, &mut table, spread);
        }
        Some(if table.len() == 1 { entry.name.into() } else { table.into() })
    }

    /// Everything that there is to draw: `transport.mss`, `scheduler blest`, `scheduler blest.delta`.
    pub fn all(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let mut sections = vec!["scenario"];
        while let Some(section) = sections.pop() {
            for (name, schema) in self.properties(section) {
                all.insert(format!("{section}.{name}"));
                sections.extend(self.sections(schema).into_iter().filter(|inner| *inner != section));
            }
        }
        for (catalogue, entries) in &self.catalogues {
            for entry in entries {
                all.insert(format!("{catalogue} {}", entry.name));
                all.extend(
                    entry.options.iter().map(|spec| format!("{catalogue} {}.{}", entry.name, spec.name)),
                );
            }
        }
        all
    }

    /// The tables that a schema leads to, catalogues aside.
    fn sections<'a>(&'a self, schema: &'a Value) -> Vec<&'a str> {
        references(schema).into_iter().filter(|target| self.catalogue(target).is_none()).collect()
    }

    /// The part of [`Self::all`] that a scenario uses.
    pub fn used(&self, tree: &Map<String, Value>) -> BTreeSet<String> {
        let mut used = BTreeSet::new();
        self.walk("scenario", tree, &mut used);
        used.retain(|name| {
            !name.ends_with(".kind") || ["transport.kind", "proxy.kind"].contains(&name.as_str())
        });
        used
    }

    fn walk(&self, section: &str, table: &Map<String, Value>, used: &mut BTreeSet<String>) {
        for (name, schema) in self.properties(section) {
            let Some(value) = table.get(name) else { continue };
            used.insert(format!("{section}.{name}"));
            let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            for (item, target) in
                items.iter().flat_map(|item| references(schema).into_iter().map(move |t| (item, t)))
            {
                match (self.catalogue(target), item) {
                    (None, Value::Object(table)) => self.walk(target, table, used),
                    (Some(entries), Value::String(name))
                        if entries.iter().any(|entry| entry.name == name) =>
                    {
                        used.insert(format!("{target} {name}"));
                    }
                    (Some(_), Value::Object(table)) => {
                        let Some(kind) = table.get("kind").and_then(Value::as_str) else { continue };
                        used.insert(format!("{target} {kind}"));
                        used.extend(table.keys().map(|option| format!("{target} {kind}.{option}")));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The definitions that a schema refers to, in lists and alternatives too.
fn references(schema: &Value) -> Vec<&str> {
    let own = schema["$ref"].as_str().and_then(|target| target.strip_prefix(SECTION));
    let any = schema["anyOf"].as_array().into_iter().flatten().flat_map(references);
    let mut found: Vec<&str> = own.into_iter().chain(any).collect();
    if schema["items"].is_object() {
        found.extend(references(&schema["items"]));
    }
    found.sort_unstable();
    found.dedup();
    found
}
