//! What every command is given: the checked configuration, the surroundings, and how to answer.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::{Arc, OnceLock};

use rejoin::vault::{Keyholder, Secret};
use serde::Serialize;

use crate::config::Config;
use crate::error::{Failure, Kind};
use crate::surroundings::Surroundings;
use crate::ui;
use crate::ui::ask::{self, Confirmation, Keyboard};
use crate::ui::clean;
use crate::ui::consent::{self, ConsentLine, ConsentText, Paged};
use crate::ui::page;
use crate::ui::paint::{ColorChoice, ColorSigns, Paint};
use crate::ui::progress::{ProgressLine, Unit, Visibility};
use crate::ui::when::WallClock;
use crate::vault;

/// What every command is given. Nothing in it changes while a command runs.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) surroundings: Surroundings,
    pub(crate) manner: Manner,
    /// Opens vaults; whoever was asked once is not asked again.
    keyholder: Keyholder,
    /// The new passphrase, once it was typed: it also opens the vault that it is for.
    pub(crate) new_passphrase: Arc<OnceLock<Secret>>,
    /// The key of the project, once it is settled: whoever was asked once is not asked again.
    pub(crate) settled_project: Arc<OnceLock<String>>,
}

/// How the user wants to be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) format: OutputFormat,
    pub(crate) color: ColorChoice,
    pub(crate) pager: Paging,
    pub(crate) notes: Notes,
}

/// Whether answers are meant for a person or for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Text,
    Json,
}

/// Whether a long answer on a terminal may be shown page by page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    #[default]
    Ask,
}

impl From<bool> for Consent {
    fn from(yes: bool) -> Self {
        if yes { Consent::Given } else { Consent::Ask }
    }
}

impl Context {
    pub(crate) fn new(config: Config, surroundings: Surroundings, manner: Manner) -> Self {
        let new_passphrase = Arc::default();
        let keyholder = vault::keyholder(&surroundings, manner, &new_passphrase);
        Self { config, surroundings, manner, keyholder, new_passphrase, settled_project: Arc::default() }
    }

    /// The same with another configuration.
    pub(crate) fn configured(&self, config: Config) -> Self {
        let (surroundings, keyholder) = (self.surroundings.clone(), self.keyholder.clone());
        let new_passphrase = Arc::clone(&self.new_passphrase);
        let is_same_project = config.project() == self.config.project();
        let settled_project =
            if is_same_project { Arc::clone(&self.settled_project) } else { Arc::default() };
        Self { config, surroundings, manner: self.manner, keyholder, new_passphrase, settled_project }
    }

    /// What opens vaults.
    pub(crate) const fn keyholder(&self) -> &Keyholder {
        &self.keyholder
    }

    pub(crate) fn is_json(&self) -> bool {
        self.manner.format == OutputFormat::Json
    }

    /// The brush for answers.
    pub(crate) fn paint(&self) -> Paint {
        let signs = ColorSigns {
            is_terminal: self.surroundings.terminal.stdout,
            no_color: self.surroundings.variable("NO_COLOR"),
            clicolor_force: self.surroundings.variable("CLICOLOR_FORCE"),
            term: self.surroundings.variable("TERM"),
        };
        Paint::choose(self.manner.color, signs)
    }

