//! Copies of a store: making one while it is in use, putting one back, and
//! finding out what is wrong with the store.

#[cfg(feature = "sqlite")]
use std::cell::RefCell;
#[cfg(feature = "sqlite")]
use std::path::Path;
use std::path::PathBuf;
#[cfg(feature = "sqlite")]
use std::time::Duration;

use crate::archive::{Access, StoreUrl};
use crate::error::Result;
#[cfg(feature = "sqlite")]
use crate::error::{Error, ErrorKind};
#[cfg(feature = "sqlite")]
use crate::ops::prove;
use crate::ops::{Contents, Diagnosis, Viewpoint, contents, diagnose_contents, diagnose_place, unusable};
use crate::store::Examination;
#[cfg(feature = "jsonl")]
use crate::store::JsonlStore;
#[cfg(feature = "sqlite")]
use crate::store::{SqliteStore, Store, Task};
#[cfg(all(feature = "sqlite", feature = "vault"))]
use crate::vault::slots::{VaultId, VaultStatus};

/// What long work on a copy is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Bytes are copied.
    Copying,
    /// Conversations are checked, digest by digest.
    Checking,
}

/// Told the stage, how much of it is done, and how much there is.
pub(crate) type CopyProgress<'a> = dyn FnMut(Stage, u64, u64) + 'a;

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// What the store holds now.
    pub contents: Contents,
    /// Where the store that was there is kept; none when there was none.
    pub kept: Option<PathBuf>,
}

#[cfg(feature = "sqlite")]
impl StoreUrl {
    /// Copies the store to a new file while it is in use, opens the copy and checks every digest in it.
    ///
    /// The copy gets its name when it has passed. A file that exists is a conflict.
    pub fn backup(&self, to: &Path, report: &mut CopyProgress<'_>) -> Result<Contents> {
        self.backup_with(to, &Access::default(), report)
    }

    /// The same, with what is known of the store: another vault than the one
    /// that is used at its place is not copied.
    pub fn backup_with(&self, to: &Path, access: &Access, report: &mut CopyProgress<'_>) -> Result<Contents> {
        let path = self.file("copied to a file")?;
        if !path.exists() {
            return Err(Error::not_found(format!("no store at `{}`", path.display())));
        }
        let (mut contents, report) = (Contents::default(), RefCell::new(report));
        // Copying and checking take turns, so they can share the listener.
        let tell = |stage, done, all| report.borrow_mut()(stage, done, all);
        let store = SqliteStore::open(path)?;
        self.refuse_another_vault(&store, access)?;
        store.backup(
            to,
            &mut |copy| {
                contents = self.proved(copy, &mut |done, all| tell(Stage::Checking, done, all))?;
                Ok(())
            },
            &mut |done, all| tell(Stage::Copying, done, all),
        )?;
        Ok(contents)
    }

    /// Puts a copy that [`StoreUrl::backup`] made in the place of this store.
    ///
    /// The copy is checked first, digest by digest. What was there is kept under the returned name. Programs
    /// that have the store open go on with what was restored.
    pub fn restore(&self, from: &Path, wait: Duration, report: &mut CopyProgress<'_>) -> Result<Restored> {
        self.restore_with(from, &Access { wait, ..Access::default() }, report)
    }

    /// The same, with what it takes to open a vault. A copy of one that does not
    /// open with that is not put in its place.
    ///
    /// What was restored is the vault of its place from then on, though it is older than the one before. Cut
    /// off before that is noted, it is refused until it is restored again or accepted.
    pub fn restore_with(
        &self,
        from: &Path,
        access: &Access,
        report: &mut CopyProgress<'_>,
    ) -> Result<Restored> {
        let path = self.file("restored")?;
        if from.canonicalize().is_ok_and(|from| path.canonicalize().is_ok_and(|own| own == from)) {
            return Err(Error::invalid(format!("`{}` is the store itself", from.display())));
        }
        if !matches!(self, Self::Vault(_)) {
            self.refuse_in_place_of_a_vault(access)?;
        }
        let (mut contents, mut workspace, report) = (Contents::default(), None, RefCell::new(report));
        let tell = |stage, done, all| report.borrow_mut()(stage, done, all);
        let kept = SqliteStore::restore(
            from,
            path,
            access.wait,
            &mut |store| {
                workspace = self.unlocked(store, access)?;
                contents = self.proved(store, &mut |done, all| tell(Stage::Checking, done, all))?;
                Ok(())
            },
            &mut |done, all| tell(Stage::Copying, done, all),
        )?;
        self.take_restored(workspace, access)?;
        Ok(Restored { contents, kept })
    }

