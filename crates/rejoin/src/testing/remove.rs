//! Rules of removing.

use crate::error::{ErrorKind, Result};
use crate::model::{Branch, ConversationId, MessageId};
use crate::store::{Change, Children, Outcome, Put, Safety, Selection, Space, Store, Target, Task};
use crate::testing::append::stored;
use crate::testing::draft::{DraftTurn, at, body, conversation, link, message, state};
use crate::testing::look::{blobs, messages, names, row, rows, size, sizes, told, visible};
use crate::testing::trial::Trial;

/// a, then b under it, then c and d under b, then e under c.
fn tree(store: &dyn Store) -> Result<ConversationId> {
    let id = conversation(1);
    let turn = DraftTurn::opening(id).say("a", "", "hi").say("b", "a", "hi").say("c", "b", "hi");
    turn.say("d", "b", "hi").say("e", "c", "hi").append(store)?;
    Ok(id)
}

fn remove(store: &dyn Store, ids: &[MessageId], children: Children) -> Result<Vec<Outcome>> {
    store.remove(&[Target::Messages { conversation: conversation(1), ids, children }], "tidying", at(900))
}

/// What removing messages answers when these go.
fn gone(sizes: &[(MessageId, u64)], names: &[&str]) -> Outcome {
    let bytes =
        names.iter().map(|name| sizes.iter().find(|(id, _)| id.as_str() == *name).map_or(0, |own| own.1));
    Outcome::Removed { messages: names.len() as u64, bytes: bytes.sum() }
}

/// Asserts which messages of [`tree`] are left when these are removed, and what is
/// answered: the other messages are gone.
#[track_caller]
fn leaves(trial: &mut Trial<'_>, names: &[&str], children: Children, left: &str) -> Result<()> {
    let id = tree(trial.store())?;
    let sizes = sizes(trial.store(), id)?;
    let ids: Vec<MessageId> = names.iter().map(|name| message(name)).collect();
    let going: Vec<&str> =
        ["a", "b", "c", "d", "e"].into_iter().filter(|name| !left.contains(name)).collect();

    let outcomes = remove(trial.store(), &ids, children)?;

    assert_eq!(outcomes, [gone(&sizes, &going)]);
    assert_eq!(left_of(trial, id)?, left);
    Ok(())
}

/// Asserts that these messages of [`tree`] are not removed, because one has children that stay.
#[track_caller]
fn refuses(trial: &mut Trial<'_>, names: &[&str], parent: &str) -> Result<()> {
    let id = tree(trial.store())?;
    let ids: Vec<MessageId> = names.iter().map(|name| message(name)).collect();

    let outcomes = remove(trial.store(), &ids, Children::Refuse)?;

    assert_eq!(outcomes, [Outcome::HasChildren(message(parent))]);
    assert_eq!(left_of(trial, id)?, "a b c d e ");
    Ok(())
}

fn left_of(trial: &mut Trial<'_>, id: ConversationId) -> Result<String> {
    trial.observe(|store| Ok(messages(store, id)?.iter().map(|shown| format!("{} ", shown.id)).collect()))
}

/// There is one outcome per target, in the order given.
pub(super) fn there_is_one_outcome_per_target_in_order(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial.store())?;
    DraftTurn::opening(conversation(2)).append(trial.store())?;
    let sizes = sizes(trial.store(), id)?;
    let (parent, leaf) = ([message("a")], [message("e")]);
    let of = |ids| Target::Messages { conversation: id, ids, children: Children::Refuse };

    let outcomes = trial.store().remove(
        &[
            Target::Conversation(conversation(3)),
            of(&parent),
            of(&leaf),
            Target::Conversation(conversation(2)),
            Target::Conversation(conversation(2)),
        ],
        "tidying",
        at(900),
    )?;

    let (one, none) = (gone(&sizes, &["e"]), gone(&sizes, &[]));
    let expected = [Outcome::NotFound, Outcome::HasChildren(message("a")), one, none, Outcome::NotFound];
    assert_eq!(outcomes, expected);
    assert_eq!(trial.store().remove(&[], "nothing", at(900))?, []);
    Ok(())
}

/// A removed conversation takes its messages, branches and blobs along.
pub(super) fn a_removed_conversation_takes_everything_along(trial: &mut Trial<'_>) -> Result<()> {
    DraftTurn::opening(conversation(2)).say("a", "", "stays").append(trial.store())?;
    trial.store().put(&[state(b"n", Some(b"stays"))], Safety::Synced)?;
    let before = visible(trial.store())?;
    let id = tree(trial.store())?;
    let branch = Branch { id: message("q"), title: "here".to_owned(), head: message("a") };
    trial.store().amend(id, Some(1), &Change::Branch(&branch), at(900))?;
    trial.store().put(&[Put { owner: Some(id), ..state(b"n", Some(b"goes")) }], Safety::Synced)?;

    let sizes = sizes(trial.store(), id)?;

    let outcomes = trial.store().remove(&[Target::Conversation(id)], "by request", at(900))?;

    let left = trial.observe(|store| visible(store))?;
    assert_eq!(outcomes, [gone(&sizes, &["a", "b", "c", "d", "e"])]);
    assert_eq!(left, before);
    // One that is started under the same id finds nothing of it.
    DraftTurn::opening(id).say("a", "", "fresh").append(trial.store())?;
    let fresh = trial.observe(|store| {
        let row = row(store, id)?.map(|row| (row.version, row.messages, row.branches.len()));
        Ok((row, blobs(store, Space::State, Some(id), b"")?.len(), names(store, id, Selection::Path(None))?))
    })?;
    assert_eq!(fresh, (Some((1, 1, 0)), 0, "a ".to_owned()));
    Ok(())
}

