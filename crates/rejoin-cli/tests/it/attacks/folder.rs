//! A folder inherits nobody's permissions and disables nothing.
//!
//! Each attempt is made from a folder that the user got from somebody: a clone, a download, what took the
//! place of a trusted directory. Its control is the same with the user's word: in the project itself, after
//! `rejoin trust`, or after `rejoin project move` or `merge`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use rejoin::{ConversationId, List};
use serde_json::json;

use super::attempt::{Attempt, Target, assert_all_fail};
use crate::model_server::{ModelServer, call, end, reply};
use crate::terminal::Terminal;
use crate::world::{Outcome, World};

/// The id of the project that the others pretend to be.
const ID: &str = "trip-0190";

/// A project with an id and one conversation, which is the active one.
fn trip() -> (World, String) {
    let world = World::new();
    world.write("project/.rejoin/project", &format!("{ID}\n"));
    let id = world.started("Lisbon");
    world.rejoin(["append", "my bicycle is green"]).run();
    (world, id)
}

/// The same beside a folder that carries a copy of the project's id.
fn trip_and_clone() -> (World, String) {
    let (world, id) = trip();
    world.write("clone/.git/HEAD", "");
    world.write("clone/.rejoin/project", &format!("{ID}\n"));
    (world, id)
}

/// The user says that the clone is the same project.
fn merge(world: &World) {
    let project = world.project_key();
    let outcome = world.rejoin(["project", "merge", ".", &project, "--yes"]).from("clone").run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

fn trust(world: &World, directory: &str) {
    let outcome = world.rejoin(["trust", "--yes"]).from(directory).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

fn count(world: &World) -> u64 {
    world.archive().reader().count(&List { includes_expired: true, ..List::default() }).unwrap()
}

/// Whether a configuration in the project takes effect; the control is a project that the user trusts.
fn counts(text: &str, target: Target, is_in_force: impl Fn(&World) -> bool) -> bool {
    let world = World::new();
    world.project_config(text);
    if target == Target::Control {
        trust(&world, "project");
    }
    is_in_force(&world)
}

#[test]
fn a_projects_file_sets_nothing_that_matters() {
    assert_all_fail(&[
        Attempt::new("it keeps conversations from being saved", |target| {
            counts("persistence.enabled = false\n", target, |world| {
                world.rejoin(["hello there"]).run();
                !world.store().exists()
            })
        }),
        Attempt::new("it makes every turn too large to be saved", |target| {
            counts("limits.turn_bytes = \"1 KiB\"\n", target, |world| {
                world.rejoin(["append", "--", &"word ".repeat(1000)]).run().code != 0
            })
        }),
        Attempt::new("it has everything written to a log", |target| {
            counts("log = \"trace\"\n", target, |world| {
                world.rejoin(["list"]).run();
                world.path("home/.local/share/rejoin/rejoin.log").exists()
            })
        }),
        Attempt::new("it has old conversations cleaned sooner", |target| {
            counts("clean.older_than_days = 1\n", target, |world| {
                world.rejoin(["--quiet", "config", "get", "clean.older_than_days"]).run().stdout == "1\n"
            })
        }),
        Attempt::new("it stops every command with an unknown key", |target| {
            let world = World::new();
            let text = "wheather = 1\n";
            match target {
                Target::Guarded => world.project_config(text),
                Target::Control => world.user_config(text),
            }
            world.rejoin(["list"]).run().code != 0
        }),
        Attempt::new("it stops every command with a file that cannot be read", |target| {
            let world = World::new();
            let place = match target {
                Target::Guarded => "project/.rejoin/config.toml",
                Target::Control => "home/.config/rejoin/config.toml",
            };
            fs::create_dir_all(world.path(place)).unwrap();
            world.rejoin(["list"]).run().code != 0
        }),
        Attempt::new("it hides every other message behind its own", |target| {
            let world = World::new();
            let keys = (0..2000).map(|number| format!("models.m{number}.context_window = 9\n"));
            world.project_config(&keys.collect::<String>());
            let told = match target {
                Target::Guarded => world.rejoin(["list"]).run().stderr.lines().count(),
                // One line for each key that was ignored.
                Target::Control => {
                    let listed = world.rejoin(["--quiet", "config", "list", "--json"]).run().json();
                    listed["ignored"].as_array().unwrap().len()
                }
            };
            told > 100
        }),
    ]);
}

#[test]
fn a_copied_id_adopts_no_conversation() {
    let there = |target| match target {
        Target::Guarded => "clone",
        Target::Control => "project",
    };
    assert_all_fail(&[
        Attempt::new("it lists the project's conversations", |target| {
            let (world, _) = trip_and_clone();
            world.rejoin(["list"]).from(there(target)).run().stdout.contains("Lisbon")
        }),
        Attempt::new("it finds what was said", |target| {
            let (world, _) = trip_and_clone();
            world.rejoin(["search", "bicycle"]).from(there(target)).run().stdout.contains("green")
        }),
        Attempt::new("it has the project's conversation continued and sent to a model", |target| {
            let server = ModelServer::start(|_| reply("I see."));
            let (world, _) = trip_and_clone();
            world.user_config(&server.config());
            world.write(&format!("{}/.rejoin/config.toml", there(target)), "start.default = \"continue\"\n");
            world.rejoin(["append", "--role", "assistant", "Noted, it is green."]).run();
            world.rejoin(["what now?"]).from(there(target)).run();
            server.bodies().iter().any(|body| body.contains("bicycle"))
        }),
        Attempt::new("it adds to the project's active conversation", |target| {
            let (world, id) = trip_and_clone();
            world.rejoin(["append", "from the folder"]).from(there(target)).run();
            let stored = world.archive().conversation(id.parse().unwrap()).unwrap();
            stored.messages == 2
        }),
        Attempt::new("it has the project's conversations deleted", |target| {
            let (world, _) = trip_and_clone();
            world.rejoin(["new"]).run();
            world.rejoin(["clean", "--all", "--yes"]).from(there(target)).run();
            count(&world) < 2
        }),
        Attempt::new("it takes over the project's place", |target| {
            let (world, _) = trip_and_clone();
            let project = world.project_key();
            match target {
                Target::Guarded => {
                    world.rejoin(["new"]).from("clone").run();
                    world.rejoin(["project", "id"]).from("clone").run();
                }
                Target::Control => {
                    world.rejoin(["project", "move", &project, ".", "--yes"]).from("clone").run();
                }
            }
            world.archive().projects().get(ID).unwrap().unwrap().path != project
        }),
        Attempt::new("an imported session that was held in it is filed under the project", |target| {
            let (world, _) = trip_and_clone();
            if target == Target::Control {
                merge(&world);
            }
            let line = json!({"type": "user", "uuid": "u1", "parentUuid": null, "sessionId": "s1",
                "cwd": world.path("clone"), "timestamp": "2026-01-02T03:04:05.000Z", "version": "2.0.0",
                "message": {"role": "user", "content": "hello"}});
            world.write("home/a.jsonl", &format!("{line}\n"));
            let outcome = world.rejoin(["import", "../home/a.jsonl"]).run();
            assert_eq!((outcome.code, count(&world)), (0, 2), "{outcome:?}");
            let list = List { project: Some(ID.to_owned()), ..List::default() };
            world.archive().reader().count(&list).unwrap() == 2
        }),
        Attempt::new("an id that was accepted is exchanged for that of another project", |target| {
            let (world, _) = trip_and_clone();
            merge(&world);
            world.write("other/.rejoin/project", "other-0190\n");
            world.rejoin(["new", "--title", "Payroll"]).from("other").run();
            world.write("clone/.rejoin/project", "other-0190\n");
            if target == Target::Control {
                world.rejoin(["project", "merge", ".", "../other", "--yes"]).from("clone").run();
            }
            world.rejoin(["list"]).from("clone").run().stdout.contains("Payroll")
        }),
        Attempt::new(
            "an id whose directory nobody remembers is taken by the first who carries it",
            |target| {
                let world = World::new();
                let conversation = rejoin::Conversation::titled("Rome").in_project("rome-0190");
                world.archive().start(conversation).unwrap();
                world.write("clone/.rejoin/project", "rome-0190\n");
                if target == Target::Control {
                    world.rejoin(["project", "merge", ".", "rome-0190", "--yes"]).from("clone").run();
                }
                world.rejoin(["list"]).from("clone").run().stdout.contains("Rome")
            },
        ),
    ]);
}

/// Whether a list shows nothing of Lisbon; the control goes by the path alone.
fn is_hidden(world: &World, target: Target) -> bool {
    match target {
        Target::Guarded => !world.rejoin(["list"]).run().stdout.contains("Lisbon"),
        Target::Control => {
            let project = Some(world.project_key());
            world.archive().list(&List { project, ..List::default() }).unwrap().items.is_empty()
        }
    }
}

#[test]
fn a_pull_hides_no_conversation_by_the_id_of_the_project() {
    let removed = |target| {
        let (world, _) = trip();
        fs::remove_file(world.path("project/.rejoin/project")).unwrap();
        is_hidden(&world, target)
    };
    let removed_with_its_folder = |target| {
        let (world, _) = trip();
        fs::remove_dir_all(world.path("project/.rejoin")).unwrap();
        is_hidden(&world, target)
    };
    let made_unreadable = |target| {
        let (world, _) = trip();
        world.write("project/.rejoin/project", "../../etc\n");
        is_hidden(&world, target)
    };
    let made_another_projects = |target| {
        let (world, _) = trip();
        world.write("other/.rejoin/project", "other-1\n");
        world.rejoin(["new", "--title", "Porto"]).from("other").run();
        world.write("project/.rejoin/project", "other-1\n");
        is_hidden(&world, target)
    };

    assert_all_fail(&[
        Attempt::new("it is removed", removed),
        Attempt::new("its folder is removed", removed_with_its_folder),
        Attempt::new("it becomes something else", made_unreadable),
        Attempt::new("it becomes that of another project", made_another_projects),
    ]);
}

#[test]
fn a_removed_id_is_told_with_what_goes_by_it_and_what_to_do() {
    let (world, id) = trip();
    fs::remove_file(world.path("project/.rejoin/project")).unwrap();

    let listed = world.rejoin(["list"]).run();
    let continued = world.rejoin(["-r", "and my helmet?"]).run();
    let adopted = world.rejoin(["project", "id"]).run();
    let after = world.rejoin(["list"]).run();

    let told = "warning: `[world]/project/.rejoin/project` no longer holds the id `trip-0190`, perhaps since a pull; \
                the project goes on with it, and its 1 conversation\n\
                hint: to give the project a new id, run `rejoin project id`; to keep this one, restore the file\n";
    assert_eq!(listed.stderr, told);
    assert!(continued.stderr.starts_with(told), "{continued:?}");
    assert!(messages(&world, &id) > 1 && adopted.code == 0, "{adopted:?}");
    assert!(after.stdout.contains("Lisbon") && after.stderr.is_empty(), "{after:?}");
}

#[test]
fn conversations_by_the_path_are_shown_when_an_id_is_removed_and_the_others_are_counted() {
    let world = World::new();
    world.started("Porto");
    let project = world.path("project");
    let known = rejoin::Project {
        key: ID.to_owned(),
        path: project.to_str().unwrap().to_owned(),
        first_commit: None,
    };
    world.archive().projects().remember(&known).unwrap();
    world.archive().start(rejoin::Conversation::titled("Lisbon").in_project(ID.to_owned())).unwrap();

    let listed = world.rejoin(["list"]).run();
    let merged = world.rejoin(["project", "merge", ID, ".", "--yes"]).run();
    let after = world.rejoin(["list"]).run();

    assert!(listed.stdout.contains("Porto") && !listed.stdout.contains("Lisbon"), "{listed:?}");
    let told = "the project goes by its path, and 1 conversation by that id\n\
                hint: to see them here again, restore the file or run `rejoin project merge trip-0190 .`\n";
    assert!(listed.stderr.ends_with(told), "{listed:?}");
    assert_eq!(merged.code, 0, "{merged:?}");
    assert!(after.stdout.contains("Lisbon") && after.stdout.contains("Porto") && after.stderr.is_empty());
}

#[test]
fn a_pull_does_not_change_what_counts_as_the_project_without_a_word() {
    let is_silent = |world: &World, target, told: &str| {
        let listed = match target {
            Target::Guarded => world.rejoin(["list"]).from("project/sub").run(),
            Target::Control => world.rejoin(["--quiet", "list"]).from("project/sub").run(),
        };
        assert!(!listed.stdout.contains("Lisbon"), "{listed:?}");
        !listed.stderr.contains(told)
    };
    let narrowed = |target| {
        let world = World::new();
        world.started("Lisbon");
        world.write("project/sub/file", "");
        world.project_config("project.scope = \"directory\"\n");
        is_silent(
            &world,
            target,
            "the project `[world]/project` has 1 conversation\nhint: to see them, run `rejoin list --project ",
        )
    };
    let widened = |target| {
        let world = World::new();
        world.write("project/sub/file", "");
        world.project_config("project.scope = \"directory\"\n");
        world.rejoin(["new", "--title", "Lisbon"]).from("project/sub").run();
        fs::remove_dir_all(world.path("project/.rejoin")).unwrap();
        is_silent(
            &world,
            target,
            "was a project of its own with 1 conversation\nhint: to make them part of the project, run `rejoin project move ",
        )
    };

    assert_all_fail(&[
        Attempt::new("a scope that makes each directory a project", narrowed),
        Attempt::new("a scope that is removed again", widened),
    ]);
}

#[test]
fn who_trusts_the_scope_of_a_project_is_not_told_again() {
    let world = World::new();
    world.started("Lisbon");
    world.write("project/sub/file", "");
    world.project_config("project.scope = \"directory\"\n");
    let shown = world
        .rejoin(["list", "--project", world.path("project").to_str().unwrap()])
        .from("project/sub")
        .run();
    trust(&world, "project");

    let listed = world.rejoin(["list"]).from("project/sub").run();

    assert!(shown.stdout.contains("Lisbon"), "{shown:?}");
    assert!(!listed.stderr.contains("project.scope"), "{listed:?}");
}

fn messages(world: &World, id: &str) -> u64 {
    world.archive().conversation(id.parse().unwrap()).unwrap().messages
}

/// What tells a directory from another that has its path later, as the program sees it.
fn identity(directory: &Path) -> String {
    let metadata = fs::metadata(directory).unwrap();
    match metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()) {
        Some(created) => format!("{}@{}", metadata.ino(), created.as_nanos()),
        None => metadata.ino().to_string(),
    }
}

/// A model that wants to run a command, in a conversation where the user has always allowed it.
struct Allowed {
    world: World,
    id: String,
    _server: ModelServer,
}

impl Allowed {
    fn new() -> Self {
        let server = ModelServer::start(|request| {
            let is_background = request["tools"].as_array().is_none_or(Vec::is_empty);
            let messages = request["messages"].as_array().unwrap();
            match messages.last() {
                Some(last) if !is_background && last["role"] == "user" => {
                    vec![call("c1", "run", &json!({"command": "touch ran"})), end("tool_calls")]
                }
                _ => reply("{}"),
            }
        });
        let (world, id) = trip_and_clone();
        world.user_config(&server.config());
        let project = world.path("project");
        let place =
            json!({"directory": project, "identity": identity(&project), "allow": ["run(touch ran)"]});
        let allowed = Self { world, id, _server: server };
        allowed.remember(&json!({"version": 2, "places": [place], "deny": []}).to_string());
        allowed
    }

    fn remember(&self, text: &str) {
        let id: ConversationId = self.id.parse().unwrap();
        self.world.archive().state().remember_for(id, "tool-rules", Some(text)).unwrap();
    }

    /// Whether the command runs when the conversation goes on in a directory, where nobody can be asked.
    fn runs_in(&self, directory: &str) -> bool {
        let outcome = self.world.rejoin(["-r", &self.id, "touch it"]).from(directory).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        self.world.path(directory).join("ran").exists()
    }
}

#[test]
fn what_was_always_allowed_is_allowed_in_that_directory_only() {
    assert_all_fail(&[
        Attempt::new("in a folder with a copy of the project's id", |target| {
            let allowed = Allowed::new();
            match target {
                Target::Guarded => {
                    merge(&allowed.world);
                    allowed.runs_in("clone")
                }
                Target::Control => allowed.runs_in("project"),
            }
        }),
        Attempt::new("in a project inside the project", |target| {
            let allowed = Allowed::new();
            allowed.world.write("project/inner/README", "");
            match target {
                Target::Guarded => {
                    allowed.world.write("project/inner/.git/HEAD", "");
                    allowed.runs_in("project/inner")
                }
                // A directory of the project itself; commands run at its root.
                Target::Control => {
                    allowed.runs_in("project/inner");
                    allowed.world.path("project/ran").exists()
                }
            }
        }),
        Attempt::new("in a directory that took the place of the project", |target| {
            let allowed = Allowed::new();
            let [old, new] = ["project", "clone"].map(|name| allowed.world.path(name));
            if target == Target::Guarded {
                fs::remove_dir_all(&old).unwrap();
                fs::rename(new, old).unwrap();
            }
            allowed.runs_in("project")
        }),
        Attempt::new("where the project was moved to, before the user says so", |target| {
            let allowed = Allowed::new();
            let world = &allowed.world;
            let old = world.project_key();
            fs::rename(world.path("project"), world.path("moved")).unwrap();
            if target == Target::Control {
                let outcome = world.rejoin(["project", "move", &old, "."]).from("moved").run();
                assert_eq!(outcome.code, 0, "{outcome:?}");
            }
            allowed.runs_in("moved")
        }),
        Attempt::new("by a rule from before rules had a place", |target| {
            let allowed = Allowed::new();
            if target == Target::Guarded {
                allowed.remember(r#"{"version":1,"allow":["run(touch ran)"],"deny":[]}"#);
            }
            allowed.runs_in("project")
        }),
        Attempt::new("by a rule whose place was left out", |target| {
            let allowed = Allowed::new();
            if target == Target::Guarded {
                let place = r#"{"directory":"","identity":"","allow":["run(touch ran)"]}"#;
                allowed.remember(&format!(r#"{{"version":2,"places":[{place}],"deny":[]}}"#));
            }
            allowed.runs_in("project")
        }),
    ]);
}

/// Whether the directory's own file counts.
fn is_trusted(world: &World, directory: &str) -> bool {
    let shown = world.rejoin(["--quiet", "config", "get", "retention.days"]).from(directory).run();
    shown == Outcome::answer("77\n")
}

#[test]
fn trust_does_not_pass_to_another_directory() {
    const FILE: &str = "retention.days = 77\n";
    let trusted = || {
        let world = World::new();
        world.project_config(FILE);
        trust(&world, "project");
        world
    };
    assert_all_fail(&[
        Attempt::new("to a copy with the same bytes", |target| {
            let world = trusted();
            world.write("copy/.rejoin/config.toml", FILE);
            is_trusted(&world, if target == Target::Guarded { "copy" } else { "project" })
        }),
        Attempt::new("to a project inside it", |target| {
            let world = trusted();
            world.write("project/inner/README", "");
            if target == Target::Guarded {
                world.write("project/inner/.rejoin/config.toml", FILE);
            }
            is_trusted(&world, "project/inner")
        }),
        Attempt::new("to a hard link of the trusted file", |target| {
            let world = trusted();
            world.write("copy/.rejoin/README", "");
            let [from, to] = ["project", "copy"].map(|name| world.path(name).join(".rejoin/config.toml"));
            fs::hard_link(from, to).unwrap();
            is_trusted(&world, if target == Target::Guarded { "copy" } else { "project" })
        }),
        Attempt::new("to a directory that took its place", |target| {
            let world = trusted();
            world.write("copy/.rejoin/config.toml", FILE);
            if target == Target::Guarded {
                fs::remove_dir_all(world.path("project")).unwrap();
                fs::rename(world.path("copy"), world.path("project")).unwrap();
            }
            is_trusted(&world, "project")
        }),
        Attempt::new("to a file that the register of an older version trusts by its path", |target| {
            let world = trusted();
            let register = "home/.local/share/rejoin/trust.toml";
            if target == Target::Guarded {
                let lines = world.read(register).replace("version = 2", "version = 1");
                let kept = lines.lines().filter(|line| !line.starts_with("directory = "));
                world.write(register, &kept.collect::<Vec<_>>().join("\n"));
            }
            is_trusted(&world, "project")
        }),
        Attempt::new("to a command file that names a model", |target| {
            let server = ModelServer::start(|_| reply("I see."));
            let world = World::new();
            world.user_config(&server.config());
            let folder = match target {
                Target::Guarded => "project/.rejoin/commands",
                Target::Control => "home/.config/rejoin/commands",
            };
            world.write(&format!("{folder}/think.md"), "---\nmodel: costly\n---\nThink.\n");
            world.rejoin(["--command", "think", "hello there"]).run();
            server.requests().iter().any(|request| request["model"] == "costly")
        }),
    ]);
}

#[test]
fn nobody_can_hide_that_nothing_is_saved() {
    let is_silent = |outcome: Outcome| !outcome.stderr.contains("nothing is saved");
    let quiet = |target| if target == Target::Guarded { "project" } else { "home" };
    // The control is a talk that is saved: it is silent.
    let saved = |world: &World| world.rejoin(["--quiet", "hello there"]).from("home").run();
    assert_all_fail(&[
        Attempt::new("with --quiet and --incognito", |target| {
            let world = World::new();
            is_silent(match target {
                Target::Guarded => world.rejoin(["--quiet", "-G", "hello there"]).run(),
                Target::Control => saved(&world),
            })
        }),
        Attempt::new("with --quiet and a project that is trusted", |target| {
            let world = World::new();
            world.project_config("persistence.enabled = false\n");
            trust(&world, "project");
            is_silent(world.rejoin(["--quiet", "hello there"]).from(quiet(target)).run())
        }),
        Attempt::new("with --quiet and a variable", |target| {
            let world = World::new();
            let value = if target == Target::Guarded { "false" } else { "true" };
            let talk = world.rejoin(["--quiet", "hello there"]);
            is_silent(talk.variable("REJOIN_PERSISTENCE_ENABLED", value).run())
        }),
        Attempt::new("with --quiet and a store in memory", |target| {
            let world = World::new();
            is_silent(match target {
                Target::Guarded => {
                    world.rejoin(["--quiet", "--store", "memory:", "append", "hello there"]).run()
                }
                Target::Control => saved(&world),
            })
        }),
        Attempt::new("with --json", |target| {
            let world = World::new();
            let outcome = match target {
                Target::Guarded => world.rejoin(["--json", "-G", "hello there"]).run(),
                Target::Control => world.rejoin(["--json", "hello there"]).run(),
            };
            !outcome.stdout.contains(r#"{"event":"not_saving""#)
        }),
    ]);
}

#[test]
fn what_a_folder_says_about_its_commands_does_not_act_on_the_terminal() {
    let server = ModelServer::start(|_| reply("done"));
    let world = World::new();
    world.user_config(&server.config());
    let about = "BEGIN\u{1b}]2;owned\u{7}\u{202e}END";
    world.write("project/.rejoin/commands/plan.md", &format!("---\ndescription: {about}\n---\nPlan.\n"));
    world.write("project/about", about);
    let Some(terminal) = Terminal::open(&world, 100, 60) else { return };
    let title = || {
        let shown = terminal.tmux(&["display-message", "-p", "#{pane_title}"]).stdout;
        String::from_utf8(shown).unwrap().trim().to_owned()
    };

    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("/help");
    terminal.wait_for("BEGINEND");
    let is_set_by_help = title() == "owned";
    terminal.enter("/quit");
    terminal.wait_for_last("$");

    let attempts = [Attempt::new("escape sequence in a description", |target| match target {
        Target::Guarded => is_set_by_help,
        Target::Control => {
            terminal.enter("clear; cat about");
            terminal.wait_until("the title", |_| title() == "owned");
            true
        }
    })];
    assert_all_fail(&attempts);
}

#[test]
fn the_name_of_a_folder_is_listed_without_what_acts_on_the_terminal() {
    let world = World::new();
    let name = "trip\u{1b}]2;owned\u{7}";
    world.write(&format!("{name}/.git/HEAD"), "");
    world.write(&format!("{name}/.rejoin/config.toml"), "retention.days = 77\n");
    trust(&world, name);

    let settings = world.rejoin(["config", "list", "retention.days"]).from(name).run().stdout;
    let trusted = world.rejoin(["trust", "--list"]).from(name).run().stdout;
    let path = world.rejoin(["config", "path", "--local"]).from(name).run().stdout;

    // A program that asks for one path gets it as it is.
    let is_named = path.contains(name);
    let told = [("settings", settings), ("trusted", trusted)];
    let attempts = told.each_ref().map(|(which, text)| {
        Attempt::new(which, move |target| match target {
            Target::Guarded => text.contains('\u{1b}') || !text.contains("/trip"),
            Target::Control => is_named,
        })
    });
    assert_all_fail(&attempts);
}
