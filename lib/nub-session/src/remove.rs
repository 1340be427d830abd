//! rm and prune: session files that are no longer wanted. One that is in use stays.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use nub_conf::Paths;
use nub_sys::Fail;

use crate::choose::{self, Found};
use crate::index::Index;
use crate::journal::{self, cannot_write};
use crate::open::Open;

/// An empty session younger than this was made for something that is about to be said.
const SETTLED: Duration = Duration::from_secs(60);

/// Which sessions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// Those without a message.
    Empty,
    /// Those, and those that nobody wrote for so long.
    Older(Duration),
}

/// Removes a file.
///
/// # Errors
/// It is in use, no session file, or cannot be removed.
pub fn remove(path: &Path) -> Result<(), Fail> {
    let file = Open::read(path)?.file;
    // held until the name is gone, so that no writer begins in between
    journal::lock(&file, path)?;
    fs::remove_file(path).map_err(|e| cannot_write(path, &e))
}

/// The sessions of this repository that pruning would remove: never a foreign one, never a damaged one.
///
/// # Errors
/// The folder cannot be read.
pub fn due(paths: &Paths, prune: Prune) -> Result<Vec<Found>, Fail> {
    let mut found = choose::list(&paths.sessions())?;
    found.retain(|one| !one.foreign && is_due(one, prune));
    Ok(found)
}

fn is_due(one: &Found, prune: Prune) -> bool {
    let age = SystemTime::now().duration_since(one.written).unwrap_or_default();
    let old = match prune {
        Prune::Empty => false,
        Prune::Older(limit) => age >= limit,
    };
    old || (age >= SETTLED && is_empty(&one.path))
}

fn is_empty(path: &Path) -> bool {
    let Ok(open) = Open::read(path) else { return false };
    Index::load(&open).is_ok_and(|index| index.nodes.is_empty() && index.damage.is_empty())
}
