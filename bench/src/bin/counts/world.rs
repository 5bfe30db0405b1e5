//! A store that is filled, in a home of its own, so that nothing of the person who counts is read.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rejoin::store::Task;
use rejoin::{Archive, Conversation, List, Message};
use rejoin_bench::data::{MESSAGES_PER_SHORT_CONVERSATION, MESSAGES_PER_TURN, write_long, write_many};
use rejoin_bench::failure::{Context, Result};

/// How long one slice of the index may take.
const SLICE: Duration = Duration::from_secs(60);

/// How long after a change the store of plain files trusts what it has seen of a folder, and some more.
const UNTIL_TRUSTED: Duration = Duration::from_millis(2_500);

/// How often the first commands of a new vault run before anything is counted.
const WARM_UP: usize = 8;

/// Where conversations are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Jsonl,
    SqliteVault,
    JsonlVault,
}

impl Store {
    pub(crate) const ALL: [Self; 4] = [Self::JsonlVault, Self::SqliteVault, Self::Jsonl, Self::Sqlite];

    /// Those whose counts repeat well enough for a baseline, the slowest first.
    pub(crate) const COMPARED: [Self; 2] = [Self::Jsonl, Self::Sqlite];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Jsonl => "jsonl",
            Self::SqliteVault => "vault+sqlite",
            Self::JsonlVault => "vault+jsonl",
        }
    }

    /// The store that a vault is made from, or the store itself.
    const fn plain(self) -> Self {
        match self {
            Self::Sqlite | Self::SqliteVault => Self::Sqlite,
            Self::Jsonl | Self::JsonlVault => Self::Jsonl,
        }
    }

    fn url(self, place: &Path) -> String {
        format!("{}:{}", self.name(), place.join(self.name().replace('+', "-")).display())
    }
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Small,
    Large,
}

impl Size {
    /// Both, the slower one first.
    pub(crate) const ALL: [Self; 2] = [Self::Large, Self::Small];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }

    /// How many conversations of twenty messages there are.
    const fn conversations(self) -> usize {
        match self {
            Self::Small => 40,
            Self::Large => 320,
        }
    }

    /// How many messages the long conversation has.
    const fn long(self) -> usize {
        self.conversations() * 2
    }

    /// How many turns are appended in one command.
    const fn turns(self) -> usize {
        self.conversations() / 5
    }
}

/// A home with a filled store.
pub(crate) struct World {
    pub(crate) rejoin: PathBuf,
    pub(crate) store: Store,
    pub(crate) size: Size,
    /// The id of the long conversation.
    pub(crate) long: String,
    /// Turns to append, a line each.
    pub(crate) turns: PathBuf,
    /// The long conversation as a session of another program, to import.
    pub(crate) session: PathBuf,
    place: PathBuf,
}

impl World {
    /// Fills a store with short conversations of this project and a long one, the newest.
    pub(crate) fn filled(rejoin: &Path, place: &Path, store: Store, size: Size) -> Result<Self> {
        for directory in ["home/project/.git", "home/store"] {
            let directory = place.join(directory);
            fs::create_dir_all(&directory).context(|| format!("make `{}`", directory.display()))?;
        }
        let mut world = Self {
            rejoin: rejoin.to_owned(),
            store: store.plain(),
            size,
            long: String::new(),
            turns: place.join("turns.jsonl"),
            session: place.join("session.jsonl"),
            place: place.to_owned(),
        };
        world.fill()?;
        world.write_turns()?;
        let export = format!("export {} --format claude --output {}", world.long, world.session.display());
        world.rejoin(&export)?;
        if store != world.store {
            let vault = store.url(&place.join("home/store"));
            world.rejoin(&format!("vault encrypt --slot file --yes --to {vault}"))?;
            world.store = store;
            // Encryption leaves a long log. Commands fold it, and which one does so would depend on the load.
            for _ in 0..WARM_UP {
                world.settle()?;
            }
        }
        copy(&place.join("home"), &place.join("filled"))?;
        world.settle()?;
        // The index of plain files trusts only folders that have not changed for a while.
        thread::sleep(UNTIL_TRUSTED);
        world.rejoin("list")?;
        Ok(world)
    }

