use std::time::{Duration, Instant};

use rejoin::{Block, Media, MediaKind, Message, Role};

use super::*;
use crate::providers::Api;

#[test]
fn the_cheap_bound_is_never_too_low() {
    let texts =
        ["", "a", "Grüße, 漢字 😀", "    \n\n\t", "let x = 1; // ok", "\u{200d}\u{fe0f}🏳️‍🌈", "ÿÿÿÿ", "ꙮꙮ"];

    let over: Vec<&str> = texts.into_iter().filter(|text| count(text) > at_most(text)).collect();

    assert_eq!(over, [""; 0]);
}

/// Cutting may add a token for each piece, and must not lose a byte.
#[cfg(feature = "tiktoken")]
#[test]
fn long_runs_are_cut_and_nothing_else_is() {
    let prose = "The quick brown fox jumps over the lazy dog.\n".repeat(500);
    let run = format!("a {} b", "é".repeat(3000));

    assert_eq!(pieces(&prose).collect::<Vec<_>>(), [prose.as_str()]);
    assert_eq!(pieces(&run).collect::<String>(), run);
    assert!(pieces(&run).all(|piece| piece.len() <= LONGEST_RUN + 4), "{:?}", pieces(&run).count());
}

#[test]
fn a_million_equal_letters_take_no_longer_than_prose() {
    count("the vocabulary is read first");
    let runs = ["a", "A", " ", "\n", "=", "1", "漢", "😀", "\u{301}", "aA", "é"];

    let slowest = runs
        .map(|unit| {
            let text = unit.repeat(1_000_000 / unit.len());
            let started = Instant::now();
            count(&text);
            (started.elapsed(), unit)
        })
        .into_iter()
        .max();

    let (took, unit) = slowest.unwrap();
    assert!(took < Duration::from_secs(20), "{took:?} for {unit:?}");
}

#[test]
fn images_cost_what_the_documents_say() {
    let image = |data: &str| {
        let media = Media {
            kind: MediaKind::Image,
            mime_type: "image/png".into(),
            data: Some(data.into()),
            uri: None,
            extra: rejoin::Fields::new(),
        };
        let message = Message::new(Role::User, vec![Block::Media(media)]);
        [Api::Anthropic, Api::Chat].map(|api| Estimate::of(api, "any").message(&message) - 4)
    };
    // The headers of files of 1000 by 1000, 200 by 200 (GIF), 4096 by 8192 and unknown size.
    let square = "iVBORw0KGgoAAAANSUhEUgAAA+gAAAPoCAIAAAA=";
    let small = "R0lGODlhyADIAA==";
    let tall = "iVBORw0KGgoAAAANSUhEUgAAEAAAACAACAIAAAA=";
    let unknown = "AAAA";

    let costs = [square, small, tall, unknown].map(image);

    assert_eq!(costs, [[1334, 765], [54, 255], [1600, 1105], [1399, 765]]);
}

#[test]
fn a_photograph_tells_its_size_behind_its_preview() {
    // Start, an application segment of four bytes, and the frame header: 600 high, 800 wide.
    let jpeg = "/9j/4AAEAAD/wAARCAJYAyADASIAAhEBAxEB";
    let media = Media {
        kind: MediaKind::Image,
        mime_type: "image/jpeg".into(),
        data: Some(jpeg.into()),
        uri: None,
        extra: rejoin::Fields::new(),
    };

    let tokens =
        Estimate::of(Api::Anthropic, "claude").message(&Message::new(Role::User, vec![Block::Media(media)]));

    assert_eq!(tokens, 4 + 640);
}

#[test]
fn the_family_of_a_model_is_told_by_its_name() {
    let percents = [
        (Api::Anthropic, "claude-sonnet-4-5-20250929", 107),
        (Api::Anthropic, "claude-opus-4-20250514", 107),
        (Api::Anthropic, "claude-opus-4-8", 128),
        (Api::Anthropic, "claude-sonnet-5", 128),
        (Api::Chat, "anthropic/claude-opus-4.6", 107),
        (Api::Chat, "gpt-5-mini", 100),
        (Api::Responses, "gpt-4o", 100),
    ];

    let hundred = "a ".repeat(1000);
    let plain = count(&hundred);
    let estimated = percents.map(|(api, model, _)| Estimate::of(api, model).text(&hundred));

    assert_eq!(estimated, percents.map(|(_, _, percent)| (plain * percent).div_ceil(100)));
}
