//! `rejoin append`: what is acknowledged is stored, and what is wrong is refused with its line.

use std::io::{BufRead, BufReader, Read, Write};

use rejoin::Json;
use serde_json::{Value, json};

use crate::world::{Outcome, World, short};

const QUESTION: &str = r#"{"role":"user","content":"Where to eat?","created_at":"2026-01-15T10:30:00Z"}"#;
const ANSWER: &str = r#"{"role":"assistant","content":"In Alfama.","created_at":"2026-01-15T10:31:00Z"}"#;

const TOO_LARGE: &str =
    "hint: split it, or raise the limit: `rejoin config set limits.turn_bytes \"100 MB\"`\n";
const STORED_BEFORE: &str = "hint: the lines before it are stored; correct this one and send the rest\n";

/// What a conversation holds: role and text of each message on its current branch.
fn said(world: &World, conversation: &str) -> Vec<(String, String)> {
    let archive = world.archive();
    let id = archive.names().conversation(conversation).unwrap();
    let path = archive.path(id, None).unwrap();
    path.iter().map(|seen| (seen.message.role.as_str().to_owned(), seen.message.text())).collect()
}

fn messages(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn without_an_active_conversation_one_is_started() {
    let world = World::new();

    let outcome = world.rejoin(["append", "Where to eat?"]).run();

    let id = outcome.stdout.trim().to_owned();
    let conversation = outcome.stderr.trim().rsplit(' ').next().unwrap().to_owned();
    let expected = Outcome {
        stdout: "[message]\n".to_owned(),
        stderr: "Conversations are kept in [world]/home/.local/share/rejoin/rejoin.db\n\
                 To turn this off: rejoin config set persistence.enabled false\n\
                 There was no active conversation here, so one was started: [conversation]\n\
                 Stored in conversation [conversation]\n"
            .to_owned(),
        code: 0,
    };
    assert_eq!(outcome.naming(&[(&id, "[message]"), (&conversation, "[conversation]")]), expected);
    assert_eq!(said(&world, &conversation), messages(&[("user", "Where to eat?")]));
}

#[test]
fn a_script_that_comes_first_leaves_the_first_note_to_a_person() {
    let world = World::new();
    world.rejoin(["append", "--json", "From a script."]).run();

    let first = world.rejoin(["append", "From a person."]).run().stderr;
    let second = world.rejoin(["append", "And again."]).run().stderr;

    assert!(
        first.starts_with("Conversations are kept in [world]/home/.local/share/rejoin/rejoin.db\n"),
        "{first}"
    );
    assert!(second.starts_with("Stored in conversation "), "{second}");
}

#[test]
fn without_an_id_the_active_conversation_grows() {
    let world = World::new();
    let porto = world.started("Porto");
    let lisbon = world.started("Lisbon");

    world.rejoin(["append", "one two"]).run();
    world.rejoin(["append", "porto", "three"]).run();
    world.rejoin(["append", "--role", "assistant", "four five"]).run();

    assert_eq!(said(&world, &lisbon), messages(&[("user", "one two")]));
    assert_eq!(said(&world, &porto), messages(&[("user", "three"), ("assistant", "four five")]));
}

#[test]
fn every_spelling_of_a_name_finds_the_conversation() {
    let world = World::new();
    let id = world.started("Lisbon, on a budget");
    let bare = format!("conv_{}", id.replace('-', ""));
    let names = [id.as_str(), &bare, &id[..20], &short(&id), &short(&id)[..4], "lisbon-on-a-budget"];

    let codes = names.map(|name| world.rejoin(["append", name, "hello"]).run().code);

    assert_eq!(codes, [0; 6]);
    assert_eq!(said(&world, &id).len(), 6);
}

#[test]
fn text_comes_from_the_pipe_less_its_last_line_break() {
    let world = World::new();
    let id = world.started("Lisbon");
    let texts = ["one\n", "two\r\n\r\n", "👩‍👩‍👧 '; DROP TABLE message; -- $(rm -rf ~) `x`\0\u{1b}[2J", "\n a"];

    let codes = texts.map(|text| world.rejoin(["append", "lisbon"]).input(text).run().code);

    let expected = ["one", "two\r\n", texts[2], texts[3]].map(|text| ("user", text));
    assert_eq!(codes, [0; 4]);
    assert_eq!(said(&world, &id), messages(&expected));
}

#[test]
fn a_single_word_is_a_name_unless_it_is_marked_as_text() {
    let world = World::new();
    let id = world.started("Lisbon");

    let refused = world.rejoin(["append", "thanks"]).input("piped").run();
    world.rejoin(["append", "--", "thanks"]).input("piped").run();

    let expected = "error: no conversation or message `thanks`\n\
                    hint: run `rejoin list` to see the conversations; to add it as text: `rejoin append -- thanks`\n";
    assert_eq!(refused, Outcome::failure(1, expected));
    assert_eq!(said(&world, &id), messages(&[("user", "thanks")]));
}

#[test]
fn a_single_word_without_a_text_is_pointed_out() {
    let world = World::new();
    world.started("Lisbon");

    let refused = world.rejoin(["append", "Thanks"]).input("").run();

    let expected = "error: the message is empty\n\
                    hint: `Thanks` was read as a conversation, and stdin was empty; to add it as text: `rejoin append -- Thanks`\n";
    assert_eq!(refused, Outcome::failure(1, expected));
}

#[test]
fn a_message_that_has_an_answer_is_continued_as_a_branch() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append("lisbon", &format!("{QUESTION}\n{ANSWER}\n"));

    let outcome = world.rejoin(["append", "--parent", &ids[0], "Or in Porto?"]).run();

    let new = outcome.stdout.trim().to_owned();
    let expected = Outcome {
        stdout: "[new]\n".to_owned(),
        stderr: "It starts a branch next to an earlier reply. To see both: rejoin tree [lisbon]\n".to_owned(),
        code: 0,
    };
    assert_eq!(outcome.naming(&[(&new, "[new]"), (&short(&id), "[lisbon]")]), expected);
    assert_eq!(said(&world, &id), messages(&[("user", "Where to eat?"), ("user", "Or in Porto?")]));
}

