//! Changing what is known about a conversation, and removing.

use crate::error::{Error, Result};
use crate::model::{Branch, ConversationId, MessageId, Time};
use crate::store::vault::VaultStore;
use crate::store::vault::changes::SealedReason;
use crate::store::vault::message::SealedNote;
use crate::store::vault::row::{SealedHeader, TIP_NAME, seal_branch, seal_tip};
use crate::store::{Change, Facets, Note, Outcome, Put, Safety, Space, Target, Version};

impl VaultStore {
    pub(super) fn amend_sealed(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        change: &Change<'_>,
        at: Time,
    ) -> Result<Version> {
        self.refuse_unnamed(id)?;
        let workspace = self.held.workspace();
        let names = workspace.names();
        let (inner, at) = (names.conversation(id), names.time(at));
        let message = |message: MessageId| names.message(inner, message);
        let amend = |change: &Change<'_>, named: &[MessageId]| {
            let amended = self.inner.amend(inner, expected, change, at);
            amended.map_err(|error| self.renamed(error, id, named))
        };
        change.check()?;
        let (held, keys) = match change {
            Change::Rewrite { messages, tip } => {
                return self.rewrite_sealed(id, expected, messages, *tip, at);
            }
            Change::Head(head) => {
                return amend(&Change::Head(head.map(message)), &head.iter().copied().collect::<Vec<_>>());
            }
            Change::Unbranch(branch) => return amend(&Change::Unbranch(names.branch(inner, *branch)), &[]),
            Change::Header { .. } | Change::Note(..) | Change::Branch(_) => {
                (self.held.hold()?, self.keys_of(Some(id), Some(inner))?)
            }
        };
        let key = keys.newest();
        let version = match change {
            Change::Header { facets, header } => {
                let Some(known) = self.row_now(inner)? else {
                    return Err(Error::not_found(format!("there is no conversation `{id}`")));
                };
                let header = SealedHeader::new(id, known.row.created, facets, header).seal(key, inner);
                amend(&Change::Header { facets: &Facets::default(), header: &header }, &[])
            }
            Change::Note(own, note) => {
                let label = SealedNote::seal(note, key, inner, message(*own));
                let note = Note { label: label.as_deref(), is_pinned: false };
                amend(&Change::Note(message(*own), note), &[*own])
            }
            Change::Branch(branch) => {
                let name = names.branch(inner, branch.id);
                let title = seal_branch(branch, key, inner, name);
                let sealed = Branch { id: name, title, head: message(branch.head) };
                amend(&Change::Branch(&sealed), &[branch.head])
            }
            Change::Head(_) | Change::Unbranch(_) | Change::Rewrite { .. } => {
                unreachable!("they were answered above")
            }
        }?;
        self.held.confirm([(Some(inner), keys.as_ref())], held)?;
        Ok(version)
    }

    pub(super) fn remove_sealed(
        &self,
        targets: &[Target<'_>],
        reason: &str,
        at: Time,
    ) -> Result<Vec<Outcome>> {
        let workspace = self.held.workspace();
        let names = workspace.names();
        let conversation = |target: &Target<'_>| match target {
            Target::Conversation(id) => *id,
            Target::Messages { conversation, .. } => *conversation,
        };
        let conversations: Vec<ConversationId> = targets.iter().map(conversation).collect();
        let named: Vec<Vec<MessageId>> = targets
            .iter()
            .map(|target| match target {
                Target::Conversation(_) => Vec::new(),
                Target::Messages { conversation, ids, .. } => {
                    let inner = names.conversation(*conversation);
                    ids.iter().map(|id| names.message(inner, *id)).collect()
                }
            })
            .collect();
        let inner: Vec<Target<'_>> = targets
            .iter()
            .zip(&named)
            .map(|(target, ids)| match target {
                Target::Conversation(id) => Target::Conversation(self.removable(*id)),
                Target::Messages { conversation, children, .. } => Target::Messages {
                    conversation: names.conversation(*conversation),
                    ids,
                    children: *children,
                },
            })
            .collect();
        self.keep_activity(&inner)?;
        let sealed = SealedReason { reason: reason.to_owned(), conversations: conversations.clone() };
        let sealed = sealed.seal(workspace.reasons());
        let outcomes = self
            .inner
            .remove(&inner, &sealed, names.time(at))
            .map_err(|error| conversations.iter().fold(error, |error, id| self.renamed(error, *id, &[])))?;
        let mut answers = Vec::with_capacity(outcomes.len());
        let mut gone = Vec::new();
        for ((target, inner), outcome) in targets.iter().zip(&inner).zip(outcomes) {
            match (inner, &outcome) {
                (Target::Conversation(inner), _) => {
                    self.held.forget(Some(*inner));
                    self.newest().remove(inner);
                    gone.push(*inner);
                }
                // The words of what was removed must not stay. Should they, because of a crash here, the log of changes
                // shows whoever fills the index that the conversation has to be looked at.
                (Target::Messages { conversation, .. }, Outcome::Removed { messages: 1.., .. }) => {
                    self.forget_segments(*conversation)?;
                }
                (Target::Messages { .. }, _) => {}
            }
            answers.push(match outcome {
                Outcome::HasChildren(inner) => {
                    Outcome::HasChildren(outer_message(target, inner, |conversation, id| {
                        names.message(names.conversation(conversation), id)
                    }))
                }
                other @ (Outcome::Removed { .. } | Outcome::NotFound) => other,
            });
        }
        if !gone.is_empty()
            && let Err(error) = self.forget_quarantined(&gone)
        {
            // What was asked for is done.
            tracing::warn!(kind = error.kind().as_str(), "what was quarantined of it was not erased");
        }
        Ok(answers)
    }

    /// The inner name of a conversation to remove. One whose header does not open is asked for by it.
    fn removable(&self, id: ConversationId) -> ConversationId {
        match self.refuse_unnamed(id) {
            Ok(()) => self.held.workspace().names().conversation(id),
            Err(_) => id,
        }
    }

    /// Stores the time of last activity of conversations that lose messages. The last preview, which holds it, goes with them.
    ///
    /// It comes first: a crash in between leaves a time that is right.
    pub(super) fn keep_activity(&self, inner: &[Target<'_>]) -> Result<()> {
        let _held = self.held.hold()?;
        let mut tips = Vec::new();
        for target in inner {
            let Target::Messages { conversation: inner, .. } = target else { continue };
            let Some(known) = self.row_now(*inner)? else { continue };
            let keys = self.keys_of(Some(known.row.id), Some(*inner))?;
            tips.push((*inner, seal_tip(known.row.active, keys.newest(), *inner)));
        }
        let puts: Vec<Put<'_>> = tips
            .iter()
            .map(|(inner, tip)| Put {
                space: Space::Key,
                owner: Some(*inner),
                name: TIP_NAME,
                bytes: Some(tip),
            })
            .collect();
        if puts.is_empty() { Ok(()) } else { self.inner.put(&puts, Safety::Synced) }
    }
}

/// Which message of a target has this inner name.
fn outer_message(
    target: &Target<'_>,
    inner: MessageId,
    name: impl Fn(ConversationId, MessageId) -> MessageId,
) -> MessageId {
    match target {
        Target::Messages { conversation, ids, .. } => {
            ids.iter().copied().find(|id| name(*conversation, *id) == inner).unwrap_or(inner)
        }
        Target::Conversation(_) => inner,
    }
}
