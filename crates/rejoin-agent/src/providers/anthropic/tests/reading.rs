//! Streams, whole, cut, broken off, and with strange things in them.

use proptest::prelude::*;
use rejoin::{Block, Json, Message};

use super::{ERROR_MID_STREAM, STREAMS, items, json, read, sent, wire};
use crate::error::ErrorKind;
use crate::providers::anthropic::history::string;
use crate::providers::replay::{
    check_every_break, check_every_cut, check_strange_events, replay, shown, stored,
};
use crate::providers::{Piece, Reply, Stop};

#[test]
fn a_stream_cut_anywhere_gives_the_same_reply() {
    for (stream, _) in STREAMS {
        check_every_cut(&wire(), stream.as_bytes());
    }
    check_every_cut(&wire(), ERROR_MID_STREAM.as_bytes());
}

#[test]
fn a_stream_broken_off_anywhere_gives_no_reply() {
    for (stream, _) in STREAMS {
        check_every_break(&wire(), stream.as_bytes());
    }
    check_every_break(&wire(), ERROR_MID_STREAM.as_bytes());
}

#[test]
fn unknown_events_are_passed_over() {
    let strange = [
        "event: mood\ndata: {\"type\":\"mood\",\"index\":\"high\"}\n\n",
        "event: mood\ndata: not even JSON\n\n",
        "data: {\"type\":\"mood\",\"message\":\"calm\"}\n\n",
        "data: [DONE]\n\n",
        ": a comment\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    ];
    for (stream, _) in STREAMS {
        check_strange_events(&wire(), stream, &strange);
    }
}

#[test]
fn unknown_kinds_of_delta_are_passed_over() {
    let strange = r#"event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"mood_delta","mood":"calm"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}
"#;
    let end = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n";
    for (stream, _) in STREAMS {
        assert_eq!(read(&stream.replacen(end, strange, 1)), read(stream));
    }
}

#[test]
fn unknown_fields_of_events_are_passed_over() {
    for (stream, _) in STREAMS {
        let wide = stream.replace("data: {", "data: {\"mood\":[{\"calm\":1.0}],");

        assert_eq!(shown(&replay(&wire(), [wide.as_bytes()])), shown(&replay(&wire(), [stream.as_bytes()])));
    }
}

#[test]
fn unknown_fields_of_the_message_and_of_its_items_are_kept() {
    let (stream, lines) = STREAMS[1];
    let stream = stream
        .replace(r#""role":"assistant","#, r#""role":"assistant","mood":{"a": 1.0},"#)
        .replace(r#""delta":{"stop_reason""#, r#""delta":{"container":{"id":"c1"},"stop_reason""#)
        .replace(r#""content_block":{"type""#, r#""content_block":{"glow": 2.50,"type""#);
    let lines: String =
        lines.lines().map(|line| format!("{},\"glow\":2.50}}\n", &line[..line.len() - 1])).collect();
    let lines = lines
        .replace(r#","caller":{"type":"direct"},"glow":2.50"#, r#","glow":2.50,"caller":{"type":"direct"}"#);

    let reply = read(&stream);

    assert_eq!(reply.message.extra.field("mood"), Some(&json(r#"{"a": 1.0}"#)));
    assert_eq!(reply.message.extra.field("container"), Some(&json(r#"{"id":"c1"}"#)));
    let content = sent(&[Message::user("a"), stored(&reply.message)]);
    assert!(content.contains(&items(&lines)), "{content}\n{}", items(&lines));
}

proptest! {
    #[test]
    fn any_chunks_give_the_same_reply(which in 0..STREAMS.len(), sizes in prop::collection::vec(1_usize..400, 1..40)) {
        let stream = STREAMS[which].0.as_bytes();
        let mut rest = stream;
        let mut chunks = Vec::new();
        for size in sizes.into_iter().cycle() {
            let (chunk, after) = rest.split_at(size.min(rest.len()));
            chunks.push(chunk);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }

        prop_assert_eq!(shown(&replay(&wire(), chunks)), shown(&replay(&wire(), [stream])));
    }
}

proptest! {
    #[test]
    fn a_damaged_stream_never_panics(
        which in 0..STREAMS.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut stream = STREAMS[which].0.as_bytes().to_vec();
        for (place, byte) in damage {
            *place.get_mut(&mut stream) = byte;
        }

        let (reply, _) = replay(&wire(), [stream.as_slice()]);

        // Damage within a text cannot be noticed; whatever was read can be sent.
        if let Ok(reply) = reply {
            prop_assert!(sent(&[stored(&reply.message)]).ends_with(']'));
        }
    }
}

#[test]
fn what_a_stream_carried_is_sent_back_to_the_letter_after_it_was_stored() {
    for (stream, lines) in STREAMS {
        let reply = read(stream);

        let content = sent(&[Message::user("a"), stored(&reply.message)]);

        let expected = format!(r#"{{"role":"assistant","content":{}}}"#, items(lines));
        assert!(content.contains(&expected), "{content}\n{expected}");
    }
}

#[test]
fn a_reply_says_where_it_comes_from_why_it_ended_and_what_it_took() {
    let rows = STREAMS.map(|(stream, _)| {
        let Reply { message, stop } = read(stream);
        let usage = message.usage.unwrap();
        (message.finish.unwrap(), stop, usage.input_tokens, usage.output_tokens)
    });

    assert_eq!(
        rows,
        [
            ("end_turn".to_owned(), Stop::Done, 25, 15),
            ("tool_use".to_owned(), Stop::Tools, 472, 89),
            ("end_turn".to_owned(), Stop::Done, 31, 40),
            ("end_turn".to_owned(), Stop::Done, 10_682, 510),
            ("refusal".to_owned(), Stop::Refused, 60, 6),
            ("pause_turn".to_owned(), Stop::Paused, 88, 33),
            ("max_tokens".to_owned(), Stop::Length, 12, 5),
            ("max_tokens".to_owned(), Stop::Length, 12, 20),
            ("stop_sequence".to_owned(), Stop::Done, 18_309, 11),
        ]
    );
}

#[test]
fn everything_said_about_a_reply_is_kept() {
    let extras = [STREAMS[4].0, STREAMS[8].0].map(|stream| Json::of(&read(stream).message.extra).unwrap());
    let detail = read(STREAMS[8].0).message.usage.unwrap().detail.unwrap();

    let expected = [
        r#"{"provider":"mine","api":"anthropic","model":"claude-sonnet-4-5-20250929","response_id":"msg_01Refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"This request may lead to harm."}}"#,
        r####"{"provider":"mine","api":"anthropic","model":"claude-sonnet-4-5-20250929","response_id":"msg_01Cached","stop_sequence":"###"}"####,
    ];
    assert_eq!(extras, expected.map(json));
    assert_eq!(
        detail,
        json(
            r#"{"input_tokens":9,"cache_creation_input_tokens":300,"cache_read_input_tokens":18000,"cache_creation":{"ephemeral_5m_input_tokens":300,"ephemeral_1h_input_tokens":0},"output_tokens":11,"service_tier":"standard"}"#
        )
    );
}

#[test]
fn every_stop_reason_has_a_meaning() {
    let reasons = [
        "end_turn",
        "stop_sequence",
        "tool_use",
        "max_tokens",
        "model_context_window_exceeded",
        "pause_turn",
        "refusal",
        "never_heard_of",
    ];
    let stops = reasons.map(|reason| {
        let reason = format!(r#""stop_reason":"{reason}""#);
        read(&STREAMS[0].0.replace(r#""stop_reason":"end_turn""#, &reason)).stop
    });
    let unknown_with_calls =
        read(&STREAMS[1].0.replace(r#""stop_reason":"tool_use""#, r#""stop_reason":"never_heard_of""#)).stop;

    let expected = [
        Stop::Done,
        Stop::Done,
        Stop::Tools,
        Stop::Length,
        Stop::Length,
        Stop::Paused,
        Stop::Refused,
        Stop::Done,
    ];
    assert_eq!(stops, expected);
    assert_eq!(unknown_with_calls, Stop::Tools);
}

#[test]
fn pieces_are_told_as_they_arrive_and_each_finished_block_stands_for_them() {
    let (reply, pieces) = replay(&wire(), [STREAMS[1].0.as_bytes()]);
    let blocks = reply.unwrap().message.blocks;

    let text = |text: &str| Piece::Text(text.to_owned());
    let thinking = |text: &str| Piece::Thinking(text.to_owned());
    let call = |name: &str| Piece::Call { name: name.to_owned() };
    let finished = |index: usize| Piece::Finished(blocks[index].clone());
    assert_eq!(
        pieces,
        [
            thinking("Two files are"),
            thinking("… read both,\nthen \"compare\"."),
            finished(0),
            text("I will read"),
            text(" both files."),
            finished(1),
            text("First the old one, then the new one."),
            finished(2),
            call("read"),
            finished(3),
            call("read"),
            finished(4),
            call("list"),
            finished(5),
        ]
    );
}

#[test]
fn an_input_that_is_not_json_is_kept_and_no_tool_can_take_it() {
    let blocks = stored(&read(STREAMS[7].0).message).blocks;

    let Block::ToolCall(call) = &blocks[1] else { panic!("{blocks:?}") };
    let written = string("{\"path\":\"a.txt\",\"text\":\"one \\\"tw");
    assert_eq!((&call.input, call.extra.field("arguments")), (&written, Some(&written)));
}

#[test]
fn an_error_in_the_stream_is_of_its_kind_with_the_words_of_the_provider() {
    let (error, pieces) = replay(&wire(), [ERROR_MID_STREAM.as_bytes()]);

    assert_eq!(
        format!("{:?}", error.unwrap_err()),
        "[Overloaded] the provider broke off the reply: overloaded_error: Overloaded"
    );
    assert_eq!(pieces.len(), 3);
}

#[test]
fn a_stream_that_breaks_the_rules_is_malformed() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let begin = r#"{"type":"message_start","message":{"id":"m","usage":{}}}"#;
    let cases: [&[&str]; 9] = [
        &[r#"{"type":"message_stop"}"#],
        &[r#"{"type":"message_delta","delta":{}}"#],
        &[begin, start, r#"{"type":"message_stop"}"#],
        &[begin, start, start],
        &[begin, r#"{"type":"content_block_stop","index":0}"#],
        &[begin, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#],
        &[begin, start, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}"#],
        &[begin, start, r#"{"type":"content_block_delta","index":0}"#],
        &[begin, "{"],
    ];
    let kinds = cases.map(|events| {
        let stream: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
        replay(&wire(), [stream.as_bytes()]).0.unwrap_err().kind()
    });

    assert_eq!(kinds, [ErrorKind::Malformed; 9]);
}