/// A missing conversation is an outcome, not an error.
pub(super) fn a_missing_conversation_is_an_outcome(trial: &mut Trial<'_>) -> Result<()> {
    let missing = conversation(1);
    let ids = [message("a")];
    let of_it = Target::Messages { conversation: missing, ids: &ids, children: Children::Remove };

    let outcomes =
        trial.observe(|store| store.remove(&[Target::Conversation(missing), of_it], "tidying", at(900)))?;

    assert_eq!(outcomes, [Outcome::NotFound, Outcome::NotFound]);
    Ok(())
}

/// Messages of one target go together or not at all.
pub(super) fn messages_of_one_target_go_together_or_not_at_all(trial: &mut Trial<'_>) -> Result<()> {
    refuses(trial, &["e", "d", "b"], "b")?;
    let sizes = sizes(trial.store(), conversation(1))?;

    let outcomes = remove(trial.store(), &["e", "d"].map(message), Children::Refuse)?;
    assert_eq!(outcomes, [gone(&sizes, &["d", "e"])]);
    assert_eq!(trial.observe(|store| Ok(messages(store, conversation(1))?.len()))?, 3);
    Ok(())
}

/// A missing message is a success.
pub(super) fn a_missing_message_is_a_success(trial: &mut Trial<'_>) -> Result<()> {
    leaves(trial, &["x", "e", "e"], Children::Refuse, "a b c d ")?;

    let again = remove(trial.store(), &[message("e")], Children::Refuse)?;
    assert_eq!(again, [gone(&[], &[])]);
    Ok(())
}

/// A message with children that stay is refused.
pub(super) fn a_message_with_children_that_stay_is_refused(trial: &mut Trial<'_>) -> Result<()> {
    refuses(trial, &["b", "c"], "b")
}

/// It goes when its children are also named.
pub(super) fn a_message_goes_when_its_children_are_also_named(trial: &mut Trial<'_>) -> Result<()> {
    leaves(trial, &["d", "b", "e", "c"], Children::Refuse, "a ")
}

/// It goes with its whole subtree when that is asked for.
pub(super) fn a_whole_subtree_goes_when_asked_for(trial: &mut Trial<'_>) -> Result<()> {
    leaves(trial, &["c"], Children::Remove, "a b d ")?;

    let sizes = sizes(trial.store(), conversation(1))?;
    assert_eq!(remove(trial.store(), &[message("a")], Children::Remove)?, [gone(&sizes, &["a", "b", "d"])]);
    assert_eq!(trial.observe(|store| messages(store, conversation(1)))?, []);
    Ok(())
}

/// A head that goes falls back to its nearest remaining ancestor.
pub(super) fn a_head_that_goes_falls_back(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial.store())?;

    let mut heads = Vec::new();
    for name in ["d", "c", "a"] {
        remove(trial.store(), &[message(name)], Children::Remove)?;
        heads.push(trial.observe(|store| {
            Ok(row(store, id)?.and_then(|row| row.head).map(|head| (head.id, head.digest)))
        })?);
    }

    let head = |name: &str| Some((message(name), link(name)));
    assert_eq!(heads, [head("e"), head("b"), None]);
    // What follows hangs on what is left, and is no branch.
    assert_eq!(DraftTurn::to(id).linear().say("f", "", "again").append(trial.store())?, stored(6));
    Ok(())
}

/// Removes messages of [`tree`] and returns what is left of two branches, one at a, one at e.
fn branches_after(trial: &mut Trial<'_>, name: &str) -> Result<Vec<Branch>> {
    let id = tree(trial.store())?;
    for (version, name, head) in [(1, "q", "a"), (2, "r", "e")] {
        let branch = Branch { id: message(name), title: name.to_owned(), head: message(head) };
        trial.store().amend(id, Some(version), &Change::Branch(&branch), at(900))?;
    }
    remove(trial.store(), &[message(name)], Children::Remove)?;
    trial.observe(|store| Ok(row(store, id)?.map(|row| row.branches).unwrap_or_default()))
}

