//! Recalling: after a compaction the model can fetch what the summary stands for, and nothing else.

use std::sync::Arc;

use rejoin::view::Compaction;
use rejoin::{AsyncRecorder, Block, Conversation, Json, Message, MessageId, Role};
use rejoin_agent::{CompactSettings, History, Rules, Stop, Talk, Toolbox, TurnEvent};
use tokio::sync::mpsc;

use crate::scribe::{Desk, Scribe, exchanges, writes};
use crate::script::{Place, Script, done, end};
use crate::stored_talk::Read;

/// A call with an input.
pub(crate) fn calls(inputs: &[String]) -> Vec<Block> {
    let call = |(number, input): (usize, &String)| {
        Block::tool_call(format!("r{number}"), "recall", Json::parse(input.as_str()).unwrap())
    };
    inputs.iter().enumerate().map(call).collect()
}

/// Lets a model ask for all of these at once, and returns what it is answered:
/// the texts, and whether they are errors.
pub(crate) async fn recall(talk: &mut Talk, inputs: &[String]) -> Vec<(String, bool)> {
    let (events, mut heard) = mpsc::unbounded_channel();
    let script = Script::new(vec![vec![end(calls(inputs), "tool_use", Stop::Tools)], vec![done("I see")]]);
    talk.ask_instead(script, "m");
    let before = talk.history().len();
    talk.turn(Message::user("do you remember?"), &events).await.unwrap();
    while let Ok(event) = heard.try_recv() {
        assert!(!matches!(event, TurnEvent::Approve { .. }), "{event:?}");
    }
    let results = talk.history().messages().skip(before).filter(|message| message.role == Role::Tool);
    results.map(|message| (message.blocks[0].words().unwrap().into_owned(), message.is_error)).collect()
}

/// A conversation with messages that a summary stands for.
struct Compacted {
    place: Place,
    talk: Talk,
    ids: Vec<MessageId>,
}

impl Compacted {
    fn new(messages: Vec<Message>) -> Self {
        let place = Place::new();
        let archive = place.archive();
        let mut handle = archive.start(Conversation::new()).unwrap();
        let append = |message: Message| handle.append(message).unwrap().messages[0];
        let ids = messages.into_iter().map(append).collect();
        handle.append(Compaction::default().to_message("we spoke of a bicycle").unwrap()).unwrap();
        let history = History::load(&handle).unwrap();
        let recording = AsyncRecorder::start(archive.record(handle, "1@1"));
        let talk = Talk::new(Script::new(Vec::new()), "m", recording, history);
        Self { place, talk, ids }
    }

    async fn recall(&mut self, input: impl Into<String>) -> (String, bool) {
        recall(&mut self.talk, &[input.into()]).await.remove(0)
    }
}

/// A user's message at a known time.
fn said(text: &str) -> Message {
    let mut message = Message::user(text);
    message.created_at = Some("2026-01-02T03:04:05Z".parse().unwrap());
    message
}

fn by_id(id: MessageId) -> String {
    format!(r#"{{"message":"{id}"}}"#)
}

#[tokio::test]
async fn the_tool_is_offered_only_while_a_summary_stands_for_something() {
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(3))
        .with(|talk| talk.with_tools(Toolbox::default().with(Arc::new(Read::default()))));

    desk.say("one").await.unwrap();
    desk.compact().await.unwrap();
    desk.say("two").await.unwrap();
    desk.talk.uncompact().await.unwrap();
    desk.say("three").await.unwrap();

    let tools: Vec<Vec<String>> = scribe.asked().into_iter().map(|asked| asked.tools).collect();
    assert_eq!(tools, [vec!["read"], vec!["read", "recall"], vec!["read"]]);
}

#[tokio::test]
async fn a_talk_without_tools_or_with_others_only_stays_so() {
    let without = Toolbox::default();
    let chosen = Toolbox::default().with(Arc::new(Read::default())).only(vec!["read".to_owned()]);
    let mut offered = Vec::new();
    for toolbox in [without, chosen] {
        let scribe = Scribe::new([], [writes("so far")]);
        let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(3))
            .with(|talk| talk.with_tools(toolbox));
        desk.compact().await.unwrap();
        desk.say("hello").await.unwrap();
        offered.push(scribe.asked().remove(0).tools);
    }

    assert_eq!(offered, [vec![], vec!["read".to_owned()]]);
}

