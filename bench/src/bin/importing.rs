//! What an import costs: bytes written for each byte read, syncs and memory,
//! into SQLite and into plain files.
//!
//! `importing 1000x15 jsonl:20000x2` writes so many sessions of Claude Code by so many messages and has them
//! imported by the `rejoin` that lies beside this program, into a store of the kind before the colon, or of
//! each kind. It fails where an import writes more than its bar, or takes more memory. Bytes are those that
//! the process caused to be written to a disk (`write_bytes` of `/proc`), so the scratch directory, `.`, has
//! to be on one. Syncs are counted in a second import, by `strace`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rejoin_bench::haystack::Random;
use rejoin_bench::{Answer, Bars, Kind, Shape};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::{Value, json};

/// Few enough that the default run ends within a minute.
const DEFAULT: [&str; 2] = ["1000x15", "2000x2"];

/// A message says at least so many bytes, and at most three times as many.
const SAID: usize = 200;

/// What an import may hold in memory, in kB.
const MEMORY: u64 = 100_000;

/// How often memory is looked at.
const PACE: Duration = Duration::from_millis(10);

/// A conversation with fewer messages is tiny.
const TINY: u64 = 5;

fn main() -> Answer<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let shapes: Vec<&str> =
        if words.is_empty() { DEFAULT.to_vec() } else { words.iter().map(String::as_str).collect() };
    let rejoin = std::env::current_exe()?.with_file_name("rejoin");
    let mut bars = Bars::default();
    println!("| store | read | written | ratio | bar | syncs | memory | time | processor time |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for text in shapes {
        let shape: Shape = text.parse()?;
        let kinds = if text.contains(':') { vec![shape.kind] } else { Kind::ALL.to_vec() };
        let scratch = tempfile::tempdir_in(".")?;
        let read = write_sessions(shape, &scratch.path().join("sessions"))?;
        for kind in kinds {
            let world = World { kind, rejoin: &rejoin, place: scratch.path() };
            let (cost, syncs) = (world.cost()?, world.syncs()?);
            let (ratio, bar) = (cost.written as f64 / read as f64, bar(kind, shape));
            let name = format!("{}:{}x{}", kind.name(), shape.conversations, shape.messages);
            println!(
                "| {name} | {:.1} MB | {:.1} MB | {ratio:.1} | ≤ {bar} | {syncs} | {:.0} MB | {:.1} s | {:.1} s |",
                read as f64 / 1e6,
                cost.written as f64 / 1e6,
                cost.memory as f64 / 1e3,
                cost.took.as_secs_f64(),
                cost.worked.as_secs_f64(),
            );
            bars.hold(format!("bytes written for each byte read, {name}"), ratio, bar);
            bars.hold(format!("memory, {name}"), cost.memory, MEMORY);
        }
    }
    Ok(bars.verdict())
}

/// How many bytes may be written for each one that is read.
const fn bar(kind: Kind, shape: Shape) -> f64 {
    match kind {
        Kind::Sqlite if shape.messages < TINY => 15.0,
        Kind::Sqlite => 7.0,
        Kind::Jsonl => 3.5,
    }
}

/// What an import took.
struct Cost {
    written: u64,
    memory: u64,
    took: Duration,
    worked: Duration,
}

/// Where sessions are imported from, and to.
struct World<'a> {
    kind: Kind,
    rejoin: &'a Path,
    place: &'a Path,
}

