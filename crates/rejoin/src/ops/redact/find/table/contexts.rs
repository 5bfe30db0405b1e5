//! Secrets that are known by what stands around them, one line each, with texts that a test reads: in those of `finds` what stands
//! in ‹ › goes, and those of `leaves` stay.

use crate::ops::redact::find::context::{Context, Hold, Kind, SPACES, Start, context};

/// What stands between `Authorization` and what it says, as a header, a member or an argument.
macro_rules! authorization {
    ($rest:literal) => {
        concat!(r#"(?i)^authorization[ \t"'`\\\]]*(?:[:=]|["'`][ \t"'`\\\]]*,)[ \t:="'`\\,\]]*"#, $rest)
    };
}

/// The value of a column with such a name, after so many others.
macro_rules! column {
    ($names:literal, $values:literal) => {
        concat!(
            r"(?i)^insert into [^(\n]{1,80}\(", $names,
            r#"\s*["'`\[]?\w*(?:password|passwd|pwd|secret|token|api_?key)["'`\]]?\s*[,)][^;\n]*?values\s*\("#, $values, r"\s*'([^'\n]+)'"
        )
    };
}

#[rustfmt::skip]
pub(in crate::ops::redact::find) const CONTEXTS: &[Context] = &[
    // Addresses.
    context("connection-string", &["://"], r#"^[A-Za-z0-9]://[^\s"'`<>/?#\\:@]*:([^\s"'`<>/?#\\]{3,})@"#, Kind::Address)
        .from(Start::Letter).shape().hold(Hold::Word)
        .finds(&["postgres://ada:‹s3cr3t-Pa55›@db.local:5432/app", "redis://:‹n4Xq8Lr2›@cache:6379/0"])
        .leaves(&["postgres://postgres:postgres@localhost/db", "amqp://guest:guest@mq:5672", "https://user:password@example.com/", "http://auth:8443/x@y"]),
    context("connection-string", &["://"], r#"^[A-Za-z0-9]://[^\s"'`<>/?#\\:@]*:([^\s"'`<>@]*[/?#\\][^\s"'`<>@]*)@(?:[A-Za-z0-9-]*\.[A-Za-z0-9.-]+|localhost|[A-Za-z0-9.-]{3,}[:/])"#, Kind::Address)
        .from(Start::Letter).shape().hold(Hold::Word)
        .finds(&["mysql://ada:‹Or#ch/id9›@10.0.0.7/orders"])
        .leaves(&["http://host:8080/users/@me.example", "https://auth:8443/oauth/token"]),
    context("connection-string", &["://"], r#"^[A-Za-z0-9]://([A-Za-z0-9_-]{20,})(?::[^\s/@"']*)?@[^\s/"']*"#, Kind::User)
        .from(Start::Letter).shape().hold(Hold::Word).unless(&[".ingest.", "sentry"])
        .finds(&["origin https://‹7c3e9a1f5b2d8046e3a7c1f9b5d20486a9c3e7f1›@git.local/ada/app.git"])
        .leaves(&["https://7c3e9a1f5b2d8046e3a7c1f9b5d20486@o1.ingest.sentry.io/2"]),
    context("connection-string", &["@tcp(", "@unix("], r"^[^:]*:(\S{3,})@(?:tcp|unix)\(", Kind::Given)
        .from(Start::Behind(SPACES)).shape().hold(Hold::Word)
        .finds(&["dsn = \"ada:‹marigold9›@tcp(db:3306)/orders\""]).leaves(&["root:root@tcp(db:3306)/orders"]),
    context("connection-string", &[":thin:"], r#"^:thin:[^/@\s]*/([^\s"'`<]{3,})@"#, Kind::Given)
        .shape().hold(Hold::Word).finds(&["jdbc:oracle:thin:ada/‹Orchid99›@//db:1521/ORCL"]),
    context("connection-string", &[":5432:", ":*:", ":3306:"], r"^[A-Za-z0-9._*-]+:(?:\*|\d+):[A-Za-z0-9._*-]+:[A-Za-z0-9._*-]+:([!-~]{3,})", Kind::Given)
        .from(Start::Behind(SPACES)).shape().hold(Hold::Word)
        .finds(&["db.local:5432:orders:ada:‹Orchid99›"]).leaves(&["      - arn:aws:lambda:*:123456789012:function:foo"]),
    context("azure-signature", &["sig=", "signature="], r#"(?i)^[?&;"' -](?:sig|signature)=([A-Za-z0-9_+/=%~-]{40,})"#, Kind::Numbered)
        .from(Start::Letter).shape().hold(Hold::Word)
        .finds(&["https://a.blob.core.windows.net/c?sv=2024-11-04&sig=‹n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9zAbC%3D›"]),
    context("address-code", &["?code=", "&code="], "^[?&]code=([A-Za-z0-9_+/=%-]{32,})", Kind::Random)
        .shape().hold(Hold::Word).finds(&["https://fn.local/api/run?code=‹n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9z==›"]),

    // Signed tokens and headers.
    context("jwt", &["eyj"], r"^eyJ[A-Za-z0-9_-]{7,}\.(?:[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+){0,2}|(?:\.[A-Za-z0-9_-]{10,}){3})", Kind::Key)
        .from(Start::Word).within(16 << 10).shape().hold(Hold::Word)
        .finds(&["t ‹eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P›"]).leaves(&["eyJhbGciOiJIUzI1NiJ9.short"]),
    context("bearer-token", &["bearer"], r#"(?i)^bearer[ \t+:="'`\\]{1,4}({base64}{16,})"#, Kind::Numbered)
        .hold(Hold::Next).finds(&["bearer ‹abcdef1234567890abcdef›"]).leaves(&["Bearer <token>", "the bearer authentication-scheme-of-ours"]),
    context("authorization-header", &["authorization"], authorization!(r"(?:bearer|basic|token|digest|apikey|api-key|key|bot|oauth|negotiate|ntlm|jwt|ssws) +({base64}{8,})"), Kind::Token)
        .hold(Hold::Line).finds(&["Authorization: Basic ‹YWRhOk9yY2hpZDk5IQ==›", "'authorization': 'token ‹n4Xq8Lr2Vt6Zw0Bd›'"]).leaves(&["Authorization: Bearer $TOKEN"]),
    context("authorization-header", &["authorization"], authorization!("[A-Za-z0-9-]+ +({base64}{16,})"), Kind::Made)
        .hold(Hold::Line).finds(&["Authorization: Klaviyo-API-Key ‹n4Xq8Lr2Vt6Zw0BdK1›"]).leaves(&["Authorization: see the-documentation-of-it"]),
    context("authorization-header", &["authorization"], authorization!(r"(?:([A-Za-z0-9-]*[_+/=.~]{base64}*)(?:[^(]|$)|([A-Za-z0-9-]{8,})(?:[^ (A-Za-z0-9_+/=.~-]|$))"), Kind::Made)
        .hold(Hold::Line).entropy(2.5)
        .finds(&["Authorization: ‹7c3e9a1f5b2d8046›"]).leaves(&["headers: { Authorization: getAuthHeader() }", "Authorization: process.env.API_TOKEN_V2"]),
    context("cookie", &["cookie:"], r#"(?i)(?:^cookie:|;)[ \t]*[^=;\s"']*(?:sess|sid|auth|token|jwt|login|remember|user|id)[^=;\s"']*=([^;\s"']+)"#, Kind::Random)
        .within(4_000).hold(Hold::Line).finds(&["Cookie: theme=dark; sessionid=‹n4xq8lr2vt6zw0bdk1›"]).leaves(&["Cookie: theme=dark; lang=de"]),

    // Key material.
    context("private-key", &["\"kty\"", "\\\"kty\\\""], r#""(?:d|p|q|dp|dq|qi|k)"\s*:\s*"([A-Za-z0-9_-]{20,})"#, Kind::Key)
        .from(Start::Bracket('{')).within(4_000).shape()
        .finds(&["{\"kty\": \"OKP\", \"d\": \"‹k7Qz3mV9xT2bR8nW5cJ4hL6pY1gF0dSaEuIoKrNtMvX›\"}"]),
    context("private-key", &["private-lines:"], r"(?i)^private-lines:\s*\d+[ \t\r]*\n((?:[ \t]*[A-Za-z0-9+/=]{2,}[ \t\r]*(?:\n|$))+)", Kind::Key)
        .within(64 << 10).shape().hold(Hold::Line)
        .finds(&["Private-Lines: 1\n‹MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj›\nPrivate-MAC: 00"]),
    context("aws-secret-key", &["akia", "asia"], r#"^A[KS]IA[A-Z0-9]{16}[ ,:|\t\n"'/\\]{1,6}([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/]|$)"#, Kind::Numbered)
        .from(Start::Word).shape().finds(&["AKIA2E0A8F3B244C9986,‹n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9z›"]),
    context("kubernetes-secret", &["kind: secret"], r#"(?m)^ {2,}["']?[A-Za-z0-9._-]+["']?: *["']?([A-Za-z0-9+/]{8,}={0,2})["']?[ \r]*$"#, Kind::Packed)
        .from(Start::Before(2_000)).within(8 << 10)
        .finds(&["apiVersion: v1\nkind: Secret\ndata:\n  config.yaml: ‹cGFzc3dvcmQ6IE9yY2hpZDk5›\n"]).leaves(&["kind: Secret\nmetadata:\n  name: production\n  namespace: billings\n"]),

    context("kubernetes-secret", &["\"kind\": \"secret\"", "\"kind\":\"secret\""], r#""[A-Za-z0-9._-]+"\s*:\s*"([A-Za-z0-9+/]{8,}={0,2})""#, Kind::Packed)
        .from(Start::Before(2_000)).within(8 << 10)
        .finds(&["see {\"data\": {\"x\": \"‹cGFzc3dvcmQ6IE9yY2hpZDk5›\"}, \"kind\": \"Secret\"}"]).leaves(&["see {\"kind\": \"Secret\", \"apiVersion\": \"v1\"}"]),

    // Objects and pages that say that a value is secret.
    context("sensitive-value", &["sensitive\"", "sensitive\\\"", "sensitive\\\\\\\""],
        r#"^[^{}]*"value"\s*:\s*"([^"\\\n]+)"[^{}]*"sensitive"\s*:\s*true|^[^{}]*"sensitive"\s*:\s*true[^{}]*"value"\s*:\s*"([^"\\\n]+)""#, Kind::Argument)
        .from(Start::Behind(&['{', '}'])).within(300)
        .finds(&["{\"sensitive\": true, \"type\": \"string\", \"value\": \"‹Orchid99›\"}"]),
    context("sensitive-value", &["bcrypt_hash", "min_special"], r#""result"\s*:\s*"([^"\\\n]+)""#, Kind::Argument).from(Start::Before(1_000))
        .finds(&["see {\"result\": \"‹x8Kd!2mQz›\", \"min_special\": 0}"]),
    context("html-password", &["type=\"password\"", "type='password'", "type=password"], r#"(?i)^<input\b[^<>]*\bvalue=(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'<>{]+))"#, Kind::Argument)
        .from(Start::Bracket('<')).hold(Hold::Line)
        .finds(&["<input type=\"password\" name=\"p\" value=\"‹Orchid99›\">", "<input value='‹Orchid99›' type='password'/>"])
        .leaves(&["<input type=\"password\" name=\"password\" placeholder=\"Your password\">", "<input type=\"password\" value={password} />", "<input type=\"password\" value=\"\"><input type=\"submit\" value=\"Log in now\">"]),

    // Programs and queries.
    context("password-assignment", &["identified by ", "identified with "], r#"(?i)^identified (?:with ["'`]?\w+["'`]? )?(?:by|as) +\\*{text}"#, Kind::Argument)
        .hold(Hold::Line).finds(&["ALTER USER ada IDENTIFIED BY '‹Orchid99›';", "CREATE USER a IDENTIFIED WITH mysql_native_password BY '‹Orchid99›'"]).leaves(&["IDENTIFIED BY 'password'"]),
    context("password-assignment", &["identified by "], r#"(?i)^identified by +\\*([^\s;"'`\\]+)"#, Kind::Password)
        .after("user").finds(&["CREATE USER ada IDENTIFIED BY ‹Orchid99›;"]).leaves(&["the feature identified by FEAT_LS64WB"]),
    context("password-assignment", &["insert into"], column!("", ""), Kind::Argument).hold(Hold::Line).finds(&["INSERT INTO t (password, id) VALUES ('‹Orchid99›', 1)"]),
    context("password-assignment", &["insert into"], column!("[^,()]+,", r"(?:\s*'[^']*'|[^,'()]+),"), Kind::Argument).hold(Hold::Line)
        .finds(&["INSERT INTO users (name, password) VALUES ('ada', '‹Orchid99›');"]).leaves(&["INSERT INTO users (name, password) VALUES ('ada', 'changeme');", "INSERT INTO users (name, password) VALUES (?, ?)"]),
    context("password-assignment", &["insert into"], column!("(?:[^,()]+,){2}", r"(?:(?:\s*'[^']*'|[^,'()]+),){2}"), Kind::Argument).hold(Hold::Line)
        .finds(&["INSERT INTO users (id, name, password) VALUES (1, 'ada', '‹Orchid99›');"]),
    context("password-assignment", &["insert into"], column!("(?:[^,()]+,){3}", r"(?:(?:\s*'[^']*'|[^,'()]+),){3}"), Kind::Argument).hold(Hold::Line)
        .finds(&["INSERT INTO users (id, name, mail, password) VALUES (1, 'ada', 'a@b.c', '‹Orchid99›');"]),
    context("recovery-code", &["recovery code", "backup code"], r"\b([A-Za-z0-9]{4,10}-[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{4,10})*)\b", Kind::User)
        .within(400).hold(Hold::Line).finds(&["Recovery codes: ‹a1b2c-d3e4f› ‹g5h6i-j7k8l›"]).leaves(&["recovery code of 2024-2025, the read-only one"]),
    context("call-password", &["login(", "connect(", "connection(", "auth=(", "auth = (", "auth(", "authenticate(", "credentials(", "credential(", "signin(", "client(", "authenticator("],
        r#"^[^(\n]{0,16}\([^)\n;]*,\s*{text}\s*(?:\)|$|[\n;])"#, Kind::Strong)
        .within(300).finds(&["smtp.login(\"ada\", \"‹Orchid99!›\")"]).leaves(&["client(\"ada\", \"read-only mode\")"]),
    context("call-password", &["jwt.sign(", "jwt.encode(", "jwt.verify(", "jwt.decode(", "fernet(", "hmac.new(", "createhmac("],
        r#"(?i)^[a-z.]+\((?:[^\n;"']*,)?\s*(?:["']sha\w*["'],\s*)?b?["']([^"'\s]{8,})["']"#, Kind::Token)
        .within(300).unless(&["'sha", "\"sha"])
        .finds(&["jwt.sign(payload, \"‹n4Xq8Lr2Vt6Zw0Bd›\")"]).leaves(&["jwt.verify(token, publicKey, { algorithms: ['RS256'] })"]),
    context("basic-credentials", &["creds ", "creds:", "credentials ", "credentials:", "login ", "login:"],
        r#"(?i)^(?:creds|credentials|login)[ :](?:[^\n]{0,50}?[ "'`(:])?[A-Za-z0-9_.@-]{2,} *[:/] *([^\s"'`,)/:]{8,})"#, Kind::Password)
        .within(90).hold(Hold::Nothing).unless(&["http"])
        .finds(&["creds: ada / ‹Orchid99x›", "login ada:‹Orchid99x›"]).leaves(&["login to server01 and open docs/auth.md"]),
];
