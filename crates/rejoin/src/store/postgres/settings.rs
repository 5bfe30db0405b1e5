//! What a URL says: where the server is, who asks, and how.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, TargetSessionAttrs};

use crate::error::{Error, Result};
use crate::store::PostgresUrl;
use crate::store::postgres::passwords;

/// The schema of a URL that names none.
const SCHEMA: &str = "rejoin";

/// The longest name that the server keeps whole.
const LONGEST_NAME: usize = 63;

/// What a URL says.
pub(super) struct PgSettings {
    pub(super) config: Config,
    /// The schema of our tables, plain letters, digits and underscores.
    pub(super) schema: String,
    /// False where a pooler stands between, which breaks prepared statements.
    pub(super) prepares: bool,
    pub(super) encryption: Encryption,
    /// The file of the certificates to trust, instead of the system's.
    pub(super) root_certificates: Option<PathBuf>,
    /// For how long a commit is tried while servers fail, if it is more than the wait for others.
    pub(super) failover: Duration,
}

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encryption {
    /// Not at all.
    Off,
    /// Against those who listen; anybody may pose as the server.
    Unverified,
    /// The server proves its name.
    Verified,
}

impl PgSettings {
    pub(super) fn of(url: &PostgresUrl) -> Result<Self> {
        let (main, query) = url.revealed().split_once('?').unwrap_or((url.revealed(), ""));
        let (mut schema, mut prepares, mut failover) = (SCHEMA.to_owned(), true, Duration::ZERO);
        let (mut mode, mut root_certificates, mut rest) = (None, None, Vec::new());
        for setting in query.split('&').filter(|setting| !setting.is_empty()) {
            match setting.split_once('=').unwrap_or((setting, "")) {
                ("schema", name) => schema = name.to_owned(),
                ("statements", "prepared") => prepares = true,
                ("statements", "unprepared") => prepares = false,
                ("failover", seconds) => failover = Duration::from_secs(number(setting, seconds)?),
                ("sslmode", given) => mode = Some(given.to_owned()),
                ("sslrootcert", path) => root_certificates = Some(PathBuf::from(path)),
                ("statements", _) => return Err(refused(setting, "use `prepared` or `unprepared`")),
                _ => rest.push(setting),
            }
        }
        let is_plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_';
        let is_reserved = schema.starts_with("pg_") || schema == "information_schema";
        if schema.is_empty() || schema.len() > LONGEST_NAME || is_reserved || !schema.bytes().all(is_plain) {
            return Err(refused(&schema, "a schema has lower-case letters, digits and underscores"));
        }
        let mut config = Config::from_str(&format!("{main}?{}", rest.join("&")))
            // The cause may quote the URL, and with it a password.
            .map_err(|_| Error::invalid(format!("`{url}` is not a URL of PostgreSQL")))?;
        fill_in(&mut config, url)?;
        let mode = mode.or_else(|| url.variable("PGSSLMODE").map(str::to_owned));
        let root_certificates =
            root_certificates.or_else(|| url.variable("PGSSLROOTCERT").map(PathBuf::from));
        if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_application_name().is_none() {
            config.application_name("rejoin");
        }
        let encryption = encryption(&config, mode.as_deref())?;
        Ok(Self { config, schema, prepares, encryption, root_certificates, failover })
    }
}

/// Takes from variables what the URL does not say, and a password from the file of passwords.
fn fill_in(config: &mut Config, url: &PostgresUrl) -> Result<()> {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host(url.variable("PGHOST").unwrap_or("127.0.0.1"));
    }
    if config.get_ports().is_empty()
        && let Some(port) = url.variable("PGPORT")
    {
        config.port(port.parse().map_err(|_| refused(&format!("PGPORT={port}"), "use a number"))?);
    }
    if config.get_user().is_none() {
        let user = url
            .variable("PGUSER")
            .or_else(|| url.variable("USER"))
            .ok_or_else(|| refused("postgres:", "name a role, as in `postgres://ROLE@HOST/DATABASE`"))?;
        config.user(user);
    }
    let user = config.get_user().unwrap_or_default().to_owned();
    if config.get_dbname().is_none() {
        config.dbname(url.variable("PGDATABASE").unwrap_or(&user));
    }
    if config.get_password().is_none() {
        match url.variable("PGPASSWORD") {
            Some(password) => {
                config.password(password);
            }
            None => {
                if let Some(password) = passwords::find(url, config) {
                    config.password(password);
                }
            }
        }
    }
    Ok(())
}

