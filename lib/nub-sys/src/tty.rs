//! What a stream is connected to.

use std::io::IsTerminal;

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
