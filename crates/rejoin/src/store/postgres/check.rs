//! Checking a schema for damage: counts, and rows that belong to nothing.

use crate::error::Result;
use crate::store::postgres::Postgres;
use crate::store::postgres::value::Uuid;
use crate::store::{Fault, Progress};

const ATTEMPT: &str = "check the database";

/// Each finds conversations that break a rule of the schema.
const RULES: [(&str, &str); 8] = [
    (
        "messages without a conversation",
        "SELECT DISTINCT conversation FROM ~message m WHERE NOT EXISTS
             (SELECT FROM ~conversation c WHERE c.id = m.conversation)",
    ),
    (
        "a message whose parent is missing",
        "SELECT DISTINCT conversation FROM ~message m WHERE m.parent IS NOT NULL AND NOT EXISTS
             (SELECT FROM ~message p WHERE p.conversation = m.conversation AND p.seq = m.parent)",
    ),
    (
        "a message count that is wrong",
        "SELECT id FROM ~conversation c WHERE (messages, roots, bytes) <>
             (SELECT count(*), count(*) FILTER (WHERE parent IS NULL), coalesce(sum(octet_length(body)), 0)
              FROM ~message WHERE conversation = c.id)",
    ),
    (
        "a count of branches that is wrong",
        "SELECT id FROM ~conversation c WHERE branches <> (SELECT count(*) FROM ~branch WHERE conversation = c.id)",
    ),
    (
        "a head that is missing",
        "SELECT id FROM ~conversation c WHERE head IS NOT NULL AND NOT EXISTS
             (SELECT FROM ~message WHERE conversation = c.id AND seq = c.head)",
    ),
    (
        "a branch whose head is missing",
        "SELECT DISTINCT conversation FROM ~branch b WHERE NOT EXISTS
             (SELECT FROM ~message m WHERE m.conversation = b.conversation AND m.seq = b.head)",
    ),
    (
        "blobs without a conversation",
        "SELECT DISTINCT owner FROM ~blob b WHERE owner <> '00000000-0000-0000-0000-000000000000' AND NOT EXISTS
             (SELECT FROM ~conversation c WHERE c.id = b.owner)",
    ),
    (
        "a count of children that is wrong",
        "SELECT DISTINCT m.conversation FROM ~message m LEFT JOIN
             (SELECT conversation, parent, count(*) AS many FROM ~message GROUP BY 1, 2) p
             ON p.conversation = m.conversation AND p.parent = m.seq WHERE m.children <> coalesce(p.many, 0)",
    ),
];

impl Postgres {
    pub(super) fn check(&self) -> Result<Progress> {
        let faults = self.read(|rows| {
            let mut faults = Vec::new();
            for (what, sql) in RULES {
                let found = rows.ask(ATTEMPT, sql, &[])?;
                faults.extend(found.iter().map(|row| Fault {
                    conversation: Some(row.get::<_, Uuid>(0).id()),
                    what: what.to_owned(),
                }));
            }
            Ok(faults)
        })?;
        Ok(Progress { done: 1, faults, ..Progress::default() })
    }
}
