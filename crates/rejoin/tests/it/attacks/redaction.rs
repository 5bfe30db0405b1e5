//! Attempts to have a secret stored although redaction is on. The control is
//! the same store without redaction.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rejoin::store::{MemoryStore, Order};
use rejoin::{
    Archive, AttachmentKind, Block, Conversation, Fields, Json, Media, MediaKind, Message, Redaction, Role,
    Thinking,
};
use serde_json::json;

use super::attempt::{Attempt, Target, assert_all_fail};

/// A token that is told by its own letters, and its two halves.
const TOKEN: &str = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");
const HALVES: [&str; 2] = [concat!("ghp", "_16C7e42F292c6912"), "E7710c838347Ae178B4a"];

/// A password that only what stands around it tells.
const PASSWORD: &str = "Orchid99-lamp";

/// So many letters of a secret in a row are a part of it that was stored.
const PART: usize = 8;

fn archive(target: Target) -> Archive {
    let plain = Archive::with_store(Arc::new(MemoryStore::new()));
    match target {
        Target::Guarded => plain.with_redaction(Redaction::new()),
        Target::Control => plain,
    }
}

/// What is left of a text when what wraps or hides a secret is taken away.
fn squeezed(text: &str) -> String {
    let is_hiding = |letter: char| {
        letter.is_whitespace() || matches!(letter, '\\' | '"' | '+' | '\u{200b}' | '\u{ad}' | '\u{feff}')
    };
    text.chars().filter(|letter| !is_hiding(*letter)).collect()
}

/// True when a part of a secret is in what was stored.
fn holds(stored: &str, secret: &str) -> bool {
    let (stored, secret) = (squeezed(stored), squeezed(secret));
    let ends = PART..=secret.len();
    ends.into_iter().any(|end| stored.contains(&secret[end - PART..end]))
}

/// Everything that a store holds of a message: its body as it is written, and what it says.
fn stored(target: Target, message: Message) -> String {
    let archive = archive(target);
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    handle.append(message).unwrap();
    let all = archive.reader().all_messages(handle.id(), Order::OldestFirst, 0, u64::MAX).unwrap();
    let written = |message: &Message| {
        let label = message.label.clone().unwrap_or_default();
        message.to_body().replace("\\n", "\n") + &message.text() + &label
    };
    all.iter().map(|stored| written(&stored.message)).collect()
}

/// An attempt to have a secret stored in what somebody says.
fn saying<'a>(name: &'a str, text: impl Into<String>, secret: &'a str) -> Attempt<'a> {
    let text = text.into();
    Attempt::new(name, move |target| holds(&stored(target, Message::user(text.as_str())), secret))
}

/// An attempt with a message of these blocks.
fn sending<'a>(name: &'a str, blocks: impl Fn() -> Vec<Block> + 'a, secret: &'a str) -> Attempt<'a> {
    Attempt::new(name, move |target| holds(&stored(target, Message::new(Role::Assistant, blocks())), secret))
}

