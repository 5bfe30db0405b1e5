//! Passwords in commands: `mysql -p…`, `sshpass -p …`, `echo … | sudo -S`.

use crate::ops::redact::find::placeholder::is_named_placeholder;
use crate::ops::redact::find::value::{has_digit, is_password, is_words};
use crate::ops::redact::find::{Found, Rule, Weight, line_before, within};

/// A command is looked at so far.
const COMMAND_BYTES: usize = 400;

/// Where a command has its password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The next word.
    Next,
    /// Right behind the letters of the flag.
    Joined,
    /// Either of both.
    Either,
    /// In the next word, behind this sign.
    Behind(char),
    /// The last word of the command; the flag is a word that it has, too.
    Last,
}

/// A command that takes a password.
#[derive(Debug)]
pub(super) struct Command {
    /// The end of its name.
    pub(super) name: &'static str,
    flag: &'static str,
    place: Place,
}

const fn command(name: &'static str, flag: &'static str, place: Place) -> Command {
    Command { name, flag, place }
}

/// By the name and the flag.
#[rustfmt::skip]
pub(super) const COMMANDS: &[Command] = &[
    command("sshpass", "-p", Place::Either),
    command("mysql", "-p", Place::Joined),
    command("mysqldump", "-p", Place::Joined),
    command("mysqladmin", "-p", Place::Joined),
    command("mysqlimport", "-p", Place::Joined),
    command("mariadb", "-p", Place::Joined),
    command("mongo", "-p", Place::Next),
    command("mongosh", "-p", Place::Next),
    command("mongodump", "-p", Place::Next),
    command("mongorestore", "-p", Place::Next),
    command("redis-cli", "-a", Place::Next),
    command("docker login", "-p", Place::Next),
    command("podman login", "-p", Place::Next),
    command("nerdctl login", "-p", Place::Next),
    command("buildah login", "-p", Place::Next),
    command("registry login", "-p", Place::Next),
    command("oc login", "-p", Place::Next),
    command("cf login", "-p", Place::Next),
    command("az login", "-p", Place::Next),
    command("argocd login", "-p", Place::Next),
    command("ldapsearch", "-w", Place::Next),
    command("ldapmodify", "-w", Place::Next),
    command("ldapadd", "-w", Place::Next),
    command("ldapwhoami", "-w", Place::Next),
    command("ldapdelete", "-w", Place::Next),
    command("sqlcmd", "-P", Place::Either),
    command("bcp", "-P", Place::Either),
    command("ipmitool", "-P", Place::Next),
    command("zip", "-P", Place::Next),
    command("7z", "-p", Place::Joined),
    command("unrar", "-p", Place::Joined),
    command("smbclient", "-U", Place::Behind('%')),
    command("rpcclient", "-U", Place::Behind('%')),
    command("http", "-a", Place::Behind(':')),
    command("https", "-a", Place::Behind(':')),
    command("lftp", "-u", Place::Behind(',')),
    command("curl", "-U", Place::Behind(':')),
    command("curl", "--proxy-user", Place::Behind(':')),
    command("xfreerdp", "/p:", Place::Joined),
    command("psexec", "-p", Place::Next),
    command("snmpwalk", "-A", Place::Next),
    command("snmpwalk", "-X", Place::Next),
    command("useradd", "-p", Place::Next),
    command("usermod", "-p", Place::Next),
    command("openssl", "-k", Place::Next),
    command("net use", "/user:", Place::Last),
    command("net user", "/add", Place::Last),
    command("htpasswd", " -", Place::Last),
    command("unzip", "-P", Place::Next),
    command("sqlplus", "", Place::Behind('/')),
    command("rabbitmqctl", "add_user", Place::Last),
    command("rabbitmqctl", "change_password", Place::Last),
    command("wpa_passphrase", "", Place::Last),
    command("vault login", "", Place::Last),
    command("vault operator unseal", "", Place::Last),
];

/// Commands that read a password which another one writes.
pub(super) const READERS: [&str; 6] =
    ["chpasswd", "sudo -s", "password-stdin", "passwd --stdin", "cryptsetup", "--passphrase-fd 0"];

