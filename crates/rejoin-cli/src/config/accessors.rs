//! One method per key, with the type its readers need.
//!
//! The key table gives every key read here a default and a shape, so the value is there and of that type.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing::level_filters::LevelFilter;

use crate::config::Config;
use crate::config::choices::{Choice, OnError, OnSummaryFailure, Retention, Scope, Start};
use crate::config::value::Value;

impl Config {
    /// The project's directory, with symbolic links resolved.
    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    /// The project's own configuration file, whether or not it exists.
    pub(crate) fn project_file(&self) -> &Path {
        &self.project_file
    }

    /// The store's URL; a path in it is absolute.
    pub(crate) fn store(&self) -> &str {
        self.text("store")
    }

    pub(crate) fn provider(&self) -> Option<&str> {
        self.optional_text("provider")
    }

    pub(crate) fn project_scope(&self) -> Scope {
        self.choice("project.scope")
    }

    pub(crate) fn start_default(&self) -> Start {
        self.choice("start.default")
    }

    pub(crate) fn persistence_enabled(&self) -> bool {
        self.boolean("persistence.enabled")
    }

    pub(crate) fn persistence_on_error(&self) -> OnError {
        self.choice("persistence.on_error")
    }

    pub(crate) fn retention(&self) -> Retention {
        Retention::from_value(self.value("retention.days")).expect("the shape was checked when it was read")
    }

    pub(crate) fn retention_notice_days(&self) -> u64 {
        self.number("retention.notice_days")
    }

    pub(crate) fn retention_max_per_project(&self) -> u64 {
        self.number("retention.max_per_project")
    }

    pub(crate) fn clean_older_than_days(&self) -> u64 {
        self.number("clean.older_than_days")
    }

    pub(crate) fn export_directory(&self) -> PathBuf {
        PathBuf::from(self.text("export.directory"))
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

    pub(crate) fn auto_pause_minutes(&self) -> u64 {
        self.number("session.auto_pause_minutes")
    }

    pub(crate) fn compact_threshold(&self) -> f64 {
        match self.value("compact.threshold") {
            Value::Fraction(fraction) => *fraction,
            other => unreachable!("the shape was checked when it was read: {other:?}"),
        }
    }

    pub(crate) fn compact_user_tokens(&self) -> u64 {
        self.number("compact.user_tokens")
    }

    pub(crate) fn compact_on_summary_failure(&self) -> OnSummaryFailure {
        self.choice("compact.on_summary_failure")
    }

    pub(crate) fn compact_model(&self) -> Option<&str> {
        self.optional_text("compact.model")
    }

    pub(crate) fn vault_quarantine_days(&self) -> u64 {
        self.number("vault.quarantine_days")
    }

    pub(crate) fn git_commit_sessions(&self) -> bool {
        self.boolean("git.commit_sessions")
    }

    pub(crate) fn git_allow_plaintext(&self) -> bool {
        self.boolean("git.allow_plaintext")
    }

    pub(crate) fn tools_allow(&self) -> &[String] {
        self.texts("tools.allow")
    }

    pub(crate) fn tools_ask(&self) -> &[String] {
        self.texts("tools.ask")
    }

    pub(crate) fn tools_deny(&self) -> &[String] {
        self.texts("tools.deny")
    }

    pub(crate) fn redact_enabled(&self) -> bool {
        self.boolean("redact.enabled")
    }

    pub(crate) fn redact_pii(&self) -> &[String] {
        self.texts("redact.pii")
    }

    pub(crate) fn redact_extra_patterns(&self) -> &[String] {
        self.texts("redact.extra_patterns")
    }

    pub(crate) fn server_listen(&self) -> SocketAddr {
        self.text("server.listen").parse().expect("the shape was checked when it was read")
    }

    pub(crate) fn log(&self) -> LevelFilter {
        self.text("log").parse().expect("the choices are the names of the levels")
    }

    fn value(&self, name: &str) -> &Value {
        &self.setting(name).expect("the key has a default").value
    }

    fn boolean(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Boolean(value) => *value,
            other => unreachable!("`{name}` was checked when it was read: {other:?}"),
        }
    }

    fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Integer(value) | Value::Bytes(value) => *value,
            other => unreachable!("`{name}` was checked when it was read: {other:?}"),
        }
    }

    fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(value) => value,
            other => unreachable!("`{name}` was checked when it was read: {other:?}"),
        }
    }

    fn optional_text(&self, name: &str) -> Option<&str> {
        self.setting(name).is_some().then(|| self.text(name))
    }

    fn texts(&self, name: &str) -> &[String] {
        match self.value(name) {
            Value::Texts(values) => values,
            other => unreachable!("`{name}` was checked when it was read: {other:?}"),
        }
    }

    fn choice<T: Choice>(&self, name: &str) -> T {
        T::named(self.text(name)).expect("the choices in the key table are the names of the type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Overrides;
    use crate::surroundings::Surroundings;

    /// Calls every method, so that none of them can disagree with the key table unnoticed.
    #[test]
    fn the_defaults_are_what_the_documents_say() {
        let config = Config::built_in(&Surroundings::imagined(&[]), &Overrides::default()).unwrap();

        let texts = [config.store(), config.server_listen().to_string().as_str()].map(str::to_owned);
        let numbers = [
            config.retention_notice_days(),
            config.retention_max_per_project(),
            config.clean_older_than_days(),
            config.turn_bytes(),
            config.conversation_bytes(),
            config.attachment_chunk_bytes(),
            config.wait().as_secs(),
            config.auto_pause_minutes(),
            config.compact_user_tokens(),
            config.vault_quarantine_days(),
        ];
        let switches = [
            config.persistence_enabled(),
            config.redact_enabled(),
            config.git_commit_sessions(),
            config.git_allow_plaintext(),
        ];
        let lists = [
            config.tools_allow(),
            config.tools_ask(),
            config.tools_deny(),
            config.redact_pii(),
            config.redact_extra_patterns(),
        ];
        let choices = (
            config.project_scope(),
            config.start_default(),
            config.persistence_on_error(),
            config.compact_on_summary_failure(),
            config.retention(),
            config.log(),
        );
        let unset = (config.provider(), config.compact_model());

        assert_eq!(texts, ["sqlite:/home/ada/.local/share/rejoin/rejoin.db", "127.0.0.1:7171"]);
        assert_eq!(numbers, [5, 100, 7, 10_000_000, 1 << 30, 1 << 20, 10, 5, 20_000, 7]);
        assert_eq!(switches, [true, true, false, false]);
        assert_eq!(lists, [&[] as &[String]; 5]);
        let expected = (
            Scope::Repository,
            Start::New,
            OnError::Warn,
            OnSummaryFailure::Abort,
            Retention::Days(30),
            LevelFilter::OFF,
        );
        assert_eq!(choices, expected);
        assert_eq!(unset, (None, None));
        assert_eq!(
            (config.compact_threshold(), config.export_directory()),
            (0.8, "/home/ada/Downloads".into())
        );
    }
}
