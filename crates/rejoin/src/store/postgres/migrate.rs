//! Numbered migrations, and what is refused: a server or a schema that is not ours to use.

use crate::error::{Error, ErrorKind, Result};
use crate::store::postgres::session::PgSession;
use crate::store::postgres::value::values;

const ATTEMPT: &str = "set up the schema";

/// A released migration never changes; a new one is added at the end.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001.sql")];

/// The version this library writes.
pub(super) const CURRENT: i32 = MIGRATIONS.len() as i32;

/// The oldest server, by its own number: the first with 64-bit numbers of transactions.
const OLDEST: i32 = 130_000;

/// The key under which one process at a time sets up a schema, besides the schema's own.
const LOCK: i32 = 0x7265_6a6f;

/// What a server says of itself and of the schema.
struct ServerFacts {
    server: i32,
    encoding: String,
    is_read_only: bool,
    /// True when the schema has a table of migrations.
    is_ours: bool,
    /// True when it has any table.
    has_tables: bool,
}

/// Makes the schema where it is missing, and brings an older one up to date.
///
/// Ten processes may do so at once: one does, and the others wait for it.
pub(super) fn migrate(session: &PgSession, schema: &str) -> Result<()> {
    let found = look(session, schema)?;
    found.refuse(schema)?;
    if found.is_ours && version(session, schema)? == CURRENT {
        return Ok(());
    }
    if found.is_read_only {
        return Err(read_only());
    }
    session.is_open.set(true);
    session.run(ATTEMPT, "BEGIN")?;
    let lock = "SELECT 1 FROM pg_advisory_xact_lock($1, hashtext($2))";
    session.ask(ATTEMPT, lock, &values![LOCK => INT4, schema => TEXT])?;
    // Another process may have done it while this one waited.
    let found = look(session, schema)?;
    found.refuse(schema)?;
    if !found.is_ours {
        if !exists(session, schema)? {
            session.run(ATTEMPT, &format!("CREATE SCHEMA {schema}"))?;
        }
        session.run(ATTEMPT, "CREATE TABLE ~migration (number integer PRIMARY KEY)")?;
    }
    let version = version(session, schema)?;
    for (migration, number) in MIGRATIONS.iter().zip(1i32..).filter(|(_, number)| *number > version) {
        // Comments may hold any letter.
        let statements = migration.lines().map(|line| line.split("--").next().unwrap_or_default());
        session.run(ATTEMPT, &statements.collect::<Vec<_>>().join("\n"))?;
        session.ask(ATTEMPT, "INSERT INTO ~migration VALUES ($1)", &values![number => INT4])?;
    }
    session.run(ATTEMPT, "COMMIT")?;
    session.is_open.set(false);
    Ok(())
}

/// The answer to whoever would write to a server that only follows another one.
pub(super) fn read_only() -> Error {
    let what = "the server is a read-only standby; name the one that writes, or all with `target_session_attrs=read-write`";
    Error::new(ErrorKind::Unavailable, what)
}

fn look(session: &PgSession, schema: &str) -> Result<ServerFacts> {
    let rows = session.ask(
        ATTEMPT,
        "SELECT current_setting('server_version_num')::int4, current_setting('server_encoding'),
             pg_is_in_recovery(),
             EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'migration'),
             EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1)",
        &values![schema => TEXT],
    )?;
    let row = rows.first().ok_or_else(|| Error::corrupt("the server says nothing of itself"))?;
    Ok(ServerFacts {
        server: row.get(0),
        encoding: row.get(1),
        is_read_only: row.get(2),
        is_ours: row.get(3),
        has_tables: row.get(4),
    })
}

fn exists(session: &PgSession, schema: &str) -> Result<bool> {
    let found =
        session.ask(ATTEMPT, "SELECT 1 FROM pg_namespace WHERE nspname = $1", &values![schema => TEXT]);
    Ok(!found?.is_empty())
}

/// The version of a schema that is ours; one that is newer than this library is refused.
fn version(session: &PgSession, schema: &str) -> Result<i32> {
    let rows = session.ask(ATTEMPT, "SELECT coalesce(max(number), 0) FROM ~migration", &[])?;
    let version = rows.first().map_or(0, |row| row.get(0));
    if version > CURRENT {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the schema `{schema}` has version {version}, and this program knows {CURRENT}; update it"
            ),
        ));
    }
    Ok(version)
}

impl ServerFacts {
    fn refuse(&self, schema: &str) -> Result<()> {
        let refuse = |what: String| Err(Error::new(ErrorKind::Unsupported, what));
        if self.server < OLDEST {
            let own = self.server / 10_000;
            return refuse(format!(
                "the server is PostgreSQL {own}; update it to {} or later",
                OLDEST / 10_000
            ));
        }
        if self.encoding != "UTF8" {
            let own = &self.encoding;
            return refuse(format!("the database has the encoding {own}; make one with `createdb -E UTF8`"));
        }
        if self.has_tables && !self.is_ours {
            return refuse(format!(
                "the schema `{schema}` holds tables of another program; name another one with `?schema=`"
            ));
        }
        Ok(())
    }
}
