//! What the two languages of OpenAI say in the same way: arguments, answers and images.

use std::borrow::Cow;

use rejoin::{Block, Json, Media, ToolCall, ToolResult};

/// The field that keeps a call's arguments when they are not the text of its input.
pub(crate) const ARGUMENTS: &str = "arguments";

/// What a tool answered, as text. A failure is marked in the text: neither language has a field for it.
pub(crate) fn answer(result: &ToolResult) -> String {
    let text = words(&result.output).unwrap_or_else(|| result.output.as_str().to_owned());
    if result.is_error { format!("Error: {text}") } else { text }
}

/// The text of an output that is a string, or a list of texts.
fn words(output: &Json) -> Option<String> {
    if output.as_str().starts_with('"') {
        return output.to().ok();
    }
    let blocks: Vec<Block> = output.to().ok().filter(|blocks: &Vec<Block>| !blocks.is_empty())?;
    let texts: Option<Vec<&str>> = blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    texts.map(|texts| texts.join("\n"))
}

/// The address of an image, which may hold the image itself.
pub(crate) fn address(media: &Media) -> String {
    match &media.data {
        Some(data) if !data.is_empty() => format!("data:{};base64,{data}", media.mime_type),
        _ => media.uri.clone().unwrap_or_default(),
    }
}

/// The JSON of a call's arguments, and the exact text when the JSON alone would not give it back.
pub(crate) fn read_arguments(text: &str) -> (Json, Option<Json>) {
    let exact = || Some(string(text));
    match Json::parse(one_line(text)) {
        Ok(input) if input.as_str() == text => (input, None),
        Ok(input) => (input, exact()),
        Err(_) if text.trim().is_empty() => (Json::parse("{}").expect("an empty object is JSON"), exact()),
        Err(_) => (string(text), exact()),
    }
}

/// JSON on one line, as stored messages are. A line can end only between values:
/// strings have their own signs for it.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r']) {
        Cow::Owned(json.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(json)
    }
}

/// A string as JSON.
pub(crate) fn string(text: &str) -> Json {
    Json::of(&text).expect("a string is JSON")
}

/// The arguments as the model wrote them.
pub(crate) fn arguments(call: &ToolCall) -> Cow<'_, str> {
    let exact = call.extra.field(ARGUMENTS).and_then(|text| text.to::<String>().ok());
    exact.map_or_else(|| Cow::Borrowed(call.input.as_str()), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use rejoin::{Fields, MediaKind};

    use super::*;

    #[test]
    fn arguments_come_back_to_the_letter() {
        let texts = ["{}", "{ \"a\" : 1.50 }", " {} ", "", "{\"a\":", "\"text\"", "{\"a\":\"\\u00e9\"}\n"];

        let back = texts.map(|text| {
            let (input, exact) = read_arguments(text);
            let mut extra = Fields::new();
            exact.into_iter().for_each(|exact| extra.set(ARGUMENTS, exact));
            arguments(&ToolCall { input, extra, ..ToolCall::default() }).into_owned()
        });

        assert_eq!(back, texts);
    }

    #[test]
    fn an_output_is_sent_as_its_words() {
        let outputs =
            [r#""a b""#, r#"{"a": 1}"#, r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, "[]"];

        let sent = outputs.map(|output| {
            answer(&ToolResult { output: Json::parse(output).unwrap(), ..ToolResult::default() })
        });

        assert_eq!(sent, ["a b", r#"{"a": 1}"#, "a\nb", "[]"]);
    }

    #[test]
    fn an_image_is_sent_with_its_bytes_or_by_its_address() {
        let image = |data: Option<&str>, uri: Option<&str>| Media {
            kind: MediaKind::Image,
            mime_type: "image/png".to_owned(),
            data: data.map(str::to_owned),
            uri: uri.map(str::to_owned),
            extra: Fields::new(),
        };

        let sent = [image(Some("AAAA"), None), image(None, Some("https://example.org/a.png"))]
            .map(|media| address(&media));

        assert_eq!(sent, ["data:image/png;base64,AAAA", "https://example.org/a.png"]);
    }
}
