use std::borrow::Cow;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;

use super::*;
use crate::model::{Message, Role};
use crate::ops::view::FactKind;
use crate::ops::view::Viewed;

fn view(messages: Vec<Message>) -> View<'static> {
    let messages = messages
        .into_iter()
        .zip(1..)
        .map(|(message, number)| Viewed {
            id: Some(format!("m{number}").parse().unwrap()),
            message: Cow::Owned(message),
        })
        .collect();
    View { messages, repairs: Vec::new() }
}

/// What is lost of a reply, or of a tool's output, when this is left.
fn lost_of(before: Message, after: &str) -> Vec<(FactKind, String)> {
    let lost = lost(&view(vec![before]), &view(vec![Message::user(after)]));
    lost.into_iter().map(|fact| (fact.kind, fact.text)).collect()
}

fn reply(text: &str) -> Message {
    Message::new(Role::Assistant, vec![Block::text(text)])
}

fn output(text: &str) -> Message {
    Message::new(Role::Tool, vec![Block::tool_result("c1", Json::of(&text).unwrap())])
}

/// The facts of one kind in a reply.
fn of_kind(kind: FactKind, text: &str) -> Vec<String> {
    lost_of(reply(text), "").into_iter().filter(|(found, _)| *found == kind).map(|(_, text)| text).collect()
}

/// Which of the pairs of texts, before and after, do not agree with what is expected.
fn wrong(cases: &[(&str, &str, &[&str])]) -> Vec<String> {
    let check = |(before, after, expected): &(&str, &str, &[&str])| {
        let lost: Vec<String> = lost_of(output(before), after).into_iter().map(|(_, text)| text).collect();
        (lost != *expected).then(|| format!("{before:?} after {after:?} lost {lost:?}, not {expected:?}"))
    };
    cases.iter().filter_map(check).collect()
}

#[test]
fn what_is_still_mentioned_is_not_lost() {
    let before = Message::user(
        "Edit src/main.rs and call parse_line(42) at https://example.org/a, timeout 250ms; see `the plan`.\n\
         Never touch the lock file. Thanks!",
    );

    let lost = lost_of(before, "In src/main.rs the timeout is 250ms, parse_lines is gone.");

    let expected = [
        (
            FactKind::Instruction,
            "Edit src/main.rs and call parse_line(42) at https://example.org/a, timeout 250ms; see `the plan`.",
        ),
        (FactKind::Identifier, "parse_line"),
        (FactKind::Number, "42"),
        (FactKind::Url, "https://example.org/a"),
        (FactKind::Quote, "the plan"),
        (FactKind::Instruction, "Never touch the lock file."),
    ];
    assert_eq!(lost, expected.map(|(kind, text)| (kind, text.to_owned())));
}

#[test]
fn a_fact_is_named_once_where_it_stood_first() {
    let before = view(vec![reply("see src/a.rs"), reply("again SRC/A.rs and src/a.rs, then src/b.rs")]);

    let lost = lost(&before, &view(Vec::new()));

    let fact = |text: &str, message: &str| Fact {
        kind: FactKind::Path,
        text: text.to_owned(),
        message: Some(message.parse().unwrap()),
    };
    assert_eq!(lost, [fact("src/a.rs", "m1"), fact("src/b.rs", "m2")]);
}

