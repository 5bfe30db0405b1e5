//! Rejoin itself, through the same library that programs use, with either of its stores.

use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

use rejoin::store::{Order, Task};
use rejoin::{Archive, Block, Conversation, Handle, List, Message, MessageId, Search, StoredMessage};

use super::{Contestant, Listed, Loaded};
use rejoin_bench::failure::Result;

/// How long one slice of the index may take while a store is being prepared.
const SLICE: Duration = Duration::from_secs(60);

pub(crate) struct Rejoin<K = Sqlite> {
    kind: PhantomData<K>,
    archive: Archive,
    current: Option<Handle>,
    /// The message in the middle of the current conversation, which a fork starts at.
    middle: Option<MessageId>,
}

/// Which store it keeps conversations in.
pub(crate) trait Kind {
    /// The URL of the store in a place, for the library and for the command.
    fn url(place: &Path) -> String;
}

/// The SQLite store.
pub(crate) struct Sqlite;

impl Kind for Sqlite {
    fn url(place: &Path) -> String {
        format!("sqlite:{}", place.join("rejoin.db").display())
    }
}

/// The store of plain files.
pub(crate) struct Jsonl;

impl Kind for Jsonl {
    fn url(place: &Path) -> String {
        format!("jsonl:{}", place.join("conversations").display())
    }
}

impl<K> Rejoin<K> {
    fn current(&mut self) -> Result<&mut Handle> {
        Ok(self.current.as_mut().ok_or("no conversation was begun")?)
    }
}

impl<K: Kind> Contestant for Rejoin<K> {
    type Turn = Vec<Message>;
    type Messages = Vec<StoredMessage>;

    fn open(place: &Path) -> Result<Self> {
        // The bench fills conversations beyond the usual size.
        let limits =
            rejoin::Limits { turn_bytes: 1 << 30, conversation_bytes: u64::MAX, ..rejoin::Limits::default() };
        let archive = Archive::open(&K::url(place))?.with_limits(limits);
        Ok(Self { kind: PhantomData, archive, current: None, middle: None })
    }

    fn begin(&mut self, title: &str) -> Result<()> {
        self.current = Some(self.archive.start(Conversation::titled(title))?);
        Ok(())
    }

    fn resume(&mut self) -> Result<()> {
        let newest = self.archive.list(&List { limit: 1, ..List::default() })?.items.pop();
        let newest = newest.ok_or("the store is empty")?;
        self.current = Some(self.archive.resume(newest.id)?);
        let middle =
            self.archive.reader().all_messages(newest.id, Order::OldestFirst, newest.messages / 2, 1)?;
        self.middle = middle.first().map(|stored| stored.id);
        Ok(())
    }

    fn prepare(&self, lines: &[&str]) -> Result<Vec<Message>> {
        Ok(lines.iter().map(|line| Message::from_body(line)).collect::<rejoin::Result<_>>()?)
    }

    fn append(&mut self, turn: Vec<Message>) -> Result<()> {
        self.current()?.append_turn(turn)?;
        Ok(())
    }

    /// The store folds its log on a thread of its own.
    fn rest(&mut self) -> Result<()> {
        Ok(())
    }

    fn load(&mut self) -> Result<Vec<StoredMessage>> {
        Ok(self.current()?.path()?)
    }

    fn weigh(messages: &Vec<StoredMessage>) -> Loaded {
        let size = |block: &Block| match block {
            Block::Text(block) => block.text.len(),
            Block::ToolResult(block) => block.output.to::<String>().map_or(0, |text| text.len()),
            _ => 0,
        };
        let text_bytes = messages.iter().flat_map(|stored| &stored.message.blocks).map(size).sum();
        Loaded { messages: messages.len(), text_bytes }
    }

    fn list(&mut self, limit: usize) -> Result<Vec<Listed>> {
        let page = self.archive.list(&List { limit, ..List::default() })?;
        let rows = page.items.into_iter().map(|stored| Listed {
            title: stored.title().to_owned(),
            first: stored.first,
            last: stored.last,
            active: stored.last_active_at.as_micros(),
            messages: stored.messages.cast_signed(),
        });
        Ok(rows.collect())
    }

    fn search(&mut self, word: &str, limit: usize) -> Result<usize> {
        let search = Search { text: format!("{word} "), limit, ..Search::default() };
        Ok(self.archive.search(&search)?.items.len())
    }

    fn fork(&mut self, title: &str) -> Result<()> {
        let (id, middle) = (self.current()?.id(), self.middle.ok_or("nothing to fork")?);
        self.archive.fork(id, middle, title)?;
        Ok(())
    }

    fn index(&mut self) -> Result<()> {
        while self.archive.maintenance().run(Task::Index, SLICE)? > 0 {}
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.archive.maintenance().run(Task::Checkpoint, SLICE)?;
        Ok(())
    }
}
