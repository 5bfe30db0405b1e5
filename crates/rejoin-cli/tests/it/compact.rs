//! Compaction: asked for, by itself, looked at beforehand, undone.

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Step, reply, text};
use crate::terminal::Terminal;
use crate::world::{Outcome, World, short};

/// What the summariser is asked.
const PROMPT: &str = "concise summary";

/// Four exchanges with things worth remembering; the answers are long, so that a summary is shorter.
fn exchanges() -> String {
    let turns = (0..4).map(|number| {
        let question =
            json!({"role": "user", "content": format!("Question {number} about src/place_{number}.rs")});
        let words = "It stands in the old town, near the river, and opens late in the evening. ".repeat(40);
        let answer =
            format!("{words}See https://example.com/{number} and parse_line_{number}, port {number}8080.");
        format!("{question}\n{}\n", json!({"role": "assistant", "content": answer}))
    });
    turns.collect()
}

/// A server whose summaries are these, and whose other replies are short.
fn server(summary: impl Fn() -> Vec<Step> + Send + Sync + 'static) -> ModelServer {
    ModelServer::start(move |request| match asks_for_summary(request) {
        true => summary(),
        false => reply("Noted."),
    })
}

fn asks_for_summary(request: &Value) -> bool {
    let last = request["messages"].as_array().unwrap().last().unwrap();
    last["content"].as_str().is_some_and(|content| content.contains(PROMPT))
}

/// The requests that had a summary written.
fn summary_requests(server: &ModelServer) -> Vec<Value> {
    server.requests().into_iter().filter(asks_for_summary).collect()
}

/// The requests of a talk.
fn talk_requests(server: &ModelServer) -> Vec<Value> {
    let is_talk = |request: &Value| request["tools"].is_array() && !asks_for_summary(request);
    server.requests().into_iter().filter(is_talk).collect()
}

/// A world with a conversation of four exchanges, and a window of so many tokens.
fn lisbon(server: &ModelServer, window: u64) -> (World, String) {
    let world = World::new();
    world.user_config(&format!("{}context_window = {window}\n", server.config()));
    let id = world.started("Lisbon");
    world.append("lisbon", &exchanges());
    (world, id)
}

/// What is said in a request, in one piece, without the system prompt.
fn said(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap().iter().skip(1);
    messages.map(|message| format!("{}\n", message["content"].as_str().unwrap())).collect()
}

#[test]
fn a_conversation_is_compacted_and_the_next_request_carries_the_summary() {
    let server = server(|| reply("They eat at place_1, port 18080."));
    let (world, id) = lisbon(&server, 100_000);

    let outcome = world.rejoin(["compact", "lisbon"]).run();
    world.rejoin(["-r", "And now?"]).run();

    let asked = summary_requests(&server);
    assert_eq!(
        (outcome.code, outcome.stderr.as_str(), asked.len()),
        (0, "Compacting conversation history...\n", 1)
    );
    assert!(outcome.stdout.starts_with("Compacted \"Lisbon\": "), "{outcome:?}");
    assert!(outcome.stdout.contains("\n4 of your messages stay.\n"), "{outcome:?}");
    assert!(outcome.stdout.contains("are no longer mentioned:\n"), "{outcome:?}");
    assert!(outcome.stdout.contains("https://example.com/0"), "{outcome:?}");
    assert!(outcome.stdout.ends_with(&format!("Undo: rejoin uncompact {}\n", short(&id))), "{outcome:?}");
    let sent = said(&talk_requests(&server)[0]);
    let expected = [
        "Question 0 about src/place_0.rs",
        "Question 3 about",
        "Summary of earlier conversation:\n\nThey eat at place_1, port 18080.",
        "And now?",
    ];
    let places = expected.map(|text| sent.find(text).unwrap_or_else(|| panic!("{text:?} is sent: {sent}")));
    assert!(places.is_sorted() && !sent.contains("https://example.com"), "{sent}");
}

