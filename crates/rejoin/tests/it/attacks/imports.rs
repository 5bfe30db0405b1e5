//! An imported file does not control your conversations.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rejoin::formats::{Format, ReadLimits, Source};
use rejoin::store::{
    Change, Entry, Facets, ListQuery, MemoryStore, Note, Opening, Order, PreviewUpdate, Read, Stale, Store,
    Turn,
};
use rejoin::{
    Archive, Conversation, ConversationId, Digest, Extent, Hold, Import, ImportMode, Imported, ImportedAs,
    Json, Message, MessageId, Nature, PurgeReason, StoredConversation, Subagents, SystemNature, Time,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::attempt::{Attempt, Target, assert_all_fail};

const FAR: &str = "2200-01-01T00:00:00Z";
const SESSION: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48";
const STRANGER: &str = "01932d4a-0123-7890-abcd-123456789abc";

/// A store with a conversation that began here, and a place for files.
struct World {
    store: Arc<MemoryStore>,
    archive: Archive,
    own: ConversationId,
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        Self::with(Conversation::titled("Lisbon"))
    }

    fn with(header: Conversation) -> Self {
        let store = Arc::new(MemoryStore::new());
        let archive = Archive::with_store(store.clone());
        let mut talk = archive.start(header).unwrap();
        talk.append(Message::user("Where to eat?")).unwrap();
        talk.append(Message::assistant("A tasca.")).unwrap();
        Self { store, own: talk.id(), archive, directory: tempfile::tempdir().unwrap() }
    }

    /// A file of Rejoin's with these conversations. The version has to come first.
    fn file(&self, name: &str, conversations: &[Value]) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, format!("{{\"rejoin\":1,\"conversations\":{}}}", json!(conversations))).unwrap();
        path
    }

    /// A session of Claude Code in a folder of its own.
    fn session(&self, folder: &str, said: &[&str]) -> PathBuf {
        let path = self.directory.path().join(folder).join(format!("{SESSION}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let line = |(place, text): (usize, &&str)| {
            let above = place.checked_sub(1).map(|above| format!("u{above}"));
            json!({"type": "user", "uuid": format!("u{place}"), "parentUuid": above, "sessionId": SESSION,
                   "timestamp": "2026-11-15T17:55:34.430Z", "message": {"role": "user", "content": text}})
            .to_string()
        };
        let lines: Vec<String> = said.iter().enumerate().map(line).collect();
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        path
    }

    fn import(&self, path: &Path) -> Imported {
        self.imported(path, None)
    }

    fn import_into(&self, path: &Path) -> Imported {
        self.imported(path, Some(self.own))
    }

    fn imported(&self, path: &Path, into: Option<ConversationId>) -> Imported {
        let source = Source::open(path).unwrap();
        let (format, limits) = (Format::of(&source).unwrap(), ReadLimits::default());
        let mode = ImportMode::Store;
        let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
        match into {
            Some(id) => self.archive.imports().add_into(id, &source, format, &mut how).unwrap(),
            None => self.archive.imports().add(&source, format, &mut how).unwrap(),
        }
    }

    /// The conversation that began here, as a file of Rejoin's has it.
    fn exported(&self) -> Value {
        let format = Format::named("json").unwrap();
        let files =
            format.write(&self.archive.exports().tree_for(format, self.own, Extent::Tree).unwrap()).unwrap();
        let mut document: Value = serde_json::from_slice(&files[0].bytes).unwrap();
        document["conversations"][0].take()
    }

    /// The same with one more message.
    fn longer(&self) -> Value {
        let mut exported = self.exported();
        let last = exported["head"].clone();
        let more = json!({"id": "Evil01", "parent": last, "message": said("a trap")});
        exported["messages"].as_array_mut().unwrap().push(more);
        exported["head"] = json!("Evil01");
        exported
    }

    fn own(&self) -> StoredConversation {
        self.archive.conversation(self.own).unwrap()
    }

    fn says(&self, id: ConversationId, text: &str) -> bool {
        let all = self.archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
        all.iter().any(|stored| stored.message.text() == text)
    }

    /// Tries a longer file of the conversation that began here, and asks for it as a control.
    fn import_on(&self, target: Target, conversation: Value) {
        let path = self.file("lisbon.json", &[conversation]);
        match target {
            Target::Guarded => self.import(&path),
            Target::Control => self.import_into(&path),
        };
    }

    /// Stores a conversation as it is told, with one message.
    fn store(&self, id: ConversationId, header: &Conversation, message: &str, active: Time, now: Time) {
        self.store_named(id, header, "lisbon", message, active, now);
    }

    fn store_named(
        &self,
        id: ConversationId,
        header: &Conversation,
        slug: &str,
        message: &str,
        active: Time,
        now: Time,
    ) {
        let body = Message::user("raw").to_body();
        let link = Digest::chain(None, body.as_bytes());
        let entry =
            Entry { id: message.parse().unwrap(), parent: None, link, note: Note::default(), body: &body };
        let facets = Facets { slug: slug.to_owned(), ..Facets::default() };
        let header = header.to_header();
        let is_there = self.archive.conversation(id).is_ok();
        let opening = Opening { facets: &facets, header: &header, created: active };
        let turn = Turn {
            conversation: id,
            opening: (!is_there).then_some(opening),
            stale: Stale::Branch,
            entries: &[entry],
            previews: PreviewUpdate::default(),
            branch: None,
            active,
            now,
            blobs: &[],
        };
        self.store.append(&turn).unwrap();
    }
}