#[test]
fn a_script_gets_a_receipt() {
    let world = World::new();
    let id = world.started("Lisbon");

    let outcome = world.rejoin(["append", "lisbon", "--json", "--label", "start", "hello"]).run();

    let receipt: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let path = world.archive().path(id.parse().unwrap(), None).unwrap();
    let expected = json!({
        "conversation": id, "messages": [path[0].id], "head": path[0].id, "seq": 1, "digest": path[0].digest,
        "forked": false, "replayed": false,
    });
    assert_eq!((receipt, outcome.stderr.as_str()), (expected, ""));
    assert_eq!(path[0].message.label.as_deref(), Some("start"));
}

#[test]
fn each_line_gets_its_receipt_before_the_next_is_written() {
    let world = World::new();
    let id = world.started("Lisbon");
    let mut child = world.program(&["append", "lisbon", "--jsonl", "-"]).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut receipts = BufReader::new(output).lines();

    // The second line is written only after the first was acknowledged, with the pipe still open.
    writeln!(input, "{QUESTION}").unwrap();
    let first: Value = serde_json::from_str(&receipts.next().unwrap().unwrap()).unwrap();
    let stored_then = said(&world, &id);
    writeln!(input, "[{ANSWER},{QUESTION}]").unwrap();
    let second: Value = serde_json::from_str(&receipts.next().unwrap().unwrap()).unwrap();
    drop(input);

    assert_eq!(stored_then, messages(&[("user", "Where to eat?")]));
    assert_eq!((&first["seq"], &second["seq"]), (&json!(1), &json!(3)));
    assert_eq!(second["messages"].as_array().unwrap().len(), 2);
    assert_eq!((receipts.next().is_none(), child.wait().unwrap().code()), (true, Some(0)));
}

#[test]
fn lines_come_from_a_file_too() {
    let world = World::new();
    let id = world.started("Lisbon");
    world.write("project/talk.jsonl", &format!("{QUESTION}\r\n\r\n{ANSWER}"));

    let outcomes = [
        world.rejoin(["append", "--jsonl", "talk.jsonl"]).run(),
        world.rejoin(["append", "--jsonl", "missing.jsonl"]).run(),
    ];

    assert_eq!(outcomes.each_ref().map(|outcome| outcome.stdout.lines().count()), [2, 0]);
    let expected = "error: could not read `missing.jsonl`: No such file or directory (os error 2)\n";
    assert_eq!(outcomes[1].stderr, expected);
    assert_eq!(said(&world, &id), messages(&[("user", "Where to eat?"), ("assistant", "In Alfama.")]));
}

