//! The tools of a talk: the built-in ones and those of MCP servers, with the rules of the user.

use std::path::Path;

use rejoin::{Archive, ConversationId};
use rejoin_agent::{Builtin, FileSnapshots, Rules, ServerSpec, Servers, Toolbox, directory_identity};

use crate::context::Context;
use crate::error::Failure;

/// The flag that a refusal names.
const FLAG: &str = "--allow";

/// Which tools run without asking, for this run.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ToolFlags {
    /// Run tools that match this rule without asking, such as `run(cargo test *)`
    ///
    /// Can be repeated. `tools.deny` and `tools.ask` take precedence.
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,

    /// Run every tool without asking
    ///
    /// `tools.deny` and `tools.ask` take precedence.
    #[arg(long)]
    allow_all_tools: bool,

    /// Do not offer tools to the model
    #[arg(long, conflicts_with_all = ["allow", "allow_all_tools"])]
    no_tools: bool,
}

impl ToolFlags {
    /// The first of these flags that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let flags = [
            (!self.allow.is_empty(), "--allow"),
            (self.allow_all_tools, "--allow-all-tools"),
            (self.no_tools, "--no-tools"),
        ];
        flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }
}

/// The tools that work in a project, with the rules of the configuration and of this run.
pub(crate) fn toolbox(context: &Context, flags: &ToolFlags, project: &Path) -> Result<Toolbox, Failure> {
    let identity = directory_identity(project).unwrap_or_default();
    let rules = rules(context, flags)?.bound_to(project.to_string_lossy(), identity);
    if flags.no_tools {
        return Ok(Toolbox::default());
    }
    let environment = context.environment();
    let builtin = Builtin::new(project)?
        .with_run_limit(context.config.tools_run_limit())
        .with_environment(environment.clone());
    let servers = context.config.mcp_servers().into_iter().map(|server| ServerSpec {
        name: server.name,
        command: server.command,
        arguments: server.arguments,
        environment: server.environment.0.into_iter().collect(),
    });
    Ok(Toolbox::default()
        .with_rules(rules)
        .with_builtin(&builtin)
        .with_servers(Servers::new(servers.collect(), project, environment))
        .with_flag(FLAG))
}

/// What keeps the project's files before a turn changes them; none when that is turned off, and in a home
/// directory, which is no project.
pub(crate) fn file_snapshots(context: &Context, archive: &Archive) -> Result<Option<FileSnapshots>, Failure> {
    let project = context.config.project();
    let home = context.surroundings.home.as_ref().and_then(|home| home.canonicalize().ok());
    if !context.config.keeps_files() || home.is_some_and(|home| home.starts_with(project)) {
        return Ok(None);
    }
    Ok(Some(FileSnapshots::new(archive.clone(), project)?))
}

/// Takes up what was decided in a conversation before, as far as it holds in this
/// directory. What cannot be read is asked again.
pub(crate) fn recall(
    context: &Context,
    toolbox: &Toolbox,
    archive: &Archive,
    conversation: ConversationId,
) -> Result<(), Failure> {
    if let Some(text) = archive.state().recall_for(conversation, Rules::NAME)?
        && let Err(error) = toolbox.change_rules(|rules| rules.recall(&text))
    {
        context.manner.warn(&format!("{error}, so tools ask again"), None);
    }
    Ok(())
}

fn rules(context: &Context, flags: &ToolFlags) -> Result<Rules, Failure> {
    let config = &context.config;
    let rules =
        Rules::new(config.tools_allow(), config.tools_ask(), config.tools_deny()).map_err(|error| {
            Failure::from(error).hint("see the keys `tools.allow`, `tools.ask` and `tools.deny`")
        })?;
    let everything = flags.allow_all_tools.then_some("*");
    let given = flags.allow.iter().map(String::as_str).chain(everything);
    given.into_iter().try_fold(rules, |rules, rule| {
        rules.allowing(rule).map_err(|error| Failure::usage(error.to_string()))
    })
}
