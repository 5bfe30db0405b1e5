//! Vaults opened by their URL: keys replaced while others write, older copies
//! noticed, stores sealed and unsealed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rejoin::vault::{Cost, Keyholder, NewSlot, Secret, SecretFiles, SecretStores, UnlockResponse};
use rejoin::{
    Access, Archive, Block, Conversation, ConversationId, Error, ErrorKind, Existing, Media, MediaKind,
    Message, Role, StoreUrl, Time,
};

/// As cheap as it gets, so that a test takes no time.
pub(crate) const CHEAP: Cost = Cost { memory_kib: 8, passes: 1 };

/// A directory with stores, key files and anchors.
pub(crate) struct Machine {
    pub(crate) directory: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The same machine, seen by another process.
    pub(crate) fn access(&self) -> Access {
        let files = Arc::new(SecretFiles::new(self.path("keys")));
        let keys = Keyholder::new(SecretStores { files: Some(files), ..SecretStores::default() });
        Access { keys: Some(keys), anchors: Some(self.path("anchors")), ..Access::default() }
    }

    pub(crate) fn url(&self, scheme: &str, name: &str) -> StoreUrl {
        StoreUrl::parse(&format!("{scheme}:{}", self.path(name).display())).unwrap()
    }

    /// A new vault that a key file and a passphrase open.
    pub(crate) fn vault(&self, scheme: &str) -> StoreUrl {
        let url = self.url(scheme, "vault");
        let keys = url.keys(&self.access(), Existing::Optional).unwrap();
        let passphrase = NewSlot::Passphrase(Secret::from("correct horse".to_owned()), CHEAP);
        keys.create(&[NewSlot::File, passphrase], Time::now()).unwrap();
        url
    }

    pub(crate) fn open(&self, url: &StoreUrl) -> Archive {
        self.try_open(url).unwrap()
    }

    pub(crate) fn try_open(&self, url: &StoreUrl) -> rejoin::Result<Archive> {
        Archive::open_with(&url.to_string(), &self.access())
    }
}

pub(crate) fn say(archive: &Archive, text: &str) -> ConversationId {
    let mut talk = archive.start(Conversation::titled(text)).unwrap();
    talk.append(Message::user(text)).unwrap();
    talk.id()
}

pub(crate) fn titles(archive: &Archive) -> Vec<String> {
    let ids = archive.maintenance().survey().unwrap().conversations.into_iter();
    let mut titles: Vec<String> =
        ids.filter_map(|id| archive.conversation(id).unwrap().conversation.title).collect();
    titles.sort();
    titles
}

pub(crate) fn verified(archive: &Archive) -> Vec<String> {
    let survey = archive.maintenance().survey().unwrap();
    let faults = survey.conversations.iter().flat_map(|id| archive.maintenance().verify(*id).unwrap().faults);
    survey.faults.iter().cloned().chain(faults).collect()
}

fn rotates(scheme: &str) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    let before = machine.open(&url);
    say(&before, "before");
    let keys = url.keys(&machine.access(), Existing::Needed).unwrap();

    let rotated = keys.rotate(Time::now()).unwrap();

    // Whoever had it open goes on, and whoever opens it now finds everything.
    say(&before, "after");
    let expected = ["after".to_owned(), "before".to_owned()];
    assert_eq!((rotated.epoch, rotated.unreadable), (2, 0));
    assert_eq!([titles(&before), titles(&machine.open(&url))], [expected.clone(), expected]);
    assert_eq!(verified(&machine.open(&url)), [""; 0]);
}

#[test]
fn a_vault_in_sqlite_goes_on_after_a_rotation() {
    rotates("vault+sqlite");
}

#[test]
fn a_vault_in_files_goes_on_after_a_rotation() {
    rotates("vault+jsonl");
}

