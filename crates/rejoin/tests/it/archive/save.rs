//! Saving messages.

use rejoin::{Archive, Block, Conversation, ErrorKind, Fields, Handle, Json, Limits, List, Message, Role};

use super::{Lab, archive, archive_in, ids, said, talk};

fn start(archive: &Archive) -> Handle {
    archive.start(Conversation::titled("Lisbon")).unwrap()
}

/// How many messages and bytes the one conversation has.
fn stored(archive: &Archive) -> (u64, u64) {
    let page = archive.list(&List { limit: 9, ..List::default() }).unwrap();
    (page.items[0].messages, page.items[0].bytes)
}

#[test]
fn a_first_message_has_an_id_and_no_parent() {
    let archive = archive();
    let mut handle = start(&archive);

    let receipt = handle.append(Message::user("hi")).unwrap();

    let path = handle.path().unwrap();
    assert_eq!((ids(&path), path[0].parent), (vec![receipt.head], None));
    assert_eq!(
        (receipt.seq, receipt.digest, receipt.forked, receipt.replayed),
        (1, path[0].digest, false, false)
    );
}

#[test]
fn ids_come_back_in_the_order_given_and_make_a_chain() {
    let archive = archive();
    let mut handle = start(&archive);

    let first = handle.append_turn(talk(&["a", "b", "c"])).unwrap();
    let second = handle.append_turn(talk(&["d", "e"])).unwrap();

    let path = handle.path().unwrap();
    let expected = [first.messages, second.messages].concat();
    assert_eq!((said(&path), ids(&path)), ("a b c d e".to_owned(), expected.clone()));
    let parents: Vec<_> = path.iter().map(|stored| stored.parent).collect();
    assert_eq!(
        parents,
        [None].into_iter().chain(expected[..4].iter().copied().map(Some)).collect::<Vec<_>>()
    );
    assert_eq!(path.iter().map(|stored| stored.turn).collect::<Vec<_>>(), [1, 1, 1, 4, 4]);
}

#[test]
fn messages_of_one_turn_are_a_microsecond_apart() {
    let archive = archive();
    let mut handle = start(&archive);

    handle.append_turn(talk(&["a", "b"])).unwrap();

    let times: Vec<_> =
        handle.path().unwrap().iter().map(|stored| stored.message.created_at.unwrap()).collect();
    assert_eq!(times, [archive.now(), archive.now().plus_micros(1)]);
}

#[test]
fn a_turn_without_messages_is_refused() {
    let archive = archive();

    let error = start(&archive).append_turn(Vec::new()).unwrap_err();

    assert_eq!((error.kind(), stored(&archive)), (ErrorKind::Invalid, (0, 0)));
}

#[test]
fn a_tree_is_saved_at_once() {
    let archive = archive();
    let mut handle = start(&archive);
    let mut words = talk(&["a", "b", "c", "d"]).into_iter();
    let tree = [None, Some(0), Some(0), Some(2)].map(|parent| (parent, words.next().unwrap())).to_vec();

    let receipt = handle.append_tree(tree).unwrap();

    let all = archive.reader().all_messages(handle.id(), rejoin::store::Order::OldestFirst, 0, 9).unwrap();
    let [a, _, c, _] = receipt.messages[..] else { panic!("there are four") };
    assert_eq!(ids(&all), receipt.messages);
    assert_eq!(all.iter().map(|stored| stored.parent).collect::<Vec<_>>(), [None, Some(a), Some(a), Some(c)]);
    assert_eq!((receipt.forked, said(&handle.path().unwrap())), (true, "a c d".to_owned()));
}

#[test]
fn a_tree_that_looks_ahead_is_refused_whole() {
    let archive = archive();
    let mut handle = start(&archive);

    let error =
        handle.append_tree(vec![(None, Message::user("a")), (Some(1), Message::user("b"))]).unwrap_err();

    assert_eq!((error.kind(), stored(&archive)), (ErrorKind::Invalid, (0, 0)));
}

