//! `rejoin backup` and `rejoin restore`: a copy that is proved, and a way back from every mistake.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rusqlite::Connection;

use crate::planting::{SmallDisk, is_root};
use crate::vault::sealed;
use crate::world::{Outcome, World};

fn titles(world: &World) -> Vec<String> {
    let listed = world.archive().list(&Default::default()).unwrap();
    listed.items.into_iter().filter_map(|stored| stored.conversation.title).collect()
}

fn kept(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.store().parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".replaced-") || name.contains(".part-")).collect()
}

#[test]
fn a_copy_is_private_whole_and_one_file() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?", "And to sleep?"]);
    let bytes = world.archive().list(&Default::default()).unwrap().items[0].bytes;

    let outcome = world.rejoin(["backup", "monday.db"]).run();

    let expected = Outcome {
        stdout: format!("Copied and checked 1 conversation, 2 messages, {bytes} B.\n"),
        stderr: "To restore it: rejoin restore monday.db\n".to_owned(),
        code: 0,
    };
    let mode = fs::metadata(world.path("project/monday.db")).unwrap().permissions().mode() & 0o777;
    let beside = ["-wal", "-shm"].map(|end| world.path(format!("project/monday.db{end}")).exists());
    assert_eq!((outcome, mode, beside), (expected, 0o600, [false; 2]));
}

#[test]
fn a_file_that_exists_is_not_touched() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.write("project/monday.db", "mine");

    let outcome = world.rejoin(["backup", "monday.db"]).run();

    let expected = "error: `[world]/project/monday.db` already exists\n\
                    hint: name a file that does not exist yet\n";
    assert_eq!(
        (outcome, world.read("project/monday.db")),
        (Outcome::failure(1, expected), "mine".to_owned())
    );
}

#[test]
fn a_name_that_is_taken_is_told_as_that_whatever_has_it() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    symlink("nowhere", world.path("project/link.db")).unwrap();
    fs::create_dir(world.path("project/folder.db")).unwrap();
    let vault = sealed();
    symlink("nowhere", vault.path("project/link.db")).unwrap();

    let outcomes = [
        world.rejoin(["backup", "link.db"]).run(),
        world.rejoin(["backup", "folder.db"]).run(),
        vault.rejoin(["backup", "link.db"]).run(),
    ];

    let expected = ["link", "folder", "link"].map(|name| {
        let told = format!(
            "error: `[world]/project/{name}.db` already exists\nhint: name a file that does not exist yet\n"
        );
        Outcome::failure(1, &told)
    });
    assert_eq!(outcomes, expected);
}

#[test]
fn a_store_in_use_can_be_copied() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    let writer = Connection::open(world.store()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();

    let outcome = world.rejoin(["backup", "monday.db", "--json"]).run();

    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&answer["messages"], &answer["path"]), (&1.into(), &"[world]/project/monday.db".into()));
}

#[test]
fn a_store_with_a_broken_chain_is_not_copied_as_if_it_were_sound() {
    let world = World::new();
    let id = world.talk("Lisbon", &["Where to eat?"]);
    world.sql("UPDATE message SET body = replace(body, 'to eat', 'to sit')");
    let message = world.archive().path(id, None).unwrap()[0].id;

    let outcome = world.rejoin(["backup", "monday.db"]).run();

    let expected = format!(
        "error: could not check the copy `[world]/project/monday.db`: conversation {}: message {message} does not match its digest\n\
         hint: run `rejoin verify` to see what is still readable\n",
        id.short()
    );
    assert_eq!(outcome, Outcome::failure(1, &expected));
    assert!(!world.path("project/monday.db").exists());
}

#[test]
fn a_restore_says_what_it_does_and_how_to_undo_it() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.rejoin(["backup", "monday.db"]).run();
    world.talk("Porto", &["Where to sleep?"]);
    let sum = |world: &World| world.archive().reader().stats(None, &mut |_| ()).unwrap().all.bytes;
    let after = sum(&world);

    let outcome = world.rejoin(["restore", "monday.db", "--yes"]).run();

    let before = sum(&world);
    let name = format!("[world]/home/.local/share/rejoin/{}", kept(&world)[0]);
    let expected = Outcome {
        stdout: format!("Restored 1 conversation, 1 message, {before} B.\n"),
        stderr: format!(
            "The store [world]/home/.local/share/rejoin/rejoin.db\n  \
             2 conversations, 2 messages, {after} B, last used just now\n\
             will be replaced by monday.db\n  \
             1 conversation, 1 message, {before} B, last used just now\n\
             Messages stored since the backup will only be in the old store.\n\
             The replaced store is kept in {name}\nTo undo: rejoin restore {name}\n"
        ),
        code: 0,
    };
    assert_eq!((outcome, titles(&world)), (expected, vec!["Lisbon".to_owned()]));
}

