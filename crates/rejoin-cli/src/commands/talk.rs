//! `rejoin` and `rejoin "message"`: talking, when no command is named.

use clap::CommandFactory;

use crate::args::Arguments;
use crate::config::choices::StartDefault;
use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::session::choose;
use crate::session::leftover::Partial;
use crate::session::tools::ToolFlags;
use crate::session::{self, SessionOverrides, Start, TalkInput, Then};
use crate::suggest::nearest;

/// What to say, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The message to send, in quotes
    message: Option<String>,

    /// The message to send, even when it looks like a command
    #[arg(last = true, value_name = "TEXT", hide = true)]
    literal: Option<String>,

    /// Resume a conversation; without an ID, the latest one
    ///
    /// The latest one is the one last used in this project. A value that contains spaces is the message to
    /// send, not an ID.
    #[arg(short, long, value_name = "ID", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["continue", "new", "incognito"])]
    resume: Option<String>,

    /// Continue from a message; without an ID, the latest reply
    ///
    /// If the message already has a reply, a new branch starts.
    #[arg(short, long, value_name = "MESSAGE_ID", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["new", "incognito"])]
    r#continue: Option<String>,

    /// Start a new conversation, whatever `start.default` says
    #[arg(short, long, conflicts_with = "incognito")]
    new: bool,

    /// Save nothing to disk
    #[arg(short = 'G', long, visible_alias = "no-persistence")]
    incognito: bool,

    /// Open the prompt after sending the message
    #[arg(short, long)]
    interactive: bool,

    #[command(flatten)]
    manner: TalkManner,
}

/// How to talk, the same wherever a conversation goes on.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TalkManner {
    /// Use this provider
    #[arg(short, long, value_name = "PROVIDER")]
    provider: Option<String>,

    /// Use this model
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,

    /// Use this text as the system prompt; the conversation keeps it
    #[arg(short, long, value_name = "TEXT", conflicts_with = "command")]
    system: Option<String>,

    /// Use this address for the provider
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// Use this command file as the system prompt
    #[arg(long, value_name = "NAME")]
    command: Option<String>,

    /// Set the title of the conversation
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,

    /// Keep the partial text of an interrupted reply
    #[arg(long, conflicts_with = "discard_partial")]
    keep_partial: bool,

    /// Discard the partial text of an interrupted reply
    #[arg(long)]
    discard_partial: bool,

    /// Reopen a completed conversation without asking
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    tools: ToolFlags,
}

impl TalkManner {
    /// Refuses a message where the name of a provider is expected: other agents take one after `-p`.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Some(text) = self.provider.as_ref().filter(|name| name.contains(char::is_whitespace)) else {
            return Ok(());
        };
        Err(Failure::usage("`-p` takes the name of a provider, not a message")
            .hint(format!("to send it, run `rejoin {}`", quoted(text))))
    }

    pub(crate) fn overrides(self) -> SessionOverrides {
        let partial = match (self.keep_partial, self.discard_partial) {
            (true, _) => Partial::Keep,
            (false, true) => Partial::Discard,
            (false, false) => Partial::Ask,
        };
        SessionOverrides {
            provider: self.provider,
            model: self.model,
            base_url: self.base_url,
            command: self.command,
            system: self.system,
            title: self.title,
            partial,
            reopen: self.yes.into(),
            tools: self.tools,
            ..SessionOverrides::default()
        }
    }

    /// The first of these flags that was given.
    fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.provider.is_some(), "--provider"),
            (self.model.is_some(), "--model"),
            (self.base_url.is_some(), "--base-url"),
            (self.command.is_some(), "--command"),
            (self.system.is_some(), "--system"),
            (self.title.is_some(), "--title"),
            (self.keep_partial, "--keep-partial"),
            (self.discard_partial, "--discard-partial"),
            (self.yes, "--yes"),
        ];
        let given = flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag));
        given.or_else(|| self.tools.given())
    }
}

/// A text as it is written in a shell.
fn quoted(text: &str) -> String {
    let is_plain = !text.contains(['"', '$', '`', '\\', '!']);
    if is_plain { format!("\"{text}\"") } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    args.manner.check()?;
    // Who says where to go on does not mean a command.
    if let (Some(message), None, None) = (&args.message, &args.resume, &args.r#continue) {
        refuse_mistyped_command(message)?;
    }
    let TalkPlan { start, message, name } = plan(&args, context.config.start_default())?;
    if let Some((flag, name)) = &name {
        refuse_unknown(context, &start, flag, name)?;
    }
    let overrides = args.manner.overrides();
    let then = if args.interactive { Then::Stay } else { Then::Leave };
    session::say(context, &start, &overrides, TalkInput { message, then })
}

