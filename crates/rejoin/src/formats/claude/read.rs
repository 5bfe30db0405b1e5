//! Reads a session and the runs of sub-agents that belong to it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::Result;
use crate::formats::claude::calls::CallIndex;
use crate::formats::claude::line::ClaudeLine;
use crate::formats::claude::thread::ClaudeThread;
use crate::formats::lines::Lines;
use crate::formats::{Reading, Source, SourceConversation, SourceParent, folder};
use crate::model::Time;

/// A description of a run is a few fields; a larger file is something else.
const META_BYTES: u64 = 1 << 20;

/// Where the runs of a session are, beside its file.
const RUNS: &str = "subagents";

/// The beginning of a run's file name.
const RUN: &str = "agent-";

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let mut session = SessionFiles::default();
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

/// The file of the session that a run of a sub-agent belongs to, by the place of the run's file.
pub(super) fn session_of(source: &Source) -> Option<PathBuf> {
    let directory = source.path().parent()?;
    let is_run = source.stem().starts_with(RUN) && directory.file_name()? == RUNS;
    is_run.then(|| directory.parent().map(|session| session.with_extension("jsonl")))?
}

/// True for the description of a run.
pub(super) fn is_description(source: &Source) -> bool {
    source.path().to_str().is_some_and(|path| path.ends_with(".meta.json"))
}

/// The files of the runs of a session. Symbolic links are left alone.
fn runs_of(source: &Source) -> Result<Vec<PathBuf>> {
    let mut runs = folder::files(&source.path().with_extension("").join(RUNS))?;
    runs.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(RUN) && name.ends_with(".jsonl")
    });
    Ok(runs)
}

/// What is known across the files of a session.
#[derive(Default)]
struct SessionFiles {
    /// The conversation of the session itself.
    main: Option<String>,
    calls: CallIndex,
}

/// Says who a run is; it stands beside the run's file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RunDescription {
    agent_type: Option<String>,
    tool_use_id: Option<String>,
}

impl SessionFiles {
    /// Reads one file: a conversation, and those of sub-agents whose lines stand in the same file.
    fn read_file(&mut self, path: &Path, stem: &str, reading: &mut Reading<'_>) -> Result<()> {
        let mut file =
            SessionFile { stem, path, threads: Vec::new(), runs: HashMap::new(), places: HashMap::new() };
        let mut lines = Lines::open(path, reading)?;
        while lines.advance(reading)? {
            match lines.parse() {
                Ok(mut line) => file.line(self, &mut line, lines.number(), lines.text(), reading)?,
                Err(why) => reading.skip(path, lines.number(), why)?,
            }
        }
        for thread in file.threads {
            thread.finish(&mut self.calls, reading)?;
        }
        Ok(())
    }
}

/// What is known while one file is read.
struct SessionFile<'a> {
    stem: &'a str,
    path: &'a Path,
    /// The file's own conversation first, then those whose lines stand in between.
    threads: Vec<ClaudeThread>,
    /// Where each of the others is, by its id.
    runs: HashMap<String, usize>,
    /// Which of those a line belongs to, when it is not the first.
    places: HashMap<String, usize>,
}

impl SessionFile<'_> {
    fn line(
        &mut self,
        session: &mut SessionFiles,
        line: &mut ClaudeLine<'_>,
        number: u64,
        text: &str,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let place = self.place(session, line)?;
        let Some(uuid) = line.uuid.take().filter(|_| !is_mark(line)) else {
            return self.threads[place].mark(line, number, text, reading);
        };
        if place > 0 {
            self.places.insert(uuid.clone(), place);
        }
        let thread = &mut self.threads[place];
        if let Err(error) = thread.line(uuid.clone(), line, number, text, &mut session.calls, reading) {
            // What the reader could not take is told; what the taker refused ends the reading.
            if error.kind() != crate::ErrorKind::Invalid {
                return Err(error);
            }
            thread.pass_over(uuid, line.parent_uuid.as_deref());
            reading.skip(self.path, number, error)?;
        }
        thread.check(&mut session.calls, reading)
    }

    /// The thread of a line. A line of a sub-agent within another file has one of its own.
    fn place(&mut self, session: &mut SessionFiles, line: &ClaudeLine<'_>) -> Result<usize> {
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

    /// The conversation that the file is, from its name and its place, and the name in its first line.
    fn begin(&self, session: &mut SessionFiles, line: &ClaudeLine<'_>) -> Result<ClaudeThread> {
        let directory = self.path.parent().filter(|above| above.file_name().is_some_and(|name| name == RUNS));
        // Elsewhere a session may have been given any name, and says that it is none of a sub-agent.
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
        let caller = meta.tool_use_id.and_then(|call| session.calls.caller(&call));
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

/// True for a line that says something about the conversation, and may have an id all the same.
fn is_mark(line: &ClaudeLine<'_>) -> bool {
    const MARKS: [&str; 5] = ["custom-title", "ai-title", "summary", "last-prompt", "queue-operation"];
    MARKS.iter().any(|mark| line.is(mark))
}
