//! Checking a database for damage: pages, counts, and rows that belong to nothing.

use rusqlite::Connection;

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::open::ConnectionUse;
use crate::store::sqlite::{Sqlite, list};
use crate::store::{Fault, Progress};

const ATTEMPT: &str = "check the database";

/// Each finds conversations (or none) that break a rule of the schema.
const RULES: [(&str, &str); 8] = [
    (
        "messages without a conversation",
        "SELECT NULL FROM message m WHERE NOT EXISTS (SELECT 1 FROM conversation c WHERE c.n = m.key >> 32) LIMIT 1",
    ),
    (
        "a message whose parent is missing",
        "SELECT DISTINCT c.id FROM message m JOIN conversation c ON c.n = m.key >> 32 WHERE m.parent IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM message p WHERE p.key = (m.key >> 32 << 32) + m.parent)",
    ),
    (
        "a message count that is wrong",
        "SELECT id FROM conversation c WHERE messages <>
         (SELECT count(*) FROM message WHERE key BETWEEN (c.n << 32) + 1 AND (c.n << 32) + 0xffffffff)",
    ),
    (
        "a count of branches that is wrong",
        "SELECT id FROM conversation c WHERE branches <> (SELECT count(*) FROM branch WHERE n = c.n)",
    ),
    (
        "a head that is missing",
        "SELECT id FROM conversation c WHERE head IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM message WHERE key = (c.n << 32) + c.head)",
    ),
    (
        "a branch whose head is missing",
        "SELECT c.id FROM branch b JOIN conversation c ON c.n = b.n
         WHERE NOT EXISTS (SELECT 1 FROM message WHERE key = (b.n << 32) + b.head)",
    ),
    (
        "blobs without a conversation",
        "SELECT NULL FROM blob b WHERE owner <> x'' AND NOT EXISTS (SELECT 1 FROM conversation c WHERE c.id = b.owner)
         LIMIT 1",
    ),
    (
        "search entries without a message",
        "SELECT NULL FROM document d WHERE NOT EXISTS (SELECT 1 FROM message m WHERE m.key = d.key) LIMIT 1",
    ),
];

impl Sqlite {
    pub(super) fn check(&self) -> Result<Progress> {
        // A connection that has looked at the full-text index before checks what it remembers of it, and
        // takes another connection's deletions for damage. A fresh one remembers nothing.
        let connection = self.open_another(ConnectionUse::Synced)?;
        let mut faults = damaged_pages(&connection);
        for (what, sql) in RULES {
            add(&mut faults, broken(&connection, what, sql))?;
        }
        // SQLite does not look at what it keeps: a text may be none.
        let is_new = |fault: &Fault| !faults.iter().any(|known| known.conversation == fault.conversation);
        let unreadable = unreadable(&connection).map(|found| found.into_iter().filter(is_new).collect());
        add(&mut faults, unreadable)?;
        Ok(Progress { done: 1, faults, ..Progress::default() })
    }
}

fn add(faults: &mut Vec<Fault>, found: Result<Vec<Fault>>) -> Result<()> {
    match found {
        Ok(found) => faults.extend(found),
        // A damaged page fails every question that leads over it, and was named already.
        Err(error) if error.kind() == ErrorKind::Corrupt && !faults.is_empty() => {}
        Err(error) if error.kind() == ErrorKind::Corrupt => faults.push(damage(&error)),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Conversations that a list shows only as far as it goes.
fn unreadable(connection: &Connection) -> Result<Vec<Fault>> {
    let fault = |(id, error): (ConversationId, Error)| Fault {
        conversation: Some(id),
        what: format!("its row is not as it was written: {}", cause(&error)),
    };
    Ok(list::unreadable(connection)?.into_iter().map(fault).collect())
}

/// Every damaged page that SQLite names; a file too damaged to be checked is one fault.
fn damaged_pages(connection: &Connection) -> Vec<Fault> {
    let mut faults = Vec::new();
    let checked = (|| {
        let mut statement = connection.prepare("PRAGMA integrity_check(20)").during(ATTEMPT)?;
        let mut lines = statement.query([]).during(ATTEMPT)?;
        while let Some(row) = lines.next().during(ATTEMPT)? {
            let line: String = row.get(0).during(ATTEMPT)?;
            if line != "ok" {
                faults.push(Fault {
                    conversation: None,
                    what: format!("damaged page: {}", in_one_line(&line)),
                });
            }
        }
        Ok(())
    })();
    if let Err(error) = checked {
        faults.push(damage(&error));
    }
    faults
}

/// SQLite begins its list with a line of stars that names the database.
fn in_one_line(told: &str) -> String {
    told.lines().filter(|line| !line.starts_with("***")).collect::<Vec<_>>().join("; ")
}

fn damage(error: &Error) -> Fault {
    Fault { conversation: None, what: format!("damaged page: {}", cause(error)) }
}

fn cause(error: &Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn broken(connection: &Connection, what: &str, sql: &str) -> Result<Vec<Fault>> {
    let mut statement = connection.prepare(sql).during(ATTEMPT)?;
    let rows = statement.query_map([], |row| row.get::<_, Option<[u8; 16]>>(0)).during(ATTEMPT)?;
    rows.map(|id| {
        let conversation = id.during(ATTEMPT)?.map(ConversationId::from_bytes);
        Ok(Fault { conversation, what: what.to_owned() })
    })
    .collect()
}
