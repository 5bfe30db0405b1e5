//! Where exports go: a file, a directory or the standard output, and never over
//! what is there without being told.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use rejoin::formats::WrittenFile;

use super::kind::{ExportKind, file_name};
use super::selection::SelectedConversation;
use crate::context::{Consent, Context};
use crate::durable::{self, ExistingFile};
use crate::error::{Failure, Kind as FailureKind};
use crate::ui::consent::ConsentText;
use crate::ui::{clean, json};

/// Where exports go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExportDestination {
    Output,
    File(PathBuf),
    Directory(PathBuf),
}

/// What became of the files of one conversation.
#[derive(Debug)]
pub(super) struct Placed {
    /// The file, or the directory of several files.
    pub(super) path: PathBuf,
    pub(super) files: Vec<PathBuf>,
    pub(super) bytes: u64,
    pub(super) state: WriteState,
}

/// Whether anything was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteState {
    Written,
    Replaced,
    /// The same already exists.
    Same,
}

impl WriteState {
    pub(super) const fn name(self) -> &'static str {
        match self {
            WriteState::Written => "written",
            WriteState::Replaced => "replaced",
            WriteState::Same => "same",
        }
    }
}

impl ExportDestination {
    /// What the user named; the configured directory if nothing. Several conversations go to a directory.
    pub(super) fn of(
        output: Option<&Path>,
        conversations: usize,
        context: &Context,
    ) -> Result<Self, Failure> {
        let Some(output) = output else {
            return Ok(ExportDestination::Directory(context.config.export_directory().to_owned()));
        };
        if output == Path::new("-") {
            return Ok(ExportDestination::Output);
        }
        let is_marked = output.as_os_str().as_encoded_bytes().ends_with(b"/");
        let path = context.surroundings.working_directory.join(output);
        if path.is_dir() || is_marked {
            return Ok(ExportDestination::Directory(path));
        }
        if conversations > 1 && path.exists() {
            return Err(Failure::invalid(format!("`{}` is not a directory", path.display()))
                .hint("several conversations need a directory"));
        }
        Ok(if conversations > 1 { ExportDestination::Directory(path) } else { ExportDestination::File(path) })
    }
}

/// Whether files that are there may be replaced. One answer is good for the whole run.
#[derive(Debug)]
pub(super) struct Replacing {
    consent: Consent,
    is_refused: bool,
    conversations: usize,
    /// What this run wrote, which it does not replace whatever was answered.
    written: HashSet<PathBuf>,
}

impl Replacing {
    pub(super) fn new(consent: Consent, conversations: usize) -> Self {
        Self { consent, is_refused: false, conversations, written: HashSet::new() }
    }

    fn ask(&mut self, path: &Path, context: &Context) -> Result<(), Failure> {
        if self.written.contains(path) {
            return Err(Failure::new(
                FailureKind::Conflict,
                format!("`{}` would be written twice", path.display()),
            )
            .hint("export them one by one, each with its own `--output`"));
        }
        let there = || {
            Failure::new(FailureKind::Conflict, format!("`{}` already exists", path.display()))
                .hint("pass `--yes` to replace it, or `--output` to write elsewhere")
        };
        let terminal = context.surroundings.terminal;
        if self.consent == Consent::Ask && (self.is_refused || !terminal.stdin || !terminal.stderr) {
            return Err(there());
        }
        let others = if self.conversations > 1 { ", and others that are" } else { "" };
        let question = ConsentText::line(&format!("{} already exists. Replace it{others}?", path.display()));
        let answer = context.confirm(&question, self.consent);
        self.is_refused = answer.is_err();
        if answer.is_ok() {
            self.consent = Consent::Given;
        }
        answer
    }
}

