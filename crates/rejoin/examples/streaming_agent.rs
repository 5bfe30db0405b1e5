//! An agent in one file: it streams a reply from a server, is killed in the middle, resumes, forks and
//! searches.
//!
//!     cargo run -p rejoin --example streaming_agent
//!
//! The server is a thread of this program on the loopback interface. The agent that is killed is a child
//! process.

use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write, stdout};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use rejoin::{Archive, Conversation, List, Message, Search};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().collect();
    if let [_, mode, url, server] = arguments.as_slice()
        && mode == "--agent"
    {
        return agent(url, server);
    }
    let directory = tempfile::tempdir()?;
    let url = format!("sqlite:{}", directory.path().join("history.db").display());
    let server = serve()?;

    // The agent asks and receives the beginning of a reply. It is killed: the rest never arrives.
    let mut command = Command::new(env::current_exe()?);
    let mut child = command.args(["--agent", &url, &server]).stdout(Stdio::piped()).spawn()?;
    let output = BufReader::new(child.stdout.take().ok_or("the output is piped")?);
    let arrived: Vec<String> = output.lines().take(2).collect::<Result<_, _>>()?;
    assert_eq!(arrived, ["Try a ", "tasca"]);
    child.kill()?;
    child.wait()?;

    // Resume. What had arrived becomes a message that is marked as interrupted.
    let archive = Archive::open(&url)?;
    let id = archive.list(&List::default())?.items.first().ok_or("nothing is stored")?.id;
    for partial in archive.open_turns().leftovers(id, |_writer| false)? {
        archive.open_turns().keep(id, &partial)?;
    }
    let mut trip = archive.resume(id)?;
    let path = trip.path()?;
    let [question, reply] = path.as_slice() else { return Err("a question and a reply are stored".into()) };
    assert_eq!((reply.message.text().as_str(), reply.message.was_cut_short()), ("Try a tasca", true));
    trip.append(Message::user("Which one?"))?;

    // Fork at the question for another reply. Nothing is copied, and both replies stay.
    let mut again = trip.fork(question.id, "another reply")?;
    again.append(Message::assistant("Try the market hall."))?;
    assert_eq!((trip.path()?.len(), again.path()?.len()), (3, 2));

    // Search finds both replies, on whichever branch they are.
    let found = archive.search(&Search { text: "try".to_owned(), ..Search::default() })?;
    for hit in &found.items {
        println!("{}", hit.snippet()?.text);
    }
    assert_eq!(found.items.len(), 2);
    Ok(())
}

/// Asks the server; saves and prints each piece as it arrives.
fn agent(url: &str, server: &str) -> Result<(), Box<dyn Error>> {
    let archive = Archive::open(url)?;
    let handle = archive.start(Conversation::titled("Lisbon"))?;
    let mut recorder = archive.record(handle, std::process::id().to_string());
    recorder.append(vec![Message::user("Where to eat?")])?; // on disk before the server is asked
    let mut text = String::new();
    for piece in BufReader::new(TcpStream::connect(server)?).lines() {
        let piece = piece?;
        text.push_str(&piece);
        // Once a second is often enough for a real reply.
        recorder.save_open(&Message::assistant(text.clone()), &[]);
        writeln!(stdout(), "{piece}")?;
    }
    recorder.append(vec![Message::assistant(text)])?; // also removes the saved partial reply
    Ok(())
}

/// Sends two pieces of a reply to the first client, and nothing more. Returns the address.
fn serve() -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the agent connects");
        stream.write_all(b"Try a \ntasca\n").expect("the agent reads");
        // Returns once the agent is gone.
        let _ = stream.read(&mut [0]);
    });
    Ok(address)
}
