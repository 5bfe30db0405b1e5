//! Reads every conversation of a database.

use std::collections::HashMap;

use serde_json::json;

use crate::error::Result;
use crate::formats::cpe::forest::Forest;
use crate::formats::cpe::parts::Part;
use crate::formats::cpe::shape::Shape;
use crate::formats::cpe::tag::{TAG, Tag};
use crate::formats::database::{Database, Row};
use crate::formats::family::Family;
use crate::formats::{Aside, Piece, Reading, Source, SourceConversation, SourceMessage, SourceParent};
use crate::model::Json;

/// How the title of a run of a sub-agent begins; its name and which of its runs follow.
const RUN: &str = "subagent:";

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    Database::read(source, reading, |database, reading| {
        database.need("messages", &["id", "parent_id", "role"])?;
        database.need("blocks", &["message_id", "block_type", "content", "sequence_order"])?;
        let forest = Forest::of(database, reading)?;
        let mut sessions = sessions_of(database, &forest)?;
        let (trees, mut names, mut family) = (forest.trees(), HashMap::new(), Family::default());
        for tree in trees {
            let own = sessions.remove(&tree[0]).unwrap_or_default();
            let mut strand =
                Strand { database, forest: &forest, names: &mut names, waiting: None, newest: None };
            let conversation = strand.read(&tree, &own, reading)?;
            family.add(&conversation, reading)?;
        }
        family.finish(reading)
    })
}

/// The sessions whose newest message is in a tree, by the root of the tree.
fn sessions_of(database: &Database, forest: &Forest) -> Result<HashMap<usize, Vec<Row>>> {
    let mut sessions: HashMap<usize, Vec<Row>> = HashMap::new();
    if !database.has("acp_sessions", &["id", "last_message_id", "cwd", "title"])? {
        return Ok(sessions);
    }
    database.each("SELECT * FROM acp_sessions ORDER BY rowid", &[], &mut |row| {
        let last = row.text("last_message_id").and_then(|last| forest.place(last));
        if let Some(last) = last {
            sessions.entry(forest.root_of(last)).or_default().push(row);
        }
        Ok(())
    })?;
    Ok(sessions)
}

/// One conversation while it is read.
struct Strand<'a> {
    database: &'a Database,
    forest: &'a Forest,
    /// The messages that rows are, where a row has another name.
    names: &'a mut HashMap<usize, String>,
    /// A message that the next row may go on with.
    waiting: Option<Waiting>,
    /// The newest row and its name; the next one mostly follows it.
    newest: Option<(usize, String)>,
}

/// A message of which more rows may come.
struct Waiting {
    found: SourceMessage,
    /// True when it has all of its blocks.
    is_whole: bool,
}

/// A row of `messages` with its blocks, its tag, and the text of all that.
struct Found {
    id: String,
    shape: Shape,
    tag: Tag,
    source: String,
}

