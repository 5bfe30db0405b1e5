//! The URL of a PostgreSQL store, which never shows its password.

use std::fmt;

/// Where a PostgreSQL store is: `postgres://USER@HOST:PORT/DATABASE?schema=NAME`.
///
/// A password that stands in it is used and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// Takes what follows `postgres:`.
    pub(crate) fn new(rest: &str) -> Self {
        Self(format!("postgres:{rest}"))
    }

    /// The whole of it, with its password.
    #[cfg(feature = "postgres")]
    pub(crate) fn revealed(&self) -> &str {
        &self.0
    }

    /// True when a password stands in it.
    pub fn has_password(&self) -> bool {
        self.to_string() != self.0
    }
}

/// The URL without its password.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (main, query) = self.0.split_once('?').unwrap_or((&self.0, ""));
        let (before, rest) = main.split_once("//").map_or(("", main), |(scheme, rest)| (scheme, rest));
        // Only the last `@` ends the name and password: a password may hold others.
        match rest.rsplit_once('@').map(|(who, place)| (who.split_once(':'), who, place)) {
            Some((Some((user, _)), _, place)) => write!(f, "{before}//{user}@{place}")?,
            _ => f.write_str(main)?,
        }
        let settings = query.split('&').filter(|setting| !setting.is_empty());
        let shown = settings.filter(|setting| !setting.to_ascii_lowercase().starts_with("password"));
        for (place, setting) in shown.enumerate() {
            write!(f, "{}{setting}", if place == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let cases = [
            ("//ann:secret@db/history", "postgres://ann@db/history", true),
            ("//ann:se:c@ret@db/history?schema=a", "postgres://ann@db/history?schema=a", true),
            ("//ann@db/history?password=secret&schema=a", "postgres://ann@db/history?schema=a", true),
            ("//ann@db:5433/history", "postgres://ann@db:5433/history", false),
            ("//", "postgres://", false),
        ];

        let shown = cases.map(|(rest, ..)| {
            let url = PostgresUrl::new(rest);
            (url.to_string(), format!("{url:?}"), url.has_password())
        });

        let expected =
            cases.map(|(_, shown, has)| (shown.to_owned(), format!("PostgresUrl({shown})"), has));
        assert_eq!(shown, expected);
    }
}
