//! The keyring of the system, which keeps keys for the user who is logged in.
//!
//! It is asked on a thread of its own, with a limit: a keyring that waits for somebody to unlock it must
//! not hang a program that nobody watches.

use std::time::Duration;

use rejoin::vault::{Secret, SlotId, VaultId};

use crate::error::{Failure, Kind};
use crate::surroundings::Surroundings;

/// How long a keyring may take where nobody can be asked to unlock it.
const UNWATCHED: Duration = Duration::from_millis(900);

/// How long a person may take to unlock it.
const WATCHED: Duration = Duration::from_secs(60);

/// One thing that the keyring keeps.
#[derive(Clone, Debug)]
pub(crate) struct KeyringEntry {
    /// What it is found by, beside that it is ours.
    attributes: Vec<(&'static str, String)>,
    /// What people see in the system's own program.
    label: String,
    /// What it is, in a message.
    what: String,
}

impl KeyringEntry {
    /// The key of a provider.
    pub(crate) fn provider(name: &str) -> Self {
        Self {
            attributes: vec![("provider", name.to_owned())],
            label: format!("Rejoin: key of {name}"),
            what: format!("the key of `{name}`"),
        }
    }

    /// The secret of a slot of a vault.
    pub(crate) fn slot(vault: VaultId, slot: SlotId) -> Self {
        Self {
            attributes: vec![("vault", vault.to_string()), ("slot", slot.to_string())],
            label: format!("Rejoin: vault {vault}"),
            what: format!("the secret of slot `{slot}`"),
        }
    }
}

/// The keyring of the system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyring {
    patience: Duration,
}

impl Keyring {
    /// The keyring as it can be asked here: on a desktop a person may have to unlock it.
    pub(crate) fn of(surroundings: &Surroundings) -> Self {
        let is_desktop =
            ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| surroundings.variable(name).is_some());
        Self { patience: if is_desktop { WATCHED } else { UNWATCHED } }
    }

    /// What an entry holds; none when there is no such entry.
    pub(crate) fn read(self, entry: &KeyringEntry) -> Result<Option<String>, Unusable> {
        let wanted = entry.clone();
        self.ask(format!("look for {} in the keyring", entry.what), move || service::read(&wanted))
    }

    /// Keeps a text in an entry in place of an older one.
    pub(crate) fn write(self, entry: &KeyringEntry, text: Secret) -> Result<(), Unusable> {
        let wanted = entry.clone();
        self.ask(format!("keep {} in the keyring", entry.what), move || {
            service::write(&wanted, text.as_bytes())
        })
    }

    /// Removes an entry. Answers whether there was one.
    pub(crate) fn remove(self, entry: &KeyringEntry) -> Result<bool, Unusable> {
        let wanted = entry.clone();
        self.ask(format!("remove {} from the keyring", entry.what), move || service::remove(&wanted))
    }

    fn ask<T: Send + 'static>(
        self,
        attempt: String,
        work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Unusable> {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || drop(tell.send(work())));
        let Trouble { reach, why } = match told.recv_timeout(self.patience) {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(trouble)) => trouble,
            Err(_) => {
                Trouble::from(format!("it did not answer within {:.0?}; it may be locked", self.patience))
            }
        };
        Err(Unusable { attempt, why, reach })
    }
}

/// A keyring that cannot be used here.
#[derive(Clone, Debug)]
pub(crate) struct Unusable {
    pub(crate) attempt: String,
    pub(crate) why: String,
    pub(crate) reach: KeyringReach,
}

/// Whether a keyring that cannot be used is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyringReach {
    /// There is one, which may answer the next time.
    Silent,
    /// This machine has none.
    Absent,
}

/// Why a keyring did not do what it was asked.
#[derive(Debug)]
struct Trouble {
    reach: KeyringReach,
    why: String,
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self { reach: KeyringReach::Silent, why }
    }
}

impl From<Unusable> for Failure {
    fn from(unusable: Unusable) -> Self {
        let kind = if cfg!(feature = "keyring") { Kind::Unavailable } else { Kind::Unsupported };
        Failure::new(kind, unusable.attempt).because(unusable.why)
    }
}

