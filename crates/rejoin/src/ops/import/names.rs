//! How long a name in a source may be here. Lists parse every header, so what
//! is not a name does not become one.

use crate::model::{Conversation, TITLE_BYTES};

/// What stands for the rest of a name that was cut.
const ELLIPSIS: &str = "…";

/// A longer path names no directory on any system.
const PATH_BYTES: usize = 4_096;

/// A longer text about a conversation, or a longer field that nobody knows, is no description of it.
const TEXT_BYTES: usize = 64 << 10;

/// More names than this in one list are an attack.
const NAMES: usize = 1_000;

/// A name that stands in lists: a title, a label, a model. A longer one is cut.
pub(super) fn cut(name: &mut String) {
    cut_at(name, TITLE_BYTES);
}

/// Cuts every name in a header, and leaves out what is too long to be cut.
pub(super) fn cut_header(header: &mut Conversation) {
    let Conversation { kind, title, settings, synopsis, participants, privacy, origin, git_commit, .. } =
        header;
    let set = [&mut settings.provider, &mut settings.model, &mut settings.command, &mut settings.prompt_hash];
    let said = [&mut privacy.consent, &mut privacy.given_classification];
    let names = [Some(kind), title.as_mut(), git_commit.as_mut()].into_iter();
    names.chain(set.map(Option::as_mut)).chain(said.map(Option::as_mut)).flatten().for_each(cut);
    cut_list(&mut settings.tools);
    participants.truncate(NAMES);
    for participant in participants {
        [Some(&mut participant.id), Some(&mut participant.role), participant.name.as_mut()]
            .into_iter()
            .flatten()
            .for_each(cut);
    }
    if let Some(synopsis) = synopsis {
        cut_at(&mut synopsis.text, TEXT_BYTES);
        cut_list(&mut synopsis.keywords);
        cut_list(&mut synopsis.action_items);
    }
    if let Some(origin) = origin {
        cut(&mut origin.format);
        cut(&mut origin.source_id);
    }
    header.project = header.project.take().filter(|path| path.len() <= PATH_BYTES);
    let long = header.extra.iter().filter(|(name, value)| name.len() + value.as_str().len() > TEXT_BYTES);
    let long: Vec<String> = long.map(|(name, _)| name.to_owned()).collect();
    long.iter().for_each(|name| drop(header.extra.remove(name)));
}

fn cut_list(names: &mut Vec<String>) {
    names.truncate(NAMES);
    names.iter_mut().for_each(cut);
}

fn cut_at(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes - ELLIPSIS.len()));
        text.push_str(ELLIPSIS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_between_characters_and_says_so() {
        let mut names = ["x".repeat(TITLE_BYTES), "é".repeat(TITLE_BYTES)];

        names.iter_mut().for_each(cut);

        assert_eq!(names[0].len(), TITLE_BYTES);
        assert_eq!(names[1], "é".repeat(498) + ELLIPSIS);
    }
}
