//! The index: what a list shows of every conversation, so that a list need not read every file.
//!
//! It is never the truth. It says how each file and each folder looked when it was written, and up to which
//! change it is complete. Whatever is missing, damaged or does not fit is read from the files again.
//!
//! ```text
//! {"format":4,"boot":"…","stamp":8,"checked":"…","folders":[["home_ada_trip",17,179…]],"rows":12,"bytes":91}
//! check id active folder inode length modified status expires project kind slug keys damage row
//! check  id  messages' ids
//! ```
//!
//! Columns are separated by tabs. All rows come first, in the order of a list, and then in the same
//! order a line each with the ids of messages, which only one who looks for a message reads. What was
//! erased is a line of blanks. A conversation of which nothing can be listed has no row, and comes
//! first. One whose file is gone has the inode 0.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::{Branch, ConversationId, Head, Status, Time};
use crate::store::backend::ConversationRow;
use crate::store::durable;
use crate::store::index::checksum;
use crate::store::jsonl::files::FileIdentity;
use crate::store::jsonl::layout::Layout;
use crate::store::jsonl::line::meta::Traits;
use crate::store::jsonl::line::octets::Octets;
use crate::store::jsonl::lines;
use crate::store::jsonl::loaded::LoadedConversation;
use crate::store::{ListQuery, Stamp, Version};

/// The version of the index. Another one is not read.
pub(in crate::store::jsonl) const FORMAT: u32 = 4;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::store::jsonl) struct IndexHeader {
    pub(in crate::store::jsonl) format: u32,
    /// Since when the machine runs: a power cut may have lost what the log of changes said.
    pub(in crate::store::jsonl) boot: String,
    /// What happened up to here is in it.
    pub(in crate::store::jsonl) stamp: Stamp,
    /// When every file was last looked at.
    pub(in crate::store::jsonl) checked: Time,
    pub(in crate::store::jsonl) folders: Vec<FolderStamp>,
    /// How many bytes its rows have, and with the ids of messages: one that is missing is missed.
    pub(in crate::store::jsonl) rows: u64,
    pub(in crate::store::jsonl) bytes: u64,
}

/// A folder as it was found: its name, its inode, and when a name in it last changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::store::jsonl) struct FolderStamp(
    pub(in crate::store::jsonl) String,
    pub(in crate::store::jsonl) u64,
    pub(in crate::store::jsonl) i128,
);

/// A conversation in the index. Columns are texts until somebody asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store::jsonl) struct IndexEntry {
    pub(in crate::store::jsonl) id: ConversationId,
    pub(in crate::store::jsonl) active: Time,
    pub(in crate::store::jsonl) folder: String,
    pub(in crate::store::jsonl) seen: FileIdentity,
    status: u8,
    expires: Option<i64>,
    project: String,
    kind: String,
    pub(in crate::store::jsonl) slug: String,
    /// The ids of its messages, with a space before each; empty where only its row was read.
    pub(in crate::store::jsonl) messages: String,
    /// What its lines say of its keys; empty when they say nothing.
    keys: String,
    /// What of its file cannot be used, as a JSON list of texts; empty when all of it can.
    damage: String,
    /// Empty when nothing of it can be listed.
    row: String,
}

/// How a file looks that is gone.
const NO_FILE: FileIdentity = FileIdentity { device: 0, inode: 0, length: 0, modified: 0 };

/// A key that stands in the lines of its owner: its name, the change that stored or erased it, and its bytes.
pub(in crate::store::jsonl) type KeyInLines = (Vec<u8>, Stamp, Option<Vec<u8>>);

/// The rest of a row, as JSON.
#[derive(Serialize, Deserialize)]
struct RowRest {
    version: Version,
    facets: Traits,
    header: String,
    head: Option<Head>,
    branches: Vec<Branch>,
    created: Time,
    messages: u64,
    bytes: u64,
    first: String,
    last: String,
}

impl IndexEntry {
    /// A conversation of which nothing can be listed, and why.
    pub(in crate::store::jsonl) fn unlistable(
        id: ConversationId,
        folder: &str,
        seen: FileIdentity,
        why: String,
    ) -> Self {
        Self {
            row: String::new(),
            active: Time::from_micros(i64::MAX),
            ..Self::of(&LoadedConversation::new(id), folder, seen, &[why])
        }
    }

    /// A conversation whose file is gone, and the folder that it was in, where that is known.
    pub(in crate::store::jsonl) fn missing(id: ConversationId, folder: &str, layout: &Layout) -> Self {
        let why = if folder.is_empty() {
            format!("conversation `{id}` was stored here, and its file is gone")
        } else {
            let file = layout.file(folder, id);
            format!("conversation `{id}` was stored here, and its file `{}` is gone", file.display())
        };
        Self::unlistable(id, folder, NO_FILE, why)
    }

