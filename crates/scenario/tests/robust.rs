//! Nothing that a file or an override holds makes the parser panic, and every mistake points into its text.

mod common;

use common::{BASE, ROUTED, good, parse};
use proptest::prelude::*;
use scenario::{Document, Registries};

/// One change of a text.
#[derive(Clone, Debug)]
enum Edit {
    Delete { at: usize, length: usize },
    Insert { at: usize, text: &'static str },
    SwapLines { a: usize, b: usize },
    DropLine { at: usize },
    Repeat { at: usize },
}

const PIECES: &[&str] = &[
    "\"",
    "'",
    "\"\"\"",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    "=",
    ".",
    ",",
    "#",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "é",
    "0",
    "-1",
    "9999999999999999999999",
    "1e400",
    "inf",
    "nan",
    "true",
    "\"unlimited\"",
    "like = \"beam1\"\n",
    "name = \"a\"\n",
    "both = 3\n",
    "both = { }\n",
    "count = 1000\n",
    "[[mesh]]\n",
    "[path]\n",
    "kind = \"tcp\"\n",
    "1979-05-27",
    "\\",
    "\\u",
    "transport.kind = \"tcp\"\n",
    "up.rate = \"1bit/s\"\n",
];

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<usize>(), 1..9usize).prop_map(|(at, length)| Edit::Delete { at, length }),
        (any::<usize>(), prop::sample::select(PIECES)).prop_map(|(at, text)| Edit::Insert { at, text }),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Edit::SwapLines { a, b }),
        any::<usize>().prop_map(|at| Edit::DropLine { at }),
        any::<usize>().prop_map(|at| Edit::Repeat { at }),
    ]
}

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut text = text.to_owned();
    for edit in edits {
        let mut characters: Vec<char> = text.chars().collect();
        let mut lines: Vec<&str> = text.lines().collect();
        let (count, height) = (characters.len().max(1), lines.len().max(1));
        text = match edit {
            Edit::Delete { at, length } => {
                let start = (at % count).min(characters.len());
                let end = (start + length).min(characters.len());
                characters.drain(start..end);
                characters.into_iter().collect()
            }
            Edit::Insert { at, text } => {
                let at = (at % count).min(characters.len());
                characters.splice(at..at, text.chars());
                characters.into_iter().collect()
            }
            Edit::SwapLines { a, b } if !lines.is_empty() => {
                lines.swap(a % height, b % height);
                lines.join("\n")
            }
            Edit::DropLine { at } if !lines.is_empty() => {
                lines.remove(at % height);
                lines.join("\n")
            }
            Edit::Repeat { at } if !lines.is_empty() => {
                lines.insert(at % height, lines[at % height]);
                lines.join("\n")
            }
            _ => text,
        };
    }
    text
}

