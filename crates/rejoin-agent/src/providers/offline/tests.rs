use std::borrow::Cow;
use std::time::{Duration, Instant};

use rejoin::MessageId;
use rejoin::view::Viewed;

use super::*;
use crate::providers::replay::all;

/// A message id that tells which message it is of.
fn id(place: usize) -> MessageId {
    format!("{place:06}").parse().unwrap()
}

/// What is answered, without the notice, after these were said by the user.
fn asked(said: &[&str], question: &str) -> String {
    let messages: Vec<Message> = said.iter().chain([&question]).map(|text| Message::user(*text)).collect();
    body(&messages)
}

fn body(messages: &[Message]) -> String {
    let messages: Vec<Viewed<'_>> = messages
        .iter()
        .enumerate()
        .map(|(place, message)| Viewed { id: Some(id(place)), message: Cow::Borrowed(message) })
        .collect();
    let answer = answer(&request(&messages));
    answer.split_once("\n\n").unwrap().1.to_owned()
}

fn request<'a>(messages: &'a [Viewed<'a>]) -> Request<'a> {
    Request { model: "none", system: "", messages, tools: &[], max_tokens: None }
}

const NONE: &str = "Nothing said earlier in this conversation answers that.";

#[test]
fn a_statement_is_found_by_what_it_is_about() {
    let cases = [
        ("my bicycle is green", "what colour is my bicycle?"),
        ("my bicycles are green", "What color is my bicycle"),
        ("My bicycle is green.", "what is the colour of my bicycle?"),
        ("I parked the car in Alfama.", "Where did I park my car?"),
        ("I bought my bicycle in Porto.", "where did I buy my bicycle?"),
        ("My sister Ada lives in Lisbon.", "Where does my sister Ada live?"),
        ("The meeting is at 3 pm.", "What time is the meeting?"),
        ("We have two cats.", "how many cats do we have?"),
        ("I painted the fence white.", "tell me about painting the fence"),
        ("mein Fahrrad ist grün", "Welche Farbe hat mein Fahrrad?"),
        ("我的自行车是绿色的。", "我的自行车是什么颜色？"),
        ("I don't eat meat.", "What do I not eat?"),
        ("I have a dog. It is called Bruno.", "What is my dog called?"),
        ("The door code is 4711.", "door code"),
    ];

    let answers = cases.map(|(said, question)| asked(&[said, "The weather is fine."], question));

    assert_eq!(answers, cases.map(|(said, _)| format!("You said \"{said}\" in message 000000")));
}

#[test]
fn it_says_so_when_nothing_answers() {
    let cases: [(&[&str], &str); 14] = [
        // Unrelated.
        (&["my bicycle is green"], "What is the capital of Peru?"),
        // Nothing was said.
        (&[], "what colour is my bicycle?"),
        // Only words that say nothing by themselves.
        (&["my bicycle is green"], "what is it, and why is that so?"),
        // One word in common, and not the one that matters.
        (&["my bicycle is green"], "what is the weight of my bicycle lock?"),
        (&["my bicycle is green"], "What colour is my brother's bicycle?"),
        // Another language.
        (&["my bicycle is green"], "Welche Farbe hat mein Fahrrad?"),
        // About the one who answers.
        (&["The model of my car is a T3.", "My name is Ada."], "What model are you?"),
        (&["My name is Ada."], "What is your name?"),
        // Another number.
        (&["The code of room 14 is 4711."], "What is the code of room 12?"),
        // Another name.
        (&["My sister Ada lives in Lisbon."], "Where does my sister Eva live?"),
        // Denied.
        (&["I eat fish."], "What do I not eat?"),
        // A question is not a statement.
        (&["What colour is my bicycle?"], "what colour is my bicycle?"),
        (&["is my bicycle green"], "what colour is my bicycle?"),
        // A word inside another word.
        (&["The carpet is red."], "what colour is my car?"),
    ];

    let answers = cases.map(|(said, question)| asked(said, question));

    assert_eq!(answers, [NONE; 14]);
}

#[test]
fn a_greeting_is_neither_kept_nor_looked_up() {
    let answers = ["hello", "Hi!", ""].map(|text| asked(&["hello world is a program"], text));

    assert_eq!(answers, ["Say something to be kept, or ask about what was said before."; 3]);
}

#[test]
fn a_statement_is_kept() {
    let answers = ["my bicycle is green", "What I like is tea.", "We moved to Lisbon in May"]
        .map(|text| asked(&["my bicycle is red"], text));

    assert_eq!(answers, ["What you said is kept; ask about it later."; 3]);
}

#[test]
fn the_newer_of_two_that_contradict_comes_first() {
    let said = ["my bicycle is green", "I like tea.", "by the way, my bicycle is now painted in a deep red"];

    let answer = asked(&said, "what colour is my bicycle?");

    let expected = "- You said \"by the way, my bicycle is now painted in a deep red\" in message 000002\n\
                    - You also said \"my bicycle is green\" in message 000000";
    assert_eq!(answer, expected);
}

#[test]
fn the_kind_of_thing_that_is_asked_for_decides() {
    let said = ["my bicycle is green", "my bicycle is in the shed", "my bicycle cost 300 euros"];

    let answers = ["what colour is my bicycle?", "where is my bicycle?", "how much was my bicycle?"]
        .map(|question| asked(&said, question));

    let expected = [
        "You said \"my bicycle is green\" in message 000000",
        "You said \"my bicycle is in the shed\" in message 000001",
        "You said \"my bicycle cost 300 euros\" in message 000002",
    ];
    assert_eq!(answers, expected);
}

#[test]
fn what_is_repeated_is_quoted_once() {
    let answer = asked(&["my bicycle is green", "My bicycle is green!"], "what colour is my bicycle?");

    assert_eq!(answer, "You said \"My bicycle is green!\" in message 000001");
}

#[test]
fn an_assistant_is_quoted_and_this_provider_never_is() {
    let mut own =
        Message::assistant("No model is configured.\n\nYou said \"my bicycle is green\" in message x");
    own.extra.set("api", Json::of(&"offline").unwrap());
    let cut_off = Message::assistant("No model is configured, so this answers");
    let messages = [
        Message::assistant("The best tasca in Alfama is Zé da Mouraria."),
        own,
        cut_off,
        Message::user("Which tasca in Alfama is best?"),
    ];

    let answers =
        [body(&messages), body(&[&messages[1..3], &[Message::user("What colour is my bicycle?")]].concat())];

    let expected =
        ["The assistant said \"The best tasca in Alfama is Zé da Mouraria.\" in message 000000", NONE];
    assert_eq!(answers, expected);
}

#[test]
fn a_long_statement_is_cut_and_a_message_without_id_is_quoted_without() {
    let said = format!("my bicycle is {}green", "very ".repeat(100));
    let messages = [Message::user(said), Message::user("what colour is my bicycle?")];

    let answer = answer(&request(&all(&messages)));

    let quote = format!("my bicycle is {}v...", "very ".repeat(57));
    assert_eq!(answer, format!("{NOTICE}\n\nYou said \"{quote}\""));
}

#[test]
fn the_notice_is_one_line_and_short_after_the_first_time() {
    let mut own = Message::assistant("…");
    own.extra.set("api", Json::of(&"offline").unwrap());
    let messages = [Message::user("my bicycle is green"), own, Message::user("and my car is red")];

    let answers = [answer(&request(&all(&messages[..1]))), answer(&request(&all(&messages)))];

    let expected = [NOTICE, SHORT_NOTICE]
        .map(|notice| format!("{notice}\n\nWhat you said is kept; ask about it later."));
    assert_eq!(answers, expected);
}

#[tokio::test]
async fn a_reply_arrives_in_pieces_and_says_what_made_it() {
    let messages = [Message::user("my bicycle is green")];
    let mut pieces = Vec::new();
    let mut listen = |piece: Piece| pieces.push(piece);

    let reply = Offline.reply(request(&all(&messages)), &mut listen).await.unwrap();

    let text: String = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(pieces.len() > 10);
    assert_eq!((text.as_str(), reply.stop), (reply.message.text().as_str(), Stop::Done));
    let extra: Vec<(&str, &str)> =
        reply.message.extra.iter().map(|(name, value)| (name, value.as_str())).collect();
    assert_eq!(extra, [("provider", "\"offline\""), ("api", "\"offline\""), ("model", "\"none\"")]);
}

#[test]
fn ten_thousand_messages_are_looked_through_at_once() {
    let filler =
        "The committee discussed the budget of the harbour for the coming year at great length. ".repeat(3);
    let mut messages: Vec<Message> =
        (0..10_000).map(|place| Message::user(format!("{filler} Point {place}."))).collect();
    messages[17] = Message::user("my bicycle is green");
    messages.push(Message::user("what colour is my bicycle?"));
    let started = Instant::now();

    let answer = body(&messages);

    assert_eq!(answer, "You said \"my bicycle is green\" in message 000017");
    // Far above what it takes, so that a busy machine does not fail it.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn strange_input_is_harmless() {
    let said =
        ["\0\u{1b}[2J", &"字".repeat(100_000), &"a ".repeat(100_000), "it is.", "??!!", "\u{202e}bicycle"];

    let answer = asked(&said, &format!("what colour is {}?", "字 bicycle ".repeat(1000)));

    assert!(!answer.is_empty());
}
