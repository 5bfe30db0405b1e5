//! Sessions of Qwen Code.

use rejoin::formats::{Detection, FORMATS, Source};

use crate::formats::{file_of, fixture, outline, read};

const SESSION: &str = "8499014b-e0b7-4013-94cd-a85f66f427da";

#[test]
fn a_real_session_is_read_whole() {
    let tree = read(&fixture(&format!("qwen/{SESSION}.jsonl")));

    let expected = [
        "e4d5 < - user: NTH1 hello qwen UNI",
        "b4d5 < e4d5 assistant: MOCK-REPLY 678; saw 2 messages",
        "60bf < b4d5 user: NTH2 TOOLTURN",
        "b00a < 60bf assistant: I'll run a command 680. | run_shell_command>{\"command\":\"echo hello-from-to",
        "5512 < b00a tool: =\"Command: echo hello-from-tool",
        "2946 < 5512 assistant: MOCK-REPLY 681; saw 6 messages",
        "2758 < 2946 user: NTH3 PARTURN",
        "3ea6 < 2758 assistant: I'll run a command 682. | run_shell_command>{\"command\":\"echo hello-from-to | \
         run_shell_command>{\"command\":\"echo hello-from-to | run_shell_command>{\"command\":\"echo hello-from-to",
        "9517 < 3ea6 tool: =\"Command: echo hello-from-tool",
        "a8fe < 9517 tool: =\"Command: echo hello-from-tool",
        "9b49 < a8fe tool: =\"Command: echo hello-from-tool",
        "3add < 9b49 assistant: MOCK-REPLY 683; saw 12 message",
        "8f39 < 3add user: NTH4 end",
        "101a < 8f39 assistant: MOCK-REPLY 684; saw 14 message",
    ];
    assert_eq!(outline(&tree.messages), expected);
    assert_eq!((tree.skipped.len(), tree.asides.len()), (0, 16));
    let header = &tree.conversations[0].header;
    let usage = tree.messages[1].message.usage.as_ref().unwrap();
    assert_eq!(
        (tree.conversations[0].id.as_str(), header.project.as_deref(), header.settings.model.as_deref()),
        (SESSION, Some("/home/dev/sr/p/qw24"), Some("mock-model"))
    );
    assert_eq!((usage.input_tokens, usage.output_tokens), (50, 5));
}

#[test]
fn a_long_first_prompt_is_of_qwen_code_alone() {
    let long = "x".repeat(200_000);
    let line = format!(
        "{{\"uuid\":\"u1\",\"parentUuid\":null,\"sessionId\":\"{SESSION}\",\"timestamp\":\"2026-01-02T03:04:05.000Z\",\
         \"type\":\"user\",\"message\":{{\"role\":\"user\",\"parts\":[{{\"text\":\"{long}\"}}]}}}}"
    );
    let (_directory, path) = file_of(&format!("{SESSION}.jsonl"), &[&line]);

    let source = Source::open(&path).unwrap();

    let claiming: Vec<&str> = (FORMATS.iter())
        .filter(|format| format.detect(&source) != Detection::No)
        .map(|format| format.name)
        .collect();
    assert_eq!(claiming, ["qwen"]);
}
