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

use crate::formats::fixtures::every;
use crate::formats::{fixture, read};

/// Much smaller than what is real, so that going beyond it is quick.
const LIMITS: ReadLimits = ReadLimits { line_bytes: 1 << 20, file_bytes: 1 << 30, ratio: 1_000, depth: 120 };

/// The formats whose files are text.
const TEXTS: [&str; 6] = ["aider", "chatgpt", "claude", "claude-ai", "codex", "gemini"];

const CLAUDE: &str = "claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl";

/// A file that is made of a fixture: its path, and the format of the fixture.
struct Made {
    _directory: TempDir,
    path: PathBuf,
    format: &'static Format,
}

impl Made {
    /// A file with the name of a fixture and these bytes.
    fn new(source: &Source, format: &'static Format, bytes: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(source.path().file_name().unwrap());
        fs::write(&path, bytes).unwrap();
        Self { _directory: directory, path, format }
    }

    /// Imports it as what the fixture is. After an error nothing is there; after none, what is there is sound and whole.
    fn import(&self, limits: ReadLimits) -> Result<Imported, String> {
        let archive = Archive::open("memory:").unwrap();
        let source = Source::open(&self.path).map_err(|error| format!("{error:?}"))?;
        let import = || {
            let mode = ImportMode::Store;
            let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
            archive.import(&source, self.format, &mut how)
        };
        match import() {
            Err(error) => {
                assert_eq!(archive.list(&Default::default()).unwrap().items, [], "{}", self.path.display());
                Err(format!("{error:?}"))
            }
            Ok(imported) => {
                for found in &imported.conversations {
                    assert!(archive.verify(found.id).unwrap().is_sound(), "{}", self.path.display());
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

/// The fixtures that are files, with their bytes.
fn files() -> Vec<(Source, &'static Format, Vec<u8>)> {
    let files = every().into_iter().filter(|(source, _)| !source.is_directory());
    files
        .map(|(source, format)| {
            let bytes = fs::read(source.path()).unwrap();
            (source, format, bytes)
        })
        .collect()
}

/// The fixtures that are text.
fn texts() -> Vec<(Source, &'static Format, String)> {
    let is_text = |format: &Format| TEXTS.contains(&format.name);
    files()
        .into_iter()
        .filter(|(_, format, _)| is_text(format))
        .filter_map(|(source, format, bytes)| Some((source, format, String::from_utf8(bytes).ok()?)))
        .collect()
}

/// One fixture of each format that is text.
fn one_of_each() -> Vec<(Source, &'static Format, String)> {
    let mut each = texts();
    each.dedup_by_key(|(_, format, _)| format.name);
    each
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, rng_seed: RngSeed::Fixed(2_026), ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_never_stops_the_program(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let files = files();
        let (source, format, mut bytes) = which.get(&files).clone();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let end = cut.index(bytes.len());

        Made::new(&source, format, &bytes).survive();
        Made::new(&source, format, &bytes[..end]).survive();
    }

    #[test]
    fn lines_in_another_order_or_twice_never_stop_the_program(
        which in any::<prop::sample::Index>(), first in any::<prop::sample::Index>(), step in 1..50usize,
        twice in 1..5usize,
    ) {
        let texts = texts();
        let (source, format, text) = which.get(&texts);
        let lines: Vec<&str> = text.lines().collect();
        let first = first.index(lines.len());
        let mixed: Vec<&str> =
            (0..lines.len() * twice).map(|place| lines[(first + place * step) % lines.len()]).collect();

        Made::new(source, format, mixed.join("\n").as_bytes()).survive();
    }
}

#[test]
fn a_file_that_ends_anywhere_is_read_up_to_there() {
    for (source, format, bytes) in files() {
        for part in 0..32 {
            let end = bytes.len() * part / 32;
            let _ = Made::new(&source, format, &bytes[..end]).import(LIMITS);
        }
    }
}

#[test]
fn a_line_of_ten_gigabytes_is_an_error_and_soon() {
    let start = Instant::now();
    for (source, format, text) in one_of_each() {
        // The middle of a file is the middle of a text; the zeros that follow take no room on the disk.
        let middle = (text.len() / 2..).find(|place| text.is_char_boundary(*place)).unwrap();
        let made = Made::new(&source, format, &text.as_bytes()[..middle]);
        OpenOptions::new().write(true).open(&made.path).unwrap().set_len(10 << 30).unwrap();

        let error = made.import(ReadLimits { file_bytes: 64 << 30, ..LIMITS }).unwrap_err();

        assert!(error.contains("more than 1048576 bytes"), "{}: {error}", format.name);
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn deep_nesting_is_skipped_and_told() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (source, format, text) in one_of_each().into_iter().filter(|(_, format, _)| format.name != "aider") {
        let made = match text.strip_prefix('[') {
            Some(rest) => format!("[{{\"mapping\":{deep}}},{rest}"),
            None => format!("{text}\n{{\"deep\":{deep}}}\n"),
        };

        let imported = Made::new(&source, format, made.as_bytes()).import(LIMITS).unwrap();

        let why: Vec<&str> = imported.reasons.iter().map(|skipped| skipped.why.as_str()).collect();
        assert!(why.contains(&"it nests too deep"), "{}: {why:?}", format.name);
        assert!(imported.added() > 0, "{}", format.name);
    }
}

#[test]
fn a_mark_before_the_text_changes_nothing() {
    for (source, format, text) in texts() {
        let marked = Made::new(&source, format, format!("\u{feff}{text}").as_bytes());
        let plain = Made::new(&source, format, text.as_bytes());

        let found = Sources::find(&marked.path, None).unwrap().found;
        let (marked, plain) = (marked.import(LIMITS).unwrap(), plain.import(LIMITS).unwrap());

        let path = source.path().display();
        assert_eq!(found[0].1.name, format.name, "{path}");
        assert_eq!((marked.added(), marked.skipped), (plain.added(), plain.skipped), "{path}");
    }
}

#[test]
fn another_encoding_is_an_error_or_told() {
    for (source, format, text) in one_of_each() {
        let wide: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        let latin: Vec<u8> = text.replace("u", "\u{fc}").chars().map(|letter| letter as u8).collect();

        let error = Made::new(&source, format, &wide).import(LIMITS).unwrap_err();
        let told = Made::new(&source, format, &latin).import(LIMITS);

        assert!(error.contains("the text is UTF-16; only UTF-8 can be read"), "{}: {error}", format.name);
        assert!(told.is_ok_and(|imported| imported.skipped > 0), "{}", format.name);
    }
}

#[test]
fn a_compressed_bomb_is_an_error() {
    for (source, format, text) in one_of_each()
        .into_iter()
        .filter(|(_, format, _)| format.name != "chatgpt" && format.name != "claude-ai")
    {
        let mut bomb = zstd(&text);
        bomb.extend(zstd(&"x".repeat(50 << 20)));

        let error = Made::new(&source, format, &bomb).import(LIMITS).unwrap_err();

        assert!(error.contains("more than"), "{}: {error}", format.name);
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

/// The exports, each with its name and its text.
fn exports() -> Vec<(Source, &'static Format, String)> {
    texts().into_iter().filter(|(_, format, _)| matches!(format.name, "chatgpt" | "claude-ai")).collect()
}

#[test]
fn a_zip_that_explodes_is_an_error() {
    for (source, format, text) in exports() {
        let item =
            zipped("conversations.json", format!("{}{}", &text[..100], "x".repeat(50 << 20)).as_bytes());
        let blank = zipped("conversations.json", format!("[{}", " ".repeat(50 << 20)).as_bytes());
        let ratio = zipped("conversations.json", format!("[{}{text}", "{},".repeat(3 << 20)).as_bytes());
        let limits = [LIMITS, LIMITS, ReadLimits { ratio: 10, ..LIMITS }];

        let errors: Vec<String> = [item, blank, ratio]
            .iter()
            .zip(limits)
            .map(|(bytes, limits)| Made::new(&source, format, bytes).import(limits).unwrap_err())
            .collect();

        assert!(errors.iter().all(|error| error.contains("more than")), "{}: {errors:?}", format.name);
    }
}

#[test]
fn a_zip_that_is_broken_encrypted_or_of_another_kind_is_an_error() {
    for (source, format, text) in exports() {
        let whole = zipped("conversations.json", text.as_bytes());
        let mut locked = whole.clone();
        let directory = memchr::memmem::find(&locked, b"PK\x01\x02").unwrap();
        locked[6] |= 1;
        locked[directory + 8] |= 1;
        let mut flipped = whole.clone();
        flipped[200] ^= 0xff;
        let made = [whole[..whole.len() / 2].to_vec(), locked, flipped, zipped("users.json", b"[]")];

        let errors = made.map(|bytes| Made::new(&source, format, &bytes).import(LIMITS).unwrap_err());

        assert!(errors[0].contains("is not a zip that can be read"), "{}", errors[0]);
        assert!(errors[1].contains("is encrypted"), "{}", errors[1]);
        assert!(errors[2].contains("read `"), "{}", errors[2]);
        assert!(errors[3].contains("there is no `conversations.json` in the zip"), "{}", errors[3]);
    }
}

#[test]
fn names_in_a_zip_are_not_paths() {
    for (source, format, text) in exports() {
        let bytes = zipped("../../../conversations.json", text.as_bytes());
        let made = Made::new(&source, format, &bytes);

        let imported = made.import(LIMITS).unwrap();

        let beside = fs::read_dir(made.path.parent().unwrap()).unwrap().count();
        assert_eq!((imported.conversations.len(), beside), (2, 1));
    }
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

    let counts = [read(&path).conversations.len(), read(&claude).conversations.len()];

    assert_eq!(counts, [1, 1]);
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
