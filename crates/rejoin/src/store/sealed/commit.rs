//! Commits: a decided batch is encrypted within the same commit, with the keys of its snapshot, so that no
//! key can vanish in between.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use crate::error::{ErrorKind, Result};
use crate::model::{Branch, ConversationId, Digest, Head, MessageId, Time};
use crate::store::backend::{
    Amend, Amendment, Append, Backend as _, Batch, CommitHint, Decide, DecideEach, Edit, LogEntry, NewBody,
    NewMessage, Node, Presence, Removal, Rows, State, one_by_one,
};
use crate::store::sealed::Sealed;
use crate::store::sealed::batch::{
    Attempts, SealedAppend, SealedBatch, SealedBody, SealedChange, SealedEdit, SealedMessage, SealedRemoval,
};
use crate::store::sealed::changes::SealedReason;
use crate::store::sealed::keys::data_key::DataKey;
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::keys::key_cache::{DATA, DataKeys, OpenError};
use crate::store::sealed::records::blob::SealedPut;
use crate::store::sealed::records::message::{PlainMessage, SealedNote};
use crate::store::sealed::records::named::{NAME_NAME, seal_name};
use crate::store::sealed::records::numbers::ConversationNumbers;
use crate::store::sealed::records::row::{SealedHeader, SealedTrailer, seal_branch, seal_first};
use crate::store::sealed::records::trailer_cache::{Trailer, TrailerCache};
use crate::store::sealed::rows::SealedRows;
use crate::store::{Anchor, Facets, Note, Put, Safety, What};

/// A conversation and messages of a hint, by inner names.
type InnerHint = (Option<ConversationId>, Vec<MessageId>);

/// What a commit did that this handle remembers.
enum CommitOutcome {
    Nothing,
    /// A conversation grew, and is left like this.
    Grown {
        outer: ConversationId,
        inner: ConversationId,
        state: State,
        keys: Arc<DataKeys>,
        trailer: Box<Trailer>,
    },
    /// A conversation is gone.
    Gone(ConversationId),
}

impl Sealed {
    pub(crate) fn commit_sealed(
        &self,
        hint: &CommitHint<'_>,
        safety: Safety,
        decide: &mut Decide<'_, '_>,
    ) -> Result<()> {
        let (inner, messages) = self.hinted(hint);
        let own = CommitHint { conversation: inner, messages: &messages, ..*hint };
        // The words of what is replaced must not stay. The index is erased before, for a crash,
        // and after, because somebody may have filled it meanwhile: a rewrite of the same
        // length does not show in what it covers.
        let erasing = inner.filter(|_| hint.is_erasing);
        erasing.map_or(Ok(()), |inner| self.forget_words(inner))?;
        let (attempts, outcome) = (Attempts::new(), Cell::new(CommitOutcome::Nothing));
        let names: RefCell<Vec<(String, String)>> = RefCell::default();
        let committed = self.backend.commit(&own, safety, &mut |rows| {
            let (sealed, done) = self.seal(rows, decide, &names)?;
            outcome.set(done);
            Ok(attempts.keep(sealed).as_batch())
        });
        committed.map_err(|error| error.renamed(&names.take()))?;
        erasing.map_or(Ok(()), |inner| self.forget_words(inner))?;
        self.remember(outcome.into_inner());
        Ok(())
    }

    /// The same for several, which the backend inside may combine.
    pub(crate) fn commit_each_sealed(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut DecideEach<'_, '_>,
    ) -> Result<()> {
        if hints.iter().any(|hint| hint.is_erasing) {
            return one_by_one(self, hints, safety, decide);
        }
        let hinted: Vec<_> = hints.iter().map(|hint| self.hinted(hint)).collect();
        let own: Vec<CommitHint<'_>> = hints
            .iter()
            .zip(&hinted)
            .map(|(hint, (inner, messages))| CommitHint { conversation: *inner, messages, ..*hint })
            .collect();
        let attempts: Vec<Attempts<SealedBatch>> = hints.iter().map(|_| Attempts::new()).collect();
        let (outcomes, names) = (RefCell::new(Vec::new()), RefCell::default());
        let committed = self.backend.commit_each(&own, safety, &mut |place, rows| {
            let (sealed, done) = self.seal(rows, &mut |rows| decide(place, rows), &names)?;
            // A decision may be asked for again.
            outcomes.borrow_mut().truncate(place);
            outcomes.borrow_mut().push(done);
            Ok(attempts[place].keep(sealed).as_batch())
        });
        committed.map_err(|error| error.renamed(&names.take()))?;
        outcomes.into_inner().into_iter().for_each(|outcome| self.remember(outcome));
        Ok(())
    }

