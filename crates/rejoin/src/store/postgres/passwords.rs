//! The file of passwords that PostgreSQL's own programs use.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::store::PostgresUrl;

/// The password that the file has for a server, if others cannot read the file.
pub(super) fn find(url: &PostgresUrl, config: &Config) -> Option<String> {
    let file = match url.variable("PGPASSFILE") {
        Some(file) => PathBuf::from(file),
        None => PathBuf::from(url.variable("HOME")?).join(".pgpass"),
    };
    if fs::metadata(&file).ok()?.mode() & 0o077 != 0 {
        tracing::warn!(file = %file.display(), "others can read the file of passwords, so it is not used");
        return None;
    }
    let host = match config.get_hosts().first()? {
        Host::Tcp(name) => name.clone(),
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let sought = [host.as_str(), &port, config.get_dbname()?, config.get_user()?];
    fs::read_to_string(file).ok()?.lines().find_map(|line| password(line, sought))
}

/// The password of a line, if it is for this host, port, database and role.
fn password(line: &str, sought: [&str; 4]) -> Option<String> {
    let fields: [String; 5] = fields(line).try_into().ok()?;
    let [.., password] = &fields;
    let fits = |(field, sought): (&String, &str)| field == "*" || field == sought;
    (!line.starts_with('#') && fields.iter().zip(sought).all(fits)).then(|| password.clone())
}

/// The fields of a line, between colons; a backslash takes a colon or another one as a letter.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut letters) = (vec![String::new()], line.chars());
    while let Some(letter) = letters.next() {
        let last = fields.last_mut().expect("there is one from the beginning");
        match letter {
            ':' => fields.push(String::new()),
            '\\' => last.extend(letters.next()),
            other => last.push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let sought = ["db", "5432", "history", "ann"];
        let lines = [
            "db:5432:history:ann:a\\:b\\\\c",
            "*:*:*:*:any",
            "db:5433:*:ann:no",
            "# db:*:*:*:no",
            "db:5432:history:ann",
        ];

        let found = lines.map(|line| password(line, sought));

        assert_eq!(found, [Some("a:b\\c".to_owned()), Some("any".to_owned()), None, None, None]);
    }
}
