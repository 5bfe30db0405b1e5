//! Command files and the project's own instructions: kept with a conversation, and restored on resume.

use std::fs;
use std::os::unix::fs::symlink;

use rejoin::{ConversationId, Settings};

use crate::world::{Outcome, World};

const FILE: &str = "project/.rejoin/commands/brainstorm.md";

fn newest(world: &World) -> rejoin::StoredConversation {
    world.archive().list(&rejoin::List::default()).unwrap().items.remove(0)
}

fn settings(world: &World, id: ConversationId) -> Settings {
    world.archive().conversation(id).unwrap().conversation.settings
}

/// A conversation by a command file, with the first note out of the way.
fn brainstormed(world: &World) -> ConversationId {
    world.write(FILE, "---\ndescription: Find ideas\ntools: [read]\n---\nAsk why about $ARGUMENTS.\n");
    world.rejoin(["new"]).from("home").run();
    let outcome = world.rejoin(["--command", "brainstorm", "names for a boat"]).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    newest(world).id
}

#[test]
fn a_command_gives_a_conversation_its_kind_and_settings() {
    let world = World::new();

    let id = brainstormed(&world);

    let stored = world.archive().conversation(id).unwrap();
    let hash = settings(&world, id).prompt_hash.unwrap();
    assert_eq!(
        (stored.conversation.kind.as_str(), stored.first.as_str()),
        ("brainstorm", "names for a boat")
    );
    assert!(hash.starts_with("sha256:") && hash.len() == 71, "{hash}");
    let expected = Settings {
        provider: Some("offline".to_owned()),
        model: Some("none".to_owned()),
        command: Some("brainstorm".to_owned()),
        prompt_hash: Some(hash),
        tools: vec!["read".to_owned()],
    };
    assert_eq!(stored.conversation.settings, expected);
}

#[test]
fn resuming_keeps_the_command_and_its_settings() {
    let world = World::new();
    let id = brainstormed(&world);
    let before = settings(&world, id);

    let outcome = world.rejoin(["-r", "go on please"]).run();

    let expected = "[Resuming \"names for a boat\"]\nResumed conversation with 2 messages\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (expected, 0));
    assert_eq!(settings(&world, id), before);
}

#[test]
fn changed_instructions_are_told_once() {
    let world = World::new();
    let id = brainstormed(&world);
    let before = settings(&world, id);
    world.write(FILE, "---\ntools: [read]\n---\nAsk why not.\n");

    let outcomes = [world.rejoin(["-r", "go on please"]).run(), world.rejoin(["-r", "and on"]).run()];

    let told =
        "warning: the instructions of the command `brainstorm` have changed since; the new ones apply\n";
    assert_eq!(outcomes.map(|outcome| outcome.stderr.contains(told)), [true, false]);
    let after = settings(&world, id);
    assert_ne!(after.prompt_hash, before.prompt_hash);
    assert_eq!(Settings { prompt_hash: before.prompt_hash.clone(), ..after }, before);
}

#[test]
fn a_command_whose_file_is_gone_is_told_and_not_forgotten() {
    let world = World::new();
    let id = brainstormed(&world);
    let before = settings(&world, id);
    fs::remove_file(world.path(FILE)).unwrap();

    let outcome = world.rejoin(["-r", "go on please"]).run();

    let told = "warning: there is no file for the command `brainstorm`; the conversation goes on without its \
                instructions\n";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    assert_eq!(settings(&world, id), before);
}

#[test]
fn a_command_of_the_user_works_everywhere_and_the_projects_own_wins() {
    let world = World::new();
    world.write("home/.config/rejoin/commands/review.md", "Look closely.");
    world.write("home/.config/rejoin/commands/brainstorm.md", "The user's own.");
    let id = brainstormed(&world);
    let of_project = settings(&world, id).prompt_hash;

    let outcome = world.rejoin(["--command", "review", "this, please"]).run();
    let kind = newest(&world).conversation.kind;
    world.rejoin(["--command", "brainstorm", "this, please"]).run();

    assert_eq!((outcome.code, kind.as_str()), (0, "review"));
    assert_eq!(newest(&world).conversation.settings.prompt_hash, of_project);
}

#[test]
fn an_unknown_command_is_told_before_anything_is_written() {
    let world = World::new();
    world.write(FILE, "Ask why.");

    let outcomes = [
        world.rejoin(["--command", "brianstorm", "hi there", "--quiet"]).run(),
        world.rejoin(["--command", "../../etc/passwd", "hi there", "--quiet"]).run(),
    ];

    let expected = [
        "error: no command file `brianstorm`\nhint: the commands here are brainstorm\n",
        "error: `../../etc/passwd` cannot be the name of a command file\n\
         hint: a name has letters, digits, `-`, `_` and `.`\n",
    ];
    assert_eq!(outcomes, expected.map(|told| Outcome::failure(1, told)));
    assert_eq!(world.archive().reader().count(&rejoin::List::default()).unwrap(), 0);
}

#[test]
fn a_command_file_that_leads_out_of_the_project_is_not_read() {
    let world = World::new();
    world.write("home/key.md", "secret");
    fs::create_dir_all(world.path("project/.rejoin/commands")).unwrap();
    symlink(world.path("home/key.md"), world.path(FILE)).unwrap();

    let outcome = world.rejoin(["-G", "--command", "brainstorm", "hi there"]).run();

    let expected = "warning: nothing is saved: this run is incognito\n\
                    error: `.rejoin/commands/brainstorm.md` is a link that leads out of the project\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn the_projects_instructions_are_named_in_the_conversation_and_a_change_is_told() {
    let world = World::new();
    world.rejoin(["new"]).from("home").run();
    world.write("project/AGENTS.md", "Use tabs.");
    symlink("AGENTS.md", world.path("project/CLAUDE.md")).unwrap();
    world.write("project/inner/CLAUDE.md", "Use spaces here.");
    world.rejoin(["hello there"]).from("project/inner").run();
    let extra = newest(&world).conversation.extra;

    let same = world.rejoin(["-r", "again please"]).from("project/inner").run();
    world.write("project/AGENTS.md", "Use spaces.");
    let changed = world.rejoin(["-r", "once more"]).from("project/inner").run();

    let told = "The project's instructions have changed since; the new ones apply.\n";
    let files = extra.field("context_files").map(|files| files.as_str().to_owned());
    assert_eq!(files.as_deref(), Some("[\"AGENTS.md\",\"inner/CLAUDE.md\"]"));
    assert_eq!([same, changed].map(|outcome| outcome.stderr.contains(told)), [false, true]);
}

#[test]
fn instructions_that_lead_out_of_the_project_are_not_read() {
    let world = World::new();
    world.write("home/key", "secret");
    symlink(world.path("home/key"), world.path("project/AGENTS.md")).unwrap();

    let outcome = world.rejoin(["-G", "hello there"]).run();

    let expected = "warning: nothing is saved: this run is incognito\n\
                    warning: `AGENTS.md` is a link that leads out of the project, so it was not read\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (expected, 0));
}
