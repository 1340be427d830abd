//! Starting children and learning how they ended, in a program that adopts orphans: whatever ends is
//! reaped, so that nothing stays a zombie, and what somebody waits for is handed on.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdout, Command};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{WaitOptions, WaitStatus};
use signal_hook::consts::SIGCHLD;

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Starts children. While a [`Deaths`] exists, no other part of the program may wait for children.
#[derive(Debug, Clone, Default)]
pub struct Reaper(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    is_adopting: bool,
    watched: Vec<(u32, Option<Ended>)>,
}

/// Where the ends of children are heard of: readable when there is something to reap.
#[derive(Debug)]
pub struct Deaths {
    reaper: Reaper,
    heard: UnixStream,
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
    reaper: Reaper,
}

impl Reaper {
    /// Listens to the ends of children.
    ///
    /// # Errors
    /// The handler of SIGCHLD cannot be installed.
    pub fn listen(&self) -> io::Result<Deaths> {
        let (heard, write) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, write)?;
        Ok(Deaths { reaper: self.clone(), heard })
    }

    /// Starts a command in a process group of its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Watched> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(io::Error::other("this program is about to end"));
        }
        if !state.is_adopting {
            super::adopt_orphans()?;
            state.is_adopting = true;
        }
        // the lock keeps a child that ends at once from being reaped before it is known
        let mut child = command.process_group(0).spawn()?;
        state.watched.push((child.id(), None));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(Watched { pid: child.id(), stdout, stderr, reaper: self.clone() })
    }

    /// Starts nothing any more, so that [`super::end`] can end everything for good.
    pub fn close(&self) {
        self.lock().is_closed = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, pid: u32, status: WaitStatus) {
        let mut state = self.lock();
        let Some((_, ended)) = state.watched.iter_mut().find(|(watched, _)| *watched == pid) else { return };
        *ended = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(Ended::Code(code)),
            (None, Some(signal)) => Some(Ended::Signal(signal)),
            (None, None) => return,
        };
        self.0.changed.notify_all();
    }
}

impl Deaths {
    /// Reaps everything that has ended.
    pub fn reap(&mut self) {
        // the bytes only wake; one that is not read wakes once more
        drop(self.heard.read(&mut [0; 64]));
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    self.reaper.note(pid.as_raw_nonzero().get().unsigned_abs(), status);
                }
                Err(rustix::io::Errno::INTR) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}

impl AsFd for Deaths {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.heard.as_fd()
    }
}

impl Watched {
    /// How it ended, when it has and was reaped.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        self.reaper.lock().watched.iter().find(|(pid, _)| *pid == self.pid)?.1
    }

    /// How it ended, once it was reaped on another thread, or nothing after `limit`.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> Option<Ended> {
        let is_open = |state: &mut State| state.watched.contains(&(self.pid, None));
        drop(self.reaper.0.changed.wait_timeout_while(self.reaper.lock(), limit, is_open));
        self.ended()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.reaper.lock().watched.retain(|(pid, _)| *pid != self.pid);
    }
}
