//! Named blobs beside the conversations.

use rusqlite::{Connection, params};

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::sqlite::fault::DuringSql;
use crate::store::{BlobNames, Put, Space, VisitBlob};

fn owner_bytes(owner: &Option<ConversationId>) -> &[u8] {
    owner.as_ref().map_or(&[], |owner| owner.as_bytes())
}

pub(super) fn get(
    connection: &Connection,
    space: Space,
    owner: Option<ConversationId>,
    named: BlobNames<'_>,
    visit: &mut VisitBlob<'_>,
) -> Result<()> {
    let attempt = "read blobs";
    let mut statement = connection
        .prepare_cached(
            "SELECT name, bytes FROM blob WHERE space = ?1 AND owner = ?2 AND name >= ?3 ORDER BY name",
        )
        .during(attempt)?;
    let mut rows =
        statement.query(params![space.number(), owner_bytes(&owner), named.start()]).during(attempt)?;
    while let Some(row) = rows.next().during(attempt)? {
        let name = row.get_ref(0).during(attempt)?.as_bytes().unwrap_or_default();
        if !named.admit(name) {
            break;
        }
        visit(name, row.get_ref(1).during(attempt)?.as_bytes().unwrap_or_default())?;
    }
    Ok(())
}

/// A copy of one blob, if it is there.
pub(super) fn one(
    connection: &Connection,
    space: Space,
    owner: Option<ConversationId>,
    name: &[u8],
) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    get(connection, space, owner, BlobNames::One(name), &mut |_, bytes| {
        found = Some(bytes.to_vec());
        Ok(())
    })?;
    Ok(found)
}

pub(super) fn put(connection: &Connection, blobs: &[Put<'_>]) -> Result<()> {
    let attempt = "store a blob";
    for blob in blobs {
        let owner = owner_bytes(&blob.owner);
        match blob.bytes {
            Some(bytes) => connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO blob (space, owner, name, bytes) VALUES (?1, ?2, ?3, ?4)",
                )
                .during(attempt)?
                .execute(params![blob.space.number(), owner, blob.name, bytes]),
            None => connection
                .prepare_cached("DELETE FROM blob WHERE space = ?1 AND owner = ?2 AND name = ?3")
                .during(attempt)?
                .execute(params![blob.space.number(), owner, blob.name]),
        }
        .during(attempt)?;
    }
    Ok(())
}

/// Removes everything a conversation owns.
pub(super) fn disown(connection: &Connection, owner: ConversationId) -> Result<()> {
    for space in Space::ALL {
        connection
            .prepare_cached("DELETE FROM blob WHERE space = ?1 AND owner = ?2")
            .during("remove blobs")?
            .execute(params![space.number(), owner.as_bytes()])
            .during("remove blobs")?;
    }
    Ok(())
}
