//! A run of `rejoin append --jsonl -` held open: turns go in on one side, receipts come out on the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rejoin::{ConversationId, Digest, MessageId};
use serde::Deserialize;

/// No receipt takes this long unless something hangs.
const PATIENCE: Duration = Duration::from_secs(30);

const KILLED: i32 = 9;

/// A program that is being fed.
#[derive(Debug)]
pub(crate) struct Feed {
    child: Child,
    lines: Receiver<String>,
    threads: [JoinHandle<()>; 2],
    /// What was acknowledged so far.
    receipts: Vec<Receipt>,
}

/// How a fed program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
    pub(crate) was_killed: bool,
}

/// What the program printed for a turn.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) conversation: ConversationId,
    pub(crate) messages: Vec<MessageId>,
    pub(crate) head: MessageId,
    pub(crate) seq: u32,
    pub(crate) digest: Digest,
}

impl Feed {
    /// Starts a program and writes lines to it until it ends or they do.
    pub(crate) fn start(mut command: Command, turns: impl Iterator<Item = String> + Send + 'static) -> Self {
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let writer = thread::spawn(move || {
            for line in turns {
                // A program that was killed does not read on.
                if writeln!(input, "{line}").is_err() {
                    return;
                }
            }
        });
        let (sender, lines) = channel();
        let reader = thread::spawn(move || {
            let mut line = String::new();
            while output.read_line(&mut line).unwrap() > 0 {
                let _ = sender.send(std::mem::take(&mut line));
            }
        });
        Self { child, lines, threads: [writer, reader], receipts: Vec::new() }
    }

    /// Takes receipts until there are this many, or the program ends.
    pub(crate) fn wait_for_receipts(&mut self, count: usize) {
        while self.receipts.len() < count {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.take(&line),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => panic!("no receipt within {PATIENCE:?}"),
            }
        }
    }

    /// Takes receipts for as long as this.
    pub(crate) fn wait(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.take(&line);
        }
    }

    /// Kills the program, which cannot notice.
    pub(crate) fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.end()
    }

    /// Waits until the program has ended, and for what it said last.
    pub(crate) fn end(mut self) -> Ended {
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        let rest: Vec<String> = self.lines.try_iter().collect();
        self.receipts.extend(rest.iter().filter_map(|line| Receipt::read(line)));
        Ended {
            receipts: self.receipts,
            stderr,
            code: status.code(),
            was_killed: status.signal() == Some(KILLED),
        }
    }

    fn take(&mut self, line: &str) {
        self.receipts.extend(Receipt::read(line));
    }
}

impl Receipt {
    /// A line that was cut off by the end of the program acknowledges nothing.
    pub(crate) fn read(line: &str) -> Option<Self> {
        line.ends_with('\n').then(|| serde_json::from_str(line).unwrap())
    }
}
