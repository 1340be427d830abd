//! Lines from stdin, read on a thread of their own, one for each permit: so a pipe is read no faster
//! than its lines are used.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The longest prompt that is taken, in bytes.
pub(crate) const LONGEST: usize = 8 << 20;

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line, or several that belong together.
    Line(String),
    /// A line longer than [`LONGEST`]: it was read to its end and dropped.
    TooLong,
    /// Nothing more.
    End,
}

/// Asks for lines.
pub(crate) struct Typist {
    permits: Sender<()>,
}

impl Typist {
    /// Starts reading; `each` gets what was typed.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(crate) fn start<R>(
        input: impl FnOnce() -> R + Send + 'static,
        each: impl FnMut(Typed) + Send + 'static,
    ) -> io::Result<Typist>
    where
        R: BufRead,
    {
        let (permits, granted) = channel();
        thread::Builder::new().name("typist".into()).spawn(move || read(input(), &granted, each))?;
        Ok(Typist { permits })
    }

    /// Lets it read one more line.
    pub(crate) fn permit(&self) {
        // a typist that has seen the end is gone
        self.permits.send(()).unwrap_or(());
    }
}

fn read(mut input: impl BufRead, granted: &Receiver<()>, mut each: impl FnMut(Typed)) {
    while granted.recv().is_ok() {
        let line = whole_line(&mut input);
        let ended = line == Typed::End;
        each(line);
        if ended {
            return;
        }
    }
}

/// One line; a line that ends with a backslash goes on in the next one.
pub(crate) fn whole_line(input: &mut impl BufRead) -> Typed {
    let mut whole = String::new();
    loop {
        let mut bytes = Vec::new();
        let room = LONGEST.saturating_sub(whole.len()) as u64;
        // a terminal that is gone is the end
        let read = input.by_ref().take(room + 1).read_until(b'\n', &mut bytes).unwrap_or(0);
        if read as u64 > room {
            skip(input, bytes);
            return Typed::TooLong;
        }
        if read == 0 {
            return if whole.is_empty() { Typed::End } else { Typed::Line(whole) };
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        match line.strip_suffix('\\') {
            Some(start) => {
                whole.push_str(start);
                whole.push('\n');
            }
            None => {
                whole.push_str(line);
                return Typed::Line(whole);
            }
        }
    }
}

/// Reads to the end of the line that `seen` is the head of.
fn skip(input: &mut impl BufRead, mut seen: Vec<u8>) {
    while !seen.is_empty() && !seen.ends_with(b"\n") {
        seen.clear();
        input.by_ref().take(LONGEST as u64).read_until(b'\n', &mut seen).unwrap_or(0);
    }
}
