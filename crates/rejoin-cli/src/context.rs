//! What every command is given: the checked configuration, the surroundings, and how to answer.

use std::io::{self, BufRead, BufWriter, StdoutLock, Write};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;

use crate::config::Config;
use crate::error::{Failure, Kind};
use crate::surroundings::Surroundings;

/// What every command is given. Nothing in it changes while a command runs.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) surroundings: Surroundings,
    pub(crate) manner: Manner,
}

/// How the user wants to be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) format: Format,
    pub(crate) color: Color,
    pub(crate) pager: Pager,
    pub(crate) notes: Notes,
}

/// Whether answers are meant for a person or for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    #[default]
    Auto,
    /// Even into a file or a pipe
    Always,
    /// Not at all
    Never,
}

/// Whether a long answer on a terminal may be shown page by page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pager {
    Allowed,
    Never,
}

/// Whether warnings and notes are shown beside the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notes {
    Shown,
    Hidden,
}

/// Whether the user agreed beforehand, with `--yes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    Ask,
}

impl From<bool> for Consent {
    fn from(yes: bool) -> Self {
        if yes { Consent::Given } else { Consent::Ask }
    }
}

impl Context {
    pub(crate) fn is_json(&self) -> bool {
        self.manner.format == Format::Json
    }

    /// Whether text on stdout should be coloured.
    pub(crate) fn has_color(&self) -> bool {
        match self.manner.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let is_dumb = self.surroundings.variable("TERM").is_some_and(|term| term == "dumb");
                let is_refused = self.surroundings.variable("NO_COLOR").is_some();
                self.surroundings.terminal.stdout && !is_dumb && !is_refused
            }
        }
    }

    /// Where the answer goes: `writeln!(answer, …)?`, and `flush` at the end.
    pub(crate) fn answer(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::new(io::stdout().lock())
    }

    /// Answers a program: one value, one line.
    pub(crate) fn answer_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let mut answer = self.answer();
        serde_json::to_writer(&mut answer, value).map_err(io::Error::from)?;
        writeln!(answer)?;
        answer.flush()?;
        Ok(())
    }

    /// Tells a person something beside the answer, in a full sentence. A program is not told.
    pub(crate) fn note(&self, sentence: &str) {
        if self.manner.notes == Notes::Shown && !self.is_json() {
            let _ = writeln!(io::stderr(), "{sentence}");
        }
    }

    /// Asks before something that cannot be undone.
    ///
    /// Without a terminal there is nobody to ask, so consent must have been given with `--yes`.
    pub(crate) fn confirm(&self, question: &str, consent: Consent) -> Result<(), Failure> {
        if consent == Consent::Given {
            return Ok(());
        }
        if !self.surroundings.terminal.stdin || !self.surroundings.terminal.stderr {
            return Err(Failure::new(Kind::NotConfirmed, "nobody at a terminal to confirm this")
                .hint("add `--yes` to go ahead without being asked"));
        }
        write!(io::stderr(), "{question} [y/N] ")?;
        let mut reply = String::new();
        io::stdin().lock().read_line(&mut reply).map_err(|error| Failure::io("read your reply", error))?;
        match reply.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::new(Kind::NotConfirmed, "not confirmed, so nothing was changed")),
        }
    }
}

impl Manner {
    /// Warns on stderr, as a line of text or as a line of JSON.
    pub(crate) fn warn(&self, message: &str, hint: Option<&str>) {
        if self.notes == Notes::Hidden {
            return;
        }
        let text = match (self.format, hint) {
            (Format::Json, hint) => json!({"warning": {"message": message, "hint": hint}}).to_string(),
            (Format::Text, Some(hint)) => format!("warning: {message}\nhint: {hint}"),
            (Format::Text, None) => format!("warning: {message}"),
        };
        let _ = writeln!(io::stderr(), "{text}");
    }
}
