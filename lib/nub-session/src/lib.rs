//! nub-session keeps conversations as trees in session files: one line a record, only ever appended.
//!
//! Reading never needs the lock and never more memory than the path ([`path`]); writing happens under
//! the lock, and nothing is acknowledged that is not on the disk ([`append`], [`journal`]).

mod append;
mod args;
mod array;
mod cache;
mod check;
mod choose;
mod command;
mod diff;
mod export;
mod folders;
mod fork;
mod gist;
mod html;
mod index;
mod job;
mod journal;
mod list;
mod mark;
mod mend;
mod open;
mod path;
mod place;
mod print;
mod redact;
mod remove;
mod request;
mod scan;
mod search;
mod seen;
mod show;
#[cfg(test)]
mod tests;
mod tracked;
mod tree;
mod wait;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use nub_proto::{Message, MessageRecord, encode};
use nub_sys::{Exit, Fail, log, signal};

use crate::args::{Args, Command};
use crate::job::{Job, Style, Surroundings};

/// The program's name.
pub(crate) const NAME: &str = "nub-session";

/// Entry point.
pub fn main() -> ExitCode {
    let args: Args = match nub_sys::parse(NAME) {
        Ok(args) => args,
        Err(code) => return code,
    };
    nub_sys::run(NAME, || {
        let job = Job::new(args, &Surroundings::of_process())?;
        let level = std::env::var("NUB_LOG").ok().and_then(|word| log::Level::parse(&word));
        log::start(NAME, job.paths.log(), level.unwrap_or(log::Level::Warn));
        // records leave whole: the line buffer of io::stdout would copy and cut them
        let output = io::stdout().as_fd().try_clone_to_owned().map_err(|e| Fail::output(&e))?;
        run(&job, io::stdin(), &mut File::from(output))
    })
}

fn run(job: &Job, input: impl Read + AsFd, output: &mut impl Write) -> Result<Exit, Fail> {
    match &job.command {
        Command::Append { user, new, announce } => {
            let path = if *new { None } else { choose::find(&job.paths, &job.choice)? };
            let target = append::Target { path, announce: *announce, paths: job.paths.clone() };
            append(target, user.as_deref(), input, output)
        }
        command if job.style == Style::Array && command.is_many() => {
            array::wrap(output, |array| command::run(job, array))
        }
        _ => command::run(job, output),
    }
}

fn append(
    target: append::Target,
    user: Option<&str>,
    input: impl Read + AsFd,
    output: &mut impl Write,
) -> Result<Exit, Fail> {
    // handlers first: a signal while the lock is waited for must not lose what was said either
    let wake = signal::wake().map_err(|e| Fail::failure(format!("cannot watch signals: {e}")))?;
    signal::survive_file_limit().map_err(|e| Fail::failure(format!("cannot watch signals: {e}")))?;
    let Some(text) = user else {
        let input = wait::Patient::new(input, wake);
        let signalled = input.signalled();
        return append::run(target, input, output, &signalled);
    };
    let mut line = Vec::new();
    let record = MessageRecord { message: Message::user(text), meta: None };
    encode(&record, &mut line).map_err(|e| Fail::output(&e))?;
    append::run(target, &line[..], output, &AtomicBool::new(false))
}
