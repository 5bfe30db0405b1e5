//! A talk that is kept in a real archive, and taken up again as a new process would.

use std::sync::Arc;

use rejoin::{Archive, AsyncRecorder, Conversation, ConversationId, Json, Message};
use rejoin_agent::{
    Ended, History, Output, Plan, Prepared, Provider, Result, Subject, Talk, Tool, ToolSpec, Toolbox,
};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A conversation in an archive of its own.
#[derive(Debug)]
pub(crate) struct Kept {
    directory: TempDir,
    conversation: Option<ConversationId>,
}

impl Kept {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), conversation: None }
    }

    /// Opens the archive, reads what was said, says something, and closes everything again.
    pub(crate) async fn turn(&mut self, provider: impl Provider + 'static, text: &str) -> Result<Ended> {
        let url = format!("sqlite:{}", self.directory.path().join("a.db").display());
        let archive = Archive::open(&url).unwrap();
        let handle = match self.conversation {
            Some(id) => archive.resume(id).unwrap(),
            None => archive.start(Conversation::new()).unwrap(),
        };
        let id = handle.id();
        self.conversation = Some(id);
        let history = History::load(&handle).unwrap();
        let recording = AsyncRecorder::start(archive.record(handle, "1@1"));
        let mut talk = Talk::new(Arc::new(provider), "model-1", recording, history)
            .with_system("be kind")
            .with_tools(Toolbox::default().with(Arc::new(Read::default())));
        let (events, _heard) = mpsc::unbounded_channel();
        talk.turn(Message::user(text), &events).await
    }
}

/// A tool that knows one file.
#[derive(Debug)]
pub(crate) struct Read(ToolSpec);

impl Default for Read {
    fn default() -> Self {
        Self(read_spec())
    }
}

/// The tool as a model sees it.
pub(crate) fn read_spec() -> ToolSpec {
    ToolSpec {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: Json::parse(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#).unwrap(),
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(&self, input: &Json) -> Result<Prepared> {
        let (summary, rule) = ("Read a file".to_owned(), "read".to_owned());
        let plan = Plan { summary, detail: None, rule, is_harmless: true };
        let is_known = input.as_str().contains("a.txt");
        let output = if is_known { Output::text("green") } else { Output::failure("there is no such file") };
        Ok(Prepared::new(plan, Subject::Tool("read".to_owned()), async move { output }))
    }
}
