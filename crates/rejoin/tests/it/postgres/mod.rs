//! PostgreSQL: real servers that the tests start.

mod encrypted;
mod killed;
mod refused;
mod residue;
mod search;
pub(crate) mod server;
mod together;

use std::sync::Arc;
use std::time::Duration;

use rejoin::StoreUrl;
use rejoin::store::{MemoryStore, PostgresStore, Store};
use rejoin::testing::Place;

use crate::stores::Memory;
use crate::vault::{Inner, InnerPlace, Vault};

/// A schema of its own on the server that the tests share.
pub(crate) struct Schema(pub(crate) String);

impl Schema {
    pub(crate) fn store(&self) -> PostgresStore {
        let StoreUrl::Postgres(url) = StoreUrl::parse(&self.0).unwrap() else { panic!("{}", self.0) };
        PostgresStore::open_waiting(&url, Duration::from_secs(30)).unwrap()
    }
}

impl Place for Schema {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store())
    }
}

impl InnerPlace for Schema {
    fn inner(&self) -> Arc<dyn Inner> {
        Arc::new(self.store())
    }
}

/// A fresh schema; where there is no server, memory stands in, and the test says that it is skipped.
fn place() -> Box<dyn Place> {
    match server::shared() {
        Some(server) => Box::new(Schema(server.fresh_url())),
        None => Box::new(Memory(MemoryStore::new())),
    }
}

/// The same for a vault.
fn sealed_place() -> Box<dyn Place> {
    match server::shared() {
        Some(server) => Box::new(Vault(Schema(server.fresh_url()))),
        None => Box::new(Vault(Memory(MemoryStore::new()))),
    }
}

rejoin::conformance!(postgres, *place());
rejoin::conformance!(vault_postgres, *sealed_place());
