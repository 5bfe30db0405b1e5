//! A history as the OpenAI languages can send it: every call answered once, right after the message that asked.
//!
//! Nothing here fails. A history that was imported, cut or changed by hand still becomes a valid request.

use std::borrow::Cow;
use std::collections::HashSet;

use rejoin::view::Viewed;
use rejoin::{Block, Json, Media, MediaKind, Message, Role, ToolCall, ToolResult};

use crate::providers::Api;

/// The field that keeps a call's arguments when they are not the text of its input.
pub(crate) const ARGUMENTS: &str = "arguments";

/// What the answer to a call says when history has none.
const NO_ANSWER: &str = "Error: no result of this call was recorded";

/// The longest id of a call, and the longest name of a tool, that both languages accept.
const LONGEST_NAME: usize = 64;

/// One step of a history.
#[derive(Debug, PartialEq)]
pub(crate) enum Step<'a> {
    /// What a person, or the system, said.
    Heard { role: Role, parts: Vec<Part<'a>> },
    /// What a model said, with the answers to its calls.
    Said { message: &'a Message, origin: Origin, calls: Vec<Call<'a>> },
}

/// Where a model's message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From the provider that is asked, in its language: what it sent is sent back.
    Own,
    /// From another: only text, calls and results are sent.
    Foreign,
}

/// A part of what was said to the model.
#[derive(Debug, PartialEq)]
pub(crate) enum Part<'a> {
    /// Words, never none.
    Text(Cow<'a, str>),
    /// The address of an image, which may hold the image itself.
    Image(String),
}

/// A call with its answer, under an id that no other call has.
#[derive(Debug, PartialEq)]
pub(crate) struct Call<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) call: &'a ToolCall,
    answer: Option<&'a ToolResult>,
}

impl Call<'_> {
    /// The answer as text. A failure is marked in the text: neither language has a field for it.
    pub(crate) fn answer(&self) -> String {
        let Some(result) = self.answer else { return NO_ANSWER.to_owned() };
        let text = result.output.to::<String>().unwrap_or_else(|_| result.output.as_str().to_owned());
        if result.is_error { format!("Error: {text}") } else { text }
    }

    /// The arguments as the model wrote them.
    pub(crate) fn arguments(&self) -> Cow<'_, str> {
        arguments(self.call)
    }
}

/// The steps of a history, for a provider that speaks `api`.
pub(crate) fn steps<'a>(messages: &'a [Viewed<'a>], api: Api, provider: &str) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    let (mut taken, mut replies) = (HashSet::new(), HashSet::new());
    for message in messages.iter().map(|viewed| viewed.message.as_ref()) {
        match message.role {
            Role::Assistant => {
                let mut origin = origin(message, api, provider);
                let reply = message.extra.field("response_id").map(Json::as_str);
                // The same items twice are refused, so a reply that comes again is sent without its ids.
                if api == Api::Responses && reply.is_some_and(|reply| !replies.insert(reply)) {
                    origin = Origin::Foreign;
                }
                let calls = message.blocks.iter().filter_map(|block| match block {
                    Block::ToolCall(call) => Some(named(call, origin, &mut taken)),
                    _ => None,
                });
                steps.push(Step::Said { message, origin, calls: calls.collect() });
            }
            Role::User | Role::System | Role::Tool => {
                let role = if message.role == Role::System { Role::System } else { Role::User };
                let parts: Vec<Part<'a>> = message.blocks.iter().filter_map(part).collect();
                if !parts.is_empty() {
                    steps.push(Step::Heard { role, parts });
                }
            }
        }
        for block in &message.blocks {
            if let Block::ToolResult(result) = block {
                answer(&mut steps, result);
            }
        }
    }
    steps
}

/// The words of a model's block, if it says any.
pub(crate) fn said(block: &Block) -> Option<&str> {
    match block {
        Block::Text(block) => Some(block.text.as_str()),
        Block::Summary(block) => Some(block.text.as_str()),
        _ => None,
    }
    .filter(|text| !text.is_empty())
}

/// The JSON of a call's arguments, and the exact text when the JSON alone would not give it back.
pub(crate) fn read_arguments(text: &str) -> (Json, Option<Json>) {
    let exact = || Some(string(text));
    match Json::parse(one_line(text)) {
        Ok(input) if input.as_str() == text => (input, None),
        Ok(input) => (input, exact()),
        Err(_) if text.trim().is_empty() => (Json::parse("{}").expect("an empty object is JSON"), exact()),
        Err(_) => (string(text), exact()),
    }
}

