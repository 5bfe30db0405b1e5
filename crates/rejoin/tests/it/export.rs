//! Exports for people: what stands in them, and in which order.

use rejoin::formats::{SourceBranch, SourceConversation, SourceMessage, SourceParent, SourcePin, Tree};
use rejoin::{Block, Conversation, Fields, Json, Media, MediaKind, Message, Role, Thinking, Time};

fn time(minute: i64) -> Time {
    Time::from_micros(1_794_770_847_000_000 + minute * 60_000_000)
}

fn said(conversation: &str, id: &str, parent: Option<&str>, message: Message) -> SourceMessage {
    SourceMessage {
        conversation: conversation.to_owned(),
        id: id.to_owned(),
        parent: parent.map(str::to_owned),
        message,
        keeps: Vec::new(),
        line: 0,
        source: String::new(),
    }
}

/// A conversation with a tool, an attachment, a branch and a run of a sub-agent.
fn lisbon() -> Tree {
    let mut trip = SourceConversation::new("trip", time(0));
    trip.header = Conversation::titled("Lisbon *2026*").in_project("/home/me/trip");
    trip.header.settings.model = Some("m-1".to_owned());
    trip.head = Some("c".to_owned());
    let mut run = SourceConversation::new("run", time(1));
    run.parent = Some(SourceParent {
        conversation: "trip".to_owned(),
        message: Some("b".to_owned()),
        name: "scout".to_owned(),
        run: "1".to_owned(),
    });
    let map = Media {
        kind: MediaKind::File,
        mime_type: "text/plain".to_owned(),
        data: None,
        uri: Some("map.txt".to_owned()),
        extra: Default::default(),
    };
    let asked = Message::new(Role::User, vec![Block::text("Where to eat?"), Block::Media(map)]).at(time(0));
    let lines: Vec<String> = (1..=10).map(|line| line.to_string()).collect();
    let reply = Message::new(
        Role::Assistant,
        vec![
            Block::Thinking(Thinking { text: "Fish?".to_owned(), ..Thinking::default() }),
            Block::text("I look."),
            Block::tool_call("c1", "map", Json::parse(r#"{"zoom": 1.50}"#).unwrap()),
        ],
    );
    let result =
        Message::new(Role::Tool, vec![Block::tool_result("c1", Json::of(&lines.join("\n")).unwrap())]);
    Tree {
        conversations: vec![trip, run],
        messages: vec![
            said("trip", "a", None, asked.labelled("the question")),
            said("trip", "b", Some("a"), reply.at(time(1))),
            said("trip", "r", Some("b"), result.at(time(1))),
            said("trip", "x", Some("r"), Message::assistant("A tasca.").at(time(2))),
            said("trip", "c", Some("r"), Message::assistant("# By the river").at(time(3))),
            said("run", "s", None, Message::user("Look around.").at(time(1))),
        ],
        branches: vec![SourceBranch {
            conversation: "trip".to_owned(),
            id: "n".to_owned(),
            title: "on a budget".to_owned(),
            head: "x".to_owned(),
        }],
        pins: vec![SourcePin { conversation: "trip".to_owned(), message: "a".to_owned() }],
        ..Tree::default()
    }
}

#[test]
fn markdown_has_the_current_path_first_and_then_what_leaves_it() {
    let expected = r#"---
title: "Lisbon *2026*"
id: "trip"
project: "/home/me/trip"
status: "active"
model: "m-1"
created: "2026-11-15T19:27:27.000000Z"
last_message: "2026-11-15T19:30:27.000000Z"
messages: 5
---

# Lisbon \*2026\*

## User · 2026-11-15 19:27 UTC · `a` · the question · pinned

> Where to eat?

*Attachment: file · text/plain* `map.txt`

## Assistant · 2026-11-15 19:28 UTC · `b`

*Thinking*

> Fish?

> I look.

**Tool call** `map` `{"zoom": 1.50}`

```text
1
2
3
4
5
6
7
8
```

*... 2 more lines*

*Branch 1 leaves here: on a budget*

## Assistant · 2026-11-15 19:30 UTC · `c`

> # By the river

# Branch 1: on a budget

*Leaves after message `r`.*

## Assistant · 2026-11-15 19:29 UTC · `x`

> A tasca.

# Sub-agent: scout 1

*Started by message `b`.*

## User · 2026-11-15 19:28 UTC · `s`

> Look around.
"#;

    assert_eq!(lisbon().to_markdown().unwrap(), expected);
}

#[test]
fn a_page_says_everything_once_and_forbids_itself_the_rest() {
    let page = lisbon().to_html().unwrap();

    let count = |text: &str| page.matches(text).count();
    let said = ["Where to eat?", "Fish?", "I look.", "A tasca.", "<h4>By the river</h4>", "Look around."];
    assert_eq!(said.map(count), [1, 1, 1, 1, 1, 1]);
    assert_eq!(
        [count("<input type=\"radio\""), count(" checked>"), count("<script"), count("on a budget")],
        [2, 1, 1, 1]
    );
    let policy = "content=\"default-src &#39;none&#39;; style-src &#39;sha256-";
    assert!(page.contains(policy) && page.contains("; script-src &#39;sha256-"), "{page}");
}

#[test]
fn where_things_lie_can_be_left_out_of_a_page() {
    let mut tree = Tree { conversations: vec![SourceConversation::new("trip", time(0))], ..Tree::default() };
    tree.conversations[0].header.project = Some("/home/ada/trip".to_owned());
    for (id, uri) in [("a", "/home/ada/map.png"), ("b", "https://example.com/map.png")] {
        let media = Media {
            kind: MediaKind::Image,
            mime_type: "image/png".to_owned(),
            data: None,
            uri: Some(uri.to_owned()),
            extra: Fields::new(),
        };
        tree.messages.push(said("trip", id, None, Message::new(Role::User, vec![Block::Media(media)])));
    }
    let whole = tree.to_html().unwrap();

    tree.hide_paths();

    let page = tree.to_html().unwrap();
    let has = |page: &str| {
        ["/home/ada/trip", "/home/ada/map.png", "map.png", "https://example.com/map.png"]
            .map(|text| page.contains(text))
    };
    assert_eq!([has(&whole), has(&page)], [[true; 4], [false, false, true, true]]);
}

#[test]
fn branches_that_nest_too_deep_stand_at_the_end_of_the_page() {
    let mut tree = Tree { conversations: vec![SourceConversation::new("deep", time(0))], ..Tree::default() };
    let mut parent: Option<String> = None;
    for number in 0..200 {
        for side in ["main", "side"] {
            let id = format!("{side}{number}");
            let message = Message::user(format!("I am {id}."));
            tree.messages.push(said("deep", &id, parent.as_deref(), message));
        }
        parent = Some(format!("main{number}"));
    }
    tree.conversations[0].head = parent;

    let page = tree.to_html().unwrap();

    let shown = |id: &str| page.matches(&format!(">I am {id}.</div>")).count();
    let all: Vec<usize> = (0..200)
        .flat_map(|number| [shown(&format!("main{number}")), shown(&format!("side{number}"))])
        .collect();
    assert_eq!(all, vec![1; 400]);
    assert_eq!(
        [page.matches("class=\"way\"").count(), page.matches("<section id=\"b0-").count()],
        [120, 140]
    );
}

#[test]
fn huge_answers_of_tools_are_cut_with_a_note() {
    let huge = "é".repeat(30_000);
    let mut tree = Tree { conversations: vec![SourceConversation::new("big", time(0))], ..Tree::default() };
    let result = Block::tool_result("c", Json::of(&huge).unwrap());
    tree.messages.push(said("big", "r", None, Message::new(Role::Tool, vec![result])));

    let page = tree.to_html().unwrap();

    assert!(page.contains("… 10,000 more characters. An export as JSON has all of it."), "{}", page.len());
    assert!(page.len() < 80_000, "{}", page.len());
}

#[test]
fn an_empty_conversation_says_so() {
    let tree = Tree { conversations: vec![SourceConversation::new("none", time(0))], ..Tree::default() };

    assert!(tree.to_html().unwrap().contains("Nothing was said."));
    assert!(tree.to_markdown().unwrap().ends_with("# Untitled conversation\n\n*Nothing was said.*\n"));
    assert!(Tree::default().to_html().is_err() && Tree::default().to_markdown().is_err());
}