fn said(text: &str) -> Value {
    json!({"role": "user", "created_at": "2026-11-15T19:27:27Z", "blocks": [{"type": "text", "text": text}]})
}

/// A conversation of a stranger, with this header.
fn stranger(header: Value) -> Value {
    let mut conversation = json!({"id": STRANGER, "created_at": "2026-11-15T19:27:27Z", "messages": [
        {"id": "Evil01", "message": said("a trap")}]});
    conversation["header"] = header;
    conversation
}

fn id(text: &str) -> ConversationId {
    text.parse().unwrap()
}

fn id_of(imported: &Imported) -> ConversationId {
    imported.conversations[0].id
}

/// A clock that someone has set.
#[derive(Debug)]
struct SetTo(Time);

impl Nature for SetTo {
    fn now(&self) -> Time {
        self.0
    }

    fn fill(&self, random: &mut [u8]) {
        SystemNature.fill(random);
    }
}

#[test]
fn a_file_says_nothing_about_a_conversation_that_began_here() {
    let grows = |target| {
        let world = World::new();
        world.import_on(target, world.longer());
        world.own().messages > 2
    };
    let is_rewritten = |target| {
        let world = World::new();
        let mut file = world.exported();
        file["messages"][1]["message"]["blocks"][0]["text"] = json!("a trap");
        world.import_on(target, file);
        world.says(world.own, "a trap")
    };
    let gets_a_root = |target| {
        let world = World::new();
        let mut file = world.exported();
        file["messages"] = json!([{"id": "Evil01", "message": said("a trap")}]);
        file["head"] = json!("Evil01");
        world.import_on(target, file);
        world.says(world.own, "a trap")
    };
    let moves_the_head = |target| {
        let world = World::new();
        let before = world.own().head;
        let first = world.archive.reader().all_messages(world.own, Order::OldestFirst, 0, 1).unwrap()[0].id;
        let mut file = world.exported();
        file["head"] = json!(first);
        match target {
            Target::Guarded => {
                world.import(&world.file("lisbon.json", &[file]));
            }
            Target::Control => {
                world.store.amend(world.own, None, &Change::Head(Some(first)), Time::now()).unwrap();
            }
        }
        world.own().head != before
    };
    let is_named = |target| {
        let world = World::with(Conversation::new());
        let mut file = world.longer();
        file["header"] = json!({"title": "theirs", "project": "/theirs"});
        match target {
            Target::Guarded => {
                world.import(&world.file("lisbon.json", &[file]));
            }
            Target::Control => {
                world.archive.rename(world.own, "theirs").unwrap();
            }
        }
        world.own().conversation.title.is_some()
    };
    let is_let_go = |target| {
        let mut header = Conversation::titled("Lisbon");
        header.hold = Hold::User;
        header.privacy.exportable = false;
        let world = World::with(header);
        let mut file = json!({"id": world.own, "created_at": "2026-11-15T19:27:27Z", "messages": []});
        file["header"] = json!({"hold": "none", "privacy": {"exportable": true}, "follows_retention": true});
        file["messages"] = json!([{"id": "Evil01", "message": said("a trap")}]);
        match target {
            Target::Guarded => {
                world.import(&world.file("lisbon.json", &[file]));
            }
            Target::Control => {
                world.archive.update(world.own, |header| header.hold = Hold::None).unwrap();
            }
        }
        let header = world.own().conversation;
        header.hold != Hold::User || header.privacy.exportable || header.follows_retention
    };

    assert_all_fail(&[
        Attempt::new("a longer file of it", grows),
        Attempt::new("another text under the id of a message", is_rewritten),
        Attempt::new("a beginning of its own", gets_a_root),
        Attempt::new("a file that says where its head is", moves_the_head),
        Attempt::new("a name for one without a name", is_named),
        Attempt::new("a header without its hold", is_let_go),
    ]);
}

