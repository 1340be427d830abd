//! The signals by which a user ends work: SIGINT, SIGTERM, SIGHUP.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
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

/// Ends this program as the signal would without a handler.
pub fn die(signal: i32) {
    // only a signal without a default action fails
    drop(signal_hook::low_level::emulate_default_handler(signal));
}

/// Lets a signal end the program the way it does by default, unless the program has ended in time itself.
pub fn give_up(signal: i32, within: Duration) {
    thread::spawn(move || {
        thread::sleep(within);
        signal_hook::low_level::emulate_default_handler(signal)
    });
}

/// Kills every process of a group at once. One that is gone is no error.
pub fn kill_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Makes a write beyond the limit of file sizes an error (EFBIG) instead of the end of the program.
///
/// # Errors
/// The handler cannot be installed.
pub fn survive_file_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}
