use proptest::prelude::*;

use super::*;
use crate::tools::{Output, Plan};

fn call(subject: Subject) -> Prepared {
    Prepared::new(Plan::new("", &subject), subject, async { Output::text("") })
}

fn command(text: &str) -> Prepared {
    call(Subject::Command(text.to_owned()))
}

fn inside(tool: &'static str, path: &str) -> Prepared {
    let absolute = format!("/project/{path}");
    call(Subject::Path { tool, absolute, relative: Some(path.to_owned()) })
}

fn outside(tool: &'static str, path: &str) -> Prepared {
    call(Subject::Path { tool, absolute: path.to_owned(), relative: None })
}

fn mcp(server: &str, tool: &str) -> Prepared {
    call(Subject::Mcp { server: server.to_owned(), tool: tool.to_owned() })
}

fn harmless(mut call: Prepared) -> Prepared {
    call.plan = call.plan.harmless();
    call
}

fn allowing(rule: &str) -> Rules {
    Rules::new(&[rule], &[], &[]).unwrap()
}

fn denying(rule: &str) -> Rules {
    Rules::new(&[], &[], &[rule]).unwrap()
}

fn is_allowed(rule: &str, call: &Prepared) -> bool {
    allowing(rule).judge(call) == Verdict::Allow
}

fn is_denied(rule: &str, call: &Prepared) -> bool {
    matches!(denying(rule).judge(call), Verdict::Deny(_))
}

#[test]
fn a_rule_for_a_command_allows_these_words_and_no_others() {
    let cases = [
        ("run(git status)", "git status", true),
        ("run(git status)", "  git   status ", true),
        ("run(git status)", "git 'status'", true),
        ("run(git status)", "git status --short", false),
        ("run(git status)", "git", false),
        ("run(git status *)", "git status", true),
        ("run(git status *)", "git status --short src", true),
        ("run(git status *)", "git statusx", false),
        ("run(npm run test:*)", "npm run test:unit", true),
        ("run(npm run test:*)", "npm run build", false),
        ("run(*)", "anything at all", true),
        ("run(echo '*')", "echo '*'", true),
        ("run(echo '*')", "echo x", false),
        ("run", "a; b | c", true),
        ("*", "a; b | c", true),
        ("run(=a; b | c)", "a; b | c", true),
        ("run(=a; b | c)", "a; b | c ", false),
        ("read", "git status", false),
    ];

    for (rule, text, expected) in cases {
        assert_eq!(is_allowed(rule, &command(text)), expected, "{rule} {text}");
    }
}

#[test]
fn what_the_shell_would_read_into_a_command_is_never_allowed_by_a_rule_for_another() {
    let commands = [
        "git status; rm x",
        "git status && rm x",
        "git status || rm x",
        "git status | sh",
        "git status & rm x",
        "git status &",
        "git status > x",
        "git status 2>&1",
        "git status < x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status \"$(rm x)\"",
        "git status \"`rm x`\"",
        "git status $HOME",
        "git status \nrm x",
        "git status\nrm x",
        "git status \\\n rm",
        "git status *",
        "git status ?",
        "git status [a]",
        "git status ~",
        "git status {a,b}",
        "git status # x",
        "git status !x",
        "git status 'a",
        "git status \"a",
        "git status \u{0}",
        "git status 'a\nb'",
        "A=b git status",
        "PATH=. git status",
        "(git status)",
        "{ git status; }",
        "! git status",
        "if git status",
    ];

    for text in commands {
        for rule in ["run(git status)", "run(git status *)", "run(git *)", "run(*)"] {
            assert!(!is_allowed(rule, &command(text)), "{rule} {text:?}");
        }
    }
}

