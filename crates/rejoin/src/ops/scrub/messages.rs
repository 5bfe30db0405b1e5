//! The messages of a conversation without their secrets, and the digests that follow from it.

use std::collections::HashMap;

use serde_json::json;

use crate::error::Result;
use crate::model::{Digest, Json, Message, MessageId, Role, SOURCE, preview};
use crate::ops::prepare::redacted;
use crate::ops::redact::{RedactionTally, Redactor};
use crate::ops::scrub::attachments::Cleansed;
use crate::ops::scrub::blobs::Shelves;
use crate::ops::scrub::{Rechained, ScrubFindings, ScrubPlace};
use crate::store::{Order, Rewritten, Row, Seen, Selection, Store};

/// What becomes of the messages of a conversation.
#[derive(Debug, Default)]
pub(super) struct ScrubbedChain {
    /// In order of arrival, so that a parent comes before its children.
    pub(super) changed: Vec<ChangedMessage>,
    /// Messages whose labels change, with the label and whether they are pinned.
    pub(super) labels: Vec<(MessageId, String, bool)>,
    /// What a list shows from now on.
    pub(super) first: String,
    pub(super) last: String,
    shows_other: bool,
    /// The digest of every message as it was, and as it will be.
    links: HashMap<MessageId, (Digest, Digest)>,
}

/// A message that gets another body or digest.
#[derive(Debug)]
pub(super) struct ChangedMessage {
    id: MessageId,
    link: Digest,
    body: String,
}

/// A message while it is looked at.
struct ScrubbedMessage {
    /// What takes the place of its body; none when that stays.
    body: Option<String>,
    /// What lists may show of it, before and after: everything on one line, what its user said, and the reply
    /// with its mark.
    previews: Vec<(String, String)>,
    /// Who said it.
    role: Option<Role>,
    /// What a list shows of a conversation whose user says this first, as it is from now on.
    said_first: Option<String>,
}

impl ScrubbedChain {
    pub(super) fn of(
        store: &dyn Store,
        redactor: &Redactor<'_>,
        row: &Row,
        shelves: &Shelves,
        cleansed: &Cleansed,
        findings: &mut ScrubFindings,
    ) -> Result<Self> {
        let mut chain = Self::default();
        let (mut is_first_known, mut first, mut last) = (false, None, None);
        let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        store.read(row.id, all, &mut |seen| {
            let cleaned = clean(redactor, &seen, shelves.hash_of(seen.id), cleansed, findings)?;
            chain.label(redactor, &seen, findings);
            for (before, after) in cleaned.previews {
                is_first_known |= before == row.first;
                if before == row.last && cleaned.role == Some(Role::Assistant) {
                    last = Some(after);
                }
            }
            first = first.take().or(cleaned.said_first);
            chain.link(&seen, cleaned.body);
            Ok(())
        })?;
        let mut shown = |known: Option<String>, stored: &str| {
            let mut tally = RedactionTally::default();
            // What cannot be told whose it is is looked at by itself.
            let now = known.unwrap_or_else(|| stored.to_owned());
            let now = redactor.text(&now, &mut tally).unwrap_or(now);
            findings.add(ScrubPlace::Preview, None, &tally);
            now
        };
        chain.first = shown(first.filter(|_| is_first_known), &row.first);
        chain.last = shown(last, &row.last);
        chain.shows_other = (chain.first.as_str(), chain.last.as_str()) != (&row.first, &row.last);
        Ok(chain)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.labels.is_empty() && !self.shows_other
    }

