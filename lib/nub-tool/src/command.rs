//! One command at work: started, followed until it ends or must end, its output taken in bounded
//! memory. Nothing here sleeps: everything waits on pipes.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nub_sys::process::{self, Ended, Process, Watched};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bash::Shell;
use crate::cut::{Cut, Rest};
use crate::decode::Decoder;
use crate::pace::Pace;
use crate::spill::Spill;

/// Between SIGTERM and SIGKILL, at a timeout and at a cancel.
const TIMEOUT_GRACE: Duration = Duration::from_millis(250);
const CANCEL_GRACE: Duration = Duration::from_millis(20);
/// How long what the shell left in its pipes is waited for: a background process may hold them.
const DRAIN: Duration = Duration::from_millis(100);
/// How long the status of a killed shell is waited for.
const REAPED: Duration = Duration::from_millis(50);
/// Bytes read after the shell's end at the least, if they are there: all that pipes can hold.
const DRAINED: u64 = 1 << 20;
/// So many reads empty a full pipe.
const FULL: usize = (64 << 10) / CHUNK;
/// Bytes that are read at once.
const CHUNK: usize = 16 << 10;

/// Where something was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printed {
    Stdout,
    Stderr,
}

/// Why it was not followed any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Ended,
    TimedOut,
    Cancelled,
}

/// How it went.
pub(crate) struct Done {
    pub stop: Stop,
    /// How the shell ended, when that is known.
    pub ended: Option<Ended>,
    pub rest: Rest,
    pub spill: Spill,
    open: Vec<Source>,
}

impl Done {
    /// Whether somebody may still print.
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Goes on emptying pipes that somebody holds, so that a server neither blocks nor breaks on them.
    pub(crate) fn linger(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        let mut spill = std::mem::replace(&mut self.spill, Spill::new(None));
        if open.is_empty() {
            return;
        }
        let work = move || {
            while !open.is_empty() && wait(&mut open, None) {
                open.retain_mut(|source| !source.is_ready || source.read(&mut |_, bytes| spill.push(bytes)));
            }
        };
        // without a thread the pipes close here, which is all that can be done
        drop(thread::Builder::new().name("linger".into()).spawn(work));
    }
}

/// A command at work.
pub(crate) struct Running {
    child: Watched,
    open: Vec<Source>,
    taken: Taken,
    until: Instant,
}

impl Running {
    /// Starts a command, which may run for `limit`.
    ///
    /// # Errors
    /// A text for the model: why it could not be started.
    pub(crate) fn start(shell: &Shell, text: &str, limit: Duration) -> Result<Running, String> {
        let mut child = spawn(shell, text).map_err(|e| why(shell, text, &e))?;
        let open = sources(&mut child);
        Ok(Running { child, open, taken: Taken::new(shell), until: Instant::now() + limit })
    }

    /// The pipes it prints into, to wait on.
    pub(crate) fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.open.iter().map(|source| source.pipe.as_fd())
    }

    /// When its time is over.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Takes what the pipes hold; `ready` says of each whether it holds something.
    pub(crate) fn read(&mut self, ready: &[bool], print: &mut dyn FnMut(Printed, &str)) {
        mark(&mut self.open, ready);
        self.taken.read(&mut self.open, print);
    }

    /// Why it need not be followed any longer, if so.
    pub(crate) fn stop(&self, now: Instant) -> Option<Stop> {
        match self.child.ended() {
            Some(_) => Some(Stop::Ended),
            None => (now >= self.until).then_some(Stop::TimedOut),
        }
    }

    /// Whether it has ended, and nobody holds its pipes: what is left to do takes no time.
    pub(crate) fn is_over(&mut self, print: &mut dyn FnMut(Printed, &str)) -> bool {
        for _ in 0..DRAINED / CHUNK as u64 {
            if self.open.is_empty() || !wait(&mut self.open, Some(Instant::now())) {
                break;
            }
            self.taken.read(&mut self.open, print);
        }
        self.open.is_empty()
    }

    /// Ends what it started, unless it ended by itself, and takes what is left in its pipes.
    pub(crate) fn finish(
        mut self,
        stop: Stop,
        spared: &[Process],
        print: &mut dyn FnMut(Printed, &str),
    ) -> Done {
        let all_but_spared = match stop {
            Stop::Ended => None,
            Stop::TimedOut => Some((spared, TIMEOUT_GRACE)),
            Stop::Cancelled => Some((&[][..], CANCEL_GRACE)),
        };
        if let Some((spared, grace)) = all_but_spared {
            process::end(Some(self.child.pid), spared, grace);
        }
        self.taken.drain(&mut self.open, print);
        let ended = self.child.wait(REAPED);
        let Taken { cut, spill, .. } = self.taken.finish(print);
        Done { stop, ended, rest: cut.finish(), spill, open: self.open }
    }
}

