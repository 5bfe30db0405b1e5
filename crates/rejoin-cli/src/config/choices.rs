//! The words that keys can be set to, as types.

use crate::config::shape::FOREVER;
use crate::config::value::Value;

/// `project.scope`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Repository,
    Directory,
}

/// `start.default`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    New,
    Continue,
}

/// `persistence.on_error`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnError {
    Warn,
    Fail,
}

/// `compact.on_summary_failure`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnSummaryFailure {
    Abort,
    Placeholder,
}

/// `retention.days`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    Days(u64),
    Forever,
}

/// `providers.<name>.kind`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProviderKind {
    Anthropic,
    OpenaiResponses,
    OpenaiChat,
    Offline,
}

/// A type whose values have names in the key table.
pub(crate) trait Choice: Sized {
    fn named(text: &str) -> Option<Self>;
}

impl Choice for Scope {
    fn named(text: &str) -> Option<Self> {
        match text {
            "repository" => Some(Scope::Repository),
            "directory" => Some(Scope::Directory),
            _ => None,
        }
    }
}

impl Choice for Start {
    fn named(text: &str) -> Option<Self> {
        match text {
            "new" => Some(Start::New),
            "continue" => Some(Start::Continue),
            _ => None,
        }
    }
}

impl Choice for OnError {
    fn named(text: &str) -> Option<Self> {
        match text {
            "warn" => Some(OnError::Warn),
            "fail" => Some(OnError::Fail),
            _ => None,
        }
    }
}

impl Choice for OnSummaryFailure {
    fn named(text: &str) -> Option<Self> {
        match text {
            "abort" => Some(OnSummaryFailure::Abort),
            "placeholder" => Some(OnSummaryFailure::Placeholder),
            _ => None,
        }
    }
}

impl Choice for ProviderKind {
    fn named(text: &str) -> Option<Self> {
        match text {
            "anthropic" => Some(ProviderKind::Anthropic),
            "openai-responses" => Some(ProviderKind::OpenaiResponses),
            "openai-chat" => Some(ProviderKind::OpenaiChat),
            "offline" => Some(ProviderKind::Offline),
            _ => None,
        }
    }
}

impl Retention {
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(days) => Some(Retention::Days(*days)),
            Value::Text(text) if text == FOREVER => Some(Retention::Forever),
            Value::Boolean(_)
            | Value::Bytes(_)
            | Value::Fraction(_)
            | Value::Text(_)
            | Value::Texts(_)
            | Value::Variables(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::KEYS;
    use crate::config::shape::Shape;

    fn all_named<T: Choice>(name: &str) -> bool {
        let key = KEYS.iter().find(|key| key.name == name).unwrap();
        let Shape::Choice(choices) = key.shape else { panic!("`{name}` has no choices") };
        choices.iter().all(|choice| T::named(choice).is_some())
    }

    #[test]
    fn every_choice_in_the_key_table_has_a_value() {
        let outcomes = [
            all_named::<Scope>("project.scope"),
            all_named::<Start>("start.default"),
            all_named::<OnError>("persistence.on_error"),
            all_named::<OnSummaryFailure>("compact.on_summary_failure"),
            all_named::<ProviderKind>("providers.<name>.kind"),
        ];

        assert_eq!(outcomes, [true; 5]);
    }
}
