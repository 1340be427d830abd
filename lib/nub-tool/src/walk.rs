//! A walk over the files below a folder, on several threads, through folder handles: nothing outside
//! the root can get into it, whatever changes meanwhile. Links are not followed.

use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use ignore::Match;
use ignore::overrides::Override;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Dir, FileType, OFlags};
use rustix::io::Errno;

use crate::cancel::Cancel;
use crate::ignored::{Level, Verdict, What};
use crate::jail::{look, reason};
use crate::place::{Place, on_disk};

/// More threads than this do not make a disk faster.
const MAX_THREADS: usize = 8;

/// What is walked.
pub(crate) struct Walk<'a> {
    pub place: &'a Place,
    /// The folder, from the root, without links.
    pub base: &'a Path,
    /// Globs that decide before every ignore file.
    pub globs: Override,
    pub hidden: Hidden,
    /// Folders deep; none: all the way down.
    pub depth: Option<usize>,
    pub cancel: &'a Cancel,
}

/// Whether names that start with a dot are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    Skip,
    Show,
}

/// A regular file that was met.
pub(crate) struct Met<'a> {
    /// From the root.
    pub rel: &'a Path,
    /// The folder it is in, and its name there.
    pub folder: BorrowedFd<'a>,
    pub name: &'a CStr,
}

/// A folder that waits.
struct Job {
    rel: PathBuf,
    above: Option<Arc<Level>>,
    /// Folders between it and the base.
    depth: usize,
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    /// Folders in work: they may bring more jobs.
    busy: usize,
    /// Threads that wait for one.
    idle: usize,
    /// Folders that could not be read.
    unreadable: usize,
}

