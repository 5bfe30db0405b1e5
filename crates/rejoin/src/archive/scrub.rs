//! Taking secrets out of what is stored already, with an entry in the audit log.

use std::sync::OnceLock;

use serde_json::json;

use crate::archive::audit::{AuditAction, AuditEntry};
use crate::archive::{Archive, ArchiveRemoval};
use crate::error::Result;
use crate::model::{ConversationId, Json};
use crate::ops::{HashKey, Redaction, Redactor, ScrubMode, Scrubbed, scrub_conversation, scrub_state};

/// Why something was scrubbed, as the audit log tells it.
const REASON: &str = "user-requested";

impl ArchiveRemoval<'_> {
    /// Finds secrets that one conversation holds already, and takes them out if that is asked for: on every
    /// branch, in what tools were given and answered, thinking, summaries, titles, synopses, labels, replies
    /// that were not finished, attachments that are text, and what imported messages were read from.
    ///
    /// A message that changes gets another digest, and so does all that follows it. The audit log tells the
    /// rules, counts and digests. The rules are those of [`Archive::with_redaction`], or the usual ones. In a
    /// vault, a conversation that changed is sealed with a new key and the keys are rotated, so that what a
    /// disk keeps of it does not open. What was replaced is erased from the files of the store before this
    /// returns, unless somebody reads them: [`Scrubbed::has_traces`].
    pub fn scrub(&self, id: ConversationId, mode: ScrubMode) -> Result<Scrubbed> {
        let mut done = None;
        let is_erased = self.scrub_each(&[id], mode, &mut |_, scrubbed| done = Some(scrubbed));
        let scrubbed = done.expect("each conversation is told")?;
        Ok(Scrubbed { has_traces: !is_erased, ..scrubbed })
    }

    /// The same for several conversations: a vault's keys are rotated once, and traces erased once,
    /// for all of them. `told` gets what became of each. False when somebody reads the files, so
    /// that they still hold what was replaced.
    pub fn scrub_each(
        &self,
        ids: &[ConversationId],
        mode: ScrubMode,
        told: &mut dyn FnMut(ConversationId, Result<Scrubbed>),
    ) -> bool {
        let mut has_begun = false;
        for id in ids {
            let scrubbed = self.archive.scrub_one(*id, mode, &mut has_begun);
            told(*id, scrubbed.map_err(|error| error.during(format!("scrub conversation `{id}`"))));
        }
        !has_begun || self.archive.leave_nothing()
    }

    /// The same for what programs remember that belongs to no conversation.
    pub fn scrub_state(&self, mode: ScrubMode) -> Result<Scrubbed> {
        let mut has_begun = false;
        let scrubbed = self.archive.scrubbing(mode, |redactor| {
            scrub_state(self.archive.store(), redactor, mode, &mut || {
                self.archive.begin_scrub(&mut has_begun);
            })
        })?;
        self.archive.note_scrub(AuditEntry::new(AuditAction::Scrubbed, REASON), &scrubbed, mode);
        let is_erased = !has_begun || self.archive.leave_nothing();
        Ok(Scrubbed { has_traces: !is_erased, ..scrubbed })
    }
}

impl Archive {
    fn scrub_one(&self, id: ConversationId, mode: ScrubMode, has_begun: &mut bool) -> Result<Scrubbed> {
        // One whose scrub was cut off is clean by now, and sealed with the old key.
        let mut needs_key = mode == ScrubMode::Replace && self.needs_new_key(id)?;
        *has_begun |= needs_key;
        let how = (self.limits.attachment_chunk_bytes, self.now());
        let scrubbed = self.scrubbing(mode, |redactor| {
            scrub_conversation(self.store(), redactor, id, mode, how, &mut || {
                self.begin_scrub(has_begun);
                needs_key = true;
                self.expect_new_key_of(id)
            })
        });
        let renewed = if needs_key { self.renew_key_of(id) } else { Ok(()) };
        let scrubbed = scrubbed?;
        self.note_scrub(AuditEntry::new(AuditAction::Scrubbed, REASON).to(id), &scrubbed, mode);
        renewed.map(|()| scrubbed)
    }

    /// Remembers what has to be done in the end, before anything is changed: a
    /// scrub that is cut off is made up for.
    fn begin_scrub(&self, has_begun: &mut bool) {
        if !*has_begun {
            self.expect_new_keys();
            self.expect_erasing();
            *has_begun = true;
        }
    }

    /// Replaces keys and erases what was replaced from the files of the store;
    /// true when they hold nothing of it.
    fn leave_nothing(&self) -> bool {
        self.renew_keys(REASON);
        self.erase_traces().unwrap_or_else(|error| {
            tracing::warn!(kind = error.kind().as_str(), "what was scrubbed could not be erased");
            false
        })
    }

    fn scrubbing<T>(&self, mode: ScrubMode, work: impl FnOnce(&Redactor<'_>) -> Result<T>) -> Result<T> {
        let (usual, key) = (Redaction::new(), OnceLock::new());
        if mode == ScrubMode::Look {
            // Whoever only looks writes nothing, so the store's own key is not made either.
            let mut random = [0; 32];
            self.nature.fill(&mut random);
            key.get_or_init(|| HashKey::new(random));
        }
        match self.redactor() {
            Some(own) if mode == ScrubMode::Replace => work(&own),
            own => {
                let rules = own.map_or(&usual, |_| self.redaction_rules().unwrap_or(&usual));
                work(&self.redactor_with(rules, &key))
            }
        }
    }

    fn note_scrub(&self, mut entry: AuditEntry, scrubbed: &Scrubbed, mode: ScrubMode) {
        if !is_changed(scrubbed, mode) {
            return;
        }
        let digests: Vec<_> = scrubbed
            .heads
            .iter()
            .map(|head| json!({"message": head.message, "before": head.before, "after": head.after}))
            .collect();
        entry.messages = scrubbed.rewritten;
        let mut entry = entry.ruled(&scrubbed.rules());
        self.note_done(AuditEntry { action: AuditAction::Redacted, ..entry.clone() });
        entry.extra.set("digests", Json::of(&digests).expect("ids and digests are JSON"));
        self.note_done(entry);
    }
}

fn is_changed(scrubbed: &Scrubbed, mode: ScrubMode) -> bool {
    mode == ScrubMode::Replace && !scrubbed.is_clean()
}
