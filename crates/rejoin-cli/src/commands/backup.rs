//! `rejoin backup`: a copy of the store, checked, while it is in use.

use std::io::Write;
use std::path::PathBuf;

use rejoin::{Contents, ErrorKind, StoreUrl};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::gauge::Gauge;
use crate::ui::{json, quote, size};
use crate::vault;

/// Back up the store to a file
///
/// The backup is consistent even while other programs use the store. Before it is reported as done, it
/// is opened and every digest is checked. Only you can read the file. An existing file is never
/// overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin backup ~/backups/rejoin-monday.db
  rejoin restore ~/backups/rejoin-monday.db     Put it back")]
pub(crate) struct Args {
    /// The file to create
    path: PathBuf,
}

/// What was copied and where to, as programs read it.
#[derive(Serialize)]
struct BackedUp<'a> {
    #[serde(flatten)]
    held: BackupContents,
    path: json::PathText<'a>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let path = context.surroundings.working_directory.join(&args.path);
    let is_taken = || path.symlink_metadata().is_ok();
    if is_taken() {
        return Err(Failure::new(Kind::Conflict, format!("`{}` already exists", path.display()))
            .hint("name a file that does not exist yet"));
    }
    let mut gauge = Gauge::new(context);
    let url = context.store_url()?;
    let access = context.access()?;
    let copied = url.backup_with(&path, &access, &mut |stage, done, all| gauge.report(stage, done, all));
    drop(gauge);
    let contents = copied.map_err(|error| match (error.kind(), &url) {
        (ErrorKind::Conflict, _) if !is_taken() => vault::explain(&url, error),
        (ErrorKind::Conflict, _) => Failure::from(error).or_hint("name a file that does not exist yet"),
        (ErrorKind::NotFound, _) => {
            Failure::from(error).or_hint("there is nothing to copy before the first use")
        }
        (ErrorKind::Unsupported, StoreUrl::Jsonl(root)) => {
            let (from, copy) = (quote::path(root), quote::path(&args.path));
            let url = quote::argument(&format!("jsonl:{}", args.path.display()));
            Failure::from(error).hint(format!(
                "run `cp -a {from} {copy}`, and `rejoin --store {url} doctor` to check the copy"
            ))
        }
        _ => Failure::from(error).or_hint("run `rejoin doctor` to see what is wrong"),
    })?;
    if context.is_json() {
        return context
            .answer_json(&BackedUp { held: BackupContents::from(&contents), path: json::path(&path) });
    }
    let mut answer = context.answer();
    writeln!(answer, "Copied and checked {}.", told(&contents))?;
    answer.flush()?;
    context.note(&format!("To restore it: rejoin restore {}", quote::path(&args.path)));
    Ok(())
}

/// What a store holds, in words.
pub(super) fn told(contents: &Contents) -> String {
    let conversations = size::count(contents.conversations, "conversation", "conversations");
    let messages = size::count(contents.messages, "message", "messages");
    format!("{conversations}, {messages}, {}", size::bytes(contents.bytes))
}

/// What a store holds, as programs read it.
#[derive(Serialize)]
pub(super) struct BackupContents {
    conversations: u64,
    messages: u64,
    bytes: u64,
}

impl From<&Contents> for BackupContents {
    fn from(contents: &Contents) -> Self {
        let Contents { conversations, messages, bytes, .. } = *contents;
        Self { conversations, messages, bytes }
    }
}
