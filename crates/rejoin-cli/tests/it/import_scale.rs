//! Large imports: how much memory they take, how often they tell how far they are, and what a kill leaves.
//!
//! `REJOIN_LOAD_MB` makes the large one larger; a gigabyte takes minutes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rejoin::store::Order;
use rejoin::{Archive, ConversationId, Digest, Message, MessageId};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::skip::tell;
use crate::world::World;

/// A large import shows lines from 16 MiB on.
const MEGABYTES: u64 = 20;

/// What an import may hold in memory, whatever it reads.
const MEMORY_KB: u64 = 200 * 1024;

/// What an import may work without a word. It tells every half second, which two threads fill with a second
/// of work; the rest is for a line that is read late.
const LONGEST_SILENCE: Duration = Duration::from_secs(3);

/// Writes a session of Claude Code of about so many bytes: questions, replies in two lines, results of tools.
fn write_session(path: &Path, session: &str, bytes: u64, dice: &mut Dice) {
    let words: Vec<String> = (0..500).map(|_| format!("{:x}", dice.below(1 << 24))).collect();
    let mut text = || {
        let from = dice.below(300) as usize;
        words[from..from + 20 + dice.below(180) as usize].join(" ")
    };
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut parent: Option<String> = None;
    let (mut written, mut turn) = (0, 0);
    while written < bytes {
        let id = |kind: &str| format!("{session}-{kind}{turn}");
        let response = |block: Value| json!({"id": format!("m{turn}"), "model": "m", "role": "assistant", "content": [block]});
        let call = format!("t{turn}");
        let result = json!([{"type": "tool_result", "tool_use_id": call, "content": text()}]);
        let said = [
            ("user", id("u"), parent.take(), json!({"role": "user", "content": text()})),
            ("assistant", id("a"), Some(id("u")), response(json!({"type": "text", "text": text()}))),
            (
                "assistant",
                id("b"),
                Some(id("a")),
                response(
                    json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text()}}),
                ),
            ),
            ("user", id("r"), Some(id("b")), json!({"role": "user", "content": result})),
        ];
        for (kind, uuid, parent, message) in said {
            let line = json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": session, "cwd": "/p",
                "timestamp": "2026-01-02T03:04:05.000Z", "message": message});
            let line = line.to_string();
            written += line.len() as u64 + 1;
            writeln!(file, "{line}").unwrap();
        }
        parent = Some(id("r"));
        turn += 1;
    }
    file.flush().unwrap();
}

fn session_id(place: u64) -> String {
    format!("c833a56b-45d4-4ced-8b45-{place:012}")
}

/// A directory of sessions, beside the worlds that import them.
fn sessions(count: u64, bytes: u64, dice: &mut Dice) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for place in 0..count {
        let session = session_id(place);
        write_session(&directory.path().join(format!("{session}.jsonl")), &session, bytes, dice);
    }
    directory
}

/// Everything that an import brings, without when it was done and in which batches.
#[derive(Debug, PartialEq)]
struct Brought {
    id: ConversationId,
    title: Option<String>,
    head: Option<MessageId>,
    counts: (u64, u64),
    messages: Vec<(MessageId, Option<MessageId>, u32, Digest, Message)>,
    sources: Vec<Option<String>>,
    is_sound: bool,
}

fn brought(archive: &Archive) -> (Vec<Brought>, Vec<rejoin::Project>) {
    let mut all: Vec<Brought> = archive
        .list(&rejoin::List { limit: 1_000, ..Default::default() })
        .unwrap()
        .items
        .into_iter()
        .map(|stored| {
            let id = stored.id;
            let messages = archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
            Brought {
                id,
                title: stored.conversation.title,
                head: stored.head.map(|head| head.id),
                counts: (stored.messages, stored.bytes),
                sources: messages
                    .iter()
                    .map(|one| archive.imports().source_of(id, one.id).unwrap())
                    .collect(),
                messages: messages
                    .into_iter()
                    .map(|one| (one.id, one.parent, one.seq, one.digest, one.message))
                    .collect(),
                is_sound: archive.maintenance().verify(id).unwrap().is_sound(),
            }
        })
        .collect();
    all.sort_by_key(|one| one.id);
    (all, archive.projects().list().unwrap())
}

