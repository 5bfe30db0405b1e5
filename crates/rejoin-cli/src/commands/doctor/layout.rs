//! Findings as lines: state, name and message side by side, or one below the other where that does not fit.

use crate::commands::doctor::finding::{Finding, State};
use crate::ui::paint::{Meaning, Paint};
use crate::ui::{clean, fit};

/// The widest state is `problem`.
const STATE: usize = 7;

/// Spaces between columns.
const GAP: usize = 2;

/// The least room for a message beside its name.
const NARROWEST: usize = 36;

pub(super) fn draw(findings: &[Finding], screen: Option<usize>, paint: Paint) -> String {
    let name = findings.iter().map(|finding| fit::width(finding.name)).max().unwrap_or(0);
    let beside = STATE + GAP + name + GAP;
    let screen = screen.unwrap_or(usize::MAX);
    let is_narrow = screen < beside + NARROWEST;
    let indentation = if is_narrow { GAP } else { beside };
    let mut drawn = String::new();
    for finding in findings {
        let state = paint.apply(meaning(finding.state), &fit::pad_right(finding.state.name(), STATE));
        let start = format!("{state}{}{}", " ".repeat(GAP), fit::pad_right(finding.name, name));
        let room = screen.saturating_sub(indentation).max(1);
        let mut lines = fit::wrap(&clean::line(&finding.message), room);
        if let Some(remedy) = &finding.remedy {
            lines.extend(fit::wrap(&format!("-> {}", clean::line(remedy)), room));
        }
        let mut lines = lines.into_iter();
        if is_narrow {
            drawn += &format!("{}\n", start.trim_end());
        } else {
            let first = lines.next().unwrap_or_default();
            drawn += &format!("{}\n", format!("{start}{}{first}", " ".repeat(GAP)).trim_end());
        }
        for line in lines {
            drawn += &format!("{}{line}\n", " ".repeat(indentation));
        }
    }
    drawn
}

fn meaning(state: State) -> Meaning {
    match state {
        State::Ok => Meaning::Success,
        State::Warning => Meaning::Warning,
        State::Problem => Meaning::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> [Finding; 2] {
        [
            Finding::ok("git", "2.39.5"),
            Finding::problem("permissions", "others may read `/data/rejoin.db` (mode 644)", "run `chmod 600 /data/rejoin.db`"),
        ]
    }

    #[test]
    fn a_wide_screen_aligns_the_messages() {
        let expected = "\
ok       git          2.39.5
problem  permissions  others may read `/data/rejoin.db` (mode
                      644)
                      -> run `chmod 600 /data/rejoin.db`
";

        assert_eq!(draw(&findings(), Some(62), Paint::Plain), expected);
    }

    #[test]
    fn a_narrow_screen_puts_the_message_below() {
        let expected = "\
ok       git
  2.39.5
problem  permissions
  others may read `/data/rejoin.db`
  (mode 644)
  -> run `chmod 600 /data/rejoin.db`
";

        assert_eq!(draw(&findings(), Some(40), Paint::Plain), expected);
    }
}
