//! Shows moments: how long ago, to the minute, or exactly.
//!
//! Moments are microseconds since 1970, as they are stored. The present and the time zone come in as
//! arguments. A stored moment that no calendar can hold is shown as `unknown`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use jiff::{Timestamp, Zoned, tz::TimeZone};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The last number of days that is told as a distance; beyond it, a date says more.
const DAYS_TOLD_AS_DISTANCE: i32 = 7;

const UNKNOWN: &str = "unknown";

/// Where the files of the zones lie, by their names.
const ZONES: &str = "/usr/share/zoneinfo";

/// The present moment and the zone in which people read times.
#[derive(Clone, Debug)]
pub(crate) struct WallClock {
    now: i64,
    zone: TimeZone,
}

impl WallClock {
    /// Sets the clock to the moment and the zone.
    pub(crate) fn new(now: i64, zone: TimeZone) -> Self {
        Self { now, zone }
    }

    /// Reads the computer's clock, with the zone that the environment names, or else the computer's own.
    /// `zones` is where the environment says that zones are, if it does.
    ///
    /// Looking a zone up by its name walks through all zones of the computer, a third of the time of a short
    /// command, so the file of the zone is read instead where there is one.
    pub(crate) fn system(named: Option<&OsStr>, zones: Option<&OsStr>) -> Self {
        let zone = match named {
            None => zone_in(Path::new("/etc/localtime"), "local"),
            Some(name) => name
                .to_str()
                .filter(|name| is_plain(name))
                .and_then(|name| zone_in(&zones.map_or(Path::new(ZONES), Path::new).join(name), name)),
        };
        Self::new(Timestamp::now().as_microsecond(), zone.unwrap_or_else(TimeZone::system))
    }

    /// Returns the present moment.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Returns the zone in which people read times.
    pub(crate) fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Returns the distance from now: `just now`, `5 minutes ago`, `yesterday`, `in 3 days`, or the date when
    /// that is more than seven days away.
    pub(crate) fn relative(&self, moment: i64) -> String {
        let distance = moment.abs_diff(self.now);
        let is_past = moment <= self.now;
        let told = |amount: u64, unit: &str| {
            let plural = if amount == 1 { "" } else { "s" };
            if is_past {
                format!("{amount} {unit}{plural} ago")
            } else {
                format!("in {amount} {unit}{plural}")
            }
        };

        // Clocks of two machines differ by seconds, so the near future is also "just now".
        if distance < MINUTE.unsigned_abs() {
            return "just now".to_owned();
        }
        if distance < HOUR.unsigned_abs() {
            return told(distance / MINUTE.unsigned_abs(), "minute");
        }
        if distance < DAY.unsigned_abs() {
            return told(distance / HOUR.unsigned_abs(), "hour");
        }
        match self.days_from_today(moment) {
            Some(-1) => "yesterday".to_owned(),
            Some(1) => "tomorrow".to_owned(),
            Some(days) if days.abs() <= DAYS_TOLD_AS_DISTANCE => told(days.unsigned_abs().into(), "day"),
            _ => self.date(moment),
        }
    }

    /// Returns the distance from now for a column: `now`, `5m`, `3h`, `2d`, `4w`, `5mo` or `2y`.
    ///
    /// A moment that is more than a minute ahead is `future`: its clock was wrong.
    pub(crate) fn age(&self, moment: i64) -> String {
        let distance = moment.abs_diff(self.now);
        // From where a unit is told, and how long it is: months and weeks as soon as there are two of them.
        let units = [
            (365 * DAY, 365 * DAY, "y"),
            (365 * DAY / 6, 365 * DAY / 12, "mo"),
            (14 * DAY, 7 * DAY, "w"),
            (DAY, DAY, "d"),
            (HOUR, HOUR, "h"),
            (MINUTE, MINUTE, "m"),
        ];
        let told = units.into_iter().find(|(least, ..)| distance >= least.unsigned_abs());
        match told {
            None => "now".to_owned(),
            Some(_) if moment > self.now => "future".to_owned(),
            Some((_, length, unit)) => format!("{}{unit}", distance / length.unsigned_abs()),
        }
    }

    /// Returns the local date: `2024-01-15`.
    pub(crate) fn date(&self, moment: i64) -> String {
        self.show(moment, "%Y-%m-%d")
    }

    /// Returns the local date and time to the minute: `2024-01-15 10:30`.
    pub(crate) fn minute(&self, moment: i64) -> String {
        self.show(moment, "%Y-%m-%d %H:%M")
    }

    /// Returns calendar days from today, negative in the past, so that "yesterday" means what people mean.
    fn days_from_today(&self, moment: i64) -> Option<i32> {
        let today = self.local(self.now)?.date();
        let day = self.local(moment)?.date();
        Some((day - today).get_days())
    }

    fn show(&self, moment: i64, form: &str) -> String {
        self.local(moment).map_or_else(|| UNKNOWN.to_owned(), |local| local.strftime(form).to_string())
    }

    fn local(&self, moment: i64) -> Option<Zoned> {
        Timestamp::from_microsecond(moment).ok().map(|timestamp| timestamp.to_zoned(self.zone.clone()))
    }
}

