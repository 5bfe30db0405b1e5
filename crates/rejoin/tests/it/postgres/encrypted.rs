//! Connections are encrypted, and to the server that was meant.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rejoin::{Access, Result, StoreUrl};

use crate::postgres::server::{Server, own};
use crate::skip::skip;

const EC: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";

/// Runs `openssl`; false where it is not installed.
fn openssl(directory: &Path, words: &str) -> bool {
    let ran = Command::new("openssl").args(words.split(' ')).current_dir(directory).output();
    let Ok(ran) = ran else { return false };
    assert!(ran.status.success(), "{words}: {}", String::from_utf8_lossy(&ran.stderr));
    true
}

/// A server that proves to be `localhost`, and the directory with the certificate it is known by.
fn encrypting() -> Option<(Server, tempfile::TempDir)> {
    let server = own(&[])?;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("names"), "subjectAltName=DNS:localhost").unwrap();
    let is_there = ["ours", "other"].iter().all(|name| {
        openssl(here, &format!("req -x509 {EC} -keyout {name}.key -out {name}.pem -subj /CN={name}"))
    });
    if !is_there {
        skip("there is no `openssl` to make certificates with");
        return None;
    }
    openssl(here, &format!("req {EC} -keyout server.key -out server.csr -subj /CN=localhost"));
    let signed = "-CA ours.pem -CAkey ours.key -CAcreateserial -days 2 -extfile names -out server.crt";
    openssl(here, &format!("x509 -req -in server.csr {signed}"));
    for name in ["server.key", "server.crt"] {
        let to = server.data().join(name);
        fs::copy(here.join(name), &to).unwrap();
        let same = format!("--reference={}", server.data().display());
        assert!(Command::new("chown").arg(same).arg(&to).status().unwrap().success());
        assert!(Command::new("chmod").arg("600").arg(&to).status().unwrap().success());
    }
    server.sql("ALTER SYSTEM SET ssl = on");
    server.sql("SELECT pg_reload_conf()");
    Some((server, directory))
}

fn opened(server: &Server, host: &str, settings: &str) -> Result<String, String> {
    let url = format!("postgres://postgres@{host}:{}/postgres?schema=tls&{settings}", server.port);
    let access = Access { wait: Duration::from_millis(500), ..Access::default() };
    let store = StoreUrl::parse(&url).and_then(|url| url.open_with(&access));
    let _open = store.map_err(|error| format!("{error:?}"))?;
    Ok(server.sql("SELECT string_agg(DISTINCT version, ' ') FROM pg_stat_ssl WHERE ssl"))
}

#[test]
fn a_server_has_to_prove_its_name_unless_nobody_asks() {
    let Some((server, directory)) = encrypting() else { return };
    let known_by = |name: &str| {
        let file: PathBuf = directory.path().join(name);
        format!("sslmode=verify-full&sslrootcert={}", file.display())
    };
    let is_up = || opened(&server, "127.0.0.1", "sslmode=require").is_ok();
    let until = Instant::now() + Duration::from_secs(30);
    while !is_up() {
        assert!(Instant::now() < until, "the server does not encrypt");
        std::thread::sleep(Duration::from_millis(20));
    }

    let proved = opened(&server, "localhost", &known_by("ours.pem"));
    let anybody = opened(&server, "127.0.0.1", "sslmode=require");
    let refused = [
        opened(&server, "127.0.0.1", &known_by("ours.pem")),
        opened(&server, "localhost", &known_by("other.pem")),
        opened(&server, "localhost", "sslmode=verify-full"),
        opened(&server, "localhost", &known_by("nothing.pem")),
        opened(&server, "localhost", &known_by("names")),
    ];
    server.sql("ALTER SYSTEM SET ssl_max_protocol_version = 'TLSv1.2'");
    server.sql("SELECT pg_reload_conf()");
    std::thread::sleep(Duration::from_millis(300));
    let older = ["verify-full", "require"]
        .map(|mode| opened(&server, "localhost", &known_by("ours.pem").replace("verify-full", mode)));

    let version = |version: &str| Ok(version.to_owned());
    assert_eq!([proved, anybody], [version("TLSv1.3"), version("TLSv1.3")]);
    assert!(
        refused.iter().all(|own| own.as_ref().is_err_and(|words| words.contains("certificate"))),
        "{refused:?}"
    );
    assert_eq!(older, [version("TLSv1.2"), version("TLSv1.2")]);
}

#[test]
fn a_server_without_encryption_gets_nothing_where_it_is_asked_for() {
    let Some(server) = own(&[]) else { return };

    let refused =
        ["require", "verify-full"].map(|mode| opened(&server, "localhost", &format!("sslmode={mode}")));

    assert!(refused.iter().all(|own| own.as_ref().is_err_and(|words| words.contains("TLS"))), "{refused:?}");
}
