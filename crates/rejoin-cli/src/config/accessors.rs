//! One method per key, with the type its readers need.
//!
//! The key table gives every key read here a default and a shape, so the value is there and of that type.

use std::path::Path;
use std::time::Duration;

use rejoin::Retention;
use tracing::level_filters::LevelFilter;

use crate::config::Config;
use crate::config::choices::{NamedChoice, OnSaveError, OnSummaryFailure, ProjectScope, StartDefault};
use crate::config::origin::{Setting, ValueOrigin};
use crate::config::value::ConfigValue;

/// The lowest limit on the number of conversations that `retention.accepted` covers: the default.
const COVERED: u64 = 100;

impl Config {
    /// The project's directory, with symbolic links resolved.
    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    /// The project's own configuration file, whether or not it exists.
    pub(crate) fn project_file(&self) -> &Path {
        &self.project_file
    }

    /// The directory that the project's own file lies in. With `project.scope = "directory"` in that file,
    /// the project itself may be a directory below.
    pub(crate) fn project_root(&self) -> &Path {
        self.project_file.ancestors().nth(2).unwrap_or(&self.project)
    }

    /// The directory that the project was looked for from, with symbolic links resolved.
    pub(crate) fn start(&self) -> &Path {
        &self.start
    }

    /// The store's URL; a path in it is absolute.
    pub(crate) fn store(&self) -> &str {
        self.text("store")
    }

    /// The provider of a new conversation, if one is chosen.
    pub(crate) fn provider(&self) -> Option<&str> {
        self.optional_text("provider")
    }

    pub(crate) fn project_scope(&self) -> ProjectScope {
        self.choice("project.scope")
    }

    /// What talking begins with when no flag says so.
    pub(crate) fn start_default(&self) -> StartDefault {
        self.choice("start.default")
    }

    /// Whether the `.session/` files of a conversation that is left are written below its project.
    pub(crate) fn writes_session_files(&self) -> bool {
        self.boolean("session.files")
    }

    /// Whether a conversation that is left is committed to the repository.
    pub(crate) fn commits_sessions(&self) -> bool {
        self.boolean("git.commit_sessions")
    }

    /// Whether what a vault keeps may be committed, which is in the clear.
    pub(crate) fn allows_plaintext(&self) -> bool {
        self.boolean("git.allow_plaintext")
    }

    /// Whether what is damaged is an error instead of a warning.
    pub(crate) fn is_strict(&self) -> bool {
        self.boolean("store.strict")
    }

    pub(crate) fn persistence_enabled(&self) -> bool {
        self.boolean("persistence.enabled")
    }

    /// What to do when a turn cannot be kept.
    pub(crate) fn on_save_error(&self) -> OnSaveError {
        self.choice("persistence.on_error")
    }

    pub(crate) fn clean_older_than_days(&self) -> u64 {
        self.number("clean.older_than_days")
    }

    /// How long the conversations of this project are kept. All of them, while
    /// what the user trusted does not count.
    pub(crate) fn retention(&self) -> Retention {
        if self.lapsed.is_some() {
            return Retention { days: None, max_per_project: None };
        }
        let days = match self.value("retention.days") {
            ConfigValue::Integer(days) => u32::try_from(*days).ok(),
            _ => None,
        };
        Retention { days, max_per_project: Some(self.number("retention.max_per_project")) }
    }

    /// True when the user accepted the policy with `retention.accepted`. It covers the limit on the number
    /// down to the default: a lower one deletes more than the days say, so it is shown first. A project
    /// cannot accept a policy for its user.
    pub(crate) fn accepts_retention(&self) -> bool {
        let Some(accepted) = self.users_own(self.setting("retention.accepted")) else { return false };
        let retention = self.retention();
        let is_low = retention.max_per_project.is_some_and(|most| most < COVERED);
        retention.days.is_some() && accepted.value == *self.value("retention.days") && !is_low
    }

