//! Numbered migrations: a new file gets them all, an older one the missing ones, a newer one is refused.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable::{self, Overwrite};
use crate::store::sqlite::backup::{self, DamagedPages};
use crate::store::sqlite::checkpoint;
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::open::{APPLICATION_ID, LogIndex};

/// A released migration never changes; a new one is added at the end.
pub(super) const MIGRATIONS: [&str; 4] = [
    include_str!("migrations/0001_conversations.sql"),
    include_str!("migrations/0002_search.sql"),
    include_str!("migrations/0003_lists.sql"),
    include_str!("migrations/0004_roles.sql"),
];

/// What a file that is being made has beyond them.
const NEW_FILES: &str = include_str!("migrations/new_files.sql");

/// Every object the schema has. What else a file contains was not put there by
/// Rejoin, and could act on its own.
const OBJECTS: [&str; 8] =
    ["conversation", "message", "branch", "blob", "change", "document", "words", "search"];

/// Begins the end of the name under which an older database is kept; the new version follows.
pub(super) const KEPT: &str = ".before-";

/// The version this library writes.
pub(super) const CURRENT: i32 = MIGRATIONS.len() as i32;

/// Brings the schema up to date and checks that the file holds nothing else.
///
/// An older file is copied first, and the copy verified, then migrated in one transaction.
/// Returns the path of the copy if one was made.
pub(super) fn migrate(connection: &mut Connection, path: &Path, index: LogIndex) -> Result<Option<PathBuf>> {
    let mut version = identify(connection, path)?;
    let mut copy = None;
    if version != 0 && version < CURRENT {
        let to = durable::beside(path, &format!("{KEPT}{CURRENT}"));
        let draft = backup::draft(connection, &to, DamagedPages::Refused, &mut |_, _| ())?;
        // Another process may have migrated the file already; then it also made
        // the copy, and this one is of no use.
        if identify(connection, path)? == version {
            draft.publish(Overwrite::Replace)?;
            copy = Some(to);
        }
    }
    if version < CURRENT {
        let attempt = format!("bring the database `{}` from version {version} to {CURRENT}", path.display());
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).during(&attempt)?;
        // Another process may have done it while this one waited.
        version = identify(&transaction, path)?;
        for migration in &MIGRATIONS[usize::try_from(version).unwrap_or(0)..] {
            transaction.execute_batch(migration).during(&attempt)?;
        }
        if version == 0 {
            transaction.execute_batch(NEW_FILES).during(&attempt)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID).during(&attempt)?;
        transaction.pragma_update(None, "user_version", CURRENT).during(&attempt)?;
        transaction.commit().during(&attempt)?;
        if version == 0 {
            // A store that another process is using already, or that has little room, does without.
            let _ = checkpoint::lengthen(path, Duration::ZERO, index);
        }
        tracing::info!(from = version, to = CURRENT, "schema migrated");
    }
    refuse_strangers(connection, path)?;
    Ok(copy)
}

/// The version of a Rejoin database; 0 for an empty file. Anything else is refused.
pub(super) fn identify(connection: &Connection, path: &Path) -> Result<i32> {
    let attempt = format!("read the version of `{}`", path.display());
    // One statement, so that another process cannot fill the file between two of the answers.
    let (application, version, objects): (i32, i32, i64) = connection
        .query_row(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
             FROM pragma_application_id, pragma_user_version",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .during(&attempt)?;
    if (application, version, objects) == (0, 0, 0) {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return Err(Error::invalid(format!("`{}` is another program's database", path.display())));
    }
    if version > CURRENT {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "`{}` was written by a newer Rejoin (schema {version}, this one knows {CURRENT})",
                path.display()
            ),
        ));
    }
    Ok(version)
}

/// What the schema of a file that is up to date says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schema {
    /// True when rows take any bytes, and not text only.
    pub(super) stores_bytes: bool,
}

impl Schema {
    /// Reads the schema, and refuses one with something in it that Rejoin did not make.
    pub(super) fn read(connection: &Connection, path: &Path) -> Result<Self> {
        refuse_strangers(connection, path)?;
        Self::of(connection)
    }

    /// The schema of a file that was looked at.
    pub(super) fn of(connection: &Connection) -> Result<Self> {
        let stores_bytes = connection
            .prepare("SELECT 1 FROM pragma_table_info('message') WHERE name = 'body' AND type = 'ANY'")
            .and_then(|mut statement| statement.exists([]))
            .during("read the schema")?;
        Ok(Self { stores_bytes })
    }
}

/// Refuses triggers, views and tables that Rejoin did not make: they could run when data is read or written.
fn refuse_strangers(connection: &Connection, path: &Path) -> Result<()> {
    let attempt = format!("read the schema of `{}`", path.display());
    let mut statement =
        connection.prepare("SELECT type, name, tbl_name FROM sqlite_schema").during(&attempt)?;
    let mut rows = statement.query([]).during(&attempt)?;
    while let Some(row) = rows.next().during(&attempt)? {
        let (kind, name, table): (String, String, String) =
            (|| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))().during(&attempt)?;
        let ours = OBJECTS.contains(&table.as_str()) || table.strip_prefix("words_").is_some();
        if !ours || !matches!(kind.as_str(), "table" | "index") {
            return Err(Error::corrupt(format!(
                "`{}` contains a {kind} `{name}` that Rejoin did not make",
                path.display()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SqliteStore;
    use crate::store::backend::Backend as _;

    #[test]
    fn a_file_that_is_made_stores_bytes_and_one_that_has_text_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let [new, old] = ["new.db", "old.db"].map(|name| folder.path().join(name));
        let database = Connection::open(&old).unwrap();
        MIGRATIONS.iter().for_each(|migration| database.execute_batch(migration).unwrap());
        database.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        database.pragma_update(None, "user_version", CURRENT).unwrap();
        drop(database);

        let stores = [&new, &old].map(|path| SqliteStore::open(path).unwrap());

        assert_eq!(stores.map(|store| store.backend().capabilities().stores_bytes), [true, false]);
    }
}
