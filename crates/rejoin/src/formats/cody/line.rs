//! One line, in either form.

use serde_json::value::RawValue;

use crate::formats::raw_object::RawObject;
use crate::formats::tag::{self, ConversationTag, MessageTag};
use crate::model::{Json, Summary, Time};

/// The field of a summary that says how many items the summarizer could not be shown.
const TRIMMED: &str = "trimmed";

/// The content of a line.
pub(super) enum LineContent<'a> {
    /// The metadata of the conversation.
    Meta(ConversationMeta),
    /// The items of a turn, unparsed, with its provider and model.
    Turn { items: &'a RawValue, provider: Option<String>, model: Option<String> },
    /// One item.
    Item(&'a RawValue),
    /// A summary that replaces everything before it.
    Compacted(Summary),
    /// A marker of the program.
    Mark,
    /// Unknown.
    Unknown,
}

/// The metadata of a conversation in the older form.
#[derive(Default)]
pub(super) struct ConversationMeta {
    pub(super) id: Option<String>,
    pub(super) time: Option<Time>,
    pub(super) directory: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
}

/// A line.
pub(super) struct CodyLine<'a> {
    pub(super) time: Option<Time>,
    pub(super) said: LineContent<'a>,
    pub(super) tag: Option<CodyTag>,
}

/// The tag that Rejoin writes on a turn.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(super) struct CodyTag {
    /// On the first line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) conversation: Option<ConversationTag>,
    pub(super) messages: Vec<MessageTag>,
}

impl CodyLine<'_> {
    /// True for a line that no other program writes.
    pub(super) const fn is_known(&self) -> bool {
        !matches!(self.said, LineContent::Unknown)
    }
}

/// Parses a line; none if it is not a JSON object.
pub(super) fn parse(text: &str) -> Option<CodyLine<'_>> {
    serde_json::from_str::<RawObject<'_>>(text).ok().map(of)
}

/// Interprets the fields of a line.
pub(super) fn of(mut found: RawObject<'_>) -> CodyLine<'_> {
    let time = tag::read(found.raw("timestamp"));
    let tag = tag::read(found.raw(tag::FIELD));
    let is_other = found.raw("timestamp").is_none() || found.raw("payload").is_some();
    let said = if is_other { LineContent::Unknown } else { said(&mut found) };
    CodyLine { time, said, tag }
}

fn said<'a>(found: &mut RawObject<'a>) -> LineContent<'a> {
    if let Some(item) = found.raw("item") {
        return older(item);
    }
    if found.text("type").as_deref() == Some("compacted") {
        let summary = found.text("summary");
        return summary.map_or(LineContent::Unknown, |text| LineContent::Compacted(summary_of(text, found)));
    }
    turn(found).unwrap_or(LineContent::Unknown)
}

/// The summary of a compaction. How many items the summarizer could not be shown is kept, unless it is none.
fn summary_of(text: String, found: &mut RawObject<'_>) -> Summary {
    summary(text, tag::read(found.raw("truncatedCount")).unwrap_or_default())
}

/// A summary as a line tells it.
pub(super) fn summary(text: String, truncated: u64) -> Summary {
    let mut summary = Summary { text, ..Summary::default() };
    if truncated > 0 {
        summary.extra.set(TRIMMED, Json::of(&truncated).expect("a number is JSON"));
    }
    summary
}

/// How many items the summarizer of a compaction could not be shown.
pub(super) fn truncated(summary: &Summary) -> u64 {
    summary.extra.field(TRIMMED).and_then(|count| count.to().ok()).unwrap_or_default()
}

fn turn<'a>(found: &mut RawObject<'a>) -> Option<LineContent<'a>> {
    let items = found.raw("items").filter(|items| items.get().starts_with('['))?;
    let metadata: Option<RawObject<'_>> =
        found.raw("metadata").and_then(|metadata| serde_json::from_str(metadata.get()).ok());
    let (mut provider, mut model) = (None, None);
    if let Some(mut metadata) = metadata {
        (provider, model) = (metadata.text("provider"), metadata.text("model"));
    }
    Some(LineContent::Turn { items, provider, model })
}

fn older(item: &RawValue) -> LineContent<'_> {
    let Ok(mut item) = serde_json::from_str::<RawObject<'_>>(item.get()) else { return LineContent::Unknown };
    let (Some(kind), Some(raw)) = (item.text("type"), item.raw("data")) else { return LineContent::Unknown };
    let Ok(mut data) = serde_json::from_str::<RawObject<'_>>(raw.get()) else { return LineContent::Mark };
    match kind.as_str() {
        "session_meta" => LineContent::Meta(ConversationMeta {
            id: data.text("id"),
            time: tag::read(data.raw("timestamp")),
            directory: data.text("cwd"),
            provider: data.text("modelProvider"),
            model: data.text("model"),
        }),
        "turn" => turn(&mut data).unwrap_or(LineContent::Mark),
        "message" | "response" => turn(&mut data).unwrap_or(LineContent::Item(raw)),
        "compacted" => {
            let summary = data.text("summary").or_else(|| data.text("message"));
            summary.map_or(LineContent::Mark, |text| LineContent::Compacted(summary_of(text, &mut data)))
        }
        _ => LineContent::Mark,
    }
}