#[test]
fn a_deny_rule_finds_its_program_inside_other_commands() {
    let commands = [
        "rm x",
        "/bin/rm -rf x",
        "ls; rm x",
        "ls && rm x",
        "ls | rm",
        "ls\nrm x",
        "ls # no\nrm x",
        "ls & rm x",
        "(rm x)",
        "{ rm x; }",
        "echo $(rm x)",
        "echo \"$(rm x)\"",
        "echo \"a $(echo $(rm x))\"",
        "echo `rm x`",
        "A=b rm x",
        ">y rm x",
        "2>/dev/null rm x",
        "r\\m x",
        "'rm' x",
        "r\"m\" x",
        "sudo rm x",
        "sudo -u root rm x",
        "env A=b rm x",
        "timeout 5 rm x",
        "xargs -0 rm",
        "find . -exec rm {} +",
        "sh -c 'rm x'",
        "bash -lc \"ls; rm x\"",
        "sudo sh -c 'rm x'",
        "eval rm x",
        "if true; then rm x; fi",
        "while true; do rm x; done",
        "! rm x",
        "cat <(rm x)",
        "! ls || rm x",
    ];

    for text in commands {
        assert!(is_denied("run(rm)", &command(text)), "{text:?}");
    }
}

#[test]
fn a_deny_rule_leaves_other_commands_alone() {
    for text in ["ls rm", "git rm x", "echo 'rm x'", "rmdir x", "cat rm.txt", "ls > rm"] {
        assert!(!is_denied("run(rm)", &command(text)), "{text:?}");
    }
    assert!(is_denied("run(git push)", &command("git push --force")));
    assert!(is_denied("run(git push *)", &command("git push")));
    assert!(!is_denied("run(git push)", &command("git pull")));
}

#[test]
fn a_rule_for_paths_allows_what_it_names_in_the_project() {
    let cases = [
        ("write", inside("write", "src/a.rs"), true),
        ("write", inside("edit", "src/a.rs"), true),
        ("write", inside("read", "src/a.rs"), false),
        ("edit", inside("write", "src/a.rs"), false),
        ("read", inside("find", "."), true),
        ("write", outside("write", "/etc/passwd"), false),
        ("write(**)", outside("write", "/etc/passwd"), false),
        ("write(/etc/*)", outside("write", "/etc/passwd"), true),
        ("write(/etc/*)", outside("write", "/etc/a/b"), false),
        ("write(/project/src/**)", inside("write", "src/a.rs"), true),
        ("write(src/**)", inside("write", "src/a/b.rs"), true),
        ("write(src/**)", inside("write", "srcx/a"), false),
        ("write(src/*)", inside("write", "src/a/b.rs"), false),
        ("write(src/*.rs)", inside("write", "src/a.rs"), true),
        ("write(**/*.md)", inside("write", "a.md"), true),
        ("write(**/*.md)", inside("write", "a/b/c.md"), true),
        ("write(a?c)", inside("write", "abc"), true),
        ("write(a\\*c)", inside("write", "a*c"), true),
        ("write(a\\*c)", inside("write", "abc"), false),
        ("write(src)", inside("write", "src/a"), false),
        ("*", outside("write", "/etc/passwd"), true),
    ];

    for (rule, call, expected) in cases {
        assert_eq!(is_allowed(rule, &call), expected, "{rule} {:?}", call.subject);
    }
}

#[test]
fn what_runs_by_itself_is_written_only_when_a_rule_names_it() {
    let hook = inside("write", ".git/hooks/pre-commit");

    let allowed = ["write", "write(**)", "write(*/**)", "write(.g*/**)"].map(|rule| is_allowed(rule, &hook));

    assert_eq!(allowed, [false; 4]);
    assert!(is_allowed("write(.git/hooks/*)", &hook));
    assert!(is_denied("write(**)", &hook));
}

#[test]
fn a_deny_rule_for_a_directory_holds_for_all_below_it() {
    assert!(is_denied("read(secrets)", &harmless(inside("read", "secrets/a/b"))));
    assert!(is_denied("read", &outside("list", "/etc")));
    assert!(!is_denied("read(secrets)", &harmless(inside("read", "secretsx"))));
}

#[test]
fn a_rule_for_a_server_names_its_tools() {
    let call = mcp("github", "get_issue");

    let allowed =
        ["mcp", "mcp(github/get_issue)", "mcp(github/*)", "mcp(*/get_*)", "mcp(gitlab/*)", "mcp(github/x)"]
            .map(|rule| is_allowed(rule, &call));

    assert_eq!(allowed, [true, true, true, true, false, false]);
}

