//! The root as a directory handle, and the only way from a path to a file below it. A path is followed
//! component by component; links are read and followed by hand, so what is checked is what is opened:
//! the last step opens one name in a folder that is held open, and follows nothing.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Component, Path, PathBuf};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Links that are followed in one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Folders are held, not read, where the system can do that.
#[cfg(target_os = "linux")]
const HOLD: OFlags = OFlags::PATH.union(FOLDER);
#[cfg(not(target_os = "linux"))]
const HOLD: OFlags = FOLDER;
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The root.
#[derive(Debug)]
pub(crate) struct Jail {
    root: OwnedFd,
    /// The names of the root from `/` on, without links.
    names: Vec<OsString>,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct Spot {
    /// From the root, without links and `..`; empty for the root itself.
    pub rel: PathBuf,
    /// What is there.
    pub found: Found,
}

/// What is at the end of a path.
#[derive(Debug)]
pub(crate) enum Found {
    /// A folder.
    Folder,
    /// Something else of this name in a folder; links were followed.
    Entry(OwnedFd, OsString),
    /// Nothing; below this folder the names are missing.
    Missing(OwnedFd, Vec<OsString>),
}

/// Why a path leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stray {
    /// It leaves the root.
    Outside,
    /// A link in it (from the root) leaves the root.
    LinkOutside(PathBuf),
    /// Links that never end.
    Links,
    /// A file where a folder is needed.
    NotFolder,
    /// The system's word.
    System(Errno),
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stray::Outside => f.write_str("outside the repo"),
            Stray::LinkOutside(link) => {
                write!(f, "the link '{}' leads outside the repo", crate::names::shown(link))
            }
            Stray::Links => f.write_str("too many links"),
            Stray::NotFolder => f.write_str("a part of the path is a file, not a folder"),
            Stray::System(Errno::NOENT) => f.write_str("no such file"),
            Stray::System(Errno::NAMETOOLONG) => f.write_str("the path is too long"),
            Stray::System(e) => write!(f, "{}", reason(*e)),
        }
    }
}

/// An error number in the system's words, lower case.
pub(crate) fn reason(e: Errno) -> String {
    let text = std::io::Error::from(e).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().collect::<String>() + chars.as_str())
}

impl Jail {
    /// Opens the root, given absolute and without links.
    pub(crate) fn open(root: &Path) -> Result<Jail, Errno> {
        let names = root.iter().skip(1).map(OsStr::to_owned).collect();
        let root =
            rustix::fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Jail { root, names })
    }

    /// Follows a path that starts at the root, or an absolute one.
    pub(crate) fn follow(&self, path: &Path) -> Result<Spot, Stray> {
        let mut walk = Walk {
            jail: self,
            todo: VecDeque::new(),
            folder: self.root.try_clone().map_err(|_| Stray::System(Errno::MFILE))?,
            rel: Vec::new(),
            above: 0,
            links: 0,
            via: None,
        };
        walk.push(path)?;
        let found = walk.run().map_err(|stray| match (stray, &walk.via) {
            (Stray::Outside, Some(link)) => Stray::LinkOutside(link.clone()),
            (other, _) => other,
        })?;
        Ok(Spot { rel: walk.rel.iter().collect(), found })
    }

    /// Opens something by a path from the root that has no links in it, and follows none.
    pub(crate) fn beneath(&self, rel: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let rel = if rel.as_os_str().is_empty() { Path::new(".") } else { rel };
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&self.root, rel, flags, Mode::empty(), resolve) {
                // an old kernel, or a filter that does not know the call
                Err(Errno::NOSYS | Errno::PERM) => {}
                result => return result,
            }
        }
        self.step_by_step(rel, flags)
    }

    fn step_by_step(&self, rel: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let (parent, Some(name)) = (rel.parent().unwrap_or(Path::new("")), rel.file_name()) else {
            return rustix::fs::openat(&self.root, ".", flags, Mode::empty());
        };
        let mut folder = rustix::fs::openat(&self.root, ".", HOLD, Mode::empty())?;
        for name in parent {
            folder = rustix::fs::openat(&folder, name, HOLD, Mode::empty())?;
        }
        rustix::fs::openat(&folder, name, flags, Mode::empty())
    }
}

