//! Completion: what `rejoin __complete` offers, and that real shells offer it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::skip::skip;
use crate::world::World;

/// What a shell is offered for the last of these words.
fn offered(world: &World, shell: &str, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let line: Vec<&str> =
        ["__complete", shell, &index, "rejoin"].into_iter().chain(words.iter().copied()).collect();
    let output = world.program(&line).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn with_two() -> (World, [String; 2]) {
    let world = World::new();
    let ids = ["Trip to Lisbon", "Trip to Rome"].map(|title| {
        let id = world.started(title);
        crate::world::short(&id)
    });
    (world, ids)
}

#[test]
fn conversations_are_offered_by_short_id_with_their_titles() {
    let (world, [lisbon, rome]) = with_two();

    let zsh = offered(&world, "zsh", &["show", ""]);
    let fish = offered(&world, "fish", &["show", ""]);

    assert_eq!(zsh, [format!("{rome}:Trip to Rome"), format!("{lisbon}:Trip to Lisbon")]);
    assert_eq!(fish, [format!("{rome}\tTrip to Rome"), format!("{lisbon}\tTrip to Lisbon")]);
}

#[test]
fn a_shell_without_descriptions_offers_titles_and_ids_that_were_begun() {
    let (world, [lisbon, _]) = with_two();

    let all = offered(&world, "bash", &["resume", ""]);
    let titles = offered(&world, "bash", &["-r", "trip-to-l"]);
    let ids = offered(&world, "bash", &["export", &lisbon[..5]]);

    assert_eq!(
        (all, titles),
        (vec!["trip-to-rome".to_owned(), "trip-to-lisbon".to_owned()], vec!["trip-to-lisbon".to_owned()])
    );
    assert_eq!(ids, [lisbon]);
}

#[test]
fn branches_models_providers_and_settings_are_offered() {
    let world = World::new();
    world.started("Lisbon");
    let ids = world.append("lisbon", "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n");
    let branch = world.rejoin(["fork", &ids[0], "--title", "On a budget", "--json"]).run().json();
    world.user_config(
        "[providers.mine]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1\"\nmodel = \"small:8b\"\n",
    );

    let offers = [
        offered(&world, "fish", &["show", "lisbon", "--branch", ""]),
        offered(&world, "bash", &["--model", ""]),
        offered(&world, "bash", &["--model=sm"]),
        offered(&world, "bash", &["--model", "=", "sm"]),
        offered(&world, "zsh", &["--model", "sm"]),
        offered(&world, "bash", &["provider", "set", "mi"]),
        offered(&world, "bash", &["config", "get", "retention.d"]),
        offered(&world, "bash", &["export", "--format", "ht"]),
    ];

    let branch = format!("{}\tOn a budget", branch["branch"]["id"].as_str().unwrap());
    let expected: [&[&str]; 8] = [
        &[&branch],
        &["small:8b"],
        &["--model=small:8b"],
        &["small:8b"],
        &["small\\:8b"],
        &["mine"],
        &["retention.days"],
        &["html"],
    ];
    assert_eq!(
        offers,
        expected.map(|offers| offers.iter().map(|&offer| offer.to_owned()).collect::<Vec<_>>())
    );
}

#[test]
fn commands_and_options_are_offered() {
    let world = World::new();

    let offers = [
        offered(&world, "bash", &["ex"]),
        offered(&world, "bash", &["vault", "add"]),
        offered(&world, "bash", &["export", "--form"]),
        offered(&world, "bash", &["help", "vault", "rot"]),
        offered(&world, "bash", &["list", "--", "x"]),
    ];

    let expected: [&[&str]; 5] = [&["expire", "export"], &["add-slot"], &["--format"], &["rotate"], &[]];
    assert_eq!(
        offers,
        expected.map(|offers| offers.iter().map(|&offer| offer.to_owned()).collect::<Vec<_>>())
    );
}

#[test]
fn what_a_shell_would_run_is_not_offered() {
    let world = World::new();
    world.started("a $(reboot) `x`");
    world.user_config("[models.\"$(reboot)\"]\ncontext_window = 8192\n");

    let offers = [offered(&world, "bash", &["--model", ""]), offered(&world, "bash", &["show", "a-re"])];

    assert_eq!(offers, [Vec::<String>::new(), vec!["a-reboot-x".to_owned()]]);
}

#[test]
fn a_locked_vault_and_a_broken_configuration_offer_nothing_and_ask_nothing() {
    let vault = World::new();
    vault.write("secret.txt", "correct horse battery\n");
    fs::set_permissions(vault.path("secret.txt"), Permissions::from_mode(0o600)).unwrap();
    let secret = vault.path("secret.txt").display().to_string();
    let made = vault.rejoin(["--passphrase-file", &secret, "vault", "init", "--slot", "passphrase"]).run();
    assert_eq!(made.code, 0, "{made:?}");
    let broken = World::new();
    broken.user_config("[");

    let offers = [offered(&vault, "bash", &["show", ""]), offered(&broken, "bash", &["show", ""])];

    assert_eq!(offers, [Vec::<String>::new(), Vec::new()]);
}

/// A script for a shell that loads the completion of `rejoin` and prints what it offers.
fn in_shell(world: &World, shell: &str, arguments: &[&str], script: &str) -> Option<Vec<String>> {
    let completions = world.rejoin(["completions", shell]).run().stdout;
    world.write("completions", &completions);
    let binary = env!("CARGO_BIN_EXE_rejoin");
    let text = script
        .replace("[script]", &world.path("completions").display().to_string())
        .replace("[rejoin]", binary);
    let output = Command::new(shell)
        .args(arguments)
        .arg("-c")
        .arg(text)
        .env_clear()
        .env("HOME", world.path("home"))
        .env("PATH", "/usr/bin:/bin")
        .current_dir(world.path("project"))
        .output();
    match output {
        Err(_) => {
            skip(&format!("`{shell}` is not installed, so its completion is not tested"));
            None
        }
        Ok(output) => {
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
            Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
        }
    }
}

#[test]
fn bash_completes_conversations() {
    let (world, _) = with_two();
    let script = "source [script]; COMP_WORDS=([rejoin] show trip-to-l); COMP_CWORD=2; _rejoin; printf '%s\\n' \"${COMPREPLY[@]}\"";

    let offered = in_shell(&world, "bash", &["--norc"], script);

    assert_eq!(offered.unwrap_or_default(), ["trip-to-lisbon"]);
}

#[test]
fn zsh_completes_conversations_with_their_titles() {
    let (world, [lisbon, rome]) = with_two();
    let script = "compdef() { }; source [script]; _describe() { print -l -- \"${(@P)3}\" }; \
                  words=([rejoin] show ''); CURRENT=3; _rejoin";

    let offered = in_shell(&world, "zsh", &["-f"], script);

    let Some(offered) = offered else { return };
    assert_eq!(offered, [format!("{rome}:Trip to Rome"), format!("{lisbon}:Trip to Lisbon")]);
}

#[test]
fn fish_completes_conversations_with_their_titles() {
    let (world, [lisbon, rome]) = with_two();
    let script = "function rejoin; [rejoin] $argv; end; source [script]; complete -C 'rejoin show '";

    let offered = in_shell(&world, "fish", &["--no-config"], script);

    let Some(offered) = offered else { return };
    assert_eq!(offered, [format!("{rome}\tTrip to Rome"), format!("{lisbon}\tTrip to Lisbon")]);
}
