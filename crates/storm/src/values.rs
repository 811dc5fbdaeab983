//! Random values: of options by their declared kind, of keys by their schema.

use registry::{FileFormat, Items, OptionKind, OptionSpec, OptionValue};
use serde_json::{Map, Value, json};
use units::{BitsPerSecond, Bytes, Nanos};

use crate::dice::Dice;

/// How far values go from what people write.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Probability that a value is extreme.
    pub extreme: f64,
    /// About this rate, in bit/s, where nothing else is said.
    pub rate: f64,
    /// Instants and periods are up to this long, in seconds.
    pub time: f64,
}

/// A duration as text.
pub fn duration(dice: &mut Dice, spread: Spread) -> Value {
    if dice.chance(spread.extreme) {
        return dice.one(&["0s", "1ns", "1us", "999ns", "60s", "3600s"]).into();
    }
    nanos(dice.log(1e-3, spread.time.max(2e-3)))
}

/// Seconds as text.
pub fn nanos(seconds: f64) -> Value {
    Nanos((seconds * 1e9) as u64 / 1000 * 1000).to_string().into()
}

/// A size as text.
pub fn size(dice: &mut Dice, spread: Spread) -> Value {
    if dice.chance(spread.extreme) {
        return dice.one(&["1B", "2B", "100B", "65535B", "65536B", "1GiB", "unlimited"]).into();
    }
    Bytes(dice.log(500.0, 1e6) as u64).to_string().into()
}

/// A rate as text.
pub fn rate(dice: &mut Dice, spread: Spread) -> Value {
    if dice.chance(spread.extreme) {
        let fast = if spread.time < 0.02 { "10Gbit/s" } else { "100kbit/s" };
        return dice.one(&["1bit/s", "1kbit/s", fast, "unlimited"]).into();
    }
    BitsPerSecond((spread.rate * dice.log(0.2, 2.0)) as u64).to_string().into()
}

/// A queue limit as text.
pub fn limit(dice: &mut Dice, spread: Spread) -> Value {
    match dice.below(if spread.extreme > 0.0 { 6 } else { 4 }) {
        0 => format!("{}p", dice.between(2, 300)).into(),
        1 => "100p".into(),
        2 => Bytes(dice.log(3e3, 1e6) as u64).to_string().into(),
        3 => format!("{}BDP", dice.one(&["0.25", "1", "2", "7.5"])).into(),
        _ => dice.one(&["0p", "1p", "1B", "1000000p", "0.001BDP", "unlimited"]).into(),
    }
}

/// A probability.
pub fn probability(dice: &mut Dice, spread: Spread) -> Value {
    if dice.chance(spread.extreme) {
        return dice.one(&["0%", "50%", "100%", "99.9%"]).into();
    }
    json!(dice.log(1e-5, 0.1))
}

fn integer(dice: &mut Dice, spread: Spread, (min, max): (u64, u64)) -> u64 {
    match dice.chance(spread.extreme) {
        // The upper bound of what is counted may be a thousand flows: work, and no news.
        true if max > 1000 && dice.chance(0.8) => min,
        true => *dice.one(&[&min, &max]),
        false => dice.log(min.max(1) as f64, (max as f64).clamp(1.0, 40.0).max(min as f64) + 0.5) as u64,
    }
}

fn number(dice: &mut Dice, spread: Spread, (min, max): (f64, f64)) -> f64 {
    if dice.chance(spread.extreme) { *dice.one(&[&min, &max]) } else { min + (max - min) * dice.share() }
}

fn items(dice: &mut Dice, items: Items, spread: Spread) -> Value {
    let many = dice.between(1, 4);
    let mut last = 0.0;
    let one = |_| match items {
        // Most lists of times have to rise.
        Items::Durations => {
            last += spread.time / 8.0 * dice.share();
            nanos(last)
        }
        Items::Rates => rate(dice, spread),
        Items::Numbers => json!(dice.share()),
        Items::Integers => {
            last += dice.between(1, 50) as f64;
            json!(last as u64)
        }
    };
    (0..many).map(one).collect()
}

