//! Recording a talk while it happens.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use rejoin::store::{Children, Put, Safety, Space, SqliteStore};
use rejoin::{
    Archive, BegunAgain, Block, Conversation, EndReason, Ending, ErrorKind, EventKind, Incomplete, Json,
    Limits, Message, MessageId, Metrics, OpenTurn, Receipt, Recorder, Role, Saved, Status, Strain, Thinking,
};

use super::moody::{Mood, Moody};
use super::{Lab, archive, archive_at, archive_in, ids, said, talk};

/// A recorder over a store that fails when it is told to.
struct Desk {
    lab: Arc<Lab>,
    store: Arc<Moody>,
    archive: Archive,
    recorder: Recorder,
}

fn desk() -> Desk {
    let (lab, store) = (Lab::new(), Arc::new(Moody::new()));
    let archive = Archive::with_store(store.clone()).with_nature(lab.clone());
    let recorder = record(&archive);
    store.tried();
    Desk { lab, store, archive, recorder }
}

fn record(archive: &Archive) -> Recorder {
    let header = Conversation::titled("Lisbon").in_project("/home/ada");
    archive.record(archive.start(header).unwrap(), "1@1")
}

impl Desk {
    fn say(&mut self, word: &str) -> Saved {
        self.recorder.append(vec![Message::user(word)]).unwrap()
    }

    fn stored(&self) -> String {
        said(&self.archive.path(self.recorder.conversation(), None).unwrap())
    }
}

fn receipt(saved: Saved) -> Receipt {
    match saved {
        Saved::Now(receipt) => receipt,
        Saved::Later => panic!("it is not saved"),
    }
}

fn is_later(saved: &Saved) -> bool {
    matches!(saved, Saved::Later)
}

fn open_turns(recorder: &Recorder) -> Vec<OpenTurn> {
    recorder.handle().archive().open_turns().list(recorder.conversation()).unwrap()
}

fn call(id: &str) -> Block {
    Block::tool_call(id, "read", Json::parse("{}").unwrap())
}

#[test]
fn an_open_turn_replaces_itself_and_is_not_history() {
    let archive = archive();
    let mut recorder = record(&archive);
    let asked = receipt(recorder.append(vec![Message::user("ask")]).unwrap());

    let saved = ["An", "An answer"].map(|text| recorder.save_open(&Message::assistant(text), &[]));

    let [open] = &open_turns(&recorder)[..] else { panic!("there is one") };
    assert_eq!(saved, [true; 2]);
    assert_eq!((open.base, open.writer.as_str(), open.saved_at), (Some(asked.head), "1@1", archive.now()));
    assert_eq!((&open.partial, &open.results[..]), (&Message::assistant("An answer"), &[][..]));
    assert_eq!(said(&recorder.handle().path().unwrap()), "ask");
}

#[test]
fn an_open_turn_goes_in_the_write_that_appends_the_reply() {
    let mut desk = desk();
    desk.say("ask");
    desk.recorder.save_open(&Message::assistant("An"), &[]);
    desk.store.tried();

    desk.recorder.append(vec![Message::assistant("An answer")]).unwrap();

    assert_eq!((desk.store.tried(), open_turns(&desk.recorder).len()), (1, 0));
    assert_eq!(desk.stored(), "ask An answer");
}

#[test]
fn a_failing_store_keeps_the_messages_waiting_in_order() {
    let mut desk = desk();
    desk.store.set(Mood::Failing(ErrorKind::Unavailable));

    let later = ["one", "two", "three"].map(|word| is_later(&desk.say(word)));
    let waiting = (desk.recorder.waiting(), desk.recorder.cause().map(ToString::to_string));
    desk.store.set(Mood::Well);
    desk.lab.turn_clock(60);
    let saved = receipt(desk.recorder.retry().unwrap());

    assert_eq!((later, waiting), ([true; 3], (3, Some("the store is in a mood".to_owned()))));
    assert_eq!((desk.stored().as_str(), saved.seq), ("one two three", 3));
    assert_eq!((desk.recorder.waiting(), desk.recorder.cause().is_none()), (0, true));
}

