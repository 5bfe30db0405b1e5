//! Attachments: what is too large for a message is kept beside it, and nobody notices.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use rejoin::formats::{Format, ReadLimits, Source};
use rejoin::store::{
    BlobNames, Children, JsonlStore, MemoryStore, Order, Put, Safety, Space, SqliteStore, Store, Task,
};
use rejoin::view::{PathMessage, Recipient, View};
use rejoin::{
    Archive, Attachment, AttachmentKind, Block, Conversation, ConversationId, ErrorKind, Extent, Fields,
    Import, ImportMode, Imported, Json, Limits, Media, MediaKind, Message, OpenTurn, PurgeReason, Recorder,
    Redaction, Role, Saved, ScrubMode, ScrubPlace,
};

use super::moody::{Mood, Moody};
use super::{Lab, archive_in};
use crate::held::Held;
use crate::residue::holding;
use crate::vault::{Inner, sealed};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// A megabyte that is above every threshold and not a whole number of chunks.
const MEGABYTE: usize = 1_000_001;

/// Every store there is, and vaults of them, each in a directory of its own.
struct Shop {
    directory: tempfile::TempDir,
}

impl Shop {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn store(&self, name: &str) -> Arc<dyn Store> {
        let place = self.path().join(name);
        match name.strip_prefix("vault+") {
            Some(inner) => Arc::new(sealed(self.plain(inner, &self.path().join(inner)))),
            None => self.plain(name, &place),
        }
    }

    fn plain(&self, name: &str, place: &Path) -> Arc<dyn Inner> {
        match name {
            name if name.starts_with("sqlite") => {
                Arc::new(SqliteStore::open(place.join("store.db")).unwrap())
            }
            name if name.starts_with("jsonl") => Arc::new(JsonlStore::open(place).unwrap()),
            _ => Arc::new(MemoryStore::new()),
        }
    }

    fn archive(&self, name: &str) -> Held {
        Held::over(self.store(name))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

/// Bytes that repeat nothing and are no text.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = vec![0xff];
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn media(kind: MediaKind, mime_type: &str, bytes: &[u8]) -> Media {
    let mut extra = Fields::new();
    extra.set("title", Json::parse("\"A picture\"").unwrap());
    Media { kind, mime_type: mime_type.to_owned(), data: Some(STANDARD.encode(bytes)), uri: None, extra }
}

fn image(length: usize, seed: u64) -> Message {
    let media = media(MediaKind::Image, "image/png", &noise(length, seed));
    Message::new(Role::User, vec![Block::text("Look at this."), Block::Media(media)])
}

fn text_file(text: &str) -> Message {
    let text = format!("{text}\n{}", "word ".repeat(60_000));
    let media = media(MediaKind::File, "text/plain", text.as_bytes());
    Message::new(Role::User, vec![Block::Media(media)])
}

fn start(archive: &Archive) -> rejoin::Handle {
    archive.start(Conversation::titled("Lisbon")).unwrap()
}

fn all(archive: &Archive, id: ConversationId) -> Vec<Vec<Block>> {
    let messages = archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
    messages.into_iter().map(|stored| stored.message.blocks).collect()
}

#[test]
fn who_visits_messages_one_by_one_gets_no_bytes_of_attachments() {
    let archive = archive_in(&Lab::new());
    let mut handle = start(&archive);
    handle.append(image(600_000, 1)).unwrap();
    let mut visited = Vec::new();

    let visit = &mut |stored: rejoin::StoredMessage| {
        visited.push((stored.message.text(), format!("{stored:?}").len() < 10_000));
        Ok(())
    };
    archive.reader().each_message(handle.id(), visit).unwrap();

    assert_eq!(visited, [("Look at this.".to_owned(), true)]);
}

/// Saves replies that are not finished.
struct OpenTurnOf<'a> {
    archive: &'a Archive,
    id: ConversationId,
}

impl OpenTurnOf<'_> {
    fn save(&self, partial: Message) -> OpenTurn {
        let mut recorder = Recorder::new(self.archive.resume(self.id).unwrap(), "1@1");
        assert!(recorder.save_open(&Message::new(Role::Assistant, partial.blocks), &[]));
        self.archive.open_turns().list(self.id).unwrap().remove(0)
    }
}

