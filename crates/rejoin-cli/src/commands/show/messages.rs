//! The messages of an answer in JSON, which may not fit in memory together.

use std::cell::Cell;

use rejoin::{Error, PathReader};
use serde::ser::{Error as _, Serialize, SerializeSeq as _, Serializer};

use crate::error::Failure;
use crate::shapes::MessageShape;

/// Messages that are read while they are written. They can be written once.
pub(super) struct Messages {
    unread: Cell<Option<PathReader>>,
    failure: Cell<Option<Error>>,
}

impl Messages {
    pub(super) fn of(path: PathReader) -> Self {
        Self { unread: Cell::new(Some(path)), failure: Cell::default() }
    }

    /// Why not all of them were read.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure.take().map(Failure::from)
    }
}

/// Why writing ended early.
enum EarlyEnd<E> {
    Read(Error),
    Write(E),
}

impl<E> From<Error> for EarlyEnd<E> {
    fn from(error: Error) -> Self {
        Self::Read(error)
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        let path = self.unread.take().ok_or_else(|| S::Error::custom("the messages were written before"))?;
        let mut list = output.serialize_seq(Some(path.len()))?;
        let written = path
            .visit(|message| list.serialize_element(&MessageShape::from(message)).map_err(EarlyEnd::Write));
        match written {
            Ok(()) => list.end(),
            Err(EarlyEnd::Write(error)) => Err(error),
            Err(EarlyEnd::Read(error)) => {
                let told = S::Error::custom(&error);
                self.failure.set(Some(error));
                Err(told)
            }
        }
    }
}
