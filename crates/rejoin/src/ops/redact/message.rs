//! Messages and headers without their secrets.

use std::borrow::Cow;

use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::engine::{DecodePaddingMode, Engine as _};

use crate::model::{Block, Conversation, Fields, FileSnapshot, Json, Media, Message, PrivacyNotes};
use crate::ops::marker::{CHANGED, MARKER, is_text};
use crate::ops::redact::{RedactionTally, Redactor, find, json, seam, text};

/// What a reply that was cut off says about how it ended.
const INTERRUPTED: &str = "interrupted";

/// A message without its secrets.
#[derive(Debug)]
pub(crate) struct Cleaned {
    /// What is stored, with notes about what was taken out.
    pub(crate) message: Message,
    /// What was taken out.
    pub(crate) tally: RedactionTally,
}

impl Redactor<'_> {
    /// A message without its secrets, of which `body` is the written form; none when it has none.
    pub(crate) fn message(&self, message: &Message, body: &str) -> Option<Cleaned> {
        self.rules.look_at(|| body.to_owned());
        let is_clean = !self.rules.are_thorough()
            && message.label.is_none()
            && message
                .privacy
                .as_ref()
                .is_none_or(|notes| notes.tokens.iter().all(|token| is_hash(token, body)))
            && message.finish.as_deref() != Some(INTERRUPTED)
            && !message.blocks.iter().any(is_attached_text)
            && !self.rules.finder().is_suspect(body)
            && !seam::is_suspicious(self.rules.finder(), body);
        if is_clean {
            return None;
        }
        let mut sweep = SecretSweep { redactor: self, tally: RedactionTally::default() };
        let mut clean = message.clone();
        sweep.message(&mut clean);
        clean.privacy.iter_mut().for_each(|notes| sweep.notes(notes, body));
        if sweep.tally.is_empty() {
            return None;
        }
        for (block, before) in clean.blocks.iter_mut().zip(&message.blocks) {
            if let (Block::Thinking(thinking), Block::Thinking(before)) = (block, before)
                && thinking.text != before.text
            {
                thinking.extra.set(CHANGED, Json::of(&true).expect("a truth value is JSON"));
            }
        }
        clean.privacy = Some(sweep.tally.to_notes(clean.privacy.as_ref()));
        Some(Cleaned { message: clean, tally: sweep.tally })
    }

    /// The data of a block without its secrets, if it is text: packed as it should be, or written
    /// where that is due. None when it has none.
    pub(crate) fn data(&self, media: &Media, data: &str, tally: &mut RedactionTally) -> Option<String> {
        let unpacked = unpack(data);
        if unpacked.is_some() && !is_text(media) {
            return None;
        }
        let is_packed = unpacked.is_some();
        let text = unpacked.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(clean) = text.and_then(|text| self.line(&text, tally)) {
            return Some(STANDARD.encode(clean));
        }
        // A few letters of base64 may as well be a word.
        let is_data = is_packed && data.len() >= json::DATA_BYTES && json::is_data(data);
        if is_data { None } else { self.line(data, tally) }
    }

    /// A header without secrets in what people and models wrote; none when it has none.
    ///
    /// A path stays to the letter, such as that of its project: only a secret in it goes.
    pub(crate) fn header(&self, header: &Conversation, tally: &mut RedactionTally) -> Option<Conversation> {
        self.rules.look_at(|| header.to_header());
        let mut sweep = SecretSweep { redactor: self, tally: RedactionTally::default() };
        let mut clean = header.clone();
        clean.title.iter_mut().for_each(|title| sweep.short(title));
        if let Some(synopsis) = &mut clean.synopsis {
            sweep.short(&mut synopsis.text);
            synopsis.keywords.iter_mut().chain(&mut synopsis.action_items).for_each(|text| sweep.short(text));
        }
        clean.participants.iter_mut().filter_map(|one| one.name.as_mut()).for_each(|name| sweep.short(name));
        clean.privacy.consent.iter_mut().for_each(|consent| sweep.short(consent));
        clean.privacy.given_classification.iter_mut().for_each(|given| sweep.short(given));
        clean.project.iter_mut().for_each(|project| sweep.name(project));
        if let Some(origin) = &mut clean.origin {
            origin.source_path.iter_mut().for_each(|path| sweep.name(path));
        }
        sweep.fields(&mut clean.extra);
        tally.extend(&sweep.tally);
        (!sweep.tally.is_empty()).then_some(clean)
    }
}

/// A block of a file that is text, whatever it is packed in.
fn is_attached_text(block: &Block) -> bool {
    matches!(block, Block::Media(media) if is_text(media) && media.data.is_some())
}

/// True when a block may go on where another one ends.
fn is_continued(one: &Block, next: &Block) -> bool {
    match (one, next) {
        (Block::Text(_), Block::Text(_)) | (Block::Thinking(_), Block::Thinking(_)) => true,
        (Block::ToolResult(one), Block::ToolResult(next)) => {
            let is_text = |output: &Json| output.as_str().starts_with('"');
            one.call_id == next.call_id && is_text(&one.output) && is_text(&next.output)
        }
        _ => false,
    }
}

/// The bytes that base64 stands for. Mail breaks it into lines, and some leave
/// its end away or write it for addresses.
fn unpack(data: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let letters =
        if data.contains(['\r', '\n']) { data.replace(['\r', '\n'], "").into() } else { Cow::Borrowed(data) };
    [alphabet::STANDARD, alphabet::URL_SAFE]
        .iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, config).decode(letters.as_bytes()).ok())
}

