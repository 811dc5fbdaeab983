//! Orbit Mean-Elements Messages as lines `KEYWORD = value` (CCSDS 502.0-B-3, sections 4 and 7), one message after the other.
//!
//! Each message begins with `CCSDS_OMM_VERS`. Read is what SGP4 needs; other keywords of the standard may be there.
//! Keys that would mean another theory, frame or time are refused.

use serde_json::{Map, Value};

use super::{ElementSet, Mistake};

const FIRST: &str = "CCSDS_OMM_VERS";

/// Keywords of numbers that must be there.
const NUMBERS: [&str; 12] = [
    "MEAN_MOTION",
    "ECCENTRICITY",
    "INCLINATION",
    "RA_OF_ASC_NODE",
    "ARG_OF_PERICENTER",
    "MEAN_ANOMALY",
    "NORAD_CAT_ID",
    "BSTAR",
    "MEAN_MOTION_DOT",
    "MEAN_MOTION_DDOT",
    "ELEMENT_SET_NO",
    "REV_AT_EPOCH",
];

/// Keywords with one value that is right here, and what others would mean.
const FIXED: [(&str, &[&str], &str); 4] = [
    ("CENTER_NAME", &["EARTH"], "satellites of the Earth only"),
    ("REF_FRAME", &["TEME"], "the frame of SGP4 only"),
    ("TIME_SYSTEM", &["UTC"], "epochs in UTC only"),
    ("MEAN_ELEMENT_THEORY", &["SGP4", "SGP/SGP4", "SGP"], "elements made for SGP4 only"),
];

/// True if the text begins as messages in this form do.
pub(super) fn is_kvn(text: &str) -> bool {
    content(text).next().is_some_and(|(_, line)| line.starts_with(FIRST))
}

/// Lines with something on them, numbered from 1, without comments.
fn content(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#') && !line.starts_with("COMMENT"))
}

/// All messages.
pub(super) fn read(text: &str) -> Result<Vec<ElementSet>, Mistake> {
    let mut sets = Vec::new();
    let mut message: Option<(usize, Map<String, Value>)> = None;
    for (number, line) in content(text) {
        let Some((key, value)) = line.split_once('=') else {
            return Err(Mistake::new(number, format!("found \"{line}\""), "write KEYWORD = value"));
        };
        let (key, value) = (key.trim(), without_unit(value.trim()));
        if key == FIRST {
            if let Some(complete) = message.replace((number, Map::new())) {
                sets.push(set(complete)?);
            }
            continue;
        }
        let Some((_, entries)) = &mut message else {
            return Err(Mistake::new(
                number,
                format!("`{key}` before {FIRST}"),
                "begin each message with it",
            ));
        };
        check(number, key, value)?;
        if entries.insert(key.to_owned(), Value::String(value.to_owned())).is_some() {
            let help = format!("begin each message with {FIRST}");
            return Err(Mistake::new(number, format!("a second `{key}` in one message"), help));
        }
    }
    if let Some(complete) = message {
        sets.push(set(complete)?);
    }
    Ok(sets)
}

/// Units may stand behind values in brackets (section 7.7).
fn without_unit(value: &str) -> &str {
    value.split('[').next().unwrap_or(value).trim()
}

fn check(number: usize, key: &str, value: &str) -> Result<(), Mistake> {
    if NUMBERS.contains(&key) && !value.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(Mistake::new(number, format!("`{key}`: found \"{value}\""), "allowed: a number"));
    }
    let wrong = |(name, allowed, _): &&(&str, &[&str], &str)| *name == key && !allowed.contains(&value);
    match FIXED.iter().find(wrong) {
        Some((_, allowed, why)) => {
            let help = format!("{why}: {}", allowed.join(" or "));
            Err(Mistake::new(number, format!("`{key}`: found \"{value}\""), help))
        }
        None => Ok(()),
    }
}

