//! Stores that look up and search wrongly.

use std::cmp::Reverse;

use rejoin::Result;
use rejoin::store::{Hit, Outcome, Page, Read, SearchOrder, SearchQuery, WordQuery};

use super::{Broken, Fault, Hook};

/// Searches well, then changes what was found.
fn altered(store: &Broken, query: &SearchQuery<'_>, alter: impl FnOnce(&mut Vec<Hit>)) -> Result<Page<Hit>> {
    let mut page = store.inner.search(query)?;
    alter(&mut page.items);
    Ok(page)
}

pub(super) const FAULTS: &[Fault] = &[
    (
        "a_conversation_is_found_by_the_beginning_of_its_id",
        Hook::Find(|store, text, limit| {
            store.inner.find(&text.to_uppercase().replace('A', "a"), limit).map(|mut found| {
                found.retain(|found| found.conversation.to_string().starts_with(text));
                found
            })
        }),
    ),
    (
        "a_conversation_is_found_by_the_beginning_of_its_short_id",
        Hook::Find(|store, text, limit| {
            let mut found = store.inner.find(text, limit)?;
            found.retain(|found| text.len() == 6 || !found.conversation.short().as_str().starts_with(text));
            Ok(found)
        }),
    ),
    (
        "a_conversation_is_found_by_its_whole_slug",
        Hook::Find(|store, text, limit| {
            let mut found = store.inner.find(text, limit)?;
            found.truncate(1);
            Ok(found)
        }),
    ),
    (
        "a_message_is_found_by_the_beginning_of_its_id",
        Hook::Find(|store, text, limit| {
            let mut found = store.inner.find(text, limit)?;
            found.retain(|found| found.message.is_none_or(|message| message.as_str() == text));
            Ok(found)
        }),
    ),
    ("at_most_limit_are_found", Hook::Find(|store, text, limit| store.inner.find(text, limit.max(2)))),
    (
        "conversations_are_found_before_messages",
        Hook::Find(|store, text, limit| {
            let mut found = store.inner.find(text, limit)?;
            found.reverse();
            Ok(found)
        }),
    ),
    (
        "every_word_must_be_in_the_message",
        Hook::Search(|store, query| {
            let first = query.words.words().first().cloned().unwrap_or_default();
            store.inner.search(&SearchQuery { words: &WordQuery::parse(&first), ..*query })
        }),
    ),
    (
        "the_last_word_may_be_a_beginning",
        Hook::Search(|store, query| {
            let whole = format!("{} ", query.words.words().join(" "));
            store.inner.search(&SearchQuery { words: &WordQuery::parse(&whole), ..*query })
        }),
    ),
    (
        "the_last_word_may_be_a_beginning",
        Hook::Search(|store, query| {
            let open = query.words.words().join(" ");
            store.inner.search(&SearchQuery { words: &WordQuery::parse(&open), ..*query })
        }),
    ),
    (
        "case_and_accents_do_not_matter",
        Hook::Search(|store, query| {
            altered(store, query, |hits| {
                hits.retain(|hit| query.words.words().iter().all(|word| hit.body.contains(word)));
            })
        }),
    ),
    (
        "the_newest_message_comes_first",
        Hook::Search(|store, query| altered(store, query, |hits| hits.sort_by_key(|hit| Reverse(hit.seq)))),
    ),
    (
        "of_one_time_the_greater_key_comes_first",
        Hook::Search(|store, query| {
            altered(store, query, |hits| {
                hits.sort_by_key(|hit| (Reverse(hit.time), hit.conversation, hit.seq));
            })
        }),
    ),
    (
        "everything_appended_before_the_call_is_found",
        Hook::Search(|store, query| altered(store, query, |hits| hits.retain(|hit| hit.seq == 1))),
    ),
    (
        "removed_messages_are_not_found",
        Hook::Remove(|_, targets, _, _| Ok(vec![Outcome::Removed { messages: 1, bytes: 1 }; targets.len()])),
    ),
    (
        "a_search_cursor_continues_where_a_page_ended",
        Hook::Search(|store, query| {
            // The cursor forgets which of the messages of one time was the last.
            let after = query.after.map(|mut after| {
                after.seq = 0;
                after
            });
            store.inner.search(&SearchQuery { after, ..*query })
        }),
    ),
    (
        "a_search_can_be_limited_to_a_conversation",
        Hook::Search(|store, query| store.inner.search(&SearchQuery { conversation: None, ..*query })),
    ),
    (
        "a_search_can_be_limited_to_a_project",
        Hook::Search(|store, query| store.inner.search(&SearchQuery { project: None, ..*query })),
    ),
    (
        "a_search_can_be_limited_to_a_role",
        Hook::Search(|store, query| store.inner.search(&SearchQuery { role: None, ..*query })),
    ),
    (
        "a_search_can_be_limited_to_a_time_and_later",
        Hook::Search(|store, query| {
            let since = query.since.map(|since| since.plus_micros(1));
            store.inner.search(&SearchQuery { since, ..*query })
        }),
    ),
    (
        "another_order_finds_the_same_messages",
        Hook::Search(|store, query| {
            let since = query.since.filter(|_| query.order == SearchOrder::Newest);
            store.inner.search(&SearchQuery { since, ..*query })
        }),
    ),
];
