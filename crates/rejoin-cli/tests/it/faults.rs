//! Writes and syncs that fail, each in its turn: told, nothing acknowledged is lost, and the next run works.

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

use rejoin::{Archive, Conversation, Message};

use crate::feed::{Ended, Feed};
use crate::ledger::{Ledger, line};
use crate::skip::tell;
use crate::strace::Strace;
use crate::world::World;

/// How many turns a run is given.
const TURNS: usize = 3;

/// No run makes so many calls of one kind, unless it creates the store.
const MOST: usize = 400;

/// One call fails, the others succeed. The number of the call stands for `#`.
const ONE: [&str; 4] = [
    "fdatasync:error=EIO:when=#",
    "pwrite64:error=EIO:when=#",
    "pwrite64:error=ENOSPC:when=#",
    "pwrite64:error=EDQUOT:when=#",
];

/// One call fails, and all that come after it.
const ALL_FROM: [&str; 4] = [
    "fdatasync:error=EIO:when=#+",
    "pwrite64:error=EIO:when=#+",
    "pwrite64:error=ENOSPC:when=#+",
    "pwrite64:error=EDQUOT:when=#+",
];

/// A store, and runs on it of which one call fails.
#[derive(Debug)]
struct Trial {
    strace: Strace,
    world: World,
    ledger: Ledger,
}

impl Trial {
    fn new(strace: Strace, world: World) -> Self {
        Self { strace, world, ledger: Ledger::default() }
    }

    /// Fails the first call, the second, and so on, until there is no such call; returns how many failed.
    fn sweep(&mut self, fault: &str) -> Result<usize, String> {
        for number in 1..MOST {
            if !self.fail(&fault.replace('#', &number.to_string()))? {
                return Ok(number - 1);
            }
        }
        Err(format!("{fault} has no end"))
    }

    /// Lets one run fail; the answer is whether there was such a call.
    fn fail(&mut self, fault: &str) -> Result<bool, String> {
        let blamed = |fault_found: String| format!("{fault}: {fault_found}");
        let trace = self.world.path("trace");
        let program = self.world.program(&["append", "--jsonl", "-"]);
        let ended = self.append(self.strace.inject(&program, fault, &trace));
        self.ledger.audit(&self.world.archive(), &ended.receipts).map_err(blamed)?;
        check_told(&ended).map_err(blamed)?;
        Ok(Strace::has_injected(&trace))
    }

    /// A run in which nothing fails, and a look at everything.
    fn finish(&mut self) -> Result<(), String> {
        let ended = self.append(self.world.program(&["append", "--jsonl", "-"]));
        self.ledger.audit(&self.world.archive(), &ended.receipts)?;
        if (ended.code, ended.receipts.len()) != (Some(0), TURNS) {
            return Err(ended.stderr);
        }
        self.ledger.close(&self.world.archive())
    }

    fn append(&self, program: Command) -> Ended {
        let first = self.ledger.turns;
        Feed::start(program, (first..first + TURNS).map(line)).end()
    }
}

/// A run ends in success with every receipt, or says what failed where.
fn check_told(ended: &Ended) -> Result<(), String> {
    let is_right = match ended.code {
        Some(0) => ended.receipts.len() == TURNS,
        Some(1) => {
            ended.receipts.len() < TURNS
                && ended.stderr.contains("error: ")
                && ["rejoin.db`", "rejoin`", "/conversations", "changes"]
                    .iter()
                    .any(|place| ended.stderr.contains(place))
        }
        _ => false,
    };
    if is_right { Ok(()) } else { Err(format!("{:?} {}", ended.code, ended.stderr)) }
}

#[test]
fn every_write_and_sync_of_an_append_may_fail() {
    let Some(strace) = Strace::find() else { return };
    let mut trial = Trial::new(strace, World::new());
    trial.finish().unwrap();

    let failed = ONE.map(|fault| trial.sweep(fault));

    tell(&format!("calls that failed in turn, of an append: {failed:?}"));
    assert_eq!(failed.into_iter().find_map(Result::err), None);
    assert_eq!(trial.finish(), Ok(()));
}

#[test]
fn all_writes_and_syncs_from_one_on_may_fail() {
    let Some(strace) = Strace::find() else { return };
    let mut trial = Trial::new(strace, World::new());
    trial.finish().unwrap();
    let faults = ALL_FROM
        .iter()
        .flat_map(|fault| [1, 2, 3, 5, 8, 13, 21, 34].map(|number| fault.replace('#', &number.to_string())));

    let failed: Result<Vec<bool>, String> = faults.map(|fault| trial.fail(&fault)).collect();

    assert_eq!(failed.map(|failed| failed.into_iter().filter(|was_met| *was_met).count() > 16), Ok(true));
    assert_eq!(trial.finish(), Ok(()));
}

