//! An imported file does not control your conversations.

use std::sync::Arc;

use rejoin::{Nature, SystemNature, Time};
use serde_json::{Value, json};

use super::attempt::{Attempt, Target, assert_all_fail};
use crate::world::{Outcome, World, short};

const STRANGER: &str = "01932d4a-0123-7890-abcd-123456789abc";

/// A clock that someone has set to 2200.
#[derive(Debug)]
struct Ahead;

impl Nature for Ahead {
    fn now(&self) -> Time {
        "2200-01-01T00:00:00Z".parse().unwrap()
    }

    fn fill(&self, random: &mut [u8]) {
        SystemNature.fill(random);
    }
}

/// A world with a conversation that began here, and its id.
fn world() -> (World, String) {
    let world = World::new();
    let id = world.started("Lisbon");
    world.append(&id, "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n");
    (world, id)
}

/// Writes a file of Rejoin's with one conversation.
fn write(world: &World, conversation: &Value) {
    world.write("project/x.json", &format!("{{\"rejoin\":1,\"conversations\":[{conversation}]}}"));
}

/// A conversation in a file: its id, its title, and what is said in it.
fn conversation(world: &World, id: &str, title: &str) -> Value {
    json!({"id": id, "created_at": "2026-11-15T19:27:27Z",
           "header": {"title": title, "project": world.path("project")},
           "messages": [{"id": "Evil01", "message": {"role": "user", "created_at": "2026-11-15T19:27:27Z",
                         "blocks": [{"type": "text", "text": "a trap"}]}}]})
}

fn messages(world: &World, id: &str) -> u64 {
    world.archive().conversation(id.parse().unwrap()).unwrap().messages
}

#[test]
fn a_conversation_that_began_here_grows_only_on_request() {
    let grows = |target| {
        let (world, id) = world();
        write(&world, &conversation(&world, &id, "Lisbon"));
        let outcome = match target {
            Target::Guarded => world.rejoin(["import", "x.json"]).run(),
            Target::Control => world.rejoin(["import", "x.json", "--into", &short(&id)]).run(),
        };
        assert_eq!(outcome.code, 0, "{outcome:?}");
        messages(&world, &id) > 1
    };
    let grows_by_its_folder = |target| {
        let (world, id) = world();
        write(&world, &conversation(&world, &id, "Lisbon"));
        match target {
            Target::Guarded => world.rejoin(["import", "."]).run(),
            Target::Control => world.rejoin(["import", ".", "--into", &id]).run(),
        };
        messages(&world, &id) > 1
    };
    let grows_in_a_trial = |target| {
        let (world, id) = world();
        write(&world, &conversation(&world, &id, "Lisbon"));
        match target {
            Target::Guarded => world.rejoin(["import", "x.json", "--into", &id, "--dry-run"]).run(),
            Target::Control => world.rejoin(["import", "x.json", "--into", &id]).run(),
        };
        messages(&world, &id) > 1
    };

    assert_all_fail(&[
        Attempt::new("a file with its id", grows),
        Attempt::new("a folder with such a file", grows_by_its_folder),
        Attempt::new("a trial of what was asked for", grows_in_a_trial),
    ]);
}

#[test]
fn an_imported_title_does_not_stand_for_a_conversation_that_began_here() {
    let is_shown = |target| {
        let (world, id) = world();
        match target {
            Target::Guarded => {
                write(&world, &conversation(&world, STRANGER, "Lisbon"));
                world.rejoin(["import", "x.json"]).run();
            }
            Target::Control => drop(world.started("Lisbon")),
        }
        let shown = world.rejoin(["show", "lisbon", "--json"]).run();
        shown.code != 0 || !shown.stdout.contains(&id)
    };
    // What began here has no such title, but it was said in it.
    let is_resumed = |target| {
        let world = World::new();
        let id = world.started("");
        if target == Target::Guarded {
            world.append(&id, "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n");
        }
        write(&world, &conversation(&world, STRANGER, "Where to eat, again"));
        world.rejoin(["import", "x.json"]).run();
        let resumed = world.rejoin(["resume", "where to eat"]).run();
        resumed.stdout.contains(&format!("Resumed conversation: {}", short(STRANGER)))
    };

    assert_all_fail(&[
        Attempt::new("the same title", is_shown),
        Attempt::new("a title that hides what was said", is_resumed),
    ]);
}