fn rotates_while_others_write(scheme: &str, rotations: usize) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    let keys = url.keys(&machine.access(), Existing::Needed).unwrap();
    let is_over = AtomicBool::new(false);

    let mut said = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let archive = machine.open(&url);
                let is_over = &is_over;
                scope.spawn(move || {
                    let mut said = Vec::new();
                    while !is_over.load(Ordering::Relaxed) || said.is_empty() {
                        let title = format!("{writer}-{}", said.len());
                        say(&archive, &title);
                        said.push(title);
                    }
                    said
                })
            })
            .collect();
        // A key that is being wrapped anew by whoever made it may be unreadable for a moment.
        (0..rotations).for_each(|_| drop(keys.rotate(Time::now()).unwrap()));
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });

    said.sort();
    assert_eq!(titles(&machine.open(&url)), said);
    assert_eq!(verified(&machine.open(&url)), [""; 0]);
}

#[test]
fn conversations_that_begin_during_a_rotation_in_sqlite_are_not_lost() {
    rotates_while_others_write("vault+sqlite", 10);
}

#[test]
fn conversations_that_begin_during_a_rotation_in_files_are_not_lost() {
    rotates_while_others_write("vault+jsonl", 5);
}

#[test]
fn a_vault_is_not_opened_as_a_plain_store_nor_a_plain_store_as_a_vault() {
    let machine = Machine::new();
    let vault = machine.vault("vault+sqlite");
    let plain = machine.url("sqlite", "plain.db");
    say(&machine.open(&plain), "plain");

    let as_plain = machine.try_open(&machine.url("sqlite", "vault")).unwrap_err();
    let as_vault = machine.try_open(&plain.sealed()).unwrap_err();
    let missing = machine.try_open(&machine.url("vault+jsonl", "missing")).unwrap_err();
    let keyless = Archive::open(&vault.to_string()).unwrap_err();

    let kinds = [as_plain, as_vault, missing, keyless].map(|error: Error| error.kind());
    assert_eq!(kinds, [ErrorKind::Denied, ErrorKind::Invalid, ErrorKind::NotFound, ErrorKind::Denied]);
    assert!(!machine.path("missing").exists());
}

#[test]
fn a_vault_of_another_machine_does_not_open_here() {
    let (machine, other) = (Machine::new(), Machine::new());
    let url = other.vault("vault+sqlite");

    let refused = machine.try_open(&url).unwrap_err();
    let asked = Access {
        keys: Some(
            Keyholder::new(SecretStores::default())
                .asking(|_| Ok(Some(UnlockResponse::Passphrase(Secret::from("correct horse".to_owned()))))),
        ),
        ..machine.access()
    };
    let opened = Archive::open_with(&url.to_string(), &asked);

    assert_eq!((refused.kind(), opened.is_ok()), (ErrorKind::Denied, true));
}

#[test]
fn an_older_copy_of_a_vault_is_not_opened_until_it_is_accepted() {
    let machine = Machine::new();
    let url = machine.vault("vault+jsonl");
    say(&machine.open(&url), "old");
    copy_directory(&machine.path("vault"), &machine.path("copy"));
    say(&machine.open(&url), "new");

    std::fs::remove_dir_all(machine.path("vault")).unwrap();
    copy_directory(&machine.path("copy"), &machine.path("vault"));
    let refused = machine.try_open(&url).unwrap_err();
    url.accept(&machine.access()).unwrap();

    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(titles(&machine.open(&url)), ["old"]);
}

pub(crate) fn copy_directory(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() { copy_directory(&from, &to) } else { std::fs::copy(from, to).map(drop).unwrap() }
    }
}

