//! Changing a viewed message only where it has to change: what stays as it is stays borrowed.

use std::borrow::Cow;

use crate::model::{Block, Message, Role};
use crate::ops::view::Viewed;

/// What becomes of one block.
pub(super) enum BlockEdit {
    /// It stays.
    Keep,
    /// Another stands for it.
    Replace(Block),
    /// It is left out.
    Drop,
}

/// Edits the blocks of a message one after the other. Nothing is copied while every block stays.
pub(super) fn edit_blocks(viewed: &mut Viewed<'_>, mut edit: impl FnMut(&Block) -> BlockEdit) {
    let mut edited: Option<Vec<Block>> = None;
    let blocks = &viewed.message.blocks;
    for (place, block) in blocks.iter().enumerate() {
        let kept = match edit(block) {
            BlockEdit::Keep if edited.is_none() => continue,
            BlockEdit::Keep => Some(block.clone()),
            BlockEdit::Replace(block) => Some(block),
            BlockEdit::Drop => None,
        };
        edited.get_or_insert_with(|| blocks[..place].to_vec()).extend(kept);
    }
    if let Some(edited) = edited {
        let role = viewed.message.role;
        set_blocks(viewed, role, edited);
    }
}

/// Gives a message other blocks. The old ones are not copied on the way.
pub(super) fn set_blocks(viewed: &mut Viewed<'_>, role: Role, blocks: Vec<Block>) {
    match &mut viewed.message {
        Cow::Owned(message) => {
            message.role = role;
            message.blocks = blocks;
        }
        Cow::Borrowed(old) => {
            let mut message = Message::new(role, blocks);
            message.created_at = old.created_at;
            message.is_error = old.is_error;
            message.usage.clone_from(&old.usage);
            message.finish.clone_from(&old.finish);
            message.privacy.clone_from(&old.privacy);
            message.label.clone_from(&old.label);
            message.extra.clone_from(&old.extra);
            viewed.message = Cow::Owned(message);
        }
    }
}

/// True when every block of a message is of a kind.
pub(super) fn all_blocks(viewed: &Viewed<'_>, is: impl Fn(&Block) -> bool) -> bool {
    viewed.message.blocks.iter().all(is)
}
