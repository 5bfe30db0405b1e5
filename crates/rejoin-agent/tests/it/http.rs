//! Asking over HTTP: what is sent, what is tried again, what is given up, and that a key is never shown.

use std::collections::HashSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rejoin::Message;
use rejoin::view::Viewed;
use rejoin_agent::{
    ApiKey, Environment, ErrorKind, Http, HttpSettings, KeySource, Piece, Provider, Request, Stop,
};
use tokio::sync::mpsc;

use crate::asking::{PLANTED, ask, retries, settings};
use crate::server::{Answer, Server};

const PLAIN: &str = include_str!("../streams/anthropic/plain_text.sse");

const OVERLOADED: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

fn hello() -> [Message; 1] {
    [Message::user("hello")]
}

#[tokio::test]
async fn a_request_carries_the_key_and_the_reply_streams() {
    let server = Server::start([Answer::stream(PLAIN)]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    let reply = reply.unwrap();
    assert_eq!((reply.stop, retries(&pieces)), (Stop::Done, Vec::new()));
    let asked = server.asked().remove(0);
    let names = ["x-api-key", "content-type", "accept", "anthropic-version", "authorization"];
    assert_eq!(asked.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(
        names.map(|name| asked.header(name)),
        [Some(PLANTED), Some("application/json"), Some("text/event-stream"), Some("2023-06-01"), None]
    );
}

#[tokio::test]
async fn a_connection_serves_further_requests() {
    let server = Server::start([(); 10].map(|()| Answer::stream(PLAIN))).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    for _ in 0..10 {
        ask(&provider, &hello(), &[]).await.0.unwrap();
    }

    let connections: HashSet<usize> = server.asked().iter().map(|asked| asked.connection).collect();
    assert!(connections.len() < 10, "{connections:?}");
}

#[tokio::test]
async fn a_limit_is_waited_for_as_long_as_the_provider_asks() {
    let limited = r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down."}}"#;
    let server = Server::start([
        Answer::json(429, limited).header("retry-after-ms", "20"),
        Answer::json(429, limited).header("retry-after", "0.03"),
        Answer::json(429, limited).header("retry-after", "0"),
        Answer::stream(PLAIN),
    ])
    .await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    let why = "the status is 429: rate_limit_error: Slow down.".to_owned();
    let told = retries(&pieces);
    let asked = [(why.clone(), 1, Duration::from_millis(20)), (why, 2, Duration::from_millis(30))];
    assert_eq!(told[..2], asked);
    assert!(!told[2].2.is_zero());
    reply.unwrap();
}

#[tokio::test]
async fn a_wait_that_no_one_would_sit_through_is_an_error_that_says_how_long() {
    let server = Server::start([Answer::json(429, "{}").header("retry-after", "3600")]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let error = ask(&provider, &hello(), &[]).await.0.unwrap_err();

    assert_eq!((error.kind(), error.wait()), (ErrorKind::Limited, Some(Duration::from_secs(3600))));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn failures_that_pass_are_tried_again() {
    let statuses = [408, 409, 429, 500, 502, 503, 504, 529];
    let answers = statuses.map(|status| Answer::json(status, OVERLOADED));
    let server = Server::start(answers.into_iter().chain([Answer::stream(PLAIN)])).await;
    let mut settings = settings(&server);
    settings.max_retries = 8;
    let provider = Http::anthropic(settings).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    reply.unwrap();
    assert_eq!(retries(&pieces).len(), statuses.len());
}

#[tokio::test]
async fn retries_end_and_the_error_has_the_words_of_the_provider() {
    let server = Server::start([(); 4].map(|()| Answer::json(529, OVERLOADED))).await;
    let mut settings = settings(&server);
    settings.max_retries = 2;
    let provider = Http::anthropic(settings).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    let host = server.url().replace("http://", "");
    assert_eq!(
        format!("{:?}", reply.unwrap_err()),
        format!(
            "[Overloaded] ask `mine` at `{host}` for a reply: the status is 529: overloaded_error: Overloaded"
        )
    );
    assert_eq!((retries(&pieces).len(), server.asked().len()), (2, 3));
}

#[tokio::test]
async fn a_provider_may_forbid_a_retry() {
    let server = Server::start([Answer::json(500, OVERLOADED).header("x-should-retry", "false")]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let error = ask(&provider, &hello(), &[]).await.0.unwrap_err();

    assert_eq!((error.kind(), server.asked().len()), (ErrorKind::Overloaded, 1));
}

#[tokio::test]
async fn failures_that_do_not_pass_are_not_tried_again() {
    let too_long =
        r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
    let cases = [
        (400, "{}", ErrorKind::Refused),
        (400, too_long, ErrorKind::TooLong),
        (401, "{}", ErrorKind::Unauthorized),
        (403, "{}", ErrorKind::Unauthorized),
        (404, "{}", ErrorKind::Refused),
        (413, "{}", ErrorKind::TooLong),
        (422, "{}", ErrorKind::Refused),
    ];
    let server = Server::start(cases.map(|(status, body, _)| Answer::json(status, body))).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    for (_, _, kind) in cases {
        assert_eq!(ask(&provider, &hello(), &[]).await.0.unwrap_err().kind(), kind);
    }
    assert_eq!(server.asked().len(), cases.len());
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_void_and_asked_for_again() {
    let part = &PLAIN[..PLAIN.len() * 3 / 4];
    let server = Server::start([
        Answer::stream(part).break_off(),
        Answer::stream(part),
        Answer::stream("event: message_start\ndata: {broken\n\n"),
        Answer::stream(PLAIN),
    ])
    .await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    let is_again = |piece: &Piece| matches!(piece, Piece::Again { .. });
    let attempts: Vec<bool> = pieces.split(is_again).map(|told| !told.is_empty()).collect();
    assert_eq!(attempts, [true, true, false, true]);
    assert_eq!(reply.unwrap().message.text(), "Your bicycle is green. ¿Qué más? 🚲\n");
}

#[tokio::test]
async fn an_error_in_the_stream_is_tried_again_when_it_may_pass() {
    let broken = include_str!("../streams/anthropic/error_mid_stream.sse");
    let final_one = broken.replace("overloaded_error", "invalid_request_error");
    let server =
        Server::start([Answer::stream(broken), Answer::stream(PLAIN), Answer::stream(&final_one)]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let (first, pieces) = ask(&provider, &hello(), &[]).await;
    let (second, _) = ask(&provider, &hello(), &[]).await;

    first.unwrap();
    assert_eq!(retries(&pieces)[0].0, "the provider broke off the reply: overloaded_error: Overloaded");
    assert_eq!(second.unwrap_err().kind(), ErrorKind::Refused);
}

#[tokio::test]
async fn a_server_of_this_machine_that_is_not_there_is_told_at_once_in_one_line() {
    let server = Server::start([]).await;
    let mut settings = settings(&server);
    settings.max_retries = 1;
    settings.base_url = Some("http://127.0.0.1:1".to_owned());
    let provider = Http::anthropic(settings).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    let expected = "[Unreachable] could not connect to `mine` at http://127.0.0.1:1";
    assert_eq!((format!("{:?}", reply.unwrap_err()).as_str(), retries(&pieces).len()), (expected, 0));
}

#[tokio::test]
async fn a_provider_that_never_answers_is_given_up_in_one_line() {
    let server = Server::start([]).await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = settings(&server);
    settings.idle_timeout = Duration::from_millis(250);
    settings.base_url = Some(format!("http://{}", silent.local_addr().unwrap()));
    let provider = Http::anthropic(settings).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    let place = silent.local_addr().unwrap();
    let expected = format!("[Silent] `mine` at http://{place} did not answer within 0.25 s");
    assert_eq!((format!("{:?}", reply.unwrap_err()), retries(&pieces).len()), (expected, 0));
}

#[tokio::test]
async fn models_are_listed_from_the_route_that_the_server_has() {
    let answers = [
        Answer::json(200, r#"{"data":[{"id":"b"},{"id":"a"}]}"#),
        Answer::json(404, r#"{"error":"no"}"#),
        Answer::json(200, r#"{"models":[{"name":"llama3.2:3b"}]}"#),
        Answer::json(401, r#"{"error":{"type":"authentication_error","message":"who?"}}"#),
    ];
    let server = Server::start(answers).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let listed = [provider.models().await, provider.models().await, provider.models().await];

    let [first, second, refused] = listed;
    assert_eq!((first.unwrap(), second.unwrap()), (vec!["b".into(), "a".into()], vec!["llama3.2:3b".into()]));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unauthorized);
    let lines: Vec<String> = server.asked().into_iter().map(|asked| asked.line).collect();
    let expected = [
        "GET /v1/models?limit=1000 HTTP/1.1",
        "GET /v1/models?limit=1000 HTTP/1.1",
        "GET /api/tags HTTP/1.1",
        "GET /v1/models?limit=1000 HTTP/1.1",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn silence_is_given_up_and_signs_of_life_are_not_silence() {
    let step = Duration::from_millis(200);
    let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let mut alive = Answer::new(200).header("content-type", "text/event-stream");
    for _ in 0..6 {
        alive = alive.pause(step).send(ping);
    }
    let server = Server::start([Answer::stream(ping).hold(), alive.send(PLAIN)]).await;
    let mut settings = settings(&server);
    settings.idle_timeout = Duration::from_millis(750);
    let provider = Http::anthropic(settings).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    reply.unwrap();
    let reasons: Vec<String> = retries(&pieces).into_iter().map(|(reason, _, _)| reason).collect();
    assert_eq!(reasons, ["nothing arrived for 0.75 seconds"]);
}

#[tokio::test]
async fn a_slow_first_byte_is_waited_for() {
    let slow = Answer::new(200)
        .header("content-type", "text/event-stream")
        .pause(Duration::from_millis(200))
        .send(PLAIN);
    let server = Server::start([slow]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    assert_eq!((reply.unwrap().stop, retries(&pieces)), (Stop::Done, Vec::new()));
}

#[tokio::test]
async fn dropping_the_future_closes_the_connection() {
    let server = Server::start([Answer::stream(&PLAIN[..PLAIN.len() * 3 / 4]).hold()]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();
    let [hello] = hello();
    let request = Request {
        model: "model-1",
        system: "",
        messages: &[Viewed::from(&hello)],
        tools: &[],
        max_tokens: None,
    };
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut listen = |piece: Piece| tell.send(piece).unwrap();

    tokio::select! {
        outcome = provider.reply(request, &mut listen) => panic!("the answer does not end: {outcome:?}"),
        piece = told.recv() => assert_eq!(piece, Some(Piece::Text("Your bicycle".to_owned()))),
    }

    tokio::time::timeout(Duration::from_secs(10), server.until_gone()).await.unwrap();
}

#[tokio::test]
async fn dropping_the_future_before_the_first_byte_closes_the_connection() {
    let server = Server::start([Answer::new(200).hold()]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();
    let hello = hello();

    tokio::select! {
        _ = ask(&provider, &hello, &[]) => panic!("the answer does not end"),
        () = server.until_asked(1) => {}
    }

    tokio::time::timeout(Duration::from_secs(10), server.until_gone()).await.unwrap();
}

#[tokio::test]
async fn a_page_is_not_a_reply() {
    let page = Answer::new(200).header("content-type", "text/html").send("<html>Log in</html>");
    let server = Server::start([page]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let (reply, pieces) = ask(&provider, &hello(), &[]).await;

    let error = format!("{:?}", reply.unwrap_err());
    assert!(error.contains("the answer is not a stream of events: <html>Log in</html>"), "{error}");
    assert_eq!(retries(&pieces), []);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([Answer::stream(PLAIN)]).await;
    let target = format!("{}/v1/messages", elsewhere.url());
    let server = Server::start([Answer::new(307).header("location", &target)]).await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let error = ask(&provider, &hello(), &[]).await.0.unwrap_err();

    assert_eq!((error.kind(), elsewhere.asked().len()), (ErrorKind::Invalid, 0));
    assert!(format!("{error:?}").contains(&target), "{error:?}");
}

#[test]
fn what_stays_on_this_machine_passes_no_proxy() {
    let own = std::env::current_exe().unwrap();
    let rule = "http::a_request_carries_the_key_and_the_reply_streams";

    let output = Command::new(own)
        .args(["--exact", rule])
        .env("http_proxy", "http://127.0.0.1:1")
        .env("ALL_PROXY", "http://127.0.0.1:1")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .output()
        .unwrap();

    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn plain_http_carries_no_key_to_another_machine() {
    let at = |url: &str, key: KeySource| {
        let mut settings = HttpSettings::new("mine");
        settings.base_url = Some(url.to_owned());
        settings.key = key;
        Http::anthropic(settings).map(drop).map_err(|error| error.kind())
    };
    let key = || KeySource::Value(ApiKey::new(PLANTED).unwrap());

    let outcomes = [
        at("http://192.0.2.1:8080", key()),
        at("http://192.0.2.1:8080", KeySource::Command("true".to_owned(), Environment::default())),
        at("http://192.0.2.1:8080", KeySource::None),
        at("https://192.0.2.1:8080", key()),
        at("http://localhost:8080", key()),
    ];

    let invalid = Err(ErrorKind::Invalid);
    assert_eq!(outcomes, [invalid, invalid, Ok(()), Ok(()), Ok(())]);
}

#[tokio::test]
async fn without_a_key_no_header_is_sent() {
    let server = Server::start([Answer::stream(PLAIN)]).await;
    let mut settings = settings(&server);
    settings.key = KeySource::None;
    let provider = Http::anthropic(settings).unwrap();

    ask(&provider, &hello(), &[]).await.0.unwrap();

    assert_eq!(server.asked()[0].header("x-api-key"), None);
}

#[tokio::test]
async fn a_key_that_is_not_accepted_is_asked_for_once_more() {
    let directory = tempfile::tempdir().unwrap();
    let count = directory.path().join("count");
    let line = format!("echo x >> {0}; echo sk-$(wc -l < {0})", count.display());
    let server = Server::start([
        Answer::json(401, "{}"),
        Answer::stream(PLAIN),
        Answer::json(401, "{}"),
        Answer::json(401, "{}"),
    ])
    .await;
    let mut settings = settings(&server);
    settings.key = KeySource::Command(line, Environment::default());
    let provider = Http::anthropic(settings).unwrap();

    let first = ask(&provider, &hello(), &[]).await.0;
    let second = ask(&provider, &hello(), &[]).await.0;

    assert_eq!(first.unwrap().stop, Stop::Done);
    assert_eq!(second.unwrap_err().kind(), ErrorKind::Unauthorized);
    let asked = server.asked();
    let keys: Vec<&str> = asked.iter().filter_map(|asked| asked.header("x-api-key")).collect();
    assert_eq!(keys, ["sk-1", "sk-2", "sk-2", "sk-3"]);
}

#[tokio::test]
async fn a_keyring_may_hold_the_key() {
    let server = Server::start([Answer::stream(PLAIN)]).await;
    let mut settings = settings(&server);
    settings.key = KeySource::Lookup(Arc::new(|| ApiKey::new(PLANTED)));
    let provider = Http::anthropic(settings).unwrap();

    ask(&provider, &hello(), &[]).await.0.unwrap();

    assert_eq!(server.asked()[0].header("x-api-key"), Some(PLANTED));
}

#[tokio::test]
async fn a_key_is_never_shown_even_when_the_server_sends_it_back() {
    let echo = format!(r#"{{"error":{{"type":"api_error","message":"bad key {PLANTED}"}}}}"#);
    let event = format!("event: error\ndata: {echo}\n\n");
    let broken = format!("event: message_start\ndata: {PLANTED}\n\n");
    let server = Server::start([
        Answer::json(500, &echo),
        Answer::stream(&event),
        Answer::stream(&broken),
        Answer::new(500).send(PLANTED),
        Answer::json(401, &echo),
        Answer::new(200).header("content-type", "text/html").send(PLANTED),
        Answer::new(302).header("location", &format!("https://elsewhere.example/?key={PLANTED}")),
        Answer::stream(&event.replace("api_error", "invalid_request_error")),
    ])
    .await;
    let provider = Http::anthropic(settings(&server)).unwrap();

    let mut all = format!("{provider:?} {:?}", settings(&server));
    let mut kinds = Vec::new();
    for _ in 0..4 {
        let (reply, pieces) = ask(&provider, &hello(), &[]).await;
        let error = reply.unwrap_err();
        kinds.push(error.kind());
        all.push_str(&format!("{error} {error:?} {error:#?} {pieces:?}"));
    }

    use ErrorKind::{Invalid, Malformed, Refused, Unauthorized};
    assert_eq!(kinds, [Unauthorized, Malformed, Invalid, Refused]);
    assert!(all.contains("bad key [redacted]") && !all.contains("planted"), "{all}");
}
