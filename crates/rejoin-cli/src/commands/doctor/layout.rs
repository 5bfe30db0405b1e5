//! Findings as lines: state, name and message side by side, or one below the other where that does not fit.

use crate::commands::doctor::finding::{CheckFinding, CheckState};
use crate::ui::paint::{Meaning, Paint};
use crate::ui::{clean, fit};

/// The widest state is `problem`.
const STATE: usize = 7;

/// Spaces between columns.
const GAP: usize = 2;

/// The least room for a message beside its name.
const NARROWEST: usize = 36;

/// Draws what is wrong first, so that a pager shows it at once.
pub(super) fn draw(findings: &[CheckFinding], screen: Option<usize>, paint: Paint) -> String {
    let mut sorted: Vec<&CheckFinding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.state));
    let name = sorted.iter().map(|finding| fit::width(finding.name)).max().unwrap_or(0);
    sorted.into_iter().map(|finding| draw_one(finding, name, screen.unwrap_or(usize::MAX), paint)).collect()
}

fn draw_one(finding: &CheckFinding, name: usize, screen: usize, paint: Paint) -> String {
    let state = paint.apply(meaning(finding.state), &fit::pad_right(finding.state.name(), STATE));
    let start = format!("{state}{}{}", " ".repeat(GAP), fit::pad_right(finding.name, name));
    let beside = STATE + GAP + name + GAP;
    let message = clean::line(&finding.message);
    let is_short = finding.remedy.is_none() && beside + fit::width(&message) <= screen;
    let is_beside = is_short || screen >= beside + NARROWEST;
    let indentation = if is_beside { beside } else { GAP };
    let room = screen.saturating_sub(indentation).max(1);
    let mut lines = fit::wrap(&message, room);
    if let Some(remedy) = &finding.remedy {
        lines.extend(fit::wrap(&format!("-> {}", clean::line(remedy)), room));
    }
    let mut lines = lines.into_iter();
    let first = if is_beside { lines.next().unwrap_or_default() } else { String::new() };
    let mut drawn = format!("{start}{}{first}", " ".repeat(GAP)).trim_end().to_owned() + "\n";
    for line in lines {
        drawn += &format!("{}{line}\n", " ".repeat(indentation));
    }
    drawn
}

fn meaning(state: CheckState) -> Meaning {
    match state {
        CheckState::Ok => Meaning::Success,
        CheckState::Warning => Meaning::Warning,
        CheckState::Problem => Meaning::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> [CheckFinding; 2] {
        [
            CheckFinding::ok("git", "2.39.5"),
            CheckFinding::problem(
                "permissions",
                "others may read `/data/rejoin.db` (mode 644)",
                "run `chmod 600 /data/rejoin.db`",
            ),
        ]
    }

    #[test]
    fn what_is_wrong_comes_first_and_messages_are_aligned() {
        let expected = "\
problem  permissions  others may read `/data/rejoin.db` (mode
                      644)
                      -> run `chmod 600 /data/rejoin.db`
ok       git          2.39.5
";

        assert_eq!(draw(&findings(), Some(62), Paint::Plain), expected);
    }

    #[test]
    fn a_narrow_screen_puts_a_long_message_below() {
        let expected = "\
problem  permissions
  others may read `/data/rejoin.db`
  (mode 644)
  -> run `chmod 600 /data/rejoin.db`
ok       git          2.39.5
";

        assert_eq!(draw(&findings(), Some(40), Paint::Plain), expected);
    }
}
