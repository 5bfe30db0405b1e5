//! Builds a database for another program, in memory.

use rusqlite::Connection;

use crate::error::Result;
use crate::formats::database::ColumnValue;
use crate::formats::database::fault::sqlite_error;
use crate::formats::database::open::in_memory;

/// A database while it is made.
pub(in crate::formats) struct DatabaseBuilder(Connection);

impl DatabaseBuilder {
    /// Creates an empty database with these tables.
    pub(in crate::formats) fn new(schema: &str) -> Result<Self> {
        let connection = in_memory()?;
        connection.execute_batch("PRAGMA foreign_keys = ON; BEGIN;").map_err(sqlite_error)?;
        connection.execute_batch(schema).map_err(sqlite_error)?;
        Ok(Self(connection))
    }

    /// Adds a row.
    pub(in crate::formats) fn add(&self, table: &str, fields: &[(&str, ColumnValue)]) -> Result<()> {
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        let marks: Vec<String> = (1..=fields.len()).map(|place| format!("?{place}")).collect();
        let sql = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), marks.join(", "));
        let values = rusqlite::params_from_iter(fields.iter().map(|(_, value)| value));
        self.0
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.execute(values))
            .map_err(sqlite_error)
            .map(drop)
    }

    /// Returns the bytes of the file.
    pub(in crate::formats) fn into_bytes(mut self) -> Result<Vec<u8>> {
        self.0.execute_batch("COMMIT").map_err(sqlite_error)?;
        Ok(self.0.serialize("main").map_err(sqlite_error)?.to_vec())
    }
}