#[test]
fn a_branch_that_was_asked_for_brings_messages_and_nothing_else() {
    let moves_the_head = |target| {
        let world = World::new();
        let before = world.own().head;
        let path = world.file("lisbon.json", &[world.longer()]);
        match target {
            Target::Guarded => {
                world.import_into(&path);
            }
            Target::Control => {
                world.archive.resume(world.own).unwrap().append(Message::user("on")).unwrap();
            }
        }
        world.own().head != before
    };
    let marks = |target| {
        let world = World::new();
        let mut file = world.longer();
        file["messages"][2]["pinned"] = json!(true);
        file["branches"] = json!([{"id": "Evil02", "title": "main", "head": "Evil01"}]);
        let path = world.file("lisbon.json", &[file]);
        let id = match target {
            Target::Guarded => id_of(&world.import_into(&path)),
            Target::Control => id_of(&world.import(&path)),
        };
        let all = world.archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
        all.iter().any(|stored| stored.is_pinned)
            || !world.archive.conversation(id).unwrap().branches.is_empty()
    };
    let shows = |target| {
        let world = World::new();
        let mut file = world.longer();
        file["messages"][2]["message"]["role"] = json!("assistant");
        let path = world.file("lisbon.json", &[file]);
        let id = match target {
            Target::Guarded => id_of(&world.import_into(&path)),
            Target::Control => id_of(&world.import(&path)),
        };
        world.archive.conversation(id).unwrap().last == "a trap"
    };

    let dates = |target| {
        let world = World::new();
        let before = world.own().last_active_at;
        let mut file = world.longer();
        file["messages"][2]["message"]["created_at"] = json!(Time::now());
        let path = world.file("lisbon.json", &[file]);
        match target {
            Target::Guarded => {
                world.import_into(&path);
            }
            Target::Control => {
                world.archive.resume(world.own).unwrap().append(Message::user("on")).unwrap();
            }
        }
        world.own().last_active_at != before
    };

    assert_all_fail(&[
        Attempt::new("a head of its own", moves_the_head),
        Attempt::new("a last activity", dates),
        Attempt::new("pins and names of branches", marks),
        Attempt::new("the words that a list shows", shows),
    ]);
}