/// One message, which began on `line`.
fn set((line, mut entries): (usize, Map<String, Value>)) -> Result<ElementSet, Mistake> {
    let needed = NUMBERS.iter().chain(&["EPOCH"]);
    let missing: Vec<&str> = needed.filter(|key| !entries.contains_key(**key)).copied().collect();
    if !missing.is_empty() {
        let found = format!("the message that begins here has no {}", missing.join(", "));
        return Err(Mistake::new(line, found, "copy the message anew from where it comes from"));
    }
    // The standard leaves these out for what is public, and made by SGP4.
    for (key, default) in [("CLASSIFICATION_TYPE", "U"), ("EPHEMERIS_TYPE", "0")] {
        entries.entry(key).or_insert_with(|| Value::String(default.into()));
    }
    if let Some(Value::String(epoch)) = entries.get_mut("EPOCH") {
        epoch.truncate(epoch.trim_end_matches('Z').len());
    }
    let elements = serde_json::from_value(Value::Object(entries)).map_err(|error| {
        let help = "an EPOCH is such as 2006-06-25T19:46:43.980096, whole numbers have no point";
        Mistake::new(line, format!("in the message that begins here: {error}"), help)
    })?;
    Ok(ElementSet { elements, line })
}

#[cfg(test)]
mod tests {
    use super::super::{ElementSet, ElementSets, Epoch, read as read_any};

    const DELTA_TLE: &str = "\
1 06251U 62025E   06176.82412014  .00008885  00000-0  12808-3 0  3985
2 06251  58.0579  54.0425 0030035 139.1568 221.1854 15.56387291  6774
";

    const DELTA: &str = "\
CCSDS_OMM_VERS = 2.0
COMMENT as a catalogue gives it
CREATION_DATE = 2006-06-26T00:00:00
ORIGINATOR = TEST

OBJECT_NAME = DELTA 1 DEB
OBJECT_ID = 1962-025E
CENTER_NAME = EARTH
REF_FRAME = TEME
TIME_SYSTEM = UTC
MEAN_ELEMENT_THEORY = SGP/SGP4

EPOCH = 2006-06-25T19:46:43.980096
MEAN_MOTION = 15.56387291 [rev/day]
ECCENTRICITY = 0.0030035
INCLINATION = 58.0579 [deg]
RA_OF_ASC_NODE = 54.0425 [deg]
ARG_OF_PERICENTER = 139.1568 [deg]
MEAN_ANOMALY = 221.1854 [deg]
EPHEMERIS_TYPE = 0
CLASSIFICATION_TYPE = U
NORAD_CAT_ID = 6251
ELEMENT_SET_NO = 398
REV_AT_EPOCH = 677
BSTAR = 0.00012808
MEAN_MOTION_DOT = 0.00008885
MEAN_MOTION_DDOT = 0.0
";

    fn start() -> Epoch {
        "2006-06-26T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn keywords_say_the_same_as_two_lines() {
        let [tle, omm] = [DELTA_TLE, DELTA].map(|text| ElementSets::parse(text, start()).unwrap());
        for seconds in [0.0, 1000.0, 86_400.0] {
            let [a, b] = [&tle, &omm].map(|sets| sets.position(0, seconds).unwrap());
            assert!((a - b).length() < 1e-3, "{a:?} is not {b:?}");
        }
        let other = DELTA.replace("DELTA 1 DEB", "OTHER").replace("43.980096", "43.980096Z");
        let sets = read_any(&format!("{DELTA}{other}")).unwrap();
        let names: Vec<_> = sets.iter().map(|set: &ElementSet| (set.name(), set.line)).collect();
        assert_eq!(names, [("DELTA 1 DEB".to_owned(), 1), ("OTHER".to_owned(), 28)]);
    }

    #[test]
    fn wrong_messages_name_the_line() {
        for (from, to, line, what) in [
            ("INCLINATION = 58.0579 [deg]", "INCLINATION = steep", 16, "steep"),
            ("REF_FRAME = TEME", "REF_FRAME = ITRF", 9, "ITRF"),
            ("TIME_SYSTEM = UTC", "TIME_SYSTEM = TAI", 10, "TAI"),
            ("MEAN_ELEMENT_THEORY = SGP/SGP4", "MEAN_ELEMENT_THEORY = DSST", 11, "DSST"),
            ("BSTAR = 0.00012808\n", "", 1, "no BSTAR"),
            ("EPOCH = 2006-06-25T19:46:43.980096", "EPOCH = yesterday", 1, "begins here"),
            ("ECCENTRICITY = 0.0030035", "BSTAR = 1.0", 25, "a second `BSTAR`"),
            ("NORAD_CAT_ID = 6251", "a line of another file", 22, "a line of another file"),
        ] {
            let text = DELTA.replace(from, to);
            assert_ne!(text, DELTA, "{from}");
            let mistake = ElementSets::parse(&text, start()).unwrap_err();
            assert!(mistake.line == line && mistake.message.contains(what), "{to}: {mistake:?}");
            assert!(!mistake.help.is_empty());
        }
    }
}
