//! What Codex sends of each conversation.

use rejoin::{Json, Thinking};
use serde_json::{Value, json};

use super::{
    Case, DOT, PROMPT, ask, compacted, failed, forked, imported, instructed, parallel, pictured, plain,
    scripts, thinking, thought, unicode,
};
use crate::real_agent::{Agent, Desk};

/// What a request consists of besides the items, all of it the program's own.
const OWN: [&str; 10] = [
    "client_metadata",
    "include",
    "model",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning",
    "store",
    "stream",
    "tool_choice",
    "tools",
];

/// What the program says of itself and of where it runs: who says it, how it begins, how it ends.
const ADDED: [(&str, &str, &str); 3] = [
    ("developer", "You are a coding agent running in the Codex CLI,", ""),
    ("developer", "<skills_instructions>\n", "</permissions instructions>"),
    ("user", "<environment_context>\n", "\n</environment_context>"),
];

/// A request without what the program adds: its own fields, [`ADDED`], and the name of the new prompt.
fn sent(mut request: Value) -> Value {
    let object = request.as_object_mut().unwrap();
    object.retain(|name, _| !OWN.contains(&name.as_str()));
    let items = object["input"].as_array_mut().unwrap();
    for (role, begins, ends) in ADDED {
        let added = items.iter().position(|item| {
            let text = |part: Option<&Value>| {
                part.and_then(|part| part["text"].as_str()).unwrap_or_default().to_owned()
            };
            let parts = item["content"].as_array().into_iter().flatten();
            item["role"] == role
                && text(parts.clone().next()).starts_with(begins)
                && text(parts.last()).ends_with(ends)
        });
        added.map(|place| items.remove(place));
    }
    if let Some(Value::Object(last)) = items.last_mut() {
        last.remove("id");
    }
    request
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn assistant(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

/// Thinking as the provider seals it.
fn sealed() -> (Thinking, Value) {
    let item = json!({
        "type": "reasoning", "summary": [{"type": "summary_text", "text": "THOUGHT"}], "encrypted_content": "c2VhbGVk",
    });
    let mut thinking = thinking(None);
    thinking.extra.set("item", Json::of(&item).unwrap());
    (thinking, item)
}

fn cases() -> Vec<Case> {
    let call = |id: &str| json!({"type": "function_call", "name": "look_up", "arguments": format!("{{\"place\":\"{id}\"}}"), "call_id": id});
    let image = json!({"type": "input_image", "image_url": format!("data:image/png;base64,{DOT}")});
    let without_thinking =
        json!([user("THINK"), assistant("SAID"), user("AND?"), assistant("SO"), user(PROMPT)]);
    let (own, mut item) = sealed();
    // The program says that there is nothing else.
    item["content"] = Value::Null;
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
                assistant("BOTH"),
                call("c1"),
                call("c2"),
                {"type": "function_call_output", "call_id": "c1", "output": "OUT-1"},
                {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "OUT-2"}, image]},
                assistant("DONE"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "a failed tool",
            failed(),
            json!([
                user("GO"),
                call("c1"),
                {"type": "function_call_output", "call_id": "c1", "output": "NO-SUCH-PLACE"},
                assistant("SORRY"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "its own thinking",
            thought(own.clone(), Some("openai-responses")),
            json!([user("THINK"), item, assistant("SAID"), user("AND?"), assistant("SO"), user(PROMPT)]),
        ),
        Case::new("foreign thinking", thought(own, Some("anthropic")), without_thinking.clone()),
        Case::new(
            "unsealed thinking",
            thought(thinking(Some("c2ln")), Some("openai-responses")),
            without_thinking,
        ),
        Case::new(
            "an image",
            pictured(),
            json!([
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "LOOK"}, image, {"type": "input_text", "text": "WELL?"},
                ]},
                assistant("A-DOT"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "a compaction",
            compacted(),
            json!([
                user("KEPT-Q"),
                user("KEPT-R"),
                user("THE-SUMMARY"),
                user("NEW-Q"),
                assistant("NEW-A"),
                user(PROMPT)
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
        Case::new(
            "instructions",
            instructed(),
            json!([
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "BE-BRIEF"}]},
                user("HI"),
                assistant("HELLO"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "an imported session of Claude Code",
            imported("claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl"),
            json!([
                assistant("MOCK-REPLY 12; saw 14 messages"),
                user(SUMMARY_OF_CLAUDE),
                user(
                    "<local-command-caveat>Caveat: The messages below were generated by the user while running local \
                     commands. DO NOT respond to these messages or otherwise consider them in your response unless the \
                     user explicitly asks you to.</local-command-caveat>"
                ),
                user(
                    "<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n            \
                     <command-args></command-args>"
                ),
                user("<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>"),
                user("Continue from where you left off."),
                assistant("No response requested."),
                user("after compact question"),
                assistant("MOCK-REPLY 18; saw 7 messages"),
                user(PROMPT),
            ]),
        ),
        Case::new(
            "an imported session of Claude Code with a tool",
            imported("claude/handwritten-minimal-after-resume.jsonl"),
            json!([
                user("OLDQ"),
                assistant("running"),
                {"type": "function_call", "name": "AnyToolName", "arguments": "{\"x\":1}", "call_id": "t1"},
                {"type": "function_call_output", "call_id": "t1", "output": "tool output"},
                assistant("OLDA"),
                user("NEWQ"),
                assistant("MOCK-REPLY 15; saw 6 messages"),
                user("by title"),
                assistant("MOCK-REPLY 17; saw 8 messages"),
                user(PROMPT),
            ]),
        ),
    ]
}

/// The summary in the session of Claude Code.
const SUMMARY_OF_CLAUDE: &str = "This session is being continued from a previous conversation that ran out of context. \
    The summary below covers the earlier portion of the conversation.\n\nSummary:\n1. Primary Request: MOCK COMPACT \
    SUMMARY of the conversation\n\nIf you need specific details from before compaction (like exact code snippets, error \
    messages, or content you generated), read the full transcript at: \
    /home/dev/src/agents/home1/.claude/projects/-home-dev-src-agents-proj-my-app-v1-2/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl\n\
    Continue the conversation from where it left off without asking the user any further questions. Resume directly — do \
    not acknowledge the summary, do not recap what was happening, do not preface with \"I'll continue\" or similar. Pick \
    up the last task as if the break never happened.";

#[test]
fn codex_sends_the_whole_conversation() {
    let Some(commands) = Agent::Codex.installed() else { return };

    let wrong =
        ask(&cases(), |case| case.run(&Desk::of(Agent::Codex, &commands), Agent::Codex, "input", sent));

    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_script_for_codex_accepts_what_is_written() {
    assert_eq!(scripts::refused(Agent::Codex, &["accept"], &cases()), [""; 0]);
}