#[test]
fn a_file_does_not_decide_what_a_purge_takes_along() {
    let takes_it_along = |target| {
        let world = World::with(Conversation::new());
        let mut run = world.longer();
        run["parent"] = json!({"conversation": STRANGER, "message": "Evil01", "name": "a", "run": "1"});
        let linked = json!({"conversation": STRANGER, "message": "Evil01"});
        run["header"] = json!({"kind": "subagent", "extra": {"parent": linked, "subagent": {"name": "a", "run_id": "1"}}});
        world.import(&world.file("lisbon.json", &[stranger(json!({})), run]));
        if target == Target::Control {
            let change = |header: &mut Conversation| {
                header.kind = "subagent".to_owned();
                header.extra.set("parent", Json::of(&linked).unwrap());
                header.extra.set("subagent", Json::of(&json!({"name": "a", "run_id": "1"})).unwrap());
            };
            world.archive.update(world.own, change).unwrap();
        }
        let found =
            world.archive.subagents().list(&Subagents { parent: Some(id(STRANGER)), ..Subagents::default() });
        found.unwrap().iter().any(|run| run.id == world.own)
    };
    let hangs_on_it = |target| {
        let world = World::new();
        let message = world.own().head.unwrap().id;
        let mut run = stranger(json!({"kind": "subagent", "extra": {
            "parent": {"conversation": world.own, "message": message}, "subagent": {"name": "a", "run_id": "1"}}}));
        run["parent"] = json!({"conversation": world.own, "message": message, "name": "a", "run": "1"});
        world.import(&world.file("lisbon.json", &[world.exported(), run.clone()]));
        world.import(&world.file("alone.json", &[run]));
        if target == Target::Control {
            world.archive.subagents().start(world.own, message, "a", "1").unwrap();
        }
        let found =
            world.archive.subagents().list(&Subagents { parent: Some(world.own), ..Subagents::default() });
        !found.unwrap().is_empty()
    };

    assert_all_fail(&[
        Attempt::new("yours as a run of theirs", takes_it_along),
        Attempt::new("theirs as a run of yours", hangs_on_it),
    ]);
}

#[test]
fn a_file_does_not_say_where_it_came_from_or_how_long_it_is_kept() {
    let began_here = |target| {
        let world = World::new();
        let header = json!({"title": "Lisbon", "origin": null});
        match target {
            Target::Guarded => {
                world.import(&world.file("x.json", &[stranger(header)]));
            }
            Target::Control => {
                world.store(
                    id(STRANGER),
                    &Conversation::titled("Lisbon"),
                    "Evil01",
                    Time::now(),
                    Time::now(),
                );
            }
        }
        !world.archive.conversation(id(STRANGER)).unwrap().is_imported()
    };
    // A file that has the id of a session, and says that it was read from there, waits for the session.
    let takes_a_session = |target| {
        let (world, other) = (World::new(), World::new());
        let path = world.session("claude", &["one", "two"]);
        let session = id_of(&other.import(&path));
        let origin = json!({"format": "claude", "source_id": SESSION, "source_path": path,
                            "imported_at": "2026-11-15T19:27:27Z"});
        let mut forged = stranger(json!({"origin": origin}));
        forged["id"] = json!(session);
        match target {
            Target::Guarded => {
                world.import(&world.file("claude/x.json", &[forged]));
            }
            Target::Control => {
                let mut header = Conversation::new();
                header.origin = serde_json::from_value(origin).ok();
                world.store(session, &header, "Evil01", Time::now(), Time::now());
            }
        }
        world.import(&path);
        world.says(session, "two")
    };
    let takes_a_separate_id = |target| {
        let world = World::new();
        let path = world.file("lisbon.json", &[world.longer()]);
        let separate = id_of(&world.import(&path));
        world.archive.removal().delete(&[separate], "test");
        let mut forged = stranger(json!({}));
        forged["id"] = json!(separate);
        world.import(&world.file("x.json", &[forged]));
        match target {
            Target::Guarded => {
                world.import(&path);
            }
            Target::Control => {
                world.imported(&path, Some(separate));
            }
        }
        world.says(separate, "Where to eat?")
    };
    let expires = |target| {
        let header = json!({"hold": "none", "follows_retention": true, "expires_at": "2026-01-01T00:00:00Z",
                            "synopsis": {"text": "x", "updated_at": FAR}});
        let world = World::new();
        match target {
            Target::Guarded => {
                world.import(&world.file("x.json", &[stranger(header)]));
            }
            Target::Control => {
                let header = serde_json::from_value(header).unwrap();
                world.store(id(STRANGER), &header, "Evil01", Time::now(), Time::now());
            }
        }
        let header = world.archive.conversation(id(STRANGER)).unwrap().conversation;
        header.hold != Hold::Import
            || header.follows_retention
            || header.expires_at.is_some()
            || header.synopsis.is_none_or(|synopsis| synopsis.updated_at > Time::now())
    };

    assert_all_fail(&[
        Attempt::new("a file without an origin", began_here),
        Attempt::new("a file with the origin of a session", takes_a_session),
        Attempt::new("a file with the id of a separate conversation", takes_a_separate_id),
        Attempt::new("a file that expired", expires),
    ]);
}

