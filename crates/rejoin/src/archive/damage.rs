//! Reading what is left of a conversation in which something is damaged.
//!
//! A vault visits every record that opens before it says which does not. So the rest can be used, and whoever uses it is
//! told what is missing. Other stores end a read at what is damaged, and there a part is never taken for the whole.

use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::Archive;
use crate::error::{Error, ErrorKind, Result};

/// What was passed over, in words, each once.
#[derive(Debug, Default)]
pub(super) struct Damage(Mutex<Vec<String>>);

impl Archive {
    /// The same archive, whose reads of messages pass over records of a vault that do not open.
    ///
    /// Whoever shows what was read asks [`Archive::passed_over`], and says what is missing. Without this such a read is an
    /// error.
    #[must_use]
    pub fn passing_over_damage(mut self) -> Self {
        self.damage = Some(Arc::default());
        self
    }

    /// The records that were passed over since this was last asked, in words.
    pub fn passed_over(&self) -> Vec<String> {
        let Some(Damage(told)) = self.damage.as_deref() else { return Vec::new() };
        std::mem::take(&mut told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The outcome of a read whose visitor has seen everything that opens.
    pub(super) fn or_passed_over(&self, read: Result<()>) -> Result<()> {
        let (Err(error), Some(Damage(told))) = (&read, self.damage.as_deref()) else { return read };
        if error.kind() != ErrorKind::Corrupt || !self.store().capabilities().is_sealed {
            return read;
        }
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = std::iter::once(Error::to_string(error)).chain(error.others().iter().cloned());
        for text in texts {
            if !told.contains(&text) {
                told.push(text);
            }
        }
        Ok(())
    }
}
