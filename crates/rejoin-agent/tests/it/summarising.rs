//! Titles and synopses, with a provider that a script plays.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use rejoin::{Archive, AsyncRecorder, Conversation, ConversationId, Message, Synopsis};
use rejoin_agent::{
    Api, Error, ErrorKind, Future, History, Listener, Offline, Provider, Reply, Request, Result, Stop,
    Summariser, Talk,
};
use tokio::sync::{Notify, mpsc};

/// Says "fine" to everything, and to a request for a synopsis what it was told to.
#[derive(Debug)]
struct Actor {
    synopses: Mutex<Vec<Part>>,
    /// Told when a synopsis is asked for.
    asked: Notify,
    gate: Notify,
}

/// How it answers one request for a synopsis.
#[derive(Clone, Debug)]
enum Part {
    Says(&'static str),
    Fails,
    /// Never answers.
    Waits,
    /// Says it once the gate opens.
    SaysLater(&'static str),
}

impl Actor {
    fn new(parts: &[Part]) -> Arc<Self> {
        Arc::new(Self { synopses: Mutex::new(parts.to_vec()), asked: Notify::new(), gate: Notify::new() })
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
            let done = |text: &str| Ok(Reply { message: Message::assistant(text), stop: Stop::Done });
            if !request.system.contains("JSON") {
                return done("fine");
            }
            assert!(request.max_tokens.is_some() && request.messages[0].message.text().len() < 20_000);
            let part = self.synopses.lock().unwrap().remove(0);
            self.asked.notify_one();
            match part {
                Part::Says(text) => done(text),
                Part::Fails => Err(Error::new(ErrorKind::Overloaded, "the provider is busy")),
                Part::Waits => std::future::pending().await,
                Part::SaysLater(text) => {
                    self.gate.notified().await;
                    done(text)
                }
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
    let summariser = Summariser::new(archive.clone(), id, provider.clone(), "m");
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

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_model_gives_title_and_synopsis_after_the_turn() {
    let (mut talk, archive, id) = talk(Actor::new(&[Part::Says(LISBON)]), Conversation::new());

    say(&mut talk, "Where to eat?").await;
    talk.finish(LONG).await;

    let expected = ("Looked for a tasca.".to_owned(), vec!["lisbon".to_owned()]);
    assert_eq!(kept(&archive, id), (Some("Eating in Lisbon".to_owned()), Some(expected)));
}

#[tokio::test]
async fn a_title_that_the_user_gave_stays() {
    let (mut talk, archive, id) = talk(Actor::new(&[Part::Says(LISBON)]), Conversation::titled("mine"));

    say(&mut talk, "Where to eat?").await;
    talk.finish(LONG).await;

    assert_eq!(kept(&archive, id).0, Some("mine".to_owned()));
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

/// The title and the text that are kept after one turn with a model that plays this part.
async fn after(part: Part) -> (Option<String>, String) {
    let (mut talk, archive, id) = talk(Actor::new(&[part]), Conversation::new());
    say(&mut talk, "Where to eat?").await;
    talk.finish(LONG).await;
    let (title, synopsis) = kept(&archive, id);
    (title, synopsis.unwrap().0)
}

#[tokio::test]
async fn a_model_that_fails_or_talks_nonsense_is_replaced_by_the_computed_ones() {
    let kept = [
        after(Part::Fails).await,
        after(Part::Says("no")).await,
        after(Part::Says(r#"{"synopsis":""}"#)).await,
    ];

    let text = "You said \"Where to eat?\". The reply was \"fine\".".to_owned();
    assert_eq!(kept, [0, 1, 2].map(|_| (Some("Where to eat".to_owned()), text.clone())));
}

#[tokio::test]
async fn a_turn_never_waits_for_a_synopsis() {
    let actor = Actor::new(&[Part::Waits]);
    let (mut talk, archive, id) = talk(actor.clone(), Conversation::new());

    say(&mut talk, "Where to eat?").await;
    actor.asked.notified().await;
    say(&mut talk, "And on a budget?").await;
    say(&mut talk, "With fish?").await;
    let during = kept(&archive, id);
    talk.finish(Duration::from_millis(50)).await;

    let text = "You said \"With fish?\". The reply was \"fine\".".to_owned();
    let (title, synopsis) = kept(&archive, id);
    assert_eq!(during, (None, None));
    assert_eq!((title, synopsis.unwrap().0), (Some("Where to eat".to_owned()), text));
}

#[tokio::test]
async fn of_turns_that_pile_up_only_the_newest_is_described() {
    let actor = Actor::new(&[Part::SaysLater(LISBON), Part::Says(LISBON), Part::Says("too many")]);
    let (mut talk, _archive, _id) = talk(actor.clone(), Conversation::new());

    say(&mut talk, "one").await;
    actor.asked.notified().await;
    say(&mut talk, "two").await;
    say(&mut talk, "three").await;
    actor.gate.notify_one();
    talk.finish(LONG).await;

    assert_eq!(actor.synopses.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_talk_that_is_dropped_keeps_the_computed_ones() {
    let actor = Actor::new(&[Part::Waits]);
    let (mut talk, archive, id) = talk(actor.clone(), Conversation::new());

    say(&mut talk, "Where to eat?").await;
    actor.asked.notified().await;
    drop(talk);

    assert_eq!(kept(&archive, id).0, Some("Where to eat".to_owned()));
}
