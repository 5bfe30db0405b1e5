//! What a list shows of a conversation: how it began and how it stands.

use crate::model::complete::INTERRUPTED;
use crate::model::{Block, Message, Role};

/// Characters of a message that a list shows.
pub(super) const PREVIEW_LENGTH: usize = 100;

/// Stands for the rest of a text.
const MORE: &str = "...";

/// The field of a message's `extra` that is true when a program added the message, and not the person.
pub(crate) const INJECTED: &str = "injected";

/// Stands behind the preview of a reply that was interrupted, so that a list can tell without reading it.
pub(super) const INTERRUPTED_MARK: &str = " [interrupted]";

/// The first characters of a text on one line, with `...` when there is more.
pub(crate) fn preview(text: &str) -> String {
    shorten(text.split_whitespace())
}

fn shorten<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let mut preview = String::with_capacity(PREVIEW_LENGTH + MORE.len());
    let mut length = 0;
    for word in words {
        if length > 0 {
            preview.push(' ');
            length += 1;
        }
        // Nearly every word is one that fits whole.
        if word.is_ascii() && length + word.len() <= PREVIEW_LENGTH {
            preview.push_str(word);
            length += word.len();
            continue;
        }
        for letter in word.chars() {
            if length >= PREVIEW_LENGTH {
                preview.truncate(preview.trim_end().len());
                preview.push_str(MORE);
                return preview;
            }
            preview.push(letter);
            length += 1;
        }
    }
    preview
}

impl Message {
    /// What a list shows of this message: `preview(&self.text())`, without joining the whole text.
    fn preview(&self) -> String {
        shorten(self.texts().flat_map(str::split_whitespace))
    }

    /// What a list shows of a conversation whose user says this first, without what a program added. None for
    /// any other role, for a message that a program added, for a summary, and for a message without text.
    pub(crate) fn first_preview(&self) -> Option<String> {
        let is_said = self.role == Role::User
            && self.extra.field(INJECTED).is_none()
            && !self.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
        let said = || self.texts().flat_map(|text| self.pieces(text)).filter(|(name, _)| name.is_none());
        let preview = || shorten(said().flat_map(|(_, piece)| piece.split_whitespace()));
        is_said.then(preview).filter(|preview| !preview.is_empty())
    }

    /// What a list shows of a conversation whose newest reply is this, with a mark if it was interrupted.
    /// None for any other role and for a reply without text, such as one that only calls tools.
    pub(crate) fn last_preview(&self) -> Option<String> {
        let preview =
            (self.role == Role::Assistant).then(|| self.preview()).filter(|preview| !preview.is_empty())?;
        let is_interrupted = self.finish.as_deref() == Some(INTERRUPTED);
        Some(if is_interrupted { preview + INTERRUPTED_MARK } else { preview })
    }
}

/// The previews of messages that are visited in order of arrival. Both are
/// empty until somebody said something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PreviewTexts {
    /// The first thing that the user said.
    pub(crate) first: String,
    /// The newest reply.
    pub(crate) last: String,
}

impl PreviewTexts {
    /// Takes the next message into account.
    pub(crate) fn note(&mut self, message: &Message) {
        if self.first.is_empty() {
            self.first = message.first_preview().unwrap_or_default();
        }
        if let Some(last) = message.last_preview() {
            self.last = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Json;

    #[test]
    fn a_preview_is_a_hundred_characters_on_one_line() {
        let long = "é".repeat(101);

        let texts =
            ["  two\n\nlines ", &long, &"x".repeat(100), "", &"four ".repeat(20), &"four ".repeat(21)];

        let previews = texts.map(preview);

        let four = "four ".repeat(20).trim_end().to_owned();
        let expected = [
            "two lines".to_owned(),
            format!("{}...", "é".repeat(100)),
            "x".repeat(100),
            String::new(),
            four.clone(),
            format!("{four}..."),
        ];
        assert_eq!(previews, expected);
    }

    #[test]
    fn the_preview_of_an_interrupted_reply_is_marked() {
        let mut reply = Message::assistant("x".repeat(101));
        reply.finish = Some("interrupted".to_owned());

        assert_eq!(reply.last_preview(), Some(format!("{}... [interrupted]", "x".repeat(100))));
    }

    #[test]
    fn the_preview_of_a_message_is_that_of_its_text() {
        let message =
            Message::new(Role::User, ["one ", " ", "two", &"x".repeat(200)].map(Block::text).into());

        assert_eq!(message.preview(), preview(&message.text()));
    }

    #[test]
    fn the_first_preview_is_the_first_thing_the_user_said_and_the_last_one_the_newest_reply() {
        let text = |role, text: &str| Message::new(role, vec![Block::text(text)]);
        let mut injected = Message::user("context of the program");
        injected.extra.set(INJECTED, Json::of(&true).unwrap());
        let said = [
            text(Role::System, "You are helpful."),
            injected,
            Message::assistant("Hello, how can I help?"),
            Message::user(" "),
            Message::user("<environment_context>\n<cwd>/home/ada</cwd>\n</environment_context>"),
            Message::user("<system-reminder>\nBe kind.\n</system-reminder>\nWhere is my bicycle?"),
            Message::user("And my car?"),
            Message::assistant("In the shed."),
            Message::new(Role::Assistant, vec![Block::tool_call("c", "look", Json::parse("{}").unwrap())]),
            text(Role::Tool, "nothing"),
        ];

        let mut previews = PreviewTexts::default();
        said.iter().for_each(|message| previews.note(message));

        let expected = PreviewTexts { first: "Where is my bicycle?".into(), last: "In the shed.".into() };
        assert_eq!(previews, expected);
    }
}
