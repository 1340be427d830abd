//! The edge to the operating system: exit codes and diagnostics, command lines, sibling programs,
//! signals, process trees, terminals, the clock and the log file. It knows no record and no
//! configuration key.

pub mod clock;
mod command_line;
pub mod crew;
mod exit;
mod fail;
pub mod log;
pub mod process;
pub mod sibling;
pub mod signal;
pub mod stage;
#[cfg(test)]
mod tests;
pub mod tty;

pub use command_line::{Common, Format, Head, parse, parse_from, program};
pub use exit::Exit;
pub use fail::{Fail, run, warn};
