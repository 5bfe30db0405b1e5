//! What is written and read again is the same, up to what the format's note says.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use rejoin::formats::{Format, ReadLimits, Source, SourceConversation, SourceKept, SourceMessage, Tree};
use rejoin::{Block, Json, Media, MediaKind, Message, Role, Summary, Thinking, Time, Usage};
use tempfile::TempDir;

/// What one message of a made-up conversation is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    User(String),
    Picture(String),
    Instruction(String),
    Reply { thinking: Option<String>, text: Option<String>, calls: Vec<(String, String)> },
    Summary(String),
}

/// A message, and which of the messages before it it follows.
pub(super) type Step = (Kind, prop::sample::Index, i64);

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = || any::<String>();
    let kind = prop_oneof![
        4 => text().prop_map(Kind::User),
        1 => text().prop_map(Kind::Picture),
        1 => text().prop_map(Kind::Instruction),
        4 => (prop::option::of(text()), prop::option::of(text()), prop::collection::vec((text(), text()), 0..3))
            .prop_map(|(thinking, text, calls)| Kind::Reply { thinking, text, calls }),
        1 => text().prop_map(Kind::Summary),
    ];
    prop::collection::vec((kind, any::<prop::sample::Index>(), 0..1_000_000_000_000i64), 1..20)
}

/// A tree under construction.
struct Maker {
    conversation: String,
    /// The API that replies came from.
    api: &'static str,
    messages: Vec<SourceMessage>,
    /// The messages that another may follow, by place.
    open: Vec<usize>,
}

impl Maker {
    fn add(&mut self, parent: Option<usize>, mut message: Message, time: i64) -> usize {
        let number = self.messages.len();
        message.created_at = Some(Time::from_micros(1_700_000_000_000_000 + time));
        self.messages.push(SourceMessage {
            conversation: self.conversation.clone(),
            id: format!("00000000-0000-4000-8000-{number:012}"),
            parent: parent.map(|parent| self.messages[parent].id.clone()),
            message,
            keeps: Vec::new(),
            line: 0,
            source: String::new(),
        });
        number
    }

    fn step(&mut self, (kind, place, time): Step) {
        let parent = (!self.open.is_empty()).then(|| *place.get(&self.open));
        let last = match kind {
            Kind::User(text) => self.add(parent, Message::user(text), time),
            Kind::Instruction(text) => {
                self.add(parent, Message::new(Role::System, vec![Block::text(text)]), time)
            }
            Kind::Picture(text) => {
                let media = Media {
                    kind: MediaKind::Image,
                    mime_type: "image/png".to_owned(),
                    data: Some("aGVsbG8=".to_owned()),
                    uri: None,
                    extra: Default::default(),
                };
                let blocks = vec![Block::text(text), Block::Media(media)];
                self.add(parent, Message::new(Role::User, blocks), time)
            }
            Kind::Summary(text) => {
                let summary = Block::Summary(Summary { text, ..Summary::default() });
                let place = self.add(parent, Message::new(Role::User, vec![summary]), time);
                let kept = parent.map(|parent| self.messages[parent].id.clone());
                self.messages[place].keeps.extend(kept.map(SourceKept::from));
                place
            }
            Kind::Reply { thinking, text, calls } => self.reply(parent, thinking, text, calls, time),
        };
        self.open.push(last);
    }

    /// A reply, and the results of its tools in a row.
    fn reply(
        &mut self,
        parent: Option<usize>,
        thinking: Option<String>,
        text: Option<String>,
        calls: Vec<(String, String)>,
        time: i64,
    ) -> usize {
        let number = self.messages.len();
        let mut blocks = Vec::new();
        blocks.extend(thinking.map(|text| {
            let signature = Some("sig".to_owned());
            Block::Thinking(Thinking { text, signature, ..Thinking::default() })
        }));
        blocks.extend(text.map(Block::text));
        let call_id = |place: usize| format!("call_{number}_{place}");
        for (place, (name, input)) in calls.iter().enumerate() {
            let input = Json::of(&serde_json::json!({ "value": input })).unwrap();
            blocks.push(Block::tool_call(call_id(place), name.clone(), input));
        }
        let mut message = Message::new(Role::Assistant, blocks);
        let word = |text: String| Json::of(&text).unwrap();
        message.extra.set("api", word(self.api.to_owned()));
        message.extra.set("model", word("some-model".to_owned()));
        message.extra.set("response_id", word(format!("msg_{number}")));
        message.finish = Some("end_turn".to_owned());
        let detail = Json::parse(r#"{"input_tokens":3,"output_tokens":4,"more":[1]}"#).unwrap();
        message.usage = Some(Usage { input_tokens: 3, output_tokens: 4, detail: Some(detail) });
        let mut last = self.add(parent, message, time);
        for (place, (_, output)) in calls.iter().enumerate() {
            let mut result = Block::tool_result(call_id(place), Json::of(output).unwrap());
            if let Block::ToolResult(result) = &mut result {
                result.is_error = place == 1;
            }
            last = self.add(Some(last), Message::new(Role::Tool, vec![result]), time);
        }
        last
    }
}

/// A conversation of these steps.
pub(super) fn tree_of(
    steps: Vec<Step>,
    head: prop::sample::Index,
    title: Option<String>,
    api: &'static str,
) -> Tree {
    let conversation = "11111111-2222-4333-8444-555555555555".to_owned();
    let mut maker = Maker { conversation: conversation.clone(), api, messages: Vec::new(), open: Vec::new() };
    steps.into_iter().for_each(|step| maker.step(step));
    let mut own = SourceConversation::new(conversation, maker.messages[0].message.created_at.unwrap());
    own.header.project = Some("/home/me/trip".to_owned());
    own.header.title = title;
    own.head = Some(maker.messages[*head.get(&maker.open)].id.clone());
    Tree { conversations: vec![own], messages: maker.messages, ..Tree::default() }
}

/// What a format wrote, in a directory.
pub(super) fn written(format: &str, tree: &Tree) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let files = Format::named(format).unwrap().write(tree).unwrap();
    for file in &files {
        let path = directory.path().join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &file.bytes).unwrap();
    }
    let main = directory.path().join(&files[0].path);
    (directory, main)
}

