//! The flags of talking: where a talk begins, and what is kept of it.

use std::fs;
use std::path::Path;

use rejoin::store::Order;
use rejoin::{Conversation, ConversationId, Message, Role, Status};

use crate::world::{Outcome, World};

/// Every message of a conversation, in order of arrival.
fn texts(world: &World, id: ConversationId) -> Vec<(Role, String)> {
    let messages = world.archive().reader().all_messages(id, Order::OldestFirst, 0, 100).unwrap();
    messages.into_iter().map(|said| (said.message.role, said.message.text())).collect()
}

/// What people said in a conversation.
fn asked(world: &World, id: ConversationId) -> Vec<String> {
    texts(world, id).into_iter().filter(|(role, _)| *role == Role::User).map(|(_, text)| text).collect()
}

/// How many conversations there are.
fn count(world: &World) -> u64 {
    world.archive().reader().count(&rejoin::List::default()).unwrap()
}

/// Two conversations, of which the second is the newest; the first note is out of the way.
fn two(world: &World) -> [ConversationId; 2] {
    world.started("first note");
    ["Porto", "Lisbon"].map(|title| {
        let id = world.talk(title, &["Where to eat?"]);
        world.archive().resume(id).unwrap().append(Message::assistant("By the river.")).unwrap();
        id
    })
}

fn notes(outcome: &Outcome) -> Vec<&str> {
    outcome.stderr.lines().collect()
}

#[test]
fn resume_goes_on_in_the_newest_conversation_of_the_project() {
    let world = World::new();
    let [porto, lisbon] = two(&world);

    let outcome = world.rejoin(["-r", "and in Lisbon?"]).run();

    assert_eq!(notes(&outcome), ["[Resuming \"Lisbon\"]", "Resumed conversation with 2 messages"]);
    assert_eq!(outcome.code, 0);
    assert_eq!(asked(&world, lisbon), ["Where to eat?", "and in Lisbon?"]);
    assert_eq!(texts(&world, porto).len(), 2);
}

#[test]
fn resume_takes_an_id_a_beginning_or_a_slug() {
    let world = World::new();
    let [porto, _] = two(&world);
    let short = porto.short().to_string();

    let outcomes = [
        world.rejoin(["--resume", &porto.to_string(), "one"]).run(),
        world.rejoin(["-r", &short, "two"]).run(),
        world.rejoin(["-r", "porto", "three"]).run(),
    ];

    assert_eq!(outcomes.map(|outcome| outcome.code), [0; 3]);
    assert_eq!(asked(&world, porto), ["Where to eat?", "one", "two", "three"]);
}

#[test]
fn a_word_that_names_nothing_is_told_with_both_ways_out() {
    let world = World::new();
    two(&world);

    let outcomes = [
        world.rejoin(["-r", "thanks"]).run(),
        world.rejoin(["-r", "nowhere", "two words"]).run(),
        world.rejoin(["-r", "nowhere", "hi", "--json"]).run(),
        world.rejoin(["-c", "thanks"]).run(),
    ];

    let expected = [
        "✗ Conversation 'thanks' not found\nList available: rejoin list\n\
         To send it as a message: rejoin -r -- thanks\n",
        "✗ Conversation 'nowhere' not found\nList available: rejoin list\n",
        "{\"error\":{\"kind\":\"not found\",\"message\":\"Conversation nowhere not found. Run: rejoin list\",\
         \"hint\":\"run `rejoin list` to see the conversations\"}}\n",
        "error: no conversation or message `thanks`\n\
         hint: run `rejoin list` to see conversations, `rejoin tree` for messages\n\
         To send it as a message: rejoin -c -- thanks\n",
    ];
    assert_eq!(outcomes, expected.map(|told| Outcome::failure(1, told)));
    assert_eq!(count(&world), 3);
}