fn converts(plain: &str, sealed: &str) {
    let machine = Machine::new();
    let from = machine.url(plain, "plain");
    let archive = machine.open(&from);
    let trip = say(&archive, "trip");
    let mut talk = archive.resume(trip).unwrap();
    let receipt = talk.append(Message::assistant("Try a tasca.")).unwrap();
    archive.marks().pin(trip, receipt.head).unwrap();
    let mut cheap = talk.fork(receipt.head, "on a budget").unwrap();
    cheap.append(Message::user("Cheaper.")).unwrap();
    // Large enough to be kept in pieces beside the message.
    let picture = Message::new(Role::User, vec![Block::Media(picture())]);
    let shown = cheap.append(picture.clone()).unwrap().head;
    archive.state().remember("seen", Some("yes")).unwrap();
    say(&archive, "other");
    let known = snapshot(&archive, trip);
    drop((archive, talk, cheap));
    let vault = machine.vault(sealed);
    let back = machine.url(plain, "back");

    // Begun twice: what is there already is recognised.
    let first = from.convert(&vault, &machine.access(), &mut |_, _, _| ()).unwrap();
    let second = from.convert(&vault, &machine.access(), &mut |_, _, _| ()).unwrap();
    vault.convert(&back, &machine.access(), &mut |_, _, _| ()).unwrap();
    from.erase().unwrap();

    assert_eq!((first, first.contents.messages), (second, 5));
    for url in [&vault, &back] {
        let read = machine.open(url).messages(trip, &[shown]).unwrap();
        assert_eq!(read[0].message.blocks, picture.blocks);
        assert_eq!(machine.open(url).attachments().list(trip).unwrap().len(), 1);
    }
    assert_eq!(
        [snapshot(&machine.open(&vault), trip), snapshot(&machine.open(&back), trip)],
        [known.clone(), known]
    );
    assert_eq!(machine.open(&vault).state().recall("seen").unwrap().as_deref(), Some("yes"));
    assert_eq!(verified(&machine.open(&vault)), [""; 0]);
    assert!(!machine.path("plain").exists());
}

/// A picture of more than two pieces.
fn picture() -> Media {
    let data = Some("iVBORw0K".repeat(400_000));
    let (kind, mime_type) = (MediaKind::Image, "image/png".to_owned());
    Media { kind, mime_type, data, uri: None, extra: Default::default() }
}

/// A conversation as it is told.
fn snapshot(archive: &Archive, id: ConversationId) -> String {
    let mut stored = archive.conversation(id).unwrap();
    // Counts changes, of which a copy has seen others; and sealed bytes are more.
    (stored.version, stored.bytes) = (0, 0);
    let all = archive.reader().all_messages(id, rejoin::store::Order::OldestFirst, 0, 100).unwrap();
    let told: Vec<_> =
        all.iter().map(|message| (message.id, message.parent, message.digest, message.is_pinned)).collect();
    format!("{stored:?} {told:?}")
}

#[test]
fn a_store_in_sqlite_becomes_a_vault_and_a_plain_one_again() {
    converts("sqlite", "vault+sqlite");
}

#[test]
fn a_store_in_files_becomes_a_vault_and_a_plain_one_again() {
    converts("jsonl", "vault+jsonl");
}

/// A store that was copied into a vault once.
fn copied(machine: &Machine, plain: &str) -> (StoreUrl, StoreUrl, ConversationId, rejoin::MessageId) {
    let from = machine.url(plain, "plain");
    let archive = machine.open(&from);
    let trip = say(&archive, "trip");
    let mut talk = archive.resume(trip).unwrap();
    let said = talk.append(Message::assistant("Try a tasca.")).unwrap().head;
    archive.marks().label(trip, said, Some("idea")).unwrap();
    drop((archive, talk));
    let vault = machine.vault(&format!("vault+{plain}"));
    from.convert(&vault, &machine.access(), &mut |_, _, _| ()).unwrap();
    (from, vault, trip, said)
}

fn notes_and_removals_are_copied_again(plain: &str) {
    let machine = Machine::new();
    let (from, vault, trip, said) = copied(&machine, plain);
    let convert = || from.convert(&vault, &machine.access(), &mut |_, _, _| ()).unwrap();
    let told = |url: &StoreUrl| {
        let archive = machine.open(url);
        let all = archive.reader().all_messages(trip, rejoin::store::Order::OldestFirst, 0, 100).unwrap();
        let notes: Vec<_> =
            all.into_iter().map(|message| (message.id, message.message.label, message.is_pinned)).collect();
        (notes, archive.state().recall("seen").unwrap())
    };

    machine.open(&from).marks().label(trip, said, Some("better idea")).unwrap();
    convert();
    let labelled = (told(&vault), told(&from));
    let archive = machine.open(&from);
    archive.marks().label(trip, said, None).unwrap();
    archive.marks().pin(trip, said).unwrap();
    archive.state().remember("seen", Some("yes")).unwrap();
    drop(archive);
    convert();
    let pinned = (told(&vault), told(&from));
    let archive = machine.open(&from);
    archive
        .removal()
        .delete_messages(trip, &[said], rejoin::store::Children::Refuse, "user-requested")
        .unwrap();
    archive.resume(trip).unwrap().append(Message::assistant("Another.")).unwrap();
    drop(archive);
    convert();

    assert_eq!(labelled.0, labelled.1);
    assert_eq!(pinned.0, pinned.1);
    assert_eq!(told(&vault), told(&from));
}

