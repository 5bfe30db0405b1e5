//! Rules of reading messages.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::{Order, Read, Selection};
use crate::testing::draft::{DraftTurn, conversation, link, message};
use crate::testing::look::{ReadMessage, messages, names, read, told};
use crate::testing::trial::Trial;

/// Stores a tree of two branches: a, b under it, c under b, and d under b too.
fn tree(trial: &Trial<'_>) -> Result<ConversationId> {
    let id = conversation(1);
    let turn = DraftTurn::opening(id).say("a", "", "one").say("b", "a", "two").say("c", "b", "three");
    turn.append(trial.store())?;
    DraftTurn::to(id).say("d", "b", "four").append(trial.store())?;
    Ok(id)
}

const fn all(order: Order, offset: u64, limit: u64) -> Selection<'static> {
    Selection::All { order, offset, limit }
}

/// The answer is the same while the store is open.
pub(super) fn capabilities_are_constant(trial: &mut Trial<'_>) -> Result<()> {
    let before = trial.store().capabilities();

    tree(trial)?;

    assert_eq!(trial.observe(|store| Ok(store.capabilities()))?, before);
    Ok(())
}

/// A path runs from the root to its target.
pub(super) fn a_path_runs_from_the_root_to_its_target(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;

    let path = trial.observe(|store| {
        Ok(["c", "d", "a"].map(|target| told(names(store, id, Selection::Path(Some(message(target)))))))
    })?;

    assert_eq!(path, ["a b c ", "a b d ", "a "].map(|path| Ok(path.to_owned())));
    Ok(())
}

/// It never includes the target's children.
pub(super) fn a_path_never_includes_the_targets_children(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;

    let path = trial.observe(|store| names(store, id, Selection::Path(Some(message("b")))))?;

    assert_eq!(path, "a b ");
    Ok(())
}

/// Without a target it ends at the head.
pub(super) fn a_path_without_a_target_ends_at_the_head(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;

    let path = trial.observe(|store| names(store, id, Selection::Path(None)))?;

    assert_eq!(path, "a b d ");
    Ok(())
}

/// Without a head it is empty.
pub(super) fn a_path_without_a_head_is_empty(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    DraftTurn::opening(id).append(trial.store())?;

    let path = trial.observe(|store| names(store, id, Selection::Path(None)))?;

    assert_eq!(path, "");
    Ok(())
}

/// All messages come in order of arrival.
pub(super) fn all_messages_come_in_order_of_arrival(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;

    let arrived = trial.observe(|store| names(store, id, all(Order::OldestFirst, 0, u64::MAX)))?;

    assert_eq!(arrived, "a b c d ");
    Ok(())
}

/// They come newest first when that is asked for.
pub(super) fn all_messages_come_newest_first_when_asked(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;

    let newest = trial.observe(|store| names(store, id, all(Order::NewestFirst, 0, u64::MAX)))?;

    assert_eq!(newest, "d c b a ");
    Ok(())
}

/// An offset passes over as many, and a limit ends the answer.
pub(super) fn an_offset_passes_over_and_a_limit_ends(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;
    let slices = [
        (Order::OldestFirst, 1, 2, "b c "),
        (Order::NewestFirst, 1, 2, "c b "),
        (Order::OldestFirst, 3, 9, "d "),
        (Order::OldestFirst, 4, 1, ""),
        (Order::OldestFirst, u64::MAX, u64::MAX, ""),
        (Order::NewestFirst, 0, 0, ""),
    ];

    let sliced = trial.observe(|store| {
        Ok(slices.map(|(order, offset, limit, _)| told(names(store, id, all(order, offset, limit)))))
    })?;

    assert_eq!(sliced, slices.map(|(_, _, _, expected)| Ok(expected.to_owned())));
    Ok(())
}

/// Messages asked for by id come in the order asked.
pub(super) fn messages_come_in_the_order_asked(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;
    let ids = ["d", "a", "c"].map(message);

    let asked = trial.observe(|store| names(store, id, Selection::Ids(&ids)))?;

    assert_eq!(asked, "d a c ");
    Ok(())
}

/// One that is asked for twice comes twice.
pub(super) fn a_message_asked_for_twice_comes_twice(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;
    let ids = ["b", "a", "b"].map(message);

    let asked = trial.observe(|store| names(store, id, Selection::Ids(&ids)))?;

    assert_eq!(asked, "b a b ");
    Ok(())
}

