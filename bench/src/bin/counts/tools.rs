//! Valgrind, which counts instructions, and strace, which counts syncs.

use std::path::Path;
use std::process::{Command, Stdio};

use rejoin_bench::failure::{Context, Result};

use crate::world::World;

/// The calls after which something is on disk.
const SYNCS: &str = "trace=fsync,fdatasync,msync,sync_file_range,syncfs,sync";

/// The programs that count.
pub(crate) struct Tools;

impl Tools {
    /// The first one that is not installed.
    pub(crate) fn missing() -> Option<&'static str> {
        let is_missing = |tool: &&str| {
            let mut command = Command::new(tool);
            let asked = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            !asked.status().is_ok_and(|status| status.success())
        };
        ["valgrind", "strace"].into_iter().find(is_missing)
    }

    /// How many instructions a command takes, over all its threads.
    pub(crate) fn instructions(world: &World, words: &[String]) -> Result<u64> {
        let log = world.place().join("instructions");
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
        valgrind.arg(format!("--log-file={}", log.display()));
        world.run(valgrind.arg(&world.rejoin).args(words))?;
        let log = read(&log)?;
        let counted =
            log.lines().find_map(|line| line.split_once("I refs:").or(line.split_once("I   refs:")));
        let (_, counted) = counted.ok_or_else(|| format!("valgrind counted nothing: {log}"))?;
        Ok(counted.trim().replace(',', "").parse()?)
    }

    /// How often a command waits for the disk.
    pub(crate) fn syncs(world: &World, words: &[String]) -> Result<u64> {
        let log = world.place().join("syncs");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-e", "signal=none", "-e", SYNCS, "-o"]).arg(&log);
        world.run(strace.arg(&world.rejoin).args(words))?;
        // The second half of an interrupted call says `resumed`.
        let is_call = |line: &&str| line.contains("sync") && !line.contains("resumed");
        Ok(read(&log)?.lines().filter(is_call).count() as u64)
    }
}

fn read(log: &Path) -> Result<String> {
    std::fs::read_to_string(log).context(|| format!("read `{}`", log.display()))
}
