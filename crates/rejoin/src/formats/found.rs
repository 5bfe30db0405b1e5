//! The fields of a JSON object where they stand in a line, so that only what is needed is copied.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::model::{Fields, Json};

/// True for a JSON string.
pub(super) fn is_text(json: &RawValue) -> bool {
    json.get().starts_with('"')
}

/// The fields of an object, and which of them were taken.
pub(super) struct Found<'a>(Vec<(Cow<'a, str>, &'a RawValue, Taken)>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Yes,
    No,
}

impl<'de> Deserialize<'de> for Found<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FoundVisitor;

        impl<'de> Visitor<'de> for FoundVisitor {
            type Value = Found<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
                let mut found = Vec::new();
                while let Some((name, value)) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
                    found.push((name, value, Taken::No));
                }
                Ok(Found(found))
            }
        }

        deserializer.deserialize_map(FoundVisitor)
    }
}

impl<'a> Found<'a> {
    /// Takes a field.
    pub(super) fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let (_, value, taken) = self.0.iter_mut().find(|(own, ..)| own == name)?;
        *taken = Taken::Yes;
        Some(value)
    }

    /// Takes a field that is a string.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// Every field with its name, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value, _)| (name.as_ref(), *value))
    }

    /// The fields that were not taken.
    pub(super) fn rest(&self) -> Fields {
        self.fields(|taken| taken == Taken::No)
    }

    /// Every field but the type, taken or not.
    pub(super) fn all(&self) -> Fields {
        let mut fields = self.fields(|_| true);
        fields.remove("type");
        fields
    }

    fn fields(&self, which: impl Fn(Taken) -> bool) -> Fields {
        let mut fields = Fields::new();
        for (name, value, _) in self.0.iter().filter(|(.., taken)| which(*taken)) {
            fields.set(name.as_ref(), Json::from_raw(value));
        }
        fields
    }
}