#[test]
fn a_known_id_in_another_folder_is_another_conversation() {
    let grows = |target| {
        let world = World::new();
        let session = id_of(&world.import(&world.session("claude", &["one"])));
        let folder = if target == Target::Guarded { "downloads" } else { "claude" };
        world.import(&world.session(folder, &["one", "a trap"]));
        world.says(session, "a trap")
    };
    let moves_the_head = |target| {
        let world = World::new();
        let session = id_of(&world.import(&world.session("claude", &["one", "two"])));
        let first = world.archive.conversation(session).unwrap().head;
        if target == Target::Guarded {
            // Who went on here, and then back, is where he wants to be.
            world.archive.resume(session).unwrap().append(Message::user("here")).unwrap();
            world.archive.rewind(session, first.unwrap().id).unwrap();
        }
        world.import(&world.session("claude", &["one", "two", "a trap"]));
        world.archive.conversation(session).unwrap().head != first
    };
    let is_twice = |target| {
        let world = World::new();
        world.import(&world.session("claude", &["one", "two"]));
        let said: &[&str] = if target == Target::Guarded { &["one", "two"] } else { &["one", "three"] };
        let copied = world.import(&world.session("copied", said));
        assert_eq!(copied.conversations[0].imported_as == ImportedAs::Here, target == Target::Guarded);
        world.archive.list(&Default::default()).unwrap().items.len() > 2
    };

    assert_all_fail(&[
        Attempt::new("a longer session from elsewhere", grows),
        Attempt::new("a session that goes on where someone went on here", moves_the_head),
        Attempt::new("a folder that was moved", is_twice),
    ]);
}

#[test]
fn a_time_in_the_future_makes_nothing_the_newest() {
    let far: Time = FAR.parse().unwrap();
    let comes_first = |target| {
        let world = World::new();
        let mut file = stranger(json!({}));
        file["created_at"] = json!(FAR);
        file["messages"][0]["message"]["created_at"] = json!(FAR);
        world.import(&world.file("x.json", &[file]));
        if target == Target::Control {
            world.store(id(STRANGER), &Conversation::new(), "Evil02", far, Time::from_micros(i64::MAX));
            let query = ListQuery { limit: 1, ..ListQuery::default() };
            return world.store.list(&query).unwrap().items[0].id == id(STRANGER);
        }
        world.archive.list(&Default::default()).unwrap().items[0].id == id(STRANGER)
    };
    let stays_first = |target| {
        let world = World::new();
        let ahead = world.archive.clone().with_nature(Arc::new(SetTo(far)));
        let other = ahead.start(Conversation::titled("ahead")).unwrap().id();
        let first = match target {
            Target::Guarded => world.archive.list(&Default::default()).unwrap().items[0].id,
            Target::Control => ahead.list(&Default::default()).unwrap().items[0].id,
        };
        first == other
    };
    let stays_pinned = |target| {
        let world = World::new();
        let ahead = world.archive.clone().with_nature(Arc::new(SetTo(far)));
        ahead.resume(world.own).unwrap().append(Message::user("in 2200")).unwrap();
        match target {
            Target::Guarded => {
                world.archive.resume(world.own).unwrap().append(Message::user("now")).unwrap();
            }
            Target::Control => {
                let now = Time::from_micros(i64::MAX);
                world.store(world.own, &Conversation::new(), "Late01", Time::now(), now);
            }
        }
        world.own().last_active_at == far
    };

    assert_all_fail(&[
        Attempt::new("messages of 2200", comes_first),
        Attempt::new("a conversation that a wrong clock has dated", stays_first),
        Attempt::new("an append with a wrong clock", stays_pinned),
    ]);
}

