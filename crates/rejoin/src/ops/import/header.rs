//! What is known about an imported conversation besides its messages.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::{ErrorKind, Result};
use crate::formats::{Format, Source, SourceConversation};
use crate::model::{
    Conversation, ConversationId, Hold, Json, MessageId, Origin, Status, Time, begins_injected,
};
use crate::ops::import::growing::Above;
use crate::ops::import::names;
use crate::store::{Change, Facets, ListQuery, Row, Store};

/// The kind of a run of a sub-agent.
const SUBAGENT: &str = "subagent";

/// So often another may change the header while it is completed.
const ATTEMPTS: usize = 5;

/// The field that links a run of a sub-agent to what started it.
const PARENT: &str = "parent";

/// That link. Not every source tells the message.
#[derive(Serialize, Deserialize)]
struct ParentLink {
    conversation: ConversationId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<MessageId>,
}

/// The header as it is stored: held, at rest, and with where it came from.
///
/// A file decides neither how long it is kept, nor where it came from, nor what it
/// goes along with when that is purged.
pub(super) fn header_of(
    found: &SourceConversation,
    format: &'static Format,
    source: &Source,
    above: Option<&Above>,
    now: Time,
) -> Result<Conversation> {
    let mut header = found.header.clone();
    if header.status == Status::Active {
        header.status = Status::Paused;
    }
    // What the program put before the first prompt says nothing about the conversation.
    header.title = header.title.filter(|title| !begins_injected(title));
    header.hold = Hold::Import;
    header.follows_retention = false;
    header.expires_at = header.expires_at.filter(|expires| *expires > now);
    if let Some(synopsis) = &mut header.synopsis {
        // One that is newer than everything is never written anew.
        synopsis.updated_at = synopsis.updated_at.min(now);
    }
    header.origin = Some(origin_of(found, format, source, now));
    header.extra.remove(PARENT);
    if let Some(parent) = found.parent.as_ref().filter(|_| header.extra.field(SUBAGENT).is_none()) {
        header.kind = SUBAGENT.to_owned();
        let (mut name, mut run) = (parent.name.clone(), parent.run.clone());
        [&mut name, &mut run].into_iter().for_each(names::cut);
        header.title = Some(format!("{SUBAGENT}:{name}:{run}"));
        header.title.as_mut().map(names::cut);
        header.extra.set(SUBAGENT, Json::of(&json!({ "name": name, "run_id": run }))?);
    }
    if let Some(Above { conversation, message }) = above {
        let link = ParentLink { conversation: *conversation, message: *message };
        header.extra.set(PARENT, Json::of(&link)?);
    }
    Ok(header)
}

/// Where it came from. What another program's file became here once is still called after it in a file of
/// ours, but that file is where it was read.
fn origin_of(found: &SourceConversation, format: &'static Format, source: &Source, now: Time) -> Origin {
    let said = found.header.origin.as_ref().filter(|_| format.is_own());
    let mut source_id = said.map_or_else(|| found.id.clone(), |said| said.source_id.clone());
    names::cut(&mut source_id);
    Origin {
        format: said.map_or_else(|| format.name.to_owned(), |said| said.format.clone()),
        read_as: said.map(|_| format.name.to_owned()),
        source_id,
        source_path: Some(source.path().to_string_lossy().into_owned()),
        imported_at: now,
    }
}

/// True when a link is missing, or only its message, which the other one tells.
fn lacks(own: Option<&Json>, other: &Json) -> bool {
    let Some(own) = own else { return true };
    let (Ok(own), Ok(other)) = (own.to::<ParentLink>(), other.to::<ParentLink>()) else { return false };
    own.message.is_none() && other.message.is_some() && own.conversation == other.conversation
}

/// The conversation as the store has it.
pub(super) fn row_of(store: &dyn Store, id: ConversationId) -> Result<Option<Row>> {
    let query = ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() };
    Ok(store.list(&query)?.items.pop())
}

/// Gives a conversation that was there before what it lacked then: a title, a project, a parent.
pub(super) fn complete(store: &dyn Store, id: ConversationId, found: &Conversation, now: Time) -> Result<()> {
    for attempt in 1..=ATTEMPTS {
        let Some(row) = row_of(store, id)? else { return Ok(()) };
        let before = Conversation::from_header(&row.header)?;
        let mut header = before.clone();
        if header.title.is_none() {
            header.title.clone_from(&found.title);
        }
        if header.project.is_none() {
            header.project.clone_from(&found.project);
        }
        if let Some(parent) = found.extra.field(PARENT)
            && lacks(header.extra.field(PARENT), parent)
        {
            header.extra.set(PARENT, parent.clone());
        }
        if header == before {
            return Ok(());
        }
        let (facets, bytes) = (Facets::of(&header), header.to_header());
        let change = Change::Header { facets: &facets, header: &bytes };
        match store.amend(id, Some(row.version), &change, now) {
            Err(error) if error.kind() == ErrorKind::Conflict && attempt < ATTEMPTS => {}
            outcome => return outcome.map(drop),
        }
    }
    Ok(())
}
