//! `rejoin help`: the first screen, every command by group, or one command.

mod groups;

use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Arg, Args as _, CommandFactory, Subcommand};

use crate::args::Arguments;
use crate::commands::{Command, talk};
use crate::context::Context;
use crate::error::Failure;
use crate::suggest::nearest;
use crate::ui::paint::Paint;

use self::groups::GROUPS;

/// Show help for a command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin help export
  rejoin help vault rotate
  rejoin help --all           Every command and every option")]
pub(crate) struct Args {
    /// The command
    command: Vec<String>,

    /// List every command and the options that all of them take
    #[arg(long, conflicts_with = "command")]
    all: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let text = if args.all {
        everything(None)
    } else if args.command.is_empty() {
        StyledStr::from(first_screen())
    } else {
        of_command(&args.command)?
    };
    let text = match context.paint() {
        Paint::Colored => text.ansi().to_string(),
        Paint::Plain => text.to_string(),
    };
    context.show(|page| Ok(writeln!(page, "{}", text.trim_end())?))
}

/// What `rejoin --help` answers: the commands most people need, on one screen.
pub(crate) fn first_screen() -> String {
    let known = Command::augment_subcommands(clap::Command::default());
    let options = talk::Args::augment_args(clap::Command::default());
    let mut screen = String::from(
        "\
Talk to AI models, and find, branch and resume every conversation

Usage: rejoin [OPTIONS] [\"MESSAGE\"]     Send a message, or open the prompt
       rejoin COMMAND [ARGUMENTS]

",
    );
    for group in &GROUPS {
        let mut name = group.name;
        for (command, about) in described(&known, group.first.iter().copied()) {
            writeln!(screen, "{name:<10}{command:<9}{about}").expect("a string takes every write");
            name = "";
        }
    }
    screen.push_str("\nOptions:\n");
    for option in ["resume", "model", "incognito"] {
        let option = options.get_arguments().find(|arg| arg.get_id() == option);
        if let Some(option) = option {
            let about = option.get_help().map(ToString::to_string).unwrap_or_default();
            writeln!(screen, "  {:<20}{about}", spelled(option)).expect("a string takes every write");
        }
    }
    screen.push_str("\n`rejoin help COMMAND` explains a command, `rejoin help --all` lists all of them.\n");
    screen
}

/// How an option is typed, such as `-r, --resume [ID]`.
fn spelled(option: &Arg) -> String {
    let short = option.get_short().map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
    let long = option.get_long().unwrap_or_default();
    let takes_value = option.get_action().takes_values();
    let value = option.get_value_names().and_then(|names| names.first()).filter(|_| takes_value);
    let is_optional = option.get_num_args().is_some_and(|range| range.min_values() == 0);
    match value {
        Some(value) if is_optional => format!("{short}--{long} [{value}]"),
        Some(value) => format!("{short}--{long} {value}"),
        None => format!("{short}--{long}"),
    }
}

/// The commands with these names that exist, each with its first line of help.
fn described<'a>(
    root: &clap::Command,
    names: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = (&'a str, String)> {
    names.filter_map(|name| {
        let command = root.find_subcommand(name)?;
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        Some((name, about))
    })
}

/// What `rejoin help --all` answers: every command by group, then every option.
pub(crate) fn everything(width: Option<usize>) -> StyledStr {
    let mut root = Arguments::with_global_options()
        .mut_subcommands(|command| command.hide(true))
        .override_usage("rejoin [OPTIONS] [MESSAGE]\n       rejoin COMMAND [ARGUMENTS]");
    let mut commands = String::new();
    for group in &GROUPS {
        writeln!(commands, "{}:", group.name).expect("a string takes every write");
        for (name, about) in described(&root, group.all()) {
            writeln!(commands, "  {name:<15}{about}").expect("a string takes every write");
        }
        commands.push('\n');
    }
    root = root.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{commands}{{all-args}}{{after-help}}"
    ));
    if let Some(width) = width {
        root = root.term_width(width);
    }
    root.render_long_help()
}

/// The help of one command, named by the words that lead to it.
fn of_command(words: &[String]) -> Result<StyledStr, Failure> {
    let mut root = Arguments::command();
    root.build();
    let mut command = &mut root;
    let mut path = String::from("rejoin");
    for word in words {
        let names: Vec<String> = command
            .get_subcommands()
            .flat_map(clap::Command::get_name_and_visible_aliases)
            .map(str::to_owned)
            .collect();
        let hint = match nearest(word, names.iter().map(String::as_str)) {
            Some(name) => format!("did you mean `{path} {name}`?"),
            None => "run `rejoin help --all` to list all commands".to_owned(),
        };
        command = command
            .find_subcommand_mut(word)
            .ok_or_else(|| Failure::usage(format!("no command `{path} {word}`")).hint(hint))?;
        path = format!("{path} {}", command.get_name());
    }
    Ok(command.render_long_help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_screen_fits_a_small_terminal() {
        let screen = first_screen();

        let lines = screen.lines().count();
        let wide: Vec<&str> = screen.lines().filter(|line| line.chars().count() > 80).collect();

        assert!(lines <= 24, "{lines} lines:\n{screen}");
        assert_eq!(wide, Vec::<&str>::new());
    }

    #[test]
    fn every_command_is_in_one_group() {
        let root = Arguments::command();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(groups::CommandGroup::all).collect();

        let wrong: Vec<&str> = root
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(clap::Command::get_name)
            .filter(|name| grouped.iter().filter(|grouped| grouped == &name).count() != 1)
            .collect();

        assert_eq!(wrong, Vec::<&str>::new(), "add them to commands/help/groups.rs");
    }

    #[test]
    fn options_of_every_command_stand_in_the_whole_help_only() {
        let globals = ["--store", "--conversation-dir", "--passphrase-file", "--project", "--no-pager"];
        let all = everything(None).to_string();
        let list = of_command(&["list".to_owned()]).unwrap().to_string();

        let held = |help: &str| globals.into_iter().filter(|name| help.contains(name)).collect::<Vec<_>>();

        assert_eq!([held(&all), held(&first_screen()), held(&list)], [globals.to_vec(), vec![], vec![]]);
    }

    #[test]
    fn a_command_that_does_not_exist_is_suggested() {
        let failure = of_command(&["vault".to_owned(), "rotat".to_owned()]).unwrap_err();

        assert_eq!(
            failure.to_string(),
            "error: no command `rejoin vault rotat`\nhint: did you mean `rejoin vault rotate`?"
        );
    }
}