#[test]
fn what_is_imported_does_not_take_the_name_of_what_began_here() {
    let takes_the_title = |target| {
        let world = World::new();
        match target {
            Target::Guarded => {
                world.import(&world.file("x.json", &[stranger(json!({"title": "Lisbon"}))]));
            }
            Target::Control => {
                world.archive.start(Conversation::titled("Lisbon")).unwrap();
            }
        }
        world.archive.names().resolve("lisbon").ok().map(rejoin::Named::conversation) != Some(world.own)
    };
    let takes_the_message = |target| {
        let world = World::new();
        let message: MessageId = world.own().head.unwrap().id;
        let mut file = stranger(json!({}));
        file["messages"][0]["id"] = json!(message);
        match target {
            Target::Guarded => {
                world.import(&world.file("x.json", &[file]));
            }
            Target::Control => {
                let now = Time::now();
                world.store(id(STRANGER), &Conversation::new(), message.as_str(), now, now);
            }
        }
        world.archive.names().resolve(message.as_str()).ok().map(rejoin::Named::conversation)
            != Some(world.own)
    };

    let takes_the_beginning = |target| {
        let world = World::new();
        let beginning = &world.own.to_string()[..8];
        match target {
            Target::Guarded => {
                world.import(&world.file("x.json", &[stranger(json!({"title": beginning}))]));
            }
            Target::Control => {
                // Not imported, and of another time, so that its own id does not begin like that.
                let (header, now) = (Conversation::titled(beginning), Time::now());
                world.store_named(id(STRANGER), &header, beginning, "Evil01", now, now);
            }
        }
        world.archive.names().resolve(beginning).is_ok_and(|named| named.conversation() != world.own)
    };

    assert_all_fail(&[
        Attempt::new("a title that is the beginning of an id of yours", takes_the_beginning),
        Attempt::new("a title of yours", takes_the_title),
        Attempt::new("the id of a message of yours", takes_the_message),
    ]);
}

/// A conversation goes out, on elsewhere, and comes back: what began here stays
/// as it was until it is asked for.
#[test]
fn what_is_taken_elsewhere_can_be_brought_back() {
    let (here, there) = (World::new(), World::new());
    let path = there.file("out.json", &[here.exported()]);
    there.import(&path);
    let head = there.archive.resume(here.own).unwrap().append(Message::user("And a bar?")).unwrap().head;
    let back = World { own: here.own, ..there };
    let path = here.file("back.json", &[back.exported()]);

    let brought = here.import_into(&path);

    let path = here.archive.path(here.own, Some(head)).unwrap();
    let said: Vec<String> = path.iter().map(|stored| stored.message.text()).collect();
    assert_eq!(brought.conversations[0].imported_as, ImportedAs::Branch { head: Some(head) });
    assert_eq!(said, ["Where to eat?", "A tasca.", "And a bar?"]);
}

/// What is imported stays imported: a purge of one that began here takes it along in no way.
#[test]
fn a_purge_of_one_leaves_the_other() {
    let world = World::new();
    let separate = id_of(&world.import(&world.file("lisbon.json", &[world.longer()])));

    world.archive.removal().purge(&[world.own], PurgeReason::UserRequested, &mut |_| {});

    assert!(world.archive.conversation(world.own).is_err());
    assert!(world.says(separate, "Where to eat?"));
}

#[test]
fn an_import_is_no_use_of_a_conversation() {
    let world = World::new();
    let used = |id| world.archive.imports().was_used_here(&world.archive.conversation(id).unwrap()).unwrap();
    let (before, ahead) = (Time::now(), Time::now().plus_micros(3_600_000_000));
    let dated = |said: usize| {
        let line = |place: usize| {
            let at = if place == 0 { before } else { ahead };
            json!({"id": format!("Evil{place}"), "message": {"role": "user", "created_at": at,
                   "blocks": [{"type": "text", "text": format!("line {place}")}]}})
        };
        let messages: Vec<Value> = (0..said).map(line).collect();
        json!({"id": STRANGER, "created_at": "2026-11-15T19:27:27Z", "header": {}, "messages": messages})
    };
    let import = |said| world.import(&world.file("x.json", &[dated(said)]));
    let active = || world.archive.conversation(id(STRANGER)).unwrap().last_active_at;

    import(1);
    let (at_first, first_active) = (used(id(STRANGER)), active());
    import(2);
    let (grown, grown_active) = (used(id(STRANGER)), active());
    world.archive.resume(id(STRANGER)).unwrap().append(Message::user("mine")).unwrap();
    let (written, written_active) = (used(id(STRANGER)), active());
    import(3);
    let (after, after_active) = (used(id(STRANGER)), active());

    assert_eq!((used(world.own), at_first, grown, written, after), (true, false, false, true, true));
    assert!(first_active < grown_active && grown_active < written_active);
    assert_eq!(after_active, written_active);
    assert!(world.says(id(STRANGER), "line 2"));
}

