//! The words that keys can be set to, as types.

/// `project.scope`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectScope {
    Repository,
    Directory,
}

/// `start.default`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartDefault {
    New,
    Continue,
}

/// `persistence.on_error`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnSaveError {
    /// Tell, go on talking, and try again.
    Warn,
    /// End the talk.
    Fail,
}

/// `compact.on_summary_failure`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnSummaryFailure {
    /// Keep the history as it is, and warn.
    Abort,
    /// Go on with words that stand for the summary.
    Placeholder,
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
pub(crate) trait NamedChoice: Sized {
    fn named(text: &str) -> Option<Self>;
}

impl NamedChoice for ProjectScope {
    fn named(text: &str) -> Option<Self> {
        match text {
            "repository" => Some(ProjectScope::Repository),
            "directory" => Some(ProjectScope::Directory),
            _ => None,
        }
    }
}

impl NamedChoice for StartDefault {
    fn named(text: &str) -> Option<Self> {
        match text {
            "new" => Some(StartDefault::New),
            "continue" => Some(StartDefault::Continue),
            _ => None,
        }
    }
}

impl NamedChoice for OnSaveError {
    fn named(text: &str) -> Option<Self> {
        match text {
            "warn" => Some(OnSaveError::Warn),
            "fail" => Some(OnSaveError::Fail),
            _ => None,
        }
    }
}

impl NamedChoice for OnSummaryFailure {
    fn named(text: &str) -> Option<Self> {
        match text {
            "abort" => Some(OnSummaryFailure::Abort),
            "placeholder" => Some(OnSummaryFailure::Placeholder),
            _ => None,
        }
    }
}

impl NamedChoice for ProviderKind {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::KEYS;
    use crate::config::shape::ValueShape;

    fn all_named<T: NamedChoice>(name: &str) -> bool {
        let key = KEYS.iter().find(|key| key.name == name).unwrap();
        let ValueShape::Choice(choices) = key.shape else { panic!("`{name}` has no choices") };
        choices.iter().all(|choice| T::named(choice).is_some())
    }

    #[test]
    fn every_choice_that_is_read_has_a_value() {
        let outcomes = [
            all_named::<ProjectScope>("project.scope"),
            all_named::<StartDefault>("start.default"),
            all_named::<OnSaveError>("persistence.on_error"),
            all_named::<OnSummaryFailure>("compact.on_summary_failure"),
            all_named::<ProviderKind>("providers.<name>.kind"),
        ];

        assert_eq!(outcomes, [true; 5]);
    }
}
