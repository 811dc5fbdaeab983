//! The expanded scenario with the content of all files in it, so that nothing outside of its text decides about a run.

use registry::OptionKind;

use crate::choices::Choices;
use document::keys::{Kind, Section};
use document::tree::{Placed, Table, Value};
use document::vocabulary::{Catalogue, Vocabulary as _};

/// Writes the content of each file in the place of its path. The tree is filled and without mistakes.
pub(crate) fn inline(section: &'static Section, table: &mut Table, choices: &Choices<'_>) {
    for key in section.keys {
        let Some(node) = table.get_mut(key.name) else { continue };
        match (key.kind.one(), &mut node.value) {
            (Kind::Table(inner), Value::Table(table)) => inline(inner, table, choices),
            (Kind::Tables(inner), Value::List(items)) => {
                items
                    .iter_mut()
                    .filter_map(Placed::as_table_mut)
                    .for_each(|table| inline(inner, table, choices));
            }
            (Kind::Choice(models) | Kind::Setting { models, .. }, value) => match value {
                Value::Table(table) => model(models, table, choices),
                Value::List(items) => {
                    let tables = items.iter_mut().filter_map(Placed::as_table_mut);
                    tables.for_each(|table| model(models, table, choices));
                }
                _ => {}
            },
            _ => {}
        }
    }
}

fn model(catalogue: Catalogue, table: &mut Table, choices: &Choices<'_>) {
    let Some(algorithm) = table.text("kind").and_then(|kind| choices.registries.find(catalogue, kind)) else {
        return;
    };
    for option in algorithm.options {
        if let OptionKind::File(format) = option.kind
            && let Some(node) = table.get_mut(option.name)
            && let Some(text) = node.as_text().and_then(|path| choices.files.text(path, format))
        {
            node.value = Value::Text(text);
        }
    }
}