#[test]
fn what_a_line_says_is_stored_to_the_letter() {
    let world = World::new();
    let id = world.started("Lisbon");
    let line = r#"{"content":[{"type":"text","text":"a\u0000b\r\n\u001b[2J"},{"type":"new_kind","n": 1.50}],"role":"tool",
        "created_at":"2026-01-15T10:30:00Z","usage":{"input_tokens":1,"output_tokens":2},"label":"l","extra":{"k":[1e3]}}"#
        .replace('\n', " ");

    world.append("lisbon", &line);

    let path = world.archive().path(id.parse().unwrap(), None).unwrap();
    let body = r#"{"role":"tool","created_at":"2026-01-15T10:30:00.000000Z","blocks":[{"type":"text","text":"a\u0000b\r\n\u001b[2J"},{"type":"new_kind","n":1.50}],"usage":{"input_tokens":1,"output_tokens":2},"extra":{"k":[1e3]}}"#;
    assert_eq!(Json::of(&path[0].message).unwrap().as_str(), body);
    assert_eq!(path[0].message.label.as_deref(), Some("l"));
}

#[test]
fn a_bad_line_ends_the_run_and_the_lines_before_it_stay() {
    let world = World::new();
    let id = world.started("Lisbon");
    let unknown = r#"{"role":"ro\u001b[2Jbot","content":"a"}"#;
    let input = format!("{QUESTION}\n\n{unknown}\n{ANSWER}\n");

    let outcome = world.rejoin(["append", "lisbon", "--jsonl", "-"]).input(input).run();

    let expected = format!(
        "error: could not append line 3 of the input: `robot` is not a role; \
         expected system, user, assistant or tool at column 24\n{STORED_BEFORE}"
    );
    assert_eq!((outcome.stdout.lines().count(), outcome.stderr, outcome.code), (1, expected, 1));
    assert_eq!(said(&world, &id), messages(&[("user", "Where to eat?")]));
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let world = World::new();
    world.started("Lisbon");

    let outcomes = [
        world
            .rejoin(["append", "lisbon", "--jsonl", "-"])
            .input(*b"{\"role\":\"user\",\"content\":\"\xff\"}\n")
            .run(),
        world.rejoin(["append", "lisbon"]).input(*b"caf\xe9").run(),
    ];

    let expected = [
        "error: could not append line 1 of the input: it is not valid UTF-8: invalid utf-8 sequence of 1 bytes from index 26\n"
            .to_owned(),
        "error: the text is not valid UTF-8: incomplete utf-8 byte sequence from index 3\n"
            .to_owned(),
    ];
    assert_eq!(outcomes, expected.map(|told| Outcome::failure(1, &told)));
}

#[test]
fn an_image_that_is_larger_than_a_turn_is_kept_shown_and_exported() {
    let world = World::new();
    world.started("Lisbon");
    let data = "iVBORw0KGgoAAAAN".repeat(1_000_000);
    let image = json!({"type": "image", "mime_type": "image/png", "data": data});
    let line = json!({"role": "user", "content": [image]}).to_string();

    let outcome = world.rejoin(["append", "lisbon", "--jsonl", "-"]).input(line).run();

    let shown = world.rejoin(["show", "lisbon", "--json"]).run().json();
    let page = world.rejoin(["export", "lisbon", "--format", "html", "--output", "-"]).run().stdout;
    let verified = world.rejoin(["verify", "lisbon"]).run();
    assert_eq!((outcome.code, verified.code), (0, 0), "{verified:?}");
    assert!(shown["messages"][0]["blocks"] == json!([image]));
    assert!(page.contains(&format!("data:image/png;base64,{data}")));
}

