//! The work of reading a file grows with its length and with the number of its mistakes, not with the square of either.

mod common;

use common::BASE;
use document::diagnostic::KEPT;
use document::work;
use scenario::{Diagnostics, Document, Registries};

fn parse(text: &str) -> Result<Document, Diagnostics> {
    Document::parse(text, "x.toml", &[], &Registries::builtin())
}

/// Steps until the mistakes of the text are found.
fn steps(text: &str) -> u64 {
    let before = work::steps();
    let _mistakes = parse(text).expect_err("a text with mistakes");
    work::steps() - before
}

fn each(many: usize, one: impl Fn(usize) -> String) -> String {
    (0..many).map(one).collect()
}

/// A form of mistakes, of which there can be as many as a file has room for.
type Form = (&'static str, fn(usize) -> String);

const FORMS: &[Form] = &[
    ("unknown keys at the top", |n| each(n, |i| format!("unknown{i} = 1\n")) + BASE),
    ("unknown keys of a table", |n| {
        format!("{BASE}\n[[event]]\nat = \"1ms\"\n{}", each(n, |i| format!("k{i} = 1\n")))
    }),
    ("unknown options of an algorithm", |n| {
        let options = each(n, |i| format!(", o{i} = 1"));
        format!("{BASE}\n[[flow]]\nname = \"g\"\nlike = \"upload\"\napp = {{ kind = \"bulk\"{options} }}\n")
    }),
    ("mistakes in one line", |n| format!("path = [{}]\n", each(n, |_| "{ a = 1 },".into()))),
    ("words without quotes in one line", |n| {
        format!("name = \"x\"\nseeds = [{}]\n", each(n, |_| "x,".into()))
    }),
    ("words without quotes", |n| each(n, |i| format!("k{i} = x\n")) + BASE),
    ("wrong values", |n| format!("{BASE}\n{}", each(n, |_| "[[event]]\nat = \"soon\"\n".into()))),
    ("missing keys", |n| format!("{BASE}\n{}", each(n, |_| "[[event]]\n".into()))),
    ("unknown names", |n| {
        format!("{BASE}\n{}", each(n, |i| format!("[[event]]\nat = \"1ms\"\nlink = \"l{i}\"\n")))
    }),
    ("a name again and again", |n| {
        format!("{BASE}\n{}", each(n, |_| "[[flow]]\nname = \"upload\"\n".into()))
    }),
    ("one long unknown key", |n| format!("{BASE}\n[[event]]\n{} = 1\n", "k".repeat(10 * n))),
    ("one long word", |n| BASE.replace("\"mptcp\"", &format!("\"{}\"", "tcp".repeat(10 * n)))),
];

#[test]
fn four_times_as_many_mistakes_are_four_times_the_work() {
    const FEW: usize = 500;
    for (form, text) in FORMS {
        let (few, many) = (steps(&text(FEW)), steps(&text(4 * FEW)));
        assert!(few > 100, "{form}: {few} steps, nothing was counted");
        assert!(many < 5 * few, "{form}: {few} steps, and {many} for four times as many");
    }
}

/// Mistakes beyond those that are kept cost neither memory nor a search for what was meant.
#[test]
fn more_mistakes_than_are_kept() {
    let text = |many: usize| each(many, |i| format!("u{i}=1\n")) + "duration = \"1s\"\n";
    let (just, before) = (steps(&text(KEPT)), work::steps());
    let mistakes = parse(&text(3 * KEPT)).expect_err("unknown keys");
    let triple = work::steps() - before;
    assert_eq!(mistakes.len(), KEPT);
    let printed = mistakes.to_string();
    assert!(printed.ends_with("\nand more than 49500 more"), "{}", &printed[printed.len() - 100..]);
    assert!(triple < just + just / 2, "{just} steps, and {triple} for three times as many");
}
