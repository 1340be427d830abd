//! Placeholder until the first commit of this program.
#![allow(dead_code)]

mod arguments;
mod cancel;
mod definition;
mod diff;
mod edit;
#[cfg(test)]
mod file_tests;
mod fit;
mod git_folders;
mod glob;
mod grep;
mod jail;
mod magic;
mod names;
mod nearest;
mod outcome;
mod place;
mod read;
mod replace;
mod stamps;
mod text;
mod write;

/// Entry point.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}