#[test]
fn what_is_too_large_is_refused_with_the_limit_and_its_key() {
    let world = World::new();
    world.started("Lisbon");
    let text = "x".repeat(70_000_000);
    let line = format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    let middle = format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", &text[..20_000_000]);

    let outcomes = [
        world.rejoin(["append", "lisbon"]).input(text).run(),
        world.rejoin(["append", "lisbon", "--jsonl", "-"]).input(line).run(),
        world.rejoin(["append", "lisbon", "--jsonl", "-"]).input(middle).run(),
    ];

    let expected = [
        format!("error: the text is larger than `limits.turn_bytes` = 10 MB\n{TOO_LARGE}"),
        format!(
            "error: could not append line 1 of the input: it is longer than 64 MiB, which is enough for `limits.turn_bytes` = 10 MB\n{TOO_LARGE}"
        ),
        "error: could not append line 1 of the input: the turn has 20000095 bytes, more than \
             `limits.turn_bytes` = 10000000\n"
            .to_owned(),
    ];
    assert_eq!(outcomes, expected.map(|told| Outcome::failure(1, &told)));
}

#[test]
fn a_message_that_says_nothing_is_refused() {
    let world = World::new();

    let outcomes = [
        world.rejoin(["append", ""]).run(),
        world.rejoin(["append", " \n"]).run(),
        world.rejoin(["append"]).run(),
    ];

    assert_eq!(outcomes, [(); 3].map(|()| Outcome::failure(1, "error: the message is empty\n")));
}

#[test]
fn a_parent_must_be_a_message_of_that_conversation() {
    let world = World::new();
    let porto = world.started("Porto");
    let theirs = world.append("porto", QUESTION);
    let lisbon = world.started("Lisbon");
    let line = format!(r#"{{"role":"user","content":"a","parent":"{}"}}"#, theirs[0]);
    let elsewhere = format!("porto/{}", theirs[0]);

    let outcomes = [
        world.rejoin(["append", "lisbon", "--parent", &theirs[0], "hello"]).run(),
        world.rejoin(["append", "lisbon", "--parent", &elsewhere, "hello"]).run(),
        world.rejoin(["append", "lisbon", "--jsonl", "-"]).input(line).run(),
    ];

    let names = [(theirs[0].as_str(), "[m]"), (&short(&porto), "[porto]"), (&short(&lisbon), "[lisbon]")];
    let expected = [
        "error: no message `[m]` in conversation `[lisbon]`\nhint: run `rejoin list` to see conversations, `rejoin tree` for messages\n"
            .to_owned(),
        "error: no message `[m]` in conversation `[lisbon]`\nhint: it belongs to conversation [porto]\n".to_owned(),
        "error: could not append line 1 of the input: no message `[m]` in this conversation\n".to_owned(),
    ];
    assert_eq!(
        outcomes.map(|outcome| outcome.naming(&names)),
        expected.map(|told| Outcome::failure(1, &told))
    );
}

#[test]
fn wrong_names_and_flags_are_refused() {
    let world = World::new();
    world.started("Twin");
    world.started("Twin");
    let names = ["nosuch", "../../etc/passwd", "a\u{1b}[2Jb"];

    let told = names.map(|name| world.rejoin(["append", name, "hello"]).run().stderr);
    let twin = world.rejoin(["append", "twin", "hello"]).run();
    let role = world.rejoin(["append", "--role", "robot", "hello there"]).run();

    let expected = [
        "error: no conversation or message `nosuch`\nhint: run `rejoin list` to see conversations, `rejoin tree` for messages\n",
        "error: no conversation or message `../../etc/passwd`\nhint: run `rejoin list` to see conversations, `rejoin tree` for messages\n",
        "error: `a[2Jb` cannot be the name of anything\nhint: run `rejoin list` for IDs; the first characters are enough\n",
    ];
    assert_eq!(told, expected);
    assert!(twin.stderr.starts_with("error: `twin` could be any of 2: "), "{}", twin.stderr);
    assert_eq!((twin.code, role.code), (1, 2));
    assert!(role.stderr.contains("expected system, user, assistant or tool"), "{}", role.stderr);
}

#[test]
fn a_reader_of_receipts_that_leaves_ends_the_run_quietly() {
    let world = World::new();
    world.started("Lisbon");
    let mut child = world.program(&["append", "lisbon", "--jsonl", "-"]).spawn().unwrap();

    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let _ = writeln!(input, "{QUESTION}\n{ANSWER}");

    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaint), (Some(0), String::new()));
}
