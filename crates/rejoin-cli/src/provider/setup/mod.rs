//! Choosing a provider and a model: found or named, tested with one request, and stored.
//!
//! Nothing is stored before the test has passed.

mod ask;
mod candidates;

use std::io::{self, Write};
use std::path::Path;

use rejoin_agent::Api;
use serde::Serialize;
use tokio::runtime::Runtime;

use self::ask::{MenuAnswer, choose};
use self::candidates::candidates;
use crate::config::Config;
use crate::context::{Consent, Context};
use crate::error::{Failure, Kind};
use crate::provider::{KnownProvider, ProviderChoice, check, models, unknown};
use crate::ui::{clean, json};

/// What is chosen beforehand, and whether anything may be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetupRequest {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) consent: Consent,
}

/// The choice as programs read it.
#[derive(Serialize)]
struct SetupAnswer<'a> {
    provider: &'a str,
    kind: &'static str,
    model: &'a str,
    base_url: Option<&'a str>,
    file: json::PathText<'a>,
    tested: bool,
}

/// Chooses as far as that is not done, tests the choice and stores it.
pub(crate) fn run(wanted: SetupRequest, runtime: &Runtime, context: &Context) -> Result<(), Failure> {
    let terminal = context.surroundings.terminal;
    let is_asked = wanted.consent == Consent::Ask;
    if is_asked && !(terminal.stdin && terminal.stderr) {
        return Err(Failure::new(Kind::NotConfirmed, "not running in a terminal, so nothing can be asked")
            .hint("run `rejoin setup --provider NAME --model MODEL --yes`"));
    }
    let (known, model) = if is_asked {
        asked(wanted.provider.as_deref(), wanted.model, runtime, context)?.ok_or_else(cancelled)?
    } else {
        let (known, model) = named(&wanted, runtime, context)?;
        runtime.block_on(check(context, &known, &model))?;
        (known, model)
    };
    store(&known, &model, context)?;
    context.note("Talk with it: rejoin");
    Ok(())
}

/// Offers to choose where no provider is chosen: none where no key and no server is found, so that nothing is
/// asked; else the configuration to go on with, if something was chosen.
pub(crate) fn offer(context: &Context, runtime: &Runtime) -> Result<Option<Option<Config>>, Failure> {
    if runtime.block_on(candidates(context)).is_empty() {
        return Ok(None);
    }
    writeln!(io::stderr(), "No model is chosen yet.")?;
    match asked(None, None, runtime, context) {
        Ok(Some((known, model))) => store(&known, &model, context).map(Some),
        Ok(None) => {
            context.note("Nothing was changed. To choose a model later: rejoin setup");
            Ok(Some(None))
        }
        Err(failure) => {
            failure.report(context.manner.format);
            Ok(Some(None))
        }
    }
}

/// What the flags name, completed where there is one possibility only.
fn named(
    wanted: &SetupRequest,
    runtime: &Runtime,
    context: &Context,
) -> Result<(KnownProvider, String), Failure> {
    let known = match &wanted.provider {
        Some(name) => of_name(name, context)?,
        None => {
            let mut found = runtime.block_on(candidates(context));
            match found.len() {
                0 => return Err(nothing_found()),
                1 => found.remove(0).known,
                _ => {
                    let names: Vec<&str> = found.iter().map(|one| one.known.name.as_str()).collect();
                    return Err(Failure::usage(format!(
                        "several providers were found: {}",
                        names.join(", ")
                    ))
                    .hint("add `--provider NAME`"));
                }
            }
        }
    };
    let model = match wanted.model.clone().or_else(|| known.model.clone()) {
        Some(model) => model,
        None => {
            let mut names = runtime.block_on(models(context, &known))?;
            if names.len() > 1 {
                let title = known.short_title();
                return Err(Failure::usage(format!("{title} has {} models", names.len())).hint(format!(
                    "add `--model MODEL`; `rejoin models --provider {}` lists them",
                    known.name
                )));
            }
            names.remove(0)
        }
    };
    Ok((known, model))
}

