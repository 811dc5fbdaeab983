//! Orbital element sets of real satellites: two-line elements (TLE) and Orbit Mean-Elements Messages (OMM, CCSDS 502.0-B) in
//! JSON or as lines `KEYWORD = value` (KVN), propagated by SGP4 (Vallado et al., "Revisiting Spacetrack Report #3",
//! AIAA 2006-6753).
//!
//! Positions come out in the frame of SGP4 (true equator, mean equinox) and are turned by the mean sidereal time; UTC
//! stands for UT1, and the motion of the pole is left out: together less than half a kilometre on the ground.
//! Deviation: none from SGP4 with the constants WGS 72, which are those that element sets are made with.

mod kvn;

use std::str::FromStr;

use sgp4::chrono::NaiveDateTime;

use crate::earth::ROTATION;
use crate::quantities::Vector;

/// Sets older (or younger) than this say little about where a satellite is.
const MAX_AGE_DAYS: f64 = 30.0;
const LINE: usize = 69;

/// A mistake in a file of element sets, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line, from 1.
    pub line: usize,
    /// The text found.
    pub message: String,
    /// The cure.
    pub help: String,
}

impl Mistake {
    fn new(line: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { line, message: message.into(), help: help.into() }
    }
}

/// An instant in UTC such as `2026-01-01T12:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(NaiveDateTime);

impl FromStr for Epoch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.fZ").map(Self).map_err(|_| {
            format!("found \"{text}\"; allowed: an instant in UTC such as \"2026-01-01T12:00:00Z\"")
        })
    }
}

/// The elements of one satellite.
#[derive(Clone, Debug)]
struct ElementSet {
    elements: sgp4::Elements,
    /// Where it was read: its first line, or in JSON that of its epoch.
    line: usize,
}

impl ElementSet {
    /// Its name, or its catalogue number.
    fn name(&self) -> String {
        let number = || self.elements.norad_id.to_string();
        self.elements.object_name.clone().unwrap_or_else(number)
    }

    /// Days from the epoch of the elements to `epoch`.
    fn age_days(&self, epoch: Epoch) -> f64 {
        minutes(epoch.0 - self.elements.datetime) / 1440.0
    }
}

/// Reads all element sets of a text; the format is told by how it begins.
///
/// # Errors
/// The first mistake.
fn read(text: &str) -> Result<Vec<ElementSet>, Mistake> {
    let sets = match text.trim_start().chars().next() {
        Some('{' | '[') => read_json(text)?,
        Some('<') => {
            let help = "ask for the same sets as OMM in JSON or KVN, or as TLE (three or two lines for each satellite)";
            return Err(Mistake::new(1, "this is XML, such as an OMM in XML, which is not read", help));
        }
        _ if kvn::is_kvn(text) => kvn::read(text)?,
        _ => read_tle(text)?,
    };
    if sets.is_empty() {
        let help = "give a file of TLE, or of OMM in JSON or as lines KEYWORD = value";
        return Err(Mistake::new(1, "there is no element set", help));
    }
    debug_assert!(sets.iter().all(|set| set.line > 0), "lines count from 1");
    Ok(sets)
}

fn read_json(text: &str) -> Result<Vec<ElementSet>, Mistake> {
    let list = text.trim_start().starts_with('[');
    let read = if list {
        serde_json::from_str::<Vec<sgp4::Elements>>(text)
    } else {
        serde_json::from_str(text).map(|one: sgp4::Elements| vec![one])
    };
    let help =
        "each object needs the keys of an OMM: OBJECT_NAME, OBJECT_ID, EPOCH, MEAN_MOTION, ECCENTRICITY, ...";
    let all = read.map_err(|error| {
        let message = error.to_string();
        let what = message.split(" at line ").next().unwrap_or_default();
        Mistake::new(error.line().max(1), what, help)
    })?;
    // Each object has this key once: its place stands for that of the object.
    let lines = text.match_indices("\"EPOCH\"").map(|(at, _)| text[..at].matches('\n').count() + 1);
    debug_assert!(lines.clone().count() >= all.len(), "an object without its epoch");
    Ok(all.into_iter().zip(lines).map(|(elements, line)| ElementSet { elements, line }).collect())
}

fn read_tle(text: &str) -> Result<Vec<ElementSet>, Mistake> {
    let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim_end()));
    let mut name: Option<&str> = None;
    let mut sets = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with("1 ") {
            if line.starts_with("2 ") || name.is_some() {
                let help = "each satellite has a line that begins with 1, then one that begins with 2";
                return Err(Mistake::new(number, "a first line of elements was expected here", help));
            }
            // Three-line sets mark the name by a zero.
            name = Some(line.strip_prefix("0 ").unwrap_or(line).trim());
            continue;
        }
        check_line(number, line)?;
        if line[18..32].trim().is_empty() {
            let help =
                "columns 19 to 32 hold the epoch: two digits of the year, then the day with its fraction";
            return Err(Mistake::new(number, "the epoch is missing", help));
        }
        let Some((second_number, second)) = lines.next().filter(|(_, line)| line.starts_with("2 ")) else {
            let help = "the second line of the satellite, which begins with 2, must follow at once";
            return Err(Mistake::new(number + 1, "a second line of elements was expected here", help));
        };
        check_line(second_number, second)?;
        let elements =
            sgp4::Elements::from_tle(name.take().map(str::to_owned), line.as_bytes(), second.as_bytes())
                .map_err(|error| {
                    let message = error.to_string();
                    let at = if message.contains("line 2") { second_number } else { number };
                    Mistake::new(at, message, "copy both lines anew from where they come from")
                })?;
        sets.push(ElementSet { elements, line: number });
    }
    match name {
        Some(name) => {
            let last = text.lines().count();
            Err(Mistake::new(
                last,
                format!("no elements follow the name \"{name}\""),
                "give both of its lines",
            ))
        }
        None => Ok(sets),
    }
}

