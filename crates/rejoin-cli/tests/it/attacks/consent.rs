//! Consent shows exactly what will run: attempts to get a yes for something that was not seen.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::attempt::{Attempt, Target, assert_all_fail};
use super::display::clean;
use crate::model_server::{ModelServer, Step, call, end, reply};
use crate::terminal::Terminal;
use crate::world::World;

/// The question, when it is the last line of the screen.
const QUESTION: &str = "Allow? y once, a always, n no, v never, i instead [n]";

/// A model that asks for these calls, one after the other.
fn asking(calls: Vec<(&'static str, Value)>) -> ModelServer {
    ModelServer::start(move |request| {
        let messages = request["messages"].as_array().unwrap();
        let answered = messages.iter().filter(|message| message["role"] == "tool").count();
        match calls.get(answered) {
            Some((tool, input)) => asked(&format!("c{answered}"), tool, input),
            None => reply("done"),
        }
    })
}

fn asked(id: &str, tool: &str, input: &Value) -> Vec<Step> {
    vec![call(id, tool, input), end("tool_calls")]
}

/// A world whose model asks for these calls.
pub(super) fn world_asking(calls: Vec<(&'static str, Value)>) -> (World, ModelServer) {
    let world = World::new();
    let server = asking(calls);
    world.user_config(&server.config());
    (world, server)
}

/// Waits for the question about the call that has this mark, and returns the screen.
pub(super) fn question(terminal: &Terminal<'_>, mark: &str) -> String {
    terminal.wait_until(mark, |screen| {
        let last = screen.lines().rev().find(|line| !line.trim().is_empty());
        screen.contains(mark) && last.is_some_and(|line| line.trim_end() == QUESTION)
    })
}

/// One hostile text, what it passes for where text is only cleaned, and what a question must show of it.
struct Disguise {
    name: &'static str,
    hostile: String,
    innocent: &'static str,
    shows: &'static str,
}

fn disguise(name: &'static str, hostile: &str, innocent: &'static str, shows: &'static str) -> Disguise {
    Disguise { name, hostile: hostile.to_owned(), innocent, shows }
}

/// Asks about each text in turn, in one terminal, and checks what the questions showed.
fn assert_seen(tool: &'static str, input: impl Fn(&str) -> Value, disguises: &[Disguise]) {
    let marked = |number: usize, text: &str| format!("{text} #T{number}.");
    let calls = disguises.iter().enumerate();
    let calls = calls.map(|(number, one)| (tool, input(&marked(number, &one.hostile)))).collect();
    let (world, _server) = world_asking(calls);
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("rejoin go");
    let mut screens = Vec::new();
    for number in 0..disguises.len() {
        screens.push(question(&terminal, &format!("#T{number}.")));
        terminal.press("n");
    }
    terminal.wait_for_last("$");
    let attempts: Vec<Attempt<'_>> = disguises
        .iter()
        .zip(&screens)
        .map(|(one, screen)| {
            Attempt::new(one.name, move |target| match target {
                Target::Guarded => !screen.contains(one.shows),
                Target::Control => clean::line(&one.hostile) == clean::line(one.innocent),
            })
        })
        .collect();

    assert_all_fail(&attempts);
}

#[test]
fn a_command_that_passes_for_another_is_seen_through() {
    let gap = format!("echo ok{}; id", " ".repeat(5_000));
    let disguises = [
        disguise("direction", "cat a\u{202e}txt.exe", "cat atxt.exe", "cat a⟨U+202E⟩txt.exe"),
        disguise("zero width", "cat pass\u{200b}wd", "cat passwd", "cat pass⟨U+200B⟩wd"),
        disguise("hidden tags", "echo hi\u{e0069}\u{e0064}", "echo hi", "echo hi⟨U+E0069⟩⟨U+E0064⟩"),
        disguise("no-break space", "ls\u{a0}-l", "ls -l", "ls⟨U+00A0⟩-l"),
        disguise("separator of lines", "ls\u{2028}id", "ls id", "ls⟨U+2028⟩id"),
        disguise(
            "selectors",
            "cat a\u{fe01}\u{fe02}\u{fe03}",
            "cat a\u{fe01}",
            "cat a⟨U+FE01⟩⟨U+FE02⟩⟨U+FE03⟩",
        ),
        disguise("blank letter", "cat\u{3164}x", "catx", "cat⟨U+3164⟩x"),
        disguise("wide gap", &gap, "echo ok ; id", "echo ok⟨5,000 spaces⟩; id"),
        disguise("tab", "printf 'a\tb'", "printf 'a b'", "printf 'a⇥   b'"),
    ];

    assert_seen("run", |text| json!({ "command": text }), &disguises);
}

#[test]
fn what_would_be_written_is_seen_through() {
    let disguises = [
        disguise("title", "ok\u{1b}]0; id > f\u{7}", "ok", "+ok⟨U+001B⟩]0; id > f⟨U+0007⟩"),
        disguise("device string", "ok\u{1b}P; id\u{1b}\\", "ok", "+ok⟨U+001B⟩P; id⟨U+001B⟩\\"),
        disguise("eight-bit string", "ok\u{9d}0; id\u{9c}", "ok", "+ok⟨U+009D⟩0; id⟨U+009C⟩"),
        disguise("overwriting", "id > f\rls", "id > f ls", "+id > f⟨U+000D⟩ls"),
        disguise("cleared screen", "ok\u{1b}[2J\u{1b}[H", "ok", "+ok⟨U+001B⟩[2J⟨U+001B⟩[H"),
        disguise("order of letters", "a\u{2067}b\u{2069}", "ab", "+a⟨U+2067⟩b⟨U+2069⟩"),
    ];

    assert_seen("write", |text| json!({"path": "f", "content": text}), &disguises);
}

#[test]
fn a_path_that_passes_for_another_is_seen_through() {
    let disguises = [
        disguise("line break in a path", "a\nb", "a b", "Create `a⟨U+000A⟩b"),
        disguise("escape in a path", "a\u{1b}[2Kb", "ab", "Create `a⟨U+001B⟩[2Kb"),
    ];

    assert_seen("write", |text| json!({"path": text, "content": "x"}), &disguises);
}

#[test]
fn arguments_for_an_mcp_server_are_seen_through() {
    let server = asking(vec![("mcp__test__fail", json!({"x": "ok\u{9d}0; id\u{9c}\u{202e} #T0."}))]);
    let world = World::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rejoin-agent/tests/it/mcp_server.py");
    let own = format!("[mcp.servers.test]\ncommand = \"python3\"\narguments = [\"{}\"]\n", script.display());
    world.user_config(&format!("{}{own}", server.config()));
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("rejoin go");
    let screen = question(&terminal, "#T0.");
    terminal.press("n");
    let attempts = [Attempt::new("string in an argument", |target| match target {
        Target::Guarded => !screen.contains("\"x\": \"ok⟨U+009D⟩0; id⟨U+009C⟩⟨U+202E⟩ #T0.\""),
        Target::Control => clean::line("ok\u{9d}0; id\u{9c}\u{202e}") == "ok",
    })];

    assert_all_fail(&attempts);
    assert!(screen.contains("3 hidden or misleading characters are shown as ⟨U+…⟩."), "{screen}");
}

#[test]
fn a_sign_that_was_typed_is_not_taken_for_a_sign() {
    let (world, _server) = world_asking(vec![
        ("run", json!({"command": "echo \u{202e} #T0."})),
        ("run", json!({"command": "echo ⟨U+202E⟩ #T1."})),
        ("run", json!({"command": "echo \\u{202e} #T2."})),
        ("run", json!({"command": "сat x #T3."})),
        ("run", json!({"command": "echo e\u{301}\u{302}\u{303} #T4."})),
    ]);
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("rejoin go");
    let screens = ["#T0.", "#T1.", "#T2.", "#T3.", "#T4."].map(|mark| {
        let screen = question(&terminal, mark);
        terminal.press("n");
        screen
    });
    let naive = |text: &str| text.replace('\u{202e}', "⟨U+202E⟩");
    let as_it_is = |text: &str| clean::line(text) == text;

    let attempts = [
        Attempt::new("typed sign", |target| match target {
            Target::Guarded => !screens[1].contains("echo ⟨U+27E8⟩U+202E⟨U+27E9⟩ #T1."),
            Target::Control => naive("echo \u{202e}") == naive("echo ⟨U+202E⟩"),
        }),
        Attempt::new("typed escape", |target| match target {
            Target::Guarded => {
                !screens[2].contains("echo \\u{202e} #T2.") || screens[0].contains("\\u{202e}")
            }
            Target::Control => "echo \u{202e}".escape_unicode().to_string().contains("\\u{202e}"),
        }),
        Attempt::new("letter of another script", |target| match target {
            Target::Guarded => !screens[3].contains("⟨U+0441⟩at x"),
            Target::Control => as_it_is("сat x"),
        }),
        Attempt::new("pile of marks", |target| match target {
            Target::Guarded => !screens[4].contains("echo e⟨U+0301⟩⟨U+0302⟩⟨U+0303⟩"),
            Target::Control => as_it_is("echo e\u{301}\u{302}\u{303}"),
        }),
    ];

    assert_all_fail(&attempts);
}

/// A file of so many lines, with something in the last.
fn long_file(lines: usize) -> String {
    let filler: String = (1..lines).map(|number| format!("line {number}\n")).collect();
    filler + "owned\n"
}

#[test]
fn a_yes_before_the_end_was_shown_allows_nothing() {
    let content = long_file(100);
    let (world, _server) = world_asking(vec![("write", json!({"path": "f", "content": content}))]);
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin go");
    terminal.wait_for("Lines 1-23 of 106. Space: more, e: go to the end, n: no");

    terminal.press("y");
    terminal.press("a");
    terminal.press("Space");
    let second = terminal.wait_for("Lines 24-46 of 106.");
    let is_written_early = world.path("project/f").exists();
    terminal.press("Enter");
    terminal.wait_for("Lines 47-69 of 106.");
    terminal.press("Space");
    terminal.wait_for("Lines 70-92 of 106.");
    terminal.press("Space");
    let last = terminal.wait_for_last(QUESTION);
    terminal.press("y");
    terminal.wait_for_last("$");

    let attempts = [Attempt::new("yes on the first page", |target| match target {
        Target::Guarded => is_written_early,
        Target::Control => !content.lines().take(60).any(|line| line == "owned"),
    })];
    assert_all_fail(&attempts);
    assert!(second.contains("│ +line 21\n") && last.contains("│ +owned\n"), "{second}\n{last}");
    assert_eq!(fs::read_to_string(world.path("project/f")).unwrap(), content);
}

#[test]
fn a_directory_that_passes_for_the_project_whose_id_it_carries_is_seen_through() {
    let world = World::new();
    world.write("project/.rejoin/project", "trip-0190\n");
    world.started("Lisbon");
    world.write("project\u{200b}/.git/HEAD", "");
    world.write("project\u{200b}/.rejoin/project", "trip-0190\n");
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    terminal.enter("cd ../project?; clear; rejoin list");
    let screen = terminal.wait_for("again? [y/N]").replace("\n┊ ", "");

    let edged =
        |end: &str| screen.lines().any(|line| line.starts_with("│ /") && line.trim_end().ends_with(end));
    let attempts = [Attempt::new("zero width", |target| match target {
        Target::Guarded => !edged("/project⟨U+200B⟩") || !edged("/project"),
        Target::Control => clean::line("project\u{200b}") == "project",
    })];
    assert_all_fail(&attempts);
    assert!(screen.contains("1 hidden or misleading character is shown as ⟨U+…⟩."), "{screen}");
}

#[test]
fn a_small_terminal_and_one_that_changes_show_everything() {
    let content = long_file(30);
    let (world, _server) = world_asking(vec![
        ("write", json!({"path": "f", "content": content})),
        ("write", json!({"path": "g", "content": content})),
    ]);
    let Some(terminal) = Terminal::open(&world, 40, 10) else { return };
    terminal.enter("rejoin go");

    let first = terminal.wait_for("Lines 1-9 of 36. Space, e: end, n: no");
    terminal.resize(60, 14);
    terminal.press("Space");
    let wider = terminal.wait_for("Lines 10-22 of 36.");
    terminal.press("n");
    // The next question fills the screen, so the answer to this one scrolls away.
    terminal.wait_for("Lines 1-13 of 36.");
    terminal.press("e");
    let end = terminal.wait_for("Allow without having seen ");
    terminal.press("y");
    terminal.wait_for_last("$");

    assert!(first.contains("│ Create `f`") && wider.contains("│ +line 17\n"), "{first}\n{wider}");
    assert!(end.contains("... 12 lines not shown ...") && end.contains("│ +owned"), "{end}");
    assert!(!world.path("project/f").exists() && world.path("project/g").exists());
}

#[test]
fn a_text_that_imitates_the_question_does_not_pass_for_it() {
    let imitation = format!("true\n{QUESTION} no\n$ \nid #T0.");
    let (world, _server) = world_asking(vec![("run", json!({ "command": imitation }))]);
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    terminal.enter("rejoin go");
    let screen = question(&terminal, "#T0.");
    terminal.press("n");
    terminal.wait_for_last("$");
    let begins = |text: &str| text.lines().any(|line| line == format!("{QUESTION} no"));

    let attempts = [
        Attempt::new("imitated question", |target| match target {
            Target::Guarded => begins(&screen),
            Target::Control => begins(&clean::block(&imitation)),
        }),
        Attempt::new("imitated shell", |target| match target {
            Target::Guarded => screen.lines().any(|line| line.trim_end() == "$"),
            Target::Control => clean::block(&imitation).lines().any(|line| line.trim_end() == "$"),
        }),
    ];

    assert_all_fail(&attempts);
}

#[test]
fn a_command_with_a_control_character_does_not_run_even_when_everything_is_allowed() {
    let command = "echo ok \u{1b}]0; touch owned #\u{7}";
    let (world, server) = world_asking(vec![("run", json!({ "command": command }))]);

    let outcome = world.rejoin(["--allow-all-tools", "go"]).run();

    let told = server.bodies().concat();
    let attempts = [Attempt::new("hidden rest of a command", |target| match target {
        Target::Guarded => world.path("project/owned").exists(),
        Target::Control => {
            let shell = Command::new("sh").args(["-c", command]).current_dir(world.path("project")).output();
            let is_run = shell.is_ok() && fs::remove_file(world.path("project/owned")).is_ok();
            is_run && clean::line(command) == "echo ok"
        }
    })];
    assert_all_fail(&attempts);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(told.contains("control character U+001B"), "{told}");
}

#[test]
fn a_refusal_for_programs_carries_every_text_as_it_is() {
    let content = "ok\u{1b}]0; id\u{7}\u{9b}2J\u{202e}\r\n";
    let input = json!({"path": "a\u{202e}b", "content": content});
    let (world, _server) = world_asking(vec![("write", input.clone())]);

    let outcome = world.rejoin(["--json", "go"]).run();

    let events: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let refused = events.iter().find(|event| event["event"] == "refused").unwrap();
    let detail =
        format!("--- /dev/null\n+++ b/a\u{202e}b\n@@ -0,0 +1 @@\n+{}", content.strip_suffix('\n').unwrap());
    let expected = json!({
        "event": "refused",
        "tool": "write",
        "summary": "Create `a\u{202e}b`",
        "detail": detail,
        "rule": "write(a\u{202e}b)",
        "input": input,
    });
    assert_eq!(*refused, expected);
    assert!(!outcome.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{}", outcome.stdout.escape_debug());
}

#[test]
fn the_flag_that_is_offered_allows_what_was_refused_and_nothing_else() {
    let command = "printf '%s' \u{a0} 'a  b\u{200b}' > f";
    let (world, _server) = world_asking(vec![("run", json!({ "command": command }))]);

    let told = world.rejoin(["go"]).run().stderr;

    let flag = told.lines().find_map(|line| line.split_once("To allow it: --allow ")).unwrap().1.to_owned();
    let read = Command::new("bash").args(["-c", &format!("printf %s {flag}")]).output().unwrap().stdout;
    let rule = format!("run(={command})");
    let attempts = [Attempt::new("a flag that means another command", |target| match target {
        Target::Guarded => read != rule.as_bytes(),
        Target::Control => clean::line(&rule) != rule,
    })];
    assert_all_fail(&attempts);
    assert!(told.contains("wanted to run `printf '%s' ⟨U+00A0⟩ 'a  b⟨U+200B⟩' > f`"), "{told}");
}

#[test]
fn what_a_project_sets_is_seen_through_before_it_is_trusted() {
    let world = World::new();
    let (spaced, lookalike) = ("curl\u{a0}x", "сurl x");
    world.project_config(&format!(
        "[providers.anthropic]\napi_key_command = \"{spaced}\"\n[mcp.servers.x]\ncommand = \"{lookalike}\"\n"
    ));

    let told = world.rejoin(["trust"]).run().stderr;

    let attempts = [
        Attempt::new("white space that is not white space", |target| match target {
            Target::Guarded => !told.contains("api_key_command = \"curl⟨U+00A0⟩x\""),
            Target::Control => clean::line(spaced) == "curl x",
        }),
        Attempt::new("another program by a letter", |target| match target {
            Target::Guarded => !told.contains("command = \"⟨U+0441⟩url x\""),
            Target::Control => clean::line(lookalike) == lookalike,
        }),
    ];
    assert_all_fail(&attempts);
    assert!(told.contains("2 hidden or misleading characters are shown as ⟨U+…⟩."), "{told}");
}

#[test]
fn a_time_limit_that_a_model_chose_is_shown() {
    let (world, _server) = world_asking(vec![("run", json!({"command": "true #T0.", "seconds": 3000}))]);
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };

    terminal.enter("rejoin go");
    let screen = question(&terminal, "#T0.");
    terminal.press("n");

    assert!(screen.contains("Run for at most 3000 s `true #T0.`"), "{screen}");
}

/// A title that passes for another where it is only cleaned.
const DISGUISED: &str = "Lisbon\u{202e}\u{200b}\u{1b}[8m trip\n  \"Porto\" (1 message)";

#[test]
fn a_title_that_passes_for_another_is_seen_through_before_something_goes() {
    let hides = |command: &'static [&'static str]| {
        move |target| {
            let world = World::new();
            let id = world.started("x");
            world.append(&id, "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n");
            world.archive().rename(id.parse().unwrap(), DISGUISED).unwrap();
            // The active one is not cleaned.
            world.started("other");
            if target == Target::Control {
                return !clean::line(DISGUISED).contains('⟨')
                    && clean::line(DISGUISED).starts_with("Lisbon trip");
            }
            let named: Vec<&str> =
                command.iter().map(|word| if *word == "ID" { id.as_str() } else { word }).collect();
            let asked = match named[..] {
                [one, two] => world.rejoin([one, two]).run(),
                [one, two, three] => world.rejoin([one, two, three]).run(),
                _ => unreachable!("commands have two or three words"),
            };
            assert_eq!(asked.code, 1, "{asked:?}");
            !asked.stderr.contains("Lisbon⟨U+202E⟩⟨U+200B⟩⟨U+001B⟩[8m trip⟨U+000A⟩")
        }
    };

    assert_all_fail(&[
        Attempt::new("before delete", hides(&["delete", "ID"])),
        Attempt::new("before purge", hides(&["purge", "ID"])),
        Attempt::new("before clean", hides(&["clean", "--all"])),
    ]);
}

#[test]
fn a_rule_with_a_character_that_acts_on_a_terminal_is_told_as_that() {
    let world = World::new();
    world.user_config("tools.allow = [\"run(ls \\u001b[2J)\"]\n");

    let outcome = world.rejoin(["list"]).run();

    assert!(
        outcome.stderr.contains("it contains the character U+001B, which a terminal would act on"),
        "{outcome:?}"
    );
}
