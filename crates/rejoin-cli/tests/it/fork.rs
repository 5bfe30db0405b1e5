//! `rejoin fork`: a named branch at a message.

use rejoin::Branch;

use crate::past::{ask, minutes_ago};
use crate::world::{Outcome, World};

#[test]
fn a_fork_is_a_named_branch_and_the_head_stays() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, answer] = ask(&mut trip, "Where to eat?", "In Alfama.");

    let outcome = world.rejoin(["fork", question.as_str(), "--title", "On a budget"]).run();

    let stored = trip.conversation().unwrap();
    let branch = stored.branches[0].id;
    let next = format!("rejoin append --parent {question} \"your message\"");
    let stderr = format!("Created branch \"On a budget\". Add to it: {next}\n");
    assert_eq!(outcome, Outcome { stdout: format!("{branch}\n"), stderr, code: 0 });
    assert_eq!(stored.branches, [Branch { id: branch, title: "On a budget".to_owned(), head: question }]);
    assert_eq!(stored.head.map(|head| head.id), Some(answer));
}

#[test]
fn without_a_title_a_fork_is_named_after_its_conversation_or_else_its_message() {
    let world = World::new();
    let mut titled = world.conversation("Lisbon");
    let mut untitled = world.conversation(" ");
    let [first, second] = ask(&mut titled, "Where to eat?", "In Alfama.");
    let [question, _] = ask(&mut untitled, "What\u{1b}[31m now?", "Nothing.");

    let codes = [first, second, question].map(|message| world.rejoin(["fork", message.as_str()]).run().code);

    let branches = [titled, untitled].map(|handle| handle.conversation().unwrap().branches);
    let titles: Vec<&str> = branches.iter().flatten().map(|branch| branch.title.as_str()).collect();
    assert_eq!(codes, [0; 3]);
    assert_eq!(titles, ["Lisbon (fork 1)", "Lisbon (fork 2)", "What now?"]);
}

#[test]
fn scripts_read_the_branch_as_json() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, _] = ask(&mut trip, "Where to eat?", "In Alfama.");

    let outcome = world.rejoin(["fork", question.as_str(), "--title", "Cheap", "--json"]).run();

    let branch = trip.conversation().unwrap().branches[0].id;
    let expected = format!(
        "{{\"conversation\":\"{}\",\"branch\":{{\"id\":\"{branch}\",\"title\":\"Cheap\",\"head\":\"{question}\"}}}}\n",
        trip.id()
    );
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn a_name_of_nothing_is_not_found_and_no_store_is_made() {
    let world = World::new();

    let outcomes = ["nothing", "../../etc/passwd", "01890000-0000-7000-8000-000000000000"]
        .map(|name| world.rejoin(["fork", name]).run());

    let hint = "hint: run `rejoin list` to see conversations, `rejoin tree` for messages\n";
    let expected = [
        "no conversation or message `nothing`",
        "no conversation or message `../../etc/passwd`",
        "no conversation `01890000-0000-7000-8000-000000000000`",
    ];
    assert_eq!(outcomes, expected.map(|error| Outcome::failure(1, &format!("error: {error}\n{hint}"))));
    assert!(!world.path("home/.local/share/rejoin/rejoin.db").exists());
}

#[test]
fn a_name_that_no_id_can_have_is_refused() {
    let world = World::new();

    let outcomes = ["", "a b"].map(|name| world.rejoin(["fork", name]).run());

    let hint = "hint: run `rejoin list` for IDs; the first characters are enough\n";
    let expected = ["an id must not be empty", "`a b` cannot be the name of anything"];
    assert_eq!(outcomes, expected.map(|error| Outcome::failure(1, &format!("error: {error}\n{hint}"))));
}

#[test]
fn a_conversation_is_no_place_to_fork() {
    let world = World::new();
    let short = world.conversation("Lisbon").id().short();

    let outcome = world.rejoin(["fork", short.as_str()]).run();

    let expected = format!(
        "error: `{short}` is a conversation; a message is needed here\n\
         hint: run `rejoin tree {short}` to see its messages\n"
    );
    assert_eq!(outcome, Outcome::failure(1, &expected));
}

#[test]
fn an_ambiguous_name_shows_what_it_could_be() {
    let world = World::new();
    let [mut lisbon, mut rome] = [("Lisbon", 2), ("Rome\u{1b}]0;owned\u{7}", 1)]
        .map(|(title, age)| world.conversation_in(&world.archive_repeating(minutes_ago(age)), title));
    let [message, _] = [&mut lisbon, &mut rome]
        .map(|handle| handle.append(rejoin::Message::user("Where to eat?")).unwrap().head);

    let outcome = world.rejoin(["fork", message.as_str()]).run();

    let (a, b) = (lisbon.id(), rome.id());
    let expected = format!(
        "error: `{message}` could be any of 2: {a}/{message}, {b}/{message}\n\
         hint: type more characters: `{a}/{message}` (Lisbon), `{b}/{message}` (Rome)\n"
    );
    assert_eq!(outcome, Outcome::failure(1, &expected));
}

#[test]
fn a_title_must_say_something() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, _] = ask(&mut trip, "Where to eat?", "In Alfama.");

    let outcomes = [" ".to_owned(), "x".repeat(1001)]
        .map(|title| world.rejoin(["fork", question.as_str(), "--title", &title]).run());

    let expected =
        ["error: a title must not be empty\n", "error: a title may have 1000 bytes, this one has 1001\n"];
    assert_eq!(outcomes, expected.map(|error| Outcome::failure(1, error)));
}
