//! What is asked about is what runs: attempts to have a person agree to one thing and get another.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use rejoin_agent::{Rules, Verdict};
use serde_json::{Value, json};

use super::attempt::{Attempt, Target, assert_all_fail};
use crate::tools_workshop::{Workshop, json as input};

/// Commands that a terminal would show as less than they are. Each makes the file `owned`.
const ACTING: [(&str, &str); 9] = [
    ("a title hides the rest", "echo ok \u{1b}]0; touch owned #\u{7}"),
    ("a device string hides the rest", "echo ok \u{1b}P; touch owned #\u{1b}\\"),
    ("an application string hides the rest", "echo ok \u{1b}_; touch owned #\u{1b}\\"),
    ("an eight-bit string hides the rest", "echo ok \u{9d}0; touch owned #\u{9c}"),
    ("a carriage return writes over it", "touch owned #\recho ok      "),
    ("backspaces take it back", "touch owned #\u{8}\u{8}\u{8}\u{8}\u{8}"),
    ("the screen is cleared", "touch owned #\u{1b}[2J\u{1b}[H"),
    ("a delete takes it back", "touch owned #\u{7f}"),
    ("a next-line ends the row", "touch owned #\u{85}echo ok"),
];

#[test]
fn a_command_with_a_control_character_is_refused_before_anything_is_asked() {
    let attempts = ACTING.map(|(name, command)| {
        Attempt::new(name, move |target| match target {
            Target::Guarded => {
                let shop = Workshop::new();
                let refusal =
                    shop.toolbox.named("run").unwrap().prepare(&input(&json!({"command": command})));
                refusal.is_ok()
            }
            Target::Control => {
                let directory = tempfile::tempdir().unwrap();
                let _ = Command::new("sh").args(["-c", command]).current_dir(&directory).output().unwrap();
                directory.path().join("owned").exists()
            }
        })
    });

    assert_all_fail(&attempts);
}

#[test]
fn the_model_is_told_which_control_character_is_not_allowed() {
    let shop = Workshop::new();

    let told = shop.refusal("run", json!({"command": "a\u{1b}[2J"}));
    let allowed = shop.plan("run", json!({"command": "a\tb\nc"}));

    let expected = "the command contains the control character U+001B; only newline and tab are allowed, so have the \
                    shell make it, as in `printf '\\033'`";
    assert_eq!((told.as_str(), allowed.detail.as_deref()), (expected, Some("a\tb\nc")));
}

/// Everything a person is shown of a call.
fn asked(shop: &Workshop, tool: &str, input: Value) -> String {
    let plan = shop.plan(tool, input);
    format!("{}\n{}", plan.summary, plan.detail.unwrap_or_default())
}

#[test]
fn what_is_asked_about_has_all_of_what_would_happen() {
    let shop = Workshop::new();
    let many: String = (0..3_000).map(|number| format!("{number}\n")).collect();
    let hidden_below = format!("{many}owned\n");
    shop.write("bytes", b"\xff\xfe");
    let run = |command: &str| asked(&shop, "run", json!({ "command": command }));
    let write = |path: &str, content: &str| asked(&shop, "write", json!({"path": path, "content": content}));
    let attempts = [
        Attempt::new("white space around a command is not shown", |target| match target {
            Target::Guarded => run("touch a\\ ") == run("touch a\\"),
            Target::Control => "touch a\\ ".trim() == "touch a\\".trim(),
        }),
        Attempt::new("a newline at the end of a command is not shown", |target| match target {
            Target::Guarded => run("ls\n") == run("ls"),
            Target::Control => "ls\n".trim() == "ls".trim(),
        }),
        Attempt::new("a carriage return at the end of a line is not shown", |target| match target {
            Target::Guarded => write("a", "x\r\ny") == write("a", "x\ny"),
            Target::Control => "x\r\ny".lines().eq("x\ny".lines()),
        }),
        Attempt::new("the end of a long diff is not shown", |target| match target {
            Target::Guarded => !write("a", &hidden_below).contains("+owned"),
            Target::Control => !hidden_below.lines().take(1000).any(|line| line == "owned"),
        }),
        Attempt::new("what replaces bytes is not shown", |target| match target {
            Target::Guarded => !write("bytes", "owned\n").contains("+owned"),
            Target::Control => !format!("replaces 2 bytes with {} bytes", "owned\n".len()).contains("owned"),
        }),
        Attempt::new("a path makes a line of the diff", |target| {
            let path = "x\n+++ b/harmless";
            match target {
                Target::Guarded => {
                    let plan = shop.plan("write", json!({"path": path, "content": "owned"}));
                    plan.detail.unwrap().lines().any(|line| line == "+++ b/harmless")
                }
                Target::Control => format!("+++ b/{path}").lines().any(|line| line == "+++ b/harmless"),
            }
        }),
        Attempt::new("a carriage return makes a line of the diff", |target| {
            let content = "a\r-b\n";
            match target {
                Target::Guarded => write("a", content).lines().any(|line| line.starts_with("+-b")),
                Target::Control => content.split(['\r', '\n']).any(|line| line == "-b"),
            }
        }),
        Attempt::new("a long line is cut", |target| {
            let command = format!("echo {}; touch owned", "x".repeat(9_000));
            match target {
                Target::Guarded => !run(&command).contains("; touch owned"),
                Target::Control => !command.chars().take(200).collect::<String>().contains("owned"),
            }
        }),
    ];

    assert_all_fail(&attempts);
}

