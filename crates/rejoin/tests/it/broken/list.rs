//! Stores that list conversations wrongly.

use std::cmp::Reverse;

use rejoin::Branch;
use rejoin::Result;
use rejoin::store::{Cursor, ListQuery, Page, Read, Row};

use super::{Broken, Fault, Hook};

/// Lists well, then changes each row.
fn altered(store: &Broken, query: &ListQuery<'_>, alter: impl FnMut(&mut Row)) -> Result<Page<Row>> {
    let mut page = store.inner.list(query)?;
    page.items.iter_mut().for_each(alter);
    Ok(page)
}

pub(super) const FAULTS: &[Fault] = &[
    (
        "a_row_tells_everything_that_is_known",
        Hook::List(|store, query| altered(store, query, |row| row.created = row.active)),
    ),
    (
        "the_newest_activity_comes_first",
        Hook::List(|store, query| {
            let mut page = store.inner.list(query)?;
            page.items.sort_by_key(|row| Reverse(row.id));
            Ok(page)
        }),
    ),
    (
        "of_equal_activity_the_greater_id_comes_first",
        Hook::List(|store, query| {
            let mut page = store.inner.list(query)?;
            page.items.sort_by_key(|row| (Reverse(row.active), row.id));
            Ok(page)
        }),
    ),
    (
        "a_cursor_continues_after_the_last_row",
        Hook::List(|store, query| store.inner.list(&ListQuery { after: None, ..*query })),
    ),
    (
        "a_cursor_never_skips_or_repeats_a_row",
        // The cursor knows the time only, so rows of equal activity are skipped.
        Hook::List(|store, query| {
            let mut page = store.inner.list(&ListQuery { after: None, limit: usize::MAX, ..*query })?;
            page.items.retain(|row| query.after.is_none_or(|after| row.active < after.time));
            let more = page.items.len() > query.limit;
            page.items.truncate(query.limit);
            let last = page.items.last().filter(|_| more);
            page.next = last.map(|row| Cursor { time: row.active, conversation: row.id, seq: 0 });
            Ok(page)
        }),
    ),
    (
        "a_list_can_be_filtered_by_project",
        Hook::List(|store, query| store.inner.list(&ListQuery { project: None, ..*query })),
    ),
    (
        "a_list_can_be_filtered_by_status",
        Hook::List(|store, query| store.inner.list(&ListQuery { status: None, ..*query })),
    ),
    (
        "an_active_conversation_that_is_idle_counts_as_paused",
        Hook::List(|store, query| store.inner.list(&ListQuery { idle_since: None, ..*query })),
    ),
    (
        "an_active_conversation_that_is_idle_counts_as_paused",
        Hook::List(|store, query| {
            let idle_since = query.idle_since.map(|time| time.plus_micros(-1));
            store.inner.list(&ListQuery { idle_since, ..*query })
        }),
    ),
    (
        "a_list_can_be_filtered_by_kind",
        Hook::List(|store, query| store.inner.list(&ListQuery { kind: None, ..*query })),
    ),
    (
        "a_list_can_leave_out_a_kind_and_says_how_many",
        Hook::List(|store, query| store.inner.list(&ListQuery { except_kind: None, ..*query })),
    ),
    (
        "a_list_can_leave_out_a_kind_and_says_how_many",
        Hook::List(|store, query| Ok(Page { excepted: None, ..store.inner.list(query)? })),
    ),
    (
        "a_list_can_be_filtered_by_id",
        Hook::List(|store, query| store.inner.list(&ListQuery { only: None, ..*query })),
    ),
    (
        "all_filters_must_hold",
        Hook::List(|store, query| {
            let kind = query.kind.filter(|_| query.project.is_none());
            store.inner.list(&ListQuery { kind, ..*query })
        }),
    ),
    (
        "expired_conversations_are_left_out",
        Hook::List(|store, query| store.inner.list(&ListQuery { unexpired_at: None, ..*query })),
    ),
    (
        "expired_conversations_are_left_out",
        Hook::List(|store, query| {
            let unexpired_at = query.unexpired_at.map(|time| time.plus_micros(-1));
            store.inner.list(&ListQuery { unexpired_at, ..*query })
        }),
    ),
    (
        "a_total_counts_all_rows_that_match",
        Hook::List(|store, query| {
            let mut page = store.inner.list(query)?;
            page.total = page.total.map(|_| page.items.len() as u64);
            Ok(page)
        }),
    ),
    (
        "a_total_counts_all_rows_that_match",
        Hook::List(|store, query| {
            let total = store.inner.list(&ListQuery { unexpired_at: None, ..*query })?.total;
            Ok(Page { total, ..store.inner.list(query)? })
        }),
    ),
    ("counts_and_bytes_follow", Hook::List(|store, query| altered(store, query, |row| row.bytes /= 2))),
    (
        "the_previews_follow",
        Hook::List(|store, query| altered(store, query, |row| row.first.clone_from(&row.last))),
    ),
    (
        "last_activity_follows_and_never_goes_back",
        Hook::List(|store, query| altered(store, query, |row| row.active = row.created)),
    ),
    (
        "a_branch_is_added_or_replaced",
        Hook::List(|store, query| {
            altered(store, query, |row| row.branches.sort_by(|a, b| a.title.cmp(&b.title)))
        }),
    ),
    (
        "a_branch_without_an_ancestor_goes_too",
        Hook::List(|store, query| {
            altered(store, query, |row| {
                if row.messages == 0 && row.version > 1 {
                    let id = "q".parse().unwrap();
                    row.branches.push(Branch { id, title: "q".to_owned(), head: id });
                }
            })
        }),
    ),
    (
        "removing_messages_raises_the_version_by_one_more_than_went",
        // As if a removal changed nothing that has a version.
        Hook::List(|store, query| altered(store, query, |row| row.version = row.version.min(1))),
    ),
    (
        "counts_and_bytes_are_of_what_is_left",
        Hook::List(|store, query| {
            altered(store, query, |row| row.messages = row.messages.next_power_of_two())
        }),
    ),
];
