//! What can be written: the two forms for people, and every format that another program reads.

use std::path::PathBuf;

use rejoin::formats::{FORMATS, Format, Key, WrittenFile};
use rejoin::{Archive, Extent, PlainText, StoredConversation};

use super::selection::SelectedConversation;
use crate::error::Failure;

/// Bytes of a title in the name of a file: enough to recognise it, and short enough for every file system.
const NAME: usize = 80;

/// What is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExportKind {
    Markdown,
    Html(PagePaths),
    Format(&'static Format),
}

/// Whether a page says where the project and attached files lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PagePaths {
    Hidden,
    Shown,
}

/// Names for the command line, those for people first.
pub(super) fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(all().map(ExportKind::name))
}

/// Every kind.
pub(super) fn all() -> impl Iterator<Item = ExportKind> {
    let formats = || FORMATS.iter().copied().filter(|format| format.can_write());
    let own = formats().filter(|format| format.is_own());
    let others = formats().filter(|format| !format.is_own());
    [ExportKind::Markdown, ExportKind::Html(PagePaths::Hidden)]
        .into_iter()
        .chain(own.chain(others).map(ExportKind::Format))
}

impl ExportKind {
    /// The kind of this name.
    pub(super) fn named(name: &str) -> Result<Self, Failure> {
        all().find(|kind| kind.name() == name).ok_or_else(|| {
            let known: Vec<&str> = all().map(ExportKind::name).collect();
            Failure::usage(format!("`{name}` is not a format that can be written"))
                .hint(format!("they are {}", known.join(", ")))
        })
    }

    /// The same with the paths of this machine, where it leaves them out otherwise.
    pub(super) fn showing_paths(self) -> Result<Self, Failure> {
        match self {
            ExportKind::Html(_) => Ok(ExportKind::Html(PagePaths::Shown)),
            ExportKind::Markdown | ExportKind::Format(_) => {
                Err(Failure::usage(format!("`--show-paths` has no meaning for `{}`", self.name()))
                    .hint("omit it, or use `--format html`"))
            }
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            ExportKind::Markdown => "markdown",
            ExportKind::Html(_) => "html",
            ExportKind::Format(format) => format.name,
        }
    }

    /// True when its files have the names that another program looks for, and not those of the conversation.
    pub(super) fn is_of_a_program(self) -> bool {
        match self {
            ExportKind::Markdown | ExportKind::Html(_) => false,
            ExportKind::Format(format) => !format.is_own(),
        }
    }

    /// True when its program seals what it writes, and a key does so here.
    pub(super) fn can_seal(self) -> bool {
        match self {
            ExportKind::Markdown | ExportKind::Html(_) => false,
            ExportKind::Format(format) => format.can_seal(),
        }
    }

    /// What it is for.
    pub(super) fn about(self) -> String {
        match self {
            ExportKind::Markdown => "a transcript to read".to_owned(),
            ExportKind::Html(_) => "a page to read".to_owned(),
            ExportKind::Format(format) if format.is_own() => "everything, to import again".to_owned(),
            ExportKind::Format(format) => format!("for {}", format.program),
        }
    }

    /// Writes a conversation, as files with the names that people, or the other program, look for.
    pub(super) fn write(
        self,
        archive: &Archive,
        wanted: &SelectedConversation,
        key: Option<&Key>,
    ) -> Result<Vec<WrittenFile>, Failure> {
        let SelectedConversation { stored, extent, .. } = wanted;
        let extent = *extent;
        let failed = |error| explain(error, stored);
        let text = |ending: &str, text: String| {
            vec![WrittenFile { path: PathBuf::from(file_name(wanted, ending)), bytes: text.into_bytes() }]
        };
        match self {
            ExportKind::Markdown => {
                let tree = archive.exports().tree_as_kept(stored.id, extent).map_err(failed)?;
                Ok(text(".md", tree.to_markdown()?))
            }
            ExportKind::Html(paths) => {
                let mut tree = archive.exports().tree_as_kept(stored.id, extent).map_err(failed)?;
                if paths == PagePaths::Hidden {
                    tree.hide_paths();
                }
                Ok(text(".html", tree.to_html()?))
            }
            ExportKind::Format(format) => {
                let mut tree = archive.exports().tree_for(format, stored.id, extent).map_err(failed)?;
                tree.key = key.cloned();
                let mut files = format.write(&tree)?;
                if let ([file], true) = (files.as_mut_slice(), format.is_own()) {
                    file.path = PathBuf::from(file_name(wanted, ".json"));
                }
                Ok(files)
            }
        }
    }
}

fn explain(error: rejoin::Error, stored: &StoredConversation) -> Failure {
    let failure = Failure::from(error);
    if stored.conversation.privacy.exportable {
        return failure;
    }
    let short = stored.id.short();
    failure.or_hint(format!(
        "run `rejoin keep {short} --exportable yes` to allow it, or pass `--force` to export it once"
    ))
}

/// A name that every file system takes: the words of the title, the id, that of the
/// message where it ends, and an ending.
pub(super) fn file_name(wanted: &SelectedConversation, ending: &str) -> String {
    let mut words = PlainText::slug(wanted.stored.title());
    let end = (0..=NAME.min(words.len())).rev().find(|end| words.is_char_boundary(*end)).unwrap_or(0);
    words.truncate(end);
    let words = words.trim_end_matches('-');
    let words = if words.is_empty() { "conversation" } else { words };
    let id = &wanted.id;
    match wanted.extent {
        Extent::Path(Some(message)) => format!("{words}-{id}-{message}{ending}"),
        Extent::Path(None) | Extent::Tree => format!("{words}-{id}{ending}"),
    }
}
