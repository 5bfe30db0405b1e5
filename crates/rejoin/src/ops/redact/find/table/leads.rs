//! What leads from a name to its value, one line each, with texts that a test reads.

use crate::ops::redact::find::assignment::{AssignmentLead, lead};
use crate::ops::redact::find::reads::Reads;

/// Nothing but signs stands before the name in its line.
const BEGINS: &str = r#"(?:^|\n)[ \t+>#"'*`;$|-]*[A-Za-z0-9_.-]+$"#;

/// The name is that of a variable of a shell, or of an option of a command or an address.
const VARIABLE: &str = r#"(?:^|[^A-Za-z0-9_.-])(?:[A-Z0-9_]+|-[A-Za-z0-9_.-]*)$|[?&][A-Za-z0-9_.-]+$|(?:^|\s)-[^\s]+ ["']?[A-Za-z0-9_.-]+$"#;

/// The first that fits leads to the value.
#[rustfmt::skip]
pub(in crate::ops::redact::find) const LEADS: &[AssignmentLead] = &[
    // The port of a host, and the path of a name in a program.
    lead(":", r"^:[^=\s]*", Reads::Nothing).before(r"//[A-Za-z0-9_.-]*$").leaves(&["grpc://auth:9090", "https://auth:8443/oauth/token"]),
    lead(":", "^{gap}::(?:[^=]|$)", Reads::Nothing).leaves(&["crate::token::Orchid99x"]),
    // Shells and addresses. What stands in backticks is a command.
    lead("=", "^=`", Reads::Nothing).before(VARIABLE).leaves(&["SECRET=`openssl rand -hex 16`"]),
    lead("=", r"^(=[=>~]*)[^\s]", Reads::Variable).before(VARIABLE).finds(&["DB_PASSWORD=‹marigold›", "--set auth.rootPassword=‹marigold›", "/x?token=‹n4Xq8Lr2Vt6Zw0Bd›"]).leaves(&["POSTGRES_PASSWORD=postgres", "PASSWORD=`pwgen -s 24 1`"]),
    lead(":", r"^:[-=?]", Reads::UpTo('}')).before(r"\$\{[A-Za-z0-9_]+$").finds(&["psql ${DB_PASSWORD:-‹Orchid99›}"]).leaves(&["${DB_PASSWORD:?must be set}", "${DB_PASSWORD:-postgres}"]),
    // Texts that a language writes in its own way, or in the next line.
    lead("=:", r"^{gap}[:=]>?\s*%?qq?\{", Reads::UpTo('}')).finds(&["my %c = (passwd => q{‹Orchid99›});", "password = %q{‹Orchid99›}"]).leaves(&["my %c = (passwd => q{changeme});", "password = %q{your password}"]),
    lead("=:", r"^{gap}[:=]>?\s*%?qq?\(", Reads::UpTo(')')).finds(&["my $password = q(‹Orchid99›);"]).leaves(&["my $password = q(changeme);"]),
    lead("=:", r"^{gap}[:=]>?\s*(?:\[\[|q\[)", Reads::UpTo(']')).finds(&["local password = [[‹Orchid99›]]"]).leaves(&["local password = [[changeme]]", "if password == [[ -n x ]]"]),
    lead("=:", r#"^{gap}[:=]>?\s*(?:[uUL8]{0,2}R"[a-z]{0,8}\()"#, Reads::UpTo(')')).finds(&["auto password = R\"(‹Orchid99›)\";"]).leaves(&["auto password = R\"(changeme)\";"]),
    lead("=:", r##"^{gap}[:=]>?\s*(?:[a-z]?"""|[a-z]{0,2}#+")"##, Reads::UpTo('"')).finds(&["password = \"\"\"‹Orchid99›\"\"\"", "let password = r#\"‹Orchid99›\"#;"]).leaves(&["password = \"\"\"The password of the user.\"\"\"", "let password = r#\"changeme\"#;"]),
    lead("=:", r"^{gap}[:=]>?\s*[a-z]?'''", Reads::UpTo('\'')).finds(&["password = '''‹Orchid99›'''"]).leaves(&["password = '''Your password, at least 8 letters'''"]),
    lead("=:", r#"^{gap}(?::[A-Za-z0-9_: &<>\[\].'?|]{2,39})?[:=]>?\s*(?:new\s+)?(?:[A-Za-z0-9_.]+::|[a-z]+\.)?(?:String::from|String|Some|Just|Ok|SecretString::from|SecretString|CString::new|Zeroizing::new|Secret::new|SecretBox::new|Arc::from|string|strdup|str|SecretStr|text)\(()[a-z]?["']"#, Reads::Quoted)
        .finds(&["let mut secret_key: String = String::from(\"‹n4Xq8Lr2Vt6Zw0Bd›\");", "String password = new String(\"‹Orchid99›\");", "password: Some(\"‹Orchid99›\".into()),"]).leaves(&["password: Some(\"your password\".into())", "let password = String::from(\"password\");"]),
    lead("=:", r#"^{gap}[:=]>?[ \t]*[(\\]?[ \t]*\r?\n[ \t]*()["']"#, Reads::Listed).finds(&["password =\n    \"‹Orchid99›\"\n", "api_key = (\n    \"‹a8f5f167f44f4964e6c998de›\"\n)"]).leaves(&["password =\n    \"changeme\"\n", "token:\n  \"type\": \"string2\""]),
    lead("<", r"^{gap}<<?-", Reads::Any).finds(&["auth_token <- \"‹S!ja~jNtkJh7BKel›\""]).leaves(&["password <- readline(\"Password: \")", "token <- Sys.getenv(\"TOKEN\")"]),
    lead("aA", r#"^[ \t]+(?i:as)[ \t]+[A-Za-z.]+[ \t]*=[ \t]*()["']"#, Reads::Quoted).finds(&["Dim password As String = \"‹Orchid99›\""]).leaves(&["Dim password As String = \"\""]),
    lead("b", r#"^ by lazy \{ ?()["']"#, Reads::Quoted).finds(&["val password by lazy { \"‹Orchid99›\" }"]).leaves(&["val password by lazy { \"changeme\" }"]),
    lead("{", r#"^\{()["']"#, Reads::Quoted).finds(&["std::string password{\"‹Orchid99›\"};"]).leaves(&["\\password{\"required\"}"]),
    lead(":", r"^{gap}:[ \t]*!!(?:str|binary)[ \t]", Reads::Any).finds(&["password: !!str ‹Orchid99›"]).leaves(&["password: !!str"]),
    // Programs and settings.
    lead("=:", r#"^{gap}[:=]>?\s*[A-Za-z0-9_.:]*(?:decode|hex|unhexlify|Buffer\.from|atob|base64|SecretStr|SecretString|Secret|bytes)\(()b?["']"#, Reads::Called).finds(&["encryption_key = base64.b64decode(\"‹k7Qz3mV9xT2bR8nW5cJ4hL6pY1gF0dSa=›\")"]).leaves(&["encryption_key = base64.b64decode(\"your-key-here\")", "token = bytes(\"utf-8\")"]),
    lead("=", r"^{aside}{gap}={2,3}[~]?", Reads::Compared).finds(&["if password == \"‹Orchid99›\":"]).leaves(&["if password == \"expected\":"]),
    lead("=|?&+/:", r"^{aside}{gap}(?:\|\||&&|\?\?|//|[?:+|]|::)?=[>~]?", Reads::Any)
        .finds(&["api_key ||= \"‹a8f5f167f44f4964e6c998de›\"", "DB_PASSWORD ?= ‹Orchid99›", "password := \"‹Orchid99›\"", "'password' => '‹Orchid99›'", "password ??= '‹Orchid99›'"])
        .leaves(&["password ||= params[:password]", "token ?= $(shell gh auth token)"]),
    lead(":", r#"^{gap}:([A-Za-z0-9_: &<>\[\].'?|]{3,39}=)[ "']"#, Reads::Quoted).finds(&["let api_key: &str = \"‹a8f5f167f44f4964e6c998de›\";"]).leaves(&["let api_key: &str = \"your-api-key\";"]),
    lead(":", r#"^{gap}:([A-Za-z0-9_: &<>\[\].'?|]{2,38} = )"#, Reads::Nothing).leaves(&["pub const SET_PW: u32 = 1427140829;"]),
    lead(":", r"^{gap}:[ \t]*[|>][+-]?[0-9]?[+-]?[ \t]*(?:#[^\n]*)?\r?\n", Reads::Block)
        .finds(&["db:\n  password: |\n    ‹Orchid99›\n  port: 1\n", "password: >-\n  ‹marigold-lamp-nine›\n", "token: |-\n\t‹n4Xq8Lr2Vt6Zw0Bd›\n"]).leaves(&["password: |\n  The password that you were sent.\n"]),
    lead(":", r"^{aside}{gap}:[ \t\r*`>]*\n(?:[ \t\r*`>]*\n){0,2}[ \t\r*`>]*", Reads::OnlyWord).finds(&["Your new API token (shown once):\n\n    ‹n4Xq8Lr2Vt6Zw0BdK1›\n"]).leaves(&["Your new API token (shown once):\n\nplease copy it\n", "password:\n  required\n"]),
    lead(":", r#"^{gap}[:=]>?\s*\{[^{}]{0,200}?(?:value|default|plain|stringValue)["']?\s*[:=]"#, Reads::Any).finds(&["\"db_password\": {\"type\": \"string\", \"value\": \"‹Orchid99›\"}"]).leaves(&["\"db_password\": {\"type\": \"string\", \"default\": \"changeme\"}", "\"password\": {\"type\": \"string\"}"]),
    lead("{", r#"^["']? *\{[^{}]{0,200}?default\s*="#, Reads::Any).finds(&["variable \"db_password\" {\n  default = \"‹Orchid99›\"\n}"]).leaves(&["variable \"db_password\" {\n  type = string\n}"]),
    lead(":", r"^{aside}{gap}:=?", Reads::Any).finds(&["login:\n  password: ‹copper-river-lamp›", "{\"passphrase\": \"‹seven 7 small boats›\"}"]).leaves(&["password: ${DB_PASSWORD}", "\"password\": \"string\""]),
    lead("|?o)", r#"^{gap}\)?(?:\|\||\?\?| or |\?:) *()["'`]"#, Reads::Called).finds(&["process.env.DB_PASSWORD || '‹Orchid99›'", "os.environ.get(\"DB_PASSWORD\") or \"‹Orchid99›\""]).leaves(&["process.env.DB_PASSWORD || ''"]),
    // Elements.
    lead(">", r"^>(?:<!\[CDATA\[)?", Reads::UpTo('<')).before("<[A-Za-z0-9_.:-]+$").finds(&["<password>‹hunter2!x›</password>", "<password><![CDATA[‹hunter2!x›]]></password>"]).leaves(&["<password>your password</password>", "<password></password>"]),
    lead("", r#"^["'](?: [^<>\n]*)?>\s{0,80}<(?i:value|string)>"#, Reads::UpTo('<')).before(r#"(?:name|key|id)=["'][A-Za-z0-9_.-]+$"#).finds(&["<setting name=\"ApiSecret\" serializeAs=\"String\"><value>‹n4Xq8Lr2Vt6Zw0Bd›</value></setting>"]).leaves(&["<setting name=\"ApiSecret\"><value>changeme</value></setting>", "<setting name=\"ApiSecret\"><value></value></setting>"]),
    lead(">", r#"^["'](?: [^<>\n]*)?>"#, Reads::UpTo('<')).before(r#"(?:name|key|id)=["'][A-Za-z0-9_.-]+$"#).finds(&["<string name=\"api_key\">‹a8f5f167f44f4964e6c998de›</string>"]).leaves(&["<string name=\"api_key\">Your API key</string>", "<a id=\"token\">see below</a>"]),
    lead("<", r"^</(?:[a-z]+:)?(?i:name|key|property|param-name|entry-key|string|field|th|td|dt|b|strong|label)>\s{0,80}<(?:[a-z]+:)?(?i:value|string|val|param-value|data|td|dd|code)(?: [^<>\n]{0,80})?>(?:<!\[CDATA\[)?", Reads::UpTo('<'))
        .finds(&["<name>javax.ConnectionPassword</name>\n  <value>‹hunter2!x›</value>", "<key>ApiPassword</key><string>‹Orchid99›</string>", "<td>Password</td><td>‹Orchid99›</td>"]).leaves(&["<name>db.password</name>\n  <value></value>", "<td>Password</td><td>required</td>", "<label>Password</label><input>"]),
    // Lists of names and values.
    lead("\nv", r#"^["']?\s{1,40}value: *[|>][+-]?[0-9]?[+-]?[ \t]*\r?\n"#, Reads::Block).finds(&["- name: API_TOKEN\n  value: |\n    ‹n4Xq8Lr2Vt6Zw0Bd›\n"]).leaves(&["- name: API_TOKEN\n  value: |\n    The token that you were sent.\n"]),
    lead(",\nvnts{", r#"^{gap}(?:,[\s"'\\]{0,40}|[\s"'\\]{1,40}(?:#[^\n]{0,80}\n[ \t]*)?)(?:(?:type|sensitive|secret|secure|overwrite|kind|description)["']?\s*[:=]\s*["']?[A-Za-z ]*["']?,?\s*["']?){0,2}(?i:(?:parameter)?value|val)["'\\ ]*[:=]"#, Reads::Any)
        .finds(&["- name: DB_PASSWORD\n  value: ‹hunter2!x›\n", "{name: DB_PASSWORD, value: ‹hunter2!x›}", "<add key=\"MailPassword\" value=\"‹Orchid99›\" />"]).leaves(&["- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      key: password\n"]),
    lead(",", r#"^{apart},[ \\]*()["']"#, Reads::Listed).finds(&["define('DB_PASSWORD', '‹Orchid99›');", "os.getenv(\"DB_PASSWORD\", \"‹Orchid99›\")"]).leaves(&["[\"password\", \"token\"]"]),
    lead(",", "^,", Reads::Cell([',', ';'])).before(BEGINS).finds(&["webhook_secret,‹n4Xq8Lr2Vt6Zw0Bd›\n"]).leaves(&["webhook_secret,string\n", "password,required,8\n"]),
    lead("|", r"^{gap}\|", Reads::Cell(['|', '|'])).finds(&["| `API_TOKEN` | `‹n4Xq8Lr2Vt6Zw0Bd›` |"]).leaves(&["| password | string |"]),
    // Calls.
    lead("(", r#"^\(()["'\\]"#, Reads::Quoted).before(r"\.(?i:password)$|(?:^|[^A-Za-z0-9_])(?:[A-Za-z0-9_-]*\.)?(?:set|with)[A-Za-z0-9_]*$").finds(&["client.setPassword(\"‹Orchid99›\")"]).leaves(&["client.setPassword(\"password\")", "client.setPassword(\"\")"]),
    lead("(", r#"^\(()["'\\]"#, Reads::Called).finds(&["Password(\"‹Orchid99!›\")"]).leaves(&["t(\"Your password\")", "password(\"confirm\")"]),
    lead(")", r"^{apart}\)\.[A-Za-z0-9_.-]+\(", Reads::Called).finds(&["page.locator('#password').fill('‹Orchid99›')"]).leaves(&["page.locator('#password').fill('changeme')", "page.locator('#password').toBeVisible('soon')"]),
    // Side by side.
    lead("", r#"^\*?[ \t]+()["']"#, Reads::Quoted).before(r"(?:^|[\n (>;&])(?:setx|setenv|setq|setq-default|setf|defvar|defconst|defparameter|defcustom|define|def|set!|set|export|-gx|-x|-Ux|ENV|ARG)(?:[ \t]+[-/][^ \t\n]+)*[ \t]+\*?[A-Za-z0-9_.-]+$")
        .finds(&["C:\\> setx API_SECRET \"‹bdhPGsN=hf5HAD-Gd+z+HuO›\"", "(setq mail-api-key \"‹K3str3l-kestrel!58›\")", "setx /M DB_PASSWORD \"‹Orchid99›\""]).leaves(&["(defvar my-password \"Your password\")", "setx API_SECRET \"%1\""]),
    lead("", r#"^[ \t][\\\] \t*]*()["'`]"#, Reads::Called).finds(&["ALTER ROLE ada PASSWORD '‹Orchid99›';"]).leaves(&["ALTER ROLE ada PASSWORD 'changeme';", "the password 'field' of the form"]),
    lead("", r#"^[ \t]+([^ \t\n]+ = )""#, Reads::Quoted).finds(&["var pwd string = \"‹Orchid99›\""]).leaves(&["var pwd string = \"changeme\"", "var token string = \"\""]),
    lead("-", r"^{gap}[ \t](?:--body|-b|--value|--data)[ =]", Reads::Any).finds(&["gh secret set API_KEY --body ‹n4Xq8Lr2Vt6Zw0Bd›"]).leaves(&["gh secret set API_KEY --body \"$KEY\"", "gh secret set API_KEY --body <value>"]),
    lead("", r"^{gap}[ \t]+", Reads::LastOfCommand).before(r"(?:^|[\n \t])(?:-gx|-x|-Ux|ENV|ARG|setenv|setx|set|put)(?:[ \t][^\n]*)?[ \t]\S*$").finds(&["set -gx MAIL_PASSWORD ‹Orchid9!›", "ENV SIGNING_KEY ‹n4Xq8Lr2Vt6Zw0Bd›"]).leaves(&["set -gx MAIL_PASSWORD $argv[1]", "ENV SIGNING_KEY changeme"]),
    lead("", r"^[ \t]+", Reads::Bare).before(r"(?:^|[^A-Za-z0-9_.-])-[A-Za-z0-9_.-]*$|login\s+\S+\s+password$").finds(&["psql --username ada --password ‹Orchid#99› app"]).leaves(&["--password-file /run/secrets/db"]),
    lead("", r"^[ \t]+", Reads::LastOfLine).before(BEGINS).finds(&["requirepass ‹orchid99x›"]).leaves(&["requirepass changeme", "password reset"]),
];
