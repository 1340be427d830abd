//! What the model has seen of each file: a change behind its back is never overwritten.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::Stat;

/// Files that are remembered; beyond it all are forgotten and nothing is refused until the next read.
const MAX_FILES: usize = 10_000;

/// The files the model has read or written in this process, by their path from the root.
#[derive(Debug, Default)]
pub(crate) struct Stamps(Mutex<HashMap<PathBuf, Stamp>>);

/// One state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    /// In nanoseconds.
    modified: i128,
    /// Of its bytes; none when the file was too large to be read for that.
    hash: Option<u64>,
}

impl Stamp {
    /// Of a file and, where they were read, all of its bytes.
    pub(crate) fn of(stat: &Stat, bytes: Option<&[u8]>) -> Stamp {
        let hash = bytes.map(|bytes| {
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            hasher.finish()
        });
        let modified = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
        Stamp { size: stat.st_size as u64, modified, hash }
    }

    /// The same bytes make the same file; a mere touch is no change.
    fn same(&self, other: &Stamp) -> bool {
        match (self.hash, other.hash) {
            (Some(one), Some(two)) => one == two,
            _ => self.size == other.size && self.modified == other.modified,
        }
    }
}

impl Stamps {
    /// Remembers what the model sees.
    pub(crate) fn put(&self, rel: &Path, stamp: Stamp) {
        let mut stamps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stamps.len() >= MAX_FILES {
            stamps.clear();
        }
        stamps.insert(rel.to_path_buf(), stamp);
    }

    /// Whether the file is no longer what the model saw. A file it never saw is not stale.
    pub(crate) fn stale(&self, rel: &Path, now: &Stamp) -> bool {
        let stamps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stamps.get(rel).is_some_and(|seen| !seen.same(now))
    }
}
