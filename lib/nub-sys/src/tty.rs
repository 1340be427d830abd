//! What a stream is connected to.

use std::io::IsTerminal;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether stdin is a terminal.
#[must_use]
pub fn stdin() -> bool {
    std::io::stdin().is_terminal()
}

/// Whether stdout is a terminal.
#[must_use]
pub fn stdout() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether stderr is a terminal.
#[must_use]
pub fn stderr() -> bool {
    std::io::stderr().is_terminal()
}

/// Columns of the terminal on stdout or stderr, when there is one.
#[must_use]
pub fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(rustix::stdio::stderr()))
        .ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether stdin has something to read, or has ended, within this time.
#[must_use]
pub fn stdin_ready(within: Duration) -> bool {
    let stdin = rustix::stdio::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec::try_from(within).ok();
    // what cannot be waited for can be read at once
    !matches!(poll(&mut fds, timeout.as_ref()), Ok(0))
}