    /// A hint in the backend's terms.
    fn hinted(&self, hint: &CommitHint<'_>) -> InnerHint {
        let inner = hint.conversation.map(|id| self.inner_name(id));
        let workspace = self.key_cache.workspace();
        let name = |inner| hint.messages.iter().map(|id| workspace.names().message(inner, *id)).collect();
        (inner, inner.map_or_else(Vec::new, name))
    }

    /// Decides from a snapshot, and encrypts what is decided.
    fn seal(
        &self,
        rows: &dyn Rows,
        decide: &mut Decide<'_, '_>,
        names: &RefCell<Vec<(String, String)>>,
    ) -> Result<(SealedBatch, CommitOutcome)> {
        let snapshot = SealedRows::new(self, rows);
        let batch = decide(&snapshot)?;
        names.replace(names_in(&snapshot, &batch));
        let mut sealing = Sealing { snapshot: &snapshot, puts: Vec::new(), outcome: CommitOutcome::Nothing };
        let sealed = sealing.seal(&batch)?;
        Ok((sealed, sealing.outcome))
    }

    fn remember(&self, outcome: CommitOutcome) {
        match outcome {
            CommitOutcome::Nothing => {}
            CommitOutcome::Grown { outer, inner, state, keys, trailer } => {
                self.learn_name(inner, outer);
                self.trailers().insert(inner, state, keys, *trailer);
            }
            CommitOutcome::Gone(inner) => {
                self.key_cache.forget(Some(inner));
                if let Err(error) = self.forget_quarantined(&[inner]) {
                    // What was asked for is done.
                    tracing::warn!(kind = error.kind().as_str(), "what was quarantined of it was not erased");
                }
            }
        }
    }

    /// Erases the search index of a conversation, if it is there.
    pub(crate) fn forget_words(&self, inner: ConversationId) -> Result<()> {
        match self.forget_segments(inner) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            forgotten => forgotten,
        }
    }

    pub(crate) fn trailers(&self) -> MutexGuard<'_, TrailerCache> {
        self.trailers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Inner and outer names of what an append adds, for a message of the backend's.
fn names_in(snapshot: &SealedRows<'_>, batch: &Batch<'_>) -> Vec<(String, String)> {
    let Edit::Append(append) = &batch.edit else { return Vec::new() };
    let inner = snapshot.names().conversation(append.conversation);
    let own = append.messages.iter().map(|message| message.id);
    let names = own.map(|id| (snapshot.names().message(inner, id).to_string(), id.to_string()));
    names.chain([(inner.to_string(), append.conversation.to_string())]).collect()
}

/// Encrypts a batch that was decided from a snapshot.
struct Sealing<'m, 'r> {
    snapshot: &'m SealedRows<'r>,
    /// Blobs beside those of the batch.
    puts: Vec<SealedPut>,
    outcome: CommitOutcome,
}

impl Sealing<'_, '_> {
    fn seal(&mut self, batch: &Batch<'_>) -> Result<SealedBatch> {
        let change = batch.change.as_ref().map(|entry| self.entry(entry));
        let edit = match &batch.edit {
            Edit::None => SealedEdit::None,
            Edit::Confirm(id) => SealedEdit::Confirm(self.snapshot.names().conversation(*id)),
            Edit::Append(append) => SealedEdit::Append(self.append(append)?),
            Edit::Amend(amend) => self.amend(amend)?,
            Edit::Remove(removal) => SealedEdit::Remove(self.removal(removal, change.as_ref())?),
            Edit::Delete(id) => {
                let inner = self.snapshot.vault.inner_name(*id);
                self.outcome = CommitOutcome::Gone(inner);
                SealedEdit::Delete(inner)
            }
        };
        let mut blobs = std::mem::take(&mut self.puts);
        for blob in batch.blobs.iter() {
            blobs.push(self.blob(blob)?);
        }
        Ok(SealedBatch { edit, blobs, change })
    }

