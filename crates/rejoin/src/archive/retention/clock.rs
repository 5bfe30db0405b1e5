//! Whether the clock can be believed: nothing is deleted on the word of a clock that has just jumped.
//!
//! ```text
//!   last seen ──── a jump ────► marked ── 24 hours, steadily ──► believed
//! ```
//! A long absence looks like a jump ahead, and is treated like one.

use serde::{Deserialize, Serialize};

use crate::archive::retention::DAY;
use crate::archive::{Archive, List};
use crate::error::{ErrorKind, Result};
use crate::model::Time;

/// A clock this far ahead of everything that is known may be wrong. It is longer than most absences, and
/// shorter than what a clock without a battery is off.
const FAR: i64 = 30 * DAY;

/// How far a clock may be set back by whoever keeps it right: a leap, a correction over the network.
const SLACK: i64 = 5 * 60 * 1_000_000;

/// How long a clock that has jumped is watched before it is believed.
const WATCHED: i64 = DAY;

/// The mark is written again only when it is this old, so that a sweep costs no write.
const STALE: i64 = DAY / 24;

/// What the store remembers of the clock.
const NAME: &str = "retention.clock";

/// When the clock was last looked at, and since when it is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ClockMark {
    seen_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    watched_since: Option<Time>,
}

impl Archive {
    /// The time before which nothing may be deleted; none when the clock can be believed.
    pub(in crate::archive) fn doubts_clock_until(&self) -> Result<Option<Time>> {
        let now = self.now();
        let before = self.clock_mark()?;
        let newest = match before.seen_at {
            Some(seen) if now.as_micros() - seen.as_micros() <= FAR => Some(seen),
            seen => seen.max(self.newest_activity(now)?),
        };
        let mut mark = ClockMark { seen_at: Some(now), ..before };
        if has_jumped(now, before.seen_at, newest) {
            mark.watched_since = Some(now);
        }
        let doubted = mark.watched_since.map(|since| since.plus_micros(WATCHED)).filter(|until| now < *until);
        if doubted.is_none() {
            mark.watched_since = None;
        }
        let is_stale = before.seen_at.is_none_or(|seen| (now.as_micros() - seen.as_micros()).abs() >= STALE);
        if mark.watched_since != before.watched_since || is_stale {
            let text = serde_json::to_string(&mark).expect("a mark is plain data");
            self.state().remember(NAME, Some(&text))?;
        }
        Ok(doubted)
    }

    /// A mark that cannot be read is none.
    fn clock_mark(&self) -> Result<ClockMark> {
        let text = match self.state().recall(NAME) {
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            text => text?,
        };
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// The newest activity of any conversation that is not in the future: an import may bring any time.
    fn newest_activity(&self, now: Time) -> Result<Option<Time>> {
        let mut list = List { includes_expired: true, limit: 50, ..List::default() };
        loop {
            let page = self.list(&list)?;
            let past = page.items.iter().map(|stored| stored.last_active_at).find(|active| *active <= now);
            match page.next_cursor {
                Some(cursor) if past.is_none() => list.cursor = Some(cursor),
                _ => return Ok(past),
            }
        }
    }
}

/// True when the clock was set back, or is far ahead of everything that is known.
fn has_jumped(now: Time, seen: Option<Time>, newest: Option<Time>) -> bool {
    let is_back = seen.is_some_and(|seen| now.plus_micros(SLACK) < seen);
    let is_ahead = newest.is_some_and(|newest| now.as_micros() - newest.as_micros() > FAR);
    is_back || is_ahead
}
