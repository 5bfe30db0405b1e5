//! One turn after another, from a message to what is on disk.

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::{Archive, AsyncRecorder, Block, Conversation, Incomplete, Json, Limits, Message, Thinking};
use rejoin_agent::{
    ErrorKind, History, Offline, Output, Piece, Plan, Prepared, Result, Stop, Subject, Talk, Tool, ToolSpec,
    Toolbox, TurnEvent,
};
use tokio::sync::mpsc;

use crate::script::{Conversing, Gate, Place, Script, Step, call, done, end, finished, text, told, until};

/// A tool that answers with its name, or waits at a gate first.
#[derive(Debug)]
struct Echo {
    spec: ToolSpec,
    gate: Option<Arc<Gate>>,
}

impl Echo {
    fn new(name: &str, gate: Option<Arc<Gate>>) -> Arc<Self> {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: Json::parse("{}").unwrap(),
        };
        Arc::new(Self { spec, gate })
    }
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _input: &Json) -> Result<Prepared> {
        let subject = Subject::Tool(self.spec.name.clone());
        let (name, gate) = (self.spec.name.clone(), self.gate.clone());
        Ok(Prepared::new(Plan::new("", &subject).harmless(), subject, async move {
            if let Some(gate) = gate {
                gate.reached.notify_one();
                gate.open.notified().await;
            }
            Output::text(&name)
        }))
    }
}

#[tokio::test]
async fn a_turn_is_on_disk_when_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("a.db").display());
    let archive = Archive::open(&url).unwrap();
    let handle = archive.start(Conversation::new()).unwrap();
    let id = handle.id();
    let recording = AsyncRecorder::start(archive.record(handle, "1@1"));
    let mut talk = Talk::new(Arc::new(Offline), "none", recording, History::default());
    let (events, _heard) = mpsc::unbounded_channel();

    let ended = talk.turn(Message::user("my bicycle is green"), &events).await.unwrap();

    let again = Archive::open(&url).unwrap();
    let said: Vec<String> =
        again.path(id, None).unwrap().iter().map(|seen| seen.message.role.as_str().to_owned()).collect();
    assert_eq!((ended.stop, said), (Stop::Done, vec!["user".to_owned(), "assistant".to_owned()]));
    assert_eq!(again.open_turns().list(id).unwrap(), []);
}

#[tokio::test]
async fn a_message_is_on_disk_before_the_request_leaves() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let script = Script::new(vec![vec![Step::Gate(gate.clone())]]);
    let mut talk = place.talk(&script);
    let id = talk.id;
    let mut stored = Vec::new();

    talk.say_until("hello", &gate, async { stored = place.stored(id) }).await;

    assert_eq!(stored, ["user: hello"]);
}

#[tokio::test]
async fn what_was_shown_is_in_the_open_turn_within_two_seconds() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let thought = Piece::Thinking("so".to_owned());
    let script = Script::new(vec![vec![
        finished(Block::text("First.")),
        text("Sec"),
        text("ond"),
        Step::Tell(thought),
        Step::Gate(gate.clone()),
    ]]);
    let mut talk = place.talk(&script);
    let (id, archive) = (talk.id, place.archive());
    let mut seen = None;

    talk.say_until("hello", &gate, async {
        let shown = Instant::now();
        let turn = until(|| archive.open_turns().list(id).unwrap().pop()).await;
        seen = Some((turn, shown.elapsed()));
    })
    .await;

    let (turn, took) = seen.unwrap();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(told(&turn.partial), "assistant: First. | so | Second");
    assert_eq!(
        turn.messages().iter().map(told).collect::<Vec<_>>(),
        ["assistant (interrupted): First. | Second"]
    );
    assert_eq!(place.stored(id), ["user: hello"]);
}

#[tokio::test]
async fn a_finished_reply_leaves_no_open_turn() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let script =
        Script::new(vec![vec![text("An"), Step::Gate(gate.clone()), text(" answer"), done("An answer")]]);
    let mut talk = place.talk(&script);
    let (id, archive) = (talk.id, place.archive());

    let (ended, ()) = tokio::join!(talk.say("hello"), async {
        gate.reached.notified().await;
        until(|| archive.open_turns().list(id).unwrap().pop()).await;
        gate.open.notify_one();
    });
    talk.talk.close().await.unwrap();

    assert_eq!(ended.unwrap().stop, Stop::Done);
    assert_eq!(place.stored(id), ["user: hello", "assistant (stop): An answer"]);
    assert_eq!(place.open_turns(id), []);
}

