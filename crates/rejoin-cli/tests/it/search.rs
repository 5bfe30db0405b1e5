//! `rejoin search`: messages by their words, wherever they were written.

use rejoin::{Conversation, Message};

use crate::past::{ask, minutes_ago};
use crate::world::{Outcome, World};

#[test]
fn what_another_process_stored_is_found_at_once() {
    let world = World::new();
    let archive = world.archive_at(minutes_ago(150));
    let mut trip = world.conversation_in(&archive, "Lisbon");
    let [_, answer] = ask(&mut trip, "Where to eat?", "Try a Tasca in Alfama.");

    let outcome = world.rejoin(["search", "alfama", "tasc"]).run();

    let expected = format!(
        "Lisbon  {}\n  {answer}  assistant  2 hours ago\n    Try a Tasca in Alfama.\n",
        trip.id().short()
    );
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn hits_of_one_conversation_stand_under_one_title_newest_first() {
    let world = World::new();
    let mut lisbon = world.conversation_in(&world.archive_at(minutes_ago(10)), "Lisbon");
    let mut rome = world.conversation_in(&world.archive_at(minutes_ago(5)), "Rome");
    let [cheap, food] = ask(&mut lisbon, "Cheap food?", "Food in Alfama.");
    let [_, pizza] = ask(&mut rome, "What now?", "Food in Trastevere.");

    let outcome = world.rejoin(["search", "food"]).run();

    let expected = format!(
        "Rome  {}\n  {pizza}  assistant  5 minutes ago\n    Food in Trastevere.\n\n\
         Lisbon  {}\n  {food}  assistant  10 minutes ago\n    Food in Alfama.\n  \
         {cheap}  user  10 minutes ago\n    Cheap food?\n",
        rome.id().short(),
        lisbon.id().short()
    );
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn words_found_are_coloured_when_asked_for_and_stored_text_cannot_colour() {
    let world = World::new();
    let mut trip = world.conversation_in(&world.archive_at(minutes_ago(5)), "Li\u{1b}[31msbon");
    let [_, answer] = ask(&mut trip, "Where?", "A\u{1b}[32m tasca\u{1b}]0;owned\u{7} there.");

    let outcomes = [
        world.rejoin(["search", "tasca"]).run(),
        world.rejoin(["--color", "always", "search", "tasca"]).run(),
    ];

    let short = trip.id().short();
    let plain = format!("Lisbon  {short}\n  {answer}  assistant  5 minutes ago\n    A tasca there.\n");
    let colored = format!(
        "\u{1b}[1mLisbon\u{1b}[0m  \u{1b}[33m{short}\u{1b}[0m\n  \u{1b}[33m{answer}\u{1b}[0m  \
         \u{1b}[1m\u{1b}[36massistant\u{1b}[0m  \u{1b}[2m5 minutes ago\u{1b}[0m\n    \
         A \u{1b}[1m\u{1b}[31mtasca\u{1b}[0m there.\n"
    );
    assert_eq!(outcomes, [Outcome::answer(&plain), Outcome::answer(&colored)]);
}

#[test]
fn scripts_read_hits_as_json_page_by_page() {
    let world = World::new();
    let archive = world.archive_at(minutes_ago(5));
    let mut trip = world.conversation_in(&archive, "Lisbon");
    let [first, second] = ask(&mut trip, "Cheap food?", "Food in Alfama.");

    let page = world.rejoin(["search", "food", "--limit", "1", "--json"]).run();
    let cursor =
        page.stdout.split("\"next_cursor\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let next = world.rejoin(["search", "food", "--limit", "1", "--cursor", &cursor, "--json"]).run();
    let whole = world.rejoin(["search", "alfama", "--json"]).run();

    let stored = archive.messages(trip.id(), &[first, second]).unwrap();
    let item = |place: usize, snippet: &str, matches: &str| {
        let (role, id) = ([("user", first), ("assistant", second)])[place];
        format!(
            "{{\"conversation\":\"{}\",\"message\":\"{id}\",\"role\":\"{role}\",\"created_at\":\"{}\",\
             \"snippet\":\"{snippet}\",\"matches\":{matches},\"title\":\"Lisbon\",\"project\":\"[world]/project\"}}",
            trip.id(),
            stored[place].message.created_at.unwrap(),
        )
    };
    let told = |item: String, cursor: &str, total: &str| {
        Outcome::answer(&format!("{{\"items\":[{item}],\"next_cursor\":{cursor},\"total\":{total}}}\n"))
    };
    let newest = item(1, "Food in Alfama.", "[[0,4]]");
    assert_eq!(page, told(newest, &format!("\"{cursor}\""), "null"));
    assert_eq!(next, told(item(0, "Cheap food?", "[[6,10]]"), "null", "null"));
    assert_eq!(whole, told(item(1, "Food in Alfama.", "[[8,14]]"), "null", "1"));
}

#[test]
fn the_printed_command_shows_the_next_page() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Cheap food, isn't it?", "It isn't cheap.");

    let page = world.rejoin(["search", "isn't", "--limit", "1", "--since", "2 days ago"]).run();

    let cursor = page.stderr.split("--cursor ").nth(1).unwrap().split(' ').next().unwrap();
    let expected = format!(
        "There are more: rejoin search --since '2 days ago' --limit 1 --cursor {cursor} 'isn'\\''t'\n"
    );
    assert_eq!(page.stderr, expected);
    assert_eq!(world.rejoin(["search", "isn't", "--limit", "1", "--cursor", cursor]).run().stderr, "");
}

#[test]
fn roles_and_times_narrow_a_search() {
    let world = World::new();
    let mut old = world.conversation_in(&world.archive_at(minutes_ago(60)), "Rome");
    let mut new = world.conversation_in(&world.archive_at(minutes_ago(5)), "Lisbon");
    ask(&mut old, "Cheap food?", "Food.");
    let [question, answer] = ask(&mut new, "Cheap food?", "Food.");
    let found = |outcome: Outcome| -> Vec<String> {
        let items = outcome.stdout.split("\"message\":\"").skip(1);
        items.map(|item| item.split('"').next().unwrap().to_owned()).collect()
    };

    let since = world.rejoin(["search", "food", "--since", "30m", "--json"]).run();
    let role = world.rejoin(["search", "food", "--since", "30m", "--role", "user", "--json"]).run();

    assert_eq!(found(since), [answer.to_string(), question.to_string()]);
    assert_eq!(found(role), [question.to_string()]);
}

#[test]
fn nothing_found_says_so_and_where_else_there_is_something() {
    let world = World::new();
    let archive = world.archive();
    let mut other = archive.start(Conversation::titled("Elsewhere").in_project("/other")).unwrap();
    let message = other.append(Message::user("An unusual word: xylophone")).unwrap().head;

    let outcomes = [
        world.rejoin(["search", "saxophone"]).run(),
        world.rejoin(["search", "xylo", "phone"]).run(),
        world.rejoin(["search", "unusual", "xylophone"]).run(),
        world.rejoin(["search", "xylophone", "--json"]).run(),
        world.rejoin(["search", "xylophone", "--all-projects"]).run(),
    ];

    let expected = [
        Outcome::note("No message of this project holds: saxophone\n"),
        Outcome::note("No message of this project holds: xylo phone\n"),
        Outcome::note(
            "No message of this project holds: unusual xylophone\n\
             There is one in another project: rejoin search --all-projects 'unusual xylophone'\n",
        ),
        Outcome::answer("{\"items\":[],\"next_cursor\":null,\"total\":0}\n"),
        Outcome::answer(&format!(
            "Elsewhere  {}\n/other\n  {message}  user  just now\n    An unusual word: xylophone\n",
            other.id().short()
        )),
    ];
    assert_eq!(outcomes, expected);
}

#[test]
fn a_store_that_is_not_there_is_empty_and_stays_away() {
    let world = World::new();

    let outcome = world.rejoin(["search", "food"]).run();

    assert_eq!(outcome, Outcome::note("No message of this project holds: food\n"));
    assert!(!world.path("home/.local/share/rejoin").exists());
}

#[test]
fn what_cannot_be_searched_for_is_refused() {
    let world = World::new();

    let outcomes = [
        world.rejoin(["search", "?!"]).run(),
        world.rejoin(["search", "food", "--since", "the day before"]).run(),
        world.rejoin(["search", "food", "--since", "2026-02-31"]).run(),
        world.rejoin(["search", "food", "--sort", "best", "--cursor", "1"]).run(),
    ];
    let cursor = world.rejoin(["search", "food", "--cursor", "../x"]).run();

    let time = "is not a time: try `3d`, `yesterday`, `2026-01-31` or `2026-01-31 14:30`";
    let expected = [
        "error: `?!` contains no word to search for\n\
         hint: search for letters or digits, as in `rejoin search cheap food`\n"
            .to_owned(),
        format!("error: `the day before` {time}\n"),
        format!("error: `2026-02-31` {time}\n"),
        "error: `--sort best` has one page only\n\
         hint: omit `--cursor`, or raise `--limit`\n"
            .to_owned(),
    ];
    assert_eq!(outcomes, expected.map(|error| Outcome::failure(2, &error)));
    let refused = "error: `../x` is not a cursor; use the one from the page before\n";
    assert_eq!(cursor, Outcome::failure(1, refused));
}

#[test]
fn limits_out_of_range_and_unknown_roles_are_usage_errors() {
    let world = World::new();

    let codes = [
        world.rejoin(["search", "food", "--limit", "0"]).run().code,
        world.rejoin(["search", "food", "--limit", "1001"]).run().code,
        world.rejoin(["search", "food", "--limit", "-1"]).run().code,
        world.rejoin(["search", "food", "--role", "owner"]).run().code,
        world.rejoin(["search"]).run().code,
    ];

    assert_eq!(codes, [2; 5]);
}
