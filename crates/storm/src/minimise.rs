//! A failing scenario without everything that its failure does not need.

use std::time::Duration;

use serde_json::Value;

use crate::case::Case;
use crate::text::{Place, Step, at, remove};
use crate::trial::judge;

/// The smallest scenario that fails in the same way, found in at most `tries` runs.
#[must_use]
pub fn minimise(case: &Case, tries: usize, allowed: Duration) -> Case {
    let Some(kind) = judge(case, allowed).kind() else { return case.clone() };
    let mut best = case.clone();
    let mut left = tries;
    let mut fails = |tree: &Value| {
        left = left.checked_sub(1)?;
        let smaller = Case::of_tree(tree)?;
        (judge(&smaller, allowed).kind().as_ref() == Some(&kind)).then_some(smaller)
    };
    loop {
        let before = best.toml.len();
        // Large parts first: a flow, then its keys.
        let mut places = all(&best.tree);
        places.sort_by_key(Vec::len);
        for place in places.iter().rev().filter(|place| place.len() <= 2).chain(&places) {
            let mut tree = best.tree.clone();
            if remove(&mut tree, place)
                && let Some(smaller) = fails(&tree)
            {
                best = smaller;
            }
        }
        if best.toml.len() == before {
            return best;
        }
    }
}

/// Every place of a tree but the root.
fn all(tree: &Value) -> Vec<Place> {
    fn visit(value: &Value, place: &mut Place, found: &mut Vec<Place>) {
        let mut step = |step: Step, value: &Value| {
            place.push(step);
            found.push(place.clone());
            visit(value, place, found);
            place.pop();
        };
        match value {
            Value::Object(table) => table.iter().for_each(|(key, value)| step(Step::Key(key.clone()), value)),
            Value::Array(items) => {
                items.iter().enumerate().rev().for_each(|(index, value)| step(Step::At(index), value));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    visit(tree, &mut Vec::new(), &mut found);
    debug_assert!(found.iter().all(|place| at(&mut tree.clone(), place).is_some()), "places lead somewhere");
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_key_is_a_place() {
        let places = all(&json!({ "a": [1, { "b": 2 }], "c": 3 }));
        assert_eq!(places.len(), 5);
        assert_eq!(places.iter().map(Vec::len).max(), Some(3));
    }
}
