//! `rejoin project`: conversations find their project again after a move.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rejoin::{Archive, Conversation, Handle, List, Time};

use crate::past::{ask, minutes_ago};
use crate::terminal::Terminal;
use crate::world::{Outcome, World};

fn started(archive: &Archive, project: &str, title: &str) -> Handle {
    archive.start(Conversation::titled(title).in_project(project)).unwrap()
}

/// The project of each conversation, in order.
fn projects<const N: usize>(world: &World, handles: [&Handle; N]) -> [String; N] {
    let root = world.path("");
    handles.map(|handle| {
        let key = handle.conversation().unwrap().conversation.project.unwrap();
        key.replace(root.to_str().unwrap().trim_end_matches('/'), "[world]")
    })
}

#[test]
fn projects_are_listed_with_what_they_hold_and_whether_they_exist() {
    let world = World::new();
    let archive = world.archive_at(minutes_ago(5));
    let mut trip = world.conversation_in(&archive, "Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");
    started(&world.archive_at(minutes_ago(60)), "/gone\u{1b}[31m", "Rome");
    world.archive_at(minutes_ago(180)).start(Conversation::titled("Nowhere")).unwrap();
    let size = trip.conversation().unwrap().bytes;
    let path = world.path("project");
    let width = path.to_str().unwrap().len();

    let outcome = world.rejoin(["project", "list"]).run();

    let row = |path: &str, rest: &str| format!("{path:width$}  {rest}\n");
    let expected = [
        row("path", "conversations   size  last active    directory"),
        row(path.to_str().unwrap(), &format!("            1  {size} B  5 minutes ago  this one")),
        row("/gone", "            1    0 B  1 hour ago     missing"),
        row("(no project)", "            1    0 B  3 hours ago").trim_end().to_owned() + "\n",
    ];
    let stdout = expected.concat().replace(world.path("").to_str().unwrap().trim_end_matches('/'), "[world]");
    let stderr = "If a missing directory was moved: rejoin project move OLD NEW\n".to_owned();
    assert_eq!(outcome, Outcome { stdout, stderr, code: 0 });
}

#[test]
fn scripts_read_projects_as_json() {
    let world = World::new();
    let trip = world.conversation_in(&world.archive_at(Time::from_micros(2_000_000)), "Lisbon");
    started(&world.archive_at(Time::from_micros(1_000_000)), "0190-id", "Rome");

    let outcomes = [
        world.rejoin(["project", "list", "--json"]).run(),
        World::new().rejoin(["project", "list", "--json"]).run(),
    ];

    let expected = "{\"items\":[\
         {\"key\":\"[world]/project\",\"path\":\"[world]/project\",\"conversations\":1,\"messages\":0,\"bytes\":0,\
         \"last_active_at\":\"1970-01-01T00:00:02.000000Z\",\"exists\":true,\"places\":[],\"separate_from\":null,\"current\":true},\
         {\"key\":\"0190-id\",\"path\":null,\"conversations\":1,\"messages\":0,\"bytes\":0,\
         \"last_active_at\":\"1970-01-01T00:00:01.000000Z\",\"exists\":false,\"places\":[],\"separate_from\":null,\"current\":false}],\"total\":2}\n";
    assert_eq!(outcomes, [expected, "{\"items\":[],\"total\":0}\n"].map(Outcome::answer));
    drop(trip);
}

#[test]
fn a_move_takes_the_conversations_and_the_active_one_along_and_can_be_undone() {
    let world = World::new();
    let trip = world.conversation("Lisbon");
    let archive = world.archive();
    let old = world.project_key();
    archive.state().remember(&format!("active:{old}"), Some(&trip.id().to_string())).unwrap();
    world.write("moved/.git/HEAD", "");
    let new = world.path("moved").to_str().unwrap().to_owned();

    let there = world.rejoin(["project", "move", ".", "../moved"]).run();
    let at_new = (projects(&world, [&trip]), archive.state().recall(&format!("active:{new}")).unwrap());
    let back = world.rejoin(["project", "move", &new, &old]).run();

    let told = |from: &str, to: &str| {
        let undo = format!("Undo: rejoin project move [world]/{to} [world]/{from}");
        Outcome::note(&format!("Gave 1 conversation of [world]/{from} to [world]/{to}\n{undo}\n"))
    };
    assert_eq!([there, back], [told("project", "moved"), told("moved", "project")]);
    assert_eq!(at_new, (["[world]/moved".to_owned()], Some(trip.id().to_string())));
    assert_eq!(projects(&world, [&trip]), ["[world]/project"]);
}

