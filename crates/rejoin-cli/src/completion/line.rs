//! Reads the words before the cursor: which command they name, and what belongs where the cursor is.

use clap::{Arg, Command};

/// What belongs where the cursor is.
#[derive(Debug)]
pub(super) struct CompletionLine<'a> {
    /// The command that the words name, and its path without `rejoin`.
    pub(super) command: &'a Command,
    pub(super) path: Vec<&'a str>,
    /// The arguments of the command that were given before, options left out.
    pub(super) given: Vec<String>,
    pub(super) wanted: CompletionKind<'a>,
    /// The part of the word that was typed already, which each candidate continues.
    pub(super) typed: String,
    /// What stands before it in the same word, such as `--model=`.
    pub(super) before: String,
}

/// What can stand there.
#[derive(Debug)]
pub(super) enum CompletionKind<'a> {
    /// An option of the command.
    Option,
    /// The value of an option or a positional argument.
    Value(&'a Arg),
    /// A command, or else the value of a positional argument.
    Command(Option<&'a Arg>),
    Nothing,
}

impl<'a> CompletionLine<'a> {
    /// Reads the words after `rejoin`; the last one is where the cursor is. The root must be built.
    pub(super) fn read(root: &'a Command, words: &[String]) -> Self {
        let (last, before) = words.split_last().map_or(("", words), |(last, before)| (last.as_str(), before));
        let mut line = Self {
            command: root,
            path: Vec::new(),
            given: Vec::new(),
            wanted: CompletionKind::Nothing,
            typed: last.to_owned(),
            before: String::new(),
        };
        let mut awaiting: Option<&Arg> = None;
        let mut only_text = false;
        for word in before {
            if only_text {
                line.given.push(word.clone());
            } else if word == "=" {
                // Some shells split `--model=x` into three words.
            } else if word == "--" {
                only_text = true;
            } else if word.len() > 1 && word.starts_with('-') {
                awaiting = line.option(word).filter(|_| !word.contains('='));
            } else if awaiting.take().is_some() {
            } else {
                line.take(word);
            }
        }
        line.wanted = match awaiting {
            _ if only_text => CompletionKind::Nothing,
            Some(option) if last == "=" => {
                line.typed.clear();
                CompletionKind::Value(option)
            }
            Some(option) if !last.starts_with('-') => CompletionKind::Value(option),
            _ => line.at_cursor(last),
        };
        line
    }

    fn at_cursor(&mut self, last: &str) -> CompletionKind<'a> {
        if let Some((name, value)) = last.split_once('=').filter(|_| last.starts_with("--")) {
            let option = self.option(name);
            (self.before, self.typed) = (format!("{name}="), value.to_owned());
            return option.map_or(CompletionKind::Nothing, CompletionKind::Value);
        }
        if last.starts_with('-') {
            return CompletionKind::Option;
        }
        let positional = self.positional(self.given.len());
        match self.given.is_empty() && self.command.has_subcommands() {
            true => CompletionKind::Command(positional),
            false => positional.map_or(CompletionKind::Nothing, CompletionKind::Value),
        }
    }

    /// Takes a word that is no option: a command, or an argument of one.
    fn take(&mut self, word: &str) {
        let below = if self.given.is_empty() { self.command.find_subcommand(word) } else { None };
        match below {
            Some(command) => {
                self.command = command;
                self.path.push(command.get_name());
            }
            None => self.given.push(word.to_owned()),
        }
    }

    /// The option of the command with this spelling that takes a value.
    fn option(&self, word: &str) -> Option<&'a Arg> {
        let name = word.split('=').next().unwrap_or_default();
        let is_it = |arg: &&Arg| match name.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => arg.get_short().is_some_and(|short| name.ends_with(short)),
        };
        self.command.get_arguments().find(is_it).filter(|arg| arg.get_action().takes_values())
    }

    /// The positional argument with this number. The last one may take any number of values.
    fn positional(&self, number: usize) -> Option<&'a Arg> {
        let arguments: Vec<&Arg> = self.command.get_positionals().collect();
        let is_many = |arg: &&&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        arguments.get(number).or_else(|| arguments.last().filter(is_many)).copied()
    }
}
