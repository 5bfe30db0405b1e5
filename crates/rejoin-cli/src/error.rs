//! What went wrong, told to a person or a script.
//!
//! Every command ends in `Ok` or in one [`Failure`]. The exit code is chosen here and nowhere else.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use rejoin::ErrorKind;
use rejoin::store::{Displaced, Foreign};
use rustix::io::Errno;
use serde::Serialize;

use crate::attempt::{as_failure, hint_at_prompt};
use crate::context::OutputFormat;
use crate::private;
use crate::ui::clean;

/// What went wrong: a kind to act on, what was attempted, why it failed and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
    /// What people are told in place of the usual form, where the words are fixed.
    wording: Option<String>,
    /// True when a provider did not accept the key, or there was none to send.
    is_about_key: bool,
}

/// The answer of a command that failed.
#[derive(Serialize)]
struct ErrorAnswer<'a> {
    error: FailureShape<'a>,
}

/// A failure as programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct FailureShape<'a> {
    #[serde(flatten)]
    why: Why,
    hint: Option<&'a str>,
}

/// A failure without what to do about it.
#[derive(Debug, Serialize)]
pub(crate) struct Why {
    kind: &'static str,
    message: String,
}

/// The kinds a script can tell apart; their names are a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NotFound,
    Conflict,
    Locked,
    Corrupt,
    Invalid,
    Unsupported,
    Unavailable,
    TooLarge,
    Denied,
    NotConfirmed,
    Usage,
    /// The reader of our output went away. It has seen enough, so this is a success.
    BrokenPipe,
    Other,
}

impl Failure {
    /// Describes an attempt that failed: lower case, no full stop, values in backticks.
    pub(crate) fn new(kind: Kind, attempt: impl Into<String>) -> Self {
        Self { kind, message: attempt.into(), source: None, hint: None, wording: None, is_about_key: false }
    }