#[test]
fn a_message_that_waited_keeps_the_time_it_was_said_at() {
    let mut desk = desk();
    let said_at = desk.archive.now();
    desk.store.set(Mood::Failing(ErrorKind::Locked));
    desk.say("one");

    desk.lab.turn_clock(60);
    desk.store.set(Mood::Well);
    desk.recorder.retry().unwrap();

    let path = desk.recorder.handle().path().unwrap();
    assert_eq!(path[0].message.created_at, Some(said_at));
}

#[test]
fn what_was_stored_in_spite_of_an_error_is_recognised() {
    let mut desk = desk();
    desk.say("zero");
    desk.store.set(Mood::Forgetful);
    let later = is_later(&desk.say("one"));
    desk.say("two");

    desk.store.set(Mood::Well);
    desk.lab.turn_clock(60);
    desk.recorder.retry().unwrap();

    assert_eq!((later, desk.stored().as_str()), (true, "zero one two"));
    let all = desk.recorder.handle().conversation().unwrap().messages;
    assert_eq!(all, 3);
    assert!(desk.archive.maintenance().verify(desk.recorder.conversation()).unwrap().is_sound());
}

#[test]
fn an_open_turn_that_was_stored_in_spite_of_an_error_goes_with_the_reply() {
    let mut desk = desk();
    desk.say("ask");
    desk.store.set(Mood::Forgetful);

    let is_saved = desk.recorder.save_open(&Message::assistant("An"), &[]);
    let held = open_turns(&desk.recorder).len();
    desk.store.set(Mood::Well);
    desk.lab.turn_clock(60);
    desk.recorder.append(vec![Message::assistant("An answer")]).unwrap();

    assert_eq!((is_saved, held, open_turns(&desk.recorder).len()), (false, 1, 0));
}

#[test]
fn a_failing_store_is_left_alone_for_growing_pauses() {
    let mut desk = desk();
    desk.store.set(Mood::Failing(ErrorKind::Unavailable));
    desk.say("one");

    let pauses: Vec<u64> = (0..9)
        .map(|_| {
            let pause = desk.recorder.pause();
            desk.say("more");
            assert_eq!(desk.recorder.pause(), pause, "nothing was tried within the pause");
            desk.lab.turn_clock(i64::try_from(pause.as_secs()).unwrap() + 1);
            desk.recorder.retry().unwrap();
            u64::try_from(pause.as_millis()).unwrap()
        })
        .collect();

    assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    assert_eq!(desk.store.tried(), 10);
    desk.store.set(Mood::Well);
    desk.recorder.flush().unwrap();
    assert_eq!((desk.recorder.waiting(), desk.recorder.pause()), (0, Duration::ZERO));
}

#[test]
fn a_clock_that_is_set_back_does_not_make_a_pause_longer() {
    let mut desk = desk();
    desk.store.set(Mood::Failing(ErrorKind::Unavailable));
    desk.say("one");
    desk.store.set(Mood::Well);

    desk.lab.turn_clock(-3_600);
    desk.recorder.retry().unwrap();

    assert_eq!(desk.stored(), "one");
}

/// Something that happens while a talk is recorded.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Say,
    SaveOpen,
    Mood(Mood),
    Wait(i64),
    Retry,
}

fn happening() -> impl Strategy<Value = Happening> {
    let failing = [ErrorKind::Unavailable, ErrorKind::Locked, ErrorKind::Corrupt].map(Mood::Failing);
    let moods = [Mood::Well, Mood::Well, Mood::Forgetful, failing[0], failing[1], failing[2]];
    prop_oneof![
        4 => Just(Happening::Say),
        2 => Just(Happening::SaveOpen),
        2 => proptest::sample::select(moods.to_vec()).prop_map(Happening::Mood),
        2 => (0..40i64).prop_map(Happening::Wait),
        1 => Just(Happening::Retry),
    ]
}

