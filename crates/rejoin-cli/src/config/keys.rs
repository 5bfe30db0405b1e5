//! Every configuration key, in one table.
//!
//! Validation, `rejoin config list`, the file that `rejoin config edit` starts with and the documents all
//! come from here. A key that is not in the table does not exist.

use crate::config::shape::ValueShape;
use crate::suggest::nearest;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct ConfigKey {
    /// Dotted; `<name>` stands for a name of the user's choosing.
    pub(crate) name: &'static str,
    pub(crate) shape: ValueShape,
    /// As it would be written in a variable; `<data>` and `<downloads>` are directories of the machine.
    pub(crate) default: Option<&'static str>,
    pub(crate) about: &'static str,
    guard: Guard,
}

/// Whether the file of a project that the user does not trust may set a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Guard {
    /// It may: the key cannot run programs, send text elsewhere, open a port, delete
    /// history or keep it from being saved.
    Harmless,
    /// It may not, until the user has run `rejoin trust`. A key is guarded unless its row says otherwise.
    #[default]
    Trust,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

#[rustfmt::skip]
pub(crate) const KEYS: &[ConfigKey] = &[
    key("store", ValueShape::Store, Some("sqlite:<data>/rejoin.db"), "the URL of the store"),
    key("store.strict", ValueShape::Boolean, Some("false"), "treat damage as an error instead of a warning"),
    key("provider", ValueShape::Text, None, "the provider for new conversations"),
    key("project.scope", ValueShape::Choice(&["repository", "directory"]), Some("repository"), "what a project is: the repository, or exactly the working directory").harmless(),
    key("start.default", ValueShape::Choice(&["new", "continue"]), Some("new"), "how the prompt starts: a new conversation, or the latest one").harmless(),
    key("persistence.enabled", ValueShape::Boolean, Some("true"), "save conversations"),
    key("persistence.on_error", ValueShape::Choice(&["warn", "fail"]), Some("warn"), "what to do if a turn cannot be saved"),
    key("retention.days", ValueShape::DaysOrForever { least: 7, most: 180 }, Some("30"), "days until an inactive conversation expires"),
    key("retention.notice_days", ValueShape::Integer { least: 0, most: 180 }, Some("5"), "days of notice before a conversation expires"),
    key("retention.max_per_project", ValueShape::Integer { least: 1, most: 1_000_000 }, Some("100"), "maximum number of conversations per project"),
    key("retention.accepted", ValueShape::DaysOrForever { least: 7, most: 180 }, None, "the `retention.days` that you accept without confirming it in a terminal"),
    key("clean.older_than_days", ValueShape::Integer { least: 1, most: 3650 }, Some("7"), "minimum age of conversations that `rejoin clean` deletes"),
    key("export.directory", ValueShape::Directory, Some("<downloads>"), "the directory for exports"),
    key("limits.turn_bytes", ValueShape::Bytes { least: KIB, most: GIB }, Some("10 MB"), "maximum size of a turn"),
    key("limits.conversation_bytes", ValueShape::Bytes { least: MIB, most: TIB }, Some("1 GiB"), "maximum size of a conversation"),
    key("limits.attachment_chunk_bytes", ValueShape::Bytes { least: 4 * KIB, most: 64 * MIB }, Some("1 MiB"), "chunk size of stored attachments"),
    key("limits.wait_seconds", ValueShape::Integer { least: 0, most: 600 }, Some("10"), "seconds to wait for another program that writes"),
    key("session.auto_pause_minutes", ValueShape::Integer { least: 1, most: 1440 }, Some("5"), "minutes of inactivity after which a conversation is paused").harmless(),
    key("session.files", ValueShape::Boolean, Some("false"), "write `.session/` files to the project when a conversation is paused or completed"),
    key("compact.threshold", ValueShape::Fraction { least: 0.1, most: 1.0 }, Some("0.8"), "the fraction of the context window at which compaction starts"),
    key("compact.user_tokens", ValueShape::Integer { least: 0, most: 10_000_000 }, Some("20000"), "tokens of recent user messages that compaction keeps"),
    key("compact.on_summary_failure", ValueShape::Choice(&["abort", "placeholder"]), Some("abort"), "if the summary request fails: keep the history and warn, or use a placeholder"),
    key("compact.model", ValueShape::Text, None, "the model that writes summaries; default: the conversation's model"),
    key("summary.model", ValueShape::Text, None, "the model that writes titles and synopses; default: they are computed without a model"),
    key("vault.quarantine_days", ValueShape::Integer { least: 0, most: 365 }, Some("7"), "days until a record that cannot be decrypted is purged"),
    key("vault.repack_every", ValueShape::Integer { least: 0, most: 1000 }, Some("5"), "changes after which a conversation's plain file is rewritten without replaced data; 0 means never"),
    key("git.commit_sessions", ValueShape::Boolean, Some("false"), "commit conversations to the repository"),
    key("git.allow_plaintext", ValueShape::Boolean, Some("false"), "allow session files and commits of conversations in a vault, unencrypted"),
    key("tools.allow", ValueShape::Texts, Some("[]"), "tools that run without asking"),
    key("tools.ask", ValueShape::Texts, Some("[]"), "tools that ask before running"),
    key("tools.deny", ValueShape::Texts, Some("[]"), "tools that never run"),
    key("tools.run_seconds", ValueShape::Integer { least: 1, most: 3600 }, Some("120"), "time limit in seconds for commands, unless the model sets another"),
    key("snapshots.files", ValueShape::Boolean, Some("true"), "keep the project's files before a turn changes them, for `rejoin restore-files`"),
    key("mcp.servers.<name>.command", ValueShape::Text, None, "the command of an MCP server"),
    key("mcp.servers.<name>.arguments", ValueShape::Texts, None, "its arguments"),
    key("mcp.servers.<name>.environment", ValueShape::Variables, None, "its environment variables"),
    key("models.<name>.context_window", ValueShape::Integer { least: 1, most: 1_000_000_000 }, None, "size of the context window in tokens"),
    key("models.<name>.input_price", ValueShape::Fraction { least: 0.0, most: 1_000_000.0 }, None, "price per million input tokens"),
    key("models.<name>.output_price", ValueShape::Fraction { least: 0.0, most: 1_000_000.0 }, None, "price per million output tokens"),
    key("redact.enabled", ValueShape::Boolean, Some("true"), "remove secrets before storing"),
    key("redact.pii", ValueShape::Choices(&["email", "phone", "card"]), Some("[]"), "personal data to remove as well"),
    key("redact.extra_patterns", ValueShape::Patterns, Some("[]"), "regular expressions for more data to remove"),
    key("server.listen", ValueShape::Address, Some("127.0.0.1:7171"), "the address of `rejoin serve`"),
    key("providers.<name>.kind", ValueShape::Choice(&["anthropic", "openai-responses", "openai-chat", "offline"]), None, "the API that the provider implements"),
    key("providers.<name>.base_url", ValueShape::Text, None, "the address of its API"),
    key("providers.<name>.api_key_env", ValueShape::Text, None, "the environment variable with its API key"),
    key("providers.<name>.api_key_command", ValueShape::Text, None, "the command that prints its API key"),
    key("providers.<name>.model", ValueShape::Text, None, "the default model"),
    key("providers.<name>.context_window", ValueShape::Integer { least: 1, most: 1_000_000_000 }, None, "size of the model's context window in tokens"),
    key("providers.<name>.max_retries", ValueShape::Integer { least: 0, most: 20 }, None, "retries of a failed request"),
    key("providers.<name>.timeout_seconds", ValueShape::Integer { least: 1, most: 3600 }, None, "seconds without data until a request fails; default: 300"),
    key("log", ValueShape::Choice(&["off", "error", "warn", "info", "debug", "trace"]), Some("off"), "log level; the log never contains content"),
];

