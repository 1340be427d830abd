//! The subcommands, but for append: each finds its session, does its work and prints it.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use nub_proto::{Session, encode};
use nub_sys::{Exit, Fail};

use crate::args::Command;
use crate::choose::{self, Choice};
use crate::export::Keys;
use crate::index::Index;
use crate::job::{Job, Style};
use crate::journal::cannot_write;
use crate::mark::Change;
use crate::open::Open;
use crate::remove::Prune;
use crate::{
    check, diff, export, folders, fork, html, list, mark, mend, path, place, print, remove, request, search,
    show, tree,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs a subcommand.
///
/// # Errors
/// As the subcommand.
pub fn run(job: &Job, output: &mut impl Write) -> Result<Exit, Fail> {
    match &job.command {
        // it reads stdin and has a run of its own
        Command::Append { .. } => Ok(()),
        Command::New { title } => new(job, title.clone(), output),
        Command::List { all } => list(job, *all, output),
        Command::Path { node } => path(job, node.as_deref(), output),
        Command::Branch { node } => mark(job, node, Change::Branch, output),
        Command::Label { node, text } => mark(job, node, Change::Label(text.clone()), output),
        Command::Bookmark { node, remove } => mark(job, node, Change::Bookmark(!remove), output),
        Command::Export { redact } => export(job, if *redact { Keys::Masked } else { Keys::Kept }, output),
        Command::Search { regex, all } => return search(job, regex, *all, output),
        Command::Check { repair } => return check(job, *repair, output),
        Command::Rm { sessions } => remove(job, sessions),
        Command::Prune { older_than, dry_run } => {
            let prune = older_than.map_or(Prune::Empty, |days| Prune::Older(DAY * days));
            self::prune(job, prune, *dry_run, output)
        }
        Command::Tree => tree(job, output),
        Command::Show { node } => {
            let (open, index) = job.load()?;
            show::show(&open, &index, index.find(node)?, job.style, output)
        }
        Command::Request { node } => {
            let (mut open, index) = job.load()?;
            let at = index.find(node)?;
            request::print(&mut open, &index, at, output)
        }
        Command::Diff { first, second } => {
            let (open, index) = job.load()?;
            let nodes = [index.find(first)?, index.find(second)?];
            diff::diff(&open, &index, nodes, job.style, &mut BufWriter::new(output))
        }
        Command::Fork { node } => {
            let (open, index) = job.load()?;
            made(job, &fork::fork(&open, &index, index.find(node)?, &job.paths)?, output)
        }
    }?;
    Ok(Exit::Success)
}

fn tree(job: &Job, output: &mut impl Write) -> Result<(), Fail> {
    let (open, index) = job.load()?;
    if job.style == Style::Text {
        tree::draw(&open, &index, &mut BufWriter::new(output))
    } else {
        tree::records(&open, &index, output)
    }
}

fn new(job: &Job, title: Option<String>, output: &mut impl Write) -> Result<(), Fail> {
    let mut journal = place::create(&job.paths, &place::plan(&job.paths))?;
    let session = Session { title, ..place::session(&journal.path, &job.paths) };
    let mut line = Vec::new();
    encode(&session, &mut line).map_err(|e| Fail::output(&e))?;
    journal.store(&line).map_err(|e| cannot_write(&journal.path, &e))?;
    made(job, &session, output)
}

/// Says which session was made: people get its bare id.
fn made(job: &Job, session: &Session, output: &mut impl Write) -> Result<(), Fail> {
    let mut line = Vec::new();
    if job.style == Style::Text {
        line.extend(format!("{}\n", session.id).bytes());
    } else {
        encode(session, &mut line).map_err(|e| Fail::output(&e))?;
    }
    output.write_all(&line).map_err(|e| Fail::output(&e))
}

fn list(job: &Job, all: bool, output: &mut impl Write) -> Result<(), Fail> {
    let sessions = list::gather(&job.paths, all)?;
    if job.style == Style::Text {
        list::table(&sessions, all, output)
    } else {
        list::records(&sessions, output)
    }
}

fn path(job: &Job, node: Option<&str>, output: &mut impl Write) -> Result<(), Fail> {
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
    if job.style == Style::Text {
        return Ok(());
    }
    output.write_all(&line).map_err(|e| Fail::output(&e))
}

fn export(job: &Job, keys: Keys, output: &mut impl Write) -> Result<(), Fail> {
    let (mut open, index) = job.load()?;
    let output = &mut BufWriter::new(output);
    match job.style {
        Style::Html => html::page(&open, &index, keys, output),
        Style::Array => export::json(&open, &index, keys, output),
        Style::Records | Style::Text | Style::Markdown => export::markdown(&mut open, keys, output),
    }
}

fn search(job: &Job, regex: &str, all: bool, output: &mut impl Write) -> Result<Exit, Fail> {
    let regex = search::pattern(regex)?;
    let files: Vec<PathBuf> = match &job.choice {
        Choice::Named(_) => vec![job.existing()?],
        Choice::Latest => {
            let own = job.paths.sessions();
            let others = folders::known(&job.paths.state).into_iter().filter(|folder| all && *folder != own);
            let folders: Vec<PathBuf> = std::iter::once(own.clone()).chain(others).collect();
            folders
                .iter()
                .filter_map(|folder| choose::list(folder).ok())
                .flatten()
                .map(|one| one.path)
                .collect()
        }
    };
    search::search(&files, &regex, job.style, &mut BufWriter::new(output))
}

fn check(job: &Job, repair: bool, output: &mut impl Write) -> Result<Exit, Fail> {
    let open = Open::read(&job.existing()?)?;
    if !repair {
        let index = Index::survey(&open)?;
        return check::print(&open, &index, job.style, output);
    }
    let index = Index::load(&open)?;
    let session = mend::copy(&open, &index, &job.paths)?;
    made(job, &session, output)?;
    Ok(Exit::Success)
}

fn remove(job: &Job, sessions: &[String]) -> Result<(), Fail> {
    // all are found before the first goes
    let find = |word: &String| choose::existing(&job.paths, &Choice::Named(word.clone()));
    let paths: Vec<PathBuf> = sessions.iter().map(find).collect::<Result<_, _>>()?;
    paths.iter().try_for_each(|path| remove::remove(path))
}

fn prune(job: &Job, prune: Prune, dry_run: bool, output: &mut impl Write) -> Result<(), Fail> {
    for found in remove::due(&job.paths, prune)? {
        if !dry_run {
            remove::remove(&found.path)?;
        }
        let line = format!("{}\n", found.path.display());
        output.write_all(line.as_bytes()).map_err(|e| Fail::output(&e))?;
    }
    Ok(())
}
