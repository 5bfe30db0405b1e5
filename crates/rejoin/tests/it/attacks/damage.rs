//! Damage is never silent: whatever was done to a file of a plain store, a
//! reader who is not told has all of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rejoin::store::Children;
use rejoin::{Archive, Conversation, ConversationId, ErrorKind, Message};

use crate::attacks::attempt::{Attempt, Target, assert_all_fail};

/// What is done to a store, and to the bytes of a file.
type Done = fn(&Scene);
type Edit = fn(&[u8]) -> Vec<u8>;

const SAID: [&str; 4] = ["one", "two", "three", "four"];

/// A conversation in a store of plain files.
struct Scene {
    _directory: tempfile::TempDir,
    root: PathBuf,
    id: ConversationId,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("store");
        let archive = open(&root);
        let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
        SAID.iter().for_each(|text| drop(talk.append(Message::user(*text)).unwrap()));
        Self { _directory: directory, root, id: talk.id() }
    }

    fn file(&self) -> PathBuf {
        self.found().unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.file().parent().unwrap().to_owned()
    }

    /// The file, where it is to be found.
    fn found(&self) -> Option<PathBuf> {
        let folders = fs::read_dir(&self.root).unwrap().map(|entry| entry.unwrap());
        let folders = folders.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        let folders = folders.filter(|entry| entry.file_type().unwrap().is_dir());
        let mut files = folders.map(|folder| folder.path().join(format!("{}.jsonl", self.id)));
        files.find(|file| file.symlink_metadata().is_ok())
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.file()).unwrap().lines().map(str::to_owned).collect()
    }

    fn write(&self, lines: &[String]) {
        fs::write(self.file(), lines.join("\n") + "\n").unwrap();
    }

    /// Goes on with the conversation. One of which nothing can be read is refused.
    fn append(&self, text: &str) {
        let archive = open(&self.root).passing_over_damage();
        match archive.resume(self.id) {
            Ok(mut talk) => drop(talk.append(Message::user(text)).unwrap()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
        }
    }

    /// True when somebody who lists and reads the conversation misses something and is told nothing.
    fn is_silent(&self, target: Target) -> bool {
        match target {
            Target::Guarded => self.told_by_archive().is_none(),
            Target::Control => self.found().is_none_or(|file| naive(&file) != SAID),
        }
    }

    /// What the archive says, if it says anything.
    fn told_by_archive(&self) -> Option<String> {
        let archive = open(&self.root).passing_over_damage();
        let listed = archive.list(&Default::default());
        let read = archive.path(self.id, None);
        let told = archive.reader().passed_over().into_iter().next();
        let failed = listed.err().or(read.err()).map(|error| error.to_string());
        told.or(failed)
    }
}

fn open(root: &Path) -> Archive {
    Archive::open(&format!("jsonl:{}", root.display())).unwrap()
}

/// What a reader finds that passes over what it does not understand.
fn naive(path: &Path) -> Vec<String> {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    lines.filter_map(|line| Some(line["message"]["blocks"][0]["text"].as_str()?.to_owned())).collect()
}

/// An attempt that changes the file of a conversation.
fn damage<'a>(name: &'a str, change: impl Fn(&Scene) + 'a) -> Attempt<'a> {
    Attempt::new(name, move |target| {
        let scene = Scene::new();
        change(&scene);
        scene.is_silent(target)
    })
}

/// An attempt that changes one line.
fn line<'a>(name: &'a str, number: usize, change: impl Fn(&str) -> String + 'a) -> Attempt<'a> {
    damage(name, move |scene| {
        let mut lines = scene.lines();
        lines[number - 1] = change(&lines[number - 1]);
        scene.write(&lines);
    })
}

