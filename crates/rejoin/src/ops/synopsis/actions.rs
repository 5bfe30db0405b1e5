//! What is left to do, as far as it was said.

use crate::model::{each_sentence, words};
use crate::ops::synopsis::{SynopsisMessage, each_line_of_prose, title};

/// How many are kept.
const MOST: usize = 10;

/// How many of the newest messages are looked at: older plans are mostly done or dropped.
const NEWEST: usize = 40;

/// How many characters of one are kept.
const LONGEST: usize = 160;

/// What a line begins with that names something to do.
const LABELS: &[&str] = &[
    "todo",
    "to do",
    "to-do",
    "fixme",
    "next",
    "next step",
    "next steps",
    "remaining",
    "still to do",
    "left to do",
    "action item",
    "action items",
    "open items",
    "follow-up",
];

/// What a sentence begins with that promises or asks for something.
const PROMISES: &[&str] = &[
    "i will ",
    "i'll ",
    "i’ll ",
    "next, i ",
    "next i ",
    "next, we ",
    "we need to ",
    "we still need to ",
    "i need to ",
    "i still need to ",
    "remind me to ",
    "don't forget to ",
    "remember to ",
    "you still need to ",
    "you need to ",
    "it remains to ",
    "what remains is ",
];

/// What is left to do, oldest first; what was ticked off later is left out.
pub(super) fn action_items(said: &[SynopsisMessage]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for said in &said[said.len().saturating_sub(NEWEST)..] {
        let mut is_below_label = false;
        each_line_of_prose(&said.text, |line| match ActionLine::read(line) {
            ActionLine::Open(item) => {
                is_below_label = false;
                add(&mut items, item);
            }
            ActionLine::Done(item) => remove(&mut items, item),
            ActionLine::Label("") => is_below_label = true,
            ActionLine::Label(item) => add(&mut items, item),
            ActionLine::Item(item) if is_below_label => add(&mut items, item),
            ActionLine::Blank => {}
            ActionLine::Item(text) | ActionLine::Prose(text) => {
                is_below_label = false;
                each_sentence(text, |sentence| {
                    if is_promise(sentence) {
                        add(&mut items, sentence);
                    }
                });
            }
        });
    }
    items.split_off(items.len().saturating_sub(MOST))
}

/// What a line is.
enum ActionLine<'a> {
    /// `- [ ] …`
    Open(&'a str),
    /// `- [x] …`
    Done(&'a str),
    /// `TODO: …`, or `Next steps:` with items below it.
    Label(&'a str),
    /// `- …` or `1. …`
    Item(&'a str),
    Blank,
    Prose(&'a str),
}

impl<'a> ActionLine<'a> {
    fn read(line: &'a str) -> Self {
        let line = line.trim();
        if line.is_empty() {
            return ActionLine::Blank;
        }
        let item = line
            .strip_prefix(['-', '*', '+', '•'])
            .filter(|rest| rest.starts_with([' ', '\t']))
            .map(str::trim);
        let item = item.or_else(|| numbered(line));
        let text = item.unwrap_or(line);
        if let Some(open) = text.strip_prefix("[ ]") {
            return ActionLine::Open(open.trim());
        }
        if let Some(done) = text.strip_prefix("[x]").or_else(|| text.strip_prefix("[X]")) {
            return ActionLine::Done(done.trim());
        }
        if let Some(rest) = labelled(text) {
            return ActionLine::Label(rest);
        }
        item.map_or(ActionLine::Prose(line), ActionLine::Item)
    }
}

/// What follows a number and a full stop or bracket.
fn numbered(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..)?.strip_prefix(['.', ')'])?;
    ((1..=3).contains(&digits) && rest.starts_with(' ')).then(|| rest.trim())
}

/// What follows a label and its colon; a heading needs no colon.
fn labelled(text: &str) -> Option<&str> {
    let heading = text.starts_with('#') || text.starts_with("**");
    let bare = text.trim_start_matches(['#', '*', ' ']);
    let end = bare.find(':').filter(|end| *end <= 24);
    let (label, rest) = match end {
        Some(end) => (&bare[..end], &bare[end + 1..]),
        None if heading => (bare, ""),
        None => return None,
    };
    let label = label.trim_matches(['*', ' ']).to_lowercase();
    LABELS.contains(&label.as_str()).then(|| rest.trim_matches(['*', ' ']))
}

fn is_promise(sentence: &str) -> bool {
    let lower = sentence.get(..24.min(sentence.len())).unwrap_or(sentence).to_lowercase();
    !sentence.ends_with(['?', '？']) && PROMISES.iter().any(|promise| lower.starts_with(promise))
}

fn add(items: &mut Vec<String>, item: &str) {
    let plain = title::plain(item);
    let item = title::cut(plain.trim_end_matches(['.', '。', ';']), LONGEST);
    if item.chars().any(char::is_alphanumeric) {
        remove(items, &item);
        items.push(item);
    }
}

/// Takes an item away, by its words.
fn remove(items: &mut Vec<String>, item: &str) {
    let gone = words(item);
    items.retain(|kept| words(kept) != gone);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Role;

    fn items(texts: &[&str]) -> Vec<String> {
        let said: Vec<SynopsisMessage> = texts
            .iter()
            .map(|text| SynopsisMessage {
                role: Role::Assistant,
                text: (*text).to_owned(),
                is_interrupted: false,
            })
            .collect();
        action_items(&said)
    }

    #[test]
    fn what_looks_like_something_to_do_is_found() {
        let text = "\
I looked at it. I will write the tests tomorrow.

- [ ] rename the file
- [x] read the log
TODO: ask Ada about the licence.

**Next steps:**
1. run `just check`
2. open a request

Done. Shall I go on? Will I manage?
```
TODO: not this one
```
Remaining: the documents";

        let expected = [
            "I will write the tests tomorrow",
            "rename the file",
            "ask Ada about the licence",
            "run `just check`",
            "open a request",
            "the documents",
        ];
        assert_eq!(items(&[text]), expected);
    }

    #[test]
    fn what_is_ticked_off_later_is_done() {
        assert_eq!(items(&["- [ ] pay\n- [ ] pack", "* [X] Pay!"]), ["pack"]);
    }

    #[test]
    fn what_is_said_again_stands_once_and_last() {
        assert_eq!(items(&["TODO: pay\nTODO: pack", "Next: pay."]), ["pack", "pay"]);
    }

    #[test]
    fn only_the_newest_are_kept() {
        let many: String = (0..30).map(|number| format!("- [ ] item {number}\n")).collect();

        let expected: Vec<String> = (20..30).map(|number| format!("item {number}")).collect();
        assert_eq!(items(&[&many]), expected);
    }

    #[test]
    fn prose_has_nothing_to_do() {
        let texts =
            ["Next to the house: a tree.", "The next day it rained.", "- milk\n- eggs", "I willingly agree"];

        assert_eq!(items(&texts), Vec::<String>::new());
    }
}
