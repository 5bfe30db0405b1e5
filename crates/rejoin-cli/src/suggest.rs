//! Finds the name somebody probably meant.

/// Returns the known name closest to `written`, if it is close enough to be a slip of the finger.
///
/// Case, dots, dashes and underscores do not count: `retentionDays` is `retention.days`.
pub(crate) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bare = strip(written);
    // `hello` is a greeting, not a slip for `help`: a short word may differ in one letter only.
    let length = bare.chars().count();
    let allowed = match length {
        0..=2 => 0,
        3..=5 => 1,
        6..=11 => 2,
        12.. => 3,
    };
    // A name can be as long as the file that holds it, and to compare it takes time for every letter.
    let is_comparable = |name: &&str| strip(name).chars().count().abs_diff(length) <= allowed;
    known
        .into_iter()
        .filter(is_comparable)
        .map(|name| (strsim::damerau_levenshtein(&bare, &strip(name)), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn strip(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let commands = ["config", "completions", "help", "trust"];

        let found = ["confgi", "trsut", "hello", "completion", "hi"].map(|word| nearest(word, commands));

        assert_eq!(found, [Some("config"), Some("trust"), None, Some("completions"), None]);
    }

    #[test]
    fn spelling_conventions_do_not_matter() {
        let found = nearest("retentionDays", ["retention.days", "retention.notice_days"]);

        assert_eq!(found, Some("retention.days"));
    }
}
