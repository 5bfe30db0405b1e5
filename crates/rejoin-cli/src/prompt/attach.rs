//! Files that a message names with `@`: their content goes to the model beside the message.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rejoin::{Block, Fields, Json, Media, MediaKind, Message, Text};

use crate::context::Context;
use crate::error::Failure;
use crate::private;
use crate::project_file::{BoundedContent, FileReading, read_inside, read_own};
use crate::ui::{clean, size};

/// The largest text file that is attached: more crowds out the conversation.
const LARGEST_TEXT: usize = 256_000;

/// The largest image that is attached: providers take no larger ones.
const LARGEST_IMAGE: usize = 5_000_000;

/// The field of a text block whose text was attached, with what it was attached as. Such a block is folded.
const ATTACHED: &str = "attached";

/// What came of the names in a message.
#[derive(Debug, Default, PartialEq)]
pub(super) struct AttachedFiles {
    /// The message, with `@@` as `@`.
    pub(super) text: String,
    pub(super) blocks: Vec<Block>,
    /// A line about each file.
    pub(super) told: Vec<String>,
    names: BTreeSet<String>,
}

/// Reads the files that a message names. A name may be relative to the working directory, or absolute.
pub(super) fn attach(context: &Context, text: &str) -> Result<AttachedFiles, Failure> {
    let mut attached = AttachedFiles::default();
    let mut rest = text;
    // A text of several lines is often pasted, and there `@` begins other things too.
    let is_pasted = text.trim().contains('\n');
    while let Some(at) = mark(rest) {
        let (before, after) = rest.split_at(at);
        attached.text += before;
        if let Some(escaped) = after.strip_prefix("@@") {
            attached.text.push('@');
            rest = escaped;
            continue;
        }
        let Mention { name, length } = mention(after);
        attached.text += &after[..length];
        rest = &after[length..];
        match read(context, &name) {
            Ok(Some(file)) => attached.add(&name, file),
            Ok(None) if is_pasted || !looks_like_a_path(&name) => {}
            Ok(None) => {
                return Err(Failure::not_found(format!("there is no file `{name}`")).hint(format!(
                    "press Tab after @ to see the files, or type @@{name} to send it as text"
                )));
            }
            Err(_) if is_pasted => attached.told.push(format!("`{name}` is not attached.")),
            Err(failure) => return Err(failure),
        }
    }
    attached.text += rest;
    Ok(attached)
}

/// A text block that shows as `name` where a transcript is folded.
pub(super) fn folded(name: &str, text: String) -> Block {
    let mut extra = Fields::new();
    extra.set(ATTACHED, Json::of(&name).expect("a string is JSON"));
    Block::Text(Text { text, extra })
}

/// What a text was attached as, such as `@src/main.rs`; none of a text that somebody typed.
pub(crate) fn attached_as(text: &Text) -> Option<String> {
    text.extra.field(ATTACHED).map(|name| name.to().unwrap_or_default())
}

/// What a person typed of a message, without what was attached or what a program added to it. Of a message
/// that is nothing else, what it is called.
pub(super) fn typed(message: &Message) -> String {
    let (mut said, mut added) = (Vec::new(), Vec::new());
    for block in &message.blocks {
        let Block::Text(text) = block else { continue };
        if attached_as(text).is_some() {
            continue;
        }
        for (name, piece) in message.pieces(&text.text) {
            match name {
                Some(name) => added.push(format!("[{name}]")),
                None if piece.trim().is_empty() => {}
                None => said.push(piece.to_owned()),
            }
        }
    }
    if said.is_empty() { added.join("\n") } else { said.join("\n") }
}

/// True when the message has an image.
pub(super) fn has_image(blocks: &[Block]) -> bool {
    let is_image = |block: &Block| matches!(block, Block::Media(media) if media.kind == MediaKind::Image);
    blocks.iter().any(is_image)
}

/// Sets a text apart, so that the model knows where it begins and ends.
pub(super) fn delimited(tag: &str, name: &str, text: &str) -> String {
    let inner = text.trim_end().replace(&format!("</{tag}"), &format!("<\\/{tag}"));
    format!("<{tag} name={name:?}>\n{inner}\n</{tag}>")
}

