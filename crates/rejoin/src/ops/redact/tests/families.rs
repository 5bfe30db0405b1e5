//! Each family of rules: what it finds, and what looks like it and stays.

use super::{secrets, with};
use crate::ops::redact::{Redaction, RedactionTally};

/// Letters of every kind, of which the bodies of tokens are made.
const BODY: &str = "k7Qz3mV9xT2bR8nW5cJ4hL6pY1gF0dSaEuIoKrNtMvXwB3q9Zs7Lf5Hj2Pd8Gc4Ra6Tn1Wy0Ub";

/// Small letters and digits of hexadecimal numbers.
const HEX: &str = "7c3e9a1f5b2d8046e3a7c1f9b5d20486a9c3e7f1b5d28046c3a9e7f1d5b20864";

/// The texts of which something is left that should be gone.
fn missed<'t>(cases: impl IntoIterator<Item = (&'t str, &'t str)>) -> Vec<String> {
    let cases = cases.into_iter().map(|(text, secret)| (secrets(text), secret));
    cases.filter(|(clean, secret)| clean.contains(secret)).map(|(clean, _)| clean).collect()
}

/// The texts that were changed.
fn changed(cases: &[&str]) -> Vec<String> {
    cases.iter().map(|text| secrets(text)).filter(|clean| !cases.contains(&clean.as_str())).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn tokens_are_told_by_their_first_letters() {
    let plain = [
        ("pa-", 43),
        ("rnd_", 28),
        ("jina_", 60),
        ("tfp_", 59),
        ("napi_", 64),
        ("mdb_sa_sk_", 40),
        ("hcaik_", 58),
        ("re_", 32),
        ("xoxc-1234567890-", 40),
        ("tskey-auth-", 40),
        ("cfut_", 44),
        ("AVNS_", 19),
        ("vcp_", 56),
        ("NRII-", 32),
        ("AKCp", 69),
        ("EAA", 160),
        ("sl.u.", 120),
        ("oy2", 43),
        ("IGQV", 140),
    ];
    let hex = [("fc-", 32), ("sqa_", 40), ("ck_", 40), ("pk_", 34), ("e2b_", 40), ("dtn_", 64)];
    let tokens = plain.map(|(first, length)| format!("{first}{}", &BODY.repeat(3)[..length]));
    let hex_tokens = hex.map(|(first, length)| format!("{first}{}", &HEX[..length]));
    let others = [
        format!("api-{}-{}-{}-{}-{}", &HEX[..8], &HEX[8..12], &HEX[12..16], &HEX[16..20], &HEX[20..32]),
        format!("pat-eu1-{}-{}-{}-{}-{}", &HEX[..8], &HEX[8..12], &HEX[12..16], &HEX[16..20], &HEX[20..32]),
        format!("2/1203948571203948/1203948571203999:{}", &HEX[..32]),
        format!("A3-{}", "B7KQ2M-XW4RTZ-9PLD3-V6HNC-J8FYS-2GKMT"),
        format!("{}FFFFNRAL", &HEX[..32]),
        format!("{}JQQJ99{}", &BODY[..52], &BODY[..26]),
        format!("NDc2OTE4MjM1NzEyMzQ1Njc4.Gx7kQ2.{}", &BODY[..38]),
        format!("$2b$12${}", &BODY[..53]),
    ];
    let all: Vec<String> = tokens.into_iter().chain(hex_tokens).chain(others).collect();

    let left: Vec<String> = all
        .iter()
        .map(|token| secrets(&format!("is {token} valid?")))
        .filter(|text| !text.contains('<'))
        .collect();

    assert_eq!(left, NONE);
    let ordinary = [
        "api-gateway-v2-internal-service",
        "sdk-2024-11-16-release-candidate-1",
        "pk_live_51H7abcDEFghiJKLmnoPQRst",
        "re_export_everything_from_module_2",
        "test_that_the_token_is_refreshed_2",
        "pa-system-for-the-main-hall-of-2024",
        "com.example.service.internal.Handler.handle",
        "1/2 cup, 2/3 spoon",
        "v1.0-alpha.3 and v1.0-rc1",
    ];
    assert_eq!(changed(&ordinary), NONE);
}

#[test]
fn a_value_goes_when_its_name_says_so() {
    let cases = [
        ("DB_PASSWORD=marigold", "marigold"),
        ("password: \"lantern orchard nine\"", "lantern orchard"),
        ("login:\n  password: copper-river-lamp", "copper-river-lamp"),
        ("let db_password = \"Kq8'vN2x\";", "Kq8"),
        ("{\"user\": \"ada\", \"passphrase\": \"seven 7 small boats\"}", "small boats"),
        ("CODACY_TOKEN=3f1c2a9e-77b4-4d0e-9c1a-5e2f8b7d6a10", "3f1c2a9e"),
        ("x-acme-token: 3f1c2a9e-77b4-4d0e-9c1a-5e2f8b7d6a10", "3f1c2a9e"),
        ("hmac_key: \"n4Xq8Lr2Vt6Zw0Bd\"", "n4Xq8"),
        ("azure_pat = \"q7w3e9r1t5y2u8i4o6p0a3s7d1f5\"", "q7w3e9"),
        ("define('NONCE_SALT', 'x%8 Lq{2]vN!7m$Rt^4&zW*0(bD)-3+fG=6:hJ;9<kP>1?sY@5');", "8 Lq"),
        ("set -gx MAIL_PASSWORD Orchid9!", "Orchid9"),
        ("ENV SIGNING_KEY n4Xq8Lr2Vt6Zw0Bd", "n4Xq8"),
        ("<add key=\"MailPassword\" value=\"Orchid99\" />", "Orchid99"),
        ("var pwd string = \"Orchid99\"", "Orchid99"),
        ("client.setPassword(\"Orchid99\")", "Orchid99"),
        ("page.locator('#password').fill('Orchid99')", "Orchid99"),
        ("requirepass orchid99x", "orchid99x"),
        ("dotnet user-secrets set \"Mail:Password\" \"Orchid99\"", "Orchid99"),
        ("--set auth.rootPassword=marigold", "marigold"),
        ("keytool -list -keystore a.jks -storepass Orchid99", "Orchid99"),
        ("\"auth\": \"YWRhOk9yY2hpZDk5IQ==\"", "YWRhOk9y"),
        ("App password: qwzx plmk jhgf vbnt", "qwzx plmk"),
        (
            "mnemonic: lamp river orchid copper boat seven marigold tram lisbon stone gate tulip",
            "orchid copper",
        ),
    ];

    assert_eq!(missed(cases), NONE);
}

#[test]
fn a_value_stays_that_is_code_a_reference_or_shown_to_people() {
    let cases = [
        "secret = forms.CharField(max_length=64, widget=forms.PasswordInput)",
        "password: constr(min_length=10)",
        "\"reset_password\": \"Passwort zurücksetzen?\"",
        "form.label.password=Your secret word:",
        "API_SECRET=please-set-this-value-here",
        "db_password: vault:kv/data/orders#password",
        "token: ssm:/orders/prod/token",
        "password: arn:aws:secretsmanager:eu-west-1:123456789012:secret:orders",
        "secret: projects/orders/secrets/db/versions/3",
        "existingSecret: orders-credentials-v3",
        "fastcgi_pass unix:/run/php/php8.3-fpm.sock;",
        "grpc_pass grpc://auth:9090;",
        "if password == \"expected\":",
        "password: SecretString",
        "PASSWORD=`pwgen -s 24 1`",
        "GPIO_PIN=17",
        "routing_key = \"orders.created.v2\"",
        "credentials: 'same-origin'",
        "salt_rounds: 12",
    ];

    assert_eq!(changed(&cases), NONE);
}

#[test]
fn a_password_in_a_sentence_goes_when_it_looks_like_one() {
    let cases = [
        ("By the way, my password is Orchid99 these days.", "Orchid99"),
        ("I set the root password to Orchid#99 yesterday", "Orchid#99"),
        ("the wifi password is \"lantern orchard nine\"", "lantern orchard"),
        ("The signing key is n4Xq8Lr2Vt6Zw0BdK1.", "n4Xq8"),
        ("Das Kennwort lautet Orchidee99!", "Orchidee99"),
        ("la contraseña es Orquidea99", "Orquidea99"),
        ("пароль: Orh1deya-9", "Orh1deya"),
        ("AWS Secret Access Key [None]: n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9z", "n4Xq8"),
        ("Your new API token (shown once):\n\n    n4Xq8Lr2Vt6Zw0BdK1\n", "n4Xq8"),
        ("creds: ada / Orchid99x", "Orchid99x"),
    ];
    let ordinary = [
        "My password is wrong, and the token is expired.",
        "The password is base64-encoded and the key is 256-bit.",
        "password managers: 1Password, Bitwarden",
        "the token is valid for 24h",
        "Passwords are hashed with argon2id.",
        "The API key is read from OPENAI_API_KEY.",
        "login to server01 and open docs/auth.md",
    ];

    assert_eq!((missed(cases), changed(&ordinary)), (Vec::new(), Vec::new()));
}

#[test]
fn a_password_in_a_command_goes() {
    let cases = [
        ("sshpass -p 'Orchid99' ssh ada@host", "Orchid99"),
        ("mysqldump -u root -pOrchid99 orders", "Orchid99"),
        ("redis-cli -h cache -a Orchid99 ping", "Orchid99"),
        ("docker login -u ada -p Orchid99 registry.local", "Orchid99"),
        ("ldapsearch -D cn=admin -w Orchid99 -b dc=local", "Orchid99"),
        ("smbclient //nas/share -U ada%Orchid99", "Orchid99"),
        ("echo 'ada:Orchid99' | chpasswd", "Orchid99"),
        ("echo Orchid99 | sudo -S true", "Orchid99"),
        ("ALTER USER ada IDENTIFIED BY 'Orchid99';", "Orchid99"),
        ("CREATE ROLE ada WITH LOGIN PASSWORD 'Orchid99';", "Orchid99"),
        ("$ vault kv get -field=password kv/orders\nOrchid99x\n", "Orchid99x"),
    ];
    let ordinary = [
        "mysql -u root -p orders",
        "docker run -p 8080:80 web",
        "ssh -p 2222 ada@host",
        "redis-cli -a \"$SECRET\" ping",
    ];

    assert_eq!((missed(cases), changed(&ordinary)), (Vec::new(), Vec::new()));
}

#[test]
fn a_secret_in_a_table_goes() {
    let cases = [
        ("| Name | Value |\n|---|---|\n| `API_TOKEN` | `n4Xq8Lr2Vt6Zw0Bd` |\n", "n4Xq8"),
        ("| user | password |\n|---|---|\n| ada | Orchid99 |\n| bob | Lamp-7788 |\n", "Lamp-7788"),
        ("user,password,role\nada,Orchid99,admin\n", "Orchid99"),
        ("name,value\nwebhook_secret,n4Xq8Lr2Vt6Zw0Bd\n", "n4Xq8"),
        ("  User      ada\n  Password  Orchid99\n", "Orchid99"),
    ];
    let ordinary = [
        "| Field | Type |\n|---|---|\n| password | string |\n| api_key | text of 40 |\n",
        "id,token_count,score\n7,1200,0.5\n",
    ];

    assert_eq!((missed(cases), changed(&ordinary)), (Vec::new(), Vec::new()));
}

#[test]
fn a_secret_in_an_address_goes() {
    let signature = format!("https://b.s3.amazonaws.com/x?X-Amz-Expires=60&X-Amz-Signature={HEX}");
    let token = format!("origin https://{}@git.local/ada/app.git (push)", &HEX[..40]);
    let cases = [
        ("mysql://ada:Or#ch/id9@10.0.0.7/orders", "ch/id9"),
        ("dsn = \"ada:marigold@tcp(db:3306)/orders\"", "marigold"),
        ("jdbc:oracle:thin:ada/Orchid99@//db:1521/ORCL", "Orchid99"),
        ("db.local:5432:orders:ada:Orchid99", "Orchid99"),
        (&signature, HEX),
        (&token, &HEX[..40]),
        ("https://fn.local/api/run?code=n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9z==", "n4Xq8"),
        ("Cookie: theme=dark; sessionid=n4xq8lr2vt6zw0bdk1", "n4xq8"),
    ];
    let ordinary = [
        "ssh://git@git.local:2222/a.git",
        "postgres://localhost:5432/orders",
        "https://auth:8443/oauth/token",
    ];

    assert_eq!((missed(cases), changed(&ordinary)), (Vec::new(), Vec::new()));
}

#[test]
fn a_private_key_goes_however_it_is_written() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let tail = format!("{line}\n{line}\nAbC9\n-----END RSA PRIVATE KEY-----\n");
    let ssh = format!(
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{line}\n{line}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----"
    );
    let packed = format!("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo{line}{line}");
    let json = format!("{{\"kty\": \"OKP\", \"x\": \"{}\", \"d\": \"{}\"}}", &BODY[..43], &BODY[20..63]);
    let public = format!("-----BEGIN CERTIFICATE-----\n{line}\n-----END CERTIFICATE-----");

    assert_eq!(missed([(&*tail, line), (&ssh, line), (&packed, line), (&json, &BODY[20..63])]), NONE);
    assert_eq!(changed(&[&public]), NONE);
}

