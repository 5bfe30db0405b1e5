//! What cannot be used is refused with what to do about it, and without a password.

use std::time::Duration;

use rejoin::store::Store;
use rejoin::{Access, ErrorKind, Result, StoreUrl};

use crate::postgres::server::{Server, open, own, shared};
use crate::vault::write::{conversation, say};

fn opened(url: &str) -> Result<std::sync::Arc<dyn Store>> {
    let access = Access { wait: Duration::from_millis(500), ..Access::default() };
    StoreUrl::parse(url)?.open_with(&access)
}

/// The kind of what a URL is refused with, and all its words.
fn refused(url: &str) -> (ErrorKind, String) {
    let error = opened(url).err().unwrap();
    (error.kind(), format!("{error:?}"))
}

fn at(server: &Server, who: &str, database: &str, query: &str) -> String {
    format!("postgres://{who}@127.0.0.1:{}/{database}?{query}", server.port)
}

#[test]
fn a_server_that_refuses_is_told_with_what_to_do() {
    let Some(server) = shared() else { return };
    server.sql("CREATE ROLE locked LOGIN PASSWORD 'right'; CREATE ROLE guest LOGIN;");
    server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C';");
    server.sql("CREATE SCHEMA foreigner; CREATE TABLE foreigner.message (id int);");
    server
        .sql("CREATE ROLE reader LOGIN SUPERUSER; ALTER ROLE reader SET default_transaction_read_only = on;");
    open(&server.url("postgres", "schema=future"));
    server.sql("INSERT INTO future.migration VALUES (99)");
    let cases = [
        (at(server, "locked:secret", "postgres", ""), ErrorKind::Denied, "refuses the password"),
        (at(server, "locked", "postgres", ""), ErrorKind::Unavailable, "PGPASSWORD"),
        (at(server, "postgres", "nowhere", ""), ErrorKind::Unavailable, "createdb"),
        (at(server, "guest", "postgres", "schema=guest"), ErrorKind::Denied, "GRANT"),
        (at(server, "postgres", "latin", ""), ErrorKind::Unsupported, "createdb -E UTF8"),
        (at(server, "postgres", "postgres", "schema=foreigner"), ErrorKind::Unsupported, "?schema="),
        (at(server, "postgres", "postgres", "schema=future"), ErrorKind::Unsupported, "update it"),
        (at(server, "reader", "postgres", "schema=read"), ErrorKind::Unavailable, "target_session_attrs"),
        ("postgres://ann:secret@127.0.0.1:1/x".to_owned(), ErrorKind::Unavailable, "is it running?"),
    ];

    let told = cases.clone().map(|(url, ..)| refused(&url));

    for ((url, kind, advice), (own, words)) in cases.iter().zip(&told) {
        assert_eq!(own, kind, "{url}: {words}");
        assert!(words.contains(advice) && !words.contains("secret"), "{url}: {words}");
    }
}

#[test]
fn a_server_without_a_free_connection_is_told() {
    let Some(server) = shared() else { return };
    server.sql("CREATE ROLE few LOGIN CONNECTION LIMIT 1; CREATE SCHEMA few AUTHORIZATION few;");
    let url = at(server, "few", "postgres", "schema=few");
    let one = opened(&url).unwrap();

    let (kind, words) = refused(&url);

    drop(one);
    assert_eq!(kind, ErrorKind::Unavailable, "{words}");
    assert!(words.contains("max_connections"), "{words}");
}

#[test]
fn whoever_waits_for_a_lock_too_long_is_told() {
    let Some(server) = own(&[]) else { return };
    let url = server.fresh_url();
    let schema = url.rsplit_once('=').unwrap().1.to_owned();
    let store = opened(&url).unwrap();
    crate::vault::write::open(store.as_ref(), conversation(1));
    let script = format!("BEGIN; LOCK TABLE {schema}.conversation; SELECT pg_sleep(4);");
    let mut holder = server.client("postgres").args(["-c", &script]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));

    let refused = say(store.as_ref(), conversation(1), "a", None, "one").err().map(|error| error.kind());

    holder.wait().unwrap();
    assert_eq!(refused, Some(ErrorKind::Locked));
    assert!(say(store.as_ref(), conversation(1), "a", None, "one").is_ok());
}
