//! Lines of a source that are kept without being messages.

use std::collections::HashSet;

use crate::error::Result;
use crate::formats::Aside;
use crate::ops::import::ImportMode;
use crate::ops::import::growing::Growing;
use crate::ops::sources::source_hash;
use crate::store::{BlobNames, Space};

impl Growing<'_> {
    /// Keeps a line that is no message.
    pub(super) fn put_aside(&mut self, aside: &Aside) -> Result<()> {
        if self.mode == ImportMode::Try {
            return Ok(());
        }
        let source = self.redacted_line(&aside.source).into_owned();
        let name = |source: &str| format!("line:{:012}:{}", aside.line, source_hash(source));
        let is_as_said =
            source != aside.source && self.known_asides()?.contains(name(&aside.source).as_bytes());
        if !is_as_said && self.known_asides()?.insert(name(&source).into_bytes()) {
            self.batch.add_source(name(&source).as_bytes(), &source)?;
        }
        self.flush_when_full()
    }

    /// The names of the lines that are kept already.
    fn known_asides(&mut self) -> Result<&mut HashSet<Vec<u8>>> {
        let mut names = HashSet::new();
        if self.asides.is_none() && self.stored.is_some() {
            self.into.store.get(
                Space::Source,
                Some(self.id),
                BlobNames::Prefix(b"line:"),
                &mut |name, _| {
                    names.insert(name.to_vec());
                    Ok(())
                },
            )?;
        }
        Ok(self.asides.get_or_insert(names))
    }
}
