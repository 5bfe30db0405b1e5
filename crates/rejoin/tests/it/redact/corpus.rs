//! Texts with secrets and texts without, made of the vendors' formats with random bodies.
//!
//! It was written after the rules, from what the vendors document and from how people and programs write such
//! things down. What is found in it and what is not is a figure, not a reason to change it.

use super::dice::{ALNUM, BASE32, BASE64, DIGITS, Dice, HEX, LOWER, UPPER, WORD};

/// A secret, and how it is usually named.
#[derive(Clone, Debug)]
pub(super) struct Secret {
    pub(super) kind: &'static str,
    /// The name of the variable that holds it.
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) told_by: ToldBy,
}

/// What tells that it is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToldBy {
    /// Its own letters.
    Itself,
    /// Only its name.
    Name,
}

/// One secret of every kind.
pub(super) fn secrets(dice: &mut Dice) -> Vec<Secret> {
    let mut all = Vec::new();
    let mut add = |kind, name, told_by, value| all.push(Secret { kind, name, value, told_by });
    let own = ToldBy::Itself;
    add("anthropic", "ANTHROPIC_API_KEY", own, format!("sk-ant-api03-{}AA", dice.letters(WORD, 93)));
    add(
        "anthropic-oauth",
        "CLAUDE_CODE_OAUTH_TOKEN",
        own,
        format!("sk-ant-oat01-{}AA", dice.letters(WORD, 93)),
    );
    add(
        "openai-legacy",
        "OPENAI_API_KEY",
        own,
        format!("sk-{}T3BlbkFJ{}", dice.letters(ALNUM, 20), dice.letters(ALNUM, 20)),
    );
    add(
        "openai-project",
        "OPENAI_API_KEY",
        own,
        format!("sk-proj-{}T3BlbkFJ{}", dice.letters(WORD, 74), dice.letters(WORD, 74)),
    );
    add(
        "openai-service",
        "OPENAI_KEY",
        own,
        format!("sk-svcacct-{}T3BlbkFJ{}", dice.letters(WORD, 58), dice.letters(WORD, 58)),
    );
    add("openrouter", "OPENROUTER_API_KEY", own, format!("sk-or-v1-{}", dice.letters(HEX, 64)));
    add("deepseek", "DEEPSEEK_API_KEY", own, format!("sk-{}", dice.letters(HEX, 32)));
    add("groq", "GROQ_API_KEY", own, format!("gsk_{}", dice.letters(ALNUM, 52)));
    add("xai", "XAI_API_KEY", own, format!("xai-{}", dice.letters(ALNUM, 80)));
    add("replicate", "REPLICATE_API_TOKEN", own, format!("r8_{}", dice.letters(ALNUM, 37)));
    add("huggingface", "HF_TOKEN", own, format!("hf_{}", dice.letters(&format!("{LOWER}{UPPER}"), 34)));
    add("github-classic", "GITHUB_TOKEN", own, format!("ghp_{}", dice.letters(ALNUM, 36)));
    add(
        "github-fine",
        "GH_TOKEN",
        own,
        format!("github_pat_{}_{}", dice.letters(ALNUM, 22), dice.letters(ALNUM, 59)),
    );
    add("github-app", "GITHUB_TOKEN", own, format!("ghs_{}", dice.letters(ALNUM, 36)));
    add("gitlab", "GITLAB_TOKEN", own, format!("glpat-{}", dice.letters(WORD, 20)));
    add("aws-id", "AWS_ACCESS_KEY_ID", own, format!("AKIA{}", dice.letters(BASE32, 16)));
    add("aws-secret", "AWS_SECRET_ACCESS_KEY", ToldBy::Name, dice.letters(BASE64, 40));
    add("google", "GOOGLE_API_KEY", own, format!("AIza{}", dice.letters(WORD, 35)));
    add("google-oauth-secret", "GOOGLE_CLIENT_SECRET", own, format!("GOCSPX-{}", dice.letters(WORD, 28)));
    add(
        "slack-bot",
        "SLACK_BOT_TOKEN",
        own,
        format!("xoxb-{}-{}-{}", dice.letters(DIGITS, 12), dice.letters(DIGITS, 13), dice.letters(ALNUM, 24)),
    );
    add(
        "slack-webhook",
        "SLACK_WEBHOOK_URL",
        own,
        format!(
            "https://hooks.slack.com/services/T{}/B{}/{}",
            dice.letters(&format!("{UPPER}{DIGITS}"), 9),
            dice.letters(&format!("{UPPER}{DIGITS}"), 10),
            dice.letters(ALNUM, 24)
        ),
    );
    add("stripe-live", "STRIPE_SECRET_KEY", own, format!("sk_live_{}", dice.letters(ALNUM, 24)));
    add("stripe-webhook", "STRIPE_WEBHOOK_SECRET", own, format!("whsec_{}", dice.letters(ALNUM, 32)));
    add("npm", "NPM_TOKEN", own, format!("npm_{}", dice.letters(ALNUM, 36)));
    add("pypi", "PYPI_TOKEN", own, format!("pypi-AgEIcHlwaS5vcmc{}", dice.letters(WORD, 150)));
    add(
        "sendgrid",
        "SENDGRID_API_KEY",
        own,
        format!("SG.{}.{}", dice.letters(WORD, 22), dice.letters(WORD, 43)),
    );
    add("twilio-key", "TWILIO_API_KEY", own, format!("SK{}", dice.letters(HEX, 32)));
    add("twilio-token", "TWILIO_AUTH_TOKEN", ToldBy::Name, dice.letters(HEX, 32));
    add(
        "azure-storage",
        "AZURE_STORAGE_ACCOUNT_KEY",
        ToldBy::Name,
        format!("{}==", dice.letters(BASE64, 86)),
    );
    add(
        "azure-client",
        "AZURE_CLIENT_SECRET",
        own,
        format!(
            "{}8Q~{}",
            dice.letters(ALNUM, 3),
            dice.letters(&format!("{ALNUM}_~.-"), 31) + &dice.letters(ALNUM, 3)
        ),
    );
    add("digitalocean", "DIGITALOCEAN_TOKEN", own, format!("dop_v1_{}", dice.letters(HEX, 64)));
    add("databricks", "DATABRICKS_TOKEN", own, format!("dapi{}", dice.letters(HEX, 32)));
    add("vault", "VAULT_TOKEN", own, format!("hvs.{}", dice.letters(WORD, 90)));
    add("linear", "LINEAR_API_KEY", own, format!("lin_api_{}", dice.letters(ALNUM, 40)));
    add(
        "notion",
        "NOTION_TOKEN",
        own,
        format!("ntn_{}{}", dice.letters(DIGITS, 11), dice.letters(ALNUM, 35)),
    );
    add("shopify", "SHOPIFY_ACCESS_TOKEN", own, format!("shpat_{}", dice.letters(HEX, 32)));
    add(
        "telegram",
        "TELEGRAM_BOT_TOKEN",
        own,
        format!("{}:AA{}", dice.letters(DIGITS, 10), dice.letters(WORD, 33)),
    );
    add(
        "jwt",
        "SESSION_JWT",
        own,
        format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{}.{}", dice.letters(ALNUM, 40), dice.letters(WORD, 43)),
    );
    add("datadog", "DD_API_KEY", ToldBy::Name, dice.letters(HEX, 32));
    add("cloudflare", "CLOUDFLARE_API_TOKEN", ToldBy::Name, dice.letters(WORD, 40));
    add("mistral", "MISTRAL_API_KEY", ToldBy::Name, dice.letters(ALNUM, 32));
    add("heroku", "HEROKU_API_KEY", ToldBy::Name, dice.uuid());
    add(
        "django",
        "DJANGO_SECRET_KEY",
        ToldBy::Name,
        format!("{}7a", dice.letters("abcdefghijklmnopqrstuvwxyz0123456789@#%^*(-_=+)", 48)),
    );
    add(
        "password",
        "DB_PASSWORD",
        ToldBy::Name,
        format!(
            "{}{}!{}",
            dice.pick(&["Tr0ub4dor", "w1nter", "Lisboa", "h0rse"]),
            dice.letters(DIGITS, 2),
            dice.letters(ALNUM, 4)
        ),
    );
    add(
        "passphrase",
        "BACKUP_PASSPHRASE",
        ToldBy::Name,
        format!(
            "{}-{}-{}{}",
            dice.letters(LOWER, 6),
            dice.letters(LOWER, 5),
            dice.letters(LOWER, 7),
            dice.below(100)
        ),
    );
    add("session-secret", "SESSION_SECRET", ToldBy::Name, dice.letters(ALNUM, 48));
    all
}

