use std::cell::Cell;
use std::collections::VecDeque;

use super::*;
use crate::ui::page::ScreenSize;

fn plan(detail: Option<&str>) -> Plan {
    Plan {
        summary: "Run `make`".to_owned(),
        detail: detail.map(str::to_owned),
        rule: "run(make)".to_owned(),
        is_harmless: false,
    }
}

/// Answers a question with keys at a screen of this size, and returns the decision and what was shown.
fn answered(plan: &Plan, size: (usize, usize), keys: &[KeyPress]) -> (Option<Decision>, String) {
    answered_while(plan, &Cell::new(size), keys, &|_| ())
}

/// The same at a screen that may change when a key is pressed. No decision when there were not enough keys.
fn answered_while(
    plan: &Plan,
    size: &Cell<(usize, usize)>,
    keys: &[KeyPress],
    pressed: &dyn Fn(usize),
) -> (Option<Decision>, String) {
    let mut left: VecDeque<KeyPress> = keys.iter().copied().collect();
    let ran_out = Cell::new(false);
    let mut out = Vec::new();
    let mut key = || {
        pressed(keys.len() - left.len());
        left.pop_front().unwrap_or_else(|| {
            ran_out.set(true);
            KeyPress::Interrupt
        })
    };
    let screen = || ScreenSize { columns: size.get().0, rows: size.get().1 };
    let mut desk = ConsentDesk { out: &mut out, paint: Paint::Plain, screen: &screen, key: &mut key };
    let (decision, _) = decide(plan, &mut desk, &mut || Ok(TypedLine::Interrupt)).unwrap();
    ((!ran_out.get()).then_some(decision), String::from_utf8(out).unwrap())
}

