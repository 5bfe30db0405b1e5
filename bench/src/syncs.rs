//! Counts the syncs of an operation by tracing a contestant's system calls.
//!
//! A sync between the request and its reply is on the path; a sync outside is counted apart.
//! The driver waits a moment after each reply, so that work left to another thread falls
//! outside. Closing the store is not counted.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Serialize;

use crate::entrant::Entrant;
use crate::protocol::Request;
use crate::session::Session;
use rejoin_bench::failure::{Context, Result};

/// Long enough for a checkpoint of a few megabytes to end before the next request.
const PAUSE: Duration = Duration::from_millis(5);

/// Syncs per operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Syncs {
    pub(crate) path: f64,
    pub(crate) apart: f64,
}

pub(crate) fn tracer_is_installed() -> bool {
    let strace = Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    strace.is_ok_and(|status| status.success())
}

/// The first request opens the log and is not counted.
pub(crate) const WARM_UP: usize = 1;

/// Runs `preparation`, then `request` `count` times and once more, in a traced process of its own.
pub(crate) fn count(
    entrant: &Entrant,
    place: &Path,
    preparation: &[Request],
    request: &Request,
    count: usize,
) -> Result<Syncs> {
    std::fs::create_dir_all(place).context(|| format!("create `{}`", place.display()))?;
    let trace = place.with_extension("trace");
    let mut words: Vec<OsString> =
        ["strace", "-f", "-s", "80", "-e", "signal=none", "-e"].map(Into::into).into();
    words.push("trace=read,write,fsync,fdatasync,msync,sync_file_range,syncfs,sync".into());
    words.extend(["-o".into(), trace.clone().into()]);
    words.extend(entrant.run(place));
    let mut session = Session::spawn(&entrant.name, &words)?;
    for step in preparation {
        session.ask(step)?;
    }
    for _ in 0..count + WARM_UP {
        session.ask(request)?;
        std::thread::sleep(PAUSE);
        session.ask(&Request::Rest)?;
        std::thread::sleep(PAUSE);
    }
    session.finish()?;
    let trace = std::fs::read_to_string(&trace).context(|| format!("read `{}`", trace.display()))?;
    let name = serde_json::to_value(request)?["do"].as_str().unwrap_or_default().to_owned();
    Ok(read_trace(&trace, &name))
}

fn read_trace(trace: &str, operation: &str) -> Syncs {
    // The tracer prints the request as a C string, with its quotes escaped.
    let request = format!(r#"\"do\":\"{operation}\""#);
    let (mut requests, mut inside) = (0, false);
    let (mut on_path, mut apart, mut pending) = (0, 0, 0);
    for line in trace.lines() {
        if line.contains("read") && line.contains(&request) {
            // What happened since the last request was apart from it; what
            // follows the very last is the close.
            apart += pending;
            pending = 0;
            requests += 1;
            inside = true;
        } else if line.contains("write(1,") {
            inside = false;
        } else if is_sync(line) && requests > WARM_UP {
            if inside { on_path += 1 } else { pending += 1 }
        }
    }
    let each = |syncs: usize| syncs as f64 / requests.saturating_sub(WARM_UP).max(1) as f64;
    Syncs { path: each(on_path), apart: each(apart) }
}

/// Whether a line is the beginning of a sync; the second half of an interrupted one says `resumed`.
fn is_sync(line: &str) -> bool {
    ["fsync(", "fdatasync(", "msync(", "sync_file_range(", "syncfs(", " sync("]
        .iter()
        .any(|call| line.contains(call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_inside_a_request_are_on_the_path_and_the_others_apart() {
        let trace = r#"
7 read(0, "{\"do\":\"append\",\"count\":1}\n", 8192) = 26
7 fdatasync(3) = 0
7 write(1, "{}\n", 3) = 3
7 read(0, "{\"do\":\"append\",\"count\":1}\n", 8192) = 26
7 fdatasync(4) = 0
7 write(1, "{\"samples\":[]}\n", 15) = 15
8 fdatasync(4 <unfinished ...>
7 read(0, "{\"do\":\"rest\"}\n", 8192) = 14
8 <... fdatasync resumed>) = 0
7 fsync(3) = 0
7 write(1, "{}\n", 3) = 3
7 read(0, "{\"do\":\"append\",\"count\":1}\n", 8192) = 26
7 fdatasync(4) = 0
7 write(1, "{}\n", 3) = 3
7 read(0, "", 8192) = 0
7 fdatasync(3) = 0
"#;

        let syncs = read_trace(trace, "append");

        assert_eq!(syncs, Syncs { path: 1.0, apart: 1.0 });
    }
}
