//! Who owns a file and who can write it. What another user controls is not relied on.

use std::error::Error as StdError;
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Everybody may write here, and remove only what is theirs, as in /tmp.
const STICKY: u32 = 0o1000;

/// Below this number are the groups of the system, which have many members.
/// Private groups of users are above.
const FIRST_USER: u32 = 1000;

/// The number of `nobody`, whose group is shared by many programs.
const NOBODY: u32 = 65_534;

/// A file or a directory that another user owns or can write, so that another user decides what it holds.
///
/// What belongs to root is not foreign: root decides everything on a machine. A group that has the number of
/// the owner is the owner's private group, and may write.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Foreign {
    /// Where it is.
    pub path: PathBuf,
    /// The number of its owner.
    pub owner: u32,
    /// Its permission bits.
    pub mode: u32,
    /// The number of the user who wanted to use it.
    pub user: u32,
}

/// The user on whose behalf files are judged. To know it takes a call of the
/// system, so whoever judges many asks once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User(u32);

impl User {
    /// The user that this process acts as.
    pub fn current() -> Self {
        Self(rustix::process::geteuid().as_raw())
    }

    /// True when it owns what `metadata` is about.
    pub fn owns(self, metadata: &Metadata) -> bool {
        metadata.uid() == self.0
    }

    /// Judges what `metadata` says about the file or directory at `path`.
    pub fn check(self, path: &Path, metadata: &Metadata) -> Option<Foreign> {
        let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
        // The permissions of a link say nothing; nobody can write to one.
        let is_open = || {
            !metadata.is_symlink()
                && (can_others_write(mode, owner, metadata.gid())
                    || (mode & 0o020 != 0 && has_access_list(path)))
        };
        let is_foreign = is_of_another(owner, self.0) || is_open();
        is_foreign.then(|| Foreign { path: path.to_owned(), owner, mode, user: self.0 })
    }

    /// Judges what is at `path`, through links. Nothing that is not there, or
    /// cannot be looked at, is foreign.
    pub fn look(self, path: &Path) -> Option<Foreign> {
        self.check(path, &path.metadata().ok()?)
    }

    /// Judges a directory in which something lies: whether another user could put something else in its
    /// place. Only in one like /tmp, where everybody may write and remove what is theirs, can they not. A
    /// link is judged with all it leads through.
    pub fn look_around(self, directory: &Path) -> Option<Foreign> {
        self.step(directory).err()
    }

    /// The same, and tells whether it is a link.
    fn step(self, directory: &Path) -> Result<PathWay, Foreign> {
        let Ok(found) = directory.symlink_metadata() else { return Ok(PathWay::Unknown) };
        let is_kept = |foreign: Option<Foreign>| match foreign.filter(|foreign| !foreign.is_sticky()) {
            Some(foreign) => Err(foreign),
            None => Ok(()),
        };
        if !found.is_symlink() {
            return is_kept(self.check(directory, &found)).map(|()| PathWay::Straight);
        }
        let Ok(real) = directory.canonicalize() else { return Ok(PathWay::Unknown) };
        real.ancestors().try_for_each(|above| is_kept(self.look(above))).map(|()| PathWay::Unknown)
    }
}

/// How a path leads to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathWay {
    /// Through directories only, so that it has no other name without links.
    Straight,
    /// Perhaps through links.
    Unknown,
}

impl Foreign {
    /// Judges what `metadata` says about the file or directory at `path`.
    pub fn check(path: &Path, metadata: &Metadata) -> Option<Self> {
        User::current().check(path, metadata)
    }

    /// Judges what is at `path`, through links. Nothing that is not there, or
    /// cannot be looked at, is foreign.
    pub fn look(path: &Path) -> Option<Self> {
        User::current().look(path)
    }

    /// True when another user owns it; otherwise it belongs to the user or to root, and others can write it.
    pub const fn is_of_another(&self) -> bool {
        is_of_another(self.owner, self.user)
    }

    /// True when everybody may write, and remove only what is theirs.
    const fn is_sticky(&self) -> bool {
        self.mode & STICKY != 0 && !self.is_of_another()
    }