    /// An envelope as the backend stores it.
    fn stored(&self, envelope: Vec<u8>) -> Vec<u8> {
        self.snapshot.vault.key_cache.encoding().write(envelope)
    }

    fn entry(&self, entry: &LogEntry) -> LogEntry {
        let (vault, names) = (self.snapshot.vault, self.snapshot.names());
        let reason = |reason: &str| {
            let sealed = SealedReason { reason: reason.to_owned(), conversations: vec![entry.conversation] };
            sealed.seal(vault.key_cache.workspace().reasons())
        };
        let what = match &entry.what {
            What::Trimmed { reason: own } => What::Trimmed { reason: reason(own) },
            What::Deleted { reason: own } => What::Deleted { reason: reason(own) },
            other @ (What::Stored { .. } | What::Changed | What::Rewritten) => other.clone(),
        };
        LogEntry { conversation: vault.inner_name(entry.conversation), at: names.time(entry.at), what }
    }

    /// The keys of a conversation that is there.
    fn keys(&self, id: ConversationId, inner: ConversationId) -> Result<Arc<DataKeys>> {
        let keys = self.snapshot.keys(Some(inner));
        keys.map_err(|failure| failure.of(&format!("the key of conversation `{id}`")))
    }

    fn blob(&self, blob: &Put<'_>) -> Result<SealedPut> {
        let names = self.snapshot.names();
        let owner = blob.owner.map(|owner| names.conversation(owner));
        let keys = match (blob.bytes, blob.owner, &self.outcome) {
            (None, _, _) => None,
            // The conversation may be made together with its blobs.
            (Some(_), Some(own), CommitOutcome::Grown { outer, keys, .. }) if own == *outer => {
                Some(Arc::clone(keys))
            }
            (Some(_), Some(own), _) => Some(self.keys(own, owner.unwrap_or(own))?),
            (Some(_), None, _) => {
                let keys = self.snapshot.keys(None);
                Some(keys.map_err(|failure| failure.of("the key of what belongs to no conversation"))?)
            }
        };
        Ok(SealedPut::seal(blob, names, keys.as_deref().map(DataKeys::newest)))
    }

    fn append(&mut self, append: &Append<'_>) -> Result<SealedAppend> {
        let (snapshot, id) = (self.snapshot, append.conversation);
        let names = snapshot.names();
        let inner = names.conversation(id);
        let before = match snapshot.rows.state(inner)? {
            Presence::Stored(state) => Some((state, snapshot.trailer(inner, &state)?)),
            Presence::Absent | Presence::Lost(_) => None,
        };
        let (keys, header) = match &append.opening {
            None => (self.keys(id, inner)?, None),
            Some(opening) => {
                let key = DataKey::random();
                let text = String::from_utf8_lossy(opening.header);
                let header = SealedHeader::new(id, opening.created, opening.facets, &text).seal(&key, inner);
                let header = self.stored(header);
                let name = seal_name(id, opening.created, &key, inner);
                snapshot.vault.key_cache.renew_at(snapshot.rows)?;
                let wrapped = snapshot.vault.key_cache.workspace().wrap(&key, Some(inner));
                self.puts.push(SealedPut::own(inner, DATA, wrapped.clone()));
                self.puts.push(SealedPut::own(inner, NAME_NAME, name));
                (snapshot.vault.key_cache.keep(Some(inner), wrapped, DataKeys::only(key)), Some(header))
            }
        };
        let key = keys.newest();
        let mut sealed = SealedAppend::new(inner, header);
        sealed.messages = append.messages.iter().map(|message| self.message(message, inner, key)).collect();
        sealed.first = append.first.map(|first| self.stored(seal_first(first, key, inner)));
        sealed.branch = append.branch.map(|branch| names.branch(inner, branch));
        let (state, trailer) = before.unzip();
        let trailer = trailer_after(append, &sealed, trailer);
        sealed.last = self.stored(SealedTrailer::of(&trailer).seal(key, inner));
        let state = state_after(state, &sealed);
        self.outcome = CommitOutcome::Grown { outer: id, inner, state, keys, trailer: Box::new(trailer) };
        Ok(sealed)
    }

