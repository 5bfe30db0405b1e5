//! The way of an answer to stdout: straight, or through a pager when it is longer than the screen.
//!
//! Output is held back until it is known to be too long for the screen; from then on it streams. A reader who
//! leaves early (`| head`, `q` in the pager) ends the answer quietly.

use std::{
    ffi::OsStr,
    io::{self, BufWriter, Write},
    process::{Child, ChildStdin, Stdio},
};

use rejoin_agent::Environment;

/// Options for `less` where the user set none: stop at once if all fits on the screen (F), show colours (R),
/// leave the text on the screen (X). With K, Ctrl+C ends `less` too; it would otherwise go on reading the
/// keyboard beside the shell.
const LESS_OPTIONS: &str = "FRXK";

/// A pager: a program and its arguments, run without a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pager {
    program: String,
    arguments: Vec<String>,
    less_options: Option<&'static str>,
    environment: Environment,
}

impl Pager {
    /// Chooses by the variables `PAGER` and `LESS`: `less` unless told otherwise, none if `PAGER` is empty or
    /// `cat`. A `LESS` that is set stays as it is.
    pub(crate) fn choose(pager: Option<&str>, less: Option<&OsStr>) -> Option<Self> {
        let mut words = pager.unwrap_or("less").split_whitespace().map(str::to_owned);
        let program = words.next().filter(|program| program != "cat")?;
        let less_options = if less.is_none() { Some(LESS_OPTIONS) } else { None };
        Some(Self { program, arguments: words.collect(), less_options, environment: Environment::default() })
    }

    /// The same pager, started in this environment.
    pub(crate) fn with_environment(self, environment: Environment) -> Self {
        Self { environment, ..self }
    }

    fn start(&self) -> io::Result<(Child, ChildStdin)> {
        let mut command = self.environment.command(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped());
        if let Some(options) = self.less_options {
            command.env("LESS", options);
        }
        let mut child = command.spawn()?;
        let input = child.stdin.take().expect("the input of the child was asked for above");
        Ok((child, input))
    }
}

/// The size of the terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    /// Characters in a row.
    pub(crate) columns: usize,
    /// Rows, the one for the prompt included.
    pub(crate) rows: usize,
}

/// Writes an answer to `output`, through a pager if it is longer than the screen.
///
/// Pass a screen and a pager only when `output` is the terminal and the user did not say `--no-pager`. A
/// pager that cannot be started is done without. If the reader went away, whatever `write` makes of that is a
/// success.
pub(crate) fn show<Failure: From<io::Error>>(
    output: impl Write,
    paging: Option<(Pager, ScreenSize)>,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut page = PagedOutput::new(output, paging);
    let written = write(&mut page);
    // What was written before a failure is still part of the answer.
    let finished = page.finish();
    if page.reader_left {
        return Ok(());
    }
    written?;
    finished.map_err(Failure::from)
}

/// A writer that decides on the way where its bytes go.
struct PagedOutput<Output: Write> {
    direct: BufWriter<Output>,
    route: OutputRoute,
    reader_left: bool,
}

enum OutputRoute {
    Direct,
    /// Not yet known to be longer than the screen.
    Held {
        bytes: Vec<u8>,
        cursor: ScreenCursor,
        pager: Pager,
    },
    Paged {
        child: Child,
        input: BufWriter<ChildStdin>,
    },
}

impl<Output: Write> PagedOutput<Output> {
    fn new(output: Output, paging: Option<(Pager, ScreenSize)>) -> Self {
        let route = match paging {
            Some((pager, screen)) => {
                OutputRoute::Held { bytes: Vec::new(), cursor: ScreenCursor::new(screen), pager }
            }
            None => OutputRoute::Direct,
        };
        Self { direct: BufWriter::new(output), route, reader_left: false }
    }

    fn accept(&mut self, written: &[u8]) -> io::Result<()> {
        match &mut self.route {
            OutputRoute::Direct => self.direct.write_all(written),
            OutputRoute::Paged { input, .. } => input.write_all(written),
            OutputRoute::Held { bytes, cursor, pager } => {
                bytes.extend_from_slice(written);
                cursor.advance(written);
                if !cursor.is_below_screen() {
                    return Ok(());
                }
                let held = std::mem::take(bytes);
                self.route = match pager.start() {
                    Ok((child, input)) => OutputRoute::Paged { child, input: BufWriter::new(input) },
                    Err(_) => OutputRoute::Direct,
                };
                self.accept(&held)
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let finished = match std::mem::replace(&mut self.route, OutputRoute::Direct) {
            OutputRoute::Direct => self.direct.flush(),
            OutputRoute::Held { bytes, .. } => {
                self.direct.write_all(&bytes).and_then(|()| self.direct.flush())
            }
            OutputRoute::Paged { mut child, input } => {
                // Giving up the input tells the pager that the answer is complete.
                let flushed = input.into_inner().map(drop).map_err(io::IntoInnerError::into_error);
                child.wait().and(flushed)
            }
        };
        self.note(finished)
    }

    fn note<Value>(&mut self, result: io::Result<Value>) -> io::Result<Value> {
        self.reader_left |= result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        result
    }
}

impl<Output: Write> Write for PagedOutput<Output> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let accepted = self.accept(bytes);
        self.note(accepted).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.route {
            OutputRoute::Direct => self.direct.flush(),
            OutputRoute::Held { .. } => Ok(()),
            OutputRoute::Paged { input, .. } => input.flush(),
        };
        self.note(flushed)
    }
}