    pub(in crate::store::jsonl) fn of(
        kept: &LoadedConversation,
        folder: &str,
        seen: FileIdentity,
        damage: &[String],
    ) -> Self {
        let row = kept.row().into_row();
        let mut messages = String::new();
        for held in kept.tree.messages() {
            messages.push(' ');
            messages.push_str(held.node.id.as_str());
        }
        Self {
            id: row.id,
            active: row.active,
            folder: folder.to_owned(),
            seen,
            status: row.facets.status as u8,
            expires: row.facets.expires.map(Time::as_micros),
            project: quoted(&row.facets.project),
            kind: quoted(&row.facets.kind),
            slug: quoted(&row.facets.slug),
            messages,
            keys: keys_of(kept),
            damage: if damage.is_empty() { String::new() } else { as_list(damage) },
            row: serde_json::to_string(&RowRest {
                version: row.version,
                facets: Traits::of(&row.facets),
                header: row.header,
                head: row.head,
                branches: row.branches,
                created: row.created,
                messages: row.messages,
                bytes: row.bytes,
                first: row.first,
                last: row.last,
            })
            .expect("a row is plain data"),
        }
    }

    /// True when nothing of it can be listed.
    pub(in crate::store::jsonl) fn is_unlistable(&self) -> bool {
        self.row.is_empty()
    }

    /// True when its file is gone.
    pub(in crate::store::jsonl) fn is_missing(&self) -> bool {
        self.is_unlistable() && self.seen.inode == NO_FILE.inode
    }

    /// True when all of its file can be used.
    pub(in crate::store::jsonl) const fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    /// What of its file cannot be used, in words.
    pub(in crate::store::jsonl) fn damage(&self) -> Vec<String> {
        serde_json::from_str(&self.damage).unwrap_or_default()
    }

    /// None when it is damaged, or nothing of it can be listed.
    pub(in crate::store::jsonl) fn row(&self) -> Option<ConversationRow> {
        let rest: RowRest = serde_json::from_str(&self.row).ok()?;
        Some(ConversationRow {
            id: self.id,
            version: rest.version,
            facets: rest.facets.into_facets(),
            header: rest.header.into_bytes(),
            head: rest.head,
            branches: rest.branches,
            created: rest.created,
            active: self.active,
            messages: rest.messages,
            bytes: rest.bytes,
            first: rest.first.into_bytes(),
            last: rest.last.into_bytes(),
        })
    }

    /// What the lines say of the keys of their conversation; none when they say nothing, or it is damaged.
    pub(in crate::store::jsonl) fn keys(&self) -> Option<Vec<KeyInLines>> {
        let keys: Vec<(Octets, Stamp, Option<Octets>)> = serde_json::from_str(&self.keys).ok()?;
        let key = |(name, stamp, bytes): (Octets, Stamp, Option<Octets>)| {
            (name.into_bytes(), stamp, bytes.map(Octets::into_bytes))
        };
        Some(keys.into_iter().map(key).collect())
    }

    pub(in crate::store::jsonl) const fn key(&self) -> (Time, ConversationId) {
        (self.active, self.id)
    }

    fn write(&self, into: &mut Vec<u8>) {
        let Self { id, folder, seen, status, project, kind, slug, keys, damage, row, .. } = self;
        let expires = self.expires.map(|expires| expires.to_string()).unwrap_or_default();
        let line = format!(
            "{id}\t{}\t{folder}\t{}\t{}\t{}\t{status}\t{expires}\t{project}\t{kind}\t{slug}\t{keys}\t{damage}\t{row}",
            self.active.as_micros(),
            seen.inode,
            seen.length,
            seen.modified,
        );
        write_checked(&line, into);
    }

    /// Reads a row; none when it is damaged.
    pub(in crate::store::jsonl) fn read(line: &[u8], device: u64) -> Option<Self> {
        let columns = Columns::of(checked(line)?)?;
        let [_, _, folder, inode, length, modified, status, expires, project, kind, slug, keys, damage, row] =
            columns.0;
        Some(Self {
            id: columns.id()?,
            active: columns.active()?,
            folder: folder.to_owned(),
            seen: FileIdentity {
                device,
                inode: inode.parse().ok()?,
                length: length.parse().ok()?,
                modified: modified.parse().ok()?,
            },
            status: status.parse().ok()?,
            expires: if expires.is_empty() { None } else { Some(expires.parse().ok()?) },
            project: project.to_owned(),
            kind: kind.to_owned(),
            slug: slug.to_owned(),
            messages: String::new(),
            keys: keys.to_owned(),
            damage: damage.to_owned(),
            row: row.to_owned(),
        })
    }