/// Where the next `@` is that begins a word.
fn mark(text: &str) -> Option<usize> {
    let begins_word =
        |at: usize| text[..at].chars().next_back().is_none_or(|before| " \t\n(".contains(before));
    text.match_indices('@').map(|(at, _)| at).find(|at| begins_word(*at))
}

/// A name behind `@`.
struct Mention {
    name: String,
    /// How long it is in the message, with its mark.
    length: usize,
}

fn mention(text: &str) -> Mention {
    if let Some(quoted) = text.strip_prefix("@\"")
        && let Some(end) = quoted.find(['"', '\n'])
        && quoted[end..].starts_with('"')
    {
        return Mention { name: quoted[..end].to_owned(), length: end + 3 };
    }
    let word = text.split(char::is_whitespace).next().unwrap_or(text);
    // The end of a sentence is no part of a name.
    let name = word[1..].trim_end_matches([',', '.', ';', ':', '!', '?', ')']);
    Mention { name: name.to_owned(), length: 1 + name.len() }
}

/// A word that was certainly meant as a file. Others, such as `@anna`, are text.
fn looks_like_a_path(name: &str) -> bool {
    let is_plain = name.chars().all(|letter| letter.is_alphanumeric() || "._-/~ ".contains(letter));
    is_plain && name.contains(['.', '/'])
}

