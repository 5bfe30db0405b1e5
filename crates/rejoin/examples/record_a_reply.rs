//! Records a streamed reply without the agent: saved while it arrives, lost to
//! no crash, kept or discarded later.
//!
//!     cargo run -p rejoin --example record_a_reply

use std::error::Error;

use rejoin::{Archive, Conversation, EndReason, Ending, Message, Recorder, Saved};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let url = format!("sqlite:{}", directory.path().join("history.db").display());
    let archive = Archive::open(&url)?;

    // The writer names this process, so that another one can tell whether it still lives.
    let mut recorder = record(&archive)?;

    // The question is on disk before the model is asked.
    recorder.append(vec![Message::user("Where should we eat?")])?;

    // While the reply streams, what has arrived replaces what was saved before.
    // Once a second is often enough.
    let mut reply = Message::assistant("");
    let mut text = String::new();
    for piece in ["At the ", "Tasca ", "do Chico."] {
        text.push_str(piece);
        reply = Message::assistant(text.clone());
        assert!(recorder.save_open(&reply, &[]));
    }

    // The finished reply takes the place of what had arrived, in one write.
    reply.finish = Some("stop".to_owned());
    match recorder.append(vec![reply])? {
        Saved::Now(receipt) => println!("message {} is safe", receipt.head),
        // A store that fails never stops the talk: the message waits, and is tried again with growing pauses.
        Saved::Later => println!("not saved yet: {:?}", recorder.cause()),
    }
    let id = recorder.conversation();
    assert_eq!(archive.open_turns().list(id)?, []);

    // The next reply is cut off: the process is gone before it is complete.
    recorder.append(vec![Message::user("And tomorrow?")])?;
    recorder.save_open(&Message::assistant("Tomorrow, try"), &[]);
    drop((recorder, archive));

    // Another process finds what had arrived of it, and can keep it or discard it.
    let archive = Archive::open(&url)?;
    for turn in archive.open_turns().leftovers(id, |writer| writer != "1234@5678")? {
        println!("interrupted at {}: {}", turn.saved_at, turn.partial.text());
        archive.open_turns().keep(id, &turn)?;
    }
    let path = archive.path(id, None)?;
    let last = &path.last().ok_or("the conversation is empty")?.message;
    assert_eq!((path.len(), last.text().as_str()), (4, "Tomorrow, try"));
    assert_eq!((last.finish.as_deref(), last.was_cut_short()), (Some("interrupted"), true));

    // Leaving keeps why, and what was measured.
    let mut recorder = archive.record(archive.resume(id)?, "2345@6789");
    recorder.append(vec![Message::user("Thank you.")])?;
    let stored = recorder.end(Ending::Paused(EndReason::Ended))?;
    println!("the conversation is {}", stored.conversation.status.as_str());
    Ok(())
}

fn record(archive: &Archive) -> rejoin::Result<Recorder> {
    let handle = archive.start(Conversation::titled("Lisbon"))?;
    Ok(archive.record(handle, "1234@5678"))
}
