//! Reads small files that a folder brings along, such as `AGENTS.md`, `.rejoin/project` or `.git/HEAD`.
//!
//! Nobody knows who wrote them, so one function reads them all: never through a link out of
//! the folder, never anything but a regular file, never more than was asked for, and nothing
//! that another user owns or can write.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use rejoin::store::{Foreign, User};
use rustix::fs::OFlags;

/// What a file holds, or why it was not read.
#[derive(Debug)]
pub(crate) enum FileReading {
    Content(BoundedContent),
    /// There is no such file.
    Absent,
    /// It is a link to somewhere outside the folder.
    Outside,
    /// It is a directory, a pipe, a socket or a device.
    Irregular,
    /// Another user owns or can write it, or the folder.
    Foreign(Foreign),
    Failed(io::Error),
}

/// What a file holds, or the beginning of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BoundedContent {
    pub(crate) bytes: Vec<u8>,
    /// Where it is, with the links resolved that lead there from the directory.
    pub(crate) place: PathBuf,
    pub(crate) is_whole: bool,
}

impl BoundedContent {
    /// The text; what is no text is replaced.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        if !self.is_whole {
            // The cut may have gone through a character.
            text.truncate(text.trim_end_matches('\u{fffd}').len());
        }
        text
    }
}

/// Reads a file of at most so many bytes that lies in a directory, also through links within it.
pub(crate) fn read_inside(file: &Path, directory: &Path, most: usize) -> FileReading {
    let user = User::current();
    if let Some(foreign) = user.look(directory) {
        return FileReading::Foreign(foreign);
    }
    match way_to(user, file, directory) {
        Ok(FileWay::Plain(found)) => read(user, file.to_owned(), &found, most),
        Ok(FileWay::Foreign(foreign)) => FileReading::Foreign(foreign),
        Ok(FileWay::Linked) => read_linked(user, file, directory, most),
        Err(error) => failed(error),
    }
}

/// The same, and a file that is not there is absent also in a directory of another user. Most files that are
/// looked for do not exist, and then nothing needs to be judged.
pub(crate) fn read_if_there(file: &Path, directory: &Path, most: usize) -> FileReading {
    let first = file.strip_prefix(directory).ok().and_then(|below| below.components().next());
    if let Some(Component::Normal(step)) = first
        && fs::symlink_metadata(directory.join(step))
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        return FileReading::Absent;
    }
    read_inside(file, directory, most)
}

/// How a file is reached from a directory.
enum FileWay {
    /// Through directories of the user, without a link. So it lies in the directory.
    Plain(Metadata),
    /// Through a directory in which another user could put another file in its place.
    Foreign(Foreign),
    /// Through a link, or in a way that is no simple path.
    Linked,
}

/// Looks at each step on the way to a file. Most files that are looked for do
/// not exist, and the first step tells.
fn way_to(user: User, file: &Path, directory: &Path) -> io::Result<FileWay> {
    let Ok(below) = file.strip_prefix(directory) else { return Ok(FileWay::Linked) };
    let mut place = directory.to_owned();
    let mut steps = below.components().peekable();
    while let Some(Component::Normal(step)) = steps.next() {
        place.push(step);
        let found = fs::symlink_metadata(&place)?;
        match steps.peek() {
            _ if found.is_symlink() => return Ok(FileWay::Linked),
            None => return Ok(FileWay::Plain(found)),
            Some(_) => {
                if let Some(foreign) = user.check(&place, &found) {
                    return Ok(FileWay::Foreign(foreign));
                }
            }
        }
    }
    Ok(FileWay::Linked)
}

fn read_linked(user: User, file: &Path, directory: &Path, most: usize) -> FileReading {
    match (fs::canonicalize(file), fs::canonicalize(directory)) {
        (Ok(place), Ok(directory)) if !place.starts_with(&directory) => FileReading::Outside,
        (Ok(place), Ok(directory)) => match foreign_between(user, &place, &directory) {
            Some(foreign) => FileReading::Foreign(foreign),
            None => read_resolved(user, place, most),
        },
        // A link that leads nowhere could lead somewhere in a moment.
        (Err(_), _) if fs::symlink_metadata(file).is_ok_and(|found| found.is_symlink()) => {
            FileReading::Outside
        }
        (Err(error), _) | (_, Err(error)) => failed(error),
    }
}

/// A directory on the way to a file in which another user could put another file in its place.
fn foreign_between(user: User, place: &Path, directory: &Path) -> Option<Foreign> {
    let is_between = |above: &&Path| above.starts_with(directory) && *above != directory;
    place.ancestors().skip(1).take_while(is_between).find_map(|above| user.look(above))
}

/// Reads a file of the user's own, wherever it leads.
pub(crate) fn read_own(file: &Path, most: usize) -> FileReading {
    match fs::symlink_metadata(file) {
        Ok(found) if !found.is_symlink() => read(User::current(), file.to_owned(), &found, most),
        Ok(_) => match fs::canonicalize(file) {
            Ok(place) => read_resolved(User::current(), place, most),
            Err(error) => failed(error),
        },
        Err(error) => failed(error),
    }
}

