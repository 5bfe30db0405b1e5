//! Passwords and tokens that commands take, one line each: `{arg}` is an argument, with or without quotes.

use crate::ops::redact::find::context::{ContextPattern, HoldFrom, LINE, PatternStart, ValueKind, context};

/// An argument of a command whose name is an anchor: what stands between them, and the flag.
macro_rules! flag {
    ($flag:literal) => {
        concat!(r#"(?i)^[^\n|;]{2,}?[ "']"#, $flag, r"{arg}")
    };
}

const fn command(anchors: &'static [&'static str], pattern: &'static str) -> ContextPattern {
    context("command-password", anchors, pattern, ValueKind::Argument).from(PatternStart::Word).within(400)
}

/// One whose argument may be any word, so that it has to look like a password.
const fn loose(anchors: &'static [&'static str], pattern: &'static str) -> ContextPattern {
    context("command-password", anchors, pattern, ValueKind::Password).from(PatternStart::Word).within(400)
}

/// The last word of a command that has these before it.
macro_rules! last {
    ($lead:literal) => {
        concat!($lead, r#" +["']?([^\s|;/>"'-][^\s|;"']*)["']?(?: +[-/>][^\s|;]*)*[ \t]*(?:$|[\n|;&])"#)
    };
}

#[rustfmt::skip]
pub(in crate::ops::redact::find) const COMMANDS: &[ContextPattern] = &[
    // -p and its like.
    command(&["sshpass", "sqlcmd", "bcp ", "sshfs"], flag!("(?-i:-p|-P) ?")).finds(&["sshpass -p '‹Orchid99›' ssh ada@host", "sqlcmd -S db -P ‹Orchid99›"]).leaves(&["sshpass -e ssh ada@host"]),
    command(&["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "unrar", "7z "], flag!("-p")).finds(&["mysqldump -u root -p‹Orchid99› orders"]).leaves(&["mysql -u root -p orders"]),
    command(&["mongo", "mongosh", "mongodump", "mongorestore", "docker login", "podman login", "nerdctl login", "buildah login", "skopeo login", "registry login", "oc login", "cf login", "az login", "argocd login", "psexec", "useradd", "usermod", "twine upload", "cqlsh", "evil-winrm", "helm repo add", "influx", "vncviewer", "mosquitto_"],
        flag!("(?-i:-p|-P)[ =]")).finds(&["docker login -u ada -p ‹Orchid99› registry.local", "twine upload -u ada -p ‹Orchid99› dist/x"]).leaves(&["docker login -u ada --password-stdin registry.local"]),
    command(&["redis-cli", "valkey-cli", "redis-benchmark"], flag!("-a[ =]")).finds(&["redis-cli -h cache -a ‹Orchid99› ping"]).leaves(&["redis-cli -a \"$SECRET\" ping"]),
    command(&["ldapsearch", "ldapmodify", "ldapadd", "ldapwhoami", "ldapdelete", "ldappasswd", "add-generic-password", "add-internet-password"], flag!("-w ?")).finds(&["ldapsearch -D cn=admin -w ‹Orchid99› -b dc=local"]).leaves(&["ldapsearch -D cn=admin -W -b dc=local", "ldapsearch -y /etc/ldap.pw -b dc=local", "ldapsearch -w \"$VAR\" -b dc=local", "ldapsearch -w $LDAP_PASSWORD -b dc=local"]),
    command(&["ipmitool", "zip ", "unzip "], flag!("(?-i:-P) ")).finds(&["zip -P ‹Orchid99› a.zip b"]).leaves(&["zip -P \"$ZIP_PASS\" a.zip b", "unzip -p a.zip readme.txt"]),
    command(&["ssh-keygen"], flag!("(?-i:-N|-P) ?")).finds(&["ssh-keygen -t rsa -N \"‹Orchid99 lamp›\" -f id"]).leaves(&["ssh-keygen -t rsa -N \"\" -f id"]),
    command(&["plink", "pscp", "psftp"], flag!("-pw ")).finds(&["plink -ssh ada@host -pw ‹Orchid99›"]).leaves(&["plink -ssh ada@host -pw %PASS%", "plink -i key.ppk ada@host"]),
    command(&["snmpwalk", "snmpget"], flag!("(?-i:-A|-X) ")).finds(&["snmpwalk -v3 -u ada -A ‹Orchid99› host"]).leaves(&["snmpwalk -v3 -u ada -A $AUTH host", "snmpwalk -v2c -c public host"]),
    command(&["xfreerdp", "wfreerdp", "cmdkey", "signtool", "schtasks"], flag!("/(?:pass|rp|p)(?::|:? )")).finds(&["xfreerdp /u:ada /p:‹Orchid99› /v:host", "cmdkey /add:host /user:ada /pass:‹Orchid99›"]).leaves(&["xfreerdp /u:ada /p:$PASS /v:host", "xfreerdp /p: /v:host"]),
    loose(&["openssl"], flag!("-[kK] ")).finds(&["openssl enc -aes-256-cbc -k ‹Orchid99› -in a"]).leaves(&["openssl x509 -k server.key"]),
    command(&["-passin pass:", "-passout pass:", "-pass pass:", "-password pass:"], "^-pass[a-z]* pass:{arg}").from(PatternStart::Anchor).finds(&["openssl rsa -in a.key -passin pass:‹Orchid99› -out b", "openssl pkcs12 -export -passout 'pass:‹Orchid99›'"]).leaves(&["openssl rsa -passin pass:\"$PASS\""]),
    command(&["-passin 'pass:", "-passout 'pass:", "-passin \"pass:", "-passout \"pass:"], r#"^-pass[a-z]* ["']pass:([^"'\n]+)"#).from(PatternStart::Anchor).finds(&["openssl pkcs12 -passin \"pass:‹Orchid99›\""]).leaves(&["openssl pkcs12 -passin 'pass:changeit'", "openssl rsa -passin \"pass:$PASS\""]),
    loose(&["nmcli"], flag!("password ")).finds(&["nmcli dev wifi connect Lisboa password ‹Orchid99›"]).leaves(&["nmcli dev wifi connect Lisboa password \"$PSK\"", "nmcli prints the password field"]),

    // user:password in one argument.
    command(&["smbclient", "rpcclient", "smbmap"], r#"^[^\n|;]*? -U *["']?[^\s%"']+%([^\s"'|;]+)"#).finds(&["smbclient //nas/share -U ada%‹Orchid99›"]).leaves(&["smbclient //nas/share -U ada", "smbclient //nas/share -U ada%$PASS"]),
    command(&["http ", "https ", "xh "], r#"^[^\n|;]*? (?:-a|--auth)[ =]["']?[^\s:"']+:([^\s"'|;]+)"#).finds(&["http -a ada:‹Orchid99› api.local/me"]).leaves(&["http -a ada:$PASS api.local/me", "http --auth-type bearer api.local/me"]),
    command(&["lftp"], r#"^[^\n|;]*? -u *["']?[^\s,"']+,([^\s"'|;]+)"#).finds(&["lftp -u ada,‹Orchid99› ftp.local"]).leaves(&["lftp -u ada, ftp.local", "lftp -u ada,$PASS ftp.local"]),
    context("basic-credentials", &["curl ", "wget ", "http "], r#"^[^\n]{4,}? (?-i:-u|-U|--user|--proxy-user)[ =]?["']?[^\s:"'\\=-][^\s:"'\\]*:([^\s"'\\]{4,})"#, ValueKind::Given)
        .hold(HoldFrom::Nothing).finds(&["curl -u ada:‹hunter2x› https://api.local", "curl -s https://api.local --user \"ada:‹hunter2x›\""]).leaves(&["curl -u \"$USER:$PASS\" https://api.local"]),
    command(&["sqlplus", "rman ", "expdp", "impdp"], r#"^[^\n|;]*? (?:-[a-zA-Z]+ )*["']?[A-Za-z0-9_]+/([^\s"'@|;/]+)"#).finds(&["sqlplus ada/‹Orchid99›@db"]).leaves(&["sqlplus /nolog"]),

    // The last word.
    loose(&["net use", "net user"], last!(r"^net user?[^\n|;]*")).finds(&["net user ada ‹Orchid99› /add"]).leaves(&["net use Z: /delete"]),
    loose(&["htpasswd"], last!(r"^htpasswd -[^\n|;]*")).finds(&["htpasswd -b /etc/nginx/users ada ‹Orchid99›"]).leaves(&["htpasswd -c /etc/nginx/users ada", "htpasswd -b users ada \"$PASS\""]),
    loose(&["rabbitmqctl"], last!(r"^rabbitmqctl [^\n|;]*(?:add_user|change_password)[^\n|;]*")).finds(&["rabbitmqctl add_user ada ‹Orchid99›"]).leaves(&["rabbitmqctl add_user ada \"$PASS\"", "rabbitmqctl list_users"]),
    loose(&["mc alias set", "mc config host add"], last!(r"^mc [a-z ]+ \S+ https?://\S+ \S+")).finds(&["mc alias set minio http://localhost:9000 admin ‹Orchid99x›"]).leaves(&["mc alias set minio http://localhost:9000 minioadmin minioadmin", "mc alias set minio http://localhost:9000 admin $PASS"]),
    loose(&["wpa_passphrase"], last!(r"^wpa_passphrase +\S+")).finds(&["wpa_passphrase lisboa ‹Orchid99x›"]).leaves(&["wpa_passphrase lisboa \"$PSK\"", "wpa_passphrase lisboa < psk.txt"]),
    loose(&["vault login", "vault operator unseal", "snyk auth", "cargo login", "ngrok authtoken", "add-authtoken", "nuget setapikey", "npm token revoke", "hf auth login", "railway login", "vercel login"],
        last!(r"(?i)^[a-z-]+(?: [a-z]+){0,2}(?: +-[^\s|;]+)*")).finds(&["vault login ‹n4Xq8Lr2Vt6Zw0BdK1›", "cargo login ‹n4Xq8Lr2Vt6Zw0BdK1›"]).leaves(&["vault login is broken since v1.13.2"]),
    loose(&["poetry config", "composer config", "npm config set", "pip config set", "pulumi config set", "yarn config set", "chamber write", "conjur variable set", "netlify env:set"],
        last!(r"(?i)^[a-z]+ [a-z:]+(?: set)?[^\n|;]*(?:pass|token|secret|key|auth|http-basic)[^\n|;]*")).finds(&["pulumi config set --secret dbPassword ‹Orchid99x›", "poetry config http-basic.acme ada ‹Orchid99x›"]).leaves(&["npm config set save-exact true"]),

    // Stores of secrets and settings.
    command(&["put-parameter"], concat!(flag!("--value[ =]"), r"[^\n]*")).hold(HoldFrom::Line).unless(&["--type String", "--type=String", "--type \"String"])
        .finds(&["aws ssm put-parameter --name /orders/db --type SecureString --value ‹Orchid99›"]).leaves(&["aws ssm put-parameter --name /a --value eu-west-1 --type String", "aws ssm put-parameter --name /a --value \"$DB\""]),
    command(&["keyvault secret set", "gh secret set", "glab variable set", "az pipelines variable", "az appconfig kv set", "consul kv put", "secretsmanager", "bws secret", "op item", "gcloud secrets", "secrets create", "secret create", "fly secrets", "infisical secrets", "scw secret", "doctl", "ibmcloud secrets-manager", "oci vault secret", "parameter-store"],
        flag!(r"(?:--value|--body|-b|--secret-string|--payload|--secret-data|--data|--secret-value|--secret-text|--data-literal|--secret|--password)[ =]")).hold(HoldFrom::Line)
        .finds(&["az keyvault secret set --vault-name v --name db --value \"‹Orchid99›\"", "gh secret set DEPLOY --body ‹marigoldlamp›", "some secrets create db --value=‹Orchid99›"])
        .leaves(&["az keyvault secret set --name db --value <your-secret>"]),
    loose(&["consul kv put", "etcdctl put", "wrangler secret put", "fly secrets import", "firebase functions:secrets:set"], last!(r"(?i)^[a-z]+ [^\n|;]*[a-z]")).finds(&["consul kv put orders/db/password ‹Orchid99x›"]).leaves(&["consul kv put orders/db/password \"$PASS\"", "consul kv put orders/replicas three"]),
    command(&["--from-literal"], r#"^--from-literal[= ]["']?[^\s="']+={arg}"#).from(PatternStart::Anchor).after(&["secret"]).hold(HoldFrom::Line)
        .finds(&["kubectl create secret generic db --from-literal=password=‹Orchid99› --from-literal=pin='‹Lamp-7788›'"]).leaves(&["kubectl create configmap a --from-literal=special.how=very-much2"]),
    loose(&["vault kv put", "vault kv patch", "vault write", "bao kv put", "heroku config:set", "heroku config:add", "fly secrets set", "flyctl secrets set", "doppler secrets set", "infisical secrets set", "eb setenv", "functions:config:set", "supabase secrets set", "docker secret create", "netlify env:set", "dokku config:set", "cf set-env", "railway variables"],
        r#"(?i)[ "'](?:--set )?[A-Za-z_][A-Za-z0-9_.-]*={arg}"#).from(PatternStart::Before(0)).hold(HoldFrom::Line)
        .finds(&["vault kv put secret/orders db=‹Orchid99› note=\"‹Lamp-7788›\"", "heroku config:set MAIL=‹Orchid99x› -a orders"]).leaves(&["vault kv put secret/orders ttl=24h", "vault write auth/approle/role/x secret_id_ttl=10m token_num_uses=10"]),
    command(&["convertto-securestring"], r"(?i)^convertto-securestring(?: +-(?:asplaintext|force|string))* +{text}").from(PatternStart::Anchor).hold(HoldFrom::Line)
        .finds(&["ConvertTo-SecureString \"‹Orchid99›\" -AsPlainText -Force", "ConvertTo-SecureString -AsPlainText -Force -String '‹marigoldlamp›'"]).leaves(&["ConvertTo-SecureString $env:PASS -AsPlainText -Force"]),
    command(&["| convertto-securestring", "|convertto-securestring"], r"(?i){text} *\| *convertto-securestring").from(PatternStart::Before(1_000)).within(30)
        .finds(&["$p = \"‹Orchid99›\" | ConvertTo-SecureString -AsPlainText"]).leaves(&["$p = \"$env:PASS\" | ConvertTo-SecureString -AsPlainText", "Read-Host \"Password\" | ConvertTo-SecureString"]),
    loose(&["expect \"password", "expect \"*assword", "expect -re \"password"], r#"(?i)^expect[^\n]*\n\s*send(?: --)? "([^"\\\n]+)"#).finds(&["expect \"password:\"\nsend \"‹Orchid99›\\r\""]).leaves(&["expect \"password:\"\nsend \"$password\\r\"", "expect \"password:\"\nsend \"yes\\r\""]),

    // Keys that a command prints, in the lines below it.
    context("printed-key", &["openssl rand", "/dev/urandom", "pwgen", "keys list", "list-keys", "key list", "keys show", "key show", "print-access-token", "print-identity-token", "get-access-token", "auth token", "auth print", "get-login-password", "token create", "create token", "keys renew", "genkey", "genpsk", "gen-key", "generate-key", "generate:key", "key:generate", "generate-secret", "gensecret", "phx.gen.secret", "rake secret", "rails secret", "token_hex", "token_urlsafe", "generate_key", "randombytes", "credential reset", "credential list", "output -raw", "versions access", "get-secret-value", "get-parameter", "kv get", "secret show", "op read", "op://", "unseal", "show-secret", "reset-password", "get-password", "get-credentials"],
        r"^[^\n]*\n((?:[A-Za-z0-9+/]{40,}\r?\n){0,40}[A-Za-z0-9+/=_-]{16,})[ \t\r]*(?:\n|$)", ValueKind::Numbered).within(4_000).entropy(3.0).hold(HoldFrom::Line)
        .finds(&["$ openssl rand -base64 32\n‹PSUxOYEmqdvRAq1uOdO1ysbv8ON75cZj7S3b75oSfiY=›\nnext", "$ az storage account keys list -o tsv\n‹5RcSY+rJ2ifQCacFymLo87gVC09CXTmNo4l2uWwaedYd36/NEAdk0xse8x==›", "$ terraform output -raw db\n‹68c29f507c7029b560c5512d8a23a457›"])
        .leaves(&["openssl rand -hex 32\n```\nthen 2 more", "$ openssl rand -hex 32 > key\n$ ls -l", "kv get prints it\nan-ordinary-name-of-something"]),
    context("printed-key", &["openssl rand", "pwgen", "output -raw", "makepasswd", "apg -", "versions access", "kv get", "op read", "pass show", "bw get password", "generate password", "get-password", "reset-password", "show-password", "initial-password", "gopass show", "keyring get", "find-generic-password", "get-parameter", "get-secret-value"],
        r"^[^\n]*\n([!-~]{8,100})[ \t\r]*(?:\n|$)", ValueKind::Password).within(600).hold(HoldFrom::Line).unless(&["http", "()", "```"])
        .finds(&["$ pwgen -sy 16 1\n‹x8Kd!2mQz~Lr4›\n"]).leaves(&["$ pass show -c mail\nCopied to the clipboard.\n"]),

    // What one command writes and another one reads.
    command(&["chpasswd"], r#"(?:echo|printf)(?: +-[a-zA-Z]+)* +["']?[^\s:"'|]+:([^\s"'|\\]+)[^|\n]*\| *(?:sudo )?chpasswd"#).from(PatternStart::Before(1_000)).within(10)
        .finds(&["echo 'ada:‹Orchid99›' | chpasswd"]).leaves(&["echo \"$USER:$PASS\" | chpasswd"]),
    command(&["sudo -s", "password-stdin", "passwd --stdin", "cryptsetup", "--passphrase-fd 0", "gh secret set", "gcloud secrets", "docker secret create", "podman secret create", "wrangler secret put", "vercel env add", "--with-token", "versions add", "secret-tool store", "fly secrets import", "pass insert", "kinit"],
        r#"(?:echo|printf)(?: +-[a-zA-Z]+)* +(?:["']%s(?:\\n)?["'] +)?(?:"([^"\n]+?)(?:\\n)?"|'([^'\n]+?)(?:\\n)?'|([^\s"'|;]+)) *\|"#).from(PatternStart::Behind(LINE)).within(1)
        .finds(&["echo ‹Orchid99› | sudo -S true", "printf '%s' '‹marigold lamp 9›' | gh secret set DEPLOY", "echo -n \"‹Orchid99›\" | gcloud secrets create db --data-file=-"]).leaves(&["echo \"$PASSWORD\" | docker login --password-stdin"]),
    command(&["<<< ", "<<<\"", "<<<'"], r"^<<< *{arg}").from(PatternStart::Anchor).after(&["secret", "sudo -s", "pass"])
        .finds(&["wrangler secret put API_KEY <<< ‹Orchid99›", "sudo -S <<< \"‹Orchid99›\" apt update", "docker login --password-stdin <<< ‹Orchid99›"]).leaves(&["base64 -d <<< aGVsbG8gd29ybGQ"]),
];
