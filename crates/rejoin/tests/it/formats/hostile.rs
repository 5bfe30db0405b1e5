//! Files that are damaged, or made to do harm: a clear answer, nothing by halves, never a panic.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rejoin::formats::{FORMATS, Format, ReadLimits, Source, Sources, Tree};
use rejoin::{Archive, Import, ImportMode, Imported};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

use crate::formats::documents::read_as_anything;
use crate::formats::fixtures::every;
use crate::formats::{fixture, read};

/// Much smaller than what is real, so that going beyond it is quick.
const LIMITS: ReadLimits = ReadLimits { line_bytes: 1 << 20, file_bytes: 1 << 30, ratio: 1_000, depth: 120 };

/// The formats whose files are text.
const TEXTS: [&str; 9] =
    ["agent-voice", "aider", "chatgpt", "claude", "claude-ai", "codex", "cody", "envoy", "gemini"];

/// The formats that may be in a zip.
const EXPORTS: [&str; 2] = ["chatgpt", "claude-ai"];

const CLAUDE: &str = "claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl";

/// A file of a fixture.
#[derive(Clone)]
struct Part {
    /// The source: the file itself, or the directory that it is in.
    source: PathBuf,
    path: PathBuf,
    format: &'static Format,
    bytes: Vec<u8>,
}

impl Part {
    fn text(&self) -> &str {
        str::from_utf8(&self.bytes).unwrap()
    }

    /// The fixture with other bytes in this file, in a directory of its own.
    fn with(&self, bytes: &[u8]) -> Made {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(self.source.file_name().unwrap());
        copy(&self.source, &path);
        let below = self.path.strip_prefix(&self.source).unwrap();
        let file = if below.as_os_str().is_empty() { path.clone() } else { path.join(below) };
        fs::write(file, bytes).unwrap();
        Made { _directory: directory, path, format: self.format }
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::write(to, fs::read(from).unwrap()).unwrap();
        return;
    }
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// A source that is made of a fixture.
struct Made {
    _directory: TempDir,
    path: PathBuf,
    format: &'static Format,
}

impl Made {
    /// Imports it as what the fixture is. After an error nothing is there; after
    /// none, what is there is sound and whole.
    fn import(&self, limits: ReadLimits) -> Result<Imported, String> {
        let archive = Archive::open("memory:").unwrap();
        let source = Source::open(&self.path).map_err(|error| format!("{error:?}"))?;
        let import = || {
            let mode = ImportMode::Store;
            let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
            archive.imports().add(&source, self.format, &mut how)
        };
        match import() {
            Err(error) => {
                assert_eq!(archive.list(&Default::default()).unwrap().items, [], "{}", self.path.display());
                Err(format!("{error:?}"))
            }
            Ok(imported) => {
                for found in &imported.conversations {
                    assert!(
                        archive.maintenance().verify(found.id).unwrap().is_sound(),
                        "{}",
                        self.path.display()
                    );
                }
                assert_eq!(import().unwrap().added(), 0, "{}", self.path.display());
                Ok(imported)
            }
        }
    }

