//! A session file that is read: opened once, its torn end known.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nub_sys::Fail;
use rustix::fs::OFlags;

use crate::scan::{self, Extent, Forward};
use crate::seen::{self, Seen};

/// How a session file begins, as nub writes it.
const START: &[u8] = br#"{"v":1,"type":"session","#;
/// Where a file that is written to must hold a record, in lines: the first one may be damaged.
const FIRST: usize = 2;

/// An open session file and what is odd about it.
#[derive(Debug)]
pub struct Open {
    /// The file, for reading.
    pub file: File,
    /// Its path.
    pub path: PathBuf,
    /// How far it holds whole lines.
    pub extent: Extent,
    /// What the user should know, one line each.
    pub notes: Vec<String>,
}

impl Open {
    /// Opens a session file for reading.
    ///
    /// # Errors
    /// There is no such file, it cannot be read, or no line of it is one of a session.
    pub fn read(path: &Path) -> Result<Open, Fail> {
        Open::of(path, usize::MAX)
    }

    /// Looks at a file that is about to be written to, which must not be anything else than a session.
    ///
    /// # Errors
    /// As [`Open::read`], and it does not begin as a session does.
    pub fn written(path: &Path) -> Result<Open, Fail> {
        Open::of(path, FIRST)
    }

    fn of(path: &Path, within: usize) -> Result<Open, Fail> {
        // a pipe in the place of a file must not block
        let file = OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed())
            .open(path)
            .map_err(|e| cannot_read(path, &e))?;
        if !file.metadata().is_ok_and(|meta| meta.is_file()) {
            return Err(Fail::failure(format!("'{}' is no regular file", path.display())));
        }
        let extent = scan::extent(&file).map_err(|e| cannot_read(path, &e))?;
        if !is_session(&file, extent, within).map_err(|e| cannot_read(path, &e))? {
            return Err(Fail::usage(format!("'{}' is no session file", path.display())));
        }
        let mut notes = Vec::new();
        if extent.torn > 0 {
            notes.push(format!(
                "'{}' ends in a torn line of {} bytes, which is ignored",
                path.display(),
                extent.torn
            ));
        }
        Ok(Open { file, path: path.to_owned(), extent, notes })
    }

    /// Names the file in an error of reading it.
    #[must_use]
    pub fn failed(&self, e: &std::io::Error) -> Fail {
        cannot_read(&self.path, e)
    }
}

/// Whether one of a file's first lines is one of a session, or its torn only line may have become one.
fn is_session(file: &File, extent: Extent, within: usize) -> std::io::Result<bool> {
    if extent.good == 0 {
        let torn = scan::read(file, 0, extent.torn.min(START.len() as u64))?;
        return Ok(START.starts_with(&torn));
    }
    let mut lines = Forward::new(file, 0);
    for _ in 0..within {
        let Some(raw) = lines.next()?.filter(|raw| raw.offset < extent.good) else { break };
        match seen::look(file, &raw)? {
            Seen::Damaged(_) | Seen::Other => {}
            Seen::Session
            | Seen::Node(_)
            | Seen::Head(_)
            | Seen::Label(_)
            | Seen::Context(_)
            | Seen::Newer(_) => return Ok(true),
        }
    }
    Ok(false)
}

pub(crate) fn cannot_read(path: &Path, e: &std::io::Error) -> Fail {
    if path.is_symlink() {
        return Fail::failure(format!("'{}' is a link", path.display()));
    }
    Fail::failure(format!("cannot read '{}': {e}", path.display()))
}
