//! What the OpenAI languages say when something is wrong, and which kind of error that is.

use std::time::Duration;

use rejoin::Json;
use serde::Deserialize;

use crate::error::{Error, ErrorKind};

/// An error object, as it comes in a stream or as the body of a failed request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Complaint {
    message: Option<String>,
    /// A word, or with some servers the status as a number.
    code: Option<Json>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Complaint {
    /// Reads an error object; one that is only a text is its message.
    pub(crate) fn read(json: &Json) -> Self {
        let as_text = || Self { message: json.to::<String>().ok(), ..Self::default() };
        json.to::<Self>().unwrap_or_else(|_| as_text())
    }

    /// The error of the kind it is.
    pub(crate) fn into_error(self) -> Error {
        let message = self.message.as_deref().unwrap_or("without saying why");
        Error::new(self.error_kind(), format!("the provider reports an error: {message}"))
            .retry_after(self.message.as_deref().and_then(asked_wait))
    }

    fn error_kind(&self) -> ErrorKind {
        let code = self.code.as_ref().map(|code| code.to::<String>().unwrap_or_else(|_| code.as_str().to_owned()));
        let words = [code.as_deref(), self.kind.as_deref()];
        words.into_iter().flatten().find_map(kind_of).unwrap_or(ErrorKind::Overloaded)
    }
}

/// The kind that a code stands for. Codes that nobody documented may pass, so that they are tried again.
fn kind_of(code: &str) -> Option<ErrorKind> {
    if let Ok(status) = code.parse::<u16>() {
        return match status {
            401 | 403 => Some(ErrorKind::Unauthorized),
            408 | 425 | 500.. => Some(ErrorKind::Overloaded),
            413 => Some(ErrorKind::TooLong),
            429 => Some(ErrorKind::Limited),
            400..=499 => Some(ErrorKind::Refused),
            _ => None,
        };
    }
    match code {
        "invalid_api_key" | "authentication_error" | "permission_error" => Some(ErrorKind::Unauthorized),
        "rate_limit_exceeded" | "rate_limit_error" | "tokens" | "requests" => Some(ErrorKind::Limited),
        "context_length_exceeded" | "exceed_context_size_error" => Some(ErrorKind::TooLong),
        "server_error" | "server_is_overloaded" | "slow_down" | "overloaded_error" | "unavailable_error"
        | "vector_store_timeout" => Some(ErrorKind::Overloaded),
        "insufficient_quota" | "usage_not_included" | "model_not_found" | "unsupported_image_media_type" => {
            Some(ErrorKind::Refused)
        }
        code if ["invalid_", "image_", "_policy", "policy_"].iter().any(|word| code.contains(word)) => {
            Some(ErrorKind::Refused)
        }
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
        let kinds = [
            (r#"{"code":"rate_limit_exceeded","message":"m"}"#, ErrorKind::Limited),
            (r#"{"code":429,"message":"m"}"#, ErrorKind::Limited),
            (r#"{"code":502}"#, ErrorKind::Overloaded),
            (r#"{"code":"server_is_overloaded"}"#, ErrorKind::Overloaded),
            (r#"{"code":"context_length_exceeded","type":"invalid_request_error"}"#, ErrorKind::TooLong),
            (r#"{"code":null,"type":"invalid_request_error"}"#, ErrorKind::Refused),
            (r#"{"code":"insufficient_quota"}"#, ErrorKind::Refused),
            (r#"{"code":"image_content_policy_violation"}"#, ErrorKind::Refused),
            (r#"{"code":"invalid_api_key"}"#, ErrorKind::Unauthorized),
            (r#"{"code":"never_heard_of"}"#, ErrorKind::Overloaded),
            (r#""only a text""#, ErrorKind::Overloaded),
            ("[]", ErrorKind::Overloaded),
        ];

        let found = kinds.map(|(text, _)| (text, Complaint::read(&Json::parse(text).unwrap()).error_kind()));

        assert_eq!(found, kinds);
    }

    #[test]
    fn a_wait_in_the_message_is_understood() {
        let waits = ["Please try again in 1.5s. Visit", "try again in 20ms.", "try again in 6m0s", "later"]
            .map(asked_wait);

        assert_eq!(waits, [Some(Duration::from_millis(1500)), Some(Duration::from_millis(20)), None, None]);
    }
}