#[test]
fn what_an_import_adds_to_a_conversation_is_told_from_what_was_said_here() {
    let world = World::new();
    world.import_into(&world.file("lisbon.json", &[world.longer()]));
    world.import_into(&world.session("claude", &["from a session"]));

    let all = world.archive.reader().all_messages(world.own, Order::OldestFirst, 0, u64::MAX).unwrap();
    let imported: Vec<(String, bool)> = all
        .iter()
        .map(|said| (said.message.text(), world.archive.imports().was_imported(world.own, said).unwrap()))
        .collect();

    let expected =
        [("Where to eat?", false), ("A tasca.", false), ("a trap", true), ("from a session", true)];
    assert_eq!(imported, expected.map(|(text, is_imported)| (text.to_owned(), is_imported)));
}

#[test]
fn a_name_in_a_file_is_cut_where_a_name_given_here_is_refused() {
    let long = "T".repeat(5_000_000);
    let grows = |change: fn(&mut Value, &str), size: fn(&World, ConversationId) -> usize| {
        let long = long.clone();
        move |target| {
            let world = World::new();
            let mut file = stranger(json!({"title": "Porto"}));
            change(&mut file, &long);
            let id = id_of(&world.import(&world.file("x.json", &[file])));
            if target == Target::Control {
                // Stored as it stands in the file.
                let text = json!({ "title": long, "project": long, "settings": {"model": long} });
                let header: Conversation = serde_json::from_value(text).unwrap();
                let change = Change::Header { facets: &Facets::default(), header: &header.to_header() };
                world.store.amend(id, None, &change, Time::now()).unwrap();
                return world.archive.conversation(id).unwrap().conversation.to_header().len() > 10_000;
            }
            size(&world, id) > 10_000
        }
    };
    let header = |world: &World, id| world.archive.conversation(id).unwrap().conversation.to_header().len();
    let label = |world: &World, id| {
        let all = world.archive.reader().all_messages(id, Order::OldestFirst, 0, 1).unwrap();
        all[0].message.label.as_ref().map_or(0, String::len)
    };
    let branch = |world: &World, id| world.archive.conversation(id).unwrap().branches[0].title.len();

    assert_all_fail(&[
        Attempt::new("a title", grows(|file, long| file["header"]["title"] = json!(long), header)),
        Attempt::new(
            "a model",
            grows(|file, long| file["header"]["settings"] = json!({"model": long}), header),
        ),
        Attempt::new(
            "a tool",
            grows(|file, long| file["header"]["settings"] = json!({"tools": [long]}), header),
        ),
        Attempt::new(
            "a directory",
            grows(|file, long| file["header"]["project"] = json!(format!("/{long}")), header),
        ),
        Attempt::new("a kind", grows(|file, long| file["header"]["kind"] = json!(long), header)),
        Attempt::new(
            "an unknown field",
            grows(|file, long| file["header"]["extra"] = json!({"x": long}), header),
        ),
        Attempt::new("a label", grows(|file, long| file["messages"][0]["label"] = json!(long), label)),
        Attempt::new(
            "a name of a branch",
            grows(
                |file, long| file["branches"] = json!([{"id": "Evil02", "title": long, "head": "Evil01"}]),
                branch,
            ),
        ),
    ]);
}

#[test]
fn a_title_that_was_cut_ends_with_an_ellipsis() {
    let world = World::new();

    let imported = world.import(&world.file("x.json", &[stranger(json!({"title": "T".repeat(2_000)}))]));

    let title = world.archive.conversation(id_of(&imported)).unwrap().conversation.title;
    assert_eq!(title, Some("T".repeat(997) + "…"));
}
