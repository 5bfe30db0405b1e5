//! Keeps the user's own files private, and refuses those that another user owns or can write.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, Permissions};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rejoin::StoreUrl;
use rejoin::store::{Foreign, User};

use crate::context::Manner;
use crate::error::{Failure, Kind};
use crate::surroundings::Surroundings;
use crate::ui::quote;

/// Everybody may write here, and remove only what is theirs, as in /tmp.
const STICKY: u32 = 0o1000;

/// Where the header of a database says whose it is.
const APPLICATION: Range<usize> = 68..72;

/// What others may do with a file or directory of the user at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    Nothing,
    /// They may look, if the user lets them.
    Read,
}

/// Sees to the files that the program reads before anything else: configuration,
/// trust, and the directories of its own.
pub(crate) fn keep_own(surroundings: &Surroundings, manner: Manner) -> Result<(), Failure> {
    let user = surroundings.user;
    let (config, data, state) =
        (surroundings.user_config_file()?, surroundings.data_directory()?, surroundings.state_directory()?);
    let folders = [
        (config.parent(), Others::Read, ["config.toml"].as_slice()),
        (Some(&data), Others::Nothing, &["trust.toml"]),
        (Some(&state), Others::Nothing, &["redact.key", "anchors", "keys"]),
    ];
    let missing = refuse_replaceable(user, folders.iter().filter_map(|(folder, ..)| *folder))?;
    for (folder, others, names) in folders {
        let folder = folder.filter(|folder| !missing.iter().any(|above| folder.starts_with(above)));
        let Some((folder, found)) = folder.and_then(|folder| Some((folder, folder.metadata().ok()?))) else {
            continue;
        };
        keep_found(user, folder, found, others, manner)?;
        names.iter().try_for_each(|name| keep_by(user, &folder.join(name), Others::Nothing, manner))?;
    }
    Ok(())
}

/// Refuses directories that another user could put others in the place of, because they can rename what lies
/// above. What is above is not Rejoin's, so its permissions are left to the user, as those of a home are by
/// sshd. Returns the first of those above that do not exist.
fn refuse_replaceable<'a>(
    user: User,
    directories: impl Iterator<Item = &'a Path>,
) -> Result<Vec<&'a Path>, Failure> {
    // Most of them lie in the same home, and what is above stands before what is below.
    let all: BTreeSet<&Path> = directories.flat_map(|directory| directory.ancestors().skip(1)).collect();
    let mut missing: Vec<&Path> = Vec::new();
    for above in all {
        if missing.iter().any(|missing| above.starts_with(missing)) {
            continue;
        }
        let foreign = match above.symlink_metadata() {
            // What cannot be looked at has nothing below that could be.
            Err(_) => {
                missing.push(above);
                None
            }
            Ok(found) if found.is_symlink() => user.look_around(above),
            Ok(found) => refused(user, above, &found),
        };
        if let Some(foreign) = foreign {
            return Err(refusal(format!("use what lies in `{}`", foreign.path.display()), &foreign));
        }
    }
    Ok(missing)
}

/// Sees to the files of a store, before it is opened.
pub(crate) fn keep_store(url: &StoreUrl, surroundings: &Surroundings, manner: Manner) -> Result<(), Failure> {
    keep_store_by(surroundings.user, url, &surroundings.data_directory()?, manner)
}

fn keep_store_by(user: User, url: &StoreUrl, own_directory: &Path, manner: Manner) -> Result<(), Failure> {
    let within = |directory: &Path| if directory == own_directory { Others::Nothing } else { Others::Read };
    match url {
        StoreUrl::Sqlite(path) => {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = directory.unwrap_or(Path::new("."));
            let mut found = Vec::from_iter(
                directory.metadata().ok().map(|found| (directory.to_owned(), found, within(directory))),
            );
            for file in ["", "-wal", "-shm"].map(|suffix| beside(path, suffix)) {
                // A link in its place is refused when the store is opened.
                let metadata = file.symlink_metadata().ok().filter(|found| !found.is_symlink());
                found.extend(metadata.map(|metadata| (file, metadata, Others::Nothing)));
            }
            found.retain(|(path, found, others)| !is_kept(user, path, found, *others));
            // What another program keeps there is refused when it is opened, and left as it is.
            if found.is_empty() || is_of_another_program(path) {
                return Ok(());
            }
            found
                .into_iter()
                .try_for_each(|(path, found, others)| keep_found(user, &path, found, others, manner))
        }
        StoreUrl::Jsonl(root) => {
            keep_by(user, root, within(root), manner)?;
            keep_by(user, &root.join(".store"), Others::Nothing, manner)
        }
        StoreUrl::Vault(inner) => keep_store_by(user, inner, own_directory, manner),
        // The files of a server are its own.
        StoreUrl::Postgres(_) | StoreUrl::Memory => Ok(()),
        // A kind of store whose files nobody looks at is not opened.
        other => Err(Failure::invalid(format!("check the owner of `{other}`"))),
    }
}

