//! Shows what becomes of two writers, and how to branch on purpose: forked receipts, fork, rewind, the tree.
//!
//!     cargo run -p rejoin --example branches

use rejoin::store::Order;
use rejoin::{Archive, Conversation, ErrorKind, Message, MessageId, Result, StoredMessage};

fn main() -> Result<()> {
    let archive = Archive::open("memory:")?;
    let mut trip = archive.start(Conversation::titled("Lisbon"))?;
    let question = trip.append(Message::user("Where should we eat?"))?.head;

    // Two programs hold the same conversation. Each answers after the message it has seen.
    let mut other = archive.resume(trip.id())?;
    let first = trip.append(Message::assistant("Cervejaria Ramiro, for seafood."))?;
    let second = other.append(Message::assistant("A tasca in Alfama."))?;
    assert_eq!((first.forked, second.forked), (false, true)); // nothing lost, nothing interleaved

    // A client that knows no branches asks to be refused instead, reads again and tries again.
    let refused = trip.append_linear(vec![Message::user("Is it open?")]);
    assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::Conflict));

    // A fork gives a branch a name. It copies nothing, and its handle moves the branch along.
    let mut cheap = trip.fork(question, "On a budget")?;
    cheap.append(Message::assistant("Bread, cheese and a bench by the river."))?;
    let stored = trip.conversation()?;
    assert_eq!(stored.branches[0].title, "On a budget");
    assert_eq!(stored.branches[0].head, cheap.head().expect("it was appended to"));

    // Rewinding moves the head, for this handle and for whoever resumes. What came after stays.
    trip.rewind(first.head)?;
    trip.append(Message::user("Do they take cards?"))?;
    assert_eq!(archive.resume(trip.id())?.path()?.len(), 3);

    let messages = archive.reader().all_messages(trip.id(), Order::OldestFirst, 0, u64::MAX)?;
    assert_eq!(messages.len(), 5);
    draw(&messages, None, 0);
    Ok(())
}

/// Prints the messages below a parent, each with what follows it.
fn draw(messages: &[StoredMessage], parent: Option<MessageId>, depth: usize) {
    for stored in messages.iter().filter(|stored| stored.parent == parent) {
        println!("{:indent$}{} {}", "", stored.id, stored.message.text(), indent = depth * 2);
        draw(messages, Some(stored.id), depth + 1);
    }
}