#[test]
fn a_word_after_two_hyphens_is_sent() {
    let world = World::new();
    let [_, lisbon] = two(&world);

    let outcome = world.rejoin(["-r", "--", "thanks"]).run();

    assert_eq!(outcome.code, 0);
    assert_eq!(asked(&world, lisbon), ["Where to eat?", "thanks"]);
}

#[test]
fn with_nothing_to_resume_a_new_conversation_begins_and_it_is_told() {
    let world = World::new();
    world.rejoin(["new", "--title", "elsewhere"]).from("home").run();

    let outcomes = [world.rejoin(["-r", "hello there"]).run(), world.rejoin(["-n", "again here"]).run()];

    let told = "There is nothing to resume in this project, so a new conversation starts.\n";
    assert_eq!(
        outcomes.map(|outcome| (outcome.stderr, outcome.code)),
        [(told.to_owned(), 0), (String::new(), 0)]
    );
    assert_eq!(count(&world), 3);
}

#[test]
fn continue_goes_on_from_the_newest_answer_and_forks_when_it_was_answered() {
    let world = World::new();
    let [_, lisbon] = two(&world);
    world.archive().resume(lisbon).unwrap().append(Message::user("unanswered")).unwrap();

    let outcome = world.rejoin(["-c", "instead of that"]).run();

    let messages = world.archive().reader().all_messages(lisbon, Order::OldestFirst, 0, 100).unwrap();
    let branched = messages.iter().find(|said| said.message.text() == "instead of that").unwrap();
    assert_eq!(branched.parent, Some(messages[1].id));
    let short = lisbon.short().to_string();
    let expected = [
        "[Resuming \"Lisbon\"]",
        "Resumed conversation with 2 messages",
        "The conversation had gone on from there, so this is a branch. See all of it: rejoin tree [id]",
    ];
    assert_eq!(notes(&outcome.naming(&[(&short, "[id]")])), expected);
}

#[test]
fn continue_takes_a_message() {
    let world = World::new();
    let [porto, _] = two(&world);
    let first = world.archive().path(porto, None).unwrap()[0].id.to_string();

    let outcome = world.rejoin(["--continue", &format!("{porto}/{first}"), "no, drink"]).run();

    let messages = world.archive().reader().all_messages(porto, Order::OldestFirst, 0, 100).unwrap();
    let branched = messages.iter().find(|said| said.message.text() == "no, drink").unwrap();
    assert_eq!((branched.parent.map(|id| id.to_string()), outcome.code), (Some(first), 0));
}

#[test]
fn the_configuration_can_make_continuing_the_default() {
    let world = World::new();
    let [_, lisbon] = two(&world);
    world.user_config("start.default = \"continue\"\n");

    let codes =
        [world.rejoin(["and then?"]).run().code, world.rejoin(["--new", "something else"]).run().code];

    assert_eq!((codes, count(&world)), ([0, 0], 4));
    assert_eq!(asked(&world, lisbon), ["Where to eat?", "and then?"]);
}

#[test]
fn a_message_can_come_from_a_pipe() {
    let world = World::new();
    let [_, lisbon] = two(&world);

    let outcomes =
        [world.rejoin(["-r"]).input("from a pipe\nin two lines\n").run(), world.rejoin(["-r"]).run()];

    let nothing = "error: there is nothing to send\nhint: run `rejoin \"your message\"`\n";
    assert_eq!(outcomes[0].code, 0);
    assert_eq!(outcomes[1], Outcome::failure(2, nothing));
    assert_eq!(asked(&world, lisbon), ["Where to eat?", "from a pipe\nin two lines"]);
}

/// Every file below a directory.
fn files(below: &Path) -> Vec<String> {
    let entries = fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path.display().to_string()] })
        .collect()
}