#[test]
fn no_damage_of_a_line_goes_unsaid() {
    assert_all_fail(&[
        line("rubbish instead of a line", 3, |_| "rubbish".to_owned()),
        line("a line that was cut in the middle", 3, |line| line[..line.len() / 2].to_owned()),
        line("a message that is no JSON", 3, |line| line.replace("\"two\"", "two")),
        line("a line of another conversation", 3, |line| {
            let other = "01932d4c-89ab-7890-abcd-1234567890ab";
            let own = serde_json::from_str::<serde_json::Value>(line).unwrap()["sessionId"].clone();
            line.replace(own.as_str().unwrap(), other).replace("\"text\"", "\"note\"")
        }),
        line("zero bytes before sound lines", 3, |line| "\0".repeat(line.len())),
        line("a message without its digest", 3, |line| {
            line.replace("\"digest\"", "\"digits\"").replace("two", "2")
        }),
        line("a comment instead of a line", 4, |line| format!("// {line}")),
        damage("a line that was taken out", |scene| {
            let mut lines = scene.lines();
            lines.remove(2);
            scene.write(&lines);
        }),
        damage("two lines that were taken out", |scene| {
            let mut lines = scene.lines();
            lines.drain(1..3);
            scene.write(&lines);
        }),
        damage("a line twice, in the place of another", |scene| {
            let mut lines = scene.lines();
            lines[2] = lines[3].clone();
            scene.write(&lines);
        }),
        damage("lines in another order", |scene| {
            let mut lines = scene.lines();
            lines.swap(2, 3);
            scene.write(&lines);
        }),
        damage("a byte that is no text", |scene| {
            let mut bytes = fs::read(scene.file()).unwrap();
            let at = bytes.windows(5).position(|window| window == b"\"two\"").unwrap();
            bytes[at + 2] = 0xff;
            fs::write(scene.file(), bytes).unwrap();
        }),
        damage("two lines that were joined", |scene| {
            let lines = scene.lines();
            let joined = [&lines[..2], &[format!("{}{}", lines[2], lines[3])], &lines[4..]].concat();
            scene.write(&joined);
        }),
    ]);
}

#[test]
fn no_damage_of_a_whole_file_goes_unsaid() {
    assert_all_fail(&[
        damage("a file that was emptied", |scene| fs::write(scene.file(), "").unwrap()),
        damage("a file of blank lines", |scene| fs::write(scene.file(), "\n \n\n").unwrap()),
        damage("a file of something else", |scene| {
            fs::write(scene.file(), "# Shopping\n\n- milk\n").unwrap();
        }),
        damage("a link instead of the file", |scene| {
            let file = scene.file();
            let elsewhere = scene.root.join("elsewhere");
            fs::write(&elsewhere, "").unwrap();
            fs::remove_file(&file).unwrap();
            symlink(elsewhere, file).unwrap();
        }),
        damage("a directory instead of the file", |scene| {
            let file = scene.file();
            fs::remove_file(&file).unwrap();
            fs::create_dir(file).unwrap();
        }),
        damage("a file of a newer version", |scene| {
            let text = fs::read_to_string(scene.file()).unwrap().replace("\"format\":1", "\"format\":9");
            fs::write(scene.file(), text.replace("\"blocks\"", "\"pieces\"")).unwrap();
        }),
        damage("the first line, which says what the conversation is, and the first message", |scene| {
            let mut lines = scene.lines();
            lines.drain(..2);
            scene.write(&lines);
        }),
    ]);
}

/// An attempt that takes a line about a conversation out, so that a list shows another title than it should.
fn forgotten<'a>(name: &'a str, change: impl Fn(&Scene) + 'a) -> Attempt<'a> {
    Attempt::new(name, move |target| {
        let scene = Scene::new();
        let archive = open(&scene.root);
        archive.update(scene.id, |conversation| conversation.title = Some("Porto".to_owned())).unwrap();
        scene.append("five");
        change(&scene);
        let title = fs::read_to_string(scene.file()).unwrap().contains("Porto");
        match target {
            Target::Guarded => scene.told_by_archive().is_none(),
            Target::Control => !title,
        }
    })
}

#[test]
fn no_line_about_a_conversation_that_was_taken_out_goes_unsaid() {
    let without = |scene: &Scene, text: &str| {
        let lines: Vec<String> = scene.lines().into_iter().filter(|line| !line.contains(text)).collect();
        scene.write(&lines);
    };

    assert_all_fail(&[
        forgotten("the line with the title", |scene| without(scene, "\"type\":\"header\"")),
        forgotten("the line with the title, before another change", |scene| {
            let rename = |conversation: &mut Conversation| conversation.title = Some("Faro".to_owned());
            open(&scene.root).update(scene.id, rename).unwrap();
            without(scene, "Porto");
        }),
        forgotten("the first line and the title", |scene| {
            without(scene, "\"type\":\"header\"");
            without(scene, "\"type\":\"session-start\"");
        }),
    ]);
}

