//! Reading, writing, editing, listing and finding, with real files and real links.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rejoin_agent::{Rules, Subject, Verdict};
use serde_json::json;

use crate::tools_workshop::{Workshop, text};

#[tokio::test]
async fn a_file_is_read_with_the_numbers_of_its_lines() {
    let shop = Workshop::new();
    shop.write("a.txt", "one\ntwo\nthree\nfour\n");

    let whole = shop.said("read", json!({"path": "a.txt"})).await;
    let part = shop.said("read", json!({"path": "a.txt", "offset": 2, "limit": 2})).await;
    let behind = shop.said("read", json!({"path": "a.txt", "offset": 9})).await;

    assert_eq!(whole, "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n");
    assert_eq!(part, "     2\ttwo\n     3\tthree\n[the file goes on; read further with offset 4]\n");
    assert_eq!(behind, "(the file has 4 lines only)");
}

#[tokio::test]
async fn what_is_not_text_is_refused_with_a_reason() {
    let shop = Workshop::new();
    shop.write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0");
    shop.write("a.bin", b"a\0b");
    fs::create_dir(shop.path("d")).unwrap();

    let mut said = Vec::new();
    for path in ["a.png", "a.bin", "d", "none"] {
        said.push(shop.failed("read", json!({"path": path})).await);
    }

    assert_eq!(
        said,
        [
            "`a.png` is an image (image/png, 11 bytes), and this tool reads text only",
            "`a.bin` is not a text file (3 bytes)",
            "`d` is a directory; use `list`",
            "there is no file `none`",
        ]
    );
}

#[tokio::test]
async fn a_long_file_is_cut_and_says_where_to_go_on() {
    let shop = Workshop::new();
    shop.write("long", "x".repeat(99).add_line().repeat(3000));
    shop.write("wide", "y".repeat(5000));

    let long = shop.said("read", json!({"path": "long", "limit": 100_000})).await;
    let wide = shop.said("read", json!({"path": "wide"})).await;

    assert!(
        long.len() < 110_000 && long.contains("[the file goes on; read further with offset "),
        "{}",
        long.len()
    );
    assert!(wide.ends_with("yyy [3000 bytes left out]\n"));
}

trait AddLine {
    fn add_line(self) -> String;
}

impl AddLine for String {
    fn add_line(mut self) -> String {
        self.push('\n');
        self
    }
}

#[tokio::test]
async fn a_pipe_or_a_device_is_not_read() {
    let shop = Workshop::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, shop.path("pipe"), 0o600.into()).unwrap();

    let said = shop.failed("read", json!({"path": "pipe"})).await;

    assert_eq!(said, "cannot read `pipe`: it is not a regular file");
}

#[test]
fn looking_inside_the_project_is_harmless_and_elsewhere_it_asks() {
    let shop = Workshop::new();
    fs::write(shop.elsewhere("secret"), "x").unwrap();
    symlink(shop.elsewhere("secret"), shop.path("file-link")).unwrap();
    symlink(shop.elsewhere(""), shop.path("directory-link")).unwrap();
    symlink("directory-link/secret", shop.path("link-to-link")).unwrap();
    symlink(shop.elsewhere("not-yet"), shop.path("dangling")).unwrap();
    symlink("inner", shop.path("inner-link")).unwrap();
    shop.write("inner", "x");

    let outside = [
        "../elsewhere/secret",
        "file-link",
        "directory-link/secret",
        "directory-link/../elsewhere/secret",
        "link-to-link",
        "dangling",
        "/etc/passwd",
        "inner/../../elsewhere/secret",
    ];
    let inside = ["inner", "inner-link", "./inner", "../project/inner", "missing/x"];

    for path in outside {
        let call = shop.prepare("read", json!({"path": path}));
        assert!(!call.plan.is_harmless && Rules::default().judge(&call) == Verdict::Ask, "{path}: {call:?}");
        assert!(!shop.is_inside("write", json!({"path": path, "content": ""})), "{path}");
    }
    for path in inside {
        assert!(shop.plan("read", json!({"path": path})).is_harmless, "{path}");
    }
    assert!(!shop.plan("list", json!({"path": "directory-link"})).is_harmless);
    assert!(!shop.plan("find", json!({"path": "directory-link", "pattern": "x"})).is_harmless);
}

