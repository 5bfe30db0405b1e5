//! What a conversation is about, computed from its messages: a title, where it stopped, words
//! to find it by, and what is left to do.
//!
//! No model is asked and nothing is read or written. The same messages always give the same words, and only a
//! bounded part of a long conversation is looked at.

mod actions;
mod keywords;
mod title;

use crate::model::{Block, Message, Role, Synopsis, Time, each_sentence};

/// How many of the newest messages are looked at.
const NEWEST_MESSAGES: usize = 200;

/// How many bytes of one message are looked at: its beginning says what it is about.
const MESSAGE_BYTES: usize = 20_000;

/// How many characters of a sentence are quoted.
const LONGEST_QUOTE: usize = 160;

impl Synopsis {
    /// Where a conversation stopped, computed from its messages, oldest first. `now` is when it is written.
    pub fn of(messages: &[Message], now: Time) -> Self {
        let newest = &messages[messages.len().saturating_sub(NEWEST_MESSAGES)..];
        let said: Vec<SynopsisMessage> = newest.iter().filter_map(SynopsisMessage::by_message).collect();
        Self {
            text: last_exchange(&said),
            keywords: keywords::keywords(&said),
            action_items: actions::action_items(&said),
            updated_at: now,
        }
    }
}

/// What a person or a model said, as text.
struct SynopsisMessage {
    role: Role,
    text: String,
    is_interrupted: bool,
}

impl SynopsisMessage {
    fn by_message(message: &Message) -> Option<Self> {
        let is_summary = message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
        if is_summary || !matches!(message.role, Role::User | Role::Assistant) {
            return None;
        }
        let mut text = message.said();
        // The provider without a model begins with a paragraph about itself.
        let is_offline = message.extra.field("api").is_some_and(|api| api.as_str() == "\"offline\"");
        if is_offline && let Some((_, rest)) = text.split_once("\n\n") {
            text = rest.to_owned();
        }
        text.truncate(boundary(&text, MESSAGE_BYTES));
        let is_interrupted = message.finish.as_deref() == Some("interrupted");
        (!text.trim().is_empty()).then_some(Self { role: message.role, text, is_interrupted })
    }
}

/// What was asked last, and what came of it, in two sentences at most.
fn last_exchange(said: &[SynopsisMessage]) -> String {
    let asked = said.iter().rposition(|said| said.role == Role::User);
    let answer =
        said[asked.map_or(0, |asked| asked + 1)..].iter().rev().find(|said| said.role == Role::Assistant);
    let asked = asked.map(|asked| format!("You said \"{}\".", quote(&said[asked].text)));
    let answered = answer.map(|answer| {
        let cut = if answer.is_interrupted { "The reply was cut off at" } else { "The reply was" };
        format!("{cut} \"{}\".", quote(&answer.text))
    });
    match (asked, answered) {
        (Some(asked), Some(answered)) => format!("{asked} {answered}"),
        (Some(asked), None) => format!("{asked} There is no reply yet."),
        (None, Some(answered)) => answered,
        (None, None) => String::new(),
    }
}

/// The first sentence that says something, without marks of formatting and without its end.
fn quote(text: &str) -> String {
    let mut first = None;
    let mut heading = None;
    each_line_of_prose(text, |line| {
        let found = if line.starts_with('#') { &mut heading } else { &mut first };
        each_sentence(line, |sentence| {
            let sentence = title::plain(sentence);
            let says_something = title::without_greeting(&sentence).chars().any(char::is_alphanumeric);
            if found.is_none() && says_something {
                *found = Some(sentence);
            }
        });
    });
    let sentence = first.or(heading).unwrap_or_else(|| title::plain(text));
    title::cut(sentence.trim_end_matches(['.', '。', ':']), LONGEST_QUOTE)
}

/// Calls `visit` with each line outside of blocks of code.
fn each_line_of_prose<'a>(text: &'a str, mut visit: impl FnMut(&'a str)) {
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            visit(line);
        }
    }
}

