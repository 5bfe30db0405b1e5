//! The command over a PostgreSQL server that the test starts.

#[expect(dead_code, reason = "the library's tests kill servers, too, and look into their files")]
#[path = "../../../rejoin/tests/it/postgres/server.rs"]
mod server;

use server::shared;

use crate::world::{Invocation, Outcome, World};

/// The words `store` and where it is, in the user's configuration.
fn configured(url: &str) -> World {
    let world = World::new();
    world.user_config(&format!("store = \"{url}\""));
    world
}

fn found(world: &World, word: &str) -> Vec<String> {
    let answer = world.rejoin(["search", word, "--all-projects", "--json"]).run().json();
    let hits = answer["items"].as_array().unwrap();
    hits.iter().map(|hit| hit["conversation"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_one_machine_stores_another_finds_until_it_is_purged() {
    let Some(server) = shared() else { return };
    let url = server.fresh_url();
    let [here, there] = [(); 2].map(|()| configured(&url));

    let stored = here.rejoin(["append", "Where should we eat in Lisbon?", "--json"]).run();
    let id = stored.json()["conversation"].as_str().unwrap().to_owned();
    let before = found(&there, "lisb");
    let purged = there.rejoin(["purge", &id, "--yes"]).run();

    assert_eq!(before, [id]);
    assert_eq!(purged.code, 0, "{}", purged.stderr);
    assert_eq!(found(&here, "lisb"), Vec::<String>::new());
}

#[test]
fn the_first_use_names_the_server() {
    let Some(server) = shared() else { return };
    let url = server.fresh_url();
    let world = configured(&url);

    let told = world.rejoin(["append", "Where should we eat?"]).run();

    let first = told.stderr.lines().next().unwrap_or_default();
    assert_eq!(first, format!("Conversations are kept in {url}"));
}

#[test]
fn doctor_looks_at_what_a_server_has() {
    let Some(server) = shared() else { return };
    let url = server.fresh_url();
    let world = configured(&url);
    world.rejoin(["append", "Where should we eat?"]).run();

    let checks = world.rejoin(["doctor", "--json"]).run().json()["checks"].clone();

    let of = |name: &str| {
        let check = checks.as_array().unwrap().iter().find(|check| check["name"] == name).unwrap();
        (check["state"].as_str().unwrap().to_owned(), check["message"].as_str().unwrap().to_owned())
    };
    let expected = [url.as_str(), "sound", "1 conversation, 1 message, 115 B, as written", "complete"];
    let expected = expected.map(|message| ("ok".to_owned(), message.to_owned()));
    assert_eq!(["store", "structure", "messages", "search index"].map(of), expected);
}

#[test]
fn doctor_names_a_server_that_does_not_answer() {
    let world = configured("postgres://ann@127.0.0.1:1/history");

    let outcome = world.rejoin(["doctor", "--json"]).run();

    let checks = outcome.json()["checks"].clone();
    let store = checks.as_array().unwrap().iter().find(|check| check["name"] == "store").unwrap().clone();
    assert_eq!((store["state"].as_str(), outcome.code), (Some("problem"), 1), "{store}");
    assert!(store["message"].as_str().unwrap().contains("no server answers at this address"), "{store}");
}

fn with_password(world: &World) -> Invocation<'_> {
    world.rejoin(["--store", "postgres://ann:s3cret-Pa55@127.0.0.1:1/history", "append", "Thanks for all"])
}

#[test]
fn a_password_in_an_argument_is_refused() {
    let refused: Outcome = with_password(&World::new()).run();

    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("PGPASSWORD") && !refused.stderr.contains("s3cret"),
        "{}",
        refused.stderr
    );
}

#[test]
fn no_command_shows_the_password_of_a_store() {
    let url = "postgres://ann:s3cret-Pa55@127.0.0.1:1/history";
    let world = configured(url);
    let commands: [&[&str]; 6] = [
        &["config", "get", "store"],
        &["config", "get", "store", "--json"],
        &["config", "list"],
        &["config", "list", "--json"],
        &["config", "set", "store", url],
        &["doctor"],
    ];

    let told = commands.map(|words| {
        let output = world.program(words).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    });

    assert!(told.iter().all(|told| !told.contains("s3cret")), "{told:?}");
    assert!(told[..4].iter().all(|told| told.contains("postgres://ann@127.0.0.1:1/history")), "{told:?}");
    assert!(world.read("home/.config/rejoin/config.toml").contains(url));
}