/// The content of a file of this format. `None`: there is no example of it.
pub fn file(dice: &mut Dice, format: FileFormat, spread: Spread) -> Option<String> {
    let mut rows = |line: &mut dyn FnMut(&mut Dice, f64) -> String| {
        let many = dice.between(2, 12);
        let mut at = 0.0;
        let mut text = String::from("# made by a generator\n");
        for _ in 0..many {
            text += &line(dice, at);
            text.push('\n');
            at += spread.time / 10.0 * (0.01 + dice.share());
        }
        text
    };
    let what = format.what;
    Some(if what.contains("\"time rate\"") {
        rows(&mut |dice, at| format!("{at:.6} {:.0}bit/s", spread.rate * dice.share()))
    } else if what.contains("\"time delay\"") {
        rows(&mut |dice, at| format!("{at:.6} {:.6}s", 0.3 * dice.share()))
    } else if what.contains("\"time value\"") {
        rows(&mut |dice, at| format!("{at:.6} {:.2}", 25.0 * dice.share() - 3.0))
    } else if what.contains("\"time probability\"") {
        rows(&mut |dice, at| format!("{at:.6} {:.4}", 0.3 * dice.share()))
    } else if what.contains("\"time size direction\"") {
        rows(&mut |dice, at| format!("{at:.6} {} {}", dice.between(1, 20_000), dice.one(&["up", "down"])))
    } else if what.contains("whole milliseconds") {
        rows(&mut |_, at| format!("{}", (at * 1e3) as u64 + 1))
    } else if what.contains("1 for a lost packet") {
        rows(&mut |dice, _| dice.one(&["0", "0", "0", "1"]).to_owned())
    } else if what.contains("TLE") {
        include_str!("../corpus/iss.tle").to_owned()
    } else {
        return None;
    })
}

/// The value of an option. Near its default, where it has one; `None`: its kind has no example.
pub fn option(dice: &mut Dice, spec: &OptionSpec, spread: Spread) -> Option<Value> {
    let default = spec.default.and_then(|text| spec.kind.parse(text).ok());
    if let Some(value) = &default
        && !dice.chance(0.3)
        && let Some(near) = near(dice, value)
    {
        return Some(near);
    }
    if matches!(spec.default, Some("auto" | "file")) {
        // The file itself says it: another column or unit would contradict it.
        return spec.default.map(Value::from);
    }
    Some(match spec.kind {
        OptionKind::Flag => dice.chance(0.5).into(),
        OptionKind::Integer { min, max } => integer(dice, spread, (min, max)).into(),
        OptionKind::Number { min, max } => json!(number(dice, spread, (min, max))),
        OptionKind::Duration => duration(dice, spread),
        OptionKind::Size => size(dice, spread),
        OptionKind::Rate => rate(dice, spread),
        OptionKind::Probability => probability(dice, spread),
        OptionKind::Choice(words) => dice.one(words).into(),
        OptionKind::FlagOr(words) => match dice.below(2 + words.len() as u64) {
            0 => false.into(),
            1 => true.into(),
            n => words[n as usize - 2].into(),
        },
        OptionKind::Limit => limit(dice, spread),
        OptionKind::List(of) => items(dice, of, spread),
        OptionKind::File(format) => file(dice, format, spread)?.into(),
        OptionKind::Text => "2008-09-20T12:25:40Z".into(),
    })
}

/// A value up to four times as large or as small as this one.
fn near(dice: &mut Dice, value: &OptionValue) -> Option<Value> {
    let factor = dice.log(0.25, 4.0);
    let scaled = |n: u64| (n != u64::MAX).then_some((n as f64 * factor) as u64);
    Some(match value {
        OptionValue::Integer(n) => json!(scaled(*n)?),
        OptionValue::Number(x) => json!(x * factor),
        OptionValue::Duration(time) => nanos(time.as_secs_f64() * factor),
        OptionValue::Size(size) => Bytes(scaled(size.0)?).to_string().into(),
        OptionValue::Rate(rate) => BitsPerSecond(scaled(rate.0)?).to_string().into(),
        _ => return None,
    })
}

