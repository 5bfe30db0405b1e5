use super::select::truncate_middle;
use super::*;

fn letters(text: &str) -> u64 {
    text.chars().count() as u64
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

fn whole(place: usize) -> Selected {
    Selected { place, cut: None }
}

#[test]
fn compaction_begins_strictly_above_the_threshold() {
    let cases =
        [(1_000, 100_000, false), (80_000, 100_000, false), (80_001, 100_000, true), (85_000, 100_000, true)];

    let needed = cases.map(|(tokens, window, _)| tokens > Compaction::limit(window, Compaction::THRESHOLD));

    assert_eq!(needed, cases.map(|(_, _, expected)| expected));
}

#[test]
fn the_limit_is_rounded_down_and_a_threshold_is_a_part_of_one() {
    let cases = [(99, 0.8), (100, 0.8), (100, 2.0), (100, 0.0), (100, -1.0), (100, f64::NAN)];

    let limits = cases.map(|(window, threshold)| Compaction::limit(window, threshold));

    assert_eq!(limits, [79, 80, 100, 1, 1, 80]);
}

#[test]
fn a_long_conversation_needs_compaction_and_a_short_one_does_not() {
    let needed = ["x".repeat(500), "x".repeat(40)]
        .map(|text| letters(&text) > Compaction::limit(50, Compaction::THRESHOLD));

    assert_eq!(needed, [true, false]);
}

#[test]
fn the_newest_messages_stay_whole_and_the_first_that_does_not_fit_is_cut() {
    let long = "x".repeat(1_000);

    let selected = select(&["oldest", &long, "two", "one"], 106, &letters);

    let Some(cut) = selected[0].cut.clone() else { panic!("{selected:?}") };
    assert!(letters(&cut) <= 100 && cut.contains("characters truncated"), "{cut}");
    assert_eq!(selected, [Selected { place: 1, cut: Some(cut) }, whole(2), whole(3)]);
}

#[test]
fn what_fits_the_budget_stays_and_nothing_older() {
    let cases = [
        select(&["first one", "second one", "third one"], 4, &words),
        select(&["long ".repeat(200).as_str(), "recent-1", "recent-2"], 2, &words),
        select(&["first", "second"], 0, &words),
    ];

    assert_eq!(cases, [vec![whole(1), whole(2)], vec![whole(1), whole(2)], vec![]]);
}

#[test]
fn a_cut_text_keeps_four_tenths_of_what_fits_at_each_end() {
    let text: String = ('a'..='z').cycle().take(50_000).collect();

    let cut = truncate_middle(&text, 20_000, &letters).unwrap();

    let expected =
        format!("{}\n\n[... 34000 characters truncated ...]\n\n{}", &text[..8_000], &text[42_000..]);
    assert_eq!(cut, expected);
}

#[test]
fn a_cut_never_takes_more_than_it_may_and_is_made_between_characters() {
    let text = "aß€😀".repeat(100);

    let cuts: Vec<Option<u64>> =
        (0..400).map(|most| truncate_middle(&text, most, &letters).map(|cut| letters(&cut))).collect();

    assert!(cuts.iter().zip(0..).all(|(cut, most)| cut.is_none_or(|length| length <= most)), "{cuts:?}");
    assert_eq!(
        cuts.iter().position(Option::is_some),
        Some("\n\n[... 400 characters truncated ...]\n\n".len())
    );
}

fn said(messages: &[Message]) -> Vec<PathMessage<'_>> {
    let named = messages.iter().zip(1..);
    let said = named.map(|(message, number)| PathMessage {
        id: Some(format!("m{number}").parse().unwrap()),
        is_pinned: message.text() == "pinned",
        message,
    });
    said.collect()
}

#[test]
fn only_what_the_user_said_is_collected() {
    let messages = [
        Message::new(Role::System, vec![Block::text("be brief")]),
        Message::user("<user_instructions>\nbe kind\n</user_instructions>"),
        Message::user("<environment_context>here</environment_context>"),
        Message::user("pinned"),
        Message::new(Role::User, vec![Block::text("one"), Block::text("two")]),
        Message::assistant("reply"),
        Message::user("  "),
        Message::user(summary_text("so far")),
        Message::user("Summary: by another program"),
        Compaction::default().to_message("stored").unwrap(),
        Message::user("three"),
    ];

    let collected = Spoken::all(&said(&messages));

    let spoken = |place: usize, text: &str| Spoken {
        id: Some(format!("m{}", place + 1).parse().unwrap()),
        place,
        text: text.to_owned(),
    };
    assert_eq!(collected, [spoken(4, "one\ntwo"), spoken(10, "three")]);
}

#[test]
fn a_compaction_counts_both_views_and_tells_what_is_lost() {
    let messages = [Message::user("look at src/main.rs"), Message::assistant("x".repeat(1_000))];
    let summarised = Summarised { answer: "looked", trimmed: 2, budget: 100, pending: None };

    let (message, compaction) =
        Compaction::of(&said(&messages), &[], &Recipient::new("chat"), summarised, &letters).unwrap();

    let expected = Compaction {
        kept: vec![KeptMessage { message: "m1".parse().unwrap(), text: None }],
        trimmed: 2,
        tokens_before: 19 + 4 + 1_000 + 4,
        tokens_after: 19 + 4 + letters(&summary_text("looked")) + 4,
        ..Compaction::default()
    };
    assert_eq!(compaction, expected);
    assert_eq!(Compaction::from_message(&message).unwrap().unwrap(), expected);
    assert_eq!((message.role, message.text()), (Role::User, summary_text("looked")));
}

#[test]
fn a_message_that_waits_for_its_answer_stays_whole_whatever_the_budget() {
    let long = "x".repeat(500);
    let messages = [Message::user("one"), Message::assistant("reply"), Message::user(long.as_str())];
    let mut said = said(&messages);
    said[2].id = None;
    let recipient = Recipient::new("chat");
    let keep = |pending: Option<usize>| {
        let summarised = Summarised { budget: 100, pending, ..Summarised::default() };
        Compaction::of(&said, &[], &recipient, summarised, &letters).unwrap().1
    };

    let (pending, answered) = (keep(Some(2)), keep(None));

    let one = vec![KeptMessage { message: "m1".parse().unwrap(), text: None }];
    assert_eq!((pending.kept, pending.unsaved), (one, vec![long]));
    assert_eq!(answered.kept, []);
    assert!(answered.unsaved[0].contains("characters truncated"), "{answered:?}");
}

#[test]
fn an_empty_summary_is_stood_for() {
    assert_eq!(summary_text("  "), "Summary of earlier conversation:\n\n(summary unavailable)");
    assert_eq!(summary_text("done\n"), "Summary of earlier conversation:\n\ndone");
}
