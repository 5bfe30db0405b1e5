//! The sentences about compaction, the same at the prompt, in a pipe and in a report.

use rejoin::view::Compaction;
use rejoin_agent::{Compacted, Fullness};

use crate::ui::size;

/// Told while a summary is written.
pub(crate) const COMPACTING: &str = "Compacting conversation history...";

/// Told when a compaction was stopped.
pub(crate) const STOPPED: &str = "Stopped. Nothing was compacted.";

/// What a compaction did, in one line; `report` is how to see what is no longer mentioned.
pub(crate) fn notice(compacted: &Compacted, report: &str) -> String {
    let sizes = format!(
        "Compacted: {} → {} tokens.",
        size::number(compacted.tokens_before),
        size::number(compacted.tokens_after)
    );
    match compacted.lost.len() {
        0 => format!("{sizes} Everything that was named is still mentioned."),
        1 => format!("{sizes} 1 fact is no longer mentioned: {report}"),
        lost => format!("{sizes} {} are no longer mentioned: {report}", facts(lost)),
    }
}

/// That the summariser could not be shown everything; none when it was.
pub(crate) fn trimmed(items: u64) -> Option<String> {
    (items > 0).then(|| format!("Trimmed {items} older item(s) before compacting to fit context window"))
}

/// So many facts.
pub(crate) fn facts(count: usize) -> String {
    size::count(count as u64, "fact", "facts")
}

/// What the model is sent after a compaction was undone, and what becomes of it.
pub(crate) fn sent_again(fullness: Fullness, threshold: f64) -> String {
    let tokens = size::count(fullness.tokens, "token", "tokens");
    let Some(window) = fullness.window else { return format!("{tokens}.") };
    let told = format!("{tokens}, {} of the window.", share(fullness.tokens, window));
    if fullness.tokens > Compaction::limit(window, threshold) {
        return format!("{told} After the next turn they are compacted again.");
    }
    told
}

/// The part of the window that is filled, once it is more than half.
pub(crate) fn full(fullness: Fullness) -> Option<String> {
    let window = fullness.window?;
    (fullness.tokens.saturating_mul(2) > window)
        .then(|| format!("{} of the window", share(fullness.tokens, window)))
}

/// A part in hundredths.
pub(crate) fn share(tokens: u64, window: u64) -> String {
    let hundredths = (u128::from(tokens) * 200 + u128::from(window)) / (u128::from(window.max(1)) * 2);
    match hundredths {
        0 if tokens > 0 => "under 1 %".to_owned(),
        hundredths => format!("{hundredths} %"),
    }
}

#[cfg(test)]
mod tests {
    use rejoin::view::{Fact, FactKind};

    use super::*;

    #[test]
    fn a_notice_says_how_much_is_gone_and_where_to_look() {
        let fact = |text: &str| Fact { kind: FactKind::Path, text: text.to_owned(), message: None };
        let of = |lost| Compacted {
            message: None,
            summary: String::new(),
            tokens_before: 84_210,
            tokens_after: 12_300,
            trimmed: 0,
            lost,
        };

        let told = [vec![], vec![fact("a.rs")], vec![fact("a.rs"), fact("b.rs")]]
            .map(|lost| notice(&of(lost), "/compact report"));

        let expected = [
            "Compacted: 84,210 → 12,300 tokens. Everything that was named is still mentioned.",
            "Compacted: 84,210 → 12,300 tokens. 1 fact is no longer mentioned: /compact report",
            "Compacted: 84,210 → 12,300 tokens. 2 facts are no longer mentioned: /compact report",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_window_is_worth_a_word_when_it_is_more_than_half_full() {
        let told = [(50, Some(100)), (51, Some(100)), (250, Some(100)), (9, None)]
            .map(|(tokens, window)| full(Fullness { tokens, window }));

        let expected = [None, Some("51 % of the window"), Some("250 % of the window"), None];
        assert_eq!(told, expected.map(|told| told.map(str::to_owned)));
        assert_eq!([share(1, 100_000), share(0, 10), share(995, 1000)], ["under 1 %", "0 %", "100 %"]);
    }
}
