//! Where new sessions go.

use std::path::{Path, PathBuf};

use nub_conf::Paths;
use nub_proto::Session;
use nub_sys::log::{self, Level};
use nub_sys::{Fail, clock};
use ulid::Ulid;

use crate::folders;
use crate::journal::{self, Journal, cannot_write};

/// The path of a session yet to be made.
pub fn plan(paths: &Paths) -> PathBuf {
    paths.sessions().join(format!("{}.jsonl", Ulid::generate()))
}

/// Makes the file of a planned session, locked and still empty.
///
/// # Errors
/// The folder or the file cannot be made.
pub fn create(paths: &Paths, path: &Path) -> Result<Journal, Fail> {
    let fresh = !paths.sessions().is_dir();
    for notice in nub_conf::ensure_dot_nub(paths).map_err(|e| Fail::failure(e.to_string()))? {
        log::write(Level::Warn, &notice.message);
    }
    let sessions = paths.sessions();
    nub_conf::ensure_own_folder(&sessions).map_err(|e| cannot_write(&sessions, &e))?;
    if fresh {
        // a file is as durable as the folders on the way to it
        let way = [sessions.as_path(), &paths.dot_nub()];
        way.into_iter().try_for_each(journal::sync_folder).map_err(|e| cannot_write(&sessions, &e))?;
    }
    let journal = Journal::open(path)?;
    folders::remember(&paths.state, &sessions);
    Ok(journal)
}

/// The first line of a session file. The id is the file's name where that is one.
pub fn session(file: &Path, paths: &Paths) -> Session {
    let name = file.file_stem().and_then(|stem| stem.to_str());
    let id = name.and_then(|name| Ulid::from_string(name).ok()).unwrap_or_else(Ulid::generate);
    Session {
        id: id.to_string(),
        created_at: clock::now(),
        cwd: paths.cwd.to_string_lossy().into_owned(),
        title: None,
        parent: None,
    }
}
