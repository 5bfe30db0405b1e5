//! What others wrote stays text: in a browser, and on a terminal. The payloads stand in `payloads.jsonl`, one
//! JSON string on each line; each is put wherever a conversation holds text.

mod browser;
mod page;
mod screen;
mod transcript;

use rejoin::{
    Block, Conversation, ConversationId, Fields, Json, Media, MediaKind, Message, MessageId, Other, Role,
    Summary, Thinking,
};

use crate::world::World;

/// Every payload.
fn payloads() -> Vec<String> {
    let payloads: Vec<String> =
        include_str!("payloads.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(payloads.len() >= 200);
    payloads
}

/// The messages of a talk with a payload in every place: what the user says, and what the model does then.
fn talk(payload: &str) -> [Message; 3] {
    let text = || payload.to_owned();
    let json = |value: &str| Json::of(&value).unwrap();
    let mut extra = Fields::new();
    extra.set("name", json(payload));
    let media = |mime_type: &str, data: Option<&str>| {
        Block::Media(Media {
            kind: MediaKind::Image,
            mime_type: mime_type.to_owned(),
            data: data.map(str::to_owned),
            uri: Some(text()),
            extra: extra.clone(),
        })
    };
    let arguments = Json::of(&serde_json::json!({ payload: payload })).unwrap();
    let user = Message::new(
        Role::User,
        vec![Block::text(text()), media("image/png", Some(payload)), media(payload, None)],
    );
    let reply = Message::new(
        Role::Assistant,
        vec![
            Block::Thinking(Thinking { text: text(), ..Thinking::default() }),
            Block::text(text()),
            Block::text(format!("a {payload} b")),
            Block::tool_call("c1", text(), arguments.clone()),
            Block::tool_call(text(), "named", json(payload)),
            Block::Other(Other { kind: text(), fields: extra.clone() }),
            Block::Summary(Summary { text: text(), ..Summary::default() }),
        ],
    );
    let results = Message::new(
        Role::Tool,
        vec![
            Block::tool_result("c1", json(payload)),
            Block::tool_result(text(), arguments),
            Block::tool_result("other", json(payload)),
        ],
    );
    [user.labelled(payload), reply, results]
}

/// Stores a talk for each payload, all in one conversation, each on a branch of
/// its own that the payload names.
fn plant(world: &World) -> ConversationId {
    world.started("note");
    let archive = world.archive();
    let project = world.path("project").to_str().unwrap().to_owned();
    let mut all = archive.start(Conversation::titled("Payloads").in_project(project)).unwrap();
    let root: MessageId = all.append(Message::user("PWN begin")).unwrap().head;
    for payload in payloads() {
        // A name may not be empty once it was trimmed; such a payload stands in the texts only.
        let mut branch = all.fork(root, &payload).or_else(|_| all.fork(root, "unnamed")).unwrap();
        branch.append_turn(talk(&payload).to_vec()).unwrap();
    }
    all.id()
}