#[test]
fn going_on_from_the_newest_answer_goes_on_from_the_summary_after_it() {
    let server = server(|| reply("They eat at place_1."));
    let (world, id) = lisbon(&server, 100_000);
    world.rejoin(["compact", "lisbon"]).run();

    world.rejoin(["-c", "And now, please?"]).run();

    let sent = said(&talk_requests(&server)[0]);
    let path = world.archive().path(id.parse().unwrap(), None).unwrap();
    assert!(sent.contains("They eat at place_1."), "{sent}");
    assert_eq!(path.len(), 11);
}

#[test]
fn a_program_reads_what_was_done_and_the_report_repeats_it() {
    let server = server(|| reply("Short."));
    let (world, id) = lisbon(&server, 100_000);

    let done = world.rejoin(["compact", "--json"]).run().json();
    let report = world.rejoin(["compact", "lisbon", "--report", "--json"]).run().json();
    let told = world.rejoin(["compact", "lisbon", "--report"]).run().stdout;

    let fields = ["conversation", "message", "tokens_before", "tokens_after", "kept", "trimmed", "lost"];
    assert_eq!(fields.map(|field| done[field].clone()), fields.map(|field| report[field].clone()));
    assert_eq!(
        (&done["conversation"], &done["kept"], &done["window"]),
        (&json!(id), &json!(4), &json!(100_000))
    );
    assert_eq!(done["summary"], "Summary of earlier conversation:\n\nShort.");
    let lost = done["lost"].as_array().unwrap();
    let is_last = |fact: &&Value| fact["kind"] == "url" && fact["text"] == "https://example.com/3";
    assert_eq!(lost.iter().filter(is_last).count(), 1, "{lost:?}");
    assert!(told.contains("https://example.com/3"), "{told}");
}

#[test]
fn a_dry_run_tells_size_cost_and_losses_and_does_nothing() {
    let server = server(|| reply("Short."));
    let (world, id) = lisbon(&server, 100_000);
    let config = world.read("home/.config/rejoin/config.toml");
    world.user_config(&format!("{config}[models.scripted]\ninput_price = 3\noutput_price = 15\n"));
    let before = world.rejoin(["show", "lisbon", "--json"]).run();

    let told = world.rejoin(["compact", "lisbon", "--dry-run"]).run();
    let answer = world.rejoin(["compact", "lisbon", "--dry-run", "--json"]).run().json();

    assert_eq!((told.code, told.stderr.as_str()), (0, "Nothing was sent or changed.\n"));
    assert!(told.stdout.starts_with("Compacting \"Lisbon\" would send "), "{told:?}");
    assert!(told.stdout.contains(" to local (scripted), about $0.0"), "{told:?}");
    assert!(told.stdout.contains("\n4 of your messages would stay.\n"), "{told:?}");
    assert!(asks_for_summary(&answer["request"]), "{answer}");
    assert_eq!((&answer["conversation"], &answer["kept"]), (&json!(id), &json!(4)));
    assert!(
        answer["cost"].as_f64().unwrap() > 0.0 && answer["request_bytes"].as_u64().unwrap() > 8000,
        "{answer}"
    );
    assert_eq!(server.requests(), Vec::<Value>::new());
    assert_eq!(world.rejoin(["show", "lisbon", "--json"]).run(), before);
}

#[test]
fn undoing_sends_the_messages_again() {
    let server = server(|| reply("Short."));
    let (world, id) = lisbon(&server, 100_000);
    let never = world.rejoin(["uncompact", "lisbon"]).run();
    let before = world.rejoin(["show", "lisbon", "--view", "chat"]).run();
    let summary = world.rejoin(["compact", "lisbon", "--json"]).run().json()["message"].clone();

    let undone = world.rejoin(["uncompact", "lisbon", "--json"]).run().json();
    let again = world.rejoin(["uncompact"]).run();

    let nothing = "\"Lisbon\" is not compacted; there is nothing to undo.\n";
    assert_eq!((&undone["conversation"], &undone["ignored"]), (&json!(id), &summary));
    assert_eq!([never, again], [Outcome::note(nothing), Outcome::note(nothing)]);
    assert_eq!(world.rejoin(["show", "lisbon", "--view", "chat"]).run(), before);
}

