//! What Claude Code sends of each conversation.

use rejoin::formats::Tree;
use rejoin::{Block, Fields, Json};
use serde_json::{Value, json};

use super::{
    Case, DOT, PROMPT, ask, compacted, failed, forked, imported, instructed, parallel, pictured, plain,
    scripts, thinking, thought, unicode,
};
use crate::real_agent::{Agent, Desk};

/// What a request consists of besides the messages, all of it the program's own.
const OWN: [&str; 9] = [
    "context_management",
    "max_tokens",
    "metadata",
    "model",
    "output_config",
    "stream",
    "system",
    "thinking",
    "tools",
];

/// A request without what the program adds: its own fields, a reminder before the first
/// message, a list of its agents and skills after the last, and the mark for the cache. A
/// content that is a text becomes a list of one.
fn sent(mut request: Value) -> Value {
    let object = request.as_object_mut().unwrap();
    object.retain(|name, _| !OWN.contains(&name.as_str()));
    let messages = object["messages"].as_array_mut().unwrap();
    messages.pop_if(|message| {
        let text = message["content"].as_str().unwrap_or_default();
        message["role"] == "system" && text.starts_with("Available agent types for the Agent tool:\n")
    });
    for message in messages.iter_mut() {
        if let Value::String(text) = &message["content"] {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
    }
    if let Some(blocks) = messages.first_mut().and_then(|first| first["content"].as_array_mut()) {
        let is_reminder = |text: &str| {
            text.starts_with("<system-reminder>\nAs you answer the user's questions,")
                && text.ends_with("</system-reminder>\n\n")
        };
        if blocks[0]["text"].as_str().is_some_and(is_reminder) {
            blocks.remove(0);
        }
    }
    if let Some(blocks) = messages.last_mut().and_then(|last| last["content"].as_array_mut())
        && let Some(Value::Object(block)) = blocks.last_mut()
        && block.get("cache_control") == Some(&json!({"type": "ephemeral"}))
    {
        block.remove("cache_control");
    }
    request
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
}

/// A call and its result with fields that only another API knows.
fn foreign_call() -> Tree {
    let field = |name: &str| {
        let mut fields = Fields::new();
        fields.set(name, Json::of(&"shell").unwrap());
        fields
    };
    let mut tree = parallel();
    tree.messages.remove(3);
    tree.messages[3].parent = Some("m2".to_owned());
    tree.messages[1].message.blocks = vec![super::call("c1")];
    for (place, name) in [(1, "namespace"), (2, "codex")] {
        match &mut tree.messages[place].message.blocks[0] {
            Block::ToolCall(call) => call.extra = field(name),
            Block::ToolResult(result) => result.extra = field(name),
            _ => unreachable!("a call and a result"),
        }
    }
    tree
}

fn cases() -> Vec<Case> {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "look_up", "input": {"place": id}});
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DOT}});
    let without_thinking =
        json!([user("THINK"), assistant("SAID"), user("AND?"), assistant("SO"), user(PROMPT)]);
    vec![
        Case::new(
            "plain talk",
            plain(),
            json!([user("OLD-Q1"), assistant("OLD-A1"), user("OLD-Q2"), assistant("OLD-A2"), user(PROMPT)]),
        ),
        Case::new(
            "tools in parallel",
            parallel(),
            json!([
                user("GO"),
                {"role": "assistant", "content": [{"type": "text", "text": "BOTH"}, call("c1"), call("c2")]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "OUT-1"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "OUT-2"}, image]},
                ]},
                assistant("DONE"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "a failed tool",
            failed(),
            json!([
                user("GO"),
                {"role": "assistant", "content": [call("c1")]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "NO-SUCH-PLACE", "is_error": true},
                ]},
                assistant("SORRY"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "a tool of another API",
            foreign_call(),
            json!([
                user("GO"),
                {"role": "assistant", "content": [call("c1")]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "OUT-1"}]},
                assistant("DONE"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "its own thinking",
            thought(thinking(Some("c2ln")), Some("anthropic")),
            json!([
                user("THINK"),
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "THOUGHT", "signature": "c2ln"},
                    {"type": "text", "text": "SAID"},
                ]},
                user("AND?"),
                assistant("SO"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "foreign thinking",
            thought(thinking(Some("c2ln")), Some("openai-responses")),
            without_thinking.clone(),
        ),
        Case::new("unsigned thinking", thought(thinking(None), Some("anthropic")), without_thinking),
        Case::new(
            "an image",
            pictured(),
            json!([
                {"role": "user", "content": [{"type": "text", "text": "LOOK"}, image, {"type": "text", "text": "WELL?"}]},
                assistant("A-DOT"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "a compaction",
            compacted(),
            json!([
                // The program joins what follows one another, with a line feed between.
                {"role": "user", "content": [
                    {"type": "text", "text": "THE-SUMMARY\n"},
                    {"type": "text", "text": "KEPT-Q\n"},
                    {"type": "text", "text": "KEPT-R\n"},
                    {"type": "text", "text": "NEW-Q"},
                ]},
                assistant("NEW-A"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "a fork",
            forked(),
            json!([user("OLD-Q1"), assistant("OLD-A1"), user("CHOSEN"), assistant("CHOSEN-A"), user(PROMPT)]),
        ),
        Case::new(
            "unicode",
            unicode(),
            json!([user("Où? 🗺️ 日本 \u{202e}x\n\n```\ttab"), assistant("Ici\u{0}… ✅"), user(PROMPT)]),
        ),
        Case::new("instructions", instructed(), json!([user("HI"), assistant("HELLO"), user(PROMPT)])),
        Case::new(
            "an imported rollout of Codex",
            imported("codex/legacy-compacted-0.80.jsonl"),
            json!([
                {"role": "user", "content": [
                    {"type": "text", "text": SUMMARY_OF_CODEX},
                    {"type": "text", "text": "first question\n"},
                    {"type": "text", "text": "second question\n"},
                    {"type": "text", "text": "third question"},
                ]},
                assistant("third answer"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "an imported fork of Codex with a tool",
            imported(
                "codex/forked-0.149/rollout-2026-11-15T18-02-57-01a1e060-6bbf-7641-a7b3-26701b18ba2b.jsonl",
            ),
            json!([
                user("Q-ALPHA"),
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "c1", "name": "exec_command", "input": {"cmd": "ls"}},
                ]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "FILES"}]},
                assistant("A-ALPHA"),
                {"role": "user", "content": [
                    {"type": "text", "text": CONTEXT_OF_CODEX},
                    {"type": "text", "text": "NEWPROMPT"},
                ]},
                assistant("mock reply #0"),
                user(PROMPT),
            ]),
        ),
    ]
}

/// The summary in the rollout of Codex.
const SUMMARY_OF_CODEX: &str = "Another language model started to solve this problem and produced a summary of its \
    thinking process. You also have access to the state of the tools that were used by that language model. Use this to \
    build on the work that has already been done and avoid duplicating work. Here is the summary produced by the other \
    language model, use the information in this summary to assist with your own analysis:\nTHE SUMMARY\n";

/// What Codex said of where it ran.
const CONTEXT_OF_CODEX: &str = "<environment_context>\n  <cwd>/home/dev/src/codex/runs/t3/k_rec_fork/work</cwd>\n  \
    <shell>bash</shell>\n  <current_date>2026-11-15</current_date>\n  <timezone>Etc/UTC</timezone>\n  \
    <filesystem><workspace_roots><root>/home/dev/src/codex/runs/t3/k_rec_fork/work</root></workspace_roots>\
    <permission_profile type=\"disabled\"><file_system type=\"unrestricted\" /></permission_profile></filesystem>\n\
    </environment_context>\n";

#[test]
fn claude_code_sends_the_whole_conversation() {
    let Some(commands) = Agent::Claude.installed() else { return };

    let wrong =
        ask(&cases(), |case| case.run(&Desk::of(Agent::Claude, &commands), Agent::Claude, "messages", sent));

    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_script_for_claude_code_accepts_what_is_written() {
    assert_eq!(scripts::refused(Agent::Claude, &[], &cases()), [""; 0]);
}
