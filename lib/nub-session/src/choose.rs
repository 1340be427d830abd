//! Which session file is meant: by path, id or prefix, by `$NUB_SESSION`, or the latest of this user.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nub_conf::Paths;
use nub_sys::Fail;

use crate::tracked;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// `-s` or `$NUB_SESSION`: an id, the beginning of one, or a path.
    Named(String),
    /// The one of this repository written last.
    Latest,
}

impl Choice {
    /// From `-s` and `$NUB_SESSION`, in this order.
    #[must_use]
    pub fn new(typed: Option<String>, variable: Option<String>) -> Choice {
        match typed.or(variable.filter(|v| !v.is_empty())) {
            Some(word) if word != "latest" => Choice::Named(word),
            _ => Choice::Latest,
        }
    }
}

/// A session file as it lies in its folder.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Its id: the file's name.
    pub id: String,
    /// When it was written last.
    pub written: SystemTime,
    /// Bytes.
    pub size: u64,
    /// It came with the repository or belongs to somebody else.
    pub foreign: bool,
}

/// The files of a session folder, the one written last first.
///
/// # Errors
/// The folder is there but cannot be read.
pub fn list(sessions: &Path) -> Result<Vec<Found>, Fail> {
    let entries = match fs::read_dir(sessions) {
        Ok(entries) => entries,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(e) => return Err(crate::open::cannot_read(sessions, &e)),
    };
    let user = rustix::process::geteuid().as_raw();
    let tracked = tracked::names(sessions);
    let linked = is_link(sessions) || sessions.parent().is_some_and(is_link);
    let mut found: Vec<Found> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let id = entry.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned();
            let meta = entry.metadata().ok()?;
            let foreign = linked || !meta.is_file() || meta.uid() != user || tracked.contains(&id);
            let written = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            Some(Found { path: entry.path(), id, written, size: meta.len(), foreign })
        })
        .collect();
    found.sort_by(|a, b| b.written.cmp(&a.written).then_with(|| b.id.cmp(&a.id)));
    Ok(found)
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_symlink())
}

/// The chosen file, or `None` when the latest is asked for and there is none.
///
/// # Errors
/// Nothing fits, or several do.
pub fn find(paths: &Paths, choice: &Choice) -> Result<Option<PathBuf>, Fail> {
    let sessions = paths.sessions();
    match choice {
        Choice::Latest => Ok(list(&sessions)?.into_iter().find(|s| !s.foreign && s.size > 0).map(|s| s.path)),
        Choice::Named(word) if is_path(word) => Ok(Some(paths.cwd.join(word))),
        Choice::Named(word) => {
            let exact = sessions.join(format!("{word}.jsonl"));
            if exact.is_file() {
                return Ok(Some(exact));
            }
            by_prefix(paths, &sessions, word).map(Some)
        }
    }
}

/// The chosen file of a program that only reads.
///
/// # Errors
/// There is none.
pub fn existing(paths: &Paths, choice: &Choice) -> Result<PathBuf, Fail> {
    find(paths, choice)?.ok_or_else(|| {
        Fail::usage(format!("no session in '{}'", paths.root.display()))
            .advice("nub-session new makes one; nub-session list --all shows those of other folders")
    })
}

fn is_path(word: &str) -> bool {
    word.contains('/') || word.ends_with(".jsonl")
}

fn by_prefix(paths: &Paths, sessions: &Path, word: &str) -> Result<PathBuf, Fail> {
    let begins = |id: &str| {
        id.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) && !word.is_empty()
    };
    let mut fits: Vec<Found> = list(sessions)?.into_iter().filter(|s| begins(&s.id)).collect();
    if fits.is_empty() {
        for folder in crate::folders::known(&paths.state) {
            fits.extend(list(&folder)?.into_iter().filter(|s| begins(&s.id)));
        }
    }
    match &fits[..] {
        [one] => Ok(one.path.clone()),
        [] => {
            Err(Fail::usage(format!("no session '{word}'"))
                .advice("nub-session list --all shows the sessions"))
        }
        [first, second, ..] => Err(Fail::usage(format!(
            "'{word}' means {} sessions, such as '{}' and '{}'",
            fits.len(),
            first.id,
            second.id
        ))),
    }
}
