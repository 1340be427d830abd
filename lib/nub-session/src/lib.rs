//! nub-session keeps conversations as trees in session files: one line a record, only ever appended.
//!
//! Reading never needs the lock and never more memory than the path ([`path`]); writing happens under
//! the lock, and nothing is acknowledged that is not on the disk ([`append`], [`journal`]).

mod append;
mod args;
mod array;
mod choose;
mod folders;
mod gist;
mod index;
mod job;
mod journal;
mod list;
mod mark;
mod open;
mod path;
mod place;
mod print;
mod scan;
mod seen;
mod show;
#[cfg(test)]
mod tests;
mod tracked;
mod tree;
mod wait;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use nub_proto::{Message, MessageRecord, Session, encode};
use nub_sys::{Exit, Fail, log, signal};

use crate::args::{Args, Command};
use crate::index::Index;
use crate::job::{Job, Style, Surroundings};
use crate::mark::Change;
use crate::open::Open;

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
        Command::New { title } => new(job, title.clone(), output)?,
        Command::List { all } => {
            let sessions = list::gather(&job.paths, *all)?;
            match job.style {
                Style::Text => list::table(&sessions, *all, output)?,
                Style::Records => list::records(&sessions, output)?,
                Style::Array => array::wrap(output, |array| list::records(&sessions, array))?,
            }
        }
        Command::Path { node } => print_path(job, node.as_deref(), output)?,
        Command::Append { user, new, announce } => {
            let path = if *new { None } else { choose::find(&job.paths, &job.choice)? };
            let target = append::Target { path, announce: *announce, paths: job.paths.clone() };
            return append(target, user.as_deref(), input, output);
        }
        Command::Tree => {
            let (open, index) = job.load()?;
            match job.style {
                Style::Text => tree::draw(&open, &index, &mut BufWriter::new(output))?,
                Style::Records => tree::records(&open, &index, output)?,
                Style::Array => array::wrap(output, |array| tree::records(&open, &index, array))?,
            }
        }
        Command::Branch { node } => mark(job, node, Change::Branch, output)?,
        Command::Label { node, text } => mark(job, node, Change::Label(text.clone()), output)?,
        Command::Bookmark { node, remove } => mark(job, node, Change::Bookmark(!remove), output)?,
        Command::Show { node } => {
            let (open, index) = job.load()?;
            show::show(&open, &index, index.find(node)?, job.style, output)?;
        }
    }
    Ok(Exit::Success)
}

fn new(job: &Job, title: Option<String>, output: &mut impl Write) -> Result<(), Fail> {
    let mut journal = place::create(&job.paths, &place::plan(&job.paths))?;
    let session = Session { title, ..place::session(&journal.path, &job.paths) };
    let mut line = Vec::new();
    encode(&session, &mut line).map_err(|e| Fail::output(&e))?;
    journal.store(&line).map_err(|e| journal::cannot_write(&journal.path, &e))?;
    let answer = match job.style {
        Style::Text => format!("{}\n", session.id).into_bytes(),
        Style::Records | Style::Array => line,
    };
    output.write_all(&answer).map_err(|e| Fail::output(&e))
}

fn print_path(job: &Job, node: Option<&str>, output: &mut impl Write) -> Result<(), Fail> {
    if node.is_none() && choose::find(&job.paths, &job.choice)?.is_none() {
        // where nothing was said yet the path is empty
        return Ok(());
    }
    let mut open = Open::read(&job.existing()?)?;
    let spans = match node {
        None => path::path(&mut open)?,
        Some(word) => {
            let index = Index::load(&open)?;
            path::path_to(&mut open, &index, Some(index.find(word)?))?
        }
    };
    job.note(&open);
    print::print(&open, &spans, output)
}

fn mark(job: &Job, node: &str, change: Change, output: &mut impl Write) -> Result<(), Fail> {
    let line = mark::mark(&job.existing()?, node, change)?;
    match job.style {
        Style::Text => Ok(()),
        Style::Records | Style::Array => output.write_all(&line).map_err(|e| Fail::output(&e)),
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
