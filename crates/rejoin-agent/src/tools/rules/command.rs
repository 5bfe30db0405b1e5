//! Shell commands, read two ways: as one program with plain words, or as every program that might run.
//!
//! An allow rule needs the first: whatever is not certainly one program with fixed words is not read at all.
//! A deny rule uses the second, which would rather see a program too many than one too few.

use crate::tools::rules::glob::GlobPiece;

/// Words of which a program's arguments are looked at as programs, too.
const WRAPPERS: [&str; 20] = [
    "sudo", "doas", "env", "command", "exec", "nohup", "nice", "ionice", "stdbuf", "xargs", "time",
    "timeout", "setsid", "builtin", "busybox", "find", "watch", "chroot", "unshare", "strace",
];

/// Programs whose arguments may be commands of their own.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "su", "eval"];

/// Words of the shell that stand before a command.
const RESERVED: [&str; 15] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "case", "esac", "!", "{", "}",
];

/// How deep commands inside commands are looked for.
const DEEPEST: usize = 8;

/// Words after a wrapper that are looked at as programs.
const FARTHEST: usize = 64;

/// A word of a command, or of a rule for one.
pub(super) type Word = Vec<GlobPiece>;

/// Whether `*` stands for anything, as in a rule, or is left to the shell, as in a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Star {
    Anything,
    Shell,
}

/// The words of a command that is one program with fixed arguments, and certainly nothing more.
pub(super) fn simple(text: &str) -> Option<Vec<String>> {
    let words = words(text, Star::Shell)?;
    let letter = |piece| match piece {
        GlobPiece::Is(letter) => letter,
        GlobPiece::One | GlobPiece::Any => unreachable!("wildcards were left to the shell"),
    };
    Some(words.into_iter().map(|word| word.into_iter().map(letter).collect()).collect())
}

/// The words of a text without any meaning to the shell beyond quotes.
pub(super) fn words(text: &str, star: Star) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let inside = quoted(&mut rest, letter)?;
                word.get_or_insert_default().extend(inside.chars().map(GlobPiece::Is));
            }
            '*' if star == Star::Anything => word.get_or_insert_default().push(GlobPiece::Any),
            // The first word with `=` sets a variable for the program.
            '=' if words.is_empty() => return None,
            '_' | '-' | '.' | '/' | ':' | ',' | '@' | '%' | '+' | '=' => {
                word.get_or_insert_default().push(GlobPiece::Is(letter));
            }
            _ if letter.is_alphanumeric() => word.get_or_insert_default().push(GlobPiece::Is(letter)),
            _ => return None,
        }
    }
    words.extend(word);
    let first = words.first()?;
    // A word of the shell begins something longer than one program.
    let is_reserved =
        RESERVED.iter().any(|reserved| first.iter().copied().eq(reserved.chars().map(GlobPiece::Is)));
    (!first.is_empty() && !is_reserved && !first.contains(&GlobPiece::Is('='))).then_some(words)
}

/// What stands between quotes, if the shell leaves it alone.
fn quoted(rest: &mut std::str::Chars<'_>, quote: char) -> Option<String> {
    let mut inside = String::new();
    loop {
        match rest.next()? {
            letter if letter == quote => return Some(inside),
            '$' | '`' | '\\' | '!' if quote == '"' => return None,
            letter if letter.is_control() => return None,
            letter => inside.push(letter),
        }
    }
}

/// A command written so that [`words`] reads the same words again, and a rule of it matches nothing else.
pub(super) fn join(words: &[String]) -> Option<String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:,@%+=".contains(letter);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(is_plain) {
            Some(word.clone())
        } else if !word.contains('\'') {
            Some(format!("'{word}'"))
        } else {
            (!word.contains(['"', '$', '`', '\\', '!'])).then(|| format!("\"{word}\""))
        }
    };
    words.iter().map(quote).collect::<Option<Vec<_>>>().map(|words| words.join(" "))
}

/// Every program that a command might run, with its words, as far as that can be told.
pub(super) fn parts(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    Scanner { rest: text.chars().collect(), at: 0, found: &mut found, depth: 0 }.scan();
    found
}

