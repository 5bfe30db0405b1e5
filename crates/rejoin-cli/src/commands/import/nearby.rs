//! Offers to import the history of CPE that lies in the directory where the prompt opens.
//!
//! It is asked once for each place, and never about a file that another user owns or can write.

use std::fs;
use std::path::{Path, PathBuf};

use rejoin::{Archive, List};

use super::{Args, run};
use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::ui::consent::ConsentText;

/// Where the program keeps its conversations, in the directory it is started in.
const FILE: &str = ".cpeconvo";

/// What the store remembers of an answer, with the path of the file.
const ANSWERED: &str = "notice.nearby:";

/// Asks whether to import the file, if one is there and it was neither asked about nor imported before.
pub(crate) fn offer(context: &Context) -> Result<(), Failure> {
    let terminal = context.surroundings.terminal;
    let is_attended = terminal.stdin && terminal.stderr && context.shows_notes();
    let Some(path) = own_file(context).filter(|_| is_attended && context.config.persistence_enabled()) else {
        return Ok(());
    };
    let archive = context.archive()?;
    let name = format!("{ANSWERED}{}", path.display());
    if archive.state().recall(&name)?.is_some() || is_imported(&archive, &path)? {
        return Ok(());
    }
    let question = ConsentText::line(&format!("Import the conversations of CPE in `{}`?", path.display()));
    let is_wanted = context.confirm(&question, Consent::Ask).is_ok();
    archive.state().remember(&name, Some(if is_wanted { "yes" } else { "no" }))?;
    if !is_wanted {
        context.note(&format!("To import it later: rejoin import {FILE}"));
        return Ok(());
    }
    drop(archive);
    run(Args::of_file(path), context)
}

/// The file, if it is the user's own and in a directory that no other user can write.
fn own_file(context: &Context) -> Option<PathBuf> {
    let directory = context.surroundings.working_directory.canonicalize().ok()?;
    let path = directory.join(FILE);
    let user = context.surroundings.user;
    let found = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let is_foreign = user.check(&path, &found).is_some() || user.look(&directory).is_some();
    (!is_foreign && found.len() > 0).then_some(path)
}

fn is_imported(archive: &Archive, path: &Path) -> Result<bool, Failure> {
    let mut is_imported = false;
    archive.reader().each_conversation(&List::default(), &mut |stored| {
        let origin = stored.conversation.origin.as_ref();
        let read_from = origin.and_then(|origin| origin.source_path.as_deref());
        is_imported |= read_from.is_some_and(|from| Path::new(from) == path);
        Ok(())
    })?;
    Ok(is_imported)
}
