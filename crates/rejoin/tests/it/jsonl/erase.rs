//! Removing: nothing of what was removed is left in any file.

use std::fs;
use std::time::Duration;

use rejoin::store::{
    Change, Children, PreviewUpdate, Put, Read, Rewritten, Safety, Selection, Space, Store, Target, Task,
};
use rejoin::{ConversationId, Digest, Message, MessageId};

use crate::jsonl::{Place, files};

/// How many files below the store hold a text.
fn holding(place: &Place, text: &str) -> usize {
    let holds = |path: &std::path::PathBuf| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    files(&place.root).iter().filter(|path| holds(path)).count()
}

#[test]
fn a_removed_conversation_is_overwritten_cut_and_gone() {
    let place = Place::new();
    let id = place.talk(&[&["a secret"]]);
    place.titles();
    // Another name for the same bytes shows what became of them.
    let witness = place.root.join("witness");
    fs::hard_link(place.file(id), &witness).unwrap();

    place.archive().removal().delete(&[id], "by request");

    assert_eq!((fs::metadata(&witness).unwrap().len(), holding(&place, "a secret")), (0, 0));
    assert!(!place.file(id).exists());
}

#[test]
fn a_folder_without_conversations_does_not_tell_its_project_after_a_purge() {
    let place = Place::new();
    let ids = [place.talk(&[&["one"]]), place.talk(&[&["two"]])];
    let folder = place.file(ids[0]).parent().unwrap().to_owned();
    let purge = |id| place.archive().removal().purge(&[id], rejoin::PurgeReason::UserRequested, &mut |_| ());

    purge(ids[0]);
    let is_left = folder.join(".project").exists();
    purge(ids[1]);

    assert_eq!((is_left, folder.exists()), (true, false));
}

#[test]
fn a_removed_message_is_in_no_file_any_more() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["a secret"]]);
    place.titles();
    let last = place.archive().resume(id).unwrap().path().unwrap().pop().unwrap().id;
    let inode_before = fs::read(place.file(id)).unwrap();

    let target = Target::Messages { conversation: id, ids: &[last], children: Children::Refuse };
    place.store().remove(&[target], "by request", rejoin::Time::now()).unwrap();

    assert_ne!(fs::read(place.file(id)).unwrap(), inode_before);
    assert_eq!((holding(&place, "a secret"), place.texts(id)), (0, vec!["one".to_owned(), "two".to_owned()]));
    assert!(place.archive().maintenance().verify(id).unwrap().is_sound());
    place.archive().resume(id).unwrap().append(Message::user("three")).unwrap();
    assert_eq!((place.texts(id).len(), place.faults()), (3, vec![]));
}

#[test]
fn whoever_reads_while_a_conversation_is_removed_reads_to_the_end() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let (store, other) = (place.store(), place.store());
    let mut read = 0;

    store
        .read(id, Selection::Path(None), &mut |seen| {
            if seen.seq == 1 {
                other.remove(&[Target::Conversation(id)], "by request", rejoin::Time::now())?;
            }
            read += 1;
            Ok(())
        })
        .unwrap();
    let waiting = holding(&place, "\"two\"");
    store.maintain(Task::Repack, Duration::MAX).unwrap();

    assert_eq!((read, waiting, holding(&place, "\"two\""), place.titles().len()), (2, 1, 0, 0));
}

/// Text of an open turn, as a program that was cut off leaves it.
fn open_turn(place: &Place, id: ConversationId, text: &str) {
    let blob = Put { space: Space::OpenTurn, owner: Some(id), name: b"writer", bytes: Some(text.as_bytes()) };
    place.store().put(&[blob], Safety::Synced).unwrap();
}

