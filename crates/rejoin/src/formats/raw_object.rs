//! The fields of a JSON object, borrowed from the line, so that only what is needed is copied.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::{Fields, Json};

/// True for a JSON string.
pub(super) fn is_text(json: &RawValue) -> bool {
    json.get().starts_with('"')
}

/// A value that may be a text, an object or a list of them, parsed in one pass.
#[derive(Debug)]
pub(super) enum RawContent<'a> {
    Text(String),
    Object(RawObject<'a>),
    List(Vec<RawContent<'a>>),
    /// A number, true, false or null.
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for RawContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawContentVisitor;

        impl<'de> Visitor<'de> for RawContentVisitor {
            type Value = RawContent<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_str<E>(self, text: &str) -> Result<RawContent<'de>, E> {
                Ok(RawContent::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawContent<'de>, A::Error> {
                RawObject::of(map).map(RawContent::Object)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RawContent<'de>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(RawContent::List(items))
            }

            fn visit_unit<E>(self) -> Result<RawContent<'de>, E> {
                Ok(RawContent::Other)
            }

            fn visit_bool<E>(self, _: bool) -> Result<RawContent<'de>, E> {
                Ok(RawContent::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<RawContent<'de>, E> {
                Ok(RawContent::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<RawContent<'de>, E> {
                Ok(RawContent::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<RawContent<'de>, E> {
                Ok(RawContent::Other)
            }
        }

        deserializer.deserialize_any(RawContentVisitor)
    }
}

/// The field with long texts. It is parsed at once; other fields are only located and would be scanned a
/// second time.
const TEXT: &str = "text";

/// The fields of an object, and which of them were taken.
#[derive(Debug)]
pub(super) struct RawObject<'a>(Vec<(Cow<'a, str>, Field<'a>, FieldTaken)>);

/// The value of a field.
#[derive(Debug)]
enum Field<'a> {
    /// Its text in the line.
    Raw(&'a RawValue),
    /// Its parsed value.
    Read(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldTaken {
    Yes,
    No,
}

impl<'de> Deserialize<'de> for RawObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawObjectVisitor;

        impl<'de> Visitor<'de> for RawObjectVisitor {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawObject<'de>, A::Error> {
                RawObject::of(map)
            }
        }

        deserializer.deserialize_map(RawObjectVisitor)
    }
}

impl<'a> RawObject<'a> {
    fn of<A: MapAccess<'a>>(mut map: A) -> Result<Self, A::Error> {
        let mut found = Vec::new();
        while let Some(name) = map.next_key::<Cow<'a, str>>()? {
            let field = match name.as_ref() {
                TEXT => Field::Read(map.next_value()?),
                _ => Field::Raw(map.next_value()?),
            };
            found.push((name, field, FieldTaken::No));
        }
        Ok(Self(found))
    }

    /// Takes a field, unless it is `text`.
    pub(super) fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let (_, field, taken) = self.0.iter_mut().find(|(own, ..)| own == name)?;
        let Field::Raw(value) = field else { return None };
        *taken = FieldTaken::Yes;
        Some(value)
    }

    /// Takes a field that is a string.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let (_, field, taken) = self.0.iter_mut().find(|(own, ..)| own == name)?;
        *taken = FieldTaken::Yes;
        match field {
            Field::Raw(value) => serde_json::from_str(value.get()).ok(),
            Field::Read(value) => value.as_str().map(str::to_owned),
        }
    }

    /// Takes a field and parses it as a type.
    pub(super) fn typed<T: Deserialize<'a>>(&mut self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// Returns the name of the first field.
    pub(super) fn first(&self) -> Option<&str> {
        self.0.first().map(|(name, ..)| name.as_ref())
    }

    /// Returns the fields that were not taken.
    pub(super) fn rest(&self) -> Fields {
        self.fields(|taken| taken == FieldTaken::No)
    }

    /// Returns every field, taken or not.
    pub(super) fn whole(&self) -> Fields {
        self.fields(|_| true)
    }

    /// Returns every field except `type`, taken or not.
    pub(super) fn all(&self) -> Fields {
        let mut fields = self.whole();
        fields.remove("type");
        fields
    }

    fn fields(&self, which: impl Fn(FieldTaken) -> bool) -> Fields {
        let mut fields = Fields::new();
        for (name, field, _) in self.0.iter().filter(|(.., taken)| which(*taken)) {
            let value = match field {
                Field::Raw(value) => Json::from_raw(value),
                Field::Read(value) => Json::of(value).expect("what was JSON is JSON"),
            };
            fields.set(name.as_ref(), value);
        }
        fields
    }
}
