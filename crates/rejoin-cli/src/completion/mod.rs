//! What a shell completes. The scripts of `rejoin completions` ask `rejoin __complete SHELL INDEX WORD…`.
//!
//! Whoever presses Tab wants an answer at once, or none: nothing is asked, every failure is silent, and a
//! vault is not unlocked.

mod line;
mod offers;

use std::ffi::OsString;
use std::io::{self, Write};
use std::str::FromStr;

use clap::CommandFactory;

use crate::args::Arguments;

use self::line::CompletionLine;
use self::offers::CompletionOffer;

/// The word that the scripts begin with.
const COMMAND: &str = "__complete";

/// The shells whose scripts ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// The script that a user of the shell installs.
    pub(crate) const fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("rejoin.bash"),
            Self::Zsh => include_str!("rejoin.zsh"),
            Self::Fish => include_str!("rejoin.fish"),
        }
    }

    /// The line that offers one candidate.
    fn line(self, offer: &CompletionOffer) -> String {
        let CompletionOffer { value, about } = offer;
        match self {
            Self::Bash => value.clone(),
            Self::Zsh if about.is_empty() => value.replace(':', "\\:"),
            Self::Zsh => format!("{}:{about}", value.replace(':', "\\:")),
            Self::Fish => format!("{value}\t{about}"),
        }
    }
}

impl FromStr for Shell {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "bash" => Ok(Self::Bash),
            "zsh" => Ok(Self::Zsh),
            "fish" => Ok(Self::Fish),
            _ => Err(()),
        }
    }
}

/// Answers a shell, if it is one that asks. Returns whether it was.
pub(crate) fn answer(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut words = arguments.skip(1).map(|word| word.to_string_lossy().into_owned());
    if words.next().as_deref() != Some(COMMAND) {
        return false;
    }
    let shell = words.next().and_then(|name| name.parse().ok());
    let index = words.next().and_then(|number| number.parse::<usize>().ok());
    if let (Some(shell), Some(index)) = (shell, index) {
        // The first word is `rejoin` itself, and what stands after the cursor does not matter.
        let mut words: Vec<String> = words.take(index + 1).skip(1).collect();
        words.resize(index, String::new());
        // A shell that went away wants no answer.
        let _ = io::stdout().write_all(candidates(shell, &words).as_bytes());
    }
    true
}

fn candidates(shell: Shell, words: &[String]) -> String {
    let mut root = Arguments::command();
    root.build();
    let line = CompletionLine::read(&root, words);
    let fitting = offers::at(&line, shell).into_iter().filter(|offer| offer.value.starts_with(&line.typed));
    let lines = fitting.map(|offer| {
        let value = format!("{}{}", line.before, offer.value);
        shell.line(&CompletionOffer { value, ..offer }) + "\n"
    });
    lines.collect()
}
