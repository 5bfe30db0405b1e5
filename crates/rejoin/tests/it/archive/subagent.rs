//! Runs of sub-agents.

use std::collections::HashMap;

use rejoin::{
    Archive, Conversation, ConversationId, ErrorKind, List, Message, MessageId, Parent, Subagent, Subagents,
};

use super::{archive, said, talk};

/// A conversation with one message.
fn parent(archive: &Archive) -> (ConversationId, MessageId) {
    let mut handle = archive.start(Conversation::titled("Lisbon").in_project("/home/ada")).unwrap();
    let receipt = handle.append(Message::user("ask")).unwrap();
    (receipt.conversation, receipt.head)
}

fn labels(archive: &Archive, which: &Subagents) -> Vec<String> {
    let found = archive.subagents().list(which).unwrap();
    let mut labels: Vec<String> = found.iter().map(|stored| stored.subagent().unwrap().to_string()).collect();
    labels.sort();
    labels
}

#[test]
fn a_run_is_a_labelled_conversation_with_a_parent() {
    let archive = archive();
    let (conversation, message) = parent(&archive);

    let mut run = archive.subagents().start(conversation, message, "code-review", "a1b2c3d4").unwrap();
    run.append_turn(talk(&["review", "fine"])).unwrap();

    let stored = run.conversation().unwrap();
    assert_eq!(stored.title(), "subagent:code-review:a1b2c3d4");
    assert_eq!(stored.subagent(), Some(Subagent::new("code-review", "a1b2c3d4").unwrap()));
    assert_eq!(stored.parent(), Some(Parent { conversation, message: Some(message) }));
    assert_eq!(stored.conversation.project.as_deref(), Some("/home/ada"));
    assert_eq!(said(&run.path().unwrap()), "review fine");
    assert_eq!(archive.names().conversation("subagent-code-review-a1b2c3d4").unwrap(), run.id());
}

#[test]
fn runs_are_found_by_parent_by_name_and_by_run() {
    let archive = archive();
    let [(one, at_one), (two, at_two)] = [parent(&archive), parent(&archive)];
    archive.subagents().start(one, at_one, "review", "r1").unwrap();
    archive.subagents().start(one, at_one, "test", "r2").unwrap();
    archive.subagents().start(two, at_two, "review", "r3").unwrap();

    let found = [
        Subagents::default(),
        Subagents { parent: Some(one), ..Subagents::default() },
        Subagents { name: Some("review".into()), ..Subagents::default() },
        Subagents { run_id: Some("r2".into()), ..Subagents::default() },
        Subagents { parent: Some(two), name: Some("test".into()), run_id: None },
    ]
    .map(|which| labels(&archive, &which));

    let [r1, r2, r3] = ["subagent:review:r1", "subagent:test:r2", "subagent:review:r3"];
    assert_eq!(found, [vec![r1, r3, r2], vec![r1, r2], vec![r1, r3], vec![r2], vec![]]);
}

#[test]
fn runs_are_counted_below_what_started_them_and_what_that_started() {
    let archive = archive();
    let [(one, at_one), (two, _), (three, at_three)] = [(); 3].map(|()| parent(&archive));
    let mut run = archive.subagents().start(one, at_one, "review", "r1").unwrap();
    let asked = run.append(Message::user("deeper")).unwrap().head;
    archive.subagents().start(run.id(), asked, "test", "r2").unwrap();
    archive.subagents().start(three, at_three, "review", "r3").unwrap();
    let asked = [one, two, run.id()].map(|id| archive.conversation(id).unwrap());

    let counts = archive.subagents().count_below(&asked).unwrap();

    assert_eq!(counts, HashMap::from([(one, 2), (run.id(), 1)]));
    assert_eq!(archive.subagents().count_below(&[]).unwrap(), HashMap::new());
}

#[test]
fn more_runs_than_one_page_are_found() {
    let archive = archive();
    let (conversation, message) = parent(&archive);
    for run in 0..450 {
        archive.subagents().start(conversation, message, "review", &run.to_string()).unwrap();
    }

    let found = labels(&archive, &Subagents { parent: Some(conversation), ..Subagents::default() });

    assert_eq!(found.len(), 450);
}

#[test]
fn a_run_is_told_apart_from_a_talk() {
    let archive = archive();
    let (conversation, message) = parent(&archive);
    archive.subagents().start(conversation, message, "review", "r1").unwrap();

    let talks = archive.list(&List { kind: Some("chat".into()), ..List::default() }).unwrap().items;

    let found: Vec<_> = talks.iter().map(|stored| (stored.id, stored.subagent(), stored.parent())).collect();
    assert_eq!(found, [(conversation, None, None)]);
}

#[test]
fn a_run_needs_a_parent_that_is_there_and_a_label_that_can_be_read() {
    let archive = archive();
    let (conversation, message) = parent(&archive);
    let long = "x".repeat(101);
    let refused = |name: &str, run_id: &str| {
        archive.subagents().start(conversation, message, name, run_id).unwrap_err().kind()
    };

    let labels =
        [refused("", "r"), refused("a:b", "r"), refused("a", " "), refused("a", "\n"), refused(&long, "r")];
    let parents = [
        archive.subagents().start(conversation, "nobody".parse().unwrap(), "a", "r").unwrap_err().kind(),
        archive.subagents().start(ConversationId::from_bytes([7; 16]), message, "a", "r").unwrap_err().kind(),
    ];

    assert_eq!((labels, parents), ([ErrorKind::Invalid; 5], [ErrorKind::NotFound; 2]));
}

#[test]
fn a_label_reads_back_as_it_was_written() {
    let label = "subagent:code-review:a1b2c3d4";
    let others = ["subagent:code-review", "agent:a:b", "subagent::b", "subagent:a:b:c", ""];

    let read = label.parse::<Subagent>().unwrap();

    assert_eq!((read.name(), read.run_id(), read.to_string().as_str()), ("code-review", "a1b2c3d4", label));
    assert_eq!(others.map(|label| label.parse::<Subagent>().is_err()), [true; 5]);
}
