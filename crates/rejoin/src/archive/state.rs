//! What a program remembers between runs, kept in the store so that there are no side files.

use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::store::{Put, Safety, Space};

impl Archive {
    /// What was remembered under a name.
    pub fn recall(&self, name: &str) -> Result<Option<String>> {
        let mut found = None;
        self.store().get(Space::State, None, name.as_bytes(), &mut |own, bytes| {
            if own == name.as_bytes() {
                let text = str::from_utf8(bytes);
                found = Some(
                    text.map_err(|cause| Error::corrupt("read what was remembered").because(cause))?
                        .to_owned(),
                );
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Remembers a text under a name, or forgets it.
    pub fn remember(&self, name: &str, text: Option<&str>) -> Result<()> {
        if self.recall(name)?.as_deref() == text {
            return Ok(());
        }
        let blob =
            Put { space: Space::State, owner: None, name: name.as_bytes(), bytes: text.map(str::as_bytes) };
        self.store().put(&[blob], Safety::Synced)
    }
}
