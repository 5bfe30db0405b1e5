//! `rejoin trust`: allow a project's own configuration to set every key.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rejoin_agent::directory_identity;
use serde::Serialize;

use crate::config::origin::{Setting, ValueOrigin};
use crate::config::trust::{Register, TrustStanding, is_linked};
use crate::config::value::ConfigValue;
use crate::config::{file, project};
use crate::context::{Consent, Context};
use crate::error::{Failure, Kind};
use crate::private;
use crate::project_file::{FileReading, read_inside};
use crate::shapes::Items;
use crate::ui::clean;
use crate::ui::consent::{self, ConsentLine, ConsentText};
use crate::ui::paint::Meaning;

/// The key that changes what counts as the project.
const SCOPE: &str = "project.scope";

/// Trust this project's configuration
///
/// Until you trust a project, its `.rejoin/config.toml` can set only `project.scope`, `start.default`
/// and `session.auto_pause_minutes`; Rejoin ignores every other key. Otherwise a cloned repository could
/// run programs, send text elsewhere, delete history or prevent saving. This command shows what the file
/// sets and asks. You are asked again if the file changes or another directory takes the project's
/// place.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin trust                 Show what the project sets, and ask
  rejoin trust ~/src/trip --yes
  rejoin trust --revoke
  rejoin trust --list")]
pub(crate) struct Args {
    /// The project; default: this one
    #[arg(value_name = "DIR", conflicts_with = "list")]
    directory: Option<PathBuf>,

    /// Do not ask for confirmation
    #[arg(long, conflicts_with_all = ["revoke", "list"])]
    yes: bool,

    /// Revoke trust
    #[arg(long, conflicts_with = "list")]
    revoke: bool,

    /// List trusted projects
    #[arg(long)]
    list: bool,
}

/// How a project stands, as programs read it.
#[derive(Serialize)]
struct Stands<'a> {
    directory: &'a str,
    standing: &'a str,
}

/// How a project stands, and what it sets.
#[derive(Serialize)]
struct TrustAnswer<'a> {
    #[serde(flatten)]
    project: Stands<'a>,
    sets: Vec<Sets<'a>>,
}

/// A setting that needs trust.
#[derive(Serialize)]
struct Sets<'a> {
    key: String,
    value: &'a ConfigValue,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    if args.list {
        return list(context);
    }
    let directory = match &args.directory {
        None => context.config.project_root().to_owned(),
        Some(directory) => {
            let start = context.surroundings.working_directory.join(directory);
            project::directory_of(&start, context.config.project_scope())?
        }
    };
    let name = directory.to_str().ok_or_else(|| {
        Failure::new(Kind::Unsupported, format!("trust `{}`", directory.display()))
            .because("its path is not valid text, so it cannot be recorded")
    })?;
    if args.revoke {
        return revoke(name, context);
    }
    trust(&directory, name, Consent::from(args.yes), context)
}

fn trust(directory: &Path, name: &str, consent: Consent, context: &Context) -> Result<(), Failure> {
    if is_linked(directory) {
        return Err(Failure::new(Kind::Denied, format!("trust `{name}`"))
            .because(TrustStanding::Linked.to_string())
            .hint("replace the link with a regular file, then run `rejoin trust` again"));
    }
    // Before the file is read: what is shown is what this directory holds.
    let seen = directory_identity(directory);
    let path = directory.join(project::FILE);
    if let FileReading::Foreign(foreign) = read_inside(&path, directory, 0) {
        return Err(private::refusal(format!("trust `{name}`"), &foreign));
    }
    let text = file::text_of(&path)?.ok_or_else(|| {
        Failure::not_found(format!("trust `{name}`"))
            .because("it has no `.rejoin/config.toml`")
            .hint("there is nothing to allow")
    })?;
    let settings = file::settings_in(&path, &text)?;
    let mut guarded: Vec<&Setting> = settings.iter().filter(|setting| !setting.key.is_harmless()).collect();
    if guarded.is_empty() {
        // It counts without trust, and a warning says so until the user agrees.
        guarded.extend(settings.iter().filter(|setting| setting.key.name == SCOPE));
    }
    if guarded.is_empty() {
        if Register::read(&context.surroundings)?.directories().any(|known| known == name) {
            Register::update(&context.surroundings, |register| register.revoke(name))?;
        }
        context.note(&format!("It sets nothing that needs trust: {}", path.display()));
        return answer("untrusted", name, &guarded, context);
    }
    let what = shown(&path, &guarded);
    if consent == Consent::Given && context.shows_notes() {
        consent::print_all(&what, &mut io::stderr())?;
    }
    context.confirm_shown(&what, &ConsentText::line("Allow this?"), consent)?;
    // What was shown is what is trusted: the text in hand, not the file as it may be by now.
    Register::update(&context.surroundings, |register| register.trust(name, seen, &text))??;
    context.note(&format!("Trusted until the file changes: {name}"));
    answer("trusted", name, &guarded, context)
}

/// Tells a script how the project stands and what it sets.
fn answer(standing: &str, name: &str, guarded: &[&Setting], context: &Context) -> Result<(), Failure> {
    if !context.is_json() {
        return Ok(());
    }
    let sets = guarded.iter().map(|setting| Sets { key: setting.name(), value: &setting.value }).collect();
    context.answer_json(&TrustAnswer { project: Stands { directory: name, standing }, sets })
}

/// Every value in full, as the decision rests on it.
fn shown(path: &Path, guarded: &[&Setting]) -> Vec<ConsentLine> {
    let mut texts = vec![format!("{} sets:", path.display())];
    for setting in guarded {
        let line = match setting.origin {
            ValueOrigin::File { line, .. } => line,
            ValueOrigin::Default | ValueOrigin::Variable(_) | ValueOrigin::Flag(_) => 0,
        };
        texts.push(format!("  line {line}: {} = {}", setting.name(), setting.value.to_toml()));
        texts.push(format!("          {}", setting.key.about));
    }
    let shown = ConsentText::lines(texts.iter().map(String::as_str));
    let mut lines = ConsentLine::edged(&shown, |_| Meaning::Plain);
    lines.extend(ConsentLine::notes(&[&shown]));
    lines
}

fn revoke(name: &str, context: &Context) -> Result<(), Failure> {
    let was_trusted = Register::update(&context.surroundings, |register| register.revoke(name))?;
    if context.is_json() {
        return context.answer_json(&Stands { directory: name, standing: "untrusted" });
    }
    let outcome = if was_trusted { "No longer trusted" } else { "It was not trusted" };
    context.note(&format!("{outcome}: {name}"));
    Ok(())
}

fn list(context: &Context) -> Result<(), Failure> {
    let register = Register::read(&context.surroundings)?;
    let standing_of = |directory: &str| {
        let directory = Path::new(directory);
        let text = file::text_of(&directory.join(project::FILE)).ok().flatten();
        text.map_or("missing", |text| register.standing(directory, &text).name())
    };
    let rows: Vec<(&str, &str)> =
        register.directories().map(|directory| (standing_of(directory), directory)).collect();
    if context.is_json() {
        let items = rows.into_iter().map(|(standing, directory)| Stands { directory, standing });
        return context.answer_json(&Items { items: items.collect() });
    }
    let mut answer = context.answer();
    for (standing, directory) in rows {
        writeln!(answer, "{standing:9}  {}", clean::line(directory))?;
    }
    answer.flush()?;
    Ok(())
}