/// Every way in which a secret is written down, by name.
pub(super) fn texts(secret: &Secret) -> Vec<(&'static str, String)> {
    let Secret { name, value, .. } = secret;
    let lower = name.to_lowercase();
    let mut texts = vec![
        ("env", format!("# settings\n{name}={value}\nDEBUG=1\n")),
        ("export", format!("export {name}=\"{value}\" && make deploy")),
        ("inline-shell", format!("{name}={value} ./run.sh --verbose")),
        ("json", format!("{{\"{lower}\": \"{value}\", \"debug\": true}}")),
        ("json-in-json", serde_json::json!({ "output": serde_json::json!({ &lower: value }).to_string() }).to_string()),
        ("json-thrice", serde_json::json!({ "a": serde_json::json!({ "b": serde_json::json!({ &lower: value }).to_string() }).to_string() }).to_string()),
        ("yaml", format!("service:\n  {lower}: {value}\n  port: 8080\n")),
        ("yaml-quoted", format!("env:\n  - name: {name}\n    value: '{value}'\n")),
        ("toml", format!("[secrets]\n{lower} = \"{value}\"\n")),
        ("python", format!("import os\nos.environ[\"{name}\"] = \"{value}\"\nmain()")),
        ("javascript", format!("const config = {{ {lower}: '{value}', retries: 3 }};")),
        ("rust", format!("let {lower}: &str = \"{value}\";")),
        ("markdown", format!("Set it like this:\n\n```sh\nexport {name}={value}\n```\n\nThen restart.")),
        ("diff", format!("@@ -1,2 +1,2 @@\n-{name}=old\n+{name}={value}\n")),
        ("numbered", format!("     1\t{name}={value}\n     2\tPORT=1\n")),
        ("docker", format!("docker run -e {name}={value} -p 80:80 app")),
        ("crlf", format!("A=1\r\n{name}={value}\r\nB=2\r\n")),
        ("escaped-lines", format!("A=1\\n{name}={value}\\nB=2\\n")),
    ];
    if secret.told_by == ToldBy::Itself {
        let numbers: String = value.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();
        texts.extend([
            ("prose", format!("My key is {value}, please don't share it.")),
            ("sentence-end", format!("It says: {value}.")),
            ("backticks", format!("I used `{value}` and it failed")),
            ("quoted", format!("login(\"{value}\")")),
            ("single-quoted", format!("Client('{value}', timeout=3)")),
            ("bearer", format!("curl -H \"Authorization: Bearer {value}\" https://api.local/v1")),
            ("header", format!("x-api-key: {value}\r\naccept: */*")),
            ("url-query", format!("GET https://api.local/v1?key={value}&page=2")),
            (
                "url-user",
                format!("git clone https://oauth2:{}@git.local/a/b.git", value.replace("https://", "")),
            ),
            ("xml", format!("<add key=\"k\" value=\"{value}\" />")),
            ("log", format!("2026-11-15T10:00:00Z ERROR invalid key: {value} (401)")),
            ("csv", format!("id,token,owner\n7,{value},ada\n")),
            ("numbers", format!("{{\"t\": \"{numbers}\"}}")),
            ("coloured", format!("\u{1b}[31m{value}\u{1b}[0m")),
            ("parentheses", format!("(see {value})")),
        ]);
    }
    texts
}

