//! How long to wait before a request is tried again.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::HeaderMap;

/// Waits double up to this.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// A provider that asks for more is not waited for: a person should decide.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The wait after so many failures when the provider names none: doubled each time, less up to a quarter by
/// chance, so that clients that failed together do not come back together. `chance` is any number.
pub(super) fn backoff(first: Duration, failed: u32, chance: u8) -> Duration {
    let doubled = first.saturating_mul(2_u32.saturating_pow(failed.saturating_sub(1))).min(LONGEST_BACKOFF);
    doubled - doubled.mul_f64(f64::from(chance) / f64::from(u8::MAX) / 4.0)
}

/// How long the provider asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub(super) fn asked(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = DateTimeParser::new().parse_timestamp(after).ok()?;
    Some(Duration::try_from(now.until(date).ok()?).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_limit_and_chance_shortens_it() {
        let first = Duration::from_millis(500);
        let waits = [(1, 0), (2, 0), (3, 0), (40, 0), (1, 255)].map(|(n, chance)| backoff(first, n, chance));

        assert_eq!(waits.map(|wait| wait.as_millis()), [500, 1000, 2000, 30_000, 375]);
    }

    #[test]
    fn the_provider_may_name_seconds_milliseconds_or_a_date() {
        let now: Timestamp = "2026-11-15T20:00:00Z".parse().unwrap();
        let cases = [
            ("retry-after", "7"),
            ("retry-after", "0.25"),
            ("retry-after-ms", "120"),
            ("retry-after", "Sun, 15 Nov 2026 20:00:30 GMT"),
            ("retry-after", "Sun, 15 Nov 2026 19:00:00 GMT"),
            ("retry-after", "soon"),
            ("retry-after", "-1"),
            ("x-other", "1"),
        ];
        let waits = cases.map(|(name, value)| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))]);
            asked(&headers, now).map(|wait| wait.as_millis())
        });

        assert_eq!(waits, [Some(7000), Some(250), Some(120), Some(30_000), Some(0), None, None, None]);
    }
}
