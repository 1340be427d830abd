//! What list found out about session files, so that only those that changed are read again. Losing it
//! costs time and nothing else.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use nub_sys::log::{self, Level};
use serde::{Deserialize, Serialize};

use crate::choose::Found;
use crate::list::Content;

const NAME: &str = "sessions.ndjson";

/// What is known about one file as it was.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    path: String,
    size: u64,
    /// Nanoseconds since 1970.
    written: u64,
    content: Content,
}

/// What is known about the files of all folders.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    entries: HashMap<String, Entry>,
    changed: bool,
}

impl Cache {
    /// Reads the cache; what cannot be read is not known.
    pub fn load(folder: &Path) -> Cache {
        let text = fs::read(folder.join(NAME)).unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok());
        let entries = entries.map(|entry| (entry.path.clone(), entry)).collect();
        Cache { folder: folder.to_owned(), entries, changed: false }
    }

    /// What is known of a file, if it is still the same; else what looking at it tells.
    pub fn content(&mut self, found: &Found, look: impl FnOnce() -> Content) -> Content {
        let Some(path) = found.path.to_str() else { return look() };
        let since = found.written.duration_since(UNIX_EPOCH).unwrap_or_default();
        let written = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        let same = |entry: &&Entry| (entry.size, entry.written) == (found.size, written);
        if let Some(entry) = self.entries.get(path).filter(same) {
            return entry.content.clone();
        }
        let content = look();
        let entry = Entry { path: path.to_owned(), size: found.size, written, content: content.clone() };
        self.entries.insert(path.to_owned(), entry);
        self.changed = true;
        content
    }

    /// Keeps what was found out, without the files that are gone.
    pub fn save(mut self) {
        if !self.changed {
            return;
        }
        self.entries.retain(|path, _| Path::new(path).exists());
        if let Err(e) = self.write() {
            log::write(Level::Warn, &format!("cannot write '{}': {e}", self.folder.join(NAME).display()));
        }
    }

    /// In one step, so that a reader never sees half of it.
    fn write(&self) -> io::Result<()> {
        let mut lines = Vec::new();
        for entry in self.entries.values() {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let part = self.folder.join(format!("{NAME}.{}", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(&lines)?;
        fs::rename(part, self.folder.join(NAME))
    }
}