/// Writes the files of one conversation.
///
/// One file goes where it is wanted. Several go into a directory of their own, and so do files with the names
/// that another program looks for: those of two conversations, or of two programs, may be the same.
pub(super) fn write(
    destination: &ExportDestination,
    kind: ExportKind,
    wanted: &SelectedConversation,
    files: Vec<WrittenFile>,
    replacing: &mut Replacing,
    context: &Context,
) -> Result<Placed, Failure> {
    let own = || file_name(wanted, &format!(".{}", kind.name()));
    let place = match (destination, files.as_slice()) {
        (ExportDestination::File(path), _) => path.clone(),
        (ExportDestination::Directory(directory), [file]) => {
            let directory = if kind.is_of_a_program() { directory.join(own()) } else { directory.clone() };
            directory.join(file.path.file_name().unwrap_or_default())
        }
        (ExportDestination::Directory(directory), _) => directory.join(own()),
        (ExportDestination::Output, _) => unreachable!("the standard output is written to elsewhere"),
    };
    let is_one = files.len() == 1;
    let mut placed = Placed { path: place.clone(), files: Vec::new(), bytes: 0, state: WriteState::Same };
    for file in files {
        let path = if is_one { place.clone() } else { below(&place, &file.path)? };
        placed.bytes += file.bytes.len() as u64;
        let state = write_one(&path, &file.bytes, replacing, context)?;
        if placed.state != WriteState::Replaced && state != WriteState::Same {
            placed.state = state;
        }
        replacing.written.insert(path.clone());
        placed.files.push(path);
    }
    Ok(placed)
}

fn write_one(
    path: &Path,
    bytes: &[u8],
    replacing: &mut Replacing,
    context: &Context,
) -> Result<WriteState, Failure> {
    let failed = |error| Failure::io(format!("write `{}`", path.display()), error);
    if path.is_dir() {
        return Err(Failure::invalid(format!("`{}` is a directory", path.display()))
            .hint("name another place with `--output`"));
    }
    let above = path.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok());
    if let Some(above) = above.filter(|above| !above.is_dir()) {
        return Err(Failure::invalid(format!("`{}` is not a directory", above.display()))
            .hint("name another place with `--output`"));
    }
    // A device or a pipe would be replaced by a file, and not written to.
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(Failure::invalid(format!("`{}` is not a file", path.display()))
            .hint("name a file, or write to stdout with `--output -`"));
    }
    match durable::place(path, bytes, ExistingFile::Stays) {
        Ok(()) => return Ok(WriteState::Written),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    if is_same(path, bytes) {
        return Ok(WriteState::Same);
    }
    replacing.ask(path, context)?;
    durable::place(path, bytes, ExistingFile::Goes).map_err(failed)?;
    Ok(WriteState::Replaced)
}

/// True for a private file that holds these bytes.
fn is_same(path: &Path, bytes: &[u8]) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::symlink_metadata(path);
    let is_alike = metadata.is_ok_and(|metadata| {
        metadata.is_file()
            && metadata.len() == bytes.len() as u64
            && metadata.permissions().mode() & 0o077 == 0
    });
    is_alike && fs::read(path).is_ok_and(|there| there == bytes)
}

/// A path below a directory. A format makes it, partly of names that others chose.
fn below(directory: &Path, path: &Path) -> Result<PathBuf, Failure> {
    if path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(directory.join(path));
    }
    Err(Failure::invalid(format!("`{}` leads out of the directory", path.display())))
}

/// Writes a file to the standard output: as it is, unless a terminal would act on it.
pub(super) fn print(bytes: &[u8], context: &Context) -> Result<(), Failure> {
    if !context.surroundings.terminal.stdout {
        let mut answer = context.answer();
        answer.write_all(bytes)?;
        return Ok(answer.flush()?);
    }
    let text = str::from_utf8(bytes).map_err(|_| {
        Failure::usage("this format is not text and cannot be shown in a terminal")
            .hint("name a file with `--output`")
    })?;
    context.show(|page| Ok(page.write_all(clean::block(&json::inert(text)).as_bytes())?))
}
