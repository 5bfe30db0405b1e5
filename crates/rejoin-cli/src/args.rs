//! The command line as clap sees it: global flags, the commands, and what to do with a mistyped one.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser};

use crate::commands::{Command, first_screen, talk};
use crate::config::ConfigOverrides;
use crate::context::{Manner, Notes, OutputFormat, Paging};
use crate::ui::paint::ColorChoice;

/// Talk to AI models, and find, branch and resume every conversation
///
/// Start a conversation, leave, and resume it later. Scripts and agents can store their history here
/// too, with `rejoin append`.
#[derive(Debug, Parser)]
#[command(name = "rejoin", version, after_help = EXAMPLES)]
#[command(subcommand_value_name = "COMMAND", disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) talk: talk::Args,

    #[command(flatten)]
    pub(crate) everywhere: Everywhere,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Arguments {
    /// The program as clap knows it, with the options in its help that every command takes.
    pub(crate) fn with_global_options() -> clap::Command {
        Self::command().mut_args(|arg| {
            let is_global = arg.get_help_heading() == Some(GLOBAL);
            if is_global { arg.hide(false) } else { arg }
        })
    }

    /// Reads the command line.
    ///
    /// To describe every command to clap takes longer than most of them run, so only the one that
    /// is named first is described. What is wrong, or asks for help, is read again among all of
    /// them, because the answer may name any.
    pub(crate) fn read(words: impl Iterator<Item = OsString> + Clone) -> Result<Self, clap::Error> {
        if asks_for_all_help(words.clone().skip(1)) {
            return Self::read_among_all(["rejoin", "help", "--all"].map(OsString::from).into_iter());
        }
        let first = words.clone().nth(1);
        let described = first.as_deref().and_then(OsStr::to_str).and_then(describe_for);
        let matches = described.map(|root| root.try_get_matches_from(words.clone()));
        match matches {
            Some(Ok(matches)) => Self::from_arg_matches(&matches).or_else(|_| Self::read_among_all(words)),
            Some(Err(error)) if error.kind() == ErrorKind::DisplayVersion => Err(error),
            Some(Err(_)) | None => Self::read_among_all(words),
        }
    }

    fn read_among_all(words: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let root = Self::command().override_help(first_screen());
        Self::from_arg_matches(&root.try_get_matches_from(words)?)
    }
}

/// What a command line prints that asks for the version and nothing else. To describe the options to clap
/// takes longer than the rest of such a command.
pub(crate) fn version_alone(mut words: impl Iterator<Item = OsString>) -> Option<&'static str> {
    let asked = words.nth(1).filter(|word| word == "--version" || word == "-V");
    (asked.is_some() && words.next().is_none()).then_some(concat!("rejoin ", env!("CARGO_PKG_VERSION"), "\n"))
}

/// Whether this is `--help --all`, which clap would answer at its first word.
fn asks_for_all_help(words: impl Iterator<Item = OsString>) -> bool {
    let mut words: Vec<OsString> = words.take(3).collect();
    words.sort();
    words == ["--all", "--help"] || words == ["--all", "-h"]
}

/// The program with the one command that a command line names first, or none when it asks for the version.
fn describe_for(first: &str) -> Option<clap::Command> {
    let root = || {
        let root = clap::Command::default().name("rejoin").version(env!("CARGO_PKG_VERSION"));
        let root = root.disable_help_subcommand(true);
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

const GLOBAL: &str = "Global options";

/// The flags every command takes. Only `help --all` shows them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = GLOBAL)]
pub(crate) struct Everywhere {
    /// Use this store, such as `sqlite:history.db`
    #[arg(long, global = true, hide = true, value_name = "URL")]
    store: Option<String>,

    /// Keep conversations as plain files in a directory (`--store jsonl:DIR`)
    #[arg(long, global = true, hide = true, value_name = "DIR", conflicts_with = "store")]
    conversation_dir: Option<PathBuf>,

    /// Unlock a vault with the passphrase or recovery key in this file
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,

    /// Run as if started in this directory
    #[arg(long, global = true, hide = true, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Print JSON
    #[arg(long, global = true, hide = true)]
    json: bool,

    /// When to use color
    #[arg(long, global = true, hide = true, value_name = "WHEN", value_enum, default_value = "auto")]
    color: ColorChoice,

    /// Do not use a pager
    #[arg(long, global = true, hide = true)]
    no_pager: bool,

    /// Do not print warnings and notes
    #[arg(short, long, global = true, hide = true)]
    quiet: bool,
}

impl Everywhere {
    pub(crate) fn manner(&self) -> Manner {
        Manner {
            format: if self.json { OutputFormat::Json } else { OutputFormat::Text },
            color: self.color,
            pager: if self.no_pager { Paging::Never } else { Paging::Allowed },
            notes: if self.quiet { Notes::Hidden } else { Notes::Shown },
        }
    }

    pub(crate) fn passphrase_file(&self) -> Option<PathBuf> {
        self.passphrase_file.clone()
    }

    pub(crate) fn overrides(&self) -> ConfigOverrides {
        ConfigOverrides {
            store: self.store.clone(),
            conversation_directory: self.conversation_dir.clone(),
            project: self.project.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_command() -> Vec<clap::Command> {
        let mut root = Arguments::command();
        root.build();
        let mut found = vec![root];
        let mut next = 0;
        while next < found.len() {
            // clap adds its own `help` to commands with subcommands.
            let is_root = next == 0;
            let below: Vec<_> = found[next]
                .get_subcommands()
                .filter(|command| is_root || command.get_name() != "help")
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
        let names = all.get_subcommands().map(clap::Command::get_name);
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
            .filter(|line| read(line, Arguments::read) != read(line, Arguments::read_among_all));
        assert_eq!(differing.collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn the_version_alone_is_answered_as_clap_does() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>().into_iter();
        let of_clap = |line: &str| Arguments::read_among_all(words(line)).unwrap_err().to_string();
        let alone = |line: &str| version_alone(words(line)).map(str::to_owned);

        let asked = ["rejoin --version", "rejoin -V"];
        assert_eq!(asked.map(alone), asked.map(|line| Some(of_clap(line))));
        let more =
            ["rejoin", "rejoin list", "rejoin -V list", "rejoin --version --json", "rejoin list --version"];
        assert_eq!(more.map(alone), [const { None }; 5]);
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
