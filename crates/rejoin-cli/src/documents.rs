//! `docs/cli.md`, written from the commands, the key table and the kinds of failure, so that it cannot drift.
//!
//! The test compares. With `REJOIN_WRITE_DOCS=1`, which is what `just
//! help-pages` sets, it writes the file instead.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use crate::args::Arguments;
use crate::config::keys::{KEYS, Key};
use crate::error::Kind;

const PREFACE: &str = "\
# The command line

This page is written by `just help-pages` from the program itself; change the help of a command, not this page.

What a command answers goes to stdout, everything else to stderr. With `--json` the answer is one JSON value, and
fields that are there today stay. Wherever an ID is asked for, a short id, the beginning of one or a title's slug
(`trip-to-lisbon`) will do; a message is named by its id, alone or after its conversation's (`Ehsn5f/k3f9aB`).
";

const KEYS_PREFACE: &str = "
## Configuration

Values come from five places, each stronger than the one before: built-in defaults, your file
(`$XDG_CONFIG_HOME/rejoin/config.toml`), the project's file (`.rejoin/config.toml`), variables, flags.
`rejoin config list` shows each value and where it came from. An unknown key or a value out of range is an error.

Until you run `rejoin trust` in a project, its own file may set only the keys marked **harmless**. Every other key in it is
ignored, and Rejoin names it. A project's file with an error is ignored as a whole, unless you trust the project: then it is
an error. A key marked **later** is checked and kept, but nothing in this version reads it.

| key | default | means | |
|---|---|---|---|
";

const VARIABLES_PREFACE: &str = "
## Variables

The variable of a key is its name in capitals with dots as underscores: `limits.turn_bytes` is
`REJOIN_LIMITS_TURN_BYTES`. An empty one counts as absent. These are read too:

| variable | means |
|---|---|
";

const VARIABLES: [(&str, &str); 21] = [
    ("HOME", "where the directories below are looked for"),
    ("XDG_CONFIG_HOME", "where `rejoin/config.toml` is, `~/.config` unless set"),
    ("XDG_DATA_HOME", "where `rejoin/rejoin.db` is, `~/.local/share` unless set"),
    (
        "XDG_STATE_HOME",
        "where anchors, pins and key files of vaults and the key of redaction are, `~/.local/state` unless set",
    ),
    (
        "REJOIN_PASSPHRASE_FILE",
        "a file with the passphrase or recovery key of a vault, like `--passphrase-file`",
    ),
    ("NO_COLOR", "no colour"),
    ("CLICOLOR_FORCE", "colour wherever the output goes, unless it is `0`"),
    ("TERM", "`dumb` means no colour"),
    ("TZ", "the time zone that times are shown in, `/etc/localtime` unless set"),
    ("PAGER", "the program that long answers are shown with, `less` unless set; empty or `cat` for none"),
    ("LESS", "options of `less`, `FRXK` unless set"),
    ("DISPLAY", "a desktop: the keyring is given time to be unlocked"),
    ("WAYLAND_DISPLAY", "the same"),
    ("ANTHROPIC_API_KEY", "the key of `anthropic`, unless `api_key_env` names another variable"),
    ("OPENAI_API_KEY", "the key of `openai` and `openai-chat`, likewise"),
    ("OPENROUTER_API_KEY", "the key of `openrouter`, likewise"),
    ("VISUAL", "the editor that `rejoin config edit` opens"),
    ("EDITOR", "the same, where `VISUAL` is not set"),
    ("PATH", "where `rejoin handoff` looks for the other agent"),
    ("CLAUDE_CONFIG_DIR", "where Claude Code keeps its sessions, `~/.claude` unless set"),
    ("CODEX_HOME", "where Codex keeps its sessions, `~/.codex` unless set"),
];

const JSON: &str = "
## JSON

More fields may be added; these stay.

