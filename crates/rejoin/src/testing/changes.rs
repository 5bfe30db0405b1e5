//! Rules of following changes.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::model::{ConversationId, Time};
use crate::store::{Change, Children, Note, PreviewUpdate, Read, Rewritten, Stamp, Target, What};
use crate::testing::draft::{DraftTurn, at, conversation, link, message};
use crate::testing::trial::Trial;

/// Longer than any machine takes to tell a change that has happened.
const LONG: Duration = Duration::from_secs(60);

/// What happened after a stamp, each told once, and the stamp of the last.
fn told(store: &dyn Read, after: Stamp) -> Result<(Vec<(ConversationId, What)>, Stamp)> {
    let (mut all, mut last) = (Vec::new(), after);
    loop {
        let changes = store.changes(last, Duration::ZERO)?;
        let fresh: Vec<_> = changes.into_iter().filter(|change| change.stamp > last).collect();
        let Some(newest) = fresh.last() else { return Ok((all, last)) };
        last = newest.stamp;
        all.extend(fresh.into_iter().map(|change| (change.conversation, change.what)));
    }
}

/// Changes are reported oldest first.
pub(super) fn changes_are_reported_oldest_first(trial: &mut Trial<'_>) -> Result<()> {
    for number in [2, 3, 1] {
        DraftTurn::opening(conversation(number)).append(trial.store())?;
    }

    let order = trial.observe(|store| {
        let changes = store.changes(0, Duration::ZERO)?;
        assert!(changes.is_sorted_by_key(|change| change.stamp), "stamps grow");
        Ok(changes.into_iter().map(|change| change.conversation).collect::<Vec<_>>())
    })?;

    assert_eq!(order, [2, 3, 1].map(conversation));
    Ok(())
}

/// Every change is reported, possibly more than once, never skipped.
pub(super) fn every_change_is_reported(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two) = (conversation(1), conversation(2));
    DraftTurn::opening(one).append(trial.store())?;
    DraftTurn::to(one).say("a", "", "hi").say("b", "a", "ho").append(trial.store())?;
    trial.store().amend(one, Some(1), &Change::Note(message("a"), Note::default()), at(900))?;
    DraftTurn::opening(two).say("c", "", "hi").append(trial.second().as_ref())?;
    let ids = [message("b")];
    let leaf = Target::Messages { conversation: one, ids: &ids, children: Children::Refuse };
    trial.store().remove(&[leaf, Target::Conversation(two)], "tidying", at(900))?;

    let (changes, _) = trial.observe(|store| told(store, 0))?;

    let reason = "tidying".to_owned();
    let expected = [
        (one, What::Stored { messages: 0 }),
        (one, What::Stored { messages: 2 }),
        (one, What::Changed),
        (two, What::Stored { messages: 1 }),
        (one, What::Trimmed { reason: reason.clone() }),
        (two, What::Deleted { reason }),
    ];
    assert_eq!(changes, expected);
    let stamps: Vec<Stamp> =
        trial.store().changes(0, Duration::ZERO)?.iter().map(|change| change.stamp).collect();
    for (place, stamp) in stamps.iter().enumerate() {
        let (rest, _) = trial.observe(|store| told(store, *stamp))?;
        assert_eq!(rest, expected[place + 1..]);
    }
    Ok(())
}

/// An answer of fewer than ten changes has all of them.
pub(super) fn an_answer_of_few_changes_has_all(trial: &mut Trial<'_>) -> Result<()> {
    for number in 1..=12 {
        DraftTurn::opening(conversation(number)).append(trial.store())?;
    }
    let all = told(trial.store(), 0)?.0.len();
    let stamps = trial.store().changes(0, Duration::ZERO)?.into_iter().map(|change| change.stamp);

    for (told, stamp) in std::iter::once(0).chain(stamps).enumerate() {
        let answer = trial.observe(|store| Ok(store.changes(stamp, Duration::ZERO)?.len()))?;
        assert!(answer >= 10 || answer + told == all, "{answer} changes of {all} after {told}");
    }
    Ok(())
}

