//! Rules of named blobs.

use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::{BlobNames, Put, Read, Safety, Space, Store};
use crate::testing::draft::{DraftTurn, conversation, state};
use crate::testing::look::{blobs, told, visible};
use crate::testing::trial::Trial;

/// A space of short blobs, and the one of large blobs, which a store may keep in another way.
const SPACES: [Space; 2] = [Space::State, Space::Attachment];

fn put(store: &dyn Store, names: &[(&[u8], &[u8])]) -> Result<()> {
    put_in(store, Space::State, names)
}

fn put_in(store: &dyn Store, space: Space, names: &[(&[u8], &[u8])]) -> Result<()> {
    let blobs: Vec<Put<'_>> =
        names.iter().map(|(name, bytes)| Put { space, ..state(name, Some(bytes)) }).collect();
    store.put(&blobs, Safety::Synced)
}

/// The bytes of blobs of a space that belong to nothing.
fn blobs_named(store: &dyn Read, space: Space, named: BlobNames<'_>) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    store.get(space, None, named, &mut |_, bytes| {
        found.push(bytes.to_vec());
        Ok(())
    })?;
    Ok(found)
}

/// The names of the blobs that belong to nothing.
fn names(store: &dyn Read, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    names_in(store, Space::State, prefix)
}

fn names_in(store: &dyn Read, space: Space, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    Ok(blobs(store, space, None, prefix)?.into_iter().map(|(name, _)| name).collect())
}

/// Blobs come in order of name.
pub(super) fn blobs_come_in_order_of_name(trial: &mut Trial<'_>) -> Result<()> {
    for space in SPACES {
        let stored: [(&[u8], &[u8]); 6] =
            [(b"b", b"1"), (b"\xff\0", b"2"), (b"", b"3"), (b"a\0", b"4"), (b"a", b""), (b"B", b"6")];
        put_in(trial.store(), space, &stored)?;

        let found = trial.observe(|store| blobs(store, space, None, b""))?;

        let expected: [(&[u8], &[u8]); 6] =
            [(b"", b"3"), (b"B", b"6"), (b"a", b""), (b"a\0", b"4"), (b"b", b"1"), (b"\xff\0", b"2")];
        assert_eq!(found, expected.map(|(name, bytes)| (name.to_vec(), bytes.to_vec())));
    }
    Ok(())
}

/// Only names that begin with the prefix are visited.
pub(super) fn only_names_with_the_prefix_are_visited(trial: &mut Trial<'_>) -> Result<()> {
    for space in SPACES {
        let stored: [(&[u8], &[u8]); 6] =
            [(b"a", b""), (b"ab", b""), (b"abc", b""), (b"b", b""), (b"\xff", b""), (b"\xff\xff", b"")];
        put_in(trial.store(), space, &stored)?;

        let found = trial.observe(|store| {
            let prefixes: [&[u8]; 4] = [b"ab", b"\xff", b"\xff\xff", b"c"];
            prefixes.iter().map(|prefix| names_in(store, space, prefix)).collect::<Result<Vec<_>>>()
        })?;

        let expected: [&[&[u8]]; 4] = [&[b"ab", b"abc"], &[b"\xff", b"\xff\xff"], &[b"\xff\xff"], &[]];
        assert_eq!(found, expected);
    }
    Ok(())
}

/// One that is asked for by its name comes alone.
pub(super) fn a_blob_asked_for_by_its_name_comes_alone(trial: &mut Trial<'_>) -> Result<()> {
    for space in SPACES {
        put_in(trial.store(), space, &[(b"", b"1"), (b"a", b"2"), (b"ab", b"3")])?;

        let found = trial.observe(|store| {
            let asked: [&[u8]; 4] = [b"", b"a", b"ab", b"abc"];
            asked
                .iter()
                .map(|name| blobs_named(store, space, BlobNames::One(name)))
                .collect::<Result<Vec<_>>>()
        })?;

        let expected: [&[&[u8]]; 4] = [&[b"1"], &[b"2"], &[b"3"], &[]];
        assert_eq!(found, expected);
    }
    Ok(())
}

/// Blobs of another space are not visited.
pub(super) fn blobs_of_another_space_are_not_visited(trial: &mut Trial<'_>) -> Result<()> {
    for space in Space::ALL {
        let bytes = space.number().to_string();
        let blob = Put { space, ..state(b"a", Some(bytes.as_bytes())) };
        trial.store().put(&[blob], Safety::Synced)?;
    }

    let found = trial.observe(|store| Ok(Space::ALL.map(|space| told(blobs(store, space, None, b"")))))?;

    let expected = Space::ALL.map(|space| Ok(vec![(b"a".to_vec(), space.number().to_string().into_bytes())]));
    assert_eq!(found, expected);
    Ok(())
}

/// Blobs of another owner are not visited.
pub(super) fn blobs_of_another_owner_are_not_visited(trial: &mut Trial<'_>) -> Result<()> {
    let owners = [None, Some(conversation(1)), Some(conversation(2))];
    DraftTurn::opening(conversation(1)).append(trial.store())?;
    DraftTurn::opening(conversation(2)).append(trial.store())?;
    for (owner, bytes) in owners.iter().zip([b"0", b"1", b"2"]) {
        trial.store().put(&[Put { owner: *owner, ..state(b"a", Some(bytes)) }], Safety::Synced)?;
    }

    let found =
        trial.observe(|store| Ok(owners.map(|owner| told(blobs(store, Space::State, owner, b"")))))?;

    assert_eq!(found, [b"0", b"1", b"2"].map(|bytes| Ok(vec![(b"a".to_vec(), bytes.to_vec())])));
    Ok(())
}

