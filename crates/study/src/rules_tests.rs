//! Each rule across keys: the mistake, its place and its cure.
#![allow(clippy::unwrap_used)]

use super::read;

fn mistakes(kind: &str, text: &str) -> String {
    let source = read(text, "f.toml", kind).unwrap().unwrap_or_else(|found| panic!("{found}"));
    source.check().err().map(|found| found.to_string()).unwrap_or_default()
}

fn finds(kind: &str, text: &str, wanted: &[&str]) {
    let found = mistakes(kind, text);
    assert_eq!(found.matches("fix: ").count(), wanted.len(), "{found}");
    for one in wanted {
        assert!(found.contains(one), "{one}: {found}");
    }
}

#[test]
fn a_profile_is_explained_and_not_all_are_apart() {
    let head = "title = \"t\"\nsource = \"s\"\n";
    let whole =
        format!("{head}profiles = [\"a\", \"b\"]\napart = [\"b\"]\n[readings]\na = \"A.\"\nb = \"B.\"\n");
    finds("reproduction", &whole, &[]);
    finds(
        "reproduction",
        &whole.replace("b = \"B.\"", ""),
        &["f.toml:3:12: profiles: nothing says what the profile \"b\" is"],
    );
    finds("reproduction", &whole.replace("[\"b\"]\n", "[\"a\", \"b\"]\n"), &["it names all profiles"]);
    finds(
        "reproduction",
        &whole.replace("apart = [\"b\"]", "apart = [\"bb\"]"),
        &["there is no profile \"bb\""],
    );
    finds(
        "reproduction",
        &whole.replace("b = \"B.\"", "b = \"B.\"\nc = \"C.\""),
        &["f.toml:8:1: readings.c: there is no profile \"c\""],
    );
}

#[test]
fn a_quantity_has_the_keys_of_its_form() {
    finds("quantities", "a = { study = \"s\", metric = \"flow.x.goodput_bit_s\" }", &[]);
    finds("quantities", "1a = { study = \"s\", metric = \"flow.x.goodput_bit_s\" }", &["\"1a\" is no name"]);
    finds(
        "quantities",
        "a = { metric = \"flow.x.goodput\" }",
        &["`study` is missing", "a.metric: \"goodput\" is not a column"],
    );
    finds("quantities", "a = { study = \"s\" }", &["`metric` is missing"]);
    finds(
        "quantities",
        "a = { table = \"t.csv\", bin = 1.0 }",
        &["`value` is missing", "`bin` means nothing beside `table`"],
    );
    finds(
        "quantities",
        "a = { study = \"s\", metric = \"run.end_s\", by = [] }",
        &["`by` means nothing without `table`"],
    );
    finds(
        "quantities",
        "a = { study = \"s\", metric = \"run.end_s\", scale = 0.0 }",
        &["a.scale: with 0 there is nothing to see"],
    );
    let series = "a = { study = \"s\", series = \"flow.x.cwnd_bytes\", make = \"max\" }";
    finds("quantities", series, &[]);
    finds("quantities", &series.replace("max", "most"), &["a.series: \"most\" is not a function"]);
    finds(
        "quantities",
        &series.replace("make", "metric = \"run.end_s\", make"),
        &["both `metric` and `series`"],
    );
    finds(
        "quantities",
        &series.replace("series", "metric").replace("cwnd_bytes", "goodput_bit_s"),
        &["`make` means nothing without `series`"],
    );
}

#[test]
fn a_quotient_and_a_profile_are_whole() {
    let whole = "[a]\nstudy = \"s\"\nmetric = \"run.end_s\"\nunit = \"1\"\n[a.profile.p]\nmetric = \"flow.x.goodput_bit_s\"\nscale = 1.0\nover = \"run.end_s\"\n";
    finds("quantities", whole, &[]);
    finds(
        "quantities",
        &whole.replace("scale = 1.0\n", ""),
        &["a.profile.p.over: a quotient is made of two metrics"],
    );
    finds(
        "quantities",
        &whole.replace("over = \"run.end_s\"", "over = \"run.end\""),
        &["a.profile.p.over: \"end\" is not a column"],
    );
}

const CLAIM: &str = "[[claim]]\nid = \"a\"\npublished = \"1\"\n";

#[test]
fn a_claim_has_a_check_or_a_reason() {
    finds("claims", "", &["there are no claims"]);
    finds("claims", CLAIM, &["claim.0: \"a\" needs either `check` or `cannot`"]);
    let checked = format!("{CLAIM}check = \"1 > 0\"\n");
    finds("claims", &checked, &[]);
    finds("claims", &format!("{checked}cannot = \"no\"\n"), &["needs either"]);
    finds("claims", &format!("{checked}{checked}"), &["f.toml:6:6: claim.1.id: \"a\" is there twice"]);
    finds("claims", &format!("{checked}root = \"r\"\n"), &["there is no root \"r\""]);
    finds(
        "claims",
        &format!("[[root]]\nname = \"r\"\ntitle = \"t\"\n{checked}"),
        &["no claim has the root \"r\""],
    );
}

#[test]
fn a_cause_says_what_it_rests_on() {
    let claim = format!(
        "{CLAIM}check = \"1 > 0\"\ncause = \"c\"\ncause_check = \"by_chance(1 > 0)\"\nkind = \"chance\"\n"
    );
    finds("claims", &claim, &[]);
    finds("claims", &claim.replace("cause = \"c\"\n", ""), &["`cause` is missing"]);
    finds("claims", &claim.replace("kind = \"chance\"\n", ""), &["nothing says what the cause rests on"]);
    finds(
        "claims",
        &claim.replace("by_chance(1 > 0)", "1 > 0"),
        &["a cause of kind `chance` without `by_chance`"],
    );
    finds(
        "claims",
        &claim.replace("\"chance\"", "\"arithmetic\""),
        &["a cause of kind `arithmetic` with `by_chance`"],
    );
    let fitted = claim.replace("\"chance\"", "\"fitted\"").replace("by_chance(1 > 0)", "1 > 0");
    finds("claims", &fitted, &["what is fitted needs a root with a `value`"]);
    let root = format!("[[root]]\nname = \"r\"\ntitle = \"t\"\nvalue = \"5\"\n{fitted}root = \"r\"\n");
    finds("claims", &root, &[]);
}

#[test]
fn a_figure_has_an_id_of_its_own_and_something_to_draw() {
    let figure =
        "[[figure]]\nid = \"one\"\ntitle = \"t\"\n[[figure.curve]]\nseries = \"flow.x.cwnd_bytes\"\n";
    finds("figures", figure, &[]);
    finds("figures", &format!("{figure}{figure}"), &["f.toml:7:6: figure.1.id: \"one\" is there twice"]);
    let several = figure.replace("title", "profile = [\"p\"]\ntitle");
    finds("figures", &format!("{several}{}", figure.replace("one", "one-p")), &["\"one-p\" is there twice"]);
    finds("figures", &figure.replace("\"one\"", "\"../one\""), &["figure.0.id: \"../one\" is no id"]);
    finds(
        "figures",
        &figure.replace("series = \"flow.x.cwnd_bytes\"", "label = \"l\""),
        &["figure.0.curve.0: nothing to draw"],
    );
    finds("figures", &figure.replace("flow.x", "flow"), &["does not name a time series"]);
    finds("figures", &format!("{figure}bin = 1.0\ntotal = true\n"), &["`bin` means nothing beside `total`"]);
    finds(
        "figures",
        &figure.replace("series = \"flow.x.cwnd_bytes\"", "published = { x = \"x\" }"),
        &["`file` is missing"],
    );
}
