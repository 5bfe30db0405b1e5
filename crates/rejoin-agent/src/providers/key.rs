//! Keys of providers: where they come from, and that they are never shown.
//!
//! A key lives in memory only. It has no `Display`, its `Debug` says `[redacted]`, and [`ApiKey::redact`]
//! takes it out of text that a server sent back.

use std::fmt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderValue;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};

/// A command may ask a person to unlock something, so it gets a while.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// How much of a failed command's own words an error shows.
const SHOWN: usize = 1000;

const REDACTED: &str = "[redacted]";

/// A provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes a key, without the white space around it. One that is empty or
    /// that no header can carry is invalid.
    pub fn new(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "the key is empty"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::new(ErrorKind::Invalid, "the key holds characters that no key has"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The value of the header that carries it, marked so that no log shows it.
    pub(super) fn header(&self, scheme: &str) -> HeaderValue {
        let mut value =
            HeaderValue::try_from(format!("{scheme}{}", self.0)).expect("a key is printable ASCII");
        value.set_sensitive(true);
        value
    }

    /// The text without the key.
    pub(super) fn redact(&self, text: &str) -> String {
        text.replace(&self.0, REDACTED)
    }

    /// True when the text shows the key.
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.contains(&self.0)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Asks for a key when it is needed, for instance in a keyring. It may block.
pub type KeyLookup = dyn Fn() -> Result<ApiKey> + Send + Sync;

/// Where a provider's key comes from.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum KeySource {
    /// There is none, and the provider needs none.
    #[default]
    None,
    /// The caller has it.
    Value(ApiKey),
    /// A line for `sh` that prints the key, and what it sees of the environment. It runs when a key is first
    /// needed, and once more if that is not accepted.
    Command(String, Environment),
    /// A function that knows it, called as often as a command is run.
    Lookup(Arc<KeyLookup>),
}

/// Shows which kind of source, and nothing that could be a key.
impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Value(_) => "Value([redacted])",
            Self::Command(..) => "Command([redacted])",
            Self::Lookup(_) => "Lookup",
        })
    }
}

/// A source and the key it last gave.
#[derive(Debug)]
pub(super) struct RememberedKey {
    source: KeySource,
    known: Mutex<Option<ApiKey>>,
    command_limit: Duration,
}

impl RememberedKey {
    pub(super) fn new(source: KeySource) -> Self {
        Self { source, known: Mutex::new(None), command_limit: COMMAND_LIMIT }
    }

    /// True when requests go out with a key.
    pub(super) fn is_some(&self) -> bool {
        !matches!(self.source, KeySource::None)
    }

    /// True when asking again may give another key.
    pub(super) fn can_change(&self) -> bool {
        matches!(self.source, KeySource::Command(..) | KeySource::Lookup(_))
    }

    /// The key, asked for once and then remembered.
    pub(super) async fn key(&self) -> Result<Option<ApiKey>> {
        let mut known = self.known.lock().await;
        if known.is_none() {
            *known = match &self.source {
                KeySource::None => None,
                KeySource::Value(key) => Some(key.clone()),
                KeySource::Command(line, environment) => {
                    Some(run(line, environment, self.command_limit).await?)
                }
                KeySource::Lookup(lookup) => Some(look_up(lookup.clone()).await?),
            };
        }
        Ok(known.clone())
    }

    /// Forgets a key that was not accepted.
    pub(super) async fn forget(&self) {
        *self.known.lock().await = None;
    }
}

async fn look_up(lookup: Arc<KeyLookup>) -> Result<ApiKey> {
    let found = tokio::task::spawn_blocking(move || lookup()).await;
    found.map_err(|_| Error::new(ErrorKind::Unauthorized, "the lookup of the key broke off"))?
}

