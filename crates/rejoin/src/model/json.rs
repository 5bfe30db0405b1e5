//! JSON that is kept as it was written: key order, number spelling and unknown fields survive.

use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// A JSON value, kept as its text.
///
/// It can be read from and written to JSON only (through `serde_json`), because
/// its text is passed on verbatim.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Box<str>);

impl Json {
    /// Checks that `text` is one JSON value and keeps it.
    pub fn parse(text: impl Into<String>) -> Result<Self> {
        RawValue::from_string(text.into())
            .map(|raw| Self(raw.into()))
            .map_err(|cause| Error::invalid("read a JSON value").because(cause))
    }

    /// The JSON form of a value.
    pub fn of(value: &impl Serialize) -> Result<Self> {
        serde_json::value::to_raw_value(value)
            .map(|raw| Self(raw.into()))
            .map_err(|cause| Error::invalid("write a value as JSON").because(cause))
    }

    /// The value, read into a type of the caller's choice.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.as_str())
            .map_err(|cause| Error::invalid("read a JSON value into its type").because(cause))
    }

    /// The text, without white space around it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its text with each member on a line of its own; order, numbers and escapes stay as they are written.
    pub fn pretty(&self) -> String {
        let json = self.as_str();
        let mut shown = String::with_capacity(json.len() * 2);
        let mut depth = 0;
        let mut letters = json.chars().peekable();
        let new_line = |shown: &mut String, depth: usize| {
            shown.push('\n');
            shown.extend(std::iter::repeat_n("  ", depth));
        };
        while let Some(letter) = letters.next() {
            match letter {
                '"' => {
                    shown.push(letter);
                    while let Some(inner) = letters.next() {
                        shown.push(inner);
                        match inner {
                            '\\' => shown.extend(letters.next()),
                            '"' => break,
                            _ => {}
                        }
                    }
                }
                '{' | '[' => {
                    shown.push(letter);
                    while letters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                    if let Some(end) = letters.next_if(|next| matches!(next, '}' | ']')) {
                        shown.push(end);
                    } else {
                        depth += 1;
                        new_line(&mut shown, depth);
                    }
                }
                '}' | ']' => {
                    depth = depth.saturating_sub(1);
                    new_line(&mut shown, depth);
                    shown.push(letter);
                }
                ',' => {
                    shown.push(letter);
                    new_line(&mut shown, depth);
                }
                ':' => shown.push_str(": "),
                letter if letter.is_ascii_whitespace() => {}
                letter => shown.push(letter),
            }
        }
        shown
    }

    /// Keeps a piece of JSON that a parser has found.
    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        Self(raw.get().into())
    }

    /// Keeps a piece of a stored body, which was checked when it was written.
    pub(super) fn from_stored(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Default for Json {
    fn default() -> Self {
        Self("null".into())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.into()))
    }
}

/// So many fields are looked through one by one; more are found by an index.
const FEW: usize = 64;

/// Named JSON values in the order they were written; where unknown fields live.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    entries: Vec<(String, Json)>,
    /// Where each name stands, once there are many; whoever writes a file may write any number of them.
    places: Option<Box<FieldPlaces>>,
}

/// Apart from the fields, because almost none have one.
#[derive(Clone, Debug)]
struct FieldPlaces(HashMap<String, usize>);

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Fields {
    /// No fields; allocates nothing.
    pub const fn new() -> Self {
        Self { entries: Vec::new(), places: None }
    }

    /// True when there are no fields.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&Json> {
        self.place(name).map(|place| &self.entries[place].1)
    }

    /// Sets a field, in place if it is there, else at the end.
    pub fn set(&mut self, name: impl Into<String>, value: Json) {
        let name = name.into();
        if let Some(place) = self.place(&name) {
            self.entries[place].1 = value;
            return;
        }
        if let Some(places) = &mut self.places {
            places.0.insert(name.clone(), self.entries.len());
        }
        self.entries.push((name, value));
        if self.places.is_none() && self.entries.len() > FEW {
            let names = self.entries.iter().enumerate().map(|(place, (name, _))| (name.clone(), place));
            self.places = Some(Box::new(FieldPlaces(names.collect())));
        }
    }

    /// Takes a field away.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let place = self.place(name)?;
        self.places = None;
        Some(self.entries.remove(place).1)
    }

    fn place(&self, name: &str) -> Option<usize> {
        match &self.places {
            Some(places) => places.0.get(name).copied(),
            None => self.entries.iter().position(|(own, _)| own == name),
        }
    }

    pub(crate) fn write_into<M: SerializeMap>(&self, map: &mut M) -> std::result::Result<(), M::Error> {
        self.entries.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        self.write_into(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Fields, A::Error> {
                let mut fields = Fields::new();
                while let Some((name, value)) = map.next_entry::<String, Json>()? {
                    fields.set(name, value);
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_to_the_letter() {
        let text = r#"{"b": 1.50, "a": [1e3, "\u00e9"], "b2": null}"#;

        let fields: Fields = serde_json::from_str(text).unwrap();

        assert_eq!(serde_json::to_string(&fields).unwrap(), r#"{"b":1.50,"a":[1e3, "\u00e9"],"b2":null}"#);
    }

    #[test]
    fn pretty_json_keeps_order_numbers_and_strings() {
        let shown = Json::parse(r#" {"b":[1.50,{}, [ ]],"a":"x\",{\\" ,"c":{"d":null}}"#).unwrap().pretty();

        let expected = r#"{
  "b": [
    1.50,
    {},
    []
  ],
  "a": "x\",{\\",
  "c": {
    "d": null
  }
}"#;
        assert_eq!(shown, expected);
    }

    #[test]
    fn many_fields_are_set_in_place_like_few() {
        let mut fields = Fields::new();
        (0..1_000).for_each(|n| fields.set(format!("f{n}"), Json::default()));

        fields.set("f7", Json::parse("7").unwrap());
        let removed = fields.remove("f0").is_some();
        fields.set("f999", Json::parse("9").unwrap());
        fields.set("f0", Json::parse("0").unwrap());

        let at = |name: &str| fields.iter().position(|(own, _)| own == name);
        let told = ["f7", "f999", "f0"].map(|name| (at(name), fields.field(name).unwrap().as_str()));
        assert_eq!((removed, told), (true, [(Some(6), "7"), (Some(998), "9"), (Some(999), "0")]));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let refused: Vec<_> =
            ["", "{", "nul", "1 2"].iter().map(|text| Json::parse(*text).is_err()).collect();

        assert_eq!(refused, [true; 4]);
    }
}
