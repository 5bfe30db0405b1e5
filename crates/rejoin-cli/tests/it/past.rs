//! Conversations that were had before a test begins, written with the library into the store of its world.

use std::sync::Arc;

use rejoin::{Archive, Conversation, Handle, Message, MessageId, Nature, SystemNature, Time};

use crate::world::World;

/// A clock that stands still.
#[derive(Debug)]
struct Stopped(Time);

impl Nature for Stopped {
    fn now(&self) -> Time {
        self.0
    }

    fn fill(&self, bytes: &mut [u8]) {
        SystemNature.fill(bytes);
    }
}

/// A clock that stands still, beside dice that always fall the same way: short ids and message ids repeat.
#[derive(Debug)]
struct Repeating(Time);

impl Nature for Repeating {
    fn now(&self) -> Time {
        self.0
    }

    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0x5a);
    }
}

/// The time this many minutes ago.
pub(crate) fn minutes_ago(minutes: i64) -> Time {
    Time::now().plus_micros(-minutes * 60_000_000)
}

impl World {
    /// The store of this world, as if it were another time.
    pub(crate) fn archive_at(&self, time: Time) -> Archive {
        self.archive().with_nature(Arc::new(Stopped(time)))
    }

    /// The same, with ids that repeat in every conversation.
    pub(crate) fn archive_repeating(&self, time: Time) -> Archive {
        self.archive().with_nature(Arc::new(Repeating(time)))
    }

    /// The key of the project that runs are made in.
    pub(crate) fn project_key(&self) -> String {
        self.path("project").to_str().unwrap().to_owned()
    }

    /// A conversation of this project, begun just now.
    pub(crate) fn conversation(&self, title: &str) -> Handle {
        self.conversation_in(&self.archive(), title)
    }

    /// A conversation of this project in an archive that has its own time.
    pub(crate) fn conversation_in(&self, archive: &Archive, title: &str) -> Handle {
        archive.start(Conversation::titled(title).in_project(self.project_key())).unwrap()
    }
}

/// Appends a question and its answer, and returns their ids.
pub(crate) fn ask(handle: &mut Handle, question: &str, answer: &str) -> [MessageId; 2] {
    let turn = vec![Message::user(question), Message::assistant(answer)];
    handle.append_turn(turn).unwrap().messages.try_into().unwrap()
}
