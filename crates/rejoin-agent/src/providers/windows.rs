//! How much well-known models can be sent. Configuration stands above this; a
//! model that is not here is unknown.

/// Beginnings of names, with the tokens that such models take. The longest beginning that fits counts, so a
/// family stands beside its exceptions. Figures are those that their makers publish.
const WINDOWS: [(&str, u64); 21] = [
    ("claude-", 200_000),
    ("codestral", 256_000),
    ("deepseek-", 128_000),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-", 1_048_576),
    ("gpt-3.5-turbo", 16_385),
    ("gpt-4", 8_192),
    ("gpt-4-turbo", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-5", 400_000),
    ("gpt-5-chat", 128_000),
    ("gpt-oss", 131_072),
    ("grok-4", 256_000),
    ("mistral-large", 128_000),
    ("mistral-small", 128_000),
    ("o1", 200_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
];

/// The tokens that a model can be sent, if it is well known. What a router puts before the name, as in
/// `anthropic/claude-sonnet-4`, is passed over.
pub fn context_window(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let fitting = WINDOWS.iter().filter(|(beginning, _)| begins(&name, beginning));
    fitting.max_by_key(|(beginning, _)| beginning.len()).map(|(_, window)| *window)
}

/// True when a name begins so and does not go on in the middle of a word: `o1` is not the beginning of `o10`.
fn begins(name: &str, beginning: &str) -> bool {
    let Some(rest) = name.strip_prefix(beginning) else { return false };
    beginning.ends_with('-') || !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_that_fits_counts() {
        let models = [
            "claude-sonnet-4-20250514",
            "anthropic/claude-opus-4.1",
            "gpt-4.1-mini",
            "gpt-4o-2024-08-06",
            "gpt-4-0613",
            "gpt-5-nano",
            "GPT-5",
            "o3-mini",
            "o10",
            "gpt-45",
            "llama3.2:3b",
            "",
        ];

        let windows = models.map(context_window);

        let expected = [
            Some(200_000),
            Some(200_000),
            Some(1_047_576),
            Some(128_000),
            Some(8_192),
            Some(400_000),
            Some(400_000),
            Some(200_000),
            None,
            None,
            None,
            None,
        ];
        assert_eq!(windows, expected);
    }
}
