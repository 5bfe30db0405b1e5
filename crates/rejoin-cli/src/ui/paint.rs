//! Colour by meaning, and only where a person looks at it.
//!
//! The sixteen basic colours are used because they follow the reader's own theme, dark or light.

use std::ffi::OsStr;

use anstyle::{AnsiColor, Style};

/// The value of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal that supports it.
    #[default]
    Auto,
    /// Even in a pipe or a file.
    Always,
    /// Without color.
    Never,
}

/// What the surroundings say about colour.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColorSigns<'a> {
    /// Whether the output goes to a terminal.
    pub(crate) is_terminal: bool,
    /// The variable `NO_COLOR`: off when not empty.
    pub(crate) no_color: Option<&'a OsStr>,
    /// The variable `CLICOLOR_FORCE`: on, even without a terminal, when neither empty nor `0`.
    pub(crate) clicolor_force: Option<&'a OsStr>,
    /// The variable `TERM`: a terminal named `dumb` has no colours.
    pub(crate) term: Option<&'a OsStr>,
}

/// What a piece of text means to the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing in particular.
    #[default]
    Plain,
    /// An id that can be copied into the next command.
    Id,
    /// A title or label.
    Title,
    /// Less important than what stands around it.
    Dim,
    /// Said by the user.
    User,
    /// Said by the model.
    Assistant,
    /// Said by a tool.
    Tool,
    /// Said by the system or any other role.
    System,
    /// All is well.
    Success,
    /// Needs attention.
    Warning,
    /// Went wrong.
    Error,
    /// The words that were searched for.
    Match,
    /// Stands for a character that would not be seen.
    Sign,
}

impl Meaning {
    /// Returns the meaning of text said by the role, as the role is stored.
    pub(crate) fn of_role(role: &str) -> Self {
        match role {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" | "tool_result" => Self::Tool,
            _ => Self::System,
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Id => AnsiColor::Yellow.on_default(),
            Self::Title => Style::new().bold(),
            Self::Dim => Style::new().dimmed(),
            Self::User => AnsiColor::Green.on_default().bold(),
            Self::Assistant => AnsiColor::Cyan.on_default().bold(),
            Self::Tool => AnsiColor::Magenta.on_default(),
            Self::System => AnsiColor::Blue.on_default(),
            Self::Success => AnsiColor::Green.on_default(),
            // Many terminals draw bold yellow as bright yellow, which a light background swallows.
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Sign => Style::new().invert(),
            Self::Error | Self::Match => AnsiColor::Red.on_default().bold(),
        }
    }
}

/// A brush that either colours or leaves text as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Adds colour sequences.
    Colored,
    /// Adds nothing.
    Plain,
}

impl Paint {
    /// Decides from the flag first, then from what the surroundings say.
    pub(crate) fn choose(choice: ColorChoice, signs: ColorSigns<'_>) -> Self {
        let is_set = |variable: Option<&OsStr>| variable.is_some_and(|value| !value.is_empty());
        let is_forced = is_set(signs.clicolor_force) && signs.clicolor_force != Some(OsStr::new("0"));
        let is_dumb = signs.term == Some(OsStr::new("dumb"));
        let is_colored = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => !is_set(signs.no_color) && (is_forced || (signs.is_terminal && !is_dumb)),
        };
        if is_colored { Self::Colored } else { Self::Plain }
    }

    /// Returns the text in the colour of its meaning. The text must be clean already.
    pub(crate) fn apply(self, meaning: Meaning, text: &str) -> String {
        let style = meaning.style();
        match self {
            Self::Colored if !style.is_plain() && !text.is_empty() => format!("{style}{text}{style:#}"),
            Self::Colored | Self::Plain => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal() -> ColorSigns<'static> {
        ColorSigns { is_terminal: true, term: Some(OsStr::new("xterm")), ..ColorSigns::default() }
    }

    fn with<'a>(no_color: Option<&'a str>, force: Option<&'a str>, signs: ColorSigns<'a>) -> ColorSigns<'a> {
        ColorSigns { no_color: no_color.map(OsStr::new), clicolor_force: force.map(OsStr::new), ..signs }
    }

    #[test]
    fn colour_appears_on_a_terminal_only_unless_something_says_otherwise() {
        let pipe = ColorSigns::default();
        let dumb = ColorSigns { term: Some(OsStr::new("dumb")), ..terminal() };
        let cases = [
            (terminal(), Paint::Colored),
            (pipe, Paint::Plain),
            (dumb, Paint::Plain),
            (with(Some("1"), None, terminal()), Paint::Plain),
            (with(Some(""), None, terminal()), Paint::Colored),
            (with(None, Some("1"), pipe), Paint::Colored),
            (with(None, Some("0"), pipe), Paint::Plain),
            (with(Some("1"), Some("1"), terminal()), Paint::Plain),
        ];

        let chosen = cases.map(|(signs, _)| Paint::choose(ColorChoice::Auto, signs));

        assert_eq!(chosen, cases.map(|(_, expected)| expected));
    }

    #[test]
    fn the_flag_beats_the_surroundings() {
        let forbidden = with(Some("1"), None, ColorSigns::default());

        assert_eq!(Paint::choose(ColorChoice::Always, forbidden), Paint::Colored);
        assert_eq!(Paint::choose(ColorChoice::Never, terminal()), Paint::Plain);
    }

    #[test]
    fn a_painted_text_ends_with_a_reset() {
        assert_eq!(Paint::Colored.apply(Meaning::Id, "a3f"), "\u{1b}[33ma3f\u{1b}[0m");
        assert_eq!(Paint::Colored.apply(Meaning::Plain, "a3f"), "a3f");
        assert_eq!(Paint::Colored.apply(Meaning::Id, ""), "");
        assert_eq!(Paint::Plain.apply(Meaning::Error, "a3f"), "a3f");
    }

    #[test]
    fn every_role_has_a_meaning() {
        let meanings = ["user", "assistant", "tool_result", "tool", "system", "else"].map(Meaning::of_role);

        let expected = [
            Meaning::User,
            Meaning::Assistant,
            Meaning::Tool,
            Meaning::Tool,
            Meaning::System,
            Meaning::System,
        ];
        assert_eq!(meanings, expected);
    }
}