    /// The foreign file that an error is about, if it is about one.
    pub fn cause_of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        std::iter::successors(Some(error), |&error| error.source()).find_map(|cause| {
            let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            cause.downcast_ref().or_else(|| inner.and_then(|inner| inner.downcast_ref()))
        })
    }
}

/// True unless the user or root is the owner.
const fn is_of_another(owner: u32, user: u32) -> bool {
    owner != user && owner != 0
}

const fn can_others_write(mode: u32, owner: u32, group: u32) -> bool {
    let is_private_group = group == owner && (owner == 0 || (owner >= FIRST_USER && owner != NOBODY));
    mode & 0o002 != 0 || (mode & 0o020 != 0 && !is_private_group)
}

/// True when an access control list says who may write: what it allows shows as the
/// permission of the group, whoever it is for.
fn has_access_list(path: &Path) -> bool {
    let found = rustix::fs::getxattr(path, "system.posix_acl_access", &mut [0_u8; 1024][..]);
    matches!(found, Ok(_) | Err(rustix::io::Errno::RANGE))
}

/// Refuses a file that another user owns or can write, and tells what was
/// found. One that is missing is not refused.
pub(super) fn refuse_file(user: User, path: &Path) -> io::Result<Option<Metadata>> {
    let found = path.symlink_metadata().ok();
    match found.as_ref().and_then(|metadata| user.check(path, metadata)) {
        Some(foreign) => Err(foreign.into()),
        None => Ok(found),
    }
}

/// Refuses a directory in which another user can replace files: one that they
/// own, or can write and remove from.
pub(super) fn refuse_directory(user: User, path: &Path) -> io::Result<()> {
    match user.look(path).filter(|foreign| !foreign.is_sticky()) {
        Some(foreign) => Err(foreign.into()),
        None => Ok(()),
    }
}

/// Refuses a directory that another user could replace, with all that is in it: where they can rename any of
/// the directories above. Once it was not refused, only the user and root can change the way there.
pub(super) fn refuse_place(user: User, path: &Path) -> io::Result<PathWay> {
    let path = std::path::absolute(path)?;
    let is_simple = path.components().all(|step| matches!(step, Component::RootDir | Component::Normal(_)));
    let mut way = if is_simple { PathWay::Straight } else { PathWay::Unknown };
    for above in path.ancestors() {
        if user.step(above)? == PathWay::Unknown {
            way = PathWay::Unknown;
        }
    }
    Ok(way)
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, owner, user) = (self.path.display(), self.owner, self.user);
        if self.is_of_another() {
            return write!(f, "`{path}` belongs to user {owner}, not to you (user {user})");
        }
        write!(f, "others can write to `{path}` (mode {:o})", self.mode)
    }
}

impl StdError for Foreign {}

impl From<Foreign> for io::Error {
    fn from(foreign: Foreign) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_can_write_what_everybody_or_a_shared_group_can_write() {
        let cases = [
            (0o600, 1000, 1000),
            (0o755, 1000, 100),
            (0o775, 1000, 1000),
            (0o775, 0, 0),
            (0o775, 1000, 100),
            (0o775, 100, 100),
            (0o775, NOBODY, NOBODY),
            (0o757, 1000, 1000),
            (0o1777, 0, 0),
        ];

        let found = cases.map(|(mode, owner, group)| can_others_write(mode, owner, group));

        assert_eq!(found, [false, false, false, false, true, true, true, true, true]);
    }

    #[test]
    fn a_file_of_another_user_is_foreign_and_one_of_root_is_not() {
        let of = |owner| Foreign { path: "/x".into(), owner, mode: 0o600, user: 1000 }.is_of_another();

        assert_eq!([of(1000), of(0), of(1001)], [false, false, true]);
    }

    #[test]
    fn the_cause_is_found_however_deep_it_is() {
        let foreign = Foreign { path: "/x".into(), owner: 1, mode: 0o600, user: 1000 };
        let error = crate::Error::invalid("inner").because(io::Error::from(foreign.clone())).during("outer");
        let direct = crate::Error::invalid("inner").because(foreign.clone());

        let found = [Foreign::cause_of(&error), Foreign::cause_of(&direct)];

        assert_eq!(found, [Some(&foreign); 2]);
    }
}
