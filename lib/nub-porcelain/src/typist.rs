//! Lines from stdin, read on a thread of their own, one for each permit: so a pipe is read no faster
//! than its lines are used.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The longest line that is read in one piece, in bytes.
const LONGEST: u64 = 1 << 20;

/// Asks for lines.
pub(crate) struct Typist {
    permits: Sender<()>,
}

impl Typist {
    /// Starts reading; `each` gets a line, or `None` at the end.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(crate) fn start<R>(
        input: impl FnOnce() -> R + Send + 'static,
        each: impl FnMut(Option<String>) + Send + 'static,
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

fn read(mut input: impl BufRead, granted: &Receiver<()>, mut each: impl FnMut(Option<String>)) {
    while granted.recv().is_ok() {
        let line = whole_line(&mut input);
        let ended = line.is_none();
        each(line);
        if ended {
            return;
        }
    }
}

/// One line; a line that ends with a backslash goes on in the next one.
pub(crate) fn whole_line(input: &mut impl BufRead) -> Option<String> {
    let mut whole = String::new();
    loop {
        let mut bytes = Vec::new();
        // a terminal that is gone is the end
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).unwrap_or(0);
        if read == 0 {
            return (!whole.is_empty()).then_some(whole);
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
                return Some(whole);
            }
        }
    }
}
