//! What a reader sees of a text in Markdown.

use proptest::prelude::*;

use super::*;
use crate::ui::fit;

fn shown(text: &str, columns: usize) -> String {
    let mut markdown = Markdown::new(Paint::Colored);
    markdown.push(text, columns) + &markdown.finish(columns)
}

/// What is shown, without colours.
fn plain(text: &str, columns: usize) -> String {
    let mut bare = String::new();
    let mut rest = shown(text, columns);
    while let Some(start) = rest.find('\u{1b}') {
        bare += &rest[..start];
        let end = rest[start..].find('m').expect("only colours are added");
        let code = &rest[start + 1..=start + end];
        assert!(
            ["[0m", "[1m", "[2m", "[3m", "[4m", "[9m", "[36m"].contains(&code),
            "{code:?} is not one of the looks"
        );
        rest = rest[start + end + 1..].to_owned();
    }
    bare + &rest
}

#[test]
fn headings_lists_and_quotations_are_drawn() {
    let text = "# Lisbon\nWhere to eat:\n\n\n- a *tasca* in **Alfama**\n  - try `bacalhau`\n- 1) no\n\n1. first\n2. second\n> quoted\n> > twice\n\n***\nend";

    let expected = "Lisbon\nWhere to eat:\n\n• a tasca in Alfama\n  • try bacalhau\n• 1) no\n\n1. first\n2. second\n│ quoted\n│ │ twice\n\n────────────────────────────────────────\nend\n";
    assert_eq!(plain(text, 80), expected);
}

#[test]
fn long_lines_are_wrapped_under_their_own_beginning() {
    let text = "- one two three four five\n  - six seven eight nine ten\n\n> said somebody at some length";

    let expected = "• one two three\n  four five\n  • six seven\n    eight nine\n    ten\n\n│ said somebody\n│ at some length\n";
    assert_eq!(plain(text, 16), expected);
}

#[test]
fn code_stands_in_a_frame_as_it_was_written() {
    let text = "Try:\n```rust\nfn main() {\n\tlet *x* = \"# no\";\n}\n```\ndone";

    let expected = "Try:\n── rust ────────────────────────────────\nfn main() {\n    let *x* = \"# no\";\n}\n────────────────────────────────────────\ndone\n";
    assert_eq!(plain(text, 80), expected);
}

#[test]
fn code_that_never_ends_is_closed() {
    assert_eq!(plain("~~~\ncode", 10), "──────────\ncode\n──────────\n");
}

#[test]
fn a_link_shows_where_it_leads() {
    let cases = [
        ("see [the *guide*](https://a.example/b_c_d).", "see the guide (https://a.example/b_c_d).\n"),
        (
            "<https://a.example> and [https://b.example](https://b.example)",
            "https://a.example and https://b.example\n",
        ),
        ("![a map](map.png)", "a map (map.png)\n"),
        ("[x] done, [not a link] here, a < b", "[x] done, [not a link] here, a < b\n"),
    ];

    assert_eq!(cases.map(|(text, _)| plain(text, 80)), cases.map(|(_, expected)| expected.to_owned()));
}

#[test]
fn marks_that_are_not_marks_stay() {
    let text =
        "2 * 3 * 4, snake_case_name, \\*not\\*, **open, a ~ b, 5 * x, C:\\dir, ``a`b``, wow! __init__.py";

    assert_eq!(
        plain(text, 200),
        "2 * 3 * 4, snake_case_name, *not*, **open, a ~ b, 5 * x, C:\\dir, a`b, wow! init.py\n"
    );
}

#[test]
fn emphasis_is_shown_by_looks() {
    let text = "a **bold *both* word** `code` ~~old~~";

    let expected = "a \u{1b}[1mbold\u{1b}[0m \u{1b}[1m\u{1b}[3mboth\u{1b}[0m \u{1b}[1mword\u{1b}[0m \u{1b}[36mcode\u{1b}[0m \u{1b}[9mold\u{1b}[0m\n";
    assert_eq!(shown(text, 80), expected);
}

