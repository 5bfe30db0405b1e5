//! Where to read from: one file or one directory of a format, found below a path.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::formats::lines::{UTF8_MARK, ZSTD, unreadable};
use crate::formats::zipped::{Counted, ZIP, Zipped};
use crate::formats::{Finder, Fingerprint, Format, Key, agent_voice};

/// How much of a file its format is recognised by.
const HEAD: usize = 64 * 1024;

/// A first line that is longer than that is recognised by what it begins with.
const LINE_START: usize = 512;

/// Deeper directories are not looked into; no program nests its files so deep.
pub(super) const DEPTH: usize = 32;

/// A file or a directory to read from, with its first bytes.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    /// Read when it is asked for.
    head: OnceLock<Vec<u8>>,
    is_directory: bool,
    bytes: u64,
    look: OnceLock<Fingerprint>,
    key: Option<Key>,
}

/// What was found below a path.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The sources with their formats, in order of path.
    pub found: Vec<(Source, &'static Format)>,
    /// How many files are of no known format.
    pub others: u64,
    /// Files and directories that could not be looked at, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl Source {
    /// Looks at a file or a directory.
    pub fn open(path: &Path) -> Result<Self> {
        let metadata = fs::metadata(path).map_err(|cause| unreadable(path, cause))?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(Error::invalid(format!("`{}` is neither a file nor a directory", path.display())));
        }
        let source = Self::new(path.to_owned(), &metadata);
        if metadata.is_file() {
            let head = OnceLock::from(head(path)?);
            return Ok(Self { head, ..source });
        }
        Ok(source)
    }

    /// A file that was not looked into.
    pub(super) fn new(path: PathBuf, metadata: &Metadata) -> Self {
        let bytes = if metadata.is_file() { metadata.len() } else { 0 };
        Self {
            path,
            head: OnceLock::new(),
            is_directory: metadata.is_dir(),
            bytes,
            look: OnceLock::new(),
            key: None,
        }
    }

    /// The same as what it looked like when it was found, without its first bytes.
    pub(super) fn seen(self, look: Fingerprint) -> Self {
        Self { look: OnceLock::from(look), head: OnceLock::new(), ..self }
    }

    /// The same with the key that opens it, where its program seals what it writes.
    #[must_use]
    pub fn with_key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// The key that opens it.
    pub(super) const fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// True when its program sealed it and no key was given to open it.
    pub fn is_locked(&self) -> bool {
        self.key.is_none() && agent_voice::is_sealed(self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its first bytes, decompressed; none of a directory, or of a file that went away.
    pub fn head(&self) -> &[u8] {
        self.head
            .get_or_init(|| if self.is_directory { Vec::new() } else { head(&self.path).unwrap_or_default() })
    }

    /// What it looked like when it was found, or what it looks like when this is asked first.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        if let Some(look) = self.look.get() {
            return Ok(*look);
        }
        let metadata = fs::metadata(&self.path).map_err(|cause| unreadable(&self.path, cause))?;
        Ok(*self.look.get_or_init(|| {
            let companions = Format::of(self).map(|format| format.beside(self)).unwrap_or_default();
            Fingerprint::of(&self.path, &metadata, &companions)
        }))
    }

    /// Its first complete lines.
    pub(super) fn first_lines(&self) -> impl Iterator<Item = &str> {
        let head = self.head();
        let is_whole = head.len() < HEAD;
        let end = if is_whole { head.len() } else { memchr::memrchr(b'\n', head).unwrap_or(0) };
        head[..end].split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok())
    }

    /// The first characters of a first line that is longer than what is looked at.
    pub(super) fn long_line(&self) -> Option<&str> {
        let is_first = memchr::memchr(b'\n', self.head()).is_none();
        let line = self.cut_line().filter(|_| is_first)?;
        line.get(..line.floor_char_boundary(LINE_START))
    }

    /// The beginning of a line that goes on beyond what is looked at.
    pub(super) fn cut_line(&self) -> Option<&str> {
        let head = Some(self.head()).filter(|head| head.len() >= HEAD)?;
        let line = &head[memchr::memrchr(b'\n', head).map_or(0, |end| end + 1)..];
        let end = str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len);
        str::from_utf8(&line[..end]).ok()
    }

    /// True for a directory.
    pub const fn is_directory(&self) -> bool {
        self.is_directory
    }

    /// The size of the file; of a directory 0.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The name of the file without directories and endings, as text.
    pub(super) fn stem(&self) -> &str {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_suffix(".zst").unwrap_or(name);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

impl Sources {
    /// Finds every source at or below a path, as a [`Finder`] that knows nothing yet.
    pub fn find(path: &Path, only: Option<&'static Format>) -> Result<Self> {
        Finder::new().find(path, only)
    }
}

/// The first bytes of the text in a file: decompressed, without the mark of UTF-8, in a zip those of its conversations.
fn head(path: &Path) -> Result<Vec<u8>> {
    let failed = |cause| unreadable(path, cause);
    let mut head = first_bytes(File::open(path).map_err(failed)?).map_err(failed)?;
    if head.starts_with(&ZSTD) {
        let decoder = zstd::Decoder::new(File::open(path).map_err(failed)?).map_err(failed)?;
        // A damaged file has a shorter head; reading it says what is wrong.
        head = first_bytes(decoder).unwrap_or_default();
    } else if head.starts_with(&ZIP) {
        let mut zip = Zipped::open(path, Counted::new(File::open(path).map_err(failed)?))?;
        if zip.len() > 0 {
            head = first_bytes(zip.entry(0)?).map_err(failed)?;
        }
    }
    if head.starts_with(&UTF8_MARK) {
        head.drain(..UTF8_MARK.len());
    }
    head.truncate(HEAD);
    Ok(head)
}

fn first_bytes(file: impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take((UTF8_MARK.len() + HEAD) as u64).read_to_end(&mut head)?;
    Ok(head)
}
