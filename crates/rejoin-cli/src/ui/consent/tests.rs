use proptest::prelude::*;

use super::*;
use crate::ui::clean;
use crate::ui::paint::{Meaning, Paint};

/// Reads one line back, as a person who knows the signs would.
fn read_line(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '⇥' => {
                text.push('\t');
                rest = rest.strip_prefix("   ").expect("a tab takes four columns");
            }
            '⟨' => {
                let (sign, after) = rest.split_once('⟩').expect("a sign has an end");
                rest = after;
                match sign.strip_prefix("U+") {
                    Some(code) => text.extend(char::from_u32(u32::from_str_radix(code, 16).unwrap())),
                    None => {
                        let digits: String = sign.chars().filter(char::is_ascii_digit).collect();
                        text.push_str(&" ".repeat(digits.parse().unwrap()));
                    }
                }
            }
            letter => text.push(letter),
        }
    }
    text
}

/// Reads a block back.
fn read(lines: &[String]) -> String {
    let read = lines.iter().flat_map(|line| match line.strip_suffix(" empty lines⟩") {
        Some(count) => {
            let digits: String = count.chars().filter(char::is_ascii_digit).collect();
            vec![String::new(); digits.parse().unwrap()]
        }
        None => vec![read_line(line)],
    });
    read.collect::<Vec<_>>().join("\n")
}

/// Puts rows together to the lines they were.
fn joined(rows: &[rows::ConsentRow]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        match (row.painted.strip_prefix("│ "), row.painted.strip_prefix("┊ ")) {
            (Some(begins), _) => lines.push(begins.to_owned()),
            (_, Some(goes_on)) => lines.last_mut().expect("a line began before").push_str(goes_on),
            (None, None) => panic!("a row without an edge: {row:?}"),
        }
    }
    lines
}

/// Text that is likely to be hard: any character, and those that hide, act or stand for others.
fn hard_text() -> impl Strategy<Value = String> {
    let nasty =
        "\u{1b}\u{7}\u{8}\r\n\t\u{0}\u{7f}\u{9b}\u{9d}\u{200b}\u{200d}\u{202e}\u{2066}\u{fe0f}\u{e0041}\
                 \u{a0}\u{3000}\u{2028}\u{ad}\u{301}\u{3164}\u{2800}⟨⟩⇥│┊ U+0123⟨\\xаc"
            .chars()
            .collect::<Vec<_>>();
    let letter = prop_oneof![
        3 => prop::sample::select(nasty),
        1 => any::<char>(),
        1 => prop::char::range(' ', '~'),
        1 => Just(' '),
    ];
    prop::collection::vec(letter, 0..60).prop_map(|letters| letters.into_iter().collect())
}

proptest! {
    #[test]
    fn two_different_texts_never_look_the_same(text in hard_text(), columns in 1_usize..60) {
        let shown = ConsentText::block(&text);
        let rows = rows::lay_out(&ConsentLine::edged(&shown, |_| Meaning::Plain), columns, Paint::Plain);

        prop_assert_eq!(read(&shown.lines), text.clone());
        prop_assert_eq!(read(&joined(&rows)), text.clone());
        prop_assert_eq!(read_line(&ConsentText::line(&text).text()), text);
    }

    #[test]
    fn nothing_that_is_shown_acts_on_a_terminal(text in hard_text(), columns in 4_usize..60) {
        let shown = ConsentText::block(&text);
        let rows = rows::lay_out(&ConsentLine::edged(&shown, |_| Meaning::Plain), columns, Paint::Plain);

        for row in rows {
            let acts = row.painted.chars().find(|letter| letter.is_control() || PlainText::is_invisible(*letter));
            prop_assert_eq!(acts, None);
            prop_assert_eq!(clean::block(&row.painted), row.painted);
        }
    }

    #[test]
    fn no_row_is_wider_than_the_screen(text in hard_text(), columns in 30_usize..60) {
        let shown = ConsentText::block(&text);
        let rows = rows::lay_out(&ConsentLine::edged(&shown, |_| Meaning::Plain), columns, Paint::Plain);

        for row in rows {
            prop_assert!(crate::ui::fit::width(&row.painted) < columns, "{:?}", row);
        }
    }
}

