//! Follows what happens in a store while another handle writes to it, as another process would.
//!
//!     cargo run -p rejoin --example follow_events

use std::error::Error;
use std::thread;
use std::time::Duration;

use rejoin::{Archive, Conversation, EventKind, Message};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let url = format!("sqlite:{}", directory.path().join("history.db").display());

    // Subscribe before anything is written: events are told from this moment on.
    let reader = Archive::open(&url)?;
    let mut events = reader.subscribe()?;

    // The writer opens the file on its own, so it stands for any other process.
    let writer = thread::spawn(move || -> rejoin::Result<()> {
        let archive = Archive::open(&url)?;
        let mut trip = archive.start(Conversation::titled("Lisbon"))?;
        trip.append(Message::user("Where should we eat?"))?;
        archive.rename(trip.id(), "Dinner in Lisbon")?;
        let deleted = archive.removal().delete(&[trip.id()], "an example cleans up");
        assert_eq!(deleted.failed, []);
        Ok(())
    });

    // An event may be told twice, so a follower must not mind. None is left out.
    let mut last = 0;
    let mut names = Vec::new();
    loop {
        let told = events.next(Duration::from_millis(100))?;
        if told.is_empty() && writer.is_finished() {
            break;
        }
        for event in told {
            let short = event.conversation.map(|id| id.short().to_string()).unwrap_or_default();
            println!("{} {} {short}", event.stamp, event.kind.name());
            if let EventKind::Deleted { reason } = &event.kind {
                println!("  because {reason}");
            }
            last = event.stamp;
            names.push(event.kind.name());
        }
    }
    writer.join().expect("the writer does not panic")?;
    names.dedup();
    assert_eq!(names, ["conversationStored", "conversationChanged", "conversationDeleted"]);

    // A follower that remembers its last stamp continues behind it, even after a restart.
    let more = reader.events_after(last).next(Duration::ZERO)?;
    assert_eq!(more, []);

    Ok(())
}