fn spawn(shell: &Shell, text: &str) -> io::Result<Watched> {
    let mut command = Command::new(&shell.program);
    command.arg("-c").arg(text).current_dir(&shell.paths.cwd);
    command.env_clear().envs(shell.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell.reaper.spawn(&mut command)
}

fn why(shell: &Shell, text: &str, e: &io::Error) -> String {
    let cwd = &shell.paths.cwd;
    if !cwd.is_dir() {
        return format!("bash: the folder '{}' is gone", cwd.display());
    }
    match e.kind() {
        io::ErrorKind::ArgumentListTooLong => {
            format!("bash: the command of {} bytes is too long; write it to a file and run that", text.len())
        }
        io::ErrorKind::InvalidInput => "bash: argument 'command': it holds a NUL character".into(),
        _ => format!("bash: cannot start '{}': {e}", shell.program.display()),
    }
}

/// A pipe the command prints into.
struct Source {
    pipe: File,
    from: Printed,
    is_ready: bool,
    /// How many times in a row it was ready.
    streak: usize,
    /// How many times it was ready and not read.
    held: usize,
}

impl Source {
    /// Reads once. Returns whether more may come.
    fn read(&mut self, take: &mut dyn FnMut(Printed, &[u8])) -> bool {
        let mut chunk = [0; CHUNK];
        match self.pipe.read(&mut chunk) {
            Ok(0) => false,
            Ok(count) => {
                take(self.from, &chunk[..count]);
                true
            }
            Err(e) => e.kind() == io::ErrorKind::Interrupted,
        }
    }
}

fn sources(child: &mut Watched) -> Vec<Source> {
    let source =
        |pipe: OwnedFd, from| Source { pipe: File::from(pipe), from, is_ready: false, streak: 0, held: 0 };
    let stdout = child.stdout.take().map(|pipe| source(pipe.into(), Printed::Stdout));
    let stderr = child.stderr.take().map(|pipe| source(pipe.into(), Printed::Stderr));
    stdout.into_iter().chain(stderr).collect()
}

/// Waits until there is something to read, or the time comes. Returns whether there is.
fn wait(open: &mut [Source], until: Option<Instant>) -> bool {
    let mut watched: Vec<PollFd> =
        open.iter().map(|source| PollFd::new(&source.pipe, PollFlags::IN)).collect();
    let happened = poll_until(&mut watched, until);
    let ready: Vec<bool> = watched.iter().map(|fd| happened && !fd.revents().is_empty()).collect();
    mark(open, &ready);
    happened
}

/// Waits until one of these is ready, or the time comes. Returns whether one is.
pub(crate) fn poll_until(watched: &mut [PollFd], until: Option<Instant>) -> bool {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(watched, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            polled => return polled.is_ok_and(|count| count > 0),
        }
    }
}

fn mark(open: &mut [Source], ready: &[bool]) {
    for (source, is_ready) in open.iter_mut().zip(ready) {
        source.is_ready = *is_ready;
        source.streak = if *is_ready { source.streak + 1 } else { 0 };
    }
    hold_back_newer(open);
}

/// A pipe that was not emptied yet holds older words than one that has just begun to: the newer one
/// waits, so that what the model reads is in the order in which it was printed, until the older one was
/// read as often as it takes to read what it held then.
fn hold_back_newer(open: &mut [Source]) {
    let oldest = open.iter().map(|source| source.streak).max().unwrap_or_default();
    for source in open.iter_mut().filter(|source| source.is_ready) {
        if source.streak < oldest && source.held < FULL {
            (source.is_ready, source.streak) = (false, 0);
            source.held += 1;
        } else {
            source.held = 0;
        }
    }
}

/// What was printed so far.
struct Taken {
    cut: Cut,
    spill: Spill,
    pace: Pace,
    decoders: [Decoder; 2],
}

impl Taken {
    fn new(shell: &Shell) -> Taken {
        Taken {
            cut: Cut::new(),
            spill: Spill::new(Some(&shell.paths)),
            pace: Pace::new(Instant::now()),
            decoders: [Decoder::default(), Decoder::default()],
        }
    }

    fn read(&mut self, open: &mut Vec<Source>, print: &mut dyn FnMut(Printed, &str)) {
        open.retain_mut(|source| {
            !source.is_ready || source.read(&mut |from, bytes| self.take(from, bytes, print))
        });
    }

    fn take(&mut self, from: Printed, bytes: &[u8], print: &mut dyn FnMut(Printed, &str)) {
        self.spill.push(bytes);
        let text = self.decoders[from as usize].push(bytes);
        self.cut.push(&text);
        for piece in self.pace.pieces(&text, Instant::now()) {
            print(from, &piece);
        }
    }

    /// Reads what is left, but does not wait for those who hold a pipe without end.
    fn drain(&mut self, open: &mut Vec<Source>, print: &mut dyn FnMut(Printed, &str)) {
        let until = Instant::now() + DRAIN;
        let most = self.spill.total() + DRAINED;
        while !open.is_empty() {
            let happened = wait(open, Some(until));
            if Instant::now() >= until && (!happened || self.spill.total() > most) {
                return;
            }
            self.read(open, print);
        }
    }

    fn finish(mut self, print: &mut dyn FnMut(Printed, &str)) -> Taken {
        for from in [Printed::Stdout, Printed::Stderr] {
            let text = self.decoders[from as usize].finish();
            self.cut.push(&text);
            let mark = self.pace.mark();
            for piece in [mark, text].into_iter().filter(|piece| !piece.is_empty()) {
                print(from, &piece);
            }
        }
        self
    }
}
