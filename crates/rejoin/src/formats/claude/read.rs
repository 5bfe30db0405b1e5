//! Reads a session and its sub-agent runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::Result;
use crate::formats::claude::calls::CallIndex;
use crate::formats::claude::line::ClaudeLine;
use crate::formats::claude::thread::ClaudeThread;
use crate::formats::lines::SourceLines;
use crate::formats::{Reading, Source, SourceConversation, SourceParent, folder};
use crate::model::Time;

/// The maximum size of a run's description, which has only a few fields.
const META_BYTES: u64 = 1 << 20;

/// The directory of a session's runs, next to its file.
const RUNS: &str = "subagents";

/// The prefix of a run's file name.
const RUN: &str = "agent-";

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let mut session = ClaudeFiles::default();
    let runs = runs_of(source)?;
    if !runs.is_empty() {
        session.calls.keep();
    }
    session.read_file(source.path(), source.stem(), reading)?;
    for run in runs {
        let stem = run.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        session.read_file(&run, &stem, reading)?;
    }
    Ok(())
}

/// Returns the session file of a sub-agent run, from the path of the run.
pub(super) fn session_of(source: &Source) -> Option<PathBuf> {
    let directory = source.path().parent()?;
    let is_run = source.stem().starts_with(RUN) && directory.file_name()? == RUNS;
    is_run.then(|| directory.parent().map(|session| session.with_extension("jsonl")))?
}

/// True for the description of a run.
pub(super) fn is_description(source: &Source) -> bool {
    source.path().to_str().is_some_and(|path| path.ends_with(".meta.json"))
}

/// Returns the files of a session's runs. Ignores symbolic links.
fn runs_of(source: &Source) -> Result<Vec<PathBuf>> {
    let mut runs = folder::files(&source.path().with_extension("").join(RUNS))?;
    runs.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(RUN) && name.ends_with(".jsonl")
    });
    Ok(runs)
}

/// State that is shared by the files of a session.
#[derive(Default)]
struct ClaudeFiles {
    /// The conversation of the session itself.
    main: Option<String>,
    calls: CallIndex,
}

/// Describes a run; stored next to its file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RunDescription {
    agent_type: Option<String>,
    tool_use_id: Option<String>,
}

impl ClaudeFiles {
    /// Reads one file: a conversation, and those of sub-agents that are in the same file.
    fn read_file(&mut self, path: &Path, stem: &str, reading: &mut Reading<'_>) -> Result<()> {
        let mut file =
            SessionFile { stem, path, threads: Vec::new(), runs: HashMap::new(), places: HashMap::new() };
        let mut lines = SourceLines::open(path, reading)?;
        while lines.advance(reading)? {
            match lines.parse::<ClaudeLine<'_>>() {
                Ok(mut line) => {
                    line.at = lines.current();
                    file.line(self, &mut line, reading)?;
                }
                Err(why) => reading.skip(path, lines.number(), why)?,
            }
        }
        for thread in file.threads {
            thread.finish(&mut self.calls, reading)?;
        }
        Ok(())
    }
}

/// State while one file is read.
struct SessionFile<'a> {
    stem: &'a str,
    path: &'a Path,
    /// The file's own conversation first, then those of sub-agents in the same file.
    threads: Vec<ClaudeThread>,
    /// The indexes of the others, by id.
    runs: HashMap<String, usize>,
    /// The indexes of lines that do not belong to the first.
    places: HashMap<String, usize>,
}

