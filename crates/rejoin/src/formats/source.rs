//! Where to read from: one file or one directory of a format, found below a path.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::formats::lines::ZSTD;
use crate::formats::{Detection, FORMATS, Format, Key};

/// How much of a file its format is recognised by.
const HEAD: usize = 64 * 1024;

/// A line that is longer than that is recognised by the names of the fields that it begins with.
const LINE_START: usize = 512;

/// Deeper directories are not looked into; no program nests its files so deep.
const DEPTH: usize = 32;

/// A file or a directory to read from, with its first bytes.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    head: Vec<u8>,
    is_directory: bool,
    bytes: u64,
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
        let failed = |cause: std::io::Error| {
            let kind = match cause.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Unavailable,
            };
            Error::new(kind, format!("read `{}`", path.display())).because(cause)
        };
        let metadata = fs::metadata(path).map_err(failed)?;
        let mut source = Self {
            path: path.to_owned(),
            head: Vec::new(),
            is_directory: metadata.is_dir(),
            bytes: 0,
            key: None,
        };
        if metadata.is_file() {
            source.bytes = metadata.len();
            source.head = head(path).map_err(failed)?;
        } else if !metadata.is_dir() {
            return Err(Error::invalid(format!("`{}` is neither a file nor a directory", path.display())));
        }
        Ok(source)
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its first bytes, decompressed; none of a directory.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Its first complete lines.
    pub(super) fn first_lines(&self) -> impl Iterator<Item = &str> {
        let is_whole = self.head.len() < HEAD;
        let end = if is_whole { self.head.len() } else { memchr::memrchr(b'\n', &self.head).unwrap_or(0) };
        self.head[..end].split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok())
    }

    /// The first characters of a first line that is longer than what is looked at.
    pub(super) fn long_line(&self) -> Option<&str> {
        let is_long = self.head.len() >= HEAD && memchr::memchr(b'\n', &self.head).is_none();
        let start = self.head.get(..LINE_START).filter(|_| is_long)?;
        let end = str::from_utf8(start).map_or_else(|error| error.valid_up_to(), str::len);
        str::from_utf8(&start[..end]).ok()
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
    /// Finds every source at or below a path. Symbolic links below it are not followed.
    ///
    /// A path that is itself a file has to be of a known format, unless it is said which.
    pub fn find(path: &Path, only: Option<&'static Format>) -> Result<Self> {
        let mut sources = Self::default();
        let source = Source::open(path)?;
        let is_directory = source.is_directory();
        match (claimed(&source, only), is_directory) {
            (Some((format, _)), _) => sources.found.push((source, format)),
            (None, true) => sources.walk(path, only, 0),
            (None, false) => match only {
                // Whoever names both the file and the format knows better.
                Some(format) => sources.found.push((source, format)),
                None => {
                    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
                    return Err(Error::invalid(format!(
                        "`{}` is of no known format ({})",
                        path.display(),
                        names.join(", ")
                    )));
                }
            },
        }
        Ok(sources)
    }

    fn walk(&mut self, directory: &Path, only: Option<&'static Format>, depth: usize) {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(cause) => return self.unreadable.push((directory.to_owned(), cause.to_string())),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if !metadata.is_file() && !metadata.is_dir() {
                continue;
            }
            match Source::open(&path) {
                Err(error) => self.unreadable.push((path, error.to_string())),
                Ok(source) => match claimed(&source, only) {
                    Some((format, Detection::Yes)) => self.found.push((source, format)),
                    Some(_) => {}
                    None if metadata.is_dir() && depth < DEPTH => self.walk(&path, only, depth + 1),
                    None if metadata.is_dir() => {
                        self.unreadable.push((path, "the directory is too deep".to_owned()));
                    }
                    None => self.others += 1,
                },
            }
        }
    }
}

/// The format that a source is of, or a part of.
fn claimed(source: &Source, only: Option<&'static Format>) -> Option<(&'static Format, Detection)> {
    FORMATS
        .iter()
        .copied()
        .filter(|format| only.is_none_or(|only| only.name == format.name))
        .map(|format| (format, format.detect(source)))
        .find(|(_, detection)| *detection != Detection::No)
}

fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    if head.starts_with(&ZSTD) {
        let mut plain = Vec::new();
        // A damaged file has a shorter head; reading it says what is wrong.
        let _ = zstd::Decoder::new(File::open(path)?)?.take(HEAD as u64).read_to_end(&mut plain);
        head = plain;
    }
    Ok(head)
}
