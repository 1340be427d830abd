//! A session file that is read: opened once, its torn end known.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nub_sys::Fail;
use rustix::fs::OFlags;

use crate::scan::{self, Extent};

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
    /// There is no such file, or it cannot be read.
    pub fn read(path: &Path) -> Result<Open, Fail> {
        // a pipe in the place of a file must not block
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
            .map_err(|e| cannot_read(path, &e))?;
        if !file.metadata().is_ok_and(|meta| meta.is_file()) {
            return Err(Fail::failure(format!("'{}' is no regular file", path.display())));
        }
        let extent = scan::extent(&file).map_err(|e| cannot_read(path, &e))?;
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

pub(crate) fn cannot_read(path: &Path, e: &std::io::Error) -> Fail {
    Fail::failure(format!("cannot read '{}': {e}", path.display()))
}
