//! Servers that the tests start themselves, on free ports of this machine, and that end with the tests.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rejoin::StoreUrl;

use crate::skip::skip;

/// Settings that make a server quick, for tests that kill nothing.
const QUICK: &[&str] = &["fsync=off", "full_page_writes=off", "autovacuum=off"];

/// A server in a directory of its own.
pub(crate) struct Server {
    pub(crate) bin: PathBuf,
    directory: PathBuf,
    pub(crate) port: u16,
    settings: Vec<String>,
    /// The watchdog, which ends the server and removes its directory when its input ends.
    watchdog: Option<Child>,
}

/// The directories with the programs of a server, the newest first.
pub(crate) fn installed() -> Vec<PathBuf> {
    if let Ok(named) = std::env::var("REJOIN_TEST_POSTGRES") {
        return named.split(':').map(PathBuf::from).collect();
    }
    let entries = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path().join("bin")).collect();
    found.retain(|bin| bin.join("initdb").exists());
    found.sort_by_key(|bin| {
        let version = bin.parent().and_then(|version| version.file_name()?.to_str()?.parse::<u32>().ok());
        std::cmp::Reverse(version)
    });
    found
}

/// The server that all tests of this process share; none where none is installed.
pub(crate) fn shared() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    let server = SHARED.get_or_init(|| {
        let bin = installed().into_iter().next()?;
        Some(Server::start(&bin, QUICK))
    });
    if server.is_none() {
        skip(
            "no PostgreSQL is installed; install `postgresql`, or name its programs in REJOIN_TEST_POSTGRES",
        );
    }
    server.as_ref()
}

/// A server that nobody shares, for tests that keep transactions open: changes of others wait for those.
pub(crate) fn own(settings: &[&str]) -> Option<Server> {
    shared()?;
    Some(Server::start(&installed()[0], &[QUICK, settings].concat()))
}

/// What a server may not be run as.
fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

/// A command that is run as a user who may run a server.
fn as_nobody(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let has_postgres = fs::read_to_string("/etc/passwd").unwrap().contains("\npostgres:");
    let user = if has_postgres { "postgres" } else { "nobody" };
    command.args([&format!("--reuid={user}"), &format!("--regid={}", group(user)), "--clear-groups"]);
    command.arg(program);
    command
}

fn group(user: &str) -> String {
    let id = Command::new("id").args(["-g", user]).output().unwrap();
    String::from_utf8(id.stdout).unwrap().trim().to_owned()
}

/// A port that nobody uses, below those that outgoing connections take.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) + std::process::id() * 7;
        let port = u16::try_from(20_000 + step % 12_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Server {
    /// Makes a server with these settings and starts it.
    pub(crate) fn start(bin: &Path, settings: &[&str]) -> Self {
        let directory = tempfile::Builder::new().prefix("rejoin-postgres-").tempdir().unwrap().keep();
        if is_root() {
            let owner = if fs::read_to_string("/etc/passwd").unwrap().contains("\npostgres:") {
                "postgres"
            } else {
                "nobody"
            };
            assert!(Command::new("chown").arg(owner).arg(&directory).status().unwrap().success());
        }
        let data = directory.join("data");
        let made = as_nobody(&bin.join("initdb"))
            .args(["--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data)
            .current_dir(&directory)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        // One role needs a password.
        let rules = data.join("pg_hba.conf");
        let all = fs::read_to_string(&rules).unwrap();
        fs::write(&rules, format!("host all locked 127.0.0.1/32 scram-sha-256\n{all}")).unwrap();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut server = Self { bin: bin.to_owned(), directory, port: free_port(), settings, watchdog: None };
        server.run();
        server
    }

    /// Starts it, again after it was killed.
    pub(crate) fn run(&mut self) {
        let postgres = as_nobody(&self.bin.join("postgres"));
        let words = std::iter::once(postgres.get_program()).chain(postgres.get_args());
        let words: Vec<String> = words.map(|word| word.to_str().unwrap().to_owned()).collect();
        let port = self.port.to_string();
        let sockets = self.directory.display().to_string();
        let mut settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            format!("unix_socket_directories={sockets}"),
            "max_connections=200".to_owned(),
            "max_prepared_transactions=4".to_owned(),
            "log_statement=all".to_owned(),
        ];
        settings.extend(self.settings.iter().cloned());
        let settings: Vec<String> = settings.iter().map(|setting| format!("-c {setting}")).collect();
        let script = format!(
            "{} -D {sockets}/data -p {port} {} >>{sockets}/log 2>&1 </dev/null & pid=$!; cat >/dev/null; \
             kill -QUIT $pid 2>/dev/null; wait $pid; [ -e {sockets}/keep ] || rm -rf {sockets} || {{ sleep 1; rm -rf {sockets}; }}",
            words.join(" "),
            settings.join(" ")
        );
        // What watches the server outlives a test that is killed: its input ends then.
        let watchdog = Command::new("sh").arg("-c").arg(script).stdin(Stdio::piped()).spawn().unwrap();
        self.watchdog = Some(watchdog);
        let until = Instant::now() + Duration::from_secs(60);
        while !self.answers() {
            assert!(Instant::now() < until, "{}", fs::read_to_string(self.log()).unwrap_or_default());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn answers(&self) -> bool {
        let ready = Command::new(self.bin.join("pg_isready"))
            .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
            .status();
        ready.unwrap().success()
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Kills the server itself, as a power cut would, and leaves its files.
    pub(crate) fn kill(&mut self) {
        fs::write(self.directory.join("keep"), "").unwrap();
        // One of them may just be starting another.
        loop {
            let running = self.processes();
            if running.is_empty() {
                break;
            }
            let _ = Command::new("kill").arg("-KILL").args(running).stderr(Stdio::null()).status();
            thread::sleep(Duration::from_millis(10));
        }
        let mut watchdog = self.watchdog.take().unwrap();
        drop(watchdog.stdin.take());
        watchdog.wait().unwrap();
        fs::remove_file(self.directory.join("keep")).unwrap();
    }

    /// The server's processes, which all work in its directory.
    fn processes(&self) -> Vec<String> {
        let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let own = all.filter(|path| fs::read_link(path.join("cwd")).is_ok_and(|place| place == self.data()));
        own.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    /// The URL of a schema of its own.
    pub(crate) fn fresh_url(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.url("postgres", &format!("schema=place_{number}"))
    }

    /// The URL of a database.
    pub(crate) fn url(&self, database: &str, query: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?{query}", self.port)
    }

    /// Runs SQL as the owner of everything and returns what it answers.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.sql_in("postgres", sql)
    }

    /// The same in another database.
    pub(crate) fn sql_in(&self, database: &str, sql: &str) -> String {
        let mut child = self.client(database).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
        let answer = child.wait_with_output().unwrap();
        assert!(answer.status.success(), "{sql}");
        String::from_utf8(answer.stdout).unwrap().trim().to_owned()
    }

    /// The server's own client, which reads SQL.
    pub(crate) fn client(&self, database: &str) -> Command {
        let mut command = Command::new(self.bin.join("psql"));
        command
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres", "-d", database])
            .args(["-v", "ON_ERROR_STOP=1", "-XqAt"]);
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut watchdog) = self.watchdog.take() {
            drop(watchdog.stdin.take());
            watchdog.wait().unwrap();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Opens what a URL names.
pub(crate) fn open(url: &str) -> std::sync::Arc<dyn rejoin::store::Store> {
    StoreUrl::parse(url).unwrap().open().unwrap()
}
