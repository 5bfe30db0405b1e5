//! The index never changes an answer: whatever happens, a search with it says
//! what reading every message says.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use crate::model::{ConversationId, Digest, MessageId, Role, WordQuery};
use crate::store::{
    Change, Children, Cursor, JsonlStore, Order, PreviewUpdate, Read, Rewritten, SearchOrder, SearchQuery,
    Selection, Store, Target, Task,
};
use crate::{Archive, Conversation, Message, Time};

const WORDS: [&str; 6] = ["green", "greenish", "Café", "東京", "bicycle", "rare"];

/// Few, so that they collide.
const TIMES: [i64; 3] = [1_800_000_000_000_000, 1_800_000_000_000_001, i64::MAX];

#[derive(Clone, Debug)]
enum Operation {
    Start {
        project: bool,
    },
    Append {
        which: usize,
        said: Vec<Said>,
    },
    Rewrite {
        which: usize,
        said: Said,
    },
    Remove {
        which: usize,
        message: usize,
    },
    Delete {
        which: usize,
    },
    Retitle {
        which: usize,
        project: bool,
    },
    Edit {
        which: usize,
        edit: Edit,
    },
    Index,
    Reopen,
    DamageIndex {
        file: usize,
        place: usize,
    },
    CutIndex {
        file: usize,
        place: usize,
    },
    DeleteIndex,
    /// A crash after a segment was written and before those that it replaces were removed.
    KeepIndex,
    RestoreIndex,
}

#[derive(Clone, Debug)]
struct Said {
    words: Vec<usize>,
    time: usize,
    is_user: bool,
}

#[derive(Clone, Debug)]
enum Edit {
    /// A word becomes another of the same length, in the same file.
    InPlace,
    /// The file is replaced by one without this line.
    Without(usize),
    /// Something that is no line is added.
    Rubbish,
    /// The body of a message is broken.
    Broken(usize),
    /// The file is copied to a new one, which looks different and says the same.
    Copied,
    /// The last line is cut.
    Cut(usize),
    Gone,
}

fn said() -> impl Strategy<Value = Said> {
    (prop::collection::vec(0..WORDS.len(), 0..5), 0..TIMES.len(), any::<bool>())
        .prop_map(|(words, time, is_user)| Said { words, time, is_user })
}

fn operation() -> impl Strategy<Value = Operation> {
    let edit = prop_oneof![
        3 => Just(Edit::InPlace),
        1 => (0..9_usize).prop_map(Edit::Without),
        1 => Just(Edit::Rubbish),
        1 => (0..9_usize).prop_map(Edit::Broken),
        2 => Just(Edit::Copied),
        1 => (1..40_usize).prop_map(Edit::Cut),
        1 => Just(Edit::Gone),
    ];
    let which = 0..3_usize;
    prop_oneof![
        2 => any::<bool>().prop_map(|project| Operation::Start { project }),
        8 => (which.clone(), prop::collection::vec(said(), 1..4))
            .prop_map(|(which, said)| Operation::Append { which, said }),
        2 => (which.clone(), said()).prop_map(|(which, said)| Operation::Rewrite { which, said }),
        2 => (which.clone(), 0..9_usize).prop_map(|(which, message)| Operation::Remove { which, message }),
        1 => which.clone().prop_map(|which| Operation::Delete { which }),
        1 => (which.clone(), any::<bool>())
            .prop_map(|(which, project)| Operation::Retitle { which, project }),
        4 => (which, edit).prop_map(|(which, edit)| Operation::Edit { which, edit }),
        6 => Just(Operation::Index),
        3 => Just(Operation::Reopen),
        1 => (any::<usize>(), any::<usize>())
            .prop_map(|(file, place)| Operation::DamageIndex { file, place }),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(file, place)| Operation::CutIndex { file, place }),
        1 => Just(Operation::DeleteIndex),
        1 => Just(Operation::KeepIndex),
        1 => Just(Operation::RestoreIndex),
    ]
}

/// A store that things happen to.
struct World {
    directory: tempfile::TempDir,
    store: Option<Arc<JsonlStore>>,
    conversations: Vec<ConversationId>,
    /// Each edit gets a time of its own, as edits of people have.
    edits: u64,
    kept: Vec<(PathBuf, Vec<u8>)>,
}

