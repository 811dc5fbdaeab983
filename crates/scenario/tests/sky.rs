//! Satellites in scenario files: places, shells, element sets; mistakes name the file, the line and the cure.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{BASE, assert_round_trip, good};
use scenario::model::Setting;
use scenario::{Diagnostic, Document, Registries};

const ENDS: &str = "terminal_lat = 57.7, terminal_lon = 12.0, gateway_lat = 53.6, gateway_lon = 10.0";
const ISS: &str = "\
ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
";

/// BASE with a delay of these keys in the direction `up`.
fn up(delay: &str) -> String {
    BASE.replacen("delay = \"250ms\"", &format!("delay = {{ {delay} }}"), 1)
}

/// A scenario beside a file `sky.tle` in a folder of its own.
fn beside(name: &str, tle: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ropewalk-sky-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("sky.tle"), tle).unwrap();
    folder
}

fn mistake(folder: &std::path::Path, text: &str) -> Diagnostic {
    let file = folder.join("test.toml");
    let found = Document::parse(text, &file.to_string_lossy(), &[], &Registries::builtin())
        .map(|_| ())
        .expect_err(text);
    assert_eq!(found.len(), 1, "{found}");
    found.iter().next().unwrap().clone()
}

#[test]
fn satellites_are_models_of_the_delay() {
    for delay in [
        format!("kind = \"geo\", satellite_lon = 10, {ENDS}"),
        format!("kind = \"walker\", altitude = 550, inclination = 53, planes = 72, per_plane = 22, {ENDS}"),
    ] {
        let document = good(&up(&delay), &[]);
        assert_round_trip(&document);
        let Setting::Model(choice) = &document.scenario.duplex_links[0].directions[0].delay[0] else {
            panic!("{delay}")
        };
        assert!(delay.contains(&format!("\"{}\"", choice.name())));
    }
    // A second terminal inherits the shell and changes what is its own.
    let shell =
        format!("kind = \"walker\", altitude = 550, inclination = 53, planes = 72, per_plane = 22, {ENDS}");
    let text = up(&shell) + "[[path]]\nname = \"beam2\"\nlike = \"beam1\"\nup = { delay = { rank = 2 } }\n";
    let document = good(&text, &[]);
    let Setting::Model(choice) = &document.scenario.duplex_links[1].directions[0].delay[0] else {
        panic!("a model")
    };
    assert_eq!((choice.options.integer("rank"), choice.options.number("altitude")), (2, 550.0));
}

#[test]
fn element_sets_lie_beside_the_scenario() {
    let folder = beside("good", ISS);
    let sets = format!("kind = \"sgp4\", file = \"sky.tle\", epoch = \"2008-09-20T12:00:00Z\", {ENDS}");
    let text = up(&sets);
    let file = folder.join("test.toml");
    let document = Document::parse(&text, &file.to_string_lossy(), &[], &Registries::builtin()).unwrap();
    let again = Document::parse(&document.to_toml(), &file.to_string_lossy(), &[], &Registries::builtin());
    assert_eq!(document.scenario, again.unwrap().scenario);
    // With the elements in the place of the path it needs no folder.
    let whole = document.to_whole_toml();
    assert!(whole.contains("25544U"));
    assert_eq!(good(&whole, &[]).to_whole_toml(), whole);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn wrong_element_sets_name_their_line_and_ours() {
    let at = |epoch: &str| up(&format!("kind = \"sgp4\", file = \"sky.tle\", epoch = \"{epoch}\", {ENDS}"));
    let launch = at("2008-09-20T12:00:00Z");
    let checksum = ISS.replacen("51.6416", "51.6417", 1);
    let cases = [
        ("checksum", checksum.as_str(), &launch, "file", "sky.tle:3: checksum 7 in column 69"),
        ("short", &ISS[..40], &launch, "file", "sky.tle:2: found 28 characters"),
        ("empty", "", &launch, "file", "no element set"),
        ("xml", "<?xml version=\"1.0\"?>\n<ndm/>\n", &launch, "file", "sky.tle:1: this is XML"),
        ("binary", "1 2\u{0}", &launch, "file", "sky.tle:1: the file is binary"),
        ("old", ISS, &at("2026-01-01T00:00:00Z"), "file", "6311 days away"),
        ("when", ISS, &at("noon"), "epoch", "found \"noon\""),
    ];
    for (name, tle, text, key, message) in cases {
        let folder = beside(name, tle);
        let found = mistake(&folder, text);
        assert!(found.message.contains(message), "{found}");
        let code = if key == "file" { "E022" } else { "E005" };
        assert_eq!(
            (found.line, found.key.as_str(), found.code.as_str()),
            (5, format!("path.beam1.up.delay.{key}").as_str(), code),
            "{found}"
        );
        assert!(!found.help.is_empty());
        // A value written for both directions is named so.
        let down = "down = { rate = \"10Mbit/s\", delay = \"250ms\" }\n";
        assert!(text.contains(down));
        let both = mistake(&folder, &text.replacen(down, "", 1).replacen("up ", "both ", 1));
        assert_eq!(both.key, format!("path.beam1.both.delay.{key}"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn wrong_places_name_the_cure() {
    let folder = std::env::temp_dir();
    for (delay, key, message) in [
        (
            format!("kind = \"geo\", satellite_lon = -120, {ENDS}"),
            "satellite_lon",
            "below the horizon of the terminal",
        ),
        (
            format!("kind = \"geo\", satellite_lon = 10, {}", ENDS.replace("57.7", "97.7")),
            "terminal_lat",
            "97.7",
        ),
        (
            format!(
                "kind = \"walker\", altitude = 550, inclination = 53, planes = 2, per_plane = 2, phasing = 2, {ENDS}"
            ),
            "phasing",
            "there are 2 planes",
        ),
        (
            format!(
                "kind = \"walker\", altitude = 550, inclination = 53, planes = 2, per_plane = 2, outage = \"20s\", {ENDS}"
            ),
            "outage",
            "slot = \"15s\"",
        ),
    ] {
        let found = mistake(&folder, &up(&delay));
        assert_eq!(
            (found.line, found.key.as_str()),
            (5, format!("path.beam1.up.delay.{key}").as_str()),
            "{found}"
        );
        assert!(found.message.contains(message), "{found}");
    }
}
