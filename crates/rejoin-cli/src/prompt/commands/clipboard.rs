//! `/copy`: the last reply, for another program.

use std::io::{self, Write};

use rejoin::Role;

use super::After;
use crate::error::{Failure, Kind};
use crate::prompt::{Prompt, attach};
use crate::ui::paint::Meaning;
use crate::ui::size;

/// The longest text that is copied: many terminals drop what is longer.
const LONGEST: usize = 72 << 10;

/// Asks the terminal to put the last reply into the clipboard (OSC 52).
pub(super) fn copy(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let replies = prompt.session.talk.history().messages().rev();
    let mut texts = replies.filter(|message| message.role == Role::Assistant).map(rejoin::Message::text);
    let text = texts.find(|text| !text.trim().is_empty());
    let text = text.ok_or_else(|| Failure::new(Kind::NotFound, "there is no reply to copy yet"))?;
    if prompt.context.surroundings.variable("TERM").is_none_or(|term| term == "dumb") {
        return Err(Failure::invalid("copy to the clipboard").because("this terminal has none".to_owned()));
    }
    if text.len() > LONGEST {
        let size = size::bytes(text.len() as u64);
        return Err(Failure::invalid(format!("copy a reply of {size}"))
            .because("terminals copy less at once".to_owned())
            .hint("type /export to write the conversation to a file"));
    }
    let mut out = io::stdout().lock();
    write!(out, "\u{1b}]52;c;{}\u{7}", attach::base64(text.as_bytes()))?;
    out.flush()?;
    drop(out);
    let characters = size::count(text.chars().count() as u64, "character", "characters");
    prompt.line(Meaning::Plain, &format!("Copied the last reply ({characters})."))?;
    prompt.dim("If it does not arrive, your terminal does not allow programs to copy (OSC 52).")?;
    Ok(After::Stay)
}
