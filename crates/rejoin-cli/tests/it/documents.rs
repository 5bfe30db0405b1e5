//! What the documents say is so: commands are run, links lead somewhere, the words are the house's.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rejoin::{List, MessageId, store::Order};

use crate::world::World;

#[test]
fn the_commands_in_the_readme_give_what_it_shows() {
    let world = World::new();
    let readme = read("README.md");
    let steps = steps(&readme);
    let commands: Vec<&str> = steps.iter().map(|step| step.command.as_str()).collect();

    let told = run(&world, &commands);

    let mut names = Names::of(&world);
    let told: Vec<Step> = steps
        .iter()
        .zip(told)
        .map(|(step, told)| Step { command: step.command.clone(), told: names.as_in(&step.told, &told) })
        .collect();
    assert_eq!(told, steps);
}

#[test]
fn the_program_in_the_readme_is_the_one_on_the_crates_page() {
    let shown = fenced(&read("README.md"), "rust").remove(0);

    let tested = fenced(&read("crates/rejoin/README.md"), "rust").remove(0);
    let visible: Vec<&str> = tested.lines().filter(|line| !line.starts_with("# ")).collect();
    assert_eq!(shown.trim_end(), visible.join("\n"));
}

#[test]
fn every_link_leads_to_a_file() {
    let documents = documents();
    let links = documents.iter().flat_map(|document| {
        let text = read(document);
        links(&text).map(|link| (document.clone(), link)).collect::<Vec<_>>()
    });

    let broken: Vec<(PathBuf, String)> = links
        .filter(|(document, link)| {
            let file = link.split('#').next().unwrap_or_default();
            let folder = root().join(document).parent().unwrap().to_owned();
            !file.is_empty() && !folder.join(file).exists()
        })
        .collect();

    assert_eq!(broken, []);
}

#[test]
fn the_documents_use_plain_words() {
    let documents = documents();
    let banned = ["simply", "just", "easy", "easily", "powerful", "robust", "we", "our", "us"];
    let prose = documents.iter().map(|document| (document, prose(&read(document))));

    let found: Vec<(&PathBuf, String)> = prose
        .flat_map(|(document, prose)| {
            let words = prose.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
            let found: Vec<_> = words.filter(|word| banned.contains(&word.as_str())).collect();
            found.into_iter().map(move |word| (document, word))
        })
        .collect();

    assert_eq!(found, []);
}

/// A command in a document, and what it says on a terminal.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    command: String,
    told: String,
}

/// The steps of every block marked `console`, in order.
fn steps(document: &str) -> Vec<Step> {
    let blocks = fenced(document, "console").concat();
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), told: String::new() }),
            (None, Some(step)) => step.told.push_str(&format!("{line}\n")),
            (None, None) => panic!("a block begins with a command, not with `{line}`"),
        }
    }
    steps
}

/// What each command tells a person, run one after the other in one shell.
fn run(world: &World, commands: &[&str]) -> Vec<String> {
    const END: &str = "\u{1e}";
    let program = Path::new(env!("CARGO_BIN_EXE_rejoin")).parent().unwrap();
    let ended: Vec<String> = commands.iter().map(|command| format!("{command}\nprintf '{END}'\n")).collect();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{}", ended.concat())])
        .current_dir(world.path("project"))
        .env_clear()
        .env("HOME", world.path("home"))
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let told = told.replace(world.path("home").to_str().unwrap(), "/home/me");
    told.split_terminator(END).map(as_on_a_terminal).collect()
}

/// A shell without a terminal tells at length of a program that was killed; with one it says `Killed`.
fn as_on_a_terminal(told: &str) -> String {
    let lines = told.lines().filter(|line| !line.starts_with("bash: line "));
    lines
        .map(|line| if line.contains(" Killed  ") { "Killed\n".to_owned() } else { format!("{line}\n") })
        .collect()
}

const SEPARATORS: [char; 3] = [' ', '\n', ':'];

/// The ids that a run made, and which ids of the document stand for them.
struct Names {
    made: Vec<String>,
    standing: HashMap<String, String>,
}

impl Names {
    fn of(world: &World) -> Self {
        let archive = world.archive();
        let mut made = Vec::new();
        archive
            .reader()
            .each_conversation(&List::default(), &mut |stored| {
                made.push(stored.id.short().to_string());
                let messages = archive.reader().all_messages(stored.id, Order::OldestFirst, 0, u64::MAX)?;
                made.extend(messages.iter().map(|message| message.id.to_string()));
                Ok(())
            })
            .unwrap();
        Self { made, standing: HashMap::new() }
    }

    /// What was told, with the ids and times of the document in the place of those of the run.
    ///
    /// One id of the document stands for one of the run throughout, or the texts differ.
    fn as_in(&mut self, document: &str, told: &str) -> String {
        let mut shown = document.split_inclusive(SEPARATORS);
        let words = told.split_inclusive(SEPARATORS);
        words.map(|word| self.word_as_in(shown.next().unwrap_or_default(), word)).collect()
    }

    fn word_as_in(&mut self, shown: &str, told: &str) -> String {
        let (id, own) = (told.trim_end_matches(SEPARATORS), shown.trim_end_matches(SEPARATORS));
        let is_id = self.made.iter().any(|made| made == id) && own.parse::<MessageId>().is_ok();
        let word = match (is_id, is_time(id) && is_time(own)) {
            (true, _) => self.standing.entry(id.to_owned()).or_insert_with(|| own.to_owned()),
            (false, true) => own,
            (false, false) => id,
        };
        format!("{word}{}", &told[id.len()..])
    }
}

fn is_time(word: &str) -> bool {
    word.contains(char::is_numeric)
        && word.chars().all(|letter| letter.is_numeric() || "(-)".contains(letter))
}

/// The blocks of a document that are marked with this word.
pub(crate) fn fenced(document: &str, mark: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in document.lines() {
        open = match (line.strip_prefix("```"), open) {
            (Some(own), None) => Some((own == mark, String::new())),
            (Some(_), Some((is_wanted, block))) => {
                blocks.extend(is_wanted.then_some(block));
                None
            }
            (None, Some((is_wanted, block))) => Some((is_wanted, format!("{block}{line}\n"))),
            (None, None) => None,
        };
    }
    blocks
}

/// A document without its blocks and without what stands in backticks; the help of commands counts as prose.
fn prose(document: &str) -> String {
    let mut prose = fenced(document, "text").concat();
    for (place, part) in document.split("```").enumerate() {
        let outside: Vec<&str> = if place % 2 == 0 { part.split('`').step_by(2).collect() } else { vec![] };
        prose.push_str(&outside.join(" "));
    }
    // Examples speak as their users do.
    let lines = prose.lines().filter(|line| !line.trim_start().starts_with("rejoin "));
    lines.collect::<Vec<_>>().join("\n")
}

fn links(document: &str) -> impl Iterator<Item = String> {
    let targets = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|link| !link.contains("://")).map(str::to_owned)
}

/// Every document, by its path from the root.
fn documents() -> Vec<PathBuf> {
    let folders = ["", "docs", "bench"];
    let entries = folders.iter().flat_map(|folder| {
        let names = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| Path::new(folder).join(name)).collect::<Vec<_>>()
    });
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

pub(crate) fn read(document: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(document)).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
