//! One rule being checked against one place.

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::Result;
use crate::store::Store;
use crate::testing::Place;

/// A place, and the store that is open there.
pub(super) struct Trial<'p> {
    place: &'p dyn Place,
    /// Empty only while it is closed and opened again.
    store: Option<Arc<dyn Store>>,
}

impl<'p> Trial<'p> {
    pub(super) fn new(place: &'p dyn Place) -> Self {
        Self { place, store: Some(place.open()) }
    }

    /// The store that is open.
    pub(super) fn store(&self) -> &dyn Store {
        self.store.as_deref().expect("it is open except while it is reopened")
    }

    /// Another store on the same place.
    pub(super) fn second(&self) -> Arc<dyn Store> {
        self.place.open()
    }

    /// Closes the store and opens it again.
    pub(super) fn reopen(&mut self) {
        self.store = None;
        self.store = Some(self.place.open());
    }

    /// Asks a question of the open store, of a second one beside it, and of a third after both were closed.
    ///
    /// All three must give the same answer, which is returned.
    #[track_caller]
    pub(super) fn observe<T: Debug + PartialEq>(
        &mut self,
        look: impl Fn(&dyn Store) -> Result<T>,
    ) -> Result<T> {
        let seen = look(self.store())?;
        assert_eq!(look(self.second().as_ref())?, seen, "a second store sees something else");
        self.reopen();
        assert_eq!(look(self.store())?, seen, "the reopened store sees something else");
        Ok(seen)
    }
}
