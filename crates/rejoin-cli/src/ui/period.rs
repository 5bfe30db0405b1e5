//! Reads lengths of time and moments as people type them in flags: `7d`, `12h`, `1h30m`, `2026-01-01`.

use std::{fmt, time::Duration};

use jiff::{Timestamp, Zoned, civil::DateTime};

use super::when::WallClock;

/// A text that names no length of time or no moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InvalidTime {
    /// Not a length of time.
    Length(String),
    /// A number without a unit, which could mean days or minutes.
    NoUnit(String),
    /// Neither a length of time nor a date.
    Moment(String),
    /// Further away than can be counted.
    TooFar(String),
}

impl fmt::Display for InvalidTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(text) => {
                write!(formatter, "`{text}` is not a length of time: try `30m`, `12h`, `7d` or `2w`")
            }
            Self::NoUnit(text) => {
                write!(formatter, "`{text}` has no unit: try `{text}d` for days or `{text}h` for hours")
            }
            Self::Moment(text) => {
                write!(
                    formatter,
                    "`{text}` is not a time: try `3d`, `yesterday`, `2026-01-31` or `2026-01-31 14:30`"
                )
            }
            Self::TooFar(text) => write!(formatter, "`{text}` is too far away"),
        }
    }
}

impl std::error::Error for InvalidTime {}

/// Reads a length of time: one or more numbers, each with a unit from seconds to weeks.
pub(crate) fn length(text: &str) -> Result<Duration, InvalidTime> {
    let invalid = || InvalidTime::Length(text.to_owned());
    let too_far = || InvalidTime::TooFar(text.to_owned());

    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut seconds = 0_u64;
    while !rest.is_empty() {
        let (digits, after) = split_where(rest, |character| !character.is_ascii_digit());
        let (unit, after) = split_where(after.trim_start(), |character| !character.is_alphabetic());
        rest = after.trim_start();

        if digits.is_empty() {
            return Err(invalid());
        }
        if unit.is_empty() {
            return Err(if digits == text.trim() {
                InvalidTime::NoUnit(digits.to_owned())
            } else {
                invalid()
            });
        }
        let amount = digits.parse::<u64>().map_err(|_| too_far())?;
        let part = seconds_in(unit).ok_or_else(invalid)?.checked_mul(amount);
        seconds = part.and_then(|part| seconds.checked_add(part)).ok_or_else(too_far)?;
    }
    Ok(Duration::from_secs(seconds))
}

/// Reads a moment: a length of time before now, `today`, `yesterday`, a local date with or without a time, or
/// an exact time with its zone. Returns microseconds since 1970.
pub(crate) fn moment(text: &str, clock: &WallClock) -> Result<i64, InvalidTime> {
    let typed = text.trim();
    let invalid = || InvalidTime::Moment(text.to_owned());

    match typed.to_ascii_lowercase().as_str() {
        "now" => return Ok(clock.now()),
        "today" => return start_of_day(clock, 0).ok_or_else(invalid),
        "yesterday" => return start_of_day(clock, 1).ok_or_else(invalid),
        _ => {}
    }
    if let Ok(timestamp) = typed.parse::<Timestamp>() {
        return Ok(timestamp.as_microsecond());
    }
    if let Ok(local) = typed.parse::<DateTime>() {
        let zoned = local.to_zoned(clock.zone().clone()).map_err(|_| invalid())?;
        return Ok(zoned.timestamp().as_microsecond());
    }
    match length(typed.strip_suffix("ago").unwrap_or(typed)) {
        Ok(length) => before(clock.now(), length).ok_or_else(|| InvalidTime::TooFar(text.to_owned())),
        Err(InvalidTime::Length(_) | InvalidTime::Moment(_)) => Err(invalid()),
        Err(precise @ (InvalidTime::NoUnit(_) | InvalidTime::TooFar(_))) => Err(precise),
    }
}

/// Returns the moment that lies the length of time before the given one.
fn before(moment: i64, length: Duration) -> Option<i64> {
    moment.checked_sub(i64::try_from(length.as_micros()).ok()?)
}

fn start_of_day(clock: &WallClock, days_ago: i64) -> Option<i64> {
    let now = Timestamp::from_microsecond(clock.now()).ok()?.to_zoned(clock.zone().clone());
    let day = now.date().checked_sub(jiff::Span::new().days(days_ago)).ok()?;
    day.to_zoned(clock.zone().clone()).ok().as_ref().map(Zoned::timestamp).map(Timestamp::as_microsecond)
}