#[tokio::test]
async fn an_interrupted_reply_is_kept_as_a_crash_would_have_left_it() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let thinking =
        Block::Thinking(Thinking { text: "hm".into(), signature: Some("s".into()), ..Thinking::default() });
    let script = Script::new(vec![vec![
        finished(thinking),
        finished(Block::text("Let me look.")),
        finished(call("c1", "read")),
        text("And"),
        Step::Gate(gate.clone()),
    ]]);
    let mut talk = place.talk(&script);
    let (id, archive) = (talk.id, place.archive());
    let mut left = Vec::new();

    talk.say_until("hello", &gate, async {
        left = vec![until(|| archive.open_turns().list(id).unwrap().pop()).await];
    })
    .await;
    let was_something = talk.interrupt().await;

    let kept: Vec<Message> =
        archive.path(id, None).unwrap().into_iter().skip(1).map(|seen| seen.message).collect();
    let without_time = |mut message: Message| {
        message.created_at = None;
        message
    };
    let offered: Vec<Message> = left[0].messages().into_iter().map(without_time).collect();
    assert!(was_something);
    assert_eq!(kept.iter().cloned().map(without_time).collect::<Vec<_>>(), offered);
    assert_eq!(Incomplete::of(&kept), None);
    assert_eq!(
        kept.iter().map(told).collect::<Vec<_>>(),
        [
            "assistant (interrupted): hm | Let me look. | read {} | And",
            "tool: interrupted before it finished"
        ]
    );
    let fields: Vec<(&str, &str)> =
        kept[0].extra.iter().map(|(name, value)| (name, value.as_str())).collect();
    assert_eq!(fields, [("provider", "\"script\""), ("api", "\"openai-chat\""), ("model", "\"m\"")]);
    assert_eq!(place.open_turns(id), []);
}

#[tokio::test]
async fn nothing_is_kept_of_a_reply_of_which_nothing_arrived() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let script = Script::new(vec![
        vec![Step::Tell(Piece::Thinking("hm".into())), Step::Gate(gate.clone())],
        vec![done("yes")],
    ]);
    let mut talk = place.talk(&script);

    talk.say_until("hello", &gate, ready(())).await;
    let was_something = talk.interrupt().await;
    talk.say("still there?").await.unwrap();

    assert!(!was_something);
    assert_eq!(place.stored(talk.id), ["user: hello", "user: still there?", "assistant (stop): yes"]);
}

#[tokio::test]
async fn a_turn_that_was_dropped_without_a_word_is_kept_by_the_next() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let script = Script::new(vec![vec![text("An"), Step::Gate(gate.clone())], vec![done("yes")]]);
    let mut talk = place.talk(&script);

    talk.say_until("hello", &gate, ready(())).await;
    talk.say("go on").await.unwrap();

    let expected = ["user: hello", "assistant (interrupted): An", "user: go on", "assistant (stop): yes"];
    assert_eq!([place.stored(talk.id), talk.history()], [expected, expected]);
    assert_eq!(script.asked.lock().unwrap()[1], ["hello", "An", "go on"]);
}

#[tokio::test]
async fn what_arrived_before_the_provider_failed_is_kept() {
    let place = Place::new();
    let script = Script::new(vec![
        vec![text("An"), Step::Fail(ErrorKind::Network)],
        vec![Step::Fail(ErrorKind::Overloaded)],
        vec![done("yes")],
    ]);
    let mut talk = place.talk(&script);

    let failed = [talk.say("one").await.unwrap_err().kind(), talk.say("two").await.unwrap_err().kind()];
    talk.say("three").await.unwrap();

    assert_eq!(failed, [ErrorKind::Network, ErrorKind::Overloaded]);
    assert_eq!(
        place.stored(talk.id),
        ["user: one", "assistant (interrupted): An", "user: two", "user: three", "assistant (stop): yes"]
    );
}