/// A file to attach.
enum Attachable {
    Text(String),
    Image(&'static str, Vec<u8>),
}

/// Reads a file; none when there is none.
fn read(context: &Context, name: &str) -> Result<Option<Attachable>, Failure> {
    if name.is_empty() {
        return Ok(None);
    }
    let attempt = || format!("attach `{name}`");
    let refused = |why: String| Failure::invalid(attempt()).because(why);
    match reading(context, name) {
        FileReading::Content(content) => attachable(content).map(Some).map_err(refused),
        FileReading::Absent => Ok(None),
        FileReading::Outside => Err(refused("it is a link that leads out of the project".to_owned())
            .hint("name the file itself, with its full path")),
        FileReading::Irregular => Err(refused("it is not a regular file".to_owned())),
        FileReading::Foreign(foreign) => Err(refused(foreign.to_string()).hint(private::remedy(&foreign))),
        FileReading::Failed(error) => Err(Failure::io(attempt(), error)),
    }
}

fn reading(context: &Context, name: &str) -> FileReading {
    let surroundings = &context.surroundings;
    if let Some(below) = name.strip_prefix("~/")
        && let Some(home) = &surroundings.home
    {
        return read_own(&home.join(below), LARGEST_IMAGE);
    }
    if Path::new(name).is_absolute() {
        return read_own(Path::new(name), LARGEST_IMAGE);
    }
    let working = &surroundings.working_directory;
    let project = context.config.project();
    let root = if working.starts_with(project) { project } else { working.as_path() };
    read_inside(&working.join(name), root, LARGEST_IMAGE)
}

fn attachable(content: BoundedContent) -> Result<Attachable, String> {
    if let Some(kind) = image_kind(&content.bytes) {
        if !content.is_whole {
            return Err(format!("it is larger than {}", size::bytes(LARGEST_IMAGE as u64)));
        }
        return Ok(Attachable::Image(kind, content.bytes));
    }
    let beginning = &content.bytes[..content.bytes.len().min(8 << 10)];
    if beginning.contains(&0) {
        return Err("it is neither text nor an image (PNG, JPEG, GIF, WebP)".to_owned());
    }
    if content.bytes.len() > LARGEST_TEXT {
        return Err(format!("it is larger than {}", size::bytes(LARGEST_TEXT as u64)));
    }
    let text = String::from_utf8(content.bytes)
        .map_err(|_| "it is neither UTF-8 text nor an image (PNG, JPEG, GIF, WebP)".to_owned())?;
    Ok(Attachable::Text(text))
}

/// The images that every provider with images takes.
fn image_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

impl AttachedFiles {
    fn add(&mut self, name: &str, file: Attachable) {
        // A file that is named again is attached already.
        if !self.names.insert(name.to_owned()) {
            return;
        }
        match file {
            Attachable::Text(text) => {
                let lines = size::count(text.lines().count() as u64, "line", "lines");
                self.told.push(format!("Attached {} ({lines}).", clean::line(name)));
                self.blocks.push(folded(&format!("@{name}"), delimited("file", name, &text)));
            }
            Attachable::Image(kind, bytes) => {
                let bytes_told = size::bytes(bytes.len() as u64);
                self.told.push(format!("Attached {} ({kind}, {bytes_told}).", clean::line(name)));
                self.blocks.push(Block::Media(Media {
                    kind: MediaKind::Image,
                    mime_type: kind.to_owned(),
                    data: Some(base64(&bytes)),
                    uri: None,
                    extra: Fields::new(),
                }));
            }
        }
    }
}

/// Bytes in base64, with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let number = group.iter().fold(0_u32, |number, byte| (number << 8) | u32::from(*byte))
            << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// The files that complete a name behind `@`: each with what it is.
pub(super) fn candidates(working: &Path, part: &str) -> Vec<(String, String)> {
    let part = part.trim_start_matches('@').trim_start_matches('"');
    let (folder, beginning) = part.rsplit_once('/').map_or(("", part), |(folder, name)| (folder, name));
    let place: PathBuf =
        if part.starts_with('/') { Path::new("/").join(folder) } else { working.join(folder) };
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    let mut found: Vec<(String, String)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !beginning.starts_with('.');
            // A name with control characters cannot be typed.
            if is_hidden || name.chars().any(char::is_control) {
                return None;
            }
            let is_folder = entry.path().is_dir();
            let path = if part.contains('/') { format!("{folder}/{name}") } else { name };
            let path = if is_folder { format!("{path}/") } else { path };
            let about = if is_folder { "folder" } else { "file" };
            let is_quoted = path.contains(char::is_whitespace) && !is_folder;
            Some((if is_quoted { format!("@\"{path}\"") } else { format!("@{path}") }, about.to_owned()))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));

        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn a_file_that_is_named_twice_is_attached_once() {
        let mut attached = AttachedFiles::default();

        attached.add("a.txt", Attachable::Text("one\n".to_owned()));
        attached.add("a.txt", Attachable::Text("one\n".to_owned()));

        assert_eq!((attached.told, attached.blocks.len()), (vec!["Attached a.txt (1 line).".to_owned()], 1));
    }

    #[test]
    fn a_name_ends_where_its_word_does() {
        let texts = ["@src/main.rs, please", "@a.txt.", "@\"my notes.txt\" and", "@\"open", "@", "@ a"];

        let names = texts.map(|text| {
            let Mention { name, length } = mention(text);
            (name, text[length..].to_owned())
        });

        let expected = [
            ("src/main.rs", ", please"),
            ("a.txt", "."),
            ("my notes.txt", " and"),
            ("\"open", ""),
            ("", ""),
            ("", " a"),
        ];
        assert_eq!(names, expected.map(|(name, rest)| (name.to_owned(), rest.to_owned())));
    }

    #[test]
    fn only_a_word_can_begin_with_a_mark() {
        let marks = ["mail me@example.org", "see @a", "(@a)", "@a", "a\n@b"].map(mark);

        assert_eq!(marks, [None, Some(4), Some(1), Some(0), Some(2)]);
    }

    #[test]
    fn what_is_typed_is_told_from_what_is_attached() {
        let message = Message::new(
            rejoin::Role::User,
            vec![Block::text("Explain @a.txt"), folded("@a.txt", delimited("file", "a.txt", "one\n"))],
        );

        assert_eq!(typed(&message), "Explain @a.txt");
        assert_eq!(message.text(), "Explain @a.txt\n<file name=\"a.txt\">\none\n</file>");
    }

    #[test]
    fn what_a_program_added_to_a_message_is_passed_over() {
        let context = "<environment_context>\n  <cwd>/home/ada/trip</cwd>\n</environment_context>";
        let messages = [format!("{context}\n\nWhere to eat?"), context.to_owned()].map(Message::user);

        assert_eq!(messages.each_ref().map(typed), ["Where to eat?", "[environment context]"]);
    }

    #[test]
    fn people_and_decorators_are_no_paths() {
        let words =
            ["anna", "app.route(\"/x\")", "src/main.rs", "notes.txt", "Override"].map(looks_like_a_path);

        assert_eq!(words, [false, false, true, true, false]);
    }
}
