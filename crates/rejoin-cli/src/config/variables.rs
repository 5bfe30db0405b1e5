//! `REJOIN_*` variables as settings.
//!
//! A key's variable is its name in capitals with dots as underscores: `retention.days` is
//! `REJOIN_RETENTION_DAYS`. In a family the user's name takes its place: `REJOIN_PROVIDERS_LOCAL_BASE_URL`
//! is `providers.local.base_url`. An empty variable counts as absent.

use std::ffi::OsStr;

use crate::config::keys::{self, ConfigKey, KEYS};
use crate::config::origin::{Setting, ValueOrigin};
use crate::error::Failure;
use crate::suggest::nearest;
use crate::surroundings::Surroundings;

const PREFIX: &str = "REJOIN_";

/// Variables of ours that are not keys.
const OTHERS: [&str; 1] = ["REJOIN_PASSPHRASE_FILE"];

/// What the variables said.
#[derive(Debug, Default)]
pub(crate) struct FromVariables {
    pub(crate) settings: Vec<Setting>,
    /// Names that begin like ours and mean nothing, each with the likely one. Another program may own such
    /// a name, so it is worth a warning and not a failure.
    pub(crate) unknown: Vec<(String, Option<String>)>,
}

/// Reads every `REJOIN_*` variable. `members` are the names that files use in families.
pub(crate) fn read(surroundings: &Surroundings, members: &[String]) -> Result<FromVariables, Failure> {
    let mut read = FromVariables::default();
    for name in surroundings.variables.keys() {
        if !name.starts_with(PREFIX) || OTHERS.contains(&name.as_str()) {
            continue;
        }
        let Some(given) = surroundings.variable(name) else { continue };
        match key_of(name, members) {
            Some((key, member)) => read.settings.push(setting(name, given, key, member)?),
            None => read.unknown.push((name.clone(), suggestion_for(name))),
        }
    }
    Ok(read)
}

fn setting(
    name: &str,
    given: &OsStr,
    key: &'static ConfigKey,
    member: Option<String>,
) -> Result<Setting, Failure> {
    let value = given.to_str().and_then(|text| key.shape.read_text(text)).ok_or_else(|| {
        Failure::invalid(format!("read the variable `{name}`"))
            .because(key.shape.complaint_about(&given.to_string_lossy()))
            .hint(format!("correct it, or remove it with `unset {name}`"))
    })?;
    Ok(Setting { key, member, value, origin: ValueOrigin::Variable(name.to_owned()) })
}

fn key_of(name: &str, members: &[String]) -> Option<(&'static ConfigKey, Option<String>)> {
    KEYS.iter().find_map(|key| match variable_parts(key) {
        (whole, None) => (whole == name).then_some((key, None)),
        (before, Some(after)) => {
            let middle = name.strip_prefix(&before)?.strip_suffix(&after)?;
            keys::is_member_name(middle).then(|| (key, Some(member_named(middle, members))))
        }
    })
}

/// A variable cannot hold dashes or small letters, so a name that a file uses is preferred when it fits.
fn member_named(middle: &str, members: &[String]) -> String {
    let known = members.iter().find(|member| in_capitals(member) == middle);
    known.cloned().unwrap_or_else(|| middle.to_lowercase())
}

/// The variable of a key; for a family, what stands before and after the user's name.
fn variable_parts(key: &ConfigKey) -> (String, Option<String>) {
    match key.name.split_once("<name>") {
        None => (format!("{PREFIX}{}", in_capitals(key.name)), None),
        Some((before, after)) => (format!("{PREFIX}{}", in_capitals(before)), Some(in_capitals(after))),
    }
}

fn in_capitals(name: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    name.chars().map(letter).collect()
}

fn suggestion_for(name: &str) -> Option<String> {
    let known: Vec<String> =
        KEYS.iter().map(variable_parts).filter(|parts| parts.1.is_none()).map(|parts| parts.0).collect();
    nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(read: &FromVariables) -> Vec<String> {
        read.settings.iter().map(|setting| format!("{} = {}", setting.name(), setting.value)).collect()
    }

    #[test]
    fn a_variable_is_its_key_in_capitals() {
        let here = Surroundings::imagined(&[
            ("REJOIN_LIMITS_TURN_BYTES", "2 MB"),
            ("REJOIN_LOG", "debug"),
            ("REJOIN_PROVIDERS_MY_LOCAL_BASE_URL", "http://127.0.0.1:8080"),
            ("REJOIN_RETENTION_DAYS", ""),
        ]);

        let read = read(&here, &["my-local".to_owned()]).unwrap();

        let expected = [
            "limits.turn_bytes = 2 MB",
            "log = debug",
            "providers.my-local.base_url = http://127.0.0.1:8080",
        ];
        assert_eq!(shown(&read), expected);
    }

    #[test]
    fn an_unknown_variable_is_reported_with_the_likely_name() {
        let here = Surroundings::imagined(&[("REJOIN_PASSPHRASE_FILE", "/p"), ("REJOIN_RETENTION_DAY", "9")]);

        let read = read(&here, &[]).unwrap();

        let likely = Some("REJOIN_RETENTION_DAYS".to_owned());
        assert_eq!(read.unknown, [("REJOIN_RETENTION_DAY".to_owned(), likely)]);
    }

    #[test]
    fn a_variable_out_of_range_is_refused_by_name() {
        let refusal = read(&Surroundings::imagined(&[("REJOIN_RETENTION_DAYS", "3")]), &[]).unwrap_err();

        let expected = "error: could not read the variable `REJOIN_RETENTION_DAYS`: it must be a whole number from 7 to 180, or \"forever\"\n\
                        hint: correct it, or remove it with `unset REJOIN_RETENTION_DAYS`";
        assert_eq!(refusal.to_string(), expected);
    }
}
