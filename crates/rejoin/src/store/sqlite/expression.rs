//! What the full-text index is asked, in its own language.

use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension};

use crate::error::Result;
use crate::model::{Role, WordQuery};
use crate::store::sqlite::fault::DuringSql;

const ATTEMPT: &str = "search";

/// Begins the word that the index has for a role. It is no letter, so no text has such a word.
const ROLE: char = '\u{E000}';

/// More words that begin alike are not asked for one by one: each costs a lookup, and
/// one of them is soon found in any text.
const MOST_ENDINGS: usize = 16;

/// So many bytes begin more words than that in any store worth mentioning, so it is not looked.
const SHORT: usize = 2;

/// The word that the index has for a role.
pub(super) fn role_word(role: Role) -> String {
    format!("{ROLE}{}", role.as_str())
}

/// True when every indexed message has the word of its role.
pub(super) fn has_roles(connection: &Connection) -> Result<bool> {
    let roles: Option<bool> = connection
        .prepare_cached("SELECT roles FROM search")
        .during(ATTEMPT)?
        .query_row([], |row| row.get(0))
        .optional()
        .during(ATTEMPT)?;
    Ok(roles.unwrap_or(false))
}

/// Adds a condition that must hold too.
fn add(expression: &mut String, condition: &str) {
    let and = if expression.is_empty() { "" } else { " AND " };
    let _ = write!(expression, "{and}{condition}");
}

/// Finds messages with every word; the last one stands for whatever begins with
/// it when it may be a beginning.
pub(super) fn every_word(words: &WordQuery, role: Option<Role>) -> String {
    let mut expression = without_last(words, role);
    if let Some(last) = words.words().last() {
        let open = if words.last_is_prefix() { "*" } else { "" };
        add(&mut expression, &format!("\"{last}\"{open}"));
    }
    expression
}

/// Finds messages with every word but the last; empty when there is no other condition.
pub(super) fn without_last(words: &WordQuery, role: Option<Role>) -> String {
    let mut expression = String::new();
    let (_, whole) = words.words().split_last().unwrap_or((&EMPTY, &[]));
    // Words hold letters and digits only, so nothing needs escaping.
    whole.iter().for_each(|word| add(&mut expression, &format!("\"{word}\"")));
    role.into_iter().for_each(|role| add(&mut expression, &format!("\"{}\"", role_word(role))));
    expression
}

const EMPTY: String = String::new();

/// Finds messages with every word, where the last one is one of these.
pub(super) fn with_endings(words: &WordQuery, role: Option<Role>, endings: &[String]) -> String {
    let mut expression = without_last(words, role);
    // Who can write to the file could have put anything into the index.
    let quoted = |ending: &String| format!("\"{}\"", ending.replace('"', "\"\""));
    let endings: Vec<String> = endings.iter().map(quoted).collect();
    add(&mut expression, &format!("({})", endings.join(" OR ")));
    expression
}

/// The words of the index that begin with the last word of a query; none when there are many.
///
/// To ask for a beginning, the index collects all messages of all these words before it answers with the
/// first. To ask for each of them answers with the newest at once.
pub(super) fn endings(connection: &Connection, words: &WordQuery) -> Result<Option<Vec<String>>> {
    let Some(last) = words.words().last() else { return Ok(Some(Vec::new())) };
    if last.len() <= SHORT {
        return Ok(None);
    }
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, words, instance)",
        )
        .during(ATTEMPT)?;
    let mut next = connection
        .prepare_cached("SELECT term FROM temp.vocabulary WHERE term >= ?1 LIMIT 1")
        .during(ATTEMPT)?;
    let (mut found, mut from) = (Vec::new(), last.clone());
    loop {
        let term: Option<String> = next.query_row([&from], |row| row.get(0)).optional().during(ATTEMPT)?;
        let Some(term) = term.filter(|term| term.starts_with(last.as_str())) else { return Ok(Some(found)) };
        if found.len() == MOST_ENDINGS {
            return Ok(None);
        }
        // The least text after the word itself: no word has a control character.
        from = format!("{term}\u{1}");
        found.push(term);
    }
}
