//! The whole of an output that the model sees a part of: kept in memory while it is short, then in a
//! 0600 file of a folder that is this user's own, up to a limit.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use nub_conf::Paths;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, statat, unlinkat};

/// An output of more bytes than this goes into a file: the model sees only a part of it for certain.
const IN_MEMORY: usize = 4 * crate::cut::KEPT;
/// The most bytes of one output that are kept.
pub(crate) const MAX_FILE: u64 = 1 << 30;
/// So many files, and so many bytes, are kept when a new one is made; older ones go.
const MAX_FILES: usize = 31;
const MAX_KEPT: i64 = 2 << 30;
/// The name of the folder, in `.nub` or the state folder.
const FOLDER: &str = "output";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Takes an output piece by piece.
#[derive(Debug)]
pub(crate) struct Spill {
    paths: Option<Paths>,
    memory: Vec<u8>,
    file: Option<(File, PathBuf)>,
    failure: Option<String>,
    total: u64,
}

impl Spill {
    /// An empty output. Without paths it is never kept in a file.
    pub(crate) fn new(paths: Option<&Paths>) -> Spill {
        Spill { paths: paths.cloned(), memory: Vec::new(), file: None, failure: None, total: 0 }
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.file.is_some() {
            self.write(bytes);
        } else if self.failure.is_none() {
            self.memory.extend_from_slice(bytes);
            if self.memory.len() > IN_MEMORY {
                self.whole();
            }
        }
    }

    /// Bytes that came.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Sees to it that there is a file, and says where it is and what it holds.
    pub(crate) fn whole(&mut self) -> String {
        if self.file.is_none() && self.failure.is_none() {
            match create(self.paths.as_ref()) {
                Ok(made) => self.file = Some(made),
                Err(e) => self.failure = Some(e.to_string()),
            }
            let memory = std::mem::take(&mut self.memory);
            self.write(&memory);
        }
        match (&self.failure, &self.file) {
            (None, Some((_, path))) if self.total <= MAX_FILE => {
                format!("the whole output is in {}", path.display())
            }
            (None, Some((_, path))) => {
                format!("the first {} MiB of it are in {}", MAX_FILE >> 20, path.display())
            }
            (Some(reason), _) => format!("the whole output could not be kept: {reason}"),
            (None, None) => String::new(),
        }
    }

    /// The file, when there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(_, path)| path.as_path())
    }

    fn write(&mut self, bytes: &[u8]) {
        let before = self.total - bytes.len() as u64;
        let room = usize::try_from(MAX_FILE.saturating_sub(before)).unwrap_or(usize::MAX);
        if let (Some((file, _)), None) = (&mut self.file, &self.failure)
            && let Err(e) = file.write_all(&bytes[..bytes.len().min(room)])
        {
            self.failure = Some(e.to_string());
        }
    }
}

/// In `.nub`, where the file tools can read it; where that cannot be, in the state folder.
fn create(paths: Option<&Paths>) -> io::Result<(File, PathBuf)> {
    let paths = paths.ok_or(io::ErrorKind::NotFound)?;
    if nub_conf::ensure_dot_nub(paths).is_ok()
        && let Ok(made) = create_in(&paths.dot_nub())
    {
        return Ok(made);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&paths.state)?;
    create_in(&paths.state)
}

/// Through folder handles that refuse links: a repository may have planted one.
fn create_in(parent: &Path) -> io::Result<(File, PathBuf)> {
    let folder_flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let parent_handle = openat(CWD, parent, folder_flags, Mode::empty())?;
    match mkdirat(&parent_handle, FOLDER, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(e) => return Err(e.into()),
    }
    let folder = openat(&parent_handle, FOLDER, folder_flags, Mode::empty())?;
    remove_old(&folder);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = name();
    let file = openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR)?;
    Ok((File::from(file), parent.join(FOLDER).join(name)))
}

/// Sorts by time, and is this process's own.
fn name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{next}.txt", now.as_millis(), std::process::id())
}

/// Keeps the newest files. One that cannot be removed is left.
fn remove_old(folder: &OwnedFd) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    let names = entries.flatten().map(|entry| entry.file_name().to_owned());
    let mut files: Vec<_> = names
        .filter(|name| !name.to_bytes().starts_with(b"."))
        .filter_map(|name| {
            let stat = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some((stat.st_mtime, stat.st_mtime_nsec, name, stat.st_size))
        })
        .collect();
    files.sort();
    let mut kept = 0;
    for (n, (_, _, name, size)) in files.iter().rev().enumerate() {
        kept += size;
        if n >= MAX_FILES || kept > MAX_KEPT {
            unlinkat(folder, name, AtFlags::empty()).ok();
        }
    }
}
