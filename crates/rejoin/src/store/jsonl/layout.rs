//! Where things are: a folder for each project, in it a file for each
//! conversation, and a folder for what is Rejoin's.
//!
//! ```text
//! DIR/home_ada_trip/.project                                     the project's key
//! DIR/home_ada_trip/01932d4a-0123-7890-abcd-123456789abc.jsonl   a conversation
//! DIR/.store/changes.jsonl                                       what happened, and the lock of writers
//! DIR/.store/index                                               what a list shows; can be rebuilt
//! DIR/.store/words/0000000000000001                              which message has which word; rebuildable
//! DIR/.store/boot                                                since when the log of changes is complete
//! DIR/.store/reserve                                             room to give up when the disk is full
//! DIR/.store/blobs/3-01932d4a-….jsonl                            blobs of a space and an owner
//! DIR/.store/blobs/9-01932d4a-…/….jsonl                          a piece of an attachment
//! DIR/.store/blobs/pending                                       blobs of several owners, being stored
//! DIR/.store/blobs/sheet                                         keys of many owners, stored together
//! DIR/.store/temporary/                                          what is being made or erased
//! ```

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::durable::{self, Overwrite};
use crate::store::jsonl::fault::DuringIo;

/// Rejoin's own folder.
const OWN: &str = ".store";

/// Holds a project's key within its folder.
const PROJECT: &str = ".project";

/// Ends the name of a conversation's file.
const ENDING: &str = ".jsonl";

/// Stands in the name of a file that is to be erased.
const GONE: &str = ".gone-";

/// The folder of conversations that belong to no project.
const NO_PROJECT: &str = "no-project";

/// Longer names are cut, so that a number can still be added.
const LONGEST: usize = 200;

