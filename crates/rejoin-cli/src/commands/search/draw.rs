//! Hits for people: the conversation, then each message with the words that were found.

use std::collections::BTreeMap;

use rejoin::{ConversationId, SearchHit, StoredConversation};

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::ui::paint::Meaning;
use crate::ui::{clean, fit, marked};

/// Spaces before what was said.
const INDENTATION: usize = 4;

/// The least room for text; on a narrower screen the terminal wraps.
const NARROWEST: usize = 16;

/// Whether each conversation is shown with its project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProjectDisplay {
    Shown,
    Left,
}

/// Draws hits in the order found; those of one conversation that follow each other stand under one title.
pub(super) fn draw(
    hits: &[SearchHit],
    conversations: &BTreeMap<ConversationId, StoredConversation>,
    projects: ProjectDisplay,
    context: &Context,
) -> Result<(), Failure> {
    let paint = context.paint();
    let clock = context.clock();
    let room = context.columns().map(|columns| columns.saturating_sub(INDENTATION).max(NARROWEST));
    context.show(|output| {
        let mut above = None;
        for hit in hits {
            if above != Some(hit.conversation) {
                if above.is_some() {
                    writeln!(output)?;
                }
                let stored = conversations.get(&hit.conversation);
                let title = stored.map(named::title).unwrap_or_default();
                // The id must stay on the line of its title.
                let beside = hit.conversation.short().as_str().len() + 2;
                let title = match context.columns() {
                    Some(columns) => fit::truncate(&title, columns.saturating_sub(beside)),
                    None => title,
                };
                let title = paint.apply(Meaning::Title, &title);
                let id = paint.apply(Meaning::Id, hit.conversation.short().as_str());
                writeln!(output, "{title}  {id}")?;
                let project = stored.and_then(|stored| stored.conversation.project.as_deref());
                if let Some(project) = project.filter(|_| projects == ProjectDisplay::Shown) {
                    writeln!(output, "{}", paint.apply(Meaning::Dim, &clean::line(project)))?;
                }
                above = Some(hit.conversation);
            }
            let id = paint.apply(Meaning::Id, hit.message.as_str());
            let (role, snippet) = (hit.read()?.role.as_str(), hit.snippet()?);
            let role = paint.apply(Meaning::of_role(role), role);
            let when = paint.apply(Meaning::Dim, &clock.relative(hit.created_at.as_micros()));
            writeln!(output, "  {id}  {role}  {when}")?;
            for line in marked::lines(&snippet.text, &snippet.matches, room, paint) {
                writeln!(output, "{:INDENTATION$}{line}", "")?;
            }
        }
        Ok(())
    })
}
