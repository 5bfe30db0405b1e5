//! The commands, one file each.
//!
//! A command is a module with `Args`, whose doc comment is its help, and `run`. Adding one takes a line in
//! the `commands!` list and its file.

pub(crate) mod talk;

use clap::{Args as _, Subcommand};

use crate::context::Context;
use crate::error::Failure;

/// Declares the modules, the variants and the dispatch together, so that none of them can be forgotten.
macro_rules! commands {
    ($($module:ident => $variant:ident,)+) => {
        $(mod $module;)+

        /// The commands of `rejoin`.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($variant($module::Args),)+
        }

        impl Command {
            /// Describes the command with this name to clap, without the others.
            pub(crate) fn alone(name: &str) -> Option<clap::Command> {
                if name.contains('_') {
                    // That is how a module is called, not its command.
                    return None;
                }
                match name.replace('-', "_").as_str() {
                    $(stringify!($module) => {
                        let own = clap::Command::default().name(stringify!($module).replace('_', "-"));
                        Some($module::Args::augment_args(own))
                    })+
                    _ => None,
                }
            }

            /// Whether a word is the name of a command, or another spelling of one.
            pub(crate) fn is_name(word: &str) -> bool {
                let root = Self::augment_subcommands(clap::Command::default());
                root.get_subcommands().any(|command| {
                    command.get_name() == word || command.get_all_aliases().any(|alias| alias == word)
                })
            }

            pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
                match self {
                    $(Command::$variant(args) => $module::run(args, context),)+
                }
            }
        }
    };
}

commands! {
    append => Append,
    audit => Audit,
    auth => Auth,
    backup => Backup,
    chat => Chat,
    clean => Clean,
    compact => Compact,
    completions => Completions,
    config => Config,
    conversation => Conversation,
    delete => Delete,
    doctor => Doctor,
    events => Events,
    expire => Expire,
    export => Export,
    fork => Fork,
    handoff => Handoff,
    help => Help,
    import => Import,
    keep => Keep,
    label => Label,
    list => List,
    man => Man,
    models => Models,
    new => New,
    pin => Pin,
    project => Project,
    provider => Provider,
    purge => Purge,
    rename => Rename,
    restore => Restore,
    restore_files => RestoreFiles,
    resummarize => Resummarize,
    resume => Resume,
    rewind => Rewind,
    scrub => Scrub,
    search => Search,
    setup => Setup,
    show => Show,
    stats => Stats,
    stop => Stop,
    tree => Tree,
    trust => Trust,
    uncompact => Uncompact,
    vault => Vault,
    verify => Verify,
}

#[cfg(test)]
pub(crate) use help::everything as whole_help;
pub(crate) use help::first_screen;
pub(crate) use import::offer as offer_import;

/// The formats that conversations can be exported in, with what each is for.
pub(crate) fn export_formats() -> Vec<(&'static str, String)> {
    export::formats()
}

impl Command {
    /// Whether this works, and must work, while the configuration is broken.
    pub(crate) fn needs_no_configuration(&self) -> bool {
        match self {
            Command::Config(args) => args.repairs(),
            command => matches!(
                command,
                Command::Completions(_)
                    | Command::Doctor(_)
                    | Command::Help(_)
                    | Command::Man(_)
                    | Command::Trust(_)
            ),
        }
    }
}