/// The value of a key by its schema; names are drawn from `names`. `None` if the schema has a form that is not known.
pub fn key(dice: &mut Dice, schema: &Value, names: &[String], spread: Spread) -> Option<Value> {
    if let Some(any) = schema["anyOf"].as_array() {
        let which = dice.below(any.len() as u64) as usize;
        return key(dice, &any[which], names, spread);
    }
    if !schema["const"].is_null() {
        return Some(schema["const"].clone());
    }
    if let Some(words) = schema["enum"].as_array() {
        return Some(words[dice.below(words.len() as u64) as usize].clone());
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        return Some(quantity(dice, pattern, spread));
    }
    match schema["type"].as_str()? {
        "boolean" => Some(dice.chance(0.5).into()),
        "integer" => {
            let bound = |name: &str, otherwise| schema[name].as_u64().unwrap_or(otherwise);
            Some(integer(dice, spread, (bound("minimum", 0), bound("maximum", 40))).into())
        }
        "number" => Some(probability(dice, spread)),
        // A new name, or that of something.
        "string" if schema["minLength"].is_null() => {
            Some(TEXTS[dice.below(TEXTS.len() as u64) as usize].into())
        }
        "string" => Some(names.get(dice.below(names.len().max(1) as u64) as usize)?.as_str().into()),
        "array" => {
            let many = dice.between(1, 2);
            let mut found: Vec<Value> = Vec::new();
            for _ in 0..many {
                let item = key(dice, &schema["items"], names, spread)?;
                if !found.contains(&item) {
                    found.push(item);
                }
            }
            Some(found.into())
        }
        _ => None,
    }
}

/// Titles and descriptions as strangers write them.
const TEXTS: [&str; 6] =
    ["storm", "", "two \"beams\"\n\\ and a line", "<!--<script>", "=1+1", "Überholspur \u{202e}\u{1f6f0}"];

fn quantity(dice: &mut Dice, pattern: &str, spread: Spread) -> Value {
    if pattern.contains("BDP") {
        limit(dice, spread)
    } else if pattern.contains("bit/s") {
        rate(dice, spread)
    } else if pattern.contains("KiB") {
        size(dice, spread)
    } else if pattern.contains("ms") {
        duration(dice, spread)
    } else {
        probability(dice, spread)
    }
}

/// Options that only fit together, by the name of their algorithm: these replace what was drawn one by one.
pub fn fitting(dice: &mut Dice, algorithm: &str, table: &mut Map<String, Value>, spread: Spread) {
    let states = dice.between(1, 4) as usize;
    let mut put = |key: &str, value: Value| {
        table.insert(key.into(), value);
    };
    let mut list = |draw: &mut dyn FnMut(&mut Dice, usize) -> Value| -> Value {
        (0..states).map(|state| draw(dice, state)).collect()
    };
    let weights = |states: usize| -> Value {
        (0..states * states).map(|i| if i % (states + 1) == 0 { 0.0 } else { 1.0 + i as f64 }).collect()
    };
    let dwell = |dice: &mut Dice, _| nanos(dice.log(1e-3, 2.0));
    match algorithm {
        "markov" => {
            put("rates", list(&mut |dice, _| rate(dice, spread)));
            put("dwell", list(&mut { dwell }));
            put("jump", if states > 1 { weights(states) } else { json!([1]) });
            put("first", json!(states));
        }
        "semi_markov" => {
            put("losses", list(&mut |dice, _| json!(dice.share())));
            put("dwell", list(&mut { dwell }));
            put("deviation", list(&mut { dwell }));
            put("jump", if states > 1 { weights(states) } else { json!([1]) });
            put("first", json!(states - 1));
        }
        "steps" => {
            let step = spread.time / 8.0;
            put("times", list(&mut |dice, n| nanos(step * (n as f64 + 0.5 * dice.share()))));
            put("rates", list(&mut |dice, _| rate(dice, spread)));
            put("repeat", nanos(spread.time));
        }
        // Stations anywhere on Earth share a satellite in one of ten scenarios; without one no packet travels.
        "walker" | "sgp4" if dice.chance(0.9) => {
            let place = |table: &Map<String, Value>, key: &str| {
                table.get(key).and_then(Value::as_f64).unwrap_or_default()
            };
            let (latitude, longitude) = (place(table, "terminal_lat"), place(table, "terminal_lon"));
            table.insert(
                "gateway_lat".into(),
                json!((latitude + 10.0 * dice.share() - 5.0).clamp(-90.0, 90.0)),
            );
            table.insert(
                "gateway_lon".into(),
                json!((longitude + 10.0 * dice.share() - 5.0).clamp(-180.0, 360.0)),
            );
        }
        "http" if dice.chance(0.5) => {
            put("page", "custom".into());
            put("main", size(dice, spread));
            put("objects", dice.between(1, 12).into());
        }
        _ => {}
    }
}