#[test]
fn a_pinned_message_stays() {
    let server = server(|| reply("Short."));
    let (world, _) = lisbon(&server, 100_000);
    let messages = world.rejoin(["show", "lisbon", "--json"]).run().json()["messages"].clone();
    world.rejoin(["pin", messages[1]["id"].as_str().unwrap()]).run();

    world.rejoin(["compact", "lisbon"]).run();

    let shown = world.rejoin(["show", "lisbon", "--view", "chat"]).run().stdout;
    assert!(shown.contains("https://example.com/0") && !shown.contains("https://example.com/1"), "{shown}");
}

#[test]
fn what_cannot_be_compacted_says_why_and_what_to_do() {
    let world = World::new();
    world.started("Lisbon");
    world.append("lisbon", &exchanges());
    let server = server(|| vec![Step::Status(400, &[], "{\"error\":{\"message\":\"bad\"}}".to_owned())]);

    let offline = world.rejoin(["compact", "lisbon"]).run();
    world.user_config(&server.config());
    let refused = world.rejoin(["compact", "lisbon"]).run();
    let short_world = World::new();
    short_world.user_config(&server.config());
    short_world.started("Porto");
    short_world.append("porto", "{\"role\":\"user\",\"content\":\"Where?\"}");
    let nothing = short_world.rejoin(["compact"]).run();

    let expected = "error: no model is configured to write a summary\n\
        hint: run `rejoin setup`, or add `--provider NAME --model MODEL`\n";
    assert_eq!((offline.code, offline.stderr.as_str()), (1, expected));
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    let warning = "Compacting conversation history...\nwarning: Compression failed, conversation may hit limits soon\nerror: ";
    assert!(refused.stderr.starts_with(warning), "{refused:?}");
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
    assert!(
        nothing.stderr.starts_with("There is nothing to compact in \"Porto\": the model is sent "),
        "{nothing:?}"
    );
}

#[test]
fn a_turn_that_fills_the_window_compacts_by_itself() {
    let server = server(|| reply("Short."));
    let (world, _) = lisbon(&server, 3_000);

    let plain = world.rejoin(["-r", "And now?"]).run();
    world.rejoin(["uncompact"]).run();
    let events = world.rejoin(["-r", "And then?", "--json"]).run();

    assert_eq!((plain.code, plain.stdout.as_str()), (0, "Noted.\n"), "{plain:?}");
    assert!(plain.stderr.contains("Compacting conversation history...\nCompacted: "), "{plain:?}");
    assert!(plain.stderr.contains("are no longer mentioned: rejoin compact --report\n"), "{plain:?}");
    let events: Vec<Value> = events.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let place = names.iter().position(|name| *name == "compacting").expect("it was compacted");
    assert!(names[place..].contains(&"compacted"), "{names:?}");
    assert_eq!(events.last().unwrap()["window"]["of"], 3_000, "{events:?}");
}

