//! Databases of other programs: opened read-only and treated as untrusted input.
//!
//! Only plain tables are read. A view or a virtual table in place of a table is rejected, because it could
//! run code from a stranger. All reads see one snapshot, even while the program keeps writing.

mod build;
mod fault;
mod open;
mod row;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};

pub(super) use build::DatabaseBuilder;
pub(super) use row::{ColumnValue, DatabaseRow};

use crate::error::{Error, ErrorKind, Result};
use crate::formats::byte_budget::check_message;
use crate::formats::{Detection, ReadLimits, Reading, Source, SourcePiece};
use fault::sqlite_error;
use open::{DatabaseStamp, MAGIC, open};

/// The interval of progress reports.
const STEP: u64 = 256 * 1024;

/// An open database.
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    bytes: u64,
    /// The limit on bytes held at once.
    most: u64,
    before: Option<DatabaseStamp>,
    /// The column names of each query, which are needed for every message.
    columns: RefCell<HashMap<String, Rc<[String]>>>,
    passed: Cell<u64>,
    reported: Cell<u64>,
}

/// How long detection waits for a lock: every format opens the database.
const LOOK: Duration = Duration::from_millis(500);

/// True if the database satisfies the condition; false if it cannot be read.
pub(super) fn holds(path: &Path, is_so: impl Fn(&Database) -> Result<bool>) -> bool {
    let look = || {
        let database = Database::open(path, ReadLimits::default())?;
        database.connection.busy_timeout(LOOK).map_err(sqlite_error)?;
        is_so(&database)
    };
    look().unwrap_or(false)
}

/// Returns why a database that may belong to a known program cannot be read now: it is locked, or a change
/// was interrupted.
pub(super) fn fault(source: &Source) -> Option<Error> {
    let look = || {
        let database = Database::open(source.path(), ReadLimits::default())?;
        database.one("SELECT count(*) AS number FROM main.sqlite_schema", &[])
    };
    let error = is_database(source).then(look)?.err()?;
    matches!(error.kind(), ErrorKind::Locked | ErrorKind::Unavailable).then_some(error)
}

/// Detects a database by its tables and columns.
pub(super) fn detect(source: &Source, is_own: impl Fn(&Database) -> Result<bool>) -> Detection {
    let is_own_at = |path: &Path| holds(path, &is_own);
    if source.head().starts_with(MAGIC) {
        return if is_own_at(source.path()) { Detection::Yes } else { Detection::No };
    }
    let name = source.path().as_os_str().to_str().unwrap_or_default();
    let main = ["-wal", "-shm", "-journal"].iter().find_map(|ending| name.strip_suffix(ending));
    match main {
        Some(main) if !source.is_directory() && is_own_at(Path::new(main)) => Detection::Part,
        _ => Detection::No,
    }
}

/// True for a database of any kind.
pub(super) fn is_database(source: &Source) -> bool {
    source.head().starts_with(MAGIC)
}

impl Database {
    /// Opens a database for reading.
    fn open(path: &Path, limits: ReadLimits) -> Result<Self> {
        let opened = open(path, limits)?;
        let most = limits.line_bytes;
        let (passed, last) = (Cell::new(0), Cell::new(0));
        let (connection, path, bytes, before) = (opened.connection, opened.path, opened.bytes, opened.before);
        let columns = RefCell::default();
        Ok(Self { connection, path, bytes, most, before, columns, passed, reported: last })
    }

