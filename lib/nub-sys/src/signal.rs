//! The signals by which a user ends work: SIGINT, SIGTERM, SIGHUP.

use std::io;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls `react` with the number of each such signal, on a thread of its own.
///
/// # Errors
/// The handlers cannot be installed.
pub fn watch(mut react: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            react(signal);
        }
    })?;
    Ok(())
}