/// Parses; a good file survives its expansion, a bad one has mistakes that point into it.
fn try_out(text: &str, sets: &[(&str, &str)]) {
    match parse(text, sets) {
        Ok(document) => assert_eq!(document.scenario, good(&document.to_toml(), &[]).scenario),
        Err(found) => {
            assert!(!found.is_empty() && !found.to_string().is_empty());
            for d in found.iter() {
                assert_ne!(d.code, scenario::Code::Internal, "{d}\n{text}");
                assert!(!d.message.is_empty() && !d.help.is_empty() && d.line > 0 && d.column > 0, "{d:?}");
                if d.file == "test.toml" {
                    assert!(d.line <= text.matches('\n').count() + 1, "{d}");
                    assert!(d.column <= d.source.chars().count() + 1, "{d}");
                }
            }
            assert_eq!(found.to_json().as_array().map(Vec::len), Some(found.len()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn mutated_files(which in 0..3usize, edits in prop::collection::vec(edit(), 1..6)) {
        let base = [BASE.to_owned(), ROUTED.to_owned(), common::shipped()[1].1.clone()];
        try_out(&apply(&base[which], &edits), &[]);
    }

    #[test]
    fn any_text(text in "\\PC{0,60}") {
        try_out(&text, &[]);
    }

    #[test]
    fn any_override(key in "(path|flow|event|node|mesh|duration|seeds|[a-z]{1,3})(\\.(beam1|upload|0|up|both|loss|kind|transport|congestion|like|[a-z.]{0,4})){0,4}", value in "\\PC{0,12}") {
        try_out(BASE, &[(&key, &value)]);
    }

    #[test]
    fn any_value(
        key in prop::sample::select(vec![
            "duration", "seeds", "path.beam1.up.rate", "path.beam1.both.queue", "path.beam1.up.loss", "path.beam1.up",
            "flow.upload.from", "flow.upload.via", "flow.upload.transport", "flow.upload.transport.mss", "event.0.set",
            "flow.upload.transport.receive_buffer", "flow.upload.transport.path_manager.subflows", "path.beam1.like",
            "path.beam1.from", "flow.upload.app.size", "event.0.link", "flow.upload.transport.profile",
        ]),
        value in prop::sample::select(vec![
            "0", "-1", "3", "0.5", "inf", "nan", "true", "[]", "[1]", "{}", "{ a = 1 }", "\"\"", "none", "1s", "5p",
            "1Mbit/s", "0B", "unlimited", "auto", "beam1", "terminal", "server", "1979-05-27", "{ kind = \"tcp\" }",
            "{ kind = 3 }", "99999999999999999999", "18446744073709551615", "18446744073.709551615s", "1GiB",
        ]),
    ) {
        try_out(BASE, &[(key, value)]);
        try_out(ROUTED, &[(key, value)]);
    }
}

#[test]
fn deep_nesting_and_long_lines() {
    try_out(&format!("a = {}1{}", "[".repeat(3000), "]".repeat(3000)), &[]);
    try_out(&format!("a{} = 1", ".a".repeat(3000)), &[]);
    try_out(&format!("name = \"{}\"", "x".repeat(100_000)), &[]);
    try_out("\u{feff}duration = \"3s\"", &[]);
    try_out("a = \"\r\n\"\r\nb = 3\r\n", &[]);
}

#[test]
fn many_mistakes_are_all_found_and_the_first_are_printed() {
    let unknown: String = (0..20_000).map(|n| format!("k{n} = 1\n")).collect();
    let text = format!("{unknown}{}", "duration = \"1s\"\n");
    let mistakes = Document::parse(&text, "many.toml", &[], &Registries::builtin()).unwrap_err();
    let of_keys: Vec<_> = mistakes.iter().filter(|one| one.code.as_str() == "E002").collect();
    assert_eq!(of_keys.len(), 20_000);
    assert!(of_keys.iter().zip(1..).all(|(one, line)| one.line == line), "each on its own line");
    let printed = mistakes.to_string();
    assert!(printed.ends_with(" more"), "{}", &printed[printed.len() - 100..]);
    assert!(printed.len() < 200_000, "{}", printed.len());
}

/// Work that grew with the square or the cube of their number took minutes here.
#[test]
fn many_flows_that_name_each_other() {
    const MANY: usize = 4_000;
    let flow = |i: usize, keys: &str| format!("[[flow]]\nname = \"g{i}\"\nlike = \"upload\"\n{keys}\n");
    let many = |keys: &dyn Fn(usize) -> String| -> String { (0..MANY).map(|i| flow(i, &keys(i))).collect() };
    let parsed =
        |more: &str| Document::parse(&format!("{BASE}\n{more}"), "x.toml", &[], &Registries::builtin());
    let follow = |i: usize| if i + 1 < MANY { format!("after = \"g{}\"", i + 1) } else { String::new() };
    parsed(&many(&follow)).expect("each waits for the next");
    let circle = parsed(&many(&|i| format!("after = \"g{}\"", (i + 1) % MANY))).expect_err("a circle");
    assert_eq!(circle.iter().filter(|one| one.code.as_str() == "E021").count(), MANY);
    let unknown = parsed(&many(&|i| format!("after = \"z{i}\""))).expect_err("there are none");
    assert_eq!(unknown.iter().filter(|one| one.code.as_str() == "E009").count(), MANY);
    assert!(unknown.iter().all(|one| one.help.len() < 1000), "{unknown}");
    let events = |end: &str| -> String {
        (0..MANY)
            .map(|i| format!("[[event]]\nat = \"1ms\"\nflow = \"g{i}{end}\"\ndo = {{ abort = \"reset\" }}\n"))
            .collect()
    };
    let all = many(&|_| String::new());
    parsed(&format!("{all}{}", events(""))).expect("each flow has an event");
    let unknown = parsed(&format!("{all}{}", events("z"))).expect_err("there are no such flows");
    assert_eq!(unknown.iter().filter(|one| one.code.as_str() == "E009").count(), MANY);
}

#[test]
fn a_misspelt_key_is_one_mistake_where_its_likely_meaning_does_not_apply() {
    let text = BASE.replace("kind = \"mptcp\"", "kind = \"mptcp\", nr_sak = true");
    assert_ne!(text, BASE);
    let found = Document::parse(&text, "x.toml", &[], &Registries::builtin()).expect_err("no such key");
    assert_eq!(found.iter().map(|one| one.code.as_str()).collect::<Vec<_>>(), ["E002"], "{found}");
}

/// A small file with long lists asks for more values than any memory has: one mistake, at once.
#[test]
fn what_multiplies_is_bounded() {
    let told = |text: &str| {
        let error = Document::parse(text, "x.toml", &[], &Registries::builtin()).expect_err("accepted");
        assert_eq!(error.iter().map(|one| one.code.as_str()).collect::<Vec<_>>(), ["E019"], "{error:.500}");
        error.to_string()
    };
    let list = format!("[{}]", "\"1ms\",".repeat(20_000));
    let flow = "[[flow]]\nname = \"f\"\nfrom = \"l1\"\nto = \"r1\"\n[flow.transport]\nkind = \"tcp\"\n";
    let like: String = (1..200).map(|i| format!("[[path]]\nname = \"p{i}\"\nlike = \"p0\"\n")).collect();
    let both = format!("both = {{ rate = \"1Mbit/s\", delay = {list} }}\n");
    let inherited = format!("duration = \"1s\"\n[[path]]\nname = \"p0\"\n{both}{like}{flow}");
    let inherited = inherited.replace("l1", "terminal").replace("r1", "server");
    assert!(told(&inherited).contains("copies more than 2000000 values"));
    let node = |name: &str| format!("[[node]]\nname = \"{name}\"\ncount = 100\n");
    let mesh = format!("[[mesh]]\nname = \"m\"\nleft = [\"l\"]\nright = [\"r\"]\n{both}");
    let meshed = format!("duration = \"1s\"\n{}{}{mesh}{flow}", node("l"), node("r"));
    assert!(told(&meshed).contains("more than 5000000 values of links in all"));
    let flows: String =
        (0..101).map(|i| flow.replace("\"f\"", &format!("\"f{i}x\"\ncount = 1000"))).collect();
    let text = BASE.replace("terminal", "l1").replace("server", "r1") + &flows;
    assert!(told(&text).contains("more than 100000 flows in all"));
}

/// Names are looked up, not compared one with another.
#[test]
fn many_paths_take_their_time_and_no_more() {
    let path =
        |i: usize| format!("[[path]]\nname = \"p{i}\"\nboth = {{ rate = \"1Mbit/s\", delay = \"1ms\" }}\n");
    let paths: String = (0..20_001).map(path).collect();
    let flow =
        "[[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\n[flow.transport]\nkind = \"tcp\"\n";
    let text = format!("duration = \"1s\"\n{paths}{flow}");
    let error = Document::parse(&text, "x.toml", &[], &Registries::builtin()).expect_err("accepted");
    assert!(error.to_string().contains("more than 20000 links in all"), "{error:.300}");
}