    /// Reads a database and verifies afterwards that it was one snapshot.
    pub(super) fn read(
        source: &Source,
        reading: &mut Reading<'_>,
        read: impl FnOnce(&Self, &mut Reading<'_>) -> Result<()>,
    ) -> Result<()> {
        let database = Self::open(source.path(), reading.limits())?;
        database.connection.execute_batch("BEGIN").map_err(sqlite_error)?;
        let done = read(&database, reading);
        if database.before.as_ref().is_some_and(|before| *before != DatabaseStamp::of(&database.path)) {
            // The error may be a consequence of that, so that is reported.
            return Err(Error::new(ErrorKind::Locked, "its program changed the database while it was read"));
        }
        done?;
        database.pass(database.bytes, reading)
    }

    /// Reports progress, limited to the size of the file.
    pub(super) fn pass(&self, bytes: u64, reading: &mut Reading<'_>) -> Result<()> {
        let passed = self.passed.get().saturating_add(bytes).min(self.bytes);
        self.passed.set(passed);
        let new = passed - self.reported.get();
        if new < STEP && passed < self.bytes || new == 0 {
            return Ok(());
        }
        self.reported.set(passed);
        reading.give(SourcePiece::Passed(new))
    }

    /// Returns the columns of a table; none if it does not exist. Rejects anything else with its name.
    pub(super) fn columns(&self, table: &str) -> Result<Option<Vec<String>>> {
        let refused = || Error::invalid(format!("`{table}` is not a plain table"));
        let schema =
            self.all("SELECT type, sql FROM main.sqlite_schema WHERE lower(name) = ?1", &[table.into()])?;
        let Some(own) = schema.first() else { return Ok(None) };
        let words: Vec<String> =
            own.text("sql").unwrap_or_default().split_whitespace().take(2).map(str::to_lowercase).collect();
        if schema.len() > 1 || own.text("type") != Some("table") || words != ["create", "table"] {
            return Err(refused());
        }
        let columns = self.all(&format!("PRAGMA main.table_xinfo(\"{table}\")"), &[])?;
        // A generated column would run code from a stranger.
        if columns.iter().any(|column| matches!(column.integer("hidden"), Some(1 | 2))) {
            return Err(refused());
        }
        Ok(Some(columns.iter().filter_map(|column| column.text("name").map(str::to_owned)).collect()))
    }

    /// True when there is a table that has these columns.
    pub(super) fn has(&self, table: &str, columns: &[&str]) -> Result<bool> {
        let own = self.columns(table)?.unwrap_or_default();
        Ok(!own.is_empty() && columns.iter().all(|column| own.iter().any(|name| name == column)))
    }

    /// Fails for a database without this table.
    pub(super) fn need(&self, table: &str, columns: &[&str]) -> Result<()> {
        if self.has(table, columns)? {
            return Ok(());
        }
        let names = columns.join("`, `");
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("there is no table `{table}` with the columns `{names}`"),
        ))
    }

    /// Passes on the rows of a query, one at a time.
    pub(super) fn each(
        &self,
        sql: &str,
        parameters: &[ColumnValue],
        take: &mut dyn FnMut(DatabaseRow) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql).map_err(sqlite_error)?;
        let known = self.columns.borrow().get(sql).cloned();
        let columns = known.unwrap_or_else(|| {
            let columns: Rc<[String]> = statement.column_names().map(str::to_owned).collect();
            self.columns.borrow_mut().insert(sql.to_owned(), Rc::clone(&columns));
            columns
        });
        let mut rows = statement.query(rusqlite::params_from_iter(parameters)).map_err(sqlite_error)?;
        while let Some(row) = rows.next().map_err(sqlite_error)? {
            let mut values = Vec::with_capacity(columns.len());
            for place in 0..columns.len() {
                values.push(value_of(row.get_ref(place).map_err(sqlite_error)?));
            }
            take(DatabaseRow { columns: Rc::clone(&columns), values })?;
        }
        Ok(())
    }

    /// Returns the rows of a query, which belong to one message and are limited to its size.
    pub(super) fn all(&self, sql: &str, parameters: &[ColumnValue]) -> Result<Vec<DatabaseRow>> {
        let (mut all, mut bytes) = (Vec::new(), 0u64);
        self.each(sql, parameters, &mut |row| {
            bytes = row.values.iter().fold(bytes, |bytes, value| bytes.saturating_add(value.bytes()));
            check_message(bytes, self.most)?;
            all.push(row);
            Ok(())
        })?;
        Ok(all)
    }

    /// Returns the first row of a query.
    pub(super) fn one(&self, sql: &str, parameters: &[ColumnValue]) -> Result<Option<DatabaseRow>> {
        Ok(self.all(sql, parameters)?.into_iter().next())
    }

    /// Returns the ids in the first column of a query. They are counted against a limit.
    pub(super) fn names(&self, sql: &str, parameters: &[ColumnValue]) -> Result<Vec<String>> {
        let (mut names, mut held) = (Vec::new(), self.id_budget());
        self.each(sql, parameters, &mut |row| {
            if let Some(ColumnValue::Text(name)) = row.values.into_iter().next() {
                held.add(&name)?;
                names.push(name);
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Creates a limit for ids that are held at once.
    pub(super) const fn id_budget(&self) -> IdBudget {
        IdBudget { bytes: 0, most: self.most }
    }

    /// The path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Counts the bytes of held ids. Ids are short, unless someone wants to exhaust the memory.
pub(super) struct IdBudget {
    bytes: u64,
    most: u64,
}

impl IdBudget {
    /// Counts another id.
    pub(super) fn add(&mut self, name: &str) -> Result<()> {
        self.bytes = self.bytes.saturating_add(name.len() as u64);
        if self.bytes > self.most {
            return Err(Error::invalid(format!(
                "the ids in the database have more than {} bytes",
                self.most
            )));
        }
        Ok(())
    }
}

/// Text that is not UTF-8 is kept as bytes.
fn value_of(value: ValueRef<'_>) -> ColumnValue {
    match value {
        ValueRef::Null => ColumnValue::Null,
        ValueRef::Integer(number) => ColumnValue::Integer(number),
        ValueRef::Real(number) => ColumnValue::Real(number),
        ValueRef::Text(bytes) => match str::from_utf8(bytes) {
            Ok(text) => ColumnValue::Text(text.to_owned()),
            Err(_) => ColumnValue::Blob(bytes.to_vec()),
        },
        ValueRef::Blob(bytes) => ColumnValue::Blob(bytes.to_vec()),
    }
}

impl rusqlite::ToSql for ColumnValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