    /// Imports it, and reads it as every format; whatever is read can be written by every format.
    fn survive(&self) {
        let _ = self.import(LIMITS);
        let Ok(source) = Source::open(&self.path) else { return };
        for format in FORMATS {
            let _ = format.detect(&source);
            if let Ok(tree) = Tree::gather(LIMITS, |reading| format.read(&source, reading)) {
                FORMATS.iter().for_each(|format| drop(format.write(&tree)));
            }
        }
    }
}

/// Every file of every fixture.
fn parts() -> Vec<Part> {
    let mut parts = Vec::new();
    for (source, format) in every() {
        add_parts(source.path(), source.path(), format, &mut parts);
    }
    parts
}

fn add_parts(source: &Path, path: &Path, format: &'static Format, parts: &mut Vec<Part>) {
    if path.is_file() {
        let bytes = fs::read(path).unwrap();
        return parts.push(Part { source: source.to_owned(), path: path.to_owned(), format, bytes });
    }
    for entry in fs::read_dir(path).unwrap() {
        add_parts(source, &entry.unwrap().path(), format, parts);
    }
}

/// The files that are text, of these formats.
fn texts(formats: &[&str]) -> Vec<Part> {
    let is_text = |part: &Part| formats.contains(&part.format.name) && str::from_utf8(&part.bytes).is_ok();
    parts().into_iter().filter(is_text).collect()
}

/// One fixture of each of these formats.
fn one_of_each(formats: &[&str]) -> Vec<Part> {
    let mut each = texts(formats);
    each.dedup_by_key(|part| part.format.name);
    each
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, rng_seed: RngSeed::Fixed(2_026), ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_never_stops_the_program(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let parts = parts();
        let part = which.get(&parts);
        let mut bytes = part.bytes.clone();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let end = cut.index(bytes.len());

        part.with(&bytes).survive();
        part.with(&bytes[..end]).survive();
    }

    #[test]
    fn lines_in_another_order_or_twice_never_stop_the_program(
        which in any::<prop::sample::Index>(), first in any::<prop::sample::Index>(), step in 1..50usize,
        twice in 1..5usize,
    ) {
        let texts: Vec<Part> = parts().into_iter().filter(|part| str::from_utf8(&part.bytes).is_ok()).collect();
        let part = which.get(&texts);
        let lines: Vec<&str> = part.text().lines().collect();
        let first = first.index(lines.len());
        let mixed: Vec<&str> =
            (0..lines.len() * twice).map(|place| lines[(first + place * step) % lines.len()]).collect();

        part.with(mixed.join("\n").as_bytes()).survive();
    }
}

#[test]
fn a_file_that_ends_anywhere_is_read_up_to_there() {
    for part in parts() {
        for place in 0..32 {
            let end = part.bytes.len() * place / 32;
            let _ = part.with(&part.bytes[..end]).import(LIMITS);
        }
    }
}

#[test]
fn a_line_of_ten_gigabytes_is_an_error_and_soon() {
    let start = Instant::now();
    for part in one_of_each(&TEXTS) {
        let (text, name) = (part.text(), part.format.name);
        // The middle of a file is the middle of a text; the zeros that follow take no room on the disk.
        let middle = (text.len() / 2..).find(|place| text.is_char_boundary(*place)).unwrap();
        let made = part.with(&text.as_bytes()[..middle]);
        OpenOptions::new().write(true).open(&made.path).unwrap().set_len(10 << 30).unwrap();

        let error = made.import(ReadLimits { file_bytes: 64 << 30, ..LIMITS }).unwrap_err();

        assert!(error.contains("more than 1048576 bytes"), "{name}: {error}");
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn deep_nesting_is_skipped_and_told() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for part in one_of_each(&["chatgpt", "claude", "claude-ai", "codex", "gemini"]) {
        let (text, name) = (part.text(), part.format.name);
        let made = match text.strip_prefix('[') {
            Some(rest) => format!("[{{\"mapping\":{deep}}},{rest}"),
            None => format!("{text}\n{{\"deep\":{deep}}}\n"),
        };

        let imported = part.with(made.as_bytes()).import(LIMITS).unwrap();

        let why: Vec<&str> = imported.reasons.iter().map(|skipped| skipped.why.as_str()).collect();
        assert!(why.contains(&"it nests too deep"), "{name}: {why:?}");
        assert!(imported.added() > 0, "{name}");
    }
}

#[test]
fn a_mark_before_the_text_changes_nothing() {
    for part in texts(&TEXTS) {
        let (text, name) = (part.text(), part.format.name);
        let marked = part.with(format!("\u{feff}{text}").as_bytes());
        let plain = part.with(text.as_bytes());

        let found = Sources::find(&marked.path, None).unwrap().found;
        let (marked, plain) = (marked.import(LIMITS).unwrap(), plain.import(LIMITS).unwrap());

        let path = part.path.display();
        assert_eq!(found[0].1.name, name, "{path}");
        assert_eq!((marked.added(), marked.skipped), (plain.added(), plain.skipped), "{path}");
    }
}

#[test]
fn another_encoding_is_an_error_or_told() {
    for part in one_of_each(&TEXTS) {
        let (text, name) = (part.text(), part.format.name);
        let wide: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        let latin: Vec<u8> = text.replace("u", "\u{fc}").chars().map(|letter| letter as u8).collect();

        let error = part.with(&wide).import(LIMITS).unwrap_err();
        let told = part.with(&latin).import(LIMITS);

        assert!(error.contains("the text is UTF-16; only UTF-8 can be read"), "{name}: {error}");
        let is_told = match &told {
            Ok(imported) => imported.skipped > 0,
            Err(error) => error.contains("it is not UTF-8"),
        };
        assert!(is_told, "{name}: {told:?}");
    }
}

#[test]
fn a_compressed_bomb_is_an_error() {
    for part in one_of_each(&["aider", "claude", "codex", "gemini"]) {
        let (text, name) = (part.text(), part.format.name);
        let mut bomb = zstd(text);
        bomb.extend(zstd(&"x".repeat(50 << 20)));

        let error = part.with(&bomb).import(LIMITS).unwrap_err();

        assert!(error.contains("more than"), "{name}: {error}");
    }
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 3).unwrap()
}

/// A zip with one file.
fn zipped(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file(name, SimpleFileOptions::default()).unwrap();
    zip.write_all(contents).unwrap();
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_zip_that_explodes_is_an_error() {
    for part in texts(&EXPORTS) {
        let (text, name) = (part.text(), part.format.name);
        let item =
            zipped("conversations.json", format!("{}{}", &text[..100], "x".repeat(50 << 20)).as_bytes());
        let blank = zipped("conversations.json", format!("[{}", " ".repeat(50 << 20)).as_bytes());
        let ratio = zipped("conversations.json", format!("[{}{text}", "{},".repeat(3 << 20)).as_bytes());
        let limits = [LIMITS, LIMITS, ReadLimits { ratio: 10, ..LIMITS }];

        let errors: Vec<String> = [item, blank, ratio]
            .iter()
            .zip(limits)
            .map(|(bytes, limits)| part.with(bytes).import(limits).unwrap_err())
            .collect();

        assert!(errors.iter().all(|error| error.contains("more than")), "{name}: {errors:?}");
    }
}

#[test]
fn a_zip_that_is_broken_encrypted_or_of_another_kind_is_an_error() {
    for part in texts(&EXPORTS) {
        let text = part.text();
        let whole = zipped("conversations.json", text.as_bytes());
        let mut locked = whole.clone();
        let directory = memchr::memmem::find(&locked, b"PK\x01\x02").unwrap();
        locked[6] |= 1;
        locked[directory + 8] |= 1;
        let mut flipped = whole.clone();
        flipped[200] ^= 0xff;
        let made = [whole[..whole.len() / 2].to_vec(), locked, flipped, zipped("users.json", b"[]")];

        let errors = made.map(|bytes| part.with(&bytes).import(LIMITS).unwrap_err());

        assert!(errors[0].contains("is not a zip that can be read"), "{}", errors[0]);
        assert!(errors[1].contains("is encrypted"), "{}", errors[1]);
        assert!(errors[2].contains("read `"), "{}", errors[2]);
        assert!(errors[3].contains("there is no `conversations.json` in the zip"), "{}", errors[3]);
    }
}

#[test]
fn names_in_a_zip_are_not_paths() {
    for part in texts(&EXPORTS) {
        let text = part.text();
        let bytes = zipped("../../../conversations.json", text.as_bytes());
        let made = part.with(&bytes);

        let imported = made.import(LIMITS).unwrap();

        let beside = fs::read_dir(made.path.parent().unwrap()).unwrap().count();
        assert_eq!((imported.conversations.len(), beside), (2, 1));
    }
}

#[test]
fn what_nests_too_deep_in_a_database_is_told_or_kept_as_text() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let directory = tempfile::tempdir().unwrap();
    let damaged = |name: &str, sql: &str| {
        let path = directory.path().join(Path::new(name).file_name().unwrap());
        fs::copy(fixture(name), &path).unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute(sql, [&deep]).unwrap();
        read_as_anything(&path);
        read(&path)
    };

    let goose = damaged("goose/sessions.db", "UPDATE messages SET content_json = ?1 WHERE id = 1");
    let llm = damaged(
        "llm/logs-0.36.db",
        "UPDATE parts SET payload = ?1, text = NULL, type = 'tool_call' WHERE id = 1",
    );
    let opencode =
        damaged("opencode/opencode.db", "UPDATE part SET data = ?1 WHERE id LIKE 'prt_1e06265de%'");

    assert_eq!(goose.skipped[0].why, "message 1: it nests too deep");
    assert_eq!(llm.messages.len(), 4);
    assert_eq!(opencode.skipped.len(), 1);
}

#[test]
fn links_and_pipes_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    symlink(fixture(CLAUDE), directory.path().join("link.jsonl")).unwrap();
    symlink(directory.path(), directory.path().join("circle")).unwrap();
    let pipe = directory.path().join("pipe.jsonl");
    make_pipe(&pipe);

