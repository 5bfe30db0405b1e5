//! The `rejoin` command: parse, run, exit code.

mod args;
mod attempt;
mod child;
mod commands;
mod compaction;
mod completion;
mod config;
mod context;
#[cfg(test)]
mod documents;
mod durable;
mod error;
mod gauge;
mod git;
mod guard;
mod key_file;
mod logging;
mod misuse;
mod named;
mod picker;
mod place;
mod private;
mod project_file;
mod project_key;
mod project_names;
mod prompt;
mod provider;
mod redaction;
mod removal;
mod retention;
mod session;
mod session_files;
mod shapes;
mod source;
mod suggest;
mod surroundings;
mod ui;
mod vault;

use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use crate::args::Arguments;
use crate::commands::{Command, talk as talking};
use crate::config::Config;
use crate::context::{Context, Manner, OutputFormat};
use crate::error::Failure;
use crate::surroundings::Surroundings;

fn main() -> ExitCode {
    guard::protect();
    survive_size_limit();
    if let Some(version) = args::version_alone(env::args_os()) {
        // A closed stream leaves nobody to tell.
        let _ = io::stdout().write_all(version.as_bytes());
        return ExitCode::SUCCESS;
    }
    if completion::answer(env::args_os()) {
        return ExitCode::SUCCESS;
    }
    let arguments = match Arguments::read(env::args_os().collect::<Vec<_>>().into_iter()) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let manner = arguments.everywhere.manner();
    match run(arguments, manner) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!(kind = failure.kind(), "failed");
            failure.report(manner.format);
            failure.exit_code()
        }
    }
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) an error like any other.
/// Unhandled, the signal ends the process without a word. Programs that Rejoin starts get the default
/// back: a handler does not survive `exec`.
fn survive_size_limit() {
    // Nobody reads the flag; the failed write tells it all. Without the handler everything else works.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

fn run(arguments: Arguments, manner: Manner) -> Result<(), Failure> {
    let mut surroundings = Surroundings::capture()?;
    surroundings.passphrase_file = arguments.everywhere.passphrase_file();
    let overrides = arguments.everywhere.overrides();
    if !needs_no_configuration(&arguments) {
        private::keep_own(&surroundings, manner)?;
    }
    let config = match Config::load(&surroundings, &overrides) {
        Err(_) if needs_no_configuration(&arguments) => Config::built_in(&surroundings, &overrides)?,
        outcome => outcome?,
    };
    if !needs_no_configuration(&arguments) {
        for warning in config.warnings() {
            manner.warn(&warning.message, warning.hint.as_deref());
        }
    }
    start_log(&config, &surroundings, manner);
    let context = Context::new(config, surroundings, manner);
    match arguments.command {
        Some(command) => {
            talking::refuse_beside_command(&arguments.talk)?;
            command.run(&context)
        }
        None => talking::run(arguments.talk, &context),
    }
}

fn needs_no_configuration(arguments: &Arguments) -> bool {
    arguments.command.as_ref().is_some_and(Command::needs_no_configuration)
}

/// Work goes on without a log; it is there to help, not to stand in the way.
fn start_log(config: &Config, surroundings: &Surroundings, manner: Manner) {
    let outcome = surroundings.data_directory().and_then(|data| logging::start(config.log(), &data));
    if let Err(failure) = outcome {
        manner.warn(&failure.summary(), None);
    }
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "started");
}

/// Answers a command line that clap did not accept; `--help` and `--version` arrive here too.
fn refuse(error: &clap::Error) -> ExitCode {
    let wants_json = env::args_os().any(|argument| argument == "--json");
    let format = if wants_json { OutputFormat::Json } else { OutputFormat::Text };
    if error.kind() == ErrorKind::UnknownArgument {
        let words: Vec<String> =
            env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let is_command = words.first().is_some_and(|first| Command::is_name(first));
        let told = talking::explain_words(words.iter().map(String::as_str)).filter(|_| !is_command);
        if let Some(failure) = told {
            failure.report(format);
            return failure.exit_code();
        }
    }
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || (is_help && !wants_json) {
        // A closed stream leaves nobody to tell.
        let _ = error.print();
        return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    let words = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let failure = misuse::explain(error, &words.collect::<Vec<_>>());
    failure.report(format);
    failure.exit_code()
}
