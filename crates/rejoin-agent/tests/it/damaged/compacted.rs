//! A compacted conversation is sent alike before and after it was closed, resumed or forked.

use rejoin::view::{Compaction, KeptMessage, Recipient};
use rejoin::{Archive, Conversation, Handle, Message, Role};
use rejoin_agent::{History, Provider};
use tempfile::TempDir;

use crate::damaged::asked::Asked;
use crate::damaged::spoken::{Replies, spoken};
use crate::dice::Dice;

/// How many conversations are stored, each in an archive of its own.
const CONVERSATIONS: u64 = 6;

/// A conversation that was compacted a moment ago.
struct Compacted {
    directory: TempDir,
    handle: Handle,
    /// Where the conversation was before.
    before: rejoin::MessageId,
}

impl Compacted {
    /// Several turns, of which some messages are pinned and some are kept by the summary.
    fn new(replies: &Replies, seed: u64) -> Self {
        let mut dice = Dice::seeded(seed);
        let directory = tempfile::tempdir().unwrap();
        let archive = open(&directory);
        let mut handle = archive.start(Conversation::new()).unwrap();
        for message in spoken(replies, &mut dice) {
            handle.append(message).unwrap();
        }
        let path = handle.path().unwrap();
        let mut compaction = Compaction::default();
        for stored in path.iter().filter(|stored| stored.message.role == Role::User) {
            match dice.below(4) {
                0 => compaction.kept.push(KeptMessage { message: stored.id, text: None }),
                1 => compaction.kept.push(KeptMessage { message: stored.id, text: Some("cut".to_owned()) }),
                2 => archive.marks().pin(handle.id(), stored.id).unwrap(),
                _ => {}
            }
        }
        let before = handle.head().unwrap();
        handle.append(compaction.to_message("So far, so good.").unwrap()).unwrap();
        Self { directory, handle, before }
    }
}

fn open(directory: &TempDir) -> Archive {
    Archive::open(&format!("sqlite:{}", directory.path().join("a.db").display())).unwrap()
}

fn recipients() -> Vec<Recipient> {
    Asked::all().iter().map(|asked| asked.provider.recipient()).collect()
}

/// What a recipient is sent, as stored messages.
fn sent(handle: &Handle, recipient: &Recipient) -> Vec<String> {
    let history = History::load(handle).unwrap();
    let messages = history.view(recipient).messages;
    messages.iter().map(|viewed| format!("{:?} {}", viewed.id, viewed.message.to_body())).collect()
}

/// Says something more, and returns what is sent then.
fn going_on(mut handle: Handle, recipient: &Recipient) -> Vec<String> {
    handle.append_turn(vec![Message::user("Go on."), Message::assistant("Gladly.")]).unwrap();
    sent(&handle, recipient)
}

#[tokio::test]
async fn the_view_after_compaction_begins_the_view_after_resume() {
    let replies = Replies::read().await;
    for seed in 0..CONVERSATIONS {
        let Compacted { directory, handle, .. } = Compacted::new(&replies, seed);
        let recipients: Vec<Recipient> = recipients();
        let before: Vec<Vec<String>> = recipients.iter().map(|recipient| sent(&handle, recipient)).collect();
        let id = handle.id();
        drop(handle);

        for (recipient, before) in recipients.iter().zip(before) {
            let handle = open(&directory).resume(id).unwrap();
            let resumed = sent(&handle, recipient);
            let longer = going_on(handle, recipient);

            assert_eq!(resumed[..before.len()], before, "{seed}, {}", recipient.api);
            assert_eq!(longer[..before.len()], before, "{seed}, {}", recipient.api);
        }
    }
}

#[tokio::test]
async fn the_view_after_compaction_begins_the_view_of_a_fork() {
    let replies = Replies::read().await;
    for seed in 0..CONVERSATIONS {
        let Compacted { handle, .. } = &Compacted::new(&replies, seed);
        for recipient in recipients() {
            let before = sent(handle, &recipient);
            let fork = handle.fork(handle.head().unwrap(), "another way").unwrap();

            assert_eq!(going_on(fork, &recipient)[..before.len()], before, "{seed}, {}", recipient.api);
        }
    }
}

/// Compaction is on one branch only: what forks off before it is shown whole.
#[tokio::test]
async fn a_fork_from_before_the_compaction_is_not_compacted() {
    let replies = Replies::read().await;
    for seed in 0..CONVERSATIONS {
        let Compacted { handle, before, .. } = &Compacted::new(&replies, seed);
        for recipient in recipients() {
            let whole = sent(&handle.archive().resume_at(handle.id(), *before).unwrap(), &recipient);
            let fork = handle.fork(*before, "another way").unwrap();

            assert_eq!(going_on(fork, &recipient)[..whole.len()], whole, "{seed}, {}", recipient.api);
        }
    }
}