    let found = Sources::find(directory.path(), None).unwrap();

    assert_eq!((found.found.len(), found.others), (0, 0));
    assert!(Source::open(Path::new("/dev/null")).is_err());
    assert!(Source::open(&pipe).is_err());
}

/// A pipe that nobody writes to: whoever opens it waits for ever.
fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn pipes_and_links_beside_a_source_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let chats = directory.path().join("tmp/short/chats");
    let session = "9b591c14-ca6c-49fb-9a2c-16a0b5bd5bcb";
    fs::create_dir_all(chats.join(session)).unwrap();
    let path = chats.join("session-2026-11-15T18-09-9b591c14.jsonl");
    fs::copy(fixture("gemini/tmp/gem2/chats/session-2026-11-15T18-09-9b591c14.jsonl"), &path).unwrap();
    make_pipe(&directory.path().join("tmp/short/.project_root"));
    make_pipe(&directory.path().join("projects.json"));
    make_pipe(&chats.join(session).join("run.jsonl"));
    symlink(fixture(CLAUDE), chats.join(session).join("link.jsonl")).unwrap();
    let claude = directory.path().join("c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl");
    fs::copy(fixture(CLAUDE), &claude).unwrap();
    fs::create_dir_all(claude.with_extension("").join("subagents")).unwrap();
    make_pipe(&claude.with_extension("").join("subagents/agent-x.jsonl"));

    let codex = directory.path().join("sessions/rollout.jsonl");
    fs::create_dir_all(codex.parent().unwrap()).unwrap();
    fs::copy(fixture("codex/compacted-0.166.jsonl"), &codex).unwrap();
    make_pipe(&directory.path().join("session_index.jsonl"));

    let counts = [&path, &claude, &codex].map(|path| read(path).conversations.len());

    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn an_id_that_leads_elsewhere_reads_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tmp/short/chats/session-2026-05-01T10-00-aaaaaaaa.jsonl");
    let secret = directory.path().join("tmp/secret");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::create_dir_all(&secret).unwrap();
    fs::copy(
        fixture("gemini/tmp/gem2/chats/session-2026-11-15T18-10-b4b697d1.jsonl"),
        secret.join("x.jsonl"),
    )
    .unwrap();
    let lines = r#"{"sessionId":"../../secret","projectHash":"h"}
{"id":"u","type":"user","content":"hello"}"#;
    File::create(&path).unwrap().write_all(lines.as_bytes()).unwrap();

    assert_eq!(read(&path).conversations.len(), 1);
}

#[test]
fn names_that_lead_elsewhere_stay_where_they_are() {
    let mut tree = read(&fixture(CLAUDE));
    let run = tree.conversations[1].parent.as_mut().unwrap();
    run.run = "../../../../etc/x".to_owned();
    run.name = "../../y".to_owned();
    tree.conversations[0].header.project = Some("/../../etc/\0".to_owned());
    tree.conversations[0].header.title = Some("../../title/../z".to_owned());
    for conversation in &mut tree.conversations {
        conversation.id = conversation.id.replace("c833a56b", "../../x");
    }
    for message in &mut tree.messages {
        message.conversation = message.conversation.replace("c833a56b", "../../x");
        message.id = format!("../../{}", message.id);
        message.parent = message.parent.take().map(|parent| format!("../../{parent}"));
    }

    let written: Vec<PathBuf> = FORMATS
        .iter()
        .filter(|format| format.can_write())
        .filter_map(|format| format.write(&tree).ok())
        .flatten()
        .map(|file| file.path)
        .collect();

    assert!(written.len() > 3, "{written:?}");
    let is_below =
        |path: &PathBuf| path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    assert!(written.iter().all(is_below), "{written:?}");
}
