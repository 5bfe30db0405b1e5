//! Titles and synopses: computed after a turn, and asked of a model that a script plays.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use rejoin::{Archive, AsyncRecorder, Conversation, ConversationId, Message, Synopsis, Usage};
use rejoin_agent::{
    Api, Error, ErrorKind, Future, History, Listener, Offline, Provider, Reply, Request, Result, Stop,
    Summariser, SummaryRequests, Talk, is_summary_due, summarise,
};
use tokio::sync::mpsc;

/// Says "fine" to everything, and to a request for a synopsis what it was told to.
#[derive(Debug)]
struct Actor {
    synopses: Mutex<Vec<Part>>,
    /// What it was asked for besides synopses.
    turns: Mutex<usize>,
}

/// How it answers one request for a synopsis.
#[derive(Clone, Debug)]
enum Part {
    Says(&'static str),
    Fails,
}

impl Actor {
    fn new(parts: &[Part]) -> Arc<Self> {
        Arc::new(Self { synopses: Mutex::new(parts.to_vec()), turns: Mutex::new(0) })
    }
}

impl Provider for Actor {
    fn name(&self) -> &str {
        "actor"
    }

    fn api(&self) -> Api {
        Api::Chat
    }

    fn reply<'a>(&'a self, request: Request<'a>, _: &'a mut Listener<'_>) -> Future<'a, Result<Reply>> {
        Box::pin(async move {
            let done = |text: &str| {
                let mut message = Message::assistant(text);
                message.usage = Some(Usage { input_tokens: 90, output_tokens: 10, detail: None });
                Ok(Reply { message, stop: Stop::Done })
            };
            if !request.system.contains("JSON") {
                *self.turns.lock().unwrap() += 1;
                return done("fine");
            }
            assert!(request.max_tokens.is_some() && request.messages[0].message.text().len() < 20_000);
            match self.synopses.lock().unwrap().remove(0) {
                Part::Says(text) => done(text),
                Part::Fails => Err(Error::new(ErrorKind::Overloaded, "the provider is busy")),
            }
        })
    }
}

const LISBON: &str = r#"{"title":"Eating in Lisbon","synopsis":"Looked for a tasca.","keywords":["lisbon"],"action_items":["book"]}"#;

/// A talk with a provider, and the archive it is kept in.
fn talk(provider: Arc<dyn Provider>, conversation: Conversation) -> (Talk, Archive, ConversationId) {
    let archive = Archive::open("memory:").unwrap();
    let handle = archive.start(conversation).unwrap();
    let id = handle.id();
    let recording = AsyncRecorder::start(archive.record(handle, "1@1"));
    let summariser = Summariser::new(archive.clone(), id);
    let talk = Talk::new(provider, "m", recording, History::default()).with_summariser(summariser);
    (talk, archive, id)
}

async fn say(talk: &mut Talk, text: &str) {
    let (events, _heard) = mpsc::unbounded_channel();
    talk.turn(Message::user(text), &events).await.unwrap();
}

/// The title, the synopsis's text and its keywords.
fn kept(archive: &Archive, id: ConversationId) -> (Option<String>, Option<(String, Vec<String>)>) {
    let header = archive.conversation(id).unwrap().conversation;
    (header.title, header.synopsis.map(|Synopsis { text, keywords, .. }| (text, keywords)))
}

/// How many requests were counted, at how many messages, and their tokens.
fn counted(archive: &Archive, id: ConversationId) -> [u64; 4] {
    let counted = SummaryRequests::of(&archive.conversation(id).unwrap().conversation);
    [counted.requests, counted.messages, counted.input_tokens, counted.output_tokens]
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_turn_costs_one_request_and_its_title_and_synopsis_are_computed() {
    let actor = Actor::new(&[]);
    let (mut talk, archive, id) = talk(actor.clone(), Conversation::new());

    say(&mut talk, "Hi! Where to eat?").await;
    say(&mut talk, "And on a budget?").await;
    talk.finish(LONG).await;

    let (title, synopsis) = kept(&archive, id);
    let text = "You said \"And on a budget?\". The reply was \"fine\".";
    assert_eq!((title.as_deref(), synopsis.unwrap().0.as_str()), (Some("Where to eat"), text));
    assert_eq!((*actor.turns.lock().unwrap(), counted(&archive, id)), (2, [0; 4]));
}

#[tokio::test]
async fn without_a_model_both_are_computed() {
    let (mut talk, archive, id) = talk(Arc::new(Offline), Conversation::new());

    say(&mut talk, "Hi! My bicycle is green.").await;
    talk.finish(LONG).await;

    let text =
        "You said \"My bicycle is green\". The reply was \"What you said is kept; ask about it later\".";
    let (title, synopsis) = kept(&archive, id);
    assert_eq!((title.as_deref(), synopsis.unwrap().0.as_str()), (Some("My bicycle is green"), text));
}

#[tokio::test]
async fn a_talk_that_is_dropped_keeps_the_computed_ones() {
    let (mut talk, archive, id) = talk(Actor::new(&[]), Conversation::new());

    say(&mut talk, "Where to eat?").await;
    drop(talk);

    assert_eq!(kept(&archive, id).0, Some("Where to eat".to_owned()));
}

#[tokio::test]
async fn a_model_that_is_asked_gives_both_and_is_counted() {
    let actor = Actor::new(&[Part::Says(LISBON)]);
    let (mut talk, archive, id) = talk(actor.clone(), Conversation::new());
    say(&mut talk, "Where to eat?").await;
    talk.finish(LONG).await;

    let asked = summarise(&archive, id, actor.as_ref(), "small").await.unwrap();

    let expected = ("Looked for a tasca.".to_owned(), vec!["lisbon".to_owned()]);
    assert_eq!(kept(&archive, id), (Some("Eating in Lisbon".to_owned()), Some(expected)));
    assert_eq!((asked, counted(&archive, id)), (true, [1, 2, 90, 10]));
}

#[tokio::test]
async fn it_is_asked_again_only_when_the_conversation_has_doubled() {
    let actor = Actor::new(&[Part::Says(LISBON), Part::Says(LISBON)]);
    let (mut talk, archive, id) = talk(actor.clone(), Conversation::new());
    let mut asked = Vec::new();
    for turn in 0..3 {
        say(&mut talk, &format!("Question {turn}?")).await;
        let is_due = is_summary_due(&archive.conversation(id).unwrap());
        asked.push((is_due, summarise(&archive, id, actor.as_ref(), "small").await.unwrap()));
    }

    assert_eq!(asked, [(true, true), (true, true), (false, false)]);
    assert_eq!(counted(&archive, id), [2, 4, 180, 20]);
}

#[tokio::test]
async fn a_title_that_the_user_gave_stays() {
    let actor = Actor::new(&[Part::Says(LISBON)]);
    let (mut talk, archive, id) = talk(actor.clone(), Conversation::titled("mine"));
    say(&mut talk, "Where to eat?").await;

    summarise(&archive, id, actor.as_ref(), "small").await.unwrap();

    assert_eq!(kept(&archive, id).0, Some("mine".to_owned()));
}

/// What is kept, and what was counted, after a model that plays this part was asked.
async fn after(part: Part) -> (Option<String>, String, [u64; 4]) {
    let actor = Actor::new(&[part]);
    let (mut talk, archive, id) = talk(actor.clone(), Conversation::new());
    say(&mut talk, "Where to eat?").await;
    talk.finish(LONG).await;
    let asked = summarise(&archive, id, actor.as_ref(), "small").await;
    assert!(asked.is_err());
    let (title, synopsis) = kept(&archive, id);
    (title, synopsis.unwrap().0, counted(&archive, id))
}

#[tokio::test]
async fn when_a_model_fails_or_talks_nonsense_the_computed_ones_stay() {
    let kept = [
        after(Part::Fails).await,
        after(Part::Says("no")).await,
        after(Part::Says(r#"{"synopsis":""}"#)).await,
    ];

    let text = "You said \"Where to eat?\". The reply was \"fine\".";
    let expected = |counted| (Some("Where to eat".to_owned()), text.to_owned(), counted);
    assert_eq!(kept, [[1, 2, 0, 0], [1, 2, 90, 10], [1, 2, 90, 10]].map(expected));
}