#[tokio::test]
async fn an_attempt_that_failed_leaves_nothing_in_the_reply() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let again = Piece::Again { reason: "overloaded".into(), failed: 1, wait: Duration::ZERO };
    let script = Script::new(vec![vec![
        finished(Block::text("void")),
        text("void"),
        Step::Tell(again),
        text("An"),
        Step::Gate(gate.clone()),
    ]]);
    let mut talk = place.talk(&script);

    talk.say_until("hello", &gate, ready(())).await;
    talk.interrupt().await;

    assert_eq!(talk.history(), ["user: hello", "assistant (interrupted): An"]);
}

#[tokio::test]
async fn what_was_saved_of_an_attempt_that_came_to_nothing_is_not_offered_later() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let again = Piece::Again { reason: "overloaded".into(), failed: 1, wait: Duration::ZERO };
    let script = Script::new(vec![vec![
        text("void"),
        Step::Gate(gate.clone()),
        Step::Tell(again),
        Step::Fail(ErrorKind::Overloaded),
    ]]);
    let mut talk = place.talk(&script);
    let (id, archive) = (talk.id, place.archive());

    let (ended, ()) = tokio::join!(talk.say("hello"), async {
        gate.reached.notified().await;
        until(|| archive.open_turns().list(id).unwrap().pop()).await;
        gate.open.notify_one();
    });
    talk.talk.close().await.unwrap();

    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Overloaded);
    assert_eq!((place.stored(id), place.open_turns(id)), (vec!["user: hello".to_owned()], vec![]));
}

#[tokio::test]
async fn a_call_and_its_result_are_one_turn() {
    let place = Place::new();
    let script = Script::new(vec![
        vec![end(vec![call("c1", "one"), call("c2", "two")], "tool_calls", Stop::Tools)],
        vec![done("both")],
    ]);
    let mut talk = place.talk(&script);
    talk.talk =
        talk.talk.with_tools(Toolbox::default().with(Echo::new("one", None)).with(Echo::new("two", None)));

    talk.say("run them").await.unwrap();

    let turns: Vec<u32> = place.archive().path(talk.id, None).unwrap().iter().map(|seen| seen.turn).collect();
    assert_eq!(turns, [1, 2, 2, 2, 5]);
    assert_eq!(
        place.stored(talk.id),
        [
            "user: run them",
            "assistant (tool_calls): one {} | two {}",
            "tool: one",
            "tool: two",
            "assistant (stop): both"
        ]
    );
}

#[tokio::test]
async fn a_reply_is_saved_at_once_while_its_tools_run_and_so_are_their_results() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let script =
        Script::new(vec![vec![end(vec![call("c1", "one"), call("c2", "two")], "tool_calls", Stop::Tools)]]);
    let mut talk = place.talk(&script);
    let tools = Toolbox::default().with(Echo::new("one", None)).with(Echo::new("two", Some(gate.clone())));
    talk.talk = talk.talk.with_tools(tools);
    let (id, archive) = (talk.id, place.archive());
    let mut seen = Vec::new();

    talk.say_until("run them", &gate, async {
        let shown = Instant::now();
        let first = until(|| archive.open_turns().list(id).unwrap().pop()).await;
        seen.push((
            told(&first.partial),
            first.results.len().min(1),
            shown.elapsed() < Duration::from_millis(900),
        ));
        let second =
            until(|| archive.open_turns().list(id).unwrap().pop().filter(|turn| !turn.results.is_empty()))
                .await;
        seen.push((told(&second.results[0]), second.results.len(), shown.elapsed() < Duration::from_secs(2)));
    })
    .await;
    talk.interrupt().await;

    let reply = "assistant (tool_calls): one {} | two {}".to_owned();
    assert_eq!((seen[0].0.clone(), seen[0].2), (reply.clone(), true));
    assert_eq!(seen[1], ("tool: one".to_owned(), 1, true));
    let expected = ["user: run them", &reply, "tool: one", "tool: interrupted before it finished"];
    assert_eq!(place.stored(talk.id), expected);
}

