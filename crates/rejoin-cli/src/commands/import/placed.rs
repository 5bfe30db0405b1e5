//! Which conversation took what a file has: its own, a separate one, or a branch that was asked for.

use std::io::Write;
use std::path::Path;

use rejoin::{ConversationId, ImportMode, Imported, ImportedAs, ImportedConversation, MessageId};

use crate::error::Failure;
use crate::ui::{quote, size};

/// How many separate conversations a person is shown.
const NAMED: usize = 10;

/// The name that programs read.
pub(super) const fn name(imported_as: ImportedAs) -> &'static str {
    match imported_as {
        ImportedAs::Own => "own",
        ImportedAs::Separate { .. } => "separate",
        ImportedAs::Here => "here",
        ImportedAs::Branch { .. } => "branch",
        _ => "other",
    }
}

/// The conversation that has the same id at its source.
pub(super) const fn beside(imported_as: ImportedAs) -> Option<ConversationId> {
    match imported_as {
        ImportedAs::Separate { beside } => Some(beside),
        _ => None,
    }
}

/// The last message of a branch.
pub(super) const fn branch_head(imported_as: ImportedAs) -> Option<MessageId> {
    match imported_as {
        ImportedAs::Branch { head } => head,
        _ => None,
    }
}

/// Tells a person what is not as it would be expected.
pub(super) fn tell(done: &[Imported], mode: ImportMode, answer: &mut impl Write) -> Result<(), Failure> {
    let all = || done.iter().flat_map(|file| file.conversations.iter().map(|one| (file.path.as_path(), one)));
    for (_, one) in all() {
        if let Some(head) = branch_head(one.imported_as) {
            tell_branch(one.id, head, mode, answer)?;
        }
    }
    let is_new = |one: &ImportedConversation| beside(one.imported_as).is_some() && one.added > 0;
    let separate: Vec<(&Path, &ImportedConversation)> = all().filter(|(_, one)| is_new(one)).collect();
    if !separate.is_empty() {
        tell_separate(&separate, mode, answer)?;
    }
    let here = all().filter(|(_, one)| one.imported_as == ImportedAs::Here).count() as u64;
    if here > 0 {
        writeln!(answer, "{} already here.", size::count(here, "conversation is", "conversations are"))?;
    }
    Ok(())
}

fn tell_branch(
    id: ConversationId,
    head: MessageId,
    mode: ImportMode,
    answer: &mut impl Write,
) -> Result<(), Failure> {
    let short = id.short();
    match mode {
        ImportMode::Store => {
            writeln!(answer, "They are a branch of {short}; its head is unchanged.")?;
            writeln!(answer, "To continue the branch: rejoin -c {short}/{head}")?;
        }
        ImportMode::Try => writeln!(answer, "They would be a branch of {short}; its head would not change.")?,
    }
    Ok(())
}

fn tell_separate(
    separate: &[(&Path, &ImportedConversation)],
    mode: ImportMode,
    answer: &mut impl Write,
) -> Result<(), Failure> {
    let conversations = size::count(separate.len() as u64, "conversation", "conversations");
    let verb = if mode == ImportMode::Store { "is" } else { "would be" };
    writeln!(
        answer,
        "Their ids belong to conversations that began here or came from another folder, so {conversations} {verb} separate:"
    )?;
    for (path, one) in separate.iter().take(NAMED) {
        let beside = beside(one.imported_as).map(|beside| beside.short().to_string()).unwrap_or_default();
        let (new, path) = (one.id.short(), quote::path(path));
        writeln!(
            answer,
            "  {new} beside {beside}; to make it a branch: rejoin import {path} --into {beside}"
        )?;
    }
    if separate.len() > NAMED {
        writeln!(
            answer,
            "  and {} more; `--json` lists them",
            size::number((separate.len() - NAMED) as u64)
        )?;
    }
    Ok(())
}