/// An attempt on a file that was written anew because a message was deleted.
fn of_written_anew<'a>(name: &'a str, change: impl Fn(&Scene) + 'a) -> Attempt<'a> {
    Attempt::new(name, move |target| {
        let scene = Scene::new();
        let archive = open(&scene.root);
        let last = archive.path(scene.id, None).unwrap()[3].id;
        archive.removal().delete_messages(scene.id, &[last], Children::Remove, "by request").unwrap();
        let whole = scene.lines();
        change(&scene);
        match target {
            Target::Guarded => scene.told_by_archive().is_none(),
            Target::Control => scene.lines() != whole,
        }
    })
}

#[test]
fn no_line_that_was_taken_out_of_a_file_written_anew_goes_unsaid() {
    let without = |scene: &Scene, text: &str| {
        let lines: Vec<String> = scene.lines().into_iter().filter(|line| !line.contains(text)).collect();
        scene.write(&lines);
    };

    assert_all_fail(&[
        of_written_anew("a message", |scene| without(scene, "\"two\"")),
        of_written_anew("the last message", |scene| without(scene, "\"three\"")),
        of_written_anew("why it was written anew", |scene| without(scene, "\"type\":\"trimmed\"")),
        of_written_anew("the head", |scene| without(scene, "\"type\":\"head\"")),
        of_written_anew("the head, before another turn", |scene| {
            scene.append("five");
            without(scene, "\"type\":\"head\"");
        }),
        of_written_anew("the end", |scene| {
            let lines = scene.lines();
            scene.write(&lines[..3]);
        }),
    ]);
}

/// An attempt that puts a shorter copy where a reader finds it first.
fn with_copy<'a>(name: &'a str, change: impl Fn(&Scene, &Path) + 'a) -> Attempt<'a> {
    Attempt::new(name, move |target| {
        let scene = Scene::new();
        let earlier = scene.root.join("a-copy");
        fs::create_dir(&earlier).unwrap();
        let copy = earlier.join(scene.file().file_name().unwrap());
        change(&scene, &copy);
        match target {
            Target::Guarded => {
                let archive = open(&scene.root).passing_over_damage();
                let read = archive.path(scene.id, None).unwrap();
                scene.told_by_archive().is_none() || read.len() < SAID.len()
            }
            Target::Control => naive(&copy) != SAID,
        }
    })
}

#[test]
fn no_copy_is_taken_for_the_conversation() {
    assert_all_fail(&[
        with_copy("a copy with fewer turns", |scene, copy| {
            fs::write(copy, scene.lines()[..3].join("\n") + "\n").unwrap();
        }),
        with_copy("an empty copy", |_, copy| fs::write(copy, "").unwrap()),
        with_copy("a damaged copy", |scene, copy| {
            fs::write(copy, scene.lines().join("\n").replace("\"digest\"", "digest")).unwrap();
        }),
        with_copy("a copy that a list has seen", |scene, copy| {
            open(&scene.root).list(&Default::default()).unwrap();
            fs::write(copy, scene.lines()[..2].join("\n") + "\n").unwrap();
            open(&scene.root).list(&Default::default()).unwrap();
        }),
    ]);
}

