//! The estimates beside what real services counted.
//!
//! `tests/usage/recorded.tsv` has the figures of requests that other projects recorded with the
//! services, and of examples in their documentation: what each was made of, counted with the
//! vocabulary, and what the service said.

use super::Estimate;
use super::estimate::RequestParts;
use crate::providers::Api;

/// What was recorded, what is estimated, and where it comes from.
struct Compared {
    recorded: u64,
    estimated: u64,
    is_claude: bool,
    has_tools: bool,
    source: String,
}

impl Compared {
    fn error(&self) -> f64 {
        (self.estimated as f64 - self.recorded as f64) / self.recorded as f64
    }

    /// A tenth, or what the marks of two messages take, which is more than a tenth of a short request.
    fn is_close(&self) -> bool {
        self.error().abs() <= 0.1 || self.estimated.abs_diff(self.recorded) <= 8
    }

    fn told(&self) -> String {
        let Self { recorded, estimated, source, .. } = self;
        format!("{recorded} recorded, {estimated} estimated, {:+.1} %: {source}", self.error() * 100.0)
    }
}

fn compared() -> Vec<Compared> {
    include_str!("../../tests/usage/recorded.tsv").lines().skip(1).map(compare).collect()
}

fn compare(line: &str) -> Compared {
    let fields: Vec<&str> = line.split('\t').collect();
    let [api, model, figures @ .., source] = fields.as_slice() else { panic!("{line}") };
    let figures: Vec<u64> = figures.iter().map(|figure| figure.parse().expect("a number")).collect();
    let [system, messages, words, calls, tools, tool_words, recorded] = figures[..] else { panic!("{line}") };
    let api = match *api {
        "anthropic" => Api::Anthropic,
        "chat" => Api::Chat,
        _ => Api::Responses,
    };
    let parts = RequestParts { system, messages, words, calls, media: 0, tools, tool_words };
    Compared {
        recorded,
        estimated: Estimate::of(api, model).request_of(&parts),
        is_claude: api == Api::Anthropic,
        has_tools: tools > 0,
        source: format!("{model}, {source}"),
    }
}

fn far(compared: &[Compared]) -> Vec<String> {
    compared.iter().filter(|case| !case.is_close()).map(Compared::told).collect()
}

/// The estimate of all requests together, compared with what was recorded.
fn ratio(compared: &[Compared]) -> f64 {
    let sum = |part: fn(&Compared) -> u64| compared.iter().map(part).sum::<u64>() as f64;
    sum(|case| case.estimated) / sum(|case| case.recorded)
}

#[test]
fn requests_to_openai_are_estimated_within_a_tenth() {
    let cases: Vec<Compared> = compared().into_iter().filter(|case| !case.is_claude).collect();

    assert_eq!(far(&cases), [""; 0]);
    assert!((0.95..=1.05).contains(&ratio(&cases)), "{}", ratio(&cases));
    assert!(cases.len() >= 40, "{}", cases.len());
}

#[test]
fn words_to_claude_are_estimated_within_a_tenth() {
    let cases: Vec<Compared> =
        compared().into_iter().filter(|case| case.is_claude && !case.has_tools).collect();

    assert_eq!(far(&cases), [""; 0]);
    assert!(cases.len() >= 10, "{}", cases.len());
}

/// The service adds instructions of its own for tools, between 330 and 540 tokens on different days.
#[test]
fn tools_of_claude_are_estimated_within_two_hundred_tokens() {
    let cases: Vec<Compared> =
        compared().into_iter().filter(|case| case.is_claude && case.has_tools).collect();

    let far: Vec<String> = cases
        .iter()
        .filter(|case| case.estimated.abs_diff(case.recorded) > 200)
        .map(Compared::told)
        .collect();

    assert_eq!(far, [""; 0]);
    assert!((0.9..=1.1).contains(&ratio(&cases)), "{}", ratio(&cases));
}
