//! Checking files for damage: every line, every body.

use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::jsonl::fault::During;
use crate::store::jsonl::files::Seen;
use crate::store::jsonl::scan::Depth;
use crate::store::jsonl::{JsonlStore, changes};
use crate::store::{Fault, Progress, Stamp};

impl JsonlStore {
    pub(super) fn check(&self) -> Result<Progress> {
        let mut faults = Vec::new();
        let all = self.all()?;
        let done = all.len() as u64;
        for id in all {
            faults.extend(self.check_one(id)?);
        }
        Ok(Progress { done, left: 0, faults })
    }

    fn check_one(&self, id: ConversationId) -> Result<Vec<Fault>> {
        let Some(mut opened) = self.open_file(id)? else { return Ok(Vec::new()) };
        let fault = |what: String| Fault { conversation: Some(id), what };
        let mut read = self.read_anew(id, &opened, opened.seen.length, Depth::Bodies);
        if read.as_ref().is_ok_and(|known| known.torn > 0) {
            // A turn that is being written looks the same; after waiting for those who write it is whole.
            changes::since(&self.layout.changes(), Stamp::MAX, self.options.wait)?;
            opened.seen = Seen::of(&opened.file.metadata().during(|| "look at a file")?);
            read = self.read_anew(id, &opened, opened.seen.length, Depth::Bodies);
        }
        let path = opened.path.display();
        let known = match read {
            Ok(known) => known,
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                return Ok(vec![fault(error.to_string())]);
            }
            Err(error) => return Err(error),
        };
        let mut faults: Vec<Fault> = known
            .faults
            .iter()
            .map(|bad| fault(format!("line {} of `{path}` cannot be used: {}", bad.number, bad.why)))
            .collect();
        if known.torn > 0 {
            faults.push(fault(format!(
                "`{path}` ends with {} bytes of a turn that was never acknowledged",
                known.torn
            )));
        }
        if !known.kept.has_start && !known.is_nothing() {
            faults.push(fault(format!("`{path}` does not say how the conversation began")));
        }
        Ok(faults)
    }
}
