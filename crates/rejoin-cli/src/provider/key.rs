//! Where the key of a provider is. It is never shown, and never an argument of a program.

use rejoin_agent::{Api, ApiKey, KeySource};

use crate::context::Context;
use crate::error::Failure;
use crate::provider::{Keyring, KeyringEntry, KnownProvider};

/// Where a key was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// In this variable.
    Variable(String),
    /// A command prints it; it is not run to find out.
    Command,
    /// In the keyring of the system.
    Keyring,
    /// Nowhere, and none is needed.
    NotNeeded,
    /// Nowhere.
    Missing,
}

/// A key, or the places that were looked at in vain.
#[derive(Debug)]
pub(crate) struct FoundKey {
    pub(crate) place: KeyPlace,
    pub(crate) source: KeySource,
    /// Why the keyring could not be asked, when it was.
    pub(crate) keyring: Option<String>,
}

/// Looks for a provider's key: in its variable, its command, the keyring.
pub(crate) fn find_key(context: &Context, known: &KnownProvider) -> Result<FoundKey, Failure> {
    KeyFinder::new(context).find(known)
}

/// Looks for the keys of several providers. A keyring that did not answer is not asked again.
#[derive(Debug)]
pub(crate) struct KeyFinder<'a> {
    context: &'a Context,
    /// Why the keyring cannot be used, once that is known.
    pub(crate) trouble: Option<String>,
}

impl<'a> KeyFinder<'a> {
    pub(crate) const fn new(context: &'a Context) -> Self {
        Self { context, trouble: None }
    }

    pub(crate) fn find(&mut self, known: &KnownProvider) -> Result<FoundKey, Failure> {
        let found = |place, source| Ok(FoundKey { place, source, keyring: None });
        let here = &self.context.surroundings;
        let set = known.key_variable.as_deref().and_then(|name| Some((name, here.variable(name)?)));
        if let Some((name, value)) = set {
            let key = read(&value.to_string_lossy(), known, &format!("the variable `{name}`"))?;
            return found(KeyPlace::Variable(name.to_owned()), KeySource::Value(key));
        }
        if let Some(command) = &known.key_command {
            let source = KeySource::Command(command.clone(), self.context.environment());
            return found(KeyPlace::Command, source);
        }
        if known.api == Api::Offline {
            return found(KeyPlace::NotNeeded, KeySource::None);
        }
        let place = if known.needs_key { KeyPlace::Missing } else { KeyPlace::NotNeeded };
        if self.trouble.is_none() {
            match Keyring::of(here).read(&KeyringEntry::provider(&known.name)) {
                Ok(Some(text)) => {
                    return found(KeyPlace::Keyring, KeySource::Value(read(&text, known, "the keyring")?));
                }
                Ok(None) => {}
                Err(unusable) => self.trouble = Some(unusable.why),
            }
        }
        Ok(FoundKey { place, source: KeySource::None, keyring: self.trouble.clone() })
    }
}

/// Says which key a provider did not accept, and how to replace it. Every other failure stays as it is.
pub(crate) fn explain_key(context: &Context, name: &str, failure: Failure) -> Failure {
    let Some(known) = KnownProvider::named(&context.config, name).filter(|_| failure.is_about_key()) else {
        return failure;
    };
    let store = format!("run `rejoin auth set {name}`");
    let (key, hint) = match find_key(context, &known).map(|found| found.place) {
        Ok(KeyPlace::Variable(variable)) => {
            (format!("the key in `{variable}`"), format!("correct `{variable}`, or unset it and {store}"))
        }
        Ok(KeyPlace::Keyring) => ("the key in the keyring".to_owned(), format!("{store} to replace it")),
        // The command may have failed itself.
        Ok(KeyPlace::Command) => {
            return failure
                .or_hint(format!("correct `providers.{name}.api_key_command`, or remove it and {store}"));
        }
        Ok(KeyPlace::NotNeeded | KeyPlace::Missing) => ("a request without a key".to_owned(), store),
        Err(_) => return failure.or_hint(store),
    };
    failure.during(format!("`{name}` does not accept {key}")).hint(hint)
}

fn read(text: &str, known: &KnownProvider, place: &str) -> Result<ApiKey, Failure> {
    ApiKey::new(text).map_err(|error| {
        Failure::from(error).during(format!("read the key of `{}` from {place}", known.name))
    })
}

/// What to do where there is no keyring.
pub(crate) fn keyring_hint(name: &str) -> String {
    format!(
        "name a variable that holds the key with `rejoin config set providers.{name}.api_key_env NAME`, or a command \
         that prints it with `rejoin config set providers.{name}.api_key_command COMMAND`"
    )
}

impl KeyPlace {
    /// The place in a few words.
    pub(crate) fn told(&self) -> String {
        match self {
            KeyPlace::Variable(name) => format!("variable {name}"),
            KeyPlace::Command => "command".to_owned(),
            KeyPlace::Keyring => "keyring".to_owned(),
            KeyPlace::NotNeeded => "not needed".to_owned(),
            KeyPlace::Missing => "missing".to_owned(),
        }
    }

    /// The place as scripts see it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            KeyPlace::Variable(_) => "variable",
            KeyPlace::Command => "command",
            KeyPlace::Keyring => "keyring",
            KeyPlace::NotNeeded => "not needed",
            KeyPlace::Missing => "missing",
        }
    }
}