#[test]
fn a_tool_whose_name_has_slashes_can_be_allowed_for_good() {
    let asked = mcp("files", "fs/read/all");
    let rule = rule_for(&asked.subject);

    let allowed = ["files", "files/fs"].map(|server| is_allowed(&rule, &mcp(server, "fs/read/all")));
    let others = [mcp("files", "fs/read"), mcp("files", "fs/read/all/x"), mcp("files/fs", "read/all")];

    assert_eq!((rule.as_str(), allowed), ("mcp(files/fs/read/all)", [true, false]));
    assert_eq!(others.map(|call| is_allowed(&rule, &call)), [false; 3]);
    assert!(is_denied("mcp(files/fs)", &asked) && is_denied("mcp(files/fs/read/all)", &asked));
}

#[test]
fn deny_is_stronger_than_ask_and_ask_is_stronger_than_allow() {
    let rules = Rules::new(&["run"], &["run(git push)"], &["run(git push origin main)"]).unwrap();

    let verdicts =
        ["git push origin main", "git push origin x", "ls"].map(|text| rules.judge(&command(text)));

    let denied = Verdict::Deny("run(git push origin main)".to_owned());
    assert_eq!(verdicts, [denied, Verdict::Ask, Verdict::Allow]);
}

#[test]
fn without_a_rule_only_looking_in_the_project_is_allowed() {
    let calls = [harmless(inside("read", "a")), outside("read", "/a"), inside("write", "a"), command("ls")];

    let verdicts = calls.map(|call| Rules::default().judge(&call));

    assert_eq!(verdicts, [Verdict::Allow, Verdict::Ask, Verdict::Ask, Verdict::Ask]);
}