#[test]
fn every_write_and_sync_of_an_append_to_plain_files_may_fail() {
    let Some(strace) = Strace::find() else { return };
    let mut trial = Trial::new(strace, World::of_files());
    trial.finish().unwrap();

    let failed = ONE.into_iter().chain(["ftruncate:error=EIO:when=#"]).map(|fault| trial.sweep(fault));
    let failed: Vec<Result<usize, String>> = failed.collect();

    tell(&format!("calls that failed in turn, of an append to plain files: {failed:?}"));
    assert_eq!(failed.into_iter().find_map(Result::err), None);
    assert_eq!(trial.finish(), Ok(()));
}

#[test]
fn writes_and_syncs_of_a_first_run_with_plain_files_may_fail() {
    let Some(strace) = Strace::find() else { return };
    let calls = ["fsync:error=EIO", "fdatasync:error=EIO", "pwrite64:error=EIO", "pwrite64:error=ENOSPC"];
    let faults = calls.iter().flat_map(|call| (1..12).map(move |number| format!("{call}:when={number}")));

    let outcomes: Result<Vec<bool>, String> =
        faults.map(|fault| fail_first_run(strace, World::of_files(), &fault)).collect();

    let met = outcomes.map(|outcomes| outcomes.into_iter().filter(|was_met| *was_met).count());
    tell(&format!("calls that failed, of a first run with plain files: {met:?}"));
    assert!(met.is_ok_and(|met| met > 15));
}

/// Fails one call of a first run, then lets another finish in that home; the
/// answer is whether there was such a call.
fn fail_first_run(strace: Strace, world: World, fault: &str) -> Result<bool, String> {
    let mut trial = Trial::new(strace, world);
    let was_met = trial.fail(fault)?;
    trial.finish().map_err(|found| format!("after {fault}: {found}"))?;
    Ok(was_met)
}

#[test]
fn writes_and_syncs_of_a_first_run_may_fail() {
    let Some(strace) = Strace::find() else { return };
    let syncs = (1..12).flat_map(|number| {
        [format!("fsync:error=EIO:when={number}"), format!("fdatasync:error=EIO:when={number}")]
    });
    // The first writes make the schema, most of the others give the log its length.
    let writes = (1..90).step_by(6).chain((90..800).step_by(97)).flat_map(|number| {
        [format!("pwrite64:error=EIO:when={number}"), format!("pwrite64:error=ENOSPC:when={number}+")]
    });

    let outcomes: Result<Vec<bool>, String> =
        syncs.chain(writes).map(|fault| fail_first_run(strace, World::new(), &fault)).collect();

    let met = outcomes.map(|outcomes| outcomes.into_iter().filter(|was_met| *was_met).count());
    tell(&format!("calls that failed, of a first run: {met:?}"));
    assert!(met.is_ok_and(|met| met > 20));
}

#[test]
fn a_sync_that_fails_ends_the_run_with_the_receipts_before_it() {
    let Some(strace) = Strace::find() else { return };
    let world = World::new();
    world.rejoin(["append", "the store is there"]).run();
    let program = world.program(&["append", "--jsonl", "-"]);
    // The first turn syncs the log and its directory. A later sync would succeed.
    let program = strace.inject(&program, "fdatasync:error=EIO:when=3", &world.path("trace"));

    let ended = Feed::start(program, (0..6).map(line)).end();

    let place = world.path("home/.local/share/rejoin/rejoin.db");
    let expected = format!(
        "error: could not append line 2 of the input: could not write to the database `{}`: could not append a turn: disk I/O error\n\
         hint: the lines before it are stored; send this one and the rest again\n",
        place.display()
    );
    assert_eq!((ended.receipts.len(), ended.code, ended.stderr), (1, Some(1), expected));
}

/// Names the store of a child process.
const STORE: &str = "REJOIN_TEST_STORE";

/// What the child process does: it goes on after a failure, as a server would.
fn go_on(url: &str) {
    let archive = Archive::open(url).unwrap();
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    for turn in 0..6 {
        let outcome = handle.append(Message::user(format!("turn {turn}")));
        tell(&format!("outcome: {}", outcome.map_or_else(|error| chain(&error), |_| "stored".to_owned())));
    }
}