/// So does the head of a branch.
pub(super) fn a_branch_that_goes_falls_back(trial: &mut Trial<'_>) -> Result<()> {
    let branches = branches_after(trial, "c")?;

    let branch = |name: &str, head| Branch { id: message(name), title: name.to_owned(), head: message(head) };
    assert_eq!(branches, [branch("q", "a"), branch("r", "b")]);
    Ok(())
}

/// A branch without one goes too.
pub(super) fn a_branch_without_an_ancestor_goes_too(trial: &mut Trial<'_>) -> Result<()> {
    assert_eq!(branches_after(trial, "a")?, []);
    Ok(())
}

/// Sequences of removed messages are not used again.
pub(super) fn sequences_of_removed_messages_are_not_used_again(trial: &mut Trial<'_>) -> Result<()> {
    leaves(trial, &["d", "e"], Children::Refuse, "a b c ")?;
    let id = conversation(1);
    let after = DraftTurn::to(id).say("e", "c", "the id is free again").append(trial.store())?;
    remove(trial.store(), &[message("a")], Children::Remove)?;
    let emptied = DraftTurn::to(id).say("a", "", "all over").append(trial.store())?;

    let seqs =
        trial.observe(|store| Ok(messages(store, id)?.iter().map(|shown| shown.seq).collect::<Vec<_>>()))?;

    assert_eq!((after, emptied, seqs), (stored(6), stored(7), vec![7]));
    Ok(())
}

/// Removing messages raises the version by one more than went.
pub(super) fn removing_messages_raises_the_version_by_one_more_than_went(
    trial: &mut Trial<'_>,
) -> Result<()> {
    let id = tree(trial.store())?;
    let going: [&[&str]; 4] = [&["d"], &["d", "x"], &["a"], &["c"]];
    let children = [Children::Refuse, Children::Refuse, Children::Refuse, Children::Remove];

    let mut told = Vec::new();
    for (names, children) in going.into_iter().zip(children) {
        let ids: Vec<MessageId> = names.iter().map(|name| message(name)).collect();
        remove(trial.store(), &ids, children)?;
        told.push(trial.observe(|store| Ok(row(store, id)?.map(|row| (row.version, row.messages))))?);
    }

    assert_eq!(told, [Some((3, 4)), Some((3, 4)), Some((3, 4)), Some((6, 2))]);
    let stale = trial.store().amend(id, Some(1), &Change::Head(None), at(900));
    assert_eq!(stale.map_err(|error| error.kind()), Err(ErrorKind::Conflict));
    Ok(())
}

/// Counts and bytes are of what is left.
pub(super) fn counts_and_bytes_are_of_what_is_left(trial: &mut Trial<'_>) -> Result<()> {
    leaves(trial, &["c"], Children::Remove, "a b d ")?;

    let counted = trial.observe(|store| {
        let row = row(store, conversation(1))?.map(|row| (row.messages, row.bytes));
        Ok((row, size(store, conversation(1))?))
    })?;

    assert_eq!(counted.0, Some((3, counted.1)));
    assert!(counted.1 >= 3 * body("hi", 0).len() as u64);
    Ok(())
}

/// What is removed is gone from lists and previews at once.
pub(super) fn what_is_removed_is_gone_from_lists_and_previews(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let turn = DraftTurn::opening(id).say("a", "", "my secret").say("b", "", "harmless");
    turn.previews("my secret", "my secret").append(trial.store())?;
    DraftTurn::opening(conversation(2)).append(trial.store())?;

    remove(trial.store(), &[message("a")], Children::Refuse)?;
    trial.store().remove(&[Target::Conversation(conversation(2))], "tidying", at(900))?;

    let listed = trial.observe(|store| rows(store))?;
    let shows = |text: &str| text.contains("secret");
    let shown: Vec<_> = listed.iter().map(|row| (row.id, shows(&row.first), shows(&row.last))).collect();
    assert_eq!(shown, [(id, false, false)]);
    Ok(())
}

/// It is gone from lookups at once.
pub(super) fn what_is_removed_is_gone_from_lookups(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two) = (conversation(1), conversation(2));
    DraftTurn::opening(one).say("Zebra1", "", "hi").append(trial.store())?;
    trial.store().maintain(Task::Index, std::time::Duration::ZERO)?;
    DraftTurn::to(one).say("Zebra2", "", "hi").append(trial.store())?;
    DraftTurn::opening(two).say("Zebra3", "", "hi").append(trial.store())?;

    remove(trial.store(), &["Zebra1", "Zebra2"].map(message), Children::Refuse)?;
    trial.store().remove(&[Target::Conversation(two)], "tidying", at(900))?;

    let found = trial.observe(|store| Ok((store.find("Zebra", 9)?, store.find(&two.to_string(), 9)?)))?;
    assert_eq!(found, (vec![], vec![]));
    let read = trial.observe(|store| {
        let ids = [message("Zebra1")];
        Ok([told(names(store, one, Selection::Ids(&ids))), told(names(store, two, Selection::Path(None)))])
    })?;
    assert_eq!(read, [Err(ErrorKind::NotFound), Err(ErrorKind::NotFound)]);
    Ok(())
}
