//! Secrets that a command prints: `kubectl get secret …`, and the word in the line below.

use std::ops::Range;

use crate::ops::redact::find::judge::{ValueForm, judge};
use crate::ops::redact::find::names::Secrecy;
use crate::ops::redact::find::table::words::{PROGRAMS, PROMPTS};
use crate::ops::redact::find::value::is_password;
use crate::ops::redact::find::{SecretRule, line_before, within};

/// A command is no longer before the last secret name, nor after it.
const COMMAND_BYTES: usize = 1_000;
const REST_BYTES: usize = 200;

/// No password is longer, by far.
const WORD_BYTES: usize = 1_000;

/// The only word of the line below the command whose last secret name ends at `end`.
pub(super) fn below(
    text: &str,
    end: usize,
    name: &str,
    secrecy: Secrecy,
) -> Option<(Range<usize>, SecretRule)> {
    let next = end + within(text, end, REST_BYTES).find('\n')? + 1;
    let word = within(text, next, WORD_BYTES).split('\n').next().unwrap_or_default().trim_end();
    if word.len() < 8
        || word.contains(|letter: char| letter.is_whitespace() || matches!(letter, ':' | '.'))
        || !is_password(word)
    {
        return None;
    }
    let line = line_before(text, end, COMMAND_BYTES);
    let typed = PROMPTS.iter().find_map(|prompt| line.strip_prefix(prompt));
    let command = typed.unwrap_or(line);
    let is_known =
        PROGRAMS.iter().any(|name| command.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    let is_command = typed.is_some() || is_known;
    let is_summed = ["dgst", "sum", "sha", "md5"].iter().any(|word| command.contains(word));
    let is_hash = (!is_known || is_summed) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let level = if secrecy == Secrecy::Maybe { Secrecy::Maybe } else { Secrecy::Password };
    let rule = judge(name, level, word, ValueForm::Said).filter(|_| {
        is_command && line.len() < COMMAND_BYTES && !is_hash && !text[end..next].contains("://")
    })?;
    Some((next..next + word.len(), rule))
}
