//! After five changes, what they replaced is in no file, and the record says when that was.

use std::path::PathBuf;
use std::sync::Arc;

use rejoin::service::{
    AttachmentRef, ConversationRecordInput, ConversationRecordMutation, ConversationStorageService,
};
use rejoin::store::{BlobNames, Children, Read, Space, Store};
use rejoin::testing::Place;
use rejoin::{AttachmentKind, Time};

use super::{BEGAN, everywhere, frame, id_of, input, open, saying};
use crate::archive::Lab;
use crate::doubles::{Around, a_store};
use crate::residue::holding;
use crate::stores::{Directory, File};

fn titled(title: &str) -> ConversationRecordMutation {
    ConversationRecordMutation { title: Some(title.to_owned()), ..Default::default() }
}

fn last_compacted(service: &ConversationStorageService) -> Option<Time> {
    service.get_record(&id_of(1)).unwrap().unwrap().storage.last_compacted_at
}

/// When a record was compacted, after each of some updates.
fn update(service: &ConversationStorageService, titles: &[&str]) -> Vec<bool> {
    service.create_record(&input(1, "zanzibar quokka")).unwrap();
    let told = titles.iter().map(|title| {
        service.update_record(&id_of(1), &titled(title)).unwrap();
        last_compacted(service).is_some()
    });
    told.collect()
}

#[test]
fn five_updates_repack_a_record_and_it_says_when() {
    everywhere(|place| {
        let lab = Lab::new();
        let archive = rejoin::Archive::with_store(place.open()).with_nature(lab.clone());
        let service = ConversationStorageService::new(archive);

        let told = update(&service, &["one", "two", "three", "four", "five"]);
        let first = last_compacted(&service);
        lab.turn_clock(1);
        let frames = (2..=6).map(|number| frame(number, "More.")).collect();
        service.update_record(&id_of(1), &saying(frames)).unwrap();

        assert_eq!(told, [false, false, false, false, true]);
        assert_eq!((first, last_compacted(&open(place))), (Some(BEGAN), Some(BEGAN.plus_micros(1_000_000))));
    });
}

#[test]
fn what_five_updates_replaced_is_in_no_file() {
    let (file, files) = (File::new(), Directory::new());
    let places: [(&dyn Place, PathBuf); 2] =
        [(&file, file.0.path().to_owned()), (&files, files.0.path().to_owned())];

    for (place, directory) in places {
        let service = open(place);
        update(&service, &["one quokka", "two quokka", "three quokka", "four quokka", "Lisbon"]);

        assert_eq!(holding(&directory, &["quokka"]), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_service_can_be_told_when_to_repack() {
    everywhere(|place| {
        let service = open(place).with_repack_every(2);

        let told = update(&service, &["one", "two"]);

        assert_eq!(told, [false, true]);
    });
}

#[test]
fn a_file_that_belongs_to_the_whole_record_stays() {
    let lab = Lab::new();
    let archive = rejoin::Archive::open("memory:").unwrap().with_nature(lab.clone());
    let service = ConversationStorageService::new(archive.clone());
    let record = service.create_record(&input(1, "with a file")).unwrap();
    let id = id_of(1).parse().unwrap();
    let attached = archive.attachments().add(id, AttachmentKind::Document, &mut &b"the plan"[..]).unwrap();
    let named = AttachmentRef::from(attached);
    let whole = ConversationRecordInput { attachments: vec![named.clone()], ..record.into() };
    service.commit_conversation(&whole).unwrap();
    lab.turn_clock(7_200);

    let said = archive.resume(id).unwrap().append(rejoin::Message::user("Never mind.")).unwrap().head;
    archive.removal().delete_messages(id, &[said], Children::Refuse, "test").unwrap();

    let mut bytes = Vec::new();
    archive.attachments().read(id, attached.digest, &mut bytes).unwrap();
    let read = service.get_record(&id_of(1)).unwrap().unwrap().attachments;
    assert_eq!((bytes.as_slice(), read), (&b"the plan"[..], vec![named]));
}

/// A store that cannot read when a record was repacked.
struct Torn(rejoin::store::MemoryStore);

a_store!(Torn);

impl Around for Torn {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    fn visit_blobs(
        &self,
        space: Space,
        owner: Option<rejoin::ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> rejoin::Result<()>,
    ) -> rejoin::Result<()> {
        match named {
            BlobNames::One(b"service.repacked") => {
                Err(rejoin::Error::new(rejoin::ErrorKind::Corrupt, "it does not open"))
            }
            _ => self.0.get(space, owner, named, visit),
        }
    }
}

#[test]
fn a_record_is_given_though_nobody_can_tell_when_it_was_repacked() {
    let archive = rejoin::Archive::with_store(Arc::new(Torn(rejoin::store::MemoryStore::new())));
    let service = ConversationStorageService::new(archive);
    service.create_record(&input(1, "zanzibar quokka")).unwrap();

    service.update_record(&id_of(1), &titled("one")).unwrap();

    let record = service.get_record(&id_of(1)).unwrap().unwrap();
    assert_eq!((record.title.as_str(), record.storage.last_compacted_at), ("one", None));
}
