//! Databases of other programs: opened to be read, and taken for whatever a stranger may have put into them.
//!
//! Only plain tables are read. A view or a virtual table that has the name of one is refused, because it would run what
//! someone else wrote. What is read is one state of the database, also while its program goes on writing.

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
pub(super) use row::{Row, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::formats::byte_budget::check_message;
use crate::formats::{Detection, Piece, ReadLimits, Reading, Source};
use fault::told;
use open::{DatabaseStamp, MAGIC, open};

/// The step in which progress is told.
const STEP: u64 = 256 * 1024;

/// A database that is read.
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    bytes: u64,
    /// The most bytes of what is held at once.
    most: u64,
    before: Option<DatabaseStamp>,
    /// The names of the columns of each query; they are asked for with every message.
    columns: RefCell<HashMap<String, Rc<[String]>>>,
    passed: Cell<u64>,
    told: Cell<u64>,
}

/// So long a database may be held that is only looked at: every format looks.
const LOOK: Duration = Duration::from_millis(500);

/// True for a database of which this can be said; of one that cannot be read, nothing can.
pub(super) fn holds(path: &Path, is_so: impl Fn(&Database) -> Result<bool>) -> bool {
    let look = || {
        let database = Database::open(path, ReadLimits::default())?;
        database.connection.busy_timeout(LOOK).map_err(told)?;
        is_so(&database)
    };
    look().unwrap_or(false)
}

/// Why a database cannot be looked at now, though it may be one of a known program: it is held, or a change was cut off.
pub(super) fn fault(source: &Source) -> Option<Error> {
    let look = || {
        let database = Database::open(source.path(), ReadLimits::default())?;
        database.one("SELECT count(*) AS number FROM main.sqlite_schema", &[])
    };
    let error = is_database(source).then(look)?.err()?;
    matches!(error.kind(), ErrorKind::Locked | ErrorKind::Unavailable).then_some(error)
}

/// Whether a source is a database with these tables and columns.
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

/// True for a source that is a database of any kind.
pub(super) fn is_database(source: &Source) -> bool {
    source.head().starts_with(MAGIC)
}

impl Database {
    /// Opens a database to read it.
    fn open(path: &Path, limits: ReadLimits) -> Result<Self> {
        let opened = open(path, limits)?;
        let most = limits.line_bytes;
        let (passed, last) = (Cell::new(0), Cell::new(0));
        let (connection, path, bytes, before) = (opened.connection, opened.path, opened.bytes, opened.before);
        let columns = RefCell::default();
        Ok(Self { connection, path, bytes, most, before, columns, passed, told: last })
    }

    /// Reads one state of a database, and makes sure that it was one.
    pub(super) fn read(
        source: &Source,
        reading: &mut Reading<'_>,
        read: impl FnOnce(&Self, &mut Reading<'_>) -> Result<()>,
    ) -> Result<()> {
        let database = Self::open(source.path(), reading.limits())?;
        database.connection.execute_batch("BEGIN").map_err(told)?;
        let done = read(&database, reading);
        if database.before.as_ref().is_some_and(|before| *before != DatabaseStamp::of(&database.path)) {
            // Whatever went wrong may have gone wrong because of that.
            return Err(Error::new(ErrorKind::Locked, "its program changed the database while it was read"));
        }
        done?;
        database.pass(database.bytes, reading)
    }

    /// Tells that so many bytes more were read, as far as the file has them.
    pub(super) fn pass(&self, bytes: u64, reading: &mut Reading<'_>) -> Result<()> {
        let passed = self.passed.get().saturating_add(bytes).min(self.bytes);
        self.passed.set(passed);
        let new = passed - self.told.get();
        if new < STEP && passed < self.bytes || new == 0 {
            return Ok(());
        }
        self.told.set(passed);
        reading.give(Piece::Passed(new))
    }

    /// The columns of a table; none when there is no such table. Anything else of its name is refused.
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
        // A column that is computed when it is read runs what someone else wrote.
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

    /// Refuses a database without such a table.
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

    /// Hands over the rows of a query, one at a time.
    pub(super) fn each(
        &self,
        sql: &str,
        parameters: &[Value],
        take: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql).map_err(told)?;
        let known = self.columns.borrow().get(sql).cloned();
        let columns = known.unwrap_or_else(|| {
            let columns: Rc<[String]> = statement.column_names().map(str::to_owned).collect();
            self.columns.borrow_mut().insert(sql.to_owned(), Rc::clone(&columns));
            columns
        });
        let mut rows = statement.query(rusqlite::params_from_iter(parameters)).map_err(told)?;
        while let Some(row) = rows.next().map_err(told)? {
            let mut values = Vec::with_capacity(columns.len());
            for place in 0..columns.len() {
                values.push(value_of(row.get_ref(place).map_err(told)?));
            }
            take(Row { columns: Rc::clone(&columns), values })?;
        }
        Ok(())
    }

    /// The rows of a query. They belong to one message, so they have at most the bytes of one.
    pub(super) fn all(&self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>> {
        let (mut all, mut bytes) = (Vec::new(), 0u64);
        self.each(sql, parameters, &mut |row| {
            bytes = row.values.iter().fold(bytes, |bytes, value| bytes.saturating_add(value.bytes()));
            check_message(bytes, self.most)?;
            all.push(row);
            Ok(())
        })?;
        Ok(all)
    }

    /// The first row of a query.
    pub(super) fn one(&self, sql: &str, parameters: &[Value]) -> Result<Option<Row>> {
        Ok(self.all(sql, parameters)?.into_iter().next())
    }

    /// Names, one for each row: a few bytes for each, however many there are.
    pub(super) fn names(&self, sql: &str, parameters: &[Value]) -> Result<Vec<String>> {
        let (mut names, mut held) = (Vec::new(), self.id_budget());
        self.each(sql, parameters, &mut |row| {
            if let Some(Value::Text(name)) = row.values.into_iter().next() {
                held.add(&name)?;
                names.push(name);
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Counts names that are held at once.
    pub(super) const fn id_budget(&self) -> IdBudget {
        IdBudget { bytes: 0, most: self.most }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// How many bytes of names are held. A name is short, unless someone wants to fill the memory.
pub(super) struct IdBudget {
    bytes: u64,
    most: u64,
}

impl IdBudget {
    /// Counts one more.
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
fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => match str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Blob(bytes.to_vec()),
        },
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

impl rusqlite::ToSql for Value {
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