fn messages(archive: &Archive) -> u64 {
    let listed = archive.list(&rejoin::List { limit: 1_000, ..Default::default() }).unwrap();
    listed.items.iter().map(|one| one.messages).sum()
}

/// Kills imports at random moments, lets one finish, and compares with one that was never killed.
fn kill_and_resume(make: fn() -> World, kills: u32) {
    let mut dice = Dice::thrown();
    let sessions = sessions(6, 800_000, &mut dice);
    // A session whose head is not its last message.
    let branch = json!({"type": "last-prompt", "lastPrompt": "x", "leafUuid": format!("{}-a0", session_id(0)),
        "sessionId": session_id(0)});
    let first = sessions.path().join(format!("{}.jsonl", session_id(0)));
    writeln!(File::options().append(true).open(first).unwrap(), "{branch}").unwrap();
    let (clean, torn) = (make(), make());
    let path = sessions.path().to_str().unwrap();

    let once = clean.rejoin(["import", path]).run();
    let all = messages(&clean.archive());
    let mut killed = 0;
    for _ in 0..kills {
        let mut child =
            torn.program(&["import", path]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let archive = torn.archive();
        let there = messages(&archive);
        let goal = there + dice.below((all - there) / 4 + 1);
        while child.try_wait().unwrap().is_none() && messages(&archive) < goal {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(dice.shorter_than(Duration::from_millis(20)));
        child.kill().unwrap();
        killed += u32::from(child.wait().unwrap().code().is_none());
    }
    let left = all - messages(&torn.archive());
    let last = torn.rejoin(["import", path]).run();

    tell(&format!(
        "{killed} of {kills} imports were killed; {left} of {all} messages were left for the last"
    ));
    assert_eq!((once.code, last.code), (0, 0), "{once:?} {last:?}");
    assert!(killed > 0);
    assert_eq!(brought(&torn.archive()), brought(&clean.archive()));
}

#[test]
fn an_import_that_is_killed_again_and_again_ends_as_one_that_was_not() {
    kill_and_resume(World::new, 8);
}

#[test]
fn so_does_one_into_plain_files() {
    kill_and_resume(World::of_files, 5);
}

#[test]
fn a_large_import_tells_how_far_it_is_and_stays_small() {
    let megabytes = std::env::var("REJOIN_LOAD_MB").map_or(MEGABYTES, |text| text.parse().unwrap());
    let sessions = sessions(1, megabytes * 1_000_000, &mut Dice::seeded(7));
    let world = World::new();
    let mut child = world.program(&["import", sessions.path().to_str().unwrap(), "--json"]).spawn().unwrap();
    let process = format!("/proc/{}", child.id());
    let mut memory = 0;
    let (mut longest, mut last, mut done) = (Duration::ZERO, Duration::ZERO, Vec::new());

    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let told: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let now = worked(&process);
        longest = longest.max(now.saturating_sub(last));
        last = now.max(last);
        memory = memory.max(peak(&format!("{process}/status")));
        done.push((told["progress"]["doing"] == "Importing", told["progress"]["done"].as_u64().unwrap()));
    }
    let all = worked(&process);
    longest = longest.max(all.saturating_sub(last));

    tell(&format!(
        "{megabytes} MB: {} lines in {all:.1?} of work, longest silence {longest:.1?}, {memory} kB",
        done.len()
    ));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let bytes: Vec<u64> = done.iter().filter(|(is_import, _)| *is_import).map(|(_, bytes)| *bytes).collect();
    assert!(bytes.len() > 1 && bytes.is_sorted(), "{bytes:?}");
    assert!(longest < LONGEST_SILENCE, "{longest:?}");
    assert!(memory < MEMORY_KB, "{memory} kB");
}

/// How long a process has worked, on all processors together. A busy machine adds nothing to it.
fn worked(directory: &str) -> Duration {
    let text = fs::read_to_string(format!("{directory}/stat")).unwrap_or_default();
    // The name of the program may hold anything but ends with the last parenthesis.
    let figures = text.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    let ticks: u64 = figures.filter_map(|figure| figure.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The most memory that a process had, in kB.
pub(crate) fn peak(status: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