/// Blobs are stored all or none.
pub(super) fn blobs_are_stored_all_or_none(trial: &mut Trial<'_>) -> Result<()> {
    put(trial.store(), &[(b"a", b"old"), (b"b", b"old")])?;
    let stray = Put { owner: Some(conversation(1)), ..state(b"c", Some(b"new")) };
    let before = visible(trial.store())?;

    let answer = trial.store().put(&[state(b"a", Some(b"new")), state(b"b", None), stray], Safety::Synced);

    assert_eq!(told(answer), Err(ErrorKind::NotFound));
    assert_eq!(trial.observe(|store| visible(store))?, before);
    Ok(())
}

/// A blob of the same name is replaced.
pub(super) fn a_blob_of_the_same_name_is_replaced(trial: &mut Trial<'_>) -> Result<()> {
    put(trial.store(), &[(b"a", b"old and long"), (b"b", b"other")])?;
    put(trial.store(), &[(b"a", b"new")])?;

    let found = trial.observe(|store| blobs(store, Space::State, None, b""))?;

    assert_eq!(found, [(b"a".to_vec(), b"new".to_vec()), (b"b".to_vec(), b"other".to_vec())]);
    Ok(())
}

/// A blob without bytes is erased.
pub(super) fn a_blob_without_bytes_is_erased(trial: &mut Trial<'_>) -> Result<()> {
    put(trial.store(), &[(b"a", b"1"), (b"b", b"2")])?;
    trial.store().put(&[state(b"a", None)], Safety::Synced)?;

    assert_eq!(trial.observe(|store| names(store, b""))?, [b"b"]);
    Ok(())
}

/// What a turn stored and was erased stays erased when a later turn erases another.
pub(super) fn an_erased_blob_stays_erased(trial: &mut Trial<'_>) -> Result<()> {
    let mut owner = 0;
    for space in SPACES {
        owner += 2;
        erased_stays_erased(trial, space, [conversation(owner - 1), conversation(owner)])?;
    }
    Ok(())
}

fn erased_stays_erased(
    trial: &mut Trial<'_>,
    space: Space,
    [first, second]: [ConversationId; 2],
) -> Result<()> {
    let owner = Some(first);
    let own = |name, bytes| Put { space, owner, ..state(name, bytes) };
    DraftTurn::opening(first).blob(own(b"a", Some(b"1"))).append(trial.store())?;
    trial.store().put(&[own(b"a", None)], Safety::Synced)?;
    trial.store().put(&[own(b"b", Some(b"2"))], Safety::Synced)?;
    DraftTurn::to(first).say("a", "", "hello").blob(own(b"b", None)).append(trial.store())?;

    assert_eq!(trial.observe(|store| blobs(store, space, owner, b""))?, []);
    // Nor does one come back that a turn stored for others.
    for (name, owner) in [("b", None), ("c", Some(second))] {
        let stray = |bytes| Put { space, owner, ..state(b"a", bytes) };
        if let Some(owner) = owner {
            DraftTurn::opening(owner).append(trial.store())?;
        }
        DraftTurn::to(first).say(name, "", "hello").blob(stray(Some(b"1"))).append(trial.store())?;
        trial.store().put(&[stray(None)], Safety::Synced)?;
        trial.reopen();
        trial.store().put(&[own(b"d", Some(b"4"))], Safety::Synced)?;
        assert_eq!(trial.observe(|store| blobs(store, space, owner, b""))?, []);
    }
    Ok(())
}

/// Erasing what is not there succeeds.
pub(super) fn erasing_what_is_not_there_succeeds(trial: &mut Trial<'_>) -> Result<()> {
    put(trial.store(), &[(b"b", b"2")])?;
    trial.store().put(&[state(b"a", None)], Safety::Synced)?;

    assert_eq!(trial.observe(|store| names(store, b""))?, [b"b"]);
    Ok(())
}

/// A blob owned by an unknown conversation is not found.
pub(super) fn a_blob_of_an_unknown_conversation_is_not_found(trial: &mut Trial<'_>) -> Result<()> {
    let stray = Put { owner: Some(conversation(1)), ..state(b"a", Some(b"1")) };

    let answers = trial.observe(|store| Ok(told(store.put(&[stray], Safety::Synced))))?;

    assert_eq!(answers, Err(ErrorKind::NotFound));
    // It was not kept for a conversation of this id that comes later.
    DraftTurn::opening(conversation(1)).append(trial.store())?;
    let found = trial.observe(|store| blobs(store, Space::State, stray.owner, b""))?;
    assert_eq!(found, []);
    Ok(())
}

/// With [`Safety::Synced`] a blob survives a crash, with [`Safety::Unsynced`] the end of the process.
pub(super) fn a_blob_survives_as_its_safety_says(trial: &mut Trial<'_>) -> Result<()> {
    trial.store().put(&[state(b"a", Some(b"1"))], Safety::Synced)?;
    trial.store().put(&[state(b"b", Some(b"2"))], Safety::Unsynced)?;

    assert_eq!(trial.observe(|store| names(store, b""))?, [b"a", b"b"]);
    Ok(())
}
