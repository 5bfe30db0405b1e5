//! The command line as clap sees it: global flags, the commands, and what to do with a mistyped one.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, FromArgMatches, Parser};

use crate::commands::{Command, talk};
use crate::config::Overrides;
use crate::context::{Format, Manner, Notes, Pager};
use crate::ui::paint::ColorChoice;

/// Keep, find and continue conversations with AI models
///
/// Talk to a model, leave, and come back. Any script or agent can keep its
/// history here too, with `rejoin append`.
#[derive(Debug, Parser)]
#[command(name = "rejoin", version, after_help = EXAMPLES)]
#[command(subcommand_value_name = "COMMAND")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) talk: talk::Args,

    #[command(flatten)]
    pub(crate) everywhere: Everywhere,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Arguments {
    /// Reads the command line.
    ///
    /// To describe every command to clap takes longer than most of them run, so only the one that
    /// is named first is described. What is wrong, or asks for help, is read again among all of
    /// them, because the answer may name any.
    pub(crate) fn read(words: impl Iterator<Item = OsString> + Clone) -> Result<Self, clap::Error> {
        let first = words.clone().nth(1);
        let described = first.as_deref().and_then(OsStr::to_str).and_then(describe_for);
        let matches = described.map(|root| root.try_get_matches_from(words.clone()));
        match matches {
            Some(Ok(matches)) => Self::from_arg_matches(&matches).or_else(|_| Self::try_parse_from(words)),
            Some(Err(error)) if error.kind() == ErrorKind::DisplayVersion => Err(error),
            Some(Err(_)) | None => Self::try_parse_from(words),
        }
    }
}

/// The program with the one command that a command line names first, or none when it asks for the version.
fn describe_for(first: &str) -> Option<clap::Command> {
    let root = || {
        let root = clap::Command::default().name("rejoin").version(env!("CARGO_PKG_VERSION"));
        Everywhere::augment_args(talk::Args::augment_args(root))
    };
    match first {
        "--version" | "-V" => Some(root()),
        name => Command::alone(name).map(|command| root().subcommand(command)),
    }
}

const EXAMPLES: &str = "\
Examples:
  rejoin \"Where should we eat in Lisbon?\"
  rejoin --resume \"And on a budget?\"
  rejoin append \"Where should we eat in Lisbon?\"
  my-agent | rejoin append --jsonl -     A message per line, a receipt for each
  rejoin search lisbon
  rejoin tree";

/// The flags every command takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Everywhere {
    /// Use this store, such as `sqlite:history.db`
    #[arg(long, global = true, value_name = "URL")]
    store: Option<String>,

    // Hidden while there is no such store, because nobody can use it.
    /// Keep conversations as plain files in a directory (`--store jsonl:DIR`)
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "store", hide = true)]
    conversation_dir: Option<PathBuf>,

    /// Open a vault with the passphrase or recovery key in this file
    #[arg(long, global = true, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,

    /// Work as if started in this directory
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Answer with JSON
    #[arg(long, global = true)]
    json: bool,

    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    color: ColorChoice,

    /// Never show an answer page by page
    #[arg(long, global = true)]
    no_pager: bool,

    /// Leave out warnings and notes
    #[arg(short, long, global = true)]
    quiet: bool,
}

impl Everywhere {
    pub(crate) fn manner(&self) -> Manner {
        Manner {
            format: if self.json { Format::Json } else { Format::Text },
            color: self.color,
            pager: if self.no_pager { Pager::Never } else { Pager::Allowed },
            notes: if self.quiet { Notes::Hidden } else { Notes::Shown },
        }
    }

    pub(crate) fn passphrase_file(&self) -> Option<PathBuf> {
        self.passphrase_file.clone()
    }

    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            store: self.store.clone(),
            conversation_directory: self.conversation_dir.clone(),
            project: self.project.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn every_command() -> Vec<clap::Command> {
        let mut root = Arguments::command();
        root.build();
        let mut found = vec![root];
        let mut next = 0;
        while next < found.len() {
            // clap brings its own `help`, which names no command of ours.
            let below: Vec<_> = found[next]
                .get_subcommands()
                .filter(|command| command.get_name() != "help")
                .cloned()
                .collect();
            found.extend(below);
            next += 1;
        }
        found
    }

    #[test]
    fn a_command_is_described_alone_as_among_all() {
        let mut all = Arguments::command();
        all.build();
        let names = all.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "help");
        let help = |mut root: clap::Command, name: &str| {
            root.build();
            root.find_subcommand(name).map(|command| command.clone().render_long_help().to_string())
        };

        let differing = names.filter(|name| {
            let alone = describe_for(name).and_then(|root| help(root, name));
            alone.is_none() || alone != help(Arguments::command(), name)
        });

        assert_eq!(differing.collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn a_line_is_read_alike_with_one_command_and_with_all() {
        let lines = [
            "",
            "hello",
            "list",
            "list --limit 3 --json",
            "ls --limit 3",
            "list --limit none",
            "list --help",
            "lisst",
            "--json list",
            "--version",
            "-V list",
            "--help",
            "help list",
            "config get store",
            "append --store memory: hello -q",
            "show --resume x",
            "-- list",
        ];

        let read = |line: &str, read: fn(std::vec::IntoIter<OsString>) -> Result<Arguments, clap::Error>| {
            let words: Vec<OsString> =
                std::iter::once("rejoin").chain(line.split_whitespace()).map(Into::into).collect();
            read(words.into_iter()).map(|read| format!("{read:?}")).map_err(|error| error.to_string())
        };

        let differing = lines
            .into_iter()
            .filter(|line| read(line, Arguments::read) != read(line, Arguments::try_parse_from));
        assert_eq!(differing.collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_begins_with_one_short_line_without_a_full_stop() {
        let breaking: Vec<String> = every_command()
            .iter()
            .filter(|command| {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                about.is_empty() || about.ends_with('.') || about.chars().count() > 70
            })
            .map(|command| command.get_name().to_owned())
            .collect();

        assert_eq!(breaking, Vec::<String>::new());
    }

    #[test]
    fn an_example_fits_a_small_screen() {
        let wide: Vec<String> = every_command()
            .iter()
            .flat_map(|command| command.get_after_help().map(ToString::to_string))
            .flat_map(|help| help.lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| line.chars().count() > 79)
            .collect();

        assert_eq!(wide, Vec::<String>::new());
    }

    #[test]
    fn every_command_shows_an_example() {
        let breaking: Vec<String> = every_command()
            .iter()
            .filter(|command| {
                !command.get_after_help().is_some_and(|help| help.to_string().contains("rejoin"))
            })
            .map(|command| command.get_name().to_owned())
            .collect();

        assert_eq!(breaking, Vec::<String>::new());
    }
}