#[tokio::test]
async fn a_link_put_in_the_way_after_asking_is_not_followed() {
    let shop = Workshop::new();
    fs::write(shop.elsewhere("secret"), "secret").unwrap();
    shop.write("directory/secret", "mine");
    shop.write("file", "mine");

    let in_directory = shop.prepare("read", json!({"path": "directory/secret"}));
    let in_file = shop.prepare("read", json!({"path": "file"}));
    let written = shop.prepare("write", json!({"path": "directory/secret", "content": "new"}));
    let created = shop.prepare("write", json!({"path": "fresh", "content": "new"}));
    fs::rename(shop.path("directory"), shop.path("moved")).unwrap();
    symlink(shop.elsewhere(""), shop.path("directory")).unwrap();
    fs::remove_file(shop.path("file")).unwrap();
    symlink(shop.elsewhere("secret"), shop.path("file")).unwrap();
    symlink(shop.elsewhere("created"), shop.path("fresh")).unwrap();

    for prepared in [in_directory, in_file, written, created] {
        assert!(prepared.run().await.is_error);
    }
    assert_eq!(fs::read_to_string(shop.elsewhere("secret")).unwrap(), "secret");
    assert!(!shop.elsewhere("created").exists());
}

#[tokio::test]
async fn a_file_is_created_with_its_directories_after_a_diff() {
    let shop = Workshop::new();

    let prepared = shop.prepare("write", json!({"path": "a/b/c.txt", "content": "one\ntwo\n"}));
    let plan = prepared.plan.clone();
    let before = shop.path("a").exists();
    let output = prepared.run().await;

    assert_eq!(
        (plan.summary.as_str(), plan.rule.as_str(), plan.is_harmless, before),
        ("Create `a/b/c.txt`", "write(a/b/c.txt)", false, false)
    );
    assert_eq!(plan.detail.unwrap(), "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two");
    assert_eq!((text(&output).as_str(), output.is_error), ("created `a/b/c.txt` (8 bytes)", false));
    assert_eq!(shop.read("a/b/c.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn a_replaced_file_keeps_its_permissions_and_leaves_nothing_behind() {
    let shop = Workshop::new();
    shop.write("run.sh", "old\n");
    fs::set_permissions(shop.path("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();

    let said = shop.said("write", json!({"path": "run.sh", "content": "new\n"})).await;

    let mode = fs::metadata(shop.path("run.sh")).unwrap().permissions().mode() & 0o7777;
    let names: Vec<_> =
        fs::read_dir(shop.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(said, "replaced `run.sh` (4 bytes)");
    assert_eq!((shop.read("run.sh").as_str(), mode, names.len()), ("new\n", 0o750, 1));
}

#[tokio::test]
async fn a_link_inside_the_project_stays_a_link_when_its_file_is_written() {
    let shop = Workshop::new();
    shop.write("real", "old");
    symlink("real", shop.path("link")).unwrap();

    shop.said("write", json!({"path": "link", "content": "new"})).await;

    assert!(fs::symlink_metadata(shop.path("link")).unwrap().is_symlink());
    assert_eq!(shop.read("real"), "new");
}

#[tokio::test]
async fn a_file_that_changed_after_its_diff_is_not_written() {
    let shop = Workshop::new();
    shop.write("a", "old");
    let replacing = shop.prepare("write", json!({"path": "a", "content": "new"}));
    let editing = shop.prepare("edit", json!({"path": "a", "old": "old", "new": "new"}));
    let creating = shop.prepare("write", json!({"path": "b", "content": "new"}));
    let gone = shop.prepare("edit", json!({"path": "a", "old": "old", "new": "new"}));
    shop.write("a", "older");
    shop.write("b", "meanwhile");

    let told = [replacing.run().await, editing.run().await, creating.run().await].map(|output| text(&output));
    fs::remove_file(shop.path("a")).unwrap();
    let after = text(&gone.run().await);

    let changed = |path| format!("`{path}` changed meanwhile, so it was not written; read it again");
    assert_eq!(told, [changed("a"), changed("a"), changed("b")]);
    assert_eq!((after, shop.read("b").as_str(), shop.path("a").exists()), (changed("a"), "meanwhile", false));
}

#[tokio::test]
async fn a_unique_text_is_replaced_and_the_diff_shows_it() {
    let shop = Workshop::new();
    shop.write("a.rs", "fn a() {}\nfn b() {}\n");

    let prepared = shop.prepare("edit", json!({"path": "a.rs", "old": "fn b()", "new": "fn c()"}));
    let detail = prepared.plan.detail.clone().unwrap();
    let output = prepared.run().await;

    assert_eq!(detail, "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n fn a() {}\n-fn b() {}\n+fn c() {}");
    assert_eq!(
        (text(&output).as_str(), shop.read("a.rs").as_str()),
        ("edited `a.rs`, line 2", "fn a() {}\nfn c() {}\n")
    );
}

#[tokio::test]
async fn every_occurrence_is_replaced_only_when_asked_for() {
    let shop = Workshop::new();
    shop.write("a", "x\ny\nx\n");

    let refused = shop.failed("edit", json!({"path": "a", "old": "x", "new": "z"})).await;
    let said = shop.said("edit", json!({"path": "a", "old": "x", "new": "z", "replace_all": true})).await;

    assert_eq!(
        refused,
        "`old` occurs 2 times in `a`, in lines 1, 3; add text around it until it is unique, or set `replace_all`"
    );
    assert_eq!((said.as_str(), shop.read("a").as_str()), ("edited `a` in 2 places", "z\ny\nz\n"));
}

#[tokio::test]
async fn a_text_that_is_not_found_is_explained() {
    let shop = Workshop::new();
    shop.write("a", "one\n    two\n    three\nfour\n");
    shop.write("crlf", "one\r\ntwo\r\n");
    let cases = [("a", "two\nthree"), ("a", "two\nfive"), ("a", "six"), ("crlf", "one\ntwo"), ("b", "x")];

    let mut told = Vec::new();
    for (path, old) in cases {
        told.push(shop.failed("edit", json!({"path": path, "old": old, "new": "z"})).await);
    }

    assert_eq!(
        told,
        [
            "`old` does not occur in `a`: from line 2 it is the same except for white space",
            "`old` does not occur in `a`: its first line is line 2 of the file, but what follows differs",
            "`old` does not occur in `a`; read the file to see what it holds",
            "`old` does not occur in `crlf`: lines of the file end with `\\r\\n`",
            "there is no file `b`; `write` creates one",
        ]
    );
}

#[tokio::test]
async fn a_directory_is_listed_without_what_is_hidden() {
    let shop = Workshop::new();
    shop.write("b.txt", "abc");
    shop.write(".hidden", "");
    shop.write("a/x", "");
    symlink("b.txt", shop.path("link")).unwrap();

    let plain = shop.said("list", json!({})).await;
    let all = shop.said("list", json!({"path": ".", "hidden": true})).await;

    assert_eq!(plain, "a/\nb.txt (3 bytes)\nlink -> b.txt\n[1 hidden entries]\n");
    assert_eq!(all, ".hidden (0 bytes)\na/\nb.txt (3 bytes)\nlink -> b.txt\n");
}

#[tokio::test]
async fn a_large_directory_is_cut_and_the_rest_counted() {
    let shop = Workshop::new();
    (0..520).for_each(|number| shop.write(&format!("{number:03}"), ""));

    let said = shop.said("list", json!({})).await;

    assert_eq!((said.lines().count(), said.lines().last()), (501, Some("[20 more entries]")));
}

#[tokio::test]
async fn text_is_found_except_where_nobody_wants_to_look() {
    let shop = Workshop::new();
    shop.write("a.rs", "let green = 1;\nlet Green = 2;\n");
    shop.write("sub/b.md", "a green bicycle\n");
    shop.write(".gitignore", "target\n");
    shop.write("target/c.rs", "green\n");
    shop.write(".git/config", "green\n");
    shop.write("binary", b"green\0");
    shop.write(".hidden", "green\n");
    fs::write(shop.elsewhere("d"), "green\n").unwrap();
    symlink(shop.elsewhere("d"), shop.path("link")).unwrap();

    let found = shop.said("find", json!({"pattern": "gre+n"})).await;
    let loose = shop.said("find", json!({"pattern": "GREEN =", "ignore_case": true, "glob": "*.rs"})).await;
    let literal = shop.said("find", json!({"pattern": "gre+n", "literal": true})).await;
    let names = shop.said("find", json!({"glob": "**/*.md"})).await;

    assert_eq!(found, "a.rs:1: let green = 1;\nsub/b.md:1: a green bicycle\n");
    assert_eq!(loose, "a.rs:1: let green = 1;\na.rs:2: let Green = 2;\n");
    assert_eq!((literal.as_str(), names.as_str()), ("nothing found\n", "sub/b.md\n"));
}

#[tokio::test]
async fn a_search_is_bounded_and_says_so() {
    let shop = Workshop::new();
    shop.write("a", "x\n".repeat(5000));

    let said = shop.said("find", json!({"pattern": "x", "limit": 3})).await;
    let wrong = shop.refusal("find", json!({"pattern": "("}));
    let nowhere = shop.failed("find", json!({"pattern": "x", "path": "none"})).await;
    let file = shop.said("find", json!({"pattern": "x", "path": "a", "limit": 1})).await;

    assert_eq!(
        said,
        "a:1: x\na:2: x\na:3: x\n[the search was cut short here; make it narrower to see the rest]\n"
    );
    assert_eq!(nowhere, "cannot search `none`: No such file or directory (os error 2)");
    assert!(file.starts_with("a:1: x\n"), "{file}");
    assert!(wrong.starts_with("the pattern is not a regular expression"), "{wrong}");
}

#[tokio::test]
async fn what_may_not_be_read_is_not_found() {
    let shop = Workshop::with_rules(Rules::new(&[], &[], &["read(.env)", "read(secrets)"]).unwrap());
    shop.write(".env", "KEY=green\n");
    shop.write("secrets/a", "green\n");
    shop.write("b", "green\n");

    let found = shop.said("find", json!({"pattern": "green", "hidden": true})).await;

    assert_eq!(found, "b:1: green\n");
}

#[test]
fn an_input_that_does_not_fit_is_explained() {
    let shop = Workshop::new();
    let told = [
        shop.refusal("read", json!({})),
        shop.refusal("read", json!({"path": 1})),
        shop.refusal("read", json!({"path": "a", "file": "b"})),
        shop.refusal("read", json!("{\"path\": \"a")),
        shop.refusal("read", json!([1])),
        shop.refusal("read", json!({"path": "~/x"})),
        shop.refusal("run", json!({"command": "  "})),
        shop.refusal("run", json!({"command": "ls", "seconds": 0})),
    ];

    assert_eq!(
        told,
        [
            "the input does not fit: missing field `path`",
            "the input does not fit: invalid type: integer `1`, expected a string",
            "the input does not fit: unknown field `file`, expected one of `path`, `offset`, `limit`",
            "the input is not valid JSON: EOF while parsing a string at line 1 column 11",
            "the input must be a JSON object",
            "`~/x`: `~` is not expanded; give a path in the project or an absolute one",
            "the command is empty",
            "`seconds` must be from 1 to 3600",
        ]
    );
}

#[test]
fn what_a_file_elsewhere_holds_is_not_told_before_it_is_allowed() {
    let shop = Workshop::new();
    fs::write(shop.elsewhere("secret"), "a secret").unwrap();
    let path = shop.elsewhere("secret").to_str().unwrap().to_owned();

    let plans = [
        shop.prepare("edit", json!({"path": path, "old": "a secret", "new": "x"})),
        shop.prepare("edit", json!({"path": path, "old": "another", "new": "x"})),
        shop.prepare("write", json!({"path": shop.elsewhere("").to_str().unwrap(), "content": "x"})),
    ];

    assert_eq!(plans.map(|call| Rules::default().judge(&call)), [Verdict::Ask, Verdict::Ask, Verdict::Ask]);
}

#[test]
fn what_may_not_be_read_is_not_told_by_an_edit_that_fails() {
    let rules = Rules::new(&[], &[], &["read(.env)"]).unwrap();
    let shop = Workshop::new();
    shop.write(".env", "KEY=x");

    let calls =
        ["KEY=x", "KEY=y"].map(|old| shop.prepare("edit", json!({"path": ".env", "old": old, "new": "z"})));

    assert_eq!(
        calls.map(|call| rules.judge(&call)),
        [(); 2].map(|()| Verdict::Deny("read(.env)".to_owned()))
    );
}

#[test]
fn the_subject_of_a_call_is_where_its_path_leads() {
    let shop = Workshop::new();
    shop.write("real", "x");
    symlink("real", shop.path("link")).unwrap();

    let subject = shop.prepare("edit", json!({"path": "link", "old": "x", "new": "y"})).subject;

    let absolute = shop.path("real").to_str().unwrap().to_owned();
    assert_eq!(subject, Subject::Path { tool: "edit", absolute, relative: Some("real".to_owned()) });
}

#[tokio::test]
async fn a_pipe_or_a_device_in_the_place_of_an_ignore_file_does_not_hold_up_a_search() {
    let shop = Workshop::new();
    shop.write("a.txt", "green\n");
    shop.write("trap/b.txt", "green\n");
    shop.write("endless/c.txt", "green\n");
    let status = std::process::Command::new("mkfifo").arg(shop.path("trap/.gitignore")).status().unwrap();
    assert!(status.success());
    symlink("/dev/zero", shop.path("endless/.ignore")).unwrap();
    let limit = std::time::Duration::from_secs(20);

    let found = tokio::time::timeout(limit, shop.said("find", json!({"pattern": "green"}))).await;
    let within =
        tokio::time::timeout(limit, shop.failed("find", json!({"pattern": "green", "path": "trap"}))).await;

    assert_eq!(found.as_deref(), Ok("a.txt:1: green\n"));
    let expected = "cannot search `trap`: its `.gitignore` or `.ignore` is not a regular file, or too large";
    assert_eq!(within.as_deref(), Ok(expected));
}