#[test]
fn a_move_to_where_nothing_is_or_others_are_needs_consent() {
    let world = World::new();
    let archive = world.archive();
    let trip = world.conversation("Lisbon");
    world.write("busy/.git/HEAD", "");
    let busy = started(&archive, world.path("busy").to_str().unwrap(), "Busy");
    world.write("file", "");

    let outcomes =
        ["../nowhere/../missing", "../busy"].map(|new| world.rejoin(["project", "move", ".", new]).run());
    let before = projects(&world, [&trip, &busy]);
    let file = world.rejoin(["project", "move", ".", "../file", "--yes"]).run();
    let agreed = world.rejoin(["project", "move", ".", "../busy", "--yes", "--json"]).run();
    let missing = world.rejoin(["project", "move", "../busy", "../missing", "--yes", "--json"]).run();

    let refused = "error: not running in a terminal\nhint: pass `--yes` to confirm\n";
    assert_eq!(outcomes, [refused; 2].map(|error| Outcome::failure(1, error)));
    assert_eq!(before, ["[world]/project", "[world]/busy"]);
    assert_eq!(file, Outcome::failure(1, "error: `../file` is not a directory\n"));
    let told = |from: &str, to: &str, count: u64| {
        let place = |name: &str| format!("{{\"key\":\"[world]/{name}\",\"path\":\"[world]/{name}\"}}");
        let (from, to) = (place(from), place(to));
        Outcome::answer(&format!("{{\"from\":{from},\"to\":{to},\"conversations\":{count}}}\n"))
    };
    assert_eq!([agreed, missing], [told("project", "busy", 1), told("busy", "missing", 2)]);
    assert_eq!(projects(&world, [&trip, &busy]), ["[world]/missing", "[world]/missing"]);
}

#[test]
fn projects_are_merged_only_with_consent() {
    let world = World::new();
    let archive = world.archive();
    let trip = world.conversation("Lisbon");
    let copy = started(&archive, "/copy", "Copy");

    let asked = world.rejoin(["project", "merge", "/copy", "."]).run();
    let before = projects(&world, [&trip, &copy]);
    let done = world.rejoin(["project", "merge", "/copy", ".", "--yes"]).run();

    let refused = "error: not running in a terminal\nhint: pass `--yes` to confirm\n";
    assert_eq!(
        (asked, before),
        (Outcome::failure(1, refused), ["[world]/project".to_owned(), "/copy".to_owned()])
    );
    assert_eq!(done, Outcome::note("Gave 1 conversation of /copy to [world]/project\n"));
    assert_eq!(projects(&world, [&trip, &copy]), ["[world]/project", "[world]/project"]);
}

#[test]
fn projects_that_are_not_known_or_the_same_are_refused() {
    let world = World::new();
    world.conversation("Lisbon");

    let unknown =
        ["/nowhere", "../../..", "", "inside"].map(|old| world.rejoin(["project", "move", old, "/x"]).run());
    let same = [
        world.rejoin(["project", "merge", ".", "../project"]).run(),
        world.rejoin(["project", "move", ".", "."]).run(),
        world.rejoin(["project", "move", ".", ""]).run(),
    ];

    let hint = "hint: run `rejoin project list` to see them\n";
    let expected = ["/nowhere", "../../..", "", "inside"]
        .map(|old| Outcome::failure(1, &format!("error: no project `{old}` is known\n{hint}")));
    assert_eq!(unknown, expected);
    let expected = [
        format!("error: both are the same project\n{hint}"),
        "error: the project is already at `[world]/project`\n".to_owned(),
        "error: the new directory has no name\n".to_owned(),
    ];
    assert_eq!(same, expected.map(|error| Outcome::failure(2, &error)));
}

