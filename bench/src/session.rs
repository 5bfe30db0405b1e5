//! The driver's side of the protocol: one contestant's process, kept open while samples are taken.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::entrant::Entrant;
use crate::protocol::{Reply, Request};
use rejoin_bench::failure::{Context, Result};

pub(crate) struct Session {
    name: String,
    child: Child,
    /// Nothing once the child has been told to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Session {
    pub(crate) fn start(entrant: &Entrant, place: &Path) -> Result<Self> {
        std::fs::create_dir_all(place).context(|| format!("create `{}`", place.display()))?;
        Self::spawn(&entrant.name, &entrant.run(place))
    }

    /// Starts a command that leads to a contestant, such as a tracer of system calls.
    pub(crate) fn spawn(name: &str, words: &[OsString]) -> Result<Self> {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context(|| format!("start `{name}` by {words:?}"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("standard output was piped above");
        Ok(Self { name: name.to_owned(), child, input, output: BufReader::new(output) })
    }

    /// Asks for one thing and waits for the reply; fails if the contestant fails or has no such operation.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply> {
        self.exchange(request).context(|| format!("ask `{}` for {request:?}", self.name))
    }

    fn exchange(&mut self, request: &Request) -> Result<Reply> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        let input = self.input.as_mut().expect("the session is open until `finish`");
        input.write_all(line.as_bytes())?;
        let mut answer = String::new();
        if self.output.read_line(&mut answer)? == 0 {
            return Err("its process ended".into());
        }
        let reply: Reply = serde_json::from_str(&answer).context(|| format!("read its reply `{answer}`"))?;
        match (&reply.error, reply.unsupported) {
            (Some(error), _) => Err(error.as_str().into()),
            (None, true) => Err("it has no such operation".into()),
            (None, false) => Ok(reply),
        }
    }

    /// Keeps the process on one processor, which `round` chooses.
    ///
    /// Two processors of one machine can differ by half, by what else runs beside each; contestant and
    /// reference never run at the same time, so they can share one.
    pub(crate) fn pin(&self, round: usize) -> Result<()> {
        let allowed = sched_getaffinity(None).context(|| "ask which processors may be used".into())?;
        let processors: Vec<usize> =
            (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
        let mut chosen = CpuSet::new();
        chosen.set(processors[round % processors.len()]);
        let process = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        sched_setaffinity(process, &chosen).context(|| format!("pin `{}` to a processor", self.name))
    }

    /// Returns the most memory the process has held, in megabytes.
    ///
    /// Taken from the kernel's record of the address space: the record of the process
    /// (`ru_maxrss`) starts with the size of the parent.
    pub(crate) fn peak_megabytes(&self) -> Result<f64> {
        let file = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&file).context(|| format!("read `{file}`"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("there is no VmHWM")?;
        let kibibytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kibibytes * 1024.0 / 1e6)
    }

    /// Ends the session and waits for the process.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.input = None;
        let status = self.child.wait().context(|| format!("wait for `{}`", self.name))?;
        if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", self.name).into()) }
    }
}

impl Drop for Session {
    /// Leaves no process behind when a measurement fails half-way; after `finish` both calls do nothing.
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
