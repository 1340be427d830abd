//! Atomic replacement of a file: a temporary file beside it, synced, renamed over it. At every moment
//! the name holds all of the old or all of the new bytes.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use rustix::process::Pid;

use crate::cancel::Cancel;
use crate::jail::{Found, Spot, look, reason};
use crate::read::system;

/// Temporary files are called `.nub-write-PID-RANDOM.tmp`; those of dead writers are removed.
const PREFIX: &str = ".nub-write-";
const SUFFIX: &str = ".tmp";

/// Bytes that are written between two looks at the wish to end.
const CHUNK: usize = 1024 * 1024;

/// Names in a folder that are looked at for left-over temporary files.
const SWEPT: usize = 100_000;

/// The file that is replaced.
pub(crate) struct Old<'a> {
    /// It, open for reading.
    pub file: &'a File,
    /// Its state when it was read.
    pub stat: &'a Stat,
}

/// Writes all of a file; missing folders are made. Gives what else changed, for the model.
///
/// # Errors
/// Why the file is as it was.
pub(crate) fn replace(
    spot: &Spot,
    bytes: &[u8],
    old: Option<&Old>,
    cancel: &Cancel,
) -> Result<Vec<String>, String> {
    match &spot.found {
        Found::Folder => Err("it is a folder".into()),
        Found::Entry(folder, name) => put(folder, name, bytes, old, cancel),
        Found::Missing(folder, names) => {
            let Some((name, folders)) = names.split_last() else { return Err("it has no name".into()) };
            let made = make_folders(folder, folders)?;
            let innermost = made.last().map_or(folder, |(_, _, inner)| inner);
            put(innermost, name, bytes, old, cancel).inspect_err(|_| unmake(&made))
        }
    }
}

/// Folders that were made: what they stand in, their name, they themselves.
type Made = Vec<(OwnedFd, OsString, OwnedFd)>;

fn make_folders(folder: &OwnedFd, names: &[OsString]) -> Result<Made, String> {
    let mut made = Made::new();
    let mut outer = folder.try_clone().map_err(|e| system(&e))?;
    for name in names {
        match rustix::fs::mkdirat(&outer, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => {
                unmake(&made);
                return Err(format!("cannot make the folder '{}': {}", name.to_string_lossy(), reason(e)));
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inner = rustix::fs::openat(&outer, name, flags, Mode::empty()).map_err(reason)?;
        let next = inner.try_clone().map_err(|e| system(&e))?;
        made.push((outer, name.clone(), inner));
        outer = next;
    }
    Ok(made)
}

/// Only what is empty goes.
fn unmake(made: &Made) {
    for (outer, name, _) in made.iter().rev() {
        let _ = rustix::fs::unlinkat(outer, name, AtFlags::REMOVEDIR);
    }
}

/// A temporary file that is removed unless it was renamed.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

fn put(
    folder: &OwnedFd,
    name: &OsStr,
    bytes: &[u8],
    old: Option<&Old>,
    cancel: &Cancel,
) -> Result<Vec<String>, String> {
    let mut temporary = create(folder, old)?;
    for chunk in bytes.chunks(CHUNK) {
        if cancel.is_set() {
            return Err("cancelled".into());
        }
        temporary.file.write_all(chunk).map_err(|e| system(&e))?;
    }
    let notes = old.map(|old| keep(old, &temporary.file)).transpose()?.unwrap_or_default();
    temporary.file.sync_all().map_err(|e| system(&e))?;
    rename(&temporary, name, old)?;
    temporary.name.clear();
    sync_folder(folder);
    Ok(notes)
}

/// A file that replaces one is closed to others until its mode is set; a new one follows the umask.
fn create<'a>(folder: &'a OwnedFd, old: Option<&Old>) -> Result<Temporary<'a>, String> {
    let mode = Mode::from_bits_truncate(if old.is_some() { 0o600 } else { 0o666 });
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let random = RandomState::new().hash_one(PREFIX);
        let name = format!("{PREFIX}{}-{random:016x}{SUFFIX}", std::process::id());
        match rustix::fs::openat(folder, &name, flags, mode) {
            Ok(fd) => {
                let file = File::from(fd);
                // held while the file is written, so that no other nub takes it for a left-over
                let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
                return Ok(Temporary { folder, name, file });
            }
            Err(Errno::EXIST) => {}
            Err(e) => return Err(reason(e)),
        }
    }
}