/// The kind of error that reading ends with, and how many messages were visited before it.
fn refusal(store: &dyn Read, id: ConversationId, what: Selection<'_>) -> (Result<(), ErrorKind>, usize) {
    let mut visited = 0;
    let answer = store.read(id, what, &mut |_| {
        visited += 1;
        Ok(())
    });
    (told(answer), visited)
}

/// If an id does not exist, the read fails with not found and visits nothing.
pub(super) fn a_missing_id_is_not_found_and_nothing_is_visited(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;
    DraftTurn::opening(conversation(2)).say("e", "", "elsewhere").append(trial.store())?;
    let (missing, elsewhere) = (["a", "b", "x"].map(message), ["a", "e"].map(message));

    let answers = trial.observe(|store| {
        let of = |what| refusal(store, id, what);
        Ok([
            of(Selection::Ids(&missing)),
            of(Selection::Ids(&elsewhere)),
            of(Selection::Path(Some(message("x")))),
            of(Selection::Path(Some(message("e")))),
        ])
    })?;

    assert_eq!(answers, [(Err(ErrorKind::NotFound), 0); 4]);
    Ok(())
}

/// Reading an unknown conversation is not found.
pub(super) fn reading_an_unknown_conversation_is_not_found(trial: &mut Trial<'_>) -> Result<()> {
    tree(trial)?;

    let answers = trial.observe(|store| {
        let of = |what| refusal(store, conversation(2), what);
        Ok([
            of(Selection::Path(None)),
            of(Selection::Path(Some(message("a")))),
            of(Selection::Ids(&[])),
            of(all(Order::OldestFirst, 0, 1)),
        ])
    })?;

    assert_eq!(answers, [(Err(ErrorKind::NotFound), 0); 4]);
    Ok(())
}

/// Bodies come back byte for byte.
pub(super) fn bodies_come_back_byte_for_byte(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let long = "0123456789abcdef".repeat(10_000);
    let bodies = ["", "\0", "a\r\nb", "'; DROP TABLE message; --", "\"\\\u{7f}", "🦊 日本 e\u{301}", &long];
    let stored = |(place, body): (usize, &&str)| {
        let name = format!("m{place}");
        ReadMessage {
            id: message(&name),
            parent: None,
            seq: place as u32 + 1,
            turn: 1,
            link: link(&name),
            label: None,
            is_pinned: false,
            body: (*body).to_owned(),
        }
    };
    let turn = bodies
        .iter()
        .enumerate()
        .fold(DraftTurn::opening(id), |turn, (place, body)| turn.put(&format!("m{place}"), "", body));
    turn.append(trial.store())?;

    let read = trial.observe(|store| messages(store, id))?;

    assert_eq!(read, bodies.iter().enumerate().map(stored).collect::<Vec<_>>());
    Ok(())
}

/// A read sees one snapshot: messages that are appended meanwhile are not visited.
pub(super) fn one_read_sees_one_moment(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;
    let second = trial.second();
    let late = ["e", "f"].map(|name| DraftTurn::to(id).say(name, "d", "late"));

    let mut visited: Vec<MessageId> = Vec::new();
    trial.store().read(id, all(Order::OldestFirst, 0, u64::MAX), &mut |seen| {
        // The visitor of the first message appends through this store and through another.
        if visited.is_empty() {
            late[0].append(trial.store())?;
            late[1].append(second.as_ref())?;
        }
        visited.push(seen.id);
        Ok(())
    })?;

    assert_eq!(visited, ["a", "b", "c", "d"].map(message));
    drop(second);
    let after = trial.observe(|store| names(store, id, all(Order::OldestFirst, 0, u64::MAX)))?;
    assert_eq!(after, "a b c d e f ");
    Ok(())
}

/// An error of the visitor ends the read and is its answer.
pub(super) fn an_error_of_the_visitor_ends_the_read(trial: &mut Trial<'_>) -> Result<()> {
    let id = tree(trial)?;

    let answer = trial.observe(|store| {
        let mut visited = 0;
        let answer = store.read(id, Selection::Path(None), &mut |_| {
            visited += 1;
            let enough = Error::new(ErrorKind::Unsupported, "that is enough");
            if visited == 2 { Err(enough) } else { Ok(()) }
        });
        Ok((told(answer), visited))
    })?;

    assert_eq!(answer, (Err(ErrorKind::Unsupported), 2));
    let after = read(trial.store(), id, Selection::Path(None))?;
    assert_eq!(after.len(), 3);
    Ok(())
}
