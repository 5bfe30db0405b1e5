//! Writes a database that CPE can open and continue.
//!
//! Each row uses CPE's own columns where possible. The writer reads the row back, and what is missing goes
//! into the tag.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::error::Result;
use crate::formats::cpe::read::title_of;
use crate::formats::cpe::shape::{RowShape, TextKind, stamp};
use crate::formats::cpe::tag::{CpeTag, TAG, TaggedConversation};
use crate::formats::database::{ColumnValue, DatabaseBuilder};
use crate::formats::{SourceConversation, SourceMessage, Tree, WrittenFile};
use crate::model::{Block, Message};

/// The name of the file in a project's directory.
const FILE: &str = ".cpeconvo";

/// The columns of all versions; each version uses those it knows.
const SCHEMA: &str = include_str!("schema.sql");

/// The length and the alphabet of an id.
const LENGTH: usize = 6;
const LETTERS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

pub(super) fn write(tree: &Tree) -> Result<Vec<WrittenFile>> {
    let main = tree.main()?;
    let mut file = DatabaseWriter { building: DatabaseBuilder::new(SCHEMA)?, taken: HashSet::new() };
    let others = tree.conversations.iter().filter(|other| other.id != main.id);
    for conversation in std::iter::once(main).chain(others) {
        file.write(tree, conversation)?;
    }
    Ok(vec![WrittenFile { path: PathBuf::from(FILE), bytes: file.building.into_bytes()? }])
}

/// The database while it is made.
struct DatabaseWriter {
    building: DatabaseBuilder,
    /// Ids in use.
    taken: HashSet<String>,
}

impl DatabaseWriter {
    fn write(&mut self, tree: &Tree, conversation: &SourceConversation) -> Result<()> {
        let title = match &conversation.parent {
            Some(parent) => Some(title_of(parent)),
            None => conversation.header.title.clone().filter(|title| !title.trim().is_empty()),
        };
        // The first row of a message, which gives it its id, and the last, which its children follow.
        let mut rows: HashMap<&str, (String, String)> = HashMap::new();
        let mut last = None;
        for found in tree.messages_of(&conversation.id) {
            let above =
                found.parent.as_deref().and_then(|parent| rows.get(parent)).map(|(_, last)| last.clone());
            let is_first = rows.is_empty();
            let mut tag = CpeTag { keeps: found.keeps.clone(), ..CpeTag::default() };
            if is_first {
                tag.conversation = Some(named(conversation));
            }
            let ids = self.write_message(found, above, title.as_deref().filter(|_| is_first), tag)?;
            last = Some(ids.1.clone());
            rows.insert(&found.id, ids);
        }
        if conversation.parent.is_some() {
            return Ok(());
        }
        let head = conversation.head.as_deref().and_then(|head| rows.get(head)).map(|(_, last)| last.clone());
        let header = &conversation.header;
        let Some(head) = head.or(last) else { return Ok(()) };
        let fields = [
            ("id", conversation.id.as_str().into()),
            ("last_message_id", head.as_str().into()),
            ("cwd", header.project.as_deref().unwrap_or_default().into()),
            ("title", title.as_deref().unwrap_or(&conversation.id).into()),
            ("model_ref", header.settings.model.as_deref().unwrap_or_default().into()),
            ("created_at", stamp(conversation.created_at).as_str().into()),
        ];
        self.building.add("acp_sessions", &fields)
    }

    /// Writes the rows of a message and returns the ids of the first and the last.
    fn write_message(
        &mut self,
        found: &SourceMessage,
        above: Option<String>,
        title: Option<&str>,
        mut tag: CpeTag,
    ) -> Result<(String, String)> {
        let is_summary = found.message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
        let words = if is_summary && above.is_some() { TextKind::Summary } else { TextKind::Said };
        let mut shapes = RowShape::from_message(&found.message);
        shapes[0].title = title.or(found.message.label.as_deref()).map(str::to_owned);
        complete(&mut tag, &found.message, &shapes, words);
        if title.is_some() && found.message.label.is_some() {
            tag.label.clone_from(&found.message.label);
        }
        let first = self.id_of(&found.conversation, &found.id);
        tag.id = (first != found.id).then(|| found.id.clone());
        let (mut id, mut above) = (first.clone(), above);
        for (place, mut shape) in shapes.into_iter().enumerate() {
            if place > 0 {
                id = self.id_of(&found.conversation, &format!("{}/{place}", found.id));
                tag = CpeTag { continues: true, ..CpeTag::default() };
            }
            if let Some(tag) = tag.to_field() {
                shape.fields.set(TAG, tag);
            }
            let tie =
                if place == 0 && words == TextKind::Summary { "compaction_parent_id" } else { "parent_id" };
            self.write_row(&id, tie, above.as_deref(), &shape)?;
            above = Some(id.clone());
        }
        Ok((first, id))
    }

    fn write_row(&self, id: &str, tie: &'static str, above: Option<&str>, shape: &RowShape) -> Result<()> {
        let mut fields = vec![("id", id.into()), (tie, above.map_or(ColumnValue::Null, ColumnValue::from))];
        fields.extend(shape.columns());
        self.building.add("messages", &fields)?;
        let time = stamp(shape.created_at.unwrap_or_default());
        for (place, part) in shape.parts.iter().enumerate() {
            let order = i64::try_from(place).expect("a message has fewer blocks than that");
            let mut fields = part.columns();
            fields.extend([
                ("message_id", id.into()),
                ("sequence_order", order.into()),
                ("created_at", time.as_str().into()),
            ]);
            self.building.add("blocks", &fields)?;
        }
        Ok(())
    }

    /// Returns the id itself if it is a CPE id, otherwise one derived from it.
    fn id_of(&mut self, conversation: &str, id: &str) -> String {
        let is_own = id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_own && self.taken.insert(id.to_owned()) {
            return id.to_owned();
        }
        let mut attempt = 0u64;
        loop {
            let name = format!("rejoin/cpe/1\n{conversation}\0{id}\0{attempt}");
            let hash: [u8; 32] = Sha256::digest(name).into();
            let mut rest = u64::from_le_bytes(hash[..8].try_into().expect("a hash has 32 bytes"));
            let made: String = (0..LENGTH)
                .map(|_| {
                    let letter = LETTERS[(rest % 62) as usize];
                    rest /= 62;
                    char::from(letter)
                })
                .collect();
            if self.taken.insert(made.clone()) {
                return made;
            }
            attempt += 1;
        }
    }
}

/// Adds to the tag what the rows do not hold.
fn complete(tag: &mut CpeTag, message: &Message, shapes: &[RowShape], words: TextKind) {
    let mut read = shapes[0].to_message(words);
    for shape in &shapes[1..] {
        read.blocks.extend(shape.to_message(TextKind::Said).blocks);
    }
    let shell = |message: &Message| {
        let mut shell = message.clone();
        shell.blocks = Vec::new();
        shell.label = None;
        shell
    };
    if shell(&read) != shell(message) {
        tag.message = Some(shell(message));
    }
    if read.blocks != message.blocks {
        tag.blocks = Some(message.blocks.clone());
    }
}

/// Returns the conversation for the tag of its root, because the columns do not hold all of it.
fn named(conversation: &SourceConversation) -> TaggedConversation {
    let header = &conversation.header;
    TaggedConversation {
        id: conversation.id.clone(),
        created_at: conversation.created_at,
        title: header.title.clone(),
        project: header.project.clone(),
        settings: header.settings.clone(),
        parent: conversation.parent.as_ref().map(Into::into),
    }
}