/// The secret service of a Linux desktop, over D-Bus.
#[cfg(all(feature = "keyring", target_os = "linux"))]
mod service {
    use std::collections::HashMap;

    use secret_service::blocking::{Collection, Item, SecretService};
    use secret_service::{EncryptionType, Error};

    use super::{KeyringEntry, KeyringReach, Trouble};

    /// What an item of ours is found by.
    fn attributes(entry: &KeyringEntry) -> HashMap<&str, &str> {
        let own = entry.attributes.iter().map(|(name, value)| (*name, value.as_str()));
        std::iter::once(("application", "rejoin")).chain(own).collect()
    }

    pub(super) fn read(entry: &KeyringEntry) -> Result<Option<String>, Trouble> {
        let service = connect()?;
        let items = found(&service, entry)?;
        let Some(item) = items.first() else { return Ok(None) };
        let secret = item.get_secret().map_err(|error| told(&error))?;
        String::from_utf8(secret).map(Some).map_err(|_| "what it holds is not text".to_owned().into())
    }

    pub(super) fn write(entry: &KeyringEntry, text: &[u8]) -> Result<(), Trouble> {
        let service = connect()?;
        let collection = service.get_default_collection().map_err(|error| match error {
            Error::NoResult => {
                "it has no default collection; create one in the system's password program".to_owned().into()
            }
            error => told(&error),
        })?;
        unlock(&collection).map_err(|error| told(&error))?;
        let made = collection.create_item(&entry.label, attributes(entry), text, true, "text/plain");
        made.map(drop).map_err(|error| told(&error))
    }

    pub(super) fn remove(entry: &KeyringEntry) -> Result<bool, Trouble> {
        let service = connect()?;
        let items = found(&service, entry)?;
        for item in &items {
            item.delete().map_err(|error| told(&error))?;
        }
        Ok(!items.is_empty())
    }

    fn connect() -> Result<SecretService<'static>, Trouble> {
        let absent = |error: Error| Trouble { reach: KeyringReach::Absent, ..told(&error) };
        SecretService::connect(EncryptionType::Dh).map_err(absent)
    }

    /// The items of an entry, unlocked.
    fn found<'a>(service: &'a SecretService<'a>, entry: &KeyringEntry) -> Result<Vec<Item<'a>>, Trouble> {
        let found = service.search_items(attributes(entry)).map_err(|error| told(&error))?;
        for item in &found.locked {
            item.unlock().map_err(|error| told(&error))?;
        }
        Ok(found.unlocked.into_iter().chain(found.locked).collect())
    }

    fn unlock(collection: &Collection<'_>) -> Result<(), Error> {
        if collection.is_locked()? { collection.unlock() } else { Ok(()) }
    }

    fn told(error: &Error) -> Trouble {
        let why = match error {
            Error::Unavailable | Error::Zbus(_) | Error::ZbusFdo(_) => {
                "no keyring service answers on this machine".to_owned()
            }
            Error::Locked => "it is locked".to_owned(),
            Error::Prompt => "unlocking it was refused".to_owned(),
            error => error.to_string(),
        };
        Trouble::from(why)
    }
}

#[cfg(not(all(feature = "keyring", target_os = "linux")))]
mod service {
    use super::{KeyringEntry, KeyringReach, Trouble};

    const WHY: &str = "this build cannot use a keyring: it was made without the feature `keyring`";

    pub(super) fn read(_entry: &KeyringEntry) -> Result<Option<String>, Trouble> {
        Err(Trouble { reach: KeyringReach::Absent, why: WHY.to_owned() })
    }

    pub(super) fn write(_entry: &KeyringEntry, _text: &[u8]) -> Result<(), Trouble> {
        Err(Trouble { reach: KeyringReach::Absent, why: WHY.to_owned() })
    }

    pub(super) fn remove(_entry: &KeyringEntry) -> Result<bool, Trouble> {
        Err(Trouble { reach: KeyringReach::Absent, why: WHY.to_owned() })
    }
}
