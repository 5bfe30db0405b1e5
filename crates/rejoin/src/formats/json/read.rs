//! Streams a document, one message at a time, whatever the white space between them.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};
use crate::formats::json::VERSION;
use crate::formats::json::row::{DocumentBranch, DocumentConversation, DocumentMessage};
use crate::formats::lines::{deepest, unreadable};
use crate::formats::subagent_group::SubagentGroup;
use crate::formats::{
    Reading, Source, SourceBranch, SourceConversation, SourceMessage, SourceParent, SourcePiece, SourcePin,
};
use crate::model::Fields;

/// The nesting around what the depth limit applies to: the document, its lists, the message and its blocks.
const AROUND: usize = 8;

/// Reads a document.
pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let path = source.path();
    let file = File::open(path).map_err(|cause| unreadable(path, cause))?;
    let gauge = Rc::new(ByteCount::default());
    let limits = reading.limits();
    let gauged =
        LimitedFile { file, gauge: Rc::clone(&gauge), item: limits.line_bytes, all: limits.file_bytes };
    let family = SubagentGroup::default();
    let mut desk = PieceSink { reading, path, gauge, outcome: Ok(()), number: 0, family };
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 16, gauged));
    let read = DocumentSeed(&mut desk).deserialize(&mut json).and_then(|()| json.end());
    // The error that stopped the pass is more precise than the parser's.
    std::mem::replace(&mut desk.outcome, Ok(()))?;
    read.map_err(|cause| Error::invalid("read a document of Rejoin").because(cause))?;
    desk.family.finish(desk.reading)?;
    desk.pass()
}

/// Counts the bytes read, in total and since the last item.
#[derive(Default)]
struct ByteCount {
    all: Cell<u64>,
    item: Cell<u64>,
    reported: Cell<u64>,
}

/// A file that fails when it, or one item in it, exceeds the limit.
struct LimitedFile {
    file: File,
    gauge: Rc<ByteCount>,
    item: u64,
    all: u64,
}

impl Read for LimitedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        let (all, item) = (self.gauge.all.get() + read as u64, self.gauge.item.get() + read as u64);
        self.gauge.all.set(all);
        self.gauge.item.set(item);
        if all > self.all {
            return Err(io::Error::other(format!("the file has more than {} bytes", self.all)));
        }
        // The buffer may contain the beginning of the next item.
        if item > self.item.saturating_add(buffer.len() as u64) {
            return Err(io::Error::other(format!("one message has more than {} bytes", self.item)));
        }
        Ok(read)
    }
}

/// Passes on pieces during parsing.
struct PieceSink<'r, 'a> {
    reading: &'r mut Reading<'a>,
    path: &'r Path,
    gauge: Rc<ByteCount>,
    /// The error that stopped the pass; the parser cannot carry it.
    outcome: Result<()>,
    /// The number of messages so far.
    number: u64,
    family: SubagentGroup,
}

impl PieceSink<'_, '_> {
    fn give<E: de::Error>(&mut self, piece: SourcePiece) -> std::result::Result<(), E> {
        let given = self.reading.give(piece);
        self.settle(given)
    }

    fn settle<E: de::Error>(&mut self, outcome: Result<()>) -> std::result::Result<(), E> {
        outcome.map_err(|error| {
            self.outcome = Err(error);
            E::custom("the reading was stopped")
        })
    }

    /// Completes an item and resets its byte count.
    fn pass(&mut self) -> Result<()> {
        self.gauge.item.set(0);
        let passed = self.gauge.all.get() - self.gauge.reported.replace(self.gauge.all.get());
        if passed == 0 { Ok(()) } else { self.reading.give(SourcePiece::Passed(passed)) }
    }
}

/// Implements a value that is passed on while it is parsed.
macro_rules! read_by_visiting {
    ($seed:ident, $method:ident) => {
        impl<'de> DeserializeSeed<'de> for $seed<'_, '_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
                deserializer.$method(self)
            }
        }
    };
}

struct DocumentSeed<'d, 'r, 'a>(&'d mut PieceSink<'r, 'a>);
struct ConversationsSeed<'d, 'r, 'a>(&'d mut PieceSink<'r, 'a>);
struct ConversationSeed<'d, 'r, 'a>(&'d mut PieceSink<'r, 'a>);
struct MessagesSeed<'d, 'r, 'a>(&'d mut PieceSink<'r, 'a>, String);

