//! Metrics by name: one figure per replication out of its tables, or out of a time series.

use document::diagnostic::suggest;
use trace::metrics::TABLES;
use trace::{Kind, MetricSpec};

/// First word of a metric, and the table that it stands for.
const KINDS: [(&str, &str); 8] = [
    ("run", "runs"),
    ("flow", "flows"),
    ("subflow", "subflows"),
    ("leg", "legs"),
    ("link", "links"),
    ("message", "messages"),
    ("measure", "measures"),
    ("page", "pages"),
];
/// Tables with any number of rows for one name in a replication.
const SEVERAL: [&str; 3] = ["messages", "pages", "legs"];
/// Tables in which a name has a second part after the flow.
const PARTS: [&str; 3] = ["subflows", "legs", "measures"];
/// The functions of several rows of a replication; besides these `p95` and the like.
const FUNCTIONS: [&str; 7] = ["sum", "mean", "median", "min", "max", "count", "jain"];

/// `flow.upload.goodput_bit_s`, or `sum(flow.*.goodput_bit_s)` over the rows of a replication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// As written.
    pub text: String,
    /// The function of several rows.
    pub function: Option<String>,
    /// Name of the table, such as `flows`.
    pub table: &'static str,
    /// Flow, `FLOW.INDEX` of a subflow or a leg, `FLOW.WHAT` of measures, or link; with `*` and `?`. Empty for `runs`.
    pub name: String,
    /// Name of the column.
    pub column: String,
}

/// A mistake in the name of a metric, and the name to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMetric {
    /// The value found.
    pub message: String,
    /// The cure.
    pub help: String,
}

impl Metric {
    /// Reads the name of a metric.
    ///
    /// # Errors
    /// There is no such metric.
    pub fn parse(text: &str) -> Result<Self, NoMetric> {
        let (function, inside) = match call(text) {
            Some((function, inside)) => (Some(function), inside),
            None => (None, text),
        };
        let (kind, rest) = inside.split_once('.').unwrap_or((inside, ""));
        let (name, column) = rest.rsplit_once('.').unwrap_or(("", rest));
        let table = KINDS.iter().find(|(word, _)| *word == kind).map(|(_, table)| *table);
        let Some(table) = table.filter(|_| !column.is_empty() && (kind == "run") == name.is_empty()) else {
            let kinds: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
            return Err(NoMetric {
                message: format!("found \"{text}\", which does not name a metric"),
                help: format!(
                    "write TABLE.NAME.COLUMN as in flow.upload.goodput_bit_s or subflow.upload.0.share, or FUNCTION(..) \
                     around it; tables: {}",
                    kinds.join(", ")
                ),
            });
        };
        if let Some(function) = function {
            known_function(function)?;
        }
        let columns = figures(table);
        if !columns.contains(&column) {
            return Err(NoMetric {
                message: format!("\"{column}\" is not a column of figures in `{table}`"),
                help: suggest(column, "known", columns),
            });
        }
        if function.is_none() && (SEVERAL.contains(&table) || is_pattern(name)) {
            return Err(NoMetric {
                message: format!("\"{text}\" may stand for several rows of a replication"),
                help: format!(
                    "say what to make of them, as in mean({text}); functions: {}, p50, p95",
                    FUNCTIONS.join(", ")
                ),
            });
        }
        let (text, function) = (text.to_owned(), function.map(str::to_owned));
        Ok(Self { text, function, table, name: name.into(), column: column.into() })
    }

    /// The flow or link that is meant, without the part of it; may be a pattern.
    pub fn subject(&self) -> &str {
        match self.name.rsplit_once('.') {
            Some((subject, _)) if PARTS.contains(&self.table) => subject,
            _ => &self.name,
        }
    }

    /// Whether one of the flows or links that there are is meant; of `runs` all are. Baselines, with an `@`, fit only a
    /// name that has one.
    pub fn names(&self, known: &[String]) -> bool {
        let subject = self.subject();
        let fits = |one: &String| {
            if is_pattern(subject) {
                fits(subject, one) && (subject.contains('@') || !one.contains('@'))
            } else {
                one == subject
            }
        };
        self.table == "runs" || known.iter().any(fits)
    }
}

/// `link.NAME.METRIC` or `flow.NAME.METRIC` of the table `series`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// `flow` or `link`.
    pub kind: String,
    /// Name of the flow or link.
    pub name: String,
    /// Name of the metric.
    pub column: String,
}

impl Series {
    /// Reads the name of a time series, of which `function` makes one figure.
    ///
    /// # Errors
    /// It is none, or there is no such function.
    pub fn parse(text: &str, function: &str) -> Result<Self, NoMetric> {
        let found = text.split_once('.').and_then(|(kind, rest)| {
            let (name, column) = rest.rsplit_once('.')?;
            let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            let good = ["flow", "link"].contains(&kind)
                && !name.is_empty()
                && !is_pattern(name)
                && !column.is_empty()
                && column.chars().all(word);
            good.then(|| Self { kind: kind.into(), name: name.into(), column: column.into() })
        });
        let Some(found) = found else {
            return Err(NoMetric {
                message: format!("found \"{text}\", which does not name a time series"),
                help: "write flow.NAME.METRIC or link.NAME.METRIC, as in flow.download.cwnd_bytes".into(),
            });
        };
        known_function(function)?;
        Ok(found)
    }
}

