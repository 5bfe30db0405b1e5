//! Says what went wrong where an error names only the act: "read `a.json`" becomes "could not read `a.json`".
//!
//! The library's errors name what was attempted. Printed as it is, that would read like an instruction.

use std::borrow::Cow;

/// The words that attempts begin with. No statement may begin with one of them.
const VERBS: [&str; 96] = [
    "accept",
    "add",
    "append",
    "ask",
    "attach",
    "bring",
    "change",
    "check",
    "clear",
    "close",
    "compact",
    "compress",
    "connect",
    "convert",
    "copy",
    "correct",
    "create",
    "decode",
    "decrypt",
    "delete",
    "draw",
    "encode",
    "encrypt",
    "erase",
    "export",
    "fetch",
    "fill",
    "find",
    "fold",
    "follow",
    "forget",
    "fork",
    "get",
    "give",
    "go",
    "hand",
    "import",
    "keep",
    "label",
    "list",
    "listen",
    "load",
    "lock",
    "look",
    "make",
    "measure",
    "merge",
    "move",
    "note",
    "open",
    "parse",
    "pin",
    "prepare",
    "print",
    "purge",
    "put",
    "reach",
    "read",
    "recover",
    "remember",
    "remove",
    "rename",
    "replace",
    "resolve",
    "restore",
    "resume",
    "rewind",
    "rewrite",
    "rotate",
    "run",
    "save",
    "scrub",
    "seal",
    "search",
    "send",
    "set",
    "share",
    "show",
    "split",
    "start",
    "stay",
    "stop",
    "store",
    "summarize",
    "switch",
    "sync",
    "take",
    "tell",
    "trust",
    "undo",
    "unlock",
    "update",
    "use",
    "wait",
    "watch",
    "write",
];

/// The text as a statement of what went wrong.
pub(crate) fn as_failure(text: &str) -> Cow<'_, str> {
    let first = text.split([' ', ':']).next().unwrap_or_default();
    match VERBS.binary_search(&first) {
        Ok(_) => Cow::Owned(format!("could not {text}")),
        Err(_) => Cow::Borrowed(text),
    }
}

/// Commands of the shell that the prompt has, too.
const AT_PROMPT: [(&str, &str); 8] = [
    ("`rejoin list`", "`/conversations`"),
    ("`rejoin tree`", "`/tree`"),
    ("`rejoin resume --list`", "`/conversations`"),
    ("`rejoin resume ", "`/resume "),
    ("`rejoin fork ", "`/fork "),
    ("`rejoin rewind ", "`/rewind "),
    ("`rejoin compact`", "`/compact`"),
    ("`rejoin uncompact`", "`/uncompact`"),
];

/// A hint as it reads at the prompt: its commands work there, or it says that they are for a shell.
pub(crate) fn hint_at_prompt(hint: &str) -> String {
    let told = AT_PROMPT.iter().fold(hint.to_owned(), |told, (shell, prompt)| told.replace(shell, prompt));
    if told.contains("`rejoin ") { format!("{told} (in a shell)") } else { told }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn an_attempt_becomes_a_failure_and_a_statement_stays() {
        let texts = ["read `a.json`", "the disk is full", "`x` is not a role", "reading"];

        let told = texts.map(|text| as_failure(text).into_owned());

        assert_eq!(told, ["could not read `a.json`", "the disk is full", "`x` is not a role", "reading"]);
    }

    #[test]
    fn a_hint_at_the_prompt_names_what_works_there() {
        let hints = [
            "run `rejoin list` to see conversations, `rejoin tree` for messages",
            "run `rejoin resume 7Kd93x` to continue it",
            "run `rejoin verify` to see what is wrong",
            "type /tree to see the messages",
        ];

        let told = hints.map(hint_at_prompt);

        let expected = [
            "run `/conversations` to see conversations, `/tree` for messages",
            "run `/resume 7Kd93x` to continue it",
            "run `rejoin verify` to see what is wrong (in a shell)",
            "type /tree to see the messages",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn the_verbs_are_sorted() {
        assert!(VERBS.is_sorted());
    }

    /// What is wrapped around another error names the act, unless it is a whole sentence.
    #[test]
    fn every_attempt_begins_with_a_known_verb() {
        let calls = [
            "during(\"",
            "during(format!(\"",
            "during(|| format!(\"",
            "Failure::io(\"",
            "Failure::io(format!(\"",
        ];

        let mut unknown = Vec::new();
        for (path, text) in sources() {
            let program = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let attempts = calls.iter().flat_map(|call| program.split(call).skip(1));
            let is_act = |attempt: &&str| attempt.starts_with(|first: char| first.is_ascii_lowercase());
            for attempt in attempts.filter(is_act) {
                let attempt = attempt.split('"').next().unwrap_or_default();
                let is_sentence = [" is ", " cannot ", " are "].iter().any(|verb| attempt.contains(verb));
                if !is_sentence && as_failure(attempt) == attempt {
                    unknown.push(format!("{}: {attempt}", path.display()));
                }
            }
        }

        assert_eq!(unknown, Vec::<String>::new(), "add the verb to VERBS");
    }

    fn sources() -> Vec<(PathBuf, String)> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut folders =
            ["rejoin/src", "rejoin-agent/src", "rejoin-cli/src"].map(|path| crates.join(path)).to_vec();
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|kind| kind == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    found.push((path, text));
                }
            }
        }
        found
    }
}
