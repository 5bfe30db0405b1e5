//! Answers of commands, as a person reads them in a pipe.

use insta::assert_snapshot;

use crate::screens::{run, screen};
use crate::world::{World, short};

/// Ids, days and times differ from run to run.
fn settled(text: &str, names: &[(&str, &str)]) -> String {
    let named = names.iter().fold(text.to_owned(), |text, (id, name)| text.replace(id, name));
    let forms =
        [("0000-00-00T00:00:00.000000Z", "[time]"), ("0000-00-00 00:00", "[time]"), ("0000-00-00", "[day]")];
    forms.iter().fold(named, |text, (form, name)| without(&text, form, name))
}

/// The text with a name in place of everything of this form, in which `0` is any digit.
fn without(text: &str, form: &str, name: &str) -> String {
    let fits = |rest: &str| {
        let pairs = || rest.chars().zip(form.chars());
        pairs().count() == form.len()
            && pairs().all(|(is, sign)| if sign == '0' { is.is_ascii_digit() } else { is == sign })
    };
    let mut told = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = if fits(rest) { form.len() } else { first.len_utf8() };
        told.push_str(if fits(rest) { name } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    told
}

/// A world with one conversation of two messages, and how its ids are to be told.
fn talk() -> (World, Vec<(String, String)>) {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append(
        "lisbon",
        "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n{\"role\":\"assistant\",\"content\":\"In Alfama.\"}\n",
    );
    let mut names = vec![(id.clone(), "[uuid]".to_owned()), (short(&id), "Lisbon".to_owned())];
    names.extend(ids.into_iter().zip(["quest1".to_owned(), "answr2".to_owned()]));
    (world, names)
}

fn told(world: &World, names: &[(String, String)], line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(|word| named(names, word)).collect();
    let outcome = run(world, &words.join(" "));
    let names: Vec<(&str, &str)> = names.iter().map(|(id, name)| (id.as_str(), name.as_str())).collect();
    settled(&screen(line, &outcome), &names)
}

/// The id behind a name that a line uses for it.
fn named(names: &[(String, String)], word: &str) -> String {
    names.iter().find(|(_, name)| name == word).map_or(word, |(id, _)| id).to_owned()
}

fn screens(lines: &[&str]) -> String {
    let (world, names) = talk();
    lines.iter().map(|line| told(&world, &names, line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_conversation_is_organized() {
    assert_snapshot!(screens(&[
        "rewind quest1",
        "label answr2 good idea",
        "label answr2 --remove",
        "pin answr2",
        "stop lisbon --complete",
        "rename lisbon Trip to Lisbon",
    ]));
}

#[test]
fn a_conversation_is_kept_and_expires() {
    assert_snapshot!(screens(&[
        "keep lisbon",
        "keep lisbon --release",
        "keep lisbon --until 2099-01-01",
        "expire --dry-run",
        "expire",
        "clean --dry-run",
        "config set retention.days 7",
    ]));
}

#[test]
fn a_conversation_is_removed() {
    assert_snapshot!(screens(&["delete answr2 --yes", "delete lisbon --yes", "purge --everything --yes"]));
}

#[test]
fn a_conversation_is_shared() {
    assert_snapshot!(screens(&[
        "export lisbon --output lisbon.md",
        "export lisbon --output lisbon.md",
        "import lisbon.md",
        "import lisbon.md --from json"
    ]));
}

#[test]
fn providers_and_keys_are_shown() {
    assert_snapshot!(screens(&[
        "auth status anthropic",
        "provider show anthropic",
        "provider set ollama --model small:8b"
    ]));
}

#[test]
fn settings_are_shown() {
    assert_snapshot!(screens(&[
        "config list retention",
        "config path",
        "config set start.default continue",
        "trust --list",
        "trust --yes"
    ]));
}

#[test]
fn the_store_is_checked() {
    assert_snapshot!(screens(&["verify", "scrub --all --dry-run", "project list", "audit"]));
}
