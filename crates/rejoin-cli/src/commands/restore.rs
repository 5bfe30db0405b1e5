//! `rejoin restore`: a backup in the place of the store, with the old one kept.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rejoin::{Contents, ErrorKind, StoreUrl};
use serde::Serialize;

use crate::commands::backup::{BackupContents, told};
use crate::context::Context;
use crate::error::Failure;
use crate::gauge::Gauge;
use crate::ui::consent::ConsentText;
use crate::ui::{json, quote};
use crate::vault;

/// Restore a backup
///
/// Replaces the store after checking every digest of the backup. The replaced store is kept under
/// another name; the command that undoes the restore is printed. Programs that have the store open
/// continue with the restored one. A restored vault is accepted as current.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin restore ~/backups/rejoin-monday.db
  rejoin --store sqlite:new.db restore monday.db --yes")]
pub(crate) struct Args {
    /// The backup file
    path: PathBuf,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// What was put back and where the old store is kept, as programs read it.
#[derive(Serialize)]
struct PutBack<'a> {
    #[serde(flatten)]
    held: BackupContents,
    kept: Option<json::PathText<'a>>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let from = context.surroundings.working_directory.join(&args.path);
    let url = context.store_url()?;
    if let StoreUrl::Jsonl(root) = &url {
        // Refused before anything is asked.
        let old = quote::argument(&format!("{}.old", root.display()));
        let (root, copy) = (quote::path(root), quote::path(&args.path));
        return url.restore(&from, Duration::ZERO, &mut |_, _, _| ()).map(drop).map_err(|error| {
            Failure::from(error)
                .hint(format!("run `mv {root} {old}` and `cp -a {copy} {root}` while no program uses it"))
        });
    }
    let copy = StoreUrl::contents_of_copy(&from).map_err(explain)?;
    describe(&url, &copy, &args, context)?;
    if url.path().is_some_and(Path::exists) {
        warn_of_another_vault(&url, &from, context)?;
        context.note("Messages stored since the backup will only be in the old store.");
        context.confirm(&ConsentText::line("Replace it?"), args.yes.into())?;
    }
    let mut gauge = Gauge::new(context);
    let access = context.access()?;
    let restored = url.restore_with(&from, &access, &mut |stage, done, all| gauge.report(stage, done, all));
    drop(gauge);
    let restored = restored.map_err(|error| match (&url, error.kind()) {
        (_, ErrorKind::Conflict) => vault::explain(&url, error),
        (StoreUrl::Vault(_), ErrorKind::Denied) => {
            Failure::from(error).hint(
                "the store was not changed; the backup is unlocked by what unlocked the vault when it was made: a passphrase or a \
                 recovery key with `--passphrase-file`, or the key file or keyring of that time",
            )
        }
        _ => explain(error),
    })?;
    if context.is_json() {
        let kept = restored.kept.as_deref().map(json::path);
        return context.answer_json(&PutBack { held: BackupContents::from(&restored.contents), kept });
    }
    let mut answer = context.answer();
    writeln!(answer, "Restored {}.", told(&restored.contents))?;
    answer.flush()?;
    if let Some(kept) = restored.kept {
        context.note(&format!("The replaced store is kept in {}", kept.display()));
        context.note(&format!("To undo: rejoin restore {}", quote::path(&kept)));
    }
    Ok(())
}

/// A backup of another vault is restored when that is wanted, and never unnoticed.
fn warn_of_another_vault(url: &StoreUrl, from: &Path, context: &Context) -> Result<(), Failure> {
    let StoreUrl::Vault(_) = url else { return Ok(()) };
    let used = url.pinned(&context.access()?).unwrap_or_default();
    let copied = StoreUrl::vault_of_copy(from).map_err(explain)?;
    if let (Some(used), Some(copied)) = (used, copied)
        && used != copied
    {
        let message = format!("the backup is of another vault, `{copied}`; the one used here is `{used}`");
        context.manner.warn(&message, None);
    }
    Ok(())
}

/// Says what will be replaced, and with what.
fn describe(url: &StoreUrl, copy: &Contents, args: &Args, context: &Context) -> Result<(), Failure> {
    let clock = context.clock();
    let in_words = |contents: &Contents| {
        // What is sealed has no times that say anything.
        let newest = contents.newest.filter(|_| !matches!(url, StoreUrl::Vault(_)));
        let newest = newest.map(|newest| clock.relative(newest.as_micros()));
        newest.map_or_else(|| told(contents), |newest| format!("{}, last used {newest}", told(contents)))
    };
    let named = |path: &Path| ConsentText::line(&path.display().to_string()).text();
    let place = url.path().map(named).unwrap_or_default();
    let current = match url.contents() {
        Ok(None) => return Ok(()),
        Ok(Some(current)) => in_words(&current),
        Err(error) if error.kind() == ErrorKind::Locked => return Err(explain(error)),
        Err(_) => "it cannot be read; it is kept as it is".to_owned(),
    };
    context.note(&format!("The store {place}\n  {current}"));
    context.note(&format!("will be replaced by {}\n  {}", named(&args.path), in_words(copy)));
    Ok(())
}

fn explain(error: rejoin::Error) -> Failure {
    match error.kind() {
        ErrorKind::Corrupt => Failure::from(error).hint("the store was not changed; use another backup"),
        ErrorKind::Invalid => Failure::from(error).or_hint("name a file that `rejoin backup` made"),
        _ => Failure::from(error),
    }
}
