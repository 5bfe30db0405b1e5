//! All that a store holds, as text without times and random ids, so that two of them can be compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rejoin::store::Order;
use rejoin::vault::{Keyholder, SecretFiles, SecretStore, SecretStores};
use rejoin::{Access, Archive, ConversationId, MessageId, Result, StoreUrl};

use crate::world::World;

/// All that the store of a world holds.
pub(super) fn store(world: &World) -> Result<String> {
    of(&url(world), world)
}

/// All that the store at a URL holds.
pub(super) fn of(url: &str, world: &World) -> Result<String> {
    let files: Arc<dyn SecretStore> = Arc::new(SecretFiles::new(world.path("home/.local/state/rejoin/keys")));
    let keys = Some(Keyholder::new(SecretStores { keyring: None, files: Some(files) }));
    let archive = Archive::open_with(url, &Access { keys, ..Access::default() })?;
    let conversations = archive.maintenance().survey()?.conversations;
    let mut all: Vec<String> =
        conversations.into_iter().map(|id| one(&archive, id)).collect::<Result<_>>()?;
    all.sort();
    Ok(all.concat())
}

/// The store that the configuration names.
fn url(world: &World) -> String {
    let config = fs::read_to_string(world.path("home/.config/rejoin/config.toml")).unwrap_or_default();
    let named = config.lines().find_map(|line| line.strip_prefix("store = "));
    named.map_or_else(
        || StoreUrl::Sqlite(world.path("home/.local/share/rejoin/rejoin.db")).to_string(),
        |url| url.trim_matches('"').to_owned(),
    )
}

fn one(archive: &Archive, id: ConversationId) -> Result<String> {
    let stored = archive.conversation(id)?;
    let messages = archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX)?;
    let places: BTreeMap<MessageId, u32> = messages.iter().map(|stored| (stored.id, stored.seq)).collect();
    let header = &stored.conversation;
    let mut text = format!(
        "{:?} of {:?} {:?} {:?}, head {:?}, faults {:?}\n",
        header.title,
        header.project,
        header.kind,
        header.status,
        stored.head.map(|head| places[&head.id]),
        archive.maintenance().verify(id)?.faults,
    );
    for branch in &stored.branches {
        text.push_str(&format!("  branch {:?}\n", branch.title));
    }
    for stored in messages {
        let parent = stored.parent.map(|parent| places[&parent]);
        text.push_str(&format!("  {} after {parent:?}: {}\n", stored.seq, stored.message.to_body()));
    }
    Ok(text)
}

/// Every file below a directory, with its content.
pub(super) fn files(directory: &Path) -> String {
    let mut all: Vec<String> = crate::disk::below(directory)
        .into_iter()
        .map(|path| format!("{} {:?}\n", path.display(), String::from_utf8_lossy(&fs::read(&path).unwrap())))
        .collect();
    all.sort();
    all.concat()
}