#[test]
fn what_was_remembered_comes_back_from_its_text() {
    let mut rules = Rules::default().bound_to("/trip", "7");
    rules.always(&command("cargo test 2>&1 | tail").plan.rule).unwrap();
    rules.always("run(ls)").unwrap();
    rules.always("run(ls)").unwrap();
    rules.never("write(src/*)").unwrap();

    let mut again = Rules::default().bound_to("/trip", "7");
    again.recall(&rules.to_text()).unwrap();

    assert_eq!(again, rules);
    assert_eq!(
        rules.to_text(),
        r#"{"version":2,"places":[{"directory":"/trip","identity":"7","allow":["run(=cargo test 2>&1 | tail)","run(ls)"]}],"deny":["write(src/*)"]}"#
    );
    assert!(Rules::default().recall(r#"{"version":3}"#).is_err());
}

/// What is remembered after a text was recalled in a place.
fn remembered_in(directory: &str, identity: &str, text: &str) -> Vec<(&'static str, String)> {
    let mut rules = Rules::default().bound_to(directory, identity);
    rules.recall(text).unwrap();
    rules.list()
}

#[test]
fn what_was_allowed_holds_in_its_directory_and_what_was_refused_holds_everywhere() {
    let mut rules = Rules::default().bound_to("/trip", "7");
    rules.always("run(ls)").unwrap();
    rules.never("run(rm)").unwrap();
    let text = rules.to_text();

    let found = [("/trip", "7"), ("/copy", "7"), ("/trip", "8"), ("/trip/inner", "7"), ("", "")]
        .map(|(directory, identity)| remembered_in(directory, identity, &text));

    let refused = ("never", "run(rm)".to_owned());
    let only_refused = || vec![refused.clone()];
    let own = vec![refused.clone(), ("always", "run(ls)".to_owned())];
    assert_eq!(found, [own, only_refused(), only_refused(), only_refused(), only_refused()]);
}

#[test]
fn a_decision_in_one_directory_leaves_those_of_another_as_they_are() {
    let mut first = Rules::default().bound_to("/trip", "7");
    first.always("run(ls)").unwrap();
    let mut second = Rules::default().bound_to("/copy", "8");
    second.recall(&first.to_text()).unwrap();
    second.always("run(pwd)").unwrap();

    let text = second.to_text();

    let always = |rule: &str| vec![("always", rule.to_owned())];
    assert_eq!(remembered_in("/trip", "7", &text), always("run(ls)"));
    assert_eq!(remembered_in("/copy", "8", &text), always("run(pwd)"));
}

#[test]
fn rules_from_before_places_were_kept_are_asked_for_again_and_refusals_stay() {
    let text = r#"{"version":1,"allow":["run(ls)"],"deny":["run(rm)"]}"#;

    assert_eq!(remembered_in("/trip", "7", text), [("never", "run(rm)".to_owned())]);
}

#[test]
fn what_was_allowed_moves_only_with_the_directory_that_is_named() {
    let mut rules = Rules::default().bound_to("/trip", "7");
    rules.always("run(ls)").unwrap();
    let text = rules.to_text();

    let moved = Rules::move_remembered(&text, "/trip", "/lisbon", "9").unwrap();
    let other = Rules::move_remembered(&text, "/else", "/lisbon", "9").unwrap();

    assert_eq!(remembered_in("/lisbon", "9", &moved), [("always", "run(ls)".to_owned())]);
    assert_eq!(remembered_in("/trip", "7", &moved), []);
    assert_eq!(other, text);
}

#[test]
fn a_rule_that_cannot_be_meant_is_refused() {
    for rule in [
        "",
        "wirte",
        "run(",
        "run()",
        "run(a; b)",
        "run(a | b)",
        "mcp(github)",
        "mcp(/b)",
        "mcp(a/)",
        "tool",
        "run(A=b c)",
    ] {
        assert!(Rules::new(&[rule], &[], &[]).is_err(), "{rule}");
    }
}

/// Text that a shell gives a meaning to.
fn meta() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(vec![
        ";", "&", "|", "&&", "||", "<", ">", "(", ")", "$(", "`", "$", "\n", "\r", "\\", "*", "?", "[", "{",
        "}", "~", "#", "!",
    ]);
    ("[ a-z]{0,5}", sign, "[ a-z./-]{0,10}")
        .prop_map(|(before, sign, after)| format!("{before}{sign}{after}"))
}

proptest! {
    #[test]
    fn no_allow_rule_for_a_command_matches_it_with_more_for_the_shell_behind(
        rule in prop::sample::select(vec!["run(git status)", "run(git status *)", "run(git *)", "run(*)", "run(*t *)"]),
        suffix in meta(),
    ) {
        let call = command(&format!("git status{suffix}"));

        prop_assert!(!is_allowed(rule, &call));
    }

    #[test]
    fn the_rule_of_a_call_allows_that_call(text in "[ -~]{1,40}") {
        prop_assume!(!text.trim().is_empty());
        let call = command(&text);

        prop_assert!(is_allowed(&call.plan.rule, &call), "{}", call.plan.rule);
    }

    #[test]
    fn the_rule_of_a_call_allows_no_other(text in "[a-z*' ]{1,12}", other in "[a-z*' ]{1,12}") {
        prop_assume!(!text.trim().is_empty());
        let same = command::simple(&text) == command::simple(&other);

        prop_assert_eq!(is_allowed(&command(&text).plan.rule, &command(&other)), text == other || (same && command::simple(&text).is_some()));
    }

    #[test]
    fn the_rule_of_a_path_allows_that_path_only(path in "[a-z*?\\\\]{1,6}", other in "[a-z*?\\\\]{1,6}") {
        let call = inside("write", &path);

        prop_assert!(is_allowed(&call.plan.rule, &call));
        prop_assert_eq!(is_allowed(&call.plan.rule, &inside("write", &other)), path == other);
    }

    /// A real shell is the judge: what counts as one plain command prints exactly its own words.
    #[test]
    fn a_shell_reads_a_plain_command_as_these_words(text in "[-a-z./'\" =:;$*|&#~!]{0,20}") {
        let line = format!("printf '%s\\n' {text}");
        if let Some(words) = command::simple(&line) {
            let printed = std::process::Command::new("sh").arg("-c").arg(&line).output().unwrap();
            let expected: String = match &words[2..] {
                [] => "\n".to_owned(),
                words => words.iter().map(|word| format!("{word}\n")).collect(),
            };
            prop_assert_eq!(String::from_utf8(printed.stdout).unwrap(), expected);
        }
    }

    #[test]
    fn reading_any_text_as_commands_ends(text in ".{0,200}") {
        command::parts(&text);
    }
}
