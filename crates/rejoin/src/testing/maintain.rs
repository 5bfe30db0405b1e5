//! Rules of background work.

use std::time::Duration;

use crate::error::Result;
use crate::model::{Branch, WordQuery};
use crate::store::{
    Change, Changed, Found, Hit, Progress, Read, Safety, SearchOrder, SearchQuery, Store, Target, Task,
};
use crate::testing::draft::{DraftTurn, at, conversation, message, state};
use crate::testing::look::{Visible, visible};
use crate::testing::trial::Trial;

const TASKS: [Task; 4] = [Task::Index, Task::Checkpoint, Task::Repack, Task::Check];

/// Some of everything.
fn some(trial: &Trial<'_>) -> Result<()> {
    let store = trial.store();
    DraftTurn::opening(conversation(1)).say("a", "", "word one").say("b", "a", "word two").append(store)?;
    DraftTurn::opening(conversation(2)).say("c", "", "word three").append(store)?;
    store.put(&[state(b"name", Some(b"bytes"))], Safety::Unsynced)?;
    let branch = Branch { id: message("q"), title: "here".to_owned(), head: message("a") };
    store.amend(conversation(1), Some(1), &Change::Branch(&branch), at(900))?;
    Ok(())
}

/// All that a reader can find out.
#[derive(Clone, Debug, PartialEq)]
struct StoreAnswers {
    visible: Visible,
    hits: Vec<Hit>,
    found: Vec<Found>,
    changes: Vec<Changed>,
}

fn answers(store: &dyn Read) -> Result<StoreAnswers> {
    let query = SearchQuery {
        words: &WordQuery::parse("word"),
        conversation: None,
        project: None,
        role: None,
        since: None,
        order: SearchOrder::Newest,
        after: None,
        limit: 100,
    };
    let mut found = store.find("", 100)?;
    found.sort_by_key(|found| (found.conversation, found.message));
    Ok(StoreAnswers {
        visible: visible(store)?,
        hits: store.search(&query)?.items,
        found,
        changes: store.changes(0, Duration::ZERO)?,
    })
}

/// Nothing a reader can see changes.
pub(super) fn maintenance_changes_nothing_a_reader_can_see(trial: &mut Trial<'_>) -> Result<()> {
    some(trial)?;
    let before = answers(trial.store())?;

    let after = trial.observe(|store| {
        TASKS
            .iter()
            .map(|task| {
                store.maintain(*task, Duration::from_millis(1))?;
                answers(store)
            })
            .collect::<Result<Vec<_>>>()
    })?;

    assert_eq!(after, vec![before; TASKS.len()]);
    Ok(())
}

/// Repeats a task until nothing is left; gives up after far more repetitions than there is work.
fn finish(store: &dyn Store, task: Task, budget: Duration) -> Result<Option<Progress>> {
    for _ in 0..100 {
        let progress = store.maintain(task, budget)?;
        if progress.left == 0 {
            return Ok(Some(progress));
        }
    }
    Ok(None)
}

/// Repeating it until nothing is left ends, whatever the budget.
pub(super) fn maintenance_ends_whatever_the_budget(trial: &mut Trial<'_>) -> Result<()> {
    some(trial)?;

    let ended = trial.observe(|store| {
        let mut ended = Vec::new();
        for task in TASKS {
            for budget in [Duration::ZERO, Duration::MAX] {
                ended.push(finish(store, task, budget)?.is_some());
            }
        }
        Ok(ended)
    })?;

    assert_eq!(ended, [true; 2 * TASKS.len()]);
    Ok(())
}

/// A sound store has no faults.
pub(super) fn a_sound_store_has_no_faults(trial: &mut Trial<'_>) -> Result<()> {
    // A removal between two checks: the second must not be misled by what the first remembers.
    DraftTurn::opening(conversation(1)).say("a", "", "word").append(trial.store())?;
    trial.store().maintain(Task::Index, Duration::MAX)?;
    trial.reopen();
    let check = |store: &dyn Store| Ok(store.maintain(Task::Check, Duration::MAX)?.faults);
    let before = check(trial.store())?;
    trial.store().remove(&[Target::Conversation(conversation(1))], "tidying", at(900))?;

    let after = trial.observe(check)?;

    assert_eq!((before, after), (vec![], vec![]));
    Ok(())
}