#[tokio::test]
async fn a_message_comes_back_byte_by_byte() {
    let text = "  Grüße,\r\n\tmy bicycle is green \u{1f6b2}\n\n";
    let mut talk = Compacted::new(vec![said(text), Message::assistant("nice")]);
    let id = talk.ids[0];

    let answer = talk.recall(by_id(id)).await;

    let head =
        format!("[message {id}, user, 2026-01-02T03:04:05.000000Z, bytes 0 to {0} of {0}]\n", text.len());
    assert_eq!(answer, (format!("{head}{text}"), false));
}

#[tokio::test]
async fn a_long_message_comes_in_pieces_that_make_the_whole() {
    let text: String = (0..9_000).map(|number| format!("zeile ü{number}\n")).collect();
    let mut talk = Compacted::new(vec![said(&text)]);
    let (mut whole, mut calls) = (String::new(), 0);
    while whole.len() < text.len() {
        let input = format!(r#"{{"message":"{}","offset":{}}}"#, talk.ids[0], whole.len());
        let (answer, is_error) = talk.recall(input).await;
        let (head, piece) = answer.split_once("]\n").unwrap();
        assert!(!is_error && piece.len() <= 20_000, "{head}");
        whole.push_str(piece);
        assert_eq!(
            head.contains(&format!("the rest begins at offset {}", whole.len())),
            whole.len() < text.len()
        );
        calls += 1;
    }

    assert_eq!((whole == text, calls), (true, text.len().div_ceil(20_000)));
    let past = talk.recall(format!(r#"{{"message":"{}","offset":{}}}"#, talk.ids[0], text.len())).await;
    assert_eq!(past, (format!("message `{}` has {} bytes only", talk.ids[0], text.len()), true));
}

#[tokio::test]
async fn words_are_found_in_any_case_and_the_best_match_comes_first() {
    let mut talk = Compacted::new(vec![
        said("The BICYCLE is red."),
        said("A green house."),
        said("My Bicycle is Green, very green."),
        said("Nothing of the kind."),
    ]);

    let (answer, is_error) = talk.recall(r#"{"text":"green bicycle"}"#).await;

    let order: Vec<usize> = ["My Bicycle is Green", "A green house", "The BICYCLE"]
        .iter()
        .map(|words| answer.find(words).unwrap())
        .collect();
    assert!(!is_error && order.is_sorted(), "{answer}");
    assert!(!answer.contains("Nothing of the kind") && !answer.contains("we spoke of"), "{answer}");
    assert!(
        talk.ids[..3].iter().all(|id| answer.contains(&format!("[message {id}, user, 2026-01-02T"))),
        "{answer}"
    );
}

#[tokio::test]
async fn a_long_match_is_shown_around_the_words_with_the_way_to_the_rest() {
    let text = format!("{}the key is under the ÜBERTOPF{}", "filler ".repeat(2_000), " more".repeat(2_000));
    let mut talk = Compacted::new(vec![said(&text), said("ein übertopf"), said("kein Übertopf")]);

    let (answer, _) = talk.recall(r#"{"text":"übertopf key","limit":1}"#).await;

    assert!(answer.contains("the key is under the ÜBERTOPF more"), "{answer}");
    assert!(answer.contains(&format!("[message {}, user", talk.ids[0])), "{answer}");
    assert!(
        answer.contains("bytes 13704 to 15704 of") && answer.contains("the rest begins at offset 15704"),
        "{answer}"
    );
    assert!(answer.ends_with("[2 more messages have some of the words]"), "{answer}");
}

#[tokio::test]
async fn what_was_recalled_is_not_found_again() {
    let mut talk = Compacted::new(vec![said("the xylophone is blue")]);

    let first = talk.recall(r#"{"text":"xylophone"}"#).await;
    let second = talk.recall(r#"{"text":"xylophone"}"#).await;

    assert_eq!(first, second);
    assert_eq!(talk.recall(r#"{"text":"zeppelin"}"#).await.0, "No message has any of these words.");
}

/// A call of another tool with a result, under an id that a recall has too.
fn used(result: &str) -> [Message; 2] {
    let call = Block::tool_call("r0", "read", Json::parse(r#"{"path":"band.txt"}"#).unwrap());
    let result = Block::tool_result("r0", Json::of(&result).unwrap());
    [Message::new(Role::Assistant, vec![call]), Message::new(Role::Tool, vec![result])]
}

#[tokio::test]
async fn what_other_tools_said_under_the_same_id_is_found_before_and_after_a_recall() {
    let mut talk = Compacted::new(used("the xylophone is blue").to_vec());

    let first = talk.recall(r#"{"text":"xylophone"}"#).await;
    let call = talk.recall(r#"{"text":"band.txt"}"#).await;
    let later = used("a zeppelin").to_vec();
    talk.talk.recorder().with(move |recorder| recorder.append(later)).await.unwrap().unwrap();
    let second = talk.recall(r#"{"text":"xylophone"}"#).await;
    let later = talk.recall(r#"{"text":"zeppelin"}"#).await;

    assert_eq!(first, second);
    assert!(first.0.contains(&format!("[message {}, tool", talk.ids[1])), "{first:?}");
    assert!(call.0.contains(&format!("[message {}, assistant", talk.ids[0])), "{call:?}");
    assert!(later.0.ends_with("]\na zeppelin"), "{later:?}");
}

#[tokio::test]
async fn another_conversation_and_another_branch_are_out_of_reach() {
    let mut talk = Compacted::new(vec![said("one"), said("two")]);
    let archive = talk.place.archive();
    let mut other = archive.start(Conversation::new()).unwrap();
    let foreign = other.append(said("a secret elsewhere")).unwrap().messages[0];
    let conversation = talk.talk.recorder().with(|recorder| recorder.conversation()).await.unwrap();
    let mut branch = archive.resume(conversation).unwrap().fork(talk.ids[0], "beside").unwrap();
    let beside = branch.append(said("a secret beside")).unwrap().messages[0];

    let answers = [
        talk.recall(by_id(foreign)).await,
        talk.recall(by_id(beside)).await,
        talk.recall(r#"{"text":"secret"}"#).await,
    ];

    let refused = |id: MessageId| (format!("no message `{id}` in this conversation, on this branch"), true);
    let nothing = ("No message has any of these words.".to_owned(), false);
    assert_eq!(answers, [refused(foreign), refused(beside), nothing]);
}

#[tokio::test]
async fn a_wrong_input_is_told_to_the_model() {
    let mut talk = Compacted::new(vec![said("one")]);
    let inputs = [
        r#"{}"#,
        r#"{"message":"a b"}"#,
        r#"{"text":"  "}"#,
        r#"{"text":"a","limit":0}"#,
        r#"{"text":"a","message":"b"}"#,
        r#"{"query":"a"}"#,
    ];

    let answers = recall(&mut talk.talk, &inputs.map(str::to_owned)).await;

    assert!(answers.iter().all(|(_, is_error)| *is_error), "{answers:?}");
    assert_eq!(answers[0].0, "give either `message`, with an `offset`, or `text`, with a `limit`");
    assert_eq!(answers[1].0, "`a b` is not the id of a message");
}

#[tokio::test]
async fn without_a_compaction_there_is_no_such_tool() {
    let place = Place::new();
    let script = Script::new(Vec::new());
    let mut talk = place.talk(&script).talk;

    let answers = recall(&mut talk, &[r#"{"text":"a"}"#.to_owned()]).await;

    assert_eq!(answers, [("there is no tool `recall`; there are no tools".to_owned(), true)]);
}

#[tokio::test]
async fn a_rule_that_denies_everything_denies_it_too() {
    let mut talk = Compacted::new(vec![said("one")]);
    let rules = Rules::new(&[], &[], &["*"]).unwrap();
    talk.talk = talk.talk.with_tools(Toolbox::default().with_rules(rules));

    let (answer, is_error) = talk.recall(r#"{"text":"one"}"#).await;

    assert!(is_error && answer.contains("the rule `*` denies it"), "{answer}");
}
