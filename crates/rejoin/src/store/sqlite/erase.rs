//! Erasing a whole database, with its log.

use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable;
use crate::store::sqlite::{SqliteStore, holder};

impl SqliteStore {
    /// Writes over every byte of the database at `path`, and removes it. One that another process uses is locked.
    pub(crate) fn erase(path: &Path) -> Result<()> {
        let own = std::process::id();
        if let Some(user) = holder::holders(path).users.into_iter().find(|user| *user != own) {
            return Err(Error::new(
                ErrorKind::Locked,
                format!("process `{user}` has the store `{}` open", path.display()),
            ));
        }
        // The main file last: as long as it is there, whoever looks finds a store and not nothing.
        for file in [durable::beside(path, "-wal"), durable::beside(path, "-shm"), path.to_owned()] {
            let erased = match durable::open_to_write(&file) {
                Ok(opened) => durable::erase(&opened, &file),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(cause) => Err(cause),
            };
            erased.and_then(|()| durable::sync_parent(&file)).map_err(|cause| {
                Error::new(ErrorKind::Unavailable, format!("erase `{}`", file.display())).because(cause)
            })?;
        }
        Ok(())
    }
}
