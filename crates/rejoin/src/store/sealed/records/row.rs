//! A conversation in a list: its header, previews and branches, opened.
//!
//! What does not open is shown under its inner name, without a text, so that it is neither passed over nor
//! mistaken for something else; the rest of the row stays what it is.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::{Branch, ConversationId, Digest, Head, Hold, MessageId, Status, Time};
use crate::store::backend::{ConversationRow, State};
use crate::store::sealed::Sealed;
use crate::store::sealed::keys::data_key::{DataKey, KeyUse};
use crate::store::sealed::keys::encoding::{from_text, to_text};
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::keys::key_cache::{OpenError, OwnerKeys};
use crate::store::sealed::keys::names::{InnerNames, message_bytes};
use crate::store::sealed::quarantine::BrokenRecord;
use crate::store::sealed::records::message::PlainMessage;
use crate::store::sealed::records::numbers::ConversationNumbers;
use crate::store::sealed::records::trailer_cache::Trailer;
use crate::store::{Facets, Selection};

pub(crate) const HEADER: &str = "rejoin/vault/header/1\n";
pub(crate) const FIRST: &str = "rejoin/vault/first/1\n";
pub(crate) const LAST: &str = "rejoin/vault/last/1\n";
pub(crate) const BRANCH: &str = "rejoin/vault/branch/1\n";

/// A row as the inner store shows it, and opened.
pub(crate) struct DecryptedRow {
    pub(crate) raw: ConversationRow,
    pub(crate) row: ConversationRow,
    /// What of it does not open.
    pub(crate) faults: Vec<String>,
    /// False when the header does not open, so that nobody knows what its id is.
    pub(crate) is_named: bool,
    /// The numbers it should have; none when what says so does not open.
    pub(crate) numbers: Option<ConversationNumbers>,
}

impl DecryptedRow {
    /// Why a conversation cannot be read whose header does not open.
    pub(crate) fn told(&self) -> String {
        self.told_as(self.row.id)
    }

    /// The same, in the words of somebody who asked for it by this id.
    pub(crate) fn told_as(&self, id: ConversationId) -> String {
        format!("conversation `{id}` cannot be read: {}", self.faults.join(", "))
    }

    /// What is encrypted of it beside its header and messages. Where the numbers do
    /// not open, those in plaintext are taken.
    pub(crate) fn into_trailer(self, state: &State) -> Trailer {
        let numbers = self.numbers.unwrap_or_else(|| ConversationNumbers::of(state, &self.raw.branches));
        let last = String::from_utf8_lossy(&self.row.last).into_owned();
        Trailer { active: self.row.active, head: self.row.head, last, numbers }
    }
}

/// A header as it is sealed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SealedHeader {
    id: ConversationId,
    created: i64,
    facets: SealedFacets,
    header: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SealedFacets {
    project: String,
    kind: String,
    slug: String,
    status: Status,
    hold: Hold,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
}

impl SealedHeader {
    pub(crate) fn new(id: ConversationId, created: Time, facets: &Facets, header: &str) -> Self {
        let Facets { project, kind, slug, status, hold, expires } = facets.clone();
        let expires = expires.map(Time::as_micros);
        let facets = SealedFacets { project, kind, slug, status, hold, expires };
        Self { id, created: created.as_micros(), facets, header: header.to_owned() }
    }

    pub(crate) fn seal(&self, key: &DataKey, inner: ConversationId) -> Vec<u8> {
        let text = serde_json::to_vec(self).expect("a header is plain");
        key.seal(KeyUse::About, HEADER, &[inner.as_bytes()], &[&text])
    }
}

/// The last preview as it is sealed, with what a list would else have to look up.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SealedTrailer {
    pub(crate) active: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<Digest>,
    pub(crate) numbers: ConversationNumbers,
    pub(crate) preview: String,
}

impl SealedTrailer {
    pub(crate) fn of(trailer: &Trailer) -> Self {
        Self {
            active: trailer.active.as_micros(),
            head: trailer.head.map(|head| head.id),
            digest: trailer.head.map(|head| head.digest),
            numbers: trailer.numbers.clone(),
            preview: trailer.last.clone(),
        }
    }

    pub(crate) fn into_trailer(self) -> Trailer {
        let Self { active, head, digest, numbers, preview } = self;
        let head = head.zip(digest).map(|(id, digest)| Head { id, digest });
        Trailer { active: Time::from_micros(active), head, last: preview, numbers }
    }

    pub(crate) fn seal(&self, key: &DataKey, inner: ConversationId) -> Vec<u8> {
        let text = serde_json::to_vec(self).expect("a preview is plain");
        key.seal(KeyUse::About, LAST, &[inner.as_bytes()], &[&text])
    }