#[test]
fn a_project_with_an_id_finds_its_conversations_again_once_the_user_says_that_it_moved() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [_, answer] = ask(&mut trip, "Where to eat?", "In Alfama.");

    let first = world.rejoin(["project", "id"]).run();
    let again = world.rejoin(["project", "id", "--json"]).run();
    fs::rename(world.path("project"), world.path("elsewhere")).unwrap();
    let before = world.rejoin(["search", "alfama", "--json"]).from("elsewhere").run();
    let old = world.project_key();
    world.rejoin(["project", "move", &old, "."]).from("elsewhere").run();
    let found = world.rejoin(["search", "alfama", "--json"]).from("elsewhere").run();

    let id = world.read("elsewhere/.rejoin/project").trim().to_owned();
    let stderr = "The project goes by this id: [world]/project/.rejoin/project\n".to_owned();
    assert_eq!(first, Outcome { stdout: format!("{id}\n"), stderr, code: 0 });
    let told = format!("{{\"id\":\"{id}\",\"path\":\"[world]/project\",\"conversations\":0}}\n");
    assert_eq!(again, Outcome::answer(&told));
    assert_eq!(projects(&world, [&trip]), [id]);
    assert_eq!([before, found].map(|found| found.stdout.contains(answer.as_str())), [false, true]);
}

#[test]
fn a_project_with_an_id_keeps_it_on_the_way_to_a_directory_that_is_not_there_yet() {
    let world = World::new();
    let trip = world.conversation("Lisbon");
    world.rejoin(["project", "id"]).run();
    let id = world.read("project/.rejoin/project").trim().to_owned();

    let outcome = world.rejoin(["project", "move", ".", "../later", "--yes", "--json"]).run();

    let expected = format!(
        "{{\"from\":{{\"key\":\"{id}\",\"path\":\"[world]/project\"}},\
         \"to\":{{\"key\":\"{id}\",\"path\":\"[world]/later\"}},\"conversations\":1}}\n"
    );
    assert_eq!((outcome, projects(&world, [&trip])), (Outcome::answer(&expected), [id]));
}