    /// The same with the ids of its messages, from the line that has them; none
    /// when that is damaged or another's.
    pub(in crate::store::jsonl) fn with_messages(mut self, line: &[u8]) -> Option<Self> {
        let (id, messages) = std::str::from_utf8(checked(line)?).ok()?.split_once('\t')?;
        id.parse().ok().filter(|id: &ConversationId| *id == self.id)?;
        messages.clone_into(&mut self.messages);
        Some(self)
    }

    /// True when a row passes every filter of a query but that for ids.
    pub(in crate::store::jsonl) fn passes(&self, wanted: &RowFilter) -> bool {
        self.judge(wanted) == FilterResult::Passes
    }

    /// What a query's filters, but for that for ids, say about a row.
    pub(in crate::store::jsonl) fn judge(&self, wanted: &RowFilter) -> FilterResult {
        wanted.judge(&self.project, &self.kind, (self.status, self.active), self.expires)
    }
}

/// Writes a line after its check.
fn write_checked(line: &str, into: &mut Vec<u8>) {
    into.extend_from_slice(format!("{:016x}\t", checksum(line.as_bytes())).as_bytes());
    into.extend_from_slice(line.as_bytes());
    into.push(b'\n');
}

/// A line without its check; none when it is damaged.
fn checked(line: &[u8]) -> Option<&[u8]> {
    let (check, line) = line.split_at_checked(17)?;
    let check = u64::from_str_radix(std::str::from_utf8(check.strip_suffix(b"\t")?).ok()?, 16).ok()?;
    (check == checksum(line)).then_some(line)
}

/// How many columns a row has, without its check.
const COLUMNS: usize = 14;

/// The columns of a row, without its check.
pub(in crate::store::jsonl) struct Columns<'a>([&'a str; COLUMNS]);

impl<'a> Columns<'a> {
    pub(in crate::store::jsonl) fn of(line: &'a [u8]) -> Option<Self> {
        let mut columns = std::str::from_utf8(line).ok()?.splitn(COLUMNS, '\t');
        let mut all = [""; COLUMNS];
        for column in &mut all {
            *column = columns.next()?;
        }
        Some(Self(all))
    }

    pub(in crate::store::jsonl) fn id(&self) -> Option<ConversationId> {
        self.0[0].parse().ok()
    }

    pub(in crate::store::jsonl) fn active(&self) -> Option<Time> {
        self.0[1].parse().ok().map(Time::from_micros)
    }

    /// True when nothing of the conversation can be listed.
    pub(in crate::store::jsonl) const fn is_unlistable(&self) -> bool {
        self.0[COLUMNS - 1].is_empty()
    }

    pub(in crate::store::jsonl) fn judge(&self, wanted: &RowFilter) -> FilterResult {
        let (status, active) = (self.0[6].parse().ok(), self.active());
        let expires = self.0[7].parse().ok();
        let standing = status.zip(active);
        standing.map_or(FilterResult::Fails, |standing| wanted.judge(self.0[8], self.0[9], standing, expires))
    }
}

/// What the filters of a query say about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::jsonl) enum FilterResult {
    Passes,
    /// Only its kind keeps it out.
    Excepted,
    Fails,
}

/// The filters of a query, in the form that the columns have.
pub(in crate::store::jsonl) struct RowFilter {
    project: Option<String>,
    kind: Option<String>,
    except_kind: Option<String>,
    status: Option<Status>,
    idle_since: Option<Time>,
    unexpired_at: Option<i64>,
}

impl RowFilter {
    pub(in crate::store::jsonl) fn of(query: &ListQuery<'_>) -> Self {
        Self {
            project: query.project.map(quoted),
            kind: query.kind.map(quoted),
            except_kind: query.except_kind.map(quoted),
            status: query.status,
            idle_since: query.idle_since,
            unexpired_at: query.unexpired_at.map(Time::as_micros),
        }
    }

    fn judge(
        &self,
        project: &str,
        kind: &str,
        (status, active): (u8, Time),
        expires: Option<i64>,
    ) -> FilterResult {
        let is_idle = status == Status::Active as u8 && self.idle_since.is_some_and(|since| active <= since);
        let status = if is_idle { Status::Paused as u8 } else { status };
        let passes = self.project.as_deref().is_none_or(|own| own == project)
            && self.kind.as_deref().is_none_or(|own| own == kind)
            && self.status.is_none_or(|own| own as u8 == status)
            && self.unexpired_at.is_none_or(|now| expires.is_none_or(|expires| expires > now));
        match self.except_kind.as_deref() {
            _ if !passes => FilterResult::Fails,
            Some(except) if except == kind => FilterResult::Excepted,
            _ => FilterResult::Passes,
        }
    }
}

/// Names no more than a person reads.
const DAMAGE_NAMED: usize = 20;

