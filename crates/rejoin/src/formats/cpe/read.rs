//! Reads every conversation of a database.

use std::collections::HashMap;

use serde_json::json;

use crate::error::Result;
use crate::formats::cpe::forest::MessageForest;
use crate::formats::cpe::parts::BlockRow;
use crate::formats::cpe::shape::RowShape;
use crate::formats::cpe::tag::{CpeTag, TAG};
use crate::formats::database::{Database, DatabaseRow};
use crate::formats::subagent_group::SubagentGroup;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Reading, Source, SourceConversation, SourceMessage, SourceParent};
use crate::model::Json;

/// The prefix of a sub-agent run's title; the name and the run follow.
const RUN: &str = "subagent:";

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    Database::read(source, reading, |database, reading| {
        database.need("messages", &["id", "parent_id", "role"])?;
        database.need("blocks", &["message_id", "block_type", "content", "sequence_order"])?;
        let forest = MessageForest::of(database, reading)?;
        let mut sessions = sessions_of(database, &forest)?;
        let (trees, mut names, mut family) = (forest.trees(), HashMap::new(), SubagentGroup::default());
        for tree in trees {
            let own = sessions.remove(&tree[0]).unwrap_or_default();
            let conversation = CpeThread::read(database, &forest, &mut names, &tree, &own, reading)?;
            family.add(&conversation, reading)?;
        }
        family.finish(reading)
    })
}

/// Returns the sessions whose newest message is in a tree, by the root of the tree.
fn sessions_of(database: &Database, forest: &MessageForest) -> Result<HashMap<usize, Vec<DatabaseRow>>> {
    let mut sessions: HashMap<usize, Vec<DatabaseRow>> = HashMap::new();
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
struct CpeThread<'a> {
    database: &'a Database,
    forest: &'a MessageForest,
    /// The ids of messages whose rows have another id.
    names: &'a mut HashMap<usize, String>,
    /// Holds a message that the next row may continue.
    thread: ThreadBuilder,
    /// True when the held message has all of its blocks.
    is_whole: bool,
    /// The title of the root.
    title: Option<String>,
    /// The newest row and its id; the next row usually follows it.
    newest: Option<(usize, String)>,
}

/// A row of `messages` with its blocks, its tag and the text of both.
struct LoadedRow {
    id: String,
    shape: RowShape,
    tag: CpeTag,
    source: String,
}

impl<'a> CpeThread<'a> {
    fn read(
        database: &'a Database,
        forest: &'a MessageForest,
        names: &'a mut HashMap<usize, String>,
        tree: &[usize],
        sessions: &[DatabaseRow],
        reading: &mut Reading<'_>,
    ) -> Result<SourceConversation> {
        let root = row(database, forest, tree[0])?;
        let title = root.shape.title.clone();
        // If a tree has several sessions, the one with the newest message was used last.
        let place =
            |session: &&DatabaseRow| session.text("last_message_id").and_then(|last| forest.place(last));
        let session = sessions.iter().max_by_key(place);
        let thread = ThreadBuilder::announced(conversation_of(root, session), reading)?;
        let mut read = Self { database, forest, names, thread, is_whole: false, title, newest: None };
        for place in tree {
            read.take(*place, reading)?;
        }
        read.flush(reading)?;
        for session in sessions {
            read.thread.aside(0, session.to_json(&[]).to_string(), reading)?;
        }
        if let Some(newest) = session.and_then(|session| place(&session)) {
            let head = read.name(newest)?;
            read.thread.finish(Some(head), reading)?;
        }
        Ok(read.thread.conversation)
    }

    fn take(&mut self, place: usize, reading: &mut Reading<'_>) -> Result<()> {
        let found = row(self.database, self.forest, place)?;
        self.database.pass(found.source.len() as u64, reading)?;
        let node = self.forest.node(place);
        let said = found.shape.to_message(node.words);
        if found.tag.continues
            && let Some(before) = self.thread.held()
        {
            self.names.insert(place, before.id.clone());
            let blocks = if self.is_whole { Vec::new() } else { said.blocks };
            return self.thread.extend_held(blocks, &found.source, reading);
        }
        self.flush(reading)?;
        let parent = node.parent.map(|parent| self.name(parent)).transpose()?;
        let (mut message, mut id) = (said, found.id);
        if let Some(own) = found.tag.id {
            self.names.insert(place, own.clone());
            id = own;
        }
        self.newest = Some((place, id.clone()));
        let label = found.shape.title.filter(|own| Some(own) != self.title.as_ref());
        message.label = found.tag.label.or(label);
        let read = self.thread.message(id, parent, message);
        let mut read = SourceMessage { keeps: found.tag.keeps, source: found.source, ..read };
        if let Some(shell) = found.tag.message {
            let (blocks, label) = (read.message.blocks, read.message.label);
            read.message = shell;
            (read.message.blocks, read.message.label) = (blocks, label);
        }
        self.is_whole = found.tag.blocks.is_some();
        if let Some(blocks) = found.tag.blocks {
            read.message.blocks = blocks;
        }
        self.thread.hold(read);
        Ok(())
    }

    fn flush(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.thread.take_held().map_or(Ok(()), |held| self.thread.add(held, reading))
    }

    /// Returns the id of a row's message.
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
}

fn row(database: &Database, forest: &MessageForest, place: usize) -> Result<LoadedRow> {
    let number = forest.node(place).row;
    let rows = database.all("SELECT * FROM messages WHERE rowid = ?1", &[number.into()])?;
    let row = rows.first().ok_or_else(|| crate::Error::corrupt("a message is gone from the database"))?;
    let id = row.word("id").unwrap_or_default();
    let sql = "SELECT * FROM blocks WHERE message_id = ?1 ORDER BY sequence_order";
    let blocks = database.all(sql, &[id.as_str().into()])?;
    let shape = RowShape::of(row, blocks.iter().map(BlockRow::of).collect());
    let tag = shape.fields.field(TAG).and_then(|tag| Json::to(tag).ok()).unwrap_or_default();
    let blocks: Vec<_> = blocks.iter().map(|block| block.to_json(&[])).collect();
    let source = json!({ "message": row.to_json(&[]), "blocks": blocks }).to_string();
    Ok(LoadedRow { id, shape, tag, source })
}

fn conversation_of(root: LoadedRow, session: Option<&DatabaseRow>) -> SourceConversation {
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

/// Parses the title of a run. CPE does not record who started it.
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

/// Returns the title of a run.
pub(super) fn title_of(parent: &SourceParent) -> String {
    format!("{RUN}{}:{}", parent.name, parent.run)
}
