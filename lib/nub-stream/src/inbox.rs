//! What comes in while a request is answered: a thread reads records ahead, so that a `cancel` or the end
//! of a coprocess's input acts at once, and signals arrive in the same place.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use nub_proto::{Control, FrameError, Line, Reader, Request};

use crate::cancel::Cancel;

/// How far records are read ahead, in bytes. A line that is longer is still taken, alone.
const AHEAD: usize = 8 << 20;

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// A record.
    Line(Line),
    /// The input holds something else than records, or cannot be read.
    Bad(FrameError),
    /// The input ended.
    End,
    /// The user ended the program.
    Stopped,
}

/// Records on their way in.
#[derive(Debug, Default)]
pub struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Line>,
    /// Bytes of `lines`.
    held: usize,
    end: Option<Option<FrameError>>,
    stopped: bool,
    /// Requests read, and requests taken out.
    read: u64,
    taken: u64,
    /// Requests up to this one are cancelled.
    cancelled: u64,
    work: Option<Arc<Cancel>>,
}

impl Inbox {
    /// Starts to read. With `coprocess`, the end of the input cancels the work in hand.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn open(input: impl Read + Send + 'static, coprocess: Ending) -> io::Result<Arc<Inbox>> {
        let inbox = Arc::new(Inbox::default());
        let filled = inbox.clone();
        thread::Builder::new()
            .name("input".into())
            .spawn(move || filled.fill(Reader::new(input), coprocess))?;
        Ok(inbox)
    }

    fn fill<R: Read>(&self, mut reader: Reader<R>, ending: Ending) {
        let end = loop {
            match reader.next_line() {
                Ok(Some(line)) => self.push(line),
                Ok(None) => break None,
                Err(e) => break Some(e),
            }
        };
        let mut state = self.lock();
        if ending == Ending::Cancels {
            state.cancel();
        }
        state.end = Some(end);
        self.changed.notify_all();
    }

    fn push(&self, line: Line) {
        let mut state = self.lock();
        while state.held > AHEAD && !state.stopped {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if line.is::<Request>() {
            state.read += 1;
        } else if line.is::<Control>() && matches!(line.read(), Ok(Control::Cancel)) {
            state.cancel();
        }
        state.held += line.raw().len();
        state.lines.push_back(line);
        self.changed.notify_all();
    }

    /// A signal: the work in hand ends, then the program.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.cancel();
        self.changed.notify_all();
    }

    /// Whether a record is here already.
    #[must_use]
    pub fn ready(&self) -> bool {
        let state = self.lock();
        !state.lines.is_empty() || state.end.is_some() || state.stopped
    }

    /// Waits for the next record.
    #[must_use]
    pub fn next(&self) -> Next {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return Next::Stopped;
            }
            if let Some(line) = state.lines.pop_front() {
                state.held -= line.raw().len();
                self.changed.notify_all();
                return Next::Line(line);
            }
            match state.end.take() {
                Some(Some(e)) => return Next::Bad(e),
                Some(None) => return Next::End,
                None => {}
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next request is taken in hand: what cancels it from now on.
    #[must_use]
    pub fn begin(&self) -> Arc<Cancel> {
        let mut state = self.lock();
        state.taken += 1;
        let cancel = Arc::new(Cancel::default());
        if state.taken <= state.cancelled || state.stopped {
            cancel.fire();
        }
        state.work = Some(cancel.clone());
        cancel
    }

    /// The request in hand is answered.
    pub fn finish(&self) {
        self.lock().work = None;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Everything asked so far was asked before the user changed their mind.
    fn cancel(&mut self) {
        self.cancelled = self.read;
        if let Some(work) = &self.work {
            work.fire();
        }
    }
}

/// What the end of the input means for the work in hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is finished first (a shell's pipeline).
    Finishes,
    /// It ends at once (a coprocess whose parent is gone).
    Cancels,
}
