//! Help: the first screen, all of it, and that of one command, long and short.

use insta::assert_snapshot;

use crate::screens::{run, screen};
use crate::world::World;

fn help(line: &str) -> String {
    screen(line, &run(&World::new(), line))
}

#[test]
fn the_first_screen() {
    assert_snapshot!(help("--help"));
}

#[test]
fn the_first_screen_is_the_same_however_it_is_asked_for() {
    let world = World::new();

    let screens = ["--help", "-h", "help"].map(|line| run(&world, line));

    assert!(screens.iter().all(|screen| *screen == screens[0]), "{screens:#?}");
}

#[test]
fn everything() {
    assert_snapshot!(help("help --all"));
}

#[test]
fn everything_is_the_same_however_it_is_asked_for() {
    let world = World::new();

    let screens = ["help --all", "--help --all", "-h --all", "--all --help"].map(|line| run(&world, line));

    assert!(screens.iter().all(|screen| *screen == screens[0]), "{screens:#?}");
}

#[test]
fn one_command() {
    assert_snapshot!(help("help purge"));
}

#[test]
fn one_command_is_explained_alike_by_help_and_by_its_option() {
    let world = World::new();

    let screens = ["help vault rotate", "vault rotate --help"].map(|line| run(&world, line).stdout);

    assert_eq!(screens[0].trim_end(), screens[1].trim_end());
}

#[test]
fn a_summary_of_one_command() {
    assert_snapshot!(help("export -h"));
}

#[test]
fn a_command_that_does_not_exist() {
    assert_snapshot!(help("help exprot"));
}
