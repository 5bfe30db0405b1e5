//! How long conversations are kept is asked when the prompt first opens. Nothing expires before the answer.

use rejoin::Retention;

use super::{POLICY, left, talk};
use crate::terminal::Terminal;
use crate::world::World;

/// The program where nobody has decided yet; a terminal of these tests is one of somebody who has.
const UNDECIDED: &str = "env -u REJOIN_RETENTION_ACCEPTED rejoin";

const CONFIG: &str = "home/.config/rejoin/config.toml";

const REFUSED: &str = "the retention policy was never confirmed in a terminal";

/// A conversation that is due by the default, and one that is not.
fn old_and_new(world: &World) {
    talk(world, "Old", 31);
    talk(world, "New", 0);
}

/// The titles that are left, without the conversations that the prompts began.
fn talks_left(world: &World) -> Vec<String> {
    left(world).into_iter().filter(|title| title != "untitled").collect()
}

fn is_seen(world: &World) -> bool {
    world.archive().retention().has_seen(&POLICY).unwrap()
}

/// Opens the prompt and waits until it asks.
fn asked(terminal: &Terminal<'_>) {
    terminal.enter(UNDECIDED);
    terminal.wait_for("d 30 days, f forever, c choose, Esc later");
}

/// Uses the prompt and leaves it.
fn go_on_and_leave(terminal: &Terminal<'_>) {
    terminal.wait_for_last(">");
    terminal.enter("/help");
    terminal.wait_for("/rewind");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    terminal.key("C-l");
    terminal.wait_until("an empty screen", |screen| screen.trim() == "$");
}

/// Opens the prompt again, which does not ask, and returns what it shows.
fn opened_again(terminal: &Terminal<'_>) -> String {
    terminal.enter(UNDECIDED);
    let shown = terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    shown
}

#[test]
fn nothing_expires_before_the_answer_and_it_is_asked_again() {
    let world = World::new();
    old_and_new(&world);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    for key in ["Escape", "C-c"] {
        asked(&terminal);
        terminal.press(key);
        terminal.wait_for("you are asked again next time");
        go_on_and_leave(&terminal);
    }
    let expire = world.rejoin(["expire"]).run();

    assert!(expire.stderr.contains(REFUSED), "{expire:?}");
    assert_eq!((is_seen(&world), world.path(CONFIG).exists()), (false, false));
    assert_eq!(talks_left(&world), ["New", "Old"]);
}

#[test]
fn the_default_is_kept_to_from_the_next_start_on_and_not_asked_again() {
    let world = World::new();
    old_and_new(&world);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    asked(&terminal);
    terminal.press("d");
    terminal.wait_for("1 conversation would be deleted next time");
    go_on_and_leave(&terminal);
    let (config, after_answer) = (world.read(CONFIG), talks_left(&world));
    let again = opened_again(&terminal);

    assert_eq!(config, "[retention]\ndays = 30\naccepted = 30\n");
    assert_eq!((after_answer, talks_left(&world)), (vec!["New".into(), "Old".into()], vec!["New".into()]));
    assert!(!again.contains("Esc later"), "{again}");
}

#[test]
fn who_keeps_everything_is_not_asked_again() {
    let world = World::new();
    old_and_new(&world);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    asked(&terminal);
    terminal.press("f");
    terminal.wait_for("Conversations are kept forever.");
    go_on_and_leave(&terminal);
    let again = opened_again(&terminal);

    assert_eq!(world.read(CONFIG), "[retention]\ndays = \"forever\"\naccepted = \"forever\"\n");
    assert!(!again.contains("Esc later"), "{again}");
    assert_eq!(talks_left(&world), ["New", "Old"]);
}

#[test]
fn a_number_of_days_can_be_chosen() {
    let world = World::new();
    world.user_config("# mine\nlog = \"off\"\n");
    old_and_new(&world);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    asked(&terminal);
    terminal.press("c");
    terminal.wait_for("Days:");
    terminal.enter("3");
    terminal.wait_for("It must be a whole number from 7 to 180");
    terminal.enter("60");
    terminal.wait_for("Conversations are deleted 60 days after they were last used");
    go_on_and_leave(&terminal);
    let again = opened_again(&terminal);

    let expected = "# mine\nlog = \"off\"\n\n[retention]\ndays = 60\naccepted = 60\n";
    assert_eq!((world.read(CONFIG).as_str(), is_seen(&world)), (expected, false));
    let chosen = Retention { days: Some(60), ..POLICY };
    assert!(world.archive().retention().has_seen(&chosen).unwrap());
    assert!(!again.contains("Esc later"), "{again}");
    assert_eq!(talks_left(&world), ["New", "Old"]);
}

#[test]
fn keys_that_were_typed_before_do_not_answer() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    terminal.enter(UNDECIDED);
    terminal.letters("dfd");
    terminal.wait_for("Esc later");
    terminal.press("Escape");
    terminal.wait_for("you are asked again next time");

    assert!(!world.path(CONFIG).exists());
}

#[test]
fn who_does_not_open_the_prompt_or_has_decided_is_not_asked() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    for (arguments, sign) in [("--quiet", ">"), ("--incognito", "incognito>")] {
        terminal.enter(&format!("{UNDECIDED} {arguments}"));
        terminal.wait_for_last(sign);
        terminal.enter("/quit");
        terminal.wait_for_last("$");
    }
    terminal.enter(&format!("{UNDECIDED} 'Where to eat?'; echo said"));
    terminal.wait_for("\nsaid");
    world.user_config("retention.days = 30\n");
    terminal.enter(UNDECIDED);
    terminal.wait_for("Conversations are deleted 30 days after they were last used");
    let screen = terminal.wait_for_last(">");

    assert!(!screen.contains("Esc later"), "{screen}");
}

#[test]
fn a_script_accepts_a_policy_with_a_key() {
    let world = World::new();
    old_and_new(&world);

    world.rejoin(["config", "set", "retention.accepted", "30"]).run();
    let outcome = world.rejoin(["expire"]).run();

    assert!(outcome.stdout.starts_with("1 conversation expired and deleted, "), "{outcome:?}");
    assert_eq!(left(&world), ["New"]);
}

#[test]
fn the_key_accepts_the_days_that_it_names_and_no_other_policy() {
    let world = World::new();
    old_and_new(&world);
    let expire = |config: &str| {
        world.user_config(config);
        world.rejoin(["expire"]).run().stderr.contains(REFUSED)
    };

    let refused = [
        expire("retention.accepted = 60\n"),
        expire("[retention]\ndays = 7\naccepted = 30\n"),
        expire("[retention]\naccepted = 30\nmax_per_project = 1\n"),
        expire("retention.accepted = \"forever\"\n"),
    ];

    assert_eq!((refused, left(&world).len()), ([true; 4], 2));
}

#[test]
fn a_project_does_not_accept_a_policy_for_its_user() {
    let world = World::new();
    old_and_new(&world);
    world.project_config("[retention]\ndays = 7\naccepted = 7\n");
    world.rejoin(["trust", "--yes"]).run();

    let outcome = world.rejoin(["expire"]).run();

    assert!(outcome.stderr.contains(REFUSED), "{outcome:?}");
    assert_eq!(left(&world).len(), 2);
}
