//! What cannot be stored where it belongs is kept in the state folder, to the end of the input.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nub_conf::Paths;
use nub_sys::Fail;
use ulid::Ulid;

/// Why nothing is stored any more, and what became of what was said since.
#[derive(Debug)]
pub struct Broken {
    why: Fail,
    kept: Option<Kept>,
    /// Why not everything is kept.
    lost: Option<io::Error>,
}

/// A rescue file.
#[derive(Debug)]
struct Kept {
    file: File,
    path: PathBuf,
    /// Bytes that are safe.
    good: u64,
}

impl Broken {
    /// With the first failure.
    pub fn new(why: Fail) -> Broken {
        Broken { why, kept: None, lost: None }
    }

    /// Keeps lines of a session.
    pub fn keep(&mut self, lines: &[u8], session: &Path, paths: &Paths) {
        let name = session.file_stem().unwrap_or_default().to_string_lossy();
        let kept = match self.kept.take().map_or_else(|| Kept::make(&paths.state, &name), Ok) {
            Ok(kept) => self.kept.insert(kept),
            Err(e) => {
                self.lost = Some(e);
                return;
            }
        };
        if let Err(e) = kept.add(lines) {
            self.lost = Some(e);
            if kept.good == 0 {
                // an empty file that nobody is told of helps nobody
                drop(fs::remove_file(&kept.path));
                self.kept = None;
            }
        }
    }

    /// The failure, and where what was said is.
    pub fn fail(&self) -> Fail {
        let kept = self
            .kept
            .as_ref()
            .map(|kept| format!("what was not stored is kept in '{}'", kept.path.display()));
        let advice = match (kept, &self.lost) {
            (Some(kept), None) => kept,
            (Some(kept), Some(e)) => format!("{kept}, but not all of it: {e}"),
            (None, Some(e)) => format!("what was said last is lost: no rescue file either: {e}"),
            (None, None) => return self.why.clone(),
        };
        self.why.clone().advice(advice)
    }
}

impl Kept {
    fn make(state: &Path, name: &str) -> io::Result<Kept> {
        let folder = state.join("rescue");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let path = folder.join(format!("{name}-{}.jsonl", Ulid::generate()));
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Kept { file, path, good: 0 })
    }

    /// Whole lines, or none of them.
    fn add(&mut self, lines: &[u8]) -> io::Result<()> {
        let added = self.file.write_all(lines).and_then(|()| self.file.sync_all());
        match added {
            Ok(()) => self.good += lines.len() as u64,
            Err(_) => drop(self.file.set_len(self.good)),
        }
        added
    }
}
