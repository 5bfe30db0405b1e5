//! A hash over the files of a store: while it is the same, nobody has written to them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// A hash over the files of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContentHash([u8; 32]);

/// A hash that is being computed.
#[derive(Default)]
pub(crate) struct ContentHasher(Sha256);

impl ContentHasher {
    /// Adds what a file holds, from where it is read next.
    pub(crate) fn file(&mut self, mut file: &File) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        let mut length: u64 = 0;
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    self.0.update(&buffer[..read]);
                    length += read as u64;
                }
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        self.0.update(length.to_be_bytes());
        Ok(())
    }

    /// Adds all files below a directory, in the order of their names; a directory that is missing has none.
    pub(crate) fn tree(&mut self, directory: &Path) -> io::Result<()> {
        let entries = match std::fs::read_dir(directory) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        for path in paths {
            self.0.update(path.as_os_str().as_encoded_bytes());
            self.0.update([0]);
            if path.symlink_metadata()?.is_dir() {
                self.tree(&path)?;
            } else {
                self.file(&File::open(&path)?)?;
            }
        }
        Ok(())
    }

    /// The hash of everything that was added.
    pub(crate) fn finish(self) -> ContentHash {
        ContentHash(self.0.finalize().into())
    }
}
