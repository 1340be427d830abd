//! Starting children and learning how they ended, in a program that adopts orphans: one thread reaps
//! whatever ends, so that nothing stays a zombie, and hands on what somebody waits for.

use std::io::{self, PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdout, Command};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{WaitOptions, WaitStatus};

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Starts and reaps children. While one exists, no other part of the program may wait for children.
#[derive(Debug, Clone, Default)]
pub struct Reaper(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    started: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_running: bool,
    is_closed: bool,
    starts: u64,
    watched: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    pid: u32,
    wake: Arc<PipeWriter>,
    ended: Option<Ended>,
}

/// A child whose end somebody waits for.
#[derive(Debug)]
pub struct Watched {
    /// Its id, and that of its process group.
    pub pid: u32,
    /// What it prints.
    pub stdout: Option<ChildStdout>,
    /// What it prints beside.
    pub stderr: Option<ChildStderr>,
    shared: Arc<Shared>,
}

impl Reaper {
    /// Starts a command in a process group of its own. At its end a byte is written into `wake`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, command: &mut Command, wake: Arc<PipeWriter>) -> io::Result<Watched> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Err(io::Error::other("this program is about to end"));
        }
        if !state.is_running {
            super::adopt_orphans()?;
            let shared = Arc::clone(&self.0);
            thread::Builder::new().name("reaper".into()).spawn(move || reap(&shared))?;
            state.is_running = true;
        }
        // the lock keeps the reaper from missing a child that ends at once
        let mut child = command.process_group(0).spawn()?;
        state.watched.push(Entry { pid: child.id(), wake, ended: None });
        state.starts += 1;
        self.0.started.notify_one();
        Ok(Watched {
            pid: child.id(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            shared: Arc::clone(&self.0),
        })
    }

    /// Starts nothing any more, so that [`super::end`] can end everything for good.
    pub fn close(&self) {
        self.0.lock().is_closed = true;
    }
}

impl Watched {
    /// How it ended, when it has.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        self.shared.lock().watched.iter().find(|entry| entry.pid == self.pid)?.ended
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.shared.lock().watched.retain(|entry| entry.pid != self.pid);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reap(shared: &Shared) {
    loop {
        let starts = shared.lock().starts;
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => note(shared, pid.as_raw_nonzero().get().unsigned_abs(), status),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            // no child: sleep until there is one again
            Err(_) => {
                let state = shared.lock();
                drop(shared.started.wait_while(state, |state| state.starts == starts));
            }
        }
    }
}

fn note(shared: &Shared, pid: u32, status: WaitStatus) {
    let mut state = shared.lock();
    let Some(entry) = state.watched.iter_mut().find(|entry| entry.pid == pid) else { return };
    entry.ended = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Some(Ended::Code(code)),
        (None, Some(signal)) => Some(Ended::Signal(signal)),
        (None, None) => return,
    };
    // whoever waited may be gone
    drop((&*entry.wake).write_all(b"."));
}
