//! `/tools` and `/thinking`: what is offered, and what is shown.

use super::After;
use crate::error::Failure;
use crate::prompt::{Prompt, Thinking};
use crate::ui::paint::Meaning;
use crate::ui::{clean, fit};

/// The tools the model may ask for.
pub(super) fn tools(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let specs = prompt.runtime.block_on(prompt.session.talk.tools().specs());
    if specs.is_empty() {
        prompt.line(Meaning::Plain, "There are no tools in this conversation.")?;
    }
    let width = specs.iter().map(|spec| fit::width(&spec.name)).max().unwrap_or(0);
    for spec in &specs {
        let about = clean::line(spec.description.lines().next().unwrap_or_default());
        let columns = prompt.context.columns().unwrap_or(usize::MAX);
        let line = format!("{}  {about}", fit::pad_right(&spec.name, width));
        prompt.line_as_it_is(&fit::truncate(&line, columns))?;
    }
    Ok(After::Stay)
}

/// Shows thinking as it arrives, or folds it to one line again.
pub(super) fn thinking(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let (thinking, told) = match prompt.thinking {
        Thinking::Folded => (Thinking::Shown, "Thinking is shown as it arrives."),
        Thinking::Shown => (Thinking::Folded, "Thinking is folded to one line."),
    };
    prompt.thinking = thinking;
    prompt.line(Meaning::Plain, told)?;
    Ok(After::Stay)
}
