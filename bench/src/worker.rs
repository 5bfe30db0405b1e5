//! A contestant's side of the protocol: reads requests, times operations, writes replies.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::contestants::{Contestant, Loaded};
use crate::protocol::{Reply, Request, Sample};
use rejoin_bench::data::MESSAGES_PER_TURN;
use rejoin_bench::failure::{Context, Result, chain};

/// The most messages handed to one append while a store is being filled: enough that the sync costs
/// nothing, few enough that memory stays small.
const FILL_CHUNK: usize = 1_000;

/// Something that answers requests: a contestant, or a reference that knows only a few of them.
pub(crate) trait Serve {
    fn answer(&mut self, request: Request) -> Result<Reply>;
}

/// Answers requests from standard input until it ends.
pub(crate) fn serve(mut server: Box<dyn Serve>) -> Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request = serde_json::from_str(&line?).context(|| "read a request".into())?;
        let reply = server
            .answer(request)
            .unwrap_or_else(|failure| Reply { error: Some(chain(&failure)), ..Reply::default() });
        let mut reply = serde_json::to_string(&reply)?;
        reply.push('\n');
        // One write per reply: a trace of system calls tells by it where an operation ends.
        output.write_all(reply.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

/// Lets any contestant answer every request.
pub(crate) struct Worker<C: Contestant> {
    contestant: C,
    turns: VecDeque<C::Turn>,
    forks: usize,
}

impl<C: Contestant> Worker<C> {
    pub(crate) fn new(contestant: C) -> Self {
        Self { contestant, turns: VecDeque::new(), forks: 0 }
    }

    fn fill(&mut self, file: &Path, per_conversation: usize) -> Result<()> {
        let input = File::open(file).context(|| format!("open `{}`", file.display()))?;
        let mut lines = BufReader::with_capacity(1 << 20, input).lines();
        for conversation in 0_usize.. {
            let mut wanted = per_conversation;
            while wanted > 0 {
                let chunk: Vec<String> =
                    lines.by_ref().take(wanted.min(FILL_CHUNK)).collect::<std::io::Result<_>>()?;
                if chunk.is_empty() {
                    return Ok(());
                }
                if wanted == per_conversation {
                    self.contestant.begin(&format!("Conversation {conversation}"))?;
                }
                wanted -= chunk.len();
                let borrowed: Vec<&str> = chunk.iter().map(String::as_str).collect();
                let turn = self.contestant.prepare(&borrowed)?;
                self.contestant.append(turn)?;
                self.contestant.rest()?;
            }
        }
        Ok(())
    }

    fn append(&mut self) -> Result<Sample> {
        let turn = self.turns.pop_front().ok_or("there are no turns left to append")?;
        sample(|| self.contestant.append(turn)).map(|(sample, ())| sample)
    }

    fn fork(&mut self) -> Result<()> {
        self.forks += 1;
        self.contestant.fork(&format!("Fork {}", self.forks))
    }
}

impl<C: Contestant> Serve for Worker<C> {
    fn answer(&mut self, request: Request) -> Result<Reply> {
        match request {
            Request::Fill { file, per_conversation } => self.fill(&file, per_conversation).map(done),
            Request::Begin => self.contestant.begin("Measured").map(done),
            Request::Resume => self.contestant.resume().map(done),
            Request::Turns { file, skip, count } => {
                for turn in read_turns(&file, skip, count)? {
                    let borrowed: Vec<&str> = turn.iter().map(String::as_str).collect();
                    self.turns.push_back(self.contestant.prepare(&borrowed)?);
                }
                Ok(Reply::default())
            }
            Request::Append { count } => {
                let samples = (0..count).map(|_| self.append()).collect::<Result<_>>()?;
                Ok(Reply { samples, ..Reply::default() })
            }
            Request::Rest => self.contestant.rest().map(done),
            Request::Load { count } => sample_load(count, || self.contestant.load(), C::weigh),
            Request::List { limit, count } => {
                sample_found(count, || self.contestant.list(limit).map(|rows| rows.len()))
            }
            Request::Search { word, limit, count } => {
                sample_found(count, || self.contestant.search(&word, limit))
            }
            Request::Fork { count } => sample_each(count, || self.fork()),
            Request::Index => self.contestant.index().map(done),
            Request::Checkpoint => self.contestant.checkpoint().map(done),
        }
    }
}

/// Reads `count` turns of a file of JSON lines, after leaving out `skip` of them.
pub(crate) fn read_turns(file: &Path, skip: usize, count: usize) -> Result<Vec<Vec<String>>> {
    let input = File::open(file).context(|| format!("open `{}`", file.display()))?;
    let lines = BufReader::new(input).lines().skip(skip * MESSAGES_PER_TURN).take(count * MESSAGES_PER_TURN);
    let lines: Vec<String> = lines.collect::<std::io::Result<_>>()?;
    Ok(lines.chunks(MESSAGES_PER_TURN).map(<[String]>::to_vec).collect())
}

/// Times an operation that returns nothing, `count` times.
pub(crate) fn sample_each(count: usize, mut operation: impl FnMut() -> Result<()>) -> Result<Reply> {
    sample_found(count, || operation().map(|()| 0))
}

/// Times a load, `count` times. Looking at what was loaded, and freeing it, is not part of it.
pub(crate) fn sample_load<M>(
    count: usize,
    mut load: impl FnMut() -> Result<M>,
    weigh: impl Fn(&M) -> Loaded,
) -> Result<Reply> {
    let mut reply = Reply::default();
    for _ in 0..count {
        let (sample, messages) = sample(&mut load)?;
        let loaded = weigh(&messages);
        reply.samples.push(sample);
        (reply.found, reply.bytes) = (loaded.messages, loaded.text_bytes);
    }
    Ok(reply)
}

fn sample_found(count: usize, mut operation: impl FnMut() -> Result<usize>) -> Result<Reply> {
    let mut reply = Reply::default();
    for _ in 0..count {
        let (sample, found) = sample(&mut operation)?;
        reply.samples.push(sample);
        reply.found = found;
    }
    Ok(reply)
}

fn sample<T>(operation: impl FnOnce() -> Result<T>) -> Result<(Sample, T)> {
    // The processor clock is a system call, so it is read outside the span that the wall clock measures.
    let cpu = cpu_microseconds();
    let start = Instant::now();
    let value = operation()?;
    let wall = start.elapsed().as_secs_f64() * 1e6;
    Ok((Sample { wall, cpu: cpu_microseconds() - cpu }, value))
}

fn cpu_microseconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

fn done((): ()) -> Reply {
    Reply::default()
}