#[test]
fn blocks_keep_their_order() {
    let archive = archive();
    let mut handle = start(&archive);
    let blocks: Vec<Block> = (0..10)
        .map(|place| match place % 3 {
            0 => Block::text(format!("text {place}")),
            1 => {
                Block::tool_call(format!("c{place}"), "read", Json::parse(r#"{"b": 1.50, "a":[]}"#).unwrap())
            }
            _ => Block::tool_result(format!("c{place}"), Json::parse("null").unwrap()),
        })
        .collect();

    handle.append(Message::new(Role::Assistant, blocks.clone())).unwrap();
    handle.append(Message::new(Role::Tool, Vec::new())).unwrap();

    let read: Vec<_> = handle.path().unwrap().into_iter().map(|stored| stored.message.blocks).collect();
    assert_eq!(read, [blocks, Vec::new()]);
}

#[test]
fn any_text_comes_back_as_it_was() {
    let archive = archive();
    let mut handle = start(&archive);
    let texts = [
        "",
        "a\0b",
        "🦊👩‍👩‍👧 日本語 עברית",
        "line\r\nline\rline\n\u{2028}",
        "'; DROP TABLE message; -- \" ` %_*",
        "\\ \\\" \u{1b}[31m \u{7f} \u{feff}",
        "{\"role\":\"user\"}",
    ];

    for text in texts {
        handle.append(Message::user(text)).unwrap();
    }

    let read: Vec<_> = handle.path().unwrap().iter().map(|stored| stored.message.text()).collect();
    assert_eq!(read, texts);
    assert!(archive.maintenance().verify(handle.id()).unwrap().is_sound());
}

#[test]
fn extra_fields_round_trip() {
    let archive = archive();
    let mut handle = start(&archive);
    let mut message = Message::user("hi");
    message.extra.set("count", Json::parse("1.0").unwrap());
    message.extra.set("nested", Json::parse(r#"{"z":[null, true], "a":"\u00e9"}"#).unwrap());

    handle.append(message.clone()).unwrap();

    let read = handle.path().unwrap().remove(0).message;
    assert_eq!((read.extra, read.blocks), (message.extra, message.blocks));
    assert_eq!(Json::parse("{not json").unwrap_err().kind(), ErrorKind::Invalid);
    assert!(Fields::new().is_empty());
}

#[test]
fn a_turn_over_the_limit_is_refused_by_the_limits_name() {
    let limits = Limits { turn_bytes: 1_000, ..Limits::default() };
    let archive = archive().with_limits(limits);
    let mut handle = start(&archive);

    let error =
        handle.append_turn(vec![Message::user("small"), Message::user("x".repeat(1_000))]).unwrap_err();

    assert_eq!((error.kind(), stored(&archive)), (ErrorKind::Invalid, (0, 0)));
    assert!(error.to_string().contains("`limits.turn_bytes` = 1000"), "{error}");
    handle.append(Message::user("small")).unwrap();
}

#[test]
fn a_conversation_over_its_limit_is_refused_by_the_limits_name() {
    let limits = Limits { conversation_bytes: 1_000, ..Limits::default() };
    let archive = archive().with_limits(limits);
    let mut handle = start(&archive);
    handle.append(Message::user("x".repeat(500))).unwrap();

    let kept = handle.append(Message::user("x".repeat(500))).unwrap_err();
    let resumed = archive.resume(handle.id()).unwrap().append(Message::user("x".repeat(500))).unwrap_err();

    assert_eq!([kept.kind(), resumed.kind()], [ErrorKind::Invalid; 2]);
    assert!(kept.to_string().contains("`limits.conversation_bytes` = 1000"), "{kept}");
    assert_eq!(stored(&archive).0, 1);
}

#[test]
fn a_stuck_source_of_ids_ends_after_ten_attempts() {
    let lab = Lab::repeating(1_000);
    let archive = archive_in(&lab);
    let mut handle = start(&archive);
    handle.append(Message::user("first")).unwrap();
    let before = (lab.drawn(), stored(&archive));

    let one = handle.append(Message::user("second")).unwrap_err();
    let after_one = lab.drawn();
    let two = handle.append_turn(talk(&["third", "fourth"])).unwrap_err();
    let other = archive.start(Conversation::default()).unwrap_err();

    assert_eq!([one.kind(), two.kind(), other.kind()], [ErrorKind::Conflict; 3]);
    assert_eq!(after_one - before.0, 10);
    assert_eq!(stored(&archive), before.1);
}

#[test]
fn an_id_that_is_taken_is_replaced() {
    let archive = archive_in(&Lab::repeating(2));
    let mut handle = start(&archive);

    for _ in 0..5 {
        handle.append(Message::user("again")).unwrap();
    }

    assert_eq!(handle.path().unwrap().len(), 5);
}

#[test]
fn a_clock_that_goes_back_does_not_change_the_order() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let mut handle = start(&archive);
    handle.append(Message::user("first")).unwrap();
    let active = handle.conversation().unwrap().last_active_at;

    lab.turn_clock(-86_400);
    handle.append(Message::user("second")).unwrap();

    assert_eq!(said(&handle.path().unwrap()), "first second");
    assert_eq!(handle.conversation().unwrap().last_active_at, active);
}

#[test]
fn a_stale_handle_branches_or_is_refused_as_it_asks() {
    let archive = archive();
    let mut one = start(&archive);
    one.append(Message::user("root")).unwrap();
    let mut two = archive.resume(one.id()).unwrap();
    let mut three = two.clone();
    one.append(Message::user("one")).unwrap();

    let linear = two.append_linear(talk(&["two"])).unwrap_err();
    let branched = three.append(Message::user("three")).unwrap();

    assert_eq!((linear.kind(), branched.forked), (ErrorKind::Conflict, true));
    assert_eq!([said(&one.path().unwrap()), said(&three.path().unwrap())], ["root one", "root three"]);
    assert_eq!(stored(&archive).0, 3);
}

#[test]
fn previews_show_the_first_message_and_the_newest_answer() {
    let archive = archive();
    let mut handle = start(&archive);
    handle.append_turn(talk(&["question", "answer", "more"])).unwrap();
    handle.append(Message::user("and more")).unwrap();

    let stored = handle.conversation().unwrap();

    assert_eq!((stored.first.as_str(), stored.last.as_str()), ("question", "answer"));
}

#[test]
fn a_name_that_is_empty_or_long_is_refused() {
    let archive = archive();
    let mut handle = start(&archive);
    let head = handle.append(Message::user("hi")).unwrap().head;
    let long = "x".repeat(1_001);

    let kinds = ["", "  ", &long].map(|name| {
        [
            archive.rename(handle.id(), name).unwrap_err().kind(),
            archive.marks().label(handle.id(), head, Some(name)).unwrap_err().kind(),
            archive.fork(handle.id(), head, name).unwrap_err().kind(),
            handle.append(Message::user("hi").labelled(name)).unwrap_err().kind(),
        ]
    });

    assert_eq!(kinds, [[ErrorKind::Invalid; 4]; 3]);
}

#[test]
fn a_draft_is_stored_with_its_first_turn_and_not_before() {
    let archive = archive();
    let mut draft = archive.draft(Conversation::titled("Lisbon")).unwrap();
    let before = archive.conversation(draft.id()).unwrap_err().kind();

    draft.append_turn(talk(&["a", "b"])).unwrap();
    draft.append(Message::user("c")).unwrap();

    let stored = archive.conversation(draft.id()).unwrap();
    assert_eq!(before, ErrorKind::NotFound);
    assert_eq!(
        (stored.title(), stored.messages, said(&draft.path().unwrap())),
        ("Lisbon", 3, "a b c".to_owned())
    );
}

#[test]
fn two_clones_of_a_draft_store_one_conversation() {
    let archive = archive();
    let mut first = archive.draft(Conversation::titled("Lisbon")).unwrap();
    let mut second = first.clone();

    let receipts = [first.append(Message::user("a")).unwrap(), second.append(Message::user("b")).unwrap()];

    assert_eq!(
        receipts.map(|receipt| (receipt.conversation, receipt.forked)),
        [(first.id(), false), (first.id(), true)]
    );
    assert_eq!(stored(&archive).0, 2);
}

#[test]
fn a_draft_keeps_the_attachments_of_its_first_turn() {
    let archive = archive();
    let mut draft = archive.draft(Conversation::titled("Lisbon")).unwrap();
    let long = "long text ".repeat(200_000);

    draft.append(Message::user(long.clone())).unwrap();

    assert_eq!(draft.path().unwrap()[0].message.text(), long);
}
