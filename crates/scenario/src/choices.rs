//! Algorithms with their options, from filled tables.

use registry::{OptionKind, OptionSpec, OptionValue, Options};
use units::QueueLimit;

use crate::model::Choice;
use crate::registries::{Listed, Registries};
use document::files::Files;
use document::queue_size::QueueSize;
use document::tree::{Table, Value};

/// Inputs for reading options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choices<'a> {
    pub registries: &'a Registries,
    pub files: &'a Files,
}

impl Choices<'_> {
    /// The algorithm of a filled table without a queue whose size depends on other keys.
    pub fn plain<F: Listed>(&self, table: &Table) -> Option<Choice<F>> {
        self.choice(table, &|size| match size {
            QueueSize::Limit(limit) => Some(limit),
            QueueSize::Bdp(_) => None,
        })
    }

    /// The algorithm of a filled table; `size` says what a size of a queue amounts to.
    pub fn choice<F: Listed>(
        &self,
        table: &Table,
        size: &dyn Fn(QueueSize) -> Option<QueueLimit>,
    ) -> Option<Choice<F>> {
        let row = *F::registry(self.registries).get(table.text("kind")?)?;
        let option = |spec: &OptionSpec| Some((spec.name, self.value(spec, table, size)?));
        let options = row.options.iter().map(option).collect::<Option<Vec<_>>>()?;
        debug_assert_eq!(options.len(), row.options.len(), "{}: each option has a value", row.name);
        Some(Choice { row, options: Options::new(options) })
    }

    fn value(
        &self,
        spec: &OptionSpec,
        table: &Table,
        size: &dyn Fn(QueueSize) -> Option<QueueLimit>,
    ) -> Option<OptionValue> {
        let value = &table.get(spec.name)?.value;
        match (spec.kind, value) {
            (OptionKind::Limit, Value::Text(text)) => size(text.parse().ok()?).map(OptionValue::Limit),
            (OptionKind::File(format), Value::Text(path)) => {
                self.files.load(path, format).ok().map(OptionValue::File)
            }
            (OptionKind::List(items), Value::List(nodes)) => {
                let texts: Option<Vec<String>> = nodes.iter().map(|node| node.value.bare()).collect();
                items.parse(&texts?.join(",")).ok()
            }
            _ => spec.kind.parse(&value.bare()?).ok(),
        }
    }
}
