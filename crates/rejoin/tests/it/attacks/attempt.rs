//! Attempts to break a rule, each tried twice: on the guarded program, where it must fail, and
//! on its control, where it must succeed.
//!
//! The control is the same attempt without the guard: a naive reader, a plain `git`, a weakened call. An
//! attempt whose control fails proves nothing, so it fails the test as well.

/// What an attempt is made against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The program or the function as users have it.
    Guarded,
    /// The same task without the guard.
    Control,
}

/// One way to break the rule of a heading.
pub(crate) struct Attempt<'a> {
    name: &'a str,
    succeeds: Box<dyn Fn(Target) -> bool + 'a>,
}

impl<'a> Attempt<'a> {
    /// An attempt by name, and whether it reaches its goal on a target.
    pub(crate) fn new(name: &'a str, succeeds: impl Fn(Target) -> bool + 'a) -> Self {
        Self { name, succeeds: Box::new(succeeds) }
    }
}

/// Asserts that no attempt succeeds, and that each would without the guard.
pub(crate) fn assert_all_fail(attempts: &[Attempt<'_>]) {
    let named = |target, wanted: bool| {
        let kept = attempts.iter().filter(|attempt| (attempt.succeeds)(target) == wanted);
        kept.map(|attempt| attempt.name).collect::<Vec<_>>()
    };

    let broken = named(Target::Guarded, true);
    let pointless = named(Target::Control, false);

    assert_eq!(
        (broken, pointless),
        (Vec::new(), Vec::new()),
        "(attempts that succeeded, controls that failed)"
    );
}

#[test]
fn an_attempt_that_does_what_it_should_is_accepted() {
    assert_all_fail(&[Attempt::new("holds", |target| target == Target::Control)]);
}

#[test]
#[should_panic(expected = r#"(["breaks"], ["proves nothing"])"#)]
fn an_attempt_that_succeeds_or_proves_nothing_is_named() {
    assert_all_fail(&[Attempt::new("breaks", |_| true), Attempt::new("proves nothing", |_| false)]);
}