proptest! {
    #[test]
    fn whatever_the_store_does_everything_is_saved_once_and_in_order(happenings in prop::collection::vec(happening(), 0..60)) {
        let mut desk = desk();
        let mut spoken = Vec::new();
        for happening in happenings {
            match happening {
                Happening::Say => {
                    spoken.push(format!("w{}", spoken.len()));
                    desk.say(&spoken[spoken.len() - 1]);
                }
                Happening::SaveOpen => drop(desk.recorder.save_open(&Message::assistant("part"), &[])),
                Happening::Mood(mood) => desk.store.set(mood),
                Happening::Wait(seconds) => desk.lab.turn_clock(seconds),
                Happening::Retry => drop(desk.recorder.retry().unwrap()),
            }
        }
        desk.store.set(Mood::Well);
        spoken.push("last".to_owned());
        desk.say("last");
        desk.recorder.flush().unwrap();

        let stored = desk.recorder.handle().conversation().unwrap();
        prop_assert_eq!(desk.stored(), spoken.join(" "));
        prop_assert_eq!(stored.messages, spoken.len() as u64);
        prop_assert_eq!(open_turns(&desk.recorder).len(), 0);
        prop_assert!(desk.archive.maintenance().verify(stored.id).unwrap().is_sound());
    }
}

#[test]
fn no_open_turn_is_saved_while_messages_before_it_wait() {
    let mut desk = desk();
    desk.store.set(Mood::Failing(ErrorKind::Unavailable));
    desk.say("ask");
    desk.store.set(Mood::Well);
    let partial = Message::assistant("An");

    let early = desk.recorder.save_open(&partial, &[]);
    desk.lab.turn_clock(60);
    desk.recorder.retry().unwrap();
    let late = desk.recorder.save_open(&partial, &[]);

    assert_eq!((early, late, open_turns(&desk.recorder).len()), (false, true, 1));
}

#[test]
fn nothing_moves_the_recorder_while_messages_wait() {
    let mut desk = desk();
    let root = receipt(desk.say("root")).head;
    desk.store.set(Mood::Failing(ErrorKind::Unavailable));
    desk.say("one");

    let refused = [
        desk.recorder.rewind(root).unwrap_err().kind(),
        desk.recorder.fork(root, "aside").unwrap_err().kind(),
        desk.recorder.restart().unwrap_err().kind(),
        desk.recorder.end(Ending::Completed).unwrap_err().kind(),
    ];
    desk.store.set(Mood::Well);
    desk.recorder.rewind(root).unwrap();
    desk.say("two");

    assert_eq!(refused, [ErrorKind::Unavailable; 4]);
    assert_eq!(desk.stored(), "root two");
    assert!(desk.archive.maintenance().verify(desk.recorder.conversation()).unwrap().is_sound());
}

#[test]
fn a_talk_may_begin_anew_and_the_head_moves_with_the_next_message_only() {
    let mut desk = desk();
    let first = receipt(desk.say("root")).head;

    desk.recorder.restart().unwrap();
    let head = desk.recorder.handle().head();
    let unmoved = desk.stored();
    let second = receipt(desk.say("other"));

    assert_eq!((head, unmoved.as_str(), second.forked), (None, "root", true));
    assert_eq!(desk.stored(), "other");
    desk.recorder.rewind(first).unwrap();
    assert_eq!(desk.stored(), "root");
    assert!(desk.archive.maintenance().verify(desk.recorder.conversation()).unwrap().is_sound());
}

#[test]
fn a_turn_that_is_too_large_is_refused_by_the_limits_name_and_the_rest_goes_on() {
    let limits = Limits { turn_bytes: 1_000, conversation_bytes: 1_500, ..Limits::default() };
    let mut desk = desk();
    desk.recorder = record(&desk.archive.clone().with_limits(limits));
    desk.store.set(Mood::Failing(ErrorKind::Locked));
    desk.say(&"x".repeat(800));

    let turn = desk.recorder.append(vec![Message::user("x".repeat(1_000))]).unwrap_err();
    let conversation = desk.recorder.append(vec![Message::user("x".repeat(800))]).unwrap_err();
    desk.say("small");
    desk.store.set(Mood::Well);
    desk.recorder.flush().unwrap();

    assert_eq!([turn.kind(), conversation.kind()], [ErrorKind::Invalid; 2]);
    assert!(turn.to_string().contains("`limits.turn_bytes` = 1000"), "{turn}");
    assert!(conversation.to_string().contains("`limits.conversation_bytes` = 1500"), "{conversation}");
    assert!(desk.stored().ends_with(" small"));
}

