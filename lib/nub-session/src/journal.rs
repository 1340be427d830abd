//! The end of a session file that is written: one process at a time, whole lines only, and nothing is
//! called stored before it is on the disk.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nub_sys::Fail;
use rustix::fs::{FlockOperation, OFlags, fdatasync, flock};
use ulid::Ulid;

use crate::index::{Index, Span};
use crate::open::{Open, cannot_read};
use crate::scan::{self, Backward, Extent};
use crate::seen::{self, Seen};

/// How long another writer is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(2);
/// How often the lock is tried meanwhile.
const LOCK_TRY: Duration = Duration::from_millis(10);

/// A session file under this process's lock.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// Its path.
    pub path: PathBuf,
    /// This process made the file.
    made: bool,
    /// What the user should know, one line each.
    pub notes: Vec<String>,
    /// Where its session record lies.
    session: Option<Span>,
    /// Length of what is known to be whole.
    good: u64,
    /// The largest node id so far.
    last: Option<Ulid>,
    /// The node that the next message follows, empty before the first.
    pub head: String,
    /// Contexts that are stored.
    contexts: HashSet<String>,
    /// The context in force.
    pub context: Option<String>,
}

impl Journal {
    /// Takes the lock of an existing or new file, cuts off a torn end and learns where to go on.
    ///
    /// # Errors
    /// Another process holds it, it cannot be written, is no session file, or holds a record of a later
    /// version.
    pub fn open(path: &Path) -> Result<Journal, Fail> {
        no_detour(path)?;
        let (file, made) = open_or_make(path).map_err(|e| cannot_write(path, &e))?;
        let mut journal = Journal {
            good: 0,
            path: path.to_owned(),
            made,
            notes: Vec::new(),
            session: None,
            last: None,
            head: String::new(),
            contexts: HashSet::new(),
            context: None,
            file,
        };
        journal.begin().inspect_err(|_| journal.unmake())?;
        Ok(journal)
    }

    fn begin(&mut self) -> Result<(), Fail> {
        lock(&self.file, &self.path)?;
        let open = Open::written(&self.path)?;
        self.good = open.extent.good;
        self.learn(&open)?;
        self.mend(open.extent)?;
        if self.is_fresh() {
            // the name of a new file must be as durable as what will be in it
            sync_folder(&self.path).map_err(|e| cannot_write(&self.path, &e))?;
        }
        Ok(())
    }

    /// Takes an empty file away again that this process made.
    fn unmake(&self) {
        if self.made && self.is_fresh() && self.file.metadata().is_ok_and(|meta| meta.len() == 0) {
            drop(fs::remove_file(&self.path));
        }
    }

