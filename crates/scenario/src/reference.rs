//! The reference page of scenario files, made of the key tables.

use document::keys::{Kind, Scalar};
use document::reference::{codes, put, sections, sentence, table};
use document::vocabulary::{Catalogue, Vocabulary as _};
use registry::OptionKind;

use crate::keys::ROOT;
use crate::profile_list::profiles;
use crate::registries::{Registries, catalogue};

const INTRODUCTION: &str = "\
# Scenario files

<!-- Generated from the key tables of `crates/scenario`; a test says how to make it anew. -->

A scenario is a TOML file: links, flows, and what changes while the run goes on. Everything that a run depends on is
in it and in the seed. Unknown keys are errors.

* **Quantities** have their unit: `\"275ms\"`, `\"20Mbit/s\"`, `\"64KiB\"`, `\"100p\"` (packets). A bare number is an error.
  Units are ns, us, ms, s, min; bit/s, kbit/s, Mbit/s, Gbit/s; B, kB, MB, GB, KiB, MiB, GiB.
  Probabilities are numbers between 0 and 1, or text such as `\"1%\"`.
* **Names** consist of letters, digits, `-` and `_`, 200 characters at most; texts have at most 10,000.
* **Algorithms** are chosen by name, `congestion = \"cubic\"`, or by a table with options,
  `loss = { kind = \"packet\", probability = 0.01 }`. Options that are not given have their defaults; so has `kind`
  itself where the key has a default.
* **Files** with measured values are named by their path from the folder of the scenario file.
* **`like`** takes every key that is not given from another path, link or flow; tables inside are merged key by key,
  the options of an algorithm as long as its name is the same.
* **`both`** gives keys to both directions of a link; what a direction says itself comes first, and both come before
  `like`.
* **Overrides** (`--set KEY=VALUE`) act as if they stood in the file, before `like`. Keys are dotted, tables are
  addressed by name, events and parts of a list by their position from 0: `duration=10s`,
  `path.beam1.up.rate=5Mbit/s`, `path.beam1.up.delay.1.max=30ms`,
  `flow.upload.transport.congestion.hystart=true`, `event.0.at=3s`. An override of `both` holds for both directions
  whatever the file says of one. Values need no quotes. Another `kind` leaves out what the file says for the old one alone, such as
  `receive_buffer_max` with `flow.upload.transport.kind=cmt-sctp`, and a `send_buffer` of fixed size `send_buffer_max`: a warning names each such key. A key that is itself set by an
  override and that the kind does not have is an error.
* **Draws**: `{ draw = \"uniform\", from = \"20Mbit/s\", to = \"30Mbit/s\" }` in the place of a number or a quantity is a value
  that is drawn once per replication, both bounds included. A draw that is written once is drawn once: `both` and `like` copy the
  drawn value. The random stream is named after the key, as in `path.beam1.both.rate`, or by `stream`: the draw depends on that
  name and the seed alone, so that all cases of a study have the same values under a seed, and another key changes none.
  Two draws of one stream must have the same bounds. The table `runs` has a column for each stream, with its unit:
  `path.beam1.both.rate_bit_s`. Both bounds are checked as if they stood there. Names, seeds and numbers of things cannot be drawn.
";

/// The page in Markdown, with the algorithms of `registries`.
pub fn reference_markdown(registries: &Registries) -> String {
    let mut out = INTRODUCTION.to_owned();
    sections(&mut out, &ROOT, "Top level");
    transport_profiles(&mut out);
    for family in [
        catalogue::CONGESTION,
        catalogue::SCHEDULER,
        catalogue::PATH_MANAGER,
        catalogue::RATE,
        catalogue::DELAY,
        catalogue::QUEUE,
        catalogue::LOSS,
        catalogue::APP,
    ] {
        algorithms(&mut out, family, registries);
    }
    codes(&mut out);
    out
}

fn transport_profiles(out: &mut String) {
    put(out, "\n## Profiles\n\nComplete sets of transport settings; each key can be overridden.\n");
    let all = profiles();
    table(
        out,
        &["Profile", "What it is", "Source"],
        all.iter().map(|p| vec![format!("`{}`", p.name), p.summary.clone(), p.source.clone()]),
    );
    put(out, "");
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in all.iter().flat_map(|p| &p.values) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let head: Vec<&str> = std::iter::once("Key").chain(all.iter().map(|p| p.name)).collect();
    let rows = names.into_iter().map(|name| {
        let value = |p: &crate::Profile| {
            let found = p.values.iter().find(|(key, _)| key == name);
            found.map_or_else(|| "–".to_owned(), |(_, value)| format!("`{}`", value.replace('"', "")))
        };
        std::iter::once(format!("`{name}`")).chain(all.iter().map(value)).collect()
    });
    table(out, &head, rows);
    put(
        out,
        "\n`mptcp.` stands before what holds only for `kind = \"mptcp\"`. Without `receive_buffer_max` the receive",
    );
    put(out, "buffer is fixed.");
}

fn algorithms(out: &mut String, catalogue: Catalogue, registries: &Registries) {
    put(out, &format!("\n## {}s\n", sentence(catalogue.what)));
    let rows = registries.all(catalogue).into_iter().flat_map(|algorithm| {
        let first =
            vec![format!("`{}`", algorithm.name), sentence(algorithm.summary), String::new(), String::new()];
        let options = algorithm.options.iter().map(|option| {
            let default = option.default.map_or("**compulsory**".into(), |text| format!("`{text}`"));
            let what = match option.kind {
                OptionKind::Integer { min, max: u64::MAX } => format!("a whole number from {min} on"),
                kind => Kind::Scalar(Scalar::Plain(kind)).what(),
            };
            vec![format!("– `{}`", option.name), sentence(option.doc), what, default]
        });
        std::iter::once(first).chain(options).collect::<Vec<_>>()
    });
    table(out, &["Name, options", "Meaning", "Value", "Default"], rows);
}