/// Secrets that bring their own surroundings: the text, and what must not be left of it.
pub(super) fn shapes(dice: &mut Dice) -> Vec<(&'static str, String, String)> {
    let mut all = Vec::new();
    for label in [
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let lines: Vec<String> = (0..12).map(|_| dice.letters(BASE64, 64)).collect();
        let key = format!("-----BEGIN {label}-----\n{}\n-----END {label}-----", lines.join("\n"));
        all.push(("key", format!("here:\n{key}\nthanks"), lines[3].clone()));
        all.push(("key-json", serde_json::json!({ "private_key": key }).to_string(), lines[3].clone()));
        all.push((
            "key-nested",
            serde_json::json!({ "o": serde_json::json!({ "k": key }).to_string() }).to_string(),
            lines[5].clone(),
        ));
        all.push(("key-indented", key.replace('\n', "\n    "), lines[7].clone()));
        all.push(("key-env", format!("KEY=\"{}\"", key.replace('\n', "\\n")), lines[1].clone()));
        all.push(("key-torn", key[..key.len() - 60].to_owned(), lines[2].clone()));
        all.push(("key-quoted", key.replace('\n', "\n> "), lines[9].clone()));
        all.push((
            "key-lines",
            serde_json::json!({ "lines": key.lines().collect::<Vec<_>>() }).to_string(),
            lines[4].clone(),
        ));
    }
    for scheme in
        ["postgres", "postgresql", "mysql", "mongodb", "mongodb+srv", "redis", "amqp", "https", "ftp", "smtp"]
    {
        for shape in 0..3 {
            let letters = [ALNUM, WORD, "abcdefghijkmnpqrstuvwxyz23456789!$*"][shape];
            let password = format!("q{}7", dice.letters(letters, 14));
            let url = format!(
                "{scheme}://svc_app:{password}@db-{}.internal:5432/app?ssl=true",
                dice.letters(LOWER, 4)
            );
            all.push(("url", format!("connect to {url} now"), password.clone()));
            all.push(("url-env", format!("DATABASE_URL={url}"), password.clone()));
            all.push(("url-json", serde_json::json!({ "dsn": url }).to_string(), password));
        }
    }
    for _ in 0..5 {
        let password = format!("{}#{}", dice.letters(ALNUM, 8), dice.letters(DIGITS, 3));
        all.push((
            "ado",
            format!("Server=db;Database=app;User Id=sa;Password={password};Encrypt=true"),
            password.clone(),
        ));
        all.push(("flag", format!("psql --username ada --password {password} app"), password.clone()));
        all.push((
            "flag-equals",
            format!("mysqldump --password={password} app > dump.sql"),
            password.clone(),
        ));
        all.push(("curl", format!("curl -u ada:{password} https://api.local"), password.clone()));
        all.push((
            "netrc",
            format!("machine api.local\n  login ada\n  password {password}\n"),
            password.clone(),
        ));
        all.push((
            "xml-element",
            format!("<user>ada</user><password>{password}</password>"),
            password.clone(),
        ));
        all.push(("properties", format!("spring.datasource.password={password}\n"), password.clone()));
        let basic = dice.letters(ALNUM, 24);
        all.push(("basic", format!("Authorization: Basic {basic}=="), basic));
        let token = dice.letters(ALNUM, 40);
        all.push(("bearer", format!("-H 'authorization: bearer {token}'"), token));
        let session = dice.letters(HEX, 40);
        all.push(("npmrc", format!("//registry.local/:_authToken={session}"), session));
        let (id, secret) = (dice.letters(BASE32, 16), dice.letters(BASE64, 40));
        all.push((
            "aws-csv",
            format!("Access key ID,Secret access key\nAKIA{id},{secret}\n"),
            secret.clone(),
        ));
        all.push((
            "aws-ini",
            format!("[default]\naws_access_key_id = AKIA{id}\naws_secret_access_key = {secret}\n"),
            secret.clone(),
        ));
        all.push((
            "aws-cli",
            format!("{{\"AccessKeyId\": \"ASIA{id}\", \"SecretAccessKey\": \"{secret}\"}}"),
            secret,
        ));
        let sas = dice.letters(ALNUM, 43);
        all.push((
            "azure-sas",
            format!("https://a.blob.core.windows.net/c?sv=2024-11-04&se=2026-01-01&sig={sas}%3D"),
            sas,
        ));
    }
    all
}

