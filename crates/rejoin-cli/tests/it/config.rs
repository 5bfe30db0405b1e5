//! The layers of the configuration, and the commands that show and change it.

use crate::world::{Outcome, World};

#[test]
fn each_layer_is_stronger_than_the_one_before_and_is_named() {
    let world = World::new();
    world.user_config("[limits]\nturn_bytes = \"2 MB\"\nconversation_bytes = \"2 GiB\"\n");
    world.project_config(
        "# ours\nlimits.conversation_bytes = \"3 GiB\"\nlimits.attachment_chunk_bytes = 65536\n",
    );
    world.rejoin(["trust", "--yes"]).run();

    let outcome = world
        .rejoin(["config", "list", "limits"])
        .variable("REJOIN_LIMITS_ATTACHMENT_CHUNK_BYTES", "2 MiB")
        .run();

    let expected = "\
limits.attachment_chunk_bytes  2 MiB  REJOIN_LIMITS_ATTACHMENT_CHUNK_BYTES
limits.conversation_bytes      3 GiB  [world]/project/.rejoin/config.toml:2
limits.turn_bytes              2 MB   [world]/home/.config/rejoin/config.toml:2
limits.wait_seconds            10     default
";
    assert_eq!(outcome, Outcome::answer(expected));
}

#[test]
fn a_flag_is_stronger_than_a_variable() {
    let world = World::new();

    let outcome = world
        .rejoin(["config", "get", "store", "--json", "--conversation-dir", "talk"])
        .variable("REJOIN_STORE", "memory:")
        .run();

    let expected = "{\"key\":\"store\",\"value\":\"jsonl:[world]/project/talk\",\"origin\":\"flag\",\
                    \"where\":\"--conversation-dir\"}\n";
    assert_eq!(outcome, Outcome::answer(expected));
}

#[test]
fn every_key_with_a_default_is_listed() {
    let world = World::new();

    let outcome = world.rejoin(["config", "list"]).run();

    // Columns are as wide as the temporary directory is long, so only single spaces are compared.
    let words: Vec<String> =
        outcome.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = "\
clean.older_than_days 7 default
compact.on_summary_failure abort default
compact.threshold 0.8 default
compact.user_tokens 20000 default
export.directory [world]/home/Downloads default
git.allow_plaintext false default
git.commit_sessions false default
limits.attachment_chunk_bytes 1 MiB default
limits.conversation_bytes 1 GiB default
limits.turn_bytes 10 MB default
limits.wait_seconds 10 default
log off default
persistence.enabled true default
persistence.on_error warn default
project.scope repository default
redact.enabled true default
redact.extra_patterns [] default
redact.pii [] default
retention.days 30 default
retention.max_per_project 100 default
retention.notice_days 5 default
server.listen 127.0.0.1:7171 default
session.auto_pause_minutes 5 default
session.files false default
snapshots.files true default
start.default new default
store sqlite:[world]/home/.local/share/rejoin/rejoin.db default
store.strict false default
tools.allow [] default
tools.ask [] default
tools.deny [] default
tools.run_seconds 120 default
vault.quarantine_days 7 default
vault.repack_every 5 default";
    assert_eq!(words.join("\n"), expected);
}