    /// Whether nothing was written yet.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.good == 0
    }

    /// The line of its session record.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn session(&self) -> Result<Option<Vec<u8>>, Fail> {
        let line = self.session.map(|span| scan::read(&self.file, span.offset, span.len)).transpose();
        line.map_err(|e| cannot_read(&self.path, &e))
    }

    /// Puts a context in force. False when it is stored already.
    pub fn use_context(&mut self, id: String) -> bool {
        self.context = Some(id.clone());
        self.contexts.insert(id)
    }

    /// Whether a node is stored.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn holds(&self, id: &str) -> Result<bool, Fail> {
        let open = Open::read(&self.path)?;
        let mut lines = Backward::new(&open.file, open.extent);
        while let Some(raw) = lines.next().map_err(|e| open.failed(&e))? {
            let seen = seen::look(&open.file, &raw).map_err(|e| open.failed(&e))?;
            if matches!(seen, Seen::Node(seed) if seed.id == id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// An id above every id in the file.
    pub fn next_id(&mut self) -> Ulid {
        let now = Ulid::generate();
        let id = match self.last {
            // a file with the largest id of all leaves no room above it
            Some(last) if last >= now => last.increment().unwrap_or(now),
            _ => now,
        };
        self.last = Some(id);
        id
    }

    /// Writes whole lines. When this returns they are on the disk.
    ///
    /// # Errors
    /// They could not be stored; the file ends where it did before.
    pub fn store(&mut self, lines: &[u8]) -> io::Result<()> {
        let written = self.write(lines).and_then(|()| Ok(fdatasync(&self.file)?));
        match written.and_then(|()| self.is_there()) {
            Ok(()) => {
                self.good += lines.len() as u64;
                Ok(())
            }
            Err(e) => {
                // what is left of it would be a torn line, which the next writer cuts as well
                drop(self.file.set_len(self.good));
                self.unmake();
                Err(e)
            }
        }
    }

    /// What is written into a file without a name is on the disk and lost all the same.
    fn is_there(&self) -> io::Result<()> {
        if self.file.metadata()?.nlink() == 0 {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the file was removed"));
        }
        Ok(())
    }

    /// One write; only a full disk makes it more, and then the second one says why.
    fn write(&mut self, mut lines: &[u8]) -> io::Result<()> {
        while !lines.is_empty() {
            match self.file.write(lines) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => lines = &lines[count..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Head, largest id and contexts.
    fn learn(&mut self, open: &Open) -> Result<(), Fail> {
        let mut lines = Backward::new(&open.file, open.extent);
        let mut head: Option<String> = None;
        let (mut there, mut damaged) = (false, 0_u64);
        while let Some(raw) = lines.next().map_err(|e| open.failed(&e))? {
            match seen::look(&open.file, &raw).map_err(|e| open.failed(&e))? {
                Seen::Newer(version) => return Err(seen::newer(&open.path, version)),
                Seen::Node(seed) => {
                    let head = head.get_or_insert_with(|| seed.id.to_string());
                    there |= *head == seed.id;
                    self.last = self.last.max(Ulid::from_string(&seed.id).ok());
                }
                Seen::Head(to) => {
                    there |= head.get_or_insert(to).is_empty();
                }
                Seen::Context(id) => {
                    let id = id.into_owned();
                    self.context.get_or_insert_with(|| id.clone());
                    self.contexts.insert(id);
                }
                Seen::Session => self.session = Some((&raw).into()),
                Seen::Damaged(_) => damaged += 1,
                Seen::Label(_) | Seen::Other => {}
            }
        }
        self.notes.extend(seen::left_out(&open.path, damaged));
        self.head = head.unwrap_or_default();
        if !there {
            // a head that names no node does not count: only the whole tree tells what came before it
            let index = Index::load(open)?;
            self.head = index.head.map(|at| index.nodes[at].id.clone()).unwrap_or_default();
        }
        Ok(())
    }

    /// Cuts off a torn line; gives a complete one its line end.
    fn mend(&mut self, extent: Extent) -> Result<(), Fail> {
        if extent.torn > 0 {
            self.file.set_len(extent.good).map_err(|e| cannot_write(&self.path, &e))?;
            let path = self.path.display();
            self.notes.push(format!("cut a torn line of {} bytes off '{path}'", extent.torn));
        }
        if extent.open {
            self.store(b"\n").map_err(|e| cannot_write(&self.path, &e))?;
        }
        Ok(())
    }
}

/// Opens a file for appending; says whether it was made for it.
fn open_or_make(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    match options.clone().create_new(true).open(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok((options.open(path)?, false)),
        made => Ok((made?, true)),
    }
}

/// A repository may bring a link in the place of its session folder: what is said stays inside.
fn no_detour(path: &Path) -> Result<(), Fail> {
    let folders = path.parent().filter(|folder| folder.ends_with(".nub/sessions")).into_iter();
    for folder in folders.flat_map(|folder| folder.ancestors().take(2)) {
        nub_conf::is_own_folder(folder).map_err(|e| cannot_write(folder, &e))?;
    }
    Ok(())
}

/// Makes the names in a folder durable.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// Takes the lock, waiting a moment for another writer to end.
///
/// # Errors
/// Another process holds it.
pub fn lock(file: &File, path: &Path) -> Result<(), Fail> {
    let until = Instant::now() + LOCK_WAIT;
    loop {
        match flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(LOCK_TRY),
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(held(file, path)),
            Err(e) => return Err(cannot_write(path, &e.into())),
        }
    }
    let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match (file.metadata(), path.metadata()) {
        (Ok(ours), Ok(there)) if same(&ours, &there) => Ok(()),
        _ => Err(Fail::failure(format!("'{}' was replaced while it was opened", path.display()))),
    }
}

fn held(file: &File, path: &Path) -> Fail {
    let by = file
        .metadata()
        .ok()
        .and_then(|meta| holder(meta.ino()))
        .map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    Fail::failure(format!("'{}' is in use by {by}", path.display()))
        .advice("end that session first, or start a new one (nub-session new, or fork)")
}

/// Who holds the lock, as /proc/locks says: `1: FLOCK  ADVISORY  WRITE 4242 fd:00:1234 0 EOF`.
fn holder(inode: u64) -> Option<String> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let ours = format!(":{inode}");
    locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).find_map(|fields| {
        let held = fields.get(1) == Some(&"FLOCK") && fields.get(5).is_some_and(|f| f.ends_with(&ours));
        held.then(|| fields[4].to_owned()).filter(|pid| pid != "0" && !pid.starts_with('-'))
    })
}

pub(crate) fn cannot_write(path: &Path, e: &io::Error) -> Fail {
    if path.is_symlink() {
        return Fail::failure(format!("cannot write '{}': it is a link", path.display()));
    }
    Fail::failure(format!("cannot write '{}': {e}", path.display()))
}
