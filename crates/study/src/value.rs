//! Values of overrides as text, and the names that levels get from them.

use document::print::quote;
use document::tree::Value;

/// As TOML on one line. Overrides are stored with results in this form.
pub(crate) fn toml(value: &Value) -> String {
    match value {
        Value::Text(text) => quote(text),
        Value::Float(x) => number(*x),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| toml(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) => {
            let pairs = table.entries.iter();
            let pairs: Vec<String> =
                pairs.map(|entry| format!("{} = {}", quote(&entry.key), toml(&entry.node.value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        other => other.bare().unwrap_or_default(),
    }
}

/// Name of a level that has none of its own.
pub(crate) fn label(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Broken | Value::Foreign(_) => "?".into(),
        other => toml(other),
    }
}

/// The shortest text that means `x`; exponents have a sign or two digits, as in 1e+16 and 1e-05.
fn number(x: f64) -> String {
    let text = format!("{x:?}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text.replace("NaN", "nan");
    };
    match exponent.strip_prefix('-') {
        Some(digits) => format!("{mantissa}e-{digits:0>2}"),
        None => format!("{mantissa}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_results_on_record_have_them() {
        for (x, text) in [
            (0.02, "0.02"),
            (1.0, "1.0"),
            (1e-5, "1e-05"),
            (1.5e16, "1.5e+16"),
            (1e-4, "0.0001"),
            (1e100, "1e+100"),
        ] {
            assert_eq!(number(x), text);
        }
    }
}