/// True for a hash of ours: eight hexadecimal digits.
///
/// Eight decimal digits may be a telephone number as well, so they are a hash
/// only where a marker of `body` has them.
fn is_hash(token: &str, body: &str) -> bool {
    let is_hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    token.len() == 8
        && token.bytes().all(is_hexadecimal)
        && (token.bytes().any(|byte| byte.is_ascii_lowercase())
            || body.split(MARKER).skip(1).any(|rest| {
                rest.split(']').next().is_some_and(|marker| marker.rsplit(':').next() == Some(token))
            }))
}

/// Takes secrets out of one thing after the other.
struct SecretSweep<'a> {
    redactor: &'a Redactor<'a>,
    tally: RedactionTally,
}

impl SecretSweep<'_> {
    fn message(&mut self, message: &mut Message) {
        let is_cut_off = message.finish.as_deref() == Some(INTERRUPTED);
        // First, because half of a secret may be one, whose other half would be left.
        message.blocks.chunk_by_mut(is_continued).for_each(|blocks| self.seams(blocks));
        message.blocks.iter_mut().for_each(|block| self.block(block));
        if let Some(Block::Text(last)) = message.blocks.last_mut().filter(|_| is_cut_off) {
            self.short(&mut last.text);
        }
        message.label.iter_mut().for_each(|label| self.short(label));
        message.finish.iter_mut().for_each(|finish| self.text(finish));
        message
            .usage
            .iter_mut()
            .filter_map(|usage| usage.detail.as_mut())
            .for_each(|detail| self.json(detail));
        self.fields(&mut message.extra);
        self.fields(message.unknown_mut());
    }

    /// What whoever made the message says about its privacy: only hashes of personal data stay as they are.
    fn notes(&mut self, notes: &mut PrivacyNotes, body: &str) {
        notes.redaction_rules.iter_mut().for_each(|rule| self.text(rule));
        for token in notes.tokens.iter_mut().filter(|token| !is_hash(token, body)) {
            *token = self.redactor.token(token, &mut self.tally);
        }
    }

    fn block(&mut self, block: &mut Block) {
        let extra = match block {
            Block::Text(block) => {
                self.text(&mut block.text);
                &mut block.extra
            }
            Block::Summary(block) => {
                self.text(&mut block.text);
                &mut block.extra
            }
            Block::Thinking(block) => {
                self.text(&mut block.text);
                &mut block.extra
            }
            Block::ToolCall(block) => {
                self.text(&mut block.id);
                self.text(&mut block.name);
                self.json(&mut block.input);
                &mut block.extra
            }
            Block::ToolResult(block) => {
                self.text(&mut block.call_id);
                self.json(&mut block.output);
                &mut block.extra
            }
            Block::Media(block) => {
                // The digest in the address of an attachment is no secret.
                if block.attachment().is_none() {
                    block.uri.iter_mut().for_each(|uri| self.text(uri));
                }
                self.attached(block);
                &mut block.extra
            }
            Block::Snapshot(block) => {
                // One of files is made of digests, which are no secrets.
                if FileSnapshot::read(block).is_none() {
                    self.json(&mut block.data);
                }
                &mut block.extra
            }
            Block::Other(block) => &mut block.fields,
        };
        self.fields(extra);
    }

    /// What blocks of one kind that follow each other say together.
    fn seams(&mut self, blocks: &mut [Block]) {
        let texts: Vec<String> = blocks.iter().filter_map(Block::words).map(Cow::into_owned).collect();
        let Some(clean) = seam::redact(self.redactor, &texts, &mut self.tally) else { return };
        for (block, text) in blocks.iter_mut().zip(clean) {
            match block {
                Block::Text(block) => block.text = text,
                Block::Thinking(block) => block.text = text,
                Block::ToolResult(block) => block.output = Json::of(&text).expect("a text is JSON"),
                _ => {}
            }
        }
    }

    /// Data that is text is looked at as text; what is packed and no text stays as it is.
    fn attached(&mut self, media: &mut Media) {
        let clean = media.data.as_ref().and_then(|data| self.redactor.data(media, data, &mut self.tally));
        if clean.is_some() {
            media.data = clean;
        }
    }

    fn text(&mut self, text: &mut String) {
        if let Some(clean) = text::redact(self.redactor, text, &mut self.tally) {
            *text = clean;
        }
    }

    /// A path, or another name.
    fn name(&mut self, name: &mut String) {
        if let Some(clean) = self.redactor.name(name, &mut self.tally) {
            *name = clean;
        }
    }

    /// A text that may have been cut off at its end.
    fn short(&mut self, text: &mut String) {
        if let Some(clean) = self.redactor.text(text, &mut self.tally) {
            *text = clean;
        }
    }

    fn json(&mut self, value: &mut Json) {
        if let Some(clean) = json::redact(self.redactor, value.as_str(), &mut self.tally) {
            *value = Json::parse(clean).unwrap_or_else(|_| self.whole(value.as_str()));
        }
    }

    /// What stands for JSON that could not be written without its secrets.
    fn whole(&mut self, written: &str) -> Json {
        let marker = self.redactor.mark(find::SecretRule::Named("whole-value"), written, &mut self.tally);
        Json::of(&marker).expect("a text is JSON")
    }

    fn fields(&mut self, fields: &mut Fields) {
        if fields.is_empty() {
            return;
        }
        let written = serde_json::to_string(fields).expect("fields are plain data");
        if let Some(clean) = json::redact(self.redactor, &written, &mut self.tally) {
            *fields = serde_json::from_str(&clean).unwrap_or_else(|_| {
                let mut only = Fields::new();
                only.set(CHANGED, self.whole(&written));
                only
            });
        }
    }
}