impl Strand<'_> {
    fn read(
        &mut self,
        tree: &[usize],
        sessions: &[Row],
        reading: &mut Reading<'_>,
    ) -> Result<SourceConversation> {
        let root = self.found(tree[0])?;
        let title = root.shape.title.clone();
        // Of several sessions in one tree, the program was last in the one that has the newest message.
        let place = |session: &&Row| session.text("last_message_id").and_then(|last| self.forest.place(last));
        let session = sessions.iter().max_by_key(place);
        let mut conversation = conversation_of(root, session);
        reading.give(Piece::Conversation(Box::new(conversation.clone())))?;
        for place in tree {
            self.take(*place, &conversation.id, title.as_deref(), reading)?;
        }
        self.flush(reading)?;
        for session in sessions {
            let source = session.to_json(&[]).to_string();
            reading.give(Piece::Aside(Aside { conversation: conversation.id.clone(), line: 0, source }))?;
        }
        let head = session.and_then(|session| place(&session)).map(|place| self.name(place));
        if let Some(head) = head {
            conversation.head = Some(head?);
            reading.give(Piece::Conversation(Box::new(conversation.clone())))?;
        }
        Ok(conversation)
    }

    fn take(
        &mut self,
        place: usize,
        conversation: &str,
        title: Option<&str>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let found = self.found(place)?;
        self.database.pass(found.source.len() as u64, reading)?;
        let node = self.forest.node(place);
        let said = found.shape.to_message(node.words);
        if found.tag.continues
            && let Some(before) = &mut self.waiting
        {
            if !before.is_whole {
                before.found.message.blocks.extend(said.blocks);
            }
            before.found.source.push('\n');
            before.found.source.push_str(&found.source);
            let most = reading.limits().line_bytes;
            if before.found.source.len() as u64 > most {
                return Err(crate::Error::invalid(format!("a message has more than {most} bytes")));
            }
            self.names.insert(place, before.found.id.clone());
            return Ok(());
        }
        self.flush(reading)?;
        let parent = node.parent.map(|parent| self.name(parent)).transpose()?;
        let (mut message, mut id) = (said, found.id);
        if let Some(own) = found.tag.id {
            self.names.insert(place, own.clone());
            id = own;
        }
        self.newest = Some((place, id.clone()));
        let label = found.shape.title.filter(|own| Some(own.as_str()) != title);
        message.label = found.tag.label.or(label);
        let mut read = SourceMessage {
            conversation: conversation.to_owned(),
            id,
            parent,
            message,
            keeps: found.tag.keeps,
            line: 0,
            source: found.source,
        };
        if let Some(shell) = found.tag.message {
            let (blocks, label) = (read.message.blocks, read.message.label);
            read.message = shell;
            (read.message.blocks, read.message.label) = (blocks, label);
        }
        let is_whole = found.tag.blocks.is_some();
        if let Some(blocks) = found.tag.blocks {
            read.message.blocks = blocks;
        }
        self.waiting = Some(Waiting { found: read, is_whole });
        Ok(())
    }

    fn flush(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        match self.waiting.take() {
            Some(waiting) => reading.give(Piece::Message(Box::new(waiting.found))),
            None => Ok(()),
        }
    }

    /// What the message of a row is called.
    fn name(&self, place: usize) -> Result<String> {
        if let Some(name) = self.names.get(&place) {
            return Ok(name.clone());
        }
        if let Some((_, name)) = self.newest.as_ref().filter(|(newest, _)| *newest == place) {
            return Ok(name.clone());
        }
        let number = self.forest.node(place).row;
        let row = self.database.one("SELECT id FROM messages WHERE rowid = ?1", &[number.into()])?;
        Ok(row.and_then(|row| row.word("id")).unwrap_or_default())
    }

    fn found(&self, place: usize) -> Result<Found> {
        let number = self.forest.node(place).row;
        let rows = self.database.all("SELECT * FROM messages WHERE rowid = ?1", &[number.into()])?;
        let row = rows.first().ok_or_else(|| crate::Error::corrupt("a message is gone from the database"))?;
        let id = row.word("id").unwrap_or_default();
        let sql = "SELECT * FROM blocks WHERE message_id = ?1 ORDER BY sequence_order";
        let blocks = self.database.all(sql, &[id.as_str().into()])?;
        let shape = Shape::of(row, blocks.iter().map(Part::of).collect());
        let tag = shape.fields.field(TAG).and_then(|tag| Json::to(tag).ok()).unwrap_or_default();
        let blocks: Vec<_> = blocks.iter().map(|block| block.to_json(&[])).collect();
        let source = json!({ "message": row.to_json(&[]), "blocks": blocks }).to_string();
        Ok(Found { id, shape, tag, source })
    }
}

fn conversation_of(root: Found, session: Option<&Row>) -> SourceConversation {
    let created = root.shape.created_at.unwrap_or_default();
    let Some(named) = root.tag.conversation else {
        let mut conversation = SourceConversation::new(root.id.clone(), created);
        let header = &mut conversation.header;
        let titled = session.and_then(|row| row.word("title").filter(|title| row.text("id") != Some(title)));
        header.title = root.shape.title.clone().or(titled);
        header.project = session.and_then(|row| row.word("cwd"));
        header.settings.model = session.and_then(|row| row.word("model_ref"));
        conversation.parent = root.shape.title.as_deref().and_then(|title| run_of(title, &root.id));
        return conversation;
    };
    let mut conversation = SourceConversation::new(named.id, named.created_at);
    conversation.header.title = named.title;
    conversation.header.project = named.project;
    conversation.header.settings = named.settings;
    conversation.parent = named.parent.map(SourceParent::from);
    conversation
}

/// The run that a title stands for. CPE does not say who asked for it.
fn run_of(title: &str, root: &str) -> Option<SourceParent> {
    let (name, run) = title.strip_prefix(RUN)?.split_once(':')?;
    let run = if run.is_empty() { root } else { run };
    Some(SourceParent {
        conversation: String::new(),
        message: None,
        name: name.to_owned(),
        run: run.to_owned(),
    })
}

/// The title of a run.
pub(super) fn title_of(parent: &SourceParent) -> String {
    format!("{RUN}{}:{}", parent.name, parent.run)
}