#[test]
fn a_removed_conversation_leaves_nothing_in_the_index_the_log_or_the_blobs() {
    let place = Place::new();
    let (id, other) = (place.talk(&[&["a secret"], &["another"]]), place.talk(&[&["stays"]]));
    place.archive().update(id, |conversation| conversation.title = Some("secret title".to_owned())).unwrap();
    open_turn(&place, id, "secret reply");
    place.titles();
    place.store().find("x", 9).unwrap();

    place.archive().removal().delete(&[id], "by request");

    assert_eq!((holding(&place, "secret"), holding(&place, "another")), (0, 0));
    assert_eq!((place.titles(), place.texts(other)), (vec!["Lisbon".to_owned()], vec!["stays".to_owned()]));
    assert_eq!(holding(&place, "secret"), 0);
}

#[test]
fn a_removal_takes_copies_in_other_folders_along() {
    let place = Place::new();
    let id = place.talk(&[&["a secret"]]);
    for folder in ["aside", "zz"] {
        fs::create_dir(place.root.join(folder)).unwrap();
        fs::copy(place.file(id), place.root.join(format!("{folder}/{id}.jsonl"))).unwrap();
    }

    let told = place.faults();
    place.archive().removal().delete(&[id], "by request");

    let expected =
        format!("`aside/{id}.jsonl` is read, and `home_ada_trip/{id}.jsonl` is another copy of it");
    assert!(told.contains(&expected), "{told:?}");
    assert_eq!((holding(&place, "a secret"), place.titles()), (0, vec![]));
}

#[test]
fn whoever_writes_next_finishes_a_removal_that_was_cut_off() {
    let place = Place::new();
    let (id, other) = (place.talk(&[&["a secret"]]), place.talk(&[&["stays"]]));
    open_turn(&place, id, "a secret reply");
    place.titles();
    let earlier = place.archive();
    earlier.resume(other).unwrap().append(Message::user("before")).unwrap();
    let index = fs::read(place.root.join(".store/index")).unwrap();
    let blob = place.root.join(format!(".store/blobs/3-{id}.jsonl"));
    let (file, blobs) = (fs::read(place.file(id)).unwrap(), fs::read(&blob).unwrap());
    place.archive().removal().delete(&[id], "by request");
    // As if the process had been killed once the file had lost its name.
    let temporary = place.root.join(".store/temporary");
    for (path, bytes) in [
        (temporary.join(format!("{id}.jsonl.gone-1-0")), &file),
        (temporary.join("index.part-1-abcdef"), &index),
        (temporary.join("blobs.part-1-abcdef"), &blobs),
        (place.root.join(".store/index"), &index),
        (blob, &blobs),
    ] {
        fs::write(path, bytes).unwrap();
    }

    earlier.resume(other).unwrap().append(Message::user("after")).unwrap();

    assert_eq!((holding(&place, "a secret"), fs::read_dir(temporary).unwrap().count()), (0, 0));
    assert_eq!(place.texts(other), ["stays", "before", "after"]);
}

#[test]
fn a_list_that_was_made_before_a_removal_does_not_bring_the_text_back() {
    let place = Place::new();
    let id = place.talk(&[&["a secret"]]);
    let (lister, remover) = (place.store(), place.archive());

    std::thread::scope(|scope| {
        let lists = scope.spawn(|| {
            for _ in 0..200 {
                lister.maintain(Task::Index, Duration::MAX).unwrap();
            }
        });
        remover.removal().delete(&[id], "by request");
        lists.join().unwrap();
    });

    assert_eq!(holding(&place, "a secret"), 0);
}

#[test]
fn removing_a_message_keeps_lines_that_cannot_be_read_unless_they_are_its_own() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["three"], &["four"]]);
    let ids: Vec<_> = place.archive().path(id, None).unwrap().into_iter().map(|stored| stored.id).collect();
    let text = fs::read_to_string(place.file(id)).unwrap();
    let newer = text.lines().next().unwrap().replace("session-start", "of-a-newer-rejoin");
    let damaged =
        text.replace("\"text\":\"two\"", "\"text\":two").replace("\"text\":\"three\"", "\"text\":three");
    fs::write(place.file(id), damaged + "by hand: keep me\n" + &newer + "\n").unwrap();
    let remove = |message| {
        let target = Target::Messages { conversation: id, ids: &[message], children: Children::Refuse };
        place.store().remove(&[target], "by request", rejoin::Time::now()).unwrap()
    };

    remove(ids[3]);
    let kept = fs::read_to_string(place.file(id)).unwrap();
    remove(ids[2]);
    let left = fs::read_to_string(place.file(id)).unwrap();

    let holds = |text: &str| {
        ["\"one\"", ":two", ":three", "four", "keep me", "of-a-newer-rejoin"]
            .map(|piece| text.contains(piece))
    };
    assert_eq!(holds(&kept), [true, true, true, false, true, true], "{kept}");
    assert_eq!(holds(&left), [true, true, false, false, true, true], "{left}");
}

