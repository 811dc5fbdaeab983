//! Studies that are like another one: merging, places of mistakes, and the whole written out.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use scenario::Registries;
use study::{StudyFile, readings, whole};

const BASE: &str = r#"
name = "base"
scenario = "two.toml"
replications = 2
series = 1
baseline = { control = "plain" }
set = { duration = "3s" }

[[vary]]
name = "control"
[vary.cases]
plain = {}
slow = { "flow.upload.transport.congestion" = "newreno" }
coupled = { "flow.upload.transport.congestion" = "lia" }

[[vary]]
name = "queue"
key = "path.beam1.both.queue"
values = ["50p", "60p"]

[reading.short]
set = { duration = "2s" }
[reading.long]
set = { duration = "4s" }
[[reading.long.vary]]
name = "queue"
values = ["70p"]
"#;

/// A folder of its own with a scenario and the base.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/two-geo-beams.toml");
        std::fs::copy(scenario, folder.join("two.toml")).unwrap();
        let made = Self(folder);
        made.write("base.toml", BASE);
        made
    }

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    fn parse(&self, text: &str, reading: Option<&str>) -> Result<StudyFile, String> {
        let file = self.write("overlay.toml", text);
        StudyFile::parse(text, &file, reading, &Registries::builtin()).map_err(|e| e.to_string())
    }

    fn mistake(&self, text: &str) -> String {
        let told = match self.parse(text, Some("short")) {
            Err(told) => told,
            Ok(study) => study.cases(&[], &Registries::builtin()).unwrap_err().to_string(),
        };
        told.replace(&format!("{}/", self.0.display()), "")
    }
}

fn cases(study: &StudyFile) -> Vec<String> {
    let cases = study.cases(&[], &Registries::builtin()).unwrap_or_else(|e| panic!("{e}"));
    let of = |case: study::Case| {
        let sets = case.overrides.iter().map(|(key, value)| format!("{key}={value}"));
        format!("{}: {}", case.name, sets.collect::<Vec<_>>().join(" "))
    };
    cases.into_iter().map(of).collect()
}

#[test]
fn an_overlay_states_its_differences() {
    let folder = Folder::new("differences");
    let text = r#"
name = "overlay"
like = "base.toml"
replications = 5
set = { "path.beam2.both.delay" = "300ms" }

[[vary]]
name = "queue"
values = ["80p"]

[reading.short]
set = { duration = "1s" }
"#;
    let short = folder.parse(text, Some("short")).unwrap();
    assert_eq!((short.name.as_str(), short.stopping.maximum, short.series), ("overlay, short", 5, 1));
    assert_eq!(
        cases(&short)[1],
        "slow / 80p: duration=\"1s\" path.beam2.both.delay=\"300ms\" \
         flow.upload.transport.congestion=\"newreno\" path.beam1.both.queue=\"80p\""
    );
    let long = folder.parse(text, Some("long")).unwrap();
    assert!(cases(&long)[0].starts_with("plain / 70p: duration=\"4s\" "), "{:?}", cases(&long));
}

#[test]
fn parts_are_left_out_and_levels_chosen() {
    let folder = Folder::new("left-out");
    let text = r#"
like = { study = "base.toml", reading = "long" }
without = ["baseline", "vary.queue", "vary.control.cases.slow"]
[[vary]]
name = "control"
levels = ["coupled", "plain"]
"#;
    assert!(readings(text, &folder.write("overlay.toml", text)).is_empty());
    let study = folder.parse(text, None).unwrap();
    assert_eq!(study.name, "base");
    assert!(study.baseline.is_none());
    assert_eq!(
        cases(&study),
        ["coupled: duration=\"4s\" flow.upload.transport.congestion=\"lia\"", "plain: duration=\"4s\""]
    );
}

#[test]
fn levels_given_in_another_way_take_the_place_of_the_others() {
    let folder = Folder::new("another-way");
    let text = r#"
like = { study = "base.toml", reading = "short" }
without = ["vary.control", "baseline"]
[[vary]]
name = "queue"
[vary.cases]
small = { "path.beam1.both.queue" = "5p" }
"#;
    let study = folder.parse(text, None).unwrap();
    assert_eq!(cases(&study), ["small: duration=\"2s\" path.beam1.both.queue=\"5p\""]);
}