/// The names and lengths of the chunks that a conversation has.
fn chunks(archive: &Held, id: ConversationId) -> Vec<(Vec<u8>, usize)> {
    let mut found = Vec::new();
    let visit = &mut |name: &[u8], bytes: &[u8]| {
        found.push((name.to_vec(), bytes.len()));
        Ok(())
    };
    archive.store().get(Space::Attachment, Some(id), BlobNames::ALL, visit).unwrap();
    found
}

fn bytes_of(archive: &Archive, id: ConversationId, attachment: Attachment) -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = archive.attachments().read(id, attachment.digest, &mut bytes).unwrap();
    assert_eq!(length, attachment.byte_length);
    bytes
}

fn export(archive: &Archive, id: ConversationId, path: &Path) {
    let (archive, format) = (archive.clone().exporting_all(), Format::named("json").unwrap());
    let files = format.write(&archive.exports().tree_for(format, id, Extent::Tree).unwrap()).unwrap();
    fs::write(path, &files[0].bytes).unwrap();
}

fn import(archive: &Archive, path: &Path) -> Imported {
    let source = Source::open(path).unwrap();
    let (limits, mode) = (ReadLimits::default(), ImportMode::Store);
    let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
    archive.imports().add(&source, Format::of(&source).unwrap(), &mut how).unwrap()
}