    /// Opens the last preview of a conversation, which is named by its inner name.
    pub(crate) fn open(
        owner_keys: &mut OwnerKeys<'_>,
        inner: ConversationId,
        sealed: &[u8],
    ) -> Result<Self, OpenError> {
        let text = owner_keys.open_text(KeyUse::About, LAST, &[inner.as_bytes()], sealed)?;
        Ok(serde_json::from_str(&text).map_err(|_| Broken::Inside)?)
    }
}

/// Seals a first preview; an empty one stays empty.
pub(crate) fn seal_first(text: &[u8], key: &DataKey, inner: ConversationId) -> Vec<u8> {
    if text.is_empty() {
        return Vec::new();
    }
    key.seal(KeyUse::About, FIRST, &[inner.as_bytes()], &[text])
}

/// Seals the inner title of a branch, which is named by its inner name. A title is text in every backend.
pub(crate) fn seal_branch(branch: &Branch, key: &DataKey, inner: ConversationId, name: MessageId) -> String {
    let text = serde_json::to_vec(branch).expect("a branch is plain");
    to_text(&key.seal(KeyUse::About, BRANCH, &[inner.as_bytes(), &message_bytes(Some(name))], &[&text]))
}

/// What a header says: the id, when it was started, the facets, and the header's bytes.
type HeaderParts = (ConversationId, Time, Facets, Vec<u8>);

/// A row being opened.
struct RowOpener<'v> {
    vault: &'v Sealed,
    names: &'v InnerNames,
    inner: ConversationId,
    owner_keys: OwnerKeys<'v>,
    faults: Vec<String>,
}

impl Sealed {
    /// Opens a row, but for what is the same as before.
    pub(crate) fn open_row(
        &self,
        raw: ConversationRow,
        before: Option<&DecryptedRow>,
    ) -> Result<DecryptedRow> {
        let workspace = self.key_cache.workspace();
        let inner = raw.id;
        let owner_keys = self.key_cache.owner_keys(Some(inner));
        let mut opening =
            RowOpener { vault: self, names: workspace.names(), inner, owner_keys, faults: Vec::new() };
        // A row with faults is opened from the beginning, so that all of them are found again.
        let before = before.filter(|known| known.faults.is_empty());
        let header = match before.filter(|known| known.raw.header == raw.header) {
            Some(known) => {
                Some((known.row.id, known.row.created, known.row.facets.clone(), known.row.header.clone()))
            }
            None => opening.header(&raw)?,
        };
        let is_named = header.is_some();
        let (id, created, facets, header) =
            header.unwrap_or_else(|| (inner, Time::default(), Facets::default(), b"{}".to_vec()));
        if is_named {
            self.learn_name(inner, id);
        }
        // Nobody reads them, so what is sealed stays what it is.
        if raw.facets != Facets::default() {
            opening.faults.push("it has facets that are not encrypted".to_owned());
        }
        let last = opening.last(&raw)?;
        let first = match before.filter(|known| known.raw.first == raw.first) {
            Some(known) => known.row.first.clone(),
            None => opening.first(&raw)?,
        };
        // Without it, nobody knows more than when it began.
        let active = last.as_ref().map_or(created, |last| Time::from_micros(last.active));
        let preview = last.as_ref().map(|last| last.preview.clone().into_bytes()).unwrap_or_default();
        let (head, branches) = opening.heads(&raw, last.as_ref())?;
        let row = ConversationRow {
            id,
            version: raw.version,
            facets,
            header,
            head,
            branches,
            created,
            active,
            messages: raw.messages,
            bytes: raw.bytes,
            first,
            last: preview,
        };
        let numbers = last.map(|last| last.numbers);
        Ok(DecryptedRow { raw, row, faults: opening.faults, is_named, numbers })
    }
}