fn project(is_red: bool) -> String {
    if is_red { "/red" } else { "/blue" }.to_owned()
}

fn message(said: &Said) -> Message {
    let text = said.words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
    let message = if said.is_user { Message::user(text) } else { Message::assistant(text) };
    message.at(Time::from_micros(TIMES[said.time]))
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut world =
            Self { directory, store: None, conversations: Vec::new(), edits: 0, kept: Vec::new() };
        world.reopen();
        world
    }

    fn reopen(&mut self) {
        self.store = None;
        self.store = Some(Arc::new(JsonlStore::open(self.directory.path()).unwrap()));
    }

    fn store(&self) -> &Arc<JsonlStore> {
        self.store.as_ref().unwrap()
    }

    fn archive(&self) -> Archive {
        Archive::with_store(Arc::clone(self.store()) as _).passing_over_damage()
    }

    fn which(&self, which: usize) -> Option<ConversationId> {
        self.conversations.get(which % self.conversations.len().max(1)).copied()
    }

    fn messages(&self, id: ConversationId) -> Vec<MessageId> {
        let mut ids = Vec::new();
        let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        let _ = self.store().read(id, all, &mut |seen| {
            ids.push(seen.id);
            Ok(())
        });
        ids
    }

    /// What happens may fail where a file was damaged; only what is found afterwards matters.
    fn happen(&mut self, operation: &Operation) -> Option<()> {
        let archive = self.archive();
        match operation {
            Operation::Start { project: is_red } => {
                let conversation =
                    Conversation { project: Some(project(*is_red)), ..Conversation::titled("green") };
                self.conversations.push(archive.start(conversation).ok()?.id());
            }
            Operation::Append { which, said } => {
                let mut talk = archive.resume(self.which(*which)?).ok()?;
                talk.append_turn(said.iter().map(message).collect()).ok()?;
            }
            Operation::Rewrite { which, said } => {
                let id = self.which(*which)?;
                let body = message(said).to_body();
                let messages: Vec<Rewritten<'_>> = self
                    .messages(id)
                    .into_iter()
                    .map(|id| Rewritten { id, link: Digest::chain(None, body.as_bytes()), body: &body })
                    .collect();
                let change =
                    Change::Rewrite { messages: &messages, previews: PreviewUpdate { first: "", last: "" } };
                self.store().amend(id, None, &change, Time::now()).ok()?;
            }
            Operation::Remove { which, message } => {
                let id = self.which(*which)?;
                let messages = self.messages(id);
                let ids = [*messages.get(message % messages.len().max(1))?];
                let target = Target::Messages { conversation: id, ids: &ids, children: Children::Remove };
                self.store().remove(&[target], "test", Time::now()).ok()?;
            }
            Operation::Delete { which } => {
                let id = self.which(*which)?;
                self.store().remove(&[Target::Conversation(id)], "test", Time::now()).ok()?;
                self.conversations.retain(|own| *own != id);
            }
            Operation::Retitle { which, project: is_red } => {
                let project = Some(project(*is_red));
                archive.update(self.which(*which)?, |header| header.project.clone_from(&project)).ok()?;
            }
            Operation::Edit { which, edit } => self.edit(self.which(*which)?, edit)?,
            Operation::Index => {
                self.index();
            }
            Operation::Reopen => {
                drop(archive);
                self.reopen();
            }
            Operation::DamageIndex { file, place } => {
                let (path, mut bytes) = self.segment(*file)?;
                let place = place % bytes.len().max(1);
                *bytes.get_mut(place)? ^= 1;
                fs::write(path, bytes).unwrap();
            }
            Operation::CutIndex { file, place } => {
                let (path, bytes) = self.segment(*file)?;
                fs::write(path, &bytes[..place % bytes.len().max(1)]).unwrap();
            }
            Operation::DeleteIndex => fs::remove_dir_all(self.words()).ok()?,
            Operation::KeepIndex => {
                let read = |path: PathBuf| fs::read(&path).map(|bytes| (path, bytes)).unwrap();
                self.kept = self.segments().into_iter().map(read).collect();
            }
            Operation::RestoreIndex => {
                for (path, bytes) in self.kept.drain(..) {
                    fs::write(path, bytes).ok()?;
                }
            }
        }
        Some(())
    }

    fn index(&self) {
        for _ in 0..50 {
            if self.store().maintain(Task::Index, Duration::ZERO).unwrap().left == 0 {
                return;
            }
        }
        panic!("indexing does not end");
    }

    fn words(&self) -> PathBuf {
        self.directory.path().join(".store/words")
    }

    fn segments(&self) -> Vec<PathBuf> {
        super::paths(&self.words()).unwrap()
    }

    fn segment(&self, file: usize) -> Option<(PathBuf, Vec<u8>)> {
        let all = self.segments();
        let path = all.get(file % all.len().max(1))?;
        Some((path.clone(), fs::read(path).unwrap()))
    }

    fn edit(&mut self, id: ConversationId, edit: &Edit) -> Option<()> {
        let path = ["red", "blue"].map(|folder| self.directory.path().join(format!("{folder}/{id}.jsonl")));
        let path = path.into_iter().find(|path| path.exists())?;
        let text = fs::read_to_string(&path).ok()?;
        let lines: Vec<&str> = text.lines().collect();
        match edit {
            Edit::InPlace => {
                let at = text.rfind("bicycle")?;
                let file = File::options().write(true).open(&path).ok()?;
                file.write_all_at(b"rarerar", at as u64).ok()?;
            }
            Edit::Without(line) => {
                let line = line % lines.len().max(1);
                let rest = lines.iter().enumerate().filter(|(number, _)| *number != line);
                replace(&path, &rest.map(|(_, line)| format!("{line}\n")).collect::<String>());
            }
            Edit::Rubbish => fs::write(&path, text + "rubbish\n").ok()?,
            Edit::Broken(line) => {
                let line = lines.get(line % lines.len().max(1))?;
                replace(&path, &text.replace(line, &line.replacen("\"text\":", "\"text\";", 1)));
            }
            Edit::Copied => replace(&path, &text),
            Edit::Cut(length) => {
                let file = File::options().write(true).open(&path).ok()?;
                file.set_len((text.len() as u64).saturating_sub(*length as u64)).ok()?;
            }
            Edit::Gone => fs::remove_file(&path).ok()?,
        }
        self.edits += 1;
        let time = SystemTime::now() + Duration::from_secs(self.edits);
        let _ = File::options().write(true).open(&path).and_then(|file| file.set_modified(time));
        Some(())
    }

    /// Compares searches with and without the index.
    fn compare(&self) -> Result<(), TestCaseError> {
        for text in ["green", "cafe bicy", "rarerar ", ""] {
            let words = WordQuery::parse(text);
            let all = SearchQuery {
                words: &words,
                conversation: None,
                project: None,
                role: None,
                since: None,
                order: SearchOrder::Newest,
                after: None,
                limit: 100,
            };
            self.compare_one(&all)?;
            self.compare_one(&SearchQuery { role: Some(Role::User), limit: 2, ..all })?;
            self.compare_one(&SearchQuery { project: Some("/red"), limit: 1, ..all })?;
            self.compare_one(&SearchQuery { since: Some(Time::from_micros(TIMES[1])), ..all })?;
            let conversation = self.conversations.first().copied();
            self.compare_one(&SearchQuery { conversation, ..all })?;
            let after = conversation.map(|conversation| Cursor {
                time: Time::from_micros(TIMES[1]),
                conversation,
                seq: 2,
            });
            self.compare_one(&SearchQuery { after, limit: 3, ..all })?;
            self.compare_one(&SearchQuery { conversation, project: Some("/blue"), limit: 0, ..all })?;
        }
        Ok(())
    }

    fn compare_one(&self, query: &SearchQuery<'_>) -> Result<(), TestCaseError> {
        let indexed = self.store().search(query).map_err(|error| error.to_string());
        let scanned = self.store().search_without_index(query).map_err(|error| error.to_string());
        prop_assert_eq!(indexed, scanned, "{:?}", query);
        Ok(())
    }
}

/// Puts another file in the place of one, as most editors do.
fn replace(path: &Path, text: &str) {
    let fresh = path.with_extension("fresh");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, path).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_search_with_the_index_says_what_reading_every_message_says(
        operations in prop::collection::vec(operation(), 1..24),
    ) {
        let mut world = World::new();
        world.happen(&Operation::Start { project: true });
        world.happen(&Operation::Start { project: false });

        for operation in &operations {
            world.happen(operation);
            world.compare()?;
        }

        world.index();
        world.compare()?;
    }
}
