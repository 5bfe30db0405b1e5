//! Patterns for paths and names: `*` and `?` within a name, `**` across
//! directories, `\` before a plain character.

/// A pattern, cut at its slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    segments: Vec<GlobSegment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum GlobSegment {
    /// `**`: any number of names.
    Deep,
    Name(Vec<GlobPiece>),
}

/// A part of a pattern for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobPiece {
    Is(char),
    /// One character, whichever.
    One,
    /// Any characters, or none.
    Any,
}

/// Whether a pattern is taken by the letter, to allow, or as wide as it may be meant, to deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternReach {
    /// A wildcard does not stand for what decides over the project itself.
    Narrow,
    /// What lies below a matched directory matches as well.
    Wide,
}

/// Directories whose content runs or configures programs; an allow rule has to name them.
const GUARDED: [&str; 2] = [".git", ".rejoin"];

impl Glob {
    pub(super) fn parse(text: &str) -> Self {
        let mut segments = vec![Vec::new()];
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            let piece = match letter {
                '/' => {
                    segments.push(Vec::new());
                    continue;
                }
                '*' => GlobPiece::Any,
                '?' => GlobPiece::One,
                '\\' => GlobPiece::Is(letters.next().unwrap_or('\\')),
                letter => GlobPiece::Is(letter),
            };
            segments.last_mut().expect("there is one from the start").push(piece);
        }
        let segment = |pieces: Vec<GlobPiece>| match pieces[..] {
            [GlobPiece::Any, GlobPiece::Any] => GlobSegment::Deep,
            _ => GlobSegment::Name(pieces),
        };
        Self { segments: segments.into_iter().map(segment).collect() }
    }

    /// The pattern that matches this text only.
    pub(super) fn escape(text: &str) -> String {
        let special = ['*', '?', '\\'];
        text.chars()
            .flat_map(|letter| special.contains(&letter).then_some('\\').into_iter().chain([letter]))
            .collect()
    }

    pub(super) fn matches(&self, path: &str, reach: PatternReach) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        matches(&self.segments, &names, reach)
    }
}

pub(super) fn is_guarded(path: &str) -> bool {
    path.split('/').any(|name| GUARDED.contains(&name))
}

fn matches(segments: &[GlobSegment], names: &[&str], reach: PatternReach) -> bool {
    match (segments, names) {
        ([], []) => true,
        ([], _) => reach == PatternReach::Wide,
        ([GlobSegment::Deep, rest @ ..], _) => {
            matches(rest, names, reach)
                || names.split_first().is_some_and(|(name, others)| {
                    (reach == PatternReach::Wide || !GUARDED.contains(name))
                        && matches(segments, others, reach)
                })
        }
        ([GlobSegment::Name(_), ..], []) => false,
        ([GlobSegment::Name(pieces), rest @ ..], [name, others @ ..]) => {
            let is_open = pieces.iter().any(|piece| matches!(piece, GlobPiece::Any | GlobPiece::One));
            let is_kept_back = reach == PatternReach::Narrow && is_open && GUARDED.contains(name);
            let letters: Vec<char> = name.chars().collect();
            !is_kept_back && name_matches(pieces, &letters) && matches(rest, others, reach)
        }
    }
}

/// Whether a pattern without slashes matches a name. It takes steps, not depth: a name may be very long.
pub(super) fn name_matches(pieces: &[GlobPiece], letters: &[char]) -> bool {
    let (mut piece, mut letter) = (0, 0);
    // Where to go on when what follows the last star does not fit.
    let mut again: Option<(usize, usize)> = None;
    while letter < letters.len() {
        match pieces.get(piece) {
            Some(GlobPiece::Any) => {
                again = Some((piece, letter));
                piece += 1;
                continue;
            }
            Some(GlobPiece::One) => {}
            Some(GlobPiece::Is(wanted)) if *wanted == letters[letter] => {}
            Some(GlobPiece::Is(_)) | None => {
                let Some((star, from)) = again else { return false };
                again = Some((star, from + 1));
                (piece, letter) = (star + 1, from + 1);
                continue;
            }
        }
        (piece, letter) = (piece + 1, letter + 1);
    }
    pieces[piece..].iter().all(|piece| *piece == GlobPiece::Any)
}