#[test]
fn incognito_creates_no_file_at_all() {
    let world = World::new();

    let outcomes = [
        world.rejoin(["-G", "a secret of mine"]).run(),
        world.rejoin(["--incognito", "another one"]).run(),
        world.rejoin(["--no-persistence", "and a third"]).run(),
        world.rejoin(["-G"]).input("and a fourth\n").run(),
    ];

    let told = "warning: nothing is saved: this run is incognito\n";
    assert_eq!(
        outcomes.map(|outcome| (outcome.stderr, outcome.code)),
        [(); 4].map(|()| (told.to_owned(), 0))
    );
    assert_eq!((files(&world.path("home")), files(&world.path("project"))), (vec![], vec![]));
}

#[test]
fn with_keeping_turned_off_talking_works_and_nothing_is_written() {
    let world = World::new();
    world.user_config("persistence.enabled = false\n");

    let outcomes = [world.rejoin(["hello there"]).run(), world.rejoin(["-r", "and again"]).run()];

    let unsaved = "warning: nothing is saved: `persistence.enabled` is false \
                   ([world]/home/.config/rejoin/config.toml:1)\n";
    let told = format!("{unsaved}Keeping conversations is turned off, so there is nothing to resume.\n");
    assert_eq!(outcomes.map(|outcome| (outcome.stderr, outcome.code)), [(unsaved.to_owned(), 0), (told, 0)]);
    assert!(!world.path("home/.local").exists());
}

#[test]
fn a_store_in_memory_says_that_nothing_is_saved() {
    let world = World::new();

    let outcomes = [
        world.rejoin(["--store", "memory:", "hello there"]).run(),
        world.rejoin(["--store", "memory:", "--quiet", "new"]).run(),
    ];

    let told = "warning: nothing is saved: the store is in memory (--store)\n";
    assert_eq!(
        outcomes.map(|outcome| (outcome.stderr, outcome.code)),
        [(); 2].map(|()| (told.to_owned(), 0))
    );
}

#[test]
fn a_program_is_told_in_an_event_that_nothing_is_saved_and_why() {
    let world = World::new();
    world.project_config("persistence.enabled = false\n");
    let first = |outcome: Outcome| {
        serde_json::from_str::<serde_json::Value>(outcome.stdout.lines().next().unwrap()).unwrap()
    };

    let incognito = first(world.rejoin(["--json", "-G", "hello there"]).run());
    let memory = first(world.rejoin(["--json", "--store", "memory:", "hello there"]).run());
    world.rejoin(["trust", "--yes"]).run();
    let trusted = first(world.rejoin(["--json", "hello there"]).run());
    let chat = first(world.rejoin(["--json", "chat", "hello there"]).run());
    let variable = world.rejoin(["--json", "hello there"]).variable("REJOIN_PERSISTENCE_ENABLED", "false");
    let variable = first(variable.run());

    let told = |reason: &str, message: &str| serde_json::json!({"event": "not_saving", "reason": reason, "message": format!("nothing is saved: {message}")});
    let disabled = |origin: &str| told("disabled", &format!("`persistence.enabled` is false ({origin})"));
    let file = disabled("[world]/project/.rejoin/config.toml:1");
    let expected = [
        told("incognito", "this run is incognito"),
        told("memory", "the store is in memory (--store)"),
        file.clone(),
        file,
        disabled("REJOIN_PERSISTENCE_ENABLED"),
    ];
    assert_eq!([incognito, memory, trusted, chat, variable], expected);
}

#[test]
fn a_store_that_cannot_be_opened_names_the_way_around_it() {
    let world = World::new();
    world.write("home/.local/share/rejoin/rejoin.db", "a shopping list");

    let outcome = world.rejoin(["hello there"]).run();

    let expected = "error: `[world]/home/.local/share/rejoin/rejoin.db` is not a Rejoin database\n\
                    hint: run `rejoin doctor` to see what is wrong, or name another store with `--store`; \
                    to talk without keeping anything: `rejoin --incognito`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let world = World::new();

    let codes = [
        world.rejoin(["-r", "-n", "hi you"]).run().code,
        world.rejoin(["-r", "-G", "hi you"]).run().code,
        world.rejoin(["-c", "-r", "hi you"]).run().code,
        world.rejoin(["--keep-partial", "--discard-partial", "hi you"]).run().code,
    ];

    assert_eq!(codes, [2; 4]);
}

