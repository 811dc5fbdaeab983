//! Study files: readings, shipped files, and the reference page.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use scenario::Registries;
use study::{Reach, StudyFile, kinds, readings, reference_pages, schema};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const TEXT: &str = r#"
name = "s"
scenario = "../../scenarios/two-geo-beams.toml"
replications = 2
set = { duration = "3s" }

[[vary]]
name = "control"
[vary.cases]
plain = {}
slow = { "flow.upload.transport.congestion" = "newreno" }

[reading.short]
set = { duration = "2s" }
[[reading.short.vary]]
name = "control"
[reading.short.vary.cases]
slow = { "path.beam1.both.queue" = "50p" }

[reading.more]
replications = 3
[[reading.more.vary]]
key = "path.beam2.both.delay"
values = ["250ms", "300ms"]
"#;

fn parse(text: &str, reading: Option<&str>) -> Result<StudyFile, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("s.toml").display().to_string();
    StudyFile::parse(text, &file, reading, &Registries::builtin()).map_err(|mistakes| mistakes.to_string())
}

fn cases(text: &str, reading: Option<&str>) -> Vec<String> {
    let study = parse(text, reading).unwrap_or_else(|e| panic!("{e}"));
    let cases = study.cases(&[], &Registries::builtin()).unwrap_or_else(|e| panic!("{e}"));
    cases
        .into_iter()
        .map(|case| {
            let sets = case.overrides.iter().map(|(key, value)| format!("{key}={value}"));
            format!("{}: {}", case.name, sets.collect::<Vec<_>>().join(" "))
        })
        .collect()
}

#[test]
fn a_reading_is_laid_over_the_file() {
    assert_eq!(readings(TEXT, "s.toml"), ["short", "more"]);
    assert_eq!(
        cases(TEXT, Some("short")),
        [
            "plain: duration=\"2s\"",
            "slow: duration=\"2s\" flow.upload.transport.congestion=\"newreno\" path.beam1.both.queue=\"50p\"",
        ]
    );
    let more = parse(TEXT, Some("more")).unwrap();
    assert_eq!((more.name.as_str(), more.stopping.maximum, more.factors.len()), ("s, more", 3, 2));
    assert_eq!(
        cases(TEXT, Some("more"))[1],
        "plain / 300ms: duration=\"3s\" path.beam2.both.delay=\"300ms\""
    );
}

#[test]
fn a_reading_must_be_chosen_and_exist() {
    let told = |text: &str, reading| parse(text, reading).unwrap_err();
    assert!(told(TEXT, None).contains("choose one with --reading: short, more"));
    assert!(told(TEXT, Some("shrot")).contains("did you mean `short`?"));
    let without = TEXT.split("[reading").next().unwrap();
    assert!(parse(without, None).is_ok());
    assert!(told(without, Some("short")).contains("leave out --reading"));
    // A mistake in a reading is told whichever is chosen, at its place.
    let wrong = TEXT.replace("replications = 3", "replication = 3");
    for reading in ["short", "more"] {
        let told = told(&wrong, Some(reading));
        assert!(told.contains("s.toml:21:1: reading.more.replication: `replication` is not"), "{told}");
    }
}

#[test]
fn a_key_that_is_varied_cannot_be_set_for_all_cases() {
    let registries = Registries::builtin();
    let without = TEXT.split("[reading").next().unwrap();
    let study = parse(without, None).unwrap();
    let set = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    // The key, the whole that it belongs to and a part of it alike.
    for key in
        ["flow.upload.transport.congestion", "flow.upload.transport", "flow.upload.transport.congestion.beta"]
    {
        let told = study.cases(&set(key, "\"x\""), &registries).unwrap_err().to_string();
        assert!(told.contains("s.toml:9:7: "), "{told}");
        assert!(told.contains("the study varies this key (\"control\")"), "{told}");
        assert!(
            told.contains("edit the levels here") && told.contains("--set flow.upload.transport"),
            "{told}"
        );
    }
    assert!(study.cases(&set("flow.upload.transport.scheduler", "\"blest\""), &registries).is_ok());
    let reach = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        study.reach(&sets, &registries).map_err(|mistakes| mistakes.to_string())
    };
    let together =
        [("flow.upload.transport.sack", "false"), ("flow.upload.transport.recovery", "\"newreno\"")];
    assert_eq!(
        reach(&[
            ("flow.upload.transport.congestion", "\"lia\""),
            ("flow.nobody.start", "\"1s\""),
            ("duration", "\"4s\""),
        ]),
        Ok(vec![Reach::Varied, Reach::Absent, Reach::All])
    );
    // Keys that go together are set together.
    assert!(reach(&together[..1]).unwrap_err().contains("--set:1:"));
    assert_eq!(
        reach(&[together[0], together[1], ("flow.upload.transport.prr", "false")]),
        Ok(vec![Reach::All; 3])
    );
    assert!(reach(&[("duration", "\"never\"")]).unwrap_err().contains("--set:1:"));
}

#[test]
fn the_reference_pages_are_up_to_date() {
    for (name, page) in reference_pages() {
        let file = root().join("docs/reference").join(name);
        if std::env::var_os("ROPEWALK_BLESS").is_some() {
            std::fs::write(&file, &page).unwrap();
        }
        assert!(
            std::fs::read_to_string(&file).unwrap_or_default() == page,
            "docs/reference/{name} is stale; write it anew: ROPEWALK_BLESS=1 cargo test -p study --test files"
        );
    }
}

#[test]
fn every_kind_of_file_has_a_schema() {
    for kind in kinds() {
        let schema = schema(kind).unwrap();
        assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"), "{kind}");
        assert_eq!(schema["type"], "object", "{kind}");
    }
    assert!(schema("scenario").is_none());
}

#[test]
fn random_damage_is_told_in_words() {
    // Every text of the file cut at any place, and with any character left out.
    let file = root().join("studies/s.toml").display().to_string();
    let registries = Registries::builtin();
    for (at, c) in TEXT.char_indices().step_by(3) {
        for text in [TEXT[..at].to_owned(), format!("{}{}", &TEXT[..at], &TEXT[at + c.len_utf8()..])] {
            if let Err(mistakes) = StudyFile::parse(&text, &file, Some("short"), &registries) {
                for one in mistakes.iter() {
                    assert!(
                        one.line >= 1 && !one.message.is_empty() && !one.help.is_empty(),
                        "{text}\n{one}"
                    );
                }
            }
        }
    }
}