#[test]
fn a_fact_takes_little_room_in_json() {
    let mut fact = Fact { kind: FactKind::Path, text: "a.rs".into(), message: None };
    let without = serde_json::to_string(&fact).unwrap();
    fact.message = Some("m1".parse().unwrap());
    let with = serde_json::to_string(&fact).unwrap();

    assert_eq!(
        [without.as_str(), &with],
        [r#"{"kind":"path","text":"a.rs"}"#, r#"{"kind":"path","text":"a.rs","message":"m1"}"#,]
    );
    assert_eq!(serde_json::from_str::<Fact>(&without).unwrap().message, None);
}

#[test]
fn paths_of_all_sorts_are_found() {
    let cases: [(&str, &[&str]); 12] = [
        ("Open src/main.rs, then tests/it/main.rs.", &["src/main.rs", "tests/it/main.rs"]),
        (r"It is in C:\Users\me\notes.txt now.", &[r"C:\Users\me\notes.txt"]),
        (r"On \\server\share\plan.docx (old).", &[r"\\server\share\plan.docx"]),
        ("error at src/lib.rs:42:7: unused", &["src/lib.rs:42:7"]),
        ("(see ./scripts/run.sh) and ~/bin/tool", &["./scripts/run.sh", "~/bin/tool"]),
        ("add .gitignore, Cargo.toml and the Makefile", &[".gitignore", "Cargo.toml", "Makefile"]),
        ("either/or, and/or, 24/7, I/O", &[]),
        ("e.g. this, i.e. that, etc.", &[]),
        ("directories src/ops and crates/rejoin/", &["src/ops", "crates/rejoin/"]),
        ("`docs/format.md`'s table, 'a/b.py' too", &["docs/format.md", "a/b.py"]),
        ("src/main.rsを編集してください", &["src/main.rs"]),
        ("the file grüße/übung.txt", &["grüße/übung.txt"]),
    ];

    let found = cases.map(|(text, _)| of_kind(FactKind::Path, text));

    assert_eq!(found.as_slice(), cases.map(|(_, expected)| expected.to_vec()).as_slice());
}

#[test]
fn addresses_lose_the_punctuation_of_the_sentence() {
    let cases: [(&str, &[&str]); 10] = [
        ("こちらhttps://example.org/jpです", &["https://example.org/jp"]),
        ("See https://example.org/a.", &["https://example.org/a"]),
        ("(https://example.org/a_(b)), or", &["https://example.org/a_(b)"]),
        ("[here](https://example.org/x?y=1&z=2#top)!", &["https://example.org/x?y=1&z=2#top"]),
        ("<http://localhost:8080/health>", &["http://localhost:8080/health"]),
        ("\"https://example.org/q\",", &["https://example.org/q"]),
        ("ssh://git@example.org:22/r.git;", &["ssh://git@example.org:22/r.git"]),
        ("write to ann.lee+x@mail.example.org, please", &["ann.lee+x@mail.example.org"]),
        ("**https://example.org/bold**", &["https://example.org/bold"]),
        ("a://, ://b and http://", &[]),
    ];

    let found = cases.map(|(text, _)| of_kind(FactKind::Url, text));

    assert_eq!(found.as_slice(), cases.map(|(_, expected)| expected.to_vec()).as_slice());
}

#[test]
fn numbers_come_with_units_separators_dates_and_versions() {
    let cases: [(&str, &[&str]); 12] = [
        ("It took 250ms, not 5 s.", &["250ms", "5 s"]),
        ("1,234,567 rows and 12_000 more", &["1,234,567", "12_000"]),
        ("costs $20 or 15 %, about 3.5%", &["$20", "15 %", "3.5%"]),
        ("on 2026-11-16 at 02:17:38", &["2026-11-16", "02:17:38"]),
        ("2026-11-16T02:17:38Z", &["2026-11-16T02:17:38Z"]),
        ("v1.2.3 and 0.41.1-beta.1", &["v1.2.3", "0.41.1-beta.1"]),
        ("listens on 127.0.0.1:8080", &["127.0.0.1:8080"]),
        ("a 1 and a 2 are no facts, nor the 3rd", &[]),
        ("between 10 and 20 days", &["10", "20 days"]),
        ("(42)", &["42"]),
        ("timeout=30", &["30"]),
        ("#1234 is open", &["#1234"]),
    ];

    let found = cases.map(|(text, _)| of_kind(FactKind::Number, text));

    assert_eq!(found.as_slice(), cases.map(|(_, expected)| expected.to_vec()).as_slice());
}

#[test]
fn identifiers_are_names_that_no_prose_has() {
    let cases: [(&str, &[&str]); 9] = [
        ("call parse_line() of HttpClient", &["parse_line", "HttpClient"]),
        ("std::io::Error, --dry-run, MAX_SIZE", &["std::io::Error", "--dry-run", "MAX_SIZE"]),
        ("commit 3fa9c1e2b and a7d9e4f", &["3fa9c1e2b", "a7d9e4f"]),
        ("error E0308 in sha256", &["E0308", "sha256"]),
        ("A well-known HTTP server, and JSON", &[]),
        ("id 01a1e068-b824-7781-a6da-2201c3ea9d68", &["01a1e068-b824-7781-a6da-2201c3ea9d68"]),
        ("os.path.join and config.load", &["os.path.join", "config.load"]),
        ("ask @anna about gpt-4o", &["@anna", "gpt-4o"]),
        ("This is a sentence. And one more.", &[]),
    ];

    let found = cases.map(|(text, _)| of_kind(FactKind::Identifier, text));

    assert_eq!(found.as_slice(), cases.map(|(_, expected)| expected.to_vec()).as_slice());
}

#[test]
fn numbers_inside_of_paths_and_addresses_are_no_facts_of_their_own() {
    let text = "https://example.org/issues/4711 and /var/log/2026/app.log:99 and release-2024/notes.md";

    assert_eq!(of_kind(FactKind::Number, text), [""; 0]);
}

#[test]
fn quotations_in_several_marks_are_found() {
    let cases: [(&str, &[&str]); 11] = [
        ("He said \"ship it on Friday\" twice.", &["ship it on Friday"]),
        ("“curly words” and „deutsche Worte“", &["curly words", "deutsche Worte"]),
        ("«mots français» and 「日本語」", &["mots français", "日本語"]),
        ("run `cargo test -p rejoin` first", &["cargo test -p rejoin"]),
        ("it isn't the users' fault, don't worry", &[]),
        ("called 'the quiet mode' here", &["the quiet mode"]),
        ("‘single curly’ isn’t ‘it’s fine’", &["single curly", "it’s fine"]),
        ("an open \" mark only", &[]),
        ("```\nlet a = \"in code\";\n```\nand \"in prose\"", &["in prose"]),
        ("`src/main.rs` is a path, `=>` is nothing", &[]),
        ("\"\" and \" \" and \"a\"", &[]),
    ];

    let found = cases.map(|(text, _)| of_kind(FactKind::Quote, text));

    assert_eq!(found.as_slice(), cases.map(|(_, expected)| expected.to_vec()).as_slice());
}

#[test]
fn instructions_of_the_user_and_decisions_of_anyone_are_found() {
    let said = "Hello there. Please use tabs in Makefiles. The weather is nice.\n\
                - never push to main\n\
                Could you also rename the module? What is that? It must stay below 5 MB.\n\
                use std::io;\n\
                read_all_of_it\n\
                We decided to keep SQLite, because of the locks.";
    let answered = "I will use tabs. You must wait. We decided to drop the cache. The decision: no retries.";

    let orders = |message: Message| -> Vec<String> {
        let lost = lost_of(message, "").into_iter().filter(|(kind, _)| *kind == FactKind::Instruction);
        lost.map(|(_, text)| text).collect()
    };

    assert_eq!(
        orders(Message::user(said)),
        [
            "Please use tabs in Makefiles.",
            "never push to main",
            "Could you also rename the module?",
            "It must stay below 5 MB.",
            "We decided to keep SQLite, because of the locks.",
        ]
    );
    assert_eq!(orders(reply(answered)), ["We decided to drop the cache.", "The decision: no retries."]);
}

#[test]
fn an_instruction_is_found_again_whatever_stands_between_its_words() {
    let before = || Message::user("Never push to main.");

    assert_eq!(lost_of(before(), "The user said: *never*  push\nto `main`!"), []);
    assert_eq!(lost_of(before(), "Never push to mainline.").len(), 1);
}

#[test]
fn another_spelling_is_the_same_fact() {
    let cases: [(&str, &str, &[&str]); 16] = [
        ("src/main.rs", "crates/x/src/main.rs:12", &[]),
        ("src/main.rs", r"src\main.rs", &[]),
        ("./src/main.rs", "(src/main.rs)", &[]),
        ("src/main.rs", "src/main.rs.bak", &["src/main.rs"]),
        ("main.rs", "old-main.rs", &["main.rs"]),
        ("src/ops", "src/ops/view.rs", &[]),
        ("1,234,567", "1234567 rows", &[]),
        ("12_000", "12,000", &[]),
        ("250 ms", "250ms", &[]),
        ("250ms", "2500ms or 250 s", &["250ms"]),
        ("1.2", "1.2.3", &["1.2"]),
        ("v1.2.3", "version 1.2.3", &[]),
        ("15%", "15 of them", &["15%"]),
        ("HttpClient", "the `httpclient`", &[]),
        ("parse_line", "self.parse_line()", &[]),
        ("https://example.org/a", "https://example.org/ab", &["https://example.org/a"]),
    ];

    assert_eq!(wrong(&cases), [""; 0]);
}

#[test]
fn what_only_looks_alike_is_lost() {
    let cases: [(&str, &str, &[&str]); 10] = [
        ("4711", "47110 and 14711", &["4711"]),
        ("4711", "4711.5", &["4711"]),
        ("4711", "port 4711.", &[]),
        ("10:30", "10:30:15", &["10:30"]),
        ("my_name", "my_names", &["my_name"]),
        ("gpt-4o", "gpt-4o-mini", &["gpt-4o"]),
        ("src/a.rs:42", "src/a.rs:43", &["src/a.rs:42"]),
        ("src/a.rs:42", "src/a.rs:42:7", &[]),
        ("ann@example.org", "joann@example.org", &["ann@example.org"]),
        ("https://example.org/a", "https://example.org/a/b", &[]),
    ];

    assert_eq!(wrong(&cases), [""; 0]);
}

#[test]
fn the_arguments_of_a_call_are_read_as_they_are_meant() {
    let input = Json::parse(r#"{"path": "C:\\work\\a.txt", "lines": [1200, true], "note": "\u00fcber_all"}"#)
        .unwrap();
    let call = Message::new(Role::Assistant, vec![Block::tool_call("c1", "read_file", input)]);

    let lost: Vec<String> = lost_of(call, "").into_iter().map(|(_, text)| text).collect();

    assert_eq!(lost, ["read_file", r"C:\work\a.txt", "1200", "über_all"]);
}

#[test]
fn any_letters_are_read_without_harm() {
    let texts = [
        "\u{a0}5\u{a0}ms\u{2003}7\u{2003}s",
        "é\u{301}://ß “‘„«",
        "İSTANBUL_X ẞ_ß ﬁ_x",
        "1,234,567,890,123,4 1,2345 ,123",
        "漢字/计划.txt を 10％",
        "a\u{200d}b_c 👩‍👩‍👧/x.rs _v://0 évhttps://x.org",
        "'''' \"\"\"\" ````",
    ];

    let lost: Vec<usize> = texts.map(|text| lost_of(Message::user(text), text).len()).to_vec();

    assert_eq!(lost, [0; 7]);
}

#[test]
fn a_unit_is_found_again_in_letters_that_change_their_length() {
    let cases: [(&str, &str, &[&str]); 7] = [
        ("273\u{212a}", "273\u{212a}", &[]),
        ("273\u{212a}", "273 K", &[]),
        ("1,273k\u{212a}b", "V1,273\u{212a}KB of 1273 kkb", &[]),
        ("273\u{212a}", "273 and K", &["273\u{212a}"]),
        ("273\u{130}", "273\u{130}", &[]),
        ("12\u{1e9e}", "12\u{df} or 12\u{1e9e}", &[]),
        ("\u{212a}\u{130}_\u{1e9e}7", "k\u{130}_\u{df}7", &[]),
    ];

    assert_eq!(wrong(&cases), [""; 0]);
}

/// Any letters, and often those that the reading takes care of.
fn letters() -> impl Strategy<Value = String> {
    let special: Vec<char> =
        "0123456789,._:/%°$€()[]vVkKmMsTµ \n\u{a0}\u{212a}\u{212b}\u{130}\u{1e9e}ßéﬁΣς漢\"'`’s"
            .chars()
            .collect();
    let letter = proptest::prop_oneof![2 => proptest::sample::select(special), 1 => proptest::char::any()];
    proptest::collection::vec(letter, 0..120).prop_map(String::from_iter)
}

proptest::proptest! {
    #[test]
    fn no_letters_make_it_panic(before in letters(), after in letters()) {
        let said = view(vec![Message::user(&*before), reply(&before), output(&before)]);

        lost(&said, &said);
        lost(&said, &view(vec![Message::user(&*after), output(&after)]));
    }

    #[test]
    fn nothing_is_lost_when_everything_stays(text in "[a-zA-Z0-9_./:\\\\,;@#%$€ \n\"'`“”«»()-]{0,300}") {
        let said = view(vec![Message::user(&*text), reply(&text), output(&text)]);

        proptest::prop_assert_eq!(lost(&said, &said), []);
    }

    #[test]
    fn no_number_is_lost_when_everything_stays(text in "[0-9,.:/x_v$% -]{0,60}") {
        let said = view(vec![reply(&text), output(&text)]);

        proptest::prop_assert_eq!(lost(&said, &said), []);
    }

    #[test]
    fn every_fact_is_lost_when_nothing_stays(text in "\\PC{0,200}") {
        let said = view(vec![Message::user(&*text)]);
        let all = lost(&said, &View::default());

        let left = lost(&said, &view(all.iter().map(|fact| Message::user(&*fact.text)).collect()));

        proptest::prop_assert_eq!(left, []);
    }
}

/// A report that compared each fact with each word would take minutes. The
/// limit leaves room for a busy machine.
#[test]
fn the_time_grows_with_the_length_of_the_views() {
    let line = |number: usize| {
        format!(
            "Line {number} of src/part_{}/file_{number}.rs took {}ms in run_{number}(), see `note {number}`.\n",
            number % 50,
            number * 7
        )
    };
    let text: String = (0..7600).map(line).collect();
    assert!(text.len() > 600_000, "{}", text.len());
    let before =
        view(vec![Message::user(&*text), output(&"a ".repeat(100_000)), output(&"x/".repeat(100_000))]);
    let after = view(vec![Message::user(&text[..60_000])]);

    let started = Instant::now();
    let lost = lost(&before, &after);

    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert!(lost.len() > 20_000, "{}", lost.len());
}

/// What is lost of a tool's output. A quadratic reading would take minutes.
fn lost_soon(text: &str) -> Vec<String> {
    let started = Instant::now();

    let lost = lost_of(output(text), "").into_iter().map(|(_, text)| text).collect();

    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    lost
}

#[test]
fn any_number_of_addresses_may_stand_without_white_space() {
    let addresses: Vec<String> = (0..100_000).map(|number| format!("https://example.org/{number}")).collect();

    assert_eq!(lost_soon(&format!("[\"{}\"]", addresses.join("\",\""))), addresses);
}

#[test]
fn any_number_of_brackets_may_follow_an_address() {
    let [round, square, both] = [")", "]", ").]"].map(|marks| marks.repeat(100_000));

    assert_eq!(lost_soon(&format!("https://example.org/a{round}")), ["https://example.org/a"]);
    assert_eq!(lost_soon(&format!("https://example.org/[(a{square}")), ["https://example.org/[(a]"]);
    assert_eq!(lost_soon(&format!("https://example.org/((a{both}")), ["https://example.org/((a).])"]);
}

#[test]
fn any_number_of_letters_may_follow_without_white_space() {
    let (plain, ideographs) = ("a".repeat(100_000), "漢".repeat(100_000));

    assert_eq!(lost_soon(&format!("{plain}é{ideographs}")), [""; 0]);
}
