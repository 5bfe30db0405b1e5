//! Named blobs beside the conversations.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::postgres::rows::PgRows;
use crate::store::postgres::value::{TypedValue, Uuid, values};
use crate::store::{BlobNames, Put, Space, VisitBlob};

const ATTEMPT: &str = "read blobs";

/// Waits until nobody stores blobs, and keeps others from it until the end of the transaction.
pub(super) const HOLD: &str = "SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('~blob', 0))";

/// Waits until nobody holds them.
const SHARE: &str = "pg_advisory_xact_lock_shared(hashtextextended('~blob', 0))";

pub(super) fn get(
    rows: &PgRows<'_>,
    (space, owner): (Space, Option<ConversationId>),
    named: BlobNames<'_>,
    visit: &mut VisitBlob<'_>,
) -> Result<()> {
    let (owner, space, start) = (Uuid::owner(owner), space.number() as i16, named.start());
    let one = "SELECT name, bytes FROM ~blob WHERE owner = $1 AND space = $2 AND name = $3";
    let all =
        "SELECT name, bytes FROM ~blob WHERE owner = $1 AND space = $2 AND substr(name, 1, length($3)) = $3
        AND name >= $3 ORDER BY name";
    let sql = match named {
        BlobNames::One(_) => one,
        BlobNames::Prefix(_) => all,
    };
    let values = values![owner => UUID, space => INT2, start => BYTEA];
    rows.each(ATTEMPT, sql, &values, &mut |row| visit(row.get(0), row.get(1)))
}

/// What becomes of blobs, as columns: each blob once, as the last to name it says.
#[derive(Default)]
pub(super) struct BlobColumns {
    pub(super) owners: Vec<Uuid>,
    pub(super) spaces: Vec<i16>,
    pub(super) names: Vec<Vec<u8>>,
    /// None erases it.
    pub(super) bytes: Vec<Option<Vec<u8>>>,
}

impl BlobColumns {
    pub(super) fn of(blobs: &[Put<'_>]) -> Self {
        // In order of their keys, so that two commits cannot wait for each other.
        let mut last = BTreeMap::new();
        for blob in blobs {
            last.insert((Uuid::owner(blob.owner).0, blob.space.number() as i16, blob.name), blob.bytes);
        }
        let mut columns = Self::default();
        for ((owner, space, name), bytes) in last {
            columns.owners.push(Uuid(owner));
            columns.spaces.push(space);
            columns.names.push(name.to_vec());
            columns.bytes.push(bytes.map(<[u8]>::to_vec));
        }
        columns
    }

    pub(super) fn values(&self) -> [TypedValue<'_>; 4] {
        values![
            self.owners => UUID_ARRAY, self.spaces => INT2_ARRAY, self.names => BYTEA_ARRAY,
            self.bytes => BYTEA_ARRAY,
        ]
    }
}

/// The parts of a statement that stores blobs. Its values from number `first` are the [`BlobColumns`];
/// nothing is stored unless `when`, a table of one row, has it.
pub(super) fn parts(first: usize, when: &str) -> String {
    let [owners, spaces, names, bytes] = [first, first + 1, first + 2, first + 3];
    format!(
        "free AS MATERIALIZED (SELECT {SHARE}),
         given AS MATERIALIZED (
             SELECT b.owner, b.space, b.name, b.bytes FROM {when}, free,
             unnest(${owners}::uuid[], ${spaces}::int2[], ${names}::bytea[], ${bytes}::bytea[])
                 AS b (owner, space, name, bytes)),
         stored AS (
             INSERT INTO ~blob SELECT owner, space, name, bytes FROM given WHERE bytes IS NOT NULL
             ON CONFLICT (owner, space, name) DO UPDATE SET bytes = excluded.bytes),
         erased AS (
             DELETE FROM ~blob b USING given g
             WHERE b.owner = g.owner AND b.space = g.space AND b.name = g.name AND g.bytes IS NULL)"
    )
}