impl World<'_> {
    /// A command in a home of its own, with a store that is not there yet.
    fn command(&self, program: &Path) -> Answer<Command> {
        let home = self.place.join("home");
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        fs::create_dir_all(&home)?;
        let mut command = Command::new(program);
        command.env_clear().env("HOME", &home).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("REJOIN_STORE", format!("{}:{}", self.kind.name(), home.join("store").display()));
        command.current_dir(home).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }

    fn sessions(&self) -> PathBuf {
        self.place.join("sessions")
    }

    fn cost(&self) -> Answer<Cost> {
        let begun = Instant::now();
        let mut child = self.command(self.rejoin)?.arg("import").arg(self.sessions()).spawn()?;
        let process = PathBuf::from(format!("/proc/{}", child.id()));
        let mut memory = 0;
        while !has_ended(&child)? {
            memory = memory.max(number(&process.join("status"), "VmHWM:").unwrap_or(memory));
            thread::sleep(PACE);
        }
        let took = begun.elapsed();
        // Whoever has ended and was not waited for still tells.
        let written = number(&process.join("io"), "write_bytes:").ok_or("nothing tells what was written")?;
        let worked = worked(&process)?;
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("the import ended with {status}").into());
        }
        Ok(Cost { written, memory, took, worked })
    }

    fn syncs(&self) -> Answer<usize> {
        let trace = self.place.join("trace");
        let mut command = self.command(Path::new("strace"))?;
        let calls = "trace=fsync,fdatasync,syncfs,sync_file_range,sync";
        command.args(["-f", "--seccomp-bpf", "-qq", "-e", "signal=none", "-e", calls, "-o"]).arg(&trace);
        let status = command.arg(self.rejoin).arg("import").arg(self.sessions()).status()?;
        if !status.success() {
            return Err(format!("the traced import ended with {status}").into());
        }
        // A call that another thread interrupts is told in two lines.
        Ok(fs::read_to_string(&trace)?.lines().filter(|line| !line.contains("resumed>")).count())
    }
}

fn has_ended(child: &Child) -> Answer<bool> {
    let id = Pid::from_raw(child.id().cast_signed()).ok_or("a process has a number")?;
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(id), how)?.is_some())
}

/// The number after a name in a file of `/proc`.
fn number(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The processor time of a process, in hundredths of a second.
fn worked(process: &Path) -> Answer<Duration> {
    let text = fs::read_to_string(process.join("stat"))?;
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let hundredths: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|number| number.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(hundredths * 10))
}

/// Writes sessions, and answers how many bytes they have.
fn write_sessions(shape: Shape, folder: &Path) -> Answer<u64> {
    fs::create_dir_all(folder)?;
    let mut random = Random(11);
    let mut bytes = 0;
    for number in 0..shape.conversations {
        let (session, text) = session(&mut random, number, shape.messages)?;
        bytes += text.len() as u64;
        fs::write(folder.join(format!("{session}.jsonl")), text)?;
    }
    Ok(bytes)
}

/// The id and the lines of a session.
fn session(random: &mut Random, number: u64, messages: u64) -> Answer<(String, String)> {
    let (session, mut parent, mut text) = (uuid(random), Value::Null, String::new());
    for place in 0..messages {
        let (is_user, id) = (place.is_multiple_of(2), uuid(random));
        let said = random.words(SAID);
        let message = if is_user {
            json!({"role": "user", "content": said})
        } else {
            json!({"id": format!("msg_{:016x}", random.number()), "type": "message", "role": "assistant",
                "model": "claude-opus-4-5", "content": [{"type": "text", "text": said}], "stop_reason": "end_turn",
                "usage": {"input_tokens": 1_000 + place, "output_tokens": 200}})
        };
        let at = format!("2026-{:02}-{:02}T", 1 + number % 12, 1 + number / 12 % 28)
            + &format!("{:02}:{:02}:{:02}.000Z", number / 336 % 24, place / 60 % 60, place % 60);
        let line = json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/home/ada/tram",
            "sessionId": session, "version": "2.0.14", "gitBranch": "main",
            "type": if is_user { "user" } else { "assistant" }, "message": message, "uuid": id, "timestamp": at});
        writeln!(text, "{line}")?;
        parent = Value::String(id);
    }
    Ok((session, text))
}

fn uuid(random: &mut Random) -> String {
    let (high, low) = (random.number(), random.number());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0xfff,
        low & 0xffff_ffff_ffff
    )
}