/// A removal is reported with its reason.
pub(super) fn a_removal_is_reported_with_its_reason(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    DraftTurn::opening(id).say("a", "", "hi").append(trial.store())?;
    let (_, before) = told(trial.store(), 0)?;
    let ids = [message("a")];
    let messages = Target::Messages { conversation: id, ids: &ids, children: Children::Refuse };
    trial.store().remove(&[messages], "by request", at(900))?;
    trial.store().remove(&[Target::Conversation(id)], "too old", at(900))?;

    let (changes, _) = trial.observe(|store| told(store, before))?;

    let trimmed = What::Trimmed { reason: "by request".to_owned() };
    let deleted = What::Deleted { reason: "too old".to_owned() };
    assert_eq!(changes, [(id, trimmed), (id, deleted)]);
    Ok(())
}

/// A rewrite is reported as one.
pub(super) fn a_rewrite_is_reported_as_one(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    DraftTurn::opening(id).say("a", "", "hi").append(trial.store())?;
    let (_, before) = told(trial.store(), 0)?;
    let messages = [Rewritten { id: message("a"), link: link("b"), body: "{}" }];
    let rewrite = Change::Rewrite { messages: &messages, previews: PreviewUpdate::default() };
    trial.store().amend(id, None, &rewrite, at(900))?;
    trial.store().amend(id, None, &Change::Head(None), at(900))?;

    let (changes, _) = trial.observe(|store| told(store, before))?;

    assert_eq!(changes, [(id, What::Rewritten), (id, What::Changed)]);
    Ok(())
}

/// A change is reported with the time it was made at.
pub(super) fn a_change_is_reported_with_its_time(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    DraftTurn::opening(id).say("a", "", "hi").append(trial.store())?;
    let (_, before) = told(trial.store(), 0)?;
    trial.store().amend(id, None, &Change::Head(None), at(901))?;
    let messages = Target::Messages { conversation: id, ids: &[message("a")], children: Children::Refuse };
    trial.store().remove(&[messages], "by request", at(902))?;
    trial.store().remove(&[Target::Conversation(id)], "by request", at(903))?;

    let times: Vec<Time> = trial.observe(|store| {
        Ok(store.changes(before, Duration::ZERO)?.into_iter().map(|change| change.at).collect())
    })?;

    assert_eq!(times, [at(901), at(902), at(903)]);
    Ok(())
}

/// Without a change the answer is empty after the wait.
pub(super) fn without_a_change_the_answer_is_empty_after_the_wait(trial: &mut Trial<'_>) -> Result<()> {
    const SHORT: Duration = Duration::from_millis(20);
    DraftTurn::opening(conversation(1)).append(trial.store())?;
    let (_, stamp) = told(trial.store(), 0)?;

    let answer = trial.observe(|store| {
        let began = Instant::now();
        let changes = store.changes(stamp, SHORT)?;
        Ok((changes, began.elapsed() >= SHORT))
    })?;

    assert_eq!(answer, (vec![], true));
    Ok(())
}

/// A change ends the wait.
pub(super) fn a_change_ends_the_wait(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two) = (conversation(1), conversation(2));
    DraftTurn::opening(one).append(trial.store())?;
    let (_, stamp) = told(trial.store(), 0)?;
    let (store, second) = (trial.store(), trial.second());
    // One follows its own store, one a store that another wrote to. The waits have no end but the change.
    let wait = |store: &dyn Read| {
        let first = store.changes(stamp, Duration::MAX)?;
        Ok(first.into_iter().map(|change| (change.conversation, change.what)).collect::<Vec<_>>())
    };

    let (own, other) = std::thread::scope(|scope| {
        let own = scope.spawn(|| wait(store));
        let other = scope.spawn(|| wait(second.as_ref()));
        let appended = DraftTurn::opening(two).append(store);
        (appended.and_then(|_| own.join().expect("a wait does not panic")), other.join().expect("nor here"))
    });

    let expected = [(two, What::Stored { messages: 0 })];
    assert_eq!((own?.as_slice(), other?.as_slice()), (&expected[..], &expected[..]));
    let began = Instant::now();
    store.changes(stamp, LONG)?;
    assert!(began.elapsed() < LONG, "a change that has happened is not waited for");
    Ok(())
}

/// A stamp taken before the store was reopened stays good.
pub(super) fn a_stamp_from_before_reopening_stays_good(trial: &mut Trial<'_>) -> Result<()> {
    DraftTurn::opening(conversation(1)).append(trial.store())?;
    let (_, stamp) = told(trial.store(), 0)?;
    trial.reopen();
    DraftTurn::opening(conversation(2)).append(trial.store())?;
    trial.reopen();

    let (changes, _) = trial.observe(|store| told(store, stamp))?;

    assert_eq!(changes, [(conversation(2), What::Stored { messages: 0 })]);
    Ok(())
}