/// The whole text of a file in a directory; none where there is none that can be used.
pub(crate) fn text_inside(file: &Path, directory: &Path, most: usize) -> Option<String> {
    match read_inside(file, directory, most) {
        FileReading::Content(content) if content.is_whole => String::from_utf8(content.bytes).ok(),
        _ => None,
    }
}

/// Reads a file whose path has no links.
fn read_resolved(user: User, place: PathBuf, most: usize) -> FileReading {
    match fs::symlink_metadata(&place) {
        Ok(found) => read(user, place, &found, most),
        Err(error) => failed(error),
    }
}

/// Reads a file that was just looked at. Opening a pipe waits for ever and opening a device may do anything,
/// so neither is opened; one that took the file's place in the meantime is neither waited for nor followed.
fn read(user: User, place: PathBuf, found: &Metadata, most: usize) -> FileReading {
    if !found.is_file() {
        return FileReading::Irregular;
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&place);
    let file = match opened.and_then(|file| Ok((file.metadata()?, file))) {
        Ok((found, _)) if !found.is_file() => return FileReading::Irregular,
        Ok((found, file)) => match user.check(&place, &found) {
            Some(foreign) => return FileReading::Foreign(foreign),
            None => file,
        },
        Err(error) => return failed(error),
    };
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    if let Err(error) = file.take(limit).read_to_end(&mut bytes) {
        return failed(error);
    }
    let is_whole = bytes.len() <= most;
    bytes.truncate(most);
    FileReading::Content(BoundedContent { bytes, place, is_whole })
}

/// A path through something that is no directory is as absent as one that ends nowhere.
fn failed(error: io::Error) -> FileReading {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileReading::Absent,
        _ => FileReading::Failed(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// A directory that tests use as a project.
    fn project() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().canonicalize().unwrap().join("project");
        fs::create_dir(&project).unwrap();
        (home, project)
    }

    fn word(reading: &FileReading) -> String {
        match reading {
            FileReading::Content(content) => content.text(),
            FileReading::Absent => "absent".to_owned(),
            FileReading::Outside => "outside".to_owned(),
            FileReading::Irregular => "irregular".to_owned(),
            FileReading::Foreign(_) => "foreign".to_owned(),
            FileReading::Failed(error) => error.to_string(),
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_absent_whoever_owns_the_directory() {
        let (_home, project) = project();
        fs::set_permissions(&project, Permissions::from_mode(0o777)).unwrap();
        fs::create_dir(project.join("there")).unwrap();
        fs::write(project.join("file"), "said").unwrap();
        let read = |name: &str| word(&read_if_there(&project.join(name), &project, 9));

        let found = ["missing", "missing/file", "there/missing", "file"].map(read);

        assert_eq!(found, ["absent", "absent", "foreign", "foreign"]);
    }

    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let (home, project) = project();
        fs::write(home.path().join("key"), "secret").unwrap();
        fs::write(project.join("REAL.md"), "plain").unwrap();
        symlink("../key", project.join("AGENTS.md")).unwrap();
        symlink("REAL.md", project.join("CLAUDE.md")).unwrap();
        symlink("/dev/zero", project.join("zero")).unwrap();
        symlink("/nowhere", project.join("dangling")).unwrap();

        let read = ["AGENTS.md", "CLAUDE.md", "none.md", ".", "zero", "dangling", "REAL.md/below"]
            .map(|name| word(&read_inside(&project.join(name), &project, 100)));

        assert_eq!(read, ["outside", "plain", "absent", "irregular", "outside", "outside", "absent"]);
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let (_home, project) = project();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            project.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from(0o600),
            0,
        )
        .unwrap();
        let _socket = UnixListener::bind(project.join("socket")).unwrap();
        symlink("pipe", project.join("linked")).unwrap();

        let read =
            ["pipe", "socket", "linked"].map(|name| word(&read_inside(&project.join(name), &project, 9)));

        assert_eq!(read, ["irregular"; 3]);
    }

    #[test]
    fn a_long_file_is_cut_between_characters() {
        let (_home, project) = project();
        let place = project.join("long.md");
        fs::write(&place, "aéé").unwrap();
        File::create(project.join("huge")).unwrap().set_len(10 << 30).unwrap();

        let FileReading::Content(read) = read_own(&place, 4) else { panic!("it is a file") };
        let FileReading::Content(huge) = read_own(&project.join("huge"), 4) else { panic!("it is a file") };

        assert_eq!((read.text().as_str(), read.is_whole, read.place), ("aé", false, place));
        assert_eq!((huge.bytes.len(), huge.is_whole), (4, false));
    }

    #[test]
    fn what_others_can_write_is_not_read() {
        let (_home, project) = project();
        fs::write(project.join("open.md"), "theirs").unwrap();
        fs::set_permissions(project.join("open.md"), Permissions::from_mode(0o666)).unwrap();
        fs::write(project.join("own.md"), "own").unwrap();

        let read = ["open.md", "own.md"].map(|name| word(&read_inside(&project.join(name), &project, 100)));
        fs::set_permissions(&project, Permissions::from_mode(0o1777)).unwrap();
        let in_open = word(&read_inside(&project.join("own.md"), &project, 100));

        assert_eq!((read, in_open.as_str()), (["foreign", "own"].map(str::to_owned), "foreign"));
    }
}
