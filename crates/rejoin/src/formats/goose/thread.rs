//! One session while its messages are read.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::error::Result;
use crate::formats::content::summarize_first_text;
use crate::formats::encoding::json_of;
use crate::formats::goose::content::{blocks, role_of};
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{INJECTED, Reading, SourceConversation, SourceMessage};
use crate::model::{Message, Role, Time};

/// One session while it is read.
pub(super) struct GooseThread {
    pub(super) thread: ThreadBuilder,
    /// How often an id was used; ids of goose may repeat.
    given: HashMap<String, u64>,
    /// The newest message, until the next one is known.
    waiting: Option<PendingMessage>,
}

/// A message that may turn out to be a summary.
struct PendingMessage {
    found: SourceMessage,
    sight: GooseVisibility,
    /// True when the previous message is hidden from the model.
    follows_hidden: bool,
}

/// Who sees a message.
#[derive(Clone, Copy, PartialEq, Eq)]
struct GooseVisibility {
    model: bool,
    person: bool,
}

/// A message in the form of goose.
pub(super) struct GooseMessage<'a> {
    pub(super) id: String,
    pub(super) role: &'a str,
    pub(super) contents: &'a str,
    pub(super) time: Option<Time>,
    pub(super) metadata: Option<Value>,
    pub(super) line: u64,
    pub(super) source: String,
}

impl GooseThread {
    /// Starts a session and announces it.
    pub(super) fn begin(conversation: SourceConversation, reading: &mut Reading<'_>) -> Result<Self> {
        let thread = ThreadBuilder::announced(conversation, reading)?;
        Ok(Self { thread, given: HashMap::new(), waiting: None })
    }

    /// Reads a message. Returns why it could not be read.
    pub(super) fn read_message(
        &mut self,
        kept: GooseMessage<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<Option<&'static str>> {
        let Some(blocks) = blocks(kept.contents) else { return Ok(Some("its contents are no list")) };
        let sight = GooseVisibility::of(kept.metadata.as_ref());
        let mut message = Message::new(role_of(kept.role, &blocks), blocks);
        message.created_at = kept.time;
        let is_reply = message.role == Role::Assistant;
        if is_reply && self.thread.conversation.header.settings.provider.as_deref() == Some("anthropic") {
            message.extra.set("api", json_of("anthropic"));
        }
        if is_reply && !sight.person {
            message.extra.set(INJECTED, json_of(true));
        }
        let id = self.unique_id(kept.id);
        if let Some(metadata) = kept.metadata.filter(|_| sight != GooseVisibility::ALL) {
            let source = json!({ "message_id": id, "metadata": metadata }).to_string();
            self.thread.aside(kept.line, source, reading)?;
        }
        let found = self.thread.next(id, message);
        let found = SourceMessage { line: kept.line, source: kept.source, ..found };
        let before = self.waiting.take();
        let follows_hidden = before.as_ref().is_some_and(|before| !before.sight.model);
        if let Some(before) = before {
            before.give(Some((sight, found.message.role)), &mut self.thread, reading)?;
        }
        self.waiting = Some(PendingMessage { found, sight, follows_hidden });
        Ok(None)
    }

    /// Completes the last message.
    pub(super) fn finish(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.waiting.take().map_or(Ok(()), |waiting| waiting.give(None, &mut self.thread, reading))
    }

    /// Makes an id unique in the session.
    fn unique_id(&mut self, id: String) -> String {
        let given = self.given.entry(id.clone()).or_default();
        *given += 1;
        if *given == 1 { id } else { format!("{id}/{given}") }
    }
}

impl GooseVisibility {
    const ALL: Self = Self { model: true, person: true };

    fn of(metadata: Option<&Value>) -> Self {
        let shown = |name: &str| {
            let value = metadata.and_then(|metadata| metadata.get(name));
            value.and_then(Value::as_bool).unwrap_or(true)
        };
        Self { model: shown("agentVisible"), person: shown("userVisible") }
    }
}

impl PendingMessage {
    /// Passes on the message. A prompt that is hidden from the user, after a message that is hidden from the
    /// model, is a summary if a reply follows that is also hidden from the user. A prompt that was merely
    /// hidden looks the same, but no such reply follows it.
    fn give(
        mut self,
        next: Option<(GooseVisibility, Role)>,
        thread: &mut ThreadBuilder,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let goes_on = next.is_some_and(|(sight, role)| !sight.person && role == Role::Assistant);
        let message = &mut self.found.message;
        if message.role == Role::User && !self.sight.person && self.follows_hidden && goes_on {
            summarize_first_text(message);
        }
        thread.add(self.found, reading)
    }
}