/// Where the output written so far would leave the cursor.
///
/// Colours and wide characters are counted as characters. That is exact enough to decide on a pager.
struct ScreenCursor {
    screen: ScreenSize,
    row: usize,
    column: usize,
}

impl ScreenCursor {
    fn new(screen: ScreenSize) -> Self {
        Self { screen, row: 0, column: 0 }
    }

    fn advance(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let continues_character = byte & 0b1100_0000 == 0b1000_0000;
            if *byte == b'\n' {
                self.row += 1;
                self.column = 0;
            } else if !continues_character {
                self.column += 1;
                if self.column > self.screen.columns {
                    self.row += 1;
                    self.column = 1;
                }
            }
        }
    }

    fn is_below_screen(&self) -> bool {
        self.row >= self.screen.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: ScreenSize = ScreenSize { columns: 10, rows: 3 };

    fn pager(command: &str) -> Option<(Pager, ScreenSize)> {
        Pager::choose(Some(command), None).map(|pager| (pager, SCREEN))
    }

    fn shown(paging: Option<(Pager, ScreenSize)>, text: &str) -> String {
        let mut output = Vec::new();
        show(&mut output, paging, |page| page.write_all(text.as_bytes())).expect("memory does not fail");
        String::from_utf8(output).expect("only text is written")
    }

    /// Runs a pager that copies what it gets into a file, and returns what went to it and what went past it.
    fn paged(text: &str) -> (Option<String>, String) {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let copy = directory.path().join("copy");
        let past = shown(pager(&format!("dd status=none of={}", copy.display())), text);
        (std::fs::read_to_string(copy).ok(), past)
    }

    #[test]
    fn less_is_the_pager_unless_another_is_named() {
        let of = |program: &str, arguments: &[&str], less_options| {
            let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
            let environment = Environment::default();
            Some(Pager { program: program.to_owned(), arguments, less_options, environment })
        };
        let less = Some(OsStr::new("S"));

        assert_eq!(Pager::choose(None, None), of("less", &[], Some("FRXK")));
        assert_eq!(Pager::choose(None, less), of("less", &[], None));
        assert_eq!(Pager::choose(Some(" most  -w $(x)"), less), of("most", &["-w", "$(x)"], None));
        assert_eq!(
            [Some(""), Some(" "), Some("cat")].map(|name| Pager::choose(name, None)),
            [None, None, None]
        );
    }

    #[test]
    fn an_answer_that_fits_the_screen_goes_past_the_pager() {
        assert_eq!(paged("one\ntwo\n"), (None, "one\ntwo\n".to_owned()));
    }

    #[test]
    fn an_answer_longer_than_the_screen_goes_through_the_pager() {
        assert_eq!(paged("1\n2\n3\n4\n"), (Some("1\n2\n3\n4\n".to_owned()), String::new()));
    }

    #[test]
    fn a_long_line_counts_for_the_rows_it_takes() {
        let text = "é".repeat(31);

        assert_eq!(paged(&text), (Some(text.clone()), String::new()));
        assert_eq!(paged(&text[..60]), (None, text[..60].to_owned()));
    }

    #[test]
    fn without_a_pager_the_answer_is_printed() {
        let text = "1\n2\n3\n4\n";

        assert_eq!(shown(None, text), text);
        assert_eq!(shown(pager("/no/such/pager"), text), text);
    }

    #[test]
    fn a_pager_left_early_is_a_quiet_success() {
        let many = "line\n".repeat(100_000);

        assert_eq!(shown(pager("true"), &many), "");
    }

    /// An output whose reader is gone, or whose disk is full.
    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_broken_pipe_is_a_quiet_success_and_other_failures_are_not() {
        let outcome = |kind| {
            show(Failing(kind), None, |page| page.write_all(b"x")).map_err(|error: io::Error| error.kind())
        };

        assert_eq!(outcome(io::ErrorKind::BrokenPipe), Ok(()));
        assert_eq!(outcome(io::ErrorKind::StorageFull), Err(io::ErrorKind::StorageFull));
    }

    #[test]
    fn what_was_written_before_a_failure_is_shown() {
        let mut output = Vec::new();

        let outcome = show(&mut output, pager("less"), |page| {
            page.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::InvalidData))
        });

        assert_eq!(outcome.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
        assert_eq!(output, b"half");
    }
}
