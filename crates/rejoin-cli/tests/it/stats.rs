//! `rejoin stats`: sums by project, by model and by day.

use serde_json::{Value as Json, json};

use crate::world::{Outcome, World};

#[test]
fn an_empty_project_says_where_to_look() {
    let world = World::new();

    let outcome = world.rejoin(["stats"]).run();

    let expected = Outcome {
        stdout: "No conversations in this project yet.\n".to_owned(),
        stderr: "To count all of them: rejoin stats --all-projects\n".to_owned(),
        code: 0,
    };
    assert_eq!((outcome, world.store().exists()), (expected, false));
}

#[test]
fn a_person_sees_totals_models_and_days() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?", "And to sleep?"]);
    world.sql("UPDATE conversation SET bytes = 1");
    let stats = world.archive().reader().stats(None, &mut |_| ()).unwrap();
    let (day, bytes) = (stats.by_day.keys().next().unwrap(), stats.all.bytes);

    let outcome = world.rejoin(["stats"]).run();

    let expected = format!(
        "1 conversation, 2 messages, {bytes} B, 4 tokens in, 6 out

provider (model)  conversations  messages   size  tokens in  out
offline (echo)                1         2  {bytes} B          4    6

messages a day, in UTC
{day}  2  ########################################
"
    );
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn a_program_gets_the_same_numbers() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.talk("Porto", &["Where to sleep?"]);
    let stats = world.archive().reader().stats(None, &mut |_| ()).unwrap();
    let (day, bytes) = (stats.by_day.keys().next().unwrap(), stats.all.bytes);

    let outcome = world.rejoin(["stats", "--all-projects", "--json"]).run();

    let sums = |name: &str, value: &str| {
        let mut row = json!({
            "conversations": 2, "messages": 2, "bytes": bytes, "input_tokens": 4, "output_tokens": 6,
        });
        if !name.is_empty() {
            row[name] = json!(value);
        }
        row
    };
    let expected = json!({
        "all": sums("", ""),
        "summaries": {"requests": 0, "input_tokens": 0, "output_tokens": 0},
        "by_project": [sums("project", "[world]/project")],
        "by_model": [sums("model", "offline (echo)")],
        "by_day": [sums("day", day)],
    });
    assert_eq!(serde_json::from_str::<Json>(&outcome.stdout).unwrap(), expected);
}

#[test]
fn another_project_is_counted_only_when_asked() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    std::fs::create_dir_all(world.path("other/.git")).unwrap();

    let here = world.rejoin(["stats", "--json"]).from("other").run();
    let everywhere = world.rejoin(["stats", "--json", "--all-projects"]).from("other").run();

    let count =
        |outcome: &Outcome| serde_json::from_str::<Json>(&outcome.stdout).unwrap()["all"]["messages"].clone();
    assert_eq!([count(&here), count(&everywhere)], [json!(0), json!(1)]);
}
