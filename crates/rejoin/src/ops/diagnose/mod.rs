//! Finding out what is wrong with a store and its place.

mod ailment;

use std::path::PathBuf;

pub use ailment::{Ailment, Severity};

use crate::error::{Error, ErrorKind};
use crate::model::Time;
use crate::ops::contents::Contents;
use crate::ops::verify::{survey, verify_conversation};
use crate::store::place::{self, Belonging};
use crate::store::{Examination, Foreign, Store, Task};

/// Below this it is time to look.
const LITTLE_SPACE: u64 = 256 << 20;

/// A log this long is not being folded, most likely because a program keeps an old view of the store open.
const LONG_LOG: u64 = 64 << 20;

/// Clocks of two machines differ; by more than this they are not both right.
const CLOCK_SLACK: i64 = 5 * 60 * 1_000_000;

/// No clock that is right shows a time before this program was written: 2025-01-01.
const WRITTEN: Time = Time::from_micros(1_735_689_600_000_000);

/// Searching this many messages one by one is felt.
const UNINDEXED: u64 = 1_000;

/// Who asks, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewpoint {
    /// The number of the user whose store it should be.
    pub user: u32,
    /// What the clock says.
    pub now: Time,
    /// The program's own directory, which nobody else should look into.
    pub own_directory: Option<PathBuf>,
}

/// What was found out about a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// What is wrong, in the order of looking.
    pub ailments: Vec<Ailment>,
    /// False when there is no store yet.
    pub is_present: bool,
    /// The library underneath, by name and version.
    pub engine: String,
    /// The version of its schema.
    pub schema: Option<i32>,
    /// The size of its main file.
    pub bytes: u64,
    /// The size of the log beside it.
    pub log_bytes: u64,
    /// What may still be written there.
    pub free_bytes: Option<u64>,
    /// Other processes that have it open.
    pub users: Vec<u32>,
    /// How many messages the search index lacks.
    pub unindexed: u64,
    /// What is in it; none when it cannot be read.
    pub contents: Option<Contents>,
}

/// Judges what was found at the place of a store, before anything in it is read.
pub(crate) fn diagnose_place(found: &Examination, from: &Viewpoint) -> Diagnosis {
    let mut ailments = Vec::new();
    if from.now < WRITTEN {
        ailments.push(Ailment::ClockWrong { now: from.now });
    }
    for belonging in &found.belongings {
        ailments.extend(judge_belonging(belonging, from));
    }
    if let Some(name) = found.magic.and_then(place::network) {
        let path = found.belongings.first().map(|directory| directory.path.clone()).unwrap_or_default();
        ailments.push(Ailment::NetworkFileSystem { path, name });
    }
    ailments.extend(
        found.free_bytes.filter(|free| *free < LITTLE_SPACE).map(|free| Ailment::LittleSpace { free }),
    );
    ailments.extend(found.leftovers.iter().map(|path| Ailment::Leftover { path: path.clone() }));
    ailments.extend(found.kept.iter().map(|path| Ailment::KeptCopy { path: path.clone() }));
    if found.log_bytes > LONG_LOG {
        ailments.push(Ailment::LongLog { bytes: found.log_bytes });
    }
    if let Some(log) = found.belongings.iter().find(|own| is_log(own)).filter(|_| !found.is_present) {
        ailments.push(Ailment::LogWithoutStore { path: log.path.clone() });
    }
    ailments.extend(judge_opening(found));
    let opened = found.opened.as_ref().ok();
    Diagnosis {
        ailments,
        is_present: found.is_present,
        engine: found.engine.clone(),
        schema: opened.map(|opened| opened.schema),
        bytes: found.bytes,
        log_bytes: found.log_bytes,
        free_bytes: found.free_bytes,
        users: found.holders.users.clone(),
        unindexed: opened.map_or(0, |opened| opened.unindexed),
        contents: None,
    }
}

fn is_log(belonging: &Belonging) -> bool {
    belonging.path.to_string_lossy().ends_with("-wal")
}

fn judge_belonging(belonging: &Belonging, from: &Viewpoint) -> Vec<Ailment> {
    let Belonging { path, mode, owner, is_directory } = belonging.clone();
    let mut ailments = Vec::new();
    // Directories of the system belong to root; what lies in them must not.
    let is_ours = !is_directory || owner != 0 || from.own_directory.as_ref() == Some(&path);
    if owner != from.user && is_ours {
        ailments.push(Ailment::WrongOwner { path: path.clone(), owner, expected: from.user });
    }
    if let Some(wanted) = belonging.tighter(from.own_directory.as_deref()) {
        ailments.push(Ailment::OpenToOthers { path, mode, wanted });
    }
    ailments
}

fn judge_opening(found: &Examination) -> Option<Ailment> {
    let error = match &found.opened {
        Ok(opened) if opened.schema < found.newest_schema => {
            return Some(Ailment::OlderSchema { found: opened.schema, known: found.newest_schema });
        }
        Ok(opened) if opened.unindexed > UNINDEXED => {
            return Some(Ailment::IndexBehind { messages: opened.unindexed });
        }
        Ok(_) => return None,
        Err(error) => error,
    };
    // Whose it is and who can write it was told of each file.
    if Foreign::cause_of(error).is_some() {
        return None;
    }
    match error.kind() {
        ErrorKind::Locked => Some(Ailment::Held { process: found.holders.writers.first().copied() }),
        // The network file system was named with its own words.
        ErrorKind::Unsupported if found.magic.and_then(place::network).is_some() => None,
        ErrorKind::Unsupported => Some(Ailment::NewerSchema { why: chain(error) }),
        ErrorKind::NotFound if !found.is_present => None,
        ErrorKind::NotFound
        | ErrorKind::Conflict
        | ErrorKind::Corrupt
        | ErrorKind::Invalid
        | ErrorKind::Unavailable
        | ErrorKind::Denied => Some(unusable(error)),
    }
}

