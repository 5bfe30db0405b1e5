//! The lines that were typed at a prompt, and which of them go.

use rejoin::parts::ArchiveState;
use rejoin::{Archive, Conversation, ConversationId, Message, PurgeReason, Retention, Sweep, Swept, Time};

use super::archive;

const PROJECT: &str = "/home/ada/engine";

fn typed(archive: &Archive, lines: &[&str]) {
    lines.iter().for_each(|line| archive.state().keep_prompt_line(PROJECT, line).unwrap());
}

fn said(archive: &Archive, title: &str, message: &str) -> ConversationId {
    let mut handle = archive.start(Conversation::titled(title)).unwrap();
    handle.append(Message::user(message)).unwrap();
    handle.id()
}

fn purge(archive: &Archive, ids: &[ConversationId]) {
    let report = archive.removal().purge(ids, PurgeReason::UserRequested, &mut |_| ());
    assert_eq!(report.failures, []);
}

#[test]
fn only_the_newest_lines_are_kept() {
    let archive = archive();
    let lines: Vec<String> =
        (0..ArchiveState::PROMPT_HISTORY_LINES + 2).map(|number| format!("line {number}")).collect();

    lines.iter().for_each(|line| archive.state().keep_prompt_line(PROJECT, line).unwrap());
    typed(
        &archive,
        &[" a secret", "  ", "", &"long".repeat(4096), &lines[ArchiveState::PROMPT_HISTORY_LINES + 1]],
    );

    assert_eq!(archive.state().prompt_history(PROJECT), lines[2..]);
    assert_eq!(archive.state().prompt_history("/home/ada/other"), Vec::<String>::new());
}

#[test]
fn lines_that_say_what_is_purged_are_forgotten() {
    let archive = archive();
    let lines = ["my bicycle is green", "/tree", "//etc is full", "/title Green bicycle", "and in Lisbon?"];
    typed(&archive, &lines);
    let first = said(&archive, "Green bicycle", "my bicycle is green");
    let second = said(&archive, "Disk", "/etc is full");

    purge(&archive, &[first, second]);

    assert_eq!(archive.state().prompt_history(PROJECT), ["/tree", "and in Lisbon?"]);
}

#[test]
fn a_line_of_a_sub_agents_run_is_forgotten_with_what_started_it() {
    let archive = archive();
    typed(&archive, &["look in the shed", "and in Lisbon?"]);
    let mut talk = archive.start(Conversation::titled("Bicycle")).unwrap();
    let asked = talk.append(Message::user("Where is it?")).unwrap().head;
    let mut run = archive.subagents().start(talk.id(), asked, "scout", "1").unwrap();
    run.append(Message::user("look in the shed")).unwrap();

    purge(&archive, &[talk.id()]);

    assert_eq!(archive.state().prompt_history(PROJECT), ["and in Lisbon?"]);
}

#[test]
fn lines_that_say_what_expires_are_forgotten() {
    let archive = archive();
    typed(&archive, &["my bicycle is green", "and in Lisbon?"]);
    let id = said(&archive, "Bicycle", "my bicycle is green");
    archive.update(id, |header| header.expires_at = Some(Time::from_micros(1))).unwrap();

    let sweep = Sweep { project: None, retention: Retention::FOREVER, active: &[], is_alive: &|_| false };
    let Swept::Done(report) = archive.retention().sweep(&sweep).unwrap() else { panic!("it waits") };

    assert_eq!(
        (report.purged, archive.state().prompt_history(PROJECT)),
        (vec![id], vec!["and in Lisbon?".to_owned()])
    );
}

#[test]
fn purging_everything_forgets_every_line() {
    let archive = archive();
    typed(&archive, &["my bicycle is green"]);

    archive.removal().purge_everything(PurgeReason::WorkspaceReset, &mut |_| ()).unwrap();

    assert_eq!(archive.state().prompt_history(PROJECT), Vec::<String>::new());
}
