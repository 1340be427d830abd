//! Placeholder until the first commit of this program.
#![allow(dead_code)]

mod arguments;
mod cancel;
mod definition;
mod edit;
mod glob;
mod grep;
mod outcome;
mod place;
mod read;
mod write;

/// Entry point.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}