#[test]
fn an_id_is_not_written_through_a_link() {
    let world = World::new();
    fs::create_dir(world.path("theirs")).unwrap();
    symlink(world.path("theirs"), world.path("project/.rejoin")).unwrap();

    let outcome = world.rejoin(["project", "id"]).run();

    let expected = "error: could not write `[world]/project/.rejoin/project`: its directory is a symbolic link\n\
                    hint: replace the link with a directory\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

/// A project with an id and a conversation, beside a clone that carries a copy of the id.
fn trip_and_clone() -> World {
    let world = World::new();
    world.write("project/.rejoin/project", "trip-0190\n");
    world.started("Lisbon");
    world.write("clone/.git/HEAD", "");
    world.write("clone/.rejoin/project", "trip-0190\n");
    world
}

/// The titles of the conversations of the project in a directory.
fn titles(world: &World, directory: &str) -> Vec<String> {
    let listed = world.rejoin(["--quiet", "list", "--json"]).from(directory).run().json();
    let items = listed["items"].as_array().unwrap().clone();
    items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect()
}

const SEPARATE: &str = "warning: this directory carries the id of the project at `[world]/project`, so it is treated as \
                        a separate project\n\
                        hint: if it is the same project, run `rejoin project merge . [world]/project`\n";

#[test]
fn in_a_script_a_known_id_at_a_new_path_is_a_separate_project_and_that_is_said_once() {
    let world = trip_and_clone();

    let started = world.rejoin(["new", "--title", "Copy"]).from("clone").run();

    let told = "It is the active conversation of this project. Add to it: rejoin append \"your message\"\n";
    assert_eq!(started.stderr, format!("{SEPARATE}{told}"));
    assert_eq!(titles(&world, "clone"), ["Copy"]);
    assert_eq!(titles(&world, "project"), ["Lisbon"]);
    assert_eq!(world.archive().projects().get("trip-0190").unwrap().unwrap().path, world.project_key());
}

#[test]
fn a_merge_makes_a_directory_with_the_same_id_part_of_the_project_and_a_split_undoes_it() {
    let world = trip_and_clone();
    world.rejoin(["new", "--title", "Copy"]).from("clone").run();
    let merge = ["project", "merge", ".", "../project", "--yes"];

    let merged = world.rejoin(merge).from("clone").run();
    let together = titles(&world, "clone");
    let listed = world.rejoin(["project", "list", "--json"]).from("clone").run().json();
    let split = world.rejoin(["project", "split"]).from("clone").run();
    let apart = titles(&world, "clone");
    let own = world.rejoin(["project", "split"]).run();

    assert_eq!(merged, Outcome::note("Gave 1 conversation of [world]/clone to [world]/project\n"));
    assert_eq!(together, ["Copy", "Lisbon"]);
    assert_eq!(listed["items"][0]["places"][0], "[world]/clone");
    let told =
        "[world]/clone is separate from [world]/project\nUndo: rejoin project merge . [world]/project\n";
    assert_eq!((split, apart), (Outcome::note(told), vec![]));
    let refused = "error: `[world]/project` is the project's own directory\n\
                   hint: run `rejoin project move . DIR` if the project is elsewhere\n";
    assert_eq!(own, Outcome::failure(1, refused));
}

#[test]
fn a_directory_that_nothing_was_said_in_can_be_merged_by_the_id_it_carries() {
    let world = trip_and_clone();
    world.write("stranger/.git/HEAD", "");

    let merged = world.rejoin(["project", "merge", ".", "../project", "--yes"]).from("clone").run();
    let stranger = world.rejoin(["project", "merge", ".", "../project", "--yes"]).from("stranger").run();

    assert_eq!((merged.code, titles(&world, "clone")), (0, vec!["Lisbon".to_owned()]));
    assert_eq!(stranger.code, 1, "{stranger:?}");
}

#[test]
fn a_link_to_the_project_and_a_directory_inside_it_are_the_project() {
    let world = trip_and_clone();
    symlink(world.path("project"), world.path("link")).unwrap();
    fs::create_dir(world.path("project/src")).unwrap();

    let found = ["link", "project/src"].map(|directory| titles(&world, directory));

    assert_eq!(found, [["Lisbon"], ["Lisbon"]]);
}

#[test]
fn an_id_that_a_pull_brings_hides_no_conversation() {
    let world = World::new();
    world.started("Lisbon");
    world.write("project/.rejoin/project", "pulled-1\n");
    let here = world.path("project");
    let project = world.project_key();

    let listed = world.rejoin(["list"]).run();
    world.rejoin(["new", "--title", "Porto"]).run();
    let by_path =
        world.archive().reader().count(&List { project: Some(project), ..List::default() }).unwrap();
    let adopted = world.rejoin(["project", "id"]).run();
    let quiet = world.rejoin(["list"]).run();

    let warning = "warning: `[world]/project/.rejoin/project` holds the new id `pulled-1`, which may have come with a pull; \
                   the project goes on without it\n\
                   hint: to keep its conversations under that id from now on, run `rejoin project id`\n";
    assert!(listed.stdout.contains("Lisbon") && listed.stderr.contains(warning), "{listed:?}");
    assert_eq!((by_path, adopted.stdout.as_str()), (2, "pulled-1\n"), "{adopted:?}");
    assert!(quiet.stdout.contains("Lisbon") && quiet.stdout.contains("Porto"), "{quiet:?}");
    assert!(!quiet.stderr.contains("pulled-1"), "{quiet:?}");
    assert_eq!(Path::new(&world.archive().projects().get("pulled-1").unwrap().unwrap().path), here);
}

#[test]
fn an_id_that_a_pull_exchanges_hides_no_conversation() {
    let world = World::new();
    world.started("Lisbon");
    let own = world.rejoin(["project", "id"]).run().stdout;
    world.write("project/.rejoin/project", "pulled-1\n");

    let listed = titles(&world, "project");
    world.rejoin(["new", "--title", "Porto"]).run();
    world.write("project/.rejoin/project", &own);
    let before = titles(&world, "project");
    world.write("project/.rejoin/project", "pulled-2\n");
    let adopted = world.rejoin(["project", "id"]).run();

    assert_eq!((listed.len(), before.len()), (1, 2), "{before:?}");
    assert_eq!(adopted.stdout, "pulled-2\n", "{adopted:?}");
    assert_eq!(titles(&world, "project").len(), 2);
}

#[test]
fn an_id_counts_at_once_where_there_is_no_conversation() {
    let world = World::new();
    world.write("project/.rejoin/project", "cloned-1\n");

    let outcome = world.rejoin(["new", "--title", "Porto"]).run();

    assert!(!outcome.stderr.contains("cloned-1"), "{outcome:?}");
    assert_eq!(
        world.archive().projects().get("cloned-1").unwrap().map(|known| known.key).as_deref(),
        Some("cloned-1")
    );
}

#[test]
fn a_file_that_holds_no_id_is_told_and_the_project_goes_by_its_path() {
    let world = World::new();
    world.write("project/.rejoin/project", "../../etc/passwd\n");

    let outcome = world.rejoin(["new", "--json"]).run();

    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stderr.contains("so the project goes by its path"), "{outcome:?}");
    assert_eq!(world.archive().projects().list().unwrap()[0].key, world.project_key());
}

