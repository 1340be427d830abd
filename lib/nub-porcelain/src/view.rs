//! Where things are shown: the answer on stdout, everything else on stderr, and no mess when both are
//! the same screen.

use std::io::{self, Write};

use nub_render::{Line, Paint, harmless};
use nub_sys::{Fail, tty};

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Noise {
    /// Errors.
    Quiet,
    /// A line for each call, warnings, retries.
    Normal,
    /// Diffs, output of commands, thinking and costs as well.
    Verbose,
}

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// As the model wrote it: into a pipe or a file.
    Raw,
    /// Made harmless, for a terminal that stderr does not share.
    Alone,
    /// Made harmless, between the lines of stderr.
    Shared,
}

/// Where typing leaves the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// After Enter.
    NewLine,
    /// After Ctrl+C, which shows `^C`.
    MidLine,
}

/// When the line of a call is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// At its start, for somebody who watches; its end completes the line.
    Live,
    /// At its end, into a pipe or a file.
    Whole,
}

/// What nub is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    pub answer: Answer,
    pub calls: Calls,
    /// Of stderr.
    pub paint: Paint,
    pub noise: Noise,
}

impl Screen {
    /// Looks at stdout, stderr, `NO_COLOR` and `TERM`.
    pub(crate) fn look(noise: Noise) -> Screen {
        let answer = match (tty::stdout(), tty::stderr()) {
            (false, _) => Answer::Raw,
            (true, false) => Answer::Alone,
            (true, true) => Answer::Shared,
        };
        Screen { answer, calls: calls(tty::stderr()), paint: paint(tty::stderr()), noise }
    }

    /// For what is shown on stdout alone.
    pub(crate) fn only_stdout(noise: Noise) -> Screen {
        let terminal = tty::stdout();
        Screen { answer: Answer::Shared, calls: calls(terminal), paint: paint(terminal), noise }
    }
}

fn calls(terminal: bool) -> Calls {
    if terminal { Calls::Live } else { Calls::Whole }
}

fn paint(terminal: bool) -> Paint {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if terminal && !unwanted { Paint::Colour } else { Paint::Plain }
}

/// The two streams.
pub(crate) struct View<O, E> {
    out: O,
    err: E,
    pub screen: Screen,
    waiting: Vec<u8>,
    mid_line: bool,
    open: Option<String>,
}

/// The view of a running program.
pub(crate) type Real = View<io::Stdout, io::Stderr>;

impl Real {
    /// On the program's own stdout and stderr.
    pub(crate) fn real(screen: Screen) -> Real {
        View::new(io::stdout(), io::stderr(), screen)
    }
}

/// When this much of an answer is waiting, in bytes, it is passed on without being asked.
const FULL: usize = 32 << 10;

impl<O: Write, E: Write> View<O, E> {
    pub(crate) fn new(out: O, err: E, screen: Screen) -> View<O, E> {
        View { out, err, screen, waiting: Vec::new(), mid_line: false, open: None }
    }

    /// Adds to the answer.
    ///
    /// # Errors
    /// As [`Fail::output`].
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Fail> {
        if text.is_empty() {
            return Ok(());
        }
        match self.screen.answer {
            Answer::Raw => self.waiting.extend_from_slice(text.as_bytes()),
            Answer::Alone => self.waiting.extend_from_slice(safe(text).as_bytes()),
            Answer::Shared => {
                self.end_open();
                self.waiting.extend_from_slice(safe(text).as_bytes());
            }
        }
        self.mid_line = !text.ends_with('\n');
        if self.waiting.len() >= FULL { self.flush() } else { Ok(()) }
    }

    /// Ends the answer's last line, if it is not ended.
    ///
    /// # Errors
    /// As [`Fail::output`].
    pub(crate) fn end_text(&mut self) -> Result<(), Fail> {
        if self.mid_line {
            self.waiting.push(b'\n');
            self.mid_line = false;
        }
        self.flush()
    }

    /// Passes on what is waiting.
    ///
    /// # Errors
    /// As [`Fail::output`].
    pub(crate) fn flush(&mut self) -> Result<(), Fail> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let written = self.out.write_all(&self.waiting).and_then(|()| self.out.flush());
        self.waiting.clear();
        written.map_err(|e| Fail::output(&e))
    }

    /// What was typed on the screen moved the cursor.
    pub(crate) fn typed(&mut self, cursor: Cursor) {
        if self.screen.answer == Answer::Shared {
            self.mid_line = cursor == Cursor::MidLine;
            self.open = None;
        }
    }

    /// A line beside the answer.
    ///
    /// # Errors
    /// The answer before it cannot be written. A closed stderr is no reason to fail.
    pub(crate) fn line(&mut self, line: &Line) -> Result<(), Fail> {
        self.beside()?;
        self.say(&format!("{}\n", line.paint(self.screen.paint)));
        Ok(())
    }

    /// The line of a call that runs: it stays open for its result. While one is open others wait for
    /// their own end.
    ///
    /// # Errors
    /// As [`View::line`].
    pub(crate) fn open(&mut self, id: &str, line: &Line) -> Result<(), Fail> {
        match self.screen.calls {
            Calls::Whole if self.screen.noise < Noise::Verbose => return Ok(()),
            Calls::Live if self.open.is_some() => return Ok(()),
            Calls::Whole | Calls::Live => {}
        }
        self.hint(line)?;
        self.open = Some(id.to_owned());
        Ok(())
    }

    /// Completes the line of a call; `whole` is its beginning once more, for when something came between.
    ///
    /// # Errors
    /// As [`View::line`].
    pub(crate) fn close(&mut self, id: &str, whole: Line, rest: Line) -> Result<(), Fail> {
        if self.open.as_deref() == Some(id) {
            self.open = None;
            self.say(&format!("{}\n", rest.paint(self.screen.paint)));
            return Ok(());
        }
        let mut line = whole;
        line.0.extend(rest.0);
        self.line(&line)
    }

    /// Text on stderr without a line end: a prompt, thinking.
    ///
    /// # Errors
    /// As [`View::line`].
    pub(crate) fn hint(&mut self, line: &Line) -> Result<(), Fail> {
        self.beside()?;
        self.say(&line.paint(self.screen.paint));
        Ok(())
    }

    fn beside(&mut self) -> Result<(), Fail> {
        match self.screen.answer {
            Answer::Shared => self.end_text()?,
            Answer::Raw | Answer::Alone => self.flush()?,
        }
        self.end_open();
        Ok(())
    }

    fn end_open(&mut self) {
        if self.open.take().is_some() {
            self.say("\n");
        }
    }

    fn say(&mut self, text: &str) {
        drop(self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush()));
    }
}

fn safe(text: &str) -> String {
    harmless(&text.replace("\r\n", "\n")).into_owned()
}
