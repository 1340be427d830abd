//! A walk over the files below a folder, on several threads, through folder handles: nothing outside
//! the root can get into it, whatever changes meanwhile. Links are not followed.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use ignore::Match;
use ignore::overrides::Override;
use rustix::fd::BorrowedFd;
use rustix::fs::{Dir, FileType, OFlags};

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
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    /// Folders in work: they may bring more jobs.
    busy: usize,
}

impl Walk<'_> {
    /// Calls a visitor, one per thread, for every file. Folders that cannot be read are left out.
    ///
    /// # Errors
    /// The base cannot be opened.
    pub(crate) fn run<V: FnMut(&Met)>(&self, visitor: impl Fn() -> V + Sync) -> Result<(), String> {
        let above = self.levels_above()?;
        let first = Job { rel: self.base.to_path_buf(), above };
        let queue = Mutex::new(Queue { jobs: vec![first], busy: 0 });
        let changed = Condvar::new();
        let threads = thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS));
        thread::scope(|scope| {
            for _ in 1..threads {
                // without more threads the walk is slower, not wrong
                let _ = thread::Builder::new().spawn_scoped(scope, || self.work(&queue, &changed, visitor()));
            }
            self.work(&queue, &changed, visitor());
        });
        Ok(())
    }

    fn levels_above(&self) -> Result<Option<Arc<Level>>, String> {
        let mut folders: Vec<&Path> = self.base.ancestors().skip(1).collect();
        folders.reverse();
        let mut level = None;
        for folder in folders {
            let fd = self.place.jail.beneath(folder, OFlags::RDONLY | OFlags::DIRECTORY).map_err(reason)?;
            level = Level::enter(self.place, level, folder, fd);
        }
        self.place.jail.beneath(self.base, OFlags::RDONLY | OFlags::DIRECTORY).map_err(reason)?;
        Ok(level)
    }

    fn work(&self, queue: &Mutex<Queue>, changed: &Condvar, mut visit: impl FnMut(&Met)) {
        let locked = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut waiting = locked();
            let job = loop {
                if self.cancel.is_set() || (waiting.jobs.is_empty() && waiting.busy == 0) {
                    changed.notify_all();
                    return;
                }
                match waiting.jobs.pop() {
                    Some(job) => break job,
                    None => waiting = changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                }
            };
            waiting.busy += 1;
            drop(waiting);
            let found = self.folder(job, &mut visit);
            let mut waiting = locked();
            waiting.busy -= 1;
            waiting.jobs.extend(found);
            changed.notify_all();
        }
    }

    /// Visits the files of a folder and gives the folders in it.
    fn folder(&self, job: Job, visit: &mut impl FnMut(&Met)) -> Vec<Job> {
        let mut found = Vec::new();
        let Ok(fd) = self.place.jail.beneath(&job.rel, OFlags::RDONLY | OFlags::DIRECTORY) else {
            return found;
        };
        if on_disk(&fd).is_err() {
            return found;
        }
        let level = Level::enter(self.place, job.above, &job.rel, &fd);
        let Ok(handle) = fd.try_clone() else { return found };
        let Ok(entries) = Dir::new(fd) else { return found };
        for entry in entries.map_while(Result::ok) {
            if self.cancel.is_set() {
                break;
            }
            let name = entry.file_name();
            let plain = OsStr::from_bytes(name.to_bytes());
            let what = match entry.file_type() {
                FileType::Unknown => {
                    look(&handle, plain).map_or(FileType::Unknown, |s| FileType::from_raw_mode(s.st_mode))
                }
                known => known,
            };
            let what = match what {
                FileType::RegularFile => What::File,
                FileType::Directory if plain != "." && plain != ".." => What::Folder,
                _ => continue,
            };
            let rel = job.rel.join(plain);
            if !self.takes(level.as_deref(), &rel, name, what) {
                continue;
            }
            match what {
                What::Folder => found.push(Job { rel, above: level.clone() }),
                What::File => visit(&Met { rel: &rel, folder: rustix::fd::AsFd::as_fd(&handle), name }),
            }
        }
        found
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