/// A large image: appended, read, viewed, exported, imported elsewhere and here, and purged.
fn goes_everywhere(name: &str, length: usize) {
    let shop = Shop::new();
    let (archive, other) = (shop.archive(name), shop.archive(&format!("{name}-other")));
    let said = image(length, 1);
    let mut talk = start(&archive);
    talk.append(said.clone()).unwrap();
    talk.append(Message::assistant("A tasca.")).unwrap();
    let id = talk.id();
    let path = talk.path().unwrap();
    let seen = View::of(&PathMessage::all(&path), &[], &Recipient::anthropic());

    export(&archive, id, &shop.file("export.json"));
    let (there, here) =
        (import(&other, &shop.file("export.json")), import(&archive, &shop.file("export.json")));

    assert_eq!((path[0].message.blocks.clone(), seen.repairs.len()), (said.blocks, 0));
    assert_eq!(seen.messages[0].message.blocks, path[0].message.blocks);
    assert_eq!((there.added(), here.added()), (2, 0));
    assert_eq!(all(&other, id), all(&archive, id));
    assert_eq!(Some(other.conversation(id).unwrap().last_active_at), path[1].message.created_at);
    assert!([&archive, &other].iter().all(|archive| archive.maintenance().verify(id).unwrap().is_sound()));
    assert!(archive.conversation(id).unwrap().bytes < 10_000);
    assert_eq!(chunks(&archive, id).len(), length.div_ceil(1 << 20));
    archive.removal().purge(&[id], PurgeReason::UserRequested, &mut |_| ());
    assert_eq!(archive.maintenance().check().unwrap().faults, []);
    assert_eq!(archive.conversation(id).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_large_image_goes_everywhere_from_memory() {
    goes_everywhere("memory", 2_500_000);
}

#[test]
fn a_large_image_goes_everywhere_from_a_database() {
    goes_everywhere("sqlite", 25_000_000);
}

#[test]
fn a_large_image_goes_everywhere_from_plain_files() {
    goes_everywhere("jsonl", 2_500_000);
}

#[test]
fn a_large_image_goes_everywhere_from_a_sealed_database() {
    goes_everywhere("vault+sqlite", 2_500_000);
}

#[test]
fn a_large_image_goes_everywhere_from_sealed_files() {
    goes_everywhere("vault+jsonl", 2_500_000);
}

const STORES: [&str; 6] = ["memory", "sqlite", "jsonl", "vault+memory", "vault+sqlite", "vault+jsonl"];

#[test]
fn attachments_are_read_and_listed_in_every_store() {
    let shop = Shop::new();
    let picture = noise(MEGABYTE, 2);

    let read = STORES.map(|name| {
        let limits = Limits { attachment_chunk_bytes: 300_000, ..Limits::default() };
        let archive = shop.archive(name).with_limits(limits);
        let talk = start(&archive);
        let kept =
            archive.attachments().add(talk.id(), AttachmentKind::Code, &mut Cursor::new(&picture)).unwrap();
        let listed = archive.attachments().list(talk.id()).unwrap();
        let sizes: Vec<usize> = chunks(&archive, talk.id()).into_iter().map(|(_, size)| size).collect();
        (listed == [kept], kept.byte_length, bytes_of(&archive, talk.id(), kept) == picture, sizes)
    });

    let expected = (true, MEGABYTE as u64, true, vec![300_000, 300_000, 300_000, 100_001]);
    assert_eq!(read, [0; 6].map(|_| expected.clone()));
}

#[test]
fn a_stream_that_is_not_held_in_memory_is_read_back() {
    let shop = Shop::new();
    let film = noise(9_500_000, 3);

    let read = STORES.map(|name| {
        let archive = shop.archive(name);
        let talk = start(&archive);
        let [one, two] = [(); 2].map(|()| {
            archive
                .attachments()
                .add(talk.id(), AttachmentKind::Video, &mut film.as_slice().chain(&b"end"[..]))
                .unwrap()
        });
        let bytes = bytes_of(&archive, talk.id(), one);
        (one == two, bytes == [&film[..], b"end"].concat(), chunks(&archive, talk.id()).len())
    });

    assert_eq!(read, [(true, true, 10); 6]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_attached_is_what_is_read(size in 1_u64..40, near in 0_usize..6, off in -1_i64..=1, seed: u64) {
        let length = usize::try_from((i64::try_from(size).unwrap() * i64::try_from(near).unwrap() + off).max(0)).unwrap();
        let archive = archive_in(&Lab::new());
        let archive = archive.with_limits(Limits { attachment_chunk_bytes: size, ..Limits::default() });
        let talk = start(&archive);
        let bytes = noise(length, seed);

        let kept = archive.attachments().add(talk.id(), AttachmentKind::Document, &mut bytes.as_slice()).unwrap();

        prop_assert_eq!(bytes_of(&archive, talk.id(), kept), bytes);
        prop_assert_eq!(chunks(&archive, talk.id()).len() as u64, (length as u64).div_ceil(size));
    }
}

#[test]
fn the_same_bytes_are_kept_once() {
    let archive = archive_in(&Lab::new());
    let mut talk = start(&archive);
    talk.append(image(MEGABYTE, 4)).unwrap();
    talk.append_turn(vec![image(MEGABYTE, 4), image(MEGABYTE, 4), image(MEGABYTE, 5)]).unwrap();

    assert_eq!(
        (archive.attachments().list(talk.id()).unwrap().len(), chunks(&archive, talk.id()).len()),
        (2, 2)
    );
    assert_eq!(all(&archive, talk.id())[1], image(MEGABYTE, 4).blocks);
}

#[test]
fn a_message_can_refer_to_what_was_attached() {
    let archive = archive_in(&Lab::new());
    let mut talk = start(&archive);
    let kept = archive.attachments().add(talk.id(), AttachmentKind::Audio, &mut &b"ping"[..]).unwrap();

    let block = Block::Media(kept.to_media("audio/opus"));
    let head = talk.append(Message::new(Role::User, vec![block])).unwrap().head;

    let Block::Media(read) = &talk.path().unwrap()[0].message.blocks[0] else { panic!("it is media") };
    assert_eq!((read.kind, read.data.as_deref(), &read.uri), (MediaKind::Audio, Some("cGluZw=="), &None));
    archive.removal().delete_messages(talk.id(), &[head], Children::Refuse, "test").unwrap();
    assert_eq!(archive.attachments().list(talk.id()).unwrap(), []);
}

#[test]
fn what_the_last_message_refers_to_goes_with_it() {
    let shop = Shop::new();

    let left = STORES.map(|name| {
        let archive = shop.archive(name);
        let mut talk = start(&archive);
        let (first, id) = (talk.append(image(MEGABYTE, 6)).unwrap().head, talk.id());
        let second = talk.append_turn(vec![image(MEGABYTE, 6), image(MEGABYTE, 7)]).unwrap();
        let mut counts = vec![chunks(&archive, id).len()];
        for message in [second.messages[1], second.messages[0], first] {
            archive.removal().delete_messages(id, &[message], Children::Refuse, "test").unwrap();
            counts.push(chunks(&archive, id).len());
        }
        (counts, archive.maintenance().verify(id).unwrap().faults)
    });

    assert_eq!(left, [0; 6].map(|_| (vec![2, 1, 1, 0], vec![])));
}

#[test]
fn no_byte_of_a_deleted_or_purged_attachment_is_left_in_any_file() {
    let word = "zanzibarquokka";

    let left = ["sqlite", "jsonl"].map(|name| {
        let shop = Shop::new();
        let archive = shop.archive(name);
        let mut talk = start(&archive);
        let said = talk.append(text_file(word)).unwrap().head;
        let said_before = !holding(shop.path(), &[word]).is_empty();
        archive.removal().delete_messages(talk.id(), &[said], Children::Refuse, "test").unwrap();
        archive.maintenance().run(Task::Checkpoint, Duration::MAX).unwrap();
        let deleted = holding(shop.path(), &[word]);
        archive.resume(talk.id()).unwrap().append(text_file(word)).unwrap();
        let report = archive.removal().purge(&[talk.id()], PurgeReason::UserRequested, &mut |_| ());
        (said_before, deleted, report.is_erased, holding(shop.path(), &[word]))
    });

    assert_eq!(left, [0; 2].map(|_| (true, vec![], true, vec![])));
}

#[test]
fn a_crash_before_the_turn_leaves_what_goes_an_hour_later() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let mut talk = start(&archive);
    let kept = archive
        .attachments()
        .add(talk.id(), AttachmentKind::Image, &mut noise(MEGABYTE, 8).as_slice())
        .unwrap();

    let soon = archive.attachments().erase_unused(talk.id()).unwrap();
    lab.turn_clock(3_600);
    let head = talk.append(Message::user("something")).unwrap().head;
    archive.removal().delete_messages(talk.id(), &[head], Children::Refuse, "test").unwrap();

    assert_eq!((soon, kept.byte_length), (vec![], MEGABYTE as u64));
    assert_eq!(
        (archive.attachments().list(talk.id()).unwrap(), chunks(&archive, talk.id())),
        (vec![], vec![])
    );
}

/// Fails from a write on, and looks at what is there then and after the next attempt, an hour later.
fn interrupted_at(write: usize) -> (bool, Vec<String>, usize, usize) {
    let (lab, store) = (Lab::new(), Arc::new(Moody::new()));
    let archive = Held::over(store.clone()).with_nature(lab.clone());
    let mut talk = start(&archive);
    talk.append(Message::user("Draw.")).unwrap();
    let (count, moody) = (AtomicUsize::new(0), store.clone());
    store.while_writing(move || {
        if count.fetch_add(1, Ordering::Relaxed) >= write {
            moody.set(Mood::Failing(ErrorKind::Unavailable));
        }
    });
    let is_stored = talk.append(image(3_000_000, 22)).is_ok();
    store.while_writing(|| ());
    store.set(Mood::Well);
    let faults = archive.maintenance().verify(talk.id()).unwrap().faults;
    lab.turn_clock(3_600);
    archive.attachments().erase_unused(talk.id()).unwrap();
    let left = chunks(&archive, talk.id()).len();
    archive.resume(talk.id()).unwrap().append(image(3_000_000, 22)).unwrap();
    archive.attachments().erase_unused(talk.id()).unwrap();
    (is_stored, faults, left, chunks(&archive, talk.id()).len())
}

#[test]
fn a_write_that_is_cut_off_anywhere_leaves_a_sound_conversation_and_nothing_for_good() {
    // The card, three chunks, the turn.
    let cut_off = [0, 1, 2, 3, 4].map(interrupted_at);
    let whole = interrupted_at(5);

    assert_eq!(cut_off, [0; 5].map(|_| (false, vec![], 0, 3)));
    assert_eq!(whole, (true, vec![], 3, 3));
}

#[test]
fn chunks_that_a_crash_left_are_completed_by_the_next_attempt() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let mut talk = start(&archive);
    talk.append(image(3_000_000, 9)).unwrap();
    let (last, _) = chunks(&archive, talk.id()).pop().unwrap();
    let gone = Put { space: Space::Attachment, owner: Some(talk.id()), name: &last, bytes: None };
    archive.store().put(&[gone], Safety::Synced).unwrap();
    // It is cut as it was begun, whatever is usual now.
    let archive = archive.with_limits(Limits { attachment_chunk_bytes: 2_000_000, ..Limits::default() });

    archive.resume(talk.id()).unwrap().append(image(3_000_000, 9)).unwrap();

    assert_eq!(all(&archive, talk.id()), [image(3_000_000, 9).blocks, image(3_000_000, 9).blocks]);
    assert_eq!(chunks(&archive, talk.id()).len(), 3);
    assert_eq!(archive.maintenance().verify(talk.id()).unwrap().faults, [""; 0]);
}

#[test]
fn a_turn_is_counted_without_its_attachments_and_a_conversation_with_them() {
    let limits = Limits { turn_bytes: 2_000, conversation_bytes: 2_500_000, ..Limits::default() };
    let archive = archive_in(&Lab::new()).with_limits(limits);
    let mut talk = start(&archive);
    talk.append(image(MEGABYTE, 10)).unwrap();
    talk.append(image(MEGABYTE, 10)).unwrap();
    talk.append(image(MEGABYTE, 11)).unwrap();

    let refused = [
        talk.append(image(MEGABYTE, 12)).unwrap_err(),
        talk.append(image(3_000_000, 13)).unwrap_err(),
        archive
            .attachments()
            .add(talk.id(), AttachmentKind::Image, &mut noise(MEGABYTE, 12).as_slice())
            .unwrap_err(),
        archive
            .attachments()
            .add(talk.id(), AttachmentKind::Image, &mut noise(9_000_000, 12).as_slice())
            .unwrap_err(),
    ];

    let is_named = |error: &rejoin::Error| {
        error.kind() == ErrorKind::Invalid && format!("{error:?}").contains("`limits.conversation_bytes`")
    };
    assert!(refused.iter().all(is_named), "{refused:?}");
    assert_eq!((chunks(&archive, talk.id()).len(), all(&archive, talk.id()).len()), (2, 3));
    assert_eq!(archive.attachments().list(talk.id()).unwrap().len(), 2);
}

#[test]
fn a_check_names_what_is_missing_or_damaged_and_the_rest_is_read() {
    let shop = Shop::new();

    let told = ["sqlite", "jsonl", "vault+sqlite", "vault+jsonl"].map(|name| {
        let archive = shop.archive(name);
        let mut talk = start(&archive);
        let said = [14, 15, 16].map(|seed| talk.append(image(MEGABYTE, seed)).unwrap().head.to_string());
        let kept = archive.attachments().list(talk.id()).unwrap();
        let found = chunks(&archive, talk.id());
        let owner = Some(talk.id());
        let chunk =
            |place: usize, bytes| Put { space: Space::Attachment, owner, name: &found[place].0, bytes };
        archive.store().put(&[chunk(0, None), chunk(1, Some(b"other"))], Safety::Synced).unwrap();
        let mut faults = archive.maintenance().verify(talk.id()).unwrap().faults.join("; ");
        faults = said.iter().fold(faults, |faults, id| faults.replace(id, "M"));
        for (place, own) in kept.iter().enumerate() {
            faults = faults.replace(&own.id(), &format!("A{place}"));
        }
        let is_whole =
            |blocks: &&Vec<Block>| matches!(&blocks[1], Block::Media(media) if media.data.is_some());
        (faults, all(&archive, talk.id()).iter().filter(is_whole).count())
    });

    let expected = "message M refers to an attachment: chunk `0` of `1` of attachment `A0` is missing; \
                    message M refers to an attachment: attachment `A1` does not match its digest";
    assert_eq!(told, [0; 4].map(|_| (expected.to_owned(), 1)));
}

#[test]
fn an_address_that_means_nothing_here_is_kept_and_is_no_fault() {
    let archive = archive_in(&Lab::new());
    let (mut one, mut other) = (start(&archive), start(&archive));
    let kept = archive.attachments().add(one.id(), AttachmentKind::Image, &mut &b"secret"[..]).unwrap();
    one.append(Message::new(Role::User, vec![Block::Media(kept.to_media("image/png"))])).unwrap();
    let mut hostile = kept.to_media("image/png");
    hostile.extra.set("attachment", Json::parse(r#"{"byte_length":6}"#).unwrap());
    let hostile = Message::new(Role::User, vec![Block::Media(hostile)]);

    other.append(hostile).unwrap();

    assert_eq!(all(&archive, other.id()), [vec![Block::Media(kept.to_media("image/png"))]]);
    assert_eq!(archive.maintenance().verify(other.id()).unwrap().faults, [""; 0]);
}

#[test]
fn a_secret_in_a_large_text_is_taken_out_before_it_is_stored() {
    let shop = Shop::new();

    let left = ["sqlite", "jsonl"].map(|name| {
        let archive = shop.archive(name).with_redaction(Redaction::new());
        let mut talk = start(&archive);
        let receipt = talk.append(text_file(TOKEN)).unwrap();
        (receipt.redacted.len(), archive.attachments().list(talk.id()).unwrap().len())
    });

    assert_eq!((left, holding(shop.path(), &[TOKEN])), ([(1, 1), (1, 1)], vec![]));
}

#[test]
fn a_scrub_finds_secrets_in_attachments_and_leaves_no_byte_of_them() {
    let shop = Shop::new();

    let done = ["sqlite", "jsonl"].map(|name| {
        let archive = shop.archive(name);
        let mut talk = start(&archive);
        talk.append_turn(vec![text_file(TOKEN), image(MEGABYTE, 17), text_file("harmless")]).unwrap();
        let id = talk.id();
        let looked = archive.removal().scrub(id, ScrubMode::Look).unwrap();
        let scrubbed = archive.removal().scrub(id, ScrubMode::Replace).unwrap();
        let left = holding(shop.path(), &[TOKEN]);
        let again = archive.removal().scrub(id, ScrubMode::Replace).unwrap();
        let places =
            [looked, scrubbed].map(|done| done.findings.iter().map(|found| found.place).collect::<Vec<_>>());
        let faults = archive.maintenance().verify(id).unwrap().faults;
        let clean = all(&archive, id);
        let is_same = clean[1] == image(MEGABYTE, 17).blocks && clean[2] == text_file("harmless").blocks;
        (places, left, again.is_clean(), faults, archive.attachments().list(id).unwrap().len(), is_same)
    });

    let found = || vec![ScrubPlace::Attachment];
    assert_eq!(done, [0; 2].map(|_| ([found(), found()], vec![], true, vec![], 3, true)));
}

#[test]
fn a_scrub_finds_secrets_in_text_that_stands_where_base64_is_due() {
    let shop = Shop::new();
    let filler = "word, ".repeat(60_000);
    let packed = STANDARD.encode(format!("{filler}{TOKEN}"));
    let lines: Vec<&str> = packed.as_bytes().chunks(76).map(|line| str::from_utf8(line).unwrap()).collect();
    let files = [format!("{filler}{TOKEN}"), lines.join("\n"), filler];

    let done = ["sqlite", "jsonl"].map(|name| {
        let archive = shop.archive(name);
        let mut talk = start(&archive);
        for data in &files {
            let mut media = media(MediaKind::File, "text/plain", b"");
            media.data = Some(data.clone());
            talk.append(Message::new(Role::User, vec![Block::Media(media)])).unwrap();
        }
        let scrubbed = archive.removal().scrub(talk.id(), ScrubMode::Replace).unwrap();
        let again = archive.removal().scrub(talk.id(), ScrubMode::Replace).unwrap();
        let read = all(&archive, talk.id());
        let Block::Media(harmless) = &read[2][0] else { panic!("it is media") };
        let is_same = harmless.data.as_ref() == Some(&files[2]);
        (
            scrubbed.findings.len(),
            again.is_clean(),
            archive.maintenance().verify(talk.id()).unwrap().faults,
            is_same,
        )
    });

    assert_eq!(done, [0; 2].map(|_| (2, true, vec![], true)));
    assert_eq!(holding(shop.path(), &[TOKEN, lines[lines.len() - 2]]), Vec::<PathBuf>::new());
}

/// A stream that does something when all of it was read.
struct Ending<'a> {
    left: usize,
    end: Option<Box<dyn FnOnce() -> std::io::Result<usize> + 'a>>,
}

impl std::io::Read for Ending<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            return self.end.take().map_or(Ok(0), |end| end());
        }
        let count = into.len().min(self.left);
        into[..count].fill(7);
        self.left -= count;
        Ok(count)
    }
}

