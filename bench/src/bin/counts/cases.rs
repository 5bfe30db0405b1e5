//! The commands that are counted, as people type them.

use rejoin_bench::data::RARE_WORD;

use crate::world::World;

/// One command.
pub(crate) struct Case {
    /// What the table calls it.
    pub(crate) name: &'static str,
    /// What follows `rejoin`.
    pub(crate) words: fn(&World) -> Vec<String>,
    /// Whether it changes the store: then its syncs count too, and it finds the store as it was filled.
    pub(crate) writes: bool,
}

impl Case {
    pub(crate) const ALL: [Self; 14] = [
        Self::reading("--version", |_| words("--version")),
        Self::reading("list", |_| words("list")),
        Self::reading("list --all-projects", |_| words("list --all-projects")),
        Self::reading("list --status active", |_| words("list --status active")),
        Self::reading("show --full", |world| words(&format!("show {} --full", world.long))),
        Self::reading("show --view anthropic", |world| {
            words(&format!("show {} --view anthropic", world.long))
        }),
        Self::reading("search, rare word", |_| words(&format!("search {RARE_WORD}"))),
        Self::reading("search, common prefix", |_| words("search deploy")),
        Self::reading("search, common prefix, --role assistant", |_| words("search deploy --role assistant")),
        Self::writing("a first message and its reply", |_| vec!["where to eat?".to_owned()]),
        Self::writing("new", |_| words("new --title Lisbon")),
        Self::writing("append, one message", |world| words(&format!("append {} hello", world.long))),
        Self::writing("append --jsonl", |world| {
            words(&format!("append {} --jsonl {}", world.long, world.turns.display()))
        }),
        Self::writing("import", |world| words(&format!("import {}", world.session.display()))),
    ];

    const fn reading(name: &'static str, words: fn(&World) -> Vec<String>) -> Self {
        Self { name, words, writes: false }
    }

    const fn writing(name: &'static str, words: fn(&World) -> Vec<String>) -> Self {
        Self { name, words, writes: true }
    }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}
