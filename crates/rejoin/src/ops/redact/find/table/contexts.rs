//! Secrets that are known by what stands around them, one line each, with texts that a test reads: in those
//! of `finds` what stands in ‹ › goes, and those of `leaves` stay.

use crate::ops::redact::find::context::{ContextPattern, HoldFrom, PatternStart, SPACES, ValueKind, context};
use crate::ops::redact::find::letters::{GRAPHIC, WORD};

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
pub(in crate::ops::redact::find) const CONTEXTS: &[ContextPattern] = &[
    // Addresses.
    context("connection-string", &["://"], r#"^[A-Za-z0-9]://[^\s"'`<>/?#\\:@]*:([^\s"'`<>/?#\\]{3,})@"#, ValueKind::Address)
        .from(PatternStart::Letter).shape().hold(HoldFrom::Word)
        .finds(&["postgres://ada:‹s3cr3t-Pa55›@db.local:5432/app", "redis://:‹n4Xq8Lr2›@cache:6379/0"])
        .leaves(&["postgres://postgres:postgres@localhost/db", "amqp://guest:guest@mq:5672", "https://user:password@example.com/", "http://auth:8443/x@y"]),
    context("connection-string", &["://"], r#"^[A-Za-z0-9]://[^\s"'`<>/?#\\:@]*:([^\s"'`<>@]*[/?#\\][^\s"'`<>@]*)@(?:[A-Za-z0-9-]*\.[A-Za-z0-9.-]+|localhost|[A-Za-z0-9.-]{3,}[:/])"#, ValueKind::Address)
        .from(PatternStart::Letter).shape().hold(HoldFrom::Word)
        .finds(&["mysql://ada:‹Or#ch/id9›@10.0.0.7/orders"])
        .leaves(&["http://host:8080/users/@me.example", "https://auth:8443/oauth/token"]),
    context("connection-string", &["://"], r#"^[A-Za-z0-9]://([A-Za-z0-9_-]{20,})(?::[^\s/@"']*)?@[^\s/"']*"#, ValueKind::User)
        .from(PatternStart::Letter).shape().hold(HoldFrom::Word).unless(&[".ingest.", "sentry"])
        .finds(&["origin https://‹7c3e9a1f5b2d8046e3a7c1f9b5d20486a9c3e7f1›@git.local/ada/app.git"])
        .leaves(&["https://7c3e9a1f5b2d8046e3a7c1f9b5d20486@o1.ingest.sentry.io/2"]),
    context("connection-string", &["@tcp(", "@unix("], r"^[^:]*:(\S{3,})@(?:tcp|unix)\(", ValueKind::Given)
        .from(PatternStart::Behind(SPACES)).shape().hold(HoldFrom::Word)
        .finds(&["dsn = \"ada:‹marigold9›@tcp(db:3306)/orders\""]).leaves(&["root:root@tcp(db:3306)/orders"]),
    context("connection-string", &[":thin:"], r#"^:thin:[^/@\s]*/([^\s"'`<]{3,})@"#, ValueKind::Given)
        .shape().hold(HoldFrom::Word).finds(&["jdbc:oracle:thin:ada/‹Orchid99›@//db:1521/ORCL"]).leaves(&["jdbc:oracle:thin:@//db:1521/ORCL", "jdbc:oracle:thin:scott/tiger"]),
    context("connection-string", &[":5432:", ":*:", ":3306:"], r"^[A-Za-z0-9._*-]+:(?:\*|\d+):[A-Za-z0-9._*-]+:[A-Za-z0-9._*-]+:([!-~]{3,})", ValueKind::Given)
        .from(PatternStart::Behind(SPACES)).shape().hold(HoldFrom::Word)
        .finds(&["db.local:5432:orders:ada:‹Orchid99›"]).leaves(&["      - arn:aws:lambda:*:123456789012:function:foo"]),
    context("azure-signature", &["sig=", "signature="], r#"(?i)^[?&;"' -](?:sig|signature)=([A-Za-z0-9_+/=%~-]{40,})"#, ValueKind::Numbered)
        .from(PatternStart::Letter).shape().hold(HoldFrom::Word)
        .finds(&["https://a.blob.core.windows.net/c?sv=2024-11-04&sig=‹n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9zAbC%3D›"]).leaves(&["https://a.blob.core.windows.net/c?sv=2024-11-04&sig=REDACTED", "sig=the-signature-that-the-portal-shows-you-once"]),
    context("address-code", &["?code=", "&code="], "^[?&]code=([A-Za-z0-9_+/=%-]{32,})", ValueKind::Random)
        .shape().hold(HoldFrom::Word).finds(&["https://fn.local/api/run?code=‹n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9z==›"]).leaves(&["https://app.local/callback?code=authorization_code_from_the_server", "/search?code=PT"]),

    // Signed tokens and headers.
    context("jwt", &["eyj"], r"^eyJ[A-Za-z0-9_-]{7,}\.(?:[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+){0,2}|(?:\.[A-Za-z0-9_-]{10,}){3})", ValueKind::Key)
        .from(PatternStart::Word).within(16 << 10).run(WORD).shape().hold(HoldFrom::Word)
        .finds(&["t ‹eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P›"]).leaves(&["eyJhbGciOiJIUzI1NiJ9.short"]),
    context("bearer-token", &["bearer"], r#"(?i)^bearer[ \t+:="'`\\]{1,4}({base64}{16,})"#, ValueKind::Numbered)
        .hold(HoldFrom::Next).finds(&["bearer ‹abcdef1234567890abcdef›"]).leaves(&["Bearer <token>", "the bearer authentication-scheme-of-ours"]),
    context("authorization-header", &["authorization"], authorization!(r"(?:bearer|basic|token|digest|apikey|api-key|key|bot|oauth|negotiate|ntlm|jwt|ssws) +({base64}{8,})"), ValueKind::Token)
        .hold(HoldFrom::Line).finds(&["Authorization: Basic ‹YWRhOk9yY2hpZDk5IQ==›", "'authorization': 'token ‹n4Xq8Lr2Vt6Zw0Bd›'"]).leaves(&["Authorization: Bearer $TOKEN"]),
    context("authorization-header", &["authorization"], authorization!("[A-Za-z0-9-]+ +({base64}{16,})"), ValueKind::Made)
        .hold(HoldFrom::Line).finds(&["Authorization: Klaviyo-API-Key ‹n4Xq8Lr2Vt6Zw0BdK1›"]).leaves(&["Authorization: see the-documentation-of-it"]),
    context("authorization-header", &["authorization"], authorization!(r"(?:([A-Za-z0-9-]*[_+/=.~]{base64}*)(?:[^(]|$)|([A-Za-z0-9-]{8,})(?:[^ (A-Za-z0-9_+/=.~-]|$))"), ValueKind::Made)
        .hold(HoldFrom::Line).entropy(2.5)
        .finds(&["Authorization: ‹7c3e9a1f5b2d8046›"]).leaves(&["headers: { Authorization: getAuthHeader() }", "Authorization: process.env.API_TOKEN_V2"]),
    context("authorization-header", &["authorization"], r#"(?i)^authorization[ \t"'`\\\],|>({-]+(?:bearer|basic|token|digest|apikey|api-key|bot|negotiate|ntlm|ssws) +({base64}{8,})"#, ValueKind::Made)
        .hold(HoldFrom::Line).unless(&["realm"]).finds(&["proxy_set_header Authorization \"Basic ‹YWRhOk9yY2hpZDk5IQ==›\";", ".header(AUTHORIZATION, \"token ‹n4Xq8Lr2Vt6Zw0Bd›\")"]).leaves(&["Authorization \"Basic Authentication\"", "proxy_set_header Authorization \"Bearer $token\";"]),
    context("authorization-header", &["basic "], r"^(?i:basic) +([A-Za-z0-9+/]{10,}={0,2})", ValueKind::Login)
        .from(PatternStart::Word).finds(&["the header was Basic ‹YWRhOk9yY2hpZDk5IQ==› then"]).leaves(&["Basic dXNlcjpwYXNzd29yZA==", "Basic Authentication"]),
    context("cookie", &["\ttrue\t", "\tfalse\t", "\\ttrue\\t", "\\tfalse\\t"], r"^\S+\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t\d+\t[^\t\n]+\t([^\t\r\n]+)", ValueKind::Random)
        .from(PatternStart::Behind(&['\n'])).hold(HoldFrom::Line)
        .finds(&[".orders.local\tTRUE\t/\tTRUE\t1812345678\tsession_token\t‹n4xq8lr2vt6zw0bdk1›"]).leaves(&[".orders.local\tTRUE\t/\tFALSE\t1812345678\ttheme\tdark"]),
    context("cookie", &["cookie:"], r#"(?i)^cookie:[ \t]*[^=;\s"']*(?:sess|sid|auth|token|jwt|login|remember|user|id)[^=;\s"']*=([^;\s"']+)"#, ValueKind::Random)
        .within(4_000).hold(HoldFrom::Line).finds(&["Cookie: sessionid=‹n4xq8lr2vt6zw0bdk1›; theme=dark"]).leaves(&["Cookie: theme=dark; lang=de"]),
    context("cookie", &["cookie:"], r#"(?i);[ \t]*[^=;\s"']*(?:sess|sid|auth|token|jwt|login|remember|user|id)[^=;\s"']*=([^;\s"']+)"#, ValueKind::Random)
        .from(PatternStart::Before(0)).within(4_000).hold(HoldFrom::Line).finds(&["Cookie: theme=dark; sessionid=‹n4xq8lr2vt6zw0bdk1›"]).leaves(&["Cookie: theme=dark; user=ada"]),

    // Addresses that are secrets themselves.
    context("webhook-address", &["hook"],
        r#"(?i)^[^\s:]{0,60}?https?://[^\s"'<>`]*?hook[^\s"'<>`/]*/(?:[a-z0-9_@.-]{1,80}/){0,4}([0-9a-z_-]{16,})(?:[/?#\s"'<>`),;\]|]|\.?(?:\s|$))"#, ValueKind::Opaque)
        .from(PatternStart::Behind(SPACES)).within(400).hold(HoldFrom::Word)
        .unless(&["github.com", "gitlab.com", "/blob/", "/tree/", "/commit", "/docs", "//docs.", "npmjs", "/blog", "/issues/", "readthedocs", "example.com"])
        .finds(&["https://hook.eu1.make.com/‹qk4g2pgaueu9hn1og491l4qnzrv46zn2›", "url = \"https://mm.local/hooks/‹u9t9paml1z1aox1vahzhc1gvtv›\"", "https://n8n.local/webhook/‹7c3e9a1f-5b2d-4046-a3a7-c1f9b5d20486›"])
        .leaves(&["https://api.local/webhooks/how-to-verify-signatures-2024", "https://github.com/a/hooks/blob/7c3e9a1f5b2d8046e3a7c1f9b5d20486a9c3e7f1/a", "https://api.local/hooks/useOAuth2TokenProvider.ts"]),
    context("webhook-address", &["/with/key/"], "^/with/key/([A-Za-z0-9_-]{16,})", ValueKind::Token)
        .shape().hold(HoldFrom::Word).finds(&["https://maker.ifttt.com/trigger/birch/with/key/‹R6EbeCzJKJjmzk1wKvWfbpkL34ssp›"]).leaves(&["https://maker.ifttt.com/trigger/x/with/key/your-webhooks-key-goes-here"]),

    // Seeds of one-time passwords.
    context("totp-seed", &["totp", "2fa", "mfa", "otp", "authenticator", "setup key", "two-factor", "two factor", "2-step", "oathtool", "base32"],
        r"\b([A-Z2-7]{16,64}|[a-z2-7]{16,64}|(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4}|(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4})(?:\b|=)", ValueKind::Seed)
        .from(PatternStart::Before(160)).within(160).hold(HoldFrom::Line)
        .finds(&["pyotp.TOTP(\"‹3YSWB5UPLZG6SM27›\")", "2FA setup key for ada:\n‹in3h vm67 xdmo gyod i6rl o35y pij3 s7ii›\nAccount: x", "‹OLDKHWUPLR4OVA4A3N7NJM3NC3›\n\" WINDOW_SIZE 3\n\" TOTP_AUTH\n"])
        .leaves(&["the mfa code will work when used with 2345 from then", "TOTPAUTHENTICATIONSERVICE of mfa", "totp is at commit 7c3e9a1f5b2d8046e3a7c1f9b5d20486a9c3e7f1"]),

    // Key material.
    context("password-hash", &[":::"], r"(?i)^[^\s:]+:\d+:([0-9a-f]{32}):([0-9a-f]{32}):::", ValueKind::Key)
        .from(PatternStart::Behind(SPACES)).shape().finds(&["ada:500:‹aad3b435b51404eeaad3b435b51404ee›:‹bd8f2284a6b8879836b21d1b64cb06fb›:::"]).leaves(&["note::: a:1:b:c:::"]),
    context("password-hash", &["$krb5", "$dcc2$", "$netntlm"], r"^\$[A-Za-z0-9]+\$([!-~]{40,})", ValueKind::Key)
        .within(8 << 10).run(GRAPHIC).shape().hold(HoldFrom::Word).finds(&["$krb5tgs$‹23$*ada$ORDERS.LOCAL$http/web*$7c3e9a1f5b2d8046e3a7c1f9b5d20486$a9c3e7f1›"]).leaves(&["the hash begins with $krb5tgs$ or $krb5asrep$, as the manual says"]),
    context("private-key", &["\"kty\"", "\\\"kty\\\""], r#""(?:d|p|q|dp|dq|qi|k)"\s*:\s*"([A-Za-z0-9_-]{20,})"#, ValueKind::Key)
        .from(PatternStart::Bracket('{')).within(4_000).shape()
        .finds(&["{\"kty\": \"OKP\", \"d\": \"‹k7Qz3mV9xT2bR8nW5cJ4hL6pY1gF0dSaEuIoKrNtMvX›\"}"]).leaves(&["{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"}"]),
    context("private-key", &["private-lines:"], r"(?i)^private-lines:\s*\d+[ \t\r]*\n((?:[ \t]*[A-Za-z0-9+/=]{2,}[ \t\r]*(?:\n|$))+)", ValueKind::Key)
        .within(64 << 10).shape().hold(HoldFrom::Line)
        .finds(&["Private-Lines: 1\n‹MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj›\nPrivate-MAC: 00"]).leaves(&["Private-Lines: the number of lines that follow\nof the private half"]),
    context("aws-secret-key", &["akia", "asia"], r#"^A[KS]IA[A-Z0-9]{16}[ ,:|\t\n"'/\\]{1,6}([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/]|$)"#, ValueKind::Numbered)
        .from(PatternStart::Word).shape().finds(&["AKIA2E0A8F3B244C9986,‹n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9z›"]).leaves(&["AKIAIOSFODNN7EXAMPLE, wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AKIA is the prefix of a long-term key"]),
    context("kubernetes-secret", &["kind: secret"], r#"(?m)^ {2,}["']?[A-Za-z0-9._-]+["']?: *["']?([A-Za-z0-9+/]{8,}={0,2})["']?[ \r]*$"#, ValueKind::Packed)
        .from(PatternStart::Before(2_000)).within(8 << 10)
        .finds(&["apiVersion: v1\nkind: Secret\ndata:\n  config.yaml: ‹cGFzc3dvcmQ6IE9yY2hpZDk5›\n"]).leaves(&["kind: Secret\nmetadata:\n  name: production\n  namespace: billings\n"]),

    context("kubernetes-secret", &["\"kind\": \"secret\"", "\"kind\":\"secret\""], r#""[A-Za-z0-9._-]+"\s*:\s*"([A-Za-z0-9+/]{8,}={0,2})""#, ValueKind::Packed)
        .from(PatternStart::Before(2_000)).within(8 << 10)
        .finds(&["see {\"data\": {\"x\": \"‹cGFzc3dvcmQ6IE9yY2hpZDk5›\"}, \"kind\": \"Secret\"}"]).leaves(&["see {\"kind\": \"Secret\", \"apiVersion\": \"v1\"}"]),

    // Objects and pages that say that a value is secret.
    context("sensitive-value", &["sensitive\"", "sensitive\\\"", "sensitive\\\\\\\""],
        r#"^[^{}]*"value"\s*:\s*"([^"\\\n]+)"[^{}]*"sensitive"\s*:\s*true|^[^{}]*"sensitive"\s*:\s*true[^{}]*"value"\s*:\s*"([^"\\\n]+)""#, ValueKind::Argument)
        .from(PatternStart::Behind(&['{', '}'])).within(300)
        .finds(&["{\"sensitive\": true, \"type\": \"string\", \"value\": \"‹Orchid99›\"}"]).leaves(&["{\"sensitive\": false, \"type\": \"string\", \"value\": \"eu-west-1\"}", "{\"sensitive\": true, \"type\": \"string\"}"]),
    context("sensitive-value", &["bcrypt_hash", "min_special"], r#""result"\s*:\s*"([^"\\\n]+)""#, ValueKind::Argument).from(PatternStart::Before(1_000))
        .finds(&["see {\"result\": \"‹x8Kd!2mQz›\", \"min_special\": 0}"]).leaves(&["{\"result\": \"${random_string.db.result}\", \"min_special\": 0}"]),
    context("sensitive-value", &["random_password"], r#"result["\\]*\s*[:=]\s*\\*"([^"\\\n]+)"#, ValueKind::Argument).from(PatternStart::Before(400)).within(600)
        .finds(&["resource \"random_password\" \"db\" {\n    length = 32\n    result = \"‹n4Xq8Lr2Vt6Zw0Bd›\"\n}"]).leaves(&["password = random_password.db.result"]),
    context("sensitive-value", &["\"key\": \"value\"", "\"key\":\"value\""], r#"^"key"\s*:\s*"value"\s*,\s*"value"\s*:\s*"([^"\\\n]+)""#, ValueKind::Random)
        .finds(&["x: {\"key\": \"value\", \"value\": \"‹VaqtP5v3AuAiV5pVmW0ek3myzAYn›\"}"]).leaves(&["x: {\"key\": \"value\", \"value\": \"some text\"}"]),
    context("html-password", &["type=\"password\"", "type='password'", "type=password", "type={\"password\"}", "type={'password'}", "passwordinput ", "passwordfield ", "inputpassword ", "input.password "],
        r#"(?i)^<[a-z][a-z0-9.-]*\b(?:[^<>]|=>)*?\b(?:default|initial)?-?value=(?:\{?(?:"([^"\n]+)"|'([^'\n]+)')|([^\s"'<>{]+))"#, ValueKind::Argument)
        .from(PatternStart::Bracket('<')).hold(HoldFrom::Line)
        .finds(&["<input type=\"password\" name=\"p\" value=\"‹Orchid99›\">", "<input value='‹Orchid99›' type='password'/>", "<TextField type=\"password\" onChange={() => x()} defaultValue=\"‹Orchid99›\" />", "<Field defaultValue={'‹Orchid99›'} type=\"password\" />"])
        .leaves(&["<input type=\"password\" name=\"password\" placeholder=\"Your password\">", "<input type=\"password\" value={password} />", "<input type=\"password\" value=\"\"><input type=\"submit\" value=\"Log in now\">"]),

    // Programs and queries.
    context("password-assignment", &["identified by ", "identified with "], r#"(?i)^identified (?:with ["'`]?\w+["'`]? )?(?:by|as) +\\*{text}"#, ValueKind::Argument)
        .hold(HoldFrom::Line).finds(&["ALTER USER ada IDENTIFIED BY '‹Orchid99›';", "CREATE USER a IDENTIFIED WITH mysql_native_password BY '‹Orchid99›'"]).leaves(&["IDENTIFIED BY 'password'"]),
    context("password-assignment", &["identified by "], r#"(?i)^identified by +\\*([^\s;"'`\\]+)"#, ValueKind::Password)
        .after(&["user"]).finds(&["CREATE USER ada IDENTIFIED BY ‹Orchid99›;"]).leaves(&["the feature identified by FEAT_LS64WB"]),
    context("password-assignment", &["insert into"], column!("", ""), ValueKind::Argument).hold(HoldFrom::Line).finds(&["INSERT INTO t (password, id) VALUES ('‹Orchid99›', 1)"]).leaves(&["INSERT INTO t (password, id) VALUES ($1, $2)", "INSERT INTO t (password, id) VALUES ('changeme', 1)"]),
    context("password-assignment", &["insert into"], column!("[^,()]+,", r"(?:\s*'[^']*'|[^,'()]+),"), ValueKind::Argument).hold(HoldFrom::Line)
        .finds(&["INSERT INTO users (name, password) VALUES ('ada', '‹Orchid99›');"]).leaves(&["INSERT INTO users (name, password) VALUES ('ada', 'changeme');", "INSERT INTO users (name, password) VALUES (?, ?)"]),
    context("password-assignment", &["insert into"], column!("(?:[^,()]+,){2}", r"(?:(?:\s*'[^']*'|[^,'()]+),){2}"), ValueKind::Argument).hold(HoldFrom::Line)
        .finds(&["INSERT INTO users (id, name, password) VALUES (1, 'ada', '‹Orchid99›');"]).leaves(&["INSERT INTO users (id, name, password) VALUES (1, 'ada', :password)"]),
    context("password-assignment", &["insert into"], column!("(?:[^,()]+,){3}", r"(?:(?:\s*'[^']*'|[^,'()]+),){3}"), ValueKind::Argument).hold(HoldFrom::Line)
        .finds(&["INSERT INTO users (id, name, mail, password) VALUES (1, 'ada', 'a@b.c', '‹Orchid99›');"]).leaves(&["INSERT INTO users (id, name, mail, password) VALUES (?, ?, ?, ?)"]),
    context("recovery-code", &["recovery code", "backup code"], r"\b([A-Za-z0-9]{4,10}-[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{4,10})*)\b", ValueKind::User)
        .from(PatternStart::Before(0)).within(400).hold(HoldFrom::Line).finds(&["Recovery codes: ‹a1b2c-d3e4f› ‹g5h6i-j7k8l›"]).leaves(&["recovery code of 2024-2025, the read-only one"]),
    context("call-password", &["login(", "connect(", "connection(", "auth=(", "auth = (", "auth(", "authenticate(", "credentials(", "credential(", "signin(", "client(", "authenticator("],
        r#"^[^(\n]{0,16}\([^)\n;]*,\s*{text}\s*(?:\)|$|[\n;])"#, ValueKind::Strong)
        .within(300).finds(&["smtp.login(\"ada\", \"‹Orchid99!›\")"]).leaves(&["client(\"ada\", \"read-only mode\")"]),
    context("call-password", &["'ac", "\"ac"], r#"^["']AC[0-9a-f]{32}["'] ?, ?["']([0-9a-f]{32})["']"#, ValueKind::Numbered)
        .shape().finds(&["require('twilio')('ACb7c3e9a1f5b2d8046e3a7c1f9b5d2048', '‹9f3ba522e5745ef62a5602d1b48ed8e1›')"]).leaves(&["x('ACb7c3e9a1f5b2d8046e3a7c1f9b5d2048', 'main')"]),
    context("call-password", &["client(", "client.new(", "twilio(", "stripe(", "algoliasearch(", "plivo", "vonage", "pusher(", "oauth1(", "oauth1session(", "oauthhandler(", "basicawscredentials(", "awscredentials(", "credentials.create(", "credentials(", "signature(", "session(", "sdk(", "minio("],
        r#"(?i)^[a-z0-9.]+ ?\((?:[^,()\n;]*,){1,3}?\s*["']([A-Za-z0-9+/=_-]{16,})["'](?:\s*,\s*["']([A-Za-z0-9+/=_-]{16,})["'])?(?:\s*,\s*["']([A-Za-z0-9+/=_-]{16,})["'])?"#, ValueKind::Random)
        .within(300).finds(&["Client('AC0abc2954', '‹f73ba522e5745ef62a5602d1b48ed8e7›')", "new BasicAWSCredentials(\"ada\", \"‹n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9z›\")"]).leaves(&["client(\"a\", \"an-ordinary-name-of-it\")", "session(a, b)"]),
    context("call-password", &["jwt.sign(", "jwt.encode(", "jwt.verify(", "jwt.decode(", "fernet(", "hmac.new(", "createhmac("],
        r#"(?i)^[a-z.]+\((?:[^\n;"']*,)?\s*(?:["']sha\w*["'],\s*)?b?["']([^"'\s]{8,})["']"#, ValueKind::Token)
        .within(300).unless(&["'sha", "\"sha"])
        .finds(&["jwt.sign(payload, \"‹n4Xq8Lr2Vt6Zw0Bd›\")"]).leaves(&["jwt.verify(token, publicKey, { algorithms: ['RS256'] })"]),
    context("basic-credentials", &[" as credentials", " as creds", " as login", " as the login", " as the credentials"],
        r#"(?i)[ "'`(][a-z0-9_.@-]{2,}["'`]? *[/:] *["'`]?([^\s"'`]{6,})["'`]? as (?:the )?(?:credentials|creds|login)"#, ValueKind::Password)
        .from(PatternStart::Before(120)).within(24).finds(&["Use ada / ‹eDE?qQ%y7uIs#U› as credentials for it."]).leaves(&["use name / password as credentials"]),
    context("basic-credentials", &["log in with ", "login with ", "sign in with ", "log in as ", "login as ", "sign in as "],
        r#"(?i)^(?:log ?in|sign in) (?:with|as) (?:user )?["'`]?[a-z0-9_.@-]{2,}["'`]? *(?:/|:|and|with|using) *(?:the )?(?:password )?["'`]?([^\s"'`,]{6,})"#, ValueKind::Password)
        .within(120).finds(&["log in with ada / ‹Orchid99x› there", "sign in as ada using ‹Orchid99x›"]).leaves(&["login with GitHub and OAuth2", "log in as ada with your phone"]),
    context("basic-credentials", &[" as the password", " as password", " as my password", " as a password", " as your password", " as passphrase", " as the passphrase"],
        r#"(?i)(?:with|use|using|enter|type|try|set|give|put|send) +["'`]?([^\s"'`]{6,})["'`]? as (?:the |my |a |your )?pass"#, ValueKind::Password)
        .from(PatternStart::Before(120)).within(24).finds(&["ssh in as root with ‹Orchid#99lamp› as the password"]).leaves(&["with OAuth2 as the password grant", "use something as password"]),
    context("basic-credentials", &["]:587", "]:465", "]:25"], r"^\]:\d+[ \t]+[^\s:]+:(\S{4,})", ValueKind::Password)
        .hold(HoldFrom::Line).finds(&["[smtp.local]:587 ada@orders.local:‹lagoonAmber77!›"]).leaves(&["listening on [::1]:2525 now"]),
    context("basic-credentials", &["enable secret", "enable password", "snmp-server community", "key-string", " secret 0 ", " secret 5 ", " secret 9 ", " password 0 ", " password 7 "],
        r"(?i)^ ?(?:enable |snmp-server |key-)?(?:secret|password|community|string)(?: level \d+)?(?: \d)? +(\S{4,})", ValueKind::Password)
        .within(120).hold(HoldFrom::Line).finds(&["enable secret 0 ‹lagoonAmber77›", "snmp-server community ‹lagoonAmber77› RO", "username ada privilege 15 password 7 ‹0822455D0A16544541›"]).leaves(&["enable secret scanning for 2 repositories", "enable password protection"]),
    context("basic-credentials", &["static:"], r"^static:[^\s:]+:(\S{4,})", ValueKind::Password)
        .hold(HoldFrom::Word).finds(&["smtp_sasl_password_maps = static:ada:‹Orchid#99›"]).leaves(&["static:foo:bar"]),
    context("basic-credentials", &["creds ", "creds:", "credentials ", "credentials:", "login ", "login:"],
        r#"(?i)^(?:creds|credentials|login)[ :](?:[^\n]{0,50}?[ "'`(:])?[A-Za-z0-9_.@-]{2,} *[:/] *([^\s"'`,)/:]{8,})"#, ValueKind::Password)
        .within(90).hold(HoldFrom::Nothing).unless(&["http"])
        .finds(&["creds: ada / ‹Orchid99x›", "login ada:‹Orchid99x›"]).leaves(&["login to server01 and open docs/auth.md"]),
];