/// The largest place at or before `place` where a text can be cut.
fn boundary(text: &str, place: usize) -> usize {
    let mut place = place.min(text.len());
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Json, Summary};

    fn synopsis(messages: &[Message]) -> Synopsis {
        Synopsis::of(messages, Time::from_micros(7))
    }

    #[test]
    fn it_says_where_the_conversation_stopped() {
        let messages = [
            Message::user("Hello! Where should we eat in Lisbon?"),
            Message::assistant("Try a tasca in **Alfama**. Shall I look for one?"),
            Message::user("Yes, book a table for 4 at Zé da Mouraria, please."),
            Message::assistant(
                "## Done\n\nI booked a table.\n\n- [x] book a table in Alfama\n- [ ] pay the deposit",
            ),
        ];

        let expected = Synopsis {
            text: "You said \"Yes, book a table for 4 at Zé da Mouraria, please\". The reply was \"I booked a table\"."
                .to_owned(),
            keywords: ["book", "table", "eat", "lisbon", "alfama", "ze", "mouraria", "tasca"]
                .map(str::to_owned)
                .to_vec(),
            action_items: vec!["pay the deposit".to_owned()],
            updated_at: Time::from_micros(7),
        };
        assert_eq!(synopsis(&messages), expected);
    }

    #[test]
    fn a_summary_is_nothing_that_somebody_said() {
        let summary = Message::new(Role::User, vec![Block::Summary(Summary::default())]);
        let mut messages = vec![Message::user("Where to eat?"), Message::assistant("In Alfama.")];
        let before = synopsis(&messages);
        messages.push(summary);

        assert_eq!(synopsis(&messages), before);
    }

    #[test]
    fn a_missing_and_a_cut_off_reply_are_told() {
        let mut cut = Message::assistant("First, open the");
        cut.finish = Some("interrupted".to_owned());
        let call =
            Message::new(Role::Assistant, vec![Block::tool_call("c", "read", Json::parse("{}").unwrap())]);
        let question = Message::user("how do I fix the hinge?");

        let texts = [vec![], vec![question.clone()], vec![question.clone(), call], vec![question, cut]]
            .map(|messages| synopsis(&messages).text);

        let expected = [
            "",
            "You said \"how do I fix the hinge?\". There is no reply yet.",
            "You said \"how do I fix the hinge?\". There is no reply yet.",
            "You said \"how do I fix the hinge?\". The reply was cut off at \"First, open the\".",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn the_provider_without_a_model_is_quoted_without_its_notice() {
        let mut reply = Message::assistant("No model is configured.\n\nYou said \"green\" in message a1");
        reply.extra.set("api", Json::of(&"offline").unwrap());

        let text = synopsis(&[Message::user("what colour?"), reply]).text;

        assert_eq!(text, "You said \"what colour?\". The reply was \"You said \"green\" in message a1\".");
    }

    #[test]
    fn other_scripts_are_understood() {
        let messages = [
            Message::user("你好！请帮我修理自行车。自行车的刹车坏了。"),
            Message::assistant("Проверьте тормозной трос. Тормозной трос изнашивается."),
        ];

        let synopsis = synopsis(&messages);

        assert_eq!(
            synopsis.text,
            "You said \"请帮我修理自行车\". The reply was \"Проверьте тормозной трос\"."
        );
        assert_eq!(&synopsis.keywords[..2], ["自行", "行车"]);
    }

    #[test]
    fn a_huge_conversation_is_looked_at_in_part() {
        let long = "word ".repeat(1_000_000);
        let mut messages: Vec<Message> = (0..2_000).map(|_| Message::user("about ships")).collect();
        messages.push(Message::assistant(long));
        messages.push(Message::user("x".repeat(5_000_000)));

        let synopsis = synopsis(&messages);

        assert_eq!(synopsis.keywords[..2], ["word", "ships"].map(str::to_owned));
        assert!(synopsis.text.chars().count() < 400, "{}", synopsis.text);
    }
}
