//! The commands that are swept, each with the world it runs in and the result that counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rejoin::Result;
use serde_json::Value;

use super::dump;
use crate::import;
use crate::world::World;

/// A command that is run with calls that fail.
pub(crate) struct Operation {
    pub(super) name: &'static str,
    pub(super) prepare: fn() -> World,
    pub(super) command: fn(&World) -> Vec<String>,
    /// What is compared: the same as without a fault whenever the command says that it succeeded.
    pub(super) result: fn(&World) -> Result<String>,
    /// Whether that is another one after the command than before it.
    pub(super) changes: bool,
    /// The parts of the world whose calls fail.
    pub(super) swept: &'static [&'static str],
    /// What holds after a run that failed.
    pub(super) again: Again,
    /// So many calls fail at least, or the sweep missed its target.
    pub(super) at_least: usize,
}

/// What holds after a run that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Everything was done or nothing, and another run does the rest.
    WholeOrNot,
    /// Some of it may have been done, and another run does the rest.
    GoesOn,
    /// Nothing is lost. Another run may do it once more.
    NotTried,
}

const STORE: &[&str] = &["home"];

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}

/// A world with two conversations.
fn talks(make: fn() -> World) -> World {
    let world = make();
    for (title, texts) in
        [("Lisbon", ["Where to eat?", "And to sleep?"]), ("Porto", ["By train?", "By bus?"])]
    {
        let id = world.started(title);
        let lines = texts.map(|text| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n"));
        world.append(&id, &lines.concat());
    }
    world
}

fn sealed() -> World {
    let world = talks(World::new);
    let encrypted = world.rejoin(["vault", "encrypt", "--slot", "file", "--yes"]).run();
    assert_eq!(encrypted.code, 0, "{}", encrypted.stderr);
    world
}

/// A world with sessions of another program.
fn sessions() -> World {
    let world = talks(World::new);
    let session = import::session(&world);
    world.write(&format!("sources/{}.jsonl", import::SESSION), &session);
    let other =
        session.replace(import::SESSION, "0d3f2b1a-45d4-4ced-8b45-47d6a5359b48").replace("Lisbon", "Madrid");
    world.write("sources/deep/0d3f2b1a-45d4-4ced-8b45-47d6a5359b48.jsonl", &other);
    world
}

pub(crate) static IMPORT: Operation = Operation {
    name: "import",
    prepare: sessions,
    command: |_| words(&["import", "../sources"]),
    result: dump::store,
    changes: true,
    swept: STORE,
    again: Again::GoesOn,
    at_least: 20,
};

pub(crate) static IMPORT_SOURCE: Operation =
    Operation { name: "import, its sources", swept: &["sources"], at_least: 8, ..IMPORT };

/// A world with a session whose sub-agent has files of its own.
fn subagents() -> World {
    let world = talks(World::new);
    let fixtures =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../rejoin/tests/fixtures/claude/session-with-agent");
    let copied = Command::new("cp").arg("-r").arg(fixtures).arg(world.path("sources")).status().unwrap();
    assert!(copied.success());
    world
}

pub(crate) static IMPORT_SUBAGENTS: Operation =
    Operation { name: "import, its sub-agents", prepare: subagents, ..IMPORT_SOURCE };

fn copy_and_names(world: &World) -> Result<String> {
    let copy = world.path("project/monday.db");
    let text =
        if copy.exists() { dump::of(&format!("sqlite:{}", copy.display()), world)? } else { String::new() };
    // What SQLite puts beside a copy that is looked at is no part of it.
    for end in ["-wal", "-shm", "-reserve"] {
        let _ = fs::remove_file(world.path(format!("project/monday.db{end}")));
    }
    let entries = fs::read_dir(world.path("project")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    Ok(format!("{names:?}\n{text}"))
}

pub(crate) static BACKUP: Operation = Operation {
    name: "backup",
    prepare: || talks(World::new),
    command: |_| words(&["backup", "monday.db"]),
    result: copy_and_names,
    changes: true,
    swept: &["home", "project"],
    again: Again::WholeOrNot,
    at_least: 20,
};

/// What the store holds, and whether what it held before can be read, there or where it is kept.
fn store_and_kept(world: &World) -> Result<String> {
    let mut text = dump::store(world)?;
    let names =
        fs::read_dir(world.path("home/.local/share/rejoin")).unwrap().map(|entry| entry.unwrap().path());
    let kept = names.filter(|path| path.file_name().unwrap().to_string_lossy().contains(".db.replaced-"));
    let is_copy = |path: &PathBuf| !["-wal", "-shm"].iter().any(|end| path.to_string_lossy().ends_with(end));
    let mut all = text.clone();
    for copy in kept.filter(is_copy).collect::<Vec<_>>() {
        all.push_str(&dump::of(&format!("sqlite:{}", copy.display()), world)?);
    }
    text.push_str(&format!("Madrid can be read: {}\n", all.contains("\"Madrid\"")));
    Ok(text)
}

pub(crate) static RESTORE: Operation = Operation {
    name: "restore",
    prepare: || {
        let world = talks(World::new);
        assert_eq!(world.rejoin(["backup", "monday.db"]).run().code, 0);
        world.started("Madrid");
        world
    },
    command: |_| words(&["restore", "monday.db", "--yes"]),
    result: store_and_kept,
    changes: true,
    swept: &["home", "project"],
    again: Again::WholeOrNot,
    at_least: 20,
};

pub(crate) static PURGE: Operation = Operation {
    name: "purge",
    prepare: || talks(World::new),
    command: |_| words(&["purge", "lisbon", "--yes"]),
    result: dump::store,
    changes: true,
    swept: STORE,
    again: Again::WholeOrNot,
    at_least: 15,
};

pub(crate) static PURGE_FILES: Operation =
    Operation { name: "purge of plain files", prepare: || talks(World::of_files), ..PURGE };

pub(crate) static ROTATE: Operation = Operation {
    name: "vault rotate",
    prepare: sealed,
    command: |_| words(&["vault", "rotate"]),
    result: dump::store,
    changes: false,
    swept: STORE,
    again: Again::WholeOrNot,
    at_least: 20,
};

pub(crate) static ENCRYPT: Operation = Operation {
    name: "vault encrypt",
    prepare: || talks(World::new),
    command: |_| words(&["vault", "encrypt", "--slot", "file", "--yes"]),
    result: dump::store,
    changes: false,
    swept: STORE,
    again: Again::GoesOn,
    at_least: 20,
};

pub(crate) static DECRYPT: Operation = Operation {
    name: "vault decrypt",
    prepare: sealed,
    command: |_| words(&["vault", "decrypt", "--yes"]),
    ..ENCRYPT
};

/// What was said in the sessions of the other agent, without ids and times.
fn sessions_handed_off(world: &World) -> Result<String> {
    let mut said = String::new();
    for path in crate::disk::below(&world.path("home/.claude")) {
        for line in fs::read_to_string(&path).unwrap().lines() {
            // What does not read shows as nothing that was said.
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            said.push_str(&format!("{} {}\n", line["type"], line["message"]["content"]));
        }
    }
    Ok(said)
}

pub(crate) static HANDOFF: Operation = Operation {
    name: "handoff",
    prepare: || talks(World::new),
    command: |_| words(&["handoff", "lisbon", "--to", "claude"]),
    result: sessions_handed_off,
    changes: true,
    swept: STORE,
    again: Again::NotTried,
    at_least: 15,
};

pub(crate) static FORK: Operation = Operation {
    name: "fork",
    prepare: || talks(World::new),
    command: |world| {
        let archive = world.archive();
        let id = archive.names().resolve("lisbon").unwrap().conversation();
        let message = archive.path(id, None).unwrap()[0].id;
        words(&["fork", message.as_str(), "--title", "On a budget"])
    },
    result: dump::store,
    changes: true,
    swept: STORE,
    again: Again::NotTried,
    at_least: 15,
};

pub(crate) static RENAME: Operation = Operation {
    name: "rename",
    prepare: || talks(World::new),
    command: |_| words(&["rename", "lisbon", "Madrid"]),
    result: dump::store,
    changes: true,
    swept: STORE,
    again: Again::WholeOrNot,
    at_least: 15,
};

pub(crate) static RENAME_FILES: Operation =
    Operation { name: "rename in plain files", prepare: || talks(World::of_files), ..RENAME };

pub(crate) static EXPORT: Operation = Operation {
    name: "export",
    prepare: || talks(World::new),
    command: |_| words(&["export", "--all", "--output", "out/"]),
    result: |world| Ok(dump::files(Path::new(&world.path("project/out")))),
    changes: true,
    swept: &["home", "project"],
    again: Again::GoesOn,
    at_least: 10,
};