/// Looks a name up before anything is read or asked; it could have been meant as a message.
fn refuse_unknown(context: &Context, start: &Start, flag: &str, name: &str) -> Result<(), Failure> {
    if !context.config.persistence_enabled() {
        return Ok(());
    }
    let archive = context.archive_to_read()?;
    let outcome = match start {
        Start::Message(_) => named::message(&archive, name).map(drop),
        _ => choose::conversation(&archive, name).map(drop),
    };
    outcome.map_err(|failure| match failure.is_not_found() {
        true => failure.and_line(&format!("To send it as a message: rejoin {flag} -- {name}")),
        false => failure,
    })
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct TalkPlan {
    start: Start,
    message: Option<String>,
    /// A flag and the name given with it, which could have been meant as a message.
    name: Option<(&'static str, String)>,
}

fn plan(args: &Args, default: StartDefault) -> Result<TalkPlan, Failure> {
    let said = args.literal.clone().or_else(|| args.message.clone());
    let plan = |start| TalkPlan { start, message: said.clone(), name: None };
    if args.incognito {
        return Ok(plan(Start::Incognito));
    }
    if args.new {
        return Ok(plan(Start::New));
    }
    if let Some(value) = &args.resume {
        return of_value(value, "-r", said, Start::Latest, Start::Conversation);
    }
    if let Some(value) = &args.r#continue {
        return of_value(value, "-c", said, Start::LatestMessage, Start::Message);
    }
    Ok(plan(match default {
        StartDefault::New => Start::New,
        StartDefault::Continue => Start::LatestMessage,
    }))
}

/// A value with white space is a message, since no name has any.
fn of_value(
    value: &str,
    flag: &'static str,
    said: Option<String>,
    newest: Start,
    named: impl FnOnce(String) -> Start,
) -> Result<TalkPlan, Failure> {
    let is_message = value.contains(char::is_whitespace);
    match said {
        Some(_) if is_message => {
            Err(Failure::usage("two messages were given").hint("quote a message of several words"))
        }
        None if is_message => Ok(TalkPlan { start: newest, message: Some(value.to_owned()), name: None }),
        said if value.is_empty() => Ok(TalkPlan { start: newest, message: said, name: None }),
        said => {
            let name = said.is_none().then(|| (flag, value.to_owned()));
            Ok(TalkPlan { start: named(value.to_owned()), message: said, name })
        }
    }
}

/// What is for talking has no meaning beside a command, so it is not dropped silently.
pub(crate) fn refuse_beside_command(args: &Args) -> Result<(), Failure> {
    if let Some(message) = args.message.as_ref().or(args.literal.as_ref()) {
        return Err(Failure::usage(format!("both a message, `{message}`, and a command"))
            .hint("quote a message of several words"));
    }
    let flags = [
        (args.resume.is_some(), "--resume"),
        (args.r#continue.is_some(), "--continue"),
        (args.new, "--new"),
        (args.incognito, "--incognito"),
        (args.interactive, "--interactive"),
    ];
    let given = flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag));
    match given.or_else(|| args.manner.given()) {
        None => Ok(()),
        Some(flag) => Err(Failure::usage(format!("`{flag}` cannot stand before a command"))
            .hint("put it after the command, if the command accepts it")),
    }
}

/// Words that are commands of other programs, with the command here that does it; none when none does.
const FAMILIAR: [(&str, Option<&str>); 16] = [
    ("login", Some("setup")),
    ("logout", Some("auth remove")),
    ("init", Some("setup")),
    ("configure", Some("setup")),
    ("history", Some("list")),
    ("sessions", Some("list")),
    ("session", Some("list")),
    ("conversations", Some("list")),
    ("chats", Some("list")),
    ("providers", Some("provider list")),
    ("keys", Some("auth status")),
    ("status", Some("doctor")),
    ("update", None),
    ("upgrade", None),
    ("serve", None),
    ("mcp", None),
];

/// The command that somebody meant with a first word, if it was meant as one.
fn meant(word: &str) -> Option<Option<String>> {
    let lower = word.to_lowercase();
    if let Some((_, command)) = FAMILIAR.iter().find(|(name, _)| *name == lower) {
        return Some(command.map(str::to_owned));
    }
    let root = Arguments::command();
    let offered = root.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = offered.flat_map(clap::Command::get_name_and_visible_aliases).collect();
    nearest(word, names).map(|name| Some(name.to_owned()))
}

