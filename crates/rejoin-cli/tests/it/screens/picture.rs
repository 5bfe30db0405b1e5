//! The picture in the README: the commands of `docs/demo.sh`, run for real, as a terminal shows them.
//!
//! Only the model is scripted. With `REJOIN_WRITE_DOCS=1`, which `just demo` sets, the test writes
//! `docs/demo.svg`.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use rejoin::{List, store::Order};
use serde_json::Value;

use crate::documents::read;
use crate::model_server::{ModelServer, reply};
use crate::world::World;

/// What the ids and times of a run are shown as, so that two runs look the same.
const IDS: [&str; 8] = ["Ehsn5f", "k3f9aB", "x7Gh2a", "Qx7d2M", "mDqu8u", "tMD8oR", "7Kd93x", "AU4eqF"];
const DAY: &str = "2026-11-15";
const HOUR: &str = "20:52";

const WIDTH: usize = 80;
const CELL: f32 = 8.4;
const LINE: usize = 20;

#[test]
fn the_picture_in_the_readme_shows_a_real_run() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/demo.svg");
    let picture = picture(&session());
    if env::var_os("REJOIN_WRITE_DOCS").is_some() {
        fs::write(&path, &picture).unwrap();
    }

    let written = fs::read_to_string(&path).unwrap_or_default();

    assert!(written == picture, "docs/demo.svg is not what docs/demo.sh shows; run `just demo`");
}

#[test]
fn the_picture_fits_a_screen() {
    let session = session();

    let wide: Vec<&str> = session.lines().filter(|line| plain(line).chars().count() > WIDTH).collect();

    assert_eq!(wide, Vec::<&str>::new());
    assert!(session.lines().count() <= 32, "{session}");
    assert!(read("README.md").contains("docs/demo.svg"));
}

/// Everything the terminal shows, with its colors.
fn session() -> String {
    let world = World::new();
    let server = ModelServer::start(|request| {
        let said = request["messages"].as_array().and_then(|said| said.last()).map(|said| &said["content"]);
        match said.and_then(Value::as_str) {
            Some(text) if text.contains("budget") => reply("Try a tasca: fish and wine for ten euros."),
            _ => reply("In Alfama: small rooms and grilled fish."),
        }
    });
    world.user_config(&server.config());
    let mut shown = String::new();
    for line in read("docs/demo.sh").lines() {
        writeln!(shown, "\u{1b}[2m$\u{1b}[0m \u{1b}[1m{line}\u{1b}[0m").unwrap();
        shown.push_str(&run(&world, line));
    }
    settled(&world, &shown)
}

fn run(world: &World, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_rejoin")).parent().unwrap();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{line}")])
        .current_dir(world.path("project"))
        .env_clear()
        .env("HOME", world.path("home"))
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
        .env("TZ", "UTC")
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The text with the ids, times and paths of the picture in place of those of the run.
fn settled(world: &World, shown: &str) -> String {
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
    let shown = shown.replace(world.path("home").to_str().unwrap(), "/home/me");
    let shown = made.iter().zip(IDS).fold(shown, |shown, (made, id)| shown.replace(made, id));
    let shown = replaced(&shown, "0000-00-00", DAY);
    replaced(&shown, "00:00", HOUR)
}

/// The text with a value in place of everything of this form, in which `0` is any digit.
fn replaced(text: &str, form: &str, value: &str) -> String {
    let fits = |rest: &str| {
        let pairs = || rest.chars().zip(form.chars());
        pairs().count() == form.len()
            && pairs().all(|(is, sign)| is == sign || (sign == '0' && is.is_ascii_digit()))
    };
    let mut told = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if fits(rest) { form.len() } else { first.len_utf8() };
        told.push_str(if fits(rest) { value } else { &rest[..length] });
        rest = &rest[length..];
    }
    told
}

/// The text without its colors.
fn plain(text: &str) -> String {
    pieces(text).map(|(_, piece)| piece).collect()
}

/// The text in pieces, each with the codes that precede it.
fn pieces(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\u{1b}[").enumerate().map(|(number, part)| match number {
        0 => ("", part),
        _ => part.split_once('m').unwrap_or(("", part)),
    })
}

/// A terminal that shows the text, in the reader's light or dark colors.
fn picture(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (width, height) = ((WIDTH as f32 * CELL) as usize + 32, lines.len() * LINE + 32);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <style>\n\
         rect{{fill:#fff;stroke:#d0d7de}}text{{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}}\n\
         .b{{font-weight:bold}}.d{{fill:#656d76}}.c1{{fill:#cf222e}}.c2{{fill:#116329}}.c3{{fill:#7d4e00}}.c4{{fill:#0550ae}}\
         .c5{{fill:#8250df}}.c6{{fill:#1b7c83}}\n\
         @media(prefers-color-scheme:dark){{rect{{fill:#0d1117;stroke:#30363d}}text{{fill:#e6edf3}}.d{{fill:#8b949e}}\
         .c1{{fill:#ff7b72}}.c2{{fill:#7ee787}}.c3{{fill:#e3b341}}.c4{{fill:#79c0ff}}.c5{{fill:#d2a8ff}}.c6{{fill:#76e3ea}}}}\n\
         </style>\n\
         <rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        width - 1,
        height - 1,
    );
    for (number, line) in lines.iter().enumerate() {
        writeln!(
            svg,
            "<text x=\"16\" y=\"{}\" xml:space=\"preserve\">{}</text>",
            number * LINE + 32,
            spans(line)
        )
        .unwrap();
    }
    svg.push_str("</svg>\n");
    svg
}

fn spans(line: &str) -> String {
    let mut classes: Vec<String> = Vec::new();
    let mut spans = String::new();
    for (codes, piece) in pieces(line) {
        for code in codes.split(';') {
            match code {
                "" => {}
                "0" => classes.clear(),
                "1" => classes.push("b".to_owned()),
                "2" => classes.push("d".to_owned()),
                code => classes.extend(code.strip_prefix(['3', '9']).map(|color| format!("c{color}"))),
            }
        }
        let text = piece.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        match (text.is_empty(), classes.is_empty()) {
            (true, _) => {}
            (false, true) => spans.push_str(&text),
            (false, false) => write!(spans, "<tspan class=\"{}\">{text}</tspan>", classes.join(" ")).unwrap(),
        }
    }
    spans
}