#[test]
fn notes_and_removals_in_sqlite_are_copied_again() {
    notes_and_removals_are_copied_again("sqlite");
}

#[test]
fn notes_and_removals_in_files_are_copied_again() {
    notes_and_removals_are_copied_again("jsonl");
}

/// What an archive tells of a conversation and of what a program remembers.
fn told(archive: &Archive, id: ConversationId) -> (Option<String>, u64, [Option<String>; 2]) {
    let stored = archive.conversation(id).unwrap();
    let recalled = ["seen", "here"].map(|name| archive.state().recall(name).unwrap());
    (stored.conversation.title, stored.messages, recalled)
}

fn what_was_changed_in_the_copy_stays(plain: &str) {
    let machine = Machine::new();
    let (from, vault, trip, said) = copied(&machine, plain);
    let convert = || from.convert(&vault, &machine.access(), &mut |_, _, _| ());
    let archive = machine.open(&from);
    let other = say(&archive, "other");
    archive.state().remember("seen", Some("before")).unwrap();
    drop(archive);
    convert().unwrap();
    let archive = machine.open(&vault);
    archive.update(trip, |header| header.title = Some("Lisbon".to_owned())).unwrap();
    archive.marks().label(trip, said, Some("kept")).unwrap();
    archive.resume(trip).unwrap().append(Message::user("Said in the vault.")).unwrap();
    archive.state().remember("seen", Some("in the vault")).unwrap();
    archive.state().remember("here", Some("only")).unwrap();
    let begun = say(&archive, "begun in the vault");
    archive.removal().delete(&[other], "user-requested");
    drop(archive);

    let again = convert().unwrap();
    let unchanged = told(&machine.open(&vault), trip);
    // What comes into the old store after that is copied, and nothing else is touched.
    let archive = machine.open(&from);
    let late = say(&archive, "late");
    archive.state().remember("late", Some("yes")).unwrap();
    drop(archive);
    convert().unwrap();
    let archive = machine.open(&vault);
    let after = (told(&archive, trip), archive.state().recall("late").unwrap());
    let all = titles(&archive);
    let note = archive.messages(trip, &[said]).unwrap().remove(0).message.label;
    drop(archive);
    machine.open(&from).resume(trip).unwrap().append(Message::user("Said in the old store.")).unwrap();
    let both = convert().unwrap_err().kind();

    let expected = (Some("Lisbon".to_owned()), 3, [Some("in the vault".to_owned()), Some("only".to_owned())]);
    assert_eq!((unchanged, again.contents.conversations), (expected.clone(), 2));
    assert_eq!(after, (expected.clone(), Some("yes".to_owned())));
    assert_eq!(all, ["Lisbon", "begun in the vault", "late"]);
    assert_eq!((note.as_deref(), both), (Some("kept"), ErrorKind::Conflict));
    assert_eq!(told(&machine.open(&vault), trip), expected);
    let archive = machine.open(&vault);
    assert!([begun, late].iter().all(|id| archive.conversation(*id).is_ok()));
}

#[test]
fn what_was_changed_in_a_copy_in_sqlite_stays() {
    what_was_changed_in_the_copy_stays("sqlite");
}

#[test]
fn what_was_changed_in_a_copy_in_files_stays() {
    what_was_changed_in_the_copy_stays("jsonl");
}

