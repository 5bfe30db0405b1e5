//! Whether recording delays streamed text: a loopback server sends tokens on a fixed schedule, and the same
//! talk is held with a store on disk and with none, in turn.
//!
//!     cargo bench -p rejoin-agent --bench streaming -- [ROUNDS] [DIRECTORY]
//!
//! The first token counts from the moment the message is said, so it includes the sync of
//! that message. Ratios are medians over the rounds of what each round found, so a slow
//! moment of the machine weighs one vote.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rejoin::{Archive, AsyncRecorder, Conversation, Message};
use rejoin_agent::{
    Api, ErrorKind, Future, History, Listener, Piece, Provider, Reply, Request, Stop, Talk, TurnEvent,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

/// How long the model thinks: the least that models of today need.
const FIRST: Duration = Duration::from_millis(500);

/// Faster than models of today write.
const PAUSE: Duration = Duration::from_millis(2);

/// Three seconds of text, so that the open turn is saved several times.
const TOKENS: u32 = 1_500;

/// The most that recording may add.
const BAR: f64 = 1.02;

type Failure = Box<dyn Error + Send + Sync>;

/// What one turn took, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Turn {
    first: f64,
    mean: f64,
    median: f64,
    late: f64,
}

/// What is measured.
struct Measure {
    name: &'static str,
    of: fn(&Turn) -> f64,
    /// The slowest of a hundred tokens tells more about the machine than about recording.
    has_bar: bool,
}

const MEASURES: [Measure; 4] = [
    Measure { name: "first token", of: |turn| turn.first, has_bar: true },
    Measure { name: "between tokens, mean", of: |turn| turn.mean, has_bar: true },
    Measure { name: "between tokens, median", of: |turn| turn.median, has_bar: true },
    Measure { name: "between tokens, slowest of 100", of: |turn| turn.late, has_bar: false },
];

fn main() -> Result<ExitCode, Failure> {
    // Cargo adds an option of its own.
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let rounds = words.next().map_or(Ok(7), |word| word.parse())?;
    let parent = words.next().map_or_else(std::env::temp_dir, Into::into);
    let server = serve()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (mut incognito, mut recorded) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let directory = tempfile::tempdir_in(&parent)?;
        let on_disk = format!("sqlite:{}", directory.path().join("a.db").display());
        // Who goes first changes, so that neither always finds the machine warm.
        let mut kinds = [("memory:", &mut incognito), (on_disk.as_str(), &mut recorded)];
        kinds.rotate_left(round % 2);
        for (url, turns) in kinds {
            turns.push(runtime.block_on(turn(url, server))?);
        }
    }
    let is_met = report(&incognito, &recorded, &parent);
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the table and returns whether every bar is met.
fn report(incognito: &[Turn], recorded: &[Turn], parent: &Path) -> bool {
    println!("{} rounds, {TOKENS} tokens each, store in {}\n", incognito.len(), parent.display());
    println!("| milliseconds | incognito | recorded | ratio | bar |\n|---|---|---|---|---|");
    let mut is_met = true;
    for Measure { name, of: value, has_bar } in MEASURES {
        let of = |turns: &[Turn]| median(turns.iter().map(value).collect());
        let ratios = incognito.iter().zip(recorded).map(|(one, two)| value(two) / value(one));
        let ratio = median(ratios.collect());
        let bar = if has_bar { format!("≤ {BAR}") } else { String::new() };
        println!("| {name} | {:.3} | {:.3} | {ratio:.4} | {bar} |", of(incognito), of(recorded));
        is_met &= !has_bar || ratio <= BAR;
    }
    is_met
}

fn median(values: Vec<f64>) -> f64 {
    percentile(values, 0.5)
}

fn percentile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part).round() as usize]
}

/// A server that answers a line with tokens on its schedule, however slow the reader is.
fn serve() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A client that goes away is not an error of the server.
            let _ = answer(connection);
        }
    });
    Ok(address)
}

fn answer(mut connection: TcpStream) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    BufReader::new(connection.try_clone()?).read_line(&mut String::new())?;
    let begins = Instant::now() + FIRST;
    for number in 0..TOKENS {
        thread::sleep((begins + PAUSE * number).saturating_duration_since(Instant::now()));
        writeln!(connection, "token{number}")?;
    }
    Ok(())
}

/// Holds one turn, and times its pieces where a prompt would show them.
async fn turn(url: &str, server: SocketAddr) -> Result<Turn, Failure> {
    let archive = Archive::open(url)?;
    let handle = archive.start(Conversation::new())?;
    let recording = AsyncRecorder::start(archive.record(handle, "bench"));
    let mut talk = Talk::new(Arc::new(Loopback(server)), "m", recording, History::default());
    let (events, mut heard) = mpsc::unbounded_channel();
    let showing = tokio::spawn(async move {
        let mut arrivals = Vec::new();
        while let Some(event) = heard.recv().await {
            if matches!(event, TurnEvent::Piece(Piece::Text(_))) {
                arrivals.push(Instant::now());
            }
        }
        arrivals
    });
    let said = Instant::now();
    talk.turn(Message::user("Tell me much."), &events).await?;
    drop(events);
    let arrivals = showing.await?;
    let milliseconds = |from: Instant, to: Instant| (to - from).as_secs_f64() * 1_000.0;
    let gaps: Vec<f64> = arrivals.windows(2).map(|pair| milliseconds(pair[0], pair[1])).collect();
    Ok(Turn {
        first: milliseconds(said, arrivals[0]),
        mean: gaps.iter().sum::<f64>() / gaps.len() as f64,
        median: median(gaps.clone()),
        late: percentile(gaps, 0.99),
    })
}

/// A provider that speaks to the server: a line is a token.
#[derive(Debug)]
struct Loopback(SocketAddr);

impl Loopback {
    async fn stream(&self, listen: &mut Listener<'_>) -> std::io::Result<String> {
        let mut connection = tokio::net::TcpStream::connect(self.0).await?;
        connection.write_all(b"go\n").await?;
        let mut lines = tokio::io::BufReader::new(connection).lines();
        let mut text = String::new();
        while let Some(line) = lines.next_line().await? {
            text.push_str(&line);
            listen(Piece::Text(line));
        }
        Ok(text)
    }
}

impl Provider for Loopback {
    fn name(&self) -> &str {
        "loopback"
    }

    fn api(&self) -> Api {
        Api::Chat
    }

    fn reply<'a>(
        &'a self,
        _request: Request<'a>,
        listen: &'a mut Listener<'_>,
    ) -> Future<'a, rejoin_agent::Result<Reply>> {
        Box::pin(async move {
            let text = self.stream(listen).await.map_err(|cause| {
                rejoin_agent::Error::new(ErrorKind::Network, "read from the server").because(cause)
            })?;
            Ok(Reply { message: Message::assistant(text), stop: Stop::Done })
        })
    }
}