/// JSON on one line, as stored messages are. A line can end only between values: strings have their own signs for it.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r']) {
        Cow::Owned(json.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(json)
    }
}

/// A string as JSON.
pub(crate) fn string(text: &str) -> Json {
    Json::of(&text).expect("a string is JSON")
}

fn arguments(call: &ToolCall) -> Cow<'_, str> {
    let exact = call.extra.field(ARGUMENTS).and_then(|text| text.to::<String>().ok());
    exact.map_or_else(|| Cow::Borrowed(call.input.as_str()), Cow::Owned)
}

fn origin(message: &Message, api: Api, provider: &str) -> Origin {
    let field = |name| message.extra.field(name).and_then(|value| value.to::<String>().ok());
    let is_own = field("api").is_some_and(|own| own == api.as_str())
        && field("provider").is_none_or(|own| own == provider);
    if is_own { Origin::Own } else { Origin::Foreign }
}

fn named<'a>(call: &'a ToolCall, origin: Origin, taken: &mut HashSet<String>) -> Call<'a> {
    let is_exact = origin == Origin::Own && !call.id.is_empty() && !call.name.is_empty();
    let is_usable = !call.id.is_empty() && call.id.len() <= LONGEST_NAME && !taken.contains(&call.id);
    let id = if is_exact || is_usable {
        Cow::Borrowed(call.id.as_str())
    } else {
        let free = (1..).map(|number| format!("call_{number}")).find(|free| !taken.contains(free));
        Cow::Owned(free.expect("some number is free"))
    };
    let name = if is_exact { Cow::Borrowed(call.name.as_str()) } else { tool_name(&call.name) };
    taken.insert(id.clone().into_owned());
    Call { id, name, call, answer: None }
}

/// A name that both languages accept: letters, digits, `_` and `-`, at most 64 of them.
fn tool_name(name: &str) -> Cow<'_, str> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_allowed) {
        return Cow::Borrowed(name);
    }
    let plain: String =
        name.chars().map(|letter| if is_allowed(letter) { letter } else { '_' }).take(LONGEST_NAME).collect();
    Cow::Owned(if plain.is_empty() { "tool".to_owned() } else { plain })
}

/// Gives a result to the newest unanswered call with its id. Without one, it cannot be sent.
fn answer<'a>(steps: &mut [Step<'a>], result: &'a ToolResult) {
    let calls = steps.iter_mut().rev().filter_map(|step| match step {
        Step::Said { calls, .. } => Some(calls),
        Step::Heard { .. } => None,
    });
    let waiting = calls.flatten().find(|call| call.answer.is_none() && call.call.id == result.call_id);
    if let Some(call) = waiting {
        call.answer = Some(result);
    }
}

fn part(block: &Block) -> Option<Part<'_>> {
    match block {
        Block::Media(media) => Some(image(media)),
        block => said(block).map(|text| Part::Text(Cow::Borrowed(text))),
    }
}

fn image(media: &Media) -> Part<'_> {
    let is_image = media.kind == MediaKind::Image;
    match (&media.data, &media.uri) {
        (Some(data), _) if is_image => Part::Image(format!("data:{};base64,{data}", media.mime_type)),
        (None, Some(uri))
            if is_image && ["https:", "http:", "data:"].iter().any(|scheme| uri.starts_with(scheme)) =>
        {
            Part::Image(uri.clone())
        }
        _ => Part::Text(Cow::Owned(format!(
            "[{} of type `{}`, not sent]",
            media.kind.as_str(),
            media.mime_type
        ))),
    }
}

#[cfg(test)]
mod tests {
    use rejoin::Fields;

    use super::*;
    use crate::providers::replay::all;

    fn call(id: &str, name: &str) -> Block {
        Block::tool_call(id, name, Json::parse("{}").unwrap())
    }

    fn result(id: &str, text: &str) -> Message {
        Message::new(Role::Tool, vec![Block::tool_result(id, string(text))])
    }

    fn answers(messages: &[Message]) -> Vec<(String, String, String)> {
        let messages = all(messages);
        let steps = steps(&messages, Api::Chat, "local");
        let calls = steps.iter().filter_map(|step| match step {
            Step::Said { calls, .. } => Some(calls),
            Step::Heard { .. } => None,
        });
        calls.flatten().map(|call| (call.id.to_string(), call.name.to_string(), call.answer())).collect()
    }

