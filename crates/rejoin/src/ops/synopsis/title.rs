//! A title from what was said first.

use crate::model::{Message, Role, Synopsis, each_sentence};
use crate::ops::synopsis::{boundary, each_line_of_prose};

/// A title stands on one line of a list.
const LONGEST: usize = 60;

/// How much of a message is looked at.
const LOOKED_AT: usize = 4_000;

/// Words that open a conversation and say nothing about it.
const GREETINGS: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "hiya",
    "howdy",
    "greetings",
    "good morning",
    "good afternoon",
    "good evening",
    "dear",
    "hi there",
    "hello there",
    "hey there",
    "ok",
    "okay",
    "so",
    "please",
    "hallo",
    "guten tag",
    "guten morgen",
    "moin",
    "bonjour",
    "salut",
    "hola",
    "buenos dias",
    "ciao",
    "ola",
    "hej",
    "привет",
    "здравствуйте",
    "你好",
    "您好",
    "こんにちは",
    "안녕하세요",
];

impl Synopsis {
    /// A title of at most 60 characters: the first sentence that a person said,
    /// without greeting, marks and addresses.
    ///
    /// None when nobody has said anything that could be a title.
    pub fn title_of(messages: &[Message]) -> Option<String> {
        let users = messages.iter().filter(|message| message.role == Role::User).map(Message::said);
        let mut users = users.filter(|said| !said.is_empty());
        let first = users.next()?;
        let from_text =
            std::iter::once(first.clone()).chain(users.take(4)).find_map(|text| title_from(&text));
        // Somebody who only said hello gets that as the title.
        from_text.or_else(|| Some(finish(&plain(&first))).filter(|title| !title.is_empty()))
    }
}

fn title_from(text: &str) -> Option<String> {
    let text = &text[..boundary(text, LOOKED_AT)];
    let mut found = None;
    let mut take = |line: &str| {
        each_sentence(line, |sentence| {
            if found.is_none() {
                let title = finish(without_greeting(&plain(sentence)));
                found = title.chars().any(char::is_alphanumeric).then_some(title);
            }
        });
    };
    each_line_of_prose(text, &mut take);
    // A message of code alone is named after its first line.
    text.lines().filter(|line| !line.trim_start().starts_with("```")).for_each(take);
    found
}

/// Takes greetings away, also several: "Hi there, please".
pub(super) fn without_greeting(sentence: &str) -> &str {
    let mut rest = sentence;
    loop {
        let lower = rest.to_lowercase();
        let longest = GREETINGS
            .iter()
            .filter(|greeting| lower.starts_with(**greeting) && ends_a_word(&lower[greeting.len()..]))
            .max_by_key(|greeting| greeting.len());
        let Some(greeting) = longest else { return rest };
        // Lower case may have another length; then the greeting is not one of ours.
        let Some(after) = rest.get(greeting.len()..) else { return rest };
        let after = after.trim_start_matches(|letter: char| !letter.is_alphanumeric() && !is_opening(letter));
        if after.is_empty() {
            return "";
        }
        rest = after;
    }
}

fn ends_a_word(rest: &str) -> bool {
    let next = rest.chars().next();
    next.is_none_or(|letter| !letter.is_alphanumeric() && letter != '-' && letter != '\'')
}

const fn is_opening(letter: char) -> bool {
    matches!(letter, '`' | '"' | '/' | '.' | '(' | '[' | '$' | '<' | '-' | '#' | '@' | '«' | '„' | '“')
}

fn finish(text: &str) -> String {
    let trimmed = text.trim_end_matches(|letter: char| {
        letter.is_whitespace()
            || matches!(
                letter,
                '.' | ',' | ';' | ':' | '!' | '?' | '…' | '。' | '！' | '？' | '、' | '，' | '：'
            )
    });
    cut(trimmed, LONGEST)
}

/// A text on one line, without marks of Markdown, control characters, and the tails of addresses.
pub(super) fn plain(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let mut plain = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        let word = short_address(word);
        let word: String = word.chars().filter(|letter| !is_hidden(*letter)).collect();
        let word = word.replace("**", "").replace("__", "");
        let is_mark = plain.is_empty()
            && matches!(word.as_str(), "-" | "*" | "+" | ">" | "#" | "##" | "###" | "####" | "•");
        let is_number = plain.is_empty() && is_list_number(&word);
        if word.is_empty() || is_mark || is_number {
            continue;
        }
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(&word);
    }
    // Code in the middle keeps its marks; a text that is all code needs none.
    match plain.strip_prefix('`').and_then(|code| code.strip_suffix('`')) {
        Some(code) if !code.contains('`') => code.trim().to_owned(),
        _ => plain,
    }
}

