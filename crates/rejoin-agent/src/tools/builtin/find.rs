//! Finds text in files, or files by name.

use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use regex::bytes::{Regex, RegexBuilder};
use rejoin::Json;
use serde::Deserialize;
use serde_json::json;

use super::off_thread;
use crate::error::Result;
use crate::providers::ToolSpec;
use crate::tools::input::{self, wrong};
use crate::tools::place::{ProjectDirectory, ResolvedPath};
use crate::tools::walkable::can_be_walked;
use crate::tools::{Output, Plan, Prepared, Rules, Tool, files};

/// Matches that are returned when the model does not say, and at most.
const MATCHES: usize = 200;
const MOST_MATCHES: usize = 1000;

/// Bytes that are returned at most.
const MOST_BYTES: usize = 50_000;

/// A line is cut after so many bytes.
const LONGEST_LINE: usize = 300;

/// Larger files are passed over, and counted.
const LARGEST_FILE: u64 = 20_000_000;

/// A search takes no longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a directory is not searched.
const UNWALKABLE: &str = "its `.gitignore` or `.ignore` is not a regular file, or too large";

/// Finds text in files, or files by name.
#[derive(Debug)]
pub(super) struct FindTool {
    spec: ToolSpec,
    project: ProjectDirectory,
    rules: Arc<Mutex<Rules>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindInput {
    pattern: Option<String>,
    #[serde(default)]
    path: String,
    glob: Option<String>,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    hidden: bool,
    limit: Option<usize>,
}

impl FindTool {
    pub(super) fn new(project: ProjectDirectory, rules: Arc<Mutex<Rules>>) -> Self {
        let spec = input::spec(
            "find",
            "Finds text in the files below a directory and returns `file:line: text`; without a pattern, lists the \
             files whose path fits the glob. What `.gitignore` names, `.git` and files that are not text are passed over.",
            json!({
                "pattern": {"type": "string", "description": "A regular expression that is looked for in each line."},
                "path": {"type": "string", "description": "The directory or file to search; the project when left out."},
                "glob": {"type": "string", "description": "Only files whose path fits, such as `*.rs` or `src/**`."},
                "literal": {"type": "boolean", "description": "Whether the pattern is a plain text; false when left out."},
                "ignore_case": {"type": "boolean", "description": "Whether case does not matter; false when left out."},
                "hidden": {"type": "boolean", "description": "Whether names that begin with a dot are searched; false when left out."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_MATCHES, "description": format!("Matches to return; {MATCHES} when left out.")},
            }),
            &[],
        );
        Self { spec, project, rules }
    }
}

impl Tool for FindTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: &Json) -> Result<Prepared> {
        let input: FindInput = input::read(input)?;
        let place = self.project.resolve(&input.path)?;
        let summary = match (&input.pattern, &input.glob) {
            (Some(pattern), _) => format!("Find `{pattern}` in `{}`", place.shown()),
            (None, Some(glob)) => format!("Find files `{glob}` in `{}`", place.shown()),
            (None, None) => return Err(wrong("`pattern` or `glob` is needed".to_owned())),
        };
        let search = FileSearch::new(&input, &place, self.project.clone(), Arc::clone(&self.rules))?;
        let subject = place.subject("find");
        let mut plan = Plan::new(summary, &subject);
        if place.is_inside() {
            plan = plan.harmless();
        }
        Ok(Prepared::new(plan, subject, async move {
            let stop = SearchStop(Arc::clone(&search.is_stopped));
            let output = off_thread(move || search.run()).await;
            drop(stop);
            output
        }))
    }
}

/// Ends a search that nobody waits for any more.
struct SearchStop(Arc<AtomicBool>);

impl Drop for SearchStop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One search, ready to run.
struct FileSearch {
    root: ResolvedPath,
    walk: WalkBuilder,
    pattern: Option<Regex>,
    limit: usize,
    project: ProjectDirectory,
    rules: Arc<Mutex<Rules>>,
    is_stopped: Arc<AtomicBool>,
}

/// What a search has found.
#[derive(Default)]
struct FileMatches {
    text: String,
    count: usize,
    too_large: usize,
    is_cut: bool,
}

