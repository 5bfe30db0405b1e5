//! Words that values consist of which are no secrets, and words for a password.

/// What names of types have in them, in lower case.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const TYPES: [&str; 11] =
    ["str", "pass", "secret", "hash", "token", "key", "option", "byte", "text", "field", "input"];

/// Signs of a regular expression.
pub(in crate::ops::redact::find) const PATTERN: [&str; 9] =
    ["(?", "\\d", "\\w", "\\s", "[a-z", "[A-Z", "[0-9", ".*", ".+"];

/// Words with digits that are no passwords.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const TECHNICAL: [&str; 33] = [
    "chacha20", "poly1305", "ed25519", "x25519", "curve25519", "ecdsa-", "base64", "base32", "base58", "sha1", "sha2", "sha3", "sha5", "sha-", "md5",
    "utf8", "utf-8", "utf16", "bcrypt", "argon2", "pbkdf2", "oauth2", "oauth1", "ipv4", "ipv6", "http", "x509", "rs256", "hs256", "es256", "aes-", "aes1",
    "1password",
];

/// What has versions without a dot.
pub(in crate::ops::redact::find) const PRODUCTS: [&str; 12] = [
    "windows", "win", "ubuntu", "debian", "centos", "rhel", "fedora", "android", "macos", "python", "php",
    "java",
];

/// What examples say in the place of a secret, in lower case.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const EXAMPLES: [&str; 24] = [
    "your", "example", "placeholder", "changeme", "change_me", "change-me", "changeit", "replace", "insert", "dummy", "xxxx", "****", "....", "\u{2026}",
    "redacted", "todo", "00000000", "sample", "deadbeef", "abcdefgh", "12345678901234567890", "<your", "fixme", "supersecret",
];

/// Words of which a text of nothing but words is an example, a reference or the name of a secret.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const TELLING: [&str; 34] = [
    "change", "here", "goes", "secret", "secrets", "password", "passwords", "passwd", "token", "tokens", "key", "keys", "credential",
    "credentials", "creds", "value", "production", "fake", "mock", "fixme", "default", "none", "null", "redacted", "hidden", "required",
    "optional", "passwort", "kennwort", "passphrase", "apikey", "test", "testing", "env",
];

/// Whole values that say nothing.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const WORDS: [&str; 100] = [
    "password", "passwd", "passphrase", "secret", "token", "key", "apikey", "api_key", "string", "none", "null", "nil", "true",
    "false", "undefined", "required", "optional", "hidden", "test", "value", "empty", "unset", "default", "bearer", "text", "number",
    "boolean", "object", "pass", "user", "username", "admin", "unknown", "incorrect", "invalid", "missing", "expired", "varchar",
    "hashed", "encrypted", "plaintext", "bcrypt", "integer", "bytes", "confirm", "prompt", "disabled", "enabled", "contraseña",
    "contrasena", "passwort", "kennwort", "wachtwoord", "senha", "hasło", "heslo", "lösenord", "parola", "basic", "digest", "public", "private",
    "postgres", "postgresql", "mysql", "mariadb", "redis", "mongo", "mongodb", "rabbitmq", "guest", "root", "minio", "minioadmin", "elastic", "grafana",
    "neo4j", "couchdb", "oracle", "sa", "foo", "bar", "baz", "foobar", "demo", "dev", "local", "qwerty", "letmein", "mypassword", "mysecret",
    "my-secret-pw", "mysecretpassword", "x-oauth-basic", "x-token-auth", "oauth2accesstoken", "nopass", "notasecret", "temp", "asdf",
];

/// Words that are examples with a number behind them, too.
pub(in crate::ops::redact::find) const WEAK: [&str; 17] = [
    "password",
    "passwd",
    "passw0rd",
    "p@ssw0rd",
    "p@ssword",
    "pass",
    "secret",
    "test",
    "changeme",
    "value",
    "foo",
    "bar",
    "user",
    "key",
    "demo",
    "rootpassword",
    "mypassword",
];

