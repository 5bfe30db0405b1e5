//! Secrets that begin in one text of a message and end in the next: in two
//! blocks, or in two members of one list.
//!
//! Texts that follow each other are read as one, and then each by itself.

use std::ops::Range;

use crate::ops::redact::find::SecretFinder;
use crate::ops::redact::json::end_of_string;
use crate::ops::redact::string::StringText;
use crate::ops::redact::{RedactionTally, Redactor, text};

/// What members are called that are read as one with that of the next object in their list.
pub(super) const MEMBERS: [&str; 2] = ["\"text\"", "\"output\""];

/// Texts without the secrets that they say together; none when there are none.
pub(super) fn redact(
    redactor: &Redactor<'_>,
    texts: &[String],
    tally: &mut RedactionTally,
) -> Option<Vec<String>> {
    let ends = texts.iter().scan(0, |end, text| {
        *end += text.len();
        Some(*end)
    });
    let mut seams: Vec<usize> = ends.take(texts.len().saturating_sub(1)).collect();
    let joined = texts.concat();
    if seams.is_empty() {
        return None;
    }
    let clean = text::redact_joined(redactor, &joined, &mut seams, tally)?;
    let begins = std::iter::once(0).chain(seams.iter().copied());
    let ends = seams.iter().copied().chain(std::iter::once(clean.len()));
    Some(begins.zip(ends).map(|(begin, end)| clean[begin..end].to_owned()).collect())
}

/// Written JSON without the secrets that texts of one list say together; none when there are none.
pub(super) fn redact_json(redactor: &Redactor<'_>, json: &str, tally: &mut RedactionTally) -> Option<String> {
    let (mut out, mut copied) = (String::new(), 0);
    for list in lists(redactor.rules.finder(), json) {
        let said: Vec<StringText> =
            list.iter().map(|literal| StringText::read(&json[literal.clone()])).collect();
        let texts: Vec<String> = said.iter().map(|said| said.text.clone()).collect();
        let Some(clean) = redact(redactor, &texts, tally) else { continue };
        for ((literal, said), clean) in list.iter().zip(&said).zip(&clean) {
            out.push_str(&json[copied..literal.start]);
            out.push_str(&said.write(clean));
            copied = literal.end;
        }
    }
    (copied > 0).then(|| out + &json[copied..])
}

/// True when texts of one list may say a secret together.
pub(super) fn is_suspicious(finder: &SecretFinder, json: &str) -> bool {
    lists(finder, json).iter().any(|list| {
        let inner = list.iter().map(|literal| &json[literal.start + 1..literal.end - 1]);
        finder.is_suspect(&inner.collect::<String>())
    })
}

/// The texts of each list that has more than one, with their quotes.
fn lists(finder: &SecretFinder, json: &str) -> Vec<Vec<Range<usize>>> {
    let bytes = json.as_bytes();
    if !finder.names_texts_twice(bytes) {
        return Vec::new();
    }
    let mut lists: Vec<Vec<Range<usize>>> = Vec::new();
    // How deep the text is that came last, and the least depth since then.
    let (mut last, mut least, mut depth, mut at) = (0, 0, 0_usize, 0);
    let mut is_named = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let Some(end) = end_of_string(bytes, at) else { break };
                if is_named {
                    if depth != last || least + 1 != depth {
                        lists.push(Vec::new());
                    }
                    if let Some(list) = lists.last_mut() {
                        list.push(at..end + 1);
                    }
                    (last, least) = (depth, depth);
                }
                is_named =
                    MEMBERS.contains(&&json[at..=end]) && json[end + 1..].trim_start().starts_with(':');
                at = end;
            }
            b',' => is_named = false,
            _ => {}
        }
        least = least.min(depth);
        at += 1;
    }
    lists.retain(|list| list.len() > 1);
    lists
}
