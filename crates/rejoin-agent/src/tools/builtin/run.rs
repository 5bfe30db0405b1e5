//! Runs a command in the shell, with a limit for its time and its output.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rejoin::Json;
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

use crate::environment::Environment;
use crate::error::Result;
use crate::providers::ToolSpec;
use crate::tools::capture::Capture;
use crate::tools::group::{Endings, ProcessGroup};
use crate::tools::input::{self, wrong};
use crate::tools::place::ProjectDirectory;
use crate::tools::{Output, Plan, Prepared, Subject, Tool};

/// The longest a model may ask for: an hour.
const LONGEST: u64 = 3600;

/// Output that is kept for the model.
const MOST_OUTPUT: usize = 30_000;

/// The system takes no longer argument than 128 KiB, and rules read every letter.
const LONGEST_COMMAND: usize = 100_000;

/// A longer line is shown below the summary, whole, instead of in it.
const LONGEST_SUMMARY: usize = 120;

/// How long to read on after everything has ended: a process that left the
/// group may hold the pipe open for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Runs a command in the shell.
#[derive(Debug)]
pub(super) struct RunTool {
    spec: ToolSpec,
    project: ProjectDirectory,
    limit: Duration,
    environment: Environment,
    endings: Endings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunInput {
    command: String,
    seconds: Option<u64>,
}

impl RunTool {
    pub(super) fn new(
        project: ProjectDirectory,
        limit: Duration,
        environment: Environment,
        endings: Endings,
    ) -> Self {
        let spec = input::spec(
            "run",
            "Runs a command with `sh -c` in the project's directory and returns what it prints, stdout and stderr \
             together. There is no input and no terminal. Everything it started ends with it.",
            json!({
                "command": {"type": "string", "description": "The command."},
                "seconds": {
                    "type": "integer", "minimum": 1, "maximum": LONGEST,
                    "description": format!("Time limit in seconds; {} when left out.", limit.as_secs()),
                },
            }),
            &["command"],
        );
        Self { spec, project, limit, environment, endings }
    }

    fn command(&self, text: &str) -> Command {
        let mut command = Command::from(self.environment.command("/bin/sh"));
        command.arg("-c").arg(text).current_dir(self.project.directory()).stdin(Stdio::null());
        // Asking for a password on the terminal would wait for ever: the command is not in the foreground.
        command.env("GIT_TERMINAL_PROMPT", "0");
        command
    }
}

impl Tool for RunTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: &Json) -> Result<Prepared> {
        let RunInput { command: text, seconds } = input::read(input)?;
        if text.trim().is_empty() {
            return Err(wrong("the command is empty".to_owned()));
        }
        // A terminal acts on them, and no command needs one: the shell can make it from plain text.
        if let Some(control) = text.chars().find(|letter| letter.is_control() && !"\n\t".contains(*letter)) {
            return Err(wrong(format!(
                "the command contains the control character U+{:04X}; only newline and tab are allowed, \
                 so have the shell make it, as in `printf '\\033'`",
                u32::from(control)
            )));
        }
        if text.len() > LONGEST_COMMAND {
            return Err(wrong(format!(
                "the command is longer than {LONGEST_COMMAND} bytes; write a script first"
            )));
        }
        if seconds.is_some_and(|seconds| !(1..=LONGEST).contains(&seconds)) {
            return Err(wrong(format!("`seconds` must be from 1 to {LONGEST}")));
        }
        let limit = seconds.map_or(self.limit, Duration::from_secs);
        let subject = Subject::Command(text.clone());
        let plan = plan(&text, seconds, &subject);
        let (command, endings) = (self.command(&text), self.endings.clone());
        Ok(Prepared::new(plan, subject, async move {
            match run(command, limit, &endings).await {
                Ok(output) => output,
                Err(error) => Output::failure(format!("cannot run the command: {error}")),
            }
        }))
    }
}

/// What a person is shown: the command as it is, in the summary when it is one short line, else below it; and
/// the time limit, where the model chose one.
fn plan(text: &str, seconds: Option<u64>, subject: &Subject) -> Plan {
    let limit = seconds.map(|seconds| format!(" for at most {seconds} s")).unwrap_or_default();
    if !text.contains('\n') && text.chars().count() <= LONGEST_SUMMARY {
        return Plan::new(format!("Run{limit} `{text}`"), subject);
    }
    let first = text.trim_start().lines().next().unwrap_or_default();
    let beginning: String = first.chars().take(LONGEST_SUMMARY).collect();
    Plan::new(format!("Run{limit} `{beginning} …`"), subject).with_detail(text)
}

/// How a command came to its end.
enum CommandEnd {
    Exit(ExitStatus),
    OutOfTime,
}

async fn run(mut command: Command, limit: Duration, endings: &Endings) -> io::Result<Output> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut group = ProcessGroup::start(&mut command, endings)?;
    // The command holds the writing ends; the pipe must end with those who were given them.
    drop(command);
    let mut pipe = Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mut capture = Capture::of(MOST_OUTPUT);
    let ending = {
        let mut is_open = true;
        let ended = tokio::time::timeout(limit, group.wait());
        tokio::pin!(ended);
        loop {
            tokio::select! {
                ended = &mut ended => break ended,
                // A command may close its output long before it ends.
                () = drain(&mut pipe, &mut capture), if is_open => is_open = false,
            }
        }
    };
    let ending = match ending {
        Ok(status) => CommandEnd::Exit(status?),
        Err(_) => CommandEnd::OutOfTime,
    };
    {
        let mut is_open = true;
        let gone = group.end();
        tokio::pin!(gone);
        loop {
            tokio::select! {
                () = &mut gone => break,
                () = drain(&mut pipe, &mut capture), if is_open => is_open = false,
            }
        }
    }
    let _ = tokio::time::timeout(LAST_WORDS, drain(&mut pipe, &mut capture)).await;
    Ok(answer(&ending, limit, capture.into_text()))
}

/// Reads until every writer has gone.
async fn drain(pipe: &mut Receiver, capture: &mut Capture) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        capture.add(&buffer[..count]);
    }
}

fn answer(ending: &CommandEnd, limit: Duration, printed: String) -> Output {
    let told = match ending {
        CommandEnd::Exit(status) if status.success() && printed.is_empty() => "(no output)".to_owned(),
        CommandEnd::Exit(status) if status.success() => printed,
        CommandEnd::Exit(status) => {
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("ended by signal {signal}"),
                (None, None) => "ended in an unknown way".to_owned(),
            };
            return Output::failure(with_line(printed, &how));
        }
        CommandEnd::OutOfTime => {
            let how = format!("ended after {} seconds, its time limit", limit.as_secs());
            return Output::failure(with_line(printed, &how));
        }
    };
    Output::text(told)
}

fn with_line(mut printed: String, line: &str) -> String {
    if !printed.is_empty() && !printed.ends_with('\n') {
        printed.push('\n');
    }
    format!("{printed}[{line}]")
}