    /// What a copy holds. It is only read, and not checked yet.
    pub fn contents_of_copy(path: &Path) -> Result<Contents> {
        if !path.is_file() {
            return Err(Error::not_found(format!("no copy at `{}`", path.display())));
        }
        contents(&SqliteStore::open_read_only(path)?)
    }

    /// The vault that a copy is of; none when it is one of a plain store. It is
    /// only read, and nothing vouches for it.
    #[cfg(feature = "vault")]
    pub fn vault_of_copy(path: &Path) -> Result<Option<VaultId>> {
        Ok(VaultStatus::of(&SqliteStore::open_read_only(path)?)?.map(|status| status.vault))
    }

    /// Checks a copy as far as it can be read. What is sealed is not opened for it: its structure is checked.
    fn proved(&self, copy: &dyn Store, report: &mut dyn FnMut(u64, u64)) -> Result<Contents> {
        let Self::Vault(_) = self else { return prove(copy, report) };
        match copy.maintain(Task::Check, Duration::MAX)?.faults.first() {
            Some(fault) => Err(Error::corrupt(fault.what.clone())),
            None => contents(copy),
        }
    }

    fn file(&self, verb: &str) -> Result<&Path> {
        match self {
            Self::Sqlite(path) => Ok(path),
            Self::Jsonl(root) => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "a store of plain files cannot be {verb}; it is the directory `{}`, which can be copied like any other",
                    root.display()
                ),
            )),
            Self::Postgres(_) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("a store on a server cannot be {verb} as a file; `pg_dump` and `pg_restore` copy it"),
            )),
            Self::Memory => {
                Err(Error::new(ErrorKind::Unsupported, format!("a store in memory cannot be {verb}")))
            }
            Self::Vault(inner) => inner.file(verb),
        }
    }
}

impl StoreUrl {
    /// What the store holds; none when there is no store yet. A vault is counted without being opened.
    pub fn contents(&self) -> Result<Option<Contents>> {
        match self {
            Self::Sqlite(path) | Self::Jsonl(path) if !path.exists() => Ok(None),
            Self::Sqlite(_) | Self::Jsonl(_) | Self::Postgres(_) | Self::Memory => {
                contents(self.open()?.as_ref()).map(Some)
            }
            Self::Vault(inner) => match inner.path() {
                Some(path) if !path.exists() => Ok(None),
                _ => contents(inner.open_plain(&Access::default())?.as_ref()).map(Some),
            },
        }
    }

    /// Finds out what is wrong with the store and its place.
    ///
    /// Nothing is changed. A store that cannot be opened is an ailment, not an error; `report` is told how
    /// many conversations were checked, and how many there are.
    pub fn diagnose(&self, from: &Viewpoint, report: &mut dyn FnMut(u64, u64)) -> Diagnosis {
        self.diagnose_with(&Access::default(), from, report)
    }

    /// The same, with what it takes to open the store.
    pub fn diagnose_with(
        &self,
        access: &Access,
        from: &Viewpoint,
        report: &mut dyn FnMut(u64, u64),
    ) -> Diagnosis {
        if let Err(error) = self.refuse_unbuilt() {
            return Diagnosis { ailments: vec![unusable(&error)], ..Diagnosis::default() };
        }
        let found = self.examine();
        if found.is_none() && !self.is_on_a_server() {
            return Diagnosis::default();
        }
        let mut diagnosis = found.as_ref().map(|found| diagnose_place(found, from)).unwrap_or_default();
        // An older one would be migrated by opening it, which is for its user to begin.
        if found.is_none_or(|found| diagnosis.schema == Some(found.newest_schema)) {
            match self.open_with(access) {
                Ok(store) => {
                    // Nobody looked at the place of a store on a server.
                    diagnosis.is_present = true;
                    diagnose_contents(store.as_ref(), from.now, &mut diagnosis, report);
                }
                Err(error) => diagnosis.ailments.push(unusable(&error)),
            }
        }
        diagnosis
    }

