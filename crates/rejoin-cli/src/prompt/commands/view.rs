//! `/tools`, `/thinking` and `/expand`: what is offered, and what is shown.

use rejoin::{Block, ToolResult};

use super::After;
use crate::error::Failure;
use crate::prompt::{Prompt, ThinkingDisplay};
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
        ThinkingDisplay::Folded => (ThinkingDisplay::Shown, "Thinking is shown as it arrives."),
        ThinkingDisplay::Shown => (ThinkingDisplay::Folded, "Thinking is folded to one line."),
    };
    prompt.thinking = thinking;
    prompt.line(Meaning::Plain, told)?;
    Ok(After::Stay)
}

/// Shows the last result of a tool whole.
pub(super) fn expand(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let Some(result) = last_result(prompt) else {
        return Err(Failure::not_found("no tool has answered in this conversation"));
    };
    let text = result.output.to::<String>().unwrap_or_else(|_| result.output.as_str().to_owned());
    let text = clean::block(text.trim_end());
    let text = if text.is_empty() { "The result is empty.".to_owned() } else { text };
    prompt.context.show(|page| Ok(page.write_all((text + "\n").as_bytes())?))?;
    Ok(After::Stay)
}

fn last_result<'a>(prompt: &'a Prompt<'_>) -> Option<&'a ToolResult> {
    let messages = prompt.session.talk.history().messages().rev();
    messages.flat_map(|message| message.blocks.iter().rev()).find_map(|block| match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    })
}