#[test]
fn a_clock_that_was_wrong_once_does_not_pin_a_conversation() {
    let far = "2200-01-01T00:00:00.000000Z";
    let wrong = |world: &World, id: &str| {
        let archive = world.archive().with_nature(Arc::new(Ahead));
        let mut talk = archive.resume(id.parse().unwrap()).unwrap();
        talk.append(rejoin::Message::user("in 2200")).unwrap();
    };
    let stays = |target| {
        let (world, id) = world();
        wrong(&world, &id);
        if target == Target::Guarded {
            world.rejoin(["append", &id, "now"]).run();
        }
        world.rejoin(["list", "--json"]).run().stdout.contains(far)
    };
    let comes_first = |target| {
        let (world, id) = world();
        let other = world.started("other");
        wrong(&world, &id);
        if target == Target::Control {
            let archive = world.archive().with_nature(Arc::new(Ahead));
            return archive.list(&Default::default()).unwrap().items[0].id.to_string() == id;
        }
        let listed = world.rejoin(["list", "--json"]).run().json();
        assert_eq!(listed["items"].as_array().unwrap().len(), 2);
        listed["items"][0]["id"] != json!(other)
    };

    assert_all_fail(&[
        Attempt::new("the time of an append", stays),
        Attempt::new("its place in a list", comes_first),
    ]);
}

#[test]
fn the_report_says_which_conversation_took_it() {
    let (world, id) = world();
    write(&world, &conversation(&world, &id, "Lisbon"));

    let separate = world.rejoin(["import", "x.json"]).run();
    let again = world.rejoin(["import", "x.json"]).run();
    let asked = world.rejoin(["import", "x.json", "--into", &id]).run();
    let told = world.rejoin(["import", "x.json", "--json"]).run().json();

    let listed = world.archive().list(&Default::default()).unwrap().items;
    let new = listed.iter().find(|stored| stored.id.to_string() != id).unwrap().id;
    let (old, new_short) = (short(&id), new.short().to_string());
    let names = [(old.as_str(), "OLD"), (new_short.as_str(), "NEW")];
    let expected = "Imported 1 message of 1 new conversation from 1 file.\n\
         Their ids belong to conversations that began here or came from another folder, so 1 conversation is separate:\n  \
         NEW beside OLD; to make it a branch: rejoin import [world]/project/x.json --into OLD\n";
    assert_eq!(separate.naming(&names), Outcome::answer(expected));
    assert_eq!(again, Outcome::answer("Nothing new in 1 file.\n"));
    let expected = "Imported 1 message of 1 known conversation from 1 file.\n\
         They are a branch of OLD; its head is unchanged.\nTo continue the branch: rejoin -c OLD/Evil01\n";
    assert_eq!(asked.naming(&names), Outcome::answer(expected));
    let told = &told["files"][0]["conversations"][0];
    assert_eq!((&told["imported_as"], &told["beside"]), (&json!("separate"), &json!(id)));
}

#[test]
fn a_branch_takes_one_file_and_one_conversation() {
    let (world, id) = world();
    write(&world, &conversation(&world, STRANGER, "Porto"));
    world.write(
        "project/y.json",
        &world.read("project/x.json").replace(STRANGER, &STRANGER.replace('9', "8")),
    );

    let several = world.rejoin(["import", ".", "--into", &id]).run();
    let nowhere = world.rejoin(["import", "x.json", "--into", "nothing"]).run();

    assert_eq!(several.code, 2, "{several:?}");
    assert!(several.stderr.starts_with("error: `--into` takes one file, and 2 were found\n"), "{several:?}");
    assert_eq!((nowhere.code, messages(&world, &id)), (1, 1), "{nowhere:?}");
}

/// A time of the clock, so many hours ahead.
fn hours_ahead(hours: i64) -> String {
    Time::now().plus_micros(hours * 3_600_000_000).to_string()
}

/// A question and an answer in a file, at this time.
fn answered(world: &World, at: &str) -> Value {
    let said = |role: &str, text: &str| json!({"role": role, "created_at": at, "blocks": [{"type": "text", "text": text}]});
    json!({"id": STRANGER, "created_at": at,
           "header": {"title": "Trap", "project": world.path("project")},
           "messages": [{"id": "Evil01", "message": said("user", "a trap")},
                        {"id": "Evil02", "parent": "Evil01", "message": said("assistant", "an answer")}]})
}

/// A world with two conversations that began here, both answered. The second was used last.
fn two() -> (World, [String; 2]) {
    let world = World::new();
    let ids = ["Porto", "Lisbon"].map(|title| {
        let id = world.started(title);
        world.append(&id, "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n{\"role\":\"assistant\",\"content\":\"A tasca.\"}\n");
        id
    });
    (world, ids)
}