/// Ways to make a file disappear.
fn disappearances() -> [(&'static str, Done); 8] {
    [
        ("a file that was removed", |scene| fs::remove_file(scene.file()).unwrap()),
        ("a file with another ending", |scene| {
            fs::rename(scene.file(), scene.file().with_extension("jsonl.bak")).unwrap();
        }),
        ("a file with another id", |scene| {
            let other = ConversationId::from_bytes([7; 16]);
            fs::rename(scene.file(), scene.folder().join(format!("{other}.json"))).unwrap();
        }),
        ("a file that was moved to the top", |scene| {
            fs::rename(scene.file(), scene.root.join(scene.file().file_name().unwrap())).unwrap();
        }),
        ("a file that was moved into a folder of its folder", |scene| {
            let below = scene.folder().join("below");
            fs::create_dir(&below).unwrap();
            fs::rename(scene.file(), below.join(scene.file().file_name().unwrap())).unwrap();
        }),
        ("a folder that was removed", |scene| fs::remove_dir_all(scene.folder()).unwrap()),
        ("a folder with a dot before its name", |scene| {
            fs::rename(scene.folder(), scene.root.join(".hidden")).unwrap();
        }),
        ("a link instead of a folder", |scene| {
            let (folder, elsewhere) = (scene.folder(), scene.root.with_file_name("elsewhere"));
            fs::rename(&folder, &elsewhere).unwrap();
            symlink(elsewhere, folder).unwrap();
        }),
    ]
}

#[test]
fn no_file_that_is_gone_goes_unmissed() {
    assert_all_fail(&disappearances().map(|(name, change)| damage(name, change)));
}

#[test]
fn no_file_that_is_gone_goes_unmissed_where_an_index_had_it() {
    let attempts = disappearances().map(|(name, change)| {
        damage(name, move |scene| {
            open(&scene.root).list(&Default::default()).unwrap();
            change(scene);
            open(&scene.root).list(&Default::default()).unwrap();
        })
    });

    assert_all_fail(&attempts);
}

/// Ways to make the acknowledged end of a file look like a write that did not end.
fn ends() -> [(&'static str, Edit); 9] {
    [
        ("line ends that were taken out", |bytes| without_line_ends(bytes, 0)),
        ("line ends that were taken out after the second line", |bytes| without_line_ends(bytes, 2)),
        ("carriage returns instead of line ends", |bytes| {
            bytes.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }).collect()
        }),
        ("zero bytes instead of line ends", |bytes| {
            bytes.iter().map(|byte| if *byte == b'\n' { 0 } else { *byte }).collect()
        }),
        ("an end of zero bytes", |bytes| [&bytes[..bytes.len() - 300], &[0; 300]].concat()),
        ("a last line that was cut", |bytes| bytes[..bytes.len() - 150].to_vec()),
        ("a file that was cut within its first line", |bytes| bytes[..100].to_vec()),
        ("zero bytes from the middle on", |bytes| {
            [&bytes[..bytes.len() / 2], &vec![0; bytes.len() / 2]].concat()
        }),
        ("something else at the end", |bytes| [&bytes[..bytes.len() - 300], &[b'x'; 4000]].concat()),
    ]
}

/// The bytes without the line ends after so many lines.
fn without_line_ends(bytes: &[u8], lines: usize) -> Vec<u8> {
    let parts: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let rest = parts[lines..].iter().flat_map(|line| line.strip_suffix(b"\n").unwrap_or(line));
    parts[..lines].concat().into_iter().chain(rest.copied()).collect()
}

/// What a writer does that takes every end that is not whole for a write that did not end: it cuts it off.
fn cut_off_what_is_not_whole(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let is_whole =
        |line: &&[u8]| line.ends_with(b"\n") && serde_json::from_slice::<serde_json::Value>(line).is_ok();
    let whole = bytes.split_inclusive(|byte| *byte == b'\n').take_while(is_whole);
    fs::write(path, whole.collect::<Vec<_>>().concat()).unwrap();
}

#[test]
fn no_damage_of_an_acknowledged_end_goes_unsaid() {
    let attempts = ends().map(|(name, change)| {
        damage(name, move |scene| fs::write(scene.file(), change(&fs::read(scene.file()).unwrap())).unwrap())
    });

    assert_all_fail(&attempts);
}

#[test]
fn no_append_destroys_an_acknowledged_end() {
    let attempts = ends().map(|(name, change)| {
        Attempt::new(name, move |target| {
            let scene = Scene::new();
            let damaged = change(&fs::read(scene.file()).unwrap());
            fs::write(scene.file(), &damaged).unwrap();
            match target {
                Target::Guarded => scene.append("five"),
                Target::Control => cut_off_what_is_not_whole(&scene.file()),
            }
            !fs::read(scene.file()).unwrap().starts_with(&damaged)
        })
    });

    assert_all_fail(&attempts);
}

#[test]
fn damage_that_was_appended_to_is_still_said() {
    let attempts = ends().map(|(name, change)| {
        damage(name, move |scene| {
            fs::write(scene.file(), change(&fs::read(scene.file()).unwrap())).unwrap();
            scene.append("five");
        })
    });

    assert_all_fail(&attempts);
}

#[test]
fn joined_lines_are_said_also_without_the_log_of_changes() {
    let attempts = [0, 2].map(|lines| {
        damage("line ends that were taken out", move |scene| {
            fs::write(scene.file(), without_line_ends(&fs::read(scene.file()).unwrap(), lines)).unwrap();
            fs::remove_file(scene.root.join(".store/changes.jsonl")).unwrap();
        })
    });

    assert_all_fail(&attempts);
}

#[test]
fn what_was_never_acknowledged_is_no_damage() {
    let scene = Scene::new();
    let whole = fs::read_to_string(scene.file()).unwrap();
    fs::write(scene.file(), format!("{whole}{{\"timestamp\":\"2026")).unwrap();

    assert_eq!((scene.told_by_archive(), naive(&scene.file())), (None, SAID.map(str::to_owned).to_vec()));
}
