//! `session.json`, the metadata of a conversation.

use serde::Serialize;

use crate::formats::raw_object::RawObject;
use crate::formats::tag::{self, ConversationTag};
use crate::formats::{SourceConversation, SourceMessage};
use crate::model::{Conversation, Fields, Json, Status, Synopsis, Time};

/// The version that is written.
const VERSION: &str = "1.0";

/// The field of a header's `extra` with the program's name of the conversation.
pub(super) const OWN: &str = "cortext";

/// The file as it is written.
#[derive(Serialize)]
struct StateFile<'a> {
    version: &'a str,
    conversation_id: &'a str,
    conversation_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    status: Status,
    created_at: Time,
    last_active: Time,
    message_count: usize,
    agent_config: StateAgent<'a>,
    context_summary: &'a str,
    rejoin: ConversationTag,
}

#[derive(Serialize)]
struct StateAgent<'a> {
    command: &'a str,
    system_prompt_hash: &'a str,
    model: &'a str,
    tools: &'a [String],
}

/// Returns the text of the file.
pub(super) fn write(conversation: &SourceConversation, name: &str, path: &[&SourceMessage]) -> String {
    let (header, created_at) = (&conversation.header, conversation.created_at);
    let settings = &header.settings;
    let mut tag = ConversationTag::of(conversation);
    tag.header.project = None;
    let state = StateFile {
        version: VERSION,
        conversation_id: name,
        conversation_type: &header.kind,
        title: header.title.as_deref(),
        status: header.status,
        created_at,
        last_active: path.iter().rev().find_map(|found| found.message.created_at).unwrap_or(created_at),
        message_count: path.len(),
        agent_config: StateAgent {
            command: settings.command.as_deref().unwrap_or_default(),
            system_prompt_hash: settings.prompt_hash.as_deref().unwrap_or_default(),
            model: settings.model.as_deref().unwrap_or_default(),
            tools: &settings.tools,
        },
        context_summary: header.synopsis.as_ref().map_or("", |synopsis| &synopsis.text),
        rejoin: tag,
    };
    let mut text = serde_json::to_string_pretty(&state).expect("a session is plain data");
    text.push('\n');
    text
}

/// The contents of a state file.
pub(super) struct SessionState {
    pub(super) conversation: SourceConversation,
    /// When it began; may be missing.
    pub(super) created: Option<Time>,
    /// True when Rejoin wrote it.
    pub(super) is_own: bool,
    /// Its text, without what changes with every message and what Rejoin wrote.
    pub(super) rest: String,
}

/// Parses the file, as far as possible.
pub(super) fn read(text: &str) -> Option<SessionState> {
    let mut found: RawObject<'_> = serde_json::from_str(text).ok()?;
    let time = |raw: Option<&serde_json::value::RawValue>| tag::read::<Time>(raw);
    let created = time(found.raw("created_at"));
    let last_active = time(found.raw("last_active"));
    let tagged: Option<ConversationTag> = tag::read(found.raw(tag::FIELD));
    let is_own = tagged.is_some();
    let name = found.text("conversation_id").filter(|name| !name.is_empty());
    let (mut conversation, created) = match tagged {
        Some(tagged) => {
            let conversation = tagged.into_conversation();
            let created = conversation.created_at;
            (conversation, Some(created))
        }
        None => {
            (SourceConversation::new(name.clone().unwrap_or_default(), created.unwrap_or_default()), created)
        }
    };
    if let (false, Some(name)) = (is_own, name) {
        let mut own = Fields::new();
        own.set("conversation_id", Json::of(&name).expect("a text is JSON"));
        conversation.header.extra.set(OWN, Json::of(&own).expect("fields are JSON"));
    }
    // The program continues the session and updates it.
    take(&mut conversation.header, &mut found, last_active.or(created).unwrap_or_default());
    let mut rest = found.all();
    [tag::FIELD, "last_active", "message_count"].iter().for_each(|name| drop(rest.remove(name)));
    let rest = Json::of(&rest).expect("fields are JSON").as_str().to_owned();
    Some(SessionState { conversation, created, is_own, rest })
}

fn take(header: &mut Conversation, found: &mut RawObject<'_>, now: Time) {
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    if let Some(kind) = said(found.text("conversation_type")) {
        header.kind = kind;
    }
    if let Some(status) = found.text("status").and_then(|status| status.parse().ok()) {
        header.status = status;
    }
    if let Some(title) = said(found.text("title")) {
        header.title = Some(title);
    }
    let summary = said(found.text("context_summary"));
    if let Some(text) = summary
        && header.synopsis.as_ref().is_none_or(|synopsis| synopsis.text != text)
    {
        header.synopsis = Some(Synopsis { text, updated_at: now, ..Synopsis::default() });
    }
    let agent =
        found.raw("agent_config").and_then(|raw| serde_json::from_str::<RawObject<'_>>(raw.get()).ok());
    let Some(mut agent) = agent else { return };
    let settings = &mut header.settings;
    let learn = |own: &mut Option<String>, text: Option<String>| {
        if let Some(text) = said(text) {
            *own = Some(text);
        }
    };
    learn(&mut settings.command, agent.text("command"));
    learn(&mut settings.prompt_hash, agent.text("system_prompt_hash"));
    learn(&mut settings.model, agent.text("model"));
    if let Some(tools) = tag::read::<Vec<String>>(agent.raw("tools")) {
        settings.tools = tools;
    }
}