/// The zone that a file describes.
fn zone_in(file: &Path, name: &str) -> Option<TimeZone> {
    TimeZone::tzif(name, &fs::read(file).ok()?).ok()
}

/// True when a name can only be that of a zone below the usual directory: it leads nowhere else, and has no
/// digit, which every rule has that is written out.
fn is_plain(name: &str) -> bool {
    let is_part = |part: &str| part.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || "/_-".contains(letter);
    name.split('/').all(is_part) && name.chars().all(is_letter)
}

/// Returns a length of time in its largest one or two units: `45 s`, `2 min 5 s`, `3 h 20 min`, `4 days`.
pub(crate) fn duration(length: std::time::Duration) -> String {
    let seconds = length.as_secs();
    let (first, second) = match seconds {
        0..60 => ((seconds, "s"), (0, "")),
        60..3_600 => ((seconds / 60, "min"), (seconds % 60, "s")),
        3_600..86_400 => ((seconds / 3_600, "h"), (seconds % 3_600 / 60, "min")),
        86_400..172_800 => ((1, "day"), (seconds % 86_400 / 3_600, "h")),
        _ => ((seconds / 86_400, "days"), (seconds % 86_400 / 3_600, "h")),
    };
    match second {
        (0, _) => format!("{} {}", first.0, first.1),
        (amount, unit) => format!("{} {} {amount} {unit}", first.0, first.1),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// 2024-01-15 10:30:00 UTC.
    const NOW: i64 = 1_705_314_600 * SECOND;

    fn clock() -> WallClock {
        WallClock::new(NOW, TimeZone::UTC)
    }

    #[test]
    fn the_past_is_told_as_people_tell_it() {
        let cases = [
            (0, "just now"),
            (59 * SECOND, "just now"),
            (MINUTE, "1 minute ago"),
            (5 * MINUTE, "5 minutes ago"),
            (HOUR - 1, "59 minutes ago"),
            (HOUR, "1 hour ago"),
            (23 * HOUR, "23 hours ago"),
            (DAY, "yesterday"),
            (34 * HOUR, "yesterday"),
            (35 * HOUR, "2 days ago"),
            (7 * DAY, "7 days ago"),
            (8 * DAY, "2024-01-07"),
        ];

        let told = cases.map(|(distance, _)| clock().relative(NOW - distance));

        assert_eq!(told, cases.map(|(_, expected)| expected.to_owned()));
    }

    #[test]
    fn the_future_is_told_as_people_tell_it() {
        let cases = [
            (30 * SECOND, "just now"),
            (MINUTE, "in 1 minute"),
            (3 * HOUR, "in 3 hours"),
            (DAY, "tomorrow"),
            (3 * DAY, "in 3 days"),
            (8 * DAY, "2024-01-23"),
        ];

        let told = cases.map(|(distance, _)| clock().relative(NOW + distance));

        assert_eq!(told, cases.map(|(_, expected)| expected.to_owned()));
    }

    #[test]
    fn days_are_those_of_the_local_calendar() {
        let zone = TimeZone::fixed(jiff::tz::offset(14));
        let clock = WallClock::new(NOW, zone);

        assert_eq!(clock.relative(NOW - 26 * HOUR), "2 days ago");
        assert_eq!(clock.minute(NOW), "2024-01-16 00:30");
        assert_eq!(clock.date(NOW), "2024-01-16");
    }

    #[test]
    fn a_zone_is_named_by_its_file_unless_the_name_leads_elsewhere_or_is_a_rule() {
        let names = ["UTC", "Europe/Lisbon", "America/Port-au-Prince"];
        let others =
            ["", "/etc/localtime", "../localtime", "Europe/", "EST5EDT", "Etc/GMT+1", ":UTC", "<A>-1"];

        let found = [names.map(is_plain).as_slice(), others.map(is_plain).as_slice()].concat();

        assert_eq!(found, [[true; 3].as_slice(), [false; 8].as_slice()].concat());
    }

    #[test]
    fn a_zone_that_the_environment_names_is_that_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("Europe")).unwrap();
        // Always an hour ahead.
        let header = [b"TZif2".as_slice(), &[0; 34], &[1, 0, 0, 0, 4]].concat();
        let block = [&header, [0, 0, 14, 16, 0, 0].as_slice(), b"CET\0"].concat();
        let zone = [block.as_slice(), &block, b"\nCET-1\n"].concat();
        fs::write(folder.path().join("Europe/Nowhere"), zone).unwrap();

        let clock = WallClock::system(Some("Europe/Nowhere".as_ref()), Some(folder.path().as_ref()));

        assert_eq!(clock.minute(NOW), "2024-01-15 11:30");
    }

    #[test]
    fn a_moment_outside_the_calendar_is_unknown() {
        let shown = [clock().relative(i64::MIN), clock().minute(i64::MAX)];

        assert_eq!(shown, ["unknown", "unknown"]);
    }

    #[test]
    fn a_duration_has_one_or_two_units() {
        let shown = [0, 45, 125, 3_600, 12_000, 90_000, 345_600].map(|seconds| {
            let length = Duration::from_secs(seconds);
            duration(length)
        });

        assert_eq!(shown, ["0 s", "45 s", "2 min 5 s", "1 h", "3 h 20 min", "1 day 1 h", "4 days"]);
    }
}