impl<'v> RowOpener<'v> {
    /// What is stored, as text, where somebody asks for it.
    fn shown<'s>(&self, stored: &'s [u8]) -> impl FnOnce() -> String + use<'v, 's> {
        let vault = self.vault;
        move || vault.key_cache.encoding().to_text(stored)
    }

    /// Opens a piece. One that is broken is a fault, and nothing; it is shown as text.
    fn piece<T>(
        &mut self,
        what: &'static str,
        name: &str,
        sealed: impl FnOnce() -> String,
        open: impl FnOnce(&mut OwnerKeys<'_>) -> Result<T, OpenError>,
    ) -> Result<Option<T>> {
        match open(&mut self.owner_keys) {
            Ok(piece) => Ok(Some(piece)),
            Err(OpenError::Failed(error)) => Err(error),
            Err(OpenError::Broken(why)) => {
                self.faults.push(format!("its {what} does not open: {why}"));
                let (inner, name, sealed) = (Some(self.inner), name.to_owned(), sealed());
                self.vault.quarantine(BrokenRecord { what, space: None, inner, name, sealed, why });
                Ok(None)
            }
        }
    }

    fn header(&mut self, raw: &ConversationRow) -> Result<Option<HeaderParts>> {
        let (inner, names) = (self.inner, self.names);
        let sealed = self.shown(&raw.header);
        self.piece("header", "", sealed, |owner_keys| {
            let text = owner_keys.open_text(KeyUse::About, HEADER, &[inner.as_bytes()], &raw.header)?;
            let sealed: SealedHeader = serde_json::from_str(&text).map_err(|_| Broken::Inside)?;
            if names.conversation(sealed.id) != inner {
                return Err(Broken::Inside.into());
            }
            let SealedFacets { project, kind, slug, status, hold, expires } = sealed.facets;
            let expires = expires.map(Time::from_micros);
            let facets = Facets { project, kind, slug, status, hold, expires };
            Ok((sealed.id, Time::from_micros(sealed.created), facets, sealed.header.into_bytes()))
        })
    }

    fn first(&mut self, raw: &ConversationRow) -> Result<Vec<u8>> {
        if raw.first.is_empty() {
            return Ok(Vec::new());
        }
        let inner = self.inner;
        let sealed = self.shown(&raw.first);
        let opened = self.piece("first preview", "", sealed, |owner_keys| {
            owner_keys.open_text(KeyUse::About, FIRST, &[inner.as_bytes()], &raw.first)
        })?;
        Ok(opened.unwrap_or_default().into_bytes())
    }

    fn last(&mut self, raw: &ConversationRow) -> Result<Option<SealedTrailer>> {
        if raw.last.is_empty() {
            self.faults.push("its last preview is missing".to_owned());
            return Ok(None);
        }
        let inner = self.inner;
        let sealed = self.shown(&raw.last);
        self.piece("last preview", "", sealed, |owner_keys| SealedTrailer::open(owner_keys, inner, &raw.last))
    }

    /// The head and the branches. Who their messages are is looked up where nothing says it.
    fn heads(
        &mut self,
        raw: &ConversationRow,
        last: Option<&SealedTrailer>,
    ) -> Result<(Option<Head>, Vec<Branch>)> {
        let (names, inner) = (self.names, self.inner);
        let mut known: HashMap<MessageId, MessageId> = HashMap::new();
        let mut sealed = Vec::new();
        for branch in &raw.branches {
            let shown = || branch.title.clone();
            let opened: Option<Branch> = self.piece("branch", branch.id.as_str(), shown, |owner_keys| {
                let place: [&[u8]; 2] = [inner.as_bytes(), &message_bytes(Some(branch.id))];
                let mut envelope = from_text(&branch.title)?;
                let text = owner_keys.open(KeyUse::About, BRANCH, &place, &mut envelope)?;
                let opened: Branch = serde_json::from_slice(text).map_err(|_| Broken::Inside)?;
                if names.branch(inner, opened.id) != branch.id {
                    return Err(Broken::Inside.into());
                }
                Ok(opened)
            })?;
            known.extend(opened.iter().map(|branch| (names.message(inner, branch.head), branch.head)));
            sealed.push(opened);
        }
        let hint = last.and_then(|last| Some(Head { id: last.head?, digest: last.digest? }));
        known.extend(hint.map(|head| (names.message(inner, head.id), head.id)));
        let mut head = None;
        let is_hinted = |raw: &Head, hint: &Head| {
            names.message(inner, hint.id) == raw.id && names.link(hint.digest) == raw.digest
        };
        if let Some(inner_head) = raw.head {
            head = hint.filter(|hint| is_hinted(&inner_head, hint));
            if head.is_none() {
                let found = self.look_up(inner_head.id)?;
                known.extend(found.map(|head| (inner_head.id, head.id)));
                head = Some(found.unwrap_or(inner_head));
            }
        }
        let mut branches = Vec::new();
        for (inner_branch, opened) in raw.branches.iter().zip(sealed) {
            if let std::collections::hash_map::Entry::Vacant(unknown) = known.entry(inner_branch.head) {
                let found = self.look_up(inner_branch.head)?;
                unknown.insert(found.map_or(inner_branch.head, |head| head.id));
            }
            let (id, title) =
                opened.map_or((inner_branch.id, String::new()), |branch| (branch.id, branch.title));
            branches.push(Branch { id, title, head: known[&inner_branch.head] });
        }
        Ok((head, branches))
    }

    /// Who a message of the inner store is; none when it does not open.
    fn look_up(&mut self, message: MessageId) -> Result<Option<Head>> {
        let (names, inner, owner_keys) = (self.names, self.inner, &mut self.owner_keys);
        let (mut buffer, mut found) = (Vec::new(), None);
        self.vault.visit_sealed(inner, Selection::Ids(&[message]), &mut |row| {
            match PlainMessage::open(owner_keys, names, inner, row, &mut buffer) {
                Ok(plain) => found = Some(Head { id: plain.id, digest: plain.digest }),
                // Whoever reads it is told.
                Err(OpenError::Broken(_)) => {}
                Err(OpenError::Failed(error)) => return Err(error),
            }
            Ok(())
        })?;
        Ok(found)
    }
}