    /// The width to draw for, or none where lines may have any length.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.surroundings.terminal.screen.map(|screen| screen.columns)
    }

    /// The time and the zone that people read times in.
    pub(crate) fn clock(&self) -> WallClock {
        let [named, zones] = ["TZ", "TZDIR"].map(|name| self.surroundings.variable(name));
        WallClock::system(named, zones)
    }

    /// Answers a person, through a pager when the answer is longer than the screen.
    pub(crate) fn show(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let pager = self.surroundings.variables.get("PAGER").map(|pager| pager.to_string_lossy());
        let pager = page::Pager::choose(pager.as_deref(), self.surroundings.variable("LESS"));
        let paging =
            pager.zip(self.surroundings.terminal.screen).filter(|_| self.manner.pager == Paging::Allowed);
        let paging = paging.map(|(pager, screen)| (pager.with_environment(self.environment()), screen));
        page::show(io::stdout().lock(), paging, write)
    }

    /// Shows how far long work has come, to a person only.
    pub(crate) fn progress(&self, doing: &str, unit: Unit, total: Option<u64>) -> ProgressLine {
        let is_watched =
            self.surroundings.terminal.stderr && self.manner.notes == Notes::Shown && !self.is_json();
        ProgressLine::start(
            if is_watched { Visibility::Shown } else { Visibility::Hidden },
            doing,
            unit,
            total,
        )
    }

    /// Where the answer goes: `writeln!(answer, …)?`, and `flush` at the end.
    pub(crate) fn answer(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::new(io::stdout().lock())
    }

    /// Answers with one text that somebody else may have written: as it is for
    /// a program, made safe at a terminal.
    pub(crate) fn answer_text(&self, text: &str) -> Result<(), Failure> {
        let mut answer = self.answer();
        match self.surroundings.terminal.stdout {
            true => writeln!(answer, "{}", clean::block(text))?,
            false => writeln!(answer, "{text}")?,
        }
        answer.flush()?;
        Ok(())
    }

    /// Answers a program: one value, one line.
    pub(crate) fn answer_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let mut answer = self.answer();
        ui::json::write(&mut answer, value)?;
        writeln!(answer)?;
        answer.flush()?;
        Ok(())
    }

    /// Whether a person is told things beside the answer.
    pub(crate) fn shows_notes(&self) -> bool {
        self.manner.notes == Notes::Shown && !self.is_json()
    }

    /// Tells a person something beside the answer, in a full sentence. A program is not told.
    pub(crate) fn note(&self, sentence: &str) {
        if self.shows_notes() {
            // A note may name what is stored, such as a title or a path.
            let _ = writeln!(io::stderr(), "{}", clean::block(sentence));
        }
    }

    /// Tells a person something that nobody may miss, in a full sentence. `--quiet` does not hide it.
    pub(crate) fn insist(&self, sentence: &str) {
        let _ = writeln!(io::stderr(), "{}", clean::block(sentence));
    }

    /// Shows what is about to happen, then asks. Who gave consent beforehand is told afterwards only.
    ///
    /// The question comes after the end of a long list, or says how much of it was passed over.
    pub(crate) fn confirm_shown(
        &self,
        what: &[ConsentLine],
        question: &ConsentText,
        consent: Consent,
    ) -> Result<(), Failure> {
        let terminal = self.surroundings.terminal;
        // A program that reads JSON would stumble over a list for people.
        if consent == Consent::Given || (self.is_json() && !terminal.stderr) {
            return self.confirm(question, consent);
        }
        if !terminal.stdin || !terminal.stderr {
            consent::print_all(what, &mut io::stderr())?;
            return self.confirm(question, consent);
        }
        match consent::show_before(what, question)? {
            Paged::ToTheEnd { unseen } => self.confirm(&consent::about_unseen(question, unseen), consent),
            Paged::Left(_) => Err(not_confirmed()),
        }
    }

    /// Asks before something that cannot be undone.
    ///
    /// Without a terminal there is nobody to ask, so consent must have been given with `--yes`.
    pub(crate) fn confirm(&self, question: &ConsentText, consent: Consent) -> Result<(), Failure> {
        if consent == Consent::Given {
            return Ok(());
        }
        let terminal = self.surroundings.terminal;
        let keyboard = if terminal.stdin && terminal.stderr {
            Keyboard::Present(ask::person())
        } else {
            Keyboard::Absent
        };
        match ask::confirm(question, keyboard, &mut io::stderr())? {
            Confirmation::Yes => Ok(()),
            Confirmation::No => Err(not_confirmed()),
            Confirmation::NotAsked => {
                Err(Failure::new(Kind::NotConfirmed, "not running in a terminal")
                    .hint("pass `--yes` to confirm"))
            }
        }
    }
}

/// A warning as programs read it.
#[derive(Serialize)]
struct Warned<'a> {
    warning: WarningShape<'a>,
}

#[derive(Serialize)]
struct WarningShape<'a> {
    message: &'a str,
    hint: Option<&'a str>,
}

fn not_confirmed() -> Failure {
    Failure::new(Kind::NotConfirmed, "not confirmed; nothing was changed")
}

impl Manner {
    /// Warns on stderr, as a line of text or as a line of JSON.
    pub(crate) fn warn(&self, message: &str, hint: Option<&str>) {
        if self.notes == Notes::Shown {
            self.insist(message, hint);
        }
    }

    /// Warns on stderr, also those who want no warnings: for what nobody may miss.
    pub(crate) fn insist(&self, message: &str, hint: Option<&str>) {
        let text = match (self.format, hint) {
            (OutputFormat::Json, hint) => ui::json::line(&Warned { warning: WarningShape { message, hint } }),
            (OutputFormat::Text, Some(hint)) => clean::block(&format!("warning: {message}\nhint: {hint}")),
            (OutputFormat::Text, None) => clean::block(&format!("warning: {message}")),
        };
        let _ = writeln!(io::stderr(), "{text}");
    }
}

#[cfg(test)]
impl Context {
    /// The context of a machine that exists only in a test, without a terminal.
    pub(crate) fn imagined() -> Self {
        let surroundings = Surroundings::imagined(&[]);
        let config = Config::built_in(&surroundings, &crate::config::ConfigOverrides::default())
            .expect("the built-in configuration is complete");
        let manner = Manner {
            format: OutputFormat::Text,
            color: ColorChoice::Never,
            pager: Paging::Never,
            notes: Notes::Shown,
        };
        Self::new(config, surroundings, manner)
    }
}