read_by_visiting!(DocumentSeed, deserialize_map);
read_by_visiting!(ConversationsSeed, deserialize_seq);
read_by_visiting!(ConversationSeed, deserialize_map);
read_by_visiting!(MessagesSeed, deserialize_seq);

impl<'de> Visitor<'de> for DocumentSeed<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document of Rejoin")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let mut version = None;
        while let Some(name) = map.next_key::<String>()? {
            match (name.as_str(), version) {
                ("rejoin", _) => {
                    let found = map.next_value::<u64>()?;
                    version = Some(found);
                    if found != VERSION {
                        let why = format!("version {found} of the document is not known; {VERSION} is");
                        self.0.settle(Err(Error::new(ErrorKind::Unsupported, why)))?;
                    }
                }
                ("conversations", Some(_)) => map.next_value_seed(ConversationsSeed(self.0))?,
                ("conversations", None) => return Err(de::Error::custom("the version has to come first")),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for ConversationsSeed<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of conversations")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        while list.next_element_seed(ConversationSeed(self.0))?.is_some() {}
        Ok(())
    }
}

impl<'de> Visitor<'de> for ConversationSeed<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a conversation")
    }

    /// Messages may come before other members, because some programs sort them.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let mut known = Fields::new();
        let mut is_new = true;
        while let Some(name) = map.next_key::<String>()? {
            if name != "messages" {
                known.set(name, map.next_value()?);
                is_new = true;
                continue;
            }
            let row = row_of(&known).map_err(de::Error::custom)?;
            let id = row.id.clone();
            self.0.give(SourcePiece::Conversation(Box::new(conversation_of(row).0)))?;
            is_new = false;
            map.next_value_seed(MessagesSeed(self.0, id))?;
        }
        let row = row_of(&known).map_err(de::Error::custom)?;
        let (conversation, branches) = conversation_of(row);
        let id = conversation.id.clone();
        if is_new {
            self.0.give(SourcePiece::Conversation(Box::new(conversation.clone())))?;
        }
        for DocumentBranch { id: own, title, head } in branches {
            self.0.give(SourcePiece::Branch(SourceBranch {
                conversation: id.clone(),
                id: own,
                title,
                head,
            }))?;
        }
        // What started it is only known at its end.
        let added = self.0.family.add(&conversation, self.0.reading);
        self.0.settle(added)
    }
}

fn row_of(known: &Fields) -> serde_json::Result<DocumentConversation> {
    serde_json::from_str(&serde_json::to_string(known)?)
}

fn conversation_of(row: DocumentConversation) -> (SourceConversation, Vec<DocumentBranch>) {
    let mut conversation = SourceConversation::new(row.id, row.created_at);
    conversation.header = row.header;
    conversation.head = row.head;
    conversation.parent = row.parent.map(|parent| SourceParent {
        conversation: parent.conversation,
        message: parent.message,
        name: parent.name,
        run: parent.run,
    });
    (conversation, row.branches)
}

impl<'de> Visitor<'de> for MessagesSeed<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let Self(desk, conversation) = self;
        while let Some(raw) = list.next_element::<Box<RawValue>>()? {
            desk.number += 1;
            let depth = desk.reading.limits().depth + AROUND;
            let row = match deepest(raw.get().as_bytes()) > depth {
                true => Err("it nests too deep".to_owned()),
                false => {
                    serde_json::from_str::<DocumentMessage>(raw.get()).map_err(|cause| cause.to_string())
                }
            };
            match row {
                Ok(row) => take(desk, &conversation, row)?,
                Err(why) => {
                    let skipped = desk.reading.skip(desk.path, 0, format!("message {}: {why}", desk.number));
                    desk.settle(skipped)?;
                }
            }
            let passed = desk.pass();
            desk.settle(passed)?;
        }
        Ok(())
    }
}

fn take<E: de::Error>(
    desk: &mut PieceSink<'_, '_>,
    conversation: &str,
    row: DocumentMessage,
) -> std::result::Result<(), E> {
    let conversation = conversation.to_owned();
    if row.pinned {
        let message = row.id.clone();
        desk.give(SourcePiece::Pin(SourcePin { conversation: conversation.clone(), message }))?;
    }
    let mut message = row.message;
    message.label = row.label;
    desk.give(SourcePiece::Message(Box::new(SourceMessage {
        conversation,
        id: row.id,
        parent: row.parent,
        message,
        keeps: row.keeps,
        line: 0,
        source: String::new(),
    })))
}
