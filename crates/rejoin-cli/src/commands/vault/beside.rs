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
    renamed(path, PLAIN, SEALED)
}

/// The place beside a vault where its plain copy is made.
pub(super) fn plain(path: &Path) -> PathBuf {
    renamed(path, SEALED, PLAIN)
}

/// The place beside a vault where the store was that it was made of.
fn source(path: &Path) -> PathBuf {
    renamed(path, SEALED, "")
}

/// The plain store that a vault was made of, where it is still there.
pub(super) fn source_of(vault: &StoreUrl, context: &Context) -> Option<StoreUrl> {
    other(vault, source(vault.path()?)).filter(|store| !is_vault(store, context))
}

/// The plain copy of a vault, where it was begun and the vault is still the store that is used.
pub(super) fn copy_of(vault: &StoreUrl, context: &Context) -> Option<StoreUrl> {
    other(vault, plain(vault.path()?)).filter(|store| !is_vault(store, context))
}

/// What to do about a vault beside a plain store: sealing or unsealing ended early.
pub(super) fn hint(store: &StoreUrl, context: &Context) -> Option<String> {
    let path = store.path()?;
    let mut others =
        [sealed(path), renamed(path, PLAIN, "")].into_iter().filter_map(|place| other(store, place));
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

/// The same place with a name that ends with `to` where it ended with `from`, before the
/// ending of a file. A directory has none.
fn renamed(path: &Path, from: &str, to: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, ending) = match (name.strip_suffix(from), name.rfind('.').filter(|dot| *dot > 0)) {
        (Some(stem), _) => (stem, ""),
        (None, Some(dot)) => (name[..dot].trim_end_matches(from), &name[dot..]),
        (None, None) => (&*name, ""),
    };
    path.with_file_name(format!("{stem}{to}{ending}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_lies_beside_a_file_and_beside_a_directory() {
        let ways = |name: &str| [sealed, plain, source].map(|way| way(Path::new(name)).display().to_string());

        assert_eq!(ways("a/rejoin.db"), ["a/rejoin.vault.db", "a/rejoin.plain.db", "a/rejoin.db"]);
        assert_eq!(ways("a/rejoin.plain.db")[0], "a/rejoin.vault.db");
        assert_eq!(ways("a/rejoin.vault.db")[1..], ["a/rejoin.plain.db", "a/rejoin.db"]);
        assert_eq!(ways("a/talks"), ["a/talks.vault", "a/talks.plain", "a/talks"]);
        assert_eq!(ways("a/talks.plain")[0], "a/talks.vault");
        assert_eq!(ways("a/talks.vault")[1..], ["a/talks.plain", "a/talks"]);
    }
}
