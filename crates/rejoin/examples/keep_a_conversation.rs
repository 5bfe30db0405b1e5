//! Keeps a conversation of an agent with a tool: start, append turn by turn, come back later, read, find.
//!
//!     cargo run -p rejoin --example keep_a_conversation

use std::error::Error;

use rejoin::{Archive, Block, Conversation, Json, Message, Role, Search};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let url = format!("sqlite:{}", directory.path().join("history.db").display());

    let archive = Archive::open(&url)?;
    let mut trip = archive.start(Conversation::titled("Lisbon").in_project("/home/ada/trip"))?;

    // The question is on disk before the model is asked.
    trip.append(Message::user("Where should we eat?"))?;

    // A call and its result belong together, so they are one turn: both are stored, or neither.
    let input = Json::parse(r#"{"near":"Alfama"}"#)?;
    let call = Message::new(Role::Assistant, vec![Block::tool_call("call_1", "find_places", input)]);
    let output = Json::of(&["Tasca do Chico", "Cervejaria Ramiro"])?;
    let result = Message::new(Role::Tool, vec![Block::tool_result("call_1", output)]);
    trip.append_turn(vec![call, result])?;

    let receipt = trip.append(Message::assistant("At the Tasca do Chico."))?;
    println!("message {} is number {} and safe", receipt.head, receipt.seq);
    drop((trip, archive));

    // Another day, another process: a name that a person typed leads back to the conversation.
    let archive = Archive::open(&url)?;
    let id = archive.names().conversation("lisbon")?;
    let mut trip = archive.resume(id)?;
    trip.append(Message::user("Is it open on Mondays?"))?;

    let path = trip.path()?;
    for stored in &path {
        let words: Vec<_> = stored.message.blocks.iter().filter_map(Block::words).collect();
        println!("{} {:9} {}", stored.id, stored.message.role.as_str(), words.join(" "));
    }
    let roles: Vec<Role> = path.iter().map(|stored| stored.message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant, Role::User]);

    // Words in tool calls and results are found too; the last word may be the beginning of one.
    let found = archive.search(&Search { text: "cervej".to_owned(), ..Search::default() })?;
    assert_eq!(found.items.len(), 1);
    println!("found: {}", found.items[0].snippet()?.text);

    // Nothing was changed since it was written.
    assert_eq!(archive.maintenance().verify(id)?.faults.len(), 0);
    Ok(())
}
