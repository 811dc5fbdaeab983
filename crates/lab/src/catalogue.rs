//! Every algorithm by name, as JSON: for lists and documentation.

use scenario::Registries;
use serde_json::{Value, json};
use units::{OptionKind, OptionSpec};

/// One list per kind; each entry with `name`, `summary`, `source` where there is one, and `options`.
pub fn catalogue(registries: &Registries) -> Value {
    let congestion = registries.congestion.iter().map(|a| {
        json!({ "name": a.name, "summary": a.summary, "source": a.source, "coupled": a.coupled,
                "options": options(a.options) })
    });
    let schedulers = registries.schedulers.iter().map(
        |a| json!({ "name": a.name, "summary": a.summary, "source": a.source, "options": options(a.options) }),
    );
    let managers = registries
        .path_managers()
        .iter()
        .map(|a| json!({ "name": a.name, "summary": a.summary, "options": options(a.options) }));
    let loss = registries.loss.iter().map(
        |a| json!({ "name": a.name, "summary": a.summary, "source": a.source, "options": options(a.options) }),
    );
    let apps = registries
        .apps
        .iter()
        .map(|a| json!({ "name": a.name, "summary": a.summary, "options": options(a.options) }));
    let profiles = scenario::profiles().into_iter().map(|profile| {
        let values = profile.values.into_iter().map(|(key, value)| (key, Value::from(value)));
        json!({ "name": profile.name, "summary": profile.summary, "values": Value::Object(values.collect()) })
    });
    json!({
        "congestion": congestion.collect::<Vec<_>>(),
        "schedulers": schedulers.collect::<Vec<_>>(),
        "path-managers": managers.collect::<Vec<_>>(),
        "loss": loss.collect::<Vec<_>>(),
        "apps": apps.collect::<Vec<_>>(),
        "profiles": profiles.collect::<Vec<_>>(),
    })
}

fn options(specs: &[OptionSpec]) -> Vec<Value> {
    let option = |spec: &OptionSpec| json!({ "name": spec.name, "values": allowed(spec.kind), "default": spec.default, "doc": spec.doc });
    specs.iter().map(option).collect()
}

/// What an option may hold, in words.
fn allowed(kind: OptionKind) -> String {
    match kind {
        OptionKind::Flag => "true, false".into(),
        OptionKind::Integer { min, max } => format!("whole number {min} to {max}"),
        OptionKind::Number { min, max } => format!("number {min} to {max}"),
        OptionKind::Duration => "duration".into(),
        OptionKind::Size => "size".into(),
        OptionKind::Rate => "rate".into(),
        OptionKind::Probability => "probability".into(),
        OptionKind::Choice(words) => words.join(", "),
    }
}