    pub(crate) fn invalid(attempt: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, attempt)
    }

    pub(crate) fn not_found(attempt: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, attempt)
    }

    pub(crate) fn usage(attempt: impl Into<String>) -> Self {
        Self::new(Kind::Usage, attempt)
    }

    /// Describes an operation on a file or stream; the kind follows from the system's error.
    pub(crate) fn io(attempt: impl Into<String>, source: io::Error) -> Self {
        Self::new(Kind::of(&source), attempt).because(source)
    }

    /// Adds the cause. A plain string serves where there is no error value.
    pub(crate) fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Wraps this in the larger thing that was attempted; kind and hint stay.
    pub(crate) fn during(self, attempt: impl Into<String>) -> Self {
        let Self { message, source, .. } = self;
        let source: Box<dyn Error + Send + Sync> = Box::new(FailureCause { message, source });
        Self { message: attempt.into(), source: Some(source), ..self }
    }

    /// Tells people this in place of the usual form; programs read message and hint all the same.
    pub(crate) fn worded(mut self, wording: impl Into<String>) -> Self {
        self.wording = Some(wording.into());
        self
    }

    /// Adds a line to what people are told, and nothing to what programs read.
    pub(crate) fn and_line(mut self, line: &str) -> Self {
        self.wording = Some(format!("{self}\n{line}"));
        self
    }

    /// Adds what to do next, as a sentence fragment that names the command to run.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds what to do next, unless something closer to the cause has said so already.
    pub(crate) fn or_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The same failure for somebody at the prompt, where commands begin with a slash.
    pub(crate) fn at_prompt(mut self) -> Self {
        self.hint = self.hint.map(|hint| hint_at_prompt(&hint));
        self
    }

    /// True when something that was named does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.kind == Kind::NotFound
    }

    /// True when a provider did not accept the key.
    pub(crate) fn is_about_key(&self) -> bool {
        self.is_about_key
    }

    /// True when whoever was to read the answer went away.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.kind == Kind::BrokenPipe
    }

    /// The same kind of failure, told in other words and without a next step.
    pub(crate) fn retold(&self, attempt: impl Into<String>) -> Self {
        Self::new(self.kind, attempt)
    }

    /// What to do next, if anything is known to help.
    pub(crate) fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// True when what was given is at fault, so that giving it again cannot help.
    pub(crate) fn is_of_input(&self) -> bool {
        matches!(self.kind, Kind::Invalid | Kind::TooLarge | Kind::NotFound | Kind::Conflict)
    }

    /// True when the files of the store were taken away while it was open.
    pub(crate) fn is_displaced(&self) -> bool {
        let cause = self.source.as_ref().and_then(|source| source.downcast_ref::<ShownCause>());
        cause.is_some_and(|cause| Displaced::cause_of(&cause.0).is_some())
    }

    /// True when trying again later may help.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self.kind, Kind::Locked | Kind::Unavailable)
    }

    /// The message alone, as it was given: no cause, and not in other words.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What went wrong, in one line.
    pub(crate) fn summary(&self) -> String {
        self.lines().fold(String::new(), |told, line| match told.is_empty() {
            true => line,
            // A cause that is a list begins on a line of its own.
            false if line.starts_with('\n') => format!("{told}:{line}"),
            false => format!("{told}: {line}"),
        })
    }

    /// True when it is about stored bytes that are not what was written.
    pub(crate) fn is_damage(&self) -> bool {
        self.kind == Kind::Corrupt
    }

    /// The name of its kind, safe for a log.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// Tells the user, on stderr. A broken pipe is not worth a word.
    pub(crate) fn report(&self, format: OutputFormat) {
        if self.kind == Kind::BrokenPipe {
            return;
        }
        let text = match format {
            // Causes quote what was read or stored, and that must not reach the terminal as it is.
            OutputFormat::Text => clean::block(&self.to_string()),
            OutputFormat::Json => self.to_json().to_string(),
        };
        // Nobody is left to tell when stderr itself is closed.
        let _ = writeln!(io::stderr(), "{text}");
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.exit_status())
    }

    /// What programs are told of it where they know what to do about it.
    pub(crate) fn why(&self) -> Why {
        Why { kind: self.kind(), message: self.summary() }
    }

    /// What programs are told of it.
    pub(crate) fn told(&self) -> FailureShape<'_> {
        FailureShape { why: self.why(), hint: self.next_step() }
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(ErrorAnswer { error: self.told() }).expect("a failure is plain data")
    }

    /// The message, then each cause, outermost first. What names an act says that it failed.
    fn lines(&self) -> impl Iterator<Item = String> {
        let first: Option<&(dyn Error + 'static)> = self.source.as_ref().map(|source| source.as_ref() as _);
        let causes = std::iter::successors(first, |cause| (*cause).source());
        let told = std::iter::once(self.message.clone()).chain(causes.map(|cause| cause.to_string()));
        told.map(|text| as_failure(&text).into_owned())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(wording) = &self.wording {
            return out.write_str(wording);
        }
        write!(out, "error: {}", self.summary())?;
        if let Some(hint) = &self.hint {
            write!(out, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// The library says what failed; what to do about it is said here and by the commands.
impl From<rejoin::Error> for Failure {
    fn from(error: rejoin::Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::NotFound => Kind::NotFound,
            ErrorKind::Conflict => Kind::Conflict,
            ErrorKind::Locked => Kind::Locked,
            ErrorKind::Corrupt => Kind::Corrupt,
            ErrorKind::Invalid => Kind::Invalid,
            ErrorKind::Unsupported => Kind::Unsupported,
            ErrorKind::Unavailable => Kind::Unavailable,
            ErrorKind::Denied => Kind::Denied,
            // The library may learn new kinds before this table does.
            _ => Kind::Other,
        };
        let mut failure = Self::new(kind, error.to_string());
        let foreign = Foreign::cause_of(&error).map(private::remedy);
        failure.hint = foreign.or_else(|| next_step(&error).map(str::to_owned));
        if error.source().is_some() {
            failure.source = Some(Box::new(ShownCause(error)));
        }
        failure
    }
}

/// What to do about a failure of the store, wherever it was met.
fn next_step(error: &rejoin::Error) -> Option<&'static str> {
    if Displaced::cause_of(error).is_some() {
        return Some("restore the file, or start again with what is there now");
    }
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let system = causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).next();
    if system.and_then(Errno::from_io_error).is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE))
    {
        return Some("raise the limit on open files, for example with `ulimit -n 1024`, and try again");
    }
    match (error.kind(), system.map(io::Error::kind)) {
        (_, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)) => Some(
            "free some space and try again; `rejoin purge` works on a full disk; stored conversations are safe",
        ),
        (_, Some(io::ErrorKind::FileTooLarge)) => Some(
            "raise the limit on the size of files, for example with `ulimit -f unlimited`, and try again; stored \
             conversations are safe",
        ),
        // What was given is at fault, and not the store.
        (ErrorKind::Invalid, Some(io::ErrorKind::PermissionDenied)) => None,
        (_, Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)) => {
            Some("run `rejoin doctor` to see who owns it, or name another store with `--store`")
        }
        (ErrorKind::Locked, _) => Some("try again; `rejoin doctor` names the program that is writing"),
        (ErrorKind::Corrupt, _) => Some("run `rejoin verify` to see what is still readable"),
        _ => None,
    }
}

