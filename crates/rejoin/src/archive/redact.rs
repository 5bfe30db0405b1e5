//! What the archive takes out of everything before it is stored.

use std::borrow::Cow;
#[cfg(feature = "redact")]
use std::sync::{Arc, OnceLock};

use crate::archive::{Archive, ArchiveRedaction};
use crate::error::Result;
use crate::model::{Block, Conversation, Json, Message};
#[cfg(feature = "redact")]
use crate::ops::HashKey;
use crate::ops::{Redaction, RedactionTally, Redactor, redacted};

/// The field that marks thinking which is still arriving.
const THINKING_COMPLETE: &str = "isThinkingComplete";

/// How an archive redacts.
#[derive(Debug)]
pub(super) struct Redacting {
    redaction: Redaction,
    /// The store's key, once it was needed.
    #[cfg(feature = "redact")]
    key: OnceLock<HashKey>,
}

#[cfg(feature = "redact")]
impl Archive {
    /// Sets what is taken out of everything before it is stored: messages, replies that are arriving, titles,
    /// labels, what is remembered, and imports with what they were read from. Without this nothing is.
    ///
    /// Who hands a message over keeps it as it was; only what is stored is changed. The
    /// receipt tells which rules found something.
    #[must_use]
    pub fn with_redaction(mut self, redaction: Redaction) -> Self {
        self.redacting = Some(Arc::new(Redacting { redaction, key: OnceLock::new() }));
        self
    }

    /// Sets who keeps the key of the hashes in markers, outside of the store: `keep` is given a key and
    /// returns the one that is kept, which is the given one when there was none. A key that the store has
    /// goes there. It is called when the key is first needed; a vault has a key of its own.
    ///
    /// Without this the key of a plain store is in the store, so whoever has its
    /// files can try out telephone numbers.
    #[must_use]
    pub fn keeping_redaction_key(
        mut self,
        keep: impl Fn([u8; 32]) -> Result<[u8; 32]> + Send + Sync + 'static,
    ) -> Self {
        self.keep_key = Some(Arc::new(keep));
        self
    }

    /// What is taken out, if that was set.
    pub(super) fn redaction_rules(&self) -> Option<&Redaction> {
        self.redacting.as_ref().map(|redacting| &redacting.redaction)
    }

    pub(super) fn redactor_with<'a>(
        &'a self,
        redaction: &'a Redaction,
        key: &'a OnceLock<HashKey>,
    ) -> Redactor<'a> {
        if let Some(vault) = &self.vault {
            key.get_or_init(|| HashKey::new(vault.token_key()));
        }
        Redactor::new(redaction, key, self.store.as_ref(), self.nature.as_ref())
            .keeping_key(self.keep_key.as_deref())
    }

    pub(crate) fn redactor(&self) -> Option<Redactor<'_>> {
        let redacting = self.redacting.as_ref()?;
        Some(self.redactor_with(&redacting.redaction, &redacting.key))
    }
}

#[cfg(not(feature = "redact"))]
impl Archive {
    pub(crate) const fn redactor(&self) -> Option<Redactor<'_>> {
        None
    }
}

impl Archive {
    /// A short text, such as a title, as it is stored.
    pub(super) fn redacted_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let clean = self.redactor().and_then(|redactor| redactor.text(text, &mut RedactionTally::default()));
        clean.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// A name, such as the path of a project, as it is stored.
    pub(super) fn redacted_name<'t>(&self, name: &'t str) -> Cow<'t, str> {
        let clean = self.redactor().and_then(|redactor| redactor.name(name, &mut RedactionTally::default()));
        clean.map_or(Cow::Borrowed(name), Cow::Owned)
    }

    /// What a program wants to be remembered, as it is stored.
    pub(super) fn redacted_state<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let clean = self.redactor().and_then(|redactor| redactor.line(text, &mut RedactionTally::default()));
        clean.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// A header as it is stored.
    pub(super) fn redacted_header<'c>(&self, header: &'c Conversation) -> Cow<'c, Conversation> {
        let clean =
            self.redactor().and_then(|redactor| redactor.header(header, &mut RedactionTally::default()));
        clean.map_or(Cow::Borrowed(header), Cow::Owned)
    }

    /// What has arrived of a reply, as it is stored: without its end, where half a secret may stand.
    pub(super) fn redacted_partial<'m>(&self, partial: &'m Message) -> Cow<'m, Message> {
        let Some(redactor) = self.redactor() else { return Cow::Borrowed(partial) };
        let mut settled = partial.clone();
        // The last texts are read as one: a secret may begin in one block and end in the next.
        let last = settled.blocks.iter().rposition(|block| !matches!(block, Block::Text(_)));
        let (before, texts) = settled.blocks.split_at_mut(last.map_or(0, |last| last + 1));
        let last = before.len().saturating_sub(usize::from(texts.is_empty()));
        for (place, block) in before.iter_mut().enumerate() {
            match block {
                Block::Thinking(block) if place == last || is_arriving(&block.extra) => {
                    block.text.truncate(redactor.settled(&block.text));
                }
                _ => {}
            }
        }
        let joined: String = texts.iter().filter_map(Block::words).collect();
        let mut rest = redactor.settled(&joined);
        for block in texts {
            if let Block::Text(block) = block {
                let length = block.text.len();
                block.text.truncate(rest);
                rest = rest.saturating_sub(length);
            }
        }
        Cow::Owned(self.redaction().apply(&settled).unwrap_or(settled))
    }

    /// Results of tools, as they are stored.
    pub(super) fn redacted_results<'m>(&self, results: &'m [Message]) -> Cow<'m, [Message]> {
        if self.redacting.is_none() {
            return Cow::Borrowed(results);
        }
        results
            .iter()
            .map(|result| self.redaction().apply(result).unwrap_or_else(|| result.clone()))
            .collect()
    }
}

#[cfg(feature = "redact")]
impl ArchiveRedaction<'_> {
    /// True when the key of the hashes in markers lies in the store. That of a vault does not.
    pub fn holds_key(&self) -> Result<bool> {
        Ok(self.archive.vault.is_none() && HashKey::is_inside(self.archive.store())?)
    }

    /// Moves a key that the store holds to whoever keeps it, or erases it if another is kept there. Without
    /// this that is done when the key is next needed. Does nothing where nobody keeps it.
    pub fn move_key(&self) -> Result<()> {
        let Some(keep) = self.archive.keep_key.as_deref() else { return Ok(()) };
        if !self.holds_key()? {
            return Ok(());
        }
        let mut random = [0; 32];
        self.archive.nature.fill(&mut random);
        HashKey::outside(self.archive.store(), keep, random).map(drop)
    }
}

impl ArchiveRedaction<'_> {
    /// A message as it would be stored; none when that is what it is.
    pub fn apply(&self, message: &Message) -> Option<Message> {
        let clean = redacted(message, &message.to_body(), &self.archive.redactor()?)?;
        Some(clean.message.into_owned())
    }
}

fn is_arriving(extra: &crate::model::Fields) -> bool {
    extra.field(THINKING_COMPLETE).map(Json::as_str) == Some("false")
}