/// True for a file that is no database of Rejoin's. Of a new one, only the log says whose it is.
fn is_of_another_program(path: &Path) -> bool {
    let mut header = [0; APPLICATION.end];
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let is_read = is_file && File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok();
    is_read && header[APPLICATION] != *b"RJON" && !beside(path, "-wal").exists()
}

/// The file beside `path` whose name has `suffix` added.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Takes from others what they may not do, and says so. What another user owns is refused.
pub(crate) fn keep(path: &Path, others: Others, manner: Manner) -> Result<(), Failure> {
    keep_by(User::current(), path, others, manner)
}

fn keep_by(user: User, path: &Path, others: Others, manner: Manner) -> Result<(), Failure> {
    path.metadata().map_or(Ok(()), |found| keep_found(user, path, found, others, manner))
}

/// The same with what was found there.
fn keep_found(
    user: User,
    path: &Path,
    found: Metadata,
    others: Others,
    manner: Manner,
) -> Result<(), Failure> {
    let (mode, wanted) = (found.mode() & 0o7777, wanted(user, path, &found, others));
    let mut after = found;
    if user.owns(&after) && wanted != mode {
        // A file system without permissions, or one that cannot be written to, keeps them as they are.
        let _ = fs::set_permissions(path, Permissions::from_mode(wanted));
        let Ok(changed) = path.metadata() else { return Ok(()) };
        after = changed;
    }
    if let Some(foreign) = refused(user, path, &after) {
        return Err(refusal(format!("use `{}`", path.display()), &foreign));
    }
    if after.mode() & 0o7777 != mode {
        let could = if mode & 0o022 == 0 { "read" } else { "write to" };
        let message = format!(
            "others could {could} `{}` (mode {mode:o}); its mode is {:o} now",
            path.display(),
            after.mode() & 0o7777
        );
        manner.warn(&message, None);
    }
    Ok(())
}

/// True when nothing has to be taken from others, and nothing is refused.
fn is_kept(user: User, path: &Path, found: &Metadata, others: Others) -> bool {
    let is_wanted = || found.mode() & 0o7777 == wanted(user, path, found, others);
    refused(user, path, found).is_none() && (!user.owns(found) || is_wanted())
}

/// What cannot be used because another user owns it, or can write it and remove what is not theirs.
fn refused(user: User, path: &Path, found: &Metadata) -> Option<Foreign> {
    user.check(path, found).filter(|foreign| foreign.is_of_another() || !is_sticky(found))
}

fn wanted(user: User, path: &Path, found: &Metadata, others: Others) -> u32 {
    let mode = found.mode() & 0o7777;
    match others {
        Others::Nothing => mode & 0o700,
        Others::Read if is_sticky(found) || user.check(path, found).is_none() => mode,
        Others::Read => mode & !0o022,
    }
}

fn is_sticky(found: &Metadata) -> bool {
    found.is_dir() && found.mode() & STICKY != 0
}

/// The failure to use what another user owns or can write.
pub(crate) fn refusal(attempt: impl Into<String>, foreign: &Foreign) -> Failure {
    Failure::new(Kind::Denied, attempt).because(foreign.clone()).hint(remedy(foreign))
}

/// What to do about it.
pub(crate) fn remedy(foreign: &Foreign) -> String {
    let path = quote::path(&foreign.path);
    match (foreign.is_of_another(), foreign.user) {
        (true, 0) => format!("run rejoin as user {}, or run `chown 0 {path}` if you trust it", foreign.owner),
        (true, user) => format!("run `sudo chown {user} {path}` if you trust what it holds"),
        (false, user) if user == foreign.owner => {
            format!("run `chmod go-w {path}` if you trust what it holds")
        }
        (false, _) => format!("run `sudo chmod go-w {path}` if you trust what it holds"),
    }
}