fn numbered(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_short_question_is_asked_at_once() {
    let (decision, told) = answered(&plan(None), (80, 24), &[KeyPress::Letter('y')]);

    let expected = "│ Run `make`\nAlways and never are about:\n│ run(make)\n\
                    Allow? y once, a always, n no, v never, i instead [n] once\n";
    assert_eq!((decision, told.as_str()), (Some(Decision::Once), expected));
}

#[test]
fn a_diff_is_coloured_and_inert() {
    let shown = lines(&plan(Some("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\u{1b}[2J\n same")));
    let mut out = Vec::new();
    let mut desk = ConsentDesk {
        out: &mut out,
        paint: Paint::Colored,
        screen: &|| ScreenSize { columns: 80, rows: 24 },
        key: &mut || KeyPress::End,
    };

    consent::show(&shown, &question, &mut desk).unwrap();

    let told = String::from_utf8(out).unwrap();
    assert!(told.contains("\u{1b}[1m\u{1b}[31m-old\u{1b}[0m\n"), "{told:?}");
    assert!(
        told.contains("\u{1b}[32m+new\u{1b}[0m\u{1b}[7m⟨U+001B⟩\u{1b}[0m\u{1b}[32m[2J\u{1b}[0m\n"),
        "{told:?}"
    );
}

#[test]
fn a_command_that_is_not_a_diff_has_no_colours_of_one() {
    let shown = lines(&plan(Some("echo\n-old\n+new")));

    assert!(shown.iter().all(|line| !format!("{line:?}").contains("Success")), "{shown:?}");
}

#[test]
fn nothing_is_allowed_before_its_end_was_shown() {
    let long = plan(Some(&numbered(100)));

    let (early, told) =
        answered(&long, (80, 24), &[KeyPress::Letter('y'), KeyPress::Letter('a'), KeyPress::Other]);
    let pages = [KeyPress::Space, KeyPress::Enter, KeyPress::Space, KeyPress::Space];
    let (paged, shown) = answered(&long, (80, 24), &[&pages[..], &[KeyPress::Letter('y')]].concat());

    assert_eq!(early, None);
    assert!(!told.contains("Allow? y once") && !told.contains("line 60"), "{told}");
    assert_eq!(paged, Some(Decision::Once));
    let all: Vec<String> = (1..=100).map(|number| format!("│ line {number}")).collect();
    assert_eq!(shown.lines().filter(|line| line.starts_with("│ line")).collect::<Vec<_>>(), all);
}

#[test]
fn a_page_and_its_prompt_fit_the_screen() {
    for size in [(80, 24), (40, 10), (20, 4), (10, 2)] {
        let mut shown_before = 0;
        let mut heights = Vec::new();
        let (_, told) = answered(&plan(Some(&numbered(200))), size, &vec![KeyPress::Space; 300]);
        for line in told.lines() {
            shown_before += 1;
            if line.contains("/e/n") || line.contains("n: no") || line.contains("Allow?") {
                heights.push(shown_before);
                shown_before = 0;
            }
        }

        assert!(heights.iter().all(|height| *height <= size.1.max(2)), "{size:?}: {heights:?}");
    }
}

#[test]
fn whoever_goes_to_the_end_is_told_what_was_not_shown() {
    let (decision, told) =
        answered(&plan(Some(&numbered(100))), (80, 24), &[KeyPress::Letter('e'), KeyPress::Letter('y')]);

    assert_eq!(decision, Some(Decision::Once));
    assert!(told.contains("\n... 59 lines not shown ...\n"), "{told}");
    assert!(told.contains("│ line 100\n"), "{told}");
    assert!(
        told.contains(
            "Allow without having seen 59 lines? y once, a always, n no, v never, i instead [n] once"
        ),
        "{told}"
    );
}

#[test]
fn a_no_is_taken_at_any_time() {
    let keys = [KeyPress::Letter('n'), KeyPress::Letter('v'), KeyPress::End, KeyPress::Interrupt];

    let decisions =
        keys.map(|key| answered(&plan(Some(&numbered(100))), (80, 24), &[KeyPress::Space, key]).0);

    let no = Some(Decision::No(None));
    assert_eq!(decisions, [no.clone(), Some(Decision::Never), no.clone(), no]);
}

#[test]
fn a_screen_that_changes_hides_nothing() {
    let size = Cell::new((80, 24));
    let sizes = [(80, 24), (30, 8), (200, 50), (15, 5)];
    let words = (1..=150).map(|number| format!("some words of line {number} in a row")).collect::<Vec<_>>();
    let long = plan(Some(&words.join("\n")));

    let (_, told) =
        answered_while(&long, &size, &vec![KeyPress::Space; 500], &|pressed| size.set(sizes[pressed % 4]));

    let shown = told.replace("\n┊ ", "");
    let missing: Vec<&String> = words.iter().filter(|word| !shown.contains(word.as_str())).collect();
    assert_eq!(missing, Vec::<&String>::new(), "{told}");
}

#[test]
fn one_long_line_is_shown_whole_and_its_rows_are_marked() {
    let command = format!("echo {}; id", "x".repeat(300));
    let long = Plan { rule: format!("run(={command})"), ..plan(Some(&command)) };

    let (_, told) = answered(&long, (40, 30), &[KeyPress::Letter('n')]);

    let rows: Vec<&str> = told.lines().filter(|line| line.starts_with(['│', '┊'])).collect();
    assert_eq!(
        rows[1..].iter().map(|row| row.chars().skip(2).collect::<String>()).collect::<String>(),
        command
    );
    assert!(rows[2..].iter().all(|row| row.starts_with("┊ ")), "{told}");
    assert!(told.contains("\nAlways and never are about exactly this\ncommand.\n"), "{told}");
}

#[test]
fn a_text_that_imitates_the_question_stands_behind_an_edge() {
    let imitation = "true\nAllow? y once, a always, n no, v never, i instead [n] no\n• Run `true`";

    let (_, told) = answered(&plan(Some(imitation)), (80, 24), &[KeyPress::Letter('n')]);

    assert_eq!(told.lines().filter(|line| line.starts_with("Allow?")).count(), 1, "{told}");
}

/// Presses `i`, then types a line, and returns what was decided.
fn answered_with(line: TypedLine) -> ((Decision, Course), String) {
    let mut out = Vec::new();
    let screen = || ScreenSize { columns: 80, rows: 24 };
    let mut desk = ConsentDesk {
        out: &mut out,
        paint: Paint::Plain,
        screen: &screen,
        key: &mut || KeyPress::Letter('i'),
    };
    let decided = decide(&plan(None), &mut desk, &mut || Ok(line.clone())).unwrap();
    (decided, String::from_utf8(out).unwrap())
}

#[test]
fn a_no_may_say_what_to_do_instead() {
    let said = TypedLine::Text("Use `just build`.".to_owned());

    let (decided, told) = answered_with(said);
    let nothing = answered_with(TypedLine::Text(String::new())).0;
    let interrupted = answered_with(TypedLine::Interrupt).0;

    assert_eq!(decided, (Decision::No(Some("Use `just build`.".to_owned())), Course::Go));
    assert!(told.ends_with("[n] no\nWhat should it do instead? "), "{told}");
    assert_eq!(nothing, (Decision::No(None), Course::Go));
    assert_eq!(interrupted, (Decision::No(None), Course::Stop));
}