    fn message(&self, message: &NewMessage<'_>, inner: ConversationId, key: &DataKey) -> SealedMessage {
        let names = self.snapshot.names();
        let body = String::from_utf8_lossy(message.body);
        let plain = PlainMessage {
            id: message.id,
            parent: message.parent.map(|(parent, _)| parent),
            digest: message.link,
            seq: message.seq,
            turn: message.turn,
            forked: message.forked,
            body: &body,
        };
        let id = names.message(inner, message.id);
        let label = message.label.map(String::from_utf8_lossy);
        let note = Note { label: label.as_deref(), is_pinned: message.is_pinned };
        let parent = message.parent.map(|(parent, seq)| {
            (Anchor { id: self.snapshot.message_name(inner, parent.id), link: names.link(parent.link) }, seq)
        });
        SealedMessage {
            id,
            seq: message.seq,
            parent,
            depth: message.depth,
            turn: message.turn,
            forked: message.forked,
            link: names.link(message.link),
            label: SealedNote::seal(&note, key, inner, id).map(|label| self.stored(label)),
            body: self.stored(plain.seal(key, names, inner)),
        }
    }

    fn amend(&mut self, amend: &Amend<'_>) -> Result<SealedEdit> {
        let (snapshot, id) = (self.snapshot, amend.conversation);
        let names = snapshot.names();
        let inner = names.conversation(id);
        let name = |message: MessageId| snapshot.message_name(inner, message);
        let change = match &amend.change {
            Amendment::Head(head) => SealedChange::Head(head.map(|(head, seq)| (name(head), seq))),
            Amendment::Unbranch(branch) => SealedChange::Unbranch(names.branch(inner, *branch)),
            Amendment::Header(facets, header) => {
                let created = snapshot.known(inner)?.map_or(Time::default(), |known| known.row.created);
                let header = String::from_utf8_lossy(header);
                let keys = self.keys(id, inner)?;
                let header = SealedHeader::new(id, created, facets, &header).seal(keys.newest(), inner);
                SealedChange::Header(Facets::default(), self.stored(header))
            }
            Amendment::Note(message, seq, label, is_pinned) => {
                let label = label.map(String::from_utf8_lossy);
                let note = Note { label: label.as_deref(), is_pinned: *is_pinned };
                let keys = self.keys(id, inner)?;
                let label = SealedNote::seal(&note, keys.newest(), inner, name(*message));
                SealedChange::Note(name(*message), *seq, label.map(|label| self.stored(label)))
            }
            Amendment::Branch(branch, head) => {
                let keys = self.keys(id, inner)?;
                SealedChange::Branch(self.branch(branch, inner, keys.newest()), *head)
            }
            Amendment::Rewrite(bodies, first, _) => self.rewrite(id, bodies, first)?,
        };
        let state = snapshot.stored(inner)?;
        let own = Amend {
            conversation: inner,
            version: amend.version,
            change: change.as_amendment(&[]),
            last: None,
        };
        let mut trailer = snapshot.amended_trailer(snapshot.trailer(inner, &state)?, &state, &own)?;
        if let Amendment::Rewrite(_, _, last) = &amend.change {
            trailer.last = String::from_utf8_lossy(last).into_owned();
        }
        let trailer = self.stored(SealedTrailer::of(&trailer).seal(self.keys(id, inner)?.newest(), inner));
        Ok(SealedEdit::Amend { conversation: inner, version: amend.version, change, trailer })
    }

    fn branch(&self, branch: &Branch, inner: ConversationId, key: &DataKey) -> Branch {
        let name = self.snapshot.names().branch(inner, branch.id);
        let title = seal_branch(branch, key, inner, name);
        Branch { id: name, title, head: self.snapshot.message_name(inner, branch.head) }
    }

