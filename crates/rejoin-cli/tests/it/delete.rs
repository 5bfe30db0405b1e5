//! `rejoin delete`: messages together or not at all, conversations one by one, and nothing without consent.

use rejoin::{Conversation, ErrorKind, Event, EventKind, Handle, Hold, Message};

use crate::past::{ask, minutes_ago};
use crate::world::{Outcome, World};

fn is_gone(handle: &Handle) -> bool {
    handle.conversation().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn bytes(handle: &Handle) -> u64 {
    handle.conversation().unwrap().bytes
}

#[test]
fn a_conversation_goes_with_everything_in_it_and_the_reason_is_told() {
    let world = World::new();
    let mut trip = world.conversation("Lis\u{1b}[31mbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");
    let short = trip.id().short();
    let size = bytes(&trip);

    let outcome = world.rejoin(["delete", short.as_str(), "--yes"]).run();

    let expected = format!("Deleted \"Lisbon\" (2 messages, {size} B): {short}\n");
    assert_eq!((outcome, is_gone(&trip)), (Outcome::answer(&expected), true));
    let last = |event: Option<Event>| event.map(|event| (event.conversation.unwrap(), event.kind));
    let events = world.archive().events_after(0).next(std::time::Duration::ZERO).unwrap();
    let told = EventKind::Deleted { reason: "user-requested".to_owned() };
    assert_eq!(last(events.last().cloned()), Some((trip.id(), told)));
}

#[test]
fn without_consent_it_says_what_would_go_and_keeps_it() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");
    let mut rome = world.conversation("Rome");
    let [question, _] = ask(&mut rome, "And here?", "In Trastevere.");
    let elsewhere = |header: &mut Conversation| {
        (header.hold, header.project) = (Hold::User, Some("/other".to_owned()));
    };
    world.archive().update(trip.id(), elsewhere).unwrap();
    let (lisbon, size, rest) = (trip.id().short(), bytes(&trip), bytes(&rome));

    let outcome = world.rejoin(["rm", "lisbon", question.as_str(), "--cascade"]).run();
    let json = world.rejoin(["rm", "lisbon", "--json"]).run();

    let expected = format!(
        "This will be deleted:\n  \"Lisbon\" (2 messages, {size} B, held, not of this project): {lisbon}\n  \
         2 messages of \"Rome\" ({rest} B): {question}\n\
         error: not running in a terminal\n\
         hint: pass `--yes` to confirm\n"
    );
    let told = "{\"error\":{\"kind\":\"not confirmed\",\"message\":\"not running in a terminal\",\
                \"hint\":\"pass `--yes` to confirm\"}}\n";
    assert_eq!([outcome, json], [Outcome::failure(1, &expected), Outcome::failure(1, told)]);
    assert_eq!((bytes(&trip), bytes(&rome)), (size, rest));
}

#[test]
fn a_message_with_children_needs_cascade_and_then_takes_them_along() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, _] = ask(&mut trip, "Where to eat?", "In Alfama.");
    ask(&mut trip, "And drink?", "There, too.");
    let size = bytes(&trip);

    let refused = world.rejoin(["delete", question.as_str(), "--yes"]).run();
    let before = trip.conversation().unwrap().messages;
    let done = world.rejoin(["delete", question.as_str(), "--yes", "--cascade"]).run();

    let error = format!(
        "error: message `{question}` has children\n\
         hint: pass `--cascade` to also delete the 3 messages that follow\n"
    );
    assert_eq!((refused, before), (Outcome::failure(1, &error), 4));
    let answer = format!("Deleted 4 messages of \"Lisbon\" ({size} B): {}\n", trip.id().short());
    assert_eq!((done, trip.conversation().unwrap().messages), (Outcome::answer(&answer), 0));
}