| what | shape |
|---|---|
| a line for `append --jsonl` | `{\"role\",\"content\"}`, where `content` is a text or a list of [blocks](format.md#a-message); optional `parent`, `label`, `created_at`, `usage`, `finish`, `is_error`, `extra`. A list of such objects on one line is one turn |
| its receipt, after the sync | `{\"conversation\",\"messages\":[id…],\"head\",\"seq\",\"digest\",\"forked\",\"replayed\"}` |
| `show` | `{\"conversation\":{…},\"messages\":[{\"id\",\"parent\",\"role\",\"label\",\"created_at\",\"text\",\"blocks\":[…]}…]}`, root first |
| `list` | `{\"items\":[…],\"next_cursor\",\"total\"}`; an item has `id`, `short`, `title`, `kind`, `status`, `provider`, `model`, `project`, `messages`, `bytes`, `first`, `last`, `created_at`, `last_active_at`, `expires_at`, `source`; `runs` counts folded runs of sub-agents, and a run has `parent` |
| `search` | the same frame; an item has `conversation`, `message`, `role`, `created_at`, `snippet` |
| `tree` | `{\"roots\":[{\"id\",\"role\",\"created_at\",\"text\",\"label\",\"children\":[…]}…]}` |
| a failure, on stderr | `{\"error\":{\"kind\",\"message\",\"hint\"}}` |
";

const CODES_PREFACE: &str = "
## Exit codes

| code | means |
|---|---|
| 0 | done; also when the reader of the answer left early |
";

#[test]
fn the_page_of_commands_says_what_the_commands_say() {
    let path = root().join("docs/cli.md");
    let page = page();
    if env::var_os("REJOIN_WRITE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }

    let written = fs::read_to_string(&path).unwrap_or_default();

    assert!(written == page, "docs/cli.md is not what the program says; run `just help-pages`");
}

#[test]
fn every_variable_that_is_read_has_a_line() {
    let sources = sources();
    let read = sources.iter().flat_map(|(_, text)| variables_read(program_part(text)));

    let missing: Vec<&str> = read.filter(|name| VARIABLES.iter().all(|(known, _)| known != name)).collect();

    assert_eq!(missing, Vec::<&str>::new());
}

fn page() -> String {
    let mut page = PREFACE.to_owned();
    let mut root = Arguments::command().term_width(100).disable_help_subcommand(true);
    root.build();
    write_command(&mut page, &root, "rejoin");
    write_keys(&mut page);
    page.push_str(VARIABLES_PREFACE);
    for (name, means) in VARIABLES {
        writeln!(page, "| `{name}` | {means} |").unwrap();
    }
    write_codes(&mut page);
    page
}

fn write_command(page: &mut String, command: &Command, path: &str) {
    let is_root = path == "rejoin";
    let help = command
        .clone()
        .bin_name(path)
        // What every command takes stands once, at the top.
        .mut_args(|arg| {
            let is_global = arg.get_help_heading() == Some("Global options") || arg.get_id() == "help";
            if is_global && !is_root { arg.hide(true) } else { arg }
        })
        .render_long_help()
        .to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    write!(page, "\n## {path}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()).unwrap();
    for below in command.get_subcommands() {
        write_command(page, below, &format!("{path} {}", below.get_name()));
    }
}

fn write_keys(page: &mut String) {
    page.push_str(KEYS_PREFACE);
    let sources = sources();
    for key in KEYS {
        let default = key.default.map(|default| format!("`{default}`")).unwrap_or_default();
        let guard = key.is_harmless().then_some("harmless");
        let later = if is_read(key, &sources) { None } else { Some("later") };
        let notes: Vec<&str> = [guard, later].into_iter().flatten().collect();
        let name = key.name;
        writeln!(page, "| `{name}` | {default} | {} | {} |", key.about, notes.join(", ")).unwrap();
    }
}

fn write_codes(page: &mut String) {
    page.push_str(CODES_PREFACE);
    for (code, what) in [(1, "it failed"), (2, "the command line was wrong")] {
        let kinds = Kind::ALL.iter().filter(|kind| kind.exit_status() == code);
        let names: Vec<String> = kinds.map(|kind| format!("`{}`", kind.name())).collect();
        writeln!(page, "| {code} | {what}: {} |", names.join(", ")).unwrap();
    }
    page.push_str("\nThe words in backticks are the kinds that a failure with `--json` names.\n");
    page.push_str(JSON);
}

/// Whether anything outside the configuration calls the method that gives this key's value.
fn is_read(key: &Key, sources: &[(PathBuf, String)]) -> bool {
    let of = |file: &str| sources.iter().find(|(path, _)| path.ends_with(file)).map(|(_, text)| text);
    let call = match key.name.split_once(".<name>") {
        Some((family, _)) => family.replace('.', "_"),
        None => {
            let accessors = program_part(of("config/accessors.rs").unwrap());
            let Some((before, _)) = accessors.split_once(&format!("(\"{}\")", key.name)) else {
                return false;
            };
            let own = before.rsplit_once("fn ").unwrap().1;
            own.split_once('(').unwrap().0.to_owned()
        }
    };
    let outside =
        sources.iter().filter(|(path, _)| !path.components().any(|part| part.as_os_str() == "config"));
    outside.map(|(_, text)| program_part(text)).any(|text| text.contains(&format!("config.{call}()")))
}

/// The names of variables that a source asks for, as in `variable("NO_COLOR")`.
fn variables_read(source: &str) -> impl Iterator<Item = &str> {
    let calls = ["variable(\"", "variables.get(\"", "base_directory(\""];
    let after = calls.into_iter().flat_map(|call| source.split(call).skip(1));
    after.filter_map(|rest| rest.split('"').next())
}

/// A source without its tests.
fn program_part(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates/rejoin-cli/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None => folders.push(path),
                Some(_) if path.ends_with("documents.rs") => {}
                Some(_) => found.push((path.clone(), fs::read_to_string(&path).unwrap())),
            }
        }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
