//! Checking files for damage: every line, every body, every blob.

use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::jsonl::blob::shelf;
use crate::store::jsonl::change_log::LastChange;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::FileIdentity;
use crate::store::jsonl::list::is_forbidden;
use crate::store::jsonl::scan::ScanDepth;
use crate::store::jsonl::{Jsonl, change_log, words};
use crate::store::{Fault, Progress, Stamp};

impl Jsonl {
    pub(super) fn check(&self) -> Result<Progress> {
        // What was acknowledged before a file is read stands in it.
        let told = change_log::told_since(&self.layout.changes(), 0)?;
        let all = self.all()?;
        let mut checked = Progress { done: all.len() as u64, ..Progress::default() };
        for id in &all {
            self.check_one(*id, told.get(id).copied(), &mut checked)?;
        }
        let faults = &mut checked.faults;
        let missing = self.check_missing(&all)?.into_iter();
        faults.extend(missing.flat_map(|entry| {
            entry.damage().into_iter().map(move |what| Fault { conversation: Some(entry.id), what })
        }));
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
        let words = self.layout.words();
        let folders = words::folders(&words).during(|| format!("list `{}`", words.display()))?;
        faults.extend(folders.into_iter().map(|path| Fault {
            conversation: None,
            what: format!("`{}` is a folder and is passed over", path.display()),
        }));
        let gone = self.layout.unerased().during(|| "list what was removed")?;
        checked.unfinished.extend(gone.into_iter().map(|path| Fault {
            conversation: None,
            what: format!("`{}` is left of a removal that is not finished", path.display()),
        }));
        let lost = shelf::bad_lines(&self.layout.blobs())?.into_iter();
        faults.extend(lost.map(|(path, number)| Fault {
            conversation: None,
            what: format!("line {number} of `{}` cannot be used, and the blob in it is lost", path.display()),
        }));
        Ok(checked)
    }

    fn check_one(&self, id: ConversationId, told: Option<LastChange>, checked: &mut Progress) -> Result<()> {
        let fault = |what: String| Fault { conversation: Some(id), what };
        let mut opened = match self.open_file(id) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(()),
            Err(error) if is_forbidden(&error) => {
                checked.faults.push(fault(format!("could not {error}")));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut read = self.reread(id, &opened, ScanDepth::Bodies);
        if read.as_ref().is_ok_and(|known| known.torn > 0) {
            // A turn that is being written looks the same; after waiting for those who write it is whole.
            change_log::since(&self.layout.changes(), Stamp::MAX, self.options.wait)?;
            opened.seen = FileIdentity::of(&opened.file.metadata().during(|| "look at a file")?);
            read = self.reread(id, &opened, ScanDepth::Bodies);
        }
        let path = opened.path.display();
        let known = match read {
            Ok(known) => known,
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                checked.faults.push(fault(error.to_string()));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let faults = &mut checked.faults;
        let damage = opened.damage(&known);
        let is_cut = matches!(told, Some(LastChange::Acknowledged(stamp)) if stamp > known.kept.stamp);
        if is_cut && damage.is_empty() {
            faults.push(fault(format!("`{path}` ends before a change that was acknowledged")));
        }
        faults.extend(damage.into_iter().map(fault));
        let unfinished = &mut checked.unfinished;
        unfinished.extend(known.set_aside(&opened.path).map(fault));
        if known.torn > 0 {
            let what =
                format!("`{path}` ends with {} bytes of a turn that was never acknowledged", known.torn);
            unfinished.push(fault(what));
        }
        Ok(())
    }
}
