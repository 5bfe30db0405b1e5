//! Finds sources below a path. A file that was seen before and looks the same is not opened again.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::formats::fingerprint::Fingerprint;
use crate::formats::source::{DEPTH, Source, Sources};
use crate::formats::{Detection, FORMATS, Format, database, folder};

/// The key of a path: short, and independent of the length of the path.
pub(crate) type PathKey = [u8; 16];

/// Finds sources below a path and remembers what it has seen.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    seen: HashMap<PathKey, ([u8; 16], FileVerdict)>,
}

/// What a file turned out to be.
#[derive(Clone, Copy, Debug)]
enum FileVerdict {
    Source(&'static Format),
    /// Not a source of any of these formats.
    None {
        asked: Option<&'static str>,
        is_part: bool,
    },
}

impl Finder {
    /// Creates a finder that remembers nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers a source that was found earlier.
    pub(crate) fn recall(&mut self, path: PathKey, look: [u8; 16], format: &'static Format) {
        self.seen.insert(path, (look, FileVerdict::Source(format)));
    }

    /// Finds every source at or below a path. Does not follow symbolic links below it.
    ///
    /// If the path itself is a file, it must be of a known format unless the caller names one.
    pub fn find(&mut self, path: &Path, only: Option<&'static Format>) -> Result<Sources> {
        let mut sources = Sources::default();
        let source = Source::open(path)?;
        let is_directory = source.is_directory();
        if let (None, Some(fault)) = (only, database::fault(&source)) {
            return Err(Error::invalid(format!("`{}` cannot be read", path.display())).because(fault));
        }
        match (claimed(&source, only), is_directory) {
            (Some((format, _)), _) => sources.found.push((source, format)),
            (None, true) => self.walk(path, only, 0, &mut sources),
            (None, false) => match only {
                // A caller who names both the file and the format takes precedence over detection.
                Some(format) => sources.found.push((source, format)),
                None if source.bytes() == 0 => {
                    return Err(Error::invalid(format!("`{}` is empty", path.display())));
                }
                None => {
                    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
                    return Err(Error::invalid(format!(
                        "`{}` is not in a known format ({})",
                        path.display(),
                        names.join(", ")
                    )));
                }
            },
        }
        Ok(sources)
    }

    fn walk(&mut self, directory: &Path, only: Option<&'static Format>, depth: usize, sources: &mut Sources) {
        let paths = match folder::entries(directory) {
            Ok(paths) => paths,
            Err(error) => return sources.unreadable.push((directory.to_owned(), folder::cause_of(&error))),
        };
        for path in paths {
            let metadata = match fs::symlink_metadata(&path) {
                Ok(metadata) => metadata,
                Err(cause) if folder::is_absent(&cause) => continue,
                Err(cause) => {
                    sources.unreadable.push((path, cause.to_string()));
                    continue;
                }
            };
            if metadata.is_file() {
                self.look_at(path, &metadata, only, sources);
            } else if metadata.is_dir() {
                self.look_into(path, only, depth, sources);
            }
        }
    }

    fn look_at(
        &mut self,
        path: PathBuf,
        metadata: &fs::Metadata,
        only: Option<&'static Format>,
        sources: &mut Sources,
    ) {
        let key = key_of(&path);
        let of = |source: &Source, format: Option<&Format>| {
            let companions = format.map(|format| format.beside(source)).unwrap_or_default();
            Fingerprint::of(source.path(), metadata, &companions)
        };
        if let Some((seen, verdict)) = self.seen.get(&key) {
            let source = Source::new(path.clone(), metadata);
            match verdict {
                FileVerdict::Source(format) if only.is_none_or(|only| only.name == format.name) => {
                    let look = of(&source, Some(format));
                    if *seen == look.digest() {
                        return sources.found.push((source.seen(look), format));
                    }
                }
                FileVerdict::None { asked, is_part }
                    if *asked == only.map(|only| only.name) && *seen == of(&source, None).digest() =>
                {
                    sources.others += u64::from(!is_part);
                    return;
                }
                FileVerdict::Source(_) | FileVerdict::None { .. } => {}
            }
        }
        let source = match Source::open(&path) {
            Ok(source) => source,
            Err(error) => return sources.unreadable.push((path, error.to_string())),
        };
        // It may be readable the next time, so nothing is remembered.
        if let Some(fault) = database::fault(&source) {
            return sources.unreadable.push((path, fault.to_string()));
        }
        let (look, verdict) = match claimed(&source, only) {
            Some((format, Detection::Yes)) => {
                let look = of(&source, Some(format));
                // The head is only needed for detection, and thousands of heads would fill the memory.
                sources.found.push((source.seen(look), format));
                (look, FileVerdict::Source(format))
            }
            claim => {
                let is_part = claim.is_some();
                sources.others += u64::from(!is_part);
                (of(&source, None), FileVerdict::None { asked: only.map(|only| only.name), is_part })
            }
        };
        self.seen.insert(key, (look.digest(), verdict));
    }

    fn look_into(
        &mut self,
        path: PathBuf,
        only: Option<&'static Format>,
        depth: usize,
        sources: &mut Sources,
    ) {
        match Source::open(&path) {
            Err(error) => sources.unreadable.push((path, error.to_string())),
            Ok(source) => match claimed(&source, only) {
                Some((format, Detection::Yes)) => sources.found.push((source, format)),
                Some(_) => {}
                None if depth < DEPTH => self.walk(&path, only, depth + 1, sources),
                None => sources.unreadable.push((path, "the directory is too deep".to_owned())),
            },
        }
    }
}

/// The key of a path.
pub(crate) fn key_of(path: &Path) -> PathKey {
    let hash: [u8; 32] = Sha256::digest(path.as_os_str().as_encoded_bytes()).into();
    hash[..16].try_into().expect("a hash has 32 bytes")
}

/// Returns the format that a source is of, or a part of.
fn claimed(source: &Source, only: Option<&'static Format>) -> Option<(&'static Format, Detection)> {
    FORMATS
        .iter()
        .copied()
        .filter(|format| only.is_none_or(|only| only.name == format.name))
        .map(|format| (format, format.detect(source)))
        .find(|(_, detection)| *detection != Detection::No)
}