#[test]
fn a_turn_that_the_store_refuses_for_good_does_not_hold_up_the_others() {
    let mut desk = desk();
    desk.store.set(Mood::Failing(ErrorKind::Invalid));

    let refused = desk.recorder.append(vec![Message::user("one")]).unwrap_err();
    desk.store.set(Mood::Well);
    desk.say("two");

    assert_eq!((refused.kind(), desk.stored().as_str()), (ErrorKind::Invalid, "two"));
}

#[test]
fn a_turn_that_is_not_complete_is_refused() {
    let mut recorder = record(&archive());
    let unanswered = vec![Message::new(Role::Assistant, vec![call("c1")])];

    let error = recorder.append(unanswered).unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.to_string(), "the turn is not complete: tool call `c1` has no result");
    assert_eq!(recorder.waiting(), 0);
}

#[test]
fn a_conversation_that_was_deleted_stays_deleted_and_the_talk_goes_on_in_a_new_one() {
    let mut desk = desk();
    desk.say("secret");
    let gone = desk.recorder.conversation();
    desk.recorder.save_open(&Message::assistant("An"), &[]);
    desk.archive.removal().delete(&[gone], "asked");

    let saved = receipt(desk.recorder.append(talk(&["one", "two"])).unwrap());
    desk.say("three");

    assert_ne!(saved.conversation, gone);
    assert_eq!(desk.stored(), "one two three");
    assert_eq!(desk.archive.conversation(gone).unwrap_err().kind(), ErrorKind::NotFound);
    let header = desk.archive.conversation(saved.conversation).unwrap().conversation;
    assert_eq!(header, Conversation::new().in_project("/home/ada"));
}

#[test]
fn the_conversation_in_the_place_of_a_deleted_one_is_told_once() {
    let mut desk = desk();
    desk.say("secret");
    let deleted = desk.recorder.conversation();
    let before = desk.recorder.take_begun_again();
    desk.archive.removal().delete(&[deleted], "asked");

    desk.say("one");
    desk.say("two");

    let conversation = desk.recorder.conversation();
    assert_eq!(
        (before, desk.recorder.take_begun_again()),
        (vec![], vec![BegunAgain { deleted, conversation }])
    );
    assert_eq!((desk.recorder.take_begun_again(), desk.stored().as_str()), (vec![], "one two"));
}

#[test]
fn a_reply_that_arrives_after_its_conversation_was_deleted_is_saved_in_the_new_one() {
    let mut desk = desk();
    desk.say("secret");
    let deleted = desk.recorder.conversation();
    desk.archive.removal().delete(&[deleted], "asked");

    let is_saved = desk.recorder.save_open(&Message::assistant("An"), &[]);
    let open = open_turns(&desk.recorder);
    desk.recorder.append(vec![Message::assistant("An answer")]).unwrap();

    assert!(is_saved && desk.recorder.cause().is_none());
    assert_eq!((open.len(), open[0].base), (1, None));
    assert_eq!((open_turns(&desk.recorder).len(), desk.stored().as_str()), (0, "An answer"));
    assert_eq!(desk.recorder.take_begun_again().len(), 1);
}

#[test]
fn a_talk_goes_on_from_what_is_left_when_its_last_messages_are_deleted() {
    let mut desk = desk();
    desk.say("one");
    let two = receipt(desk.say("two")).head;
    let id = desk.recorder.conversation();
    desk.archive.removal().delete_messages(id, &[two], Children::Refuse, "asked").unwrap();

    let saved = receipt(desk.say("three"));

    assert_eq!((saved.conversation, desk.stored().as_str()), (id, "one three"));
    assert!(desk.archive.maintenance().verify(id).unwrap().is_sound());
}

