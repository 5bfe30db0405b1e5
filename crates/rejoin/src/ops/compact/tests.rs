use super::*;
use crate::ops::view::Kept;

fn letters(text: &str) -> u64 {
    text.chars().count() as u64
}

fn messages(texts: &[&str]) -> Vec<(MessageId, String)> {
    texts
        .iter()
        .zip(1..)
        .map(|(text, number)| (format!("m{number}").parse().unwrap(), (*text).to_owned()))
        .collect()
}

#[test]
fn compaction_begins_strictly_above_the_threshold() {
    let cases =
        [(1_000, 100_000, false), (80_000, 100_000, false), (80_001, 100_000, true), (85_000, 100_000, true)];

    let needed = cases.map(|(tokens, window, _)| needs_compaction(tokens, window, COMPACT_THRESHOLD));

    assert_eq!(needed, cases.map(|(_, _, expected)| expected));
}

#[test]
fn the_newest_messages_stay_whole_and_the_first_that_does_not_fit_is_cut() {
    let long = "x".repeat(1_000);
    let all = messages(&["oldest", &long, "two", "one"]);

    let kept = select(&all, 106, &letters);

    let Some(text) = kept[0].text.clone() else { panic!("{kept:?}") };
    assert_eq!(letters(&text), 100);
    assert!(text.contains("characters truncated"), "{text}");
    let whole = |name: &str| Kept { message: name.parse().unwrap(), text: None };
    assert_eq!(kept[1..], [whole("m3"), whole("m4")]);
}

#[test]
fn the_marker_counts_what_is_really_missing() {
    let text: String = ('a'..='z').cycle().take(500).collect();

    let cut = truncate_middle(&text, 100, &letters).unwrap();

    let number: usize = cut.split("[... ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let kept = letters(&cut) as usize - format!("\n\n[... {number} characters truncated ...]\n\n").len();
    assert_eq!(number + kept, 500);
    assert!(text.starts_with(cut.split("\n\n").next().unwrap()));
    assert!(text.ends_with(cut.split("\n\n").last().unwrap()));
}

#[test]
fn an_empty_summary_is_stood_for() {
    assert_eq!(summary_text("  "), "Summary of earlier conversation:\n\n(summary unavailable)");
    assert_eq!(summary_text("done\n"), "Summary of earlier conversation:\n\ndone");
}