fn what_was_said_in_both_is_kept(plain: &str) {
    let machine = Machine::new();
    let (from, vault, trip, said) = copied(&machine, plain);
    let convert = || from.convert(&vault, &machine.access(), &mut |_, _, _| ());
    let add = |url: &StoreUrl, text: &str| {
        machine.open(url).resume(trip).unwrap().append(Message::user(text)).unwrap().head
    };
    let here = add(&from, "Said in the old store.");
    let there = add(&vault, "Said in the vault.");

    let first = convert().unwrap();
    let second = convert().unwrap();

    let archive = machine.open(&vault);
    let parents = [here, there].map(|id| archive.messages(trip, &[id]).unwrap().remove(0).parent);
    assert_eq!(parents, [Some(said); 2]);
    assert_eq!(archive.conversation(trip).unwrap().head.map(|head| head.id), Some(there));
    assert_eq!((first, verified(&archive)), (second, vec![]));
    drop(archive);
    assert!(from.is_as_converted(&second, &machine.access()).unwrap());
    from.erase_converted(&second, &machine.access()).unwrap();
}

#[test]
fn what_was_said_in_a_store_and_in_its_copy_is_kept() {
    ["sqlite", "jsonl"].into_iter().for_each(what_was_said_in_both_is_kept);
}

#[test]
fn a_message_that_was_deleted_in_a_copy_does_not_come_back_from_a_source_that_was_continued() {
    let machine = Machine::new();
    let (from, vault, trip, said) = copied(&machine, "sqlite");
    let refuse = rejoin::store::Children::Refuse;
    machine.open(&vault).removal().delete_messages(trip, &[said], refuse, "user-requested").unwrap();
    machine.open(&from).resume(trip).unwrap().append(Message::user("Said in the old store.")).unwrap();

    let refused = from.convert(&vault, &machine.access(), &mut |_, _, _| ()).unwrap_err();

    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(machine.open(&vault).messages(trip, &[said]).is_err());
}

/// What is written between comparing and erasing stays, whether it is a message or only remembered.
fn what_is_written_before_erasing_stays(from: &StoreUrl, to: &StoreUrl, machine: &Machine) {
    let access = machine.access();
    let convert = || from.convert(to, &access, &mut |_, _, _| ()).unwrap();
    let compared = convert();
    say(&machine.open(from), "meanwhile");

    let said = from.erase_converted(&compared, &access).unwrap_err().kind();
    let compared = convert();
    machine.open(from).state().remember("left", Some(&from.to_string())).unwrap();
    let remembered = from.erase_converted(&compared, &access).unwrap_err().kind();
    let compared = convert();
    from.erase_converted(&compared, &access).unwrap();

    assert_eq!([said, remembered], [ErrorKind::Conflict; 2]);
    let archive = machine.open(to);
    assert!(titles(&archive).contains(&"meanwhile".to_owned()));
    assert_eq!(archive.state().recall("left").unwrap(), Some(from.to_string()));
    assert!(!from.path().unwrap().exists());
}

#[test]
fn what_is_written_to_sqlite_before_it_is_erased_stays() {
    let machine = Machine::new();
    let (from, vault, ..) = copied(&machine, "sqlite");

    what_is_written_before_erasing_stays(&from, &vault, &machine);
    what_is_written_before_erasing_stays(&vault, &machine.url("sqlite", "back"), &machine);
}

#[test]
fn what_is_written_to_files_before_they_are_erased_stays() {
    let machine = Machine::new();
    let (from, vault, ..) = copied(&machine, "jsonl");

    what_is_written_before_erasing_stays(&from, &vault, &machine);
    what_is_written_before_erasing_stays(&vault, &machine.url("jsonl", "back"), &machine);
}

#[test]
fn a_store_of_files_that_is_open_is_not_erased() {
    let machine = Machine::new();
    let (from, vault, trip, _) = copied(&machine, "jsonl");
    let open = machine.open(&from);
    let converted = from.convert(&vault, &machine.access(), &mut |_, _, _| ()).unwrap();

    let refused = [from.erase(), from.erase_converted(&converted, &machine.access()).map(drop)]
        .map(|outcome| outcome.unwrap_err().kind());
    open.resume(trip).unwrap().append(Message::user("Still here.")).unwrap();
    let kept = open.conversation(trip).unwrap().messages;
    drop(open);
    from.erase().unwrap();

    assert_eq!((refused, kept), ([ErrorKind::Locked; 2], 3));
    assert!(!from.path().unwrap().exists());
}