#[test]
fn the_undo_that_is_printed_works() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.rejoin(["backup", "monday.db"]).run();
    world.talk("Porto", &["Where to sleep?"]);
    world.rejoin(["restore", "monday.db", "--yes"]).run();
    let kept = world.store().with_file_name(&kept(&world)[0]);

    let outcome = world.rejoin(["restore", kept.to_str().unwrap(), "--yes", "--quiet"]).run();

    assert_eq!((outcome.code, titles(&world)), (0, vec!["Porto".to_owned(), "Lisbon".to_owned()]));
}

#[test]
fn without_consent_nothing_is_replaced() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.rejoin(["backup", "monday.db"]).run();
    world.talk("Porto", &["Where to sleep?"]);

    let outcome = world.rejoin(["restore", "monday.db", "--quiet"]).run();

    let expected = "error: not running in a terminal\n\
                    hint: pass `--yes` to confirm\n";
    assert_eq!((outcome, kept(&world).len()), (Outcome::failure(1, expected), 0));
    assert_eq!(titles(&world), ["Porto", "Lisbon"]);
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.write("project/list.txt", "a shopping list");
    let foreign = Connection::open(world.path("project/foreign.db")).unwrap();
    foreign.execute_batch("CREATE TABLE shopping (what TEXT)").unwrap();

    let told =
        ["list.txt", "foreign.db", "nowhere.db"].map(|file| world.rejoin(["restore", file, "--yes"]).run());

    let expected = [
        "error: `[world]/project/list.txt` is not a Rejoin database\n\
         hint: name a file that `rejoin backup` made\n",
        "error: `[world]/project/foreign.db` is another program's database\n\
         hint: name a file that `rejoin backup` made\n",
        "error: no copy at `[world]/project/nowhere.db`\n",
    ];
    assert_eq!(told, expected.map(|text| Outcome::failure(1, text)));
    assert_eq!((titles(&world), kept(&world).len()), (vec!["Lisbon".to_owned()], 0));
}

#[test]
fn a_damaged_copy_is_refused_and_the_store_stays() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.rejoin(["backup", "monday.db"]).run();
    let copy = Connection::open(world.path("project/monday.db")).unwrap();
    copy.execute_batch("UPDATE message SET body = replace(body, 'to eat', 'to sit')").unwrap();
    drop(copy);

    let outcome = world.rejoin(["restore", "monday.db", "--yes", "--quiet"]).run();

    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert!(lines[0].starts_with("error: the copy `[world]/project/monday.db` is damaged: conversation "));
    assert_eq!(lines[1], "hint: the store was not changed; use another backup");
    assert_eq!((titles(&world), kept(&world).len(), outcome.code), (vec!["Lisbon".to_owned()], 0, 1));
}

#[test]
fn a_damaged_store_is_replaced_and_kept_as_it_was() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.rejoin(["backup", "monday.db"]).run();
    world.corrupt_page_with("Where to eat?");

    let outcome = world.rejoin(["restore", "monday.db", "--yes"]).run();

    assert_eq!((outcome.code, titles(&world), kept(&world).len()), (0, vec!["Lisbon".to_owned()], 1));
    assert_eq!(world.rejoin(["verify"]).run().code, 0);
}

#[test]
fn a_restore_onto_a_full_disk_changes_nothing() {
    if !is_root("mount a small disk") {
        return;
    }
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?", &"hay ".repeat(40_000)]);
    world.rejoin(["backup", "monday.db"]).run();
    let disk = SmallDisk::mount(world.path("small"));
    let store = format!("sqlite:{}", disk.path("rejoin.db").display());
    world.rejoin(["new", "--store", &store, "--title", "Porto"]).run();

    let outcome = world.rejoin(["restore", "monday.db", "--yes", "--quiet", "--store", &store]).run();

    let left = rejoin::Archive::open(&store).unwrap().list(&Default::default()).unwrap();
    let hint = "hint: free some space and try again; `rejoin purge` works on a full disk; stored conversations are safe";
    assert_eq!((outcome.stderr.lines().last(), outcome.code), (Some(hint), 1));
    assert_eq!(left.items[0].conversation.title.as_deref(), Some("Porto"));
}