#[tokio::test]
async fn the_calls_of_a_reply_that_the_provider_stopped_are_not_carried_out() {
    let place = Place::new();
    let script = Script::new(vec![vec![end(vec![call("c1", "one")], "refusal", Stop::Refused)]]);
    let mut talk = place.talk(&script);
    talk.talk = talk.talk.with_tools(Toolbox::default().with(Echo::new("one", None)));

    let ended = talk.say("run it").await.unwrap();

    assert_eq!(ended.stop, Stop::Refused);
    let expected = ["user: run it", "assistant (refusal): one {}", "tool: interrupted before it finished"];
    assert_eq!(place.stored(talk.id), expected);
}

#[tokio::test]
async fn a_reply_without_content_is_kept_with_its_reason() {
    let place = Place::new();
    let script = Script::new(vec![vec![end(Vec::new(), "content_filter", Stop::Refused)]]);
    let mut talk = place.talk(&script);

    talk.say("hello").await.unwrap();

    let path = place.archive().path(talk.id, None).unwrap();
    assert_eq!(place.stored(talk.id), ["user: hello", "assistant (content_filter): "]);
    assert!(path[1].message.was_cut_short());
}

#[tokio::test]
async fn a_turn_that_is_too_large_is_an_error_and_the_talk_goes_on() {
    let place = Place::new();
    let large = "x".repeat(2_000);
    let script = Script::new(vec![vec![text(&large), done(&large)], vec![done("yes")]]);
    let archive = place.archive().with_limits(Limits { turn_bytes: 1_000, ..Limits::default() });
    let handle = archive.start(Conversation::new()).unwrap();
    let id = handle.id();
    let mut talk = Conversing::new(AsyncRecorder::start(archive.record(handle, "1@1")), &script, id);

    let message = talk.say(&large).await.unwrap_err();
    let reply = talk.say("say much").await.unwrap_err();
    talk.say("say little").await.unwrap();

    for error in [message, reply] {
        assert_eq!(error.kind(), ErrorKind::Store);
        assert!(format!("{error:?}").contains("`limits.turn_bytes` = 1000"), "{error:?}");
    }
    let expected = ["user: say much", "user: say little", "assistant (stop): yes"];
    assert_eq!([place.stored(id), talk.history()], [expected, expected]);
    assert_eq!(place.open_turns(id), []);
}

#[tokio::test]
async fn of_two_talks_in_one_conversation_the_second_becomes_a_branch_and_is_told() {
    let place = Place::new();
    let first = Script::new(vec![vec![done("one")], vec![done("three")]]);
    let second = Script::new(vec![vec![done("two")]]);
    let mut one = place.talk(&first);
    one.say("begin").await.unwrap();
    let archive = place.archive();
    let handle = archive.resume(one.id).unwrap();
    let mut two = Conversing::new(AsyncRecorder::start(archive.record(handle, "2@2")), &second, one.id);

    one.say("mine").await.unwrap();
    two.say("also mine").await.unwrap();

    let mut forked = Vec::new();
    while let Ok(event) = two.heard.try_recv() {
        if let TurnEvent::Saved(receipt) = event {
            forked.push(receipt.forked);
        }
    }
    assert_eq!(forked, [true, false]);
    assert_eq!(archive.conversation(one.id).unwrap().messages, 6);
    assert!(archive.maintenance().verify(one.id).unwrap().is_sound());
}

#[tokio::test]
async fn a_talk_that_is_closed_or_dropped_in_mid_reply_leaves_what_arrived_in_the_open_turn() {
    let (place, gate) = (Place::new(), Arc::new(Gate::default()));
    let script = Script::new(vec![
        vec![text("closed"), Step::Gate(gate.clone())],
        vec![text("dropped"), Step::Gate(gate.clone())],
    ]);
    let mut closed = place.talk(&script);
    let mut dropped = place.talk(&script);
    let ids = [closed.id, dropped.id];

    closed.say_until("hello", &gate, ready(())).await;
    dropped.say_until("hello", &gate, ready(())).await;
    let outcome = closed.talk.close().await;
    drop(dropped);

    let left = ids.map(|id| place.open_turns(id).iter().map(|turn| turn.partial.text()).collect::<Vec<_>>());
    assert_eq!((outcome, left), (Ok(()), [vec!["closed".to_owned()], vec!["dropped".to_owned()]]));
}