#[test]
fn a_store_in_doubt_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let doubtful = Arc::new(Moody::over(SqliteStore::open(&path).unwrap()));
    let archive = Archive::with_store(doubtful.clone());
    let again = path.clone();
    let mut recorder = record(&archive).reopening(move || Ok(archive_at(&again)));
    recorder.append(vec![Message::user("one")]).unwrap();
    doubtful.set(Mood::Failing(ErrorKind::Unavailable));

    let later = is_later(&recorder.append(vec![Message::user("two")]).unwrap());
    recorder.flush().unwrap();
    let is_saved = recorder.save_open(&Message::assistant("An"), &[]);

    let found = archive_at(&path).path(recorder.conversation(), None).unwrap();
    assert_eq!((later, said(&found).as_str(), is_saved), (true, "one two", true));
}

#[test]
fn a_kept_open_turn_is_a_complete_turn_marked_as_interrupted() {
    let archive = archive();
    let mut recorder = record(&archive);
    recorder.append(vec![Message::user("ask")]).unwrap();
    let partial = Message::new(Role::Assistant, vec![Block::text("Let me look."), call("a"), call("b")]);
    let result = Message::new(Role::Tool, vec![Block::tool_result("a", Json::parse("\"found\"").unwrap())]);
    recorder.save_open(&partial, &[result]);
    let id = recorder.conversation();

    let turn = open_turns(&recorder).remove(0);
    let kept = archive.open_turns().keep(id, &turn).unwrap();

    let path = archive.path(id, None).unwrap();
    let messages: Vec<Message> = path.iter().skip(1).map(|stored| stored.message.clone()).collect();
    assert_eq!(messages, turn.messages());
    assert_eq!(messages[0].finish.as_deref(), Some("interrupted"));
    assert_eq!(Incomplete::of(&messages), None);
    assert_eq!((ids(&path)[1..].to_vec(), kept.forked), (kept.messages, false));
    assert_eq!(archive.open_turns().list(id).unwrap(), []);
}

#[test]
fn an_open_turn_that_two_programs_keep_is_stored_once() {
    let archive = archive();
    let mut recorder = record(&archive);
    recorder.append(vec![Message::user("ask")]).unwrap();
    recorder.save_open(&Message::assistant("An"), &[]);
    let (id, turn) = (recorder.conversation(), open_turns(&recorder).remove(0));

    let first = archive.open_turns().keep(id, &turn).unwrap();
    let second = archive.open_turns().keep(id, &turn).unwrap();

    assert_eq!((first.replayed, second.replayed), (false, true));
    assert_eq!((first.messages, archive.conversation(id).unwrap().messages), (second.messages, 2));
}

#[test]
fn an_open_turn_whose_base_is_gone_follows_what_is_left() {
    let archive = archive();
    let mut recorder = record(&archive);
    recorder.append(vec![Message::user("one")]).unwrap();
    let two = receipt(recorder.append(vec![Message::user("two")]).unwrap()).head;
    recorder.save_open(&Message::assistant("An"), &[]);
    let (id, turn) = (recorder.conversation(), open_turns(&recorder).remove(0));
    archive.removal().delete_messages(id, &[two], Children::Refuse, "asked").unwrap();

    archive.open_turns().keep(id, &turn).unwrap();

    assert_eq!(said(&archive.path(id, None).unwrap()), "one An");
}

#[test]
fn a_discarded_open_turn_leaves_no_trace() {
    let archive = archive();
    let mut recorder = record(&archive);
    recorder.append(vec![Message::user("ask")]).unwrap();
    recorder.save_open(&Message::assistant("An"), &[]);
    let (id, turn) = (recorder.conversation(), open_turns(&recorder).remove(0));

    archive.open_turns().discard(id, turn.name).unwrap();

    assert_eq!(
        (archive.open_turns().list(id).unwrap(), archive.conversation(id).unwrap().messages),
        (vec![], 1)
    );
}