/// An error with its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |error| (*error).source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Runs the child process with a call that fails; what became of each append, and what is stored.
fn go_on_after(strace: Strace, fault: &str) -> (Vec<String>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("history.db").display());
    drop(Archive::open(&url).unwrap());
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["--exact", "faults::after_a_sync_that_failed_a_process_acknowledges_nothing_more"]);
    program.env(STORE, &url).current_dir(directory.path()).stdin(Stdio::null());
    let output = strace.inject(&program, fault, Path::new("/dev/null")).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let outcomes =
        told.lines().filter_map(|line| line.strip_prefix("outcome: ")).map(str::to_owned).collect();
    let archive = Archive::open(&url).unwrap();
    let listed = archive.list(&rejoin::List::default()).unwrap().items;
    let stored = archive.path(listed[0].id, None).unwrap();
    (outcomes, stored.iter().map(|seen| seen.message.text()).collect())
}

#[test]
fn after_a_sync_that_failed_a_process_acknowledges_nothing_more() {
    // The process that is watched is this test again, told which store to use.
    if let Ok(url) = env::var(STORE) {
        return go_on(&url);
    }
    let Some(strace) = Strace::find() else { return };

    // One sync of the log and one of its directory start the conversation; the
    // fourth is that of the second turn.
    let (outcomes, stored) = go_on_after(strace, "fdatasync:error=EIO:when=4");

    let refused = "an earlier write failed, so this store accepts no more until it is reopened";
    let is_refused = |outcome: &String| outcome.ends_with(refused);
    assert_eq!((outcomes.len(), outcomes[0].as_str()), (6, "stored"));
    assert!(outcomes[1..].iter().all(|own| own.starts_with("write to the database `")), "{outcomes:?}");
    assert!(!is_refused(&outcomes[1]) && outcomes[2..].iter().all(is_refused), "{outcomes:?}");
    // The turn whose sync failed may be there; nobody was told that it is.
    assert!(stored == ["turn 0"] || stored == ["turn 0", "turn 1"], "{stored:?}");
}

#[test]
fn after_a_write_that_found_no_room_a_process_goes_on() {
    let Some(strace) = Strace::find() else { return };
    let reasons = [
        ("ENOSPC", "the disk is full"),
        ("EDQUOT", "the disk quota is used up"),
        ("EFBIG", "the file may not grow any more"),
    ];
    let told: Vec<String> = (0..6).map(|turn| format!("turn {turn}")).collect();

    for (number, reason) in reasons {
        let (outcomes, stored) = go_on_after(strace, &format!("pwrite64:error={number}:when=40"));

        let turns = || told.iter().zip(&outcomes);
        let acknowledged: Vec<&String> =
            turns().filter(|(_, outcome)| *outcome == "stored").map(|(turn, _)| turn).collect();
        let refused: Vec<&String> = outcomes.iter().filter(|outcome| *outcome != "stored").collect();
        assert_eq!((acknowledged.len(), stored.iter().collect::<Vec<_>>()), (5, acknowledged), "{number}");
        assert!(refused.iter().all(|outcome| outcome.ends_with(reason)), "{refused:?}");
    }
}

/// Names the store of a child process that records a talk.
const RECORDED: &str = "REJOIN_TEST_RECORDED";

#[test]
fn what_a_quota_keeps_from_being_saved_waits_and_is_told() {
    if let Ok(url) = env::var(RECORDED) {
        let archive = Archive::open(&url).unwrap();
        let mut recorder = archive.record(archive.start(Conversation::titled("Lisbon")).unwrap(), "1@1");
        for turn in 0..6 {
            recorder.append(vec![Message::user(format!("turn {turn}"))]).unwrap();
        }
        return recorder.take_strains().iter().for_each(|strain| tell(&format!("strain: {}", strain.name())));
    }
    let Some(strace) = Strace::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("history.db").display());
    drop(Archive::open(&url).unwrap());
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["--exact", "faults::what_a_quota_keeps_from_being_saved_waits_and_is_told"]);
    program.env(RECORDED, &url).current_dir(directory.path()).stdin(Stdio::null());

    let fault = "pwrite64:error=EDQUOT:when=40+";
    let output = strace.inject(&program, fault, Path::new("/dev/null")).output().unwrap();

    let told = String::from_utf8(output.stderr).unwrap();
    let strains: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("strain: ")).collect();
    assert_eq!(strains, ["storage.capacity.exhausted"], "{told}");
}
