//! Points in time, in microseconds, written as ISO 8601 in UTC.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::{Error, Result};

mod iso;

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
///
/// Two things may carry the same time; whatever orders them also has a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The machine's clock.
    pub fn now() -> Self {
        // A clock before 1970 is a broken clock; the epoch is the least surprising reading of it.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    /// The time `micros` microseconds after the epoch, held within the years -9999 to 9999.
    pub const fn from_micros(micros: i64) -> Self {
        const LATEST: i64 = 253_402_207_200_000_000;
        const EARLIEST: i64 = -377_705_023_201_000_000;
        Self(if micros > LATEST {
            LATEST
        } else if micros < EARLIEST {
            EARLIEST
        } else {
            micros
        })
    }

    /// Reads a number as seconds, milliseconds or microseconds, by its size.
    ///
    /// Other programs write all three. Below 1e11 is seconds (until the year 5138), below 1e14 milliseconds.
    pub const fn from_number(number: i64) -> Self {
        let size = number.unsigned_abs();
        if size < 100_000_000_000 {
            Self::from_micros(number.saturating_mul(1_000_000))
        } else if size < 100_000_000_000_000 {
            Self::from_micros(number.saturating_mul(1_000))
        } else {
            Self::from_micros(number)
        }
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This time moved by `micros` microseconds.
    #[must_use]
    pub const fn plus_micros(self, micros: i64) -> Self {
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// The latest time that a clock can show while one that shows this time is
    /// right, whatever their time zones.
    pub(crate) const fn a_day_later(self) -> Self {
        self.plus_micros(86_400_000_000)
    }

    /// True for a time more than a day after `now`: it was not taken from a clock that is right.
    pub const fn is_far_ahead_of(self, now: Self) -> bool {
        self.0 > now.a_day_later().0
    }

    /// This time moved back by `days` days of 24 hours.
    #[must_use]
    pub const fn minus_days(self, days: i64) -> Self {
        Self::from_micros(self.0.saturating_sub(days.saturating_mul(86_400_000_000)))
    }
}

/// `2026-11-15T19:27:27.123456Z`, always with six decimals, so that text order is time order.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: i64 = 86_400_000_000;
        let (day, micros) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = date_of(day);
        let seconds = micros / 1_000_000;
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        if year < 0 {
            write!(f, "-{:06}", -year)?;
        } else {
            write!(f, "{year:04}")?;
        }
        write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z", micros % 1_000_000)
    }
}

impl FromStr for Time {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(micros) = parse_own_form(text.as_bytes()) {
            return Ok(Self(micros));
        }
        let time = iso::parse(text.as_bytes());
        time.ok_or_else(|| Error::invalid(format!("`{text}` is not an ISO 8601 time")))
    }
}

/// Reads the exact form that [`Time`] writes, for years 1970 to 9998; a load parses one per message.
fn parse_own_form(text: &[u8]) -> Option<i64> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T', rest @ ..] = text else { return None };
    let [h0, h1, b':', n0, n1, b':', s0, s1, b'.', f0, f1, f2, f3, f4, f5, b'Z'] = rest else { return None };
    let number = |digits: &[&u8]| {
        digits
            .iter()
            .try_fold(0i64, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(**digit - b'0')))
    };
    let (year, month, day) = (number(&[y0, y1, y2, y3])?, number(&[m0, m1])?, number(&[d0, d1])?);
    let (hour, minute, second) = (number(&[h0, h1])?, number(&[n0, n1])?, number(&[s0, s1])?);
    let micros = number(&[f0, f1, f2, f3, f4, f5])?;
    if !(1970..9999).contains(&year) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = day_of(year, month, day)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

/// The number of a day of the Gregorian calendar, from 1970-01-01; none when there is no such day.
fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years are counted from March, so that the leap day comes last.
    let shifted = year - i64::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leaps = shifted.div_euclid(4) - shifted.div_euclid(100) + shifted.div_euclid(400);
    Some(365 * shifted + leaps + day_of_year - 719_468)
}

/// The year, month and day of a day's number.
const fn date_of(day: i64) -> (i64, i64, i64) {
    // In eras of 400 years, which begin in March.
    let from_march = day + 719_468;
    let (era, day_of_era) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + (month <= 2) as i64, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(TimeVisitor)
    }
}

struct TimeVisitor;

impl de::Visitor<'_> for TimeVisitor {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an ISO 8601 time or a number of seconds, milliseconds or microseconds")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Time, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> std::result::Result<Time, E> {
        Ok(Time::from_number(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> std::result::Result<Time, E> {
        Ok(Time::from_number(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E: de::Error>(self, seconds: f64) -> std::result::Result<Time, E> {
        if !seconds.is_finite() {
            return Err(E::custom("a time must be a finite number"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a cast from float saturates, and from_micros clamps"
        )]
        Ok(Time::from_micros((seconds * 1e6).round() as i64))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_reads_back_as_it_was_written(micros in -377_705_023_201_000_000i64..=253_402_207_200_000_000) {
            let time = Time::from_micros(micros);
            prop_assert_eq!(time.to_string().parse::<Time>().unwrap(), time);
        }

        #[test]
        fn the_quick_reader_agrees_with_the_general_one(micros in 0i64..253_370_764_800_000_000) {
            let text = Time::from_micros(micros).to_string();
            prop_assert_eq!(parse_own_form(text.as_bytes()), Some(micros));
        }
    }

    proptest! {
        #[test]
        fn a_time_is_written_as_others_write_it(micros in -377_705_023_201_000_000i64..=253_402_207_200_000_000) {
            let others = jiff::Timestamp::from_microsecond(micros).unwrap();
            prop_assert_eq!(Time::from_micros(micros).to_string(), format!("{others:.6}"));
        }
    }

    #[test]
    fn the_first_and_last_times_read_back_too() {
        let ends = [i64::MIN, i64::MAX].map(Time::from_micros);

        assert_eq!(ends.map(|time| time.to_string().parse::<Time>().unwrap()), ends);
    }

    #[test]
    fn numbers_are_read_by_their_size() {
        let expected: Time = "2026-11-15T19:27:27Z".parse().unwrap();

        let read = [1_794_770_847, 1_794_770_847_000, 1_794_770_847_000_000].map(Time::from_number);

        assert_eq!(read, [expected; 3]);
    }

    #[test]
    fn a_date_that_does_not_exist_is_refused() {
        let read: Vec<_> = ["2026-02-29T00:00:00.000000Z", "2026-13-01T00:00:00.000000Z", "yesterday", ""]
            .iter()
            .map(|text| text.parse::<Time>().is_err())
            .collect();

        assert_eq!(read, [true; 4]);
    }
}
