//! The server: a runtime that drives connections, and those at rest.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::poll_fn;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Error, ErrorKind, Result};
use crate::store::postgres::fault::{Cure, cure, explained, is_refused, silent, tell};
use crate::store::postgres::session::PgSession;
use crate::store::postgres::settings::{Encryption, PgSettings};
use crate::store::postgres::tls;
use crate::store::postgres::wait::wait;

/// So many connections are kept at rest: one that writes, one that reads, and what visitors call for.
const RESTING: usize = 4;

/// How long a read may take to answer. A dead connection is found out long before, by the system.
const ANSWER: Duration = Duration::from_secs(600);

/// The first pause before a connection is tried again; later ones are longer.
const PAUSE: Duration = Duration::from_millis(20);

/// After so long without an answer to what was sent, the network counts as broken.
const DEAD: Duration = Duration::from_secs(20);

/// A server, as one handle uses it.
pub(super) struct PgServer {
    /// Drives connections on a thread of its own. Empty only while it is dropped.
    runtime: Option<Runtime>,
    config: Config,
    tls: Option<MakeRustlsConnect>,
    schema: Arc<str>,
    prepares: bool,
    resting: Mutex<Vec<PgSession>>,
    /// True once it answered: a server that was there may come back.
    was_there: AtomicBool,
    /// How long to wait for others: connections that others hold, a leader that is not elected yet.
    pub(super) wait: Duration,
}

impl PgServer {
    pub(super) fn new(settings: PgSettings, wait: Duration) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("rejoin-postgres")
            .enable_all()
            .build()
            .map_err(|cause| Error::new(ErrorKind::Unavailable, "start a thread").because(cause))?;
        let tls = tls::connector(&settings)?;
        let PgSettings { mut config, schema, prepares, encryption, failover, .. } = settings;
        config.ssl_mode(match encryption {
            Encryption::Off => tokio_postgres::config::SslMode::Disable,
            Encryption::Unverified | Encryption::Verified => tokio_postgres::config::SslMode::Require,
        });
        config.keepalives_idle(DEAD / 2).tcp_user_timeout(DEAD);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(DEAD / 2);
        }
        let schema = format!("{schema}.").into();
        if prepares && config.get_options().is_none() {
            // Whoever waits for a lock is told so before the connection counts as silent.
            config.options(format!("-c lock_timeout={}ms", wait.max(failover).as_millis().clamp(1, 1 << 30)));
        }
        Ok(Self {
            runtime: Some(runtime),
            config,
            tls,
            schema,
            prepares,
            resting: Mutex::default(),
            was_there: AtomicBool::new(false),
            wait: wait.max(failover),
        })
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until the server is dropped")
    }

    /// The schema of our tables.
    pub(super) fn schema(&self) -> &str {
        self.schema.trim_end_matches('.')
    }

    /// True when statements may be kept on a connection.
    pub(super) const fn is_direct(&self) -> bool {
        self.prepares
    }

    /// A connection at rest, or another one.
    pub(super) fn session(&self) -> Result<Lent<'_>> {
        loop {
            match self.resting().pop() {
                Some(session) if !session.is_sound() => {}
                Some(session) => return Ok(Lent { server: self, session: Some(session) }),
                None => return self.fresh(),
            }
        }
    }

    /// A new connection. Where the server takes none now, it is asked again until the wait is over.
    pub(super) fn fresh(&self) -> Result<Lent<'_>> {
        let until = Instant::now() + self.wait;
        let mut pause = PAUSE;
        loop {
            match self.connect(until, |_| ()) {
                Ok(client) => {
                    self.was_there.store(true, Ordering::Relaxed);
                    let session = PgSession::new(client, Arc::clone(&self.schema), self.prepares, ANSWER);
                    self.make_durable(&session)?;
                    return Ok(Lent { server: self, session: Some(session) });
                }
                Err(error)
                    if cure(&error) == Cure::None
                        || Instant::now() + pause >= until
                        || (is_refused(&error) && !self.was_there.load(Ordering::Relaxed)) =>
                {
                    return Err(explained(error));
                }
                Err(_) => thread::sleep(pause),
            }
            pause = (pause * 2).min(PAUSE * 25);
        }
    }

    /// Sees to it that a commit is acknowledged only when it is on disk, and on the standbys that the
    /// server waits for. A role, a database or a server may have been set to acknowledge earlier.
    fn make_durable(&self, session: &PgSession) -> Result<()> {
        let attempt = "open a connection";
        if !self.prepares {
            // Behind a pooler the next transaction may run on another connection of its own.
            let rows = session.ask(attempt, "SELECT current_setting('synchronous_commit')", &[])?;
            let setting: &str = rows.first().map_or("", |row| row.get(0));
            if matches!(setting, "off" | "local") {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "the server acknowledges what is not safe yet (`synchronous_commit` is `{setting}`); run `ALTER ROLE … SET synchronous_commit = on`"
                    ),
                ));
            }
            return Ok(());
        }
        let sql = "SELECT set_config('synchronous_commit', 'on', false)
             WHERE current_setting('synchronous_commit') IN ('off', 'local')";
        session.ask(attempt, sql, &[]).map(drop)
    }

    /// Connects, and calls `notified` whenever a notification comes.
    pub(super) fn connect(
        &self,
        until: Instant,
        notified: impl Fn(ServerSignal) + Send + 'static,
    ) -> Result<Client> {
        let attempt = "connect to the server";
        let (config, tls) = (self.config.clone(), self.tls.clone());
        let connecting = self.runtime().spawn(async move {
            match tls {
                Some(tls) => {
                    let (client, connection) = config.connect(tls).await?;
                    tokio::spawn(drive(connection, notified));
                    Ok(client)
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    tokio::spawn(drive(connection, notified));
                    Ok::<_, tokio_postgres::Error>(client)
                }
            }
        });
        match wait(connecting, until) {
            None => Err(silent(attempt)),
            Some(Ok(connected)) => connected.map_err(|cause| tell(attempt, cause)),
            Some(Err(cause)) => Err(Error::new(ErrorKind::Unavailable, attempt).because(cause)),
        }
    }

    fn resting(&self) -> std::sync::MutexGuard<'_, Vec<PgSession>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a connection tells by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerSignal {
    /// Something changed.
    Changed,
    /// It ended.
    Ended,
}

async fn drive<S>(mut connection: Connection<Socket, S>, notified: impl Fn(ServerSignal))
where
    S: tokio_postgres::tls::TlsStream + Unpin,
{
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(_))) => notified(ServerSignal::Changed),
            Some(Ok(_)) => {}
            // Whoever waits for an answer is told why there is none.
            Some(Err(_)) | None => return notified(ServerSignal::Ended),
        }
    }
}

/// The sockets are closed; what was under way is rolled back by the server. This never blocks, so a store
/// may be dropped in async code.
impl Drop for PgServer {
    fn drop(&mut self) {
        self.resting().clear();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A connection in use. It rests again when this is dropped, unless it broke.
pub(super) struct Lent<'s> {
    server: &'s PgServer,
    session: Option<PgSession>,
}

impl Deref for Lent<'_> {
    type Target = PgSession;

    fn deref(&self) -> &PgSession {
        self.session.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        session.set_deadline(None);
        if session.is_open.replace(false) {
            session.post("ROLLBACK");
        }
        let mut resting = self.server.resting();
        if session.is_sound() && resting.len() < RESTING {
            resting.push(session);
        }
    }
}
