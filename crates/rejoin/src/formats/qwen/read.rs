//! Reads a session: every line with a message becomes one.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::formats::gemini::parts::parts;
use crate::formats::lineage::Lineage;
use crate::formats::lines::{SourceLine, SourceLines};
use crate::formats::qwen::line::QwenLine;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{INJECTED, Reading, Source, SourceConversation};
use crate::model::{Block, Json, Message, Role, Time, Usage};

/// The provenance of the user's own messages.
const PERSON: &str = "real_user";

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let conversation = SourceConversation::new(source.stem(), Time::default());
    let mut session = QwenThread {
        stem: source.stem(),
        thread: ThreadBuilder::new(conversation),
        is_begun: false,
        lineage: Lineage::default(),
    };
    let mut lines = SourceLines::open(source.path(), reading)?;
    while lines.advance(reading)? {
        let taken = match lines.parse() {
            Ok(line) => session.line(line, lines.current(), reading),
            Err(why) => Err(Error::invalid(why)),
        };
        match taken {
            Err(error) if error.kind() == crate::ErrorKind::Invalid => {
                reading.skip(source.path(), lines.number(), error)?;
            }
            taken => taken?,
        }
    }
    session.thread.finish(None, reading)
}

/// A session while its lines are read.
struct QwenThread<'a> {
    stem: &'a str,
    thread: ThreadBuilder,
    /// True once a line has given the session its id.
    is_begun: bool,
    lineage: Lineage,
}

impl QwenThread<'_> {
    fn line(&mut self, mut line: QwenLine<'_>, at: SourceLine<'_>, reading: &mut Reading<'_>) -> Result<()> {
        self.update_conversation(&line);
        let Some(id) = line.uuid.take() else { return self.thread.aside(at.number, at.text, reading) };
        let message = if line.says_something() { said(&line, &id).transpose() } else { None };
        let Some(message) = message else {
            self.lineage.skip(id, line.parent_uuid.as_deref());
            return self.thread.aside(at.number, at.text, reading);
        };
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                self.lineage.skip(id, line.parent_uuid.as_deref());
                return Err(error);
            }
        };
        self.lineage.add(&id);
        let parent = line.parent_uuid.as_deref().and_then(|parent| self.lineage.nearest_message(parent));
        let message = self.thread.message(id, parent.map(str::to_owned), message).at(at);
        self.thread.add(message, reading)
    }

    /// Records what a line says about the session.
    fn update_conversation(&mut self, line: &QwenLine<'_>) {
        let conversation = &mut self.thread.conversation;
        if !self.is_begun
            && let Some(time) = line.time()
        {
            self.is_begun = true;
            conversation.created_at = time;
            let is_uuid = uuid::Uuid::try_parse(self.stem).is_ok();
            if let Some(named) = line.session_id.clone().filter(|_| !is_uuid) {
                conversation.id = named;
            }
        }
        let header = &mut conversation.header;
        if header.project.is_none() {
            header.project.clone_from(&line.cwd);
        }
        if line.model.is_some() {
            header.settings.model.clone_from(&line.model);
        }
    }
}

/// Returns the message of a line.
fn said(line: &QwenLine<'_>, id: &str) -> Result<Option<Message>> {
    let Some(said) = &line.message else { return Ok(None) };
    let found = said.parts.ok_or_else(|| Error::invalid("its message has no parts"))?;
    let blocks = parts(found, id);
    let has_results = blocks.iter().any(|block| matches!(block, Block::ToolResult(_)));
    let role = match line.kind.as_deref() {
        Some("assistant") => Role::Assistant,
        _ if has_results => Role::Tool,
        _ => Role::User,
    };
    let mut message = Message::new(role, blocks);
    message.created_at = line.time();
    if let Some(model) = &line.model {
        message.extra.set("model", Json::of(model)?);
    }
    message.usage = line.usage_metadata.and_then(usage);
    let is_injected = line.provenance.as_deref().is_some_and(|provenance| provenance != PERSON);
    if role == Role::User && line.is("user") && is_injected {
        message.extra.set(INJECTED, Json::of(&true)?);
    }
    Ok(Some(message))
}

fn usage(found: &RawValue) -> Option<Usage> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Tokens {
        prompt_token_count: u64,
        candidates_token_count: u64,
        thoughts_token_count: u64,
    }
    let read: Tokens = serde_json::from_str(found.get()).ok()?;
    Some(Usage {
        input_tokens: read.prompt_token_count,
        output_tokens: read.candidates_token_count.saturating_add(read.thoughts_token_count),
        detail: Some(Json::from_raw(found)),
    })
}