async fn run(line: &str, environment: &Environment, limit: Duration) -> Result<ApiKey> {
    let failed = |why: String| {
        Err(Error::new(ErrorKind::Unauthorized, "run the command that prints the key").because(why))
    };
    // The line is the user's own configuration and holds no key; what it prints
    // never reaches an argument list.
    let mut command = Command::from(environment.command("sh"));
    let output = command.arg("-c").arg(line).stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match tokio::time::timeout(limit, output).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return failed(error.to_string()),
        Err(_) => return failed(format!("it took longer than {} seconds", limit.as_secs())),
    };
    let key = ApiKey::new(&String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let words = key.map_or_else(|_| words.clone(), |key| key.redact(&words));
        let words: String = words.trim().chars().take(SHOWN).collect();
        return failed(format!("{}: {words}", output.status));
    }
    key.or_else(|error| failed(format!("what it printed cannot be a key: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const PLANTED: &str = "sk-planted-0123456789";

    #[test]
    fn nothing_that_holds_a_key_shows_it() {
        let key = ApiKey::new(PLANTED).unwrap();
        let command = KeySource::Command(format!("echo {PLANTED}"), Environment::default());
        let held = RememberedKey {
            known: Mutex::new(Some(key.clone())),
            ..RememberedKey::new(KeySource::Value(key.clone()))
        };
        let shown = format!("{key:?} {command:?} {held:?} {:?}", key.header("Bearer "));

        assert!(!shown.contains("planted"), "{shown}");
        assert_eq!(key.redact("you sent `sk-planted-0123456789`"), "you sent `[redacted]`");
    }

    #[test]
    fn what_no_header_can_carry_is_not_a_key_and_is_not_shown() {
        let errors = ["", "  \n", "sk-planted a", "sk-planted\nb", "sk-planted\u{e9}"]
            .map(|text| ApiKey::new(text).unwrap_err());

        assert!(errors.iter().all(|error| error.kind() == ErrorKind::Invalid));
        assert!(!format!("{errors:?}").contains("planted"));
    }

    #[tokio::test]
    async fn a_command_is_run_once_until_its_key_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let count = directory.path().join("count");
        let line = format!("echo x >> {0}; echo sk-$(wc -l < {0})", count.display());
        let keys = RememberedKey::new(KeySource::Command(line, Environment::default()));

        let first = keys.key().await.unwrap();
        let second = keys.key().await.unwrap();
        keys.forget().await;
        let third = keys.key().await.unwrap();

        let expected = ["sk-1", "sk-1", "sk-2"].map(|text| Some(ApiKey::new(text).unwrap()));
        assert_eq!([first, second, third], expected);
    }

    #[tokio::test]
    async fn a_lookup_is_asked_once_until_its_key_is_forgotten() {
        let asked = Arc::new(AtomicU32::new(0));
        let counter = asked.clone();
        let lookup = move || ApiKey::new(&format!("sk-{}", counter.fetch_add(1, Ordering::SeqCst)));
        let keys = RememberedKey::new(KeySource::Lookup(Arc::new(lookup)));

        keys.key().await.unwrap();
        keys.key().await.unwrap();
        keys.forget().await;

        assert_eq!(keys.key().await.unwrap(), Some(ApiKey::new("sk-1").unwrap()));
    }

    #[tokio::test]
    async fn a_failed_command_says_why_without_the_key() {
        let line = format!("echo {PLANTED}; echo 'locked: {PLANTED}' >&2; exit 3");
        let keys = RememberedKey::new(KeySource::Command(line, Environment::default()));

        let error = keys.key().await.unwrap_err();

        let expected =
            "[Unauthorized] run the command that prints the key: exit status: 3: locked: [redacted]";
        assert_eq!(format!("{error:?}"), expected);
    }

    #[tokio::test]
    async fn a_command_that_prints_no_key_says_so() {
        let keys = RememberedKey::new(KeySource::Command(
            "echo sk-planted and more".to_owned(),
            Environment::default(),
        ));

        let error = keys.key().await.unwrap_err();

        let expected = "[Unauthorized] run the command that prints the key: what it printed cannot be a key: the key holds characters that no key has";
        assert_eq!(format!("{error:?}"), expected);
    }

    #[tokio::test]
    async fn a_command_that_does_not_end_is_given_up() {
        let keys = RememberedKey {
            command_limit: Duration::from_millis(50),
            ..RememberedKey::new(KeySource::Command("sleep 600".to_owned(), Environment::default()))
        };

        let error = keys.key().await.unwrap_err();

        let expected = "[Unauthorized] run the command that prints the key: it took longer than 0 seconds";
        assert_eq!(format!("{error:?}"), expected);
    }
}