/// The directory of a store.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(super) const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn own(&self) -> PathBuf {
        self.root.join(OWN)
    }

    pub(super) fn changes(&self) -> PathBuf {
        self.own().join("changes.jsonl")
    }

    pub(super) fn index(&self) -> PathBuf {
        self.own().join("index")
    }

    /// The segments of the word index.
    pub(super) fn words(&self) -> PathBuf {
        self.own().join("words")
    }

    pub(super) fn boot(&self) -> PathBuf {
        self.own().join("boot")
    }

    pub(super) fn reserve(&self) -> PathBuf {
        self.own().join("reserve")
    }

    /// There from when erasing the store begins until it ends.
    pub(super) fn erasing(&self) -> PathBuf {
        self.own().join("erasing")
    }

    pub(super) fn blobs(&self) -> PathBuf {
        self.own().join("blobs")
    }

    /// Whoever holds the lock of those who write may erase everything in here.
    pub(super) fn temporary(&self) -> PathBuf {
        self.own().join("temporary")
    }

    /// What was being made or erased when its process ended.
    pub(super) fn leftovers(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(self.temporary()) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(cause),
        };
        entries.map(|entry| entry.map(|entry| entry.path())).collect()
    }

    /// Files of conversations that were removed, or written anew, and are not overwritten yet.
    pub(super) fn unerased(&self) -> io::Result<Vec<PathBuf>> {
        let mut left = self.leftovers()?;
        left.retain(|path| {
            let is_gone =
                path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.contains(GONE));
            is_gone && path.symlink_metadata().is_ok_and(|there| there.is_file())
        });
        left.sort_unstable();
        Ok(left)
    }

    /// True when something temporary is another name of a conversation's file that is in use: its process
    /// ended before another file took that one's place. Its bytes are the conversation's.
    pub(super) fn is_second_name(&self, leftover: &Path) -> io::Result<bool> {
        let Some(name) = leftover.file_name().and_then(|name| name.to_str()) else { return Ok(false) };
        // Some file systems number each name of a file anew, but the name that
        // waits for the place tells it as well.
        let waiting = name.strip_suffix(durable::ASIDE).map(|fresh| leftover.with_file_name(fresh));
        if waiting.is_some_and(|fresh| fresh.symlink_metadata().is_ok()) {
            return Ok(true);
        }
        let id = name.split_once(ENDING).and_then(|(id, _)| id.parse().ok());
        let Some(id) = id else { return Ok(false) };
        let number = |there: fs::Metadata| (there.dev(), there.ino());
        let own = match leftover.symlink_metadata() {
            Ok(there) => number(there),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(cause) => return Err(cause),
        };
        let mut folders = self.find_all(id)?.into_iter();
        Ok(folders
            .any(|folder| self.file(&folder, id).symlink_metadata().is_ok_and(|there| number(there) == own)))
    }

    /// A name among what is temporary for what takes a file's place or leaves it, which nothing has yet.
    pub(super) fn gone_name(&self, id: ConversationId) -> PathBuf {
        let mut number = 0;
        loop {
            let name = format!("{id}{ENDING}{GONE}{}-{number}", std::process::id());
            let path = self.temporary().join(name);
            if path.symlink_metadata().is_err() {
                return path;
            }
            number += 1;
        }
    }

    /// The file of a conversation in a project's folder.
    pub(super) fn file(&self, folder: &str, id: ConversationId) -> PathBuf {
        self.root.join(folder).join(format!("{id}{ENDING}"))
    }

    /// The file that says whose a folder is.
    pub(super) fn marker(&self, folder: &str) -> PathBuf {
        self.root.join(folder).join(PROJECT)
    }

    /// The names of the projects' folders.
    pub(super) fn folders(&self) -> io::Result<Vec<String>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir()
                && let Ok(name) = entry.file_name().into_string()
                && !name.starts_with('.')
            {
                folders.push(name);
            }
        }
        folders.sort();
        Ok(folders)
    }

    /// The conversations whose files are in a folder. A folder that went away has none.
    pub(super) fn conversations(&self, folder: &str) -> io::Result<Vec<ConversationId>> {
        self.entries(folder, fs::FileType::is_file)
    }

    /// What has the name of a conversation's file in a folder and is none, such as a link.
    pub(super) fn impostors(&self, folder: &str) -> io::Result<Vec<ConversationId>> {
        self.entries(folder, |kind| !kind.is_file())
    }

    /// What has the name of a conversation's file in a folder and is of a kind that is wanted.
    fn entries(
        &self,
        folder: &str,
        is_wanted: impl Fn(&fs::FileType) -> bool,
    ) -> io::Result<Vec<ConversationId>> {
        let mut found = Vec::new();
        let entries = match fs::read_dir(self.root.join(folder)) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(found),
            Err(cause) => return Err(cause),
        };
        for entry in entries {
            let entry = entry?;
            if let Some(id) = entry.file_name().to_str().and_then(conversation_of)
                && is_wanted(&entry.file_type()?)
            {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// The folder that a conversation's file is in.
    pub(super) fn find(&self, id: ConversationId) -> io::Result<Option<String>> {
        Ok(self.find_all(id)?.into_iter().next())
    }

    /// Every folder that has a file of a conversation, regular files first. The
    /// first one counts, the others are copies.
    pub(super) fn find_all(&self, id: ConversationId) -> io::Result<Vec<String>> {
        let folders = match self.folders() {
            Ok(folders) => folders,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(cause),
        };
        let mut found = Vec::new();
        for folder in folders {
            match self.file(&folder, id).symlink_metadata() {
                Ok(there) => found.push((!there.is_file(), folder)),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                // What cannot be looked at may be there: a removal must not pass it over.
                Err(cause) => return Err(cause),
            }
        }
        // A link or a pipe with its name must not stand in the way of the file itself.
        found.sort();
        Ok(found.into_iter().map(|(_, folder)| folder).collect())
    }

    /// The folder of a project, made when it is missing. Projects whose names
    /// become alike get folders of their own.
    ///
    /// The caller holds the lock of those who write.
    pub(super) fn folder_of(&self, project: &str) -> Result<String> {
        let name = name_of(project);
        let mut number = 1;
        loop {
            let folder = if number == 1 { name.clone() } else { format!("{name}~{number}") };
            let path = self.root.join(&folder);
            match whose(&path).during(|| format!("look at the folder `{folder}`"))? {
                FolderOwner::Project(key) if key == project.as_bytes() => return Ok(folder),
                FolderOwner::Project(_) | FolderOwner::Foreign => number += 1,
                FolderOwner::Nobodys => {
                    claim(&path.join(PROJECT), project).during(|| format!("make the folder `{folder}`"))?;
                    return Ok(folder);
                }
            }
        }
    }
}

/// To whom a folder belongs.
enum FolderOwner {
    Project(Vec<u8>),
    Nobodys,
    /// It is no folder, or it is one that must not be written to: a link could lead out of the store.
    Foreign,
}

fn whose(folder: &Path) -> io::Result<FolderOwner> {
    /// No path is longer.
    const LONGEST_KEY: u64 = 1 << 16;
    match folder.symlink_metadata() {
        Ok(there) if !there.is_dir() => return Ok(FolderOwner::Foreign),
        Ok(_) => {}
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(FolderOwner::Nobodys),
        Err(cause) => return Err(cause),
    }
    let marker = folder.join(PROJECT);
    match marker.symlink_metadata() {
        Ok(there) if !there.is_file() => Ok(FolderOwner::Foreign),
        Ok(_) => durable::read_small(&marker, LONGEST_KEY).map(FolderOwner::Project),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(FolderOwner::Nobodys),
        Err(cause) => Err(cause),
    }
}

/// Says whose folder it is.
fn claim(marker: &Path, project: &str) -> io::Result<()> {
    durable::create_private_directory(marker)?;
    // Whoever made the folder may have been killed before its name was safe.
    durable::sync_parent(durable::directory_of(marker))?;
    let draft = durable::draft(marker)?;
    durable::write_at(draft.as_file(), 0, project.as_bytes())?;
    durable::publish(draft, marker, Overwrite::Keep)
}

/// The conversation whose file has this name.
fn conversation_of(name: &str) -> Option<ConversationId> {
    let id = name.strip_suffix(ENDING)?;
    // Other spellings of the same id would be the same conversation twice.
    id.parse().ok().filter(|own: &ConversationId| own.to_string() == id)
}

/// The folder's name of a project: its path without the leading slash, every other slash an underscore.
fn name_of(project: &str) -> String {
    let path = project.strip_prefix('/').unwrap_or(project);
    let plain =
        |letter: char| if letter == '/' || letter == '\\' || letter.is_control() { '_' } else { letter };
    let mut name = String::new();
    for letter in path.chars().map(plain) {
        if name.len() + letter.len_utf8() > LONGEST {
            break;
        }
        name.push(letter);
    }
    match name.as_str() {
        "" => NO_PROJECT.to_owned(),
        // Names with a dot in front are hidden, and Rejoin's own.
        hidden if hidden.starts_with('.') => format!("_{hidden}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_as_the_document_names_it() {
        let names = [
            "/Users/dev/my-project",
            "/home/user/workspace/app",
            "C:\\Users\\Dev\\Project",
            "/simple",
            "/",
            "",
            "..",
            "/.store",
            "/a/../../b\0\n",
        ];

        assert_eq!(
            names.map(name_of),
            [
                "Users_dev_my-project",
                "home_user_workspace_app",
                "C:_Users_Dev_Project",
                "simple",
                "no-project",
                "no-project",
                "_..",
                "_.store",
                "a_.._.._b__",
            ]
        );
        assert_eq!(name_of(&"ü".repeat(500)).len(), LONGEST);
    }

    #[test]
    fn projects_whose_names_become_alike_stay_apart() {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::new(directory.path().to_owned());

        let folders =
            ["/a/b_c", "/a_b/c", "/a/b_c", "/a_b/c"].map(|project| layout.folder_of(project).unwrap());

        assert_eq!(folders, ["a_b_c", "a_b_c~2", "a_b_c", "a_b_c~2"]);
    }

    #[test]
    fn only_names_of_conversations_are_conversations() {
        let id = "01932d4a-0123-7890-abcd-123456789abc";
        let names = [
            format!("{id}.jsonl"),
            format!("{}.jsonl", id.to_uppercase()),
            format!("{id}.jsonl.gone-1-0"),
            "README.md".to_owned(),
            ".DS_Store".to_owned(),
            "short.jsonl".to_owned(),
            "invalid-session-id.jsonl".to_owned(),
        ];

        let found: Vec<_> = names.iter().filter_map(|name| conversation_of(name)).collect();

        assert_eq!(found, [id.parse().unwrap()]);
    }
}