/// As if the process that removes a message had been killed, where files cannot be exchanged, before the new
/// file took the old one's place: the old one has two names.
#[test]
fn a_second_name_of_a_conversation_is_taken_away_and_not_overwritten() {
    let place = Place::new();
    let (id, other) = (place.talk(&[&["one"], &["two"]]), place.talk(&[&["stays"]]));
    let temporary = place.root.join(".store/temporary");
    let fresh = temporary.join(format!("{id}.jsonl.gone-1-0"));
    fs::write(&fresh, "a part of it").unwrap();
    fs::hard_link(place.file(id), temporary.join(format!("{id}.jsonl.gone-1-0-aside"))).unwrap();

    place.archive().resume(other).unwrap().append(Message::user("after")).unwrap();
    place.archive().resume(id).unwrap().append(Message::user("three")).unwrap();

    assert_eq!(
        (place.texts(id), place.faults()),
        (["one", "two", "three"].map(str::to_owned).to_vec(), vec![])
    );
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
}

/// The same where a file system gives each name a number of its own, as some do over a network.
#[test]
fn what_was_set_aside_is_not_overwritten_while_what_should_replace_it_is_there() {
    let place = Place::new();
    let (id, other) = (place.talk(&[&["one"]]), place.talk(&[&["stays"]]));
    let (temporary, witness) = (place.root.join(".store/temporary"), place.root.join("witness"));
    fs::write(&witness, "the same bytes").unwrap();
    fs::write(temporary.join(format!("{id}.jsonl.gone-1-0")), "a part of it").unwrap();
    fs::hard_link(&witness, temporary.join(format!("{id}.jsonl.gone-1-0-aside"))).unwrap();

    place.archive().resume(other).unwrap().append(Message::user("after")).unwrap();

    assert_eq!(fs::read_to_string(witness).unwrap(), "the same bytes");
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
}

#[test]
fn a_copy_of_a_message_that_goes_with_its_parent_does_not_come_back() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["a secret"]]);
    let ids: Vec<_> = place.archive().path(id, None).unwrap().into_iter().map(|stored| stored.id).collect();
    let text = fs::read_to_string(place.file(id)).unwrap();
    let copy = text.lines().find(|line| line.contains("a secret")).unwrap().to_owned();
    // As a tool leaves it that puts two copies of a file together.
    fs::write(place.file(id), format!("{text}{copy}\n")).unwrap();

    let target = Target::Messages { conversation: id, ids: &[ids[1]], children: Children::Remove };
    place.store().remove(&[target], "by request", rejoin::Time::now()).unwrap();

    assert_eq!((holding(&place, "a secret"), place.all_texts(id)), (0, vec!["one".to_owned()]));
    assert_eq!(place.faults(), Vec::<String>::new());
}

/// What a rewrite of a message brings.
fn rewritten(id: MessageId, body: &str) -> Rewritten<'_> {
    Rewritten { id, link: Digest::chain(None, body.as_bytes()), body }
}