    pub(super) fn rewritten(&self) -> Vec<Rewritten<'_>> {
        self.changed
            .iter()
            .map(|changed| Rewritten { id: changed.id, link: changed.link, body: &changed.body })
            .collect()
    }

    /// The digests of a message, if it gets another.
    pub(super) fn rechained(&self, message: MessageId) -> Option<Rechained> {
        let (before, after) = *self.links.get(&message)?;
        (before != after).then_some(Rechained { message, before, after })
    }

    fn label(&mut self, redactor: &Redactor<'_>, seen: &Seen<'_>, findings: &mut ScrubFindings) {
        let mut tally = RedactionTally::default();
        if let Some(label) = seen.note.label.and_then(|label| redactor.text(label, &mut tally)) {
            self.labels.push((seen.id, label, seen.note.is_pinned));
            findings.add(ScrubPlace::Label, Some(seen.id), &tally);
        }
    }

    /// Chains a message to what its parent will be.
    fn link(&mut self, seen: &Seen<'_>, body: Option<String>) {
        let (before, after) = match seen.parent.and_then(|parent| self.links.get(&parent)) {
            Some((before, after)) => (Some(*before), Some(*after)),
            None => (None, None),
        };
        let is_sound = Digest::chain(before, seen.body.as_bytes()) == seen.link;
        let link = match (is_sound, before == after) {
            (true, _) => Digest::chain(after, body.as_deref().unwrap_or(seen.body).as_bytes()),
            // What was damaged must not look sound because something else was scrubbed.
            (false, true) => seen.link,
            (false, false) => Digest::chain(Some(seen.link), b"damaged"),
        };
        self.links.insert(seen.id, (seen.link, link));
        if body.is_some() || link != seen.link {
            let body = body.unwrap_or_else(|| seen.body.to_owned());
            self.changed.push(ChangedMessage { id: seen.id, link, body });
        }
    }
}

/// A message without its secrets. `source` is the hash of what it was read from, if that changes.
fn clean(
    redactor: &Redactor<'_>,
    seen: &Seen<'_>,
    source: Option<&str>,
    cleansed: &Cleansed,
    findings: &mut ScrubFindings,
) -> Result<ScrubbedMessage> {
    let Ok(mut message) = Message::from_body(seen.body) else {
        let mut tally = RedactionTally::default();
        let body = redactor.line(seen.body, &mut tally);
        findings.add(ScrubPlace::Message, Some(seen.id), &tally);
        return Ok(ScrubbedMessage { body, previews: Vec::new(), role: None, said_first: None });
    };
    let (shown, role) = (previews_of(&message), Some(message.role));
    let mut body = None;
    if let Some(text) = source {
        name_source(&mut message, text)?;
        body = Some(message.to_body());
    }
    let attached = cleansed.apply(&mut message);
    if !attached.is_empty() {
        findings.add(ScrubPlace::Attachment, Some(seen.id), &attached);
        body = Some(message.to_body());
    }
    if let Some(found) = redacted(&message, body.as_deref().unwrap_or(seen.body), redactor) {
        findings.add(ScrubPlace::Message, Some(seen.id), &found.tally);
        let previews = shown.into_iter().zip(previews_of(&found.message)).collect();
        let said_first = found.message.first_preview();
        return Ok(ScrubbedMessage { body: Some(found.body), previews, role, said_first });
    }
    let said_first = message.first_preview();
    let previews = shown.clone().into_iter().zip(shown).collect();
    Ok(ScrubbedMessage { body, previews, role, said_first })
}

/// What lists may show of a message. Stores of earlier versions have the first.
fn previews_of(message: &Message) -> [String; 3] {
    let [first, last] = [message.first_preview(), message.last_preview()].map(Option::unwrap_or_default);
    [preview(&message.text()), first, last]
}

/// Says what a message was read from, as it is kept from now on: a hash of what
/// it was could be guessed against.
fn name_source(message: &mut Message, hash: &str) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Named {
        id: serde_json::Value,
    }
    let named = message.extra.field(SOURCE).and_then(|source| source.to::<Named>().ok());
    if let Some(Named { id }) = named {
        message.extra.set(SOURCE, Json::of(&json!({ "id": id, "text": hash }))?);
    }
    Ok(())
}
