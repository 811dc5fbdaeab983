//! Number-with-unit text, shared by all quantities. Exact: decimals are scaled as integers, never as floats.

use std::fmt;

/// Reason why a text is not a quantity: the text found and the form allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The mistake, ready to be shown after the offending key.
    pub message: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UnitError {}

/// The word for a limit that does not bind.
const UNLIMITED: &str = "unlimited";

/// One unit: its spelling and how many base units it is worth.
pub(crate) type Unit = (&'static str, u64);

/// Parses `number unit` into base units.
///
/// # Errors
/// No number, no unit, an unknown unit, a negative value, more digits than the base unit can hold, overflow.
pub(crate) fn parse_quantity(
    text: &str,
    what: &str,
    units: &[Unit],
    example: &str,
) -> Result<u64, UnitError> {
    let fail = |why: String| {
        let allowed: Vec<&str> = units.iter().map(|u| u.0).collect();
        UnitError {
            message: format!("{why}; a {what} looks like \"{example}\" (units: {})", allowed.join(", ")),
        }
    };
    debug_assert_eq!(units.first().map(|unit| unit.1), Some(1), "the base unit stands first");
    debug_assert!(units.iter().all(|unit| unit.1 > 0), "a unit worth nothing");
    let text = text.trim();
    if text == UNLIMITED {
        return Ok(u64::MAX);
    }
    if text.starts_with('-') {
        return Err(fail(format!("found \"{text}\", which is negative")));
    }
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
    if number.is_empty() || number == "." || number.matches('.').count() > 1 {
        return Err(fail(format!("found \"{text}\", which has no number")));
    }
    if unit.is_empty() {
        return Err(fail(format!("found \"{text}\", which has no unit")));
    }
    if unit.starts_with(['e', 'E'])
        && unit[1..].starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+')
    {
        return Err(fail(format!("found \"{text}\": exponents are not read, write the digits out")));
    }
    let Some(&(_, scale)) = units.iter().find(|u| u.0 == unit) else {
        return Err(fail(format!("found \"{text}\" with the unknown unit \"{unit}\"")));
    };
    scaled(&number, scale).map_err(|why| fail(format!("found \"{text}\", {why}")))
}

/// `number * scale` in exact integer arithmetic.
fn scaled(number: &str, scale: u64) -> Result<u64, &'static str> {
    const TOO_LARGE: &str = "which is too large";
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| TOO_LARGE)? };
    let value = whole.checked_mul(u128::from(scale)).ok_or(TOO_LARGE)?;
    let part = part(fraction.trim_end_matches('0'), scale).ok_or("which is finer than the smallest unit")?;
    value.checked_add(part).and_then(|value| u64::try_from(value).ok()).ok_or(TOO_LARGE)
}

/// Value of the digits behind the point; `None` if that is no whole number.
fn part(digits: &str, scale: u64) -> Option<u128> {
    if digits.is_empty() {
        return Some(0);
    }
    let tenths = digits.parse::<u128>().ok()?.checked_mul(u128::from(scale))?;
    let denominator = 10_u128.checked_pow(digits.len() as u32)?;
    debug_assert!(
        tenths < denominator.saturating_mul(u128::from(scale)),
        "a fraction of a unit is less than one"
    );
    tenths.is_multiple_of(denominator).then_some(tenths / denominator)
}

/// Prints `value` with the largest unit that needs no fraction.
pub(crate) fn print_quantity(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    if value == u64::MAX {
        return f.pad(UNLIMITED);
    }
    let exact = |unit: &&Unit| value.is_multiple_of(unit.1) && value >= unit.1;
    let (name, scale) = units.iter().filter(exact).max_by_key(|u| u.1).unwrap_or(&units[0]);
    f.pad(&format!("{}{}", value / scale, name))
}