#[test]
fn half_of_a_secret_that_is_arriving_is_held_back() {
    let cases = [
        ("Das Kennwort lautet Orchidee99!", "Orchidee99!"),
        ("AWS Secret Access Key [None]: n4Xq8Lr2Vt6Zw0BdK1sF5g", "n4Xq8Lr2Vt6Zw0BdK1sF5g"),
        ("mysqldump -u root -pOrchid99 orders", "Orchid99"),
        ("| user | password |\n|---|---|\n| ada | Orchid99 |", "Orchid99"),
        ("ALTER USER ada IDENTIFIED BY 'marigoldlamp';", "marigoldlamp"),
        ("ALTER ROLE ada PASSWORD 'marigoldlamp';", "marigoldlamp"),
        ("dsn = \"ada:marigold9@tcp(db:3306)/orders\"", "marigold9"),
        ("Cookie: sessionid=n4xq8lr2vt6zw0bdk1", "n4xq8lr2vt6zw0bdk1"),
    ];
    let kept = |text: &str| {
        with(&Redaction::new(), |redactor| {
            let settled = &text[..redactor.settled(text)];
            redactor.text(settled, &mut RedactionTally::default()).unwrap_or_else(|| settled.to_owned())
        })
    };

    let halves: Vec<String> = cases
        .iter()
        .flat_map(|(text, secret)| {
            let start = text.find(secret).unwrap();
            (start + 6..start + secret.len()).map(move |cut| (kept(&text[..cut]), &secret[..6]))
        })
        .filter(|(kept, half)| kept.contains(half))
        .map(|(kept, _)| kept)
        .collect();

    assert_eq!(halves, NONE);
}

#[test]
fn a_random_token_goes_even_if_it_holds_a_word_of_examples_by_chance() {
    let tokens = ["xXxX", "Example", "redacted", "your", "todo"]
        .map(|word| format!("ghp_{}{word}{}", &BODY[..16], &BODY[4..20 - word.len()]));
    let examples = [
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "DB_PASSWORD=your-Secret-Password-2024-goes-here",
    ];

    let left = tokens.iter().filter(|token| secrets(token).contains(token.as_str()));
    assert_eq!(left.collect::<Vec<_>>(), NONE);
    assert_eq!(changed(&examples), NONE);
}