#[test]
fn a_factor_can_be_held_at_a_level_and_another_put_before_one() {
    let folder = Folder::new("held");
    let text = r#"
like = { study = "base.toml", reading = "short" }
without = ["baseline"]
[[vary]]
name = "control"
hold = "coupled"
[[vary]]
name = "delay"
before = "queue"
key = "path.beam2.both.delay"
values = ["250ms", "300ms"]
"#;
    let study = folder.parse(text, None).unwrap();
    let names: Vec<&str> = study.factors.iter().map(|factor| factor.name.as_str()).collect();
    assert_eq!(names, ["delay", "queue"]);
    let cases = cases(&study);
    assert_eq!(cases.len(), 4);
    assert_eq!(
        cases[1],
        "250ms / 60p: duration=\"2s\" flow.upload.transport.congestion=\"lia\" \
         path.beam2.both.delay=\"250ms\" path.beam1.both.queue=\"60p\""
    );
}

#[test]
fn a_reading_can_be_like_another() {
    let folder = Folder::new("readings");
    let text = "like = \"base.toml\"\n[reading.both]\nlike = \"long\"\nreplications = 7\n";
    let both = folder.parse(text, Some("both")).unwrap();
    assert_eq!((both.name.as_str(), both.stopping.maximum), ("base, both", 7));
    assert!(cases(&both)[0].starts_with("plain / 70p: duration=\"4s\""));
    for (like, told) in [
        ("both", "overlay.toml:3:8: reading.both.like: `like` leads back to \"both\" [E010]"),
        ("logn", "overlay.toml:3:8: reading.both.like: there is no reading \"logn\" [E009]"),
    ] {
        let wrong = text.replace("long", like);
        let found = folder.parse(&wrong, Some("both")).unwrap_err();
        assert!(found.contains(told), "{found}");
    }
}

#[test]
fn overlays_stand_on_overlays_in_other_folders() {
    let folder = Folder::new("folders");
    folder.write("sub/middle.toml", "like = \"../base.toml\"\nseries = 2\n");
    let text = "like = { study = \"sub/middle.toml\", reading = \"short\" }\nname = \"top\"\n";
    let study = folder.parse(text, None).unwrap();
    assert_eq!((study.name.as_str(), study.series), ("top", 2));
    assert_eq!(cases(&study).len(), 6);
    // A scenario is seen from the file that names it.
    let own = "like = \"../base.toml\"\nscenario = \"../two.toml\"\n";
    let file = folder.write("sub/own.toml", own);
    let parsed = StudyFile::parse(own, &file, Some("short"), &Registries::builtin());
    assert_eq!(cases(&parsed.unwrap()).len(), 6);
}

#[test]
fn the_whole_gives_the_same_cases() {
    let folder = Folder::new("whole");
    folder.write("sub/middle.toml", "like = \"../base.toml\"\n[reading.long]\nseries = 0\n");
    let text = r#"
like = "sub/middle.toml"
name = "top \"quoted\""
without = ["reading.short.set"]
statistics = { alpha = 0.01 }
metrics = ["flow.upload.goodput_bit_s"]
replications = { until = "flow.upload.goodput_bit_s", half_width = "2%", min = 2, max = 3 }
[[vary]]
name = "delay"
zip = { "path.beam2.both.delay" = ["250ms", "300ms"], "path.beam1.both.delay" = ["10ms", "20ms"] }
labels = ["a b", "1.5"]
"#;
    let file = folder.write("overlay.toml", text);
    for reading in ["short", "long"] {
        let overlay = folder.parse(text, Some(reading)).unwrap();
        let read = |text: &str, reading| {
            StudyFile::parse(text, &file, reading, &Registries::builtin())
                .unwrap_or_else(|e| panic!("{e}\n{text}"))
        };
        let all = read(&whole(text, &file, None).unwrap(), Some(reading));
        let one = read(&whole(text, &file, Some(reading)).unwrap(), None);
        for other in [&all, &one] {
            assert_eq!(cases(&overlay), cases(other));
            assert_eq!((overlay.series, &overlay.stopping), (other.series, &other.stopping));
            assert_eq!((&overlay.treatment, &overlay.baseline), (&other.treatment, &other.baseline));
        }
        assert_eq!(overlay.name, all.name);
    }
    assert!(!whole(text, &file, None).unwrap().contains("like ="));
}

