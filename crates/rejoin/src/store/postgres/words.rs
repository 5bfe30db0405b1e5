//! The words that a message is found by, and what the index is asked, in the server's language.

use std::collections::BTreeSet;

use crate::model::{Role, Time, WordQuery, each_word};
use crate::store::body::Searchable;

/// Begins the word that the index has for a role. It is no letter, so no text has such a word.
const ROLE: char = '\u{E000}';

/// So many bytes of different words the index takes of one message, a little below the server's limit.
const MOST: usize = 1_000_000;

/// What the index gets of a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MessageWords {
    /// Its words, once each, with spaces between them; none where there is nothing to search.
    pub(super) words: Option<String>,
    /// True when it has more words than the index takes, so that a search looks at the message itself.
    pub(super) is_unindexed: bool,
    pub(super) time: Time,
}

impl MessageWords {
    pub(super) fn of(body: &[u8]) -> Self {
        let Some(said) = str::from_utf8(body).ok().and_then(Searchable::of) else { return Self::default() };
        let mut words = BTreeSet::from([role_word(said.role)]);
        each_word(&said.text, |word| {
            if !words.contains(word) {
                words.insert(word.to_owned());
            }
        });
        let is_unindexed = words.iter().map(String::len).sum::<usize>() > MOST;
        let words = if is_unindexed { role_word(said.role) } else { joined(words) };
        Self { words: Some(words), is_unindexed, time: said.time }
    }
}

fn joined(words: BTreeSet<String>) -> String {
    words.into_iter().collect::<Vec<_>>().join(" ")
}

fn role_word(role: Role) -> String {
    format!("{ROLE}{}", role.as_str())
}

/// What finds the messages with every word, the last of which may be a beginning, and of a role.
pub(super) fn expression(words: &WordQuery, role: Option<Role>) -> String {
    let (last, whole) = words.words().split_last().expect("a query without words is not asked");
    // Words hold letters and digits only, so nothing needs escaping.
    let whole = whole.iter().map(|word| format!("'{word}'"));
    let role = role.map(|role| format!("'{}'", role_word(role)));
    let open = if words.last_is_prefix() { ":*" } else { "" };
    whole.chain(role).chain([format!("'{last}'{open}")]).collect::<Vec<_>>().join(" & ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_every_word_and_the_role() {
        let asked = |text| expression(&WordQuery::parse(text), Some(Role::User));

        let all = [asked("Green bicy"), asked("Café "), asked("東京")];

        let role = "'\u{E000}user'";
        assert_eq!(
            all,
            [
                format!("'green' & {role} & 'bicy':*"),
                format!("{role} & 'cafe'"),
                format!("'東' & {role} & '京':*")
            ]
        );
    }
}