#[test]
fn no_way_of_writing_a_secret_brings_it_past_redaction() {
    let [first, rest] = HALVES;
    let packed = STANDARD
        .encode(format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n", "MIIEpAIBAAKCAQEA7c3e9a1f5b2d".repeat(6)));
    let folded = packed
        .as_bytes()
        .chunks(64)
        .map(|line| str::from_utf8(line).unwrap())
        .collect::<Vec<_>>()
        .join("\n    ");
    let numbers: String = TOKEN.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();
    let wide: String =
        "DB_PASSWORD=".chars().map(|letter| char::from_u32(u32::from(letter) + 0xfee0).unwrap()).collect();

    assert_all_fail(&[
        saying(
            "a block of lines in YAML",
            format!("db:\n  password: |\n    {PASSWORD}\n  port: 1\n"),
            PASSWORD,
        ),
        saying("a folded block in YAML", format!("db:\n  password: >-\n    {PASSWORD}\n"), PASSWORD),
        saying("a token in two lines", format!("it is {first}\n{rest}"), TOKEN),
        saying("a token behind a backslash", format!("export T={first}\\\n{rest}"), TOKEN),
        saying(
            "a token in two texts that a program joins",
            format!("t = \"{first}\" +\n    \"{rest}\""),
            TOKEN,
        ),
        saying(
            "a command in several lines",
            format!("docker login \\\n  -u ada \\\n  -p {PASSWORD} \\\n  registry"),
            PASSWORD,
        ),
        saying("a key in folded base64", format!("tls.key: {folded}"), &packed[packed.len() - 80..]),
        saying("a letter that nobody sees", format!("use {first}\u{200b}{rest} now"), TOKEN),
        saying(
            "a hyphen that nobody sees, in the first letters",
            format!("use {}\u{ad}{} now", &TOKEN[..2], &TOKEN[2..]),
            TOKEN,
        ),
        saying(
            "a letter of another script in the name",
            format!("p\u{430}ssword = \"{PASSWORD}\""),
            PASSWORD,
        ),
        saying("wide letters in the name", format!("{wide}{PASSWORD}"), PASSWORD),
        saying(
            "colours of a terminal around the name",
            format!("\u{1b}[33mpassword\u{1b}[0m: \u{1b}[32m{PASSWORD}\u{1b}[0m"),
            PASSWORD,
        ),
        saying(
            "an argument of a cloud's program",
            format!("aws ssm put-parameter --name /db --value {PASSWORD}"),
            PASSWORD,
        ),
        saying(
            "a literal of a cluster's secret",
            format!("kubectl create secret generic db --from-literal=x={PASSWORD}"),
            PASSWORD,
        ),
        saying(
            "what one command writes and another reads",
            format!("echo -n '{PASSWORD}' | gh secret set DEPLOY"),
            PASSWORD,
        ),
        saying(
            "a secure string that is none",
            format!("ConvertTo-SecureString '{PASSWORD}' -AsPlainText -Force"),
            PASSWORD,
        ),
        saying("a field of a page", format!("<input value='{PASSWORD}' id=p type='password'/>"), PASSWORD),
        saying("an assignment if there is none yet", format!("@db_password ||= \"{PASSWORD}\""), PASSWORD),
        saying("the default of a variable", format!("process.env.DB_PASSWORD || '{PASSWORD}'"), PASSWORD),
        saying(
            "a password with numbers of letters in an address",
            "postgres://ada:Or%63hid99%2Dlamp@db/x",
            "Or%63hid99%2Dlamp",
        ),
        saying(
            "a token with numbers of letters",
            format!("https://x.local/?t=ghp%5F{}", &TOKEN[4..]),
            &TOKEN[4..],
        ),
        saying(
            "quotes as a page writes them",
            format!("&quot;password&quot;: &quot;{PASSWORD}&quot;"),
            PASSWORD,
        ),
        saying("a value before its name", format!("- value: {PASSWORD}\n  name: DB_PASSWORD\n"), PASSWORD),
        saying(
            "a row of a table of users",
            format!("INSERT INTO users (name, password) VALUES ('ada', '{PASSWORD}');"),
            PASSWORD,
        ),
        saying(
            "JSON in JSON in JSON",
            json!({ "a": json!({ "b": json!({ "password": PASSWORD }).to_string() }).to_string() })
                .to_string(),
            PASSWORD,
        ),
        saying("letters of JSON by their numbers", format!("{{\"t\": \"{numbers}\"}}"), &numbers),
    ]);
}

#[test]
fn no_place_of_a_message_takes_a_secret_past_redaction() {
    let call = |input: serde_json::Value| vec![Block::tool_call("c", "run", Json::of(&input).unwrap())];
    let result = |output: serde_json::Value| vec![Block::tool_result("c", Json::of(&output).unwrap())];
    let attached = || {
        let text = STANDARD.encode(format!("password: |\n  {PASSWORD}\n"));
        let media = Media {
            kind: MediaKind::File,
            mime_type: "text/yaml".to_owned(),
            data: Some(text),
            uri: None,
            extra: Fields::new(),
        };
        vec![Block::Media(media)]
    };
    let unpacked = |target: Target| {
        let body = stored(target, Message::new(Role::User, attached()));
        let data =
            body.split("\"data\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        String::from_utf8(STANDARD.decode(data).unwrap_or_default()).unwrap()
    };
    let thought = || {
        vec![Block::Thinking(Thinking { text: format!("password := \"{PASSWORD}\""), ..Thinking::default() })]
    };
    let lines = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    assert_all_fail(&[
        sending(
            "an argument of a tool",
            || call(json!({ "command": format!("vault kv put secret/db x={PASSWORD}") })),
            PASSWORD,
        ),
        sending(
            "a name and a value in an argument",
            || call(json!({ "env": [{ "key": "DB_PASSWORD", "value": PASSWORD }] })),
            PASSWORD,
        ),
        sending(
            "a value before its name in an argument",
            || call(json!({ "env": [{ "value": PASSWORD, "name": "DB_PASSWORD" }] })),
            PASSWORD,
        ),
        sending(
            "the attributes of a resource in Terraform's state",
            || result(json!({ "attributes": { "password": PASSWORD } })),
            PASSWORD,
        ),
        sending(
            "an output that is sensitive",
            || {
                result(
                    json!({ "outputs": { "db": { "value": PASSWORD, "type": "string", "sensitive": true } } }),
                )
            },
            PASSWORD,
        ),
        sending(
            "an object with the name of a secret",
            || result(json!({ "db_password": { "value": PASSWORD } })),
            PASSWORD,
        ),
        sending(
            "a secret of Kubernetes",
            || result(json!({ "data": { "x": STANDARD.encode(PASSWORD) }, "kind": "Secret" })),
            "T3JjaGlkOTktbGFtcA==",
        ),
        sending(
            "a key in JSON with a look-alike",
            || result(json!({ "p\u{430}ssword": PASSWORD })),
            PASSWORD,
        ),
        sending(
            "lines of a key in a list",
            || result(json!(["-----BEGIN PRIVATE KEY-----", lines, "-----END PRIVATE KEY-----"])),
            lines,
        ),
        sending("a thought", thought, PASSWORD),
        sending(
            "two blocks, of which each has a name and a value",
            || vec![Block::text("first"), Block::text(format!("password=>'{PASSWORD}'"))],
            PASSWORD,
        ),
        Attempt::new("an attached file in base64", |target| holds(&unpacked(target), PASSWORD)),
        Attempt::new("an attachment in a stream", |target| {
            let archive = archive(target);
            let talk = archive.start(Conversation::titled("Lisbon")).unwrap();
            let text = format!("{}\npassword: >\n  {PASSWORD}\n", "line\n".repeat(300_000));
            let attached =
                archive.attachments().add(talk.id(), AttachmentKind::Document, &mut text.as_bytes()).unwrap();
            let mut read = Vec::new();
            archive.attachments().read(talk.id(), attached.digest, &mut read).unwrap();
            memchr::memmem::find(&read, PASSWORD.as_bytes()).is_some()
        }),
        Attempt::new("a title", |target| {
            let talk = archive(target)
                .start(Conversation::titled(format!("Rotate {}\u{200b}{}", HALVES[0], HALVES[1])))
                .unwrap();
            holds(&talk.conversation().unwrap().conversation.title.unwrap_or_default(), TOKEN)
        }),
        Attempt::new("a label", |target| {
            let mut message = Message::user("hi");
            message.label = Some(format!("docker login -u ada -p {PASSWORD}"));
            holds(&stored(target, message), PASSWORD)
        }),
        Attempt::new("a field that nobody knows", |target| {
            let mut message = Message::user("hi");
            let mut extra = Fields::new();
            extra.set("db_password", Json::of(&PASSWORD).unwrap());
            message.extra = extra;
            holds(&stored(target, message), PASSWORD)
        }),
        Attempt::new("the path of a project", |target| {
            let archive = archive(target);
            let talk = archive
                .start(Conversation::titled("Lisbon").in_project(format!("/home/ada/{TOKEN}")))
                .unwrap();
            holds(&talk.conversation().unwrap().conversation.project.unwrap_or_default(), TOKEN)
        }),
        Attempt::new("the first half of a block that is arriving", |target| {
            let archive = archive(target);
            let mut recorder = archive.record(archive.start(Conversation::new()).unwrap(), "1@1");
            recorder.save_open(&Message::assistant(format!("db:\n  password: |\n    {PASSWORD}")), &[]);
            let turns = recorder.handle().archive().open_turns().list(recorder.conversation()).unwrap();
            turns.iter().any(|turn| holds(&turn.partial.text(), PASSWORD))
        }),
    ]);
}
