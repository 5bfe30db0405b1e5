//! The question how long conversations are kept. The prompt asks it when it opens, until it is answered.

use std::io::{self, Write};

use rejoin::Archive;

use super::{Policies, Policy, describe, notice};
use crate::config::shape::{FOREVER, ValueShape};
use crate::config::value::ConfigValue;
use crate::config::{Config, ConfigOverrides, file, write};
use crate::context::Context;
use crate::error::Failure;
use crate::ui::keyboard::{self, KeyPress, TypedLine};
use crate::ui::size;

/// The key with the answer.
const DAYS: &str = "retention.days";

/// The key that says that the answer is the user's.
const ACCEPTED: &str = "retention.accepted";

/// What the question offers.
#[derive(Debug)]
struct PolicyOffer {
    days: ConfigValue,
    shape: ValueShape,
    most: Option<u64>,
}

/// Where it is asked.
struct PolicyDesk<'a> {
    out: &'a mut dyn Write,
    key: &'a mut dyn FnMut() -> KeyPress,
    line: &'a mut dyn FnMut() -> io::Result<TypedLine>,
}

/// True when nobody has decided how long conversations are kept, and somebody is there to ask. A store that
/// fails does not end a talk, so nothing is asked then.
pub(crate) fn is_open(context: &Context, archive: &Archive) -> bool {
    let terminal = context.surroundings.terminal;
    let is_person = terminal.stdin && terminal.stdout && context.shows_notes();
    let is_seen = || Policy::here(archive, context).and_then(|policy| policy.is_seen(archive));
    is_person && !context.config.decides_retention() && !is_seen().unwrap_or(true)
}

/// Asks, and writes the answer to the user's configuration. Returns what to say about it.
pub(crate) fn settle(context: &Context, archive: &Archive) -> Result<Vec<String>, Failure> {
    let Some(setting) = context.config.setting(DAYS) else { return Ok(Vec::new()) };
    let offer = PolicyOffer {
        days: setting.value.clone(),
        shape: setting.key.shape,
        most: context.config.retention().max_per_project,
    };
    let mut out = io::stdout();
    let mut desk = PolicyDesk { out: &mut out, key: &mut keyboard::key, line: &mut keyboard::line };
    match ask(&offer, &mut desk)? {
        Some(answer) => keep(&answer, context, archive),
        None => Ok(vec!["Nothing expires until you answer; you are asked again next time.".to_owned()]),
    }
}

/// Asks until there is an answer; none when it is put off.
fn ask(offer: &PolicyOffer, desk: &mut PolicyDesk<'_>) -> io::Result<Option<ConfigValue>> {
    writeln!(desk.out, "How long should conversations be kept after they were last used?")?;
    let limit =
        offer.most.map(|most| format!("With a limit, also at most {} per project. ", size::number(most)));
    writeln!(desk.out, "{}Nothing expires until you answer.", limit.unwrap_or_default())?;
    write!(desk.out, "d {} days, f forever, c choose, Esc later ", offer.days)?;
    desk.out.flush()?;
    loop {
        match (desk.key)() {
            KeyPress::Letter('d') => {
                writeln!(desk.out, "{} days", offer.days)?;
                return Ok(Some(offer.days.clone()));
            }
            KeyPress::Letter('f') => {
                writeln!(desk.out, "{FOREVER}")?;
                return Ok(Some(ConfigValue::Text(FOREVER.to_owned())));
            }
            KeyPress::Letter('c') => {
                writeln!(desk.out, "choose")?;
                return choose(offer, desk);
            }
            KeyPress::Escape | KeyPress::Interrupt | KeyPress::End => {
                writeln!(desk.out, "later")?;
                return Ok(None);
            }
            // Return is what somebody presses who has not read the question.
            KeyPress::Letter(_) | KeyPress::Enter | KeyPress::Space | KeyPress::Other => {}
        }
    }
}

/// Reads a number of days; an empty line puts the answer off.
fn choose(offer: &PolicyOffer, desk: &mut PolicyDesk<'_>) -> io::Result<Option<ConfigValue>> {
    loop {
        write!(desk.out, "Days: ")?;
        desk.out.flush()?;
        let typed = match (desk.line)()? {
            TypedLine::Text(text) if !text.is_empty() && !text.starts_with('\u{1b}') => text,
            TypedLine::Text(_) => return Ok(None),
            TypedLine::Interrupt => {
                writeln!(desk.out)?;
                return Ok(None);
            }
        };
        match offer.shape.read_text(&typed) {
            Some(days) => return Ok(Some(days)),
            None => writeln!(desk.out, "It must be {}.", offer.shape.expectation())?,
        }
    }
}

