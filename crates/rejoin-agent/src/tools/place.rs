//! Where a path really leads, and whether that is inside the project.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::directory_identity::directory_identity;
use crate::error::{Error, ErrorKind, Result};
use crate::tools::Subject;
use crate::tools::input::wrong;

/// As many links as the kernel follows before it gives up.
const MOST_LINKS: usize = 40;

/// The directory that tools work in.
#[derive(Clone, Debug)]
pub(crate) struct ProjectDirectory {
    directory: PathBuf,
    /// Tells the directory from another that has its path later.
    identity: Option<String>,
}

/// A path with every link resolved. What does not exist yet is taken as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvedPath {
    pub(super) path: PathBuf,
    /// The same, below the project; none when it lies elsewhere.
    relative: Option<PathBuf>,
}

impl ProjectDirectory {
    pub(crate) fn at(directory: &Path) -> Result<Self> {
        let attempt =
            || Error::new(ErrorKind::Invalid, format!("find the project `{}`", directory.display()));
        let directory = directory.canonicalize().map_err(|cause| attempt().because(cause))?;
        let identity = directory_identity(&directory);
        Ok(Self { directory, identity })
    }

    /// Refuses when the directory was moved away, or another one took its place:
    /// nobody agreed to anything in that one.
    pub(crate) fn check(&self) -> Result<()> {
        let now = directory_identity(&self.directory);
        if now == self.identity {
            return Ok(());
        }
        let shown = self.directory.display();
        Err(wrong(match now {
            Some(_) => format!(
                "another directory took the place of `{shown}`, so nothing was done; start `rejoin` there again"
            ),
            None => format!("the directory `{shown}` is not there any more, so nothing was done"),
        }))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Follows a path that a model gave, relative to the project or absolute.
    pub(super) fn resolve(&self, given: &str) -> Result<ResolvedPath> {
        if given.contains('\0') {
            return Err(wrong("a path cannot contain a null character".to_owned()));
        }
        if given == "~" || given.starts_with("~/") {
            return Err(wrong(format!(
                "`{given}`: `~` is not expanded; give a path in the project or an absolute one"
            )));
        }
        let path = follow(&self.directory, Path::new(given))
            .map_err(|cause| wrong(format!("cannot follow `{given}`")).because(cause))?;
        let place = self.place(path);
        // Two such paths could be shown, and named by a rule, in the same way.
        if place.relative.as_ref().unwrap_or(&place.path).to_str().is_none() {
            return Err(wrong(format!("`{given}` leads to a path that is not valid text")));
        }
        Ok(place)
    }

    /// A path that is already resolved.
    pub(super) fn place(&self, path: PathBuf) -> ResolvedPath {
        let relative = path.strip_prefix(&self.directory).map(Path::to_owned).ok();
        ResolvedPath { path, relative }
    }
}

impl ResolvedPath {
    pub(super) const fn is_inside(&self) -> bool {
        self.relative.is_some()
    }

    /// How the path is shown: below the project when it is there.
    pub(super) fn shown(&self) -> String {
        match &self.relative {
            Some(relative) if relative.as_os_str().is_empty() => ".".to_owned(),
            Some(relative) => relative.to_string_lossy().into_owned(),
            None => self.path.to_string_lossy().into_owned(),
        }
    }

    pub(super) fn subject(&self, tool: &'static str) -> Subject {
        Subject::Path {
            tool,
            absolute: self.path.to_string_lossy().into_owned(),
            relative: self.relative.as_ref().map(|_| self.shown()),
        }
    }
}

fn follow(base: &Path, given: &Path) -> io::Result<PathBuf> {
    let mut resolved = base.to_owned();
    let mut left = parts(given, &mut resolved);
    let (mut links, mut is_missing) = (0, false);
    while let Some(part) = left.pop_front() {
        if part == ".." {
            if is_missing {
                return Err(io::ErrorKind::NotFound.into());
            }
            resolved.pop();
            continue;
        }
        let next = resolved.join(&part);
        match fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::other("too many links"));
                }
                let target = fs::read_link(&next)?;
                let mut ahead = parts(&target, &mut resolved);
                ahead.append(&mut left);
                left = ahead;
            }
            Ok(_) => resolved = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                is_missing = true;
                resolved = next;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(resolved)
}

/// The components still to follow; an absolute path starts again at the root.
fn parts(path: &Path, from: &mut PathBuf) -> VecDeque<OsString> {
    let mut parts = VecDeque::new();
    for component in path.components() {
        match component {
            Component::RootDir | Component::Prefix(_) => *from = PathBuf::from("/"),
            Component::CurDir => {}
            Component::ParentDir => parts.push_back("..".into()),
            Component::Normal(name) => parts.push_back(name.to_owned()),
        }
    }
    parts
}