    /// Where everything of this world is, also what is written down about it.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Puts the store back as it was filled.
    pub(crate) fn reset(&self) -> Result<()> {
        let home = self.place.join("home");
        fs::remove_dir_all(&home).context(|| format!("remove `{}`", home.display()))?;
        copy(&self.place.join("filled"), &home)?;
        self.settle()
    }

    /// Runs a command in this home and the project's directory.
    pub(crate) fn run(&self, command: &mut Command) -> Result<()> {
        let home = self.place.join("home");
        command.env_clear().env("HOME", &home).env("TZ", "UTC");
        // The same on every machine: a command looks for programs in each directory.
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("REJOIN_STORE", self.store.url(&home.join("store")));
        let output = command.current_dir(home.join("project")).output().context(|| "start it".into())?;
        if output.status.success() {
            return Ok(());
        }
        let told = String::from_utf8_lossy(&output.stderr);
        Err(format!("it ended with {}: {told}", output.status).into())
    }

    fn rejoin(&self, line: &str) -> Result<()> {
        self.run(Command::new(&self.rejoin).args(line.split(' '))).context(|| format!("rejoin {line}"))
    }

    /// Lets a store do what it does the first time that it is written to,
    /// listed and searched after it was copied.
    fn settle(&self) -> Result<()> {
        self.rejoin("new --title settled")?;
        self.rejoin("list")?;
        self.rejoin("search nothing")
    }

    fn fill(&mut self) -> Result<()> {
        // The command knows which project this is, and the library does not.
        self.rejoin("new --title first")?;
        let archive = Archive::open(&self.store.url(&self.place.join("home/store")))?;
        let first = archive.list(&List { limit: 1, ..List::default() })?.items.pop();
        let project = first.ok_or("the first conversation is not there")?.conversation.project;
        let titled = |title: String| Conversation {
            project: project.clone(),
            follows_retention: true,
            ..Conversation::titled(title)
        };

        let many = self.place.join("many.jsonl");
        write_many(&many, 3, self.size.conversations())?;
        for (number, lines) in messages(&many)?.chunks(MESSAGES_PER_SHORT_CONVERSATION).enumerate() {
            archive.start(titled(format!("talk {number}")))?.append_turn(lines.to_vec())?;
        }
        let long = self.place.join("long.jsonl");
        write_long(&long, 1, self.size.long())?;
        let mut handle = archive.start(titled("long".to_owned()))?;
        for turn in messages(&long)?.chunks(MESSAGES_PER_TURN) {
            handle.append_turn(turn.to_vec())?;
        }
        self.long = handle.id().to_string();
        while archive.maintenance().run(Task::Index, SLICE)? > 0 {}
        // How much of a small store is still in the log would depend on its size.
        archive.maintenance().run(Task::Checkpoint, SLICE)?;
        Ok(())
    }

    fn write_turns(&self) -> Result<()> {
        let flat = self.place.join("flat.jsonl");
        write_long(&flat, 7, self.size.turns() * MESSAGES_PER_TURN)?;
        let text = fs::read_to_string(&flat).context(|| format!("read `{}`", flat.display()))?;
        // The command takes messages as other programs write them.
        let text = text.replace("\"blocks\":[", "\"content\":[");
        let lines: Vec<&str> = text.lines().collect();
        let turns = lines.chunks(MESSAGES_PER_TURN).map(|turn| format!("[{}]\n", turn.join(",")));
        fs::write(&self.turns, turns.collect::<String>()).context(|| "write the turns to append".into())
    }
}

fn messages(file: &Path) -> Result<Vec<Message>> {
    let opened = fs::File::open(file).context(|| format!("open `{}`", file.display()))?;
    let parsed = BufReader::new(opened).lines().map(|line| Ok(Message::from_body(&line?)?));
    parsed.collect()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").arg("-a").args([from, to]).status();
    let is_copied = status.context(|| "start `cp`".into())?.success();
    is_copied.then_some(()).ok_or_else(|| format!("`{}` was not copied", from.display()).into())
}
