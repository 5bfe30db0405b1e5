//! A source to read: one file or one directory of a format, found below a path.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::formats::lines::{UTF8_MARK, ZSTD, unreadable};
use crate::formats::zipped::{CountedFile, ZIP, Zipped};
use crate::formats::{Finder, Fingerprint, Format, Key, agent_voice};

/// How many bytes of a file its format is recognised by.
const HEAD: usize = 64 * 1024;

/// A first line longer than this is recognised by its beginning.
const LINE_START: usize = 512;

/// The maximum depth of the search; no program nests its files deeper.
pub(super) const DEPTH: usize = 32;

/// A file or a directory to read from, with its first bytes.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    /// Loaded on first use.
    head: OnceLock<Vec<u8>>,
    is_directory: bool,
    bytes: u64,
    look: OnceLock<Fingerprint>,
    key: Option<Key>,
}

/// The result of a search below a path.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The sources with their formats, sorted by path.
    pub found: Vec<(Source, &'static Format)>,
    /// How many files are of no known format.
    pub others: u64,
    /// Files and directories that could not be examined, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl Source {
    /// Examines a file or a directory.
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

    /// Creates a source without opening the file.
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

    /// Returns the same source as it looked when it was found, without its head.
    pub(super) fn seen(self, look: Fingerprint) -> Self {
        Self { look: OnceLock::from(look), head: OnceLock::new(), ..self }
    }

    /// Returns the same source with its decryption key, for a program that encrypts.
    #[must_use]
    pub fn with_key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// The decryption key.
    pub(super) const fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// True when it is encrypted and no key was given.
    pub fn is_locked(&self) -> bool {
        self.key.is_none() && agent_voice::is_sealed(self)
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first bytes, decompressed; empty for a directory or a file that has disappeared.
    pub fn head(&self) -> &[u8] {
        self.head
            .get_or_init(|| if self.is_directory { Vec::new() } else { head(&self.path).unwrap_or_default() })
    }

    /// The fingerprint from when it was found, or from the first call.
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

    /// The first complete lines.
    pub(super) fn first_lines(&self) -> impl Iterator<Item = &str> {
        let head = self.head();
        let is_whole = head.len() < HEAD;
        let end = if is_whole { head.len() } else { memchr::memrchr(b'\n', head).unwrap_or(0) };
        head[..end].split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok())
    }

    /// The beginning of a first line that is longer than the head.
    pub(super) fn long_line(&self) -> Option<&str> {
        let is_first = memchr::memchr(b'\n', self.head()).is_none();
        let line = self.cut_line().filter(|_| is_first)?;
        line.get(..line.floor_char_boundary(LINE_START))
    }

    /// The beginning of the last line in the head, if it continues beyond it.
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

    /// The size of the file; 0 for a directory.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The file name without directory and extension, as text.
    pub(super) fn stem(&self) -> &str {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_suffix(".zst").unwrap_or(name);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

impl Sources {
    /// Finds every source at or below a path, with a new [`Finder`].
    pub fn find(path: &Path, only: Option<&'static Format>) -> Result<Self> {
        Finder::new().find(path, only)
    }
}

/// Returns the first bytes of the text in a file: decompressed, without a byte order mark, and for a zip
/// those of its conversations.
fn head(path: &Path) -> Result<Vec<u8>> {
    let failed = |cause| unreadable(path, cause);
    let mut head = first_bytes(File::open(path).map_err(failed)?).map_err(failed)?;
    if head.starts_with(&ZSTD) {
        let decoder = zstd::Decoder::new(File::open(path).map_err(failed)?).map_err(failed)?;
        // A damaged file has a shorter head; reading it reports what is wrong.
        head = first_bytes(decoder).unwrap_or_default();
    } else if head.starts_with(&ZIP) {
        let mut zip = Zipped::open(path, CountedFile::new(File::open(path).map_err(failed)?))?;
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
