//! A message of a source as it is stored: without its secrets, and with what it was read from.

use std::borrow::Cow;

use crate::error::Result;
use crate::formats::{KEPT_AFTER, SOURCE, SourceKept, SourceMessage, in_progress};
use crate::model::{Block, Json, Message, Summary};
use crate::ops::import::growing::Growing;
use crate::ops::import::names;
use crate::ops::prepare::Encoded;
use crate::ops::redact::RedactionTally;
use crate::ops::sources::source_hash;
use crate::ops::view::{Compaction, KeptMessage, KeptPlace};

/// A message that is ready to be stored.
pub(super) struct ImportReady {
    pub(super) stored: Encoded<'static>,
    /// What it was read from without its secrets, if that had some.
    pub(super) line: Option<String>,
}

impl Growing<'_> {
    /// Gives a message what it lacks at its source: a time, and the ids here of what it keeps.
    pub(super) fn complete(&mut self, found: &mut SourceMessage) -> Result<()> {
        let message = &mut found.message;
        self.time = *message.created_at.get_or_insert(self.time);
        message.label.as_mut().map(names::cut);
        // What Rejoin wrote has everything in it, and its digest is known.
        if self.format.is_own() && found.keeps.is_empty() {
            return Ok(());
        }
        for block in &mut message.blocks {
            if let Block::Summary(summary) = block {
                self.keep(summary, &found.keeps)?;
            }
        }
        Ok(())
    }

    /// Notes in a message what it was read from.
    pub(super) fn note_source(&self, found: &mut SourceMessage, hash: &str) -> Result<()> {
        if !self.format.is_own() || !found.keeps.is_empty() {
            let noted = in_progress::provenance(&found.message, &found.id, hash);
            found.message.extra.set(SOURCE, Json::of(&noted)?);
        }
        Ok(())
    }

    /// Makes a message ready to be stored. This is where secrets are taken out
    /// of it and of what it was read from.
    pub(super) fn ready(&self, found: &mut SourceMessage) -> Result<ImportReady> {
        let line = self.redacted(&found.source);
        self.note_source(found, &source_hash(line.as_deref().unwrap_or(&found.source)))?;
        let nothing = Message::new(found.message.role, Vec::new());
        let message = std::mem::replace(&mut found.message, nothing);
        Ok(ImportReady { stored: Encoded::of(Cow::Owned(message), self.into.redactor.as_ref()), line })
    }

    /// Writes down what a compaction keeps, by the ids here.
    fn keep(&self, summary: &mut Summary, keeps: &[SourceKept]) -> Result<()> {
        let number = |name: &str| summary.extra.field(name).and_then(|tokens| tokens.to().ok()).unwrap_or(0);
        let kept = keeps.iter();
        let kept = kept
            .map(|kept| KeptMessage { message: self.name(&kept.message), text: kept.text.clone() })
            .collect();
        let is_after = summary.extra.field(KEPT_AFTER).is_some();
        let place = if is_after { KeptPlace::AfterSummary } else { KeptPlace::BeforeSummary };
        let compaction = Compaction {
            kept,
            place,
            tokens_before: number("tokens_before"),
            tokens_after: number("tokens_after"),
            ..Compaction::default()
        };
        for block in compaction.to_message("")?.blocks {
            if let Block::Summary(written) = block {
                written.extra.iter().for_each(|(name, value)| summary.extra.set(name, value.clone()));
            }
        }
        Ok(())
    }

    /// A line of the source as it is stored.
    pub(super) fn redacted_line<'s>(&self, line: &'s str) -> Cow<'s, str> {
        self.redacted(line).map_or(Cow::Borrowed(line), Cow::Owned)
    }

    /// A line of the source without its secrets; none when it has none.
    fn redacted(&self, line: &str) -> Option<String> {
        self.into.redactor.and_then(|redactor| redactor.line(line, &mut RedactionTally::default()))
    }
}