fn refused(setting: &str, why: &str) -> Error {
    Error::invalid(format!("`{setting}`: {why}"))
}

/// A day, in seconds.
const LONGEST_FAILOVER: u64 = 24 * 60 * 60;

fn number(setting: &str, text: &str) -> Result<u64> {
    let seconds = text.parse().ok().filter(|seconds| *seconds <= LONGEST_FAILOVER);
    seconds.ok_or_else(|| refused(setting, "use a number of seconds, at most a day"))
}

fn encryption(config: &Config, mode: Option<&str>) -> Result<Encryption> {
    match mode {
        Some("disable") => Ok(Encryption::Off),
        Some("require") => Ok(Encryption::Unverified),
        Some("verify-full") => Ok(Encryption::Verified),
        Some(other) => Err(refused(&format!("sslmode={other}"), "use `disable`, `require` or `verify-full`")),
        None if is_all_here(config) => Ok(Encryption::Off),
        None => Ok(Encryption::Verified),
    }
}

/// True when every host is this machine, by name and by the address that is connected to.
fn is_all_here(config: &Config) -> bool {
    config.get_hosts().iter().all(is_here) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// True for a socket, and for an address of this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(rest: &str) -> Result<PgSettings> {
        let user = |name: &str| (name == "PGUSER").then(|| "ann".to_owned());
        PgSettings::of(&PostgresUrl::new(rest).with_variables(user))
    }

    #[test]
    fn another_machine_has_to_prove_its_name() {
        let cases = [
            ("//db.example/x", Encryption::Verified),
            ("//db.example/x?sslmode=require", Encryption::Unverified),
            ("//db.example/x?sslmode=disable", Encryption::Off),
            ("//127.0.0.1/x", Encryption::Off),
            ("//localhost,db.example/x", Encryption::Verified),
            ("//localhost/x?hostaddr=192.0.2.2", Encryption::Verified),
            ("///x?hostaddr=192.0.2.2", Encryption::Verified),
            ("//localhost/x?hostaddr=127.0.0.1", Encryption::Off),
            ("///x?host=/run/postgresql", Encryption::Off),
        ];

        let read = cases.map(|(rest, _)| settings(rest).unwrap().encryption);

        assert_eq!(read, cases.map(|(_, encryption)| encryption));
    }

    #[test]
    fn what_a_url_says_wrong_is_told_without_its_password() {
        let cases = [
            "?schema=pg_x",
            "?schema=A",
            "?sslmode=prefer",
            "?statements=few",
            "?unheard=of",
            "?failover=18446744073709551615",
        ];

        let told = cases.map(|query| format!("{:?}", settings(&format!("//ann:secret@db/x{query}")).err()));

        assert!(told.iter().all(|told| told.contains("[invalid]") && !told.contains("secret")), "{told:?}");
    }

    #[test]
    fn variables_stand_in_for_what_the_url_does_not_say() {
        let read = |name: &str| match name {
            "PGHOST" => Some("elsewhere".to_owned()),
            "PGPASSWORD" => Some("secret".to_owned()),
            "PGUSER" => Some("ben".to_owned()),
            _ => None,
        };
        let of = |rest| PgSettings::of(&PostgresUrl::new(rest).with_variables(read)).unwrap().config;

        let (bare, named) = (of("//"), of("//ann@here/x"));

        assert_eq!(
            (bare.get_hosts(), bare.get_user()),
            (&[Host::Tcp("elsewhere".to_owned())][..], Some("ben"))
        );
        assert_eq!((bare.get_dbname(), bare.get_password()), (Some("ben"), Some(&b"secret"[..])));
        assert_eq!((named.get_hosts(), named.get_user()), (&[Host::Tcp("here".to_owned())][..], Some("ann")));
    }

    #[test]
    fn several_hosts_are_searched_for_the_one_that_writes() {
        let several = settings("//a:1,b:2/x").unwrap().config;
        let one = settings("//a:1/x").unwrap().config;

        let sought = [several.get_target_session_attrs(), one.get_target_session_attrs()];

        assert_eq!(sought, [TargetSessionAttrs::ReadWrite, TargetSessionAttrs::Any]);
    }
}