    /// A child names the digest of its parent inside. The contract wants it to be
    /// rewritten with its parent, so that both fit.
    fn rewrite(&self, id: ConversationId, bodies: &[NewBody<'_>], first: &[u8]) -> Result<SealedChange> {
        let snapshot = self.snapshot;
        let names = snapshot.names();
        let inner = names.conversation(id);
        let keys = self.keys(id, inner)?;
        let key = keys.newest();
        let links: HashMap<MessageId, Digest> = bodies.iter().map(|new| (new.id, new.link)).collect();
        let mut sealed = Vec::with_capacity(bodies.len());
        for new in bodies {
            let before = snapshot.message(inner, new.seq, |plain| plain.without_body())?;
            let before = before.ok_or_else(|| {
                let what = format!("the message `{}` of conversation `{id}`, number {},", new.id, new.seq);
                OpenError::Broken(Broken::Seal).of(&what)
            })?;
            let parent = before.parent.map(|parent| Anchor {
                id: parent.id,
                link: links.get(&parent.id).copied().unwrap_or(parent.link),
            });
            let body = String::from_utf8_lossy(new.body);
            let plain = PlainMessage { id: new.id, parent, digest: new.link, body: &body, ..before };
            sealed.push(SealedBody {
                id: snapshot.message_name(inner, new.id),
                seq: new.seq,
                link: names.link(new.link),
                body: self.stored(plain.seal(key, names, inner)),
            });
        }
        let first = self.stored(seal_first(first, key, inner));
        Ok(SealedChange::Rewrite(sealed, first))
    }

    fn removal(&self, removal: &Removal<'_>, change: Option<&LogEntry>) -> Result<SealedRemoval> {
        let (snapshot, id) = (self.snapshot, removal.conversation);
        let inner = snapshot.names().conversation(id);
        let keys = self.keys(id, inner)?;
        let key = keys.newest();
        let name = |message: MessageId| snapshot.message_name(inner, message);
        let reason = match change.map(|entry| &entry.what) {
            Some(What::Trimmed { reason }) => reason.clone(),
            _ => String::new(),
        };
        let mut sealed = SealedRemoval {
            conversation: inner,
            version: removal.version,
            going: removal.going.iter().map(|node| Node { id: name(node.id), ..*node }).collect(),
            named: removal.named.iter().map(|id| name(*id)).collect(),
            head: removal.head.map(|(head, seq)| (name(head), seq)),
            branches: removal
                .branches
                .iter()
                .map(|(branch, seq)| (self.branch(branch, inner, key), *seq))
                .collect(),
            first: self.stored(seal_first(&removal.first, key, inner)),
            last: Vec::new(),
            at: snapshot.names().time(removal.at),
            reason,
        };
        let state = snapshot.stored(inner)?;
        let last = String::from_utf8_lossy(&removal.last).into_owned();
        let trailer = Trailer { last, ..snapshot.trailer(inner, &state)? };
        let trailer = snapshot.trimmed_trailer(trailer, &state, &sealed.as_removal())?;
        sealed.last = self.stored(SealedTrailer::of(&trailer).seal(key, inner));
        Ok(sealed)
    }
}

/// What an append leaves beside the messages.
fn trailer_after(append: &Append<'_>, sealed: &SealedAppend, before: Option<Trailer>) -> Trailer {
    let first = || Trailer {
        active: append.active,
        head: None,
        last: String::new(),
        numbers: ConversationNumbers::first(),
    };
    let mut trailer = Trailer { active: append.active, ..before.unwrap_or_else(first) };
    if let Some(last) = append.last {
        trailer.last = String::from_utf8_lossy(last).into_owned();
    }
    if let (Some(said), Some(last)) = (append.messages.last(), sealed.messages.last()) {
        trailer.head = Some(Head { id: said.id, digest: said.link });
        trailer.numbers.append(sealed.messages.len(), (last.id, last.seq), sealed.branch);
    }
    trailer
}

/// The state that an append leaves, as the backend has it.
fn state_after(before: Option<State>, append: &SealedAppend) -> State {
    let before = before.unwrap_or(State {
        version: 1,
        next: 1,
        messages: 0,
        roots: 0,
        bytes: 0,
        head: None,
        active: Time::default(),
        has_first: false,
    });
    let roots = append.messages.iter().filter(|message| message.parent.is_none()).count();
    State {
        next: append.messages.last().map_or(before.next, |last| last.seq + 1),
        messages: before.messages + append.messages.len() as u64,
        roots: before.roots + u32::try_from(roots).unwrap_or(u32::MAX),
        bytes: before.bytes + append.messages.iter().map(|message| message.body.len() as u64).sum::<u64>(),
        head: append.messages.last().map(|last| last.seq).or(before.head),
        has_first: before.has_first || append.first.is_some(),
        ..before
    }
}