#[test]
fn a_rewritten_message_is_in_no_file_any_more() {
    let place = Place::new();
    let id = place.talk(&[&["a secret"], &["two"]]);
    let earlier = place.store();
    place
        .archive()
        .update(id, |conversation| conversation.title = Some("a secret title".to_owned()))
        .unwrap();
    place.archive().update(id, |conversation| conversation.title = Some("harmless".to_owned())).unwrap();
    place.titles();
    let path = place.archive().path(id, None).unwrap();
    let text = fs::read_to_string(place.file(id)).unwrap();
    let copy = text.lines().find(|line| line.contains("\"a secret\"")).unwrap().to_owned();
    fs::write(place.file(id), format!("{text}{copy}\n")).unwrap();
    let bodies = ["harmless", "two"].map(|text| Message::user(text).to_body());

    let change = Change::Rewrite {
        messages: &[rewritten(path[0].id, &bodies[0]), rewritten(path[1].id, &bodies[1])],
        previews: PreviewUpdate { first: "harmless", ..PreviewUpdate::default() },
    };
    earlier.amend(id, Some(3), &change, rejoin::Time::now()).unwrap();

    // Neither the copy of its line nor titles that were replaced before are carried over.
    assert_eq!(
        (holding(&place, "secret"), place.texts(id)),
        (0, vec!["harmless".to_owned(), "two".to_owned()])
    );
    assert_eq!((place.titles(), place.faults()), (vec!["harmless".to_owned()], vec![]));
}

#[test]
fn whoever_writes_next_finishes_a_rewrite_that_was_cut_off() {
    let place = Place::new();
    let (id, other) = (place.talk(&[&["a secret"]]), place.talk(&[&["stays"]]));
    place.titles();
    let earlier = place.archive();
    earlier.resume(other).unwrap().append(Message::user("before")).unwrap();
    let (index, file) = (place.root.join(".store/index"), place.file(id));
    let (rows, lines) = (fs::read(&index).unwrap(), fs::read(&file).unwrap());
    let first = place.archive().path(id, None).unwrap()[0].id;
    let body = Message::user("harmless").to_body();
    let change = Change::Rewrite { messages: &[rewritten(first, &body)], previews: PreviewUpdate::default() };
    place.store().amend(id, None, &change, rejoin::Time::now()).unwrap();
    // As if the process had been killed once the new file had taken the name.
    let temporary = place.root.join(".store/temporary");
    fs::write(temporary.join(format!("{id}.jsonl.gone-1-0")), lines).unwrap();
    fs::write(&index, rows).unwrap();

    earlier.resume(other).unwrap().append(Message::user("after")).unwrap();

    assert_eq!((holding(&place, "a secret"), fs::read_dir(temporary).unwrap().count()), (0, 0));
    assert_eq!((place.texts(id), place.texts(other).len()), (vec!["harmless".to_owned()], 3));
}

#[test]
fn a_file_is_written_anew_when_a_quarter_of_it_says_nothing_any_more() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let rename = |title: &str| drop(place.archive().rename(id, title).unwrap());
    for title in ["a secret", "b", "c", "d"] {
        rename(title);
    }
    let (collected, before) = (holding(&place, "a secret"), place.archive().conversation(id).unwrap());

    rename("e");

    let after = place.archive().conversation(id).unwrap();
    assert_eq!((collected, holding(&place, "a secret"), after.version), (1, 0, before.version + 1));
    assert_eq!((place.texts(id).len(), place.titles(), place.faults()), (2, vec!["e".to_owned()], vec![]));
    assert_eq!(fs::read_dir(place.root.join(".store/temporary")).unwrap().count(), 0);
}

#[test]
fn a_long_conversation_is_not_copied_for_a_few_titles() {
    let place = Place::new();
    let id = place.talk(&[&[&"word ".repeat(20_000)]]);
    let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(place.file(id)).unwrap());
    let before = inode();

    for number in 0..20 {
        place.archive().rename(id, &format!("title {number}")).unwrap();
    }

    assert_eq!(inode(), before);
    // Whoever asks for it gets rid of them.
    place.store().maintain(Task::Repack, Duration::MAX).unwrap();
    assert_eq!((holding(&place, "title 3"), place.titles()), (0, vec!["title 19".to_owned()]));
    let folded = inode();
    place.store().maintain(Task::Repack, Duration::MAX).unwrap();
    assert_eq!(inode(), folded);
}