/// A failure that became the cause of another.
#[derive(Debug)]
struct FailureCause {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl fmt::Display for FailureCause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl Error for FailureCause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

/// An error whose first line was already told: it shows its cause.
#[derive(Debug)]
struct ShownCause(rejoin::Error);

impl fmt::Display for ShownCause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.source().map_or(Ok(()), |source| write!(out, "{source}"))
    }
}

impl Error for ShownCause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source().and_then(Error::source)
    }
}

impl From<rejoin_agent::Error> for Failure {
    fn from(error: rejoin_agent::Error) -> Self {
        use rejoin_agent::ErrorKind as Agent;
        let kind = match error.kind() {
            Agent::Unauthorized => Kind::Denied,
            Agent::Invalid => Kind::Invalid,
            Agent::TooLong => Kind::TooLarge,
            _ => Kind::Unavailable,
        };
        let is_about_key = error.kind() == Agent::Unauthorized;
        let failure = Self { is_about_key, ..Self::new(kind, error.to_string()) };
        let causes: Vec<String> =
            std::iter::successors(error.source(), |&cause| cause.source()).map(ToString::to_string).collect();
        if causes.is_empty() { failure } else { failure.because(causes.join(": ")) }
    }
}

/// Serves `writeln!(context.answer(), …)?`; operations on files use [`Failure::io`], which names the file.
impl From<io::Error> for Failure {
    fn from(source: io::Error) -> Self {
        Self::io("write the output", source)
    }
}

impl Kind {
    /// Every kind.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 13] = [
        Kind::NotFound,
        Kind::Conflict,
        Kind::Locked,
        Kind::Corrupt,
        Kind::Invalid,
        Kind::Unsupported,
        Kind::Unavailable,
        Kind::TooLarge,
        Kind::Denied,
        Kind::NotConfirmed,
        Kind::Usage,
        Kind::BrokenPipe,
        Kind::Other,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::NotFound => "not found",
            Kind::Conflict => "conflict",
            Kind::Locked => "locked",
            Kind::Corrupt => "corrupt",
            Kind::Invalid => "invalid",
            Kind::Unsupported => "unsupported",
            Kind::Unavailable => "unavailable",
            Kind::TooLarge => "too large",
            Kind::Denied => "denied",
            Kind::NotConfirmed => "not confirmed",
            Kind::Usage => "usage",
            Kind::BrokenPipe => "broken pipe",
            Kind::Other => "other",
        }
    }

    pub(crate) fn exit_status(self) -> u8 {
        match self {
            Kind::BrokenPipe => 0,
            Kind::Usage => 2,
            Kind::NotFound
            | Kind::Conflict
            | Kind::Locked
            | Kind::Corrupt
            | Kind::Invalid
            | Kind::Unsupported
            | Kind::Unavailable
            | Kind::TooLarge
            | Kind::Denied
            | Kind::NotConfirmed
            | Kind::Other => 1,
        }
    }

    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Kind::NotFound,
            io::ErrorKind::AlreadyExists => Kind::Conflict,
            io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => Kind::Locked,
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Kind::Corrupt,
            io::ErrorKind::InvalidInput | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                Kind::Invalid
            }
            io::ErrorKind::Unsupported => Kind::Unsupported,
            io::ErrorKind::TimedOut
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded => Kind::Unavailable,
            io::ErrorKind::FileTooLarge => Kind::TooLarge,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Kind::Denied,
            io::ErrorKind::BrokenPipe => Kind::BrokenPipe,
            // The system's list is open-ended.
            _ => Kind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn torn() -> Failure {
        Failure::new(Kind::Corrupt, "resume conversation `lisbon`")
            .because("line 41 of `a3f.jsonl` does not match its hash")
            .hint("run `rejoin verify lisbon` to see what is still readable")
    }

    #[test]
    fn a_person_reads_what_failed_why_and_the_next_step() {
        let expected = "error: could not resume conversation `lisbon`: line 41 of `a3f.jsonl` does not match its hash\n\
             hint: run `rejoin verify lisbon` to see what is still readable";

        assert_eq!(torn().to_string(), expected);
    }

    #[test]
    fn a_script_reads_the_same_as_one_object() {
        let expected = json!({"error": {
            "kind": "corrupt",
            "message": "could not resume conversation `lisbon`: line 41 of `a3f.jsonl` does not match its hash",
            "hint": "run `rejoin verify lisbon` to see what is still readable",
        }});

        assert_eq!(torn().to_json(), expected);
    }

    #[test]
    fn a_broken_pipe_is_a_success() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));

        assert_eq!(failure.kind.exit_status(), 0);
    }

    #[test]
    fn only_a_wrong_command_line_exits_with_two() {
        let statuses = [Kind::Usage, Kind::NotFound, Kind::Other].map(Kind::exit_status);

        assert_eq!(statuses, [2, 1, 1]);
    }
}