    /// True when the configuration says how long conversations are kept, or accepts how long that is.
    pub(crate) fn decides_retention(&self) -> bool {
        let is_set = |setting: &Setting| setting.origin != ValueOrigin::Default;
        self.users_own(self.setting("retention.accepted")).is_some()
            || self.setting("retention.days").is_some_and(is_set)
    }

    /// The setting, unless the project's file made it.
    fn users_own<'a>(&self, setting: Option<&'a Setting>) -> Option<&'a Setting> {
        let is_users = |setting: &&Setting| match &setting.origin {
            ValueOrigin::File { path, .. } => *path != self.project_file,
            ValueOrigin::Default | ValueOrigin::Variable(_) | ValueOrigin::Flag(_) => true,
        };
        setting.filter(is_users)
    }

    /// How many days ahead it is told that a conversation expires.
    pub(crate) fn retention_notice_days(&self) -> u32 {
        u32::try_from(self.number("retention.notice_days")).unwrap_or(u32::MAX)
    }

    /// How many days a record that does not open stays in quarantine.
    pub(crate) fn quarantine_days(&self) -> u32 {
        u32::try_from(self.number("vault.quarantine_days")).unwrap_or(u32::MAX)
    }

    /// After how many changes a plain file is written anew.
    pub(crate) fn repack_every(&self) -> u32 {
        u32::try_from(self.number("vault.repack_every")).unwrap_or(u32::MAX)
    }

    /// Where exports are written unless another place is named.
    pub(crate) fn export_directory(&self) -> &Path {
        Path::new(self.text("export.directory"))
    }

    pub(crate) fn turn_bytes(&self) -> u64 {
        self.number("limits.turn_bytes")
    }

    pub(crate) fn conversation_bytes(&self) -> u64 {
        self.number("limits.conversation_bytes")
    }

    pub(crate) fn attachment_chunk_bytes(&self) -> u64 {
        self.number("limits.attachment_chunk_bytes")
    }

    /// How long to wait while another program writes.
    pub(crate) fn wait(&self) -> Duration {
        Duration::from_secs(self.number("limits.wait_seconds"))
    }

    /// How long nothing may be said until a conversation counts as paused.
    pub(crate) fn auto_pause(&self) -> Duration {
        Duration::from_secs(60 * self.number("session.auto_pause_minutes"))
    }

    /// The part of the context window above which a conversation is compacted by itself.
    pub(crate) fn compact_threshold(&self) -> f64 {
        match self.value("compact.threshold") {
            ConfigValue::Fraction(value) => *value,
            other => unreachable!("`compact.threshold` was checked when it was read: {other:?}"),
        }
    }

    /// Tokens of the user's own messages that compaction keeps.
    pub(crate) fn compact_user_tokens(&self) -> u64 {
        self.number("compact.user_tokens")
    }

    /// What to do when no summary can be had.
    pub(crate) fn on_summary_failure(&self) -> OnSummaryFailure {
        self.choice("compact.on_summary_failure")
    }

    /// The model that writes summaries, unless it is the conversation's own.
    pub(crate) fn compact_model(&self) -> Option<&str> {
        self.optional_text("compact.model")
    }

    /// The model that writes titles and synopses, if one is to be asked.
    pub(crate) fn summary_model(&self) -> Option<&str> {
        self.optional_text("summary.model")
    }

    /// Whether secrets are taken out before anything is stored.
    pub(crate) fn redact_enabled(&self) -> bool {
        self.boolean("redact.enabled")
    }

    /// Kinds of personal data that are taken out, too.
    pub(crate) fn redact_personal(&self) -> &[String] {
        self.texts("redact.pii")
    }

    /// Patterns of what is taken out, too.
    pub(crate) fn redact_patterns(&self) -> &[String] {
        self.texts("redact.extra_patterns")
    }

    /// Rules for tools that run without asking.
    pub(crate) fn tools_allow(&self) -> &[String] {
        self.texts("tools.allow")
    }

    /// Rules for tools that ask first.
    pub(crate) fn tools_ask(&self) -> &[String] {
        self.texts("tools.ask")
    }

    /// Rules for tools that never run.
    pub(crate) fn tools_deny(&self) -> &[String] {
        self.texts("tools.deny")
    }

    /// Whether the project's files are kept before a turn changes them.
    pub(crate) fn keeps_files(&self) -> bool {
        self.boolean("snapshots.files")
    }

    /// How long a command may run when the model does not say.
    pub(crate) fn tools_run_limit(&self) -> Duration {
        Duration::from_secs(self.number("tools.run_seconds"))
    }

    pub(crate) fn log(&self) -> LevelFilter {
        self.text("log").parse().expect("the choices are the names of the levels")
    }

    fn value(&self, name: &str) -> &ConfigValue {
        &self.setting(name).expect("the key has a default").value
    }

    /// The text of a key that has no default.
    fn optional_text(&self, name: &str) -> Option<&str> {
        match &self.setting(name)?.value {
            ConfigValue::Text(text) => Some(text),
            other => unreachable!("`{name}` was checked when it was read: {other:?}"),
        }
    }

    fn boolean(&self, name: &str) -> bool {
        match self.value(name) {
            ConfigValue::Boolean(value) => *value,
            other => unreachable!("`{name}` was checked when it was read: {other:?}"),
        }
    }

    fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            ConfigValue::Integer(value) | ConfigValue::Bytes(value) => *value,
            other => unreachable!("`{name}` was checked when it was read: {other:?}"),
        }
    }

    fn text(&self, name: &str) -> &str {
        match self.value(name) {
            ConfigValue::Text(value) => value,
            other => unreachable!("`{name}` was checked when it was read: {other:?}"),
        }
    }

    fn texts(&self, name: &str) -> &[String] {
        match self.value(name) {
            ConfigValue::Texts(values) => values,
            other => unreachable!("`{name}` was checked when it was read: {other:?}"),
        }
    }

    fn choice<T: NamedChoice>(&self, name: &str) -> T {
        T::named(self.text(name)).expect("the choices in the key table are the names of the type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigOverrides;
    use crate::surroundings::Surroundings;

    /// Calls every method, so that none of them can disagree with the key table unnoticed.
    #[test]
    fn the_defaults_are_what_the_documents_say() {
        let config = Config::built_in(&Surroundings::imagined(&[]), &ConfigOverrides::default()).unwrap();

        let numbers = [
            config.clean_older_than_days(),
            config.turn_bytes(),
            config.conversation_bytes(),
            config.attachment_chunk_bytes(),
            config.wait().as_secs(),
            config.auto_pause().as_secs(),
            config.tools_run_limit().as_secs(),
            config.compact_user_tokens(),
        ];
        assert_eq!(config.retention(), Retention { days: Some(30), max_per_project: Some(100) });
        assert_eq!((config.retention_notice_days(), config.quarantine_days()), (5, 7));
        assert_eq!(config.repack_every(), 5);
        let rules = [config.tools_allow(), config.tools_ask(), config.tools_deny()];
        let redaction = (config.redact_enabled(), config.redact_personal(), config.redact_patterns());
        let choices =
            (config.persistence_enabled(), config.project_scope(), config.start_default(), config.log());

        assert_eq!(config.on_save_error(), OnSaveError::Warn);
        let compaction = (config.compact_threshold(), config.on_summary_failure(), config.compact_model());
        assert_eq!(compaction, (0.8, OnSummaryFailure::Abort, None));
        assert_eq!(config.summary_model(), None);
        assert_eq!(config.store(), "sqlite:/home/ada/.local/share/rejoin/rejoin.db");
        assert_eq!(config.export_directory(), Path::new("/home/ada/Downloads"));
        assert_eq!(numbers, [7, 10_000_000, 1 << 30, 1 << 20, 10, 300, 120, 20_000]);
        assert_eq!(rules, [&[] as &[String]; 3]);
        assert_eq!(redaction, (true, &[] as &[String], &[] as &[String]));
        assert_eq!(choices, (true, ProjectScope::Repository, StartDefault::New, LevelFilter::OFF));
    }
}
