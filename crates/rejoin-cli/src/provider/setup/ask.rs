//! A question with a numbered list, answered with a number, a name or a part of one.

use std::io::{self, BufRead, Write};

use crate::error::Failure;
use crate::ui::{ask, clean};

/// How many are shown at once. Routers have hundreds of models.
const SHOWN: usize = 20;

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MenuAnswer {
    /// The one at this place of the list.
    Listed(usize),
    /// A name that is not in the list.
    Typed(String),
    /// Nothing: the person gives up.
    Nothing,
}

/// Shows a list and asks for one of it, at the terminal.
pub(super) fn choose(title: &str, question: &str, names: &[String]) -> Result<MenuAnswer, Failure> {
    Ok(choose_with(title, question, names, &mut io::stdin().lock(), &mut io::stderr())?)
}

fn choose_with(
    title: &str,
    question: &str,
    names: &[String],
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<MenuAnswer> {
    writeln!(output, "{title}:")?;
    let mut shown: Vec<usize> = (0..names.len()).collect();
    loop {
        for place in shown.iter().take(SHOWN) {
            writeln!(output, "  {:>3}. {}", place + 1, clean::line(&names[*place]))?;
        }
        if shown.len() > SHOWN {
            writeln!(output, "  ... and {} more; type a part of a name to see fewer", shown.len() - SHOWN)?;
        }
        let prompt = format!("{question} (a number or a name; Enter to cancel): ");
        let Some(typed) = ask::ask(&prompt, input, output)?.filter(|typed| !typed.is_empty()) else {
            return Ok(MenuAnswer::Nothing);
        };
        match read(&typed, names) {
            MenuMatch::One(place) => return Ok(MenuAnswer::Listed(place)),
            MenuMatch::Several(places) => shown = places,
            MenuMatch::NoSuchNumber => writeln!(output, "There is no number {}.", clean::line(&typed))?,
            MenuMatch::None => return Ok(MenuAnswer::Typed(typed)),
        }
    }
}

enum MenuMatch {
    One(usize),
    Several(Vec<usize>),
    NoSuchNumber,
    None,
}

fn read(typed: &str, names: &[String]) -> MenuMatch {
    if let Some(place) = names.iter().position(|name| name == typed) {
        return MenuMatch::One(place);
    }
    if let Ok(number) = typed.parse::<usize>() {
        return match number.checked_sub(1).filter(|place| *place < names.len()) {
            Some(place) => MenuMatch::One(place),
            None => MenuMatch::NoSuchNumber,
        };
    }
    let part = typed.to_lowercase();
    let is_meant = |place: &usize| names[*place].to_lowercase().contains(&part);
    let places: Vec<usize> = (0..names.len()).filter(is_meant).collect();
    match places.as_slice() {
        [] => MenuMatch::None,
        [place] => MenuMatch::One(*place),
        _ => MenuMatch::Several(places),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(typed: &str) -> (MenuAnswer, usize) {
        let names = ["gpt-5", "gpt-5-mini", "o3"].map(str::to_owned);
        let mut output = Vec::new();
        let answer = choose_with("Models", "Model", &names, &mut typed.as_bytes(), &mut output).unwrap();
        let questions = String::from_utf8(output).unwrap().matches("Enter to cancel").count();
        (answer, questions)
    }

    #[test]
    fn a_number_a_name_or_a_part_of_one_chooses() {
        let typed = ["2\n", "gpt-5\n", "MINI\n", "gpt\n3\n", "9\n1\n", "\n", "", "other\n"];

        let answers = typed.map(answered);

        let expected = [
            (MenuAnswer::Listed(1), 1),
            (MenuAnswer::Listed(0), 1),
            (MenuAnswer::Listed(1), 1),
            (MenuAnswer::Listed(2), 2),
            (MenuAnswer::Listed(0), 2),
            (MenuAnswer::Nothing, 1),
            (MenuAnswer::Nothing, 1),
            (MenuAnswer::Typed("other".to_owned()), 1),
        ];
        assert_eq!(answers, expected);
    }
}