fn as_list(damage: &[String]) -> String {
    let mut named = damage.iter().take(DAMAGE_NAMED).cloned().collect::<Vec<_>>();
    if damage.len() > DAMAGE_NAMED {
        named.push(format!("{} more lines of the same file", damage.len() - DAMAGE_NAMED));
    }
    serde_json::to_string(&named).expect("it is plain data")
}

fn keys_of(kept: &LoadedConversation) -> String {
    let own = kept
        .blobs
        .iter()
        .filter(|((space, owner, _), _)| space.is_replaced_together() && *owner == Some(kept.id));
    let keys: Vec<(Octets, Stamp, Option<Octets>)> = own
        .map(|((_, _, name), (stamp, bytes))| (Octets::of(name), *stamp, bytes.as_deref().map(Octets::of)))
        .collect();
    if keys.is_empty() { String::new() } else { serde_json::to_string(&keys).expect("it is plain data") }
}

/// A text that has neither tabs nor line ends.
pub(in crate::store::jsonl) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is plain data")
}

/// Writes an index; entries come in the order of a list. Losing it costs nothing but time,
/// so it is not synced. The caller holds the lock of those who write, so that nothing
/// which is being removed is written again.
pub(in crate::store::jsonl) fn write<'e>(
    layout: &Layout,
    mut beginning: IndexHeader,
    entries: impl Iterator<Item = &'e IndexEntry>,
) -> io::Result<()> {
    let (mut rows, mut messages) = (Vec::new(), Vec::new());
    for entry in entries {
        entry.write(&mut rows);
        write_checked(&format!("{}\t{}", entry.id, entry.messages), &mut messages);
    }
    beginning.rows = rows.len() as u64;
    beginning.bytes = beginning.rows + messages.len() as u64;
    let mut bytes = serde_json::to_vec(&beginning).expect("it is plain data");
    bytes.push(b'\n');
    bytes.append(&mut rows);
    bytes.append(&mut messages);
    let path = layout.index();
    let draft = durable::draft_in(&layout.temporary(), &path)?;
    durable::write_at(draft.as_file(), 0, &bytes)?;
    durable::publish_unsynced(draft, &path)
}

/// Overwrites the row of a conversation with blanks, which are no row. The
/// caller holds the lock of those who write.
pub(in crate::store::jsonl) fn blank(path: &Path, id: ConversationId) -> io::Result<()> {
    lines::blank(path, &format!("\t{id}\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_and_a_changed_one_is_refused() {
        let mut kept = LoadedConversation::new(ConversationId::from_bytes([7; 16]));
        kept.tree.facets.project = "/a\tb\nc".to_owned();
        kept.tree.header = b"{\"title\":\"x\"}".to_vec();
        kept.blobs.insert(
            (crate::store::Space::Companion, Some(kept.id), b"data".to_vec()),
            (812, Some(vec![0xff; 3])),
        );
        let seen = FileIdentity { device: 1, inode: 2, length: 3, modified: -4 };
        let entry = IndexEntry::of(&kept, "a_b_c", seen, &["line 3\tcannot be used".to_owned()]);
        let mut line = Vec::new();
        entry.write(&mut line);
        line.pop();

        let read = IndexEntry::read(&line, 1);
        let changed: Vec<usize> = (0..line.len())
            .filter(|place| {
                let mut line = line.clone();
                line[*place] ^= 1;
                IndexEntry::read(&line, 1).is_some()
            })
            .collect();

        assert_eq!(read.as_ref().and_then(IndexEntry::row), Some(kept.row()));
        assert_eq!(read.as_ref().map(IndexEntry::damage), Some(vec!["line 3\tcannot be used".to_owned()]));
        assert_eq!(
            read.as_ref().and_then(IndexEntry::keys),
            Some(vec![(b"data".to_vec(), 812, Some(vec![0xff; 3]))])
        );
        assert_eq!((read, changed), (Some(entry), vec![]));
    }

    #[test]
    fn ids_of_messages_come_back_to_the_conversation_that_they_belong_to() {
        let [own, other] = [7, 8].map(|byte| {
            let kept = LoadedConversation::new(ConversationId::from_bytes([byte; 16]));
            IndexEntry::of(&kept, "a", FileIdentity { device: 1, inode: 2, length: 3, modified: 4 }, &[])
        });
        let mut line = Vec::new();
        write_checked(&format!("{}\t one two", own.id), &mut line);
        line.pop();

        let read = own.clone().with_messages(&line);
        let cut =
            (0..line.len()).filter(|length| own.clone().with_messages(&line[..*length]).is_some()).count();

        assert_eq!(read.map(|entry| entry.messages).as_deref(), Some(" one two"));
        assert_eq!((other.with_messages(&line), cut), (None, 0));
    }
}