#[test]
fn directories_follow_the_base_directory_variables() {
    let world = World::new();
    world.write("home/elsewhere/rejoin/config.toml", "log = \"off\"\nstore = \"sqlite:~/trip.db\"\n");
    let elsewhere = world.path("home/elsewhere");

    let outcome = world
        .rejoin(["config", "get", "store"])
        .variable("XDG_CONFIG_HOME", elsewhere.to_str().unwrap())
        .run();

    assert_eq!(outcome, Outcome::answer("sqlite:[world]/home/trip.db\n"));
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_likely_name() {
    let world = World::new();
    world.user_config("# mine\n\n[retention]\ndayz = 30\n");

    let outcome = world.rejoin(["config", "list"]).run();

    let expected = "error: could not read `[world]/home/.config/rejoin/config.toml:4`: unknown key `retention.dayz`\n\
                    hint: did you mean `retention.days`?\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn a_value_out_of_range_is_refused_with_its_line() {
    let world = World::new();
    world.user_config("compact.threshold = 1.5\n");

    let outcome = world.rejoin(["config", "list"]).run();

    let expected = "error: could not read `compact.threshold` in `[world]/home/.config/rejoin/config.toml:1`: it must be a number from 0.1 to 1\n\
                    hint: correct the line, or run `rejoin config edit`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn broken_toml_is_refused_with_its_line() {
    let world = World::new();
    world.user_config("log = \"off\"\n[retention\ndays = 30\n");

    let outcome = world.rejoin(["config", "list"]).run();

    let expected = "error: could not read `[world]/home/.config/rejoin/config.toml:2`: unclosed table, expected `]`\n\
                    hint: correct the line, or run `rejoin config edit`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn a_variable_out_of_range_is_refused_by_name() {
    let world = World::new();

    let outcome = world.rejoin(["config", "list"]).variable("REJOIN_RETENTION_DAYS", "3").run();

    let expected = "error: could not read the variable `REJOIN_RETENTION_DAYS`: it must be a whole number from 7 to 180, or \"forever\"\n\
                    hint: correct it, or remove it with `unset REJOIN_RETENTION_DAYS`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn an_unknown_variable_is_a_warning_with_the_likely_name() {
    let world = World::new();

    let outcome = world.rejoin(["config", "get", "log"]).variable("REJOIN_RETENTION_DAY", "9").run();

    let stderr = "warning: the variable `REJOIN_RETENTION_DAY` means nothing to rejoin\n\
                  hint: did you mean `REJOIN_RETENTION_DAYS`?\n";
    assert_eq!(outcome, Outcome { stdout: "off\n".into(), stderr: stderr.into(), code: 0 });
}

#[test]
fn a_provider_without_a_kind_is_refused() {
    let world = World::new();
    world.user_config("[providers.local]\nbase_url = \"http://127.0.0.1:8080\"\n");

    let outcome = world.rejoin(["config", "list"]).run();

    let expected = "error: could not read `providers.local`, which has no `kind`: it is first named in `[world]/home/.config/rejoin/config.toml:2`\n\
                    hint: add `providers.local.kind`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn variables_of_a_program_are_never_shown() {
    let world = World::new();
    world.user_config("[mcp.servers.notes]\ncommand = \"notes\"\nenvironment = { TOKEN = \"s3cret\" }\n");

    let outcome = world.rejoin(["config", "list", "mcp"]).run();

    let expected = "\
mcp.servers.notes.command      notes                    [world]/home/.config/rejoin/config.toml:2
mcp.servers.notes.environment  {\"TOKEN\": \"[redacted]\"}  [world]/home/.config/rejoin/config.toml:3
";
    assert_eq!(outcome, Outcome::answer(expected));
}

#[test]
fn set_keeps_comments_and_creates_nothing_else() {
    let world = World::new();
    world.user_config("# mine\n[retention]\ndays = 90 # a season\n");

    let outcome = world.rejoin(["config", "set", "retention.days", "forever"]).run();

    let note = "Set retention.days to forever in [world]/home/.config/rejoin/config.toml\n\
                Conversations are kept forever.\n";
    assert_eq!(outcome, Outcome::note(note));
    let expected = "# mine\n[retention]\ndays = \"forever\" # a season\n";
    assert_eq!(world.read("home/.config/rejoin/config.toml"), expected);
}

#[test]
fn set_refuses_a_bad_value_before_writing() {
    let world = World::new();

    let outcome = world.rejoin(["config", "set", "retention.days", "3"]).run();

    let expected = "error: could not set `retention.days` to `3`: it must be a whole number from 7 to 180, or \"forever\"\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
    assert!(!world.path("home/.config").exists());
}

#[test]
fn set_refuses_what_would_leave_a_configuration_nobody_can_use() {
    let world = World::new();

    let outcome = world.rejoin(["config", "set", "providers.local.base_url", "http://127.0.0.1:8080"]).run();

    let expected = "error: could not read `providers.local`, which has no `kind`: it is first named in `[world]/home/.config/rejoin/config.toml:2`\n\
                    hint: add `providers.local.kind`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
    assert!(!world.path("home/.config").exists());
}

#[test]
fn set_repairs_a_value_that_is_out_of_range() {
    let world = World::new();
    world.user_config("retention.days = 3\n");

    let outcome = world.rejoin(["config", "set", "retention.days", "14"]).run();

    assert_eq!(outcome.code, 0);
    assert_eq!(world.read("home/.config/rejoin/config.toml"), "retention.days = 14\n");
}

#[test]
fn set_says_when_something_stronger_hides_the_value() {
    let world = World::new();

    let outcome = world.rejoin(["config", "set", "log", "info"]).variable("REJOIN_LOG", "off").run();

    let note = "Set log to info in [world]/home/.config/rejoin/config.toml\n\
                It is overridden here by off (REJOIN_LOG)\n";
    assert_eq!(outcome, Outcome::note(note));
}

#[test]
fn a_relative_store_set_for_the_user_is_fixed_where_it_was_named() {
    let world = World::new();

    world.rejoin(["config", "set", "store", "sqlite:trip.db"]).run();
    let outcome = world.rejoin(["config", "get", "store"]).from("home").run();

    assert_eq!(outcome, Outcome::answer("sqlite:[world]/project/trip.db\n"));
}

#[test]
fn get_offers_the_likely_key() {
    let world = World::new();

    let outcome = world.rejoin(["config", "get", "retentionDays"]).run();

    let expected = "error: unknown key `retentionDays`\nhint: did you mean `retention.days`?\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn path_prints_the_users_file_or_the_projects() {
    let world = World::new();
    world.write("project/src/main.rs", "");

    let outcomes = [
        world.rejoin(["config", "path"]).run(),
        world.rejoin(["config", "path", "--local"]).from("project/src").run(),
        world.rejoin(["config", "path", "--local", "--project", "../project/src"]).from("home").run(),
        world
            .rejoin(["config", "path", "--local"])
            .from("project/src")
            .variable("REJOIN_PROJECT_SCOPE", "directory")
            .run(),
    ];

    let expected = [
        "[world]/home/.config/rejoin/config.toml\n",
        "[world]/project/.rejoin/config.toml\n",
        "[world]/project/.rejoin/config.toml\n",
        "[world]/project/src/.rejoin/config.toml\n",
    ];
    assert_eq!(outcomes, expected.map(Outcome::answer));
}

#[test]
fn edit_checks_the_file_after_the_editor() {
    let world = World::new();
    world.write("editor", "#!/bin/sh\necho 'lgo = \"off\"' > \"$2\"\n");
    let editor = format!("sh {} --wait", world.path("editor").display());

    let outcome = world.rejoin(["config", "edit"]).variable("EDITOR", &editor).run();

    let expected = "error: could not read `[world]/home/.config/rejoin/config.toml:1`: unknown key `lgo`\n\
                    hint: did you mean `log`?\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn edit_starts_with_every_key_and_changes_nothing_by_itself() {
    let world = World::new();

    let outcome = world.rejoin(["config", "edit"]).variable("VISUAL", "true").run();

    assert_eq!(
        outcome,
        Outcome::note("The configuration is valid: [world]/home/.config/rejoin/config.toml\n")
    );
    assert!(world.read("home/.config/rejoin/config.toml").contains("\n# retention.days = 30\n"));
}