impl Command {
    /// The password of the command whose name stands at `at`.
    pub(super) fn at(&self, text: &str, at: usize) -> Option<Found> {
        if text[..at].ends_with(|letter: char| {
            letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '@' | ':')
        }) {
            return None;
        }
        let begin = at + self.name.len();
        let line = within(text, begin, COMMAND_BYTES);
        let line = &line[..line.find(['\n', '|', ';']).unwrap_or(line.len())];
        if !line.starts_with(' ') {
            return None;
        }
        let mut words = words(line);
        let word = match self.place {
            Place::Last => {
                let plain: Vec<_> = words.filter(|(_, word)| !word.starts_with(['-', '/', '>'])).collect();
                // Without a flag, more words than a command takes are a sentence.
                let is_command =
                    if self.flag.is_empty() { plain.len() <= 2 } else { line.contains(self.flag) };
                plain.last().copied().filter(|_| is_command)
            }
            Place::Next => words.find(|(_, word)| *word == self.flag).and_then(|_| words.next()),
            Place::Joined => words.find_map(|(at, word)| joined(at, word, self.flag)),
            Place::Either => {
                let (at, word) = words.find(|(_, word)| word.starts_with(self.flag))?;
                joined(at, word, self.flag).or_else(|| words.next())
            }
            Place::Behind(sign) => {
                let (at, word) = match self.flag {
                    "" => words.find(|(_, word)| !word.starts_with(['-', '/'])),
                    flag => words.find(|(_, word)| *word == flag).and_then(|_| words.next()),
                }?;
                let word = if sign == '/' { word.split('@').next().unwrap_or_default() } else { word };
                word.find(sign).map(|place| (at + place + 1, &word[place + 1..]))
            }
        };
        let (at, word) = word?;
        let shift = word.len() - word.trim_start_matches(['"', '\'']).len();
        let word = word.trim_matches(['"', '\'']);
        let is_plain = self.place == Place::Last || self.flag == "-k";
        found(text, begin + at + shift, word).filter(|_| !is_plain || is_password(word))
    }
}

/// What stands right behind the letters of a flag.
fn joined<'w>(at: usize, word: &'w str, flag: &str) -> Option<(usize, &'w str)> {
    let rest = word.strip_prefix(flag)?;
    (!rest.is_empty()).then_some((at + flag.len(), rest))
}

/// The password that is written to the command at `at`: `echo … | chpasswd`.
pub(super) fn piped(text: &str, at: usize) -> Option<Found> {
    let before = line_before(text, at, COMMAND_BYTES);
    let line = at - before.len();
    let before = &before[..before.rfind('|')?];
    let writer =
        ["echo ", "printf "].iter().filter_map(|name| before.rfind(name).map(|at| at + name.len())).max()?;
    let (place, word) =
        words(&before[writer..]).find(|(_, word)| !word.starts_with('-') && !word.contains("%s"))?;
    let shift = word.len() - word.trim_start_matches(['"', '\'']).len();
    let word = word.trim_matches(['"', '\'']).trim_end_matches("\\n");
    let user = word.find(':').filter(|_| text[at..].starts_with("chpasswd")).map_or(0, |user| user + 1);
    found(text, line + writer + place + shift + user, &word[user..])
}

fn found(text: &str, begin: usize, word: &str) -> Option<Found> {
    let is_secret = word.len() >= 4
        && !is_named_placeholder(word)
        && !word.contains("://")
        && !word.starts_with(['-', '/', '.', '~', '<'])
        && (has_digit(word) || !is_words(word) || word.len() >= 6 && !word.contains(['.', ' ']))
        && text.get(begin..begin + word.len()) == Some(word);
    is_secret.then(|| Found {
        range: begin..begin + word.len(),
        rule: Rule::Named("command-password"),
        weight: Weight::Header,
    })
}

/// The words of a command, each with its quotes, and where they begin.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += line[at..].len() - line[at..].trim_start().len();
        let rest = &line[at..];
        let quote = rest.chars().next().filter(|sign| matches!(sign, '"' | '\''));
        let quoted = quote.and_then(|quote| rest[1..].find(quote).map(|end| end + 2));
        let length = quoted.unwrap_or_else(|| rest.find(char::is_whitespace).unwrap_or(rest.len()));
        let word = (length > 0).then(|| (at, &rest[..length]));
        at += length;
        word
    })
}
