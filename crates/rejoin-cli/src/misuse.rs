//! A command line that clap did not accept, told like every other failure: one line, and the next command.

use std::error::Error as _;
use std::num::ParseIntError;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};

use crate::args::Arguments;
use crate::error::Failure;
use crate::ui::clean;

/// Says what is wrong with these words, and what to type instead.
pub(crate) fn explain(error: &Error, words: &[String]) -> Failure {
    let command = command(words);
    let failure = Failure::usage(told(error, &command).unwrap_or_else(|| plain(error)));
    match suggestion(error) {
        Some(suggestion) => failure.hint(format!("did you mean `{suggestion}`?")),
        None => failure.hint(format!("run `{command} --help`")),
    }
}

fn told(error: &Error, command: &str) -> Option<String> {
    let argument = || arguments(error, ContextKind::InvalidArg).into_iter().next();
    let value = || texts(error, ContextKind::InvalidValue).into_iter().next();
    Some(match error.kind() {
        ErrorKind::UnknownArgument => match argument()? {
            option if option.starts_with('-') => format!("`{option}` is not an option of `{command}`"),
            word => format!("`{word}` is one argument too many for `{command}`"),
        },
        ErrorKind::InvalidSubcommand => {
            let name = texts(error, ContextKind::InvalidSubcommand).into_iter().next()?;
            format!("`{name}` is not a command of `{command}`")
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("`{command}` needs a command")
        }
        ErrorKind::MissingRequiredArgument => match arguments(error, ContextKind::InvalidArg).as_slice() {
            [] => return None,
            [missing] => format!("`{missing}` is missing"),
            several => format!("{} are missing", listed(several, "and")),
        },
        ErrorKind::ArgumentConflict => {
            let (argument, others) = (argument()?, arguments(error, ContextKind::PriorArg));
            match others.as_slice() {
                [] => return None,
                [other] if *other == argument => format!("`{argument}` was given twice"),
                others => format!("`{argument}` cannot be used with {}", listed(others, "or")),
            }
        }
        ErrorKind::InvalidValue => match (value()?, texts(error, ContextKind::ValidValue)) {
            (value, _) if value.is_empty() => format!("`{}` needs a value", argument()?),
            (value, valid) if valid.is_empty() => format!("`{value}` is not a value of `{}`", argument()?),
            (value, valid) => {
                format!("`{value}` is not a value of `{}`; expected {}", argument()?, listed(&valid, "or"))
            }
        },
        ErrorKind::ValueValidation => {
            let told = format!("`{}` is not a value of `{}`", value()?, argument()?);
            match error.source() {
                Some(why) if why.is::<ParseIntError>() => format!("{told}: it is not a whole number"),
                Some(why) => format!("{told}: {why}"),
                None => told,
            }
        }
        ErrorKind::InvalidUtf8 => "the command line is not valid UTF-8".to_owned(),
        _ => return None,
    })
}

/// What clap itself says, in one line, for a mistake that is not known here.
fn plain(error: &Error) -> String {
    let text = error.to_string();
    let first = text.trim().split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    first.split_whitespace().collect::<Vec<_>>().join(" ").replace('\'', "`")
}

/// What clap thinks was meant.
fn suggestion(error: &Error) -> Option<String> {
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedValue, ContextKind::SuggestedSubcommand];
    kinds.into_iter().flat_map(|kind| arguments(error, kind)).next()
}

/// The command that was typed, such as `rejoin vault add-slot`. Options may stand between its words.
fn command(words: &[String]) -> String {
    let mut described = Arguments::command();
    let mut typed = "rejoin".to_owned();
    for word in words {
        if let Some(found) = described.find_subcommand(word).cloned() {
            typed = format!("{typed} {}", found.get_name());
            described = found;
        }
    }
    typed
}

/// The names of arguments, without what stands for their values.
fn arguments(error: &Error, kind: ContextKind) -> Vec<String> {
    let name = |text: String| {
        let name = text.split([' ', '=']).next().unwrap_or_default().trim_end_matches("...");
        name.trim_matches(['<', '>', '[', ']']).to_owned()
    };
    texts(error, kind).into_iter().map(name).collect()
}

fn texts(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![clean::line(text)],
        Some(ContextValue::Strings(texts)) => texts.iter().map(|text| clean::line(text)).collect(),
        _ => Vec::new(),
    }
}

/// `a`, `b` or `c`.
fn listed(names: &[String], before_last: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {before_last} {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn a_mistake_is_told_in_one_line_with_the_next_command() {
        let cases = [
            (
                "list --limt 3",
                "error: `--limt` is not an option of `rejoin list`\nhint: did you mean `--limit`?",
            ),
            (
                "list --nothing-like-it",
                "error: `--nothing-like-it` is not an option of `rejoin list`\nhint: run `rejoin list --help`",
            ),
            (
                "keep a b",
                "error: `b` is one argument too many for `rejoin keep`\nhint: run `rejoin keep --help`",
            ),
            (
                "list --limit none",
                "error: `none` is not a value of `--limit`: it is not a whole number\n\
                 hint: run `rejoin list --help`",
            ),
            ("list --limit", "error: `--limit` needs a value\nhint: run `rejoin list --help`"),
            (
                "tree --style ful",
                "error: `ful` is not a value of `--style`; expected `full` or `compact`\n\
                 hint: did you mean `full`?",
            ),
            ("fork", "error: `MESSAGE` is missing\nhint: run `rejoin fork --help`"),
            ("rename", "error: `ID` and `TITLE` are missing\nhint: run `rejoin rename --help`"),
            (
                "vault add-slott",
                "error: `add-slott` is not a command of `rejoin vault`\nhint: did you mean `add-slot`?",
            ),
            (
                "export --all lisbon",
                "error: `--all` cannot be used with `ID`\nhint: run `rejoin export --help`",
            ),
            ("list --limit 1 --limit 2", "error: `--limit` was given twice\nhint: run `rejoin list --help`"),
        ];

        let told = cases.map(|(line, _)| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let error = Arguments::try_parse_from(["rejoin"].into_iter().chain(line.split_whitespace()));
            explain(&error.unwrap_err(), &words).to_string()
        });

        assert_eq!(told.each_ref().map(String::as_str), cases.map(|(_, expected)| expected));
    }
}