/// A row of the table. It is guarded: what a project that nobody trusts may set is marked one by one.
const fn key(
    name: &'static str,
    shape: ValueShape,
    default: Option<&'static str>,
    about: &'static str,
) -> ConfigKey {
    ConfigKey { name, shape, default, about, guard: Guard::Trust }
}

/// The parts of a key that a file names in quotes, because the first part of it is a key itself: `store` has
/// a value, so TOML cannot have `store.strict` beside it, but it can have `"store.strict"`.
pub(crate) fn quoted(name: &str) -> Option<impl Iterator<Item = &str>> {
    let (first, _) = name.split_once('.')?;
    let is_key = |wanted: &str| KEYS.iter().any(|key| key.name == wanted);
    (is_key(first) && is_key(name)).then(|| name.split('.'))
}

/// True for a key whose name is the beginning of others.
pub(crate) fn is_above_others(name: &str) -> bool {
    KEYS.iter().any(|key| key.name == name)
        && KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// What a dotted name means.
#[derive(Debug)]
pub(crate) enum KeyMeaning {
    /// A key, and the user's name in it if it has one.
    Key {
        key: &'static ConfigKey,
        member: Option<String>,
    },
    /// The beginning of some keys, such as `retention`.
    Group,
    Unknown,
}

/// Looks up a name that was split at its dots.
pub(crate) fn meaning_of<S: AsRef<str>>(segments: &[S]) -> KeyMeaning {
    let mut is_group = false;
    for key in KEYS {
        let mut pattern = key.name.split('.');
        let matches =
            segments.iter().all(|given| pattern.next().is_some_and(|wanted| fits(wanted, given.as_ref())));
        if matches && pattern.next().is_none() {
            let place = key.name.split('.').position(|part| part == "<name>");
            return KeyMeaning::Key { key, member: place.map(|place| segments[place].as_ref().to_owned()) };
        }
        is_group |= matches;
    }
    if is_group { KeyMeaning::Group } else { KeyMeaning::Unknown }
}

/// The name to offer for one that does not exist.
///
/// The user's own name in a family is carried over: `providers.local.url` offers `providers.local.base_url`.
pub(crate) fn suggestion_for<S: AsRef<str>>(segments: &[S]) -> Option<String> {
    if let Some(quoted) = with_quotes(segments) {
        return Some(quoted);
    }
    let written = dotted(segments);
    let candidates: Vec<String> = KEYS.iter().map(|key| with_names_of(key, segments)).collect();
    let whole = nearest(&written, candidates.iter().map(String::as_str));
    let by_last_word = || {
        let last = segments.last()?.as_ref();
        let mut ending = candidates.iter().filter(|name| name.rsplit('.').next() == Some(last));
        let only = ending.next()?;
        ending.next().is_none().then_some(only.as_str())
    };
    whole.or_else(by_last_word).map(str::to_owned)
}

/// The key that was meant when a name with dots or other signs stands in it without quotes.
fn with_quotes<S: AsRef<str>>(segments: &[S]) -> Option<String> {
    let written = segments.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(".");
    let (family, rest) = written.split_once('.')?;
    let (member, last) = rest.rsplit_once('.')?;
    let is_it = |key: &&ConfigKey| key.name == format!("{family}.<name>.{last}");
    let key = KEYS.iter().find(is_it).filter(|_| !is_bare(member) && is_member_name(member))?;
    Some(key.name_for(Some(member)))
}

/// Joins a name with dots, quoting the parts that need it.
pub(crate) fn dotted<S: AsRef<str>>(segments: &[S]) -> String {
    let quoted = segments.iter().map(|segment| {
        let segment = segment.as_ref();
        // Debug form escapes what could confuse a terminal, and is valid TOML
        // for everything accepted as a name.
        if is_bare(segment) { segment.to_owned() } else { format!("{segment:?}") }
    });
    quoted.collect::<Vec<_>>().join(".")
}

impl ConfigKey {
    /// The same key, which the file of any project may set.
    const fn harmless(self) -> Self {
        Self { guard: Guard::Harmless, ..self }
    }

    /// Whether a project's file may set it before the user has run `rejoin trust`.
    pub(crate) fn is_harmless(&self) -> bool {
        self.guard == Guard::Harmless
    }

    /// The key's name with the user's name in its place.
    pub(crate) fn name_for(&self, member: Option<&str>) -> String {
        match member {
            None => self.name.to_owned(),
            Some(member) => self.name.replace("<name>", &dotted(&[member])),
        }
    }
}

fn with_names_of<S: AsRef<str>>(key: &ConfigKey, segments: &[S]) -> String {
    let place = key.name.split('.').position(|part| part == "<name>");
    let member = place.and_then(|place| segments.get(place)).map(AsRef::as_ref);
    key.name_for(member)
}

fn fits(wanted: &str, given: &str) -> bool {
    if wanted == "<name>" { is_member_name(given) } else { wanted == given }
}

/// A name is shown in messages and lists, so it is kept short and printable.
pub(crate) fn is_member_name(name: &str) -> bool {
    (1..=100).contains(&name.len()) && name.chars().all(|letter| letter.is_ascii_graphic())
}

fn is_bare(segment: &str) -> bool {
    !segment.is_empty()
        && segment.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_met_with_the_right_name() {
        let cases = [
            ("retention.dayz", Some("retention.days")),
            ("retentionDays", Some("retention.days")),
            ("models.gpt-4.1.context_window", Some(r#"models."gpt-4.1".context_window"#)),
            ("models.llama3:8b.context_window", Some(r#"models."llama3:8b".context_window"#)),
            ("models.openai/gpt-5.input_price", Some(r#"models."openai/gpt-5".input_price"#)),
            ("providers.local.base-url", Some("providers.local.base_url")),
            ("limits.notice_days", Some("retention.notice_days")),
            ("weather", None),
        ];

        let found = cases.map(|(written, _)| suggestion_for(&written.split('.').collect::<Vec<_>>()));

        assert_eq!(found, cases.map(|(_, expected)| expected.map(str::to_owned)));
    }

    #[test]
    fn a_project_that_nobody_trusts_may_set_three_keys_and_no_other() {
        let harmless: Vec<&str> = KEYS.iter().filter(|key| key.is_harmless()).map(|key| key.name).collect();

        assert_eq!(harmless, ["project.scope", "start.default", "session.auto_pause_minutes"]);
    }

    #[test]
    fn a_key_that_is_added_is_guarded() {
        let added = key("weather", ValueShape::Text, None, "the weather");

        assert_eq!((added.guard, Guard::default()), (Guard::Trust, Guard::Trust));
    }

    #[test]
    fn no_two_keys_share_a_name() {
        let mut names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();

        assert_eq!(names.len(), count);
    }
}