#[test]
fn leftovers_are_the_open_turns_of_writers_that_are_gone() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let mut first = record(&archive);
    first.append(vec![Message::user("ask")]).unwrap();
    let id = first.conversation();
    let mut others = ["2@2", "3@3"].map(|writer| archive.record(archive.resume(id).unwrap(), writer));
    first.save_open(&Message::assistant("one"), &[]);
    lab.turn_clock(1);
    others[0].save_open(&Message::assistant("two"), &[]);
    lab.turn_clock(1);
    others[1].save_open(&Message::assistant("three"), &[]);

    let left = archive.open_turns().leftovers(id, |writer| writer == "2@2").unwrap();
    let kept: Vec<bool> =
        left.iter().map(|turn| archive.open_turns().keep(id, turn).unwrap().forked).collect();

    let writers: Vec<&str> = left.iter().map(|turn| turn.writer.as_str()).collect();
    assert_eq!((writers, kept), (vec!["1@1", "3@3"], vec![false, true]));
    assert_eq!(archive.open_turns().list(id).unwrap().len(), 1);
}

#[test]
fn an_open_turn_that_cannot_be_read_stands_in_nobodys_way() {
    let archive = archive();
    let mut recorder = record(&archive);
    recorder.append(vec![Message::user("ask")]).unwrap();
    recorder.save_open(&Message::assistant("An"), &[]);
    let owner = Some(recorder.conversation());
    let blobs: [(&[u8], &[u8]); 4] = [
        (b"torn", br#"{"version":1,"base":nul"#),
        (b"newer", br#"{"version":2,"mood":"calm"}"#),
        (
            b"\xff",
            br#"{"version":1,"base":null,"writer":"","saved_at":0,"partial":{"role":"user"},"results":[]}"#,
        ),
        (b"empty", b""),
    ];
    for (name, bytes) in blobs {
        let put = Put { space: Space::OpenTurn, owner, name, bytes: Some(bytes) };
        archive.store().put(&[put], Safety::Synced).unwrap();
    }

    let texts: Vec<String> = open_turns(&recorder).iter().map(|turn| turn.partial.text()).collect();

    assert_eq!(texts, ["An"]);
}

#[test]
fn an_open_turn_of_which_nothing_can_be_kept_is_refused() {
    let archive = archive();
    let mut recorder = record(&archive);
    recorder.append(vec![Message::user("ask")]).unwrap();
    recorder.save_open(&Message::assistant("An"), &[]);
    recorder.save_open(&Message::new(Role::Assistant, Vec::new()), &[]);
    let turn = open_turns(&recorder).remove(0);

    let error = archive.open_turns().keep(recorder.conversation(), &turn).unwrap_err();

    assert_eq!((error.kind(), turn.messages()), (ErrorKind::Invalid, vec![]));
}

#[test]
fn nothing_is_written_while_there_is_only_thinking() {
    let mut desk = desk();
    desk.say("ask");
    desk.store.tried();
    let thinking = Block::Thinking(Thinking { text: "hm".into(), ..Thinking::default() });

    let is_saved = desk.recorder.save_open(&Message::new(Role::Assistant, vec![thinking]), &[]);

    assert_eq!((is_saved, desk.store.tried(), open_turns(&desk.recorder).len()), (true, 0, 0));
}

#[test]
fn the_end_of_a_talk_keeps_why_and_what_was_measured() {
    let mut desk = desk();
    desk.say("ask");
    desk.lab.turn_clock(4);
    desk.recorder.append(vec![Message::assistant("answer")]).unwrap();
    desk.lab.turn_clock(10);
    desk.say("more");
    desk.lab.turn_clock(2);
    desk.recorder.append(vec![Message::assistant("more")]).unwrap();
    let id = desk.recorder.conversation();

    let paused = desk.recorder.end(Ending::Paused(EndReason::AutoPaused)).unwrap().conversation;
    desk.archive.status().activate(id).unwrap();
    desk.say("again");
    desk.lab.turn_clock(6);
    desk.recorder.append(vec![Message::assistant("yes")]).unwrap();
    let completed = desk.recorder.end(Ending::Completed).unwrap().conversation;

    let first =
        Metrics { user_messages: 2, assistant_messages: 2, duration_ms: 16_000, average_latency_ms: 3_000 };
    let all =
        Metrics { user_messages: 3, assistant_messages: 3, duration_ms: 22_000, average_latency_ms: 4_000 };
    assert_eq!(
        (paused.status, paused.end_reason(), paused.metrics.clone()),
        (Status::Paused, Some(EndReason::AutoPaused), Some(first))
    );
    assert_eq!(
        (completed.status, completed.end_reason(), completed.metrics.clone()),
        (Status::Completed, Some(EndReason::Ended), Some(all))
    );
}

#[test]
fn the_name_of_an_open_turn_is_its_own() {
    let archive = archive();
    let mut recorder = record(&archive);
    recorder.append(vec![Message::user("ask")]).unwrap();
    let mut other = archive.record(archive.resume(recorder.conversation()).unwrap(), "2@2");
    recorder.save_open(&Message::assistant("one"), &[]);
    other.save_open(&Message::assistant("two"), &[]);

    other.discard_open().unwrap();

    let names: Vec<MessageId> = open_turns(&recorder).iter().map(|turn| turn.name).collect();
    assert_eq!((names.len(), names[0].as_str().len()), (1, 10));
}

#[test]
fn a_write_that_takes_long_is_told_once_until_writes_are_quick_again() {
    let mut desk = desk();
    let pace = |store: &Moody, lab: &Arc<Lab>, micros: i64| {
        let lab = Arc::clone(lab);
        store.while_writing(move || {
            lab.micros.fetch_add(micros, std::sync::atomic::Ordering::Relaxed);
        });
    };

    let mut told = Vec::new();
    for micros in [150_000, 150_001, 400_000, 1_000, 200_000] {
        pace(&desk.store, &desk.lab, micros);
        desk.say("word");
        told.push(desk.recorder.take_strains());
    }

    let slow = |micros| vec![Strain::Slow { took: Duration::from_micros(micros) }];
    assert_eq!(told, [vec![], slow(150_001), vec![], vec![], slow(200_000)]);
    assert_eq!(told[1][0].to_string(), "Saving took 150 ms; the disk may be busy.");
}

#[test]
fn little_room_is_told_before_there_is_none() {
    let Desk { store, archive, .. } = desk();
    let free = Arc::new(std::sync::atomic::AtomicU64::new(1 << 30));
    let room = Arc::clone(&free);
    let mut recorder =
        record(&archive).watching_room(move || Some(room.load(std::sync::atomic::Ordering::Relaxed)));

    let mut told = Vec::new();
    for bytes in [1 << 30, 20 << 20, 19 << 20, 1 << 30, 1 << 20] {
        free.store(bytes, std::sync::atomic::Ordering::Relaxed);
        recorder.append(vec![Message::user("word")]).unwrap();
        told.push(recorder.take_strains());
    }

    let low = |free| vec![Strain::Low { free }];
    assert_eq!(told, [vec![], low(20 << 20), vec![], vec![], low(1 << 20)]);
    assert!(store.tried() > 0);
}

#[test]
fn an_exhausted_disk_is_told_once_and_what_waits_is_saved_when_there_is_room() {
    let mut desk = desk();
    desk.store.set(Mood::Full);
    assert!(is_later(&desk.say("one")));
    let told = desk.recorder.take_strains();
    desk.lab.turn_clock(60);
    assert!(is_later(&desk.say("two")));
    let again = desk.recorder.take_strains();

    desk.store.set(Mood::Well);
    desk.lab.turn_clock(60);
    receipt(desk.recorder.retry().unwrap());

    assert_eq!((told, again), (vec![Strain::Exhausted], vec![]));
    assert_eq!((desk.stored(), desk.recorder.waiting()), ("one two".to_owned(), 0));
}

#[test]
fn whoever_follows_is_told_that_the_store_is_under_strain() {
    let mut desk = desk();
    let other = Archive::with_store(desk.store.clone());
    let mut events = other.subscribe().unwrap();
    let lab = desk.lab.clone();
    desk.store.while_writing(move || lab.turn_clock(1));

    desk.say("slow");

    let kinds: Vec<_> = std::iter::repeat_with(|| events.next(Duration::from_secs(10)).unwrap())
        .take(2)
        .flatten()
        .map(|event| (event.conversation, event.kind))
        .collect();
    let id = Some(desk.recorder.conversation());
    let slow = EventKind::Strained(Strain::Slow { took: Duration::from_secs(1) });
    assert_eq!(kinds, [(id, EventKind::Stored { messages: 1 }), (id, slow)]);
}