/// Length, characters and checksum of one line of a TLE.
fn check_line(number: usize, line: &str) -> Result<(), Mistake> {
    if !line.is_ascii() {
        return Err(Mistake::new(
            number,
            "a line of elements with other than ASCII characters",
            "remove them",
        ));
    }
    if line.len() != LINE {
        let help = format!("a line of elements has {LINE} characters, the last one is the checksum");
        return Err(Mistake::new(number, format!("found {} characters", line.len()), help));
    }
    let bytes = line.as_bytes();
    let sum: u32 = bytes[..LINE - 1]
        .iter()
        .map(|byte| match byte {
            b'-' => 1,
            b'0'..=b'9' => u32::from(byte - b'0'),
            _ => 0,
        })
        .sum();
    let (wanted, found) = (char::from(b'0' + (sum % 10) as u8), char::from(bytes[LINE - 1]));
    if wanted == found {
        return Ok(());
    }
    let help = "a digit of this line was changed: copy the line anew from where it comes from";
    Err(Mistake::new(
        number,
        format!("checksum {found} in column {LINE}, but the line sums up to {wanted}"),
        help,
    ))
}

/// Real satellites in motion from an instant on.
#[derive(Clone, Debug)]
pub struct ElementSets {
    satellites: Vec<Satellite>,
    /// Sidereal time at the start, in radians.
    sidereal: f64,
}

#[derive(Clone, Debug)]
struct Satellite {
    constants: sgp4::Constants,
    /// Minutes from the epoch of its elements to the start.
    offset: f64,
}

impl ElementSets {
    /// Reads a text of TLE or OMM for a run that starts at `epoch`.
    ///
    /// # Errors
    /// A mistake in the text; elements that describe no orbit; elements whose epoch is more than 30 days away.
    pub fn parse(text: &str, epoch: Epoch) -> Result<Self, Mistake> {
        let sets = read(text)?;
        let satellites = sets.iter().map(|set| Satellite::new(set, epoch)).collect::<Result<_, _>>()?;
        let years = sgp4::julian_years_since_j2000(&epoch.0);
        Ok(Self { satellites, sidereal: sgp4::iau_epoch_to_sidereal_time(years) })
    }

    /// How many satellites.
    pub fn len(&self) -> usize {
        self.satellites.len()
    }

    /// Never true: an empty file is a mistake.
    pub fn is_empty(&self) -> bool {
        self.satellites.is_empty()
    }

    /// Where a satellite is, `seconds` after the start, as seen from the turning Earth; `None` if it has decayed.
    pub(crate) fn position(&self, satellite: usize, seconds: f64) -> Option<Vector> {
        let at = self.satellites[satellite].at(seconds)?;
        debug_assert!(at.length().is_finite(), "satellite {satellite} is nowhere after {seconds} s");
        Some(at.turned(-(self.sidereal + ROTATION * seconds)))
    }
}

impl Satellite {
    fn new(set: &ElementSet, epoch: Epoch) -> Result<Self, Mistake> {
        let age = set.age_days(epoch);
        if age.abs() > MAX_AGE_DAYS {
            let message = format!(
                "the elements of {} are {:.0} days away from the epoch of the run",
                set.name(),
                age.abs()
            );
            let help = format!("set `epoch` within {MAX_AGE_DAYS} days of {:?}Z", set.elements.datetime);
            return Err(Mistake::new(set.line, message, help));
        }
        let cure = "remove this satellite";
        let bad = |what: String| Mistake::new(set.line, format!("{}: {what}", set.name()), cure);
        let constants = sgp4::Constants::from_elements_afspc_compatibility_mode(&set.elements)
            .map_err(|error| bad(error.to_string()))?;
        let satellite = Self { constants, offset: age * 1440.0 };
        match satellite
            .constants
            .propagate_afspc_compatibility_mode(sgp4::MinutesSinceEpoch(satellite.offset))
        {
            Ok(_) => Ok(satellite),
            Err(error) => Err(bad(error.to_string())),
        }
    }

    fn at(&self, seconds: f64) -> Option<Vector> {
        let minutes = sgp4::MinutesSinceEpoch(self.offset + seconds / 60.0);
        let state = self.constants.propagate_afspc_compatibility_mode(minutes).ok()?;
        Some(Vector(state.position))
    }
}

fn minutes(span: sgp4::chrono::TimeDelta) -> f64 {
    span.num_seconds() as f64 / 60.0 + f64::from(span.subsec_nanos()) / 60e9
}

#[cfg(test)]
mod tests;