/// A single word that is close to a command is more likely a slip than something to tell a model.
fn refuse_mistyped_command(message: &str) -> Result<(), Failure> {
    let Some(command) = meant(message) else { return Ok(()) };
    let to_send = format!("To send it as a message: `rejoin -- {message}`");
    Err(Failure::usage(format!("`{message}` is not a command")).hint(match command {
        Some(command) => format!("did you mean `rejoin {command}`? {to_send}"),
        None => format!("run `rejoin --help` to see the commands. {to_send}"),
    }))
}

/// The same for a line of several words that clap did not accept, such as `rejoin serach lisbon`: the first
/// word is close to a command, or the message has no quotes.
pub(crate) fn explain_words<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Failure> {
    let first = words.next().filter(|word| !word.starts_with('-') && !word.contains(char::is_whitespace))?;
    let rest: Vec<&str> = words.collect();
    let is_words = !rest.is_empty() && rest.iter().all(|word| !word.starts_with('-'));
    if let Some(command) = meant(first) {
        return Some(Failure::usage(format!("`{first}` is not a command")).hint(match command {
            Some(command) => format!("did you mean `rejoin {command} {}`?", rest.join(" ")),
            None => "run `rejoin --help` to see the commands".to_owned(),
        }));
    }
    is_words.then(|| {
        Failure::usage("a message of several words needs quotes")
            .hint(format!("run `rejoin {}`", quoted(&format!("{first} {}", rest.join(" ")))))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn planned(arguments: &[&str], default: StartDefault) -> Result<TalkPlan, String> {
        let line = std::iter::once(&"rejoin").chain(arguments);
        let parsed = Arguments::try_parse_from(line).map_err(|error| error.kind().to_string())?;
        plan(&parsed.talk, default).map_err(|failure| failure.summary())
    }

    fn going(start: Start, message: Option<&str>) -> Result<TalkPlan, String> {
        Ok(TalkPlan { start, message: message.map(str::to_owned), name: None })
    }

    #[test]
    fn a_value_with_white_space_is_a_message_and_one_without_is_a_name() {
        let lisbon = || Start::Conversation("lisbon".to_owned());
        let cases: [(&[&str], _); 9] = [
            (&["-r"], going(Start::Latest, None)),
            (&["-r", "and in Lisbon?"], going(Start::Latest, Some("and in Lisbon?"))),
            (&["-r", "lisbon", "thanks"], going(lisbon(), Some("thanks"))),
            (&["-r", "--", "thanks"], going(Start::Latest, Some("thanks"))),
            (&["--resume=lisbon", "thanks"], going(lisbon(), Some("thanks"))),
            (&["-c", "and in Lisbon?"], going(Start::LatestMessage, Some("and in Lisbon?"))),
            (&["-c", "k3f9aB", "thanks"], going(Start::Message("k3f9aB".to_owned()), Some("thanks"))),
            (&["-n", "thanks"], going(Start::New, Some("thanks"))),
            (&["-G", "thanks"], going(Start::Incognito, Some("thanks"))),
        ];

        let plans = cases.each_ref().map(|(arguments, _)| planned(arguments, StartDefault::Continue));

        assert_eq!(plans, cases.map(|(_, expected)| expected));
    }

    #[test]
    fn a_name_without_a_message_remembers_that_it_could_have_been_one() {
        let start = Start::Conversation("thanks".to_owned());

        let expected = TalkPlan { start, message: None, name: Some(("-r", "thanks".to_owned())) };
        assert_eq!(planned(&["-r", "thanks"], StartDefault::New), Ok(expected));
    }

    #[test]
    fn without_a_flag_the_configuration_says_where_to_begin() {
        let plans = [StartDefault::New, StartDefault::Continue].map(|default| planned(&["hi"], default));

        assert_eq!(plans, [going(Start::New, Some("hi")), going(Start::LatestMessage, Some("hi"))]);
    }

    #[test]
    fn one_message_is_enough() {
        assert_eq!(
            planned(&["-r", "and in Lisbon?", "thanks"], StartDefault::New),
            Err("two messages were given".to_owned())
        );
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused() {
        let lines: [&[&str]; 5] = [
            &["-r", "-n", "a"],
            &["-r", "-G", "a"],
            &["-c", "-n", "a"],
            &["-c", "-r", "a"],
            &["-n", "-G", "a"],
        ];

        let refused = lines.map(|line| planned(line, StartDefault::New).is_err());

        assert_eq!(refused, [true; 5]);
    }
}
