//! The recipes of `docs/migrating.md`, run on lines as the other programs write them.

use std::env;
use std::process::Command;

use crate::documents::{fenced, read};
use crate::world::World;

const CODEX: &str = r#"
{"timestamp":"2026-01-15T12:00:00.000Z","type":"session_meta","payload":{"id":"22222222","cwd":"/src/trip"}}
{"timestamp":"2026-01-15T12:00:01.000Z","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be brief."}]}}
{"timestamp":"2026-01-15T12:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"What is here?"}]}}
{"timestamp":"2026-01-15T12:00:02.000Z","type":"event_msg","payload":{"type":"user_message","message":"What is here?"}}
{"timestamp":"2026-01-15T12:00:03.000Z","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"look"}],"encrypted_content":"x"}}
{"timestamp":"2026-01-15T12:00:04.000Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"c1"}}
{"timestamp":"2026-01-15T12:00:05.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"map.txt"}}
{"timestamp":"2026-01-15T12:00:06.000Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c2"}}
{"timestamp":"2026-01-15T12:00:07.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A map."}]}}
"#;

const CLAUDE: &str = r#"
{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-01-15T12:00:01.000Z","message":{"role":"user","content":"What is here?"}}
{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-15T12:00:01.000Z"}
{"type":"assistant","uuid":"u2","parentUuid":"u1","timestamp":"2026-01-15T12:00:02.000Z","message":{"role":"assistant","id":"m1","content":[{"type":"thinking","thinking":"look","signature":"s"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","uuid":"u3","parentUuid":"u2","timestamp":"2026-01-15T12:00:03.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"map.txt","is_error":true}]}}
{"type":"assistant","uuid":"s1","isSidechain":true,"timestamp":"2026-01-15T12:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"elsewhere"}]}}
{"type":"assistant","uuid":"u4","parentUuid":"u3","timestamp":"2026-01-15T12:00:04.000Z","message":{"role":"assistant","id":"m2","content":[{"type":"text","text":"A map."}]}}
"#;

const ENVOY: &str = r#"
{"timestamp":"2026-01-15T12:00:00.000Z","messageType":"session-meta","sessionId":"s"}
{"timestamp":"2026-01-15T12:00:01.000Z","messageIndex":0,"messageType":"conversation","sessionId":"s","message":{"role":"user","content":"What is here?"}}
{"timestamp":"2026-01-15T12:00:02.000Z","messageIndex":1,"messageType":"conversation","sessionId":"s","message":{"role":"assistant","content":[{"type":"reasoning","text":"look"},{"type":"tool-call","toolCallId":"c1","toolName":"ls","args":{}}]}}
{"timestamp":"2026-01-15T12:00:03.000Z","messageIndex":2,"messageType":"conversation","sessionId":"s","message":{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"ls","result":"map.txt"}]}}
{"timestamp":"2026-01-15T12:00:04.000Z","messageIndex":3,"messageType":"conversation","sessionId":"s","message":{"role":"tool","content":[]}}
"#;

#[test]
fn a_recipe_brings_a_history_over() {
    let Some(()) = jq_or_skip() else { return };
    let recipes = fenced(&read("docs/migrating.md"), "jq");
    let [codex, claude, envoy] = recipes.as_slice() else { panic!("there are three recipes: {recipes:?}") };

    let told =
        [(codex, CODEX), (claude, CLAUDE), (envoy, ENVOY)].map(|(recipe, lines)| brought(recipe, lines));

    let codex = r#"12:00:01 system {"type":"text","text":"Be brief."}
12:00:02 user {"type":"text","text":"What is here?"}
12:00:03 assistant {"type":"thinking","text":"look","encrypted_content":"x"}
12:00:04 assistant {"type":"tool_call","id":"c1","name":"exec_command","input":{"cmd":"ls"}}
12:00:05 tool {"type":"tool_result","call_id":"c1","output":"map.txt"}
12:00:06 assistant {"type":"tool_call","id":"c2","name":"apply_patch","input":"*** Begin"}
12:00:07 assistant {"type":"text","text":"A map."}
"#;
    let claude = r#"12:00:01 user {"type":"text","text":"What is here?"}
12:00:02 assistant {"type":"thinking","text":"look","signature":"s"} {"type":"tool_call","id":"t1","name":"Bash","input":{"command":"ls"}}
12:00:03 tool {"type":"tool_result","call_id":"t1","output":"map.txt","is_error":true}
12:00:04 assistant {"type":"text","text":"A map."}
"#;
    let envoy = r#"12:00:01 user {"type":"text","text":"What is here?"}
12:00:02 assistant {"type":"thinking","text":"look"} {"type":"tool_call","id":"c1","name":"ls","input":{}}
12:00:03 tool {"type":"tool_result","call_id":"c1","output":"map.txt"}
"#;
    assert_eq!(told, [codex, claude, envoy]);
}

/// What a conversation says after lines were fed to it through a recipe: time,
/// role and blocks of each message.
fn brought(recipe: &str, lines: &str) -> String {
    let world = World::new();
    world.write("project/recipe.jq", recipe);
    world.write("project/lines", lines);
    let id = world.started("From elsewhere");
    let converted = Command::new("jq")
        .args(["-c", "-f", "recipe.jq", "lines"])
        .current_dir(world.path("project"))
        .output();
    world.append(&id, &String::from_utf8(converted.unwrap().stdout).unwrap());

    let shown = world.rejoin(["show", &id, "--json"]).run().json();

    let messages = shown["messages"].as_array().unwrap().iter().map(|message| {
        let time = &message["created_at"].as_str().unwrap()[11..19];
        let blocks: Vec<String> =
            message["blocks"].as_array().unwrap().iter().map(ToString::to_string).collect();
        format!("{time} {} {}\n", message["role"].as_str().unwrap(), blocks.join(" "))
    });
    messages.collect()
}

/// The recipes are for `jq`. CI has it; elsewhere its absence is told.
fn jq_or_skip() -> Option<()> {
    let is_there = Command::new("jq").arg("--version").output().is_ok();
    assert!(is_there || env::var_os("CI").is_none(), "jq is missing, and CI must not skip");
    if !is_there {
        eprintln!("skipped: jq is not installed");
    }
    is_there.then_some(())
}
