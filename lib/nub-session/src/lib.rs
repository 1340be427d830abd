//! nub-session keeps conversations as trees in session files: one line a record, only ever appended.
//!
//! Reading never needs the lock and never more memory than the path (`path`); writing happens under
//! the lock, and nothing is acknowledged that is not on the disk (`append`, `journal`).

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
#[cfg(test)]
mod mutations;
mod open;
mod path;
mod place;
mod print;
mod redact;
mod remove;
mod request;
mod rescue;
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
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nub_proto::{Message, MessageRecord, encode};
use nub_sys::{Exit, Fail, log, signal};

use crate::args::{Args, Command};
use crate::job::{Job, Style, Surroundings};
use crate::wait::Patient;

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
        signal::survive_file_limit().map_err(cannot_start)?;
        let (woken, wake) = UnixStream::pair().map_err(cannot_start)?;
        unless_signalled(job.grace(), wake, move || {
            // records leave whole: the line buffer of io::stdout would copy and cut them
            let output = io::stdout().as_fd().try_clone_to_owned().map_err(|e| Fail::output(&e))?;
            run(&job, Patient::new(io::stdin(), woken), &mut File::from(output))
        })
    })
}

fn cannot_start(e: io::Error) -> Fail {
    Fail::failure(format!("cannot start: {e}"))
}

/// Does the work on a thread, since neither a read nor a write can be interrupted. After a signal the
/// work has `grace` to end by itself; the end of the process ends it in any case.
fn unless_signalled(
    grace: Duration,
    mut wake: UnixStream,
    work: impl FnOnce() -> Result<Exit, Fail> + Send + 'static,
) -> Result<Exit, Fail> {
    let (done, end) = mpsc::channel();
    let signalled = done.clone();
    // whoever comes second finds nobody waiting
    signal::watch(move |_| {
        drop(wake.write_all(b"!"));
        drop(signalled.send(None));
    })
    .map_err(cannot_start)?;
    thread::Builder::new().spawn(move || drop(done.send(Some(work())))).map_err(cannot_start)?;
    if let Ok(Some(end)) = end.recv() {
        return end;
    }
    let until = Instant::now() + grace;
    loop {
        match end.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Some(end)) => return end,
            Ok(None) => {}
            Err(_) => return Ok(Exit::Cancelled),
        }
    }
}

fn run<R: Read + AsFd>(job: &Job, input: Patient<R>, output: &mut impl Write) -> Result<Exit, Fail> {
    match &job.command {
        Command::Append { user, new, announce } => {
            let path = if *new { None } else { choose::find(&job.paths, &job.choice)? };
            let target = append::Target {
                path,
                announce: *announce,
                coprocess: job.coprocess,
                paths: job.paths.clone(),
            };
            append(target, user.as_deref(), input, output)
        }
        command if job.style == Style::Array && command.is_many() => {
            array::wrap(output, |array| command::run(job, array))
        }
        _ => command::run(job, output),
    }
}

fn append<R: Read + AsFd>(
    target: append::Target,
    user: Option<&str>,
    input: Patient<R>,
    output: &mut impl Write,
) -> Result<Exit, Fail> {
    let signalled = input.signalled();
    let Some(text) = user else { return append::run(target, input, output, &signalled) };
    let mut line = Vec::new();
    let record = MessageRecord { message: Message::user(text), meta: None };
    encode(&record, &mut line).map_err(|e| Fail::output(&e))?;
    append::run(target, &line[..], output, &signalled)
}
