//! Rules of listing conversations.

use crate::error::Result;
use crate::model::{Branch, ConversationId, Head, Hold, Status};
use crate::store::{Change, Facets, ListQuery, Read, Row};
use crate::testing::draft::{DraftTurn, at, conversation, link, message};
use crate::testing::look::{EVERYTHING, rows, size};
use crate::testing::trial::Trial;

fn facets(project: &str, kind: &str, status: Status) -> Facets {
    Facets { project: project.to_owned(), kind: kind.to_owned(), status, ..Facets::default() }
}

/// Three conversations that differ in every facet, the first one active last.
fn three(trial: &Trial<'_>) -> Result<()> {
    let all = [
        (1, 30, facets("red", "chat", Status::Active)),
        (2, 20, facets("red", "review", Status::Paused)),
        (3, 10, facets("blue", "chat", Status::Paused)),
    ];
    for (number, seconds, facets) in all {
        let turn = DraftTurn::opening(conversation(number)).about(facets, "{}").active(seconds);
        turn.append(trial.store())?;
    }
    Ok(())
}

fn ids(store: &dyn Read, query: &ListQuery<'_>) -> Result<Vec<ConversationId>> {
    Ok(store.list(query)?.items.into_iter().map(|row| row.id).collect())
}

/// Asserts which conversations of [`three`] a query lists.
#[track_caller]
fn lists(trial: &mut Trial<'_>, query: ListQuery<'_>, expected: &[u8]) -> Result<()> {
    three(trial)?;

    let listed = trial.observe(|store| ids(store, &query))?;

    assert_eq!(listed, expected.iter().map(|number| conversation(*number)).collect::<Vec<_>>());
    Ok(())
}

