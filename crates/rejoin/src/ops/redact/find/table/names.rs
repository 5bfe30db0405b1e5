//! Words that say in the name of a value that it is secret, one line each.

use crate::ops::redact::find::names::Secrecy;

/// The last word of a name, and what the words before it make of it. Signs between words do not count.
#[derive(Debug)]
pub(in crate::ops::redact::find) struct Stem {
    pub(in crate::ops::redact::find) word: &'static str,
    /// What it is when no other word is known to stand before it.
    pub(in crate::ops::redact::find) alone: Option<Secrecy>,
    /// What stands before it in names of secrets.
    pub(in crate::ops::redact::find) strong: &'static [&'static str],
    /// What stands before it in names of what is no secret.
    pub(in crate::ops::redact::find) harmless: &'static [&'static str],
}

const fn stem(word: &'static str, alone: Option<Secrecy>) -> Stem {
    Stem { word, alone, strong: &[], harmless: &[] }
}

impl Stem {
    const fn strong(self, strong: &'static [&'static str]) -> Self {
        Self { strong, ..self }
    }

    const fn harmless(self, harmless: &'static [&'static str]) -> Self {
        Self { harmless, ..self }
    }
}

const PASSWORD: Option<Secrecy> = Some(Secrecy::Password);
pub(in crate::ops::redact::find) const KEY: Option<Secrecy> = Some(Secrecy::Key);
const MAYBE: Option<Secrecy> = Some(Secrecy::Maybe);

/// The first that a name ends with counts.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const STEMS: &[Stem] = &[
    stem("key", MAYBE).strong(&[
        "api", "secret", "access", "private", "priv", "auth", "account", "encryption", "encrypt", "decryption", "decrypt", "crypt", "cipher",
        "signing", "sign", "signature", "master", "license", "licence", "service", "client", "app", "application", "consumer", "subscription",
        "deploy", "webhook", "shared", "hmac", "aes", "rsa", "ssh", "cookie", "jwt", "admin", "root", "server",
        "integration", "ingest", "ingestion", "insert", "insights", "write", "sdk", "vault", "unseal", "db", "database", "fernet",
        "nonce", "loggedin", "function", "functions", "activation", "recovery", "backup", "wpa", "network", "tls", "ssl", "org", "team",
        "bot", "security", "gateway", "internal", "enc", "kek", "dek", "wallet", "host", "preshared",
        "openai", "anthropic", "claude", "gemini", "stripe", "aws", "google", "azure", "github", "gitlab", "datadog", "twilio", "sendgrid",
        "mailgun", "cloudflare", "algolia", "newrelic", "pagerduty", "deepl", "mistral", "cohere", "groq", "maps", "mapbox", "pinecone",
        "supabase", "heroku",
    ]).harmless(&[
        "public", "publishable", "primary", "foreign", "sort", "partition", "cache", "idempotency", "hash", "row", "object", "site", "hot",
        "mon", "tur", "don", "whis", "joc", "hoc",
    ]),
    stem("token", MAYBE).harmless(&[
        "page", "next", "continuation", "sync", "max", "csrf", "xsrf", "pad", "eos", "bos", "unk", "sep", "cls", "mask", "stop", "start", "end",
        "cancellation", "cancel", "abort", "idempotency", "request", "resume", "scroll", "cursor", "special", "input", "output", "current",
        "last", "first", "prev", "previous", "image", "prefix", "suffix", "publickey",
    ]),
    stem("password", PASSWORD),
    stem("secret", KEY).harmless(&["existing", "password", "pull", "tls", "use", "create", "isa", "no", "top"]),
    stem("passwd", PASSWORD),
    stem("passphrase", PASSWORD),
    stem("requirepass", PASSWORD),
    stem("storepass", PASSWORD),
    stem("keypass", PASSWORD),
    stem("dbpass", PASSWORD),
    stem("userpass", PASSWORD),
    stem("rootpass", PASSWORD),
    stem("adminpass", PASSWORD),
    stem("rootpw", PASSWORD),
    stem("bindpw", PASSWORD),
    stem("adminpw", PASSWORD),
    stem("userpw", PASSWORD),
    stem("pass", PASSWORD).harmless(&[
        "proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached", "render", "sub", "first", "second", "low", "high", "band", "compute", "shadow",
        "by", "com", "sur", "tres",
    ]),
    stem("pwd", PASSWORD),
    stem("pw", PASSWORD),
    stem("masterauth", PASSWORD),
    stem("auth", MAYBE),
    stem("passcode", PASSWORD),
    stem("passwrd", PASSWORD),
    stem("passwort", PASSWORD),
    stem("kennwort", PASSWORD),
    stem("motdepasse", PASSWORD),
    stem("psk", PASSWORD),
    stem("mnemonic", PASSWORD),
    stem("seedphrase", PASSWORD),
    stem("recoveryphrase", PASSWORD),
    stem("secretkeybase", KEY),
    stem("keydata", KEY),
    stem("secretstring", KEY),
    stem("secretvalue", KEY),
    stem("keyb", KEY),
    stem("secretb", KEY),
    stem("code", None).strong(&["recovery", "backup", "unlock"]),
    stem("salt", MAYBE).strong(&["auth", "nonce", "loggedin", "secret"]),
    stem("credentials", MAYBE),
    stem("credential", MAYBE),
    stem("creds", MAYBE),
    stem("cred", MAYBE),
    stem("cookie", MAYBE),
    stem("session", MAYBE),
    stem("sessionid", MAYBE),
    stem("sessid", MAYBE),
    stem("secretid", MAYBE),
    stem("bearer", MAYBE),
    stem("jwt", MAYBE),
    stem("pat", MAYBE),
    stem("pin", MAYBE),
    stem("sid", MAYBE),
    stem("dsn", MAYBE),
    stem("otp", MAYBE),
    stem("totp", MAYBE),
    stem("mfa", MAYBE),
    stem("seed", MAYBE).strong(&["totp", "mfa", "otp", "wallet"]),
];

/// Words that end other words, too, and count only as words of their own.
pub(in crate::ops::redact::find) const SHORT: [&str; 9] =
    ["pass", "pw", "pat", "pin", "sid", "otp", "dsn", "salt", "cred"];

/// First words of names of texts that people are shown, or of choices.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const SHOWN: &[&str] = &[
    "label", "forgot", "lost", "reset", "invalid", "incorrect", "wrong", "missing", "show", "hide", "toggle", "enter", "require", "required",
    "requires", "has", "is", "no", "placeholder", "hint", "title", "error", "message", "msg", "i18n", "prompt", "validate", "check", "verify",
];

/// What stands before the word key in names of what is stored, or of secrets.
pub(in crate::ops::redact::find) const STORED: [&str; 5] = ["storage", "data", "session", "user", "product"];

/// What stands before the word token in sentences about secret ones.
pub(in crate::ops::redact::find) const TOKENS: &[&str] = &[
    "api", "access", "auth", "bearer", "bot", "refresh", "session", "deploy", "security", "service", "user",
    "personal",
];

/// Words in names of what is secret. Case does not matter.
pub(in crate::ops::redact::find) const WORDS: [&str; 9] =
    ["key", "token", "secret", "pass", "pwd", "auth", "cred", "cookie", "mnemonic"];

/// Ends of such names.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const ENDINGS: [&str; 22] = [
    "pat", "pin", "psk", "jwt", "sid", "salt", "session", "rootpw", "bindpw", "pw:", "pw=", "pw ", "seedphrase", "phrase", "sessionid", "sessid", "motdepasse", "dsn", "otp", "kennwort", "seed", "mfa",
];
