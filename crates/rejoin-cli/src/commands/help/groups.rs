//! The commands by what people do with them.
//!
//! A name stands here before its command exists, and is passed over until then.

/// Commands that belong together.
pub(super) struct CommandGroup {
    pub(super) name: &'static str,
    /// The ones on the first screen.
    pub(super) first: &'static [&'static str],
    /// The others, which `help --all` lists after them.
    pub(super) rest: &'static [&'static str],
}

impl CommandGroup {
    pub(super) fn all(&self) -> impl Iterator<Item = &'static str> {
        self.first.iter().chain(self.rest).copied()
    }
}

pub(super) const GROUPS: [CommandGroup; 6] = [
    CommandGroup {
        name: "Talk",
        first: &["setup", "resume"],
        rest: &[
            "chat",
            "new",
            "stop",
            "models",
            "provider",
            "auth",
            "compact",
            "uncompact",
            "pin",
            "acp",
            "mcp",
        ],
    },
    CommandGroup { name: "Find", first: &["list", "search", "show"], rest: &["rename", "stats"] },
    CommandGroup {
        name: "Branch",
        first: &["fork"],
        rest: &["tree", "rewind", "restore-files", "label", "conversation"],
    },
    CommandGroup {
        name: "Share",
        first: &["import", "export"],
        rest: &["handoff", "append", "hook", "events", "serve", "web", "token"],
    },
    CommandGroup {
        name: "Protect",
        first: &["vault"],
        rest: &["delete", "purge", "keep", "clean", "expire", "scrub", "audit", "backup", "restore", "trust"],
    },
    CommandGroup {
        name: "Maintain",
        first: &["doctor"],
        rest: &["config", "verify", "project", "store", "copy", "torture", "completions", "man", "help"],
    },
];
