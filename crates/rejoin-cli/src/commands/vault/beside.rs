//! What sealing or unsealing that ended early left beside a store.

use std::path::{Path, PathBuf};

use rejoin::StoreUrl;

use crate::context::Context;
use crate::ui::quote;

/// What the names of copies end with, before the ending of the file.
const SEALED: &str = ".vault";
const PLAIN: &str = ".plain";

/// The place beside a store where its sealed copy is made.
pub(super) fn sealed(path: &Path) -> PathBuf {
    named(path, SEALED)
}

/// The place beside a vault where its plain copy is made.
pub(super) fn plain(path: &Path) -> PathBuf {
    named(path, PLAIN)
}

/// The plain store that a vault was made of, where it is still there.
pub(super) fn source_of(vault: &StoreUrl, context: &Context) -> Option<StoreUrl> {
    other(vault, named(vault.path()?, "")).filter(|store| !is_vault(store, context))
}

/// The plain copy of a vault, where it was begun and the vault is still the store that is used.
pub(super) fn copy_of(vault: &StoreUrl, context: &Context) -> Option<StoreUrl> {
    other(vault, plain(vault.path()?)).filter(|store| !is_vault(store, context))
}

/// What to do about a vault beside a plain store: sealing or unsealing ended early.
pub(super) fn hint(store: &StoreUrl, context: &Context) -> Option<String> {
    let path = store.path()?;
    let mut others = [sealed(path), named(path, "")].into_iter().filter_map(|place| other(store, place));
    let vault = others.find(|store| is_vault(store, context))?.sealed();
    Some(format!(
        "a vault lies beside it, `{vault}`; run `rejoin vault encrypt` to go on sealing, or `rejoin --store {} vault \
         decrypt` to go on unsealing",
        quote::argument(&vault.to_string())
    ))
}

fn is_vault(store: &StoreUrl, context: &Context) -> bool {
    context.access().is_ok_and(|access| store.clone().sealed().vault_status(&access).is_ok())
}

fn named(path: &Path, suffix: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.trim_end_matches(SEALED).trim_end_matches(PLAIN);
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}{suffix}{ending}"))
}

/// The plain store at a place, of the kind that another has, if something else is there.
fn other(store: &StoreUrl, place: PathBuf) -> Option<StoreUrl> {
    let is_other = store.path() != Some(place.as_path()) && place.exists();
    let inner = if let StoreUrl::Vault(inner) = store { inner } else { store };
    is_other.then_some(match inner {
        StoreUrl::Jsonl(_) => StoreUrl::Jsonl(place),
        _ => StoreUrl::Sqlite(place),
    })
}
