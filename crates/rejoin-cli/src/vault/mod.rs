//! Opening vaults from the command line: the keyring, key files, and asking whoever sits at the terminal.

mod ask;
mod keyring;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rejoin::store::Foreign;
use rejoin::vault::{Keyholder, Secret, SecretFiles, SecretStores};
use rejoin::{Access, ErrorKind, StoreUrl};

pub(crate) use ask::{new_passphrase, new_passphrase_from};

use crate::context::{Context, Manner};
use crate::error::Failure;
use crate::surroundings::Surroundings;
use crate::vault::ask::SecretAsker;
use crate::vault::keyring::KeyringStore;

impl Context {
    /// What it takes to open the store of this run.
    pub(crate) fn access(&self) -> Result<Access, Failure> {
        Ok(Access {
            wait: self.config.wait(),
            keys: Some(self.keyholder().clone()),
            anchors: Some(self.surroundings.state_directory()?.join("anchors")),
            repack_every: self.config.repack_every(),
        })
    }
}

/// Opens vaults with what this machine has, and asks where that is not enough.
pub(crate) fn keyholder(
    surroundings: &Surroundings,
    manner: Manner,
    new_passphrase: &Arc<OnceLock<Secret>>,
) -> Keyholder {
    let asker = SecretAsker::new(surroundings, manner, Arc::clone(new_passphrase));
    let files = key_directory(surroundings)
        .map(|directory| Arc::new(SecretFiles::new(directory)) as Arc<dyn rejoin::vault::SecretStore>);
    let places = SecretStores { keyring: Some(Arc::new(KeyringStore::of(surroundings))), files };
    Keyholder::new(places).asking(move |wanted| asker.ask(wanted))
}

fn key_directory(surroundings: &Surroundings) -> Option<PathBuf> {
    Some(surroundings.state_directory().ok()?.join("keys"))
}

/// A failure to open a store, with what to do about it.
pub(crate) fn explain(url: &StoreUrl, error: rejoin::Error) -> Failure {
    let (kind, is_foreign) = (error.kind(), Foreign::cause_of(&error).is_some());
    let failure = Failure::from(error);
    match (url, kind) {
        // What is sealed or missing is not what is wrong.
        _ if is_foreign => failure,
        (StoreUrl::Vault(_), ErrorKind::Denied) => failure.hint(
            "unlock the keyring, or give a passphrase or recovery key in the terminal or with `--passphrase-file FILE`; \
             `rejoin vault status` shows its slots",
        ),
        (StoreUrl::Vault(_), ErrorKind::NotFound) => {
            failure.hint(
                "run `rejoin vault init` to create one, `rejoin restore PATH` to restore a backup, or name another store with \
                 `--store`",
            )
        }
        (StoreUrl::Vault(_), ErrorKind::Conflict) => failure.hint(
            "if you put it there, run `rejoin vault accept`; if not, someone else did, and messages may be missing or forged",
        ),
        (StoreUrl::Vault(_), ErrorKind::Invalid) => failure
            .hint(format!("run `rejoin --store {} vault encrypt` to encrypt it", inner_of(url))),
        (StoreUrl::Sqlite(_) | StoreUrl::Jsonl(_), ErrorKind::Conflict) => failure.or_hint(
            "restore the vault, or run `rejoin vault accept` if you no longer use it",
        ),
        (StoreUrl::Sqlite(_) | StoreUrl::Jsonl(_), ErrorKind::Denied) => {
            failure.hint(format!("run `rejoin config set store {}`, or name it with `--store`", url.sealed()))
        }
        _ => failure,
    }
}

fn inner_of(url: &StoreUrl) -> String {
    url.to_string().trim_start_matches("vault+").to_owned()
}
