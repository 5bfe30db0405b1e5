//! A checked value, and how it is shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use rejoin::StoreUrl;
use serde::Serialize;

use crate::config::size;

/// A value that fits its key.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum ConfigValue {
    Boolean(bool),
    Integer(u64),
    Bytes(u64),
    Fraction(f64),
    #[serde(serialize_with = "shown")]
    Text(String),
    Texts(Vec<String>),
    Variables(Variables),
}

/// Variables for a program. They often hold secrets, so only their names are ever shown.
#[derive(Clone, PartialEq)]
pub(crate) struct Variables(pub(crate) BTreeMap<String, String>);

impl ConfigValue {
    /// How the value is written in a configuration file.
    pub(crate) fn to_toml(&self) -> toml_edit::Value {
        match self {
            ConfigValue::Boolean(value) => (*value).into(),
            // Ranges in the key table stay far below what TOML can hold.
            ConfigValue::Integer(value) => i64::try_from(*value).unwrap_or(i64::MAX).into(),
            ConfigValue::Bytes(value) => size::write(*value).into(),
            ConfigValue::Fraction(value) => (*value).into(),
            ConfigValue::Text(value) => value.as_str().into(),
            ConfigValue::Texts(values) => values.iter().map(String::as_str).collect(),
            ConfigValue::Variables(Variables(values)) => {
                values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
            }
        }
    }
}

/// A text as it is shown: the URL of a store may hold a password.
fn without_password(text: &str) -> Cow<'_, str> {
    match StoreUrl::parse(text) {
        Ok(url) if url.has_password() => Cow::Owned(url.to_string()),
        _ => Cow::Borrowed(text),
    }
}

fn shown<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&without_password(text))
}

impl fmt::Display for ConfigValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigValue::Boolean(value) => value.fmt(out),
            ConfigValue::Integer(value) => value.fmt(out),
            ConfigValue::Bytes(value) => size::write(*value).fmt(out),
            ConfigValue::Fraction(value) => value.fmt(out),
            ConfigValue::Text(value) => without_password(value).fmt(out),
            ConfigValue::Texts(values) => write!(out, "{values:?}"),
            ConfigValue::Variables(variables) => write!(out, "{variables:?}"),
        }
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.0.keys().map(|name| (name, "[redacted]"))).finish()
    }
}

impl Serialize for Variables {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.keys().map(|name| (name, "[redacted]")))
    }
}