impl SessionFile<'_> {
    fn line(
        &mut self,
        session: &mut ClaudeFiles,
        line: &mut ClaudeLine<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let place = self.place(session, line)?;
        let Some(uuid) = line.uuid.take().filter(|_| !is_mark(line)) else {
            return self.threads[place].mark(line, reading);
        };
        if place > 0 {
            self.places.insert(uuid.clone(), place);
        }
        let thread = &mut self.threads[place];
        if let Err(error) = thread.line(uuid.clone(), line, &mut session.calls, reading) {
            // What the reader rejects is reported; an error of the receiver ends the pass.
            if error.kind() != crate::ErrorKind::Invalid {
                return Err(error);
            }
            thread.pass_over(uuid, line.parent_uuid.as_deref());
            reading.skip(self.path, line.at.number, error)?;
        }
        thread.check(&mut session.calls, reading)
    }

    /// Returns the thread of a line. Lines of a sub-agent in another file have a thread of their own.
    fn place(&mut self, session: &mut ClaudeFiles, line: &ClaudeLine<'_>) -> Result<usize> {
        if self.threads.is_empty() {
            let own = self.begin(session, line)?;
            self.threads.push(own);
        }
        if line.is_sidechain != Some(true) || self.stem.starts_with(RUN) {
            return Ok(0);
        }
        let above = line.parent_uuid.as_ref().and_then(|parent| self.places.get(parent));
        if let Some(place) = above {
            return Ok(*place);
        }
        let run = line.agent_id.clone().or_else(|| line.uuid.clone()).unwrap_or_default();
        let id = format!("{}/{RUN}{run}", self.threads[0].id());
        if let Some(place) = self.runs.get(&id) {
            return Ok(*place);
        }
        let parent = SourceParent {
            conversation: self.threads[0].id().to_owned(),
            message: self.threads[0].last().map(str::to_owned),
            name: "sidechain".to_owned(),
            run,
        };
        self.runs.insert(id.clone(), self.threads.len());
        self.threads.push(ClaudeThread::new(SourceConversation {
            parent: Some(parent),
            ..SourceConversation::new(id, Time::default())
        }));
        Ok(self.threads.len() - 1)
    }

    /// Starts the file's own conversation, named after the path and the first line.
    fn begin(&self, session: &mut ClaudeFiles, line: &ClaudeLine<'_>) -> Result<ClaudeThread> {
        let directory = self.path.parent().filter(|above| above.file_name().is_some_and(|name| name == RUNS));
        // Elsewhere, a session may have any name, and its lines say that it is not a sub-agent's.
        let is_run = directory.is_some() || line.is_sidechain != Some(false);
        let Some(run) = self.stem.strip_prefix(RUN).filter(|_| is_run) else {
            let is_uuid = uuid::Uuid::try_parse(self.stem).is_ok();
            let named = line.session_id.clone().filter(|_| !is_uuid);
            let id = named.unwrap_or_else(|| self.stem.to_owned());
            session.main = Some(id.clone());
            return Ok(ClaudeThread::new(SourceConversation::new(id, Time::default())));
        };
        let place = || Some(directory?.parent()?.file_name()?.to_str()?.to_owned());
        let main =
            session.main.clone().or_else(|| line.session_id.clone()).or_else(place).unwrap_or_default();
        let meta = self.meta()?;
        let call = meta.tool_use_id.or_else(|| session.calls.of_run(run));
        let caller = call.and_then(|call| session.calls.caller(&call));
        let (conversation, message) =
            caller.map_or((main.clone(), None), |(conversation, message)| (conversation, Some(message)));
        let parent = SourceParent {
            conversation,
            message,
            name: meta.agent_type.unwrap_or_else(|| "agent".to_owned()),
            run: run.to_owned(),
        };
        let id = format!("{main}/{RUN}{run}");
        Ok(ClaudeThread::new(SourceConversation {
            parent: Some(parent),
            ..SourceConversation::new(id, Time::default())
        }))
    }

    fn meta(&self) -> Result<RunDescription> {
        let text = folder::small_text(&self.path.with_extension("meta.json"), META_BYTES)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }
}

/// True for a line about the conversation, even if it has an id.
fn is_mark(line: &ClaudeLine<'_>) -> bool {
    const MARKS: [&str; 5] = ["custom-title", "ai-title", "summary", "last-prompt", "queue-operation"];
    MARKS.iter().any(|mark| line.is(mark))
}
