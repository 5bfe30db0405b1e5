//! Reads a text file, with line numbers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek};
use std::path::Path;

use rejoin::Json;
use serde::Deserialize;
use serde_json::json;

use super::off_thread;
use crate::error::Result;
use crate::providers::ToolSpec;
use crate::tools::input::{self, wrong};
use crate::tools::place::ProjectDirectory;
use crate::tools::{Output, Plan, Prepared, Tool, files};

/// Lines that are returned when the model does not say.
const LINES: usize = 2000;

/// Bytes that are returned at most.
const MOST_BYTES: usize = 100_000;

/// A line is cut after so many bytes.
const LONGEST_LINE: usize = 2000;

/// Larger files are not looked through; a command can cut out what is needed.
const LARGEST_FILE: u64 = 50_000_000;

/// Reads a text file.
#[derive(Debug)]
pub(super) struct ReadTool {
    spec: ToolSpec,
    project: ProjectDirectory,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

impl ReadTool {
    pub(super) fn new(project: ProjectDirectory) -> Self {
        let spec = input::spec(
            "read",
            "Reads a text file and returns its lines with their numbers.",
            json!({
                "path": {"type": "string", "description": "The file, relative to the project or absolute."},
                "offset": {"type": "integer", "minimum": 1, "description": "The first line to return; 1 when left out."},
                "limit": {"type": "integer", "minimum": 1, "description": format!("How many lines; {LINES} when left out.")},
            }),
            &["path"],
        );
        Self { spec, project }
    }
}

impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: &Json) -> Result<Prepared> {
        let ReadInput { path, offset, limit } = input::read(input)?;
        let (offset, limit) = (offset.unwrap_or(1), limit.unwrap_or(LINES));
        if offset == 0 || limit == 0 {
            return Err(wrong("`offset` and `limit` start at 1".to_owned()));
        }
        let place = self.project.resolve(&path)?;
        let subject = place.subject("read");
        let mut plan = Plan::new(format!("Read `{}`", place.shown()), &subject);
        if place.is_inside() {
            plan = plan.harmless();
        }
        Ok(Prepared::new(plan, subject, off_thread(move || read(&place.path, &place.shown(), offset, limit))))
    }
}

fn read(path: &Path, shown: &str, offset: usize, limit: usize) -> Output {
    let outcome = files::open(path).and_then(|file| lines(file, offset, limit));
    match outcome {
        Ok(ReadContent::Text(text)) => Output::text(text),
        Ok(ReadContent::Image(kind, bytes)) => Output::failure(format!(
            "`{shown}` is an image ({kind}, {bytes} bytes), and this tool reads text only"
        )),
        Ok(ReadContent::Binary(bytes)) => {
            Output::failure(format!("`{shown}` is not a text file ({bytes} bytes)"))
        }
        Ok(ReadContent::TooLarge(bytes)) => Output::failure(format!(
            "`{shown}` has {bytes} bytes, which is too much to read; use `find`, or a command such as `sed -n 1,100p`"
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Output::failure(format!("there is no file `{shown}`"))
        }
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            Output::failure(format!("`{shown}` is a directory; use `list`"))
        }
        Err(error) => Output::failure(format!("cannot read `{shown}`: {error}")),
    }
}

enum ReadContent {
    Text(String),
    Image(&'static str, u64),
    Binary(u64),
    TooLarge(u64),
}

fn lines(mut file: File, offset: usize, limit: usize) -> io::Result<ReadContent> {
    let size = file.metadata()?.len();
    let mut start = Vec::new();
    file.by_ref().take(8192).read_to_end(&mut start)?;
    if let Some(kind) = image(&start) {
        return Ok(ReadContent::Image(kind, size));
    }
    if start.contains(&0) {
        return Ok(ReadContent::Binary(size));
    }
    if size > LARGEST_FILE {
        return Ok(ReadContent::TooLarge(size));
    }
    file.rewind()?;
    let mut reader = BufReader::new(file.take(LARGEST_FILE));
    let (mut text, mut number, mut line) = (String::new(), 0, Vec::new());
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        if number < offset {
            continue;
        }
        if number - offset == limit || text.len() > MOST_BYTES {
            text.push_str(&format!("[the file goes on; read further with offset {number}]\n"));
            return Ok(ReadContent::Text(text));
        }
        text.push_str(&format!("{number:>6}\t{}\n", cut(&line)));
    }
    Ok(ReadContent::Text(match (text.is_empty(), number) {
        (false, _) => text,
        (true, 0) => "(the file is empty)".to_owned(),
        (true, _) => format!("(the file has {number} lines only)"),
    }))
}

fn cut(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if line.len() <= LONGEST_LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    let kept = String::from_utf8_lossy(&line[..LONGEST_LINE]);
    format!("{} [{} bytes left out]", kept.trim_end_matches('\u{fffd}'), line.len() - LONGEST_LINE)
}

/// What kind of image begins with these bytes.
fn image(start: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 5] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"BM", "image/bmp"),
        (b"II*\0", "image/tiff"),
    ];
    let is_webp = start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP");
    let known =
        kinds.iter().find(|(magic, _)| start.starts_with(magic) && start.contains(&0)).map(|(_, kind)| *kind);
    known.or(is_webp.then_some("image/webp"))
}