fn known_function(function: &str) -> Result<(), NoMetric> {
    if FUNCTIONS.contains(&function) || is_percentile(function) {
        return Ok(());
    }
    let known = FUNCTIONS.into_iter().chain(["p50", "p95"]);
    let message = format!("\"{function}\" is not a function");
    Err(NoMetric { message, help: suggest(function, "known", known) })
}

/// The measurements among the columns of a table.
fn figures(table: &str) -> Vec<&'static str> {
    let measured = |column: &&MetricSpec| !column.key && column.kind != Kind::Word;
    let columns = TABLES.iter().find(|spec| spec.name == table).map_or(&[][..], |spec| spec.columns);
    columns.iter().filter(measured).map(|column| column.name).collect()
}

/// `FUNCTION(INSIDE)`: lower-case letters, then perhaps a number.
fn call(text: &str) -> Option<(&str, &str)> {
    let (function, inside) = text.strip_suffix(')')?.split_once('(')?;
    let digits = function.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let good = digits.len() < function.len()
        && (digits.is_empty() || is_number(digits))
        && !inside.is_empty()
        && !inside.contains(['(', ')']);
    good.then_some((function, inside))
}

/// Digits, perhaps with a point and more of them.
fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    digits(whole) && digits(fraction)
}

/// `p` and a number up to 100.
fn is_percentile(function: &str) -> bool {
    let number = function.strip_prefix('p').filter(|number| is_number(number));
    number.and_then(|number| number.parse::<f64>().ok()).is_some_and(|number| number <= 100.0)
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Whether `text` fits a pattern, in which `*` stands for any characters and `?` for one.
fn fits(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // Entry n: whether the part of the pattern read so far fits the first n characters of the text.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for expected in pattern.chars() {
        let mut next = vec![expected == '*' && reached[0]];
        for (index, c) in text.iter().enumerate() {
            next.push(match expected {
                '*' => next[index] || reached[index + 1],
                '?' => reached[index],
                expected => reached[index] && expected == *c,
            });
        }
        reached = next;
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(text: &str) -> Metric {
        Metric::parse(text).unwrap()
    }

    #[test]
    fn names_have_parts() {
        let found = metric("p99.9(subflow.up*.?.share)");
        assert_eq!((found.function.as_deref(), found.table), (Some("p99.9"), "subflows"));
        assert_eq!((found.name.as_str(), found.subject(), found.column.as_str()), ("up*.?", "up*", "share"));
        assert_eq!(metric("run.end_s").name, "");
        assert_eq!(metric("link.a.b.up.packets").name, "a.b.up");
    }

    #[test]
    fn what_is_no_metric_is_told_with_a_cure() {
        for (text, message, help) in [
            ("flows", "does not name a metric", "tables: run, flow"),
            ("run.x.end_s", "does not name a metric", "write TABLE.NAME.COLUMN"),
            ("flow.upload.goodput", "is not a column of figures", "did you mean `goodput_bit_s`?"),
            ("flow.upload.transport", "is not a column of figures", "known: "),
            ("flow.*.goodput_bit_s", "several rows", "mean(flow.*.goodput_bit_s)"),
            ("message.a.delay_s", "several rows", "functions: sum"),
            ("leg.a.1.lost_bytes", "several rows", "mean(leg.a.1.lost_bytes)"),
            ("summ(flow.*.goodput_bit_s)", "\"summ\" is not a function", "did you mean `sum`?"),
            ("p101(flow.*.goodput_bit_s)", "not a function", "p50, p95"),
        ] {
            let found = Metric::parse(text).unwrap_err();
            assert!(found.message.contains(message), "{text}: {}", found.message);
            assert!(found.help.contains(help), "{text}: {}", found.help);
        }
        assert!(Series::parse("flow.a.cwnd_bytes", "max").is_ok());
        assert!(Series::parse("flow.*.cwnd_bytes", "max").is_err());
        assert!(Series::parse("flow.a.cwnd_bytes", "maxx").is_err());
    }

    #[test]
    fn patterns_fit_flows_and_baselines_only_if_they_say_so() {
        let known = ["up1".to_owned(), "up1@beam".to_owned(), "down".to_owned()];
        for (text, fits) in [
            ("flow.up1.goodput_bit_s", true),
            ("flow.up.goodput_bit_s", false),
            ("sum(flow.up*.goodput_bit_s)", true),
            ("sum(flow.up?.goodput_bit_s)", true),
            ("sum(flow.up??*.goodput_bit_s)", false),
            ("sum(flow.*@*.goodput_bit_s)", true),
            ("sum(flow.*n.goodput_bit_s)", true),
            ("subflow.down.0.share", true),
            ("max(leg.down.1.held_max_bytes)", true),
            ("max(leg.up.1.held_max_bytes)", false),
            ("run.end_s", true),
        ] {
            assert_eq!(metric(text).names(&known), fits, "{text}");
        }
    }
}