/// Writes the answer where every project reads it. What is due by it goes with a later start.
fn keep(answer: &ConfigValue, context: &Context, archive: &Archive) -> Result<Vec<String>, Failure> {
    let path = context.surroundings.user_config_file()?;
    let old = file::text_of(&path)?.unwrap_or_default();
    let mut new = old.clone();
    for name in [DAYS, ACCEPTED] {
        let segments: Vec<String> = name.split('.').map(str::to_owned).collect();
        new = write::with_setting(&path, &new, &segments, answer.to_toml())?;
    }
    write::check(&path, &old, &new, &context.surroundings, context.config.project())?;
    write::replace(&path, &new)?;
    let overrides =
        ConfigOverrides { project: Some(context.config.project().to_owned()), ..ConfigOverrides::default() };
    let answered = context.configured(Config::load(&context.surroundings, &overrides)?);
    let retention = answered.config.retention();
    if retention.days.is_none() {
        return Ok(vec![describe(&retention)]);
    }
    let plan = Policies::of(archive, &answered)?.plan(archive)?;
    archive.retention().see(&retention)?;
    Ok(notice(&retention, &plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: PolicyOffer = PolicyOffer {
        days: ConfigValue::Integer(30),
        shape: ValueShape::DaysOrForever { least: 7, most: 180 },
        most: Some(100),
    };

    /// Presses keys and types lines, and returns the answer and what stands below the question.
    fn answered(keys: &[KeyPress], lines: &[&str]) -> (Option<ConfigValue>, String) {
        let (mut out, mut keys, mut lines) = (Vec::new(), keys.iter(), lines.iter());
        let mut desk = PolicyDesk {
            out: &mut out,
            key: &mut || *keys.next().unwrap(),
            line: &mut || {
                Ok(match *lines.next().unwrap() {
                    "^C" => TypedLine::Interrupt,
                    text => TypedLine::Text(text.to_owned()),
                })
            },
        };
        let answer = ask(&OFFER, &mut desk).unwrap();
        let shown = String::from_utf8(out).unwrap();
        (answer, shown.split_once("Esc later ").unwrap().1.to_owned())
    }

    #[test]
    fn the_question_tells_everything_that_the_answer_accepts() {
        let (mut out, mut key) = (Vec::new(), || KeyPress::Letter('d'));
        let mut desk = PolicyDesk { out: &mut out, key: &mut key, line: &mut || panic!("no line is read") };

        ask(&OFFER, &mut desk).unwrap();

        let expected = "How long should conversations be kept after they were last used?\n\
                        With a limit, also at most 100 per project. Nothing expires until you answer.\n\
                        d 30 days, f forever, c choose, Esc later 30 days\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn one_key_answers_and_others_are_passed_over() {
        let forever = ConfigValue::Text(FOREVER.to_owned());
        let wrong =
            [KeyPress::Enter, KeyPress::Space, KeyPress::Other, KeyPress::Letter('y'), KeyPress::Letter('f')];

        assert_eq!(
            answered(&[KeyPress::Letter('d')], &[]),
            (Some(ConfigValue::Integer(30)), "30 days\n".to_owned())
        );
        assert_eq!(answered(&wrong, &[]), (Some(forever), "forever\n".to_owned()));
    }

    #[test]
    fn who_wants_to_answer_later_can() {
        let later = [KeyPress::Escape, KeyPress::Interrupt, KeyPress::End].map(|key| answered(&[key], &[]));
        let choosing = ["", "\u{1b}", "^C"].map(|line| answered(&[KeyPress::Letter('c')], &[line]).0);

        assert_eq!((later, choosing), ([(); 3].map(|()| (None, "later\n".to_owned())), [None, None, None]));
    }

    #[test]
    fn a_number_that_is_chosen_is_asked_for_until_it_fits() {
        let (answer, shown) = answered(&[KeyPress::Letter('c')], &["3", "60"]);

        let expected = "choose\nDays: It must be a whole number from 7 to 180, or \"forever\".\nDays: ";
        assert_eq!((answer, shown.as_str()), (Some(ConfigValue::Integer(60)), expected));
    }
}