#[test]
fn the_id_of_another_project_takes_over_nothing() {
    let world = trip_and_clone();
    world.rejoin(["new", "--title", "Copy"]).from("clone").run();

    let outcome = world.rejoin(["project", "id"]).from("clone").run();

    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.stderr.contains("holds the id of the project at `[world]/project`"), "{outcome:?}");
    assert_eq!([titles(&world, "clone"), titles(&world, "project")], [["Copy"], ["Lisbon"]]);
}

#[test]
fn at_a_terminal_a_known_id_at_a_new_path_is_asked_about_once() {
    let world = trip_and_clone();
    world.write("other/.git/HEAD", "");
    world.write("other/.rejoin/project", "trip-0190\n");
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    terminal.enter("cd ../clone; clear; rejoin list");
    let asked = terminal.wait_for("[y/N]");
    terminal.enter("y");
    terminal.wait_for("Total: 1 conversation(s)");
    terminal.enter("cd ../other; clear; rejoin list");
    terminal.wait_until("the question about the other", |screen| {
        screen.contains("/other\n") && screen.contains("[y/N]")
    });
    terminal.enter("n");
    terminal.wait_for("No saved conversations.");
    terminal.enter("clear; cd ../clone; rejoin list; cd ../other; rejoin list; echo do''ne");
    let again = terminal.wait_for("done\n");

    assert!(asked.contains("This directory carries the id of another project:\n│ /"), "{asked}");
    assert!(asked.contains("\nIt has 1 conversation.\n"), "{asked}");
    assert!(asked.contains("Tools that you have allowed there ask again here."), "{asked}");
    assert!(!again.contains("[y/N]") && again.contains("Lisbon"), "{again}");
    assert_eq!(titles(&world, "clone"), ["Lisbon"]);
    assert_eq!(titles(&world, "other"), Vec::<String>::new());
}

#[test]
fn a_project_that_moved_is_asked_about_too_and_is_known_at_its_new_path_afterwards() {
    let world = trip_and_clone();
    fs::remove_dir_all(world.path("project/.rejoin")).unwrap();
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    terminal.enter("cd ..; mv project gone; rm -r gone; cd clone; clear; rejoin list");
    let asked = terminal.wait_for("[y/N]");
    terminal.enter("y");
    terminal.wait_for("Total: 1 conversation(s)");

    assert!(asked.contains("It has 1 conversation. Its directory does not exist any more."), "{asked}");
    let path = world.archive().projects().get("trip-0190").unwrap().unwrap().path;
    assert_eq!(Path::new(&path), world.path("clone"));
}

#[test]
fn only_one_place_decides_which_project_a_directory_is() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![sources.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if reads_carried_id(&path) {
                found.push(path.strip_prefix(&sources).unwrap().to_owned());
            }
        }
    }

    // Variables have keys of their own.
    found.retain(|path| path != Path::new("config/variables.rs"));
    assert_eq!(found, [Path::new("project_key.rs")]);
}

/// Whether a source calls the function that reads the id in a directory.
fn reads_carried_id(source: &Path) -> bool {
    let text = fs::read_to_string(source).unwrap();
    let calls = text.lines().filter(|line| line.contains("key_of("));
    calls.into_iter().any(|line| !line.contains("fn key_of(") && !line.contains(".key_of("))
}