#[test]
fn every_character_that_hides_is_a_sign() {
    let cases = [
        ("ok \u{1b}]0; id > f #\u{7}", "ok ⟨U+001B⟩]0; id > f #⟨U+0007⟩"),
        ("a\rb", "a⟨U+000D⟩b"),
        ("a\u{9b}2Jb\u{7f}", "a⟨U+009B⟩2Jb⟨U+007F⟩"),
        ("gpj\u{202e}.exe", "gpj⟨U+202E⟩.exe"),
        ("a\u{a0}b\u{3000}c", "a⟨U+00A0⟩b⟨U+3000⟩c"),
        ("a\u{2028}b", "a⟨U+2028⟩b"),
        ("x\u{fe0f}\u{e0041}", "x⟨U+FE0F⟩⟨U+E0041⟩"),
        ("\u{3164}\u{2800}\u{115f}", "⟨U+3164⟩⟨U+2800⟩⟨U+115F⟩"),
        ("e\u{301}\u{301}", "e⟨U+0301⟩⟨U+0301⟩"),
        ("tab\there", "tab⇥   here"),
        ("ends  ", "ends⟨2 spaces⟩"),
        ("a\nb", "a⟨U+000A⟩b"),
        ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟨U+27E9⟩"),
        ("сat", "⟨U+0441⟩at"),
    ];

    let shown = cases.map(|(text, _)| ConsentText::line(text).text());

    assert_eq!(shown, cases.map(|(_, expected)| expected.to_owned()));
}

#[test]
fn ordinary_text_stays_as_it_is() {
    let texts = [
        r#"git commit -m "it's \u{202e} \x1b done" && printf '\033[1m%s\n' "$HOME""#,
        "Größe, naïve café, 日本語、한국어, Привет с моря",
        "हिन्दी में, ภาษาไทย, עברית, العربية",
        "→ ✓ • … — ‘quoted’ “text” 👍",
    ];

    assert_eq!(texts.map(|text| ConsentText::line(text).text()), texts.map(str::to_owned));
}

#[test]
fn what_would_push_the_rest_out_of_sight_is_counted() {
    let line = format!("echo ok{};id", " ".repeat(5000));
    let block = format!("echo ok{}id", "\n".repeat(600));

    assert_eq!(ConsentText::line(&line).text().replace(',', ""), "echo ok⟨5000 spaces⟩;id");
    assert_eq!(ConsentText::block(&block).text(), "echo ok\n⟨599 empty lines⟩\nid");
    assert_eq!(ConsentText::block("a\n\n\nb\n").text(), "a\n\n\nb\n");
}

#[test]
fn a_report_keeps_its_columns_and_loses_its_colours_only() {
    let report = "\u{1b}[33ma3f\u{1b}[0m   Lisbon\u{1b}[2J\u{202e}   \n\u{1b}[1mb\u{1b}[0m\n";

    assert_eq!(ConsentText::report(report).text(), "a3f   Lisbon⟨U+001B⟩[2J⟨U+202E⟩   \nb");
}

#[test]
fn what_to_know_is_said_once() {
    let texts = ["ls", "a\u{202e}b\u{200b}", "\u{7}", "שלום"].map(ConsentText::line);

    let notes = texts.each_ref().map(|shown| ConsentText::notes(&[shown]));

    let order =
        "Some letters are written from right to left, so the order on this screen may not be the real one.";
    assert_eq!(notes[0], Vec::<String>::new());
    assert_eq!(notes[1], ["2 hidden or misleading characters are shown as ⟨U+…⟩."]);
    assert_eq!(notes[2], ["1 hidden or misleading character is shown as ⟨U+…⟩."]);
    assert_eq!(notes[3], [order]);
}

#[test]
fn a_sign_stands_out_by_its_colour() {
    let lines = ConsentLine::edged(&ConsentText::line("a\u{1b}b"), |_| Meaning::Plain);

    let rows = rows::lay_out(&lines, 80, Paint::Colored);

    assert_eq!(rows[0].painted, "\u{1b}[2m│ \u{1b}[0ma\u{1b}[7m⟨U+001B⟩\u{1b}[0mb");
}
