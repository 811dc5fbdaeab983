//! Every algorithm by name, as JSON: for lists and documentation.

use registry::{Entry, OptionSpec};
use scenario::Registries;
use serde_json::{Value, json};

/// One list per kind; each entry with `name`, `summary`, `source` and `notes` where there are any, whether
/// `fidelity` to the source is claimed, and `options`.
pub fn catalogue(registries: &Registries) -> Value {
    fn list<F: registry::Family>(registry: &registry::Registry<F>) -> Vec<Value> {
        registry.iter().map(|a| entry(&a.entry())).collect()
    }
    let profiles = scenario::profiles().into_iter().map(|profile| {
        let values = profile.values.into_iter().map(|(key, value)| (key, Value::from(value)));
        json!({ "name": profile.name, "summary": profile.summary, "source": profile.source,
                "values": Value::Object(values.collect()) })
    });
    json!({
        "congestion": list(&registries.congestion),
        "schedulers": list(&registries.schedulers),
        "path-managers": registries.path_managers().iter().map(entry).collect::<Vec<_>>(),
        "rates": list(&registries.rates),
        "delays": list(&registries.delays),
        "queues": list(&registries.queues),
        "loss": list(&registries.loss),
        "apps": list(&registries.apps),
        "profiles": profiles.collect::<Vec<_>>(),
    })
}

fn entry(entry: &Entry) -> Value {
    json!({ "name": entry.name, "summary": entry.summary, "source": entry.source, "notes": entry.notes,
            "fidelity": entry.claims_fidelity(), "options": options(entry.options) })
}

fn options(specs: &[OptionSpec]) -> Vec<Value> {
    let option = |spec: &OptionSpec| {
        let values = scenario::allowed(spec.kind);
        json!({ "name": spec.name, "values": values, "default": spec.default, "doc": spec.doc })
    };
    specs.iter().map(option).collect()
}
