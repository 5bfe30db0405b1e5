//! Errors that come in a stream of the OpenAI languages, and what kind each is.

use std::time::Duration;

use rejoin::{Fields, Json};

use crate::error::{Error, ErrorKind};
use crate::providers::http::Complaint;

/// The error for an error object in a stream.
pub(crate) fn error_in_stream(object: &Json) -> Error {
    let complaint = Complaint::read(object.as_str());
    let kind = kind(object, &complaint);
    let wait = asked_wait(&complaint.message);
    Error::new(kind, "the provider broke off the reply").because(complaint.to_string()).retry_after(wait)
}

fn kind(object: &Json, complaint: &Complaint) -> ErrorKind {
    let general = complaint.kind();
    if general == ErrorKind::TooLong {
        return general;
    }
    // Routers send the status of the server behind them as a number.
    let code = object.to::<Fields>().ok().and_then(|fields| fields.field("code")?.to::<u16>().ok());
    code.and_then(kind_of_status).or_else(|| kind_of_word(&complaint.word)).unwrap_or(general)
}

fn kind_of_status(status: u16) -> Option<ErrorKind> {
    match status {
        401 | 403 => Some(ErrorKind::Unauthorized),
        408 | 409 | 500..=599 => Some(ErrorKind::Overloaded),
        413 => Some(ErrorKind::TooLong),
        429 => Some(ErrorKind::Limited),
        400..=499 => Some(ErrorKind::Refused),
        _ => None,
    }
}

/// What a word means that only these languages use.
fn kind_of_word(word: &str) -> Option<ErrorKind> {
    let is_about_input = ["invalid_", "image_", "_policy"].iter().any(|piece| word.contains(piece));
    match word {
        "invalid_api_key" => None,
        "tokens" | "requests" => Some(ErrorKind::Limited),
        "model_not_found" | "usage_not_included" | "unsupported_image_media_type" => Some(ErrorKind::Refused),
        _ if is_about_input => Some(ErrorKind::Refused),
        _ => None,
    }
}

/// How long a message asks to wait: "Please try again in 1.5s", or "in 20ms".
fn asked_wait(message: &str) -> Option<Duration> {
    let (_, after) = message.split_once("try again in ")?;
    let digits = after.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = after.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let seconds = if unit.starts_with("ms") {
        number / 1000.0
    } else if unit.trim_start().starts_with('s') {
        number
    } else {
        return None;
    };
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_decides_what_kind_of_error_it_is() {
        let cases = [
            (r#"{"code":"rate_limit_exceeded","message":"m"}"#, ErrorKind::Limited),
            (r#"{"code":429,"message":"m"}"#, ErrorKind::Limited),
            (r#"{"code":502}"#, ErrorKind::Overloaded),
            (r#"{"code":"server_is_overloaded"}"#, ErrorKind::Overloaded),
            (r#"{"code":"context_length_exceeded","type":"invalid_request_error"}"#, ErrorKind::TooLong),
            (r#"{"code":400,"message":"maximum context length is 8192"}"#, ErrorKind::TooLong),
            (r#"{"code":null,"type":"invalid_request_error"}"#, ErrorKind::Refused),
            (r#"{"code":"insufficient_quota"}"#, ErrorKind::Refused),
            (r#"{"code":"image_content_policy_violation"}"#, ErrorKind::Refused),
            (r#"{"code":"invalid_api_key"}"#, ErrorKind::Unauthorized),
            (r#"{"code":"never_heard_of"}"#, ErrorKind::Overloaded),
            (r#""only a text""#, ErrorKind::Overloaded),
            ("[]", ErrorKind::Overloaded),
            ("null", ErrorKind::Overloaded),
        ];

        let found = cases.map(|(text, _)| (text, error_in_stream(&Json::parse(text).unwrap()).kind()));

        assert_eq!(found, cases);
    }

    #[test]
    fn a_wait_in_the_message_is_understood() {
        let messages =
            ["Please try again in 1.5s. Visit", "try again in 20ms.", "try again in 6m0s", "later"];
        let waits = messages.map(asked_wait);

        assert_eq!(waits, [Some(Duration::from_millis(1500)), Some(Duration::from_millis(20)), None, None]);
    }
}
