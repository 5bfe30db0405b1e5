//! `rejoin rewind`: the head moves, nothing is removed, and the way back is printed.

use crate::past::ask;
use crate::world::{Outcome, World};

#[test]
fn the_printed_command_undoes_a_rewind() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, answer] = ask(&mut trip, "Where to eat?", "In Alfama.");
    let short = trip.id().short();

    let there = world.rejoin(["rewind", question.as_str()]).run();
    let head = trip.conversation().unwrap().head.map(|head| head.id);
    let back = world.rejoin(["rewind", &format!("{short}/{answer}")]).run();

    let told = |now, was| {
        Outcome::note(&format!(
            "The next message of \"Lisbon\" follows {now}\nUndo: rejoin rewind {short}/{was}\n"
        ))
    };
    assert_eq!((there, head), (told(question, answer), Some(question)));
    assert_eq!(back, told(answer, question));
    assert_eq!(trip.conversation().unwrap().messages, 2);
}

#[test]
fn where_the_head_is_already_nothing_changes() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [_, answer] = ask(&mut trip, "Where to eat?", "In Alfama.");
    let before = trip.conversation().unwrap();

    let outcome = world.rejoin(["rewind", answer.as_str()]).run();

    let note = format!("\"Lisbon\" is already there: the next message follows {answer}\n");
    assert_eq!(outcome, Outcome::note(&note));
    assert_eq!(trip.conversation().unwrap(), before);
}

#[test]
fn scripts_read_where_the_head_is_and_was() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [question, answer] = ask(&mut trip, "Where to eat?", "In Alfama.");

    let outcome = world.rejoin(["rewind", question.as_str(), "--json"]).run();

    let expected =
        format!("{{\"conversation\":\"{}\",\"head\":\"{question}\",\"was\":\"{answer}\"}}\n", trip.id());
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn a_message_of_another_conversation_is_not_found_under_this_one() {
    let world = World::new();
    let [mut lisbon, mut rome] = ["Lisbon", "Rome"].map(|title| world.conversation(title));
    let [_, [other, _]] = [&mut lisbon, &mut rome].map(|handle| ask(handle, "Where to eat?", "There."));
    let short = lisbon.id().short();

    let outcome = world.rejoin(["rewind", &format!("{short}/{other}")]).run();

    let expected = format!(
        "error: no message `{other}` in conversation `{short}`\n\
         hint: run `rejoin list` to see conversations, `rejoin tree` for messages\n"
    );
    assert_eq!(outcome, Outcome::failure(1, &expected));
}