fn seconds_in(unit: &str) -> Option<u64> {
    match unit.to_ascii_lowercase().as_str() {
        "s" | "sec" | "second" | "seconds" => Some(1),
        "m" | "min" | "minute" | "minutes" => Some(60),
        "h" | "hour" | "hours" => Some(60 * 60),
        "d" | "day" | "days" => Some(24 * 60 * 60),
        "w" | "week" | "weeks" => Some(7 * 24 * 60 * 60),
        _ => None,
    }
}

fn split_where(text: &str, is_end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use jiff::tz::{TimeZone, offset};

    use super::*;

    /// 2024-01-15 10:30:00 UTC, read two hours east of it.
    const NOW: i64 = 1_705_314_600_000_000;

    fn clock() -> WallClock {
        WallClock::new(NOW, TimeZone::fixed(offset(2)))
    }

    #[test]
    fn a_length_is_numbers_with_units() {
        let cases = [
            ("45s", 45),
            ("30m", 1_800),
            ("12h", 43_200),
            ("7d", 604_800),
            ("2w", 1_209_600),
            ("1h30m", 5_400),
            (" 7 days ", 604_800),
            ("1 week 2 days", 777_600),
            ("0d", 0),
        ];

        let read = cases.map(|(text, _)| length(text));

        assert_eq!(read, cases.map(|(_, seconds)| Ok(Duration::from_secs(seconds))));
    }

    #[test]
    fn an_unreadable_length_says_what_would_do() {
        let messages = ["", "7", "7x", "d", "-7d", "1h30", "99999999999999999999d", "9999999999999999999w"]
            .map(|text| length(text).map_err(|error| error.to_string()));

        let expected = [
            "`` is not a length of time: try `30m`, `12h`, `7d` or `2w`",
            "`7` has no unit: try `7d` for days or `7h` for hours",
            "`7x` is not a length of time: try `30m`, `12h`, `7d` or `2w`",
            "`d` is not a length of time: try `30m`, `12h`, `7d` or `2w`",
            "`-7d` is not a length of time: try `30m`, `12h`, `7d` or `2w`",
            "`1h30` is not a length of time: try `30m`, `12h`, `7d` or `2w`",
            "`99999999999999999999d` is too far away",
            "`9999999999999999999w` is too far away",
        ];
        assert_eq!(messages, expected.map(|message| Err(message.to_owned())));
    }

    #[test]
    fn a_moment_is_a_distance_a_day_or_an_exact_time() {
        let cases = [
            ("now", "2024-01-15T10:30:00.000000Z"),
            ("3d", "2024-01-12T10:30:00.000000Z"),
            ("12 hours ago", "2024-01-14T22:30:00.000000Z"),
            ("today", "2024-01-14T22:00:00.000000Z"),
            ("Yesterday", "2024-01-13T22:00:00.000000Z"),
            ("2024-01-02", "2024-01-01T22:00:00.000000Z"),
            ("20240102", "2024-01-01T22:00:00.000000Z"),
            ("2024-01-02 14:30", "2024-01-02T12:30:00.000000Z"),
            ("2024-01-02T14:30:05", "2024-01-02T12:30:05.000000Z"),
            ("2024-01-02T14:30:05Z", "2024-01-02T14:30:05.000000Z"),
            ("2024-01-02T14:30:05-05:00", "2024-01-02T19:30:05.000000Z"),
        ];

        let read = cases.map(|(text, _)| {
            moment(text, &clock()).map(|micros| rejoin::Time::from_micros(micros).to_string())
        });

        assert_eq!(read, cases.map(|(_, expected)| Ok(expected.to_owned())));
    }

    #[test]
    fn an_unreadable_moment_says_what_would_do() {
        let messages = ["", "soon", "2024-02-30", "7"]
            .map(|text| moment(text, &clock()).map_err(|error| error.to_string()));

        let expected = [
            "`` is not a time: try `3d`, `yesterday`, `2026-01-31` or `2026-01-31 14:30`",
            "`soon` is not a time: try `3d`, `yesterday`, `2026-01-31` or `2026-01-31 14:30`",
            "`2024-02-30` is not a time: try `3d`, `yesterday`, `2026-01-31` or `2026-01-31 14:30`",
            "`7` has no unit: try `7d` for days or `7h` for hours",
        ];
        assert_eq!(messages, expected.map(|message| Err(message.to_owned())));
    }
}
