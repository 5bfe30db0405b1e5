//! Reads a rollout, preceded by the part of another rollout that it is a fork of.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::formats::codex::caller::tell_parent;
use crate::formats::codex::line::{CodexLine, ThreadMeta};
use crate::formats::codex::paths;
use crate::formats::codex::thread::CodexThread;
use crate::formats::lines::SourceLines;
use crate::formats::{ReadLimits, Reading, Source, SourceConversation, SourceParent};
use crate::model::{Status, Time};

/// The maximum number of nested forks.
const FORKS: usize = 64;

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let path = source.path();
    let Some((meta, title)) = first(path, reading)? else {
        return reading.skip(path, 0, "it does not start with the messages imported before");
    };
    let mut found = conversation(path, &meta, title)?;
    tell_parent(path, &mut found, reading)?;
    read_messages(path, &meta, found, reading)
}

/// Reads the messages of a thread, without the thread that started it.
pub(super) fn read_thread(
    path: &Path,
    meta: &ThreadMeta,
    title: Option<String>,
    reading: &mut Reading<'_>,
) -> Result<()> {
    read_messages(path, meta, conversation(path, meta, title)?, reading)
}

fn read_messages(
    path: &Path,
    meta: &ThreadMeta,
    found: SourceConversation,
    reading: &mut Reading<'_>,
) -> Result<()> {
    let mut thread = CodexThread::new(found);
    read_base(path, meta, &mut thread, &mut vec![path.to_owned()], reading)?;
    thread.enter(0);
    read_lines(path, u64::MAX, &mut thread, reading)?;
    thread.finish(reading)
}

/// Returns the metadata of a file's thread, and its title.
pub(super) fn first(path: &Path, reading: &mut Reading<'_>) -> Result<Option<(ThreadMeta, Option<String>)>> {
    // Unreadable lines before it are reported when the messages are read.
    let limits = reading.limits();
    let mut quiet = |_| Ok(());
    let mut quietly = Reading::new(limits, &mut quiet);
    let mut lines = SourceLines::open(path, &quietly)?;
    while lines.advance(&mut quietly)? {
        if let Ok(line) = lines.parse::<CodexLine<'_>>()
            && let Some(meta) = line.meta()
        {
            return Ok(Some((meta, line.rejoin.and_then(|tag| tag.title))));
        }
    }
    Ok(None)
}

/// Returns the conversation of a thread.
pub(super) fn conversation(
    path: &Path,
    meta: &ThreadMeta,
    title: Option<String>,
) -> Result<SourceConversation> {
    let created: Time = meta.timestamp.to().unwrap_or_default();
    let mut conversation = SourceConversation::new(meta.id.clone(), created);
    let header = &mut conversation.header;
    header.project = Some(meta.cwd.clone());
    header.title = paths::title(path, &meta.id)?.or(title);
    header.settings.provider.clone_from(&meta.model_provider);
    header.git_commit = meta.git.as_ref().and_then(|git| git.commit_hash.clone());
    if paths::is_archived(path) {
        header.status = Status::Completed;
    }
    if let Some(forked) = &meta.forked_from_id
        && let Ok(forked) = crate::model::Json::of(forked)
    {
        header.extra.set("forked_from", forked);
    }
    conversation.parent = meta.parent_thread_id.as_ref().map(|parent| SourceParent {
        conversation: parent.clone(),
        message: None,
        name: meta
            .agent_nickname
            .clone()
            .or_else(|| meta.agent_role.clone())
            .unwrap_or_else(|| "agent".to_owned()),
        run: meta.id.clone(),
    });
    Ok(conversation)
}

/// Reads the beginning that a fork shares with another file.
fn read_base(
    path: &Path,
    meta: &ThreadMeta,
    thread: &mut CodexThread,
    above: &mut Vec<PathBuf>,
    reading: &mut Reading<'_>,
) -> Result<()> {
    let Some(base) = &meta.history_base else { return Ok(()) };
    let found =
        paths::rollout(path, &base.thread_id)?.filter(|found| !above.contains(found) && above.len() < FORKS);
    let Some(found) = found else {
        let why = format!("its beginning is missing: there is no rollout `{}`", base.thread_id);
        return reading.skip(path, 1, why);
    };
    above.push(found.clone());
    let files = above.len() - 1;
    if let Some((its_meta, _)) = first(&found, reading)? {
        read_base(&found, &its_meta, thread, above, reading)?;
    }
    thread.enter(files);
    read_lines(&found, base.end_ordinal_exclusive, thread, reading)
}

/// Returns the id of a file's thread, and the files that it begins with.
pub(super) fn bases(path: &Path) -> Result<Option<(String, Vec<PathBuf>)>> {
    let mut quiet = |_| Ok(());
    let mut quietly = Reading::new(ReadLimits::default(), &mut quiet);
    let Some((own, _)) = first(path, &mut quietly)? else { return Ok(None) };
    let mut files = vec![path.to_owned()];
    let mut base = own.history_base;
    while let Some(next) = base.take().filter(|_| files.len() < FORKS) {
        let last = files.last().map_or(path, PathBuf::as_path);
        let found = paths::rollout(last, &next.thread_id)?;
        let Some(found) = found.filter(|found| !files.contains(found)) else { break };
        base = first(&found, &mut quietly)?.and_then(|(meta, _)| meta.history_base);
        files.push(found);
    }
    files.remove(0);
    Ok(Some((own.id, files)))
}

/// Reads the lines of a file up to an ordinal.
fn read_lines(path: &Path, end: u64, thread: &mut CodexThread, reading: &mut Reading<'_>) -> Result<()> {
    let mut lines = SourceLines::open(path, reading)?;
    while lines.advance(reading)? {
        match lines.parse() {
            Ok(CodexLine { ordinal: Some(ordinal), .. }) if ordinal >= end => break,
            Ok(mut line) => {
                line.at = lines.current();
                thread.line(&mut line, reading)?;
            }
            Err(why) => reading.skip(path, lines.number(), why)?,
        }
    }
    Ok(())
}
