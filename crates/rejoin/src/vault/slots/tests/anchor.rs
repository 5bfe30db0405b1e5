//! Anchors: an older copy is noticed, and a store that is only being written to is not taken for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Machine, NOW, begin, copy, kind_of};
use crate::doubles::{Interpose, Interposed};
use crate::error::{ErrorKind, Result};
use crate::store::backend::Backend;
use crate::store::sealed::{Unlock, Workspace};
use crate::store::{JsonlStore, SqliteStore};
use crate::vault::AnchorFile;
use crate::vault::slots::{Keyholder, Keys, NewSlot};

#[test]
fn an_anchor_notices_an_older_copy_and_another_store() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::File], NOW).unwrap();
    let workspace = machine.keys().holder.unlock(machine.store().as_ref()).unwrap();
    let anchor = || AnchorFile::new(machine.path("anchors"), &workspace);
    let checked = || anchor().check(machine.store().as_ref()).map_err(|error| error.to_string());
    begin(machine.store().as_ref(), &workspace, 1).unwrap();
    copy(&machine.path("inner.db"), &machine.path("old.db"));
    anchor().write(machine.store().as_ref()).unwrap();
    assert_eq!(checked(), Ok(()));
    begin(machine.store().as_ref(), &workspace, 2).unwrap();
    assert_eq!(checked(), Ok(()));

    anchor().write(machine.store().as_ref()).unwrap();
    copy(&machine.path("old.db"), &machine.path("inner.db"));
    let older = checked();
    begin(machine.store().as_ref(), &workspace, 3).unwrap();
    let other = checked();
    anchor().forget().unwrap();
    let accepted = checked();

    let expected = [
        Err("the store is older than it was when it was last used: change `2` is missing".to_owned()),
        Err("the store is not what it was when it was last used, and no change of it was noted".to_owned()),
        Ok(()),
    ];
    assert_eq!([older, other, accepted], expected);
}

#[test]
fn an_anchor_notices_older_keys_and_what_was_done_to_itself() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::File], NOW).unwrap();
    copy(&machine.path("inner.db"), &machine.path("old.db"));
    machine.keys().rotate(NOW).unwrap();
    let workspace = machine.keys().holder.unlock(machine.store().as_ref()).unwrap();
    let anchor = AnchorFile::new(machine.path("anchors"), &workspace);
    anchor.write(machine.store().as_ref()).unwrap();
    let mut files = machine.path("anchors").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|ending| ending == "anchor")).unwrap();

    copy(&machine.path("old.db"), &machine.path("inner.db"));
    let older = anchor.check(machine.store().as_ref()).unwrap_err().to_string();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"epoch\":2", "\"epoch\":1")).unwrap();
    let changed = kind_of(anchor.check(machine.store().as_ref()));

    assert_eq!(
        older,
        "the store is older than it was when it was last used: its keys are of epoch `1`, not `2`"
    );
    assert_eq!(changed, ErrorKind::Conflict);
}

/// A store in which somebody else begins a conversation after so many looks at it.
struct Busy<'w> {
    inner: Arc<SqliteStore>,
    workspace: &'w Workspace,
    conversation: u128,
    looks: AtomicUsize,
}

impl Interpose for Busy<'_> {
    fn backend(&self) -> &dyn Backend {
        self.inner.as_ref()
    }

    fn reading(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let looked = work();
        if self.looks.fetch_sub(1, Ordering::Relaxed) == 0 {
            begin(self.inner.as_ref(), self.workspace, self.conversation)?;
        }
        looked
    }
}

#[test]
fn a_store_that_others_write_to_meanwhile_is_not_taken_for_another() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::File], NOW).unwrap();
    let workspace = machine.keys().holder.unlock(machine.store().as_ref()).unwrap();
    let anchor = AnchorFile::new(machine.path("anchors"), &workspace);
    let mut told = Vec::new();

    for looks in 0..8 {
        anchor.write(machine.store().as_ref()).unwrap();
        let conversation = 2 + looks as u128;
        let busy = |conversation| {
            let looks = AtomicUsize::new(looks);
            Interposed(Arc::new(Busy { inner: machine.store(), workspace: &workspace, conversation, looks }))
        };
        told.push(anchor.check(&busy(conversation)).map_err(|error| error.to_string()));
        anchor.write(machine.store().as_ref()).unwrap();
        told.push(anchor.differing(&busy(100 + conversation)).map(drop).map_err(|error| error.to_string()));
        assert_eq!(anchor.differing(machine.store().as_ref()).unwrap(), []);
    }

    assert_eq!(told, vec![Ok(()); 16]);
}

#[test]
fn a_log_of_changes_that_a_power_cut_took_is_completed_and_not_missed() {
    let machine = Machine::new();
    let root = machine.path("files-of-talks");
    let store = || Arc::new(JsonlStore::open(&root).unwrap());
    Keys::of(store(), Keyholder::new(machine.stores())).create(&[NewSlot::File], NOW).unwrap();
    let workspace = Keyholder::new(machine.stores()).unlock(store().as_ref()).unwrap();
    begin(store().as_ref(), &workspace, 1).unwrap();
    begin(store().as_ref(), &workspace, 2).unwrap();
    let anchor = AnchorFile::new(machine.path("anchors"), &workspace);
    anchor.write(store().as_ref()).unwrap();

    // The files are synced with each change, the log is not; and the machine was started anew.
    let log = root.join(".store/changes.jsonl");
    let whole = std::fs::read_to_string(&log).unwrap();
    let cut: String = whole.lines().rev().skip(1).map(|line| format!("{line}\n")).collect();
    std::fs::write(&log, cut).unwrap();
    let boot = std::fs::read_to_string(root.join(".store/boot")).unwrap();
    let inode = boot.split_once(' ').unwrap().1;
    std::fs::write(root.join(".store/boot"), format!("another {inode}")).unwrap();
    let completed = anchor.check(store().as_ref()).map_err(|error| error.to_string());
    // An older copy lacks the file as well.
    std::fs::write(&log, "").unwrap();
    for entry in std::fs::read_dir(root.join("no-project")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let older = anchor.check(store().as_ref()).map_err(|error| error.to_string());

    assert_eq!(completed, Ok(()));
    assert_eq!(
        older,
        Err("the store is older than it was when it was last used: change `2` is missing".to_owned())
    );
}