/// A tree as it is after writing and reading, without what only a source has.
pub(super) fn round(format: &str, tree: &Tree) -> Tree {
    let (_directory, path) = written(format, tree);
    let source = Source::open(&path).unwrap();
    assert_eq!(Format::of(&source).map(|format| format.name), Some(format));
    let mut read =
        Tree::gather(ReadLimits::default(), |reading| Format::named(format).unwrap().read(&source, reading))
            .unwrap();
    for message in &mut read.messages {
        message.line = 0;
        message.source.clear();
        for block in &mut message.message.blocks {
            if let (Block::Summary(summary), "claude") = (block, format) {
                // It sends what a compaction keeps after the summary, whatever others do.
                summary.extra.remove("kept_after");
            }
        }
    }
    read.asides.clear();
    read
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_session_of_claude_code_survives(
        steps in steps(), head in any::<prop::sample::Index>(), title in prop::option::of("[a-zé ]{0,8}[a-z]"),
    ) {
        let mut tree = tree_of(steps, head, title, "anthropic");

        let read = round("claude", &tree);

        // The reader says who the partner was.
        let settings = &mut tree.conversations[0].header.settings;
        settings.provider = Some("anthropic".to_owned());
        settings.model =
            tree.messages.iter().any(|found| found.message.role == Role::Assistant).then(|| "some-model".to_owned());
        // A summary says why it was made; the program calls it manual when nobody said.
        for found in &mut tree.messages {
            if let [Block::Summary(summary)] = found.message.blocks.as_mut_slice() {
                summary.extra.set("trigger", Json::of(&"manual").unwrap());
            }
        }
        prop_assert_eq!(read, tree);
    }

    #[test]
    fn a_rollout_of_codex_survives(
        steps in steps(), head in any::<prop::sample::Index>(), title in prop::option::of("[a-zé ]{0,8}[a-z]"),
    ) {
        let tree = for_codex(tree_of(steps, head, title, "openai-responses"));

        let read = round("codex", &tree);

        prop_assert_eq!(read, tree);
    }

    #[test]
    fn a_database_of_cpe_survives(
        steps in steps(), head in any::<prop::sample::Index>(), title in prop::option::of("[a-zé ]{0,8}[a-z]"),
        api in prop::sample::select(vec!["anthropic", "openai-responses", "mine"]),
    ) {
        let tree = tree_of(steps, head, title, api);

        let read = round("cpe", &tree);

        prop_assert_eq!(read, tree);
    }
}

/// The path to the head, with thinking that is sealed as the provider seals it,
/// and no reply that says nothing.
fn for_codex(mut tree: Tree) -> Tree {
    let mut path: Vec<SourceMessage> = Vec::new();
    let mut next = tree.conversations[0].head.clone();
    for found in tree.messages.into_iter().rev() {
        if next.as_ref() == Some(&found.id) {
            next.clone_from(&found.parent);
            path.push(found);
        }
    }
    path.reverse();
    for found in &mut path {
        for block in &mut found.message.blocks {
            if let Block::Thinking(thinking) = block {
                let summary = serde_json::json!([{"type": "summary_text", "text": thinking.text}]);
                let item =
                    serde_json::json!({"type": "reasoning", "summary": summary, "encrypted_content": "x"});
                *thinking = Thinking { text: thinking.text.clone(), ..Thinking::default() };
                thinking.extra.set("item", Json::of(&item).unwrap());
            }
        }
        if found.message.blocks.is_empty() {
            found.message.blocks.push(Block::text("nothing"));
        }
    }
    tree.messages = path;
    tree
}
