//! A checked value, and how it is shown.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::config::size;

/// A value that fits its key.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Boolean(bool),
    Integer(u64),
    Bytes(u64),
    Fraction(f64),
    Text(String),
    Texts(Vec<String>),
    Variables(Variables),
}

/// Variables for a program. They often hold secrets, so only their names are ever shown.
#[derive(Clone, PartialEq)]
pub(crate) struct Variables(pub(crate) BTreeMap<String, String>);

impl Value {
    /// How the value is written in a configuration file.
    pub(crate) fn to_toml(&self) -> toml_edit::Value {
        match self {
            Value::Boolean(value) => (*value).into(),
            // Ranges in the key table stay far below what TOML can hold.
            Value::Integer(value) => i64::try_from(*value).unwrap_or(i64::MAX).into(),
            Value::Bytes(value) => size::write(*value).into(),
            Value::Fraction(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::Texts(values) => values.iter().map(String::as_str).collect(),
            Value::Variables(Variables(values)) => {
                values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Boolean(value) => value.fmt(out),
            Value::Integer(value) => value.fmt(out),
            Value::Bytes(value) => size::write(*value).fmt(out),
            Value::Fraction(value) => value.fmt(out),
            Value::Text(value) => value.fmt(out),
            Value::Texts(values) => write!(out, "{values:?}"),
            Value::Variables(variables) => write!(out, "{variables:?}"),
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