#[test]
fn a_stream_that_breaks_off_is_told_as_that_whatever_else_fails() {
    let shop = Shop::new();
    let archive = shop.archive("jsonl");
    let talk = start(&archive);
    let end = || {
        // The cards of the conversation cannot be read any more.
        let blobs = fs::read_dir(shop.path().join("jsonl/.store/blobs"))?.map(|entry| entry.unwrap().path());
        for cards in blobs.filter(|path| path.to_string_lossy().ends_with(&format!("{}.jsonl", talk.id()))) {
            fs::remove_file(&cards)?;
            fs::create_dir(&cards)?;
        }
        Err(std::io::Error::other("the line went dead"))
    };
    let mut broken = Ending { left: 10 * MEGABYTE, end: Some(Box::new(end)) };

    let refused = archive.attachments().add(talk.id(), AttachmentKind::Image, &mut broken).unwrap_err();

    let told = format!("{refused:?}");
    assert!(told.contains("the line went dead"), "{told}");
    assert!(archive.attachments().list(talk.id()).is_err());
}

#[test]
fn a_chunk_that_goes_while_a_stream_is_stored_is_missed_and_not_made_up() {
    let archive = archive_in(&Lab::new());
    let talk = start(&archive);
    let owner = Some(talk.id());
    let end = || {
        let mut names = Vec::new();
        archive
            .store()
            .get(Space::Attachment, owner, BlobNames::ALL, &mut |name, _| {
                names.push(name.to_vec());
                Ok(())
            })
            .unwrap();
        let gone = Put { space: Space::Attachment, owner, name: &names[0], bytes: None };
        archive.store().put(&[gone], Safety::Synced).unwrap();
        Ok(0)
    };
    let mut stream = Ending { left: 10 * MEGABYTE, end: Some(Box::new(end)) };

    let refused = archive.attachments().add(talk.id(), AttachmentKind::Image, &mut stream).unwrap_err();

    assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused:?}");
}

