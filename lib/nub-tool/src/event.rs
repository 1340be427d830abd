//! What can happen while calls run: everything arrives in one channel, so that nothing is missed while
//! something else is done.

use std::io::Read;
use std::sync::mpsc::{Sender, SyncSender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::{io, thread};

use nub_proto::{FrameError, Line, Reader};

use crate::command::Printed;
use crate::outcome::Outcome;

/// The most bytes of input that wait to be passed on.
const WAITING: usize = 64 << 20;

/// Something happened.
pub(crate) enum Event {
    /// A line of input.
    Line(Line),
    /// The input holds something else than records.
    Broken(FrameError),
    /// The input ended.
    End,
    /// The user wants the program to end; who sent the signal waits to be heard.
    Signal(SyncSender<()>),
    /// A running call printed something.
    Printed { batch: u64, call: usize, from: Printed, text: String },
    /// A call came to its end.
    Finished { batch: u64, call: usize, outcome: Outcome },
}

/// Holds back the reader while more waits than memory should hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<usize>, Condvar)>);

impl Gate {
    fn enter(&self, bytes: usize) {
        let (waiting, freed) = &*self.0;
        let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |waiting: &mut usize| *waiting > 0 && *waiting + bytes > WAITING;
        let mut waiting = freed.wait_while(waiting, full).unwrap_or_else(PoisonError::into_inner);
        *waiting += bytes;
    }

    /// A line of so many bytes was passed on.
    pub(crate) fn leave(&self, bytes: usize) {
        let (waiting, freed) = &*self.0;
        *waiting.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        freed.notify_one();
    }
}

/// Reads records on a thread of its own, so that a `control` acts while calls run.
pub(crate) fn read(input: impl Read + Send + 'static, events: Sender<Event>, gate: Gate) -> io::Result<()> {
    let work = move || {
        let mut reader = Reader::new(input);
        loop {
            let event = match reader.next_line() {
                Ok(Some(line)) => {
                    gate.enter(line.raw().len());
                    Event::Line(line)
                }
                Ok(None) => Event::End,
                Err(e) => Event::Broken(e),
            };
            let is_last = !matches!(event, Event::Line(_));
            if events.send(event).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("input".into()).spawn(work).map(drop)
}
