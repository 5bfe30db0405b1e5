//! Checking files for damage: every line, every body, every blob.

use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::jsonl::fault::During;
use crate::store::jsonl::files::Seen;
use crate::store::jsonl::list::is_forbidden;
use crate::store::jsonl::scan::Depth;
use crate::store::jsonl::{JsonlStore, changes, shelf};
use crate::store::{Fault, Progress, Stamp};

impl JsonlStore {
    pub(super) fn check(&self) -> Result<Progress> {
        let mut faults = Vec::new();
        let all = self.all()?;
        let done = all.len() as u64;
        for id in all {
            faults.extend(self.check_one(id)?);
        }
        for folder in self.layout.folders().during(|| "list the folders")? {
            let impostors =
                self.layout.impostors(&folder).during(|| format!("list the folder `{folder}`"))?;
            faults.extend(impostors.into_iter().map(|id| Fault {
                conversation: None,
                what: format!(
                    "`{}` is no regular file and is passed over",
                    self.layout.file(&folder, id).display()
                ),
            }));
        }
        let lost = shelf::bad_lines(&self.layout.blobs())?.into_iter();
        faults.extend(lost.map(|(path, number)| Fault {
            conversation: None,
            what: format!("line {number} of `{}` cannot be used, and the blob in it is lost", path.display()),
        }));
        Ok(Progress { done, left: 0, faults })
    }

    fn check_one(&self, id: ConversationId) -> Result<Vec<Fault>> {
        let fault = |what: String| Fault { conversation: Some(id), what };
        let mut opened = match self.open_file(id) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(Vec::new()),
            Err(error) if is_forbidden(&error) => return Ok(vec![fault(format!("cannot {error}"))]),
            Err(error) => return Err(error),
        };
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
        let copies = self.layout.find_all(id).during(|| format!("find conversation `{id}`"))?;
        faults.extend(copies.iter().skip(1).map(|folder| {
            fault(format!(
                "`{path}` is read, and `{}` is another copy of it",
                self.layout.file(folder, id).display()
            ))
        }));
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
