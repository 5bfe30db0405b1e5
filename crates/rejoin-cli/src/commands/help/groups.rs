//! The commands by what people do with them.
//!
//! A name stands here before its command exists, and is passed over until then.

/// Commands that belong together.
pub(super) struct Group {
    pub(super) name: &'static str,
    /// The ones on the first screen.
    pub(super) first: &'static [&'static str],
    /// The others, which `help --all` lists after them.
    pub(super) rest: &'static [&'static str],
}

impl Group {
    pub(super) fn all(&self) -> impl Iterator<Item = &'static str> {
        self.first.iter().chain(self.rest).copied()
    }
}

pub(super) const GROUPS: [Group; 6] = [
    Group {
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
    Group { name: "Find", first: &["list", "search", "show"], rest: &["rename", "stats"] },
    Group {
        name: "Branch",
        first: &["tree", "fork"],
        rest: &["rewind", "restore-files", "label", "conversation"],
    },
    Group {
        name: "Share",
        first: &["import", "export"],
        rest: &["handoff", "append", "hook", "events", "serve", "web", "token"],
    },
    Group {
        name: "Protect",
        first: &["vault", "purge"],
        rest: &["keep", "delete", "clean", "expire", "scrub", "audit", "backup", "restore", "trust"],
    },
    Group {
        name: "Maintain",
        first: &["doctor"],
        rest: &["config", "verify", "project", "store", "copy", "torture", "completions", "man", "help"],
    },
];
