//! What goes out: records, or for a person at a terminal the text of the answer.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nub_proto::{BlockDelta, Kind, Line, Record, encode};

use crate::answer::Event;

/// When this much is waiting, in bytes, it goes out without being asked.
const FULL: usize = 64 << 10;

/// The output of the program, shared with the connection that flushes it before it waits.
#[derive(Debug)]
pub struct Output<W> {
    state: Mutex<State<W>>,
}

#[derive(Debug)]
struct State<W> {
    output: W,
    buffer: Vec<u8>,
    face: Face,
    /// The block being shown is text.
    shows: bool,
    fault: Option<io::Error>,
}

/// For whom the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// Records.
    Records,
    /// The answer's text.
    Text,
}

impl<W: Write> Output<W> {
    /// Wraps an output that need not be buffered. Failures are kept for [`Output::fault`].
    pub fn new(output: W, face: Face) -> Output<W> {
        let state = State { output, buffer: Vec::new(), face, shows: false, fault: None };
        Output { state: Mutex::new(state) }
    }

    /// Writes a record.
    pub fn write<T: Record>(&self, record: &T) {
        self.lock().record(record);
    }

    /// Writes an event of an answer.
    pub fn event(&self, event: &Event<'_>) {
        let mut state = self.lock();
        match (state.face, event) {
            (Face::Records, Event::Start(start)) => state.record(start),
            (Face::Records, Event::Delta(delta)) => state.record(delta),
            (Face::Records, Event::Stop(stop)) => state.record(stop),
            (Face::Text, Event::Start(start)) => state.shows = matches!(start.block.kind, Kind::Text { .. }),
            (Face::Text, Event::Delta(BlockDelta { text: Some(text), .. })) if state.shows => {
                state.add(harmless(text).as_bytes());
            }
            (Face::Text, Event::Delta(_)) => {}
            (Face::Text, Event::Stop(_)) => {
                if std::mem::take(&mut state.shows) {
                    state.add(b"\n");
                }
            }
        }
    }

    /// Passes a record on as it came.
    pub fn pass(&self, line: &Line) {
        let mut state = self.lock();
        if state.face == Face::Records {
            state.add(line.raw());
            state.add(b"\n");
        }
    }

    /// Writes text for a person.
    pub fn text(&self, text: &str) {
        self.lock().add(text.as_bytes());
    }

    /// For whom it is.
    pub fn face(&self) -> Face {
        self.lock().face
    }

    /// Sends on what was written.
    pub fn flush(&self) {
        self.lock().flush();
    }

    /// Why writing failed, if it did.
    pub fn fault(&self) -> Option<io::Error> {
        self.lock().fault.take()
    }

    /// Whether writing failed.
    pub fn is_broken(&self) -> bool {
        self.lock().fault.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> State<W> {
    fn record<T: Record>(&mut self, record: &T) {
        if self.face == Face::Records {
            if let Err(e) = encode(record, &mut self.buffer) {
                self.fault.get_or_insert(e);
            }
            self.add(b"");
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= FULL {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.fault.is_none() && !self.buffer.is_empty() {
            let sent = self.output.write_all(&self.buffer).and_then(|()| self.output.flush());
            self.fault = sent.err();
        }
        self.buffer.clear();
    }
}

/// Text without what a terminal would obey.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}