impl FileSearch {
    fn new(
        input: &FindInput,
        place: &ResolvedPath,
        project: ProjectDirectory,
        rules: Arc<Mutex<Rules>>,
    ) -> Result<Self> {
        let pattern = input.pattern.as_ref().map(|pattern| {
            let pattern = if input.literal { regex::escape(pattern) } else { pattern.clone() };
            RegexBuilder::new(&pattern)
                .case_insensitive(input.ignore_case)
                .size_limit(1 << 20)
                .build()
                .map_err(|cause| wrong(format!("the pattern is not a regular expression: {cause}")))
        });
        let mut walk = WalkBuilder::new(&place.path);
        walk.hidden(!input.hidden)
            .follow_links(false)
            .require_git(false)
            .git_global(false)
            // A `.git` that is a file names the directory that this would be read in.
            .git_exclude(false)
            .parents(place.path.ancestors().skip(1).all(can_be_walked))
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(|entry| {
                (entry.file_name() != ".git" || entry.depth() == 0)
                    && (!entry.file_type().is_some_and(|kind| kind.is_dir()) || can_be_walked(entry.path()))
            });
        if let Some(glob) = &input.glob {
            let mut only = OverrideBuilder::new(&place.path);
            let built = only.add(glob).and_then(|only| only.build());
            walk.overrides(built.map_err(|cause| wrong(format!("the glob `{glob}` is wrong: {cause}")))?);
        }
        let limit = input.limit.unwrap_or(MATCHES).clamp(1, MOST_MATCHES);
        Ok(Self {
            root: place.clone(),
            walk,
            pattern: pattern.transpose()?,
            limit,
            project,
            rules,
            is_stopped: Arc::default(),
        })
    }

    fn run(self) -> Output {
        // A link put in its place since then would be followed by the walk.
        if let Err(error) = files::open_directory(&self.root.path)
            .map(drop)
            .or_else(|_| files::open(&self.root.path).map(drop))
        {
            return Output::failure(format!("cannot search `{}`: {error}", self.root.shown()));
        }
        if !can_be_walked(&self.root.path) {
            return Output::failure(format!("cannot search `{}`: {UNWALKABLE}", self.root.shown()));
        }
        let started = Instant::now();
        let mut findings = FileMatches::default();
        for entry in self.walk.build() {
            if self.is_stopped.load(Ordering::Relaxed) || started.elapsed() > PATIENCE {
                findings.is_cut = true;
                break;
            }
            // A directory that cannot be read, or is gone, does not end the search.
            let Ok(entry) = entry else { continue };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let place = self.project.place(entry.into_path());
            if self.is_hidden(&place) {
                continue;
            }
            match &self.pattern {
                None => findings.add(&place.shown()),
                Some(pattern) => self.look(&place.path, &place.shown(), pattern, &mut findings),
            }
            if findings.count >= self.limit || findings.text.len() > MOST_BYTES {
                findings.is_cut = true;
                break;
            }
        }
        Output::text(findings.into_text())
    }

    fn is_hidden(&self, place: &ResolvedPath) -> bool {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.hides(&place.subject("find"))
    }

    fn look(&self, path: &Path, shown: &str, pattern: &Regex, findings: &mut FileMatches) {
        let Ok(file) = files::open(path) else { return };
        let mut bytes = Vec::new();
        if file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).is_err() {
            return;
        }
        if bytes.len() as u64 > LARGEST_FILE {
            findings.too_large += 1;
            return;
        }
        if bytes[..bytes.len().min(8192)].contains(&0) {
            return;
        }
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if pattern.is_match(line) {
                findings.add(&format!("{shown}:{}: {}", number + 1, cut(line)));
                if findings.count >= self.limit {
                    return;
                }
            }
        }
    }
}

impl FileMatches {
    fn add(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.count += 1;
    }

    fn into_text(mut self) -> String {
        if self.count == 0 && !self.is_cut {
            self.text.push_str("nothing found\n");
        }
        if self.is_cut {
            self.text.push_str("[the search was cut short here; make it narrower to see the rest]\n");
        }
        if self.too_large > 0 {
            self.text.push_str(&format!("[{} large files were passed over]\n", self.too_large));
        }
        self.text
    }
}

fn cut(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let kept = String::from_utf8_lossy(&line[..line.len().min(LONGEST_LINE)]);
    if line.len() <= LONGEST_LINE {
        kept.into_owned()
    } else {
        format!("{}…", kept.trim_end_matches('\u{fffd}'))
    }
}