#[test]
fn two_places_that_look_alike_as_text_are_not_taken_for_one() {
    let shop = Workshop::new();
    let odd = |byte: u8| shop.path(OsStr::from_bytes(&[b'd', byte]));
    for (byte, link) in [(0xfe, "one"), (0xff, "two")] {
        fs::create_dir(odd(byte)).unwrap();
        symlink(odd(byte), shop.path(link)).unwrap();
    }
    let lossy = |byte: u8| odd(byte).to_string_lossy().into_owned();
    let attempts =
        [Attempt::new("a path that is not text shares its rule with another", |target| match target {
            Target::Guarded => ["one/x", "two/x"].iter().any(|path| {
                let wanted = input(&json!({"path": path, "content": ""}));
                shop.toolbox.named("write").unwrap().prepare(&wanted).is_ok()
            }),
            Target::Control => lossy(0xfe) == lossy(0xff),
        })];

    assert_all_fail(&attempts);
}

#[test]
fn an_always_for_an_odd_command_is_for_that_command_only() {
    // What a person once allowed, and what is tried later with the permission.
    let cases = [
        ("a no-break space", "ls a\u{a0}b", "ls a b"),
        ("a zero-width space", "cat pass\u{200b}wd", "cat passwd"),
        ("an override of the direction", "cat a\u{202e}b", "cat ab"),
        ("a letter that looks the same", "сat x", "cat x"),
        ("a blank letter", "cat\u{3164} x", "cat x"),
        ("a newline", "echo a\necho b", "echo a echo b"),
        ("a space at the end", "touch a\\ ", "touch a\\"),
        ("a variation selector", "cat 'a\u{fe0f}'", "cat 'a'"),
    ];
    let shop = Workshop::new();
    let attempts = cases.map(|(name, allowed, tried)| {
        let shop = &shop;
        Attempt::new(name, move |target| match target {
            Target::Guarded => {
                let mut rules = Rules::default();
                rules.always(&shop.plan("run", json!({ "command": allowed })).rule).unwrap();
                let holds = rules.judge(&shop.prepare("run", json!({ "command": allowed })));
                assert_eq!(holds, Verdict::Allow, "{name}");
                rules.judge(&shop.prepare("run", json!({ "command": tried }))) == Verdict::Allow
            }
            Target::Control => plain(allowed) == plain(tried),
        })
    });

    assert_all_fail(&attempts);
}

/// A command as it looks: what is not seen left out, white space folded, letters by their shape.
fn plain(command: &str) -> String {
    let seen: String = command
        .chars()
        .filter(|letter| !matches!(letter, '\u{200b}' | '\u{202e}' | '\u{3164}' | '\u{fe0f}'))
        .map(|letter| if letter == 'с' { 'c' } else { letter })
        .collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn what_runs_is_the_text_that_was_shown() {
    let shop = Workshop::new();
    let commands = ["printf '<%s>' a\u{a0}b 'c\u{200b}' d\\ ", "\n\tprintf '<%s>' 'a\tb'\n"];

    let [odd, lines] = commands.map(|command| shop.prepare("run", json!({ "command": command })));
    let shown = [odd.plan.summary.clone(), lines.plan.detail.clone().unwrap()];
    let said = [odd.run().await, lines.run().await].map(|output| crate::tools_workshop::text(&output));

    assert_eq!(shown, [format!("Run `{}`", commands[0]), commands[1].to_owned()]);
    assert_eq!(said, ["<a\u{a0}b><c\u{200b}><d >", "<a\tb>"]);
}