    /// True when other machines can use it.
    pub(in crate::archive) fn is_on_a_server(&self) -> bool {
        match self {
            Self::Postgres(_) => true,
            Self::Vault(inner) => inner.is_on_a_server(),
            Self::Sqlite(_) | Self::Jsonl(_) | Self::Memory => false,
        }
    }

    /// Looks at the place of a store without changing it; none when it has no place.
    fn examine(&self) -> Option<Examination> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => Some(SqliteStore::examine(path)),
            #[cfg(feature = "jsonl")]
            Self::Jsonl(root) => Some(JsonlStore::examine(root)),
            Self::Vault(inner) => inner.examine(),
            _ => None,
        }
    }
}

#[cfg(feature = "full")]
#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::archive::Archive;
    use crate::model::{Conversation, ConversationId, Message};

    const BRIEFLY: Duration = Duration::from_millis(100);

    fn place() -> (tempfile::TempDir, StoreUrl, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("data");
        (directory, StoreUrl::Sqlite(root.join("rejoin.db")), root.join("copy.db"))
    }

    fn archive(url: &StoreUrl) -> Archive {
        Archive::with_store(url.open().unwrap())
    }

    fn say(archive: &Archive, text: &str) -> ConversationId {
        let mut talk = archive.start(Conversation::titled(text)).unwrap();
        talk.append(Message::user(text)).unwrap();
        talk.id()
    }

    fn titles(url: &StoreUrl) -> Vec<String> {
        let listed = archive(url).list(&Default::default()).unwrap();
        listed.items.into_iter().filter_map(|stored| stored.conversation.title).collect()
    }

    #[test]
    fn a_copy_is_one_file_and_is_proved() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");

        let contents = url.backup(&copy, &mut |_, _, _| ()).unwrap();

        let beside = ["-wal", "-shm", "-journal"].map(|suffix| {
            let name = format!("copy.db{suffix}");
            copy.with_file_name(name).exists()
        });
        assert_eq!((contents.conversations, contents.messages), (1, 1));
        assert_eq!(beside, [false; 3]);
    }

    #[test]
    fn a_file_that_exists_is_not_overwritten() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");
        std::fs::write(&copy, "mine").unwrap();

        let error = url.backup(&copy, &mut |_, _, _| ()).unwrap_err();

        assert_eq!((error.kind(), std::fs::read(&copy).unwrap()), (ErrorKind::Conflict, b"mine".to_vec()));
    }

    #[test]
    fn a_program_that_has_the_store_open_goes_on_with_what_was_restored() {
        let (_directory, url, copy) = place();
        let open = archive(&url);
        say(&open, "before");
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        say(&open, "after");

        let restored = url.restore(&copy, BRIEFLY, &mut |_, _, _| ()).unwrap();
        let seen = open.reader().count(&Default::default()).unwrap();
        say(&open, "later");

        assert_eq!((seen, titles(&url)), (1, vec!["later".to_owned(), "before".to_owned()]));
        assert_eq!(titles(&StoreUrl::Sqlite(restored.kept.unwrap())), ["after", "before"]);
    }

    #[test]
    fn nothing_that_is_acknowledged_during_a_restore_is_lost() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        let (writer, restored) = (url.clone(), AtomicBool::new(false));

        let (acknowledged, kept) = std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let archive = archive(&writer);
                let mut acknowledged = BTreeSet::new();
                while !restored.load(Ordering::Relaxed) || acknowledged.len() < 20 {
                    acknowledged.insert(archive.start(Conversation::titled("meanwhile")).unwrap().id());
                }
                acknowledged
            });
            let outcome = url.restore(&copy, Duration::from_secs(10), &mut |_, _, _| ());
            restored.store(true, Ordering::Relaxed);
            (writing.join().unwrap(), outcome.unwrap().kept.unwrap())
        });

        let stored = |url: &StoreUrl| archive(url).maintenance().survey().unwrap().conversations;
        let found: BTreeSet<ConversationId> =
            stored(&url).into_iter().chain(stored(&StoreUrl::Sqlite(kept))).collect();
        assert_eq!(acknowledged.difference(&found).count(), 0);
    }

    #[test]
    fn a_restore_can_be_undone() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        say(&archive(&url), "after");
        let kept = url.restore(&copy, BRIEFLY, &mut |_, _, _| ()).unwrap().kept.unwrap();

        url.restore(&kept, BRIEFLY, &mut |_, _, _| ()).unwrap();

        assert_eq!(titles(&url), ["after", "before"]);
    }

    #[test]
    fn a_store_that_is_missing_is_made_from_the_copy() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        let elsewhere = StoreUrl::Sqlite(copy.with_file_name("deep/other.db"));

        let restored = elsewhere.restore(&copy, BRIEFLY, &mut |_, _, _| ()).unwrap();

        assert_eq!((restored.kept, titles(&elsewhere)), (None, vec!["before".to_owned()]));
    }

    #[test]
    fn a_store_damaged_beyond_opening_is_moved_away_whole() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        std::fs::write(url.path().unwrap(), "scrambled").unwrap();

        let kept = url.restore(&copy, BRIEFLY, &mut |_, _, _| ()).unwrap().kept.unwrap();

        assert_eq!(
            (std::fs::read(kept).unwrap(), titles(&url)),
            (b"scrambled".to_vec(), vec!["before".to_owned()])
        );
    }

    #[test]
    fn a_store_that_a_newer_program_wrote_is_kept_and_replaced() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        let version = |path: &Path| {
            let file = rusqlite::Connection::open(path).unwrap();
            file.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0)).unwrap()
        };
        let newer = rusqlite::Connection::open(url.path().unwrap()).unwrap();
        newer.pragma_update(None, "user_version", 99).unwrap();

        let kept = url.restore(&copy, BRIEFLY, &mut |_, _, _| ()).unwrap().kept.unwrap();

        assert_eq!((version(&kept), titles(&url)), (99, vec!["before".to_owned()]));
    }

    #[test]
    fn another_programs_database_is_not_replaced() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        let foreign = copy.with_file_name("foreign.db");
        let other = rusqlite::Connection::open(&foreign).unwrap();
        other.execute_batch("CREATE TABLE shopping (what TEXT)").unwrap();
        let bytes = std::fs::read(&foreign).unwrap();

        let error = StoreUrl::Sqlite(foreign.clone()).restore(&copy, BRIEFLY, &mut |_, _, _| ()).unwrap_err();

        assert_eq!((error.kind(), std::fs::read(&foreign).unwrap()), (ErrorKind::Invalid, bytes));
    }

    #[test]
    fn a_damaged_copy_is_refused_and_the_store_stays() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        let mut bytes = std::fs::read(&copy).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..].fill(0xA5);
        std::fs::write(&copy, bytes).unwrap();

        let error = url.restore(&copy, BRIEFLY, &mut |_, _, _| ()).unwrap_err();

        let beside = std::fs::read_dir(copy.parent().unwrap()).unwrap();
        let left = beside.filter(|entry| entry.as_ref().unwrap().path().to_string_lossy().contains(".part-"));
        assert_eq!((error.kind(), titles(&url)), (ErrorKind::Corrupt, vec!["before".to_owned()]));
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn a_writer_that_does_not_end_makes_the_restore_fail_and_nothing_changes() {
        let (_directory, url, copy) = place();
        say(&archive(&url), "before");
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        let holder = rusqlite::Connection::open(url.path().unwrap()).unwrap();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();

        let error = url.restore(&copy, BRIEFLY, &mut |_, _, _| ()).unwrap_err();
        holder.execute_batch("ROLLBACK").unwrap();

        assert_eq!((error.kind(), titles(&url)), (ErrorKind::Locked, vec!["before".to_owned()]));
    }

    #[test]
    fn a_diagnosis_changes_nothing_and_finds_nothing_in_a_sound_store() {
        let (_directory, url, _) = place();
        say(&archive(&url), "before");
        let user = rustix::process::geteuid().as_raw();
        let from = Viewpoint { user, now: crate::model::Time::now(), own_directory: None };

        let diagnosis = url.diagnose(&from, &mut |_, _| ());

        assert_eq!(diagnosis.ailments, []);
        assert_eq!(diagnosis.contents.map(|contents| contents.messages), Some(1));
    }
}
