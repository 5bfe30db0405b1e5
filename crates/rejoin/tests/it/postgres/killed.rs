//! Servers and connections that are killed while somebody appends: what was acknowledged is there, once.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rejoin::store::Task;
use rejoin::{Access, StoreUrl};

use crate::postgres::server::{Server, installed, shared};
use crate::vault::write::{Said, conversation, messages, say};

/// How often something is killed; far more often in the long version.
fn rounds() -> u32 {
    if std::env::var_os("REJOIN_PROVE").is_some() { 100 } else { 5 }
}

/// The processes that serve a database, but for our own client.
fn backends(server: &Server) -> Vec<String> {
    let asked = server.sql(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'rejoin' AND backend_type = 'client backend'",
    );
    asked.lines().map(str::to_owned).collect()
}

fn kill(pid: &str) {
    // It may have ended by itself.
    let _ = Command::new("kill").args(["-KILL", pid]).stderr(std::process::Stdio::null()).status();
}

#[test]
fn no_acknowledged_message_is_lost_or_doubled_when_servers_are_killed() {
    if shared().is_none() {
        return;
    }
    // Its settings are those of a real one: it syncs.
    let server = Mutex::new(Server::start(&installed()[0], &[]));
    let url = server.lock().unwrap().fresh_url();
    let access = Access { wait: Duration::from_secs(60), ..Access::default() };
    let store = StoreUrl::parse(&url).unwrap().open_with(&access).unwrap();
    crate::vault::write::open(store.as_ref(), conversation(1));
    let is_over = AtomicBool::new(false);

    let acknowledged = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut acknowledged, mut last): (Vec<String>, Option<Said>) = (Vec::new(), None);
            while !is_over.load(Ordering::Relaxed) {
                let name = format!("m{}", acknowledged.len());
                last = Some(say(store.as_ref(), conversation(1), &name, last, "on and on").unwrap());
                acknowledged.push(name);
            }
            acknowledged
        });
        for round in 0..rounds() {
            std::thread::sleep(Duration::from_millis(40 + u64::from(round * 37 % 90)));
            let mut server = server.lock().unwrap();
            for pid in backends(&server) {
                kill(&pid);
            }
            // Others are ended by the server then, which starts again by itself.
            std::thread::sleep(Duration::from_millis(300));
            server.kill();
            server.run();
        }
        std::thread::sleep(Duration::from_millis(100));
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });

    let found: Vec<String> =
        messages(store.as_ref(), conversation(1)).unwrap().iter().map(|shown| shown.id.to_string()).collect();
    assert_eq!(found, acknowledged);
    let changes = store.changes(0, Duration::from_secs(1)).unwrap();
    assert_eq!(
        changes.len(),
        acknowledged.len() + 1,
        "an entry of the log for each, and one for the beginning"
    );
    assert_eq!(store.maintain(Task::Check, Duration::MAX).unwrap().faults, []);
    crate::skip::tell(&format!("{} appends through {} kills", found.len(), 2 * rounds()));
}
