//! Every algorithm has a page that says what a user must know, with the options that it really has.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::root;
use scenario::{AlgorithmPage, Registries, algorithm_pages, algorithms_markdown, parameter_row};

const SECTIONS: [&str; 6] =
    ["Scope", "Formula", "Parameters", "Differences from the source", "Validation", "References"];
const CURE: &str = "ROPEWALK_BLESS=1 cargo test -p scenario --test algorithm_pages";

fn blessing() -> bool {
    std::env::var_os("ROPEWALK_BLESS").is_some()
}

fn path(page: &AlgorithmPage) -> PathBuf {
    root().join("docs/reference").join(&page.file)
}

/// The page with the rows of its tables of parameters as they should be. A name that means several things on one page
/// is left alone: which row is which, only the author knows.
fn corrected(page: &AlgorithmPage, text: &str) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    for option in page.entries.iter().flat_map(|e| e.options) {
        let row = (format!("| `{}` |", option.name), parameter_row(option));
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let line = |line: &str| {
        let mut own = rows.iter().filter(|(start, _)| line.starts_with(start));
        match (own.next(), own.next()) {
            (Some((_, row)), None) => row.clone(),
            _ => line.to_owned(),
        }
    };
    text.lines().map(line).fold(String::new(), |page, line| page + &line + "\n")
}

#[test]
fn every_algorithm_has_a_page_with_its_options() {
    let mut faults = Vec::new();
    for page in algorithm_pages(&Registries::builtin()) {
        let Ok(mut text) = std::fs::read_to_string(path(&page)) else {
            let cure = "write it, or name the page of a relative in FAMILIES of src/algorithm_page.rs";
            faults.push(format!("{}: is missing: {cure}", page.file));
            continue;
        };
        if blessing() {
            text = corrected(&page, &text);
            std::fs::write(path(&page), &text).unwrap();
        }
        let title = text.lines().next().unwrap_or_default();
        let headings: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("## ")).collect();
        if headings != SECTIONS {
            faults.push(format!("{}: has sections {headings:?}, not {SECTIONS:?}", page.file));
        }
        for entry in &page.entries {
            let named = title.split([' ', ',', ';', '#']).any(|word| word == entry.name);
            if !named {
                faults.push(format!("{}: the title does not name {}", page.file, entry.name));
            }
            let rows = entry.options.iter().map(parameter_row);
            let missing = rows.filter(|row| !text.lines().any(|line| line == row));
            faults.extend(missing.map(|row| format!("{}: lacks the row {row} (or {CURE})", page.file)));
            if entry.source.is_empty() {
                faults.push(format!("{} does not say where it comes from", entry.name));
            }
            if !entry.claims_fidelity() && !text.contains("idelity") {
                faults.push(format!("{}: does not say that fidelity is not claimed", page.file));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Applications share a page, and so do the models of links an overview.
#[test]
fn pages_of_many_name_each() {
    let registries = Registries::builtin();
    let read = |file: &str| std::fs::read_to_string(root().join("docs/reference").join(file)).unwrap();
    let (apps, links) = (read("applications.md"), read("links.md"));
    for app in registries.apps.iter() {
        let (row, section) = (format!("\n| [`{0}`](#{0}) |", app.name), format!("\n## `{}`", app.name));
        assert!(!app.source.is_empty(), "{} does not say where it comes from", app.name);
        assert!(
            apps.contains(&row) && apps.contains(&section),
            "applications.md lacks a row or a section of {}",
            app.name
        );
    }
    let models = registries.loss.iter().map(|a| a.entry()).chain(registries.rates.iter().map(|a| a.entry()));
    let models = models.chain(registries.delays.iter().map(|a| a.entry()));
    for model in models.chain(registries.queues.iter().map(|a| a.entry())) {
        assert!(links.contains(&format!("`{}`", model.name)), "links.md does not name {}", model.name);
    }
}

#[test]
fn no_page_describes_what_does_not_exist() {
    let pages = algorithm_pages(&Registries::builtin());
    let folders: std::collections::BTreeSet<_> =
        pages.iter().map(|p| path(p).parent().unwrap().to_owned()).collect();
    for folder in folders {
        for file in std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()) {
            assert!(pages.iter().any(|p| path(p) == file), "{} belongs to no algorithm", file.display());
        }
    }
}

#[test]
fn the_list_is_up_to_date() {
    let file = root().join("docs/reference/algorithms.md");
    let page = algorithms_markdown(&Registries::builtin());
    if blessing() {
        std::fs::write(&file, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == page, "docs/reference/algorithms.md is stale; write it anew: {CURE}");
}
