//! A key that is planted must be found in the request and nowhere else.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use crate::world::World;

const PLANTED: &str = "sk-planted-0123456789";

/// A server that speaks Chat Completions: tells the head of each request, and
/// answers the first when it is let.
struct Server {
    address: String,
    heads: Receiver<String>,
    go: Sender<()>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let (tell, heads) = mpsc::channel();
        let (go, may_go) = mpsc::channel();
        thread::spawn(move || {
            for (place, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let _ = tell.send(head(&mut stream));
                // A turn is one request; any other would be answered, too.
                let text = if place == 0 {
                    "fine"
                } else {
                    r#"{\"synopsis\":\"A greeting.\",\"title\":\"Greeting\"}"#
                };
                if place == 0 && may_go.recv().is_err() {
                    return;
                }
                let _ = stream.write_all(reply(text).as_bytes());
            }
        });
        Self { address, heads, go }
    }
}

/// Reads a whole request, and returns its head.
fn head(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0);
    }
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    reader.read_exact(&mut vec![0; length.unwrap_or(0)]).unwrap();
    head
}

fn reply(text: &str) -> String {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"r\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let body = format!(
        "{}{}data: [DONE]\n\n",
        chunk(&format!("{{\"role\":\"assistant\",\"content\":\"{text}\"}}"), "null"),
        chunk("{}", "\"stop\"")
    );
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Talks once with this configuration; returns the head of the request, and every place that shows the key.
fn talk(
    world: &World,
    server: &Server,
    variables: &[(&str, &str)],
    holder: Option<&Path>,
) -> (String, Vec<String>) {
    let variables = variables.iter().copied().chain([("REJOIN_LOG", "trace")]);
    let child = world.program(&["hello"]).envs(variables).stdin(Stdio::null()).spawn().unwrap();
    let head = server.heads.recv().unwrap();
    let arguments = fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
    server.go.send(()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let streams = [("cmdline", arguments), ("stdout", output.stdout), ("stderr", output.stderr)];
    let files = files(&world.path("home")).into_iter().filter(|path| Some(path.as_path()) != holder);
    let contents = files.map(|path| (path.display().to_string(), fs::read(&path).unwrap()));
    let all = streams.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).chain(contents);
    let showing =
        all.filter(|(_, bytes)| bytes.windows(PLANTED.len()).any(|part| part == PLANTED.as_bytes()));
    (head, showing.map(|(name, _)| name).collect())
}

#[test]
fn a_key_from_a_variable_is_in_the_request_and_nowhere_else() {
    let (world, server) = (World::new(), Server::start());
    world.user_config(&format!(
        "provider = \"mine\"\n[providers.mine]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"{}\"\napi_key_env = \"MINE\"\n",
        server.address
    ));

    let (head, showing) = talk(&world, &server, &[("MINE", PLANTED)], None);

    assert!(head.contains(&format!("Bearer {PLANTED}\r\n")), "{head}");
    assert_eq!(showing, Vec::<String>::new());
    let titles: Vec<_> = world.archive().list(&rejoin::List::default()).unwrap().items;
    assert_eq!(titles[0].conversation.title.as_deref(), Some("hello"));
    assert!(world.path("home/.local/share/rejoin/rejoin.log").exists());
}

#[test]
fn a_key_from_a_command_is_in_the_request_and_nowhere_else() {
    let (world, server) = (World::new(), Server::start());
    world.write("home/key", &format!("{PLANTED}\n"));
    let holder = world.path("home/key");
    world.user_config(&format!(
        "provider = \"mine\"\n[providers.mine]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"{}\"\napi_key_command = \"cat {}\"\n",
        server.address,
        holder.display()
    ));

    let (head, showing) = talk(&world, &server, &[], Some(&holder));

    assert!(head.contains(&format!("Bearer {PLANTED}\r\n")), "{head}");
    assert_eq!(showing, Vec::<String>::new());
}