#[test]
fn a_table_is_aligned_or_turned_into_lists() {
    let text = "| Place | Dish |\n|---|:--|\n| Alfama | `bacalhau` |\n| Belém | pastéis \\| more |\n\nafter";

    let wide = "Place   Dish\n──────  ──────────────\nAlfama  bacalhau\nBelém   pastéis | more\n\nafter\n";
    let narrow = "Place: Alfama\nDish: bacalhau\n\nPlace: Belém\nDish: pastéis |\nmore\n\nafter\n";
    assert_eq!((plain(text, 40).as_str(), plain(text, 15).as_str()), (wide, narrow));
}

#[test]
fn scripts_without_spaces_are_wrapped() {
    assert_eq!(plain("漢字漢字漢字、漢字", 8), "漢字漢字\n漢字、漢\n字\n");
}

#[test]
fn a_word_wider_than_the_screen_is_left_whole() {
    assert_eq!(plain("see https://example.org/long now", 10), "see\nhttps://example.org/long\nnow\n");
}

#[test]
fn terminal_sequences_do_nothing() {
    let text =
        "a\u{1b}[2Jb \u{1b}]0;a title\u{7}c\n```\n\u{1b}[31mcode\u{9b}1m\n```\n[x](\u{1b}]8;;evil\u{7})";

    assert!(!plain(text, 40).contains(|own: char| own.is_control() && own != '\n'));
}

/// Texts made of what Markdown and terminals give a meaning to.
fn texts() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "word ",
        "a",
        " ",
        "\n",
        "\n\n",
        "*",
        "**",
        "_",
        "`",
        "```",
        "```rust\n",
        "~~",
        "# ",
        "- ",
        "  - ",
        "1. ",
        "> ",
        "[",
        "](",
        ")",
        "!",
        "|",
        "|---|\n",
        "\\",
        "<",
        ">",
        "\t",
        "\r\n",
        "\r",
        "漢字",
        "é",
        "\u{301}",
        "\u{200d}",
        "\u{1f468}",
        "\u{1b}",
        "[31m",
        "\u{1b}]0;",
        "\u{7}",
        "\u{9b}",
        "\u{9c}",
        "---",
        "    ",
        "https://example.org/a_b",
    ]);
    prop::collection::vec(parts, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn pieces_are_shown_like_the_whole(text in texts(), cuts in prop::collection::vec(0_usize..400, 0..12), columns in 5_usize..60) {
        let characters: Vec<char> = text.chars().collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(characters.len())).chain([0, characters.len()]).collect();
        cuts.sort_unstable();
        let mut markdown = Markdown::new(Paint::Colored);
        let mut pieces = String::new();
        for pair in cuts.windows(2) {
            let piece: String = characters[pair[0]..pair[1]].iter().collect();
            pieces += &markdown.push(&piece, columns);
        }
        pieces += &markdown.finish(columns);

        prop_assert_eq!(pieces, shown(&text, columns));
    }

    #[test]
    fn no_control_character_of_the_text_is_shown(text in texts(), columns in 5_usize..60) {
        let plain = plain(&text, columns);

        prop_assert!(!plain.contains(|own: char| own.is_control() && own != '\n'), "{plain:?}");
    }

    #[test]
    fn lines_fit_the_screen(words in prop::collection::vec("[a-z*_]{1,9}", 0..60), columns in 12_usize..60) {
        let plain = plain(&words.join(" "), columns);

        prop_assert!(plain.lines().all(|line| fit::width(line) <= columns), "{plain}");
    }
}

#[test]
fn without_colour_the_text_stays_as_it_was_written() {
    let mut markdown = Markdown::new(Paint::Plain);

    let told = markdown.push("# A *b*\n\u{1b}[2Jlong ", 5) + &markdown.push("line", 5) + &markdown.finish(5);

    assert_eq!(told, "# A *b*\nlong line\n");
}
