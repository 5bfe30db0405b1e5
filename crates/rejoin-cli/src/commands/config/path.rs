//! `rejoin config path`

use serde::Serialize;

use crate::commands::config::ConfigTarget;
use crate::context::Context;
use crate::error::Failure;
use crate::ui::json::{self, PathText};

/// Print the path of the configuration file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin config path
  rejoin config path --local    The project's own file")]
pub(super) struct Args {
    #[command(flatten)]
    target: ConfigTarget,
}

/// Where the files are, as programs read it.
#[derive(Serialize)]
struct ConfigFilesAnswer<'a> {
    user: PathText<'a>,
    project: PathText<'a>,
}

pub(super) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let user = context.surroundings.user_config_file()?;
    let project = context.config.project_file();
    if context.is_json() {
        return context
            .answer_json(&ConfigFilesAnswer { user: json::path(&user), project: json::path(project) });
    }
    let path = if args.target.local { project } else { &user };
    context.answer_text(&path.to_string_lossy())
}