impl Walk<'_> {
    /// Calls a visitor, one per thread, for every file. Gives the number of folders that cannot be read.
    ///
    /// # Errors
    /// The base cannot be opened.
    pub(crate) fn run<V: FnMut(&Met)>(&self, visitor: impl Fn() -> V + Sync) -> Result<usize, String> {
        let above = self.levels_above()?;
        let first = Job { rel: self.base.to_path_buf(), above, depth: 0 };
        let queue = Mutex::new(Queue { jobs: vec![first], ..Queue::default() });
        let changed = Condvar::new();
        let threads = thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS));
        thread::scope(|scope| {
            for _ in 1..threads {
                // without more threads the walk is slower, not wrong
                let _ = thread::Builder::new().spawn_scoped(scope, || self.work(&queue, &changed, visitor()));
            }
            self.work(&queue, &changed, visitor());
        });
        Ok(queue.into_inner().unwrap_or_else(PoisonError::into_inner).unreadable)
    }

    fn levels_above(&self) -> Result<Option<Arc<Level>>, String> {
        let mut folders: Vec<&Path> = self.base.ancestors().skip(1).collect();
        folders.reverse();
        let mut level = None;
        for folder in folders {
            let fd = self.place.jail.beneath(folder, OFlags::RDONLY | OFlags::DIRECTORY).map_err(reason)?;
            let has = |name: &str| look(&fd, name.as_ref()).is_ok();
            level = Level::enter(self.place, level, folder, fd.as_fd(), &has);
        }
        self.place.jail.beneath(self.base, OFlags::RDONLY | OFlags::DIRECTORY).map_err(reason)?;
        Ok(level)
    }

    fn work(&self, queue: &Mutex<Queue>, changed: &Condvar, mut visit: impl FnMut(&Met)) {
        let mut names = Names::default();
        let mut state = queue.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.cancel.is_set() && (!state.jobs.is_empty() || state.busy > 0) {
            let Some(job) = state.jobs.pop() else {
                state.idle += 1;
                state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            state.busy += 1;
            drop(state);
            let found = self.folder(job, &mut names, &mut visit);
            state = queue.lock().unwrap_or_else(PoisonError::into_inner);
            state.busy -= 1;
            match found {
                Ok(jobs) => state.jobs.extend(jobs),
                // it went away meanwhile
                Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => {}
                Err(_) => state.unreadable += 1,
            }
            if state.idle > 0 && (state.jobs.len() > 1 || state.busy == 0) {
                changed.notify_all();
            }
        }
        changed.notify_all();
    }

    /// Visits the files of a folder and gives the folders in it.
    fn folder(&self, job: Job, names: &mut Names, visit: &mut impl FnMut(&Met)) -> Result<Vec<Job>, Errno> {
        let mut found = Vec::new();
        let fd = self.place.jail.beneath(&job.rel, OFlags::RDONLY | OFlags::DIRECTORY)?;
        if on_disk(&fd).is_err() {
            return Ok(found);
        }
        let mut dir = Dir::new(fd)?;
        names.read(&mut dir, self.cancel)?;
        let handle = dir.fd()?;
        let deeper = self.depth.is_none_or(|depth| job.depth < depth);
        let level = Level::enter(self.place, job.above, &job.rel, handle, &|name| names.has(name));
        for (name, kind) in names.iter() {
            if self.cancel.is_set() {
                break;
            }
            let what = match kind_of(handle, name, kind) {
                FileType::RegularFile => What::File,
                FileType::Directory if deeper => What::Folder,
                _ => continue,
            };
            let rel = job.rel.join(OsStr::from_bytes(name.to_bytes()));
            if !self.takes(level.as_deref(), &rel, name, what) {
                continue;
            }
            match what {
                What::Folder => found.push(Job { rel, above: level.clone(), depth: job.depth + 1 }),
                What::File => visit(&Met { rel: &rel, folder: handle, name }),
            }
        }
        Ok(found)
    }

    fn takes(&self, level: Option<&Level>, rel: &Path, name: &CStr, what: What) -> bool {
        if self.place.rules.denies(rel) {
            return false;
        }
        match self.globs.matched(rel, what == What::Folder) {
            Match::Ignore(_) => return false,
            Match::Whitelist(_) => return true,
            Match::None => {}
        }
        match Level::verdict(level, self.place.global_ignore(), rel, what) {
            Verdict::Out => false,
            Verdict::In => true,
            Verdict::Unknown => self.hidden == Hidden::Show || name.to_bytes().first() != Some(&b'.'),
        }
    }
}

fn kind_of(folder: BorrowedFd, name: &CStr, kind: FileType) -> FileType {
    if kind != FileType::Unknown {
        return kind;
    }
    // some file systems leave it to a second look
    look(folder, OsStr::from_bytes(name.to_bytes()))
        .map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode))
}

/// The names in a folder, one after the other in memory that is used again.
#[derive(Default)]
struct Names {
    bytes: Vec<u8>,
    entries: Vec<(Range<usize>, FileType)>,
}

impl Names {
    fn read(&mut self, dir: &mut Dir, cancel: &Cancel) -> Result<(), Errno> {
        self.bytes.clear();
        self.entries.clear();
        for entry in dir.take_while(|_| !cancel.is_set()) {
            let entry = entry?;
            let name = entry.file_name().to_bytes_with_nul();
            if name != b".\0" && name != b"..\0" {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(name);
                self.entries.push((start..self.bytes.len(), entry.file_type()));
            }
        }
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        let name = |range: &Range<usize>| CStr::from_bytes_with_nul(&self.bytes[range.clone()]).ok();
        self.entries.iter().filter_map(move |(range, kind)| name(range).map(|name| (name, *kind)))
    }

    fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(range, _)| self.bytes[range.start..range.end - 1] == *name.as_bytes())
    }
}

/// What the model must know of folders that were left out.
pub(crate) fn left_out(unreadable: usize) -> String {
    match unreadable {
        0 => String::new(),
        1 => "\n[1 folder could not be read]".into(),
        several => format!("\n[{several} folders could not be read]"),
    }
}
