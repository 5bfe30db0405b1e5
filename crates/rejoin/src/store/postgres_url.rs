//! The URL of a PostgreSQL store, which never shows its password.

use std::fmt;

/// Where a PostgreSQL store is: `postgres://USER@HOST:PORT/DATABASE?schema=NAME`.
///
/// A password that stands in it is used and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    url: String,
    /// What stands in for what the URL does not say, by the names of PostgreSQL's variables.
    variables: Vec<(&'static str, String)>,
}

/// The variables that a store goes by.
const VARIABLES: [&str; 10] = [
    "HOME",
    "PGDATABASE",
    "PGHOST",
    "PGPASSFILE",
    "PGPASSWORD",
    "PGPORT",
    "PGSSLMODE",
    "PGSSLROOTCERT",
    "PGUSER",
    "USER",
];

impl PostgresUrl {
    /// Takes what follows `postgres:`.
    pub(crate) fn new(rest: &str) -> Self {
        Self { url: format!("postgres:{rest}"), variables: Vec::new() }
    }

    /// The same place, where PostgreSQL's variables, such as `PGPASSWORD`, stand in for what the URL does
    /// not say. `read` returns a variable of the environment.
    #[must_use]
    pub(crate) fn with_variables(mut self, read: impl Fn(&str) -> Option<String>) -> Self {
        self.variables = VARIABLES.into_iter().filter_map(|name| Some((name, read(name)?))).collect();
        self
    }

    /// The whole of it, with its password.
    #[cfg(feature = "postgres")]
    pub(crate) fn revealed(&self) -> &str {
        &self.url
    }

    /// What a variable says, if it says anything.
    #[cfg(feature = "postgres")]
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// True when a password stands in it.
    pub(crate) fn has_password(&self) -> bool {
        self.to_string() != self.url
    }
}

/// The URL without its password.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (main, query) = self.url.split_once('?').unwrap_or((&self.url, ""));
        // The `?` may be one of the password.
        if query.contains('@') {
            return write!(f, "{}", main.split_once("//").map_or("", |(scheme, _)| scheme));
        }
        let (before, rest) = main.split_once("//").map_or(("", main), |(scheme, rest)| (scheme, rest));
        // Only the last `@` ends the name and password: a password may hold others.
        match rest.rsplit_once('@').map(|(who, place)| (who.split_once(':'), who, place)) {
            Some((Some((user, _)), _, place)) => write!(f, "{before}//{user}@{place}")?,
            _ => f.write_str(main)?,
        }
        let settings = query.split('&').filter(|setting| !setting.is_empty());
        let is_secret = |setting: &str| {
            let name = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
            name.contains("password") || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        let shown = settings.filter(|setting| !is_secret(setting));
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
            ("//ann:se?cret@db/history", "postgres:", true),
            ("//ann@db/history?pass%77ord=secret&schema=a", "postgres://ann@db/history?schema=a", true),
            ("//ann@db/history?a=1& sslpassword=secret", "postgres://ann@db/history?a=1", true),
            ("//ann@db:5433/history", "postgres://ann@db:5433/history", false),
            ("//", "postgres://", false),
        ];

        let shown = cases.map(|(rest, ..)| {
            let url = PostgresUrl::new(rest);
            (url.to_string(), format!("{url:?}"), url.has_password())
        });

        let expected = cases.map(|(_, shown, has)| (shown.to_owned(), format!("PostgresUrl({shown})"), has));
        assert_eq!(shown, expected);
    }
}