/// Owner, attributes and mode of the old file, the mode last: a change of owner clears bits of it.
fn keep(old: &Old, file: &File) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    let stat = old.stat;
    let new = rustix::fs::fstat(file).map_err(reason)?;
    if (new.st_uid, new.st_gid) != (stat.st_uid, stat.st_gid) {
        let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        if rustix::fs::fchown(file, Some(uid), Some(gid)).is_err() {
            let _ = rustix::fs::fchown(file, None, Some(gid));
            notes.push(format!("its owner was {}:{}", stat.st_uid, stat.st_gid));
        }
    }
    notes.extend(copy_attributes(old.file, file));
    rustix::fs::fchmod(file, Mode::from_raw_mode(stat.st_mode)).map_err(reason)?;
    if stat.st_nlink > 1 {
        notes.push(format!("{} other hard links keep the old content", stat.st_nlink - 1));
    }
    Ok(notes)
}

/// Copies the extended attributes a user can have set, access lists among them.
fn copy_attributes(from: &File, to: &File) -> Option<String> {
    let mut names = vec![0; rustix::fs::flistxattr_query(from).ok()?];
    let length = rustix::fs::flistxattr(from, &mut names[..]).ok()?;
    let mut lost = Vec::new();
    for name in names[..length].split(|byte| *byte == 0) {
        if !name.starts_with(b"user.") && !name.starts_with(b"system.posix_acl") {
            continue;
        }
        let copied = || {
            let mut value = vec![0; rustix::fs::fgetxattr_query(from, name)?];
            let length = rustix::fs::fgetxattr(from, name, &mut value[..])?;
            rustix::fs::fsetxattr(to, name, &value[..length], rustix::fs::XattrFlags::empty())
        };
        if copied().is_err() {
            lost.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    (!lost.is_empty()).then(|| format!("its attributes {} were lost", lost.join(", ")))
}

/// The last look at the old file and the rename leave others a moment of microseconds.
fn rename(temporary: &Temporary, name: &OsStr, old: Option<&Old>) -> Result<(), String> {
    const CHANGED: &str = "it changed on disk at this very moment; read it again";
    let folder = temporary.folder;
    let Some(old) = old else {
        return match no_replace(folder, &temporary.name, name) {
            Err(Errno::EXIST) => Err(CHANGED.into()),
            result => result.map_err(reason),
        };
    };
    let now = look(folder, name).map_err(|_| CHANGED)?;
    let state = |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    if state(&now) != state(old.stat) {
        return Err(CHANGED.into());
    }
    rustix::fs::renameat(folder, &temporary.name, folder, name).map_err(reason)
}

#[cfg(target_os = "linux")]
fn no_replace(folder: &OwnedFd, from: &str, to: &OsStr) -> Result<(), Errno> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // a file system that cannot
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(folder, from, folder, to),
        result => result,
    }
}

#[cfg(not(target_os = "linux"))]
fn no_replace(folder: &OwnedFd, from: &str, to: &OsStr) -> Result<(), Errno> {
    rustix::fs::renameat(folder, from, folder, to)
}

/// The content is in place already: a folder that cannot be synced is no reason to call it failed.
fn sync_folder(folder: &OwnedFd) {
    if let Some(folder) = readable(folder) {
        let _ = rustix::fs::fsync(folder);
    }
}

fn readable(folder: impl AsFd) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(folder, ".", flags, Mode::empty()).ok()
}

/// Removes temporary files whose writer was killed.
pub(crate) fn sweep(folder: impl AsFd) {
    let Some(fd) = readable(&folder) else { return };
    let Ok(entries) = rustix::fs::Dir::new(fd) else { return };
    for entry in entries.take(SWEPT).map_while(Result::ok) {
        let name = entry.file_name();
        if writer(&name.to_string_lossy()).is_some_and(|pid| !is_alive(pid)) && is_free(&folder, name) {
            let _ = rustix::fs::unlinkat(&folder, name, AtFlags::empty());
        }
    }
}

/// The process that made a temporary file, by its name.
fn writer(name: &str) -> Option<Pid> {
    let (pid, _) = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once('-')?;
    Pid::from_raw(pid.parse().ok()?)
}

fn is_alive(pid: Pid) -> bool {
    !matches!(rustix::process::test_kill_process(pid), Err(Errno::SRCH))
}

/// A writer of another process namespace looks dead but holds its file.
fn is_free(folder: impl AsFd, name: &CStr) -> bool {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
        .and_then(|fd| rustix::fs::flock(fd, FlockOperation::NonBlockingLockExclusive))
        .is_ok()
}