#[test]
fn mistakes_stand_in_the_file_that_has_them() {
    let folder = Folder::new("places");
    for (text, told) in [
        ("like = \"bse.toml\"", "overlay.toml:1:8: like: bse.toml: "),
        ("like = 5", "overlay.toml:1:8: like: found the number 5"),
        (
            "like = { study = \"base.toml\", reading = \"lng\" }",
            "overlay.toml:1:41: like.reading: there is no reading \"lng\"",
        ),
        ("like = { stdy = \"base.toml\" }", "overlay.toml:1:10: like.stdy: `stdy` is not a key"),
        ("without = [\"baseline\"]", "overlay.toml:1:11: without: there is nothing that could be left out"),
        (
            "like = \"base.toml\"\nwithout = [\"baselin\"]",
            "overlay.toml:2:12: without: the study below has no \"baselin\"",
        ),
        ("like = \"base.toml\"\nwithout = [\"vary.control.cases.fast\"]", "there is no \"fast\" [E009]"),
        ("like = \"base.toml\"\nwithout = [\"vary.control.key\"]", "known: name, cases"),
        ("like = \"base.toml\"\nwithout = [\"vary.'contrl'\"]", "did you mean `control`?"),
        ("like = \"base.toml\"\nwithout = [\"a b\"]", "found \"a b\", which is no dotted key"),
        ("like = \"base.toml\"\nwithout = [\"a = 1\\nb\"]", "which is no dotted key"),
        (
            "like = \"base.toml\"\n[[vary]]\nname = \"queue\"\nlevels = [\"55p\"]",
            "overlay.toml:4:11: vary.queue.levels: there is no level \"55p\"",
        ),
        (
            "like = \"base.toml\"\n[[vary]]\nname = \"queue\"\nlevels = []",
            "overlay.toml:4:10: vary.queue.levels: no level is kept",
        ),
        (
            "like = \"base.toml\"\n[[vary]]\nname = \"queue\"\nlevels = [\"50p\", \"50p\"]",
            "stands there twice",
        ),
        (
            "like = \"base.toml\"\n[[vary]]\nname = \"queue\"\nhold = \"55p\"",
            "overlay.toml:4:8: vary.queue.hold: there is no level",
        ),
        (
            "like = \"base.toml\"\n[[vary]]\nname = \"queue\"\nhold = \"50p\"\nlevels = [\"50p\"]",
            "`hold` chooses one level",
        ),
        (
            "like = \"base.toml\"\n[[vary]]\nkey = \"duration\"\nvalues = [\"1s\"]\nbefore = \"queues\"",
            "vary.2.before: there is no such factor",
        ),
        // A mistake that the overlay causes in the file below is told there.
        (
            "like = \"base.toml\"\nwithout = [\"vary.control\"]",
            "base.toml:6:14: baseline.control: nothing called \"control\" is varied",
        ),
        (
            "like = \"base.toml\"\n[set]\n\"path.beam1.both.queue\" = \"9p\"",
            "base.toml:18:7: path.beam1.both.queue: `set` sets",
        ),
        ("like = \"base.toml\"\nscenario = \"none.toml\"", "overlay.toml:2:12: scenario: none.toml: "),
        ("like = \"overlay.toml\"", "overlay.toml:1:8: like: overlay.toml is already below this file [E010]"),
        ("like = \"two.toml\"", "two.toml:"),
    ] {
        let found = folder.mistake(text);
        assert!(found.contains(told), "{text}\n{found}");
    }
    folder.write("circle.toml", "like = \"overlay.toml\"");
    let found = folder.mistake("like = \"circle.toml\"");
    assert!(found.contains("circle.toml:1:8: like: overlay.toml is already below this file"), "{found}");
    folder.write("broken.toml", "name = \nseries = 1");
    let found = folder.mistake("like = \"broken.toml\"");
    assert!(found.contains("broken.toml:1:"), "{found}");
    folder.write("wrong.toml", &BASE.replace("series = 1", "series = \"one\""));
    let found = folder.mistake("like = \"wrong.toml\"");
    assert!(found.starts_with("wrong.toml:5:10: series: found the text \"one\""), "{found}");
    // A value that the overlay replaces is never looked at.
    assert!(folder.parse("like = \"wrong.toml\"\nseries = 3", Some("short")).is_ok());
}

#[test]
fn mistakes_of_the_scenario_point_at_the_value_below() {
    let folder = Folder::new("blame");
    folder.write("base.toml", &BASE.replace("\"60p\"", "\"many\""));
    let found = folder.mistake("like = \"base.toml\"\nname = \"x\"");
    assert!(found.starts_with("base.toml:19:18: "), "{found}");
}
