//! Parses the launches of a history, line by line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::Result;
use crate::formats::byte_budget::check_message;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Reading, SourceConversation, SourceMessage, encoding};
use crate::model::{Block, Fields, Json, Message, Other, Role, Time};

/// The start of a launch's first line; the time follows.
pub(super) const START: &str = "# aider chat started at ";

const PROMPT: &str = "####";
const CONSOLE: &str = ">";
const FENCE: &str = "```";

/// The Markdown line break with which the program ends its output and the prompts.
const BREAK: &str = "  ";

/// The line that the program prints after its command line.
const VERSION: &str = "> Aider v";

/// Who wrote a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineAuthor {
    Person,
    Program,
    Model,
}

/// The position in the header of a launch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LaunchState {
    /// The command line is printed first.
    Command,
    /// An argument continues on lines without a prefix.
    Argument,
    /// Anything.
    Talk,
}

/// A message that may continue.
struct OpenMessage {
    speaker: LineAuthor,
    line: u64,
    /// Its lines without prefixes.
    text: String,
    /// Its lines unchanged.
    source: String,
    /// True inside a code fence.
    is_fenced: bool,
}

/// The launches of a file, one after the other.
pub(super) struct Launches {
    path: PathBuf,
    project: Option<String>,
    /// The directory of the history, for the ids.
    directory: PathBuf,
    /// How often each conversation id occurred.
    names: HashMap<String, u64>,
    launch: Launch,
}

/// One launch.
struct Launch {
    stamp: String,
    /// Where it begins.
    line: u64,
    open: Option<OpenMessage>,
    /// What comes next.
    next: LaunchState,
    /// The number of its messages so far.
    count: u64,
    /// The messages before the first prompt, which the conversation is named after.
    early: Vec<SourceMessage>,
    early_bytes: usize,
    thread: ThreadBuilder,
    model: Option<String>,
}

impl Launches {
    pub(super) fn new(history: &Path) -> Self {
        let directory = history.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
        let project = directory.as_ref().and_then(|directory| directory.to_str().map(str::to_owned));
        let directory = directory.unwrap_or_default();
        let (path, names) = (history.to_owned(), HashMap::new());
        Self { path, project, directory, names, launch: Launch::new("", 1) }
    }

    pub(super) fn line(&mut self, line: &str, number: u64, reading: &mut Reading<'_>) -> Result<()> {
        if let Some(stamp) = line.strip_prefix(START) {
            self.end(reading)?;
            self.launch = Launch::new(stamp.trim(), number);
            return Ok(());
        }
        let is_blank = line.trim().is_empty();
        if self.launch.is_argument(line) {
            let open = self.launch.open.as_mut().expect("the command is open");
            return open.append_line(
                line,
                line.strip_suffix(BREAK).unwrap_or(line),
                reading.limits().line_bytes,
            );
        }
        let is_fenced = self.launch.open.as_ref().is_some_and(|open| open.is_fenced);
        // The program ends every line of a prompt with a line break, which code rarely has. So a reply that
        // was cut off inside a code fence does not swallow the next prompt.
        let may_ask = !is_fenced || line.ends_with(BREAK);
        let (speaker, text) = if let Some(text) = marked(line, PROMPT).filter(|_| may_ask) {
            (LineAuthor::Person, text)
        } else if let Some(text) = marked(line, CONSOLE).filter(|_| !is_fenced) {
            (LineAuthor::Program, text)
        } else {
            (LineAuthor::Model, line)
        };
        match &mut self.launch.open {
            // An empty line ends everything but a reply.
            Some(open) if is_blank && open.speaker != LineAuthor::Model => self.close(reading),
            Some(open) if open.speaker == speaker => {
                open.append_line(line, text, reading.limits().line_bytes)
            }
            None if is_blank => Ok(()),
            _ => {
                self.close(reading)?;
                self.launch.open = Some(OpenMessage::begin(speaker, number, line, text));
                Ok(())
            }
        }
    }

    pub(super) fn finish(mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.end(reading)
    }

    /// Completes the open message.
    fn close(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        let Some(open) = self.launch.open.take() else { return Ok(()) };
        let is_prompt = open.speaker == LineAuthor::Person;
        let (said, bytes) = (open.text.trim().to_owned(), open.source.len());
        let message = self.launch.message(open)?;
        if self.launch.thread.is_announced() {
            return self.launch.add(message, reading);
        }
        self.launch.early_bytes += bytes;
        check_message(self.launch.early_bytes as u64, reading.limits().line_bytes)?;
        self.launch.early.push(message);
        if is_prompt {
            let name = self.name(&said);
            self.launch.announce(name, self.project.clone(), reading)?;
        }
        Ok(())
    }

