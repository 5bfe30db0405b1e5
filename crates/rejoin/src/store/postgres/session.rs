//! One connection: statements, prepared once, and their rows.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row, RowStream, Statement};

use crate::error::{Error, ErrorKind, Result};
use crate::store::postgres::fault::{During, silent};
use crate::store::postgres::value::TypedValue;
use crate::store::postgres::wait::{send, wait};

/// So many statements are kept prepared; the commits and reads of a program are far fewer.
const PREPARED: usize = 128;

/// A connection, used by one caller at a time.
pub(super) struct PgSession {
    client: Client,
    /// What `~` stands for in a statement.
    schema: Arc<str>,
    /// None where a pooler stands between, which may send the next statement to another connection.
    statements: Option<RefCell<HashMap<String, Statement>>>,
    /// Until when a commit may take; reads have a limit for each answer.
    until: Cell<Option<Instant>>,
    /// How long an answer may take.
    limit: Duration,
    /// True while rows are being visited: what else is asked would wait for their end.
    is_visiting: Cell<bool>,
    /// True after a failure that leaves unknown what the connection is in the middle of.
    is_broken: Cell<bool>,
    /// True while a transaction is open.
    pub(super) is_open: Cell<bool>,
}

impl PgSession {
    pub(super) fn new(client: Client, schema: Arc<str>, prepares: bool, limit: Duration) -> Self {
        Self {
            client,
            schema,
            statements: prepares.then(RefCell::default),
            until: Cell::new(None),
            limit,
            is_visiting: Cell::new(false),
            is_broken: Cell::new(false),
            is_open: Cell::new(false),
        }
    }

    /// True when it can be used again.
    pub(super) fn is_sound(&self) -> bool {
        !self.is_broken.get() && !self.client.is_closed()
    }

    /// Sets until when its answers may take.
    pub(super) fn set_deadline(&self, until: Option<Instant>) {
        self.until.set(until);
    }

    fn until(&self) -> Instant {
        self.until.get().unwrap_or_else(|| Instant::now() + self.limit)
    }

    /// Waits for an answer; one that does not come in time makes the connection useless.
    fn wait<T>(
        &self,
        attempt: &str,
        work: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        match wait(work, self.until()) {
            Some(answer) => answer.during(attempt),
            None => {
                self.is_broken.set(true);
                Err(silent(attempt))
            }
        }
    }

    /// The statement with the schema's name in it.
    fn named(&self, sql: &str) -> String {
        sql.replace('~', &self.schema)
    }

    async fn open(&self, sql: &str, values: &[TypedValue<'_>]) -> Result<RowStream, tokio_postgres::Error> {
        let typed = || values.iter().map(|(value, kind)| (*value, kind.clone()));
        let Some(statements) = &self.statements else {
            return self.client.query_typed_raw(&self.named(sql), typed()).await;
        };
        let known = statements.borrow().get(sql).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => {
                let kinds: Vec<Type> = values.iter().map(|(_, kind)| kind.clone()).collect();
                let statement = self.client.prepare_typed(&self.named(sql), &kinds).await?;
                let mut statements = statements.borrow_mut();
                if statements.len() < PREPARED {
                    statements.insert(sql.to_owned(), statement.clone());
                }
                statement
            }
        };
        self.client.query_raw(&statement, values.iter().map(|(value, _)| *value)).await
    }

    fn refuse_within_a_visit(&self, attempt: &str) -> Result<()> {
        if self.is_visiting.get() {
            let why = "a visitor of rows asked the same snapshot for others";
            return Err(Error::new(ErrorKind::Unsupported, attempt).because(why));
        }
        Ok(())
    }

    /// Runs a statement and returns its rows.
    pub(super) fn ask(&self, attempt: &str, sql: &str, values: &[TypedValue<'_>]) -> Result<Vec<Row>> {
        self.refuse_within_a_visit(attempt)?;
        self.wait(attempt, async { self.open(sql, values).await?.try_collect().await })
    }

    /// Sends `first` and a statement behind it, without waiting in between.
    pub(super) fn ask_after(
        &self,
        first: &str,
        attempt: &str,
        sql: &str,
        values: &[TypedValue<'_>],
    ) -> Result<Vec<Row>> {
        self.refuse_within_a_visit(attempt)?;
        let rows = async { self.open(sql, values).await?.try_collect().await };
        let both = async { futures_util::future::try_join(self.client.batch_execute(first), rows).await };
        self.wait(attempt, both).map(|((), rows)| rows)
    }

    /// Visits the rows of a statement as they come. Only what is under way is in memory.
    pub(super) fn each(
        &self,
        attempt: &str,
        sql: &str,
        values: &[TypedValue<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        self.refuse_within_a_visit(attempt)?;
        let mut rows = pin!(self.wait(attempt, self.open(sql, values))?);
        self.is_visiting.set(true);
        let visited = loop {
            let next = self.wait(attempt, async { rows.next().await.transpose() });
            match next {
                Ok(None) => break Ok(()),
                Ok(Some(row)) => {
                    if let Err(error) = visit(&row) {
                        // The rest would have to be received before anything else.
                        self.is_broken.set(true);
                        break Err(error);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        self.is_visiting.set(false);
        visited
    }

    /// Runs statements that take no values and give no rows.
    pub(super) fn run(&self, attempt: &str, sql: &str) -> Result<()> {
        self.refuse_within_a_visit(attempt)?;
        let named = self.named(sql);
        self.wait(attempt, self.client.batch_execute(&named))
    }

    /// Sends statements and does not wait for their end.
    pub(super) fn post(&self, sql: &str) {
        let named = self.named(sql);
        send(self.client.batch_execute(&named));
    }
}
