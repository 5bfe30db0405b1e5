//! Mending what can be mended without risk: permissions, the search index, the log, a key in the wrong place.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rejoin::Ailment;
use rejoin::store::Task;

use crate::commands::doctor::finding::{CheckFinding, CheckState};
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::ui::progress::Unit;

/// How long the index is filled between two looks at how much is left.
const SLICE: Duration = Duration::from_millis(200);

/// Whether there is something to do about it that cannot lose anything.
pub(super) fn can_mend(finding: &CheckFinding) -> bool {
    matches!(
        finding.ailment,
        Some(
            Ailment::OpenToOthers { .. }
                | Ailment::IndexBehind { .. }
                | Ailment::LongLog { .. }
                | Ailment::KeyInside
        )
    )
}

/// Mends what a finding is about, if that is without risk, and says so in it.
pub(super) fn mend(finding: &mut CheckFinding, context: &Context) {
    let outcome = match &finding.ailment {
        Some(Ailment::OpenToOthers { path, wanted, .. }) => {
            fs::set_permissions(path, Permissions::from_mode(*wanted))
                .map(|()| format!("mended: nobody else can use `{}`", path.display()))
                .map_err(|error| Failure::io(format!("change `{}`", path.display()), error))
        }
        Some(Ailment::IndexBehind { messages }) => {
            work(Task::Index, "Filling the search index", *messages, context)
                .map(|()| "mended: complete".to_owned())
        }
        Some(Ailment::LongLog { .. }) => work(Task::Checkpoint, "Folding the log", 1, context)
            .map(|()| "mended: folded into the store".to_owned()),
        Some(Ailment::KeyInside) => context
            .archive_to_read()
            .and_then(|archive| Ok(archive.redaction().move_key()?))
            .map(|()| "mended: the key is no longer in the store".to_owned()),
        _ => return,
    };
    match outcome {
        Ok(message) => {
            *finding = CheckFinding { state: CheckState::Ok, message, remedy: None, ..finding.clone() };
        }
        Err(failure) => finding.message += &format!("; not mended: {}", failure.summary()),
    }
}

fn work(task: Task, doing: &str, all: u64, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let progress = context.progress(doing, Unit::Items, Some(all));
    let mut before = all.saturating_add(1);
    loop {
        let left = archive.maintenance().run(task, SLICE)?;
        progress.advance(before.saturating_sub(left));
        if left == 0 {
            return Ok(());
        }
        if left >= before {
            return Err(Failure::new(Kind::Locked, "another program prevents this"));
        }
        before = left;
    }
}