#[test]
fn at_the_prompt_compaction_is_asked_for_shown_undone_and_survives_a_restart() {
    let server = server(|| reply("They eat at place_1."));
    let (world, _) = lisbon(&server, 100_000);
    let Some(terminal) = Terminal::open(&world, 100, 50) else { return };

    terminal.enter("rejoin -r");
    terminal.wait_for_last(">");
    terminal.enter("/compact");
    terminal.wait_for("are no longer mentioned: /compact report");
    terminal.wait_for_last(">");
    terminal.enter("/compact report");
    let report = terminal.wait_for("4 numbers");
    terminal.wait_for_last(">");
    terminal.enter("/rewind");
    terminal.wait_for_last("> Question 3 about src/place_3.rs");
    terminal.key("C-u");
    terminal.wait_for_last(">");
    let undo = terminal.screen();
    let undo = undo.lines().rev().find_map(|line| line.strip_prefix("Undo: ")).unwrap();
    terminal.enter(undo.trim_end());
    terminal.wait_for("The next message follows \"Summary");
    terminal.wait_for_last(">");
    terminal.enter("/pin");
    terminal.wait_for("Pinned; compaction keeps it: \"Question 3");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    terminal.enter("clear; rejoin -r");
    terminal.wait_for_last(">");
    terminal.enter("And now?");
    terminal.wait_for("Noted.");
    terminal.wait_for_last(">");
    terminal.enter("/uncompact");
    terminal.wait_for("The model is sent the messages again:");
    terminal.wait_for_last(">");
    terminal.enter("And then?");
    terminal.wait_until("both replies", |screen| screen.matches("Noted.").count() == 2);

    assert!(report.contains("4 addresses"), "{report}");
    let sent: Vec<String> = talk_requests(&server).iter().map(ToString::to_string).collect();
    let holds = |request: &String| {
        (request.contains("They eat at place_1."), request.contains("https://example.com/2"))
    };
    assert_eq!(sent.iter().map(holds).collect::<Vec<_>>(), [(true, false), (false, true)]);
}

#[test]
fn ctrl_c_leaves_what_was_to_be_compacted_as_it_was() {
    let server = server(|| vec![text("They"), Step::Hold]);
    let (world, id) = lisbon(&server, 100_000);
    let Some(terminal) = Terminal::open(&world, 100, 50) else { return };
    let before = world.archive().conversation(id.parse().unwrap()).unwrap().messages;

    terminal.enter("rejoin -r");
    terminal.wait_for_last(">");
    terminal.enter("/compact");
    server.wait_until_held();
    terminal.wait_for("Compacting conversation history...");
    terminal.key("C-c");
    let stopped = terminal.wait_for("Stopped. Nothing was compacted.");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");

    assert!(!stopped.contains("Compacting conversation history..."), "{stopped}");
    assert_eq!(world.archive().conversation(id.parse().unwrap()).unwrap().messages, before);
}

#[test]
fn ctrl_c_in_the_command_is_no_success() {
    let server = server(|| vec![text("They"), Step::Hold]);
    let (world, _) = lisbon(&server, 100_000);
    let Some(terminal) = Terminal::open(&world, 100, 50) else { return };

    terminal.enter("rejoin compact; echo code=$?");
    server.wait_until_held();
    terminal.key("C-c");
    let screen = terminal.wait_for("code=1");

    assert!(screen.contains("error: stopped; nothing was compacted"), "{screen}");
}

#[test]
fn an_automatic_compaction_is_told_at_the_prompt_and_the_next_process_goes_on_from_it() {
    let server = server(|| reply("They eat at place_1."));
    let (world, _) = lisbon(&server, 3_000);
    let Some(terminal) = Terminal::open(&world, 100, 50) else { return };

    terminal.enter("rejoin -r");
    terminal.wait_for_last(">");
    terminal.enter("And now?");
    let screen = terminal.wait_for("are no longer mentioned: /compact report");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    world.rejoin(["-r", "And then?"]).run();

    assert!(screen.contains("Compacted: "), "{screen}");
    let last = talk_requests(&server).last().unwrap().to_string();
    assert!(last.contains("They eat at place_1.") && !last.contains("https://example.com/2"), "{last}");
}

#[test]
fn ctrl_c_during_an_automatic_compaction_keeps_what_was_said() {
    let server = server(|| vec![text("They"), Step::Hold]);
    let (world, id) = lisbon(&server, 3_000);
    let Some(terminal) = Terminal::open(&world, 100, 50) else { return };

    terminal.enter("rejoin -r");
    terminal.wait_for_last(">");
    terminal.enter("And now?");
    server.wait_until_held();
    terminal.key("C-c");
    terminal.wait_for("Stopped. Nothing was compacted.");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");

    let path = world.archive().path(id.parse().unwrap(), None).unwrap();
    let last = path.last().unwrap().message.text();
    assert_eq!((path.len(), last.as_str()), (9, "And now?"));
}
