//! What a synopsis is made of: a bounded part of a conversation, so that taking it costs next to nothing.

use rejoin::{Block, Message, Role, Synopsis, Time};

/// How many messages of the beginning: the title is in the first words of the user.
const OPENING: usize = 8;

/// How many messages of the end.
const NEWEST: usize = 60;

/// How many bytes of one message.
const MESSAGE_BYTES: usize = 4_000;

/// A bounded part of a conversation, as text.
#[derive(Clone, Debug)]
pub(super) struct ConversationExcerpt {
    opening: Vec<Message>,
    newest: Vec<Message>,
    /// When it was taken. What is said later is not in it.
    taken: Time,
}

impl ConversationExcerpt {
    /// Takes one. `stored` gives a message as it is stored, where that is other than it was said: a
    /// title must not tell what is not kept.
    pub(super) fn of<'a>(
        messages: impl ExactSizeIterator<Item = &'a Message> + Clone,
        taken: Time,
        stored: &dyn Fn(&Message) -> Option<Message>,
    ) -> Self {
        let text_of =
            |message: &Message| stored(message).as_ref().map_or_else(|| text_only(message), text_only);
        let opening = messages.clone().take(OPENING).map(text_of).collect();
        let earlier = messages.len().saturating_sub(NEWEST);
        let newest = messages.skip(earlier).map(text_of).collect();
        Self { opening, newest, taken }
    }

    /// The computed title.
    pub(super) fn title(&self) -> Option<String> {
        Synopsis::title_of(&self.opening)
    }

    /// The computed synopsis.
    pub(super) fn synopsis(&self) -> Synopsis {
        Synopsis::of(&self.newest, self.taken)
    }

    pub(super) const fn taken(&self) -> Time {
        self.taken
    }

    /// The newest messages as a transcript of at most `most` bytes; when it is cut, the first message stays.
    pub(super) fn transcript(&self, most: usize) -> String {
        let line = |message: &Message| {
            let text = message.text();
            let is_said = matches!(message.role, Role::User | Role::Assistant) && !text.trim().is_empty();
            is_said.then(|| format!("{}: {}\n\n", message.role.as_str(), text.trim()))
        };
        let first = self.opening.iter().find_map(line).unwrap_or_default();
        let mut room = most.saturating_sub(first.len());
        let mut lines: Vec<String> = Vec::new();
        for line in self.newest.iter().rev().filter_map(line) {
            if line.len() > room {
                lines.push("[…]\n\n".to_owned());
                lines.push(first);
                break;
            }
            room -= line.len();
            lines.push(line);
        }
        lines.reverse();
        lines.concat()
    }
}

/// The text of a message, its beginning when it is long. A summary is nothing that somebody said.
fn text_only(message: &Message) -> Message {
    let is_summary = message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
    let mut text = if is_summary { String::new() } else { message.text() };
    if text.len() > MESSAGE_BYTES {
        let end = (0..=MESSAGE_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
    let mut copy = Message::user(text);
    copy.role = message.role;
    copy.finish.clone_from(&message.finish);
    if let Some(api) = message.extra.field("api") {
        copy.extra.set("api", api.clone());
    }
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_bounded_and_keeps_the_beginning() {
        let mut messages = vec![Message::user("Where to eat?")];
        messages.extend(
            (0..500).map(|place| Message::assistant(format!("reply {place} {}", "x".repeat(10_000)))),
        );

        let transcript =
            ConversationExcerpt::of(messages.iter(), Time::from_micros(0), &|_| None).transcript(10_000);

        assert!(transcript.len() <= 10_100, "{}", transcript.len());
        assert!(
            transcript.starts_with("user: Where to eat?\n\n[…]\n\nassistant: reply 498 "),
            "{}",
            &transcript[..60]
        );
    }

    #[test]
    fn a_short_transcript_is_whole() {
        let messages = [Message::user("a"), Message::new(Role::Tool, Vec::new()), Message::assistant("b")];

        let transcript =
            ConversationExcerpt::of(messages.iter(), Time::from_micros(0), &|_| None).transcript(1_000);

        assert_eq!(transcript, "user: a\n\nassistant: b\n\n");
    }
}
