//! What reviewers saw taken out that is no secret, and what is like it and is one.

use super::secrets;

fn changed(cases: &[&str]) -> Vec<String> {
    cases.iter().map(|text| secrets(text)).filter(|clean| !cases.contains(&clean.as_str())).collect()
}

/// The texts that are left as they were although they hold a secret.
fn left(cases: &[&str]) -> Vec<String> {
    cases.iter().filter(|text| secrets(text) == **text).map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_type_a_parameter_and_a_member_stay() {
    let ordinary = [
        "mutation Login($email: String!, $password: String!) {",
        "  password: String!\n  token: String!\n",
        "newPassword: Password!",
        "UPDATE users SET password = :password WHERE id = :id",
        "UPDATE users SET password = @password, token = @new_token",
        "user.update(password: @password, email: @email)",
        "field :name, password: :string, virtual: true",
        "login({ password: user?.password, token: session?.token })",
        "login({ password: password!, email: email! })",
        "val request = Request(password = user!!.password)",
        "secret: Base64String",
        "PublicKeyToken=b77a5c561934e089",
        "auth-secret: basic-auth-v2",
    ];
    let telling =
        ["password: Sommer99!", "password: @lisboa7x", "password: Orchidee!9", "--password=Sommer!blume"];

    assert_eq!((changed(&ordinary), left(&telling)), (Vec::new(), Vec::new()));
}

#[test]
fn a_label_in_any_language_stays() {
    let ordinary = [
        "password: '密码'",
        "\"password\": \"Пароль\", \"confirmPassword\": \"Подтвердите\"",
        "password: \"パスワード\"",
        "password: \"비밀번호\"",
        "{\"password\": \"Salasana\", \"newPassword\": \"Adgangskode\"}",
        "{\"password\": \"Lozinka\", \"passphrase\": \"Wachtwoordzin\"}",
        "{\"password\": \"Geslo\", \"new_password\": \"YeniŞifre\"}",
        "{\"password\":\"Passwort\",\"forgot\":\"Passwort vergessen?\",\"title\":\"Login\"}",
        "{\"newPassword\": \"新密码(8-20位)\"}",
    ];
    let telling = [
        "password: \"Käsekuchen\"",
        "password: '密码hunter2!'",
        "Passwort: Orchidee99!",
        "\"пароль\": \"Orh1deya\"",
    ];

    assert_eq!((changed(&ordinary), left(&telling)), (Vec::new(), Vec::new()));
}

#[test]
fn the_name_of_what_is_stored_stays() {
    let ordinary = [
        "const STORAGE_KEY = 'chat-history-v2';",
        "const STORAGE_KEY = \"my-app.chat-history.2024-11-16\";",
        "\"product_key\": \"SKU-12345-RED\"",
        "SESSION_KEY = 'app_user_session_data'",
        "user_key: \"user-profile-settings-v12\"",
        "\"Sid\": \"AWSCloudTrailAclCheck20150319\"",
        "\"Sid\": \"Stmt1697405182933\"",
        "pat = r\"^(?P<date>\\d{4}-\\d{2}-\\d{2})[ T](?P<time>\\d{2}:\\d{2})\\s+(?P<rest>.*)$\"",
        "      - arn:aws:lambda:*:123456789012:function:foo",
    ];
    let telling = [
        "AZURE_STORAGE_KEY = \"n4Xq8Lr2Vt6Zw0BdK1sF5gH9jL3mP7qR1tU5vX9z\"",
        "session_key: \"7c3e9a1f5b2d8046e3a7c1f9b5d20486\"",
        "product_key = \"W269N-WFGWX-YVC9B-4J6C9-T83GX\"",
        "connect.sid: \"n4Xq8Lr2Vt6Zw0BdK1sF5g\"",
        "azure_pat = \"q7w3e9r1t5y2u8i4o6p0a3s7d1f5\"",
        "db.local:*:orders:ada:Orchid99",
    ];

    assert_eq!((changed(&ordinary), left(&telling)), (Vec::new(), Vec::new()));
}

#[test]
fn a_header_that_is_made_elsewhere_stays() {
    let ordinary = [
        "headers: { Authorization: getAuthHeader() }",
        "{\"Authorization\": AUTH_TOKEN}",
        "Authorization: process.env.API_TOKEN_V2",
        "It does authentication, authorization, and RateLimiting2 for you.",
        "Authorization: see RFC6749-bis",
        "const AUTHORIZATION = 'x-internal-authorization';",
    ];
    let telling = [
        "Authorization: Basic YWRhOk9yY2hpZDk5IQ==",
        "Authorization: 7c3e9a1f5b2d8046",
        "(\"Authorization\", \"Bearer marigoldGHIJKLnop\")",
        "'authorization': 'token n4Xq8Lr2Vt6Zw0Bd'",
        "Authorization: Klaviyo-API-Key n4Xq8Lr2Vt6Zw0BdK1",
    ];

    assert_eq!((changed(&ordinary), left(&telling)), (Vec::new(), Vec::new()));
}

#[test]
fn a_version_a_method_and_zeros_stay() {
    let zeros = format!(
        "{{\"bdata\": \"{}8D8AAAAAAAAAQJqZmZmZmbk/{}\"}}",
        "A".repeat(30),
        "AAAAAABJQM3MzMwB".repeat(9)
    );
    let ordinary = [
        "The password is encrypted with ChaCha20-Poly1305.",
        "Reset root password - Ubuntu22.04",
        "Reset the admin password - Windows10",
        "vault login is broken since v1.13.2",
        &zeros,
    ];
    let token = "AAAAAAAAAAAAAAAAAAAAAMLheAAAAAAA0%2BuSeid%2BULvsea4JtiGRiSDSJSI%3DEUifiRBkKG5E2XzMDjRfl76ZC9Ub0wnz4XsNiRVBChTYbJcE3F";
    let telling = [
        "The password is Sommer2024 for now",
        "root password - Orchid99x",
        "vault login n4Xq8Lr2Vt6Zw0BdK1",
        "wpa_passphrase lisboa Orchid99x",
        token,
    ];

    assert_eq!((changed(&ordinary), left(&telling)), (Vec::new(), Vec::new()));
}