#[test]
fn a_conversation_that_takes_the_place_of_a_deleted_one_has_its_attachments() {
    let archive = archive_in(&Lab::new());
    let talk = start(&archive);
    let gone = talk.id();
    let mut recorder = Recorder::new(talk, "1@1");
    archive.removal().delete(&[gone], "test");

    let saved = recorder.append(vec![image(MEGABYTE, 20)]).unwrap();

    let Saved::Now(receipt) = saved else { panic!("it is saved") };
    assert_ne!(receipt.conversation, gone);
    assert_eq!(all(&archive, receipt.conversation), [image(MEGABYTE, 20).blocks]);
    assert_eq!(archive.attachments().list(receipt.conversation).unwrap().len(), 1);
}

#[test]
fn a_replayed_turn_settles_its_attachments() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let mut talk = start(&archive);
    let open = OpenTurnOf { archive: &archive, id: talk.id() };
    talk.append(Message::user("Draw.")).unwrap();
    let turn = open.save(image(MEGABYTE, 21));
    let first = archive.open_turns().keep(talk.id(), &turn).unwrap();
    let second = archive.open_turns().keep(talk.id(), &turn).unwrap();

    archive.removal().delete_messages(talk.id(), &first.messages, Children::Remove, "test").unwrap();

    assert!(second.replayed);
    assert_eq!(archive.attachments().list(talk.id()).unwrap(), []);
}

#[test]
fn plain_files_of_other_attachments_are_left_alone_and_all_go_with_the_conversation() {
    let shop = Shop::new();
    let archive = shop.archive("jsonl");
    let mut talk = start(&archive);
    talk.append(image(2_500_000, 18)).unwrap();
    let folder = shop.path().join(format!("jsonl/.store/blobs/9-{}", talk.id()));
    let look = || -> BTreeMap<PathBuf, u64> {
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
        entries.map(|entry| (entry.path(), entry.metadata().unwrap().ino())).collect()
    };
    let before = look();

    talk.append(image(MEGABYTE, 19)).unwrap();
    let after = look();
    archive.removal().delete(&[talk.id()], "test");

    assert_eq!((before.len(), after.len()), (3, 4));
    assert!(before.iter().all(|(path, inode)| after.get(path) == Some(inode)));
    assert!(!folder.exists());
}