    fn strings(triples: &[[&str; 3]]) -> Vec<(String, String, String)> {
        triples.iter().map(|[a, b, c]| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect()
    }

    #[test]
    fn ids_that_come_again_are_told_apart_and_keep_their_own_answers() {
        let asked = Message::new(Role::Assistant, vec![call("c", "read")]);
        let messages = [asked.clone(), result("c", "one"), asked, result("c", "two")];

        let expected = strings(&[["c", "read", "one"], ["call_1", "read", "two"]]);
        assert_eq!(answers(&messages), expected);
    }

    #[test]
    fn a_call_without_a_result_is_answered_and_a_result_without_a_call_is_left_out() {
        let messages = [
            Message::new(Role::Assistant, vec![call("c", "read")]),
            result("other", "lost"),
            Message::user("go on"),
        ];

        assert_eq!(answers(&messages), strings(&[["c", "read", NO_ANSWER]]));
    }

    #[test]
    fn a_second_result_of_one_call_is_left_out() {
        let messages =
            [Message::new(Role::Assistant, vec![call("c", "read")]), result("c", "one"), result("c", "two")];

        assert_eq!(answers(&messages), strings(&[["c", "read", "one"]]));
    }

    #[test]
    fn names_that_no_provider_accepts_are_replaced() {
        let long = "x".repeat(70);
        let messages = [Message::new(
            Role::Assistant,
            vec![call("", "server.read file"), call(&long, ""), call("ok", &long)],
        )];

        let short = "x".repeat(64);
        let expected = strings(&[
            ["call_1", "server_read_file", NO_ANSWER],
            ["call_2", "tool", NO_ANSWER],
            ["ok", &short, NO_ANSWER],
        ]);
        assert_eq!(answers(&messages), expected);
    }

    #[test]
    fn a_message_is_its_own_only_for_the_same_language_and_provider() {
        let message = |api: &str, provider: Option<&str>| {
            let mut message = Message::assistant("hi");
            message.extra.set("api", string(api));
            if let Some(provider) = provider {
                message.extra.set("provider", string(provider));
            }
            origin(&message, Api::Chat, "local")
        };

        let origins = [
            message("openai-chat", Some("local")),
            message("openai-chat", None),
            message("openai-chat", Some("other")),
            message("anthropic", Some("local")),
            origin(&Message::assistant("hi"), Api::Chat, "local"),
        ];
        assert_eq!(origins, [Origin::Own, Origin::Own, Origin::Foreign, Origin::Foreign, Origin::Foreign]);
    }

    #[test]
    fn arguments_come_back_to_the_letter() {
        let texts = ["{}", "{ \"a\" : 1.50 }", " {} ", "", "{\"a\":", "\"text\"", "{\"a\":\"\\u00e9\"}\n"];

        let back = texts.map(|text| {
            let (input, exact) = read_arguments(text);
            let mut extra = Fields::new();
            exact.into_iter().for_each(|exact| extra.set(ARGUMENTS, exact));
            arguments(&ToolCall { input, extra, ..ToolCall::default() }).into_owned()
        });

        assert_eq!(back, texts);
    }

    #[test]
    fn what_cannot_be_sent_is_named() {
        let media = |kind, data: Option<&str>, uri: Option<&str>| {
            Block::Media(Media {
                kind,
                mime_type: "x/y".to_owned(),
                data: data.map(str::to_owned),
                uri: uri.map(str::to_owned),
                extra: Fields::new(),
            })
        };
        let blocks = vec![
            Block::text(""),
            Block::text("look"),
            media(MediaKind::Image, Some("AAAA"), None),
            media(MediaKind::Image, None, Some("https://example.org/a.png")),
            media(MediaKind::Image, None, Some("file:///a.png")),
            media(MediaKind::Audio, Some("AAAA"), None),
        ];
        let messages = [Message::new(Role::User, blocks), Message::user("")];

        let expected = vec![Step::Heard {
            role: Role::User,
            parts: vec![
                Part::Text("look".into()),
                Part::Image("data:x/y;base64,AAAA".to_owned()),
                Part::Image("https://example.org/a.png".to_owned()),
                Part::Text("[image of type `x/y`, not sent]".into()),
                Part::Text("[audio of type `x/y`, not sent]".into()),
            ],
        }];
        assert_eq!(steps(&all(&messages), Api::Chat, "local"), expected);
    }
}
