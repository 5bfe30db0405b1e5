//! Reading ISO 8601 as programs write it: with any offset, with or without separators, seconds and fractions.

use crate::model::Time;
use crate::model::time::day_of;

/// The earliest and the latest second that a time may have.
const SECONDS: std::ops::RangeInclusive<i64> = -377_705_023_201..=253_402_207_200;

/// Reads a date, a time of day and an offset, such as `2026-11-15 20:27:27,5+01:00[Europe/Lisbon]`. The name
/// of a zone says nothing that the offset does not. A leap second is the one before it.
pub(super) fn parse(text: &[u8]) -> Option<Time> {
    let mut rest = IsoRest(text);
    let (year, month, day) = rest.date()?;
    rest.one_of(b"Tt ")?;
    let (second, nanos) = rest.time_of_day()?;
    let offset = rest.offset()?;
    rest.annotations()?;
    let seconds = day_of(year, month, day)? * 86_400 + second - offset;
    if !SECONDS.contains(&seconds) {
        return None;
    }
    // Like a number, a time before 1970 loses what is smaller than a microsecond towards the epoch.
    let micros = (i128::from(seconds) * 1_000_000_000 + i128::from(nanos)) / 1_000;
    i64::try_from(micros).ok().map(Time::from_micros)
}

/// What is left to be read.
struct IsoRest<'t>(&'t [u8]);

impl IsoRest<'_> {
    fn one_of(&mut self, letters: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        letters.contains(first).then(|| self.0 = rest)?;
        Some(*first)
    }

    /// So many digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        let sum = number
            .iter()
            .try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))?;
        self.0 = rest;
        Some(sum)
    }

    fn date(&mut self) -> Option<(i64, i64, i64)> {
        let year = match self.one_of(b"+-") {
            None => self.number(4)?,
            Some(b'-') => Some(-self.number(6)?).filter(|year| *year != 0)?,
            Some(_) => self.number(6)?,
        };
        if year.abs() > 9_999 {
            return None;
        }
        let is_separated = self.one_of(b"-").is_some();
        let month = self.number(2)?;
        if is_separated {
            self.one_of(b"-")?;
        }
        Some((year, month, self.number(2)?))
    }

    /// The second of the day, and nanoseconds.
    fn time_of_day(&mut self) -> Option<(i64, i64)> {
        let hour = self.number(2).filter(|hour| *hour < 24)?;
        let (minute, second, nanos) = self.minutes(60)?;
        Some((hour * 3_600 + minute * 60 + second.min(59), nanos))
    }

    /// What may follow an hour: minutes, seconds up to `most`, and a fraction of a second.
    fn minutes(&mut self, most: i64) -> Option<(i64, i64, i64)> {
        let is_separated = self.one_of(b":").is_some();
        if !is_separated && !self.0.first().is_some_and(u8::is_ascii_digit) {
            return Some((0, 0, 0));
        }
        let minute = self.number(2).filter(|minute| *minute < 60)?;
        let has_second = if is_separated {
            self.one_of(b":").is_some()
        } else {
            self.0.first().is_some_and(u8::is_ascii_digit)
        };
        if !has_second {
            return Some((minute, 0, 0));
        }
        let second = self.number(2).filter(|second| *second <= most)?;
        let nanos = if self.one_of(b".,").is_some() { self.fraction()? } else { 0 };
        Some((minute, second, nanos))
    }

    /// Up to nine digits after a point.
    fn fraction(&mut self) -> Option<i64> {
        let digits = self.0.iter().take_while(|digit| digit.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        Some(self.number(digits)? * 10_i64.pow(9 - digits as u32))
    }

    /// Seconds east of Greenwich.
    fn offset(&mut self) -> Option<i64> {
        let sign = match self.one_of(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Some(0),
        };
        let hour = self.number(2).filter(|hour| *hour < 26)?;
        let (minute, second, nanos) = self.minutes(59)?;
        (nanos == 0).then_some(sign * (hour * 3_600 + minute * 60 + second))
    }

    /// Names of a zone or a calendar in brackets, up to the end.
    fn annotations(&mut self) -> Option<()> {
        while !self.0.is_empty() {
            self.one_of(b"[")?;
            let end = self.0.iter().position(|letter| *letter == b']')?;
            if end == 0 {
                return None;
            }
            self.0 = &self.0[end + 1..];
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What another reader makes of a text.
    fn others(text: &str) -> Option<Time> {
        text.parse::<jiff::Timestamp>().ok().map(|stamp| Time::from_micros(stamp.as_microsecond()))
    }

    #[test]
    fn the_spellings_of_other_programs_are_read() {
        let spellings = [
            "2026-11-15T19:27:27Z",
            "2026-11-15t19:27:27z",
            "2026-11-15 19:27:27.5+00:00",
            "2026-11-15T20:27:27,123456789+01:00[Europe/Lisbon]",
            "20261115T192727Z",
            "2026-11-15T19:27+0130",
            "2026-11-15T19-02",
            "+002026-11-15T19:27:27Z",
            "-000001-11-15T19:27:27.1Z",
            "1969-12-31T23:59:59.9999999Z",
            "2016-12-31T23:59:60Z",
            "2026-11-15T19:27:27",
            "2026-11-15",
            "2026-11-15T24:00:00Z",
            "2026-02-30T00:00:00Z",
            "-000000-11-15T19:27:27Z",
            "2026-11-15T19:27:27.Z",
            "2026-11-15T19:27:27Z ",
            "2026-11-15T19:27:27Z[",
            "9999-12-31T23:59:59Z",
        ];

        assert_eq!(spellings.map(|text| parse(text.as_bytes())), spellings.map(others));
    }

    proptest! {
        #[test]
        fn every_time_is_read_as_others_read_it(
            text in "[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9][T ][0-2][0-9](:[0-6][0-9](:[0-6][0-9]([.,][0-9]{1,10})?)?)?\
                (Z|[+-][0-2][0-9](:?[0-5][0-9])?)"
        ) {
            prop_assert_eq!(parse(text.as_bytes()), others(&text));
        }
    }
}