    /// Returns the id of the launch, derived from its directory and first prompt.
    fn name(&mut self, prompt: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.directory.as_os_str().as_encoded_bytes());
        hasher.update([0]);
        hasher.update(prompt.as_bytes());
        let hash = encoding::hex(&hasher.finalize()[..6]);
        let name = format!("{}/{hash}", self.launch.stamp.replace(' ', "T"));
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}#{count}") }
    }

    fn end(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.close(reading)?;
        if !self.launch.early.is_empty() {
            return reading.skip(&self.path, self.launch.line, "nothing was asked in this launch");
        }
        self.launch.thread.complete(reading)
    }
}

impl Launch {
    fn new(stamp: &str, line: u64) -> Self {
        Self {
            stamp: stamp.to_owned(),
            line,
            open: None,
            next: LaunchState::Command,
            count: 0,
            early: Vec::new(),
            early_bytes: 0,
            thread: ThreadBuilder::new(SourceConversation::new("", Time::default())),
            model: None,
        }
    }

    /// True for another line of the command: an argument may be a prompt with several lines.
    ///
    /// The command ends with a line break. If line breaks were stripped, the version line ends it.
    fn is_argument(&mut self, line: &str) -> bool {
        let is_ended = line.ends_with(BREAK);
        let has_prompt = || line.starts_with(CONSOLE) && line.contains("aider") && line.contains(" -");
        let (is_argument, next) = match self.next {
            LaunchState::Command if line.trim().is_empty() => (false, LaunchState::Command),
            LaunchState::Command if !is_ended && has_prompt() => (false, LaunchState::Argument),
            LaunchState::Argument if !line.starts_with(VERSION) => {
                (true, if is_ended { LaunchState::Talk } else { LaunchState::Argument })
            }
            LaunchState::Command | LaunchState::Argument | LaunchState::Talk => (false, LaunchState::Talk),
        };
        self.next = next;
        is_argument
    }

    /// Announces the conversation, whose id is known now.
    fn announce(&mut self, name: String, project: Option<String>, reading: &mut Reading<'_>) -> Result<()> {
        let created = format!("{}Z", self.stamp.replace(' ', "T")).parse::<Time>().unwrap_or_default();
        let mut conversation = SourceConversation::new(name, created);
        conversation.header.project = project;
        conversation.header.settings.model.clone_from(&self.model);
        self.thread.conversation = conversation;
        if !self.stamp.is_empty() {
            self.thread.keep(self.line, format!("{START}{}", self.stamp));
        }
        self.thread.announce(reading)?;
        std::mem::take(&mut self.early).into_iter().try_for_each(|message| self.add(message, reading))
    }

    fn message(&mut self, open: OpenMessage) -> Result<SourceMessage> {
        self.count += 1;
        let text = open.text.trim_matches('\n').trim_end().to_owned();
        let message = match open.speaker {
            LineAuthor::Person => Message::user(text),
            LineAuthor::Model => {
                let mut reply = Message::assistant(text);
                if let Some(model) = &self.model {
                    reply.extra.set("model", Json::of(model)?);
                }
                reply
            }
            LineAuthor::Program => {
                self.model = text.lines().find_map(model).or(self.model.take());
                let mut fields = Fields::new();
                fields.set("text", Json::of(&text)?);
                Message::new(Role::System, vec![Block::Other(Other { kind: "console".to_owned(), fields })])
            }
        };
        let message = self.thread.next(format!("m{}", self.count), message);
        Ok(SourceMessage { line: open.line, source: open.source.trim_end().to_owned(), ..message })
    }

    fn add(&mut self, mut message: SourceMessage, reading: &mut Reading<'_>) -> Result<()> {
        // The first messages were read before the conversation had an id.
        self.thread.id().clone_into(&mut message.conversation);
        self.thread.add(message, reading)
    }
}

impl OpenMessage {
    fn begin(speaker: LineAuthor, line: u64, source: &str, text: &str) -> Self {
        let is_fenced = speaker == LineAuthor::Model && source.trim_start().starts_with(FENCE);
        Self { speaker, line, text: text.to_owned(), source: source.to_owned(), is_fenced }
    }

    fn append_line(&mut self, source: &str, text: &str, most: u64) -> Result<()> {
        self.text.push('\n');
        self.text.push_str(text);
        self.source.push('\n');
        self.source.push_str(source);
        if self.speaker == LineAuthor::Model && source.trim_start().starts_with(FENCE) {
            self.is_fenced = !self.is_fenced;
        }
        check_message(self.source.len() as u64, most)
    }
}

/// Returns a line without its prefix. Two spaces at the end are a line break and not part of the text.
fn marked<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(mark)?;
    let rest = if rest.is_empty() { rest } else { rest.strip_prefix(' ')? };
    Some(rest.strip_suffix(BREAK).unwrap_or(rest))
}

/// Returns the model from a line such as `Main model: some-model with diff edit format`.
fn model(line: &str) -> Option<String> {
    let rest = line.strip_prefix("Main model: ").or_else(|| line.strip_prefix("Model: "))?;
    Some(rest.split(" with ").next().unwrap_or(rest).trim().to_owned())
}
