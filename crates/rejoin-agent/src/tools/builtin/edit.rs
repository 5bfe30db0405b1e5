//! Replaces a text in a file by another.

use rejoin::Json;
use serde::Deserialize;
use serde_json::json;

use super::write::{current, failing, replace};
use crate::error::Result;
use crate::providers::ToolSpec;
use crate::tools::files::ExistingContent;
use crate::tools::input::{self, wrong};
use crate::tools::place::ProjectDirectory;
use crate::tools::{Plan, Prepared, Tool, diff};

/// Line numbers that a message names.
const MOST_PLACES: usize = 10;

/// Replaces a text in a file by another.
#[derive(Debug)]
pub(super) struct EditTool {
    spec: ToolSpec,
    project: ProjectDirectory,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditInput {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    replace_all: bool,
}

impl EditTool {
    pub(super) fn new(project: ProjectDirectory) -> Self {
        let spec = input::spec(
            "edit",
            "Replaces a text in a file by another. The old text must be exactly as in the file, white space included, \
             without line numbers, and must occur once, unless all occurrences are to be replaced.",
            json!({
                "path": {"type": "string", "description": "The file, relative to the project or absolute."},
                "old": {"type": "string", "description": "The text to replace."},
                "new": {"type": "string", "description": "What stands there instead."},
                "replace_all": {"type": "boolean", "description": "Whether every occurrence is replaced; false when left out."},
            }),
            &["path", "old", "new"],
        );
        Self { spec, project }
    }
}

impl Tool for EditTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: &Json) -> Result<Prepared> {
        let EditInput { path, old, new, replace_all } = input::read(input)?;
        if old.is_empty() || old == new {
            return Err(wrong("`old` must not be empty, and must differ from `new`".to_owned()));
        }
        let occurrences = if replace_all { Occurrences::All } else { Occurrences::One };
        let place = self.project.resolve(&path)?;
        let shown = place.shown();
        let subject = place.subject("edit");
        let plan = Plan::new(format!("Edit `{shown}`"), &subject);
        let edited = current(&place).and_then(|was| {
            let (content, lines) = edit(&shown, &was, &old, &new, occurrences)?;
            Ok((was, content, lines))
        });
        let (was, content, lines) = match edited {
            Ok(edited) => edited,
            Err(error) => return Ok(failing(&place, plan, subject, error)),
        };
        let plan = plan.with_detail(diff::unified(&shown, &was, &content));
        let told = match lines[..] {
            [line] => format!("edited `{shown}`, line {line}"),
            _ => format!("edited `{shown}` in {} places", lines.len()),
        };
        Ok(Prepared::new(plan, subject, replace(place, was, content, told)))
    }
}

/// How often the old text may occur.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Occurrences {
    One,
    All,
}

/// What the file would hold, and the lines that change.
fn edit(
    shown: &str,
    was: &ExistingContent,
    old: &str,
    new: &str,
    occurrences: Occurrences,
) -> Result<(String, Vec<usize>)> {
    let ExistingContent::Bytes(bytes) = was else {
        return Err(wrong(format!("there is no file `{shown}`; `write` creates one")));
    };
    let text = str::from_utf8(bytes).map_err(|_| wrong(format!("`{shown}` is not a text file")))?;
    let lines: Vec<usize> = text.match_indices(old).map(|(at, _)| line_of(text, at)).collect();
    if lines.is_empty() {
        return Err(wrong(missing(shown, text, old)));
    }
    if lines.len() > 1 && occurrences == Occurrences::One {
        let named: Vec<String> = lines.iter().take(MOST_PLACES).map(ToString::to_string).collect();
        return Err(wrong(format!(
            "`old` occurs {} times in `{shown}`, in lines {}; add text around it until it is unique, or set `replace_all`",
            lines.len(),
            named.join(", ")
        )));
    }
    Ok((text.replace(old, new), lines))
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Says why a text was not found, with what is likely meant.
fn missing(shown: &str, text: &str, old: &str) -> String {
    let start = format!("`old` does not occur in `{shown}`");
    if text.contains("\r\n") && text.replace("\r\n", "\n").contains(&old.replace("\r\n", "\n")) {
        return format!("{start}: lines of the file end with `\\r\\n`");
    }
    let wanted: Vec<&str> = old.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some(first) = wanted.first() else { return start };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_same = |from: usize| {
        let here = lines[from..].iter().filter(|line| !line.is_empty());
        here.take(wanted.len()).eq(wanted.iter())
    };
    let begins = |from: &usize| lines[*from] == *first;
    match (0..lines.len()).filter(begins).find(|from| is_same(*from)) {
        Some(from) => format!("{start}: from line {} it is the same except for white space", from + 1),
        None => match (0..lines.len()).find(begins) {
            Some(from) => {
                format!("{start}: its first line is line {} of the file, but what follows differs", from + 1)
            }
            None => format!("{start}; read the file to see what it holds"),
        },
    }
}