#[test]
fn messages_of_one_conversation_go_together_or_not_at_all() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, answer] = ask(&mut trip, "Where to eat?", "In Alfama.");
    let [drink, leaf] = ask(&mut trip, "And drink?", "There, too.");
    let [question, answer, drink, leaf] = [question, answer, drink, leaf].map(|id| id.to_string());

    let refused = world.rejoin(["delete", &leaf, &question, "--yes"]).run();
    let before = trip.conversation().unwrap().messages;
    let done = world.rejoin(["delete", &leaf, &drink, &answer, "--yes", "--json"]).run();

    let hint = "hint: pass `--cascade` to also delete the 2 messages that follow\n";
    let error = format!(
        "warning: not deleted: {leaf}: it goes together with `{question}`, which has children\n{hint}\
         warning: not deleted: {question}: message `{question}` has children\n{hint}\
         error: 2 of 2 could not be deleted\n"
    );
    assert_eq!((refused, before), (Outcome::failure(1, &error), 4));
    let left = world.archive().path(trip.id(), None).unwrap();
    let left: Vec<String> = left.iter().map(|message| message.id.to_string()).collect();
    assert_eq!((done.code, left), (0, vec![question]));
}

#[test]
fn of_several_the_good_go_and_the_bad_are_listed() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");
    let mut rome = world.conversation("Rome");
    let [_, answer] = ask(&mut rome, "And here?", "In Trastevere.");
    let (short, size) = (trip.id().short(), bytes(&trip));
    let rest = bytes(&rome);

    let outcome = world.rejoin(["delete", "lisbon", "no-such-trip", answer.as_str(), "--yes"]).run();

    let freed = rest - bytes(&rome);
    let stdout = format!(
        "Deleted \"Lisbon\" (2 messages, {size} B): {short}\n\
         Deleted 1 message of \"Rome\" ({freed} B): {}\n\
         1 conversation and 1 message deleted, {} B freed.\n",
        rome.id().short(),
        size + freed
    );
    let stderr = "warning: not deleted: no-such-trip: no conversation or message `no-such-trip`\n\
                  hint: run `rejoin list` to see conversations, `rejoin tree` for messages\n\
                  error: 1 of 3 could not be deleted\n";
    assert_eq!(outcome, Outcome { stdout, stderr: stderr.to_owned(), code: 1 });
}

#[test]
fn scripts_read_an_outcome_for_each() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");
    let mut rome = world.conversation("Rome");
    let [question, _] = ask(&mut rome, "And here?", "In Trastevere.");
    let (lisbon, size, rest) = (trip.id(), bytes(&trip), bytes(&rome));
    let gone = format!("{}/zzzzzz", rome.id().short());

    let outcome = world
        .rejoin(["delete", "lisbon", question.as_str(), &gone, "nope-nope", "--cascade", "--yes", "--json"])
        .run();

    let hint = "\"hint\":\"run `rejoin list` to see conversations, `rejoin tree` for messages\"";
    let stdout = format!(
        "{{\"items\":[\
         {{\"name\":\"lisbon\",\"conversation\":\"{lisbon}\",\"message\":null,\"outcome\":\"deleted\",\
         \"messages\":2,\"bytes\":{size},\"error\":null}},\
         {{\"name\":\"{question}\",\"conversation\":\"{rome}\",\"message\":\"{question}\",\"outcome\":\"deleted\",\
         \"messages\":2,\"bytes\":{rest},\"error\":null}},\
         {{\"name\":\"{gone}\",\"conversation\":null,\"message\":null,\"outcome\":\"missing\",\
         \"messages\":0,\"bytes\":0,\"error\":{{\"kind\":\"not found\",\"message\":\"no message `zzzzzz` in conversation `{rome_short}`\",{hint}}}}},\
         {{\"name\":\"nope-nope\",\"conversation\":null,\"message\":null,\"outcome\":\"missing\",\
         \"messages\":0,\"bytes\":0,\"error\":{{\"kind\":\"not found\",\"message\":\"no conversation or message `nope-nope`\",{hint}}}}}],\
         \"conversations\":1,\"messages\":4,\"bytes\":{},\"failed\":2}}\n",
        size + rest,
        rome_short = rome.id().short(),
        rome = rome.id(),
    );
    let stderr =
        "{\"error\":{\"kind\":\"not found\",\"message\":\"2 of 4 could not be deleted\",\"hint\":null}}\n";
    assert_eq!(outcome, Outcome { stdout, stderr: stderr.to_owned(), code: 1 });
}