/// A row tells everything that is known.
pub(super) fn a_row_tells_everything_that_is_known(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let facets = Facets {
        project: "red".to_owned(),
        kind: "review".to_owned(),
        slug: "lisbon".to_owned(),
        status: Status::Completed,
        hold: Hold::User,
        expires: Some(at(99)),
    };
    let branch = Branch { id: message("q"), title: "on a budget".to_owned(), head: message("a") };
    let opening = DraftTurn::opening(id).about(facets.clone(), r#"{"title":"Lisbon"}"#).active(1);
    opening.append(trial.store())?;
    let turn = DraftTurn::to(id).active(2).say("a", "", "hi").say("b", "a", "ho").previews("hi", "ho");
    turn.append(trial.store())?;
    trial.store().amend(id, Some(1), &Change::Branch(&branch), at(900))?;

    let listed = trial.observe(|store| rows(store))?;

    let expected = Row {
        id,
        version: 2,
        facets,
        header: r#"{"title":"Lisbon"}"#.to_owned(),
        head: Some(Head { id: message("b"), digest: link("b") }),
        branches: vec![branch],
        created: at(1),
        active: at(2),
        messages: 2,
        bytes: size(trial.store(), id)?,
        first: "hi".to_owned(),
        last: "ho".to_owned(),
    };
    assert_eq!(listed, [expected]);
    Ok(())
}

/// The newest activity comes first.
pub(super) fn the_newest_activity_comes_first(trial: &mut Trial<'_>) -> Result<()> {
    three(trial)?;
    DraftTurn::to(conversation(3)).active(40).say("a", "", "back again").append(trial.store())?;

    let listed = trial.observe(|store| ids(store, &EVERYTHING))?;

    assert_eq!(listed, [3, 1, 2].map(conversation));
    Ok(())
}

/// Of equal activity the greater id comes first.
pub(super) fn of_equal_activity_the_greater_id_comes_first(trial: &mut Trial<'_>) -> Result<()> {
    for number in [2, 1, 3] {
        DraftTurn::opening(conversation(number)).append(trial.store())?;
    }

    let listed = trial.observe(|store| ids(store, &EVERYTHING))?;

    assert_eq!(listed, [3, 2, 1].map(conversation));
    Ok(())
}

/// Lists page by page; `between` is called after each page.
fn pages(
    store: &dyn Read,
    limit: usize,
    mut between: impl FnMut() -> Result<()>,
) -> Result<Vec<Vec<ConversationId>>> {
    let mut query = ListQuery { limit, ..EVERYTHING };
    let mut pages = Vec::new();
    loop {
        let page = store.list(&query)?;
        pages.push(page.items.iter().map(|row| row.id).collect());
        if page.next.is_none() || pages.len() > 20 {
            return Ok(pages);
        }
        query.after = page.next;
        between()?;
    }
}

/// A cursor continues after the last row of a page.
pub(super) fn a_cursor_continues_after_the_last_row(trial: &mut Trial<'_>) -> Result<()> {
    three(trial)?;

    let listed = trial.observe(|store| {
        Ok([pages(store, 1, || Ok(()))?, pages(store, 2, || Ok(()))?, pages(store, 3, || Ok(()))?])
    })?;

    let [one, two, three] = [1, 2, 3].map(conversation);
    let expected = [vec![vec![one], vec![two], vec![three]], vec![vec![one, two], vec![three]]];
    assert_eq!(listed[..2], expected);
    assert_eq!(listed[2], [[one, two, three]]);
    Ok(())
}

/// It never skips or repeats a row that did not change.
pub(super) fn a_cursor_never_skips_or_repeats_a_row(trial: &mut Trial<'_>) -> Result<()> {
    // Nine of equal activity; between two pages one grows, one appears and one goes.
    for number in 1..=9 {
        DraftTurn::opening(conversation(number)).append(trial.store())?;
    }
    let mut moves = [
        DraftTurn::to(conversation(1)).active(50).say("a", "", "up"),
        DraftTurn::opening(conversation(10)).active(60),
        DraftTurn::to(conversation(9)).active(70).say("a", "", "up"),
    ]
    .into_iter();

    let listed =
        pages(trial.store(), 2, || moves.next().map_or(Ok(()), |turn| turn.append(trial.store()).map(drop)))?;

    let unchanged: Vec<_> = listed.concat().into_iter().filter(|id| *id != conversation(1)).collect();
    assert_eq!(unchanged, [9, 8, 7, 6, 5, 4, 3, 2].map(conversation));
    Ok(())
}

/// A list can be filtered by project.
pub(super) fn a_list_can_be_filtered_by_project(trial: &mut Trial<'_>) -> Result<()> {
    lists(trial, ListQuery { project: Some("red"), ..EVERYTHING }, &[1, 2])
}

/// It can be filtered by status.
pub(super) fn a_list_can_be_filtered_by_status(trial: &mut Trial<'_>) -> Result<()> {
    lists(trial, ListQuery { status: Some(Status::Paused), ..EVERYTHING }, &[2, 3])
}

/// When a time is given, an active conversation that was last active by then counts as paused.
pub(super) fn an_active_conversation_that_is_idle_counts_as_paused(trial: &mut Trial<'_>) -> Result<()> {
    three(trial)?;
    let of = |store: &dyn Read, status, seconds| {
        let idle_since = Some(at(seconds));
        let query = ListQuery { status: Some(status), idle_since, counts_total: true, ..EVERYTHING };
        let page = store.list(&query)?;
        Ok((page.items.into_iter().map(|row| row.id).collect::<Vec<_>>(), page.total))
    };

    let listed = trial.observe(|store| {
        let cases = [(Status::Active, 29), (Status::Paused, 29), (Status::Active, 30), (Status::Paused, 30)];
        cases.map(|(status, seconds)| of(store, status, seconds)).into_iter().collect::<Result<Vec<_>>>()
    })?;

    let expected: [&[u8]; 4] = [&[1], &[2, 3], &[], &[1, 2, 3]];
    let all = |numbers: &[u8]| numbers.iter().map(|number| conversation(*number)).collect::<Vec<_>>();
    assert_eq!(listed, expected.map(|numbers| (all(numbers), Some(numbers.len() as u64))));
    Ok(())
}

/// It can be filtered by kind.
pub(super) fn a_list_can_be_filtered_by_kind(trial: &mut Trial<'_>) -> Result<()> {
    lists(trial, ListQuery { kind: Some("chat"), ..EVERYTHING }, &[1, 3])
}

/// A list can leave out a kind, and then says how many it left out.
pub(super) fn a_list_can_leave_out_a_kind_and_says_how_many(trial: &mut Trial<'_>) -> Result<()> {
    let open = ListQuery { except_kind: Some("chat"), ..EVERYTHING };
    lists(trial, open, &[2])?;
    let cases = [
        ListQuery { counts_total: true, limit: 1, ..open },
        ListQuery { counts_total: true, project: Some("blue"), ..open },
        ListQuery { counts_total: true, status: Some(Status::Active), except_kind: Some("review"), ..open },
        ListQuery { counts_total: true, except_kind: None, ..open },
    ];

    let counted = trial.observe(|store| {
        let counts = |query| store.list(query).map(|page| (page.total, page.excepted));
        cases.iter().map(counts).collect::<Result<Vec<_>>>()
    })?;

    let expected = [(1, 2), (0, 1), (1, 0), (3, 0)].map(|(total, excepted)| (Some(total), Some(excepted)));
    assert_eq!(counted, expected);
    Ok(())
}

/// It can be filtered by id.
pub(super) fn a_list_can_be_filtered_by_id(trial: &mut Trial<'_>) -> Result<()> {
    // Far more than one statement of a database may have parameters.
    let mut only: Vec<ConversationId> = (0..40_000u32)
        .map(|number| {
            let mut bytes = [0xff; 16];
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            ConversationId::from_bytes(bytes)
        })
        .collect();
    only.extend([conversation(3), conversation(1), conversation(9)]);

    lists(trial, ListQuery { only: Some(&only), ..EVERYTHING }, &[1, 3])?;

    let none = trial.observe(|store| ids(store, &ListQuery { only: Some(&[]), ..EVERYTHING }))?;
    assert_eq!(none, []);
    Ok(())
}

/// All filters must hold.
pub(super) fn all_filters_must_hold(trial: &mut Trial<'_>) -> Result<()> {
    let only = [2, 3].map(conversation);
    let query = ListQuery {
        project: Some("red"),
        status: Some(Status::Paused),
        kind: Some("review"),
        only: Some(&only),
        ..EVERYTHING
    };
    lists(trial, query, &[2])?;

    let near = [
        ListQuery { project: Some("blue"), ..query },
        ListQuery { status: Some(Status::Active), ..query },
        ListQuery { kind: Some("chat"), ..query },
        ListQuery { only: Some(&only[1..]), ..query },
    ];
    let listed =
        trial.observe(|store| near.iter().map(|query| ids(store, query)).collect::<Result<Vec<_>>>())?;
    assert_eq!(listed, [const { Vec::new() }; 4]);
    Ok(())
}

/// When a time is given, conversations that expired by then are left out.
pub(super) fn expired_conversations_are_left_out(trial: &mut Trial<'_>) -> Result<()> {
    for (number, expires) in [(1, None), (2, Some(at(5))), (3, Some(at(6)))] {
        let facets = Facets { expires, ..Facets::default() };
        DraftTurn::opening(conversation(number)).about(facets, "{}").append(trial.store())?;
    }

    let listed = trial.observe(|store| {
        let of = |unexpired_at| ids(store, &ListQuery { unexpired_at, ..EVERYTHING });
        Ok([of(None)?, of(Some(at(4)))?, of(Some(at(5)))?, of(Some(at(6)))?])
    })?;

    let all = [3, 2, 1].map(conversation).to_vec();
    assert_eq!(listed, [all.clone(), all, [3, 1].map(conversation).to_vec(), vec![conversation(1)]]);
    Ok(())
}

/// A total counts all rows that match, on whatever page.
pub(super) fn a_total_counts_all_rows_that_match(trial: &mut Trial<'_>) -> Result<()> {
    three(trial)?;
    let query = ListQuery { project: Some("red"), limit: 1, ..EVERYTHING };

    let totals = trial.observe(|store| {
        let counting = ListQuery { counts_total: true, ..query };
        let first = store.list(&counting)?;
        let second = store.list(&ListQuery { after: first.next, ..counting })?;
        Ok([first.total, second.total, store.list(&query)?.total])
    })?;

    assert_eq!(totals, [Some(2), Some(2), None]);
    counts_the_unexpired(trial)
}

/// What has expired is in no total, whatever else a list is filtered by.
fn counts_the_unexpired(trial: &mut Trial<'_>) -> Result<()> {
    for (number, project, expires) in
        [(4, "red", Some(at(5))), (5, "blue", Some(at(5))), (6, "red", Some(at(7)))]
    {
        let facets = Facets { expires, ..facets(project, "chat", Status::Completed) };
        DraftTurn::opening(conversation(number)).about(facets, "{}").append(trial.store())?;
    }
    let open = ListQuery { counts_total: true, ..EVERYTHING };

    let totals = trial.observe(|store| {
        let of = |query: ListQuery<'_>| {
            let total =
                |unexpired_at| store.list(&ListQuery { unexpired_at, ..query }).map(|page| page.total);
            Ok([total(None)?, total(Some(at(5)))?])
        };
        Ok([
            of(open)?,
            of(ListQuery { project: Some("red"), ..open })?,
            of(ListQuery { status: Some(Status::Completed), ..open })?,
            of(ListQuery {
                project: Some("red"),
                status: Some(Status::Paused),
                kind: Some("review"),
                ..open
            })?,
        ])
    })?;

    assert_eq!(totals, [[6, 4], [4, 3], [3, 1], [1, 1]].map(|of| of.map(Some)));
    Ok(())
}