#[test]
fn a_flag_of_talking_before_a_command_is_refused() {
    let world = World::new();

    let outcome = world.rejoin(["--incognito", "list"]).run();

    let expected = "error: `--incognito` cannot stand before a command\n\
                    hint: put it after the command, if the command accepts it\n";
    assert_eq!(outcome, Outcome::failure(2, expected));
}

#[test]
fn what_was_talked_with_is_kept_and_comes_back() {
    let world = World::new();
    world.rejoin(["--title", "Lisbon", "hello there"]).run();
    let id = world.archive().names().conversation("lisbon").unwrap();

    let settings = world.archive().conversation(id).unwrap().conversation.settings;
    world.rejoin(["-r", "again please"]).run();

    assert_eq!(settings.provider.as_deref(), Some("offline"));
    assert_eq!(world.archive().conversation(id).unwrap().conversation.settings, settings);
}

#[test]
fn a_paused_conversation_is_active_again_and_a_completed_one_asks() {
    let world = World::new();
    let [porto, lisbon] = two(&world);
    let archive = world.archive();
    archive.update(porto, |header| header.status = Status::Paused).unwrap();
    archive.update(lisbon, |header| header.status = Status::Completed).unwrap();

    let outcomes = [
        world.rejoin(["-r", "porto", "hi"]).run(),
        world.rejoin(["-r", "lisbon", "hi"]).run(),
        world.rejoin(["-r", "lisbon", "--yes", "hi"]).run(),
    ];

    let refused = "[Resuming \"Lisbon\"]\nwarning: \"Lisbon\" was marked as completed\n\
                   error: not running in a terminal\n\
                   hint: pass `--yes` to confirm\n";
    let reopened = "[Resuming \"Lisbon\"]\nwarning: \"Lisbon\" was marked as completed\n\
                    Resumed conversation with 2 messages\n";
    assert_eq!(outcomes[0].code, 0);
    assert_eq!(outcomes[1], Outcome::failure(1, refused));
    assert_eq!((outcomes[2].stderr.as_str(), outcomes[2].code), (reopened, 0));
    let status = |id| archive.conversation(id).unwrap().conversation.status;
    assert_eq!([status(porto), status(lisbon)], [Status::Active; 2]);
}

#[test]
fn a_conversation_of_a_tool_is_never_the_newest() {
    let world = World::new();
    let [_, lisbon] = two(&world);
    let project = world.path("project").to_str().unwrap().to_owned();
    let tool = Conversation { kind: "subagent:search:1".to_owned(), ..Conversation::titled("inner") };
    world.archive().start(tool.in_project(project)).unwrap().append(Message::assistant("done")).unwrap();

    world.rejoin(["-r", "one more"]).run();
    world.rejoin(["-c", "and one"]).run();

    assert_eq!(asked(&world, lisbon), ["Where to eat?", "one more", "and one"]);
}

#[test]
fn damaged_data_is_told_in_one_word_and_the_talk_does_not_begin() {
    let world = World::new();
    let [_, lisbon] = two(&world);
    world.sql("UPDATE message SET body = '{\"role\":\"user\",' WHERE body LIKE '%Where to eat?%'");

    let outcome = world.rejoin(["-r", "lisbon", "hi"]).run();

    let short = lisbon.short().to_string();
    let outcome = outcome.naming(&[(&short, "[id]")]);
    let lines = notes(&outcome);
    assert_eq!((lines[1], outcome.code), ("✗ Conversation '[id]' has corrupted data", 1), "{outcome:?}");
    assert_eq!(lines.last(), Some(&"See what is still readable: rejoin verify [id]"));
}
