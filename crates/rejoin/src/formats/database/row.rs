//! Rows of another program's database, and their JSON form.

use std::rc::Rc;

use serde_json::{Map, Value as Tree, json};

use crate::formats::encoding::base64;
use crate::model::Time;

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::formats) enum ColumnValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl ColumnValue {
    /// Its size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 8,
            Self::Text(text) => text.len() as u64,
            Self::Blob(bytes) => bytes.len() as u64,
        }
    }

    /// Returns the value as JSON; bytes become an object with their `base64`.
    fn to_json(&self) -> Tree {
        match self {
            Self::Null => Tree::Null,
            Self::Integer(number) => json!(number),
            Self::Real(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::Blob(bytes) => json!({ "base64": base64(bytes) }),
        }
    }
}

impl From<&str> for ColumnValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for ColumnValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

/// A row with the names of its columns.
#[derive(Clone, Debug)]
pub(in crate::formats) struct DatabaseRow {
    pub(super) columns: Rc<[String]>,
    pub(super) values: Vec<ColumnValue>,
}

impl DatabaseRow {
    /// Returns the value of a column; null if it does not exist.
    pub(in crate::formats) fn value(&self, column: &str) -> &ColumnValue {
        let place = self.columns.iter().position(|own| own == column);
        place.and_then(|place| self.values.get(place)).unwrap_or(&ColumnValue::Null)
    }

    /// Returns the value of a column if it is text.
    pub(in crate::formats) fn text(&self, column: &str) -> Option<&str> {
        match self.value(column) {
            ColumnValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a column if it is text and not empty.
    pub(in crate::formats) fn word(&self, column: &str) -> Option<String> {
        self.text(column).filter(|text| !text.trim().is_empty()).map(str::to_owned)
    }

    /// Returns the value of a column if it is an integer.
    pub(in crate::formats) fn integer(&self, column: &str) -> Option<i64> {
        match self.value(column) {
            ColumnValue::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the value of a column if it is a non-negative integer.
    pub(in crate::formats) fn count(&self, column: &str) -> Option<u64> {
        self.integer(column).and_then(|number| u64::try_from(number).ok())
    }

    /// Returns the value of a column as a time. Text without a zone is in UTC, as in SQLite.
    pub(in crate::formats) fn time(&self, column: &str) -> Option<Time> {
        match self.value(column) {
            ColumnValue::Integer(number) => Some(Time::from_number(*number)),
            ColumnValue::Text(text) => moment(text),
            ColumnValue::Null | ColumnValue::Real(_) | ColumnValue::Blob(_) => None,
        }
    }

    /// Returns the row as a JSON object, without columns that change although no message does.
    pub(in crate::formats) fn to_json(&self, without: &[&str]) -> Tree {
        let columns = self.columns.iter().zip(&self.values);
        let kept = columns.filter(|(column, _)| !without.contains(&column.as_str()));
        Tree::Object(kept.map(|(column, value)| (column.clone(), value.to_json())).collect::<Map<_, _>>())
    }
}

/// Parses a time in a text column: with a space or a `T`, with or without a zone.
fn moment(text: &str) -> Option<Time> {
    let text = text.trim();
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_programs_write_them() {
        let texts = [
            "2026-11-15 19:27:27",
            "2026-11-15 19:27:27.000000+00:00",
            "2026-11-15T19:27:27+00:00",
            "2026-11-15T19:27:27",
            "2026-11-15T21:27:27+02:00",
        ];

        assert_eq!(texts.map(moment), [Some(Time::from_micros(1_794_770_847_000_000)); 5]);
        assert_eq!(moment("yesterday"), None);
    }

    #[test]
    fn bytes_are_kept_too() {
        let row = DatabaseRow {
            columns: Rc::new(["a".to_owned(), "b".to_owned(), "c".to_owned()]),
            values: vec![ColumnValue::Blob(vec![0, 255]), ColumnValue::Null, ColumnValue::Real(0.5)],
        };

        assert_eq!(row.to_json(&["b"]).to_string(), r#"{"a":{"base64":"AP8="},"c":0.5}"#);
    }
}