/// What references to a secret that is kept elsewhere begin with, in lower case.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const REFERENCES: [&str; 34] = [
    "vault:", "arn:", "ssm:", "aws:", "gcp:", "az:", "env:", "env.", "file:", "kv:", "sops:", "enc[", "enc:", "keyring:", "keyvault:", "bao:",
    "k8s:", "doppler:", "infisical:", "ref+", "@microsoft.keyvault", "!ref", "!sub", "!getatt", "!vault", "projects/", "secrets.", "secrets/", "secret/", "secret:",
    "process.env", "os.environ", "var.", "local.",
];

/// Other words for a password that people are shown, in lower case.
pub(in crate::ops::redact::find) const LABELS: [&str; 7] =
    ["lozinka", "geslo", "parole", "parool", "slapta\u{17e}odis", "sandi", "laluan"];

/// What sentences say that people are shown beside a field, in lower case.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const TELLS: [&str; 15] = [
    "pass", "kennwort", "contrase", "senha", "парол", "密码", "please", "enter ", "must", "required", "invalid", "the ", "token", "secret", " key",
];

/// Words that say what something is.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const IS: [&str; 20] = [
    "\u{e9}", "\u{e8}", "jest", "\u{e4}r", "er", "is", "was", "be", "ist", "lautet", "war", "es", "est", "era", "equals", "-", "\u{2013}", "\u{2014}", "->", "\u{2192}",
];

/// Words that lead to a value, and to other things.
pub(in crate::ops::redact::find) const LEADS: [&str; 7] = ["to", "are", "as", "now", "auf", "with", "value"];

/// Words for a password that are no part of any name.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const FOREIGN: [&str; 44] = [
    "contrase\u{f1}a", "Contrase\u{f1}a", "clave:", "clave es", "senha", "mot de passe", "parola", "wachtwoord", "l\u{f6}senord", "has\u{142}o",
    "heslo", "kodeord", "adgangskode", "salasana", "jelsz\u{f3}", "\u{15f}ifre", "\u{43f}\u{430}\u{440}\u{43e}\u{43b}", "\u{41f}\u{430}\u{440}\u{43e}\u{43b}", "\u{5bc6}\u{7801}", "\u{5bc6}\u{78bc}", "\u{30d1}\u{30b9}\u{30ef}\u{30fc}\u{30c9}", "\u{be44}\u{bc00}\u{bc88}\u{d638}", "m\u{1ead}t kh\u{1ea9}u", "passwort",
    "clave de", "clave para", "contrasena", "haslo", "losenord", "\u{15e}ifre", "kata sandi", "lozinka", "zugangsdaten", "identifiants", "credenciales", "credenciais", "credenziali",
    "\u{6697}\u{8a3c}\u{756a}\u{53f7}", "\u{53e3}\u{4ee4}", "\u{c554}\u{d638}", "\u{3ba}\u{3c9}\u{3b4}\u{3b9}\u{3ba}", "\u{643}\u{644}\u{645}\u{629} \u{627}\u{644}\u{645}\u{631}\u{648}\u{631}", "\u{5e1}\u{5d9}\u{5e1}\u{5de}",
    "\u{92a}\u{93e}\u{938}\u{935}\u{930}\u{94d}\u{921}",
];

/// What a line begins with that is typed.
pub(in crate::ops::redact::find) const PROMPTS: [&str; 6] = ["$ ", "# ", "% ", "> ", "\u{276f} ", "PS "];

/// Programs that print secrets.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const PROGRAMS: [&str; 24] = [
    "kubectl", "argocd", "vault", "aws", "gh", "az", "gcloud", "op", "pass", "oc", "helm", "heroku", "terraform", "pulumi", "security",
    "secret-tool", "openssl", "bw", "doppler", "fly", "flyctl", "cat", "echo", "printenv",
];
