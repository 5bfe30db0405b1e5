//! What an answer that is not a reply means: a status, and the provider's own words.

use reqwest::StatusCode;
use serde_json::Value;

use crate::error::{Error, ErrorKind};

/// How much of a provider's own words an error shows.
const SHOWN: usize = 2000;

/// What a provider says about a failure, in a body or in an event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Its word for the failure, such as `overloaded_error`; empty when there is none.
    pub(crate) word: String,
    /// Its sentence.
    pub(crate) message: String,
}

impl Complaint {
    /// Reads the forms that providers use: `{"error":{"type","code","message"}}`,
    /// `{"error":"…"}`, `{"message":"…"}`, or any text.
    pub(crate) fn read(text: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return Self { word: String::new(), message: cut(text) };
        };
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(&value);
        let field = |name: &str| error.get(name).and_then(Value::as_str);
        let word = field("code").or_else(|| field("type")).unwrap_or_default();
        let message = field("message").or_else(|| error.as_str()).unwrap_or(text);
        Self { word: cut(word), message: cut(message) }
    }

    /// The kind of failure that a complaint without a status is, as in an event of a stream.
    pub(crate) fn kind(&self) -> ErrorKind {
        if self.is_too_long() {
            return ErrorKind::TooLong;
        }
        match self.word.as_str() {
            "authentication_error" | "permission_error" | "invalid_api_key" => ErrorKind::Unauthorized,
            "rate_limit_error" | "rate_limit_exceeded" => ErrorKind::Limited,
            "invalid_request_error"
            | "not_found_error"
            | "billing_error"
            | "insufficient_quota"
            | "invalid_prompt" => ErrorKind::Refused,
            "request_too_large" => ErrorKind::TooLong,
            // `overloaded_error`, `api_error`, `timeout_error`, `server_error`, and what is not known.
            _ => ErrorKind::Overloaded,
        }
    }

    /// The error for a complaint in a stream.
    pub(crate) fn into_error(self) -> Error {
        Error::new(self.kind(), "the provider broke off the reply").because(self.to_string())
    }

    /// The words that providers use when the conversation does not fit the model.
    fn is_too_long(&self) -> bool {
        let message = self.message.to_lowercase();
        matches!(self.word.as_str(), "context_length_exceeded" | "exceed_context_size_error")
            || [
                "prompt is too long",
                "exceed context limit",
                "exceeds the context window",
                "maximum context length",
                "available context size",
            ]
            .iter()
            .any(|words| message.contains(words))
    }

    /// True when waiting does not help although the status says so: there is no money left.
    fn is_final(&self) -> bool {
        matches!(self.word.as_str(), "insufficient_quota" | "billing_error")
    }
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.word.as_str(), self.message.as_str()) {
            ("", message) => f.write_str(message),
            (word, "") => f.write_str(word),
            (word, message) => write!(f, "{word}: {message}"),
        }
    }
}

/// The kind of failure that a status and a complaint say.
pub(super) fn kind(status: StatusCode, complaint: &Complaint) -> ErrorKind {
    if complaint.is_final() {
        return ErrorKind::Refused;
    }
    match status.as_u16() {
        401 | 403 => ErrorKind::Unauthorized,
        413 => ErrorKind::TooLong,
        429 => ErrorKind::Limited,
        // Stock clients try a conflict again too: providers send it for a lock that passes.
        408 | 409 | 500..=599 => ErrorKind::Overloaded,
        300..=399 => ErrorKind::Invalid,
        _ if complaint.is_too_long() => ErrorKind::TooLong,
        _ => ErrorKind::Refused,
    }
}

/// The beginning of a long text, in whole words: half a key could not be recognised and taken out.
fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => {
            let whole = text[..end].rfind(char::is_whitespace).unwrap_or(0);
            format!("{} …", text[..whole].trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_complaint_is_read() {
        let cases = [
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
            r#"{"error":{"message":"Too much","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
            r#"{"error":{"message":"Bad","type":"invalid_request_error","code":null}}"#,
            r#"{"error":"model not found"}"#,
            r#"{"message":"no route","code":404}"#,
            "<html>nope</html>",
            "",
        ];
        let read = cases.map(|text| Complaint::read(text).to_string());

        assert_eq!(
            read,
            [
                "overloaded_error: Overloaded",
                "rate_limit_exceeded: Too much",
                "invalid_request_error: Bad",
                "model not found",
                "no route",
                "<html>nope</html>",
                "",
            ]
        );
    }

    #[test]
    fn long_words_are_cut_between_words() {
        let long = format!("{}sk-planted-key and more", "word ".repeat(399));

        let message = Complaint::read(&long).message;

        assert_eq!(message, format!("{}…", "word ".repeat(399)));
    }

    #[test]
    fn a_status_and_its_words_give_the_kind() {
        let cases = [
            (400, "", "bad"),
            (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            (400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2"),
            (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
            (401, "", ""),
            (403, "", ""),
            (404, "", ""),
            (408, "", ""),
            (409, "", ""),
            (413, "", ""),
            (422, "", ""),
            (429, "", ""),
            (429, "insufficient_quota", ""),
            (500, "", ""),
            (503, "", ""),
            (529, "", ""),
            (307, "", ""),
        ];
        let kinds = cases.map(|(status, word, message)| {
            let complaint = Complaint { word: word.to_owned(), message: message.to_owned() };
            kind(StatusCode::from_u16(status).unwrap(), &complaint)
        });

        use ErrorKind::{Invalid, Limited, Overloaded, Refused, TooLong, Unauthorized};
        assert_eq!(
            kinds,
            [
                Refused,
                TooLong,
                TooLong,
                TooLong,
                Unauthorized,
                Unauthorized,
                Refused,
                Overloaded,
                Overloaded,
                TooLong,
                Refused,
                Limited,
                Refused,
                Overloaded,
                Overloaded,
                Overloaded,
                Invalid
            ]
        );
    }
}