fn is_list_number(word: &str) -> bool {
    word.strip_suffix(['.', ')']).is_some_and(|number| {
        (1..=3).contains(&number.len()) && number.bytes().all(|letter| letter.is_ascii_digit())
    })
}

/// `https://example.org/a/page?id=7` is `example.org/a/page`.
fn short_address(word: &str) -> &str {
    let Some(start) = word.find("://") else { return word };
    let address = &word[start + 3..];
    let address = address.split(['?', '#']).next().unwrap_or(address);
    address.trim_end_matches(['/', ')', '>', ']', '"', ',']).trim_start_matches("www.")
}

/// Characters that reorder or hide text.
const fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The beginning of a text, at most so many characters with `...` at a cut,
/// which falls between words where it can.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let end = text.char_indices().nth(most - 3).map_or(text.len(), |(end, _)| end);
    let mut end = end;
    // A mark that belongs to the letter before it is not parted from it.
    while text[end..].chars().next().is_some_and(is_joined) || text[..end].ends_with('\u{200d}') {
        end = text[..end].char_indices().next_back().map_or(0, |(start, _)| start);
        if end == 0 {
            break;
        }
    }
    let head = &text[..end];
    let at_a_space = head.rfind(' ').filter(|place| *place * 2 > head.len());
    let head = if text[end..].starts_with(' ') { head } else { &head[..at_a_space.unwrap_or(head.len())] };
    let head = head.trim_end_matches(|letter: char| {
        letter.is_whitespace() || matches!(letter, ',' | ';' | ':' | '-' | '.')
    });
    format!("{head}...")
}

fn is_joined(letter: char) -> bool {
    letter == '\u{200d}'
        || matches!(letter, '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
        || unicode_normalization::char::is_combining_mark(letter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn title(text: &str) -> Option<String> {
        Synopsis::title_of(&[Message::user(text)])
    }

    #[test]
    fn a_title_is_the_first_thing_that_was_said() {
        let cases = [
            ("my bicycle is green", "my bicycle is green"),
            ("Hi! Where should we eat in Lisbon? We like fish.", "Where should we eat in Lisbon"),
            ("Hello there, please fix `cargo test`.", "fix `cargo test`"),
            ("hi\n\nI need a tax form...", "I need a tax form"),
            ("Good morning! 🙂", "Good morning! 🙂"),
            ("hello", "hello"),
            ("highway 66", "highway 66"),
            ("# Plan\n\ntext", "Plan"),
            ("1. **first** item", "first item"),
            (
                "Look at https://www.example.org/a/page?id=7&x=9#top please",
                "Look at example.org/a/page please",
            ),
            ("```rust\nfn main() {}\n```", "fn main() {}"),
            ("```\ncode\n```\nWhy does this fail?", "Why does this fail"),
            ("two\u{1b}[2J\u{202e}words", "two [2Jwords"),
            ("你好！请帮我修理自行车。谢谢", "请帮我修理自行车"),
            ("こんにちは、自転車を直したい", "自転車を直したい"),
            ("مرحبا كيف حالك؟", "مرحبا كيف حالك؟"),
        ];

        let titles = cases.map(|(text, _)| title(text));

        assert_eq!(titles, cases.map(|(_, expected)| Some(expected.to_owned())));
    }

    #[test]
    fn a_long_title_is_cut_between_words() {
        let long =
            "Please explain how the recorder saves a turn while the answer of the model is still arriving";

        let titles = [title(long), title(&"字".repeat(80)), title(&"👩\u{200d}🔬".repeat(40))];

        let expected = [
            "explain how the recorder saves a turn while the answer of...".to_owned(),
            format!("{}...", "字".repeat(57)),
            format!("{}...", "👩\u{200d}🔬".repeat(19)),
        ];
        assert_eq!(titles, expected.map(Some));
    }

    #[test]
    fn nothing_gives_no_title() {
        let titles = [
            Synopsis::title_of(&[]),
            Synopsis::title_of(&[Message::assistant("hello")]),
            title(""),
            title(" \n\t"),
        ];

        assert_eq!(titles, [None, None, None, None]);
    }

    #[test]
    fn a_greeting_waits_for_the_next_message() {
        let messages = [Message::user("hey"), Message::assistant("Hello!"), Message::user("fix my bicycle")];

        assert_eq!(Synopsis::title_of(&messages), Some("fix my bicycle".to_owned()));
    }

    proptest! {
        #[test]
        fn any_text_gives_a_short_line_or_nothing(text in "\\PC{0,200}|[a-z .,!?\n`#*-]{0,300}") {
            let title = title(&text).unwrap_or_default();

            prop_assert!(title.chars().count() <= LONGEST, "{title:?}");
            prop_assert!(!title.contains('\n'));
        }
    }
}