#[test]
fn what_is_gone_already_cannot_be_deleted_again() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [_, answer] = ask(&mut trip, "Where to eat?", "In Alfama.");
    let rome = world.conversation("Rome");
    let short = rome.id().short();
    let uuid = rome.id().to_string();

    let first =
        [answer.as_str(), short.as_str()].map(|name| world.rejoin(["delete", name, "--yes"]).run().code);
    let again =
        [answer.as_str(), short.as_str(), &uuid].map(|name| world.rejoin(["delete", name, "--yes"]).run());

    let hint = "hint: run `rejoin list` to see conversations, `rejoin tree` for messages\n";
    let expected = [
        Outcome::failure(1, &format!("error: no conversation or message `{answer}`\n{hint}")),
        Outcome::failure(1, &format!("error: no conversation or message `{short}`\n{hint}")),
        Outcome::failure(1, &format!("error: no conversation `{uuid}`\n{hint}")),
    ];
    assert_eq!((first, again), ([0, 0], expected));
}

#[test]
fn a_number_from_a_list_deletes_nothing() {
    let world = World::new();
    let trip = world.conversation("1");

    let outcome = world.rejoin(["delete", "1", "--yes"]).run();

    let expected = "error: `1` looks like a number from a list: deleting needs an ID, because lists change\n\
                    hint: run `rejoin list` to see the ids\n";
    assert_eq!((outcome, is_gone(&trip)), (Outcome::failure(2, expected), false));
}

#[test]
fn names_that_lead_elsewhere_or_nowhere_delete_nothing() {
    let world = World::new();
    world.write("project/keep", "");
    let names = ["../project/keep", "/", "..", "a b", "", "%2e%2e", "*", "é", "0123456789abcdef"];

    let codes = names.map(|name| world.rejoin(["delete", name, "--yes"]).run().code);

    assert_eq!((codes, world.read("project/keep")), ([1; 9], String::new()));
}

#[test]
fn the_same_thing_named_twice_is_deleted_once() {
    let world = World::new();
    let trip = world.conversation("Lisbon");
    let short = trip.id().short();

    let outcome = world.rejoin(["delete", "lisbon", short.as_str(), "--yes"]).run();

    assert_eq!(outcome, Outcome::answer(&format!("Deleted \"Lisbon\" (0 messages, 0 B): {short}\n")));
}

#[test]
fn an_ambiguous_name_deletes_nothing() {
    let world = World::new();
    let [lisbon, porto] = [("Trip!", 2), ("Trip?", 1)]
        .map(|(title, age)| world.conversation_in(&world.archive_at(minutes_ago(age)), title));

    let outcome = world.rejoin(["delete", "trip", "--yes"]).run();

    let [a, b] = [lisbon.id(), porto.id()];
    let expected = format!(
        "error: `trip` could be any of 2: {}, {}\nhint: type more characters: `{}` (Trip!), `{}` (Trip?)\n",
        a.short(),
        b.short(),
        a.short(),
        b.short()
    );
    assert_eq!(outcome, Outcome::failure(1, &expected));
    assert_eq!([is_gone(&lisbon), is_gone(&porto)], [false, false]);
}

#[test]
fn what_is_deleted_can_still_be_when_keeping_is_turned_off() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    trip.append(Message::user("Where to eat?")).unwrap();
    world.user_config("persistence.enabled = false\n");

    let code = world.rejoin(["delete", "lisbon", "--yes"]).run().code;

    assert_eq!((code, is_gone(&trip)), (0, true));
}
