//! stdin that a signal cannot tear away: what was said is still read for about a second.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long input is still read after a signal.
pub const GRACE: Duration = Duration::from_secs(1);

/// An input that ends a second after a signal, or when it ends itself.
#[derive(Debug)]
pub struct Patient<R> {
    input: R,
    wake: UnixStream,
    until: Option<Instant>,
    signalled: Arc<AtomicBool>,
}

impl<R: Read + AsFd> Patient<R> {
    /// Wraps an input. `wake` becomes readable when a signal comes.
    pub fn new(input: R, wake: UnixStream) -> Patient<R> {
        Patient { input, wake, until: None, signalled: Arc::default() }
    }

    /// Becomes true when a signal has come.
    pub fn signalled(&self) -> Arc<AtomicBool> {
        self.signalled.clone()
    }

    /// Waits for input. False when the time after a signal is over.
    fn wait(&mut self) -> io::Result<bool> {
        loop {
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(false);
            }
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut fds = vec![PollFd::new(&self.input, PollFlags::IN)];
            if left.is_none() {
                fds.push(PollFd::new(&self.wake, PollFlags::IN));
            }
            match poll(&mut fds, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            let woken = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
            let ready = !fds[0].revents().is_empty();
            if woken {
                self.signalled.store(true, Ordering::Relaxed);
                self.until = Some(Instant::now() + GRACE);
            }
            if ready {
                return Ok(true);
            }
        }
    }
}

impl<R: Read + AsFd> Read for Patient<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.wait()? { self.input.read(into) } else { Ok(0) }
    }
}
