//! The inbox: everything that can happen arrives in one place, so that a `control` or a signal acts while
//! calls run. One thread waits for input, for the ends of children and for what commands print.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::time::Instant;

use nub_proto::{FrameError, Line, MAX_LINE};
use nub_sys::process::Deaths;
use rustix::event::{PollFd, PollFlags};

use crate::command::{Printed, Running, poll_until};
use crate::outcome::Outcome;

/// The most bytes of input that wait to be passed on; more is not read.
const WAITING: usize = 64 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

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
    /// A call on a thread of its own printed something.
    Printed { batch: u64, call: usize, from: Printed, text: String },
    /// The tree of a command that was ended is gone.
    Settled,
    /// Such a call came to its end.
    Finished { batch: u64, call: usize, outcome: Outcome },
}

/// Puts events into the inbox from other threads.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    events: Sender<Event>,
    bell: Arc<UnixStream>,
}

impl Outbox {
    /// Returns whether the inbox is still there.
    pub(crate) fn send(&self, event: Event) -> bool {
        let is_sent = self.events.send(event).is_ok();
        // a bell that is full rings already
        drop((&*self.bell).write(b"!"));
        is_sent
    }
}

/// Receives events.
pub(crate) struct Inbox {
    input: Option<Input>,
    deaths: Deaths,
    events: Receiver<Event>,
    bell: UnixStream,
    queue: VecDeque<Event>,
    waiting: usize,
}

impl Inbox {
    /// An inbox without input, and how others reach it.
    ///
    /// # Errors
    /// No sockets can be made.
    pub(crate) fn new(deaths: Deaths) -> io::Result<(Inbox, Outbox)> {
        let (bell, ringer) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ringer.set_nonblocking(true)?;
        let (sender, events) = channel();
        let queue = VecDeque::new();
        let inbox = Inbox { input: None, deaths, events, bell, queue, waiting: 0 };
        Ok((inbox, Outbox { events: sender, bell: Arc::new(ringer) }))
    }

    /// From now on reads records from this file.
    pub(crate) fn open(&mut self, file: File) {
        self.input = Some(Input { file, held: Vec::new(), seen: 0, number: 0 });
    }

    /// What has happened already, without waiting.
    pub(crate) fn next(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }

    /// A line of so many bytes was passed on.
    pub(crate) fn passed(&mut self, bytes: usize) {
        self.waiting = self.waiting.saturating_sub(bytes);
    }

    /// Waits until something happens, a command prints or ends, or the time comes. Returns which pipes
    /// of these commands hold something, in order.
    pub(crate) fn wait(&mut self, commands: &[&Running], until: Option<Instant>) -> Vec<bool> {
        let input = self.input.as_ref().filter(|_| self.waiting < WAITING).map(|input| input.file.as_fd());
        let has_input = input.is_some();
        // what came with something else is not waited for once more
        let is_idle = self.queue.is_empty();
        let pipes = commands.iter().flat_map(|command| command.pipes());
        let all = [self.bell.as_fd(), self.deaths.as_fd()].into_iter().chain(input).chain(pipes);
        let mut watched: Vec<PollFd> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let happened = poll_until(&mut watched, if is_idle { until } else { Some(Instant::now()) });
        let mut ready: VecDeque<bool> =
            watched.iter().map(|fd| happened && !fd.revents().is_empty()).collect();
        if ready.pop_front() == Some(true) {
            // the bytes only wake
            drop(self.bell.read(&mut [0; 64]));
        }
        if ready.pop_front() == Some(true) {
            self.deaths.reap();
        }
        if has_input && ready.pop_front() == Some(true) {
            self.read();
        }
        self.queue.extend(self.events.try_iter());
        ready.into()
    }

    fn read(&mut self) {
        let Some(input) = &mut self.input else { return };
        let (lines, last) = input.read();
        self.waiting += lines.iter().map(|line| line.raw().len()).sum::<usize>();
        self.queue.extend(lines.into_iter().map(Event::Line));
        if let Some(last) = last {
            self.input = None;
            self.queue.push_back(last);
        }
    }
}

/// Records from a file, as they come.
struct Input {
    file: File,
    /// The beginning of a line.
    held: Vec<u8>,
    /// So much of it was searched for a line end.
    seen: usize,
    number: u64,
}

impl Input {
    /// Reads once: the lines that are complete, and the last event when there will be no more.
    fn read(&mut self) -> (Vec<Line>, Option<Event>) {
        let from = self.held.len();
        self.held.resize(from + CHUNK, 0);
        let count = self.file.read(&mut self.held[from..]);
        self.held.truncate(from + count.as_ref().map_or(0, |count| *count));
        match count {
            Ok(0) => self.rest(),
            Ok(_) => self.lines(),
            Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                (Vec::new(), None)
            }
            Err(e) => (Vec::new(), Some(Event::Broken(FrameError::Io(e)))),
        }
    }

    fn lines(&mut self) -> (Vec<Line>, Option<Event>) {
        let mut lines = Vec::new();
        let mut from = 0;
        while let Some(at) = memchr::memchr(b'\n', &self.held[self.seen..]) {
            let end = self.seen + at;
            let raw = self.held[from..end].to_vec();
            (from, self.seen) = (end + 1, end + 1);
            match self.check(raw) {
                Ok(line) => lines.extend(line),
                Err(e) => return (lines, Some(Event::Broken(e))),
            }
        }
        self.held.drain(..from);
        self.seen = self.held.len();
        if self.held.len() > MAX_LINE {
            return (lines, Some(Event::Broken(FrameError::TooLong { line: self.number + 1 })));
        }
        (lines, None)
    }

    /// The last line may lack its end.
    fn rest(&mut self) -> (Vec<Line>, Option<Event>) {
        let raw = std::mem::take(&mut self.held);
        match self.check(raw) {
            Ok(line) => (line.into_iter().collect(), Some(Event::End)),
            Err(e) => (Vec::new(), Some(Event::Broken(e))),
        }
    }

    /// Blank lines are skipped.
    fn check(&mut self, raw: Vec<u8>) -> Result<Option<Line>, FrameError> {
        self.number += 1;
        if raw.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        Line::check(raw, self.number).map(Some)
    }
}