struct Scanner<'f> {
    rest: Vec<char>,
    at: usize,
    found: &'f mut Vec<Vec<String>>,
    depth: usize,
}

impl Scanner<'_> {
    fn scan(mut self) {
        let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
        let mut is_target = false;
        while let Some(letter) = self.next() {
            match letter {
                '\'' => word.get_or_insert_default().push_str(&self.until('\'')),
                '"' => {
                    let inside = self.double_quoted();
                    word.get_or_insert_default().push_str(&inside);
                }
                '\\' => match self.next() {
                    None | Some('\n') => {}
                    Some(letter) => word.get_or_insert_default().push(letter),
                },
                '`' => self.substitution('`'),
                '$' if self.peek() == Some('(') => {}
                '$' if self.peek() == Some('\'') => {}
                '#' if word.is_none() => {
                    self.until('\n');
                    self.keep(std::mem::take(&mut words));
                }
                ' ' | '\t' | '\r' | '<' | '>' | ';' | '&' | '|' | '(' | ')' | '\n' => {
                    // A number before a redirection names the stream.
                    let is_stream = |word: &String| {
                        "<>".contains(letter) && word.chars().all(|digit| digit.is_ascii_digit())
                    };
                    if let Some(word) = word.take()
                        && !std::mem::take(&mut is_target)
                        && !is_stream(&word)
                    {
                        words.push(word);
                    }
                    match letter {
                        '<' | '>' => is_target = true,
                        // `>&1` and `>|file` go on with the redirection.
                        '&' | '|' if is_target => {}
                        ' ' | '\t' | '\r' => {}
                        _ => {
                            is_target = false;
                            self.keep(std::mem::take(&mut words));
                        }
                    }
                }
                letter => word.get_or_insert_default().push(letter),
            }
        }
        if !is_target {
            words.extend(word);
        }
        self.keep(words);
    }

    /// Takes note of a command, and of the commands in its words.
    fn keep(&mut self, mut words: Vec<String>) {
        while words.first().is_some_and(|first| RESERVED.contains(&first.as_str()) || is_assignment(first)) {
            words.remove(0);
        }
        let Some(first) = words.first() else { return };
        let name = base(first).to_owned();
        if WRAPPERS.contains(&name.as_str()) {
            self.found.extend((1..words.len().min(FARTHEST)).map(|from| words[from..].to_vec()));
            let inner: Vec<String> = words[1..].iter().filter(|word| word.contains(' ')).cloned().collect();
            inner.iter().for_each(|text| self.inside(text));
        }
        if SHELLS.contains(&name.as_str()) || words.iter().any(|word| SHELLS.contains(&base(word))) {
            self.inside(&words[1..].join(" "));
            words[1..].to_vec().iter().for_each(|word| self.inside(word));
        }
        self.found.push(words);
    }

    fn inside(&mut self, text: &str) {
        if self.depth < DEEPEST {
            let rest = text.chars().collect();
            Scanner { rest, at: 0, found: self.found, depth: self.depth + 1 }.scan();
        }
    }

    fn double_quoted(&mut self) -> String {
        let mut inside = String::new();
        while let Some(letter) = self.next() {
            match letter {
                '"' => break,
                '\\' => inside.extend(self.next()),
                '`' => self.substitution('`'),
                '$' if self.peek() == Some('(') => {
                    self.next();
                    self.substitution(')');
                }
                letter => inside.push(letter),
            }
        }
        inside
    }

    /// A command whose output becomes words.
    fn substitution(&mut self, end: char) {
        let (mut inside, mut open) = (String::new(), 0);
        while let Some(letter) = self.next() {
            match letter {
                '(' if end == ')' => open += 1,
                ')' if end == ')' && open > 0 => open -= 1,
                letter if letter == end => break,
                _ => {}
            }
            inside.push(letter);
        }
        self.inside(&inside);
    }

    fn until(&mut self, end: char) -> String {
        let mut inside = String::new();
        while let Some(letter) = self.next() {
            if letter == end {
                break;
            }
            inside.push(letter);
        }
        inside
    }

    fn next(&mut self) -> Option<char> {
        self.at += 1;
        self.rest.get(self.at - 1).copied()
    }

    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }
}

/// A program's name without its directory.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}