/// Texts without a secret that look as if they had one.
pub(super) fn harmless(dice: &mut Dice) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for _ in 0..20 {
        let sha = dice.letters(HEX, 40);
        let digest = dice.letters(HEX, 64);
        all.push(("git", format!("commit {sha}\nAuthor: Ada\n\n    keys: sort them by token\n")));
        all.push(("git-range", format!("{}..{} main -> main", &sha[..7], &digest[..7])));
        all.push(("uuid", format!("{{\"id\":\"{}\",\"key\":\"{}\"}}", dice.uuid(), dice.uuid())));
        all.push((
            "image",
            format!("{{\"type\":\"image\",\"data\":\"iVBORw0KGgo{}\"}}", dice.letters(BASE64, 3_000)),
        ));
        all.push((
            "data-url",
            format!("![x](data:image/png;base64,iVBORw0KGgo{}=)", dice.letters(BASE64, 500)),
        ));
        all.push(("checksum", format!("{digest}  rejoin-0.1.0.tar.gz")));
        all.push(("npm-lock", format!("      \"resolved\": \"https://registry.npmjs.org/tokenize/-/tokenize-1.2.0.tgz\",\n      \"integrity\": \"sha512-{}==\",", dice.letters(BASE64, 86))));
        all.push((
            "cargo-lock",
            format!("name = \"secrecy\"\nversion = \"0.10.3\"\nchecksum = \"{digest}\"\n"),
        ));
        all.push(("go-sum", format!("golang.org/x/oauth2 v0.21.0 h1:{}=", dice.letters(BASE64, 43))));
        all.push(("docker-digest", format!("FROM alpine@sha256:{digest}")));
        all.push((
            "hex-dump",
            format!(
                "00000010  {}  |................|",
                (0..16).map(|_| dice.letters(HEX, 2)).collect::<Vec<_>>().join(" ")
            ),
        ));
        all.push(("etag", format!("etag: \"{}\"\nx-request-id: {}", dice.letters(HEX, 32), dice.uuid())));
        all.push((
            "call-id",
            format!(
                "{{\"id\":\"toolu_01{}\",\"call_id\":\"call_{}\"}}",
                dice.letters(ALNUM, 22),
                dice.letters(ALNUM, 24)
            ),
        ));
        all.push((
            "message-id",
            format!(
                "msg_01{} req_{} resp_{}",
                dice.letters(ALNUM, 22),
                dice.letters(ALNUM, 22),
                dice.letters(HEX, 48)
            ),
        ));
        all.push((
            "signature",
            format!(
                "{{\"type\":\"thinking\",\"text\":\"hm\",\"signature\":\"Eq{}==\"}}",
                dice.letters(BASE64, 700)
            ),
        ));
        all.push((
            "usage",
            format!(
                "{{\"input_tokens\":{},\"max_tokens\":{},\"cache_key\":\"{digest}\"}}",
                dice.below(9_999),
                dice.below(9_999)
            ),
        ));
        all.push((
            "page-token",
            format!("{{\"nextPageToken\":\"{}\",\"items\":[]}}", dice.letters(ALNUM, 30)),
        ));
        all.push((
            "identifier",
            format!(
                "AbstractSingletonProxyFactoryBean{}KeyTokenProvider.java:{}",
                dice.letters(UPPER, 3),
                dice.below(900)
            ),
        ));
        all.push((
            "path",
            format!("/home/ada/projects/keys/token-{}/src/secret_store.rs", dice.letters(LOWER, 6)),
        ));
        all.push((
            "url",
            format!("https://example.org/a/{}?page={}#token", dice.letters(WORD, 30), dice.below(50)),
        ));
        all.push((
            "ssh-public",
            format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} ada@host", dice.letters(BASE64, 43)),
        ));
        all.push((
            "certificate",
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----", dice.letters(BASE64, 64)),
        ));
        all.push(("fingerprint", format!("SHA256:{} ada (ED25519)", dice.letters(BASE64, 43))));
        all.push(("stripe-public", format!("pk_live_{}", dice.letters(ALNUM, 24))));
        all.push((
            "traceparent",
            format!("traceparent: 00-{}-{}-01", dice.letters(HEX, 32), dice.letters(HEX, 16)),
        ));
        all.push((
            "content-hash",
            format!("bundle.{}.js  sri: sha384-{}", dice.letters(HEX, 20), dice.letters(BASE64, 64)),
        ));
    }
    let plain = [
        "export OPENAI_API_KEY=sk-...",
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx",
        "API_KEY=YOUR_API_KEY",
        "API_KEY=<your-api-key>",
        "password: ${DB_PASSWORD}",
        "TOKEN=$(gh auth token)",
        "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
        "password = getpass.getpass()",
        "const token = await getToken(user);",
        "if (password.length < 8) { return 'Password is too short'; }",
        "let key = map.keys().next();",
        "secret_key_base: <%= ENV[\"SECRET_KEY_BASE\"] %>",
        "<input type=\"password\" name=\"password\" placeholder=\"Your password\">",
        "api_key: str = Field(..., description=\"The API key\")",
        "def login(user: str, password: str) -> Token:",
        "password=None, token=None",
        "The token limit is 4096 tokens: keep it short.",
        "Key: Value pairs are sorted by key.",
        "primary_key=True, foreign_key=\"users.id\"",
        "\"keyboard\": \"ctrl+shift+p\", \"key\": \"Enter\"",
        "sort_key = \"created_at_2024\"",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "curl -H \"Authorization: Bearer ${API_TOKEN}\" https://api.local",
        "https://user:password@example.com/path",
        "postgres://user:pass@localhost/db",
        "postgres://$USER:$PASS@localhost/db",
        "mailto:ada@example.org",
        "git@github.com:ada/rejoin.git",
        "docker run -u 1000:1000 -v /a:/b image",
        "ssh -i ~/.ssh/id_ed25519 ada@host",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
        "AKIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "sk_test_...",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "npm_config_cache=/tmp/npm",
        "hf_hub_download(repo_id=\"bert-base-uncased\", filename=\"config.json\")",
        "risk-adjusted-return-on-capital-2024",
        "xoxo-gossip",
        "sk-learn and sk-image",
        "from secrets import token_urlsafe, token_hex",
        "passwd: files systemd",
        "PasswordAuthentication no",
        "max_password_length: 128",
        "\"tokenizer_class\": \"GPT2Tokenizer\", \"pad_token\": \"<|endoftext|>\", \"eos_token_id\": 50256",
        "CSRF_COOKIE_NAME = \"csrftoken\"",
        "type Secret struct { Name string; Key []byte }",
        "resource \"aws_secretsmanager_secret\" \"db\" { name = \"prod/db\" }",
        "kubectl get secret db-credentials -o jsonpath='{.data.password}'",
        "vault kv get -field=password secret/db",
        "authToken: process.env.AUTH_TOKEN,",
        "token = os.getenv('API_TOKEN', '')",
        "jwt.verify(token, publicKey, { algorithms: ['RS256'] })",
        "access_token=[redacted]",
        "password=********",
        "SECRET_NAME=prod/db/credentials",
        "KEY_FILE=/etc/ssl/private/server.key",
        "TOKEN_URL=https://auth.local/oauth/token",
        "AUTH_TYPE=basic",
        "error: expected one of `!`, `.`, `::`, found `token`",
        "thread 'main' panicked at src/token.rs:42:9: key not found",
        "passed: 128, failed: 0; pass: all",
        "The password must contain: one digit, one letter.",
        "Auth: none; Key exchange: curve25519-sha256",
        "i18n: { password: 'Password', token: 'Token' }",
    ];
    all.extend(plain.map(|text| ("written", text.to_owned())));
    all
}
