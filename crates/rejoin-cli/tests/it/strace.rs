//! The program under strace: its system calls read back, or made to fail.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::skip::skip;

/// A strace that works here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strace(());

/// A system call, as strace saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) thread: u32,
    pub(crate) name: String,
    arguments: String,
    pub(crate) result: i64,
    /// The line of the trace where it began, and the one where it returned: calls of several threads overlap.
    pub(crate) began: usize,
    pub(crate) ended: usize,
}

impl Strace {
    /// Looks for strace; without it the test is skipped.
    pub(crate) fn find() -> Option<Self> {
        let works = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
        if works.is_ok_and(|status| status.success()) {
            return Some(Self(()));
        }
        skip("strace is missing, or may not trace");
        None
    }

    /// The same run, with its calls written to a file with the data they wrote.
    pub(crate) fn record(self, program: &Command, calls: &str, to: &Path) -> Command {
        let trace = format!("trace={calls}");
        let to = to.to_str().unwrap();
        Self::around(program, &["-f", "-y", "-xx", "-s", "1000000", "-o", to, "-e", &trace])
    }

    /// The same, with some of its calls failing, such as `renameat2:error=EINVAL`.
    pub(crate) fn record_failing(self, program: &Command, calls: &str, fault: &str, to: &Path) -> Command {
        let (trace, inject) = (format!("trace={calls}"), format!("inject={fault}"));
        let to = to.to_str().unwrap();
        Self::around(program, &["-f", "-y", "-xx", "-s", "1000000", "-o", to, "-e", &trace, "-e", &inject])
    }

    /// The same run, with its calls and the paths they are about written to a file.
    pub(crate) fn watch(self, program: &Command, calls: &str, to: &Path) -> Command {
        let trace = format!("trace={calls}");
        Self::around(program, &["-f", "-y", "-s", "0", "-o", to.to_str().unwrap(), "-e", &trace])
    }

    /// The same run, with some of its calls failing, such as `fsync:error=EIO:when=2`; the trace says which.
    pub(crate) fn inject(self, program: &Command, fault: &str, to: &Path) -> Command {
        let calls = fault.split(':').next().unwrap();
        let (trace, inject) = (format!("trace={calls}"), format!("inject={fault}"));
        Self::around(program, &["-f", "-o", to.to_str().unwrap(), "-e", &trace, "-e", &inject])
    }

    /// True when a call was made to fail.
    pub(crate) fn has_injected(trace: &Path) -> bool {
        fs::read_to_string(trace).unwrap().contains("(INJECTED)")
    }

    fn around(program: &Command, options: &[&str]) -> Command {
        let mut command = Command::new("strace");
        command.args(options).arg("--").arg(program.get_program()).args(program.get_args());
        command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(program.get_current_dir().unwrap());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Call {
    /// Reads a trace: the calls that returned, in the order in which they did.
    pub(crate) fn read(trace: &Path) -> Vec<Self> {
        let mut unfinished: HashMap<u32, (usize, String)> = HashMap::new();
        let mut calls = Vec::new();
        for (number, line) in fs::read_to_string(trace).unwrap().lines().enumerate() {
            let (thread, rest) = line.split_once(' ').unwrap();
            let (thread, rest) = (thread.parse().unwrap(), rest.trim_start());
            if let Some(beginning) = rest.strip_suffix(" <unfinished ...>") {
                unfinished.insert(thread, (number, beginning.to_owned()));
            } else if let Some(end) = rest.strip_prefix("<... ") {
                let (began, beginning) = unfinished.remove(&thread).unwrap();
                let (_, end) = end.split_once(" resumed>").unwrap();
                calls.extend(Self::parse(thread, &(beginning + end), began, number));
            } else {
                calls.extend(Self::parse(thread, rest, number, number));
            }
        }
        calls
    }

    fn parse(thread: u32, text: &str, began: usize, ended: usize) -> Option<Self> {
        let (call, result) = text.rsplit_once(" = ")?;
        let (name, arguments) = call.split_once('(')?;
        let result = result.split(['<', ' ']).next()?.parse().ok()?;
        let arguments = arguments.trim_end().strip_suffix(')')?.to_owned();
        Some(Self { thread, name: name.to_owned(), arguments, result, began, ended })
    }

    pub(crate) fn is_sync(&self) -> bool {
        matches!(self.name.as_str(), "fsync" | "fdatasync")
    }

    /// The number of the file it is about.
    pub(crate) fn descriptor(&self) -> Option<u32> {
        self.arguments.split(['<', ',']).next()?.parse().ok()
    }

    /// The path of the file it is about.
    pub(crate) fn path(&self) -> PathBuf {
        let path = self.arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        let bytes = path.map(|(path, _)| unescape(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned().into()
    }

    /// True when the file it is about has a name that ends so.
    pub(crate) fn is_about(&self, suffix: &str) -> bool {
        self.path().to_str().is_some_and(|path| path.ends_with(suffix))
    }

    /// The text in quotes: what was read or written, or a path.
    pub(crate) fn quoted(&self) -> Vec<u8> {
        unescape(self.arguments.split('"').nth(1).unwrap_or_default())
    }

    /// The second text in quotes: the path that a file is renamed to.
    pub(crate) fn quoted_second(&self) -> Vec<u8> {
        unescape(self.arguments.split('"').nth(3).unwrap_or_default())
    }

    /// What was read or written, as far as it was.
    pub(crate) fn data(&self) -> Vec<u8> {
        let mut bytes = self.quoted();
        bytes.truncate(usize::try_from(self.result).unwrap_or(0));
        bytes
    }

    /// True when one of the arguments names a flag.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.arguments.contains(flag)
    }

    /// The last argument, when it is a number: an offset or a length.
    pub(crate) fn last_number(&self) -> Option<u64> {
        self.arguments.rsplit(", ").next()?.parse().ok()
    }
}

/// The bytes of a text in which some, or all, are written as `\x2f`.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4);
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if let [b'\\', b'x', high, low, after @ ..] = rest {
            let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap() as u8;
            bytes.push(digit(high) << 4 | digit(low));
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    bytes
}