/// A path on its way.
struct Walk<'a> {
    jail: &'a Jail,
    todo: VecDeque<OsString>,
    /// The folder `rel` names, while `above` is 0.
    folder: OwnedFd,
    rel: Vec<OsString>,
    /// Folders above the root: an absolute path starts at `/` and may only come down to the root.
    above: usize,
    links: usize,
    via: Option<PathBuf>,
}

impl Walk<'_> {
    fn push(&mut self, path: &Path) -> Result<(), Stray> {
        if path.is_absolute() {
            self.above = self.jail.names.len();
            self.restart()?;
        }
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
        for name in names.collect::<Vec<_>>().into_iter().rev() {
            self.todo.push_front(name);
        }
        Ok(())
    }

    fn restart(&mut self) -> Result<(), Stray> {
        self.rel.clear();
        self.folder = self.jail.beneath(Path::new(""), HOLD).map_err(Stray::System)?;
        Ok(())
    }

    fn run(&mut self) -> Result<Found, Stray> {
        while let Some(name) = self.todo.pop_front() {
            if name == ".." {
                self.up()?;
            } else if self.above > 0 {
                self.down(&name)?;
            } else if let Some(found) = self.enter(name)? {
                return Ok(found);
            }
        }
        if self.above > 0 {
            return Err(Stray::Outside);
        }
        Ok(Found::Folder)
    }

    fn up(&mut self) -> Result<(), Stray> {
        if self.above > 0 || self.rel.is_empty() {
            self.above = (self.above + 1).min(self.jail.names.len());
            return Ok(());
        }
        self.rel.pop();
        let rel: PathBuf = self.rel.iter().collect();
        self.folder = self.jail.beneath(&rel, HOLD).map_err(Stray::System)?;
        Ok(())
    }

    /// Above the root only the way back is known; nothing out there is looked at.
    fn down(&mut self, name: &OsStr) -> Result<(), Stray> {
        let next = self.jail.names.len() - self.above;
        if self.jail.names[next] != name {
            return Err(Stray::Outside);
        }
        self.above -= 1;
        Ok(())
    }

    fn enter(&mut self, name: OsString) -> Result<Option<Found>, Stray> {
        match rustix::fs::openat(&self.folder, &name, HOLD, Mode::empty()) {
            Ok(folder) => {
                self.folder = folder;
                self.rel.push(name);
                return Ok(None);
            }
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {}
            Err(Errno::NOENT) => return self.missing(name).map(Some),
            Err(e) => return Err(Stray::System(e)),
        }
        match rustix::fs::readlinkat(&self.folder, &name, Vec::new()) {
            Ok(target) => self.link(&name, target.as_bytes()).map(|()| None),
            Err(_) if !self.todo.is_empty() => Err(Stray::NotFolder),
            Err(_) => {
                self.rel.push(name.clone());
                let folder = self.folder.try_clone().map_err(|_| Stray::System(Errno::MFILE))?;
                Ok(Some(Found::Entry(folder, name)))
            }
        }
    }

    fn link(&mut self, name: &OsStr, target: &[u8]) -> Result<(), Stray> {
        use std::os::unix::ffi::OsStrExt;
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Stray::Links);
        }
        self.via = Some(self.rel.iter().map(OsString::as_os_str).chain([name]).collect());
        self.push(Path::new(OsStr::from_bytes(target)))
    }

    fn missing(&mut self, name: OsString) -> Result<Found, Stray> {
        let mut names = vec![name];
        names.extend(self.todo.drain(..));
        if names.iter().any(|name| name == "..") {
            return Err(Stray::System(Errno::NOENT));
        }
        self.rel.extend(names.iter().cloned());
        let folder = self.folder.try_clone().map_err(|_| Stray::System(Errno::MFILE))?;
        Ok(Found::Missing(folder, names))
    }
}

/// Looks at a name in a folder and follows nothing.
pub(crate) fn look(folder: impl AsFd, name: &OsStr) -> Result<Stat, Errno> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}