/// Looks through everything in an open store; `report` is told how many
/// conversations are done, and how many there are.
pub(crate) fn diagnose_contents(
    store: &dyn Store,
    now: Time,
    diagnosis: &mut Diagnosis,
    report: &mut dyn FnMut(u64, u64),
) {
    match store.maintain(Task::Check, std::time::Duration::MAX) {
        Ok(progress) => diagnosis.ailments.extend(
            progress
                .faults
                .into_iter()
                .map(|fault| Ailment::Damaged { conversation: fault.conversation, what: fault.what }),
        ),
        Err(error) => diagnosis.ailments.push(unusable(&error)),
    }
    let survey = match survey(store) {
        Ok(survey) => survey,
        Err(error) => return diagnosis.ailments.push(unusable(&error)),
    };
    let damage = |what| Ailment::Damaged { conversation: None, what };
    diagnosis.ailments.extend(survey.faults.into_iter().map(damage));
    let all = survey.conversations.len() as u64;
    for (done, conversation) in survey.conversations.into_iter().enumerate() {
        report(done as u64, all);
        match verify_conversation(store, conversation) {
            Ok(verdict) => diagnosis
                .ailments
                .extend(verdict.faults.into_iter().map(|what| Ailment::BrokenChain { conversation, what })),
            // It was deleted while this looked at the others.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => diagnosis.ailments.push(unusable(&error)),
        }
    }
    diagnosis.contents = crate::ops::contents::contents(store).ok();
    let newest = diagnosis.contents.and_then(|contents| contents.newest);
    if let Some(newest) = newest.filter(|newest| newest.as_micros() > now.as_micros() + CLOCK_SLACK) {
        diagnosis.ailments.push(Ailment::ClockBehindStore { newest, now });
    }
}

/// A failure to open or read, as an ailment.
pub(crate) fn unusable(error: &Error) -> Ailment {
    Ailment::Unusable { kind: error.kind(), why: chain(error) }
}

/// The message and every cause, in one line.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        text.push_str(": ");
        text.push_str(&deeper.to_string());
        cause = deeper.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreCondition;

    fn own(path: &str) -> Belonging {
        Belonging { path: path.into(), is_directory: false, mode: 0o600, owner: 7 }
    }

    fn at(now: Time) -> Viewpoint {
        Viewpoint { user: 7, now, own_directory: Some("/data".into()) }
    }

    fn sound() -> Examination {
        let directory = Belonging { path: "/data".into(), is_directory: true, mode: 0o700, owner: 7 };
        let file = own("/data/rejoin.db");
        Examination {
            belongings: vec![directory, file],
            is_present: true,
            magic: Some(0xEF53),
            free_bytes: Some(1 << 40),
            bytes: 1,
            log_bytes: 0,
            leftovers: Vec::new(),
            kept: Vec::new(),
            holders: Default::default(),
            opened: Ok(StoreCondition { schema: 2, unindexed: 0 }),
            engine: "SQLite".to_owned(),
            newest_schema: 2,
        }
    }

    fn ailments(found: &Examination) -> Vec<Ailment> {
        diagnose_place(found, &at(WRITTEN)).ailments
    }

    #[test]
    fn a_sound_store_has_no_ailments() {
        assert_eq!(ailments(&sound()), []);
    }

    #[test]
    fn a_network_file_system_is_told_once() {
        let refused = Error::new(ErrorKind::Unsupported, "refused");

        let found = Examination { magic: Some(0x6969), opened: Err(refused), ..sound() };

        assert_eq!(ailments(&found), [Ailment::NetworkFileSystem { path: "/data".into(), name: "NFS" }]);
    }

    #[test]
    fn a_lock_names_its_holder_where_the_system_tells() {
        let locked = || Err(Error::new(ErrorKind::Locked, "locked"));
        let mut named = Examination { opened: locked(), ..sound() };
        named.holders.writers = vec![812];
        let unnamed = Examination { opened: locked(), ..sound() };

        assert_eq!(ailments(&named), [Ailment::Held { process: Some(812) }]);
        assert_eq!(ailments(&unnamed), [Ailment::Held { process: None }]);
    }

    #[test]
    fn a_full_disk_is_a_problem_and_a_nearly_full_one_a_warning() {
        let severities = [1 << 20, 100 << 20].map(|free| {
            let found = Examination { free_bytes: Some(free), ..sound() };
            ailments(&found).first().map(Ailment::severity)
        });

        assert_eq!(severities, [Some(Severity::Problem), Some(Severity::Warning)]);
    }

    #[test]
    fn a_clock_from_before_this_program_was_written_is_wrong() {
        let now = Time::from_micros(0);

        let diagnosis = diagnose_place(&sound(), &at(now));

        assert_eq!(diagnosis.ailments, [Ailment::ClockWrong { now }]);
        assert_eq!(diagnosis.ailments[0].to_string(), "the clock says 1970-01-01 00:00Z, long past");
    }

    #[test]
    fn a_log_without_its_store_is_told() {
        let log = own("/data/rejoin.db-wal");
        let absent = Err(Error::not_found("there is no store"));

        let found =
            Examination { belongings: vec![log.clone()], is_present: false, opened: absent, ..sound() };

        assert_eq!(ailments(&found), [Ailment::LogWithoutStore { path: log.path }]);
    }
}
