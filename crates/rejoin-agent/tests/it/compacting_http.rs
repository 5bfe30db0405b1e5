//! Compaction over real connections: what a server answers decides what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use rejoin::{Archive, AsyncRecorder, Conversation};
use rejoin_agent::{CompactSettings, ErrorKind, History, Http, HttpSettings, Talk, TurnEvent};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::asking::settings;
use crate::scribe::{exchanges, line, prompt_line, summary_line};
use crate::server::{Answer, Server};

const TOO_LONG: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#;
const OVERLOADED: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

/// A reply in the Messages language.
fn reply(text: &str) -> Answer {
    let start = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let delta = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
    );
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}"#;
    let last = r#"{"type":"message_stop"}"#;
    let events = [start, block, &delta, stop, end, last].map(|data| {
        let kind = data.split('"').nth(3).unwrap();
        format!("event: {kind}\ndata: {data}\n\n")
    });
    Answer::stream(&events.concat())
}

/// A talk with a server, in a conversation of two exchanges.
struct Line {
    _directory: TempDir,
    talk: Talk,
    events: mpsc::UnboundedSender<TurnEvent>,
    heard: mpsc::UnboundedReceiver<TurnEvent>,
}

impl Line {
    fn new(settings: HttpSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let archive = Archive::open(&format!("sqlite:{}", directory.path().join("a.db").display())).unwrap();
        let mut handle = archive.start(Conversation::new()).unwrap();
        exchanges(2).into_iter().for_each(|message| drop(handle.append(message).unwrap()));
        let history = History::load(&handle).unwrap();
        let provider = Arc::new(Http::anthropic(settings).unwrap());
        let recording = AsyncRecorder::start(archive.record(handle, "1@1"));
        let talk =
            Talk::new(provider, "claude-1", recording, history).with_compaction(CompactSettings::default());
        let (events, heard) = mpsc::unbounded_channel();
        Self { _directory: directory, talk, events, heard }
    }

    fn view(&self) -> Vec<String> {
        let view = self.talk.history().view(&self.talk.provider().recipient());
        view.messages.iter().map(|viewed| line(&viewed.message)).collect()
    }

    fn warnings(&mut self) -> Vec<String> {
        let mut warnings = Vec::new();
        while let Ok(event) = self.heard.try_recv() {
            if let TurnEvent::Warning(warning) = event {
                warnings.push(warning);
            }
        }
        warnings
    }
}

#[tokio::test]
async fn a_prompt_that_the_server_calls_too_long_is_made_shorter() {
    let server = Server::start([Answer::json(400, TOO_LONG), reply("so far")]).await;
    let mut line = Line::new(settings(&server));

    let compacted = line.talk.compact(&line.events).await.unwrap();

    assert_eq!(compacted.trimmed, 1);
    assert_eq!(line.view(), ["user: question 1", "user: question 2", &summary_line("so far")]);
    let asked = server.asked();
    let has_question = [&asked[0], &asked[1]].map(|asked| asked.body.contains("question 1"));
    assert_eq!((asked.len(), has_question), (2, [true, false]));
    assert!(asked[1].body.contains("Please provide a concise summary"), "{}", asked[1].body);
}

#[tokio::test]
async fn an_overloaded_server_is_asked_again_and_then_the_view_stays() {
    let server = Server::start(std::iter::repeat_n(Answer::json(529, OVERLOADED), 6)).await;
    let mut line = Line::new(settings(&server));
    let before = line.view();

    let error = line.talk.compact(&line.events).await.unwrap_err();

    assert_eq!((error.kind(), server.asked().len()), (ErrorKind::Overloaded, 6));
    assert_eq!(line.view(), before);
    let warnings = line.warnings();
    assert_eq!(warnings[0], "Compression failed, conversation may hit limits soon");
    assert!(warnings[1].contains("529") && warnings[1].contains("Overloaded"), "{warnings:?}");
}

#[tokio::test]
async fn an_answer_that_is_no_reply_is_stood_for() {
    let server = Server::start([Answer::json(200, r#"{"hello":"world"}"#)]).await;
    let mut line = Line::new(settings(&server));

    line.talk.compact(&line.events).await.unwrap();

    let expected = ["user: question 1", "user: question 2", &summary_line("(summary unavailable)")];
    assert_eq!(line.view(), expected);
}

#[tokio::test]
async fn a_turn_that_the_server_calls_too_long_goes_on_after_a_compaction() {
    let server = Server::start([Answer::json(400, TOO_LONG), reply("so far"), reply("hello")]).await;
    let mut line = Line::new(settings(&server));

    line.talk.turn(rejoin::Message::user("hi"), &line.events).await.unwrap();

    let expected =
        ["user: question 1", "user: question 2", "user: hi", &summary_line("so far"), "assistant: hello"];
    assert_eq!(line.view(), expected);
    assert!(!server.asked()[2].body.contains(prompt_line().split_once(": ").unwrap().1));
}

#[test]
fn a_request_waits_a_quarter_of_a_second_and_ever_longer_five_times() {
    let settings = HttpSettings::new("any");

    let waits: Vec<Duration> =
        (0..settings.max_retries).map(|failed| settings.first_wait * 2_u32.pow(failed)).collect();

    assert_eq!(waits, [250, 500, 1_000, 2_000, 4_000].map(Duration::from_millis));
}
