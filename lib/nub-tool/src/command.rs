//! One command at work: started, followed until it ends or must end, its output taken in bounded
//! memory. Nothing here sleeps: everything waits on pipes.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nub_sys::process::{self, Ended, Process, Watched};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bash::Shell;
use crate::cancel::Cancel;
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
const DRAINED: u64 = 2 << 20;
/// So often in a row one pipe is read before another one that is ready.
const PATIENCE: usize = 32;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// What is to be run.
pub(crate) struct Command<'a> {
    pub shell: &'a Shell,
    pub text: &'a str,
    pub limit: Duration,
    /// Processes of earlier calls, which outlive a timeout of this one.
    pub spared: &'a [Process],
}

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
            while !open.is_empty() && wait(None, &mut open, None) {
                open.retain_mut(|source| !source.is_ready || source.read(&mut |_, bytes| spill.push(bytes)));
            }
        };
        // without a thread the pipes close here, which is all that can be done
        drop(thread::Builder::new().name("linger".into()).spawn(work));
    }
}

/// Runs a command to its end.
///
/// # Errors
/// A text for the model: why it could not be started.
pub(crate) fn run(
    command: &Command,
    cancel: &Cancel,
    print: &mut dyn FnMut(Printed, &str),
) -> Result<Done, String> {
    let (mut bell, wake) = io::pipe().map_err(|e| format!("bash: no pipe: {e}"))?;
    let wake = Arc::new(wake);
    let mut child = start(command, &wake).map_err(|e| why(command, &e))?;
    cancel.wake_through(wake);
    let mut open = sources(&mut child);
    let mut taken = Taken::new(command.shell);
    let until = Instant::now() + command.limit;
    let stop = loop {
        if child.ended().is_some() {
            break Stop::Ended;
        } else if cancel.is_set() {
            break Stop::Cancelled;
        } else if Instant::now() >= until {
            break Stop::TimedOut;
        }
        wait(Some(&mut bell), &mut open, Some(until));
        taken.read(&mut open, print);
    };
    let (spared, grace) = match stop {
        Stop::Ended => (command.spared, None),
        Stop::TimedOut => (command.spared, Some(TIMEOUT_GRACE)),
        Stop::Cancelled => (&[][..], Some(CANCEL_GRACE)),
    };
    if let Some(grace) = grace {
        process::end(Some(child.pid), spared, grace);
    }
    taken.drain(&mut open, print);
    // what was killed is reaped in a moment
    while child.ended().is_none() && wait(Some(&mut bell), &mut [], Some(Instant::now() + REAPED)) {}
    let Taken { cut, spill, .. } = taken.finish(print);
    Ok(Done { stop, ended: child.ended(), rest: cut.finish(), spill, open })
}

fn start(command: &Command, wake: &Arc<io::PipeWriter>) -> io::Result<Watched> {
    let mut shell = std::process::Command::new(&command.shell.program);
    shell.arg("-c").arg(command.text).current_dir(&command.shell.paths.cwd);
    shell.env_clear().envs(command.shell.environment.iter().map(|(name, value)| (name, value)));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.shell.reaper.spawn(&mut shell, Arc::clone(wake))
}

fn why(command: &Command, e: &io::Error) -> String {
    let cwd = &command.shell.paths.cwd;
    if !cwd.is_dir() {
        return format!("bash: the folder '{}' is gone", cwd.display());
    }
    match e.kind() {
        io::ErrorKind::ArgumentListTooLong => format!(
            "bash: the command of {} bytes is too long; write it to a file and run that",
            command.text.len()
        ),
        io::ErrorKind::InvalidInput => "bash: argument 'command': it holds a NUL character".into(),
        _ => format!("bash: cannot start '{}': {e}", command.shell.program.display()),
    }
}

/// A pipe the command prints into.
struct Source {
    pipe: File,
    from: Printed,
    is_ready: bool,
    /// How many times in a row it was ready.
    streak: usize,
}

impl Source {
    /// Reads once. Returns whether more may come.
    fn read(&mut self, take: &mut dyn FnMut(Printed, &[u8])) -> bool {
        let mut chunk = vec![0; CHUNK];
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
    let source = |pipe: OwnedFd, from| Source { pipe: File::from(pipe), from, is_ready: false, streak: 0 };
    let stdout = child.stdout.take().map(|pipe| source(pipe.into(), Printed::Stdout));
    let stderr = child.stderr.take().map(|pipe| source(pipe.into(), Printed::Stderr));
    stdout.into_iter().chain(stderr).collect()
}

/// Waits until there is something to read, the bell rings, or the time comes. Returns whether anything
/// happened.
fn wait(bell: Option<&mut PipeReader>, open: &mut [Source], until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    let pipes = open.iter().map(|source| source.pipe.as_fd()).chain(bell.as_ref().map(|bell| bell.as_fd()));
    let mut watched: Vec<PollFd> = pipes.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let mut polled = poll(&mut watched, left.as_ref());
    while polled == Err(rustix::io::Errno::INTR) {
        polled = poll(&mut watched, left.as_ref());
    }
    let happened = polled.is_ok_and(|count| count > 0);
    let ready: Vec<bool> = watched.iter().map(|fd| happened && !fd.revents().is_empty()).collect();
    for (source, is_ready) in open.iter_mut().zip(&ready) {
        source.is_ready = *is_ready;
        source.streak = if *is_ready { source.streak + 1 } else { 0 };
    }
    hold_back_newer(open);
    if let Some(bell) = bell.filter(|_| ready.last() == Some(&true)) {
        // what rang is looked up, the byte only wakes
        drop(bell.read(&mut [0; 8]));
    }
    happened
}

/// A pipe that was not emptied yet holds older words than one that has just begun to: the newer one
/// waits, for a while, so that what the model reads is in the order in which it was printed.
fn hold_back_newer(open: &mut [Source]) {
    let Some(oldest) = open.iter().map(|source| source.streak).max() else { return };
    if oldest % PATIENCE != 0 {
        open.iter_mut().filter(|source| source.streak < oldest).for_each(|source| {
            source.is_ready = false;
            source.streak = 0;
        });
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
            let happened = wait(None, open, Some(until));
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