/// The texts of the path on which a talk went on.
fn goes_on(world: &World, flag: &str) -> Vec<String> {
    let outcome = world.rejoin([flag, "and then what?"]).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let archive = world.archive();
    let all = archive.list(&rejoin::List::default()).unwrap().items.into_iter();
    let mut paths = all.map(|stored| archive.path(stored.id, None).unwrap());
    let path = paths.find(|path| path.iter().any(|said| said.message.text() == "and then what?")).unwrap();
    path.iter().map(|said| said.message.text()).collect()
}

fn is_trapped(world: &World, flag: &str) -> bool {
    goes_on(world, flag).iter().any(|text| text == "an answer")
}

#[test]
fn an_import_does_not_decide_where_a_talk_goes_on() {
    let imported = |hours: i64, flag: &'static str| {
        move |target| {
            let (world, _) = two();
            write(&world, &answered(&world, &hours_ahead(hours)));
            assert_eq!(world.rejoin(["import", "x.json"]).run().code, 0);
            if target == Target::Control {
                world.rejoin(["resume", STRANGER]).run();
            }
            is_trapped(&world, flag)
        }
    };
    let as_a_branch = |at: fn() -> String| {
        move |target| {
            let (world, [_, lisbon]) = two();
            write(&world, &answered(&world, &at()));
            assert_eq!(world.rejoin(["import", "x.json", "--into", &lisbon]).run().code, 0);
            if target == Target::Control {
                let rewound = world.rejoin(["rewind", &format!("{lisbon}/Evil02")]).run();
                assert_eq!(rewound.code, 0, "{rewound:?}");
            }
            is_trapped(&world, "-c")
        }
    };
    let makes_another_the_newest = |flag: &'static str| {
        move |target| {
            let (world, [porto, _]) = two();
            write(&world, &answered(&world, &hours_ahead(10)));
            match target {
                Target::Guarded => world.rejoin(["import", "x.json", "--into", &porto]).run(),
                Target::Control => world.rejoin(["append", &porto, "--role", "assistant", "here"]).run(),
            };
            goes_on(&world, flag);
            let path = world.archive().path(porto.parse().unwrap(), None).unwrap();
            path.iter().any(|said| said.message.text() == "and then what?")
        }
    };
    let grows = |target| {
        let (world, [_, lisbon]) = two();
        let mut file = answered(&world, &hours_ahead(0));
        write(&world, &file);
        world.rejoin(["import", "x.json"]).run();
        world.rejoin(["append", STRANGER, "used here"]).run();
        world.append(&lisbon, "{\"role\":\"user\",\"content\":\"And to sleep?\"}\n");
        let more = json!({"id": "Evil03", "parent": "Evil02", "message": file["messages"][1]["message"]});
        file["messages"].as_array_mut().unwrap().push(more);
        file["messages"][2]["message"]["created_at"] = json!(hours_ahead(1));
        write(&world, &file);
        match target {
            Target::Guarded => world.rejoin(["import", "x.json"]).run(),
            Target::Control => world.rejoin(["append", STRANGER, "used again"]).run(),
        };
        is_trapped(&world, "-r")
    };

    assert_all_fail(&[
        Attempt::new("a file that is dated now, and -r", imported(0, "-r")),
        Attempt::new("a file that is dated ahead, and -c", imported(10, "-c")),
        Attempt::new("a branch that is dated ahead", as_a_branch(|| hours_ahead(10))),
        Attempt::new("a branch that is dated now", as_a_branch(|| hours_ahead(0))),
        Attempt::new("a branch of a conversation that was left, and -r", makes_another_the_newest("-r")),
        Attempt::new("a branch of a conversation that was left, and -c", makes_another_the_newest("-c")),
        Attempt::new("a file that grows after its conversation was used", grows),
    ]);
}

#[test]
fn what_was_imported_is_gone_on_with_once_it_is_resumed_or_where_nothing_else_was_used() {
    let (world, _) = two();
    write(&world, &answered(&world, "2026-01-02T03:04:05Z"));
    world.rejoin(["import", "x.json"]).run();
    let alone = World::new();
    write(&alone, &answered(&alone, "2026-01-02T03:04:05Z"));
    alone.rejoin(["import", "x.json"]).run();

    let before = is_trapped(&world, "-r");
    world.rejoin(["resume", STRANGER]).run();
    let resumed = is_trapped(&world, "-c");
    let continued = is_trapped(&alone, "-c");

    assert_eq!((before, resumed, continued), (false, true, true));
}