fn of_name(name: &str, context: &Context) -> Result<KnownProvider, Failure> {
    let known = KnownProvider::named(&context.config, name).ok_or_else(|| unknown(&context.config, name))?;
    match known.api {
        Api::Offline => Err(Failure::usage(format!("`{name}` answers without a model"))
            .hint(format!("run `rejoin provider set {name}`"))),
        _ => Ok(known),
    }
}

/// Asks for a provider and a model until a test passes; none when the person gives up.
fn asked(
    provider: Option<&str>,
    model: Option<String>,
    runtime: &Runtime,
    context: &Context,
) -> Result<Option<(KnownProvider, String)>, Failure> {
    let known = match provider {
        Some(name) => of_name(name, context)?,
        None => {
            let mut found = runtime.block_on(candidates(context));
            if found.is_empty() {
                return Err(nothing_found());
            }
            let titles: Vec<String> = found.iter().map(candidates::ProviderCandidate::told).collect();
            match choose("Providers", "Provider", &titles)? {
                MenuAnswer::Listed(place) => found.remove(place).known,
                MenuAnswer::Typed(name) => of_name(&name, context)?,
                MenuAnswer::Nothing => return Ok(None),
            }
        }
    };
    let mut wanted = model;
    loop {
        let model = match wanted.take() {
            Some(model) => model,
            None => match ask_model(&known, runtime, context)? {
                Some(model) => model,
                None => return Ok(None),
            },
        };
        write!(io::stderr(), "Sending one short request to {} ... ", clean::line(&model))?;
        io::stderr().flush()?;
        match runtime.block_on(check(context, &known, &model)) {
            Ok(()) => {
                writeln!(io::stderr(), "it answers.")?;
                return Ok(Some((known, model)));
            }
            Err(failure) => {
                writeln!(io::stderr(), "it does not answer.")?;
                failure.report(context.manner.format);
            }
        }
    }
}

fn ask_model(known: &KnownProvider, runtime: &Runtime, context: &Context) -> Result<Option<String>, Failure> {
    let mut names = runtime.block_on(models(context, known))?;
    let title = format!("Models of {}", known.short_title());
    Ok(match choose(&title, "Model", &names)? {
        MenuAnswer::Listed(place) => Some(names.remove(place)),
        // A provider may have more than it lists.
        MenuAnswer::Typed(name) => Some(name),
        MenuAnswer::Nothing => None,
    })
}

fn store(known: &KnownProvider, model: &str, context: &Context) -> Result<Option<Config>, Failure> {
    let name = known.name.as_str();
    let choice = ProviderChoice { name, model: Some(model), ..ProviderChoice::default() };
    let chosen = choice.store(context)?;
    if context.is_json() {
        context.answer_json(&SetupAnswer {
            provider: name,
            kind: known.api.as_str(),
            model,
            base_url: known.base_url.as_deref(),
            file: json::path(&chosen.path),
            tested: true,
        })?;
    } else {
        tell(known, model, &chosen.path, context);
    }
    let Some(config) = chosen.config else { return Ok(None) };
    if config.provider() != Some(name) {
        let winner = config.setting("provider").map(|setting| setting.origin.to_string()).unwrap_or_default();
        context.note(&format!("It is overridden here by {winner}"));
    }
    Ok(Some(config))
}

fn tell(known: &KnownProvider, model: &str, path: &Path, context: &Context) {
    let (title, model) = (known.short_title(), clean::line(model));
    context.note(&format!("Stored in {}: {title}, model {model}.", path.display()));
}

fn cancelled() -> Failure {
    Failure::new(Kind::NotConfirmed, "nothing was chosen, so nothing was changed")
}

fn nothing_found() -> Failure {
    Failure::not_found("no key of a provider and no running model server was found").hint(
        "export ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or run `ollama serve`, then \
         `rejoin setup` again; `rejoin auth set NAME` stores a key in the keyring",
    )
}
