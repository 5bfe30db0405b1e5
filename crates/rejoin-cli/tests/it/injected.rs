//! Text that programs put into messages in the user's name: folded wherever messages are shown.

use std::path::Path;

use rejoin::List;

use crate::world::World;

/// Imports a history that agents wrote, and returns the ids of its conversations.
fn imported(world: &World, fixture: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rejoin/tests/fixtures").join(fixture);
    let outcome = world.rejoin(["import", path.to_str().unwrap()]).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let listed = world.archive().list(&List::default()).unwrap();
    listed.items.iter().map(|stored| stored.id.to_string()).collect()
}

#[test]
fn the_context_that_an_agent_adds_is_no_title_and_no_preview() {
    let world = World::new();
    imported(&world, "codex/compacted-0.166.jsonl");
    imported(&world, "claude/compacted-2.1.326");

    let listed = world.archive().list(&List::default()).unwrap().items;

    let shown: Vec<_> = listed.iter().map(|stored| (stored.title(), stored.first.as_str())).collect();
    let is_added = |text: &str| text.contains('<') || text.contains("Caveat");
    assert!(!shown.iter().any(|(title, first)| is_added(title) || is_added(first)), "{shown:?}");
    assert!(shown.contains(&("question one", "question one")), "{shown:?}");
}

#[test]
fn show_and_tree_fold_it_and_full_shows_it() {
    let world = World::new();
    let id = imported(&world, "codex/compacted-0.166.jsonl").remove(0);

    let folded = world.rejoin(["show", &id]).run().stdout;
    let whole = world.rejoin(["show", &id, "--full"]).run().stdout;
    let tree = world.rejoin(["tree", &id]).run().stdout;
    let script = world.rejoin(["show", &id, "--json"]).run().stdout;

    let lines = [
        "\n  [skills, 2.0 kB; --full shows it]\n  [permissions, 362 B; --full shows it]\n",
        "\n  [environment context, 391 B; --full shows it]\n",
    ];
    assert!(lines.iter().all(|line| folded.contains(line)) && !folded.contains("<cwd>"), "{folded}");
    assert!(whole.contains("<skills_instructions>") && whole.contains("<cwd>"), "{whole}");
    assert!(tree.contains("[USER] [environment context, 391 B]\n") && !tree.contains("<cwd>"), "{tree}");
    assert!(script.contains("<cwd>"), "{script}");
}

#[test]
fn a_search_that_finds_it_folds_it() {
    let world = World::new();
    imported(&world, "codex/compacted-0.166.jsonl");

    let found = world.rejoin(["search", "current_date", "--all-projects", "--json"]).run().json();

    let snippets: Vec<_> = found["items"].as_array().unwrap().iter().map(|hit| &hit["snippet"]).collect();
    assert!(snippets.contains(&&"[environment context, 391 B]".into()), "{snippets:?}");
    assert!(snippets.iter().all(|snippet| !snippet.as_str().unwrap().contains("<cwd>")), "{snippets:?}");
}

#[test]
fn pages_fold_it() {
    let world = World::new();
    let id = imported(&world, "codex/compacted-0.166.jsonl").remove(0);
    let written = |format: &str| {
        let file = world.path(format!("page.{format}")).to_str().unwrap().to_owned();
        let outcome = world.rejoin(["export", &id, "--format", format, "--output", &file]).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        world.read(&format!("page.{format}"))
    };

    let (page, text) = (written("html"), written("markdown"));

    assert!(
        page.contains("<details class=\"thinking\"><summary>environment context · 391 bytes</summary>"),
        "{page}"
    );
    assert!(text.contains("*environment context, 391 bytes*") && !text.contains("cwd"), "{text}");
}

#[test]
fn an_interrupted_reply_is_marked_wherever_it_is_shown() {
    let world = World::new();
    world.started("Lisbon");
    world.append(
        "lisbon",
        "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n{\"role\":\"assistant\",\"content\":\"In Alf\",\"finish\":\"interrupted\"}\n",
    );

    let shown = world.rejoin(["show", "lisbon"]).run().stdout;
    let tree = world.rejoin(["tree", "lisbon"]).run().stdout;
    let page = world.path("page.md").to_str().unwrap().to_owned();
    world.rejoin(["export", "lisbon", "--format", "markdown", "--output", &page]).run();
    let listed = world.rejoin(["list"]).run().stdout;

    assert!(shown.contains("[ASSISTANT] interrupted\n  In Alf\n"), "{shown}");
    assert!(tree.contains("[ASSISTANT] (interrupted) In Alf\n"), "{tree}");
    assert!(world.read("page.md").contains(" · interrupted\n"), "{}", world.read("page.md"));
    assert!(listed.contains("Lisbon (interrupted)\n"), "{listed}");
}
