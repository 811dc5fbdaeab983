//! Times of a clock as ISO 8601 writes them: `2024-05-01T12:00:00.5Z`, `2024-05-01 14:00:00+02:00`.

use units::Nanos;

/// The time since 1970 that `text` says; without an offset it is UTC. `None`: it has another form, or is before 1970.
pub(crate) fn parse(text: &str) -> Option<Nanos> {
    let (date, time) = text.split_once(['T', ' '])?;
    let (time, offset) = offset(time)?;
    let mut parts = date.split('-');
    let [year, month, day] = [whole(parts.next()?)?, whole(parts.next()?)?, whole(parts.next()?)?];
    if parts.next().is_some()
        || !(1970..=2200).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
    {
        return None;
    }
    let mut parts = time.split(':');
    let (hours, minutes) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let (seconds, nanos) = seconds(parts.next().unwrap_or("0"))?;
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let since = days(year, month, day) * 86_400 + hours * 3_600 + minutes * 60 + seconds - offset;
    let total = u64::try_from(since).ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    Some(Nanos(total))
}

fn whole(text: &str) -> Option<i64> {
    text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Time of day and the offset from UTC in seconds.
fn offset(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix('Z') {
        return Some((time, 0));
    }
    let Some(place) = text.find(['+', '-']) else { return Some((text, 0)) };
    let (time, by) = text.split_at(place);
    let digits = by[1..].replace(':', "");
    if digits.len() != 4 {
        return None;
    }
    let (hours, minutes) = digits.split_at_checked(2)?;
    let (hours, minutes) = (whole(hours)?, whole(minutes)?);
    let seconds = hours * 3_600 + minutes * 60;
    Some((time, if by.starts_with('-') { -seconds } else { seconds }))
}

/// Whole seconds and nanoseconds, whose further digits are cut.
fn seconds(text: &str) -> Option<(i64, u64)> {
    let (seconds, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let nanos = format!("{:0<9}", fraction.get(..9).unwrap_or(fraction));
    Some((whole(seconds)?, u64::try_from(whole(&nanos)?).ok()?))
}

/// Days from 1 January 1970 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_clock() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2024-05-01T12:00:00Z", Some(1_714_564_800_000_000_000)),
            ("2024-05-01 14:00:00.25+02:00", Some(1_714_564_800_250_000_000)),
            ("2024-02-29T23:59", Some(1_709_251_140_000_000_000)),
            ("2024-05-01T12:00:00.123456789123", Some(1_714_564_800_123_456_789)),
            ("2024-13-01T12:00:00", None),
            ("2024-05-01", None),
            ("12:00:00", None),
            ("1969-12-31T00:00:00Z", None),
            ("2024-05-01Tx:00", None),
            // Four bytes, of which the second is no boundary of a character.
            ("2024-05-01T12:00:00+\\\u{fffd}", None),
        ];
        for (text, nanos) in cases {
            assert_eq!(parse(text), nanos.map(Nanos), "{text}");
        }
    }
}
